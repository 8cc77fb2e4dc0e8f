"""Streams inside streams: their checks, their states, their records put together."""

import io
from abc import abstractmethod
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk, stacked
from thalweg.core.fields import fixed
from thalweg.core.params import shown
from thalweg.core.protocols import State, Stream
from thalweg.core.schema import Schema, Value
from thalweg.core.tables import prefixed, under
from thalweg.streams.draw_jit import Seeds
from thalweg.streams.files.array_header import DAMAGE, array_header
from thalweg.streams.source import Source, csr


def all_endless(streams: Sequence[Stream]) -> bool:
    """Is it known of each that it never ends? A stream that does not say so may end."""
    return all(getattr(stream, "endless", False) for stream in streams)


def is_stream(name: str, stream: Any) -> None:
    """Refuse anything but a stream."""
    if not isinstance(stream, Stream) or isinstance(stream, type):
        raise TypeError(f"{name} must be a stream, got {shown(stream)}")


def is_dense(name: str, stream: Any) -> None:
    """Refuse a stream of sparse rows."""
    if is_sparse(stream):
        raise ValueError(f"{name} must give dense rows, got {shown(stream)}, whose rows are sparse")


def is_sparse(stream: Any) -> bool:
    """Does a stream give sparse rows?"""
    return bool(getattr(stream, "sparse", False))


def changes(stream: Stream) -> dict[int, float]:
    """Give the width of each known drift by its position, in order."""
    widths = getattr(stream, "widths", None) or [1] * len(stream.drifts)
    return dict(zip(stream.drifts, widths, strict=True))


def restore_all(streams: Sequence[Stream], states: Sequence[State]) -> None:
    """Restore all streams, or, where one of them refuses, none."""
    before = [stream.state() for stream in streams]
    try:
        for stream, state in zip(streams, states, strict=True):
            stream.restore(state)
    except ValueError:
        for stream, state in zip(streams, before, strict=True):
            stream.restore(state)
        raise


def take(stream: Stream, n: int) -> tuple[Chunk, bool]:
    """Read n records, fewer where the stream has no more, or has none yet; say whether it has ended."""
    parts: list[Chunk] = []
    ended = False
    while n > 0:
        chunk = stream.read(n)
        ended = chunk is None
        if chunk is None or len(chunk) == 0:
            break
        parts.append(chunk)
        n -= len(chunk)
    return Chunk.join(parts) if parts else nothing(stream), ended


class Confluence:
    """Several streams whose records are put together, and those that had to be read before others were there.

    Where the stream whose turn it is has nothing yet, what was read from the others waits for the next time.
    """

    def __init__(self, streams: Sequence[Stream], names: Sequence[str]) -> None:
        self._streams, self._names = tuple(streams), tuple(names)
        self._nothing = [nothing(stream) for stream in streams]
        self.clear()

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting: list[Chunk] = list(self._nothing)

    def give_one(self, i: int, n: int) -> tuple[Chunk, bool]:
        """Give n records of stream i, or as many as are there; say whether it has ended."""
        chunk, ended = self._waiting[i], False
        if len(chunk) < n:
            more, ended = take(self._streams[i], n - len(chunk))
            chunk = Chunk.join([chunk, more]) if len(chunk) and len(more) else chunk if len(chunk) else more
        if len(chunk) <= n:
            self._waiting[i] = self._nothing[i]
            return chunk, ended
        self._waiting[i] = chunk[n:]
        return chunk[:n], ended

    def give(self, which: NDArray[np.int64]) -> tuple[Chunk, bool]:
        """Give records, row r from stream which[r], up to the first that is not there; say if that one has ended."""
        rows, ended = len(which), False
        chunks: list[Chunk] = []
        for i in range(len(self._streams)):
            mine = np.flatnonzero(which[:rows] == i)
            chunk, over = self.give_one(i, len(mine))
            if len(chunk) < len(mine):
                rows, ended = int(mine[len(chunk)]), over
            chunks.append(chunk)
        used = np.bincount(which[:rows], minlength=len(chunks)).tolist()
        for i, chunk in enumerate(chunks):
            if len(chunk) > used[i]:
                self._waiting[i] = Chunk.join([c for c in (chunk[used[i] :], self._waiting[i]) if len(c)])
        return interleave(chunks, self._names, which[:rows]), ended

    def to_bytes(self) -> NDArray[np.uint8]:
        """Write what waits as bytes, for a state; mostly nothing."""
        if not any(map(len, self._waiting)):
            return np.zeros(0, dtype=np.uint8)
        file = io.BytesIO()
        for chunk in self._waiting:
            for column in _COLUMNS:
                values = getattr(chunk.dense(), column)
                if values is not None and values.dtype == object:
                    raise TypeError(f"labels of type {type(values[0]).__name__} that wait for others cannot be saved")
                np.lib.format.write_array(file, np.array([values is not None]))
                if values is not None:
                    np.lib.format.write_array(file, values, allow_pickle=False)
        return np.frombuffer(file.getvalue(), dtype=np.uint8)

    def from_bytes(self, data: NDArray[np.uint8]) -> list[Chunk]:
        """Read what ``to_bytes`` wrote."""
        if not len(data):
            return list(self._nothing)
        file = io.BytesIO(data.tobytes())
        waiting = []
        try:
            for stream in self._streams:
                X, y, *others = [_read_array(file) if _read_array(file)[0] else None for _ in _COLUMNS]
                if X is None or y is None or X.dtype != np.float64 or X.shape != (len(y), stream.schema.n_features):
                    raise ValueError
                if y.ndim != 1 or y.dtype.kind not in "biufUS":
                    raise ValueError
                if any(c is not None and (c.shape != y.shape or c.dtype.kind not in "biuf") for c in others):
                    raise ValueError
                waiting.append(Chunk(_like(stream, X), y, *others))
        except DAMAGE:
            raise ValueError("state must be what state() gave: its waiting records are damaged") from None
        return waiting

    def wait(self, chunks: list[Chunk]) -> None:
        """Let these wait, in the place of those that do."""
        self._waiting = chunks


