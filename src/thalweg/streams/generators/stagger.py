"""STAGGER: size, colour, shape, and three simple rules."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, flag, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Feature, Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.stagger_jit import fill
from thalweg.streams.source import Generator

SCHEMA = Schema(
    (
        Feature("size", values=("small", "medium", "large")),
        Feature("colour", values=("red", "blue", "green")),
        Feature("shape", values=("circle", "square", "triangle")),
    ),
    classes=(0, 1),
)


@final
class STAGGER(Generator):
    """Class 1 where a rule holds for three nominal features, each drawn uniformly.

    function: 1: small and red, 2: green or circle, 3: medium or large (shares 1/9, 5/9, 2/3). balance: classes take
    turns. rng: "splitmix", or "java" for MOA's very rows. limit: rows, None: endless.

    Schlimmer, Granger: Incremental learning from noisy data. Machine Learning 1, 1986.

    >>> chunk = STAGGER(function=3).take(1000)
    >>> bool(((chunk.X[:, 0] > 0) == chunk.y).all())
    True
    """

    def __init__(
        self,
        *,
        function: int = 1,
        balance: bool = False,
        rng: str = "splitmix",
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        whole("function", function, least=1, most=3)
        flag("balance", balance)
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.function, self.balance, self.rng, self.seed = function, balance, rng, seed
        self.restart()

    @property
    def schema(self) -> Schema:
        """Three nominal features, two classes."""
        return SCHEMA

    def _start(self) -> None:
        self._random = sown(self.seed, java=self.rng == "java")
        self._wanted = np.ones(1, dtype=np.int64)

    def _next(self, n: int) -> Chunk:
        X, y = np.empty((n, 3)), np.empty(n, dtype=np.int64)
        fill(self._random, self._wanted, int(self.function), self.balance, self.rng == "java", X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return {"random": self._random, "wanted": self._wanted}

    def _adopt(self, tables: State, given: int) -> None:
        self._random, self._wanted = tables["random"], tables["wanted"]
