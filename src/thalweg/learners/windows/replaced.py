"""The members of an ensemble of windows: what each draws from, how its detector stands, when it was replaced."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.protocols import State
from thalweg.core.tables import refuse_misfits, sound
from thalweg.detectors.detector import Detector
from thalweg.jit.random import seeded

Ints = NDArray[np.int64]

KEPT = 18
"""Times that are kept of each member, the latest."""


def new_members(size: int, seed: int, detector: Detector | None) -> State:
    """Make the tables: random states, detectors, how often each was replaced, rows learned, when each was replaced."""
    return {
        "dice": seeded(seed, size), "detectors": np.zeros((0, 0)) if detector is None else detector.new_rows(size),
        "counts": np.zeros(size, dtype=np.int64), "learned": np.zeros(1, dtype=np.int64), "replaced": new_times(size),
    }  # fmt: skip


def adopt_members(tables: State, size: int, detector: Detector | None) -> State:
    """Give the tables of members among others; refuse what no ensemble could have.

    Files of earlier versions have no times: they are not known.
    """
    own = new_members(size, 0, detector)
    known = {"replaced", "learned"} <= tables.keys()
    own |= {name: tables[name] for name in own if known or name not in ("replaced", "learned")}
    refuse_misfits(own, new_members(size, 0, detector))
    sound(own, "counts", (size,), np.int64, least=0)
    learned = int(sound(own, "learned", (1,), np.int64, least=0)[0])
    sound(own, "replaced", (size, KEPT), np.int64, least=-1, below=learned + 1)
    if detector is not None and not detector.fits(own["detectors"]):
        raise ValueError("its table 'detectors' holds what no ensemble could")
    return own


def new_times(size: int) -> Ints:
    """Make the table of times, a ring for each member; -1: not used yet, or not known."""
    return np.full((size, KEPT), -1)


def replacements(times: Any) -> list[tuple[int, int]]:
    """Give (rows learned by then, member), in order of time.

    >>> times = new_times(3)
    >>> times[2, :2], times[0, 0] = (70, 210), 140
    >>> replacements(times)
    [(70, 2), (140, 0), (210, 2)]
    """
    return sorted((int(at), i) for i, ring in enumerate(times) for at in ring if at >= 0)
