"""A learner that is one compiled routine, and a strategy that decides in the midst of it."""

import numpy as np
from numpy.typing import NDArray

from thalweg.active import walk_jit as jit
from thalweg.active.strategies_jit import Asking
from thalweg.core.classifier import Floats, Ints
from thalweg.core.task import OneRoutine
from thalweg.jit.native import address_of


def walk(
    routine: OneRoutine, y: Ints, w: Floats, asking: Asking, why: NDArray[np.int8], out: Floats, known: int
) -> int | None:
    """Predict, decide about and learn all rows; give how many there are, or None where nothing is compiled.

    The codes of all rows are below ``known``.
    """
    X, turns = routine.X, np.arange(2)
    now = (
        np.empty((2, X.shape[1]), dtype=X.dtype), np.zeros(2, dtype=np.int64), np.zeros(2), np.zeros((2, known)),
        np.stack([~(1 - turns), turns], axis=1), turns.reshape(2, 1), (~(1 - turns)).reshape(2, 1),
    )  # fmt: skip
    front, back = routine.tables()
    play = address_of(routine.code, *front, *now[:3], turns, now[3], known, *back)
    if not play:
        return None
    at, n = 0, len(X)
    while True:
        at = jit.walk(play, front, back, X, y, w, tuple(asking), why, out, known, at, now)
        if at > n:
            return n
        routine.make_room(X[at - 1], int(y[at - 1]))
        front, back = routine.tables()
