"""What a learner is asked to do with rows that have passed the door, and in which order."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.labels import Labels
from thalweg.core.params import shown
from thalweg.core.schema import Schema

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Task(NamedTuple):
    """Rows and labels that have passed the door, and what is to be done with them. Nothing has changed yet."""

    X: Any
    schema: Schema
    """With what the learned rows add to it."""
    labels: Labels
    """The learner's own, or where classes are declared in the same call, a copy that knows these too."""
    codes: Ints
    """Of each row that is learned; -1 for the others."""
    new: list[Hashable]
    """Labels that ``labels`` does not have yet: their codes follow on, in the order in which they are learned."""
    w: Floats
    events: Ints
    given: bool = False
    """Did the caller give the events? Then labels may come late."""


class OneRoutine(NamedTuple):
    """A learner as one compiled routine, ``code(*front, X, y, w, events, out, known, *back)``.

    The routine gives the number of events done; less than all when there must be more room first.
    """

    code: Any
    X: NDArray[Any]
    """Rows as the routine takes them."""
    tables: Callable[[], tuple[tuple[Any, ...], tuple[Any, ...]]]
    """Give ``front`` and ``back`` as they are now."""
    make_room: Callable[[NDArray[Any], int], None]
    """Grow what keeps the routine from learning a row with this code."""


def order(events: Any, n: int) -> Ints:
    """Read the events of ``play`` for n rows."""
    try:
        found = np.asarray(events)
    except Exception:
        found = np.empty(1, dtype=object)
    whole = found.ndim == 1 and (found.dtype.kind in "iu" or not found.size)
    if not whole or (found.size and (found.max() >= n or found.min() < -n)):
        raise ValueError(f"events must be row numbers e or ~e of the {n} rows, got {shown(events)}")
    return np.ascontiguousarray(found, dtype=np.int64) if found.size else np.zeros(0, dtype=np.int64)
