"""What the learners share that cover the data with balls, or keep rows in the scale in which they came."""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.fields import Parametrised, choice, whole
from thalweg.learners.balls import balls_jit as b
from thalweg.learners.balls.scaling_jit import S_COUNT, S_GREATEST, S_LEAST, S_MEAN, S_SQUARES


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


class Scaled(Parametrised):
    """How rows are scaled."""

    scale: Literal["online", "minmax"] | None = choice(
        default="online",
        doc='"online": rows are standardised with mean and deviation of the rows so far, and kept within ± 10; '
        '"minmax": to the range so far; None: not at all. What is kept stays in the scale in which it came.',
    )


class Covering(Scaled, Classifier):
    """A learner that covers the data with balls: what can be seen of them."""

    seed: int = whole(default=1, doc="Random seed.", least=0)

    __slots__ = ("_cover",)

    def _hold(self, cover: b.Cover) -> None:
        self._cover: b.Cover = cover

    # -- what a cover writes ------------------------------------------------------------------------------------------

    @abstractmethod
    def _places(self) -> tuple[Ints, Floats, Floats]:
        """Give ids, centres and radii of the balls."""

    @abstractmethod
    def _look(self, X: Any) -> tuple[Ints, Ints, Floats]:
        """Find the nearest ball of each row, what is predicted, and how far outside the ball it lies, in radii."""

    def _stretch(self, features: list[int]) -> Floats:
        """By how much distances are stretched along features."""
        return np.ones(len(features))

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def n_balls(self) -> int:
        """Balls there are."""
        return int(self._cover.head[b.H_BALLS]) if self._started else 0

    @property
    def balls(self) -> list[Ball]:
        """The balls, in the order of their places; a discarded one's place is taken by the next.

        Examples
        --------
        >>> from thalweg import BallCover
        >>> learner = BallCover(scale=None).partial_fit([[1.0], [4.0], [4.5]], ["a", "b", "b"])
        >>> [(b.id, b.centre.tolist(), b.radius, b.counts) for b in learner.balls]
        [(0, [1.0], 3.0, {'a': 1.0}), (1, [4.25], 3.0, {'b': 2.0})]
        """
        if not self._started:
            return []
        names, counts, (ids, centres, radii) = self._labels.values, self._counts(), self._places()
        return [
            Ball(
                int(ids[s]), centres[s].copy(), float(radii[s]),
                {names[c]: float(counts[s, c]) for c in np.flatnonzero(counts[s]).tolist()},
                float(self._cover.balls[s, b.B_MISTAKES]),
            )
            for s in range(self.n_balls)
        ]  # fmt: skip

    def ball_shapes(self, features: Sequence[int] = (0, 1)) -> tuple[Floats, Floats, list[Any], Floats]:
        """Give centres and half axes of the balls along features, in the units of the rows; most frequent class; rows.

        Parameters
        ----------
        features : Sequence[int]
            Which ones, by number. With more of them than these, balls are shadows.

        Examples
        --------
        >>> from thalweg import BallCover
        >>> learner = BallCover(scale=None).partial_fit([[1.0], [4.0], [4.5]], ["a", "b", "b"])
        >>> centres, half_axes, classes, rows = learner.ball_shapes([0])
        >>> centres.tolist(), half_axes.tolist(), classes, rows.tolist()
        ([[1.0], [4.25]], [[3.0], [3.0]], ['a', 'b'], [1.0, 2.0])
        """
        if getattr(self, "metric", "euclidean") != "euclidean":
            raise ValueError(f"learner must have the metric 'euclidean' to be drawn, got {params.shown(self)}")
        some = list(features)
        if not self._started:
            return np.zeros((0, len(some))), np.zeros((0, len(some))), [], np.zeros(0)
        spans, (_, centres, radii), counts = self._cover.spans, self._places(), self._counts()
        for f in some:
            params.whole("features", f, least=0, most=centres.shape[1] - 1)
        at, by = np.zeros(len(some)), np.ones(len(some))
        if self.scale == "online":
            by = np.sqrt(spans[S_SQUARES, some] / np.maximum(spans[S_COUNT, some], 1.0))
            at = spans[S_MEAN, some]
        elif self.scale == "minmax":
            at, by = spans[S_LEAST, some], spans[S_GREATEST, some] - spans[S_LEAST, some]
        by = by / self._stretch(some)
        names = self._labels.values
        most = [names[c] for c in counts.argmax(axis=1).tolist()] if len(counts) else []
        return centres[:, some] * by + at, radii[:, None] * by, most, counts.sum(axis=1)

    def novelty(self, X: Any) -> Floats:
        """Say how far outside the cover rows fall, in radii of the nearest ball: 0 inside; infinite without a cover.

        Examples
        --------
        >>> from thalweg import BallCover
        >>> learner = BallCover(scale=None).partial_fit([[1.0], [3.0], [3.5]], ["a", "b", "b"])
        >>> learner.novelty([[2.5], [5.5], [9.25]])
        array([0.   , 0.125, 2.   ])
        """
        return self._look(X)[2]

    def confidence(self, X: Any, delta: float = 0.05) -> Floats:
        """Say how sure the prediction of each row is, from 0 to 1.

        It is the margin of the predicted class over all others in the nearest ball, less what chance may account for
        with probability delta (Hoeffding's bound), and less outside the ball; 0 where another class is counted more.
        """
        params.number("delta", delta, above=0.0, below=1.0)
        nearest, predicted, outside = self._look(X)
        if not self.n_balls:
            return np.zeros(len(nearest))
        counts = self._counts()[nearest]
        n, each = counts.sum(axis=1), np.arange(len(counts))
        others = np.c_[counts, np.zeros(len(counts))]
        others[each, predicted] = 0.0
        margin = (counts[each, predicted] - others.max(axis=1)) / (n + max(2, counts.shape[1]))
        sure = np.maximum(margin - np.sqrt(np.log(2.0 / delta) / (2.0 * n)), 0.0)
        return np.asarray(sure * np.exp(-0.5 * np.where(np.isfinite(outside), outside, 0.0) ** 2))

    def _counts(self) -> Floats:
        """Give the weight of each class in each ball."""
        marks, entries, voices = self._cover.marks, self._cover.entries, self._cover.voices
        counts = np.zeros((self.n_balls, len(self._labels)))
        for s in range(len(counts)):
            i = marks[s, b.M_FIRST]
            while i >= 0:
                counts[s, entries[i, b.E_CLASS]] = voices[i]
                i = entries[i, b.E_NEXT]
        return counts

    def _beyond(self, rho: Floats, radii: Floats) -> Floats:
        """Say how far outside their balls rows lie, in radii; infinite as long as the first radius is unknown."""
        if self._cover.head[b.H_PENDING]:
            return np.full(len(rho), np.inf)
        return np.asarray(np.maximum(rho - radii, 0.0) / radii)


def longer(table: NDArray[Any], n: int) -> NDArray[Any]:
    """Give a table of n rows that begins with these."""
    made = np.zeros((n, *table.shape[1:]), dtype=table.dtype)
    made[: len(table)] = table
    return made