class Alternating(Source):
    """Records of several streams, one of which is chosen for each row; the others wait.

    A subclass joins the streams in ``_prepare`` and writes ``_choose``.
    """

    opens_files = False

    _streams: tuple[Stream, ...] = fixed(())
    _begin: list[State] | None = fixed(None)

    def _join(self, streams: Sequence[Stream], names: Sequence[str]) -> None:
        """Take streams with the same features and classes, and go to the first record."""
        for name, stream in zip(names, streams, strict=True):
            is_stream(name, stream)
        for name, stream in zip(names[1:], streams[1:], strict=True):
            refuse_different(streams[0].schema, stream.schema, (names[0], name))
        self.sparse = all_sparse(streams, names)
        self._streams, self._names = tuple(streams), tuple(names)
        self._all = Confluence(streams, names)
        self.restart()
        self._begin = [stream.state() for stream in streams]

    @abstractmethod
    def _seeds(self) -> Seeds:
        """Give the first random numbers."""

    @abstractmethod
    def _choose(self, n: int) -> NDArray[np.int64]:
        """Draw the streams that the next n rows come from."""

    @property
    def schema(self) -> Schema:
        """The schema of all streams."""
        return self._streams[0].schema

    @property
    def endless(self) -> bool:
        """Has it no limit, and none of the streams an end?"""
        return self._limit is None and all_endless(self._streams)

    def _start(self) -> None:
        self._random, self._ended = self._seeds(), np.zeros(1, dtype=np.bool_)
        self._all.clear()
        if self._begin is not None:
            restore_all(self._streams, self._begin)

    def _next(self, n: int) -> Chunk | None:
        if self._ended[0]:
            return None
        before = self._random.copy()
        which = self._choose(n)
        first = int(which[0])
        alone = (which == first).all()
        chunk, self._ended[0] = self._all.give_one(first, n) if alone else self._all.give(which)
        if len(chunk) < n and not self._ended[0]:  # nothing yet: the rows that were not given are drawn again later
            self._random = before
            self._choose(len(chunk))
        return None if self._ended[0] and not len(chunk) else chunk

    def _tables(self) -> State:
        tables: State = {"random": self._random, "ended": self._ended, "waiting": self._all.to_bytes()}
        for name, stream in zip(self._names, self._streams, strict=True):
            tables |= prefixed(name, stream.state(), "/")
        return tables

    def _adopt(self, tables: State, given: int) -> None:
        waiting = self._all.from_bytes(tables["waiting"])
        restore_all(self._streams, [under(name, tables, "/") for name in self._names])
        self._all.wait(waiting)
        self._random, self._ended = tables["random"], tables["ended"]


_COLUMNS = ("X", "y", "w", "time", "label_time")


def _read_array(file: IO[bytes]) -> NDArray[Any]:
    """Read an array that is no larger than what is there."""
    shape, columns_first, dtype, size = array_header(file)
    return np.frombuffer(file.read(size), dtype).reshape(shape, order="F" if columns_first else "C")


def nothing(stream: Stream) -> Chunk:
    """Give no record of a stream."""
    return Chunk(_like(stream, np.empty((0, stream.schema.n_features))), np.empty(0, dtype=np.int64))


