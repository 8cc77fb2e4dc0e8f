"""The k nearest neighbours in a window of the last rows, exactly."""

from collections.abc import Hashable
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.door import Rows, sparse_rows
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.compile import plain
from thalweg.learners.windows import window_jit as jit
from thalweg.learners.windows.knn_jit import play
from thalweg.learners.windows.neighbours import Neighbours
from thalweg.learners.windows.shadow_jit import PAUSES, Sieve
from thalweg.learners.windows.sparse_window import SparseWindow

METRICS = {"euclidean": jit.EUCLIDEAN, "manhattan": jit.MANHATTAN, "hamming": jit.HAMMING, "cosine": jit.COSINE}
SCALES = {None: jit.UNSCALED, "window": jit.BY_WINDOW, "online": jit.ONLINE}
_TABLES = jit.Window._fields[:-1]  # which features are nominal follows from the schema
_AT_ONCE = 8  # queries that are measured in one pass over the window
_TILE = 512  # rows of a tile, at most
_WIDE = 128  # features from which on the sieve pays ...
_MANY = 100  # ... in calls with so many queries
_LARGEST_SINGLE = float(np.finfo(np.float32).max)
_CELLS = 1 << 20  # numbers of sparse rows that are made dense at a time
_NO_CODES = np.zeros(0, dtype=np.int64)


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

    __slots__ = ("_rules", "_sparse", "_window")

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """Rows in the window."""
        if not self._started:
            return 0
        return int(self._window.head[jit.W_SIZE]) if self._sparse is None else self._sparse.n_rows

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
        n = self.n_rows
        if n == 0:
            return []
        classes, first = len(self._labels), np.zeros(1, dtype=np.int64)
        ask = _NO_CODES, np.zeros(0), first, np.zeros((1, classes)), classes
        if self._sparse is not None and not _lacks(X):
            window, far = self._sparse.tables(), self._sparse.play(self._turned(X), *ask, every=True)[:n]
        elif self._sparse is not None:
            return self._as_dense().neighbours(x)
        else:
            scratch, window = self._scratch(1, 0), self._tables()
            self._run(scratch, _dense(X), *ask)
            far = scratch.sums[0, :n]
        slots, names = np.arange(n), dict(enumerate(self._labels.values))
        ages = (window["head"][jit.W_NEXT] - 1 - slots) % n + 1
        order = np.lexsort((-ages, far))
        count = min(self.k, n)
        if self.ties == "all":
            count = int((far <= far[order[count - 1]]).sum())
        return [
            Neighbour(
                float(np.sqrt(far[s])) if self.metric == "euclidean" else float(far[s]),
                names.get(int(window["codes"][s])),
                int(ages[s]),
                _row_of(window, s, X.shape[1]),
            )
            for s in order[:count]
        ]

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._sparse: SparseWindow | None = None  # the rows while they are sparse; ``_window`` is not used then
        self._take(self._blank(schema.n_features, 0, _nominal(schema)))

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        learned = ~events[events < 0]
        if isinstance(X, np.ndarray):
            if self._sparse is not None:
                if np.isnan(X[learned]).any():
                    self._become(self._as_dense())
                elif _lacks(X):  # only to be predicted: a dense copy does that
                    self._as_dense()._play(X, y, w, events, out, known)
                    X, events = np.nan_to_num(X), ~learned
        elif self._sparse is None and not self.n_rows and len(learned):
            self._sparse = SparseWindow(X.shape[1], self._rules)
        if self._sparse is not None:
            self._sparse.play(self._turned(X), y, w, events, out, known)
        elif isinstance(X, np.ndarray):
            self._play_dense(X, y, w, events, out, known)
        else:
            self._play_dense_parts(X, y, w, events, out, known)

    def _play_dense(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        asked = int((events >= 0).sum())
        self._make_room(self.n_rows + len(events) - asked)
        self._run(self._scratch(asked, len(events) - asked), X, y, w, events, out, known)

    def _play_dense_parts(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        """Play sparse rows in a dense window, a few at a time."""
        step = max(1, _CELLS // max(1, X.shape[1]))
        for part in (events[i : i + step] for i in range(0, len(events), step)):
            which, own = np.unique(np.maximum(part, ~part), return_inverse=True)
            learns = part < 0
            proba = np.zeros((len(which), out.shape[1]))
            rows, turned = _dense(X[which]), np.where(learns, ~own, own)
            self._play_dense(rows, y[which] if len(y) else y, w[which] if len(w) else w, turned, proba, known)
            out[part[~learns]] = proba[own[~learns]]
            known = max([known, *(y[~part[learns]] + 1).tolist()])

    def _extend(self, schema: Schema) -> None:
        if self._sparse is not None and schema.n_features > self._sparse.d:
            self._become(self._as_dense())
        if self._sparse is not None:
            return
        old, n, had = self._window, self.n_rows, len(self._window.spans)
        new = self._blank(schema.n_features, n, _nominal(schema))
        new.ring[:, :had], new.spans[:had] = old.ring, old.spans
        for t, tile in enumerate(new.ring):
            tile[had:, : max(n - t * tile.shape[1], 0)] = np.nan
        new.spans[had:, jit.S_LACKING] = np.where(new.nominal[had:], 0, n)
        self._take(new._replace(codes=old.codes, voices=old.voices, head=old.head))

    def _tables(self) -> State:
        return dict(zip(_TABLES, self._window, strict=False)) if self._sparse is None else self._sparse.tables()

    @property
    def state_bytes(self) -> int:
        """Bytes of all tables of the model."""
        return self._sparse.nbytes if self._started and self._sparse is not None else super().state_bytes

    def _adopt(self, tables: State, schema: Schema) -> None:
        if "starts" in tables:
            sparse = SparseWindow(schema.n_features, self._make_rules())
            sparse.restore(tables)
            self._take(self._blank(0, 0, _nominal(schema)))
            self._sparse = sparse
            return
        window = jit.Window(**{name: tables[name] for name in _TABLES}, nominal=_nominal(schema))
        self._check(window)
        self._take(window)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _take(self, window: jit.Window) -> None:
        self._window, self._rules, self._sparse = window, self._make_rules(), None

    def _make_rules(self) -> Ints:
        rules = np.zeros(jit.R_CELLS, dtype=np.int64)
        rules[jit.R_K], rules[jit.R_WINDOW], rules[jit.R_METRIC] = self.k, self.window, METRICS[self.metric]
        rules[jit.R_ALL_TIES], rules[jit.R_BY_DISTANCE] = self.ties == "all", self.weights == "distance"
        rules[jit.R_SCALE] = SCALES[self.scale]
        return rules

    def _turned(self, X: Rows) -> Rows:
        """Give rows as a sparse window takes them."""
        if isinstance(X, np.ndarray):
            from scipy.sparse import csr_array

            assert self._schema is not None
            X = sparse_rows(csr_array(X), self._schema)
        if self.precision == "float32":
            X = X.copy()
            X.data = np.clip(X.data, -_LARGEST_SINGLE, _LARGEST_SINGLE).astype(np.float32).astype(np.float64)
        return X

    def _as_dense(self) -> "WindowKNN":
        """Make a copy whose window is dense: it gives the same answers."""
        assert self._sparse is not None
        assert self._schema is not None
        n, d = self.n_rows, self._sparse.d
        kept = self._sparse.tables()
        rows = _dense_rows(kept, d)
        window = self._blank(d, n, _nominal(self._schema))
        window.codes[:n], window.voices[:n] = kept["codes"], kept["voices"]
        window.head[:] = kept["head"][: jit.W_CELLS]
        self._lay(window, rows)
        if self.scale == "online":
            window.spans[:] = kept["spans"]
        copy = type(self)(**self.get_params(deep=False))
        copy._labels, copy._schema, copy._started = self._labels, self._schema, True
        copy._take(window)
        return copy

    def _lay(self, window: jit.Window, rows: Floats) -> None:
        """Write rows of numbers, none of which is missing, to the slots of a dense window; its spans follow."""
        ring, spans, n = window.ring, window.spans, len(rows)
        tiles, d, lanes = ring.shape
        padded = np.zeros((tiles * lanes, d), dtype=self.precision)
        padded[:n] = rows
        ring[:] = padded.reshape(tiles, lanes, d).transpose(0, 2, 1)
        if n == 0:
            return
        least, greatest = rows.min(axis=0), rows.max(axis=0)
        if self.scale == "online":  # of all rows so far
            spans[:, jit.S_LEAST] = np.minimum(spans[:, jit.S_LEAST], least)
            spans[:, jit.S_GREATEST] = np.maximum(spans[:, jit.S_GREATEST], greatest)
            return
        spans[:, jit.S_LEAST], spans[:, jit.S_GREATEST] = least, greatest
        spans[:, jit.S_AT_LEAST], spans[:, jit.S_AT_GREATEST] = (
            (rows == least).sum(axis=0),
            (rows == greatest).sum(axis=0),
        )

    @property
    def _next_slot(self) -> int:
        """Where the next row goes."""
        return int(self._window.head[jit.W_NEXT])

    def _replace_rows(self, rows: Floats) -> None:
        """Let other numbers take the place of those in a dense window, slot by slot; labels, weights and ages stay."""
        self._lay(self._window, self._as_kept(rows).astype(np.float64, copy=False))

    def _become(self, other: "WindowKNN") -> None:
        """Go on with the window of a copy."""
        self._window, self._sparse = other._window, None

    def _blank(self, d: int, n: int, nominal: Ints) -> jit.Window:
        """Make tables with room for n rows: four tiles or the next power of two, at most a full window."""
        tiles = -(-self.window // _TILE)
        lanes = -(-self.window // (8 * tiles)) * 8
        room = min(tiles, max(4, 1 << (-(-n // lanes) - 1).bit_length()))
        spans = np.zeros((d, jit.S_COLUMNS))
        spans[:, jit.S_LEAST], spans[:, jit.S_GREATEST] = np.inf, -np.inf
        return jit.Window(
            ring=np.zeros((room, d, lanes), dtype=self.precision), codes=np.zeros(room * lanes, dtype=np.int64),
            voices=np.zeros(room * lanes), spans=spans, head=np.zeros(jit.W_CELLS, dtype=np.int64), nominal=nominal,
        )  # fmt: skip

    def _make_room(self, n: int) -> None:
        """Make room for n rows, or a full window."""
        window, n = self._window, min(n, self.window)
        had = len(window.codes)
        if n > had:
            new = self._blank(len(window.spans), n, window.nominal)
            new.ring[: len(window.ring)], new.codes[:had], new.voices[:had] = window.ring, window.codes, window.voices
            self._window = new._replace(spans=window.spans, head=window.head)

    def _scratch(self, asked: int, learned: int) -> jit.Scratch:
        """Make room to measure queries: see Desk in window_jit.py."""
        ring = self._window.ring
        d, q = ring.shape[1], min(asked, _AT_ONCE)
        g = min(q, learned, self.window)
        slots = len(self._window.codes) + g
        return jit.Scratch(
            x=np.empty((q, d)), by=np.empty((q, d)), far=np.empty((q, d)), top=np.empty((q, d)),
            kind=np.empty((q, d), dtype=np.int64), sums=np.empty((q, slots)),
            norms=np.empty((q, slots if self.metric == "cosine" else 0)), left=np.empty((d, g), dtype=ring.dtype),
            slots=np.empty(g, dtype=np.int64), rows=np.empty(g, dtype=np.int64),
            moments=np.empty((q, jit.Q_COLUMNS), dtype=np.int64), nearest=np.empty(min(self.k, self.window)),
        )  # fmt: skip

    def _run(self, scratch: jit.Scratch, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        sieve = self._sieve(scratch, asked=int((events >= 0).sum()))
        play(plain(self._window), plain(scratch), plain(sieve), self._rules, self._as_kept(X), y, w, events, out, known)

    def _as_kept(self, X: Floats) -> NDArray[Any]:
        """Give rows in the precision of the window."""
        if self.precision == "float64":
            return X
        return np.clip(X, -_LARGEST_SINGLE, _LARGEST_SINGLE).astype(np.float32)

    def _sieve(self, scratch: jit.Scratch, asked: int) -> Sieve:
        """Make sieves (see shadow_jit.py) for a call with many queries in wide rows of numbers; else none."""
        window, d = self._window, self._window.ring.shape[1]
        if d < _WIDE or asked < _MANY or self.metric != "euclidean" or self.scale == "online" or window.nominal.any():
            return _NO_SIEVE[self.precision]  # scale "online" changes all scales with every row
        sieve = _new_sieve(window.ring.shape, scratch.sums.shape, window.ring.dtype)
        tiles, _, lanes = window.ring.shape
        sieve.rows[: tiles * lanes].reshape(tiles, lanes, d)[:] = window.ring.transpose(0, 2, 1)
        return sieve

    def _check(self, window: jit.Window) -> None:
        """Refuse tables that no window with these parameters could have."""
        head, d = window.head, len(window.nominal)
        if head.dtype != np.int64 or head.shape != (jit.W_CELLS,):
            raise ValueError("its table 'head' has another type or shape")
        n, following = int(head[jit.W_SIZE]), int(head[jit.W_NEXT])
        if not 0 <= n <= self.window or not (following == n % self.window or n == self.window > following >= 0):
            raise ValueError("its table 'head' holds what no window could")
        for name, given, table in zip(_TABLES, window, self._blank(d, n, window.nominal), strict=False):
            if given.dtype != table.dtype or given.shape != table.shape or not given.flags.c_contiguous:
                raise ValueError(f"its table {name!r} has another type or shape")
        voices, rows = window.voices[:n], window.ring.transpose(0, 2, 1).reshape(-1, d)[:n]
        if (window.codes[:n] < 0).any():
            raise ValueError("its table 'labels' holds what no window could")
        if not ((voices > 0.0) & (voices < np.inf)).all():
            raise ValueError("its table 'voices' holds what no window could")
        if np.isinf(rows).any():
            raise ValueError("its table 'ring' holds what no window could")
        if not self._spans_fit(window.spans, rows.astype(np.float64), window.nominal == 0):
            raise ValueError("its table 'spans' does not fit its rows")

    def _spans_fit(self, spans: Floats, rows: Floats, number: NDArray[np.bool_]) -> bool:
        """Could these be the spans of the rows?"""
        rows, spans = rows[:, number], spans[number]
        lacks = np.isnan(rows)
        least = np.where(lacks, np.inf, rows).min(axis=0, initial=np.inf)
        greatest = np.where(lacks, -np.inf, rows).max(axis=0, initial=-np.inf)
        if not np.array_equal(spans[:, jit.S_LACKING], lacks.sum(axis=0)):
            return False
        if self.scale == "online":
            count, mean, squares = spans[:, jit.S_COUNT], spans[:, jit.S_MEAN], spans[:, jit.S_SQUARES]
            return bool(
                ((spans[:, jit.S_LEAST] <= least) & (spans[:, jit.S_GREATEST] >= greatest)).all()
                and ((count >= len(rows) - spans[:, jit.S_LACKING]) & np.isfinite(count) & np.isfinite(mean)).all()
                and ((squares >= 0.0) & ((count > 0.0) | (least == np.inf))).all()
            )
        held = {
            jit.S_LEAST: least, jit.S_GREATEST: greatest,
            jit.S_AT_LEAST: (rows == least).sum(axis=0), jit.S_AT_GREATEST: (rows == greatest).sum(axis=0),
        }  # fmt: skip
        return all(np.array_equal(spans[:, at], values) for at, values in held.items())


def _lacks(X: Rows) -> bool:
    return isinstance(X, np.ndarray) and bool(np.isnan(X).any())


def _dense(X: Rows) -> Floats:
    return X if isinstance(X, np.ndarray) else np.ascontiguousarray(X.toarray())


def _dense_rows(kept: State, d: int) -> Floats:
    """Give the rows of a sparse window as dense ones, in the order of their slots."""
    n = len(kept["codes"])
    rows = np.zeros((n, d))
    rows[np.repeat(np.arange(n), np.diff(kept["starts"])), kept["columns"]] = kept["values"]
    return rows


def _row_of(window: State, s: int, d: int) -> Floats:
    """Give the row of a slot."""
    if "ring" in window:
        ring = window["ring"]
        return np.asarray(ring[s // ring.shape[2], :, s % ring.shape[2]], dtype=np.float64)
    row, part = np.zeros(d), slice(*window["starts"][s : s + 2])
    row[window["columns"][part]] = window["values"][part]
    return row


def _nominal(schema: Schema) -> Ints:
    return np.array([f.nominal for f in schema.features], dtype=np.int64)


def _new_sieve(ring: tuple[int, ...], sums: tuple[int, ...], precision: DTypeLike) -> Sieve:
    """Make the tables of the sieves for a ring and sums of these shapes."""
    (tiles, d, lanes), (queries, slots) = ring, sums
    return Sieve(
        shadow=np.zeros((tiles, d, lanes), dtype=np.float32), rows=np.empty((slots, d), dtype=precision),
        lengths=np.zeros((2, tiles * lanes)), centre=np.zeros(d), by=np.full(d, -1.0),
        query=np.empty((queries, d), dtype=np.float32), own=np.empty((queries, 2)), one=np.empty(d, dtype=np.float32),
        sums=np.empty((queries, lanes), dtype=np.float32), errors=np.empty(queries),
        hard=np.empty(queries, dtype=np.int64), chosen=np.empty(slots, dtype=np.int64), exact=np.empty(slots),
        status=np.array([0, PAUSES[0]] * 2),
    )  # fmt: skip


_NO_SIEVE = {precision: _new_sieve((0, 0, 0), (0, 0), precision) for precision in ("float64", "float32")}
