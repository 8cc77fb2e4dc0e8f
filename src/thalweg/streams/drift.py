"""Drift by composition: one concept gives way to another."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, number, whole
from thalweg.core.protocols import State, Stream
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.drift_jit import choose
from thalweg.streams.source import Source


@final
class DriftStream(Source):
    """Records of one stream, then of another: the chance of the new one follows a sigmoid around the position.

    old, new: streams with the same features and classes, which are read from where they are. Either may drift itself:
    only the one that is chosen moves on, so a nested stream counts its own records.
    position: the row, counted from 1, where both are equally likely. width: how long the change takes (about 0.12
    and 0.88 at half a width before and after), 1: abrupt. rng: "splitmix", or "java" for MOA's very choices.
    limit: rows, None: until the chosen stream ends.

    >>> from thalweg import SEA
    >>> third = DriftStream(SEA(function=3, seed=3), SEA(function=4, seed=4), position=1000)
    >>> stream = DriftStream(SEA(function=1, seed=1), third, position=2000, width=100)
    >>> stream.drifts
    (2000, 3000)
    """

    def __init__(
        self,
        old: Stream,
        new: Stream,
        position: int,
        width: float = 1,
        *,
        rng: str = "splitmix",
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        for name, stream in (("old", old), ("new", new)):
            if not isinstance(stream, Stream):
                raise TypeError(f"{name} must be a stream, got {stream!r}")
        if old is new:
            raise ValueError("new must be another stream than old, got the same object twice")
        whole("position", position, least=0)
        number("width", width, least=1)
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        _refuse_different(old.schema, new.schema)
        self.old, self.new, self.position, self.width, self.rng, self.seed = old, new, position, width, rng, seed
        self._begin: tuple[State, State] | None = None
        self.restart()
        self._begin = old.state(), new.state()

    @property
    def schema(self) -> Schema:
        """The schema of both streams."""
        return self.old.schema

    @property
    def drifts(self) -> tuple[int, ...]:
        """The position, and those of nested drifts as far as they are reached, counted from the start."""
        return tuple(self._changes())

    @property
    def widths(self) -> tuple[float, ...]:
        """How many rows each of the drifts takes."""
        return tuple(self._changes().values())

    def _changes(self) -> dict[int, float]:
        """The width of each drift by its position, in order."""
        before = {d: w for d, w in _drifts_of(self.old) if d < self.position}
        after = {self.position + d: w for d, w in _drifts_of(self.new)}
        every = before | after | {self.position: self.width}
        return {d: every[d] for d in sorted(every) if self._limit is None or d < self._limit}

    def _start(self) -> None:
        self._random = sown(self.seed, java=self.rng == "java")
        self._ended = np.zeros(1, dtype=np.bool_)
        if self._begin is not None:
            self.old.restore(self._begin[0])
            self.new.restore(self._begin[1])

    def _next(self, n: int) -> Chunk | None:
        if self._ended[0]:
            return None
        mask = np.empty(n, dtype=np.bool_)
        position, width = float(self.position), float(self.width)
        count = choose(self._random, self.rng == "java", self._given, position, width, mask)
        if count == 0 or count == n:
            chunk = _take(self.new if count else self.old, n)
        else:
            chunk = _interleave(_take(self.old, n - count), _take(self.new, count), mask)
        self._ended[0] = len(chunk) < n
        return chunk if len(chunk) else None

    def _tables(self) -> State:
        nested = {f"{side}/{name}": table for side, tables in self._sides() for name, table in tables.items()}
        return {"random": self._random, "ended": self._ended} | nested

    def _adopt(self, tables: State, given: int) -> None:
        before = self.old.state()
        self.old.restore(_side(tables, "old/"))
        try:
            self.new.restore(_side(tables, "new/"))
        except ValueError:
            self.old.restore(before)
            raise
        self._random, self._ended = tables["random"], tables["ended"]

    def _sides(self) -> tuple[tuple[str, State], tuple[str, State]]:
        return ("old", self.old.state()), ("new", self.new.state())


def _drifts_of(stream: Stream) -> list[tuple[int, float]]:
    return list(zip(stream.drifts, getattr(stream, "widths", None) or [1] * len(stream.drifts), strict=True))


def _side(tables: State, prefix: str) -> State:
    return {name.removeprefix(prefix): table for name, table in tables.items() if name.startswith(prefix)}


def _take(stream: Stream, n: int) -> Chunk:
    """Read n records, fewer only where the stream has no more."""
    parts: list[Chunk] = []
    while n > 0 and (chunk := stream.read(n)) is not None and len(chunk):
        parts.append(chunk)
        n -= len(chunk)
    return Chunk.join(parts) if parts else Chunk(np.empty((0, stream.schema.n_features)), np.empty(0, dtype=np.int64))


def _interleave(old: Chunk, new: Chunk, mask: NDArray[np.bool_]) -> Chunk:
    """Put two chunks together in the order of the mask, up to the first record that one of them lacks."""
    enough = (np.cumsum(mask) <= len(new)) & (np.cumsum(~mask) <= len(old))
    rows = len(mask) if enough.all() else int(np.argmin(enough))
    mask = mask[:rows]
    count = int(mask.sum())
    old, new = old[: rows - count], new[:count]
    columns: list[Any] = []
    for name in ("X", "y", "w", "time", "label_time"):
        a, b = getattr(old, name), getattr(new, name)
        if a is None or b is None:
            columns.append(None)
            continue
        if a.dtype.kind != b.dtype.kind and name == "y" and len(a) and len(b):
            raise TypeError(f"new must have labels of the type of old: {a[0]!r}, got {b[0]!r}")
        column = np.empty((rows, *a.shape[1:]), dtype=np.result_type(a, b))
        column[~mask] = a
        column[mask] = b
        columns.append(column)
    return Chunk(*columns)


def _refuse_different(old: Schema, new: Schema) -> None:
    if old.n_features != new.n_features:
        raise ValueError(f"new must have the {old.n_features} features of old, got {new.n_features}")
    for a, b in zip(old.features, new.features, strict=True):
        if a != b:
            raise ValueError(f"new must have the features of old, got {b!r} for {a!r}")
        if a.nominal and a.open:
            raise ValueError(
                f"old and new must know the values of nominal feature {a.name!r} beforehand: give both a schema"
            )
    if old.classes != new.classes:
        raise ValueError(f"new must have the classes {old.classes!r} of old, got {new.classes!r}")
