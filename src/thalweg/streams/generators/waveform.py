"""Waveform: two of three triangles, mixed at random, with noise on every point."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, flag, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.waveform_jit import fill
from thalweg.streams.source import Generator

_WAVES = np.array([[max(0.0, 6.0 - abs(i - centre)) for i in range(21)] for centre in (6, 14, 10)])


@final
class Waveform(Generator):
    """Three classes, the three pairs of triangles; 21 features, the points of the mixture, each plus N(0, 1).

    noise: 19 further features that are N(0, 1) and nothing else. Nobody is right more often than 86 % of the time.
    rng: "splitmix", or "java" for MOA's very rows. limit: rows, None: endless.

    Breiman, Friedman, Olshen, Stone: Classification and regression trees. 1984.

    >>> Waveform(noise=True).take(100).X.shape
    (100, 40)
    """

    def __init__(self, *, noise: bool = False, rng: str = "splitmix", seed: int = 1, limit: int | None = None) -> None:
        flag("noise", noise)
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.noise, self.rng, self.seed = noise, rng, seed
        self._schema = Schema.numeric(40 if noise else 21, classes=range(3))
        self.restart()

    @property
    def schema(self) -> Schema:
        """21 or 40 numeric features, three classes."""
        return self._schema

    def _start(self) -> None:
        self._random = sown(self.seed, java=self.rng == "java")

    def _next(self, n: int) -> Chunk:
        X, y = np.empty((n, self._schema.n_features)), np.empty(n, dtype=np.int64)
        fill(self._random, _WAVES, self.rng == "java", X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return {"random": self._random}

    def _adopt(self, tables: State, given: int) -> None:
        self._random = tables["random"]
