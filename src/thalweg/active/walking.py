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
    X, n = routine.X, len(routine.X)
    said, events = np.zeros((n, known)), np.empty(jit.EVENTS, dtype=np.int64)
    fates, cursor = np.empty(jit.AHEAD + 1, dtype=np.int8), np.zeros(jit.CURSOR, dtype=np.int64)
    front, back = routine.tables()
    play = address_of(routine.code, *front, X, y, w, events, said, known, *back)
    if not play:
        return None
    while True:
        r = jit.walk(
            play, front, back, X, y, w, tuple(asking), why, out, said, known, cursor, fates, events
        )  # fmt: skip
        if r < 0:
            return n
        routine.make_room(X[r], int(y[r]))
        front, back = routine.tables()
