"""The members of an ensemble of windows: what each draws from, how its detector stands, when it was replaced."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import check, span, table
from thalweg.core.protocols import State
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.jit.random import Seeds, seeded

Ints = NDArray[np.int64]

KEPT = 18
"""Times that are kept of each member, the latest."""


class Members(NamedTuple):
    """The tables of S members."""

    dice: Annotated[Seeds, table("S")]
    """S: their generators."""
    detectors: Annotated[NDArray[np.float64], table("watched", "columns", loose=True)]
    """S × …: what watches their errors; no rows where nobody is replaced."""
    counts: Annotated[Ints, table("S", least=0, most=2**53)]
    """S: how often each was replaced."""
    learned: Annotated[Ints, table(1, cells={0: span(0, 2**53, name="rows")})]
    """1: rows learned."""
    replaced: Annotated[Ints, table("S", KEPT, least=-1, most="rows")]
    """S × 18: rows learned at the latest replacements, a ring; -1: not used yet, or not known."""


class Replacing:
    """An ensemble that tells which of its members were replaced."""

    __slots__ = ()
    drift: str | Detector | None
    _bag: State
    _started: bool

    @property
    def finds_drifts(self) -> bool:
        """Does it look for drifts, and tell of those it found?"""
        return make_detector("drift", self.drift) is not None

    @property
    def n_drifts(self) -> int:
        """How many members were replaced so far."""
        return int(self._bag["counts"].sum()) if self._started else 0

    @property
    def rows_learned(self) -> int:
        """Rows learned so far."""
        return int(self._bag["learned"][0]) if self._started else 0

    @property
    def replacements(self) -> list[tuple[int, int]]:
        """When members were replaced: (rows learned by then, member), in order; the latest 18 of each member."""
        return replacements(self._bag["replaced"]) if self._started else []


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
    (watched, columns), known = own["detectors"].shape, {"replaced", "learned"} <= tables.keys()
    own |= {name: tables[name] for name in own if known or name not in ("replaced", "learned")}
    check(Members, own, S=size, watched=watched, columns=columns)
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
