"""What streams share that are made from another stream: one record for each of its records, or some of them."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.declared import check
from thalweg.core.fields import fixed, free
from thalweg.core.protocols import State, Stream
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.nested import (
    all_endless,
    changes,
    codes_of,
    is_sparse,
    is_stream,
    known_classes,
    part,
    prefixed,
    take,
)
from thalweg.streams.source import LIMIT, Source
from thalweg.streams.transforms.changes_jit import Picked

_BLOCK = 1024
_PATIENCE = 10_000_000


class Around(Source):
    """Another stream's records, each of them changed.

    The other stream is read from where it is. A subclass writes ``_changed``.
    """

    opens_files = False

    stream: Stream = free(
        doc="The stream to change; it is read from its current position.", check=is_stream, kw_only=False
    )
    limit: int | None = LIMIT

    seed: int = fixed(0)
    _begin: State | None = fixed(None)

    def _prepare(self) -> None:
        """Go to the first record, after all else has been checked."""
        self.sparse, self._begin = is_sparse(self.stream), self.stream.state()
        self.restart()

    @abstractmethod
    def _changed(self, chunk: Chunk) -> Chunk:
        """Change the next records, in a copy."""

    def _changes(self) -> dict[int, float]:
        """The width of each drift by its position, that of the other stream included."""
        return changes(self.stream)

    @property
    def schema(self) -> Schema:
        """The schema of the other stream."""
        return self.stream.schema

    @property
    def drifts(self) -> tuple[int, ...]:
        """The known drifts of the other stream, and this one's own."""
        return tuple(d for d in sorted(self._changes()) if self._limit is None or d < self._limit)

    @property
    def widths(self) -> tuple[float, ...]:
        """How many rows each of the drifts takes."""
        every = self._changes()
        return tuple(every[d] for d in self.drifts)

    @property
    def rows(self) -> int | None:
        """How many records there are: as many as the other stream has, up to the limit."""
        counts = [n for n in (self._limit, getattr(self.stream, "rows", None)) if n is not None]
        return min(counts) if counts else None

    @property
    def endless(self) -> bool:
        """Has it no limit, and the other stream no end?"""
        return self._limit is None and all_endless((self.stream,))

    def _start(self) -> None:
        self._random = sown(self.seed, java=False)
        if self._begin is not None:
            self.stream.restore(self._begin)

    def _next(self, n: int) -> Chunk | None:
        chunk = self.stream.read(n)
        return self._changed(chunk) if chunk is not None and len(chunk) else chunk

    def _tables(self) -> State:
        return {"random": self._random} | prefixed("stream", self.stream.state())

    def _adopt(self, tables: State, given: int) -> None:
        self.stream.restore(part("stream", tables))
        self._random = tables["random"]


class Thinned(Around):
    """Some of another stream's records, chosen by their class.

    The other stream is read in blocks; the state is that of the other stream before the present block, and how much
    of the block has been used. A subclass writes ``_pick``.
    """

    stream: Stream = free(
        doc="The stream to change, with known classes; it is read from its current position.",
        check=is_stream,
        kw_only=False,
    )

    def _prepare(self) -> None:
        self._classes = known_classes(self.stream)
        super()._prepare()

    @abstractmethod
    def _pick(self, codes: NDArray[np.int64], given: int, picked: NDArray[np.int64]) -> tuple[int, int]:
        """Write the places of the records to give next; say how many there are and how many were looked at.

        Stop at the last of ``picked``, which is the ``given + len(picked)``-th record that is given.
        """

    def _changes(self) -> dict[int, float]:
        """Only this one's own: those of the other stream come at rows that are not known beforehand."""
        return {}

    @property
    def rows(self) -> int | None:
        """The limit: how many records are left is not known beforehand."""
        return self._limit

    def _changed(self, chunk: Chunk) -> Chunk:
        return chunk

    def _start(self) -> None:
        super()._start()
        self._begin_block(self.stream.state(), Chunk(np.empty((0, self.schema.n_features)), np.empty(0, dtype=int)), 0)

    def _begin_block(self, origin: State, block: Chunk, used: int) -> None:
        self._origin, self._block, self._used = origin, block, np.array([used])
        self._codes = codes_of(block.y, self._classes)

    def _next(self, n: int) -> Chunk | None:
        parts: list[Chunk] = []
        found, unseen = 0, 0
        while found < n:
            used = int(self._used[0])
            if used == len(self._block):
                origin = self.stream.state()
                block, ended = take(self.stream, _BLOCK)
                if len(block) == 0:
                    if not ended and not parts:
                        return self._empty()
                    break
                self._begin_block(origin, block, 0)
                used = 0
            picked = np.empty(n - found, dtype=np.int64)
            count, looked = self._pick(self._codes[used:], self._given + found, picked)
            unseen = 0 if count else unseen + looked
            if unseen >= _PATIENCE:
                raise ValueError(f"stream must have records of the wanted classes, got none among {unseen:,}")
            if count:
                parts.append(_rows(self._block, used + picked[:count]))
            self._used[0] = used + looked
            found += count
        return Chunk.join(parts) if parts else None

    def _tables(self) -> State:
        return {"random": self._random, "used": self._used} | prefixed("stream", self._origin)

    def _adopt(self, tables: State, given: int) -> None:
        check(Picked, tables, block=_BLOCK, classes=len(self._classes))
        used = int(tables["used"][0])
        origin = part("stream", tables)
        self.stream.restore(origin)
        self._random = tables["random"]
        block, _ = take(self.stream, _BLOCK if used else 0)
        if len(block) < used:
            raise ValueError(f"stream must give again the {used} records it gave before, got {len(block)}")
        self._begin_block(origin, block, used)


def _rows(chunk: Chunk, at: NDArray[np.int64]) -> Chunk:
    """Give some rows of a chunk."""
    extra = (None if a is None else a[at] for a in (chunk.w, chunk.time, chunk.label_time))
    return Chunk(chunk.X[at], chunk.y[at], *extra)
