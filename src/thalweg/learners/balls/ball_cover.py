"""Balls that appear where the stream is hard and shrink where they err: ABACOC."""

from collections.abc import Callable, Hashable
from typing import Any, Literal, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import door, params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.labels import sequence
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.random import seeded
from thalweg.learners.balls import ball_cover_jit as o
from thalweg.learners.balls import ball_index_jit as index_jit
from thalweg.learners.balls.ball_index import BallIndex

Metric = Callable[[Floats, Floats], float]
VARIANTS = {"base": o.BASE, "base-adj": o.BASE_ADJ, "auto": o.AUTO, "auto-adj": o.AUTO_ADJ}
DISCARDS = {
    "rate": o.BY_RATE, "count": o.BY_COUNT, "uniform": o.UNIFORM, "oldest": o.OLDEST, "least-recent": o.LEAST_RECENT,
}  # fmt: skip
METRICS = {
    "euclidean": o.EUCLIDEAN, "manhattan": o.MANHATTAN, "chebyshev": o.CHEBYSHEV, "hamming": o.HAMMING,
    "cosine": o.COSINE, "angular": o.ANGULAR, "mahalanobis": o.MAHALANOBIS,
}  # fmt: skip
SCALES = {None: o.UNSCALED, "online": o.ONLINE, "minmax": o.MINMAX}
_COMPARED = {
    o.MANHATTAN: index_jit.ABSOLUTE, o.CHEBYSHEV: index_jit.GREATEST, o.HAMMING: index_jit.UNEQUAL,
}  # fmt: skip
"""How the index puts differences together; the others by squares."""
_TABLES = (
    "balls", "marks", "entries", "voices", "head", "gauge", "spans", "waiting", "middle", "root", "seeds",
)  # fmt: skip
_ROOM = 64  # balls, and counts, that there is room for at first


class Ball(NamedTuple):
    """A ball of the cover."""

    id: int
    """Balls are numbered in the order in which they were opened."""
    centre: Floats
    """In the scale of the rows at the time they came."""
    radius: float
    counts: dict[Hashable, float]
    """The weight of the rows of each class in it."""
    mistakes: float
    """The weight of the rows in it that it predicted wrongly."""


