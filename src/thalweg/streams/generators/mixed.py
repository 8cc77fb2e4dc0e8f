"""Mixed: two of three conditions, on two booleans and two numbers."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, flag, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Feature, Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.mixed_jit import fill
from thalweg.streams.generators.sine_jit import prepare
from thalweg.streams.source import Generator

SCHEMA = Schema(
    (Feature("v", values=(0, 1)), Feature("w", values=(0, 1)), Feature("x"), Feature("y")),
    classes=(0, 1),
)


@final
class Mixed(Generator):
    """Class 0 where at least two of these hold: v, w, y < 0.5 + 0.3 sin 3πx; all drawn uniformly.

    function: 1, or 2 with the classes exchanged. balance: classes take turns. rng: "splitmix", or "java" for MOA's
    very rows. limit: rows, None: endless.

    Gama, Medas, Castillo, Rodrigues: Learning with drift detection. SBIA 2004.

    >>> chunk = Mixed().take(1000)
    >>> both = (chunk.X[:, 0] == 1) & (chunk.X[:, 1] == 1)
    >>> int(chunk.y[both].max())
    0
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
        whole("function", function, least=1, most=2)
        flag("balance", balance)
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.function, self.balance, self.rng, self.seed = function, balance, rng, seed
        self._bands = np.empty((1024, 2))
        prepare(3, self._bands)
        self.restart()

    @property
    def schema(self) -> Schema:
        """Two binary and two numeric features, two classes."""
        return SCHEMA

    def _start(self) -> None:
        self._random = sown(self.seed, java=self.rng == "java")
        self._wanted = np.ones(1, dtype=np.int64)

    def _next(self, n: int) -> Chunk:
        X, y = np.empty((n, 4)), np.empty(n, dtype=np.int64)
        fill(self._random, self._wanted, self._bands, int(self.function), self.balance, self.rng == "java", X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return {"random": self._random, "wanted": self._wanted}

    def _adopt(self, tables: State, given: int) -> None:
        self._random, self._wanted = tables["random"], tables["wanted"]
