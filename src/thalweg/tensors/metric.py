"""The chordal distance as a metric of rows, for learners that take one."""

import math
from typing import Any, final

import numpy as np

from thalweg.core.fields import Parametrised
from thalweg.core.params import shown, whole
from thalweg.tensors.bases import Bases, Decomposition
from thalweg.tensors.forms import Floats, check_shape


@final
class ChordalDistance(Parametrised):
    """How far apart two tensors are, each given as a row of its values: the root of their squared chordal distances.

    d(a, b)² = Σ_j ‖Π_a - Π_b‖², where Π projects onto the row space of the flattening of mode j: a metric of these
    spaces, which sees neither scale nor sign. ``BallCover`` with this metric, variant="auto" (centres that stay) and
    scale=None (values as they are) covers tensors with balls.

    shape: of the tensors. rank, max_rank, energy: see Decomposition. keep: the bases of so many rows, those asked about
    last, are not found anew.

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

    __slots__ = ("_how", "_kept", "energy", "keep", "max_rank", "rank", "shape")

    def __init__(
        self, *, shape: tuple[int, ...], rank: str | int = "energy", max_rank: int = 5, energy: float = 0.95,
        keep: int = 10_000,
    ) -> None:  # fmt: skip
        if -1 in (check_shape(shape) or (-1,)):
            raise ValueError(f"shape must be all sizes of the tensors, got {shown(shape)}")
        whole("keep", keep, least=2)
        self._how = Decomposition(rank=rank, max_rank=max_rank, energy=energy)
        self.shape, self.rank, self.max_rank, self.energy, self.keep = shape, rank, max_rank, energy, keep
        self._kept: dict[bytes, Bases] = {}

    def __call__(self, a: Floats, b: Floats) -> float:
        """Give the distance of two rows."""
        return math.sqrt(float(self._bases(a).distances(self._bases(b)).sum()))

    def __deepcopy__(self, memo: Any) -> "ChordalDistance":
        return type(self)(**self.get_params())

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
