"""A run of consecutive records."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows that follow one another in a stream.

    >>> import numpy as np
    >>> chunk = Chunk(np.zeros((2, 3)), np.array(["a", "b"]))
    >>> len(chunk), len(chunk[:1])
    (2, 1)
    """

    X: NDArray[np.float64]
    """The rows, C-contiguous float64; nominal features as codes; missing values as NaN."""
    y: NDArray[Any]
    """Their labels, the user's own values."""
    w: NDArray[np.float64] | None = None
    """Their weights; None: all 1."""
    time: NDArray[np.float64] | None = None
    """When each record was seen, where the stream knows."""
    label_time: NDArray[np.float64] | None = None
    """When each label became known, where the stream knows."""

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(
            self.X[rows], self.y[rows], *(None if a is None else a[rows] for a in (self.w, self.time, self.label_time))
        )

    @classmethod
    def join(cls, chunks: "list[Chunk]") -> "Chunk":
        """Join consecutive chunks of one stream to one."""
        if len(chunks) == 1:
            return chunks[0]
        columns: list[Any] = []
        for name in ("X", "y", "w", "time", "label_time"):
            parts = [getattr(c, name) for c in chunks]
            columns.append(None if any(p is None for p in parts) else np.concatenate(parts))
        return cls(*columns)
