"""SEA: two of three uniform features, their sum against a threshold."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, flag, number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.sea_jit import fill
from thalweg.streams.source import Generator

THRESHOLDS = (8.0, 9.0, 7.0, 9.5)


@final
class SEA(Generator):
    """Class 0 where x0 + x1 ≤ θ, three features uniform in [0, 10), the third says nothing; labels flipped by noise.

    function: 1 to 4, θ = 8, 9, 7, 9.5. noise: share of flipped labels. balance: classes take turns (before noise).
    rng: "splitmix", the library's own random numbers, or "java", those of java.util.Random, for MOA's very rows.
    limit: rows, None: endless.

    Street, Kim: A streaming ensemble algorithm (SEA) for large-scale classification. KDD 2001.

    >>> chunk = SEA(function=1, noise=0.0, seed=1).take(1000)
    >>> bool(((chunk.X[:, 0] + chunk.X[:, 1] > 8) == chunk.y).all())
    True
    """

    def __init__(
        self,
        *,
        function: int = 1,
        noise: float = 0.1,
        balance: bool = False,
        rng: str = "splitmix",
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        whole("function", function, least=1, most=4)
        number("noise", noise, least=0, most=1)
        flag("balance", balance)
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.function, self.noise, self.balance, self.rng, self.seed = function, noise, balance, rng, seed
        self._schema = Schema.numeric(3, classes=(0, 1))
        self.restart()

    @property
    def schema(self) -> Schema:
        """Three numeric features, two classes."""
        return self._schema

    def _start(self) -> None:
        self._random = sown(self.seed, java=self.rng == "java")
        self._wanted = np.ones(1, dtype=np.int64)

    def _next(self, n: int) -> Chunk:
        X, y = np.empty((n, 3)), np.empty(n, dtype=np.int64)
        threshold = THRESHOLDS[self.function - 1]
        fill(self._random, self._wanted, threshold, float(self.noise), self.balance, self.rng == "java", X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return {"random": self._random, "wanted": self._wanted}

    def _adopt(self, tables: State, given: int) -> None:
        self._random, self._wanted = tables["random"], tables["wanted"]
