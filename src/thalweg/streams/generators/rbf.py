"""RandomRBF: clouds of points around random centroids, which may wander."""

from typing import final

import numpy as np

from thalweg.core import params
from thalweg.core.fields import number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import Floats, Ints, Seeds, sown
from thalweg.streams.generators.rbf_jit import aim, build, fill
from thalweg.streams.source import RNG, Generator, Rng

_MOST = 10_000_000  # numbers in a table


@final
class RandomRBF(Generator):
    """Each record lies in a random direction from a centroid, chosen by weight, and has the centroid's class.

    References
    ----------
    Bifet, Holmes, Pfahringer, Kirkby, Gavaldà: New ensemble methods for evolving data streams. KDD 2009.

    Examples
    --------
    >>> still, moving = RandomRBF(), RandomRBF(classes=5, speed=0.001)
    >>> moving.take(1000).X.shape
    (1000, 10)
    """

    classes: int = whole(default=2, doc="How many; a class may own no centroid.", least=2)
    features: int = whole(default=10, doc="Number of features.", least=1)
    centroids: int = whole(default=50, doc="Number of clusters.", least=1)
    speed: float = number(
        default=0.0,
        doc="How far a drifting centroid moves before each record, in a fixed direction, turning at the walls of "
        "[0, 1]; 0: no drift.",
        least=0,
    )
    drifting: int | None = whole(default=None, doc="How many centroids move; None: all of them.", least=0)
    model_seed: int = whole(default=1, doc="Random seed of the clusters; ``seed`` is that of the records.", least=0)
    rng: Rng = RNG

    def _prepare(self) -> None:
        sizes = {"classes": self.classes, "features": self.features, "centroids": self.centroids * self.features}
        for name, size in sizes.items():
            if size > _MOST:
                raise ValueError(f"{name} must not need more than {_MOST:,} numbers, got {params.shown(size)}")
        if self.drifting is not None:
            params.whole("drifting", self.drifting, least=0, most=self.centroids)
        self._schema = Schema.numeric(self.features, classes=range(self.classes))
        super()._prepare()

    def _first_tables(self, random: Seeds) -> State:
        k, d, seed, java = self.centroids, self.features, self.model_seed, self._java
        moving = 0 if self.speed == 0 else k if self.drifting is None else self.drifting
        centres, steps = np.empty((k, d)), np.empty((moving, d))
        self._owners, self._spreads, self._bounds = np.empty(k, dtype=np.int64), np.empty(k), np.empty(k)
        model = self._owners, self._spreads, self._bounds
        build(sown(seed, java=java, cell=1), java, self.classes, centres, *model)
        aim(sown(seed, java=java, cell=2), java, float(self.speed), steps)
        return {"centres": centres, "steps": steps}

    def _fill(self, X: Floats, y: Ints) -> None:
        model = self._owners, self._spreads, self._bounds
        fill(self._random, self._now["centres"], self._now["steps"], *model, self._java, X, y)
