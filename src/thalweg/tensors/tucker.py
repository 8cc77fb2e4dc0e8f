"""The core of a tensor: what is left of it along a few directions in each mode."""

import math
from abc import abstractmethod

import numpy as np

from thalweg.core.params import whole
from thalweg.core.protocols import State
from thalweg.tensors.forms import CPTensors, Floats, Tensors
from thalweg.tensors.maps import FittedMap, one_array

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


def unit_columns(X: CPTensors, i: int) -> tuple[Floats, list[Floats], list[Floats]]:
    """Give tensor i, divided by its norm: loads (r), columns of length 1 (N_k, r), and for each mode the W_k.

    W_k is the Gram matrix of the columns of the flattening: the product of AᵀA over the other modes, with the loads.
    A tensor that is 0 has loads 0.
    """
    columns = [X.columns[i, k, :, :size] for k, size in enumerate(X.shape)]
    lengths = np.array([np.linalg.norm(part, axis=1) for part in columns])
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(X.weights[i])) + np.log(lengths).sum(axis=0)
    units = [(part / np.where(size > 0.0, size, 1.0)[:, None]).T for part, size in zip(columns, lengths, strict=True)]
    top = logs.max()
    loads = np.zeros(X.rank) if top == -np.inf else np.copysign(np.exp(logs - top), X.weights[i])
    grams = np.array([unit.T @ unit for unit in units])
    norm = math.sqrt(max(0.0, float(loads @ np.multiply.reduce(grams, axis=0) @ loads)))
    if norm > 0.0:
        loads = loads / norm
    pairs = np.outer(loads, loads)
    others = [pairs * np.multiply.reduce(np.delete(grams, k, axis=0), axis=0) for k in range(X.order)]
    return loads, units, others


class CoreMap(FittedMap):
    """A map whose features are the core along directions that follow the stream."""

    __slots__ = ("_bases", "_count", "rank")

    def __init__(self, *, rank: int) -> None:
        whole("rank", rank, least=1)
        super().__init__()
        self.rank = rank
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
        self._bases = [tables.pop(f"basis_{k}") for k in range(len(self._shape))]
        self._count = int(tables.pop("count")[0])
        self._use(tables)
