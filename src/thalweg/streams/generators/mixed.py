"""Mixed: two of three conditions, on two booleans and two numbers."""

from typing import final

import numpy as np

from thalweg.core.fields import whole
from thalweg.core.schema import Feature, Schema
from thalweg.streams.draw_jit import Floats, Ints
from thalweg.streams.generators.mixed_jit import fill
from thalweg.streams.generators.sine_jit import prepare
from thalweg.streams.source import BALANCE, RNG, Generator, Rng


@final
class Mixed(Generator):
    """Class 0 where at least two of these hold: v, w, y < 0.5 + 0.3 sin 3πx; all drawn uniformly.

    References
    ----------
    Gama, Medas, Castillo, Rodrigues: Learning with drift detection. SBIA 2004.

    Examples
    --------
    >>> chunk = Mixed().take(1000)
    >>> both = (chunk.X[:, 0] == 1) & (chunk.X[:, 1] == 1)
    >>> int(chunk.y[both].max())
    0
    """

    function: int = whole(default=1, doc="1, or 2 with the classes exchanged.", least=1, most=2)
    balance: bool = BALANCE
    rng: Rng = RNG

    _schema = Schema(
        (Feature("v", values=(0, 1)), Feature("w", values=(0, 1)), Feature("x"), Feature("y")), classes=(0, 1)
    )

    def _prepare(self) -> None:
        self._bands = np.empty((1024, 2))
        prepare(3, self._bands)
        super()._prepare()

    def _fill(self, X: Floats, y: Ints) -> None:
        fill(self._random, self._wanted, self._bands, int(self.function), self.balance, self._java, X, y)
