"""Hyperplane: a plane through the unit cube that slowly turns."""

from typing import final

import numpy as np

from thalweg.core import params
from thalweg.core.fields import number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import Floats, Ints, Seeds
from thalweg.streams.generators.hyperplane_jit import build, fill
from thalweg.streams.source import RNG, Generator, Rng


@final
class Hyperplane(Generator):
    """Class 1 where Σ wᵢxᵢ ≥ ½ Σ wᵢ, features uniform in [0, 1); the first weights change after each record.

    References
    ----------
    Hulten, Spencer, Domingos: Mining time-changing data streams. KDD 2001.

    Examples
    --------
    >>> share = Hyperplane(magnitude=0.001, seed=1).take(10_000).y.mean()
    >>> bool(0.45 < share < 0.55)
    True
    """

    features: int = whole(default=10, doc="Number of features.", least=1, most=10_000_000)
    drifting: int = whole(default=2, doc="How many weights change.", least=0)
    magnitude: float = number(default=0.0, doc="By how much they change with each record.", least=0, most=1)
    noise: float = number(default=0.05, doc="Share of flipped labels.", least=0, most=1)
    reversal: float = number(
        default=0.1, doc="Probability, per weight and record, that it goes the other way from then on.", least=0, most=1
    )
    rng: Rng = RNG

    def _prepare(self) -> None:
        params.whole("drifting", self.drifting, least=0, most=self.features)
        self._schema = Schema.numeric(self.features, classes=(0, 1))
        super()._prepare()

    def _first_tables(self, random: Seeds) -> State:
        weights = np.empty(self.features)
        build(random, self._java, weights)
        return {"weights": weights, "turns": np.ones(self.drifting)}

    def _fill(self, X: Floats, y: Ints) -> None:
        rates = float(self.magnitude), float(self.noise), float(self.reversal)
        fill(self._random, self._now["weights"], self._now["turns"], *rates, self._java, X, y)
