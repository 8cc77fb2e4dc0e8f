"""Rows, many or one: plain arrays and dicts are read here, everything else in the file of its kind."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from thalweg.core.door.arrays import MISSING, UNREADABLE, as_array, from_anything, number, refuse_shape
from thalweg.core.door.frames import arrow_table, from_frame, is_frame, named_record, taken
from thalweg.core.door.nominal import nominal_codes
from thalweg.core.door.sparse import Rows, is_sparse, sparse_rows
from thalweg.core.door.tensors import agree, from_tensors
from thalweg.core.door.texts import hashed_texts
from thalweg.core.door.times import stamp
from thalweg.core.params import shown
from thalweg.core.readings import NONE, Readings
from thalweg.core.schema import Feature, Schema, refuse_unwritable
from thalweg.jit.bad_values import first_bad

_FLOAT64 = np.dtype(np.float64)
_PLAIN = frozenset({float, int, bool, np.bool_, np.float64, np.float32, np.int64, np.int32, np.int8, np.uint8})


def rows(
    X: Any, schema: Schema | None, *, missing: bool, learning: bool, learned: NDArray[np.int64] | None = None,
    sparse: bool = False, evolving: bool = False, readings: Readings = NONE,
) -> tuple[Rows, Schema]:  # fmt: skip
    """Turn X into rows of the schema; the schema that comes back has what a learned X adds to it.

    Tensors, an array with more than two dimensions or an object with ``as_rows``, become rows of all their values, the
    last index running fastest; the schema then has their shape.

    schema: None before the first chunk. missing: is NaN allowed? learning: may the schema grow?
    learned: the rows that it may grow by, in the order in which they are learned; None: all, in order.
    sparse: may X be sparse? Then a sparse X comes back as a ``csr_array`` in the form of ``Rows``.
    evolving: may tensors have other sizes than the schema's? Then what they lack is 0, and they may make it larger.
    readings: how columns that join are read, where not as usual.
    """
    if isinstance(X, Iterator):
        X = list(X)
    if type(X) is not np.ndarray and hasattr(X, "as_rows") and not isinstance(X, type):
        X, made = X.as_rows()
        schema = agree(made, schema)
    if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim > 1:
        array = X if X.flags.c_contiguous and X.flags.writeable else np.array(X, order="C")
    elif is_frame(X):
        table = arrow_table(X)
        if learned is not None and learned.max(initial=-1) < table.num_rows:
            _, schema = from_frame(taken(table, learned), schema, learning, readings)
            learning = False
        array, schema = from_frame(table, schema, learning, readings)
    elif isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        array, schema = _from_records(X, schema, missing, learning, learned, readings)
    elif sparse and is_sparse(X):
        refuse_shape(X)
        schema = _refuse_width(X.shape, schema)
        return sparse_rows(X, schema), schema
    else:
        array = from_anything(X)
    if array.ndim > 2:
        array, schema = from_tensors(array, schema, evolving, learning)
    schema = _refuse_width(array.shape, schema)
    _check_values(array, schema, missing, learning)
    return array, schema


def _from_records(
    X: Sequence[Any],
    schema: Schema | None,
    missing: bool,
    learning: bool,
    learned: NDArray[np.int64] | None,
    readings: Readings,
) -> tuple[NDArray[np.float64], Schema]:
    """Read records one by one, as ``one_row`` does; first those that are learned, for the values that they add."""
    for i, x in enumerate(X):
        if not isinstance(x, Mapping):
            raise TypeError(f"X must hold dicts alone, or none, got {shown(x)} as record {i}")
    if learning:
        for i in range(len(X)) if learned is None else learned.tolist():
            if i < len(X):
                _, schema = _from_mapping(X[i], schema, missing, True, readings)
    schema = Schema((), open=True) if schema is None else schema
    return np.concatenate([_from_mapping(x, schema, missing, False, readings)[0] for x in X]), schema


def usual_row(x: Any, schema: Schema, missing: bool, learning: bool) -> NDArray[np.float64] | None:
    """Turn the usual row, an array of numbers as wide as the schema, into one row, fast; None: see ``one_row``."""
    if type(x) is not np.ndarray or x.dtype is not _FLOAT64 or x.ndim != 1:
        return None
    array: NDArray[np.float64] = x[None] if x.flags.carray else np.array(x, ndmin=2)
    if not 0 < len(x) == len(schema.features) or first_bad(array, schema.ceilings[0 if learning else 1], missing) >= 0:
        return None
    return array


def one_row(
    x: Any, schema: Schema | None, *, missing: bool, learning: bool, sparse: bool = False, evolving: bool = False,
    tensors: bool = False, readings: Readings = NONE,
) -> tuple[Rows, Schema]:  # fmt: skip
    """Turn a dict, a Series or a 1-D row into one row of the schema; where ``sparse``, also a sparse matrix of one row.

    tensors: is an array of several dimensions one tensor? It is also where the schema has a shape.
    """
    if type(x) is np.ndarray and x.dtype is _FLOAT64 and x.ndim == 1:
        usual = None if schema is None else usual_row(x, schema, missing, learning)
        if usual is not None and schema is not None:
            return usual, schema
        return rows(x.reshape(1, -1), schema, missing=missing, learning=learning)
    if type(x) is dict or isinstance(x, Mapping):
        array, schema = _from_mapping(x, schema, missing, learning, readings)
        _check_values(array, schema, missing, learning)
        return array, schema
    x = named_record(x)
    if isinstance(x, Mapping):
        return one_row(x, schema, missing=missing, learning=learning, readings=readings)
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


def _from_mapping(
    x: Mapping[Any, Any], schema: Schema | None, missing: bool, learning: bool, readings: Readings
) -> tuple[NDArray[np.float64], Schema]:
    """Read one record by name. An absent feature is missing; a new one joins when learning and nothing was declared."""
    if schema is None:
        schema = Schema((), open=True)
    features = schema.features
    if len(x) == len(features):  # the usual case, fast
        values: list[Any] = [*map(x.get, schema.names)]
        for i, known in schema.nominal_codes.items():
            try:
                values[i] = known.get(values[i])
            except TypeError:  # it cannot be hashed
                pass
        if _PLAIN.issuperset(map(type, values)):
            try:
                return np.array([values], dtype=np.float64).reshape(1, len(features)), schema
            except OverflowError:
                pass  # the careful way below says what is wrong
    new = [k for k in x if k not in schema.columns]
    if new and learning and schema.open:
        for k in new:
            words = isinstance(x[k], str)
            usual = Feature(_name(k), values=() if words else None, open=words)
            features += readings.features(k, usual, dated=isinstance(x[k], (date, np.datetime64)))
        schema = structs.replace(schema, features=features)
    elif new and not schema.open and schema.extra == "refuse":
        raise ValueError(
            f"x must have the features {shown(list(schema.columns), 200)}, got {shown(new[0])} too: "
            "learner.extra = 'ignore' leaves out what the learner does not know"
        )
    grown = list(features)
    array = np.full((1, len(features)), MISSING)
    for text, places in schema.texts.items():
        array[0, places] = hashed_texts([x.get(text.column)], text)[0]
    for i, feature in enumerate(features):
        if feature.text is not None:
            continue
        v = x.get(feature.name)
        if v is None:
            if not missing and feature.name not in x:
                raise ValueError(f"x must have every feature for this learner, it lacks {feature.name!r}")
            continue
        if feature.values is not None and isinstance(v, (str, int, float, np.generic)):
            plain = v.item() if isinstance(v, np.generic) else str(v) if isinstance(v, str) else v
            if plain == plain:
                codes, grown[i] = nominal_codes([plain], feature, learning)
                array[0, i] = codes[0]
            continue
        if feature.time:
            array[0, i] = _moment(v, feature.name)
            continue
        try:
            array[0, i] = number(v)
        except UNREADABLE:
            raise TypeError(f"x must hold a number for feature {feature.name!r}, got {shown(v)}") from None
    if len(grown) != len(schema.features) or any(a is not b for a, b in zip(grown, schema.features, strict=False)):
        schema = structs.replace(schema, features=tuple(grown))
    return array, schema


def _moment(v: Any, name: str) -> float:
    try:
        return stamp(v, f"feature {name!r}")
    except ValueError as error:
        raise ValueError(f"x {error}") from None


def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"x must have feature names that are text, got {shown(key)}")
    refuse_unwritable("x", [str(key)])
    return str(key)


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


def _check_values(array: NDArray[np.float64], schema: Schema, missing: bool, learning: bool) -> None:
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
