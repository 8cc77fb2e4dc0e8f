"""Waveform: two of three triangles, mixed at random, with noise on every point."""

from typing import final

import numpy as np

from thalweg.core.fields import flag
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import Floats, Ints
from thalweg.streams.generators.waveform_jit import fill
from thalweg.streams.source import RNG, Generator, Rng

_WAVES = np.array([[max(0.0, 6.0 - abs(i - centre)) for i in range(21)] for centre in (6, 14, 10)])


@final
class Waveform(Generator):
    """Three classes, the three pairs of triangles; 21 features, the points of the mixture, each plus N(0, 1).

    Nobody is right more often than 86 % of the time.

    References
    ----------
    Breiman, Friedman, Olshen, Stone: Classification and regression trees. 1984.

    Examples
    --------
    >>> Waveform(noise=True).take(100).X.shape
    (100, 40)
    """

    noise: bool = flag(default=False, doc="Are there 19 further features that are N(0, 1) and nothing else?")
    rng: Rng = RNG

    def _prepare(self) -> None:
        self._schema = Schema.numeric(40 if self.noise else 21, classes=range(3))
        super()._prepare()

    def _fill(self, X: Floats, y: Ints) -> None:
        fill(self._random, _WAVES, self._java, X, y)
