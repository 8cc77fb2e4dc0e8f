"""What streams, detectors and strategies promise. Any object that keeps the promise will do."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.schema import Schema

State = dict[str, NDArray[Any]]
"""All state of anything: named NumPy arrays of fixed width, no objects."""


@runtime_checkable
class Stateful(Protocol):
    """Can be written down as a few arrays, and continued from them."""

    def state(self) -> State:
        """Copy out everything that the future depends on."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` gave."""
        ...


@runtime_checkable
class Stream(Stateful, Protocol):
    """Records in order. Its state is its position."""

    @property
    def schema(self) -> Schema:
        """What a record looks like."""
        ...

    def read(self, n: int) -> Chunk | None:
        """Give up to n next records: an empty chunk means "nothing yet", None "ended"."""
        ...

    @property
    def drifts(self) -> tuple[int, ...]:
        """Known positions where the concept changes; empty when unknown."""
        ...


@runtime_checkable
class Detector(Stateful, Protocol):
    """Watches a sequence of numbers for a change. For errors: 1 = error, a rise is drift."""

    def update(self, value: float) -> bool:
        """Take one value; True when it reveals a change."""
        ...

    def update_many(self, values: NDArray[np.float64]) -> NDArray[np.int8]:
        """Take many values; a level for each: 0 stable, 1 warning, 2 drift."""
        ...

    @property
    def drift_detected(self) -> bool:
        """Did the last value reveal a change?"""
        ...

    @property
    def warning_detected(self) -> bool:
        """Did the last value raise suspicion?"""
        ...

    @property
    def estimate(self) -> float:
        """What the detector believes the present mean is."""
        ...


@runtime_checkable
class Strategy(Stateful, Protocol):
    """Decides which labels to ask for, within a budget."""

    def ask(self, proba: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Say for each row of class probabilities whether its label is wanted."""
        ...
