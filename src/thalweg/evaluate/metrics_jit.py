"""Counting predictions and turning the counts into metrics.

C classes are known so far. A row is written down when it is scored; nothing is ever taken back.

Scores are counted in the B bins of ``jit.score_bins``, which are finer towards 0 and 1; scores in one bin count as
equal.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import EXACT, span, table
from thalweg.jit.compile import compiled
from thalweg.jit.score_bins import BINS, bin_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST = 1e-15  # the smallest probability the log-loss believes
SLACK = -1e-9  # how far below 0 rounding may push a probability
OFF = 1e-6  # how far from 1 rounding may push a sum of probabilities
SCORES = 6  # where the scores start in a row of the ring
T_RIGHT, T_CHANCE, T_F1, T_NAMED, T_RECALLS, T_PRESENT, T_LOG_RECALLS, T_MISSED, T_PRECISIONS = range(9)
TALLIES = 9  # what is tallied
STEPS = 15  # of the highest probability, as in Guo et al. (2017)
S_WEIGHT, S_SURE, S_RIGHT, S_SQUARES, SURE = range(5)  # columns of sure
MISTAKES = 20  # so many are kept
E_SURE, E_ROW, E_TRUE, E_GUESS, MISTAKE = range(5)  # columns of mistakes


class Scored(NamedTuple):
    """The state of metrics."""

    confusion: Annotated[Floats, table("C", "C + 1", least=0)]
    """C × (C + 1): weight by class (row) and prediction: column 0 none, column c + 1 class c."""
    counts: Annotated[Floats, table("C", least=0)]
    """C: weight of each class so far."""
    sums: Annotated[Floats, table(4, least=0)]
    """4: weight; weighted log-loss; weight the no-change, the majority rule got right."""
    ring: Annotated[
        Floats,
        table(
            "window",
            f"{SCORES} + C",
            least=0,
            rows="min(scored, window)",
            cells={0: span(0, "C - 1", whole=True), 1: span(-1, "C - 1", whole=True)},
        ),
    ]
    """window × (6 + C), the last rows: class, prediction (-1 none), weight, log-loss, no-change right?, majority
    right?, then the score of each class."""
    marks: Annotated[
        Ints,
        table(
            4,
            cells={
                0: span(0, EXACT, name="scored"),
                1: span(-1, "C - 1"),
                2: span(0, "max(C, 1) - 1"),
                3: span("scored", EXACT),
            },
        ),
    ]
    """4: rows scored; class of the last one (-1 none); the majority class; rows given."""
    ranks: Annotated[Floats, table("C", 2, BINS, least=0)]
    """C × 2 × B: weight by class c, by whether a row is of another class (0) or of c (1), and by the bin of its score
    for c; rows whose score is 0 are left out."""
    sure: Annotated[Floats, table(STEPS, SURE, least=0)]
    """15 × 4: by the highest probability of a row, in 15 equal steps: weight; weighted sum of that probability;
    weight of what was right; weighted sum of Brier's squares."""
    mistakes: Annotated[
        Floats,
        table(
            MISTAKES,
            MISTAKE,
            cells={
                E_SURE: span(0, 1),
                E_ROW: span(0, EXACT, whole=True),
                E_TRUE: span(0, "max(C, 1) - 1", whole=True),
                E_GUESS: span(0, "max(C, 1) - 1", whole=True),
            },
        ),
    ]
    """20 × 4, the wrong predictions with the highest probability, of equal ones the latest: that probability (0: not
    used yet), number of the row, class, prediction."""


@compiled
def first_bad(proba: Floats) -> int:
    """Find the first row that is neither probabilities, which sum to 1, nor all 0, which is no answer; -1: none."""
    n, k = proba.shape
    for i in range(n):
        total = 0.0
        largest = 0.0
        for c in range(k):
            p = proba[i, c]
            if not (p >= SLACK and p < math.inf):
                return i
            total += p
            largest = max(largest, p)
        if largest > 0.0 and not abs(total - 1.0) <= OFF:
            return i
    return -1


@compiled
def note_mistake(mistakes: Floats, top: float, row: int, true: int, guess: int) -> float:
    """Write a mistake in place of the one with the lowest probability, of equals the oldest; give the lowest now."""
    worst = 0
    for k in range(1, len(mistakes)):
        if mistakes[k, E_SURE] < mistakes[worst, E_SURE] or (
            mistakes[k, E_SURE] == mistakes[worst, E_SURE] and mistakes[k, E_ROW] < mistakes[worst, E_ROW]
        ):
            worst = k
    mistakes[worst, E_SURE] = top
    mistakes[worst, E_ROW] = row
    mistakes[worst, E_TRUE] = true
    mistakes[worst, E_GUESS] = guess
    return float(mistakes[:, E_SURE].min())


