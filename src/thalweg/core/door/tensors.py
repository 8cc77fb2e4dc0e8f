"""Tensors, written as rows of all their values, the last index running fastest."""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.core.schema import Schema

MOST_MODES = 32
"""How many indices a value of a tensor may have."""


def from_tensors(
    tensors: NDArray[np.float64], schema: Schema | None, evolving: bool, learning: bool
) -> tuple[NDArray[np.float64], Schema]:
    """Write tensors as rows."""
    shape = tensors.shape[1:]
    if 0 in shape or len(shape) > MOST_MODES:
        rule = f"X must hold tensors with up to {MOST_MODES} modes, none of them empty"
        raise ValueError(f"{rule}, got tensors of shape {shape}")
    known = None if schema is None else schema.shape
    if schema is not None and evolving and known is not None and len(known) == len(shape) and known != shape:
        room = tuple(map(max, known, shape)) if learning else known
        if room != known:
            schema = Schema.tensor(room, schema.classes)
        padded = np.zeros((len(tensors), *room))
        common = tuple(slice(min(a, b)) for a, b in zip(shape, room, strict=True))  # beyond what was learned is nothing
        padded[(slice(None), *common)] = tensors[(slice(None), *common)]
        tensors, shape = padded, room
    rows = np.ascontiguousarray(tensors.reshape(len(tensors), math.prod(shape)))
    if schema is not None and schema.shape == shape and schema.rank is None:
        return rows, schema
    return rows, agree(Schema.tensor(shape), schema)


def grown_rows(rows: NDArray[np.float64], before: Schema, schema: Schema, lacking: float) -> NDArray[np.float64]:
    """Give rows of a schema as rows of one that has grown: a tensor is 0 where it did not reach, a row lacks the rest.

    >>> grown_rows(np.array([[1.0, 2.0]]), Schema.tensor((1, 2)), Schema.tensor((2, 3)), np.nan).tolist()
    [[1.0, 2.0, 0.0, 0.0, 0.0, 0.0]]
    """
    old, new = before.shape, schema.shape
    if old is not None and new is not None and before.rank is None:
        wide = np.zeros((len(rows), *new))
        wide[(slice(None), *map(slice, old))] = rows.reshape(len(rows), *old)
        return wide.reshape(len(rows), schema.n_features)
    wide = np.full((len(rows), schema.n_features), lacking)
    wide[:, : rows.shape[1]] = rows
    return wide


def agree(made: Schema, schema: Schema | None) -> Schema:
    """Refuse tensors of another shape or form than the schema's; a schema of plain rows only counts values."""
    if schema is None:
        return made
    if schema.shape is not None and schema.shape != made.shape:
        raise ValueError(f"X must hold tensors of shape {schema.shape}, got tensors of shape {made.shape}")
    if schema.shape is not None and schema.rank != made.rank:
        want, got = (f"factors of rank {s.rank}" if s.rank else "all values" for s in (schema, made))
        raise ValueError(f"X must hold tensors given by {want}, as in the first chunk, got {got}")
    return schema
