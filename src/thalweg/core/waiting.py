"""Rows that wait for a label: what evaluations with late labels and live use are both made of."""

from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@final
class Waiting:
    """A pool of rows, each at a place of its own; a place is used again once its row has been taken.

    Why a row waits, and for how long, is for others to know: they keep its place. Places never leave the process: what
    is saved are the rows in order of arrival. ``most``: so many rows are held at most.

    >>> waiting = Waiting((2,))
    >>> places = waiting.hold(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    >>> waiting.take(places[1:]).tolist()
    [[3.0, 4.0], [5.0, 6.0]]
    """

    __slots__ = ("free", "most", "rows")

    def __init__(self, shape: tuple[int, ...], *, most: int = 1 << 62) -> None:
        self.most = most
        self.rows = np.zeros((0, *shape))
        self.free = np.zeros(1, dtype=np.int64)
        """free[0] places hold no row: free[1], free[2], … The last is the next to be used."""

    def hold(self, X: NDArray[Any]) -> Ints:
        """Keep rows; give their places."""
        shape = self.rows.shape[1:]
        if X.shape[1:] != shape or X.dtype != np.float64:
            raise ValueError(f"waiting rows must be float64 of shape {shape}, got {X.dtype} of shape {X.shape[1:]}")
        self.make_room(len(X))
        left = self.free[0] - len(X)
        places: Ints = self.free[left + 1 : left + 1 + len(X)].copy()
        self.free[0] = left
        self.rows[places] = X
        return places

    def take(self, places: Ints) -> Floats:
        """Give the rows at these places, and free the places."""
        left = self.free[0]
        self.free[left + 1 : left + 1 + len(places)] = places
        self.free[0] = left + len(places)
        return self.rows.take(places, axis=0)

    def look(self, places: Ints) -> Floats:
        """Give the rows at these places."""
        return self.rows.take(places, axis=0)

    def make_room(self, n: int) -> None:
        """Make sure that n more rows can be held: where the pool must grow, it grows by half."""
        room, left = len(self.rows), int(self.free[0])
        if n > left:
            more = max(n - left, min(room // 2 + 8, self.most - room))
            self.rows = np.concatenate([self.rows, np.zeros((more, *self.rows.shape[1:]))])
            self.free = np.concatenate([self.free[: left + 1], np.arange(room, room + more), self.free[left + 1 :]])
            self.free[0] += more

    def widen(self, shape: tuple[int, ...]) -> None:
        """Make room for features that came later: waiting rows lack them (NaN); tensors are 0 where they do not reach.

        >>> waiting = Waiting((1, 1))
        >>> places = waiting.hold(np.array([[[5.0]]]))
        >>> waiting.widen((1, 2))
        >>> waiting.take(places).tolist()
        [[[5.0, 0.0]]]
        """
        if shape != self.rows.shape[1:]:
            wide = np.full((len(self.rows), *shape), np.nan if len(shape) == 1 else 0.0)
            if len(wide):
                wide[tuple(map(slice, self.rows.shape))] = self.rows
            self.rows = wide


@final
class WaitingSparse:
    """The same for sparse rows: it takes as much room as the values that wait.

    >>> from scipy.sparse import csr_array
    >>> waiting = WaitingSparse(3)
    >>> places = waiting.hold(csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    >>> waiting.take(places[:1]).toarray().tolist()
    [[1.0, 0.0, 2.0]]
    """

    __slots__ = ("_free", "_kept", "features")

    def __init__(self, features: int) -> None:
        self.features = features
        self._kept: dict[int, tuple[Ints, Floats]] = {}
        """Of the row at each place its features and values."""
        self._free: list[int] = []

    def hold(self, X: "csr_array") -> Ints:
        """Keep rows; give their places."""
        n = X.shape[0]
        if X.shape[1] != self.features:
            raise ValueError(f"waiting rows must have {self.features} features, got {X.shape[1]}")
        room = len(self._kept) + len(self._free)
        self._free += range(room, room + n - len(self._free))
        places = np.array([self._free.pop() for _ in range(n)], dtype=np.int64)
        self.put(places, X)
        return places

    def put(self, places: Ints, X: "NDArray[Any] | csr_array") -> None:
        """Keep rows, also dense ones, at places that somebody else has chosen."""
        from scipy.sparse import csr_array

        rows = csr_array(X)
        columns, values = rows.indices.astype(np.int64), rows.data
        for place, first, end in zip(places.tolist(), rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
            self._kept[place] = columns[first:end].copy(), values[first:end].copy()

    def look(self, places: Ints) -> "csr_array":
        """Give the rows at these places."""
        from scipy.sparse import csr_array

        kept = [self._kept[place] for place in places.tolist()]
        rows = csr_array((len(kept), self.features))
        rows.indptr = np.cumsum([0, *(len(columns) for columns, _ in kept)])
        rows.indices = np.concatenate([np.zeros(0, dtype=np.int64), *(columns for columns, _ in kept)])
        rows.data = np.concatenate([np.zeros(0), *(values for _, values in kept)])
        return rows

    def take(self, places: Ints) -> "csr_array":
        """Give the rows at these places, and free the places."""
        rows = self.look(places)
        for place in places.tolist():
            del self._kept[place]
        self._free += places.tolist()
        return rows

    @property
    def nbytes(self) -> int:
        """Bytes of the values and of the numbers of their features."""
        return 16 * sum(len(columns) for columns, _ in self._kept.values())
