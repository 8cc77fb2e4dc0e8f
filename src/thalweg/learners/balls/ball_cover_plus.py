"""A cover of balls asked in three ways, in a space stretched along what tells the classes apart."""

from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.random import seeded
from thalweg.learners.balls import ball_cover_jit as balls_jit
from thalweg.learners.balls import ball_cover_plus_jit as o
from thalweg.learners.balls.ball_cover import SCALES, Ball, beyond, counts_of, sureness, trust
from thalweg.learners.balls.ball_index_jit import LANES

ASKED = ("vote", "signs", "last", "recent")
_TABLES = (
    "tiles", "balls", "marks", "entries", "voices", "signs", "head", "gauge", "spans", "sums", "powers", "recent",
    "codes", "seeds",
)  # fmt: skip
_PER_BALL = ("balls", "marks")
_PER_COUNT = ("entries", "voices", "signs")
_WIDE = ("tiles", "spans", "powers", "recent")  # a column for each feature

_play: Any = o.play


@final
class BallCoverPlus(Classifier):
    """Cover the data with a bounded number of balls and ask them in three ways. Nothing to tune; classes may appear.

    The balls are those of ``BallCover`` ("auto-adj"). Three say what the class of a row is, and the one that erred
    least of late answers: the five nearest balls by a vote, each by its shares of the classes over its squared
    distance; all balls by signs, which say for or against classes with a Gaussian of the distance and change when their
    sum errs (a perceptron; the width is the mean squared distance from rows to balls); the last label in the nearest.
    Features are stretched by their relevance: the share of their variance that lies between the classes so far, beside
    that of the other features. A third of each weight is the same for all, so that none is ever lost.

    max_balls: the most balls there may be (at least 2). For a new one, the least worth of four drawn by chance goes:
    that with few rows per mistake and small signs that counted no row for long. The time for a row grows with it.
    open_on_mistake: where the answer and the ball of a row are wrong, open a ball there too, as long as such balls are
    right more often than those they came from (a sign test). For streams whose labels are clean where rows are close.
    recent: half of max_balls are not balls but the last rows, and the nearest of these is a fourth to be asked. For
    streams in which the next row is like the last ones.
    scale: "online": rows are standardised with mean and deviation of the rows so far, and kept within ± 10; "minmax":
    to the range so far; None: not at all. Centres stay in the scale in which they came. seed: of the draws.

    Nominal values differ by 1 or not at all, are not stretched, and those of a centre do not move. Missing values are
    refused. A row of weight w counts as w in balls, signs and errors. ``predict_proba`` is what the one that answers
    says, drawn towards "all alike" by its error of late.

    Reference: the balls are those of R. De Rosa, F. Orabona, N. Cesa-Bianchi, "The ABACOC algorithm", ICDM 2015; all
    else is ours, measured in docs/balls.md.

    >>> from thalweg import SEA
    >>> chunk = SEA(seed=1).read(5_000)
    >>> learner = BallCoverPlus(max_balls=100)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.84), learner.n_balls <= 100
    (True, True)
    >>> learner.relevance.argmin()  # the third feature does not matter
    np.int64(2)
    """

    __slots__ = ("_nominal", "_numbers", "_rules", "_state")

    def __init__(
        self,
        *,
        max_balls: int = 1000,
        open_on_mistake: bool = False,
        recent: bool = False,
        scale: Literal["online", "minmax"] | None = "online",
        seed: int = 1,
    ) -> None:
        params.flag("open_on_mistake", open_on_mistake)
        params.flag("recent", recent)
        params.whole("max_balls", max_balls, least=4 if recent is True else 2, most=1_000_000_000)
        params.choice("scale", scale, ("online", "minmax", None))
        params.whole("seed", seed, least=0)
        self.max_balls = max_balls
        self.open_on_mistake = open_on_mistake
        self.recent = recent
        self.scale = scale
        self.seed = seed

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def n_balls(self) -> int:
        """Balls there are."""
        return int(self._state["head"][balls_jit.BALLS]) if self._started else 0

    @property
    def answers(self) -> str:
        """Who answers now: "vote", "signs", "last" or "recent".

        >>> BallCoverPlus().answers
        'vote'
        """
        return ASKED[int(np.argmin(self._errors()))]

    @property
    def errors(self) -> dict[str, float]:
        """The decayed error of each that is asked; half of it is due to the last 346 rows."""
        return dict(zip(ASKED, self._errors().tolist(), strict=False))

    @property
    def relevance(self) -> Floats:
        """The weight of each feature in squared distances: 1 on average, and for nominal ones."""
        return np.asarray(self._state["powers"][1] ** 2) if self._started else np.zeros(0)

    @property
    def balls(self) -> list[Ball]:
        """The balls by their places, which are their ids: the place of a discarded one is taken by the next.

        >>> learner = BallCoverPlus(scale=None).partial_fit([[1.0], [4.0], [4.5]], ["a", "b", "b"])
        >>> [(b.id, b.centre.tolist(), b.radius, b.counts) for b in learner.balls]
        [(0, [1.0], 3.0, {'a': 1.0}), (1, [4.25], 3.0, {'b': 2.0})]
        """
        if not self._started:
            return []
        names, tiles, rows = dict(enumerate(self._labels.values)), self._state["tiles"], self._state["balls"]
        return [
            Ball(
                s, tiles[s // LANES, :, s % LANES].copy(), float(rows[s, balls_jit.RADIUS]),
                {names[c]: float(counts[c]) for c in np.flatnonzero(counts).tolist()},
                float(rows[s, balls_jit.MISTAKES]),
            )
            for s, counts in enumerate(self._counts())
        ]  # fmt: skip

    def novelty(self, X: Any) -> Floats:
        """Say how far outside the cover rows fall, in radii of the nearest ball: 0 inside; infinite without a cover.

        Distances are those of the stretched space: what lies afar in a feature that does not matter is hardly new.

        >>> learner = BallCoverPlus(scale=None).partial_fit([[1.0], [3.0], [3.5]], ["a", "b", "b"])
        >>> learner.novelty([[2.5], [5.5], [9.25]])
        array([0.   , 0.125, 2.   ])
        """
        return self._look(X)[2]

    def confidence(self, X: Any, delta: float = 0.05) -> Floats:
        """Say how sure the prediction of each row is, from 0 to 1.

        It is the margin of the predicted class over all others in the nearest ball, less what chance may account for
        with probability delta, and less outside the ball; 0 where another class is counted more there.
        """
        params.number("delta", delta, above=0.0, below=1.0)
        nearest, said, outside = self._look(X)
        return sureness(self._counts()[nearest], said, delta) * trust(outside) if self.n_balls else np.zeros(len(said))

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._take(self._fresh(schema, LANES), schema)

    def _fresh(self, schema: Schema, room: int) -> State:
        d, window = schema.n_features, self._window
        n = min(room, self.max_balls - window)
        head, spans, powers = np.zeros(balls_jit.HEAD, dtype=np.int64), np.zeros((balls_jit.SPANS, d)), np.zeros((2, d))
        head[balls_jit.FREE] = -1
        spans[balls_jit.LEAST], spans[balls_jit.GREATEST], powers[1] = np.inf, -np.inf, 1.0
        codes = np.full(window + 1, -1, dtype=np.int64)
        codes[window] = 0
        return {
            "tiles": np.zeros((-(-n // LANES), d, LANES)), "balls": np.zeros((n, balls_jit.BALL)),
            "marks": np.zeros((n, o.MARK), dtype=np.int64), "entries": np.zeros((LANES, 2), dtype=np.int64),
            "voices": np.zeros(LANES), "signs": np.zeros(LANES), "head": head, "gauge": np.zeros(o.GAUGE),
            "spans": spans, "sums": np.zeros((0, d + 1)), "powers": powers,
            "recent": np.zeros((-(-window // LANES), d, LANES)), "codes": codes, "seeds": seeded(self.seed),
        }  # fmt: skip

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        state, n = self._state, out.shape[1]
        if len(state["sums"]) < n:
            more = np.zeros((n - len(state["sums"]), state["sums"].shape[1]))
            state["sums"] = np.concatenate([state["sums"], more])
        desk, e, routine = self._desk(known, n), 0, _play
        while True:
            e = routine(*state.values(), self._nominal, self._rules, self._numbers, _NOTHING, *desk,
                        X, y, w, events, out, self.max_balls - self._window, e)  # fmt: skip
            why = int(desk[-1][o.WHY])
            if why == o.DONE:
                return
            known = int(desk[-1][o.KNOWN])
            self._grow(why)
            desk = self._desk(known, n)

    def _extend(self, schema: Schema) -> None:
        state, d = dict(self._state), len(self._nominal)
        more = schema.n_features - d
        if not more:  # values of nominal features only
            return
        fresh = self._fresh(schema, len(state["balls"]))
        for name in _WIDE:
            wide = np.zeros((len(state[name]), d + more, *state[name].shape[2:]))
            wide[:] = fresh[name][: len(wide)] if name in ("spans", "powers") else 0.0
            wide[:, :d] = state[name]
            state[name] = wide
        sums = state["sums"]
        state["sums"] = np.c_[sums[:, :d], np.zeros((len(sums), more)), sums[:, d:]]
        self._take(state, schema)

    def _tables(self) -> State:
        return self._state

    def _adopt(self, tables: State, schema: Schema) -> None:
        wanted = {name: tables[name] for name in _TABLES}
        self._check(wanted, schema)
        self._take(wanted, schema)

    # -- inside -------------------------------------------------------------------------------------------------------

    @property
    def _window(self) -> int:
        return self.max_balls // 2 if self.recent else 0

    def _errors(self) -> Floats:
        n = len(ASKED) if self.recent else len(ASKED) - 1
        return np.asarray(self._state["gauge"][o.ERRORS : o.ERRORS + n]) if self._started else np.zeros(n)

    def _counts(self) -> Floats:
        """The weight of each class in each ball."""
        return counts_of(self._state, self.n_balls, len(self._labels))

    def _look(self, X: Any) -> tuple[Ints, Ints, Floats]:
        """Find the nearest ball of each row, what is predicted, and how far outside the ball it lies."""
        X, _ = self._rows(X, learning=False)
        n, K = len(X), len(self._labels)
        nearest, said, rho = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.full(n, np.inf)
        if not self.n_balls:
            return nearest, said, rho
        desk, routine, radii = self._desk(K, K), _play, self._state["balls"][:, balls_jit.RADIUS]
        far, notes = desk[2], desk[-1]
        for r in range(n):
            proba, notes[o.ROW] = np.zeros((1, K)), -1
            routine(*self._state.values(), self._nominal, self._rules, self._numbers, _NOTHING, *desk,
                    X[r : r + 1], _NO_LABELS, _NO_WEIGHTS, _FIRST, proba, self.max_balls - self._window, 0)  # fmt: skip
            nearest[r], said[r] = notes[o.NEAREST], proba[0].argmax()
            rho[r] = np.sqrt(far[nearest[r]])
        pending = self._state["head"][balls_jit.PENDING]
        return nearest, said, np.full(n, np.inf) if pending else beyond(rho, radii[nearest])

    def _take(self, tables: State, schema: Schema) -> None:
        self._state = tables
        self._nominal = np.array([f.nominal for f in schema.features], dtype=np.int64)
        self._rules, self._numbers = np.zeros(o.RULES, dtype=np.int64), np.zeros(2)
        self._rules[balls_jit.VARIANT], self._rules[balls_jit.SCALE] = balls_jit.AUTO_ADJ, SCALES[self.scale]
        self._rules[o.OPENS] = int(self.open_on_mistake)
        self._numbers[balls_jit.SHRINKING] = -1.0 / (2.0 + 2.0)

    def _desk(self, known: int, classes: int) -> tuple[NDArray[Any], ...]:
        """Make room for one row: see Desk in ball_cover_plus_jit.py."""
        d, n, window = len(self._nominal), self._state["tiles"].shape[0] * LANES, self._state["recent"].shape[0] * LANES
        near, whole, notes = np.zeros(n), np.zeros(n), np.zeros(o.NOTES, dtype=np.int64)
        notes[o.KNOWN], notes[o.ROW] = known, -1
        return (
            np.zeros(d), np.zeros(d), np.zeros(n), near, near.view(np.int64), whole, whole.view(np.int64),
            np.zeros(window), np.zeros(o.VOTERS, dtype=np.int64), np.zeros((4, max(1, classes))), notes,
        )  # fmt: skip

    def _grow(self, what: int) -> None:
        """Make room for twice as many balls, as far as there may be, or counts."""
        state = self._state
        for name in _PER_BALL if what == o.NO_ROOM else _PER_COUNT:
            n = 2 * len(state[name])
            if what == o.NO_ROOM:
                n = min(n, self.max_balls - self._window)
            state[name] = _longer(state[name], n)
        if what == o.NO_ROOM:
            state["tiles"] = _longer(state["tiles"], -(-len(state["balls"]) // LANES))

    def _check(self, tables: State, schema: Schema) -> None:
        """Refuse tables that no cover with these parameters could have."""
        for name, like in self._fresh(schema, LANES).items():
            given, free = tables[name], name in ("tiles", "sums", *_PER_BALL, *_PER_COUNT)
            shape = (len(given), *like.shape[1:]) if free and given.ndim == like.ndim else like.shape
            if given.dtype != like.dtype or given.shape != shape or not given.flags.c_contiguous:
                raise ValueError(f"its table {name!r} has another type or shape")
        head, marks, entries, codes = tables["head"], tables["marks"], tables["entries"], tables["codes"]
        n, used, room, window = int(head[balls_jit.BALLS]), int(head[balls_jit.ENTRIES]), len(marks), self._window
        if not (
            len(tables["balls"]) == room <= self.max_balls - window and len(tables["tiles"]) == -(-room // LANES)
            and len(entries) == len(tables["voices"]) == len(tables["signs"]) and 0 <= n <= room
            and 0 <= used <= len(entries)
        ):  # fmt: skip
            raise ValueError("its table 'head' holds what no cover could")
        links = np.r_[marks[:n, balls_jit.FIRST], entries[:used, balls_jit.NEXT], head[balls_jit.FREE]]
        links, K = links[links != -1], len(tables["sums"])
        wrong = len(np.unique(links)) != len(links) or ((links < 0) | (links >= used)).any()
        if wrong or ((entries[:used, balls_jit.CLASS] < 0) | (entries[:used, balls_jit.CLASS] >= K)).any():
            raise ValueError("its table 'entries' holds what no cover could")
        named = marks[:n, [balls_jit.BEST, o.LAST_LABEL, o.RIVAL]]
        if ((named >= K) | (named < -1)).any() or (named[:, :2] < 0).any():
            raise ValueError("its table 'marks' holds what no cover could")
        held = int(codes[window]) if window and codes[window - 1] < 0 else window
        if not 0 <= codes[window] < max(1, window) or ((codes[:held] < 0) | (codes[:held] >= K)).any():
            raise ValueError("its table 'codes' holds what no cover could")
        for name in ("tiles", "balls", "voices", "signs", "gauge", "sums", "powers", "recent"):
            if not np.isfinite(tables[name]).all():
                raise ValueError(f"its table {name!r} holds what no cover could")


_NOTHING = np.zeros((0, 0))
_NO_LABELS, _NO_WEIGHTS, _FIRST = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(1, dtype=np.int64)


def _longer(table: NDArray[Any], n: int) -> NDArray[Any]:
    longer = np.zeros((n, *table.shape[1:]), dtype=table.dtype)
    longer[: len(table)] = table
    return longer
