"""Row by row through a learner that is one compiled routine: predict, decide whether the label is wanted, learn.

The routine is called by its address (``jit.native``), so that nothing of it is compiled once more.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.active.strategies_jit import Asking, step
from thalweg.jit.compile import hot
from thalweg.jit.native import call_at

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@hot
def walk(
    play: int, front: Any, back: Any, X: Any, y: Ints, w: Floats, asking: Any, why: NDArray[np.int8], out: Floats,
    known: int, start: int, now: Any,
) -> int:  # fmt: skip
    """Go through the rows from ``start`` on; less than all of them: there must be more room to learn the row before.

    A row is learned and the next one predicted in one call. So there are two rows at a time, which take turns in
    ``now``: themselves, codes, weights and answers; then the events that learn the one and predict the other, predict,
    and learn.
    """
    asking = Asking(*asking)
    x, labels, weights, said, both, predicts, learns = now
    n = len(X)
    for r in range(start, n + 1):
        turn = r % 2
        pending = r > 0 and why[r - 1] > 0
        if r == n and not pending:
            break
        if r < n:
            for c in range(X.shape[1]):
                x[turn, c] = X[r, c]
            labels[turn], weights[turn] = y[r], w[r]
            for c in range(known):
                said[turn, c] = 0.0
        events = learns[turn] if r == n else both[turn] if pending else predicts[turn]
        if call_at(play, (*front, x, labels, weights, events, said, known, *back)) < len(events):
            return r
        if r < n:
            for c in range(known):
                out[r, c] = said[turn, c]
            why[r] = step(asking.kind, asking.table, 0, asking.rules, asking.random, out, r, known)
    return n + 1
