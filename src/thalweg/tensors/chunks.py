"""Chunks of tensors put together, and written down as arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.protocols import State
from thalweg.tensors.forms import CPTensors, Floats, SparseTensors, Tensors, form, shape_of

FORMS = ("dense", "cp", "sparse")


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
    """Make tensors again from what ``tensors_state`` gave.

    >>> tensors_from(tensors_state(np.zeros((2, 4, 4)))).shape
    (2, 4, 4)
    """
    kind = FORMS[int(state["form"][0])]
    if kind == "dense":
        values: Floats = state["values"].copy()
        return values
    shape = tuple(int(size) for size in state["shape"])
    if kind == "cp":
        return CPTensors.from_columns(state["weights"].copy(), state["columns"].copy(), shape)
    return SparseTensors(state["coords"], state["values"], starts=state["starts"], shape=shape)
