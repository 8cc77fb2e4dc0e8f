"""The one door for inputs: whatever people hold becomes C-contiguous float64 rows, or one clear sentence.

Nothing behind the door checks again, and nothing is learned before the whole input has passed.
"""

import math
import numbers
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from thalweg.core.door_jit import first_bad, first_bad_entry
from thalweg.core.params import shown
from thalweg.core.schema import Feature, Schema, refuse_unwritable

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Rows: TypeAlias = "Floats | csr_array"
"""What the door hands on: C-contiguous float64 rows; to a learner that takes them also sparse ones, in one form only:
float64 data, int64 indices and indptr, of each row the non-zero values in the order of their features."""

_MISSING = float("nan")
_PLAIN = frozenset({float, int, bool, np.bool_, np.float64, np.float32, np.int64, np.int32, np.int8, np.uint8})
_WHAT = "X must be rows of numbers (an array, a frame, an Arrow table)"
MOST_MODES = 32
"""How many indices a value of a tensor may have."""
HEAVIEST = 1e100
"""The largest weight of a row: sums of larger ones would overflow."""


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
        schema = _agree(made, schema)
    if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2:
        array = X if X.flags.c_contiguous and X.flags.writeable else np.array(X, order="C")
    elif _is_frame(X):
        table = arrow_table(X)
        if learned is not None and learned.max(initial=-1) < table.num_rows:
            _, schema = from_frame(_taken(table, learned), schema, learning)
            learning = False
        array, schema = from_frame(table, schema, learning)
    elif sparse and is_sparse(X):
        _refuse_shape(X)
        schema = _refuse_width(X.shape, schema)
        return sparse_rows(X, schema), schema
    else:
        array = _from_anything(X)
        if array.ndim > 2:
            array, schema = _from_tensors(array, schema, evolving, learning)
    schema = _refuse_width(array.shape, schema)
    check_values(array, schema, missing, learning)
    return array, schema


def _from_tensors(
    tensors: NDArray[np.float64], schema: Schema | None, evolving: bool, learning: bool
) -> tuple[Floats, Schema]:
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
    return rows, _agree(Schema.tensor(shape), schema)


def _agree(made: Schema, schema: Schema | None) -> Schema:
    """Refuse tensors of another shape or form than the schema's; a schema of plain rows only counts values."""
    if schema is None:
        return made
    if schema.shape is not None and schema.shape != made.shape:
        raise ValueError(f"X must hold tensors of shape {schema.shape}, got tensors of shape {made.shape}")
    if schema.shape is not None and schema.rank != made.rank:
        want, got = (f"factors of rank {s.rank}" if s.rank else "all values" for s in (schema, made))
        raise ValueError(f"X must hold tensors given by {want}, as in the first chunk, got {got}")
    return schema


