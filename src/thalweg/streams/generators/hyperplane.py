"""Hyperplane: a plane through the unit cube that slowly turns."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, number, shown, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.hyperplane_jit import build, fill
from thalweg.streams.source import Generator

_MOST = 10_000_000


@final
class Hyperplane(Generator):
    """Class 1 where Σ wᵢxᵢ ≥ ½ Σ wᵢ, features uniform in [0, 1); the first weights change after each record.

    features: how many. drifting: how many weights change. magnitude: by how much. noise: share of flipped labels.
    reversal: probability, per weight and record, that it goes the other way from then on. rng: "splitmix", or
    "java" for MOA's very rows. limit: rows, None: endless.

    Hulten, Spencer, Domingos: Mining time-changing data streams. KDD 2001.

    >>> share = Hyperplane(magnitude=0.001, seed=1).take(10_000).y.mean()
    >>> bool(0.45 < share < 0.55)
    True
    """

    def __init__(
        self,
        *,
        features: int = 10,
        drifting: int = 2,
        magnitude: float = 0.0,
        noise: float = 0.05,
        reversal: float = 0.1,
        rng: str = "splitmix",
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        whole("features", features, least=1)
        if features > _MOST:
            raise ValueError(f"features must be at most {_MOST:,}, got {shown(features)}")
        whole("drifting", drifting, least=0, most=features)
        number("magnitude", magnitude, least=0, most=1)
        number("noise", noise, least=0, most=1)
        number("reversal", reversal, least=0, most=1)
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.features, self.drifting, self.magnitude = features, drifting, magnitude
        self.noise, self.reversal, self.rng, self.seed = noise, reversal, rng, seed
        self._schema = Schema.numeric(features, classes=(0, 1))
        self.restart()

    @property
    def schema(self) -> Schema:
        """Numeric features, two classes."""
        return self._schema

    def _start(self) -> None:
        java = self.rng == "java"
        self._random = sown(self.seed, java=java)
        self._weights, self._turns = np.empty(self.features), np.ones(self.drifting)
        build(self._random, java, self._weights)

    def _next(self, n: int) -> Chunk:
        X, y = np.empty((n, self.features)), np.empty(n, dtype=np.int64)
        rates = float(self.magnitude), float(self.noise), float(self.reversal)
        fill(self._random, self._weights, self._turns, *rates, self.rng == "java", X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return {"random": self._random, "weights": self._weights, "turns": self._turns}

    def _adopt(self, tables: State, given: int) -> None:
        self._random, self._weights, self._turns = tables["random"], tables["weights"], tables["turns"]
