"""RandomRBF: clouds of points around random centroids, which may wander."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, number, shown, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.rbf_jit import aim, build, fill
from thalweg.streams.source import Generator

_MOST = 10_000_000  # numbers in a table


@final
class RandomRBF(Generator):
    """Each record lies in a random direction from a centroid, chosen by weight, and has the centroid's class.

    classes, features, centroids: how many. speed: how far a drifting centroid moves before each record, in a fixed
    direction, turning at the walls of [0, 1]; 0: no drift. drifting: how many centroids move, None: all of them.
    model_seed: of centroids and directions; seed: of the records. rng: "splitmix", or "java" for MOA's very rows.
    limit: rows, None: endless.

    Bifet, Holmes, Pfahringer, Kirkby, Gavaldà: New ensemble methods for evolving data streams. KDD 2009.

    >>> still, moving = RandomRBF(), RandomRBF(classes=5, speed=0.001)
    >>> moving.take(1000).X.shape
    (1000, 10)
    """

    def __init__(
        self,
        *,
        classes: int = 2,
        features: int = 10,
        centroids: int = 50,
        speed: float = 0.0,
        drifting: int | None = None,
        model_seed: int = 1,
        rng: str = "splitmix",
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        whole("classes", classes, least=2)
        whole("features", features, least=1)
        whole("centroids", centroids, least=1)
        for name, size in (("classes", classes), ("features", features), ("centroids", int(centroids) * int(features))):
            if size > _MOST:
                raise ValueError(f"{name} must not need more than {_MOST:,} numbers, got {shown(size)}")
        number("speed", speed, least=0)
        if drifting is not None:
            whole("drifting", drifting, least=0, most=centroids)
        whole("model_seed", model_seed, least=0)
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.classes, self.features, self.centroids = classes, features, centroids
        self.speed, self.drifting = speed, drifting
        self.model_seed, self.rng, self.seed = model_seed, rng, seed
        self._schema = Schema.numeric(features, classes=range(classes))
        self.restart()

    @property
    def schema(self) -> Schema:
        """Numeric features; a class may own no centroid."""
        return self._schema

    def _start(self) -> None:
        java, k, d = self.rng == "java", self.centroids, self.features
        moving = 0 if self.speed == 0 else k if self.drifting is None else self.drifting
        self._centres, self._steps = np.empty((k, d)), np.empty((moving, d))
        self._owners, self._spreads, self._bounds = np.empty(k, dtype=np.int64), np.empty(k), np.empty(k)
        model = sown(self.model_seed, java=java, cell=1)
        build(model, java, self.classes, self._centres, self._owners, self._spreads, self._bounds)
        aim(sown(self.model_seed, java=java, cell=2), java, float(self.speed), self._steps)
        self._random = sown(self.seed, java=java)

    def _next(self, n: int) -> Chunk:
        X, y = np.empty((n, self.features)), np.empty(n, dtype=np.int64)
        model = self._owners, self._spreads, self._bounds
        fill(self._random, self._centres, self._steps, *model, self.rng == "java", X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return {"random": self._random, "centres": self._centres, "steps": self._steps}

    def _adopt(self, tables: State, given: int) -> None:
        self._random, self._centres, self._steps = tables["random"], tables["centres"], tables["steps"]
