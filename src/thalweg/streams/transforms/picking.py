"""Some of another stream's records, chosen by their class."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.declared import check
from thalweg.core.protocols import State, Stream
from thalweg.core.tables import prefixed, under
from thalweg.streams.nested import codes_of, known_classes, nothing, take
from thalweg.streams.transforms.changes_jit import Picked

Pick = Callable[[NDArray[np.int64], int, NDArray[np.int64]], tuple[int, int]]
"""``pick(codes, given, picked)`` writes the places of the records to give next; it says how many there are and how many
were looked at. It stops at the last of ``picked``, which is the ``given + len(picked)``-th record that is given."""

_BLOCK = 1024
_PATIENCE = 10_000_000


class Picking:
    """Reads another stream in blocks, and gives the records that are picked.

    Its state is that of the other stream before the present block, and how much of the block has been used.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.classes = known_classes(stream)

    def start(self) -> None:
        """Begin where the stream is now."""
        self._begin(self._stream.state(), nothing(self._stream), 0)

    def _begin(self, origin: State, block: Chunk, used: int) -> None:
        self._origin, self._block, self._used = origin, block, np.array([used])
        self._codes = codes_of(block.y, self.classes)

    def next(self, n: int, given: int, pick: Pick) -> Chunk | None:
        """Give up to n records; given: how many have been given before."""
        parts: list[Chunk] = []
        found, unseen = 0, 0
        while found < n:
            used = int(self._used[0])
            if used == len(self._block):
                origin = self._stream.state()
                block, ended = take(self._stream, _BLOCK)
                if len(block) == 0:
                    if not ended and not parts:
                        return nothing(self._stream)
                    break
                self._begin(origin, block, 0)
                used = 0
            picked = np.empty(n - found, dtype=np.int64)
            count, looked = pick(self._codes[used:], given + found, picked)
            unseen = 0 if count else unseen + looked
            if unseen >= _PATIENCE:
                raise ValueError(f"stream must have records of the wanted classes, got none among {unseen:,}")
            if count:
                parts.append(_rows(self._block, used + picked[:count]))
            self._used[0] = used + looked
            found += count
        return Chunk.join(parts) if parts else None

    def tables(self) -> State:
        """Give the state, not copied."""
        return {"used": self._used} | prefixed("stream", self._origin, "/")

    def adopt(self, tables: State) -> None:
        """Continue from what ``tables`` gave."""
        check(Picked, tables, block=_BLOCK, classes=len(self.classes))
        used = int(tables["used"][0])
        origin = under("stream", tables, "/")
        self._stream.restore(origin)
        block, _ = take(self._stream, _BLOCK if used else 0)
        if len(block) < used:
            raise ValueError(f"stream must give again the {used} records it gave before, got {len(block)}")
        self._begin(origin, block, used)


def _rows(chunk: Chunk, at: NDArray[np.int64]) -> Chunk:
    """Give some rows of a chunk."""
    extra = (None if a is None else a[at] for a in (chunk.w, chunk.time, chunk.label_time))
    return Chunk(chunk.X[at], chunk.y[at], *extra)
