"""A cube of abnormal records, which moves."""

from typing import final

import numpy as np

from thalweg.core import params
from thalweg.core.fields import number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import Floats, Ints, Seeds
from thalweg.streams.generators.hyper_cube_jit import fill
from thalweg.streams.source import Generator, regular


@final
class HyperCube(Generator):
    """Class 1, abnormal, inside a cube, class 0 outside of it, features uniform in [0, 1); now and then the cube moves.

    References
    ----------
    Zhang, Li, Wang, Gao, Zhu, Guo: Enabling fast prediction for ensemble models on data streams. KDD 2011.

    Examples
    --------
    >>> stream = HyperCube(inside=0.3, noise=0.0, limit=25_000)
    >>> stream.drifts
    (10000, 20000)
    """

    features: int = whole(default=5, doc="Number of features.", least=1, most=10_000_000)
    width: float = number(default=0.5, doc="Width of the cube, which starts in the middle.", above=0, below=1)
    inside: float = number(
        default=0.3,
        doc="Share of the records that are drawn inside; 0: whatever falls into it.",
        least=0,
        most=1,
    )
    period: int = whole(default=10_000, doc="After so many records the cube moves along one dimension.", least=1)
    alpha: float = number(default=0.1, doc="How far it moves, up or down, so that it stays in [0, 1].", least=0)
    noise: float = number(default=0.05, doc="Share of flipped labels.", least=0, most=1)

    def _prepare(self) -> None:
        params.number("alpha", self.alpha, least=0, most=(1 - self.width) / 2)
        self._schema = Schema.numeric(self.features, classes=(0, 1))
        super()._prepare()

    @property
    def drifts(self) -> tuple[int, ...]:
        """Where the cube moves; of an endless stream the first thousand."""
        return regular(int(self.period), self._limit) if self.alpha > 0 else ()

    def _first_tables(self, random: Seeds) -> State:
        return {"low": np.full(self.features, (1.0 - self.width) / 2.0)}

    def _fill(self, X: Floats, y: Ints) -> None:
        shape = float(self.width), float(self.alpha), float(self.inside), float(self.noise)
        fill(self._random, self._now["low"], self._given, int(self.period), *shape, X, y)
