"""What streams share that are made from another stream: each of its records changed, or some of them picked."""

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.fields import fixed, free
from thalweg.core.protocols import State, Stream
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under
from thalweg.streams.draw_jit import sown
from thalweg.streams.nested import all_endless, changes, is_sparse, is_stream
from thalweg.streams.source import LIMIT, Source
from thalweg.streams.transforms.picking import Picking


class Around(Source):
    """Another stream's records, each of them changed, or only those that are picked by their class.

    The other stream is read from where it is. A subclass writes ``_changed``; or it sets ``_picking`` and writes
    ``_pick``.
    """

    opens_files = False

    stream: Stream = free(
        doc="The stream to change; it is read from its current position.", check=is_stream, kw_only=False
    )
    limit: int | None = LIMIT

    seed: int = fixed(0)
    _begin: State | None = fixed(None)
    _picking: Picking | None = fixed(None)

    def _prepare(self) -> None:
        """Go to the first record, after all else has been checked."""
        self.sparse, self._begin = is_sparse(self.stream), self.stream.state()
        self.restart()

    def _changed(self, chunk: Chunk) -> Chunk:
        """Change the next records, in a copy; by default not at all."""
        return chunk

    def _pick(self, codes: NDArray[np.int64], given: int, picked: NDArray[np.int64]) -> tuple[int, int]:
        """Pick records by the codes of their classes, see ``Pick``; by default all of them."""
        n = min(len(codes), len(picked))
        picked[:n] = np.arange(n)
        return n, n

    def _changes(self) -> dict[int, float]:
        """The width of each drift by its position, that of the other stream included.

        Where records are picked, those of the other stream come at rows that are not known beforehand.
        """
        return changes(self.stream) if self._picking is None else {}

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
        """How many records there are: as many as the other stream has, up to the limit, if none are dropped."""
        if self._picking is not None:
            return self._limit
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
        if self._picking is not None:
            self._picking.start()

    def _next(self, n: int) -> Chunk | None:
        if self._picking is not None:
            return self._picking.next(n, self._given, self._pick)
        chunk = self.stream.read(n)
        return self._changed(chunk) if chunk is not None and len(chunk) else chunk

    def _tables(self) -> State:
        picking = self._picking
        return {"random": self._random} | (
            prefixed("stream", self.stream.state(), "/") if picking is None else picking.tables()
        )

    def _adopt(self, tables: State, given: int) -> None:
        if self._picking is None:
            self.stream.restore(under("stream", tables, "/"))
        else:
            self._picking.adopt(tables)
        self._random = tables["random"]
