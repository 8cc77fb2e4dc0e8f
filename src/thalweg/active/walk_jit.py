"""Block by block through a learner that is one compiled routine: predict, decide whether a label is wanted, learn.

The routine is called by its address (``jit.native``), so that nothing of it is compiled once more. Of many rows the
strategy knows before they are predicted whether it wants their labels: the budget is spent, or chance has decided. One
call plays all of these, and predicts the next row, which must be decided on.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.active.strategies_jit import Asking, foresee, step
from thalweg.jit.compile import hot, inlined
from thalweg.jit.native import call_at

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

AHEAD = 14
"""So many rows are foreseen at most."""
EVENTS = 2 * AHEAD + 2
"""The most events of a call: the row before is learned, rows are foreseen, and one more is predicted."""
C_ROW, C_PENDING, C_DONE, CURSOR = range(4)
"""Cells of cursor: the first row of the block; is the row before still to be learned; events done."""


@inlined
def plan(asking: Asking, r: int, n: int, pending: bool, fates: NDArray[np.int8], events: Ints) -> tuple[int, int]:
    """Write the events of the block that begins with row r; give their number, and how many rows there are.

    fates[j]: will row r + j be wanted; -1 where it must be predicted first.
    """
    found = foresee(asking.kind, asking.table, 0, asking.rules, asking.random, min(AHEAD, n - r), fates)
    count = 0
    if pending:
        events[0] = ~(r - 1)
        count = 1
    for j in range(found):
        events[count] = r + j
        count += 1
        if fates[j] > 0:
            events[count] = ~(r + j)
            count += 1
    if found < AHEAD and r + found < n:
        fates[found] = -1
        events[count] = r + found
        count += 1
        found += 1
    return count, found


@hot
def walk(
    play: int, front: Any, back: Any, X: Any, y: Ints, w: Floats, asking: Any, why: NDArray[np.int8], out: Floats,
    said: Floats, known: int, cursor: Ints, fates: NDArray[np.int8], events: Ints,
) -> int:  # fmt: skip
    """Go through the rows from the cursor on; give the row that cannot be learned without more room, -1: all is done.

    said: zeros, an answer for each row of X. fates, events: to work in.
    """
    asking = Asking(*asking)
    n = len(X)
    while True:
        r = cursor[C_ROW]
        count, rows = plan(asking, r, n, cursor[C_PENDING] > 0, fates, events)
        if count == 0:
            return -1
        begun = cursor[C_DONE]
        done = begun + call_at(play, (*front, X, y, w, events[begun:count], said, known, *back))
        if done < count:
            cursor[C_DONE] = done
            return int(~events[done])
        cursor[C_DONE] = cursor[C_PENDING] = 0
        for j in range(rows):
            for c in range(known):
                out[r + j, c] = said[r + j, c]
            why[r + j] = step(asking.kind, asking.table, 0, asking.rules, asking.random, out, r + j, known)
        if rows > 0 and fates[rows - 1] < 0 and why[r + rows - 1] > 0:
            cursor[C_PENDING] = 1
        cursor[C_ROW] = r + rows
