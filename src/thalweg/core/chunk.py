"""A run of consecutive records."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from thalweg.core.params import shown

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows that follow one another in a stream. A loop over it gives each row with its label.

    Examples
    --------
    >>> import numpy as np
    >>> chunk = Chunk(np.zeros((2, 3)), np.array(["a", "b"]))
    >>> len(chunk), len(chunk[:1])
    (2, 1)
    >>> for row, label in chunk:
    ...     print(row, label)
    [0. 0. 0.] a
    [0. 0. 0.] b
    """

    X: "NDArray[np.float64] | csr_array"
    """The rows, C-contiguous float64; nominal features as codes; missing values as NaN. A ``scipy.sparse.csr_array``
    where the stream was asked for sparse rows."""
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

    @property
    def sparse(self) -> bool:
        """Are the rows a ``csr_array``?"""
        return not isinstance(self.X, np.ndarray)

    def dense(self) -> Self:
        """Give the same records with rows that are an array."""
        if isinstance(self.X, np.ndarray):
            return self
        return type(self)(self.X.toarray(), self.y, self.w, self.time, self.label_time)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return zip(self.X, self.y, strict=True)

    def __getitem__(self, rows: slice) -> Self:
        if not isinstance(rows, slice):
            raise TypeError(f"rows of a chunk must be a slice such as chunk[:100], got {shown(rows)}")
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
            columns.append(None if any(p is None for p in parts) else stacked(parts))
        return cls(*columns)


def stacked(parts: list[Any]) -> Any:
    """Put arrays, or sparse rows, one below the other.

    >>> stacked([np.zeros((2, 3)), np.ones((1, 3))]).shape
    (3, 3)
    """
    if any(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate([part if isinstance(part, np.ndarray) else part.toarray() for part in parts])
    from scipy.sparse import vstack

    return vstack(parts, format="csr")
