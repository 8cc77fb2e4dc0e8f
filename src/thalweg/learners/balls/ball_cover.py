"""Balls that appear where the stream is hard and shrink where they err: ABACOC."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal, Self, final

import numpy as np

from thalweg.core import door
from thalweg.core.classifier import Floats, Ints
from thalweg.core.declared import check
from thalweg.core.fields import again, choice, free, number, whole
from thalweg.core.labels import sequence
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.compile import plain
from thalweg.jit.random import seeded
from thalweg.learners.balls import ball_cover_jit as o
from thalweg.learners.balls import balls_jit as b
from thalweg.learners.balls.ball_index import BallIndex
from thalweg.learners.balls.ball_index_jit import Index, Room
from thalweg.learners.balls.cover import Covering, longer
from thalweg.learners.balls.scaling_jit import SCALES, new_spans
from thalweg.learners.balls.tiles_jit import D_ABSOLUTE, D_GREATEST, D_SQUARES, D_UNEQUAL

MetricName = Literal["euclidean", "manhattan", "chebyshev", "hamming", "cosine", "angular", "mahalanobis"]
Metric = Callable[[Floats, Floats], float]
VARIANTS = {"base": b.BASE, "base-adj": b.BASE_ADJ, "auto": b.AUTO, "auto-adj": b.AUTO_ADJ}
DISCARDS = {
    "rate": o.BY_RATE, "count": o.BY_COUNT, "uniform": o.UNIFORM, "oldest": o.OLDEST, "least-recent": o.LEAST_RECENT,
}  # fmt: skip
METRICS = {
    "euclidean": o.EUCLIDEAN, "manhattan": o.MANHATTAN, "chebyshev": o.CHEBYSHEV, "hamming": o.HAMMING,
    "cosine": o.COSINE, "angular": o.ANGULAR, "mahalanobis": o.MAHALANOBIS,
}  # fmt: skip
_DIFFERENCES = {o.MANHATTAN: D_ABSOLUTE, o.CHEBYSHEV: D_GREATEST, o.HAMMING: D_UNEQUAL}
"""How the index puts differences together; the others by squares."""
_COVER = ("balls", "marks", "entries", "voices", "head", "gauge", "spans")
_EXTRA = ("waiting", "middle", "root")
_ROOM = 64  # balls, and counts, that there is room for at first
_TWO = "y must hold at most two classes for variant 'base' (there is 'base-adj')"
_UNCHANGED = nullcontext()


def _metric(name: str, value: Any) -> None:
    if not (isinstance(value, str) and value in METRICS) and (isinstance(value, type) or not callable(value)):
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, METRICS))}, or a function of two rows, got {shown(value)}"
        )


@final
class BallCover(Covering):
    """Cover the data with balls; ask the nearest. Nothing to tune, any metric, classes that appear, bounded on demand.

    A row inside the ball whose centre is nearest is counted there; one outside opens a ball of its own, whose radius is
    that distance. The class counted most in a ball is its prediction. Where it errs it shrinks, and makes room.

    ``predict_proba`` is Laplace's share of each class in the nearest ball, drawn towards "all alike" outside it: useful
    to choose what to ask a label for. Nominal values differ by 1 or not at all, and those of a centre do not move.
    Missing values are refused. A row of weight w counts as w rows.

    References
    ----------
    R. De Rosa, F. Orabona, N. Cesa-Bianchi, "The ABACOC algorithm: a novel approach for nonparametric classification
    of data streams", ICDM 2015. As there: variants, radii, moves, discards by rate; start by samples, online scale,
    probabilities and the rules for ties are ours.

    Examples
    --------
    >>> from thalweg import SEA
    >>> chunk = SEA(seed=1).read(5_000)
    >>> learner = BallCover(max_balls=200)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.78), learner.n_balls <= 200
    (True, True)
    """

    __slots__ = ("_extra", "_index")

    variant: Literal["base", "base-adj", "auto", "auto-adj"] = choice(
        default="auto-adj",
        doc='"auto-adj": each ball has its own radius R m^(-1 / (2 + d)) after m mistakes, and the centre is the '
        'mean of its first row and of those it predicted right; "auto": centres stay. "base": one radius R '
        "t^(-1 / (2 + d')) for all, d' the dimension estimated from the number of balls, two classes, with a "
        "guarantee: the expected mistakes of a prediction drawn by ``predict_proba`` are at most O(t^((1 + d) "
        '/ (2 + d))) more than those of the best smooth rule; "base-adj": the same radius, any classes, moving '
        "centres, no guarantee.",
    )
    max_balls: int | None = whole(
        default=None, doc="The most balls there may be (at least 2); None: no limit.", least=2, most=1_000_000_000
    )
    discard: Literal["rate", "count", "uniform", "oldest", "least-recent"] = choice(
        default="rate",
        doc='Which ball goes for a new one: by chance, in proportion to its "rate" of mistakes (m + 1) / (n + 2), '
        'to their "count" m + 1, or "uniform"; the "oldest"; the one that counted no row for the longest time, '
        '"least-recent".',
    )
    metric: MetricName | Metric = free(
        default="euclidean",
        doc='"euclidean", "manhattan", "chebyshev", "cosine" (1 - cosine), "angular" (the angle), "hamming" (how many '
        'features differ; no moving centres), "mahalanobis" (with the covariance of the rows so far), or a function of '
        "two rows that is a metric. Such a function is called from Python for each ball, which is slow; a learner with "
        "it can be copied, and its ``state`` kept, but not saved to a file: a file cannot hold code.",
        check=_metric,
    )
    scale: Literal["online", "minmax"] | None = again(
        default="online",
        doc='"online": rows are standardised with mean and deviation of the rows so far, and kept within ± 10; '
        '"minmax": to the range so far; None: not at all. Centres stay in the scale in which they came. Not for '
        '"hamming".',
    )
    start: Literal["samples", "labels"] = choice(
        default="samples",
        doc='"samples": the first radius is the distance of the first two rows that differ, and the first row of a '
        "class that nobody knew opens a ball wherever it lies, so that the class is known there at once "
        '("auto", "auto-adj"); "labels", as published: of the first two rows that differ in their labels too; '
        "a new class begins like any row.",
    )
    dimension: float = number(
        default=2.0, doc='d of "auto" and "auto-adj"; less means more balls.', least=0.0, most=1e6
    )
    diameter: float | None = number(
        default=None,
        doc='R of "base" and "base-adj", an upper bound of all distances; None: twice the greatest distance from '
        "the first row, of the first 100.",
        above=0.0,
        most=1e100,
    )
    covering: float = number(default=1.0, doc='C0 of "base" and "base-adj".', above=0.0, most=1e100)
    seed: int = again(default=1, doc="Random seed for discarding balls.")

    def _prepare(self) -> None:
        if self.metric == "hamming" and self.variant.endswith("adj"):
            raise ValueError(
                f"variant must be 'auto' or 'base' for metric 'hamming', which has no means, got {self.variant!r}"
            )
        if self.diameter is None and callable(self.metric) and self._is_base:
            raise ValueError(f"diameter must be given for variant {self.variant!r} with a metric of your own, got None")

    @property
    def _is_base(self) -> bool:
        return self.variant.startswith("base")

    @property
    def _waits(self) -> int:
        """Give how many rows wait for the diameter."""
        return o.BUFFER if self._is_base and self.diameter is None else 0

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def n_outside(self) -> int:
        """Rows that lay farther than the diameter from the nearest ball; it was then doubled ("base", "base-adj")."""
        return int(self._cover.head[b.H_OUTSIDE]) if self._started else 0

    @property
    def phase(self) -> tuple[int, int]:
        """The phase, from 1, and the estimate of the dimension in it ("base", "base-adj")."""
        if not self._started:
            return 1, 1
        return int(self._cover.gauge[o.G_PHASE]), int(self._cover.gauge[o.G_DIMENSION])

    def _places(self) -> tuple[Ints, Floats, Floats]:
        n, index, gauge = self.n_balls, self._index.tables, self._cover.gauge
        if self._is_base:
            shared = gauge[o.G_DIAMETER] * max(1.0, gauge[o.G_T]) ** (-1.0 / (2.0 + gauge[o.G_DIMENSION]))
            return index.ids[:n], index.points[:n], np.full(n, shared)
        return index.ids[:n], index.points[:n], self._cover.balls[:n, b.B_RADIUS]

    def _look(self, X: Any) -> tuple[Ints, Ints, Floats]:
        X, _ = door.rows(X, self._schema, missing=False, learning=False)
        nearest, rho = np.zeros(len(X), dtype=np.int64), np.zeros(len(X))
        if not self.n_balls:
            return nearest, nearest, np.full(len(X), np.inf)
        placed = self._place(X, nearest, rho)
        if callable(self.metric):
            for r, x in enumerate(placed):
                nearest[r], rho[r] = self._nearest_own(x)
        return nearest, self._counts().argmax(axis=1)[nearest], self._beyond(rho, self._places()[2][nearest])

    # -- two classes only, and all or nothing -------------------------------------------------------------------------

    def declare(self, schema: Schema) -> Self:
        """Fix the features, and the classes where the schema has them, before the first row."""
        if self.variant == "base" and isinstance(schema, Schema) and len(schema.classes or ()) > 2:
            raise ValueError(f"{_TWO}, got the classes {shown(schema.classes)}")
        return super().declare(schema)

    def learn_one(self, x: Any, y: Hashable, weight: float = 1.0) -> Self:
        """Learn one record: a dict by feature name, or a row."""
        if self.variant == "base":
            self._refuse_third([y])
        with self._undoing():
            return super().learn_one(x, y, weight)

    def _carry_out(self, X: Any, y: Any, *args: Any, **kwargs: Any) -> Floats:
        if self.variant == "base" and y is not None:
            self._refuse_third(sequence(y))
        with self._undoing():
            return super()._carry_out(X, y, *args, **kwargs)

    def _refuse_third(self, y: Any) -> None:
        names = [*self._labels.values, *self._labels.read(y)[1]]
        if len(names) > 2:
            raise ValueError(f"{_TWO}, got a third: {shown(names[2])}")

    def _undoing(self) -> AbstractContextManager[None]:
        return self._undo() if callable(self.metric) else _UNCHANGED

    @contextmanager
    def _undo(self) -> Iterator[None]:
        """Put the learner back as it was where its own metric fails in the middle of a chunk."""
        _, labels, schema, tables = self.copy().__getstate__()
        try:
            yield
        except BaseException:
            self._settle(labels, schema, tables)
            raise

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._take(self._fresh(schema), schema)

    def _fresh(self, schema: Schema) -> State:
        d = schema.n_features
        if self.metric in ("cosine", "angular", "mahalanobis"):
            for feature in schema.features:
                if feature.nominal:
                    raise ValueError(f"metric {self.metric!r} takes numbers only, but {feature.name!r} is nominal")
        n = _ROOM + o.BUFFER if self._is_base else min(_ROOM, self.max_balls or _ROOM)
        head, gauge = np.zeros(b.H_COLUMNS, dtype=np.int64), np.zeros(o.G_COLUMNS)
        head[b.H_FREE] = -1
        gauge[o.G_DIAMETER], gauge[o.G_DIMENSION], gauge[o.G_PHASE] = self.diameter or 0.0, 1.0, 1.0
        wide = d if self.metric == "mahalanobis" else 0
        return {
            "points": np.zeros((n, d)), "ids": np.zeros(n, dtype=np.int64), "balls": np.zeros((n, b.B_COLUMNS)),
            "marks": np.zeros((n, b.M_COLUMNS), dtype=np.int64), "entries": np.zeros((n, 2), dtype=np.int64),
            "voices": np.zeros(n), "head": head, "gauge": gauge, "spans": new_spans(d),
            "waiting": np.zeros((self._waits, d + 2)),
            "middle": np.zeros(wide + 1), "root": np.eye(wide), "seeds": seeded(self.seed),
        }  # fmt: skip

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        room = self._room(known)
        if callable(self.metric):
            self._play_own(room, X, y, w, events, out)
        else:
            self._run(room, X, y, w, events, out)

    def _extend(self, schema: Schema) -> None:
        tables, d = self._tables(), self._index.tables.points.shape[1]
        more = schema.n_features - d
        if not more:  # values of nominal features only
            return
        spans, waiting = new_spans(d + more), tables["waiting"]
        spans[:, :d] = tables["spans"]
        tables |= {
            "points": np.c_[tables["points"], np.zeros((len(tables["points"]), more))], "spans": spans,
            "waiting": np.c_[waiting[:, :d], np.zeros((len(waiting), more)), waiting[:, d:]],
        }  # fmt: skip
        if self.metric == "mahalanobis":
            root, middle = np.eye(d + more), tables["middle"]
            root[:d, :d] = tables["root"]
            tables |= {"root": root, "middle": np.r_[middle[:d], np.zeros(more), middle[d:]]}
        self._take(tables, schema)

    def _tables(self) -> State:
        index, cover, extra = self._index.tables, self._cover, self._extra
        return {
            "points": index.points, "ids": index.ids, **{name: getattr(cover, name) for name in _COVER},
            **{name: getattr(extra, name) for name in _EXTRA}, "seeds": cover.seeds,
        }  # fmt: skip

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        d, rows = schema.n_features, o.BUFFER if self._is_base else 1
        check(
            (b.Cover, Index, o.Extra), tables, least={"N": rows, "P": rows}, d=d, classes=classes,
            measures=o.G_COLUMNS, most_balls=self.max_balls or len(tables["balls"]), W=self._waits,
            m=d if self.metric == "mahalanobis" else 0,
        )  # fmt: skip
        if self._is_base and not self._waits and not tables["gauge"][o.G_DIAMETER] > 0.0:
            raise ValueError("its table 'gauge' must hold a diameter above 0")
        self._take(tables, schema)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _take(self, tables: State, schema: Schema) -> None:
        metric = o.OWN if callable(self.metric) else METRICS[self.metric]
        rules, numbers = np.zeros(b.R_COLUMNS, dtype=np.int64), np.zeros(b.P_COLUMNS)
        rules[b.R_VARIANT], rules[b.R_MAX_BALLS] = VARIANTS[self.variant], self.max_balls or 0
        rules[b.R_DISCARD], rules[b.R_METRIC], rules[b.R_SCALE] = DISCARDS[self.discard], metric, SCALES[self.scale]
        rules[b.R_TWO_LABELS] = self.start == "labels"
        numbers[b.P_SHRINKING], numbers[b.P_COVERING] = -1.0 / (2.0 + self.dimension), self.covering
        n = 0 if metric == o.OWN else int(tables["head"][b.H_BALLS])
        differences = _DIFFERENCES.get(metric, D_SQUARES)
        self._index = BallIndex(tables["points"], tables["ids"], schema.nominal, differences, n=n)
        self._extra = o.Extra(**{name: tables[name] for name in _EXTRA})
        own = {name: tables[name] for name in _COVER}
        self._hold(b.Cover(**own, seeds=tables["seeds"], rules=rules, numbers=numbers))

    def _room(self, known: int) -> Room:
        """Make room for one row: see Query in ball_index_jit.py, and Scratch in ball_cover_jit.py."""
        room = self._index.room(1, 2 * self._index.tables.points.shape[1] + 1, b.W_COLUMNS)
        notes = room[2][-b.W_COLUMNS :]
        notes[b.W_KNOWN], notes[b.W_ROW] = known, -1
        return room

    def _run(self, room: Room, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats) -> None:
        e, notes = 0, room[2][-b.W_COLUMNS :]
        while True:
            index, cover, extra = plain(self._index.tables), plain(self._cover), plain(self._extra)
            e = o.play(index, cover, extra, room, X, y, w, events, out, e)
            why = int(notes[b.W_WHY])
            if why == b.DONE:
                return
            if why == o.REPLAY:
                o.replay(index, cover, extra, room)
            elif why == o.CARE:
                self._index.care()
            else:
                self._grow(why)

    def _grow(self, what: int) -> None:
        """Make room for twice as many balls, as far as there may be, or counts."""
        cover, index = self._cover, self._index.tables
        if what == b.NO_ENTRIES:
            n = 2 * len(cover.entries)
            self._hold(cover._replace(entries=longer(cover.entries, n), voices=longer(cover.voices, n)))
            return
        n = 2 * len(cover.balls)
        if self.max_balls is not None and not self._is_base:
            n = min(n, self.max_balls)
        self._hold(cover._replace(balls=longer(cover.balls, n), marks=longer(cover.marks, n)))
        self._index.follow(longer(index.points, n), longer(index.ids, n))

    def _place(self, X: Floats, nearest: Ints, rho: Floats) -> Floats:
        placed = np.zeros(X.shape)
        index, cover, extra = plain(self._index.tables), plain(self._cover), plain(self._extra)
        o.look(index, cover, extra, self._room(0), X, placed, nearest, rho)
        return placed

    # -- a metric of one's own ----------------------------------------------------------------------------------------

    def _play_own(self, room: Room, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats) -> None:
        """Play event by event: the metric is asked here, the rest is done in compiled code."""
        floats, _, whole = room
        notes = whole[-b.W_COLUMNS :]
        for e in range(len(events)):
            r = max(events[e], ~events[e])
            if self.n_balls and notes[b.W_ROW] != r:
                [x] = self._place(X[r : r + 1], np.zeros(1, dtype=np.int64), np.zeros(1))
                notes[b.W_NEAREST], floats[-1] = self._nearest_own(x)
            self._run(room, X, y, w, events[e : e + 1], out)

    def _nearest_own(self, x: Floats) -> tuple[int, float]:
        assert callable(self.metric)
        best, least, points, ids = 0, np.inf, self._index.tables.points, self._index.tables.ids
        for s in range(self.n_balls):
            given = self.metric(x, points[s])
            try:
                rho = float(given)
            except (TypeError, ValueError):
                rho = np.nan
            if not 0.0 <= rho < np.inf:
                raise ValueError(
                    f"metric must give a finite number ≥ 0, got {shown(given)} for {shown(x.tolist())} and "
                    f"{shown(points[s].tolist())}"
                )
            if rho < least or (rho == least and ids[s] < ids[best]):
                best, least = s, rho
        return best, least
