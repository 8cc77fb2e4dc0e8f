"""SEA: two of three uniform features, their sum against a threshold."""

from typing import final

from thalweg.core.fields import number, whole
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import Floats, Ints
from thalweg.streams.generators.sea_jit import fill
from thalweg.streams.source import BALANCE, RNG, Generator, Rng

THRESHOLDS = (8.0, 9.0, 7.0, 9.5)


@final
class SEA(Generator):
    """Class 0 where x0 + x1 ≤ θ, three features uniform in [0, 10), the third says nothing; labels flipped by noise.

    Where the classes take turns, they do so before the noise.

    References
    ----------
    Street, Kim: A streaming ensemble algorithm (SEA) for large-scale classification. KDD 2001.

    Examples
    --------
    >>> chunk = SEA(function=1, noise=0.0, seed=1).take(1000)
    >>> bool(((chunk.X[:, 0] + chunk.X[:, 1] > 8) == chunk.y).all())
    True
    """

    function: int = whole(default=1, doc="The concept: θ is 8, 9, 7 or 9.5.", least=1, most=4)
    noise: float = number(default=0.1, doc="Share of flipped labels.", least=0, most=1)
    balance: bool = BALANCE
    rng: Rng = RNG

    _schema = Schema.numeric(3, classes=(0, 1))

    def _fill(self, X: Floats, y: Ints) -> None:
        threshold = THRESHOLDS[self.function - 1]
        fill(self._random, self._wanted, threshold, float(self.noise), self.balance, self._java, X, y)
