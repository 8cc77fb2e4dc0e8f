"""A learner that sees records through a projection."""

from abc import abstractmethod
from typing import Annotated, Any, final

import numpy as np

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check, fresh, table
from thalweg.core.fields import REQUIRED, Parametrised, free, number, whole
from thalweg.core.inside import Inner, check_inner
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under
from thalweg.projections.by_name import make_projection
from thalweg.projections.pca import PCAProjection
from thalweg.projections.projection import Distortion, Projection, one_row, summed_up

EVERY = 8
"""Of so many learned rows the distance of one from the row before it is measured, to see what the projection does."""
WINDOW = 1000
"""So many such distances are kept, the last ones."""


class Watch:
    """What is seen of the distortion."""

    gaps: Annotated[Floats, table(2, WINDOW, loose=True)]
    """2 × 1000: the last distances, before and after."""
    count: Annotated[Ints, table(1, least=0, most=2**53)]
    """1: rows learned."""
    last: Annotated[Floats, table("d", loose=True)]
    """d: the last row."""
    last_y: Annotated[Floats, table("p", loose=True)]
    """p: the same after the projection."""


class Compressed(Classifier):
    """A learner behind a projection; which ones, the class says."""

    missing = "native"
    sparse = True

    __slots__ = ("_inner", "_projection", "_watch")

    def _prepare(self) -> None:
        """Check the parameters: the parts that they belong to do."""
        self._make_learner()
        self._make_projection()

    @abstractmethod
    def _make_projection(self) -> Projection:
        """Make the projection, which has seen nothing."""

    @abstractmethod
    def _make_learner(self) -> Classifier:
        """Make the learner, which has seen nothing."""

    # -- looking at it ------------------------------------------------------------------------------------------------

    def distortion(self) -> Distortion:
        """Say what the projection does to distances: of every eighth of the last 8,000 rows from the row before it.

        Examples
        --------
        >>> from thalweg import CompressedKNN, Text
        >>> chunk = Text(words=500, seed=1).read(1_000)
        >>> found = CompressedKNN(p=40).partial_fit(chunk.X, chunk.y).distortion()
        >>> found.pairs, 0.9 < found.mean < 1.1
        (124, True)
        """
        if not self._started:
            return summed_up(np.zeros(0), np.zeros(0))
        before, after = self._watch["gaps"][:, : self._pairs()]
        return summed_up(before, after)

    def memory(self) -> dict[str, int]:
        """Bytes of the model, and of the projection in front of it."""
        if not self._started:
            return {}
        watched = sum(self._watch[name].nbytes for name in self._watch)
        return {"model": self._inner.state_bytes, "projection": self._projection.nbytes + watched}

    @property
    def state_bytes(self) -> int:
        """Bytes of the model and of the projection, also where that is drawn anew after loading."""
        return sum(self.memory().values())

    def project(self, X: Any) -> Floats:
        """Project records as the learner sees them. Changes nothing.

        Examples
        --------
        >>> from thalweg import CompressedKNN, Text
        >>> chunk = Text(words=500, seed=1).read(1_000)
        >>> CompressedKNN(p=40).partial_fit(chunk.X, chunk.y).project(chunk.X).shape
        (1000, 40)
        """
        if not self._started:
            raise ValueError(f"{type(self).__name__} has not seen a row yet: it has no projection")
        return self._projection.transform(X)

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        projection = self._make_projection()
        projection.begin(schema)
        inner = Inner(self._make_learner(), Schema.numeric(projection.dimension))
        self._projection, self._inner, self._watch = (
            projection,
            inner,
            fresh(Watch, d=schema.n_features, p=projection.dimension),
        )

    def _play(self, X: Any, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        inner, projection = self._inner, self._projection
        if isinstance(projection, PCAProjection):  # a row looks different at each moment
            Y = np.zeros((len(events), projection.dimension))
            projection.follow(X, events, Y)
            each = np.arange(len(events))
            learns = events < 0
            row = np.where(learns, ~events, events)
            self._observe(X, row[learns], Y[learns])
            own = np.zeros((len(events), out.shape[1]))
            y, w = y[row] if len(y) else y, w[row] if len(w) else w
            inner.play(Y, y, w, np.where(learns, ~each, each), own, known, self._labels)
            out[row[~learns]] = own[~learns]
        else:
            Y = np.zeros((X.shape[0], projection.dimension))
            projection.project(X, np.arange(len(Y)), Y)
            learned = ~events[events < 0]
            self._observe(X, learned, Y[learned])
            inner.play(Y, y, w, events, out, known, self._labels)

    def _observe(self, X: Any, learned: Ints, Y: Floats) -> None:
        """Note how far every eighth learned row is from the one before it, before and after the projection."""
        if not len(learned):
            return
        watch, n = self._watch, len(learned)
        count = int(watch["count"][0])
        chosen = np.arange(-count % EVERY, n, EVERY)  # learned rows 0, 8, 16, … of all; the very first has none before
        chosen = chosen[chosen + count > 0]
        others = np.where(chosen > 0, learned[chosen - 1], -1)
        before = self._projection.gaps(X, learned[chosen], others, watch["last"])
        earlier = np.where((chosen > 0)[:, None], Y[chosen - 1], watch["last_y"])
        pairs = np.stack([before, ((Y[chosen] - earlier) ** 2).sum(axis=1)])
        joined = np.concatenate([watch["gaps"][:, : self._pairs()], pairs], axis=1)[:, -WINDOW:]
        watch["gaps"][:, : joined.shape[1]] = joined
        watch["count"][0] += n
        watch["last"], watch["last_y"] = one_row(X, learned[-1]), Y[-1].copy()

    def _pairs(self) -> int:
        """How many distances are kept."""
        return min(max(0, int(self._watch["count"][0]) - 1) // EVERY, WINDOW)

    def _extend(self, schema: Schema) -> None:
        last = np.concatenate([self._watch["last"], np.full(schema.n_features - len(self._watch["last"]), np.nan)])
        self._projection.begin(schema)
        self._watch["last"] = last

    def _rehearse(self) -> None:
        self._inner.rehearse(self._labels)

    def _tables(self) -> State:
        own = prefixed("watch", self._watch) | prefixed("projection", self._projection.tables())
        return own | self._inner.tables("learner")

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        self._projection, self._inner, self._watch = self._parts(tables, schema, classes)

    def _parts(self, tables: State, schema: Schema, classes: int) -> tuple[Projection, Inner[Classifier], State]:
        """Make projection, learner and what watches them from tables, or refuse these."""
        projection = self._make_projection()
        projection.adopt(under("projection", tables), schema)
        inner = Inner.adopt(self._make_learner(), "learner", tables, Schema.numeric(projection.dimension), classes)
        watch = under("watch", tables)
        check(Watch, watch, d=schema.n_features, p=projection.dimension)
        return projection, inner, watch


class Size(Parametrised):
    """How many columns remain."""

    p: int | None = whole(
        default=None, doc="Columns that remain; None: 40, or as epsilon says.", least=1, most=1_000_000
    )
    epsilon: float | None = number(
        default=None,
        doc="In place of p, the share by which a squared distance between any two rows of the window (or of 1,000 "
        "rows) may change; p follows from it.",
        above=0,
        below=1,
    )

    def _size(self) -> dict[str, Any]:
        """Give what says how many columns remain, as a projection takes it; epsilon is for all rows of a window."""
        window = getattr(self, "window", None)
        points = {} if self.epsilon is None or window is None else {"points": max(2, int(window))}
        return {"p": self.p, "epsilon": self.epsilon, **points}


class RandomProjection(Size):
    """Which projection there is in front of a learner."""

    projection: str | Projection = free(
        default="gaussian", doc='A projection or its name: "gaussian", "bernoulli", "very-sparse", "fourier", "hash".'
    )
    seed: int = whole(default=1, doc="Random seed of the matrix.", least=0)

    def _make_projection(self) -> Projection:
        return make_projection("projection", self.projection, **self._size(), seed=self.seed)


@final
class Projected(Compressed):
    """Any learner behind any projection.

    Nominal features are a column for each value. A missing value adds nothing (behind "pca" it is the mean).

    Examples
    --------
    >>> from thalweg import HoeffdingTree, Projected, Text
    >>> chunk = Text(words=500, seed=1).read(5_000)
    >>> learner = Projected(learner=HoeffdingTree(), projection="gaussian(p=20)")
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.6)
    True
    """

    learner: Classifier = free(
        default=REQUIRED, doc="The learner inside: a fresh copy with the same parameters is used.", check=check_inner
    )
    projection: str | Projection = free(
        default="gaussian",
        doc='A projection or its name, such as "gaussian(p=40)", "hash(p=100)", "pca(p=10)"; "bernoulli", '
        '"very-sparse" and "fourier" are the others.',
    )

    __slots__ = ()

    def _prepare(self) -> None:
        super()._prepare()
        self.bounded, self.blind = self.learner.bounded, self.learner.blind

    def _make_projection(self) -> Projection:
        return make_projection("projection", self.projection)

    def _make_learner(self) -> Classifier:
        return self.learner.fresh()
