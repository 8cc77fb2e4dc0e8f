"""Counting predictions and turning the counts into metrics.

C classes are known so far. A row is written down when it is scored; nothing is ever taken back.

Scores are counted in the B bins of ``jit.score_bins``, which are finer towards 0 and 1; scores in one bin count as
equal. Beyond reading its probabilities, what a row costs does not grow with the classes: its scores for its own class
and for the predicted one are counted always, those for all other classes only in rows that are drawn, of which there
are the fewer the more classes there are. With up to 4 classes all rows are drawn.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import EXACT, span, table
from thalweg.jit.compile import hot, inlined, inlined_entry
from thalweg.jit.score_bins import BINS, bin_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST = 1e-15  # the smallest probability the log-loss believes
SMALL = 1e-280  # a product of probabilities that is smaller becomes a sum of logarithms
SLACK = -1e-9  # how far below 0 rounding may push a probability
OFF = 1e-6  # how far from 1 rounding may push a sum of probabilities
SCORES = 6  # where the scores start in a row of the ring
T_WEIGHT, T_NO_CHANGE, T_MAJORITY, T_LOSS, T_RIGHT, T_CHANCE, T_F1, T_NAMED, T_RECALLS, T_PRESENT = range(10)
T_LOG_RECALLS, T_MISSED, T_PRECISIONS, TALLIES = range(10, 14)  # what is tallied
STEPS = 15  # of the highest probability, as in Guo et al. (2017)
S_WEIGHT, S_SURE, S_RIGHT, S_SQUARES, SURE = range(5)  # columns of sure
R_PREDICTED, R_OWN, R_DRAWN, RANKS = range(4)  # second index of ranks
ALL_COUNTED = 4  # with more classes the scores of some rows are counted for all
BITS = 31
GOLDEN = 1_327_217_885  # 2³¹ times the golden ratio less 1
N_SQUARES, N_GUESS, N_TOP, NOTES = range(4)  # columns of notes: the squares of a row, what it predicts, how surely
MISTAKES = 20  # so many are kept
E_SURE, E_ROW, E_TRUE, E_GUESS, MISTAKE = range(5)  # columns of mistakes


class Scored(NamedTuple):
    """The state of metrics."""

    confusion: Annotated[Floats, table("C", "C + 1", least=0)]
    """C × (C + 1): weight by class (row) and prediction: column 0 none, column c + 1 class c."""
    counts: Annotated[Floats, table("C", least=0)]
    """C: weight of each class so far."""
    sums: Annotated[Floats, table(5, least=0, cells={4: span(SMALL, 1)})]
    """5: weight; weighted log-loss; weight the no-change, the majority rule got right; product of the probabilities
    that are not in the log-loss yet."""
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
    """window × (6 + C), the last rows: class, prediction (-1 none), weight, score of the class, no-change right?,
    majority right?, then the score of each class."""
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
    ranks: Annotated[Floats, table("C", 3, BINS, least=0)]
    """C × 3 × B: weight by class c and the bin of a row's score for c: of the rows of another class that were predicted
    to be of c; of the rows of c; and of the other rows that were drawn, where those with a score of 0 are left out."""
    drawn: Annotated[Floats, table("C + 1", least=0)]
    """C + 1: what the rows drawn stand for: all of them; for each class those that are, or are predicted to be, of
    it."""
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


@hot
def look(y: Ints, proba: Floats, notes: Floats) -> tuple[int, int, int]:
    """Look at rows before anything changes: note what each says, and give the first bad one (-1: none).

    A row is good if it is probabilities, which sum to 1, or all 0, which is no answer. Then the least and the greatest
    code of a class.
    """
    n, k = proba.shape
    least, most = 0, -1
    for i in range(n):
        total, top, squares, guess = 0.0, 0.0, 0.0, -1
        for c in range(k):
            given = proba[i, c]
            if not (given >= SLACK and given < math.inf):
                return i, 0, 0
            total += given
            p = min(max(given, 0.0), 1.0)
            squares += p * p
            if p > top:
                top = p
                guess = c
        if guess >= 0 and not abs(total - 1.0) <= OFF:
            return i, 0, 0
        notes[i, N_SQUARES] = squares
        notes[i, N_GUESS] = guess
        notes[i, N_TOP] = top
        least, most = min(least, y[i]), max(most, y[i])
    return -1, least, most


@inlined
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
    return lowest(mistakes)


@inlined
def lowest(mistakes: Floats) -> float:
    """Give the lowest probability of the mistakes that are kept."""
    found = mistakes[0, E_SURE]
    for k in range(1, len(mistakes)):
        found = min(found, mistakes[k, E_SURE])
    return float(found)


@inlined
def is_drawn(row: int, shift: int) -> bool:
    """Say whether a row is one of those, one in 2 to the power of shift, whose scores are all counted.

    The multiples of the golden ratio fall evenly into equal parts, also where a stream repeats itself.
    """
    low = (1 << BITS) - 1
    return ((row & low) * GOLDEN & low) >> (BITS - shift) == 0


@hot
def update(
    confusion: Floats, counts: Floats, sums: Floats, ring: Floats, marks: Ints, ranks: Floats, drawn: Floats,
    sure: Floats, mistakes: Floats, y: Ints, proba: Floats, notes: Floats, w: Floats, moa: bool,
) -> None:  # fmt: skip
    """Write down rows in order: what was predicted, how sure, and what the two simple rules would have said."""
    n, k = proba.shape
    size, width = ring.shape
    kept, last, major = marks[0], marks[1], marks[2]
    at = kept % size
    surest = lowest(mistakes)
    weights, losses, unchanged, usual, product = sums[0], sums[1], sums[2], sums[3], sums[4]
    seen, shift = len(counts), 0
    while seen > 0 and counts[seen - 1] == 0.0:
        seen -= 1
    while ALL_COUNTED << shift < seen:
        shift += 1
    all_drawn = drawn[0]
    for i in range(n):
        weight = w[i]
        if weight == 0.0:
            continue
        true = y[i]
        guess = int(notes[i, N_GUESS])
        for c in range(k):
            ring[at, SCORES + c] = min(max(proba[i, c], 0.0), 1.0)
        for c in range(SCORES + k, width):
            ring[at, c] = 0.0
        given = ring[at, SCORES + true]
        top = notes[i, N_TOP]
        right = guess == true

        # nothing here depends on a jump that cannot be foreseen, above all not on whether the prediction is right
        false = 0.0 if right or guess < 0 else weight
        ranks[true, R_OWN, bin_of(given)] += weight
        ranks[max(guess, 0), R_PREDICTED, bin_of(top)] += false
        if true >= seen:
            seen = true + 1
            while ALL_COUNTED << shift < seen:
                shift += 1
        if is_drawn(kept, shift):
            stands_for = weight * (1 << shift)
            all_drawn += stands_for
            drawn[1 + true] += stands_for
            drawn[1 + max(guess, 0)] += false * (1 << shift)
            if k == 2 and true < 2:
                ranks[1 - true, R_DRAWN, bin_of(ring[at, SCORES + 1 - true])] += weight - false
            for c in range(0 if k == 2 and true < 2 else k):
                p = ring[at, SCORES + c]
                if p > 0.0 and c != true and c != guess:
                    ranks[c, R_DRAWN, bin_of(p)] += stands_for

        if moa and guess < 0:
            guess = 0
            right = guess == true
        if weight == 1.0:  # a logarithm for many rows at once
            product *= max(given, LEAST)
            if product < SMALL:
                losses -= math.log(product)
                product = 1.0
        else:
            losses -= weight * math.log(max(given, LEAST))
        step = min(int(top * STEPS), STEPS - 1)
        sure[step, S_WEIGHT] += weight
        sure[step, S_SURE] += weight * top
        sure[step, S_SQUARES] += weight * (1.0 + notes[i, N_SQUARES] - 2.0 * given)
        sure[step, S_RIGHT] += weight if right else 0.0
        if top >= surest and top > 0.0 and not right:
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
        ring[at, 3] = given
        ring[at, 4] = same
        ring[at, 5] = common
        confusion[true, guess + 1] += weight
        weights += weight
        unchanged += weight * same
        usual += weight * common
        kept += 1
        at = at + 1 if at + 1 < size else 0
    sums[0], sums[1], sums[2], sums[3], sums[4] = weights, losses, unchanged, usual, product
    drawn[0] = all_drawn
    marks[0], marks[1], marks[2] = kept, last, major
    marks[3] += n


@inlined_entry
def gather(ring: Floats, rows: int, confusion: Floats, sums: Floats) -> None:
    """Add up the rows in the window, into tables of zeros."""
    product = 1.0
    for i in range(min(rows, len(ring))):
        weight, given = ring[i, 2], max(ring[i, 3], LEAST)
        confusion[int(ring[i, 0]), int(ring[i, 1]) + 1] += weight
        sums[0] += weight
        sums[2] += weight * ring[i, 4]
        sums[3] += weight * ring[i, 5]
        if weight == 1.0:
            product *= given
            if product < SMALL:
                sums[1] -= math.log(product)
                product = 1.0
        else:
            sums[1] -= weight * math.log(given)
    sums[4] = product


@inlined_entry
def tally(confusion: Floats, sums: Floats, out: Floats) -> None:
    """Add up, class by class, what the metrics need: the fields of ``counts.Counts`` after its table."""
    total = sums[0]
    n = len(confusion)
    out[T_WEIGHT], out[T_NO_CHANGE], out[T_MAJORITY] = total, sums[2], sums[3]
    out[T_LOSS] = sums[1] - math.log(sums[4])
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


@hot
def note(confusion: Floats, sums: Floats, ring: Floats, rows: int, table: Floats, recent: Floats, out: Floats) -> None:
    """Tally all rows into ``out[0]``, and those in the window into ``out[1]``.

    table, recent: as large as confusion and sums, to work in.
    """
    for c in range(len(table)):
        for j in range(table.shape[1]):
            table[c, j] = 0.0
    for j in range(len(recent)):
        recent[j] = 0.0
    gather(ring, rows, table, recent)
    tally(confusion, sums, out[0])
    tally(table, recent, out[1])