def _refuse_width(shape: tuple[int, ...], schema: Schema | None) -> Schema:
    """Refuse rows that are not as wide as the schema; None: they make one."""
    if schema is None:
        schema = Schema.numeric(shape[1])
    if not shape[1] and not schema.open:
        raise ValueError(f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[1] != schema.n_features:
        raise ValueError(
            f"X has {shape[1]} features, but thalweg is expecting {schema.n_features} features as input, "
            "as many as its first chunk had"
        )
    return schema


def _refuse_shape(X: Any, *, tensors: bool = False) -> None:
    if len(X.shape) != 2 and not (tensors and len(X.shape) > 2):
        raise ValueError(
            f"X must have two dimensions (rows × features), got {len(X.shape)}. "
            "Reshape your data: X.reshape(1, -1) is a single row"
        )


def check_values(array: Floats, schema: Schema, missing: bool, learning: bool) -> None:
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


def one_row(
    x: Any, schema: Schema | None, *, missing: bool, learning: bool, sparse: bool = False, evolving: bool = False,
    tensors: bool = False,
) -> tuple[Rows, Schema]:  # fmt: skip
    """Turn a dict or a 1-D row into one row of the schema; where ``sparse``, also a sparse matrix of one row.

    tensors: is an array of several dimensions one tensor? It is also where the schema has a shape.
    """
    if type(x) is dict or isinstance(x, Mapping):
        array, schema = _from_mapping(x, schema, missing, learning)
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
        array = x if isinstance(x, np.ndarray) else np.asarray(x)
    except Exception:
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


def weights(w: Any, n: int) -> NDArray[np.float64]:
    """Turn sample weights into n numbers ≥ 0; None: all 1."""
    if w is None:
        return np.ones(n)
    array = np.full(n, w) if type(w) is float else _weights(w, n)
    if array.shape != (n,):
        raise ValueError(f"sample_weight must have one number for each of the {n} rows, got shape {array.shape}")
    good = (array >= 0.0) & (array <= HEAVIEST)
    if not good.all():
        i = int(np.argmin(good))
        raise ValueError(
            f"sample_weight must hold finite numbers ≥ 0 (and at most {HEAVIEST:g}), got {array[i]} at index {i}"
        )
    return array


def _weights(w: Any, n: int) -> NDArray[np.float64]:
    try:
        given = _unmasked(w) if isinstance(w, np.ma.MaskedArray) else np.asarray(w)
        if given.dtype.kind not in "biufO":
            raise TypeError
        array = _floats(given)
    except Exception:
        raise TypeError(f"sample_weight must hold numbers, got {shown(w)}") from None
    return array if array.ndim else np.full(n, float(array))


def _from_anything(X: Any) -> Floats:
    if is_sparse(X):
        raise TypeError("X must be dense for this learner, got a sparse matrix: pass X.toarray()")
    if isinstance(X, (str, bytes, Mapping)) or X is None:
        raise TypeError(f"{_WHAT}, got {'None' if X is None else type(X).__name__}")
    try:
        array = _unmasked(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    except ValueError:
        raise ValueError("X must have rows of one width, got rows of different widths") from None
    except Exception:  # whatever someone else's container raises
        array = np.array(None)
    if array.ndim == 0 and array.dtype.kind == "O":
        raise TypeError(f"{_WHAT}, got {shown(X)}")
    if array.dtype.kind == "c":
        raise ValueError(f"X must hold real numbers, got Complex data not supported ({array.dtype})")
    if array.dtype.kind not in "biuf":
        if array.dtype.kind != "O":
            raise ValueError(f"X must hold numbers, got {array.dtype} (for nominal values pass a frame or codes)")
        array = _numbers(array)
    _refuse_shape(array, tensors=True)
    return _floats(array)


def _floats(array: NDArray[Any]) -> NDArray[np.float64]:
    """Copy to float64; what is too large for it becomes infinite, and is refused as such."""
    with np.errstate(over="ignore"):
        return np.array(array, dtype=np.float64, order="C")


def _unmasked(array: Any) -> NDArray[Any]:
    """A masked value is a missing value."""
    if not np.ma.is_masked(array):
        return np.asarray(array)
    plain = np.array(array.data, dtype=object if array.dtype.kind == "O" else np.float64)
    plain[np.ma.getmaskarray(array)] = _MISSING
    return plain


def _numbers(array: NDArray[Any]) -> NDArray[np.float64]:
    """Read numbers, texts that read as numbers, and None for missing, one by one."""
    numbers = np.empty(array.size)
    for i, v in enumerate(array.ravel()):
        try:
            numbers[i] = _MISSING if v is None else float(v) if isinstance(v, str) else _number(v)
        except OverflowError:
            raise ValueError(f"X must hold numbers that float64 can hold, got {shown(v)}") from None
        except Exception:
            way = ": a dict goes to learn_one, many to a frame, pandas.DataFrame(rows)" * isinstance(v, dict)
            raise TypeError(
                "X must hold numbers (an argument must be a string that reads as a number, or a number), "
                f"got {shown(v)}{way}"
            ) from None
    return numbers.reshape(array.shape)


def _number(v: Any) -> float:
    if isinstance(v, (numbers.Real, np.bool_, Decimal)) and not isinstance(v, np.timedelta64):
        return float(v)
    raise TypeError


# -- sparse rows ------------------------------------------------------------------------------------------------------


def is_sparse(X: Any) -> bool:
    """Is it a sparse matrix or array of SciPy?"""
    return hasattr(X, "tocsr") and not isinstance(X, type)


def sparse_rows(X: Any, schema: Schema) -> "csr_array":
    """Give a sparse X, as wide as the schema, in the form of ``Rows``; X itself is not changed.

    Values that are written down though they are 0 are left out. Refused are infinities, NaN (what is absent is 0, so
    nothing can be missing), a feature that a row has twice, and indices beyond the width.
    """
    from scipy.sparse import csr_array

    if schema.nominal_codes:
        nominal = schema.features[next(iter(schema.nominal_codes))].name
        raise ValueError(f"X must be dense where a feature is nominal, as {nominal!r} is, got a sparse matrix")
    if X.dtype.kind == "c":
        raise ValueError(f"X must hold real numbers, got Complex data not supported ({X.dtype})")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers, got a sparse matrix of {X.dtype}")
    _refuse_broken(X)
    made = X if X.format == "csr" else X.tocsr()
    if X.format == "coo" and made.nnz != X.nnz:
        raise ValueError("X must hold each feature of a row once, got a sparse matrix with duplicate indices")
    n, d = made.shape
    indptr = made.indptr.astype(np.int64, copy=False)
    size = int(indptr[-1])
    with np.errstate(over="ignore"):
        data = np.ascontiguousarray(made.data[:size], dtype=np.float64)
    indices = np.ascontiguousarray(made.indices[:size], dtype=np.int64)
    bad, unsorted, zeros = first_bad_entry(data, indices, indptr)
    if unsorted:
        order = np.lexsort((indices, np.repeat(np.arange(n), np.diff(indptr))))
        data, indices = data[order], indices[order]
        bad, _, zeros = first_bad_entry(data, indices, indptr)
    if bad >= 0:
        row = int(np.searchsorted(indptr, bad, side="right")) - 1
        feature, v = schema.features[indices[bad]].name, data[bad]
        if np.isinf(v):
            raise ValueError(f"X must be finite (no infinity), got {v} in row {row}, feature {feature!r}")
        if np.isnan(v):
            raise ValueError(
                f"X must hold no missing value (NaN) where it is sparse, got {v} in row {row}, feature {feature!r}"
            )
        raise ValueError(
            "X must hold each feature of a row once, got a sparse matrix with duplicate indices in "
            f"row {row}, feature {feature!r}"
        )
    if zeros:
        stored = data != 0.0
        before = np.concatenate([[0], np.cumsum(stored)])
        data, indices, indptr = data[stored], indices[stored], before[indptr]
    rows = csr_array((n, d))
    rows.data, rows.indices, rows.indptr = data, indices, np.ascontiguousarray(indptr)
    rows.has_sorted_indices = rows.has_canonical_format = True
    return rows


def take_rows(X: Rows, which: NDArray[np.int64]) -> Rows:
    """Give some of the rows that the door handed on, in the same form."""
    if isinstance(X, np.ndarray):
        return X.take(which, axis=0)
    from scipy.sparse import csr_array

    starts = X.indptr[which]
    ends = np.concatenate([[0], np.cumsum(X.indptr[which + 1] - starts)])
    at = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], np.diff(ends))
    rows = csr_array((len(which), X.shape[1]))
    rows.data, rows.indices, rows.indptr = X.data[at], X.indices[at], ends
    rows.has_sorted_indices = rows.has_canonical_format = True
    return rows


