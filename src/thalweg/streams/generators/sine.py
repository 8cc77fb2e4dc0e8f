"""Sine: above or below a curve."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, flag, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.sine_jit import fill, prepare
from thalweg.streams.source import Generator


@final
class Sine(Generator):
    """Class 0 below a curve, features uniform in [0, 1): the point's two coordinates, and two that say nothing.

    function: 1: below sin x, 2: the same with the classes exchanged, 3: below 0.5 + 0.3 sin 3πx, 4: exchanged.
    irrelevant: are the two further features there? balance: classes take turns. rng: "splitmix", or "java" for
    MOA's very rows. limit: rows, None: endless.

    Gama, Medas, Castillo, Rodrigues: Learning with drift detection. SBIA 2004.

    >>> chunk = Sine(function=1).take(1000)
    >>> bool(((chunk.X[:, 1] < np.sin(chunk.X[:, 0])) == (chunk.y == 0)).all())
    True
    """

    def __init__(
        self,
        *,
        function: int = 1,
        irrelevant: bool = True,
        balance: bool = False,
        rng: str = "splitmix",
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        whole("function", function, least=1, most=4)
        flag("irrelevant", irrelevant)
        flag("balance", balance)
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.function, self.irrelevant, self.balance, self.rng, self.seed = function, irrelevant, balance, rng, seed
        self._schema = Schema.numeric(4 if irrelevant else 2, classes=(0, 1))
        self._bands = np.empty((1024, 2))
        prepare(int(function), self._bands)
        self.restart()

    @property
    def schema(self) -> Schema:
        """Two or four numeric features, two classes."""
        return self._schema

    def _start(self) -> None:
        self._random = sown(self.seed, java=self.rng == "java")
        self._wanted = np.ones(1, dtype=np.int64)

    def _next(self, n: int) -> Chunk:
        X, y = np.empty((n, self._schema.n_features)), np.empty(n, dtype=np.int64)
        fill(self._random, self._wanted, self._bands, int(self.function), self.balance, self.rng == "java", X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return {"random": self._random, "wanted": self._wanted}

    def _adopt(self, tables: State, given: int) -> None:
        self._random, self._wanted = tables["random"], tables["wanted"]
