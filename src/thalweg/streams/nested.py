"""Streams inside streams: their checks, their states, their records put together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.params import shown
from thalweg.core.protocols import State, Stream
from thalweg.core.schema import Schema, Value


def is_stream(name: str, stream: Any) -> None:
    """Refuse anything but a stream."""
    if not isinstance(stream, Stream) or isinstance(stream, type):
        raise TypeError(f"{name} must be a stream, got {shown(stream)}")


def changes(stream: Stream) -> dict[int, float]:
    """Give the width of each known drift by its position, in order."""
    widths = getattr(stream, "widths", None) or [1] * len(stream.drifts)
    return dict(zip(stream.drifts, widths, strict=True))


def prefixed(prefix: str, tables: State) -> State:
    """Give the tables of a stream inside another the names they have in the state of the outer one."""
    return {f"{prefix}/{name}": table for name, table in tables.items()}


def part(prefix: str, tables: State) -> State:
    """Give the tables of a stream inside another their own names again."""
    start = f"{prefix}/"
    return {name.removeprefix(start): table for name, table in tables.items() if name.startswith(start)}


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


def take(stream: Stream, n: int) -> Chunk:
    """Read n records, fewer only where the stream has no more."""
    parts: list[Chunk] = []
    while n > 0 and (chunk := stream.read(n)) is not None and len(chunk):
        parts.append(chunk)
        n -= len(chunk)
    return Chunk.join(parts) if parts else Chunk(np.empty((0, stream.schema.n_features)), np.empty(0, dtype=np.int64))


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
    for column in ("X", "y", "w", "time", "label_time"):
        parts = [getattr(chunks[i], column) for i in used]
        if not parts or any(p is None for p in parts):
            columns.append(getattr(chunks[0], column)[:0] if column in ("X", "y") else None)
            continue
        for i, p in zip(used, parts, strict=True):
            if column == "y" and p.dtype.kind != parts[0].dtype.kind:
                first = names[used[0]]
                raise TypeError(f"{names[i]} must have labels of the type of {first}: {parts[0][0]!r}, got {p[0]!r}")
        values = np.empty((rows, *parts[0].shape[1:]), dtype=np.result_type(*parts))
        for i, p in zip(used, parts, strict=True):
            mask = which == i
            values[mask] = p[: int(mask.sum())]
        columns.append(values)
    return Chunk(*columns)


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
