"""The window of WindowKNN and BaggedKNN while its rows are dense: its tables grow until it is full."""

from typing import Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from thalweg.core.declared import check, declared
from thalweg.core.door import Rows
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.task import OneRoutine
from thalweg.jit.compile import plain
from thalweg.learners.windows import window_jit as jit
from thalweg.learners.windows.knn_jit import play
from thalweg.learners.windows.neighbours import Neighbours
from thalweg.learners.windows.shadow_jit import PAUSES, Sieve

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

METRICS = {"euclidean": jit.EUCLIDEAN, "manhattan": jit.MANHATTAN, "hamming": jit.HAMMING, "cosine": jit.COSINE}
SCALES = {None: jit.UNSCALED, "window": jit.BY_WINDOW, "online": jit.ONLINE}
LARGEST_SINGLE = float(np.finfo(np.float32).max)
_TABLES = tuple(declared(jit.Window))
_AT_ONCE = 8  # queries that are measured in one pass over the window
_TILE = 512  # rows of a tile, at most
_WIDE = 128  # features from which on the sieve pays ...
_MANY = 100  # ... in calls with so many queries
_CELLS = 1 << 20  # numbers of sparse rows that are made dense at a time


def make_rules(asked: Neighbours) -> Ints:
    """Write parameters as the compiled code takes them."""
    rules = np.zeros(jit.R_CELLS, dtype=np.int64)
    rules[jit.R_K], rules[jit.R_WINDOW], rules[jit.R_METRIC] = asked.k, asked.window, METRICS[asked.metric]
    rules[jit.R_ALL_TIES], rules[jit.R_BY_DISTANCE] = asked.ties == "all", asked.weights == "distance"
    rules[jit.R_SCALE] = SCALES[asked.scale]
    return rules


