"""Which rows a member of an ensemble learns, and when a detector says that one has become bad; one row for all members.

For one row nothing but addresses is handed over: see ``thalweg.jit.native``. places[i], the tables of member i: its
window and its matrix; in the last row those of ``Common``, of ``Scratch`` and of ``Near``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.detectors.any_jit import feed, mean_error
from thalweg.jit.argmax import first_greatest
from thalweg.jit.compile import hot, inlined_entry
from thalweg.jit.native import reader_of
from thalweg.jit.random import poisson
from thalweg.learners.windows.near_jit import Near, answer
from thalweg.learners.windows.window_jit import W_NEXT, W_SIZE, Scratch, Window, learn
from thalweg.projections.matrix_jit import project_row

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

O_DETECTOR, O_VOTES, O_ONES, O_PLAIN, O_WINDOW, O_CELLS = range(6)
"""Cells of ``how``: the code of the detector (-1: none); does a neighbour vote as often as it was drawn; of the
projections: does each value count 1, are all features numbers; rows in a full window."""
DONE, CROWDED = -1, -2
"""What ``play_row`` gives where no member is to be replaced: all is done; nothing is, a window must grow first."""


class Common(NamedTuple):
    """What all members share."""

    how: Ints
    rules: Ints
    """Of the windows."""
    first: Ints
    widths: Ints
    """See matrix_jit.py."""
    dice: NDArray[np.uint64]
    detectors: Floats
    detector_rules: Floats
    answers: Floats
    """members × classes."""
    row: Floats
    """1 × p: the row as a member sees it."""


_FLOATS = tuple(np.zeros((1,) * n) for n in range(4))
_INTS = tuple(np.zeros((1,) * n, dtype=np.int64) for n in range(3))
_WINDOW = (_FLOATS[3], _INTS[1], _FLOATS[1], _FLOATS[2], _INTS[1], _INTS[1])
_MATRIX = (_FLOATS[2], _INTS[1], _INTS[1], _FLOATS[1])
_COMMON = (_INTS[1], _INTS[1], _INTS[1], _INTS[1], np.zeros(1, dtype=np.uint64), _FLOATS[2], _FLOATS[1], _FLOATS[2],
           _FLOATS[2])  # fmt: skip
_SCRATCH = (
    *(4 * (_FLOATS[2],)),
    _INTS[2],
    _FLOATS[2],
    _FLOATS[2],
    _FLOATS[2],
    _INTS[1],
    _INTS[1],
    _INTS[2],
    _FLOATS[1],
)
_NEAR = (_INTS[1], _INTS[1], _FLOATS[1], _FLOATS[1])
MATRIX, SCRATCH, NEAR = len(_WINDOW), len(_COMMON), len(_COMMON) + len(_SCRATCH)
TABLES = NEAR + len(_NEAR)
read_window, read_matrix = reader_of(*_WINDOW), reader_of(*_MATRIX)
read_common, read_scratch, read_near = reader_of(*_COMMON), reader_of(*_SCRATCH), reader_of(*_NEAR)


@hot
def play_row(places: Ints, X: Floats, out: Floats, label: int, weight: float, rate: float, learns: bool,
             known: int) -> int:  # fmt: skip
    """Predict the one row of X, or learn it; give the member to replace, DONE or CROWDED. Each predicts what it learns.

    A member draws from Poisson(rate) how often it learns the row.
    """
    size = len(places) - 1
    own, scratch = Common(*read_common(places, size, 0)), Scratch(*read_scratch(places, size, SCRATCH))
    near = Near(*read_near(places, size, NEAR))
    how, rules, answers, row = own.how, own.rules, own.answers, own.row
    if learns:
        for i in range(size):
            window = Window(*read_window(places, i, 0))
            held = window.head[W_SIZE]
            if held == len(window.codes) and held < how[O_WINDOW]:
                return CROWDED
    for i in range(size):
        window = Window(*read_window(places, i, 0))
        matrix, starts, targets, values = read_matrix(places, i, MATRIX)
        for j in range(row.shape[1]):
            row[0, j] = 0.0
        project_row(
            matrix, starts, targets, values, own.first, own.widths, how[O_ONES] > 0, how[O_PLAIN] > 0, X[0], row[0]
        )
        for c in range(answers.shape[1]):
            answers[i, c] = 0.0
        answer(window, scratch, near, rules, row, 0, known, answers, i)
        if learns:
            drawn = poisson(own.dice, i, rate)
            if drawn > 0:
                slot = window.head[W_NEXT]
                window.codes[slot] = label
                window.voices[slot] = weight * drawn if how[O_VOTES] > 0 else weight
                learn(window, rules, row, 0)
    if not learns:
        for c in range(out.shape[1]):
            for i in range(size):
                out[0, c] += answers[i, c]
            out[0, c] /= size
        return DONE
    drift = False
    for i in range(size if how[O_DETECTOR] >= 0 else 0):
        wrong = 0.0 if first_greatest(answers[i], answers.shape[1]) == label else 1.0
        if feed(how[O_DETECTOR], own.detectors, i, wrong, own.detector_rules) == 2:
            drift = True
    return find_worst(own.detectors, how[O_DETECTOR]) if drift else DONE


@hot
def draw(dice: NDArray[np.uint64], rate: float, counts: Ints) -> None:
    """Draw from Poisson(rate) for each member and each row: counts[i, n]."""
    for i in range(counts.shape[0]):
        for n in range(counts.shape[1]):
            counts[i, n] = poisson(dice, i, rate)


@hot
def watch(table: Floats, code: int, rules: Floats, errors: Floats, start: int) -> int:
    """Show each row's errors, from row ``start`` on, to the members' detectors; stop after a row with a drift.

    errors[i, n]: member i, row n. Gives the number of rows shown in all; the last of them may be one with a drift.
    """
    for n in range(start, errors.shape[1]):
        drift = False
        for i in range(errors.shape[0]):
            if feed(code, table, i, errors[i, n], rules) == 2:
                drift = True
        if drift:
            return n + 1
    return int(errors.shape[1]) + 1


@inlined_entry
def find_worst(table: Floats, code: int) -> int:
    """Find the member with the most errors as its detector sees them."""
    worst = 0
    for i in range(1, len(table)):
        if mean_error(code, table, i) > mean_error(code, table, worst):
            worst = i
    return worst