@compiled
def update(
    confusion: Floats, counts: Floats, sums: Floats, ring: Floats, marks: Ints, ranks: Floats, sure: Floats,
    mistakes: Floats, y: Ints, proba: Floats, w: Floats, moa: bool,
) -> None:  # fmt: skip
    """Write down rows in order: what was predicted, how sure, and what the two simple rules would have said."""
    n, k = proba.shape
    size, width = ring.shape
    kept, last, major = marks[0], marks[1], marks[2]
    at = kept % size
    surest = mistakes[:, E_SURE].min()
    for i in range(n):
        weight = w[i]
        if weight == 0.0:
            continue
        true = y[i]
        guess = -1
        top = 0.0
        total = 0.0
        for c in range(k):
            p = min(max(proba[i, c], 0.0), 1.0)
            total += p
            if p > top:
                top = p
                guess = c
        if total == 0.0:
            total = 1.0
        squares = 1.0
        for c in range(k):
            p = min(max(proba[i, c], 0.0), 1.0) / total
            ring[at, SCORES + c] = p
            if p > 0.0:
                squares += p * p
                ranks[c, 1 if c == true else 0, bin_of(p)] += weight
        for c in range(SCORES + k, width):
            ring[at, c] = 0.0
        if moa and guess < 0:
            guess = 0
        given = min(ring[at, SCORES + true], 1.0)
        loss = -math.log(max(given, LEAST))
        top /= total
        step = min(int(top * STEPS), STEPS - 1)
        sure[step, S_WEIGHT] += weight
        sure[step, S_SURE] += weight * top
        sure[step, S_SQUARES] += weight * (squares - 2.0 * given)
        if guess == true:
            sure[step, S_RIGHT] += weight
        elif top >= surest and top > 0.0:
            surest = note_mistake(mistakes, top, marks[3] + i, true, guess)

        # Both rules speak before they see y. MOA counts first, and takes class 0 for the label before the first.
        if moa:
            counts[true] += weight
            if counts[true] > counts[major] or (counts[true] == counts[major] and true < major):
                major = true
            last = max(last, 0)
        same = 1.0 if last == true else 0.0
        common = 1.0 if major == true else 0.0
        if not moa:
            counts[true] += weight
            if counts[true] > counts[major] or (counts[true] == counts[major] and true < major):
                major = true
        last = true

        ring[at, 0] = true
        ring[at, 1] = guess
        ring[at, 2] = weight
        ring[at, 3] = loss
        ring[at, 4] = same
        ring[at, 5] = common
        confusion[true, guess + 1] += weight
        sums[0] += weight
        sums[1] += weight * loss
        sums[2] += weight * same
        sums[3] += weight * common
        kept += 1
        at = at + 1 if at + 1 < size else 0
    marks[0], marks[1], marks[2] = kept, last, major
    marks[3] += n


@compiled
def gather(ring: Floats, rows: int, confusion: Floats, sums: Floats) -> None:
    """Add up the rows in the window, into tables of zeros."""
    for i in range(min(rows, len(ring))):
        weight = ring[i, 2]
        confusion[int(ring[i, 0]), int(ring[i, 1]) + 1] += weight
        sums[0] += weight
        for j in range(1, 4):
            sums[j] += weight * ring[i, 2 + j]


@compiled
def tally(confusion: Floats, sums: Floats, out: Floats) -> None:
    """Add up, class by class, what the metrics need: the fields of ``counts.Counts`` from ``right`` on."""
    total = sums[0]
    n = len(confusion)
    right, chance, recalls, precisions, logs, f1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    present, named = 0, 0
    missed = False
    for c in range(n):
        hit = confusion[c, c + 1]
        row, column = 0.0, 0.0
        for j in range(n + 1):
            row += confusion[c, j]
        for j in range(n):
            column += confusion[j, c + 1]
        right += hit
        chance += (row / total) * (column / total)
        if row > 0.0:
            present += 1
            recalls += hit / row
            if hit > 0.0:
                logs += math.log(hit / row)
            else:
                missed = True
        if column > 0.0:
            precisions += hit / column
        if row + column > 0.0:
            named += 1
            f1 += 2.0 * hit / (row + column)
    out[T_RIGHT] = right
    out[T_CHANCE] = chance
    out[T_F1] = f1
    out[T_NAMED] = named
    out[T_RECALLS] = recalls
    out[T_PRESENT] = present
    out[T_LOG_RECALLS] = logs
    out[T_MISSED] = 1.0 if missed else 0.0
    out[T_PRECISIONS] = precisions


@compiled
def outranks(
    order: Ints, scores: Floats, y: Ints, w: Floats, one: int, below: Floats, equal: Floats, wins: Floats
) -> None:
    """Count how often a row of class ``one`` has a higher score for it than a row of each class; ties count half.

    ``order`` sorts the scores. ``wins`` comes filled with zeros; ``below`` and ``equal`` are scratch.
    """
    below[:] = 0.0
    equal[:] = 0.0
    n = len(order)
    start = 0
    while start < n:
        score = scores[order[start]]
        stop = start
        while stop < n and scores[order[stop]] == score:
            equal[y[order[stop]]] += w[order[stop]]
            stop += 1
        if equal[one] > 0.0:
            for c in range(len(wins)):
                wins[c] += equal[one] * (below[c] + 0.5 * equal[c])
        for j in range(start, stop):
            c = y[order[j]]
            below[c] += equal[c]
            equal[c] = 0.0
        start = stop