@final
class DenseWindow:
    """Up to ``window`` rows and their classes; a row keeps its slot until another takes it."""

    __slots__ = ("_k", "_metric", "_scale", "arrays", "precision", "rules", "window")

    def __init__(self, asked: Neighbours, schema: Schema, n: int = 0) -> None:
        """Make a window that has seen nothing, with room for n rows."""
        self.rules, self.precision, self.window = make_rules(asked), asked.precision, int(asked.window)
        self._k, self._metric, self._scale = int(asked.k), asked.metric, asked.scale
        self.arrays = self._blank(schema.n_features, self._tiles(n), schema.nominal)

    @property
    def n_rows(self) -> int:
        """Rows in the window."""
        return int(self.arrays.head[jit.W_SIZE])

    @property
    def room(self) -> int:
        """Rows that there is room for."""
        return len(self.arrays.codes)

    # -- playing ------------------------------------------------------------------------------------------------------

    def play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        """Carry out events, as ``Classifier._play`` says."""
        if isinstance(X, np.ndarray):
            self._play(X, y, w, events, out, known)
            return
        step = max(1, _CELLS // max(1, X.shape[1]))  # sparse rows: a few at a time
        for part in (events[i : i + step] for i in range(0, len(events), step)):
            which, own = np.unique(np.maximum(part, ~part), return_inverse=True)
            learns = part < 0
            proba = np.zeros((len(which), out.shape[1]))
            rows, turned = _dense(X[which]), np.where(learns, ~own, own)
            self._play(rows, y[which] if len(y) else y, w[which] if len(w) else w, turned, proba, known)
            out[part[~learns]] = proba[own[~learns]]
            known = max([known, *(y[~part[learns]] + 1).tolist()])

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> Floats:
        """Play dense rows; give the distances of all slots from the queries of the last group."""
        asked = int((events >= 0).sum())
        self.make_room(self.n_rows + len(events) - asked)
        scratch = self.scratch(asked, len(events) - asked)
        sieve = self._sieve(scratch, asked)
        play(plain(self.arrays), plain(scratch), plain(sieve), self.rules, self.as_kept(X), y, w, events, out, known)
        return scratch.sums

    def as_routine(self, X: Floats) -> OneRoutine:
        """Give what plays rows, as many of these as there is room for."""
        left = len(X) if self.room >= self.window else self.room - self.n_rows
        scratch = self.scratch(1, 1)
        tables = (plain(self.arrays), plain(scratch), plain(self._sieve(scratch, 1)), self.rules)
        return OneRoutine(play, self.as_kept(X[:left]), lambda: (tables, ()), lambda x, y: None)

    def measure(self, X: Rows, classes: int) -> Floats:
        """Give the distance of each row of the window from a record (squared where Euclidean)."""
        first = np.zeros(1, dtype=np.int64)
        return self._play(_dense(X), first[:0], np.zeros(0), first, np.zeros((1, classes)), classes)[0, : self.n_rows]

    def as_kept(self, X: Floats) -> NDArray[Any]:
        """Give rows in the precision of the window."""
        if self.precision == "float64":
            return X
        return np.clip(X, -LARGEST_SINGLE, LARGEST_SINGLE).astype(np.float32)

    def scratch(self, asked: int, learned: int) -> jit.Scratch:
        """Make room to measure queries: see Scratch in window_jit.py."""
        ring = self.arrays.ring
        d, q = ring.shape[1], min(asked, _AT_ONCE)
        g = min(q, learned, self.window)
        slots = self.room + g
        return jit.Scratch(
            x=np.empty((q, d)), by=np.empty((q, d)), far=np.empty((q, d)), top=np.empty((q, d)),
            kind=np.empty((q, d), dtype=np.int64), sums=np.empty((q, slots)),
            norms=np.empty((q, slots if self._metric == "cosine" else 0)),
            left=np.empty((d, g), dtype=ring.dtype), slots=np.empty(g, dtype=np.int64),
            rows=np.empty(g, dtype=np.int64), moments=np.empty((q, jit.Q_COLUMNS), dtype=np.int64),
            nearest=np.empty(min(self._k, self.window)),
        )  # fmt: skip

    def _sieve(self, scratch: jit.Scratch, asked: int) -> Sieve:
        """Make sieves (see shadow_jit.py) for a call with many queries in wide rows of numbers; else none."""
        ring, d = self.arrays.ring, self.arrays.ring.shape[1]
        online = self._scale == "online"  # changes all scales with every row
        if d < _WIDE or asked < _MANY or self._metric != "euclidean" or online or self.arrays.nominal.any():
            return _NO_SIEVE[self.precision]
        sieve = _new_sieve(ring.shape, scratch.sums.shape, ring.dtype)
        tiles, _, lanes = ring.shape
        sieve.rows[: tiles * lanes].reshape(tiles, lanes, d)[:] = ring.transpose(0, 2, 1)
        return sieve

    # -- growing ------------------------------------------------------------------------------------------------------

    @property
    def _most_tiles(self) -> int:
        return -(-self.window // _TILE)

    @property
    def _lanes(self) -> int:
        """Rows of a tile."""
        return -(-self.window // (8 * self._most_tiles)) * 8

    def _tiles(self, n: int) -> int:
        """Give the tiles for n rows: four or the next power of two, at most a full window."""
        return min(self._most_tiles, max(4, 1 << (-(-n // self._lanes) - 1).bit_length()))

    def _blank(self, d: int, tiles: int, nominal: Ints) -> jit.Window:
        """Make empty tables."""
        lanes = self._lanes
        spans = np.zeros((d, jit.S_COLUMNS))
        spans[:, jit.S_LEAST], spans[:, jit.S_GREATEST] = np.inf, -np.inf
        return jit.Window(
            ring=np.zeros((tiles, d, lanes), dtype=self.precision), codes=np.zeros(tiles * lanes, dtype=np.int64),
            voices=np.zeros(tiles * lanes), spans=spans, head=np.zeros(jit.W_CELLS, dtype=np.int64), nominal=nominal,
        )  # fmt: skip

    def make_room(self, n: int) -> None:
        """Make room for n rows, or a full window."""
        t, n, had = self.arrays, min(n, self.window), self.room
        if n > had:
            new = self._blank(len(t.spans), self._tiles(n), t.nominal)
            new.ring[: len(t.ring)], new.codes[:had], new.voices[:had] = t.ring, t.codes, t.voices
            self.arrays = new._replace(spans=t.spans, head=t.head)

    def extend(self, schema: Schema) -> None:
        """Take features that join; the rows of before lack them."""
        old, n, had = self.arrays, self.n_rows, len(self.arrays.spans)
        new = self._blank(schema.n_features, len(old.ring), schema.nominal)
        new.ring[:, :had], new.spans[:had] = old.ring, old.spans
        for t, tile in enumerate(new.ring):
            tile[had:, : max(n - t * tile.shape[1], 0)] = np.nan
        new.spans[had:, jit.S_LACKING] = np.where(new.nominal[had:], 0, n)
        self.arrays = new._replace(codes=old.codes, voices=old.voices, head=old.head)

    def lay(self, rows: Floats) -> None:
        """Let rows of numbers, none of which is missing, take the slots from the first on; the spans follow."""
        rows = self.as_kept(rows).astype(np.float64, copy=False)
        ring, spans, n = self.arrays.ring, self.arrays.spans, len(rows)
        tiles, d, lanes = ring.shape
        padded = np.zeros((tiles * lanes, d), dtype=self.precision)
        padded[:n] = rows
        ring[:] = padded.reshape(tiles, lanes, d).transpose(0, 2, 1)
        if n == 0:
            return
        least, greatest = rows.min(axis=0), rows.max(axis=0)
        if self._scale == "online":  # of all rows so far
            np.minimum(spans[:, jit.S_LEAST], least, out=spans[:, jit.S_LEAST])
            np.maximum(spans[:, jit.S_GREATEST], greatest, out=spans[:, jit.S_GREATEST])
            return
        spans[:, jit.S_LEAST], spans[:, jit.S_AT_LEAST] = least, (rows == least).sum(axis=0)
        spans[:, jit.S_GREATEST], spans[:, jit.S_AT_GREATEST] = greatest, (rows == greatest).sum(axis=0)

    # -- what is kept -------------------------------------------------------------------------------------------------

    def tables(self) -> State:
        """Give the tables, not copied."""
        return dict(zip(_TABLES, self.arrays, strict=False))

    def row(self, slot: int) -> Floats:
        """Give the row of a slot."""
        tile, lane = divmod(slot, self.arrays.ring.shape[2])
        return np.asarray(self.arrays.ring[tile, :, lane], dtype=np.float64)

    def restore(self, tables: State, classes: int) -> None:
        """Continue from what ``tables`` gave; refuse what no window with these rules could have."""
        window = jit.Window(**{name: tables[name] for name in _TABLES}, nominal=self.arrays.nominal)
        if window.ring.dtype != self.precision:
            raise ValueError("its table 'ring' has another type or shape")
        ring, d = window.ring.astype(np.float64, copy=False), len(window.nominal)
        sizes = check(
            jit.Window, tables | {"ring": ring}, most={"T": self._most_tiles}, d=d, B=self._lanes, window=self.window,
            classes=classes,
        )  # fmt: skip
        rows = ring.transpose(0, 2, 1).reshape(-1, d)[: sizes["n"]]
        if not self._spans_fit(window.spans, rows, window.nominal == 0):
            raise ValueError("its table 'spans' does not fit its rows")
        self.arrays = window

    def _spans_fit(self, spans: Floats, rows: Floats, number: NDArray[np.bool_]) -> bool:
        """Could these be the spans of the rows?"""
        rows, spans = rows[:, number], spans[number]
        lacks = np.isnan(rows)
        least = np.where(lacks, np.inf, rows).min(axis=0, initial=np.inf)
        greatest = np.where(lacks, -np.inf, rows).max(axis=0, initial=-np.inf)
        if not np.array_equal(spans[:, jit.S_LACKING], lacks.sum(axis=0)):
            return False
        if self._scale == "online":
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


def _dense(X: Rows) -> Floats:
    return X if isinstance(X, np.ndarray) else np.ascontiguousarray(X.toarray())


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
