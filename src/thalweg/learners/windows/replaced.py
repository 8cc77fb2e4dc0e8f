"""When members of an ensemble were replaced: a few of the latest times of each, in a table that is kept."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

KEPT = 18
"""Times that are kept of each member, the latest."""


def new_times(size: int) -> Ints:
    """Make the table of times, a ring for each member; -1: not used yet, or not known."""
    return np.full((size, KEPT), -1)


def replacements(times: Ints) -> list[tuple[int, int]]:
    """Give (rows learned by then, member), in order of time.

    >>> times = new_times(3)
    >>> times[2, :2], times[0, 0] = (70, 210), 140
    >>> replacements(times)
    [(70, 2), (140, 0), (210, 2)]
    """
    return sorted((int(at), i) for i, ring in enumerate(times) for at in ring if at >= 0)


def checked(times: Any, learned: Any, size: int) -> tuple[Ints, Ints]:
    """Refuse tables that no ensemble could have; files of earlier versions have none, and their times are not known."""
    if times is None or learned is None:
        return new_times(size), np.zeros(1, dtype=np.int64)
    if learned.dtype != np.int64 or learned.shape != (1,) or learned[0] < 0:
        raise ValueError("its table 'learned' holds what no ensemble could")
    if times.dtype != np.int64 or times.shape != (size, KEPT) or times.min() < -1 or times.max() > learned[0]:
        raise ValueError("its table 'replaced' holds what no ensemble could")
    return times, learned
