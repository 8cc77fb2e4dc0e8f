"""The rows of a window as they came, slot by slot, so that they can be projected once more."""

from abc import ABC, abstractmethod
from typing import Annotated, NamedTuple, final

import numpy as np

from thalweg.core.classifier import Floats, Ints
from thalweg.core.declared import check, table
from thalweg.core.door import Rows
from thalweg.core.protocols import State
from thalweg.core.waiting import WaitingSparse
from thalweg.learners.windows.sparse_window import refuse_disorder

_LEAST_ROOM = 64  # rows


class Dense(NamedTuple):
    """The rows in one table."""

    rows: Annotated[Floats, table("room", "d", missing=True)]


class Sparse(NamedTuple):
    """The rows by the values that are not 0."""

    columns: Annotated[Ints, table("E", least=0, most="d - 1")]
    """E: their features, row after row."""
    values: Annotated[Floats, table("E", missing=True)]
    """E: their values."""
    starts: Annotated[Ints, table("n + 1", least=0, most="E")]
    """n + 1: row s lies from starts[s] to starts[s + 1]."""
    widths: Annotated[Ints, table("n", least=1, most="d")]
    """n: how many features there were when the row came."""


class RawRows(ABC):
    """Up to ``window`` rows of d features; a row keeps the slot that it is put into until another takes it."""

    __slots__ = ("d", "n", "window")

    def __init__(self, window: int, d: int) -> None:
        self.window, self.d, self.n = window, d, 0

    def put(self, X: Rows, rows: Ints, slot: int) -> None:
        """Put the chosen rows of X into the slots from this one on, round and round."""
        slots = (slot + np.arange(len(rows))) % self.window
        self.n = min(self.n + len(rows), self.window)
        self._put(X, rows[-self.window :], slots[-self.window :])

    @abstractmethod
    def _put(self, X: Rows, rows: Ints, slots: Ints) -> None:
        """Put each of the rows into its slot; there are ``n`` in all then."""

    @abstractmethod
    def dense(self, first: int, last: int) -> Floats:
        """Give the rows of the slots from first to before last; a feature that joined later is missing."""

    @abstractmethod
    def extend(self, d: int) -> None:
        """Let there be d features."""

    @abstractmethod
    def tables(self) -> State:
        """Give what is kept."""

    @abstractmethod
    def restore(self, tables: State, n: int) -> None:
        """Continue from what ``tables`` of n rows gave."""

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return sum(table.nbytes for table in self.tables().values())


@final
class DenseRows(RawRows):
    """Rows in one table; its room, a power of two or the window, follows from how many there are."""

    __slots__ = ("_rows",)

    def __init__(self, window: int, d: int) -> None:
        super().__init__(window, d)
        self._rows = np.zeros((self._room(), d))

    def _room(self) -> int:
        return min(self.window, max(_LEAST_ROOM, 1 << max(0, self.n - 1).bit_length()))

    def _put(self, X: Rows, rows: Ints, slots: Ints) -> None:
        if len(self._rows) < self._room():
            old, self._rows = self._rows, np.zeros((self._room(), self.d))
            self._rows[: len(old)] = old
        self._rows[slots] = X[rows] if isinstance(X, np.ndarray) else X[rows].toarray()

    def dense(self, first: int, last: int) -> Floats:
        """Give the rows of the slots from first to before last."""
        return self._rows[first:last]

    def extend(self, d: int) -> None:
        """Let there be d features."""
        old, self._rows = self._rows, np.zeros((len(self._rows), d))
        self._rows[:, : self.d], self._rows[: self.n, self.d :] = old, np.nan
        self.d = d

    def tables(self) -> State:
        """Give the rows, not copied."""
        return {"rows": self._rows}

    def restore(self, tables: State, n: int) -> None:
        """Continue from what ``tables`` of n rows gave."""
        self.n = n
        check(Dense, tables, room=self._room(), d=self.d)
        self._rows = tables["rows"]


@final
class SparseRows(RawRows):
    """Rows by the values that are not 0; dense ones join as such, NaN for missing among their values."""

    __slots__ = ("_cells", "_widths")

    def __init__(self, window: int, d: int) -> None:
        super().__init__(window, d)
        self._cells = WaitingSparse(d)
        self._widths = np.zeros(0, dtype=np.int64)  # how many features there were when the row came

    def _put(self, X: Rows, rows: Ints, slots: Ints) -> None:
        self._cells.put(slots, X[rows])
        self._widths = np.pad(self._widths, (0, self.n - len(self._widths)))
        self._widths[slots] = self.d

    def dense(self, first: int, last: int) -> Floats:
        """Give the rows of the slots from first to before last."""
        rows = self._cells.look(np.arange(first, last)).toarray()
        rows[np.arange(self.d) >= self._widths[first:last, None]] = np.nan
        return np.asarray(rows)

    def extend(self, d: int) -> None:
        """Let there be d features."""
        self.d = self._cells.features = d

    def tables(self) -> State:
        """Give the rows one after the other: row s from starts[s] to starts[s + 1]."""
        rows = self._cells.look(np.arange(self.n))
        return {"starts": rows.indptr, "columns": rows.indices, "values": rows.data, "widths": self._widths}

    def restore(self, tables: State, n: int) -> None:
        """Continue from what ``tables`` of n rows gave."""
        from scipy.sparse import csr_array

        check(Sparse, tables, n=n, d=self.d)
        starts, columns, values, widths = (tables[name] for name in ("starts", "columns", "values", "widths"))
        refuse_disorder(starts, columns)
        if (columns >= np.repeat(widths, np.diff(starts))).any():
            raise ValueError("its table 'columns' must hold features that there were when the row came")
        self._cells.put(np.arange(n), csr_array((values, columns, starts), shape=(n, self.d)))
        self._widths, self.n = widths, n
