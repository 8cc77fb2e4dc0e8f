"""What a journal of the service holds: one struct for each kind of entry, written as MessagePack.

A model is a function of its parameters and of these entries in order, and of nothing else: the probabilities that were
answered stand in the entry of the records, so that neither the version that answered nor the time matters to a replay.
Rows are float64 in the order of the schema, nominal values as codes. ``at``, seconds since 1970, is only shown.
"""

from typing import Any, final

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Entry(msgspec.Struct, array_like=True, frozen=True):
    """What all entries have."""

    at: float


@final
class Position(msgspec.Struct, frozen=True):
    """Where a topic is read on. It stands in the entry of what was read, so that the two can never disagree."""

    name: str
    """What the topic is for: "records" or "labels"."""
    address: str
    at: dict[int, tuple[int, int]]
    """The last message of each partition that was read."""
    passed: int = 0
    """How many messages there were up to here, as the reader counts."""
    bad: int = 0
    """Messages that were left out."""


@final
class Records(Entry, tag="records", array_like=True, frozen=True):
    """Records that were answered; each gets the next ticket."""

    rows: int
    X: bytes
    proba: bytes
    classes: list[Any]
    """The labels of the columns of ``proba``."""
    version: int
    ids: list[Any] | None = None
    """The client's own names of the records."""
    key: str | None = None
    """The client's name of the request: a second one with it is answered from this entry."""
    source: bytes | None = None
    """Where the records of a topic end, and so where to read on: a ``Position`` as JSON."""


@final
class Told(Entry, tag="labels", array_like=True, frozen=True):
    """Labels of earlier records, by ticket or by the client's own name."""

    labels: list[Any]
    tickets: list[int] | None = None
    ids: list[Any] | None = None
    key: str | None = None
    expert: str | None = None
    """Who said so."""
    source: bytes | None = None


@final
class Learned(Entry, tag="learn", array_like=True, frozen=True):
    """Records with their labels."""

    rows: int
    X: bytes
    labels: list[Any]
    proba: bytes = b""
    """What decides, where a strategy does."""
    classes: list[Any] = []
    key: str | None = None
    source: bytes | None = None


@final
class Passed(Entry, tag="passed", array_like=True, frozen=True):
    """Messages of a topic that held nothing to be learned or answered."""

    source: bytes


@final
class Grown(Entry, tag="schema", array_like=True, frozen=True):
    """The schema from here on, as JSON."""

    schema: bytes


@final
class Expired(Entry, tag="expire", array_like=True, frozen=True):
    """Open tickets before this one are let go of."""

    before: int


@final
class Promoted(Entry, tag="promote", array_like=True, frozen=True):
    """A shadow takes the champion's place, and the other way round."""

    name: str
    why: str


@final
class RolledBack(Entry, tag="rollback", array_like=True, frozen=True):
    """The champion knows again what it knew at this position, of which there is a snapshot."""

    position: int
    why: str


@final
class Began(Entry, tag="start", array_like=True, frozen=True):
    """The service was started; for a reader of the journal."""

    about: dict[str, Any]


Any_ = Records | Told | Learned | Passed | Grown | Expired | Promoted | RolledBack | Began
encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(Any_)


def decode(payload: bytes) -> Any_:
    """Read an entry."""
    try:
        entry: Any_ = _decoder.decode(payload)
        return entry
    except msgspec.DecodeError as error:
        raise ValueError(f"an entry of the journal is of another kind: {error}") from None


def matrix(data: bytes, rows: int) -> Floats:
    """Read rows of numbers."""
    return np.frombuffer(data, dtype="<f8").reshape(rows, -1).copy() if rows else np.zeros((0, 0))
