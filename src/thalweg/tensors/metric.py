"""The chordal distance as a metric of rows, for learners that take one."""

import math
from typing import Any, final

import numpy as np

from thalweg.core import fields
from thalweg.core.params import shown
from thalweg.tensors.bases import Bases, Decomposition, RankRule
from thalweg.tensors.forms import Floats, Shape, check_shape


def _check_sizes(name: str, shape: Any) -> None:
    if -1 in (check_shape(shape) or (-1,)):
        raise ValueError(f"{name} must be all sizes of the tensors, got {shown(shape)}")


@final
class ChordalDistance(RankRule):
    """How far apart two tensors are, each given as a row of its values: the root of their squared chordal distances.

    d(a, b)² = Σ_j ‖Π_a - Π_b‖², where Π projects onto the row space of the flattening of mode j: a metric of these
    spaces, which sees neither scale nor sign. ``BallCover`` with this metric, variant="auto" (centres that stay) and
    scale=None (values as they are) covers tensors with balls.

    Examples
    --------
    >>> near = ChordalDistance(shape=(2, 2))
    >>> a, b = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.0, 5.0, 0.0, 0.0])
    >>> near(a, -3.0 * a), round(near(a, b), 6)
    (0.0, 1.414214)

    >>> from thalweg import BallCover
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 80)
    >>> X = np.einsum("n,ni,nj->nij", rng.normal(size=80), np.eye(6)[y] + 0.1 * rng.random((80, 6)), np.ones((80, 6)))
    >>> learner = BallCover(metric=ChordalDistance(shape=(6, 6)), variant="auto", scale=None)
    >>> bool((learner.partial_fit(X, y).predict(-100 * X) == y).mean() > 0.95)
    True
    """

    shape: Shape = fields.free(default=fields.REQUIRED, doc="Shape of the tensors.", check=_check_sizes)
    keep: int = fields.whole(default=10_000, doc="Bases of so many rows, those asked about last, are kept.", least=2)

    def _prepare(self) -> None:
        self._how = Decomposition(rank=self.rank, max_rank=self.max_rank, energy=self.energy)
        self._kept: dict[bytes, Bases] = {}

    def __call__(self, a: Floats, b: Floats) -> float:
        """Give the distance of two rows."""
        return math.sqrt(float(self._bases(a).distances(self._bases(b)).sum()))

    def __deepcopy__(self, memo: Any) -> "ChordalDistance":
        return type(self)(**self.get_params(deep=False))

    def _bases(self, row: Floats) -> Bases:
        key = row.tobytes()
        found = self._kept.pop(key, None)
        if found is None:
            if row.size != math.prod(self.shape):
                raise ValueError(f"shape must have as many values as a row, {row.size}, got {shown(self.shape)}")
            found = self._how.of(np.ascontiguousarray(row).reshape(1, *self.shape))
            if len(self._kept) >= self.keep:
                del self._kept[next(iter(self._kept))]
        self._kept[key] = found  # the last that was asked about comes last
        return found
