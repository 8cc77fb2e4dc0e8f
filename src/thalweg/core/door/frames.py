"""Frames: pandas, polars and Arrow, all through Arrow."""

from typing import Any, NoReturn

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from thalweg.core.door.arrays import MISSING, WHAT
from thalweg.core.door.nominal import nominal_codes
from thalweg.core.door.texts import hashed_texts
from thalweg.core.door.times import time_column
from thalweg.core.params import shown
from thalweg.core.readings import NONE, Readings
from thalweg.core.schema import Feature, Schema


def is_frame(X: Any) -> bool:
    """Can Arrow read it as a table?"""
    return (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")) and not isinstance(X, type)


def named_record(x: Any) -> Any:
    """Give one record by name, where it has names: a pandas Series, or a frame of one row; else give it back.

    >>> import pandas as pd
    >>> named_record(pd.Series({"sky": "clear", "degrees": 21}))
    {'sky': 'clear', 'degrees': 21}
    """
    if type(x) is dict or type(x) is np.ndarray or isinstance(x, type):
        return x
    if hasattr(x, "iloc") and getattr(x, "ndim", 0) == 1:
        named = x.index.dtype == object or str(x.index.dtype).startswith(("str", "string"))
        return x.to_dict() if named else x.to_numpy()
    if is_frame(x) and len(getattr(x, "shape", ())) == 2:
        table = arrow_table(x)
        if table.num_rows != 1:
            raise ValueError(f"x must be one record, got a frame of {table.num_rows} rows")
        return table.to_pylist()[0]
    return x


def from_frame(
    X: Any, schema: Schema | None, learning: bool, readings: Readings = NONE
) -> tuple[NDArray[np.float64], Schema]:
    """Read a frame column by column, by name; text and categories become codes of a nominal feature.

    In an open schema an absent column is missing, and a new one joins when learning, as with dicts.
    Values are not checked here; ``rows`` does that for what goes to a learner.
    """
    table = arrow_table(X)
    names = set(table.column_names)
    if schema is None:
        schema = _join(Schema(()), table, readings)
    elif schema.open:
        schema = _join(schema, table, readings) if learning else schema
    elif names != set(schema.columns) and not (schema.extra == "ignore" and names.issuperset(schema.columns)):
        _explain_columns(table.column_names, schema.columns)
    array = np.full((table.num_rows, schema.n_features), MISSING)
    grown = list(schema.features)
    for i, feature in enumerate(schema.features):
        if feature.name not in names:
            continue
        column = table.column(feature.name)
        if feature.time:
            array[:, i] = time_column(column, feature.name)
        elif feature.values is None:
            array[:, i] = _numeric_column(column, feature.name)
        else:  # a frame holds values; codes are for arrays
            array[:, i], grown[i] = _nominal_column(column, feature, learning)
    for text, places in schema.texts.items():
        found = table.column(text.column).to_pylist() if text.column in names else [None] * table.num_rows
        array[:, places] = hashed_texts(found, text)
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
    except Exception:  # the code of someone else's frame or values runs here, and may raise whatever it likes
        _explain_frame(X)
    _refuse_twins(table.column_names)
    for i, field in enumerate(table.schema):
        if str(field.type) == "string_view":  # what polars has; Arrow itself can do little with it
            table = table.set_column(i, field.name, table.column(i).cast(pa.large_string()))
    return table


def taken(table: Any, rows: NDArray[np.int64]) -> Any:
    """Give some rows of a table. A column that Arrow cannot take rows from is one that we cannot read."""
    import pyarrow as pa

    try:
        return table.take(rows)
    except pa.ArrowException:
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
        except Exception:  # as above
            example = f", such as {shown(column.iloc[0])}" if len(column) else ""
            raise TypeError(
                f"X must hold numbers or text, got {column.dtype} in column {shown(name)}{example}: "
                "convert it to one of them"
            ) from None
    raise TypeError(f"{WHAT}, got {type(X).__name__}")


def _join(schema: Schema, table: Any, readings: Readings) -> Schema:
    """Add the columns that the schema does not have yet."""
    import pyarrow.types as t

    known = set(schema.columns)
    new: list[Feature] = []
    for field in table.schema:
        if field.name not in known:
            text = is_text(field.type)
            usual = Feature(field.name, values=() if text else None, open=text)
            new += readings.features(field.name, usual, dated=t.is_date(field.type) or t.is_timestamp(field.type))
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
        return np.full(len(column), MISSING)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
        way = (
            f" (DateParts({name!r}) in a pipeline makes numbers of it)"
            if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)
            else ""
        )
        raise _neither(column.type, name, f"a number{way}")
    return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _neither(kind: Any, name: str, wanted: str) -> TypeError:
    return TypeError(f"X must hold numbers or text, got {kind} in column {name!r}: convert it to {wanted}")


def _nominal_column(column: Any, feature: Feature, learning: bool) -> tuple[NDArray[np.float64], Feature]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_null(kind.value_type if pa.types.is_dictionary(kind) else kind):
        return np.full(len(column), MISSING), feature
    try:
        column = column if pa.types.is_dictionary(kind) else pc.dictionary_encode(column)
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    except pa.ArrowException:  # lists, records
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
    table = np.array([lookup.get(w, MISSING) for w in words] + [MISSING])
    return table[indices], feature


def _explain_columns(got: list[str], want: tuple[str, ...]) -> NoReturn:
    """Say in what the columns differ."""
    lost = [n for n in want if n not in got]
    extra = [n for n in got if n not in want]
    what = [f"lacks {shown(lost)}"] if lost else []
    if extra:
        what.append(f"has {shown(extra)} in addition")
    way = "" if lost else ": learner.extra = 'ignore' leaves it out"
    raise ValueError(f"X must have the columns of the first chunk: it {' and '.join(what)}{way}")
