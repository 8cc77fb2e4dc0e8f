"""A cube of abnormal records, which moves."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.hyper_cube_jit import fill
from thalweg.streams.source import Generator, regular


@final
class HyperCube(Generator):
    """Class 1, abnormal, inside a cube, class 0 outside of it, features uniform in [0, 1); now and then the cube moves.

    features: how many. width: of the cube, which starts in the middle. inside: share of records that are drawn
    inside; 0: whatever falls into it, which is widthᵈ of them. period: after so many records the cube moves along
    one dimension, by ``alpha`` up or down, so that it stays in [0, 1]. noise: share of flipped labels.
    limit: rows, None: endless.

    Zhang, Li, Wang, Gao, Zhu, Guo: Enabling fast prediction for ensemble models on data streams. KDD 2011.

    >>> stream = HyperCube(inside=0.3, noise=0.0, limit=25_000)
    >>> stream.drifts
    (10000, 20000)
    """

    def __init__(
        self,
        *,
        features: int = 5,
        width: float = 0.5,
        inside: float = 0.3,
        period: int = 10_000,
        alpha: float = 0.1,
        noise: float = 0.05,
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        whole("features", features, least=1, most=10_000_000)
        number("width", width, above=0, below=1)
        number("inside", inside, least=0, most=1)
        whole("period", period, least=1)
        number("alpha", alpha, least=0, most=(1 - width) / 2)
        number("noise", noise, least=0, most=1)
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.features, self.width, self.inside, self.period = features, width, inside, period
        self.alpha, self.noise, self.seed = alpha, noise, seed
        self._schema = Schema.numeric(features, classes=(0, 1))
        self.restart()

    @property
    def schema(self) -> Schema:
        """Numeric features, two classes."""
        return self._schema

    @property
    def drifts(self) -> tuple[int, ...]:
        """Where the cube moves; of an endless stream the first thousand."""
        return regular(int(self.period), self._limit) if self.alpha > 0 else ()

    def _start(self) -> None:
        self._random = sown(self.seed, java=False)
        self._low = np.full(self.features, (1.0 - self.width) / 2.0)

    def _next(self, n: int) -> Chunk:
        X, y = np.empty((n, self.features)), np.empty(n, dtype=np.int64)
        shape = float(self.width), float(self.alpha), float(self.inside), float(self.noise)
        fill(self._random, self._low, self._given, int(self.period), *shape, X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return {"random": self._random, "low": self._low}

    def _adopt(self, tables: State, given: int) -> None:
        self._random, self._low = tables["random"], tables["low"]
