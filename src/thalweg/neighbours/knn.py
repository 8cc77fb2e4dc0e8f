"""The k nearest neighbours in a window of the last rows, exactly."""

from collections.abc import Hashable
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import door, params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.neighbours import sieve_jit
from thalweg.neighbours import window_jit as o
from thalweg.neighbours.knn_jit import play

METRICS = {"euclidean": o.EUCLIDEAN, "manhattan": o.MANHATTAN, "hamming": o.HAMMING, "cosine": o.COSINE}
SCALES = {None: o.UNSCALED, "window": o.BY_WINDOW, "online": o.ONLINE}
_TABLES = ("ring", "codes", "voices", "spans", "head")
_AT_ONCE = 8  # queries that are measured in one pass over the window
_TILE = 512  # rows of a tile, at most
_WIDE = 128  # features from which on the sieve pays ...
_MANY = 100  # ... in calls with so many queries
_LARGEST_SINGLE = float(np.finfo(np.float32).max)
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
class WindowKNN(Classifier):
    """Ask the k nearest among the last rows: nothing to train, exact, and quick to follow a change.

    k: neighbours that vote. window: rows that are kept, the last ones.
    metric: "euclidean", "manhattan", "hamming" (how many features differ) or "cosine" (1 - cosine of the angle).
    ties: "all": whoever is as far as the k-th nearest votes too; "k": exactly k vote, the oldest first.
    weights: "uniform": a neighbour's vote is the weight of its row; "distance": that, divided by its distance (at least
    1e-9).
    scale: differences in a feature are divided by "window": greatest - least in the window; "online": the standard
    deviation of all rows so far; None: nothing. A feature in which no two rows differ does not count.
    precision: "float64" or "float32": how rows are kept and asked. Sums are made in float64 in either case.

    Nominal values differ by 1 or not at all (cosine: a column for each value). A missing value is as far from another
    as the range of the feature allows, in a nominal feature 1; for cosine it is 0. A row of weight 0 is not kept.
    Before the first row all classes are alike. Time for a prediction and memory: proportional to window × features.
    A call with 100 or more predictions of 128 or more numbers measures roughly first, with copies of the window (one
    and a half times its memory, given back at the end), and exactly only what may matter: the answers are the same.

    Reference: A. Bifet, B. Pfahringer, J. Read, G. Holmes, "Efficient data stream classification via probabilistic
    adaptive windows", SAC 2013 (as the baseline); defaults and rules of ties, scale and missing values as in MOA.

    >>> from thalweg import SEA
    >>> chunk = SEA(seed=1).read(5_000)
    >>> learner = WindowKNN(k=11)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    missing = "native"
    bounded = True

    __slots__ = ("_nominal", "_rules", "_window")

    def __init__(
        self,
        *,
        k: int = 5,
        window: int = 1000,
        metric: Literal["euclidean", "manhattan", "hamming", "cosine"] = "euclidean",
        ties: Literal["all", "k"] = "all",
        weights: Literal["uniform", "distance"] = "uniform",
        scale: Literal["window", "online"] | None = "window",
        precision: Literal["float64", "float32"] = "float64",
    ) -> None:
        params.whole("k", k, least=1, most=1_000_000)
        params.whole("window", window, least=1, most=100_000_000)
        params.choice("metric", metric, tuple(METRICS))
        params.choice("ties", ties, ("all", "k"))
        params.choice("weights", weights, ("uniform", "distance"))
        if scale is not None and not (isinstance(scale, str) and scale in SCALES):
            raise ValueError(f"scale must be one of 'window', 'online', None, got {shown(scale)}")
        params.choice("precision", precision, ("float64", "float32"))
        self.k = k
        self.window = window
        self.metric = metric
        self.ties = ties
        self.weights = weights
        self.scale = scale
        self.precision = precision

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """Rows in the window."""
        return int(self._window["head"][o.SIZE]) if self._started else 0

    def neighbours(self, x: Any) -> list[Neighbour]:
        """Give the rows that vote on a record (a dict or a row), the nearest first, the oldest among equals.

        >>> learner = WindowKNN(k=1, scale=None).partial_fit([[1.0], [4.0], [8.0]], ["a", "b", "c"])
        >>> [(n.distance, n.label, n.age) for n in learner.neighbours([5.0])]
        [(1.0, 'b', 2)]
        >>> [(n.distance, n.label, n.age) for n in learner.neighbours([6.0])]  # as near as each other
        [(2.0, 'b', 2), (2.0, 'c', 1)]
        """
        X, _ = door.one_row(x, self._schema, missing=True, learning=False)
        n = self.n_rows
        if n == 0:
            return []
        desk = self._desk(1, 0)
        classes = len(self._labels)
        self._run(desk, X, _NO_CODES, np.zeros(0), np.zeros(1, dtype=np.int64), np.zeros((1, classes)), classes)
        window, slots, names = self._window, np.arange(n), dict(enumerate(self._labels.values))
        ages = (window["head"][o.NEXT] - 1 - slots) % n + 1
        far = desk.sums[0, :n]
        order = np.lexsort((-ages, far))
        count = min(self.k, n)
        if self.ties == "all":
            count = int((far <= far[order[count - 1]]).sum())
        ring = window["ring"]
        return [
            Neighbour(
                float(np.sqrt(far[s])) if self.metric == "euclidean" else float(far[s]),
                names.get(int(window["codes"][s])),
                int(ages[s]),
                ring[s // ring.shape[2], :, s % ring.shape[2]].astype(np.float64),
            )
            for s in order[:count]
        ]

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._take(self._blank(schema, 0), schema)

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        asked = int((events >= 0).sum())
        self._make_room(self.n_rows + len(events) - asked)
        self._run(self._desk(asked, len(events) - asked), X, y, w, events, out, known)

    def _extend(self, schema: Schema) -> None:
        old, n = self._window, self.n_rows
        had = len(old["spans"])
        new = self._blank(schema, n)
        new["ring"][:, :had], new["spans"][:had] = old["ring"], old["spans"]
        for t, tile in enumerate(new["ring"]):
            tile[had:, : max(n - t * tile.shape[1], 0)] = np.nan
        new["spans"][had:, o.LACKING] = np.where(_nominal(schema)[had:], 0, n)
        self._take(old | {name: new[name] for name in ("ring", "spans")}, schema)

    def _tables(self) -> State:
        return dict(self._window)

    def _adopt(self, tables: State, schema: Schema) -> None:
        window = {name: tables[name] for name in _TABLES}
        self._check(window, schema)
        self._take(window, schema)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _take(self, window: State, schema: Schema) -> None:
        rules = np.zeros(o.RULES, dtype=np.int64)
        rules[o.K], rules[o.WINDOW], rules[o.METRIC] = self.k, self.window, METRICS[self.metric]
        rules[o.ALL_TIES], rules[o.BY_DISTANCE] = self.ties == "all", self.weights == "distance"
        rules[o.SCALE] = SCALES[self.scale]
        self._window, self._rules, self._nominal = window, rules, _nominal(schema)

    def _blank(self, schema: Schema, n: int) -> State:
        """Make tables with room for n rows: four tiles or the next power of two, at most a full window."""
        d, tiles = schema.n_features, -(-self.window // _TILE)
        lanes = -(-self.window // (8 * tiles)) * 8
        room = min(tiles, max(4, 1 << (-(-n // lanes) - 1).bit_length()))
        spans = np.zeros((d, o.SPANS))
        spans[:, o.LEAST], spans[:, o.GREATEST] = np.inf, -np.inf
        return {
            "ring": np.zeros((room, d, lanes), dtype=self.precision), "codes": np.zeros(room * lanes, dtype=np.int64),
            "voices": np.zeros(room * lanes), "spans": spans, "head": np.zeros(o.HEAD, dtype=np.int64),
        }  # fmt: skip

    def _make_room(self, n: int) -> None:
        """Make room for n rows, or a full window."""
        window, n = self._window, min(n, self.window)
        had = len(window["codes"])
        if n > had:
            assert self._schema is not None
            new = self._blank(self._schema, n)
            new["ring"][: len(window["ring"])] = window["ring"]
            new["codes"][:had], new["voices"][:had] = window["codes"], window["voices"]
            self._window = window | {name: new[name] for name in ("ring", "codes", "voices")}

    def _desk(self, asked: int, learned: int) -> o.Desk:
        """Make room to measure queries: see Desk in window_jit.py."""
        ring = self._window["ring"]
        d, q = ring.shape[1], min(asked, _AT_ONCE)
        g = min(q, learned, self.window)
        slots = len(self._window["codes"]) + g
        return o.Desk(
            np.empty((q, d)), np.empty((q, d)), np.empty((q, d)), np.empty((q, d)), np.empty((q, d), dtype=np.int64),
            np.empty((q, slots)), np.empty((q, slots if self.metric == "cosine" else 0)),
            np.empty((d, g), dtype=ring.dtype), np.empty(g, dtype=np.int64), np.empty(g, dtype=np.int64),
            np.empty((q, o.MOMENT), dtype=np.int64), np.empty(min(self.k, self.window)),
        )  # fmt: skip

    def _run(self, desk: o.Desk, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if self.precision == "float32":
            X = np.clip(X, -_LARGEST_SINGLE, _LARGEST_SINGLE).astype(np.float32)
        routine: Any = play
        tables = (self._window[name] for name in _TABLES)
        sieve = self._sieve(len(desk.moments), asked=int((events >= 0).sum()))
        routine(*tables, self._nominal, *desk, *sieve, self._rules, X, y, w, events, out, known)

    def _sieve(self, queries: int, asked: int) -> sieve_jit.Sieve:
        """Make a sieve (see Sieve in sieve_jit.py) for a call with many queries in wide rows of numbers; else none."""
        ring = self._window["ring"]
        tiles, d, lanes = ring.shape
        worth = d >= _WIDE and asked >= _MANY and self.metric == "euclidean" and not self._nominal.any()
        worth = worth and self.scale != "online"  # it changes all scales with every row
        if not worth:
            tiles, d, queries, lanes = 0, 0, 0, 0
        rows = np.ascontiguousarray(ring.transpose(0, 2, 1)) if worth else ring[:0]
        return sieve_jit.Sieve(
            np.zeros((tiles, d, lanes), dtype=np.float32), rows.reshape(tiles * lanes, d), np.zeros(tiles * lanes),
            np.zeros(d), np.full(d, -1.0), np.empty((queries, d), dtype=np.float32),
            np.empty((queries, lanes), dtype=np.float32), np.empty(queries), np.empty(tiles * lanes, dtype=np.int64),
            np.array([0, sieve_jit.PAUSES[0]]),
        )  # fmt: skip

    def _check(self, window: State, schema: Schema) -> None:
        """Refuse tables that no window with these parameters could have."""
        head = window["head"]
        if head.dtype != np.int64 or head.shape != (o.HEAD,):
            raise ValueError("its table 'head' has another type or shape")
        n = int(head[o.SIZE])
        if not 0 <= n <= self.window or not (head[o.NEXT] == n % self.window or n == self.window > head[o.NEXT] >= 0):
            raise ValueError("its table 'head' holds what no window could")
        for name, table in self._blank(schema, n).items():
            given = window[name]
            if given.dtype != table.dtype or given.shape != table.shape or not given.flags.c_contiguous:
                raise ValueError(f"its table {name!r} has another type or shape")
        voices, rows = window["voices"][:n], window["ring"].transpose(0, 2, 1).reshape(-1, schema.n_features)[:n]
        if (window["codes"][:n] < 0).any():
            raise ValueError("its table 'labels' holds what no window could")
        if not ((voices > 0.0) & (voices < np.inf)).all():
            raise ValueError("its table 'voices' holds what no window could")
        if np.isinf(rows).any():
            raise ValueError("its table 'ring' holds what no window could")
        if not self._spans_fit(window["spans"], rows.astype(np.float64), _nominal(schema) == 0):
            raise ValueError("its table 'spans' does not fit its rows")

    def _spans_fit(self, spans: Floats, rows: Floats, number: NDArray[np.bool_]) -> bool:
        """Could these be the spans of the rows?"""
        rows, spans = rows[:, number], spans[number]
        lacks = np.isnan(rows)
        least = np.where(lacks, np.inf, rows).min(axis=0, initial=np.inf)
        greatest = np.where(lacks, -np.inf, rows).max(axis=0, initial=-np.inf)
        if not np.array_equal(spans[:, o.LACKING], lacks.sum(axis=0)):
            return False
        if self.scale == "online":
            count, mean, squares = spans[:, o.COUNT], spans[:, o.MEAN], spans[:, o.SQUARES]
            return bool(
                ((spans[:, o.LEAST] <= least) & (spans[:, o.GREATEST] >= greatest)).all()
                and ((count >= len(rows) - spans[:, o.LACKING]) & np.isfinite(count) & np.isfinite(mean)).all()
                and ((squares >= 0.0) & ((count > 0.0) | (least == np.inf))).all()
            )
        held = {
            o.LEAST: least, o.GREATEST: greatest,
            o.AT_LEAST: (rows == least).sum(axis=0), o.AT_GREATEST: (rows == greatest).sum(axis=0),
        }  # fmt: skip
        return all(np.array_equal(spans[:, at], values) for at, values in held.items())


def _nominal(schema: Schema) -> Ints:
    return np.array([f.nominal for f in schema.features], dtype=np.int64)
