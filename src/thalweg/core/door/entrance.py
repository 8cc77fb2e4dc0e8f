"""Rows, many or one, from whatever people hold."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.door.arrays import as_array, from_anything, refuse_shape
from thalweg.core.door.door_jit import first_bad
from thalweg.core.door.frames import arrow_table, from_frame, is_frame, taken
from thalweg.core.door.mappings import from_mapping
from thalweg.core.door.sparse import Rows, is_sparse, sparse_rows
from thalweg.core.door.tensors import agree, from_tensors
from thalweg.core.params import shown
from thalweg.core.schema import Schema


def rows(
    X: Any, schema: Schema | None, *, missing: bool, learning: bool, learned: NDArray[np.int64] | None = None,
    sparse: bool = False, evolving: bool = False,
) -> tuple[Rows, Schema]:  # fmt: skip
    """Turn X into rows of the schema; the schema that comes back has what a learned X adds to it.

    Tensors, an array with more than two dimensions or an object with ``as_rows``, become rows of all their values, the
    last index running fastest; the schema then has their shape.

    schema: None before the first chunk. missing: is NaN allowed? learning: may the schema grow?
    learned: the rows that it may grow by, in the order in which they are learned; None: all, in order.
    sparse: may X be sparse? Then a sparse X comes back as a ``csr_array`` in the form of ``Rows``.
    evolving: may tensors have other sizes than the schema's? Then what they lack is 0, and they may make it larger.
    """
    if hasattr(X, "as_rows") and not isinstance(X, type):
        X, made = X.as_rows()
        schema = agree(made, schema)
    if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2:
        array = X if X.flags.c_contiguous and X.flags.writeable else np.array(X, order="C")
    elif is_frame(X):
        table = arrow_table(X)
        if learned is not None and learned.max(initial=-1) < table.num_rows:
            _, schema = from_frame(taken(table, learned), schema, learning)
            learning = False
        array, schema = from_frame(table, schema, learning)
    elif sparse and is_sparse(X):
        refuse_shape(X)
        schema = _refuse_width(X.shape, schema)
        return sparse_rows(X, schema), schema
    else:
        array = from_anything(X)
        if array.ndim > 2:
            array, schema = from_tensors(array, schema, evolving, learning)
    schema = _refuse_width(array.shape, schema)
    check_values(array, schema, missing, learning)
    return array, schema


def one_row(
    x: Any, schema: Schema | None, *, missing: bool, learning: bool, sparse: bool = False, evolving: bool = False,
    tensors: bool = False,
) -> tuple[Rows, Schema]:  # fmt: skip
    """Turn a dict or a 1-D row into one row of the schema; where ``sparse``, also a sparse matrix of one row.

    tensors: is an array of several dimensions one tensor? It is also where the schema has a shape.
    """
    if type(x) is dict or isinstance(x, Mapping):
        array, schema = from_mapping(x, schema, missing, learning)
        check_values(array, schema, missing, learning)
        return array, schema
    if type(x) is np.ndarray and x.dtype == np.float64 and x.ndim == 1:
        return rows(x.reshape(1, -1), schema, missing=missing, learning=learning)
    if is_sparse(x):
        if len(x.shape) == 2 and x.shape[0] != 1:
            raise ValueError(f"x must be one row, got a sparse matrix of {x.shape[0]} rows")
        x = x.reshape((1, -1)) if len(x.shape) == 1 else x
        return rows(x, schema, missing=missing, learning=learning, sparse=sparse)
    try:
        array = x if isinstance(x, np.ndarray) else as_array(x)
    except (TypeError, ValueError):
        raise ValueError(f"x must be a dict or a row of numbers, got {shown(x)}") from None
    if hasattr(x, "as_rows") and not isinstance(x, type):
        if len(x) != 1:
            raise ValueError(f"x must be one tensor, got {len(x)}")
        return rows(x, schema, missing=missing, learning=learning, sparse=sparse)
    if array.ndim > 1 and (tensors or (schema is not None and schema.shape is not None)):
        return rows(array[None], schema, missing=missing, learning=learning, evolving=evolving)
    if array.ndim != 1:
        raise ValueError(f"x must be a dict or a row with one dimension, got {array.ndim}: {shown(x)}")
    return rows(array.reshape(1, -1), schema, missing=missing, learning=learning)


def _refuse_width(shape: tuple[int, ...], schema: Schema | None) -> Schema:
    """Refuse rows that are not as wide as the schema; None: they make one."""
    if schema is None:
        schema = Schema.numeric(shape[1])
    if not shape[1] and not schema.open:
        raise ValueError(f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[1] != len(schema.features):
        raise ValueError(
            f"X has {shape[1]} features, but thalweg is expecting {schema.n_features} features as input, "
            "as many as its first chunk had"
        )
    return schema


def check_values(array: NDArray[np.float64], schema: Schema, missing: bool, learning: bool) -> None:
    """Refuse infinities, NaN where the learner has no rule for it, and codes that no nominal value can have."""
    ceiling = schema.ceilings[0 if learning else 1]
    bad = first_bad(array, ceiling, missing)
    if bad < 0:
        return
    row, column = divmod(int(bad), array.shape[1])
    v, feature = array[row, column], schema.features[column]
    where = f"got {v} in row {row}, feature {feature.name!r}"
    if np.isinf(v):
        raise ValueError(f"X must be finite (no infinity), {where}")
    if np.isnan(v):
        raise ValueError(f"X must hold no missing value (NaN) for this learner, {where}")
    raise ValueError(f"X must hold whole codes from 0 and below {ceiling[column]} for a nominal feature, {where}")
