"""Records that are in memory already: arrays, sparse matrices and frames."""

from collections.abc import Sequence
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import door, fields
from thalweg.core.chunk import Chunk
from thalweg.core.labels import Labels
from thalweg.core.params import flag, shown
from thalweg.core.protocols import State
from thalweg.core.readings import NONE, Readings, check_readings
from thalweg.core.schema import Schema
from thalweg.streams.files.columns import label_array, listed, refuse_schema, seconds
from thalweg.streams.looking import Peek
from thalweg.streams.source import LIMIT, Source, csr


@final
class ArrayStream(Source):
    """The rows of an array, a SciPy sparse matrix or a frame (pandas, polars, Arrow), one after another.

    Nothing is copied as a whole. Chunks are copies: whoever changes one leaves the array as it is.

    Examples
    --------
    >>> stream = ArrayStream([[1.0, 2.0], [3.0, 4.0]], ["no", "yes"])
    >>> stream.read(1).y.tolist(), stream.read(5).X.tolist(), stream.read(1)
    (['no'], [[3.0, 4.0]], None)
    >>> images = np.zeros((9, 8, 8), dtype=np.uint8)
    >>> stream = ArrayStream(images, [0, 1, 2] * 3, order="incremental")
    >>> stream.schema.shape, stream.take(9).X.shape
    ((8, 8), (9, 64))
    """

    X: Any = fields.free(
        doc="Rows, or tensors (n, N1, …, NL), which become rows of all their values; integers are kept as they are and "
        "become float64 as they are read.",
        kw_only=False,
    )
    y: Any = fields.free(doc="A label for each row, or the name of the frame's column with the labels.", kw_only=False)
    _known: Schema | None = fields.free(
        default=None, doc="Features and classes that are known beforehand.", check=refuse_schema, alias="schema"
    )
    time: Any = fields.free(default=None, doc="When each record was seen; numbers are seconds.")
    label_time: Any = fields.free(default=None, doc="When each label was seen; numbers are seconds.")
    limit: int | None = LIMIT
    readings: Readings = fields.free(
        default=NONE,
        doc="How a pipeline wants columns of a frame with dates or text to be read: ``pipeline.readings``.",
        check=check_readings,
    )
    _wanted: bool | None = fields.free(
        default=None,
        doc="Give sparse rows, or dense ones, whatever X is; None: sparse where X is.",
        check=flag,
        alias="sparse",
    )
    order: Literal["given", "shuffled", "incremental"] = fields.choice(
        default="given",
        doc="How the rows come; incremental: shuffled so that a class after another joins those that are there "
        "already, at its ``drifts``.",
    )
    seed: int = fields.whole(default=1, doc="Random seed of the order.", least=0)

    target: str | None = fields.fixed(None)
    """The column with the labels, where they come from a frame."""
    nominal: Sequence[str] = fields.fixed(())
    """Columns of numbers that were to be read as nominal."""
    booleans: tuple[str, ...] = fields.fixed(())
    """Numeric features that were true and false."""

    def _prepare(self) -> None:
        X, y, schema = self.X, self.y, self._known
        self.sparse = door.is_sparse(X) if self._wanted is None else self._wanted
        if isinstance(y, str):
            self.target = y
            X, y = _apart(X, y)
        plain = schema is None or not schema.nominal_codes
        if type(X) is np.ndarray and X.dtype.kind in "biu" and X.ndim >= 2 and 0 not in X.shape and plain:
            _, self._schema = door.rows(X[:1], schema, missing=True, learning=True)
            self.X = X if X.ndim == 2 else X.reshape(len(X), -1)
        else:
            self.X, self._schema = door.rows(X, schema, missing=True, learning=True, sparse=True,
                                              readings=self.readings)  # fmt: skip
        self._known = self._schema
        if self.sparse and self._schema.nominal_codes:
            raise ValueError("sparse must be False where features are nominal, got True")
        n = self.X.shape[0]
        self.y = label_array(y)
        if len(self.y) != n:
            raise ValueError(f"y must hold a label for each of the {n} rows of X, got {len(self.y)}")
        codes, _ = Labels(self._schema.classes).read(self.y)
        self.time, self.label_time = _times(self.time, "time", n), _times(self.label_time, "label_time", n)
        self._order, self._drifts = _ordered(self.order, int(self.seed), codes)
        self._at = 0

    @property
    def schema(self) -> Schema:
        """The features, and the classes where they were declared."""
        return self._schema

    @property
    def rows(self) -> int:
        """How many records there are from the start to the end."""
        return len(self.y) if self._limit is None else min(len(self.y), self._limit)

    @property
    def drifts(self) -> tuple[int, ...]:
        """Where a class joins, in the order "incremental"."""
        return tuple(d for d in self._drifts if d < self.rows)

    def _start(self) -> None:
        self._at = 0

    def _next(self, n: int) -> Chunk | None:
        if self._at >= len(self.y):
            return None
        part: Any = slice(self._at, self._at + n)
        part = part if self._order is None else self._order[part]
        times = (None if t is None else t[part].copy() for t in (self.time, self.label_time))
        chunk = Chunk(self._taken(self.X[part]), self.y[part].copy(), None, *times)
        self._at += len(chunk)
        return chunk

    def peek(self, rows: int, cells: int) -> Peek | None:
        """Look at rows that are spread over all of them."""
        n = min(self.rows, rows, max(1, cells // max(1, self._schema.n_features)))
        if not n:
            return None
        part = np.linspace(0, self.rows, n, endpoint=False, dtype=np.int64)
        part = part if self._order is None else self._order[part]
        X = self.X.take(part, axis=0) if isinstance(self.X, np.ndarray) else self.X[part]
        return Peek(Chunk(self._taken(X, copy=False), self.y[part]), self._schema, True, self.booleans)

    def _taken(self, X: Any, *, copy: bool = True) -> Any:
        """Copy rows in the form asked for."""
        if not isinstance(X, np.ndarray):
            return X.copy() if self.sparse else X.toarray()
        rows = X.astype(np.float64, order="C", copy=copy)
        return door.sparse_rows(csr(rows), self._schema) if self.sparse else rows

    def _tables(self) -> State:
        return {}

    def _adopt(self, tables: State, given: int) -> None:
        self._at = given

    def __repr__(self) -> str:
        return f"ArrayStream({len(self.y)} rows × {self._schema.n_features} features)"


def _ordered(order: str, seed: int, codes: NDArray[np.int64]) -> tuple[NDArray[np.int64] | None, list[int]]:
    """Give the rows in the order in which they are read (None: as they are), and where a class joins."""
    if order == "given" or not len(codes):
        return None, []
    moments = np.random.default_rng(seed).random(len(codes))
    if order == "shuffled":
        return np.argsort(moments, kind="stable"), []
    joins = codes / (int(codes.max()) + 1)  # a record of class c comes at any time from c / classes on
    rows = np.argsort(joins + (1.0 - joins) * moments, kind="stable")
    firsts = np.unique(codes[rows], return_index=True)[1]
    return rows, sorted(set(firsts.tolist()) - {0})


def _apart(X: Any, target: str) -> tuple[Any, Any]:
    """Take the column with the labels out of a frame."""
    if not hasattr(X, "__arrow_c_stream__") or isinstance(X, type):
        raise TypeError(f"y must hold labels; it may name a column only where X is a frame, got {shown(target)}")
    table = door.arrow_table(X)
    names = table.column_names
    if target not in names:
        raise ValueError(f"y must be one of the columns {listed(names)} of X, got {shown(target)}")
    return table.select([n for n in names if n != target]), table.column(target)


def _times(values: Any, name: str, n: int) -> NDArray[np.float64] | None:
    if values is None:
        return None
    array = seconds(values, name)
    if len(array) != n:
        raise ValueError(f"{name} must have a number for each of the {n} rows of X, got {len(array)}")
    return array
