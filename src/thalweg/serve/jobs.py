"""What the book makes of an entry of the journal: the reply to a request, and jobs for those who learn."""

from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from thalweg.core.schema import Schema
from thalweg.serve.entries import Any_

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Given(msgspec.Struct, array_like=True, frozen=True):
    """The reply to records: everything that an answer says."""

    first: int
    """The ticket of the first; the others follow on. -1: nothing was recorded."""
    rows: int
    why: bytes
    """For each record why its label is wanted, 0: it is not; see ``thalweg.active.strategy.REASONS``."""
    proba: bytes
    classes: list[Any]
    version: int


class Outcome(msgspec.Struct, array_like=True, frozen=True):
    """The reply to labels: what became of each."""

    learned: int
    scored: int
    """Those that were compared with the answer; a label that nobody asked for is scored, and not learned."""
    repeated: list[Any] = []
    unknown: list[Any] = []
    expired: list[Any] = []
    early: list[Any] = []
    """Names of records that have not come yet: their labels wait for them."""
    refused: str | None = None
    """Why no label was taken, in a sentence."""


class Answers(NamedTuple):
    """A job: records were answered."""

    at: float
    first: int
    X: Floats
    proba: Floats
    """By the codes of the book."""
    why: NDArray[np.int8]


class Labelled(NamedTuple):
    """A job: labels of answered records came."""

    at: float
    tickets: Ints
    X: Floats
    y: list[Any]
    codes: Ints
    proba: Floats
    wanted: NDArray[np.bool_]
    """Which are to be learned."""
    arrived: Floats
    """When their records came."""
    expert: str | None


class Lesson(NamedTuple):
    """A job: records came with their labels."""

    at: float
    X: Floats
    y: list[Any]
    codes: Ints
    wanted: NDArray[np.bool_] | None
    """Which are to be learned; None: all."""


class Growth(NamedTuple):
    """A job: the schema from here on."""

    schema: Schema


Job = Answers | Labelled | Lesson | Growth | Any_
