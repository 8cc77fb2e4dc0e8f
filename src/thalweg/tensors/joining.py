"""Chunks of tensors put together, and written down as arrays."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import check, table
from thalweg.core.door import MOST_MODES
from thalweg.core.protocols import State
from thalweg.tensors.forms import CPTensors, Floats, Ints, SparseTensors, Tensors, form, shape_of

FORMS = ("dense", "cp", "sparse")


class Form(NamedTuple):
    """Which form tensors are in."""

    form: Annotated[Ints, table(1, least=0, most=len(FORMS) - 1)]
    """1: its place in FORMS."""


class Shape(NamedTuple):
    """Which shape tensors have, where their values do not tell."""

    shape: Annotated[Ints, table("L", least=1, most=2**62)]
    """L: the size of each mode."""


class Factors(NamedTuple):
    """CP tensors."""

    weights: Annotated[Floats, table("n", "r")]
    """n × r."""
    columns: Annotated[Floats, table("n", "L", "r", "N")]
    """n × L × r × N: the columns of the factors; N: of the longest mode."""


class Arrays(NamedTuple):
    """Tensors of any number of modes, each written as a row."""

    arrays: Annotated[Floats, table("n", "values")]
    """n × values."""


def join(chunks: Sequence[Tensors]) -> Tensors:
    """Put chunks of one form and shape together; CP tensors of a lower rank get columns of zeros.

    >>> join([np.zeros((2, 4, 4)), np.ones((1, 4, 4))]).shape
    (3, 4, 4)
    """
    kinds, shapes = {form(chunk) for chunk in chunks}, {shape_of(chunk) for chunk in chunks}
    if len(kinds) != 1 or len(shapes) != 1:
        raise ValueError(f"chunks must be of one form and one shape, got {sorted(kinds)} and {sorted(shapes)}")
    shape = shapes.pop()
    cp = [chunk for chunk in chunks if isinstance(chunk, CPTensors)]
    if cp:
        r = max(chunk.rank for chunk in cp)
        padded = [with_rank(chunk, r) for chunk in cp]
        weights = np.concatenate([chunk.weights for chunk in padded])
        return CPTensors.from_columns(weights, np.concatenate([chunk.columns for chunk in padded]), shape)
    sparse = [chunk for chunk in chunks if isinstance(chunk, SparseTensors)]
    if sparse:
        coords, values = np.concatenate([s.coords for s in sparse]), np.concatenate([s.values for s in sparse])
        counts = np.concatenate([np.diff(chunk.starts) for chunk in sparse])
        return SparseTensors(coords, values, starts=np.concatenate([[0], np.cumsum(counts)]), shape=shape)
    return np.concatenate([chunk for chunk in chunks if isinstance(chunk, np.ndarray)])


def with_rank(tensors: CPTensors, rank: int) -> CPTensors:
    """Give CP tensors more columns, all zeros, up to a rank.

    >>> with_rank(CPTensors.one([1.0], [[[1.0], [2.0]]]), 3).weights.tolist()
    [[1.0, 0.0, 0.0]]
    """
    more = rank - tensors.rank
    if more <= 0:
        return tensors
    weights = np.pad(tensors.weights, ((0, 0), (0, more)))
    columns = np.pad(tensors.columns, ((0, 0), (0, 0), (0, more), (0, 0)))
    return CPTensors.from_columns(weights, columns, tensors.shape)


def tensors_state(tensors: Tensors) -> State:
    """Write tensors down as a few arrays.

    >>> sorted(tensors_state(np.zeros((2, 4, 4))))
    ['form', 'values']
    """
    kind = {"form": np.array([FORMS.index(form(tensors))], dtype=np.int64)}
    if isinstance(tensors, np.ndarray):
        return {**kind, "values": tensors.copy()}
    kind["shape"] = np.array(tensors.shape, dtype=np.int64)
    if isinstance(tensors, CPTensors):
        return {**kind, "weights": tensors.weights.copy(), "columns": tensors.columns.copy()}
    parts = {"coords": tensors.coords, "values": tensors.values, "starts": tensors.starts}
    return {**kind, **{name: part.copy() for name, part in parts.items()}}


def tensors_from(state: Mapping[str, NDArray[Any]]) -> Tensors:
    """Make tensors again from what ``tensors_state`` gave; what no tensors could have given is refused.

    >>> tensors_from(tensors_state(np.zeros((2, 4, 4)))).shape
    (2, 4, 4)
    """
    kind = form_from(state)
    if kind == "dense":
        return arrays_from(state["values"])
    shape = shape_from(state)
    if kind == "cp":
        if 0 in (found := check(Factors, state, L=len(shape), N=max(shape))).values():
            raise ValueError(f"its tensors are {found['n']} of rank {found['r']}")
        return CPTensors.from_columns(state["weights"].copy(), state["columns"].copy(), shape)
    return SparseTensors(state["coords"], state["values"], starts=state["starts"], shape=shape)


def arrays_from(given: NDArray[Any]) -> Floats:
    """Give a copy of tensors written as an array (n, N1, …, NL), or refuse them.

    >>> arrays_from(np.zeros((0, 4)))
    Traceback (most recent call last):
    ValueError: its tensors have the shape (0, 4)
    """
    if not (isinstance(given, np.ndarray) and 2 <= given.ndim <= MOST_MODES + 1 and given.size):
        raise ValueError(f"its tensors have the shape {np.shape(given)}")
    check(Arrays, {"arrays": given.reshape(len(given), -1)})
    return given.copy()


def form_from(state: Mapping[str, NDArray[Any]]) -> str:
    """Read which form a state is of.

    >>> form_from(tensors_state(np.zeros((2, 4, 4))))
    'dense'
    """
    check(Form, state)
    return FORMS[int(state["form"][0])]


def shape_from(state: Mapping[str, NDArray[Any]]) -> tuple[int, ...]:
    """Read which shape the tensors of a state have.

    >>> shape_from({"shape": np.array([4, 5])})
    (4, 5)
    """
    if not 1 <= check(Shape, state)["L"] <= MOST_MODES:
        raise ValueError("its table 'shape' has another type or shape")
    return tuple(state["shape"].tolist())
