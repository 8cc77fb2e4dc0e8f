"""What tensors are compared with: the mean of some tensors, in each form, or the subspaces of that mean."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import check, table
from thalweg.core.protocols import State
from thalweg.detectors import tensor_drift_jit as jit
from thalweg.tensors.bases import Bases, Decomposition, bases_from
from thalweg.tensors.forms import CPTensors, Floats, Ints, SparseTensors, Tensors
from thalweg.tensors.joining import FORMS, arrays_from, join, tensors_from, tensors_state, with_rank

BLOCK = 64
"""CP tensors worked on at a time, to stay in the cache."""


class Inner(NamedTuple):
    """What a reference keeps of tensors that are no arrays, beside the tensors."""

    gram: Annotated[Floats, table("w", "w")]
    """w × w: their inner products with each other."""


class Chordal(NamedTuple):
    """What a reference keeps of the subspaces of a mean, beside its bases."""

    subspace: Annotated[Ints, table(1, least=0, most=len(FORMS) - 1)]
    """1: the form of the tensors, its place in FORMS."""


class Reference(ABC):
    """The mean of w tensors; gives the measures of others: the distance from it, and the log of the norm."""

    precision: ClassVar[float] = 1e-12
    """Distances that differ by less than this share of the norm of the mean are the same."""

    __slots__ = ("shape",)

    shape: tuple[int, ...]
    form: str
    """The form that tensors must have."""

    @abstractmethod
    def measures(self, X: Tensors) -> Floats:
        """Measure tensors: (n, 2)."""

    @property
    @abstractmethod
    def mean_norm(self) -> float:
        """The norm of the mean."""

    @property
    def size(self) -> int:
        """How many tensors are in it; 0 where only their mean is."""
        return 0

    @abstractmethod
    def state(self) -> State:
        """Copy the reference out as a few arrays."""

    @property
    def least(self) -> float:
        """The least standard deviation of distances that is more than rounding."""
        return self.precision * self.mean_norm + jit.TINY


def left_out(measures: Floats) -> Floats:
    """Make up for the share that each tensor of a reference has in its mean.

    A - m, where m holds A itself, is (w - 1) / w of A less the mean of the others.

    >>> left_out(np.array([[3.0, 0.0], [6.0, 0.0]])).tolist()
    [[6.0, 0.0], [12.0, 0.0]]
    """
    w, corrected = len(measures), measures.copy()
    corrected[:, 0] *= w / (w - 1)
    return corrected


@final
class DenseReference(Reference):
    """The mean of arrays."""

    form = "dense"
    __slots__ = ("mean",)

    def __init__(self, mean: Floats) -> None:
        self.mean, self.shape = mean, mean.shape

    def measures(self, X: Tensors) -> Floats:
        """Measure tensors: (n, 2)."""
        out = np.empty((len(X), 2))
        jit.measure_dense(np.ascontiguousarray(X).reshape(len(X), -1), self.mean.reshape(-1), out)
        return out

    @property
    def mean_norm(self) -> float:
        """The norm of the mean."""
        return float(np.linalg.norm(self.mean))

    def state(self) -> State:
        """Copy the mean out."""
        return {"mean": self.mean.copy()}


@final
class DenseWindow(Reference):
    """Arrays and their sum, which moves on with them. sums: where it is known."""

    form = "dense"
    __slots__ = ("sums", "window")

    def __init__(self, window: Floats, sums: Floats | None = None) -> None:
        self.window, self.shape = window, window.shape[1:]
        self.sums = np.add.reduce(window, axis=0) if sums is None else sums

    @property
    def size(self) -> int:
        """How many tensors are in it."""
        return len(self.window)

    def measures(self, X: Tensors) -> Floats:
        """Measure tensors: (n, 2)."""
        return DenseReference(self.sums / len(self.window)).measures(X)

    @property
    def mean_norm(self) -> float:
        """The norm of the mean."""
        return float(np.linalg.norm(self.sums)) / len(self.window)

    def state(self) -> State:
        """Copy the window and its sum out."""
        return {"window": self.window.copy(), "sums": self.sums.copy()}


class InnerReference(Reference):
    """The tensors themselves: distances from their mean by inner products, no mean is formed. It may move on."""

    precision: ClassVar[float] = 1e-6  # what is left of ‖A‖² - 2 <A, m> + ‖m‖² is rounding, under a root

    __slots__ = ("_gram", "tensors")

    tensors: Any
    _gram: Floats
    """The inner products of the tensors with each other, (w, w)."""

    @abstractmethod
    def _inner(self, X: Tensors) -> Floats:
        """Give the inner product of each tensor with each of the reference: (n, w)."""

    @abstractmethod
    def _squares(self, X: Tensors) -> Floats:
        """Give <A, A> for each tensor."""

    @abstractmethod
    def _put(self, k: int, X: Tensors) -> None:
        """Let the one tensor of X take the place k."""

    @property
    def size(self) -> int:
        """How many tensors are in it."""
        return len(self._gram)

    @property
    def _mean_square(self) -> float:
        return float(self._gram.sum()) / self._gram.size

    @property
    def mean_norm(self) -> float:
        """The norm of the mean."""
        return math.sqrt(max(0.0, self._mean_square))

    def measures(self, X: Tensors) -> Floats:
        """Measure tensors: (n, 2)."""
        out = np.empty((len(X), 2))
        with np.errstate(over="ignore", invalid="ignore"):
            jit.measure_inner(self._squares(X), self._inner(X), self._mean_square, out)
        return out

    def move(self, k: int, X: Tensors) -> None:
        """Let the one tensor of X take the place k."""
        self._put(k, X)
        row = self._inner(X)[0]
        self._gram[k], self._gram[:, k] = row, row

    def state(self) -> State:
        """Copy the tensors out, and their inner products."""
        return {**tensors_state(self.tensors), "gram": self._gram.copy()}


@final
class CPReference(InnerReference):
    """CP tensors, the columns of each mode side by side: the inner products of a tensor are one product for a mode."""

    form = "cp"
    __slots__ = ("_stacked",)

    def __init__(self, tensors: CPTensors, gram: Floats | None = None) -> None:
        self.shape = tensors.shape
        self._stack(tensors)
        self._gram = self._inner(tensors) if gram is None else gram

    def _stack(self, tensors: CPTensors) -> None:
        w, modes, r, size = tensors.columns.shape
        self.tensors = tensors
        self._stacked = np.ascontiguousarray(tensors.columns.transpose(1, 3, 0, 2)).reshape(modes, size, w * r)

    def _inner(self, X: Tensors) -> Floats:
        assert isinstance(X, CPTensors)
        out = np.empty((len(X), len(self.tensors)))
        for i in range(0, len(X), BLOCK):
            columns = X.columns[i : i + BLOCK]
            products = columns[:, 0] @ self._stacked[0]
            for k in range(1, X.order):
                products *= columns[:, k] @ self._stacked[k]
            weights = np.ascontiguousarray(X.weights[i : i + BLOCK])
            jit.sum_groups(products, weights, self.tensors.weights, out[i : i + BLOCK])
        return out

    def _squares(self, X: Tensors) -> Floats:
        assert isinstance(X, CPTensors)
        out = np.empty(len(X))
        jit.cp_squares(np.ascontiguousarray(X.weights), np.ascontiguousarray(X.columns), out)
        return out

    def _put(self, k: int, X: Tensors) -> None:
        assert isinstance(X, CPTensors)
        if X.rank > self.tensors.rank:
            self._stack(with_rank(self.tensors, X.rank))
        r = self.tensors.rank
        one = with_rank(X, r)
        self.tensors.weights[k], self.tensors.columns[k] = one.weights[0], one.columns[0]
        self._stacked[:, :, k * r : (k + 1) * r] = one.columns[0].swapaxes(1, 2)


@final
class SparseReference(InnerReference):
    """Sparse tensors, found by coordinates: for each, the tensors that are not 0 there, and their values."""

    form = "sparse"
    __slots__ = ("_cells", "_found")

    def __init__(self, tensors: SparseTensors, gram: Floats | None = None) -> None:
        self.tensors, self.shape = tensors, tensors.shape
        self._cells = [_cells(tensors, k) for k in range(len(tensors))]
        self._found: dict[bytes, dict[int, float]] = {}
        for k, cells in enumerate(self._cells):
            for key, value in cells.items():
                self._found.setdefault(key, {})[k] = value
        self._gram = self._inner(tensors) if gram is None else gram

    def _inner(self, X: Tensors) -> Floats:
        assert isinstance(X, SparseTensors)
        out = np.zeros((len(X), len(self._cells)))
        for i, row in enumerate(out):
            for key, value in _cells(X, i).items():
                for k, other in self._found.get(key, {}).items():
                    row[k] += value * other
        return out

    def _squares(self, X: Tensors) -> Floats:
        assert isinstance(X, SparseTensors)
        return np.array([sum(v * v for v in _cells(X, i).values()) for i in range(len(X))], dtype=np.float64)

    def _put(self, k: int, X: Tensors) -> None:
        assert isinstance(X, SparseTensors)
        for key in self._cells[k]:
            del self._found[key][k]
            if not self._found[key]:
                del self._found[key]
        self._cells[k] = _cells(X, 0)
        for key, value in self._cells[k].items():
            self._found.setdefault(key, {})[k] = value
        self.tensors = join([self.tensors[:k], X, self.tensors[k + 1 :]])


@final
class ChordalReference(Reference):
    """The row spaces of the flattenings of the mean; a distance is the sum of the chordal D_j² over the modes."""

    __slots__ = ("_how", "_mean", "form")

    def __init__(self, how: Decomposition, mean: Bases, form: str) -> None:
        self._how, self._mean, self.shape, self.form = how, mean, mean.shape, form

    def measures(self, X: Tensors) -> Floats:
        """Measure tensors: (n, 2)."""
        found = self._how.of(X)
        out = np.zeros((len(X), 2))
        D = found.distances(self._mean)
        for j in range(len(self.shape)):  # in order, so that a tensor is the same in any chunk
            out[:, 0] += D[:, 0, j]
        return out

    @property
    def mean_norm(self) -> float:
        """Distances of subspaces know no norm: of the order of 1."""
        return 1.0

    def state(self) -> State:
        """Copy the bases of the mean out."""
        return {**self._mean.state(), "subspace": np.array([FORMS.index(self.form)], dtype=np.int64)}


def mean_tensor(X: Tensors) -> Tensors:
    """Give the mean of tensors as a chunk of one, in their own form.

    >>> mean_tensor(np.array([[1.0, 2.0], [3.0, 6.0]])).tolist()
    [[2.0, 4.0]]
    """
    n = len(X)
    if isinstance(X, np.ndarray):
        return np.add.reduce(X, axis=0, keepdims=True) / n
    if isinstance(X, SparseTensors):
        return SparseTensors(X.coords, X.values / n, starts=[0, len(X.values)], shape=X.shape)
    weights = np.ascontiguousarray(X.weights.reshape(1, -1)) / n
    columns = X.columns.swapaxes(0, 1).reshape(1, X.order, -1, X.columns.shape[3])
    return CPTensors.from_columns(weights, np.ascontiguousarray(columns), X.shape)


def reference_from(state: Mapping[str, NDArray[Any]], how: Decomposition) -> Reference:
    """Make a reference again from what its ``state`` gave; what no reference could have given is refused."""
    if "mean" in state:
        return DenseReference(arrays_from(state["mean"][None])[0])
    if "sums" in state:
        window, sums = arrays_from(state["window"]), arrays_from(state["sums"][None])[0]
        if len(window) < 2 or window.shape[1:] != sums.shape:
            raise ValueError("its tables 'window' and 'sums' do not fit each other")
        return DenseWindow(window, sums)
    if "subspace" in state:
        check(Chordal, state)
        return ChordalReference(how, bases_from(state), FORMS[int(state["subspace"][0])])
    tensors = tensors_from(state)
    if isinstance(tensors, np.ndarray) or len(tensors) < 2:
        raise ValueError("its reference is of arrays, or of fewer than two tensors")
    check(Inner, state, w=len(tensors))
    return inner_reference(tensors, state["gram"].copy())


def inner_reference(tensors: Tensors, gram: Floats | None = None) -> InnerReference:
    """Make the reference of tensors that are no arrays. gram: their inner products, where known."""
    if isinstance(tensors, CPTensors):
        return CPReference(tensors, gram)
    assert isinstance(tensors, SparseTensors)
    return SparseReference(tensors, gram)


def _cells(X: SparseTensors, i: int) -> dict[bytes, float]:
    """Give the values of one tensor by their coordinates, those at the same coordinates added up."""
    cells: dict[bytes, float] = {}
    a, b = X.starts[i], X.starts[i + 1]
    for at, value in zip(X.coords[a:b], X.values[a:b].tolist(), strict=True):
        key = at.tobytes()
        cells[key] = cells.get(key, 0.0) + value
    return cells
