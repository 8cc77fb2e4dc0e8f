"""Records from one stream and their labels from another, in one order that a replay repeats."""

import math
import time
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.declared import EXACT, check, table
from thalweg.core.params import shown
from thalweg.core.protocols import State, Stream
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

LONGEST = 256
"""Bytes that a key may have."""
AT_ONCE = 1024
"""Records, and labels, that are read at a time, at least."""
_NAP = 0.01  # seconds to wait for what is known to come
_NONE = np.zeros(0)


class Meeting(NamedTuple):
    """The next records and labels, and the order in which they came."""

    records: Chunk
    """With their keys as labels."""
    keys: Words
    """The keys of the records."""
    label_keys: Words
    labels: NDArray[Any]
    """The user's own values."""
    order: Ints
    """e ≥ 0: record e came; ~e: label e."""
    when: Floats
    """When each of them came, never before the one before it."""
    text: bool
    """Are the keys text?"""

    @property
    def events(self) -> int:
        """How many records and labels there are."""
        return len(self.order)


class Place(NamedTuple):
    """Where two streams are, beside their own states before what is in hand was read."""

    used: Annotated[Ints, table(2, least=0, most=EXACT)]
    """2: of what was read last, how many records and labels have been given."""
    given: Annotated[Ints, table(2, least=0, most=EXACT)]
    """2: records and labels so far."""
    timed: Annotated[Ints, table(1, least=-1, most=1)]
    """1: have they times? -1: nothing has come."""
    clocks: Annotated[Floats, table(3, least=-math.inf)]
    """3: the latest time of a record, of a label, of both."""


class _Side:
    """One of the two streams, and what of it was read and not yet given."""

    def __init__(self, stream: Any, what: str, tracked: bool) -> None:
        self.stream, self.what, self.tracked = stream, what, tracked
        if hasattr(stream, "patience"):  # the other one must not wait for long
            stream.patience = _NAP
        self.before: State = {}
        """The state of the stream before what is in hand was read."""
        self.used = self.given = 0
        self.clock = -math.inf
        self.ended = False
        self.chunk: Chunk | None = None
        self.keys: Words = np.zeros((0, 1), dtype=np.uint64)
        self.text: bool | None = None
        self.when: Floats = _NONE
        self.part = slice(0, 0)
        """Which of those in hand were given last."""
        self.ids: list[str] | None = None
        self.mark()

    def mark(self) -> None:
        """Note the position, to which ``state`` refers."""
        if self.tracked:
            self.before = self.stream.state()
        self.used = 0

    def __len__(self) -> int:
        return len(self.when) - self.used

    @property
    def to_come(self) -> bool:
        """Is there more for certain? A stream that is not followed says when it has ended."""
        return not self.ended and not getattr(self.stream, "follow", True)

    def fill(self, n: int, timed: bool | None) -> bool | None:
        """Read on where nothing is in hand; say whether what came has times."""
        if len(self) or self.ended:
            return timed
        self.mark()
        chunk = self.stream.read(max(n, AT_ONCE))
        self.chunk, self.when = chunk, _NONE
        self.ended = chunk is None
        if chunk is None or not len(chunk):
            return timed
        self.keys, text = words_of(chunk.y, f"the key of {self.what}")
        if self.text is not None and text != self.text:
            raise TypeError(f"the key must be whole numbers in all {self.what} or text in all, got {shown(chunk.y[0])}")
        self.text = text
        self.ids = self.stream.origins()[0] if hasattr(self.stream, "origins") else None
        has = chunk.time is not None
        if timed is not None and has != timed:
            raise ValueError(
                "records and labels must both have a time, or both none: name the columns by time= and label_time= "
                f"(--time, --label-time); {self.what} {'have one' if has else 'have none'}"
            )
        if chunk.time is None:  # record i comes before label i, and label i before record i + 1
            self.when = np.arange(self.given, self.given + len(chunk), dtype=np.float64)
            return has
        if not np.isfinite(chunk.time).all():
            i = int(np.argmin(np.isfinite(chunk.time)))
            raise ValueError(
                f"the time of {self.what} must be a finite number, got {chunk.time[i]} in row {self.given + i}"
            )
        self.when = np.maximum.accumulate(np.concatenate([[self.clock], chunk.time]))[1:]
        return has

    def give(self, n: int) -> slice:
        """Take the next n that are in hand: say which those are."""
        part = self.part = slice(self.used, self.used + n)
        if n:
            self.clock = float(self.when[part.stop - 1])
        self.used += n
        self.given += n
        return part

    def origins(self) -> tuple[list[str], list[Any]]:
        """Give an id for each that was given last, and its key."""
        part, first = self.part, self.given - (self.part.stop - self.part.start)
        keys = [] if self.chunk is None else self.chunk.y[part].tolist()
        return [str(first + i) for i in range(len(keys))] if self.ids is None else self.ids[part], keys

    def restore(self, state: State, used: int, given: int, clock: float) -> None:
        """Go to a position, and pass over what was given after it."""
        self.stream.restore(state)
        self.mark()
        self.chunk, self.when, self.ended = None, _NONE, False
        left = used
        while left:
            chunk = self.stream.read(min(left, AT_ONCE))
            if chunk is None:
                raise ValueError(f"its {self.what} are {left} fewer than there were")
            left -= len(chunk)
            if not len(chunk):
                time.sleep(_NAP)
        self.used, self.given, self.clock = used, given, clock
        self.when = np.zeros(used)  # nothing is in hand


