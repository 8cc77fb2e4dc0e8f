"""LED: the digit that a broken seven-segment display shows."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, flag, number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Feature, Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.led_jit import fill
from thalweg.streams.source import Generator

DIGITS = ("1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011")
"""Which segments are lit: top, upper left, upper right, middle, lower left, lower right, bottom."""

_SEGMENTS = np.array([[int(lit) for lit in digit] for digit in DIGITS])


@final
class LED(Generator):
    """Ten classes, the digits; seven binary features, the segments, each inverted with the probability ``noise``.

    irrelevant: 17 further features that are fair coins. drifting: so many segments, from the first, change places
    with the first irrelevant features; streams that differ in it are the concepts of "LED with drift". With 10 %
    noise nobody is right more often than 74 % of the time. rng: "splitmix", or "java" for MOA's very rows.
    limit: rows, None: endless.

    Breiman, Friedman, Olshen, Stone: Classification and regression trees. 1984.

    >>> chunk = LED(noise=0.0, irrelevant=False).take(1000)
    >>> one = chunk.X[chunk.y == 1][0]
    >>> [int(v) for v in one]
    [0, 0, 1, 0, 0, 1, 0]
    """

    def __init__(
        self,
        *,
        noise: float = 0.1,
        irrelevant: bool = True,
        drifting: int = 0,
        rng: str = "splitmix",
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        number("noise", noise, least=0, most=1)
        flag("irrelevant", irrelevant)
        whole("drifting", drifting, least=0, most=7)
        if drifting and not irrelevant:
            raise ValueError(f"drifting must be 0 where there are no irrelevant features, got {drifting}")
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.noise, self.irrelevant, self.drifting, self.rng, self.seed = noise, irrelevant, drifting, rng, seed
        features = tuple(Feature(f"x{i}", values=(0, 1)) for i in range(24 if irrelevant else 7))
        self._schema = Schema(features, classes=tuple(range(10)))
        self.restart()

    @property
    def schema(self) -> Schema:
        """Seven or 24 binary features, ten classes."""
        return self._schema

    def _start(self) -> None:
        self._random = sown(self.seed, java=self.rng == "java")

    def _next(self, n: int) -> Chunk:
        X, y = np.empty((n, self._schema.n_features)), np.empty(n, dtype=np.int64)
        fill(self._random, _SEGMENTS, float(self.noise), int(self.drifting), self.rng == "java", X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return {"random": self._random}

    def _adopt(self, tables: State, given: int) -> None:
        self._random = tables["random"]
