"""Rows that wait for their labels, dense or sparse, of the width that rows have by now."""

from collections.abc import Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.door import Rows
from thalweg.core.protocols import State
from thalweg.core.waiting import Waiting, WaitingSparse

Ints = NDArray[np.int64]


@final
class RowsOfAnyForm:
    """A pool of rows that follows the stream: sparse or dense, and as wide as its latest rows.

    evolving: may tensors have other sizes than those before?
    """

    __slots__ = ("_evolving", "_rows")

    def __init__(self, *, evolving: bool = False) -> None:
        self._evolving = evolving
        self._rows: Waiting | WaitingSparse = Waiting((0,))

    def fit(self, chunk: Chunk, places: Ints) -> Rows:
        """Let those that wait have the form of a chunk's rows: sparse or dense, and as wide. Give the chunk's rows.

        Of tensors that may have other sizes than those before, the smaller are filled up with zeros, as at the door.
        places: of all rows that wait; they are overwritten where these have to move.
        """
        if self.turns(chunk):
            X = self._rows.take(places)
            features = chunk.X.shape[1]
            self._rows = WaitingSparse(features) if chunk.sparse else Waiting((features,))
            if len(places):
                places[:] = self._rows.hold(_turned(X))
        if isinstance(self._rows, WaitingSparse):
            return chunk.X
        shape, waits = chunk.X.shape[1:], self._rows.rows.shape[1:]
        if not self._evolving or len(shape) == 1 or len(shape) != len(waits):
            self._rows.widen(shape)
            return chunk.X
        room = tuple(map(max, shape, waits))
        self._rows.widen(room)
        return np.pad(chunk.X, [(0, 0), *((0, most - n) for most, n in zip(room, shape, strict=True))])

    def turns(self, chunk: Chunk) -> bool:
        """Say whether those that wait must become sparse, or dense, to be like the rows of a chunk."""
        return chunk.sparse == isinstance(self._rows, Waiting)

    def hold(self, X: Any) -> Ints:
        """Keep rows; give their places."""
        return self._rows.hold(X)

    def take(self, places: Ints) -> Rows:
        """Give the rows at these places, and free the places."""
        return self._rows.take(places)

    @property
    def width(self) -> int:
        """Values of a dense row; 0: rows are sparse."""
        return int(np.prod(self._rows.rows.shape[1:])) if isinstance(self._rows, Waiting) else 0

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, those of free places among them."""
        return self._rows.rows.nbytes if isinstance(self._rows, Waiting) else self._rows.nbytes

    def state(self, places: Ints) -> State:
        """Copy out the rows at these places, in order."""
        X: Any = self._rows.look(places)
        return {"X": X} if isinstance(X, np.ndarray) else _parts(X)

    def begin(self, X: Any) -> None:
        """Hold nothing, and be ready for rows like these."""
        if isinstance(X, np.ndarray):
            self._rows = Waiting(X.shape[1:] if len(X) else (0,))
        else:
            self._rows = WaitingSparse(X.shape[1])


def rows_of(state: Mapping[str, NDArray[Any]], most: int) -> Any:
    """Read the rows of a state, or refuse them; sparse ones have so many features at most."""
    X: Any = state["X"] if "X" in state else _joined(state, most)
    if X.ndim < 2:
        raise ValueError("its waiting rows are damaged")
    return X


def _turned(X: Any) -> Any:
    """Make dense rows sparse, and sparse ones dense."""
    from scipy.sparse import csr_array

    return csr_array(X) if isinstance(X, np.ndarray) else X.toarray()


def _parts(X: Any) -> State:
    return {"X.data": X.data, "X.indices": X.indices, "X.indptr": X.indptr, "X.features": np.array([X.shape[1]])}


def _joined(state: Mapping[str, NDArray[Any]], most: int) -> Any:
    """Put sparse rows together again."""
    from scipy.sparse import csr_array

    data, indices, indptr, features = (state[f"X.{name}"] for name in ("data", "indices", "indptr", "features"))
    kinds = [(t.dtype.str[1:], t.ndim) for t in (data, indices, indptr, features)]
    if kinds != [("f8", 1), *[("i8", 1)] * 3] or len(features) != 1 or not 0 <= features[0] <= most:
        raise ValueError("its waiting rows are damaged")
    X = csr_array((data, indices, indptr), shape=(max(0, len(indptr) - 1), int(features[0])))
    X.check_format(full_check=True)
    return X
