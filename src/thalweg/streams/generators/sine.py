"""Sine: above or below a curve."""

from typing import final

import numpy as np

from thalweg.core.fields import flag, whole
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import Floats, Ints
from thalweg.streams.generators.sine_jit import fill, prepare
from thalweg.streams.source import BALANCE, RNG, Generator, Rng


@final
class Sine(Generator):
    """Class 0 below a curve, features uniform in [0, 1): the point's two coordinates, and two that say nothing.

    References
    ----------
    Gama, Medas, Castillo, Rodrigues: Learning with drift detection. SBIA 2004.

    Examples
    --------
    >>> chunk = Sine(function=1).take(1000)
    >>> bool(((chunk.X[:, 1] < np.sin(chunk.X[:, 0])) == (chunk.y == 0)).all())
    True
    """

    function: int = whole(
        default=1,
        doc="1: below sin x, 2: the same with the classes exchanged, 3: below 0.5 + 0.3 sin 3πx, 4: exchanged.",
        least=1,
        most=4,
    )
    irrelevant: bool = flag(default=True, doc="Are the two further features there?")
    balance: bool = BALANCE
    rng: Rng = RNG

    def _prepare(self) -> None:
        self._schema = Schema.numeric(4 if self.irrelevant else 2, classes=(0, 1))
        self._bands = np.empty((1024, 2))
        prepare(int(self.function), self._bands)
        super()._prepare()

    def _fill(self, X: Floats, y: Ints) -> None:
        fill(self._random, self._wanted, self._bands, int(self.function), self.balance, self._java, X, y)
