"""STAGGER: size, colour, shape, and three simple rules."""

from typing import final

from thalweg.core.fields import whole
from thalweg.core.schema import Feature, Schema
from thalweg.streams.draw_jit import Floats, Ints
from thalweg.streams.generators.stagger_jit import fill
from thalweg.streams.source import BALANCE, RNG, Generator, Rng


@final
class STAGGER(Generator):
    """Class 1 where a rule holds for three nominal features, each drawn uniformly.

    References
    ----------
    Schlimmer, Granger: Incremental learning from noisy data. Machine Learning 1, 1986.

    Examples
    --------
    >>> chunk = STAGGER(function=3).take(1000)
    >>> bool(((chunk.X[:, 0] > 0) == chunk.y).all())
    True
    """

    function: int = whole(
        default=1,
        doc="1: small and red, 2: green or circle, 3: medium or large.",
        least=1,
        most=3,
    )
    balance: bool = BALANCE
    rng: Rng = RNG

    _schema = Schema(
        (
            Feature("size", values=("small", "medium", "large")),
            Feature("colour", values=("red", "blue", "green")),
            Feature("shape", values=("circle", "square", "triangle")),
        ),
        classes=(0, 1),
    )

    def _fill(self, X: Floats, y: Ints) -> None:
        fill(self._random, self._wanted, int(self.function), self.balance, self._java, X, y)