@final
class Joined:
    """Records and labels that come apart, from two streams whose own labels are keys.

    Where both have times, they come in the order of time, a record before a label of the same time; else record i comes
    before label i, and label i before record i + 1. Where one that is followed (``follow``) has nothing yet, the other
    goes on; one that is not is waited for, so that the order does not depend on how fast it comes. Within each the
    order stays as it is.

    records, labels: read with the key as their target. column: the feature of ``labels`` that holds the label; None:
    ``class``, or the only one. seconds: is the age of what waits counted in seconds, or in records? tracked: may
    ``state`` be asked for?
    """

    def __init__(
        self, records: Stream, labels: Stream, *, key: str, column: str | None, seconds: bool, tracked: bool = True
    ) -> None:
        self.key = key
        self._records, self._labels = _Side(records, "records", tracked), _Side(labels, "labels", tracked)
        self._column = _column_of(labels.schema, column)
        self._seconds = seconds
        self._timed: bool | None = None
        self._clock = -math.inf
        name = labels.schema.names[self._column]
        if name in records.schema.names:
            raise ValueError(
                f"records must not have the column {name!r}, which holds the labels: leave it out by drop=[{name!r}] "
                f"(--drop {name})"
            )

    # -- what a run asks a stream -------------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """What the records are called."""
        return getattr(self._records.stream, "name", None) or type(self._records.stream).__name__

    @property
    def schema(self) -> Schema:
        """The features of the records."""
        schema: Schema = self._records.stream.schema
        return schema if schema.classes is None else structs.replace(schema, classes=None)

    @property
    def rows(self) -> Any:
        """How many records there are, where that is known."""
        return getattr(self._records.stream, "rows", None)

    @property
    def endless(self) -> bool:
        """Is it known that the records never end?"""
        return bool(getattr(self._records.stream, "endless", False))

    @property
    def drifts(self) -> tuple[int, ...]:
        """Where the records are known to change."""
        return tuple(getattr(self._records.stream, "drifts", ()))

    def get_params(self) -> dict[str, Any]:
        """Give the parameters of both streams."""
        found: dict[str, Any] = {"key": self.key}
        for side in (self._records, self._labels):
            settings = getattr(side.stream, "get_params", dict)
            found |= {f"{side.what}_{name}": value for name, value in settings().items()}
        return found

    def read(self, n: int) -> Meeting | None:
        """Give up to n next records, and the labels between them: it ends with the n-th record.

        One with no events: nothing yet; None: both have ended.
        """
        a, b = self._records, self._labels
        for side in (a, b):
            self._timed = side.fill(n, self._timed)
        if a.text is not None and b.text is not None and a.text != b.text:
            texts = ["text" if side.text else "whole numbers" for side in (a, b)]
            raise TypeError(
                f"the key must be of one kind in both, it is {texts[0]} in records and {texts[1]} in labels"
            )
        if self._seconds and self._timed is False:
            raise ValueError(
                "wait must be a number of records where records and labels have no time (time=, --time), got a duration"
            )
        if a.ended and b.ended:
            return None
        late = any(side.to_come and not len(side) for side in (a, b))
        R, L = (_NONE, _NONE) if late else (a.when[a.used :], b.when[b.used :])
        order = merged(R, L, n)
        came = order >= 0
        records = int(np.count_nonzero(came))
        labels = len(order) - records
        if self._seconds:
            moments = np.empty(len(order))
            moments[came], moments[~came] = R[:records], L[:labels]
            when = np.maximum.accumulate(np.concatenate([[self._clock], moments]))[1:]
            self._clock = float(when[-1]) if len(when) else self._clock
        else:  # so many records came before
            when = (a.given + np.cumsum(came) - came).astype(np.float64)
        part, other = a.give(records), b.give(labels)
        return Meeting(
            _none(self.schema) if a.chunk is None or not records else a.chunk[part],
            a.keys[part] if records else a.keys[:0],
            b.keys[other] if labels else b.keys[:0],
            _NONE if b.chunk is None or not labels else self._values(b.chunk[other]),
            order,
            when,
            bool(b.text if a.text is None else a.text),
        )

    def origins(self) -> tuple[list[str], list[Any]]:
        """Give an id for each record that was given last, as its stream does or by number, and its key."""
        return self._records.origins()

    def _values(self, chunk: Chunk) -> NDArray[Any]:
        """Give the labels of a chunk of their stream: text, truth, whole numbers, or numbers."""
        stream = self._labels.stream
        feature = stream.schema.features[self._column]
        cells = chunk.dense().X[:, self._column]
        if not np.isfinite(cells).all():
            i = int(np.argmin(np.isfinite(cells)))
            raise ValueError(f"the label of key {shown(chunk.y[i].item())} must be given, it is missing or infinite")
        if feature.values is not None:
            return np.array(feature.values)[cells.astype(np.int64)]
        if feature.name in getattr(stream, "booleans", ()):
            return cells.astype(np.bool_)
        whole = cells.astype(np.int64)
        return whole if (whole == cells).all() else cells.copy()

    # -- position -----------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Copy out both positions."""
        a, b = self._records, self._labels
        return {
            **prefixed("records", a.before),
            **prefixed("labels", b.before),
            "used": np.array([a.used, b.used]),
            "given": np.array([a.given, b.given]),
            "timed": np.array([-1 if self._timed is None else int(self._timed)]),
            "clocks": np.array([a.clock, b.clock, self._clock]),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what ``state`` gave."""
        check(Place, state)
        used, given, clocks = (state[name].tolist() for name in ("used", "given", "clocks"))
        self._timed = None if state["timed"][0] < 0 else bool(state["timed"][0])
        self._clock = clocks[2]
        for k, side in enumerate((self._records, self._labels)):
            if used[k] > given[k]:
                raise ValueError("its positions are damaged")
            side.restore(under(side.what, state), used[k], given[k], clocks[k])


def merged(R: Floats, L: Floats, n: int) -> Ints:
    """Give the order of records (e ≥ 0) and labels (~e) by their times, which never fall; both may go on.

    A record comes before a label of the same time. It ends where one of them is used up, unless there was none of it,
    and with the n-th record.

    >>> merged(np.array([1.0, 2.0, 9.0]), np.array([0.0, 2.0, 3.0]), 10).tolist()
    [-1, 0, 1, -2, -3]
    """
    records, labels = len(R), len(L)
    if records and labels:
        if R[-1] <= L[-1]:
            labels = int(np.searchsorted(L, R[-1], "left"))
        else:
            records = int(np.searchsorted(R, L[-1], "right"))
    if records >= n:
        records = n
        labels = int(np.searchsorted(L[:labels], R[n - 1], "left"))
    order = np.empty(records + labels, dtype=np.int64)
    of_label = np.zeros(len(order), dtype=np.bool_)
    of_label[np.arange(labels) + np.searchsorted(R[:records], L[:labels], "right")] = True
    order[of_label], order[~of_label] = ~np.arange(labels), np.arange(records)
    return order


def words_of(keys: NDArray[Any], name: str) -> tuple[Words, bool]:
    """Give keys, whole numbers or text, as whole words of 64 bits each, and say whether they are text.

    >>> words_of(np.array([7, -1]), "key")[0].tolist()
    [[7], [18446744073709551615]]
    >>> words_of(np.array(["a", "long enough"]), "key")[0].shape
    (2, 2)
    """
    if keys.dtype == object:
        kinds = {type(v) for v in keys}
        if kinds == {str} and not any("\0" in v for v in keys):
            keys = np.array(keys.tolist())
        elif kinds == {int} and all(-(2**63) <= v < 2**63 for v in keys):
            keys = keys.astype(np.int64)
    if keys.dtype.kind in "iu":
        return np.ascontiguousarray(keys.astype(np.int64)).view(np.uint64).reshape(-1, 1), False
    if keys.dtype.kind != "U":
        raise TypeError(
            f"{name} must be whole numbers of 64 bits, or text without zeros, got {shown(keys.tolist()[0])}"
        )
    signs = np.ascontiguousarray(keys).view(np.uint32).reshape(len(keys), -1)
    try:
        text = signs.astype(np.uint8) if signs.max(initial=0) < 128 else _bytes(np.char.encode(keys, "utf-8"))
    except UnicodeEncodeError:
        raise ValueError(f"{name} must be text that UTF-8 can hold") from None
    if text.shape[1] > LONGEST:
        i = int(np.argmax((text != 0).sum(axis=1)))
        if text[:, LONGEST:].any():
            raise ValueError(f"{name} must have at most {LONGEST} bytes, got {shown(str(keys[i]), 40)}")
        text = text[:, :LONGEST]
    wide = np.zeros((len(keys), 8 * max(1, -(-text.shape[1] // 8))), dtype=np.uint8)
    wide[:, : text.shape[1]] = text
    return wide.view("<u8").astype(np.uint64, copy=False), True


def _bytes(texts: NDArray[np.bytes_]) -> NDArray[np.uint8]:
    return texts.view(np.uint8).reshape(len(texts), -1)


def _column_of(schema: Schema, column: str | None) -> int:
    """Find the feature that holds the labels."""
    names = schema.names
    wanted = column or ("class" if "class" in names or len(names) != 1 else names[0])
    if wanted not in names:
        raise ValueError(f"target must name the column of labels with the label, one of {list(names)}, got {wanted!r}")
    return names.index(wanted)


def _none(schema: Schema) -> Chunk:
    return Chunk(np.empty((0, schema.n_features)), np.empty(0, dtype=np.int64))
