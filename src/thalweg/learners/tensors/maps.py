"""From tensors to vectors of features, by a map that may follow the stream."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import fields
from thalweg.core.declared import check, table
from thalweg.core.fields import Parametrised
from thalweg.core.params import whole
from thalweg.core.protocols import State
from thalweg.learners.tensors import maps_jit as jit
from thalweg.tensors.forms import (
    LARGEST_DENSE,
    CPTensors,
    Floats,
    Ints,
    SparseTensors,
    Tensors,
    form,
    shape_of,
    tensors_in,
)
from thalweg.tensors.joining import FORMS, form_from, shape_from

LARGEST = 1e300
"""A feature that overflows becomes this."""


class TensorMap(Parametrised, ABC):
    """Tensors in, rows of features out. ``fit`` begins it, ``learn`` lets it follow the tensors, one after another.

    What a tensor gives depends on the tensors learned before it, never on the chunks they came in, to the last bit.
    """

    bases_of_vectors: ClassVar[bool] = False
    """Does it only keep the bases of tensors, which are arrays where these are vectors?"""

    @abstractmethod
    def fit(self, tensors: Any) -> Self:
        """Begin anew with these tensors."""

    @property
    @abstractmethod
    def fitted(self) -> bool:
        """Can it give features?"""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What each feature is."""

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.names)

    @property
    @abstractmethod
    def layout(self) -> tuple[str, tuple[int, ...]]:
        """The form and the shape that tensors must have, once it is fitted."""

    @abstractmethod
    def tensors(self, X: Any) -> Tensors:
        """Let a chunk in, or say what is wrong with it; nothing changes."""

    @abstractmethod
    def play(self, X: Tensors, events: Ints) -> Floats:
        """Carry out events in order: e ≥ 0 gives the features of tensor e in row e, ~e learns tensor e.

        Parameters
        ----------
        X : Tensors
            Tensors that were let in. The rows of tensors that were not asked for are zeros.
        """

    @abstractmethod
    def state(self) -> State:
        """Copy out all that the map knows, as named arrays."""

    @abstractmethod
    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` of a map with the same parameters gave."""

    def transform(self, X: Any) -> Floats:
        """Give the features of tensors, one row for each. Changes nothing."""
        found = self.tensors(X)
        return self.play(found, np.arange(len(found)))

    def learn(self, X: Any) -> Self:
        """Follow these tensors, one after another."""
        found = self.tensors(X)
        self.play(found, ~np.arange(len(found)))
        return self


class FittedMap(TensorMap):
    """A map of tensors of one shape and one form, fixed by ``fit``, worked on one by one."""

    def _prepare(self) -> None:
        self._shape: tuple[int, ...] = ()
        self._form = ""

    @abstractmethod
    def _begin(self, X: Tensors) -> None:
        """Begin anew with these tensors; shape and form are known."""

    @abstractmethod
    def _features(self, X: Tensors, i: int) -> Floats:
        """Give the features of tensor i."""

    @abstractmethod
    def _follow(self, X: Tensors, i: int) -> None:
        """Learn tensor i."""

    @abstractmethod
    def _tables(self) -> State:
        """Give what was learned, not copied."""

    @abstractmethod
    def _adopt(self, tables: State) -> None:
        """Continue from what ``_tables`` gave."""

    def fit(self, tensors: Any) -> Self:
        """Begin anew with these tensors, one at least."""
        X = tensors_in(tensors, name="tensors")
        whole("the number of tensors", len(X), least=1)
        if isinstance(X, SparseTensors) and math.prod(X.shape) > LARGEST_DENSE:
            rule = f"tensors in sparse form must have at most {LARGEST_DENSE} values for {type(self).__name__}"
            raise ValueError(f"{rule}, got shape {X.shape}")
        self._shape, self._form = shape_of(X), form(X)
        self._begin(X)
        return self

    @property
    def fitted(self) -> bool:
        """Was ``fit`` called?"""
        return bool(self._form)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that tensors must have."""
        self._ready()
        return self._shape

    @property
    def layout(self) -> tuple[str, tuple[int, ...]]:
        """The form and the shape that tensors must have."""
        self._ready()
        return self._form, self._shape

    def tensors(self, X: Any) -> Tensors:
        """Let a chunk in, or say what is wrong with it; nothing changes."""
        self._ready()
        found = tensors_in(X, shape=self._shape)
        if form(found) != self._form:
            raise ValueError(f"X must be in the form of the first tensors, {self._form}, got {form(found)} tensors")
        return found

    def _ready(self) -> None:
        if not self._form:
            raise ValueError("tensors are not known yet: call fit with some tensors first")

    def play(self, X: Tensors, events: Ints) -> Floats:
        """Carry out events in order: e ≥ 0 gives the features of tensor e in row e, ~e learns tensor e."""
        F = np.zeros((len(X), self.width))
        with np.errstate(over="ignore", invalid="ignore"):  # a tensor of huge values
            for e in events.tolist():
                if e >= 0:
                    F[e] = self._features(X, e)
                else:
                    self._follow(X, ~e)
        rows = events[events >= 0]
        if not np.isfinite(F).all():
            F[rows] = np.clip(np.nan_to_num(F[rows], nan=0.0), -LARGEST, LARGEST)
        return F

    def state(self) -> State:
        """Copy out all that the map knows, as named arrays."""
        if not self._form:
            return {}
        head = {
            "form": np.array([FORMS.index(self._form)], dtype=np.int64),
            "shape": np.array(self._shape, dtype=np.int64),
        }
        return {**head, **{name: table.copy() for name, table in self._tables().items()}}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` of a map with the same parameters gave."""
        self._form, self._shape = "", ()
        if state:
            self._form, self._shape = form_from(state), shape_from(state)
            self._adopt({name: table.copy() for name, table in state.items() if name not in ("form", "shape")})


def one_array(X: Tensors, i: int) -> Floats:
    """Give tensor i, dense or sparse, as an array.

    >>> one_array(np.eye(3)[None], 0).shape
    (3, 3)
    """
    assert not isinstance(X, CPTensors)
    found: Floats = X[i] if isinstance(X, np.ndarray) else X[i : i + 1].dense()[0]
    return found


class Written(NamedTuple):
    """How tensors are written as vectors."""

    rank: Annotated[Ints, table(1, least=0, most=LARGEST_DENSE)]
    """1: columns of CP tensors that have a place; 0 for other forms."""


@final
class Vectors:
    """Tensors as vectors: the values in C order; of CP tensors the entries of the factors, heaviest columns first.

    An entry of a factor is found by mode, column and place. A column weighs |λ| times the lengths of its factors.
    rank: columns of a CP tensor that have a place; those of tensors of a lower rank are 0.

    >>> Vectors((2, 2), 0).of(np.eye(2)[None], 0).tolist()
    [1.0, 0.0, 0.0, 1.0]
    >>> Vectors((2, 1), 2).of(CPTensors([[1.0, 5.0]], [[[[1.0, 2.0], [3.0, 4.0]]], [[[5.0, 6.0]]]]), 0).tolist()
    [2.0, 4.0, 1.0, 3.0, 6.0, 5.0]
    """

    __slots__ = ("rank", "shape")

    def __init__(self, shape: tuple[int, ...], rank: int) -> None:
        self.shape, self.rank = shape, rank

    @property
    def size(self) -> int:
        """The length of a vector."""
        return self.rank * sum(self.shape) if self.rank else math.prod(self.shape)

    def of(self, X: Tensors, i: int) -> Floats:
        """Give tensor i as a vector."""
        if not isinstance(X, CPTensors):
            return one_array(X, i).reshape(-1)
        order = np.empty(X.rank, dtype=np.int64)
        columns = X.columns[i]
        jit.heaviest_first(np.ascontiguousarray(X.weights[i]), columns, np.empty(X.rank), order)
        parts = []
        for k, size in enumerate(self.shape):
            part = np.zeros((self.rank, size))
            kept = order[: self.rank]
            part[: len(kept)] = columns[k, kept, :size]
            parts.append(part.reshape(-1))
        return np.concatenate(parts)

    def name(self, f: int) -> str:
        """Say what the value at a place is."""
        if not self.rank:
            at = np.unravel_index(f, self.shape)
            return f"value {', '.join(str(int(index)) for index in at)}"
        k = 0
        while f >= self.rank * self.shape[k]:
            f, k = f - self.rank * self.shape[k], k + 1
        return f"mode {k}, column {f // self.shape[k]}, entry {f % self.shape[k]}"


def vectors_of(X: Tensors) -> Vectors:
    """Say how tensors like these become vectors.

    >>> vectors_of(np.zeros((1, 8, 8))).size
    64
    """
    return Vectors(shape_of(X), X.rank if isinstance(X, CPTensors) else 0)


def vectors_from(rank: int, form: str, shape: tuple[int, ...]) -> Vectors:
    """Say how tensors of this form and shape become vectors, by a rank from a state, or refuse that.

    >>> vectors_from(0, "dense", (8, 8)).size
    64
    """
    found = Vectors(shape, rank)
    if (rank > 0) != (form == "cp") or (rank and found.size > LARGEST_DENSE):
        raise ValueError(f"its vectors are of {form} tensors of rank {rank}")
    return found


class Choice(NamedTuple):
    """Which values of a vector are features."""

    chosen: Annotated[Ints, table("width", least=0, most="size - 1")]
    """width: their places."""


@final
class FlatMap(FittedMap):
    """The values of a tensor themselves; of CP tensors the entries of the factors, heaviest columns first.

    >>> FlatMap(most=10).fit(np.zeros((1, 8, 8))).transform(np.ones((2, 8, 8))).shape
    (2, 10)
    """

    most: int = fields.whole(default=256, doc="Features; of more values as many are chosen at random.", least=1)
    seed: int = fields.whole(default=1, doc="For the choice.", least=0)

    def _prepare(self) -> None:
        super()._prepare()
        self._vectors, self._chosen = Vectors((), 0), np.zeros(0, dtype=np.int64)

    def _begin(self, X: Tensors) -> None:
        self._vectors = vectors_of(X)
        size = self._vectors.size
        rng = np.random.default_rng(self.seed)
        chosen = rng.choice(size, self.most, replace=False) if size > self.most else np.arange(size)
        self._chosen = np.sort(chosen).astype(np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """Where each value comes from."""
        return tuple(self._vectors.name(int(f)) for f in self._chosen)

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self._chosen)

    def _features(self, X: Tensors, i: int) -> Floats:
        return self._vectors.of(X, i)[self._chosen]

    def _follow(self, X: Tensors, i: int) -> None:
        """Learn nothing."""

    def _tables(self) -> State:
        return {"chosen": self._chosen, "rank": np.array([self._vectors.rank], dtype=np.int64)}

    def _adopt(self, tables: State) -> None:
        check(Written, tables)
        self._vectors = vectors_from(int(tables["rank"][0]), self._form, self._shape)
        size = self._vectors.size
        check(Choice, tables, width=min(size, self.most), size=size)
        self._chosen = tables["chosen"]