def _refuse_broken(X: Any) -> None:
    """Refuse compressed rows or columns that do not fit together: to read them would reach beyond their arrays."""
    if X.format not in ("csr", "csc", "bsr"):
        return
    indptr, indices = X.indptr, X.indices
    blocks = X.blocksize if X.format == "bsr" else (1, 1)
    outer, inner = (X.shape[i] // blocks[i] for i in ((1, 0) if X.format == "csc" else (0, 1)))
    whole = len(indptr) == outer + 1 and indptr[0] == 0 and not (np.diff(indptr) < 0).any()
    if not whole or indptr[-1] > min(len(indices), len(X.data)):
        raise ValueError(f"X must be a sound sparse matrix, got one whose indptr does not fit its {outer} rows")
    used = indices[: indptr[-1]]
    if used.min(initial=0) < 0 or used.max(initial=0) >= max(inner, 1):
        worst = used.min() if used.min() < 0 else used.max()
        raise ValueError(f"X must have indices from 0 and below {inner}, got a sparse matrix with the index {worst}")


# -- frames: pandas, polars, Arrow, all through Arrow ---------------------------------------------------------------


def _is_frame(X: Any) -> bool:
    return (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")) and not isinstance(X, type)


def from_frame(X: Any, schema: Schema | None, learning: bool) -> tuple[Floats, Schema]:
    """Read a frame column by column, by name; text and categories become codes of a nominal feature.

    In an open schema an absent column is missing, and a new one joins when learning, as with dicts.
    Values are not checked here; ``rows`` does that for what goes to a learner.
    """
    table = arrow_table(X)
    names = set(table.column_names)
    if schema is None:
        schema = _join(Schema(()), table)
    elif schema.open:
        schema = _join(schema, table) if learning else schema
    elif names != set(schema.names):
        _explain_columns(table.column_names, schema.names)
    array = np.full((table.num_rows, schema.n_features), _MISSING)
    grown = list(schema.features)
    for i, feature in enumerate(schema.features):
        if feature.name not in names:
            continue
        column = table.column(feature.name)
        if feature.values is None:
            array[:, i] = _numeric_column(column, feature.name)
        else:  # a frame holds values; codes are for arrays
            array[:, i], grown[i] = _nominal_column(column, feature, learning)
    if any(a is not b for a, b in zip(grown, schema.features, strict=True)):
        schema = structs.replace(schema, features=tuple(grown))
    return array, schema


def arrow_table(X: Any) -> Any:
    """Turn a frame into an Arrow table."""
    import pyarrow as pa

    if len(shape := getattr(X, "shape", (0, 0))) != 2:
        raise ValueError(f"X must have two dimensions (rows × features), got {len(shape)}: a {type(X).__name__}")
    pandas = hasattr(X, "iloc")
    if pandas:
        _refuse_twins(list(X.columns))
    try:
        if isinstance(X, pa.RecordBatch):
            table = pa.Table.from_batches([X])
        else:
            table = pa.Table.from_pandas(X, preserve_index=False) if pandas else pa.table(X)
    except Exception:  # Arrow has many of its own
        _explain_frame(X)
    _refuse_twins(table.column_names)
    for i, field in enumerate(table.schema):
        if str(field.type) == "string_view":  # what polars has; Arrow itself can do little with it
            table = table.set_column(i, field.name, table.column(i).cast(pa.large_string()))
    return table


def _taken(table: Any, rows: NDArray[np.int64]) -> Any:
    """Give some rows of a table. A column that Arrow cannot take rows from is one that we cannot read."""
    try:
        return table.take(rows)
    except Exception:
        from_frame(table, None, learning=False)  # says which column it is
        raise


def _refuse_twins(names: list[Any]) -> None:
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise ValueError(f"X must have columns of different names, {shown(twice)} appears more than once")


def _explain_frame(X: Any) -> NoReturn:
    """Say which column cannot be read."""
    import pyarrow as pa

    for i, name in enumerate(X.columns if hasattr(X, "iloc") else ()):
        column = X.iloc[:, i]
        try:
            pa.array(column, from_pandas=True)
        except Exception:
            example = f", such as {shown(column.iloc[0])}" if len(column) else ""
            raise TypeError(
                f"X must hold numbers or text, got {column.dtype} in column {shown(name)}{example}: "
                "convert it to one of them"
            ) from None
    raise TypeError(f"{_WHAT}, got {type(X).__name__}")


def _join(schema: Schema, table: Any) -> Schema:
    """Add the columns that the schema does not have yet."""
    known = set(schema.names)
    new = [
        Feature(field.name, values=(), open=True) if is_text(field.type) else Feature(field.name)
        for field in table.schema
        if field.name not in known
    ]
    return structs.replace(schema, features=(*schema.features, *new)) if new else schema


def is_text(kind: Any) -> bool:
    """Does an Arrow column of this type hold the values of a nominal feature?"""
    import pyarrow.types as t

    return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_dictionary(kind) or "string_view" in str(kind))


def _numeric_column(column: Any, name: str) -> NDArray[np.float64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.int8())
    if pa.types.is_null(column.type):
        return np.full(len(column), _MISSING)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
        raise _neither(column.type, name, "a number")
    return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _neither(kind: Any, name: str, wanted: str) -> TypeError:
    return TypeError(f"X must hold numbers or text, got {kind} in column {name!r}: convert it to {wanted}")


def _nominal_column(column: Any, feature: Feature, learning: bool) -> tuple[NDArray[np.float64], Feature]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_null(kind.value_type if pa.types.is_dictionary(kind) else kind):
        return np.full(len(column), _MISSING), feature
    try:
        column = column if pa.types.is_dictionary(kind) else pc.dictionary_encode(column)
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    except Exception:  # lists, records
        raise _neither(kind, feature.name, "text") from None
    if isinstance(column, pa.ChunkedArray):  # no rows at all
        return np.zeros(0), feature
    words = column.dictionary.to_pylist()
    if not {type(w) for w in words} <= {str, int, float, bool, type(None)}:
        raise _neither(kind, feature.name, "text")
    indices = pc.fill_null(pc.cast(column.indices, pa.int64()), -1).to_numpy(zero_copy_only=False)
    # New values are admitted in the order of the rows, not of the dictionary: chunk sizes must not matter.
    first = [words[i] for i in dict.fromkeys(indices[indices >= 0].tolist())]
    first = [w for w in first if w is not None and w == w]
    codes, feature = nominal_codes(first, feature, learning)
    lookup = {w: float(c) for w, c in zip(first, codes, strict=True)}
    table = np.array([lookup.get(w, _MISSING) for w in words] + [_MISSING])
    return table[indices], feature


def nominal_codes(values: list[Any], feature: Feature, learning: bool) -> tuple[list[int], Feature]:
    """Give each value its code; unseen ones join an open feature when learning, else get the code "unseen"."""
    known = feature.codes
    new = [v for v in dict.fromkeys(values) if v not in known]
    if new and known and isinstance(new[0], str) != isinstance(next(iter(known)), str):
        kind = "numbers" if isinstance(new[0], str) else "text"
        raise TypeError(f"feature {feature.name!r} must hold its values, which are {kind}, got {shown(new[0])}")
    if new and not feature.open:
        raise ValueError(
            f"feature {feature.name!r} must be one of {shown(list(feature.values or ()), 200)}, got {shown(new[0])}"
        )
    if new and learning:
        refuse_unwritable(f"feature {feature.name!r}", new)
        feature = Feature(feature.name, (*(feature.values or ()), *new), open=True)
        known = feature.codes
    unseen = len(known)
    return [known.get(v, unseen) for v in values], feature


def _explain_columns(got: list[str], want: tuple[str, ...]) -> None:
    lost = [n for n in want if n not in got]
    extra = [n for n in got if n not in want]
    parts = [f"lacks {shown(lost)}"] * bool(lost) + [f"has {shown(extra)} too much"] * bool(extra)
    raise ValueError(f"X must have the columns of the first chunk: it {' and '.join(parts)}")


# -- dicts ------------------------------------------------------------------------------------------------------------


def _from_mapping(x: Mapping[Any, Any], schema: Schema | None, missing: bool, learning: bool) -> tuple[Floats, Schema]:
    """Read one record by name. An absent feature is missing; a new one joins when learning and nothing was declared."""
    if schema is None:
        schema = Schema((), open=True)
    features = schema.features
    if len(x) == len(features):  # the usual case, fast
        values: list[Any] = [*map(x.get, schema.names)]
        for i, known in schema.nominal_codes.items():
            try:
                values[i] = known.get(values[i])
            except Exception:  # it cannot be hashed
                pass
        if _PLAIN.issuperset(map(type, values)):
            try:
                return np.array([values], dtype=np.float64).reshape(1, len(features)), schema
            except OverflowError:
                pass  # the careful way below says what is wrong
    new = [k for k in x if k not in schema.names]
    if new and learning and schema.open:
        features += tuple(
            Feature(_name(k), values=(), open=True) if isinstance(x[k], str) else Feature(_name(k)) for k in new
        )
    elif new and not schema.open:
        raise ValueError(f"x must have the features {shown(list(schema.names), 200)}, got {shown(new[0])} too")
    grown = list(features)
    array = np.full((1, len(features)), _MISSING)
    for i, feature in enumerate(features):
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
        try:
            array[0, i] = _number(v)
        except Exception:
            raise TypeError(f"x must hold a number for feature {feature.name!r}, got {shown(v)}") from None
    if len(grown) != len(schema.features) or any(a is not b for a, b in zip(grown, schema.features, strict=False)):
        schema = structs.replace(schema, features=tuple(grown))
    return array, schema


def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"x must have feature names that are text, got {shown(key)}")
    refuse_unwritable("x", [str(key)])
    return str(key)
