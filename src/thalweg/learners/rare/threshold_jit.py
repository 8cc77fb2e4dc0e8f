"""A threshold for the score of one class, from the scores and the labels of the rows before.

Scores are counted in the bins of ``jit.score_bins``. Counts fade; rather than all cells at every row, the weight of a
new row (H_SCALE) grows, until everything is scaled down.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import EXACT, span, table
from thalweg.jit.compile import compiled, inlined
from thalweg.jit.score_bins import BINS, bin_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BY_SHARE, BY_PRECISION, BY_SCORE = range(3)
H_SCALE, H_ROWS, H_ALERTS, HELD = range(4)
M_POSITIVE, M_BIN, M_ROWS, MARKS = range(4)
RAREST, NOT_KNOWN = -1, -2
"""In place of the code of the class: the rarest one so far; one that has not been seen."""
NEVER = BINS
"""In place of a bin: no score is high enough."""
OFTEN, EVERY = 1000, 16
"""The threshold is found anew at each of the first 1,000 learned rows, then at every 16th."""
_LARGE = 1e9
_GAP = 1e-9  # how far a decision is from a tie


class Seen(NamedTuple):
    """What is kept to choose the threshold."""

    counts: Annotated[Ints, table("known", least=0, most=EXACT)]
    """known: rows of each class that were learned."""
    scores: Annotated[Floats, table(2, BINS, least=0, most=EXACT)]
    """2 × bins: weight of the rows of other classes (0), and of the class (1), by the bin of their score."""
    held: Annotated[Floats, table(HELD, least=0, most=EXACT, cells={H_SCALE: span(1.0, 4.0 * _LARGE)})]
    """3: the weight of a new row; of all rows; of those with an alert."""
    marks: Annotated[
        Ints, table(MARKS, cells={M_POSITIVE: span(-1, "classes - 1"), M_BIN: span(0, NEVER), M_ROWS: span(0, EXACT)})
    ]
    """3: the rarest class (-1: none yet); the bin of the threshold; learned rows whose score is counted."""


@compiled
def decide(
    counts: Ints, scores: Floats, held: Floats, marks: Ints, events: Ints, y: Ints, last: NDArray[np.bool_],
    out: Floats, known: int, positive: int, rule: int, target: float, fade: float,
) -> None:  # fmt: skip
    """Decide on each predicted row, and take each learned row into account; its prediction is the event before.

    last: is this the last prediction of its row? Then its probabilities are moved, so that the decision is the most
    probable class.
    """
    c, now, alert = -1, -1, False
    for i in range(len(events)):
        e = events[i]
        if e >= 0:
            c = marks[M_POSITIVE] if positive == RAREST else positive
            now, alert = -1, False
            if 0 <= c < known and _answered(out[e], known):
                score = min(max(out[e, c], 0.0), 1.0)
                now = bin_of(score)
                if rule == BY_SCORE:
                    alert = score >= target
                elif now == marks[M_BIN] and rule == BY_SHARE:
                    alert = held[H_ALERTS] < target * held[H_ROWS]
                else:
                    alert = now >= marks[M_BIN]
                alert = alert and score > 0.0
                if last[i]:
                    _move(out[e], c, known, score, alert)
            continue
        code = y[~e]
        known = max(known, code + 1)
        counts[code] += 1
        if now >= 0:
            _count(scores, held, marks, now, 1 if code == c else 0, alert, fade)
            if marks[M_ROWS] <= OFTEN or marks[M_ROWS] % EVERY == 0:
                if rule == BY_SHARE:  # more, or less, than the share where too few, or too many, were called so far
                    marks[M_BIN] = _by_share(scores, 2.0 * target * held[H_ROWS] - held[H_ALERTS])
                elif rule == BY_PRECISION:
                    marks[M_BIN] = _by_precision(scores, target, held[H_SCALE])
        if positive == RAREST:
            rarest = _rarest(counts)
            if rarest != marks[M_POSITIVE]:
                marks[M_POSITIVE], marks[M_BIN], marks[M_ROWS] = rarest, NEVER, 0
                scores[:] = 0.0
                held[H_SCALE], held[H_ROWS], held[H_ALERTS] = 1.0, 0.0, 0.0


@inlined
def _answered(row: Floats, known: int) -> bool:
    total = 0.0
    for k in range(known):
        total += row[k]
    return total > 0.0


@inlined
def _count(scores: Floats, held: Floats, marks: Ints, now: int, own: int, alert: bool, fade: float) -> None:
    """Count a learned row by its score, and what was decided on it."""
    scale = held[H_SCALE]
    scores[own, now] += scale
    held[H_ROWS] += scale
    if alert:
        held[H_ALERTS] += scale
    held[H_SCALE] = scale / fade
    marks[M_ROWS] += 1
    if held[H_SCALE] > _LARGE:
        down = 1.0 / held[H_SCALE]
        held[H_SCALE] = 1.0
        held[H_ROWS] *= down
        held[H_ALERTS] *= down
        for k in range(BINS):
            scores[0, k] *= down
            scores[1, k] *= down


@inlined
def _by_share(scores: Floats, wanted: float) -> int:
    """Find the bin in which the weight of the highest scores reaches what is wanted."""
    above = 0.0
    for k in range(BINS - 1, -1, -1):
        above += scores[0, k] + scores[1, k]
        if above >= wanted and above > 0.0:
            return k
    return NEVER


@inlined
def _by_precision(scores: Floats, wanted: float, one: float) -> int:
    """Find the lowest bin from which on the precision is high enough, also with one more false alert."""
    right, all_of_them, found = 0.0, one, NEVER
    for k in range(BINS - 1, -1, -1):
        right += scores[1, k]
        all_of_them += scores[0, k] + scores[1, k]
        if scores[1, k] > 0.0 and right >= wanted * all_of_them:
            found = k
    return found


@inlined
def _rarest(counts: Ints) -> int:
    """Find the class with the fewest rows among those that occur, the later one of equals; -1: fewer than two occur."""
    found, seen = -1, 0
    for k in range(len(counts)):
        if counts[k] > 0:
            seen += 1
            if found < 0 or counts[k] <= counts[found]:
                found = k
    return found if seen > 1 else -1


@inlined
def _move(row: Floats, c: int, known: int, score: float, alert: bool) -> None:
    """Let the decision be the most probable class: all alerts are above all others, and in the order of the scores."""
    rest, best, other = 0.0, 0.0, -1
    for k in range(known):
        if k != c:
            rest += row[k]
            if other < 0 or row[k] > best:
                best, other = row[k], k
    if other < 0:
        return
    if rest <= 0.0:
        rest = best = row[other] = 1.0
    tie = best / (rest + best)  # at which the class is as probable as the best other one
    moved = max(0.5 + 0.5 * score, 0.5 + _GAP) if alert else min(score * tie, tie - _GAP)
    for k in range(known):
        row[k] = row[k] / rest * (1.0 - moved)
    row[c] = moved
