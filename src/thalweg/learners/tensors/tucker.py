"""The core of a tensor: what is left of it along a few directions in each mode."""

import math
from abc import abstractmethod
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from thalweg.core import fields
from thalweg.core.declared import check, table
from thalweg.core.protocols import State
from thalweg.core.tables import numbered
from thalweg.learners.tensors.buffer import MANY
from thalweg.learners.tensors.maps import FittedMap, one_array
from thalweg.tensors.forms import CPTensors, Floats, Ints, Tensors

LARGEST_CORE = 4096


def core_shape(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Give the shape of the core: ``rank`` in each mode, or 2, or 1, whatever is the first to stay below 4,096 values.

    >>> core_shape((32, 32, 3), 4), core_shape((100,) * 9, 4)[:2], core_shape((100,) * 15, 4)[:2]
    ((4, 4, 3), (2, 2), (1, 1))
    """
    for r in (rank, 2, 1):
        found = tuple(min(size, r) for size in shape)
        if math.prod(found) <= LARGEST_CORE:
            break
    return found


def core(X: Tensors, i: int, bases: list[Floats]) -> Floats:
    """Give the core of tensor i, flattened. bases: for each mode directions as rows (r_k, N_k)."""
    if not isinstance(X, CPTensors):
        rest = one_array(X, i)
        for U in bases:  # each mode goes to the end, so that all come back to their places
            rest = (U @ rest.reshape(U.shape[1], -1)).T
        return rest.reshape(-1)
    grown = np.ascontiguousarray(X.weights[i : i + 1])
    for k, U in enumerate(bases):
        along = U @ X.columns[i, k, :, : U.shape[1]].T
        grown = (grown[:, None, :] * along[None, :, :]).reshape(-1, X.rank)
    total = np.zeros(len(grown))
    for q in range(X.rank):
        total += grown[:, q]
    return total


def unit_columns(X: CPTensors, i: int) -> tuple[list[Floats], Floats]:
    """Give tensor i, divided by its norm: for each mode the columns with length 1, (N_k, r), and W_k, (L, r, r).

    W_k, the product of AᵀA over the other modes times both loads, makes the flattening times itself A_k W_k A_kᵀ. It is
    0 for a tensor that is 0.
    """
    lengths = np.linalg.norm(X.columns[i], axis=2)
    units = X.columns[i] / np.where(lengths > 0.0, lengths, 1.0)[:, :, None]
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(X.weights[i])) + np.log(lengths).sum(axis=0)
    top = logs.max()
    loads = np.zeros(X.rank) if top == -np.inf else np.copysign(np.exp(logs - top), X.weights[i])
    grams = units @ units.swapaxes(1, 2)
    others = np.repeat(np.outer(loads, loads)[None], X.order, axis=0)
    others[1:] *= np.multiply.accumulate(grams[:-1])
    others[:-1] *= np.multiply.accumulate(grams[:0:-1])[::-1]
    square = float((others[0] * grams[0]).sum())
    if square > 0.0:
        others /= square
    return [unit[:, :size].T for unit, size in zip(units, X.shape, strict=True)], others


class Counted(NamedTuple):
    """What has been counted."""

    counted: Annotated[Ints, table(1, least=0, most=MANY)]
    """1: tensors learned."""


class Basis(NamedTuple):
    """The directions of one mode."""

    basis: Annotated[Floats, table("r", "N")]
    """r × N: one in each row."""


class CoreMap(FittedMap):
    """A map whose features are the core along directions that follow the stream."""

    rank: int = fields.whole(
        default=4, doc="Directions in each mode, fewer where the core would have more than 4,096 values.", least=1
    )

    _mode: ClassVar[type]
    """What declares the tables of one mode that ``_sums`` gives."""

    def _prepare(self) -> None:
        super()._prepare()
        self._bases: list[Floats] = []
        self._count = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The place of each feature in the core."""
        shape = tuple(len(U) for U in self._bases)
        return tuple(f"core {', '.join(map(str, at))}" for at in np.ndindex(*shape)) if shape else ()

    @property
    def width(self) -> int:
        """The number of values of the core."""
        return math.prod(len(U) for U in self._bases) if self._bases else 0

    def _features(self, X: Tensors, i: int) -> Floats:
        return core(X, i, self._bases)

    @abstractmethod
    def _sums(self) -> State:
        """Give what the directions are found from, not copied."""

    @abstractmethod
    def _use(self, sums: State) -> None:
        """Continue from what ``_sums`` gave."""

    def _tables(self) -> State:
        bases = {f"basis_{k}": U for k, U in enumerate(self._bases)}
        return {**bases, "count": np.array([self._count], dtype=np.int64), **self._sums()}

    def _adopt(self, tables: State) -> None:
        check(Counted, {"counted": tables["count"]})
        for bundle in (Basis, self._mode):
            for k, (r, N) in enumerate(zip(core_shape(self._shape, self.rank), self._shape, strict=True)):
                check(bundle, numbered(k, tables), r=r, N=N)
        self._bases = [tables[f"basis_{k}"] for k in range(len(self._shape))]
        self._count = int(tables["count"][0])
        self._use(tables)