def _like(stream: Stream, X: NDArray[np.float64]) -> Any:
    """Give rows as the stream gives them, sparse where it does."""
    return csr(X) if is_sparse(stream) else X


def interleave(chunks: Sequence[Chunk], names: Sequence[str], which: NDArray[np.int64]) -> Chunk:
    """Put chunks together, row r from chunk which[r], up to the first record that one of them lacks."""
    rows = len(which)
    for i, chunk in enumerate(chunks):
        mine = np.flatnonzero(which == i)
        if len(mine) > len(chunk):
            rows = min(rows, int(mine[len(chunk)]))
    which = which[:rows]
    used = [i for i in range(len(chunks)) if (which == i).any()]
    columns: list[Any] = []
    for column in _COLUMNS:
        parts = [getattr(chunks[i], column) for i in used]
        if not parts or any(p is None for p in parts):
            columns.append(getattr(chunks[0], column)[:0] if column in ("X", "y") else None)
            continue
        for i, p in zip(used, parts, strict=True):
            if column == "y" and p.dtype.kind != parts[0].dtype.kind:
                first = names[used[0]]
                raise TypeError(f"{names[i]} must have labels of the type of {first}: {parts[0][0]!r}, got {p[0]!r}")
        if column == "X" and chunks[used[0]].sparse:
            order = np.concatenate([np.flatnonzero(which == i) for i in used])
            joined = stacked([p[: int((which == i).sum())] for i, p in zip(used, parts, strict=True)])
            columns.append(joined[np.argsort(order)])
            continue
        values = np.empty((rows, *parts[0].shape[1:]), dtype=np.result_type(*parts))
        for i, p in zip(used, parts, strict=True):
            mask = which == i
            values[mask] = p[: int(mask.sum())]
        columns.append(values)
    return Chunk(*columns)


def all_sparse(streams: Sequence[Stream], names: Sequence[str]) -> bool:
    """Do the streams give sparse rows? Refuse those of which some do and some do not."""
    for name, stream in zip(names, streams, strict=True):
        if is_sparse(stream) != is_sparse(streams[0]):
            kind = "sparse" if is_sparse(streams[0]) else "dense"
            raise ValueError(f"{name} must give {kind} rows as {names[0]} does, got {shown(stream)}")
    return is_sparse(streams[0])


def refuse_different(first: Schema, other: Schema, names: tuple[str, str]) -> None:
    """Refuse streams that cannot be joined: the features and classes must be the same."""
    one, two = names
    if first.n_features != other.n_features:
        raise ValueError(f"{two} must have the {first.n_features} features of {one}, got {other.n_features}")
    for a, b in zip(first.features, other.features, strict=True):
        if a != b:
            raise ValueError(f"{two} must have the features of {one}, got {b!r} for {a!r}")
        if a.nominal and a.open:
            raise ValueError(
                f"{one} and {two} must know the values of nominal feature {a.name!r} beforehand: give both a schema"
            )
    if (first.shape, first.rank) != (other.shape, other.rank):
        want, got = (f"shape {s.shape} and rank {s.rank}" for s in (first, other))
        raise ValueError(f"{two} must have records of {want} as {one} has, got {got}")
    if first.classes != other.classes:
        raise ValueError(f"{two} must have the classes {first.classes!r} of {one}, got {other.classes!r}")


def known_classes(stream: Stream) -> tuple[Value, ...]:
    """Give the classes of a stream; refuse one that does not know them beforehand."""
    classes = stream.schema.classes
    if classes is None:
        raise ValueError("stream must know its classes beforehand: give it a schema with classes")
    return classes


def codes_of(y: NDArray[Any], classes: tuple[Value, ...]) -> NDArray[np.int64]:
    """Give the position of each label among the classes."""
    places = {label: i for i, label in enumerate(classes)}
    values, inverse = np.unique(y, return_inverse=True)
    return np.array([places[v] for v in values.tolist()], dtype=np.int64)[inverse]


def columns_of(name: str, schema: Schema, features: Any) -> list[int]:
    """Give the positions of features that are told by position or by name."""
    if isinstance(features, (str, int)):
        features = (features,)
    if not isinstance(features, (tuple, list)):
        raise TypeError(f"{name} must be a tuple of features, got {shown(features)}")
    found = []
    for f in features:
        at = schema.names.index(f) if isinstance(f, str) and f in schema.names else f
        if isinstance(at, bool) or not isinstance(at, (int, np.integer)) or not 0 <= at < schema.n_features:
            raise ValueError(
                f"{name} must be names or positions of the {schema.n_features} features of the stream, got {shown(f)}"
            )
        found.append(int(at))
    return found
