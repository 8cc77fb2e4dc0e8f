"""LED: the digit that a broken seven-segment display shows."""

from typing import final

import numpy as np

from thalweg.core.fields import flag, number, whole
from thalweg.core.schema import Feature, Schema
from thalweg.streams.draw_jit import Floats, Ints
from thalweg.streams.generators.led_jit import fill
from thalweg.streams.source import RNG, Generator, Rng

DIGITS = ("1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011")
"""Which segments are lit: top, upper left, upper right, middle, lower left, lower right, bottom."""

_SEGMENTS = np.array([[int(lit) for lit in digit] for digit in DIGITS])


@final
class LED(Generator):
    """Ten classes, the digits; seven binary features, the segments, each inverted with the probability ``noise``.

    With 10 % noise nobody is right more often than 74 % of the time.

    References
    ----------
    Breiman, Friedman, Olshen, Stone: Classification and regression trees. 1984.

    Examples
    --------
    >>> chunk = LED(noise=0.0, irrelevant=False).take(1000)
    >>> one = chunk.X[chunk.y == 1][0]
    >>> [int(v) for v in one]
    [0, 0, 1, 0, 0, 1, 0]
    """

    noise: float = number(default=0.1, doc="Probability that a segment is inverted.", least=0, most=1)
    irrelevant: bool = flag(default=True, doc="Are there 17 further features, which are fair coins?")
    drifting: int = whole(
        default=0,
        doc="So many segments, from the first, change places with the first irrelevant features; streams that differ "
        'in it are the concepts of "LED with drift".',
        least=0,
        most=7,
    )
    rng: Rng = RNG

    def _prepare(self) -> None:
        if self.drifting and not self.irrelevant:
            raise ValueError(f"drifting must be 0 where there are no irrelevant features, got {self.drifting}")
        features = tuple(Feature(f"x{i}", values=(0, 1)) for i in range(24 if self.irrelevant else 7))
        self._schema = Schema(features, classes=tuple(range(10)))
        super()._prepare()

    def _fill(self, X: Floats, y: Ints) -> None:
        fill(self._random, _SEGMENTS, float(self.noise), int(self.drifting), self._java, X, y)