@final
class BallCover(Classifier):
    """Cover the data with balls; ask the nearest. Nothing to tune, any metric, classes that appear, bounded on demand.

    A row inside the ball whose centre is nearest is counted there; one outside opens a ball of its own, whose radius is
    that distance. The class counted most in a ball is its prediction. Where it errs it shrinks, and makes room.

    variant: "auto-adj": each ball has its own radius R m^(-1 / (2 + d)) after m mistakes, and the centre is the mean of
    its first row and of those it predicted right; "auto": centres stay. "base": one radius R t^(-1 / (2 + d')) for all,
    d' the dimension estimated from the number of balls, two classes, with a guarantee: the expected mistakes of a
    prediction drawn by ``predict_proba`` are at most O(t^((1 + d) / (2 + d))) more than those of the best smooth rule;
    "base-adj": the same radius, any classes, moving centres, no guarantee.
    max_balls: the most balls there may be (at least 2); None: no limit. discard: which one goes for a new one: by
    chance, in proportion to its "rate" of mistakes (m + 1) / (n + 2), to their "count" m + 1, or "uniform"; the
    "oldest"; the one that counted no row for the longest time, "least-recent".
    metric: "euclidean", "manhattan", "chebyshev", "cosine" (1 - cosine), "angular" (the angle), "hamming" (how many
    features differ; no moving centres), "mahalanobis" (with the covariance of the rows so far), or a function of two
    rows that is a metric. Such a function is called from Python for each ball, which is slow; a learner with it can be
    copied, and its ``state`` kept, but not saved to a file: a file cannot hold code.
    scale: "online": rows are standardised with mean and deviation of the rows so far, and kept within ± 10; "minmax":
    to the range so far; None: not at all. Centres stay in the scale in which they came. Not for "hamming".
    start: "samples": the first radius is the distance of the first two rows that differ, and the first row of a class
    that nobody knew opens a ball wherever it lies, so that the class is known there at once ("auto", "auto-adj");
    "labels", as published: of the first two rows that differ in their labels too; a new class begins like any row.
    dimension: d of "auto" and "auto-adj"; less means more balls. diameter: R of "base" and "base-adj", an upper bound
    of all distances; None: twice the greatest distance from the first row, of the first 100. covering: C0 of both.
    seed: of the balls discarded by chance.

    ``predict_proba`` is Laplace's share of each class in the nearest ball, drawn towards "all alike" outside it: useful
    to choose what to ask a label for. Nominal values differ by 1 or not at all, and those of a centre do not move.
    Missing values are refused. A row of weight w counts as w rows.

    Reference: R. De Rosa, F. Orabona, N. Cesa-Bianchi, "The ABACOC algorithm: a novel approach for nonparametric
    classification of data streams", ICDM 2015. As there: variants, radii, moves, discards by rate; start by samples,
    online scale, probabilities and the rules for ties are ours.

    >>> from thalweg import SEA
    >>> chunk = SEA(seed=1).read(5_000)
    >>> learner = BallCover(max_balls=200)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.78), learner.n_balls <= 200
    (True, True)
    """

    __slots__ = ("_cover", "_ids", "_index", "_numbers", "_points", "_rules")

    def __init__(
        self,
        *,
        variant: Literal["base", "base-adj", "auto", "auto-adj"] = "auto-adj",
        max_balls: int | None = None,
        discard: Literal["rate", "count", "uniform", "oldest", "least-recent"] = "rate",
        metric: Literal["euclidean", "manhattan", "chebyshev", "hamming", "cosine", "angular", "mahalanobis"]
        | Metric = "euclidean",
        scale: Literal["online", "minmax"] | None = "online",
        start: Literal["samples", "labels"] = "samples",
        dimension: float = 2.0,
        diameter: float | None = None,
        covering: float = 1.0,
        seed: int = 1,
    ) -> None:
        params.choice("variant", variant, tuple(VARIANTS))
        if max_balls is not None:
            params.whole("max_balls", max_balls, least=2, most=1_000_000_000)
        params.choice("discard", discard, tuple(DISCARDS))
        if not (isinstance(metric, str) and metric in METRICS) and (isinstance(metric, type) or not callable(metric)):
            raise ValueError(
                f"metric must be one of {', '.join(map(repr, METRICS))}, or a function of two rows, got {shown(metric)}"
            )
        if metric == "hamming" and variant.endswith("adj"):
            raise ValueError(
                f"variant must be 'auto' or 'base' for metric 'hamming', which has no means, got {variant!r}"
            )
        params.choice("scale", scale, ("online", "minmax", None))
        params.choice("start", start, ("samples", "labels"))
        params.number("dimension", dimension, least=0.0, most=1e6)
        if diameter is not None:
            params.number("diameter", diameter, above=0.0, most=1e100)
        elif callable(metric) and variant.startswith("base"):
            raise ValueError(f"diameter must be given for variant {variant!r} with a metric of your own, got None")
        params.number("covering", covering, above=0.0, most=1e100)
        params.whole("seed", seed, least=0)
        self.variant = variant
        self.max_balls = max_balls
        self.discard = discard
        self.metric = metric
        self.scale = scale
        self.start = start
        self.dimension = dimension
        self.diameter = diameter
        self.covering = covering
        self.seed = seed

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def n_balls(self) -> int:
        """Balls there are."""
        return int(self._cover["head"][o.BALLS]) if self._started else 0

    @property
    def n_outside(self) -> int:
        """Rows that lay farther than the diameter from the nearest ball; it was then doubled ("base", "base-adj")."""
        return int(self._cover["head"][o.OUTSIDE]) if self._started else 0

    @property
    def phase(self) -> tuple[int, int]:
        """The phase, from 1, and the estimate of the dimension in it ("base", "base-adj")."""
        gauge = self._cover["gauge"] if self._started else [0.0, 0.0, 1.0, 1.0]
        return int(gauge[o.PHASE]), int(gauge[o.DIMENSION])

    @property
    def balls(self) -> list[Ball]:
        """The balls, in the order of their places; a discarded one's place is taken by the next.

        >>> learner = BallCover(scale=None).partial_fit([[1.0], [4.0], [4.5]], ["a", "b", "b"])
        >>> [(b.id, b.centre.tolist(), b.radius, b.counts) for b in learner.balls]
        [(0, [1.0], 3.0, {'a': 1.0}), (1, [4.25], 3.0, {'b': 2.0})]
        """
        names = dict(enumerate(self._labels.values))
        counts, radii = self._counts(), self._radii()
        return [
            Ball(
                int(self._ids[s]), self._points[s].copy(), float(radii[s]),
                {names[c]: float(counts[s, c]) for c in np.flatnonzero(counts[s]).tolist()},
                float(self._cover["balls"][s, o.MISTAKES]),
            )
            for s in range(self.n_balls)
        ]  # fmt: skip

    def novelty(self, X: Any) -> Floats:
        """Say how far outside the cover rows fall, in radii of the nearest ball: 0 inside; infinite without a cover.

        >>> learner = BallCover(scale=None).partial_fit([[1.0], [3.0], [3.5]], ["a", "b", "b"])
        >>> learner.novelty([[2.5], [5.5], [9.25]])
        array([0.   , 0.125, 2.   ])
        """
        nearest, rho = self._look(X)
        if not self.n_balls or self._cover["head"][o.PENDING]:
            return np.full(len(rho), np.inf)
        return beyond(rho, self._radii()[nearest])

    def confidence(self, X: Any, delta: float = 0.05) -> Floats:
        """Say how sure the prediction of each row is, from 0 to 1.

        It is the margin between the two most probable classes in the nearest ball, less what chance may account for
        with probability delta, and less outside the ball.
        """
        params.number("delta", delta, above=0.0, below=1.0)
        nearest, _ = self._look(X)
        if not self.n_balls:
            return np.zeros(len(nearest))
        counts = self._counts()
        return sureness(counts, counts.argmax(axis=1), delta)[nearest] * trust(self.novelty(X))

    # -- two classes only ---------------------------------------------------------------------------------------------

    def declare(self, schema: Schema) -> Self:
        """Fix the features, and the classes where the schema has them, before the first row."""
        if self.variant == "base" and isinstance(schema, Schema) and len(schema.classes or ()) > 2:
            raise ValueError(f"{_TWO}, got the classes {shown(schema.classes)}")
        return super().declare(schema)

    def learn_one(self, x: Any, y: Hashable, weight: float = 1.0) -> Self:
        """Learn one record: a dict by feature name, or a row."""
        if self.variant == "base":
            self._refuse_third([y])
        with _Undo(self):
            return super().learn_one(x, y, weight)

    def _carry_out(self, X: Any, y: Any, *args: Any, **kwargs: Any) -> Floats:
        if self.variant == "base" and y is not None:
            self._refuse_third(sequence(y))
        with _Undo(self):
            return super()._carry_out(X, y, *args, **kwargs)

    def _refuse_third(self, y: Any) -> None:
        names = [*self._labels.values, *self._labels.read(y)[1]]
        if len(names) > 2:
            raise ValueError(f"{_TWO}, got a third: {shown(names[2])}")

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        d = schema.n_features
        base, mahalanobis = self.variant.startswith("base"), self.metric == "mahalanobis"
        if self.metric in ("cosine", "angular", "mahalanobis"):
            for feature in schema.features:
                if feature.nominal:
                    raise ValueError(f"metric {self.metric!r} takes numbers only, but {feature.name!r} is nominal")
        n = min(_ROOM, self.max_balls or _ROOM) if not base else _ROOM + o.BUFFER
        head, gauge, spans = np.zeros(o.HEAD, dtype=np.int64), np.zeros(o.GAUGE), np.zeros((o.SPANS, d))
        head[o.FREE] = -1
        gauge[o.DIAMETER], gauge[o.DIMENSION], gauge[o.PHASE] = self.diameter or 0.0, 1.0, 1.0
        spans[o.LEAST], spans[o.GREATEST] = np.inf, -np.inf
        wide = d if mahalanobis else 0
        tables = {
            "points": np.zeros((n, d)), "ids": np.zeros(n, dtype=np.int64), "balls": np.zeros((n, o.BALL)),
            "marks": np.zeros((n, o.MARK), dtype=np.int64), "entries": np.zeros((n, 2), dtype=np.int64),
            "voices": np.zeros(n), "head": head, "gauge": gauge, "spans": spans,
            "waiting": np.zeros((o.BUFFER if base and self.diameter is None else 0, d + 2)),
            "middle": np.zeros(wide + 1), "root": np.eye(wide), "seeds": seeded(self.seed),
        }  # fmt: skip
        self._take(tables, schema)

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        lens, desk = self._index.lens(), self._desk(known)
        if callable(self.metric):
            self._play_own(lens, desk, X, y, w, events, out)
        else:
            self._run(lens, desk, X, y, w, events, out)

    def _extend(self, schema: Schema) -> None:
        tables, d = self._tables(), self._points.shape[1]
        more = schema.n_features - d
        if not more:  # values of nominal features only
            return
        spans, waiting = np.zeros((o.SPANS, d + more)), tables["waiting"]
        spans[o.LEAST], spans[o.GREATEST] = np.inf, -np.inf
        spans[:, :d] = tables["spans"]
        tables |= {
            "points": np.c_[self._points, np.zeros((len(self._points), more))], "spans": spans,
            "waiting": np.c_[waiting[:, :d], np.zeros((len(waiting), more)), waiting[:, d:]],
        }  # fmt: skip
        if self.metric == "mahalanobis":
            root, middle = np.eye(d + more), tables["middle"]
            root[:d, :d] = tables["root"]
            tables |= {"root": root, "middle": np.r_[middle[:d], np.zeros(more), middle[d:]]}
        self._take(tables, schema)

    def _tables(self) -> State:
        return {"points": self._points, "ids": self._ids, **self._cover}

    def _adopt(self, tables: State, schema: Schema) -> None:
        wanted = {name: tables[name] for name in ("points", "ids", *_TABLES)}
        self._check(wanted, schema)
        self._take(wanted, schema)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _take(self, tables: State, schema: Schema) -> None:
        metric = o.OWN if callable(self.metric) else METRICS[self.metric]
        rules, numbers = np.zeros(o.RULES, dtype=np.int64), np.zeros(2)
        rules[o.VARIANT], rules[o.MAX_BALLS] = VARIANTS[self.variant], self.max_balls or 0
        rules[o.DISCARD], rules[o.METRIC], rules[o.SCALE] = DISCARDS[self.discard], metric, SCALES[self.scale]
        rules[o.TWO_LABELS] = self.start == "labels"
        numbers[o.SHRINKING], numbers[o.COVERING] = -1.0 / (2.0 + self.dimension), self.covering
        nominal = np.array([f.nominal for f in schema.features], dtype=np.int64)
        n = 0 if metric == o.OWN else int(tables["head"][o.BALLS])
        points, ids = tables["points"], tables["ids"]
        self._index = BallIndex(points, ids, nominal, _COMPARED.get(metric, index_jit.SQUARES), n=n)
        self._points, self._ids, self._rules, self._numbers = points, ids, rules, numbers
        self._cover = {name: tables[name] for name in _TABLES}

    def _desk(self, known: int) -> tuple[NDArray[Any], ...]:
        """Make room for one row: see Desk in ball_cover_jit.py; and for what a metric of one's own says."""
        d = self._points.shape[1]
        return np.zeros(d), np.zeros(d), np.array([known, -1, 0, -1], dtype=np.int64), np.zeros(1), np.zeros(2)

    def _run(
        self, lens: tuple[NDArray[Any], ...], desk: tuple[NDArray[Any], ...], X: Floats, y: Ints, w: Floats,
        events: Ints, out: Floats,
    ) -> None:  # fmt: skip
        e, routine = 0, _play
        while True:
            e = routine(*self._index.tables, *lens, *self._cover.values(), self._rules, self._numbers, *desk,
                        X, y, w, events, out, e)  # fmt: skip
            why = int(desk[2][o.WHY])
            if why == o.DONE:
                return
            if why == o.REPLAY:
                _replay(*self._index.tables, *lens, *self._cover.values(), self._rules, self._numbers, *desk)
            else:
                self._provide(why)

    def _provide(self, what: int) -> None:
        """Give compiled code what it stopped for."""
        if what == o.CARE:
            self._index.care()
            return
        for name in ("balls", "marks") if what == o.NO_ROOM else ("entries", "voices"):
            self._cover[name] = self._longer(self._cover[name], what == o.NO_ROOM)
        if what == o.NO_ROOM:
            self._points, self._ids = self._longer(self._points, True), self._longer(self._ids, True)
            self._index.follow(self._points, self._ids)

    def _longer(self, table: NDArray[Any], balls: bool) -> NDArray[Any]:
        n = 2 * len(table)
        if balls and self.max_balls is not None and not self.variant.startswith("base"):
            n = min(n, self.max_balls)
        longer = np.zeros((n, *table.shape[1:]), dtype=table.dtype)
        longer[: len(table)] = table
        return longer

    def _radii(self) -> Floats:
        cover, n = self._cover, self.n_balls
        if self.variant.startswith("auto"):
            return np.asarray(cover["balls"][:n, o.RADIUS].copy())
        gauge = cover["gauge"]
        return np.full(n, gauge[o.DIAMETER] * max(1.0, gauge[o.T]) ** (-1.0 / (2.0 + gauge[o.DIMENSION])))

    def _counts(self) -> Floats:
        """The weight of each class in each ball."""
        return counts_of(self._cover, self.n_balls, len(self._labels)) if self._started else np.zeros((0, 0))

    def _look(self, X: Any) -> tuple[Ints, Floats]:
        """Find the nearest ball of each row, and how far it is."""
        X, _ = door.rows(X, self._schema, missing=False, learning=False)
        nearest, rho = np.zeros(len(X), dtype=np.int64), np.zeros(len(X))
        if self.n_balls:
            placed = self._place(X, nearest, rho)
            if callable(self.metric):
                for r, x in enumerate(placed):
                    nearest[r], rho[r] = self._nearest_own(x)
        return nearest, rho

    def _place(self, X: Floats, nearest: Ints, rho: Floats) -> Floats:
        placed, routine = np.zeros(X.shape), _look
        routine(*self._index.tables, *self._index.lens(), *self._cover.values(), self._rules, self._numbers,
                *self._desk(0), X, placed, nearest, rho)  # fmt: skip
        return placed

    # -- a metric of one's own ----------------------------------------------------------------------------------------

    def _play_own(
        self, lens: tuple[NDArray[Any], ...], desk: tuple[NDArray[Any], ...], X: Floats, y: Ints, w: Floats,
        events: Ints, out: Floats,
    ) -> None:  # fmt: skip
        """Play event by event: the metric is asked here, the rest is done in compiled code."""
        notes, given = desk[2], desk[4]
        for e in range(len(events)):
            r = max(events[e], ~events[e])
            if self.n_balls and notes[o.ROW] != r:
                given[:] = self._nearest_own(self._place(X[r : r + 1], notes[:1].copy(), np.zeros(1))[0])
            self._run(lens, desk, X, y, w, events[e : e + 1], out)

    def _nearest_own(self, x: Floats) -> tuple[int, float]:
        assert callable(self.metric)
        best, least = 0, np.inf
        for s in range(self.n_balls):
            said = self.metric(x, self._points[s])
            try:
                rho = float(said)
            except (TypeError, ValueError):
                rho = np.nan
            if not 0.0 <= rho < np.inf:
                raise ValueError(
                    f"metric must give a finite number ≥ 0, got {shown(said)} for {shown(x.tolist())} and "
                    f"{shown(self._points[s].tolist())}"
                )
            if rho < least or (rho == least and self._ids[s] < self._ids[best]):
                best, least = s, rho
        return best, least

    # -- tables from elsewhere ----------------------------------------------------------------------------------------

    def _check(self, tables: State, schema: Schema) -> None:
        """Refuse tables that no cover with these parameters could have."""
        fresh = BallCover(**self.get_params(deep=False))
        fresh._start(schema)
        for name, like in fresh._tables().items():
            given, rows = tables[name], name in ("points", "ids", "balls", "marks", "entries", "voices")
            shape = (len(given), *like.shape[1:]) if rows and given.ndim == like.ndim else like.shape
            if given.dtype != like.dtype or given.shape != shape or not given.flags.c_contiguous:
                raise ValueError(f"its table {name!r} has another type or shape")
        head, n, used = tables["head"], int(tables["head"][o.BALLS]), int(tables["head"][o.ENTRIES])
        lengths = {len(tables[name]) for name in ("points", "ids", "balls", "marks")}
        fits = len(lengths) == 1 and len(tables["entries"]) == len(tables["voices"]) and 0 <= n <= min(lengths)
        if not (fits and 0 <= used <= len(tables["entries"]) and 0 <= head[o.WAITING] <= o.BUFFER):
            raise ValueError("its table 'head' holds what no cover could")
        if self.max_balls is not None and n > max(self.max_balls, 0):
            raise ValueError(f"it has {n} balls, more than max_balls = {self.max_balls}")
        links = np.r_[tables["marks"][:n, o.FIRST], tables["entries"][:used, o.NEXT], head[o.FREE]]
        links = links[links != -1]
        if len(np.unique(links)) != len(links) or ((links < 0) | (links >= used)).any():
            raise ValueError("its table 'entries' holds what no cover could")
        if (tables["entries"][:used, o.CLASS] < 0).any() or (tables["marks"][:n, o.BEST] < 0).any():
            raise ValueError("its table 'entries' holds what no cover could")
        for name in ("points", "balls", "voices", "gauge", "waiting", "middle", "root"):
            if not np.isfinite(tables[name]).all():
                raise ValueError(f"its table {name!r} holds what no cover could")


