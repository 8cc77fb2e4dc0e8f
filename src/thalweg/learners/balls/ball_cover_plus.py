"""A cover of balls asked in three ways, in a space stretched along what tells the classes apart."""

from typing import Any, final

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Floats, Ints
from thalweg.core.declared import check
from thalweg.core.fields import flag, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.compile import plain
from thalweg.jit.random import seeded
from thalweg.learners.balls import ball_cover_plus_jit as o
from thalweg.learners.balls import balls_jit as b
from thalweg.learners.balls.cover import Covering, longer
from thalweg.learners.balls.scaling_jit import SCALES, new_spans
from thalweg.learners.balls.tiles_jit import LANES

ASKED = ("vote", "signs", "last", "recent")
_COVER = ("balls", "marks", "entries", "voices", "head", "gauge", "spans", "seeds")
_PLUS = ("tiles", "signs", "sums", "powers", "recent", "codes")
_WIDE = ("tiles", "spans", "powers", "recent")  # a column for each feature
_NO_LABELS, _NO_WEIGHTS, _FIRST = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(1, dtype=np.int64)


@final
class BallCoverPlus(Covering):
    """Cover the data with a bounded number of balls and ask them in three ways. Nothing to tune; classes may appear.

    The balls are those of ``BallCover`` ("auto-adj"). Three say what the class of a row is, and the one that erred
    least of late answers: the five nearest balls by a vote, each by its shares of the classes over its squared
    distance; all balls by signs, which say for or against classes with a Gaussian of the distance and change when their
    sum errs (a perceptron; the width is the mean squared distance from rows to balls); the last label in the nearest.
    Features are stretched by their relevance: the share of their variance that lies between the classes so far, beside
    that of the other features. A third of each weight is the same for all, so that none is ever lost.

    Nominal values differ by 1 or not at all, are not stretched, and those of a centre do not move. Missing values are
    refused. A row of weight w counts as w in balls, signs and errors. ``predict_proba`` is what the one that answers
    says, drawn towards "all alike" by its error of late.

    References
    ----------
    the balls are those of R. De Rosa, F. Orabona, N. Cesa-Bianchi, "The ABACOC algorithm", ICDM 2015; all else is
    ours, measured in docs/measurements/balls.md.

    Examples
    --------
    >>> from thalweg import SEA
    >>> chunk = SEA(seed=1).read(5_000)
    >>> learner = BallCoverPlus(max_balls=100)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.84), learner.n_balls <= 100
    (True, True)
    >>> learner.relevance.argmin()  # the third feature does not matter
    np.int64(2)
    """

    __slots__ = ("_plus",)

    max_balls: int = whole(
        default=1000,
        doc="The most balls there may be. For a new one, the least worth of four drawn by chance goes: that with "
        "few rows per mistake and small signs that counted no row for long. The time for a row grows with it.",
        least=2,
        most=1_000_000_000,
    )
    open_on_mistake: bool = flag(
        default=False,
        doc="Where the answer and the ball of a row are wrong, open a ball there too, as long as such balls are "
        "right more often than those they came from (a sign test). For streams whose labels are clean where "
        "rows are close.",
    )
    recent: bool = flag(
        default=False,
        doc="Half of max_balls are not balls but the last rows, and the nearest of these is a fourth to be asked. For "
        "streams in which the next row is like the last ones.",
    )

    def _prepare(self) -> None:
        if self.recent:
            params.whole("max_balls", self.max_balls, least=4, most=1_000_000_000)

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def answers(self) -> str:
        """Who answers now: "vote", "signs", "last" or "recent".

        Examples
        --------
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
        return np.asarray(self._plus.powers[1] ** 2) if self._started else np.zeros(0)

    def _errors(self) -> Floats:
        n = len(ASKED) if self.recent else len(ASKED) - 1
        return np.asarray(self._cover.gauge[o.G_ERRORS : o.G_ERRORS + n]) if self._started else np.zeros(n)

    def _places(self) -> tuple[Ints, Floats, Floats]:
        n, tiles = self.n_balls, self._plus.tiles
        centres = tiles.transpose(0, 2, 1).reshape(-1, tiles.shape[1])[:n]
        return np.arange(n), centres, self._cover.balls[:n, b.B_RADIUS]

    def _stretch(self, features: list[int]) -> Floats:
        return np.asarray(np.maximum(self._plus.powers[1, features], 1e-9))

    def _look(self, X: Any) -> tuple[Ints, Ints, Floats]:
        """See Covering. Distances are those of the stretched space: what is far in a feature of no account is near."""
        X, _ = self._rows(X, learning=False)
        n, d, K = len(X), X.shape[1], len(self._labels)
        nearest, predicted, rho = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.full(n, np.inf)
        if not self.n_balls:
            return nearest, predicted, rho
        room = self._room(K)
        far, notes = room[0][2 * d :], room[2][: o.W_ALL]
        for r in range(n):
            proba, notes[b.W_ROW] = np.zeros((1, K)), -1
            o.play(plain(self._cover), plain(self._plus), room, X[r : r + 1], _NO_LABELS, _NO_WEIGHTS, _FIRST, proba, 0)
            nearest[r], predicted[r] = notes[b.W_NEAREST], proba[0].argmax()
            rho[r] = np.sqrt(far[nearest[r]])
        return nearest, predicted, self._beyond(rho, self._cover.balls[nearest, b.B_RADIUS])

    # -- what a learner writes ----------------------------------------------------------------------------------------

    @property
    def _window(self) -> int:
        return self.max_balls // 2 if self.recent else 0

    def _start(self, schema: Schema) -> None:
        self._take(self._fresh(schema, LANES), schema)

    def _fresh(self, schema: Schema, room: int) -> State:
        d, window = schema.n_features, self._window
        n = min(room, self.max_balls - window)
        head, powers, codes = np.zeros(b.H_COLUMNS, dtype=np.int64), np.zeros((2, d)), np.full(window + 1, -1)
        head[b.H_FREE], powers[1], codes[window] = -1, 1.0, 0
        return {
            "tiles": np.zeros((-(-n // LANES), d, LANES)), "balls": np.zeros((n, b.B_COLUMNS)),
            "marks": np.zeros((n, o.M_ALL), dtype=np.int64), "entries": np.zeros((LANES, 2), dtype=np.int64),
            "voices": np.zeros(LANES), "signs": np.zeros(LANES), "head": head, "gauge": np.zeros(o.G_ALL),
            "spans": new_spans(d), "sums": np.zeros((0, d + 1)), "powers": powers,
            "recent": np.zeros((-(-window // LANES), d, LANES)), "codes": codes, "seeds": seeded(self.seed),
        }  # fmt: skip

    def _take(self, tables: State, schema: Schema) -> None:
        rules, numbers = np.zeros(b.R_COLUMNS, dtype=np.int64), np.zeros(b.P_COLUMNS)
        rules[b.R_VARIANT], rules[b.R_SCALE] = b.AUTO_ADJ, SCALES[self.scale]
        rules[b.R_MAX_BALLS], rules[b.R_OPENS] = self.max_balls - self._window, int(self.open_on_mistake)
        numbers[b.P_SHRINKING] = -1.0 / (2.0 + 2.0)
        self._hold(b.Cover(**{name: tables[name] for name in _COVER}, rules=rules, numbers=numbers))
        self._plus: o.Plus = o.Plus(**{name: tables[name] for name in _PLUS}, nominal=schema.nominal)

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if len(self._plus.sums) < out.shape[1]:
            self._plus = self._plus._replace(sums=longer(self._plus.sums, out.shape[1]))
        e = 0
        while True:
            room = self._room(known)
            e = o.play(plain(self._cover), plain(self._plus), room, X, y, w, events, out, e)
            why = int(room[2][b.W_WHY])
            if why == b.DONE:
                return
            known = int(room[2][b.W_KNOWN])
            self._grow(why)

    def _extend(self, schema: Schema) -> None:
        state, d = self._tables(), len(self._plus.nominal)
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
        cover, plus = self._cover._asdict(), self._plus._asdict()
        return {name: plus[name] if name in plus else cover[name] for name in (*_COVER, *_PLUS)}

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        most = self.max_balls - self._window
        check(
            (b.Cover, o.Marks, o.Plus), tables, least={"N": 1, "P": 1}, most={"N": most, "K": classes},
            d=schema.n_features, classes=classes, measures=o.G_ALL, most_balls=most, W=0, window=self._window,
        )  # fmt: skip
        self._take(tables, schema)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _room(self, known: int) -> o.Room:
        """Make room for one row: see Scratch in ball_cover_plus_jit.py."""
        plus = self._plus
        floats = np.zeros(2 * len(plus.nominal) + (3 * len(plus.tiles) + len(plus.recent)) * LANES)
        ints, scores = (
            np.zeros(o.W_ALL + o.VOTERS, dtype=np.int64),
            np.zeros((o.ALL_ASKED, max(1, known, len(plus.sums)))),
        )
        ints[b.W_KNOWN], ints[b.W_ROW] = known, -1
        return floats, floats.view(np.int64), ints, scores

    def _grow(self, what: int) -> None:
        """Make room for twice as many balls, as far as there may be, or counts."""
        cover, plus = self._cover, self._plus
        if what == b.NO_ENTRIES:
            n = 2 * len(cover.entries)
            self._hold(cover._replace(entries=longer(cover.entries, n), voices=longer(cover.voices, n)))
            self._plus = plus._replace(signs=longer(plus.signs, n))
            return
        n = min(2 * len(cover.balls), self.max_balls - self._window)
        self._hold(cover._replace(balls=longer(cover.balls, n), marks=longer(cover.marks, n)))
        self._plus = plus._replace(tiles=longer(plus.tiles, -(-n // LANES)))
