"""The k nearest neighbours in a window of the last rows, exactly."""

from collections.abc import Hashable
from typing import Any, NamedTuple, final

import numpy as np

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.door import Rows, sparse_rows
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.task import OneRoutine
from thalweg.learners.windows import window_jit as jit
from thalweg.learners.windows.dense_window import LARGEST_SINGLE, DenseWindow
from thalweg.learners.windows.neighbours import Neighbours
from thalweg.learners.windows.sparse_window import SparseWindow


class Neighbour(NamedTuple):
    """A row of the window, seen from a record."""

    distance: float
    label: Hashable
    age: int
    """How many rows ago it was learned; 1: it came last."""
    row: Floats
    """Its values as the window keeps them: nominal ones as codes, NaN for missing."""


@final
class WindowKNN(Neighbours, Classifier):
    """Ask the k nearest among the last rows: nothing to train, exact, and quick to follow a change.

    Nominal values differ by 1 or not at all (cosine: a column for each value). A missing value is as far from another
    as the range of the feature allows, in a nominal feature 1; for cosine it is 0. A row of weight 0 is not kept.
    Before the first row all classes are alike. Time for a prediction and memory: proportional to window × features.
    Sparse rows (SciPy) in an empty window make it a sparse one, with the same answers; its time and memory go by the
    values that its rows have (scale "online": time also by the features). Dense rows join it as sparse ones; it becomes
    a dense one with the first row that lacks a value (NaN), or when features are added.
    A call with 100 or more predictions of 128 or more numbers measures roughly first, with copies of the window (one
    and a half times its memory, given back at the end), and exactly only what may matter: the answers are the same.

    References
    ----------
    A. Bifet, B. Pfahringer, J. Read, G. Holmes, "Efficient data stream classification via probabilistic adaptive
    windows", SAC 2013 (as the baseline); defaults and rules of ties, scale and missing values as in MOA.

    Examples
    --------
    >>> from thalweg import SEA
    >>> chunk = SEA(seed=1).read(5_000)
    >>> learner = WindowKNN(k=11)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    missing = "native"
    sparse = True
    bounded = True

    __slots__ = ("_dense", "_sparse")

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """Rows in the window."""
        if not self._started:
            return 0
        return self._dense.n_rows if self._sparse is None else self._sparse.n_rows

    @property
    def dense_window(self) -> DenseWindow | None:
        """The window while its rows are dense, for whoever holds the learner."""
        return self._dense if self._sparse is None else None

    @property
    def next_slot(self) -> int:
        """The place in the window, from 0, that the next row takes: that of the oldest, if the window is full."""
        return int(self._tables()["head"][jit.W_NEXT]) if self._started else 0

    def neighbours(self, x: Any) -> list[Neighbour]:
        """Give the rows that vote on a record (a dict or a row), the nearest first, the oldest among equals.

        Examples
        --------
        >>> learner = WindowKNN(k=1, scale=None).partial_fit([[1.0], [4.0], [8.0]], ["a", "b", "c"])
        >>> [(n.distance, n.label, n.age) for n in learner.neighbours([5.0])]
        [(1.0, 'b', 2)]
        >>> [(n.distance, n.label, n.age) for n in learner.neighbours([6.0])]  # as near as each other
        [(2.0, 'b', 2), (2.0, 'c', 1)]
        """
        X, _ = self._one_row(x, learning=False)
        n, classes = self.n_rows, len(self._labels)
        if n == 0:
            return []
        window: DenseWindow | SparseWindow
        if self._sparse is None or _lacks(X):
            window = self._dense if self._sparse is None else self._as_dense()
            far = window.measure(X, classes)
        else:
            window = self._sparse
            far = window.measure(self._turned(X), classes)
        kept, slots, names = window.tables(), np.arange(n), dict(enumerate(self._labels.values))
        ages = (kept["head"][jit.W_NEXT] - 1 - slots) % n + 1
        order = np.lexsort((-ages, far))
        count = min(self.k, n)
        if self.ties == "all":
            count = int((far <= far[order[count - 1]]).sum())
        distances = np.sqrt(far) if self.metric == "euclidean" else far
        return [
            Neighbour(float(distances[s]), names.get(int(kept["codes"][s])), int(ages[s]), window.row(s))
            for s in order[:count].tolist()
        ]

    def replace_rows(self, rows: Floats) -> None:
        """Let other numbers take the place of all rows of a dense window, slot by slot; labels and ages stay.

        Examples
        --------
        >>> learner = WindowKNN(k=1, scale=None).partial_fit([[1.0], [4.0]], ["a", "b"])
        >>> learner.replace_rows(np.array([[4.0], [1.0]]))
        >>> learner.predict_one([3.0])
        'a'
        """
        if self._sparse is not None or rows.shape != (self.n_rows, self._dense.arrays.ring.shape[1]):
            raise ValueError("rows must be one for each row of a dense window")
        self._dense.lay(rows)

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._dense = DenseWindow(self, schema)
        self._sparse: SparseWindow | None = None  # the rows while they are sparse; ``_dense`` has none then

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if self._sparse is None and not isinstance(X, np.ndarray) and not self.n_rows and (events < 0).any():
            self._sparse = SparseWindow(X.shape[1], self._dense.rules)
        if self._sparse is not None and isinstance(X, np.ndarray):
            learned = ~events[events < 0]
            if np.isnan(X[learned]).any():
                self._dense, self._sparse = self._as_dense(), None
            elif _lacks(X):  # only to be predicted: a dense copy does that
                self._as_dense().play(X, y, w, events, out, known)
                X, events = np.nan_to_num(X), ~learned
        if self._sparse is None:
            self._dense.play(X, y, w, events, out, known)
        else:
            self._sparse.play(self._turned(X), y, w, events, out, known)

    def _as_routine(self, X: Floats) -> OneRoutine | None:
        return self._dense.as_routine(X) if self._sparse is None else None

    def _extend(self, schema: Schema) -> None:
        if self._sparse is not None and schema.n_features > self._sparse.d:
            self._dense, self._sparse = self._as_dense(), None
        if self._sparse is None:
            self._dense.extend(schema)

    def _tables(self) -> State:
        return self._dense.tables() if self._sparse is None else self._sparse.tables()

    @property
    def state_bytes(self) -> int:
        """Bytes of all tables of the model."""
        return self._sparse.nbytes if self._started and self._sparse is not None else super().state_bytes

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        dense, sparse = DenseWindow(self, schema), None
        if "starts" in tables:
            sparse = SparseWindow(schema.n_features, dense.rules)
            sparse.restore(tables, classes)
        else:
            dense.restore(tables, classes)
        self._dense, self._sparse = dense, sparse

    # -- inside -------------------------------------------------------------------------------------------------------

    def _turned(self, X: Rows) -> Rows:
        """Give rows as a sparse window takes them."""
        if isinstance(X, np.ndarray):
            from scipy.sparse import csr_array

            assert self._schema is not None
            X = sparse_rows(csr_array(X), self._schema)
        if self.precision == "float32":
            X = X.copy()
            X.data = np.clip(X.data, -LARGEST_SINGLE, LARGEST_SINGLE).astype(np.float32).astype(np.float64)
        return X

    def _as_dense(self) -> DenseWindow:
        """Make a dense window of a sparse one: it gives the same answers."""
        assert self._sparse is not None
        assert self._schema is not None
        n, kept = self.n_rows, self._sparse.tables()
        dense = DenseWindow(self, self._schema, n)
        arrays = dense.arrays
        arrays.codes[:n], arrays.voices[:n] = kept["codes"], kept["voices"]
        arrays.head[:] = kept["head"][: jit.W_CELLS]
        dense.lay(self._sparse.dense())
        if self.scale == "online":
            arrays.spans[:] = kept["spans"]
        return dense


def _lacks(X: Rows) -> bool:
    return isinstance(X, np.ndarray) and bool(np.isnan(X).any())