def counts_of(cover: State, n: int, classes: int) -> Floats:
    """Give the weight of each class in each of n balls."""
    counts = np.zeros((n, classes))
    for s in range(n):
        i = cover["marks"][s, o.FIRST]
        while i >= 0:
            counts[s, cover["entries"][i, o.CLASS]] = cover["voices"][i]
            i = cover["entries"][i, o.NEXT]
    return counts


def beyond(rho: Floats, radii: Floats) -> Floats:
    """Say how far outside their balls rows lie, in radii."""
    return np.asarray(np.maximum(rho - radii, 0.0) / radii)


def trust(outside: Floats) -> Floats:
    """Say how much an answer counts so far outside of a ball; without a cover it is as good as inside."""
    return np.asarray(np.exp(-0.5 * np.where(np.isfinite(outside), outside, 0.0) ** 2))


def sureness(counts: Floats, said: Ints, delta: float) -> Floats:
    """Give the margin of the class said over the next in the counts of a ball, less what chance may account for."""
    n, each = counts.sum(axis=1), np.arange(len(counts))
    others = np.c_[counts, np.zeros(len(counts))]
    others[each, said] = 0.0
    margin = (counts[each, said] - others.max(axis=1)) / (n + max(2, counts.shape[1]))
    return np.asarray(np.maximum(margin - np.sqrt(np.log(2.0 / delta) / (2.0 * n)), 0.0))


_TWO = "y must hold at most two classes for variant 'base' (there is 'base-adj')"
_play: Any = o.play
_look: Any = o.look
_replay: Any = o.replay


class _Undo:
    """Puts a learner back as it was when its own metric fails in the middle of a chunk; else does nothing."""

    __slots__ = ("_before", "_learner")

    def __init__(self, learner: BallCover) -> None:
        own = callable(learner.metric)
        self._learner, self._before = learner, learner.copy().__getstate__() if own else None

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        if kind is not None and self._before is not None:
            _, labels, schema, tables = self._before
            self._learner._settle(labels, schema, tables)
