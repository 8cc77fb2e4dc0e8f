"""The core of tensors along the principal directions of their modes, which follow the stream."""

from typing import Annotated, NamedTuple, final

import numpy as np

from thalweg.core import fields
from thalweg.core.declared import table
from thalweg.core.protocols import State
from thalweg.learners.tensors.maps import one_array
from thalweg.learners.tensors.opor import positive
from thalweg.learners.tensors.tucker import CoreMap, core_shape, unit_columns
from thalweg.tensors.bases import flatten
from thalweg.tensors.forms import CPTensors, Floats, Tensors

LARGEST_VALUE = 1e100
"""Of an array that is squared and averaged."""


class Squares(NamedTuple):
    """What the directions of one mode are found from."""

    squares: Annotated[Floats, table("N", "N")]
    """N × N: C, the decayed mean of the flattening times itself."""


@final
class LRTDMap(CoreMap):
    """A truncated Tucker decomposition with factors that all tensors share; features: the core.

    For each mode C ← (1 - rate) C + rate · X Xᵀ of the flattening of each tensor; the directions are the first
    eigenvectors of C, found again every ``refresh`` tensors, their largest entry positive. CP tensors count with
    norm 1, and stay factors.

    X. Guo et al., low-rank tensor decomposition with shared factors, 2017.

    >>> X = np.random.default_rng(1).normal(size=(100, 8, 8, 3))
    >>> LRTDMap().fit(X).transform(X).shape
    (100, 48)
    """

    rate: float = fields.number(default=0.01, doc="Weight of a new tensor in C.", above=0, most=1)
    refresh: int = fields.whole(default=50, doc="Tensors after which the directions are found again.", least=1)

    _mode = Squares

    def _prepare(self) -> None:
        super()._prepare()
        self._squares: list[Floats] = []

    def _begin(self, X: Tensors) -> None:
        self._count = 0
        self._squares = mean_squares(X)
        self._look()

    def _follow(self, X: Tensors, i: int) -> None:
        for C, square in zip(self._squares, squares(X, i), strict=True):
            C *= 1.0 - self.rate
            C += self.rate * square
        self._count += 1
        if self._count % self.refresh == 0:
            self._look()

    def _look(self) -> None:
        self._bases = leading(self._squares, core_shape(self._shape, self.rank))

    def _sums(self) -> State:
        return {f"squares_{k}": C for k, C in enumerate(self._squares)}

    def _use(self, sums: State) -> None:
        self._squares = [sums[f"squares_{k}"] for k in range(len(self._shape))]


def squares(X: Tensors, i: int) -> list[Floats]:
    """Give the flattening times itself, X X', (N_k, N_k), of tensor i in each mode; CP tensors with norm 1.

    Arrays whose squares would overflow are made smaller.
    """
    if isinstance(X, CPTensors):
        units, others = unit_columns(X, i)
        return [unit @ W @ unit.T for unit, W in zip(units, others, strict=True)]
    A = one_array(X, i)
    top = float(np.abs(A).max())
    if top > LARGEST_VALUE:
        A = A * (LARGEST_VALUE / top)
    if A.ndim == 1:
        return [np.outer(A, A)]
    found = [flatten(A[None], k)[0] for k in range(A.ndim)]
    return [matrix @ matrix.T for matrix in found]


def mean_squares(X: Tensors) -> list[Floats]:
    """Give the mean of ``squares`` over tensors."""
    total = squares(X, 0)
    for i in range(1, len(X)):
        for C, square in zip(total, squares(X, i), strict=True):
            C += square
    return [C / len(X) for C in total]


def leading(matrices: list[Floats], ranks: tuple[int, ...]) -> list[Floats]:
    """Give the first eigenvectors of symmetric matrices as rows, the largest entry of each positive.

    >>> leading([np.diag([1.0, 3.0, 2.0])], (2,))[0].tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    found = [np.linalg.eigh(C)[1][:, ::-1][:, :r].T for C, r in zip(matrices, ranks, strict=True)]
    return [positive(np.ascontiguousarray(U)) for U in found]
