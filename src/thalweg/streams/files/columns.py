"""What each column of a table is for: target, time, feature or nothing; and how a table becomes a chunk."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core import door
from thalweg.core.chunk import Chunk
from thalweg.core.labels import sequence
from thalweg.core.params import shown
from thalweg.core.readings import NONE, Readings
from thalweg.core.schema import Feature, Schema

INDEX = "__index_level_0__"  # what pandas calls the index of a frame in Parquet


class ColumnError(ValueError):
    """A column that a table does not have, or that cannot be read as it is."""

    def __init__(self, message: str, *, argument: str = "", columns: Collection[str] = (), dates: str = "") -> None:
        super().__init__(message)
        self.argument, self.columns, self.dates = argument, tuple(columns), dates
        """Which argument named no column; the columns that there are; the column that holds dates."""


class Columns:
    """The columns of one table by their use. Its schema grows as new values of nominal columns appear.

    >>> import pyarrow as pa
    >>> table = pa.table({"size": [1.5, 2.5], "colour": ["red", "blue"], "class": ["no", "yes"]})
    >>> columns = Columns("a table", dict(zip(table.column_names, table.schema.types)), target="class")
    >>> columns.chunk(table, 0).X.tolist()
    [[1.5, 0.0], [2.5, 1.0]]
    """

    def __init__(
        self,
        where: str,
        types: Mapping[str, Any],
        *,
        target: str,
        time: str | None = None,
        label_time: str | None = None,
        drop: Collection[str] = (),
        nominal: Collection[str] = (),
        schema: Schema | None = None,
        readings: Readings = NONE,
    ) -> None:
        refuse_schema("schema", schema)
        self.where, self.target, self.time, self.label_time = where, target, time, label_time
        named = {"target": target} | {k: v for k, v in (("time", time), ("label_time", label_time)) if v is not None}
        for argument, name in named.items():
            self._known(argument, name, types)
        for argument, names in (("drop", drop), ("nominal", nominal)):
            if isinstance(names, str):
                raise TypeError(f"{argument} must be a list of columns, got the text {shown(names)}")
            if not isinstance(names, Collection):
                raise TypeError(f"{argument} must be a list of columns, got {shown(names)}")
            for name in names:
                self._known(argument, name, types)
                if name in named.values() and (argument, name) != ("nominal", target):
                    raise ValueError(f"{argument} must not name {name!r}: it has another use")
        for argument, other in (("time", time), ("label_time", label_time)):
            if other == target:
                raise ValueError(f"{argument} must be another column than the target {target!r}")
        features = [n for n in types if n not in named.values() and n not in drop and n != INDEX]
        if not features:
            raise ValueError(f"{where} must have a feature: besides {listed(list(named.values()))} no column is left")
        if schema is None:
            text = {n: n in nominal or door.is_text(types[n]) for n in features}
            usual = (Feature(n, values=() if text[n] else None, open=text[n]) for n in features)
            schema = Schema(tuple(f for u in usual for f in readings.features(u.name, u, dated=_dated(types[u.name]))))
        elif set(schema.columns) != set(features):
            got = listed(schema.columns)
            raise ValueError(f"schema must have the features {listed(features)} of {where}, got {got}")
        self.schema, self.text_target = schema, target in nominal
        read = Readings.of(schema)
        self.booleans = tuple(
            f.name for f in schema.features if f.text is None and not f.nominal and str(types[f.name]) == "bool"
        )
        """The numeric features that hold true and false."""
        for name in (*schema.columns, target):
            if name not in read.times and all(name != text.column for text in read.texts):
                self._refuse_foreign(name, types[name])

    @property
    def used(self) -> list[str]:
        """The columns that have to be read."""
        extra = [self.target, self.time, self.label_time]
        return [*self.schema.columns, *dict.fromkeys(n for n in extra if n is not None)]

    @property
    def nominal(self) -> frozenset[str]:
        """The nominal features."""
        return frozenset(f.name for f in self.schema.features if f.nominal)

    def chunk(self, table: Any, first: int) -> Chunk:
        """Turn a table, whose first record is number ``first`` of the stream, into a chunk."""
        column = table.column(self.target)
        labels = label_array(column.cast("string") if self.text_target else column)
        if (bad := _first_missing(labels)) >= 0:
            raise ValueError(f"target {self.target!r} must have a label in every record of {self.where}, "
                             f"none in record {first + bad + 1}")  # fmt: skip
        rows = table.select(list(self.schema.columns))
        for i, name in enumerate(rows.column_names):
            if name in self.nominal and not door.is_text(rows.column(i).type):
                rows = rows.set_column(i, name, _as_values(rows.column(i)))
        X, self.schema = door.from_frame(rows, self.schema, learning=True)
        times = [None if n is None else seconds(table.column(n), f"column {n!r}") for n in (self.time, self.label_time)]
        return Chunk(X, labels, None, *times)

    def _known(self, argument: str, name: Any, types: Mapping[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{argument} must name a column, got {shown(name)}")
        if name not in types:
            raise ColumnError(
                f"{argument} must be one of the columns {listed(list(types))} of {self.where}, got {shown(name)}",
                argument=argument, columns=types,
            )  # fmt: skip

    def _refuse_foreign(self, name: str, kind: Any) -> None:
        import pyarrow.types as t

        as_text = name in self.nominal or (name == self.target and self.text_target)
        if door.is_text(kind) or (as_text and not t.is_nested(kind)):
            return
        if t.is_binary(kind) or t.is_large_binary(kind):
            raise ValueError(f"column {name!r} of {self.where} must hold numbers or text, got bytes that are not UTF-8")
        known = (t.is_integer, t.is_floating, t.is_decimal, t.is_boolean, t.is_null)
        if any(test(kind) for test in known):
            return
        dated = t.is_temporal(kind) and not t.is_duration(kind)
        ways = [] if t.is_nested(kind) else [f"read it as text by nominal=[{name!r}] (--nominal {name})"]
        if name != self.target:
            parts = f'use its parts by DateParts({name!r}) in a pipeline (--prep "date-parts({name})")'
            ways += [parts, f"name it as time={name!r} (--time {name})"] * dated
            ways += [f"leave it out by drop=[{name!r}] (--drop {name})"]
        what = "dates or times" if dated else kind
        advice = f": {', or '.join(ways)}" if ways else ""
        message = f"column {name!r} of {self.where} must hold numbers or text, got {what}{advice}"
        raise ColumnError(message, dates=name if dated and name != self.target else "")


def _dated(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(t.is_date(kind) or t.is_timestamp(kind))


def label_array(column: Any) -> NDArray[Any]:
    """Turn labels into an array of the user's own values; a missing label becomes None or NaN."""
    if not _is_arrow(column):
        array = sequence(column)
        kinds = {type(v) for v in array} if array.dtype == object else set()
        if kinds == {str} and any(v.endswith("\0") for v in array):  # an array of text would drop the zeros
            return array
        return np.array(array.tolist()) if kinds in ({str}, {int}, {float}, {bool}) else array
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    labels: NDArray[Any]
    if door.is_text(kind):
        column = column if pa.types.is_dictionary(kind) else pc.dictionary_encode(column)
        if isinstance(column, pa.ChunkedArray):
            column = column.unify_dictionaries().combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # no rows at all
            return np.empty(0, dtype=np.str_)
        words = np.array(column.dictionary.to_pylist() or [""])
        labels = words[pc.fill_null(column.indices, 0).to_numpy(zero_copy_only=False)]
        if column.null_count:
            labels = labels.astype(object)
            labels[np.asarray(column.is_null())] = None
    elif column.null_count:
        labels = np.array(column.to_pylist(), dtype=object)
    else:
        labels = np.asarray(column.to_numpy(zero_copy_only=False))
        labels = labels.astype(np.int64) if pa.types.is_integer(kind) else labels
    return labels


def seconds(times: Any, name: str = "time") -> NDArray[np.float64]:
    """Turn numbers, dates or times into seconds (dates and times since 1970); missing ones into NaN."""
    if _is_arrow(times):
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_date(times.type):
            times = pc.cast(times, pa.timestamp("s"))
        elif pa.types.is_time(times.type):
            times = pc.divide(pc.cast(pc.cast(times, pa.time64("ns")), pa.int64()), 1e9)
        times = times.to_numpy(zero_copy_only=False)
    try:
        array = np.asarray(times.to_numpy() if hasattr(times, "to_numpy") else times)
    except Exception:  # lists of different lengths, or someone else's container
        array = np.empty(0, dtype=object)
    if array.dtype.kind == "M":
        unknown = np.isnat(array)
        fine = np.datetime_data(array.dtype)[0] in ("ns", "ps", "fs", "as")  # in nanoseconds centuries do not fit
        array = array.astype("M8[ns]").astype(np.int64) / 1e9 if fine else array.astype("M8[us]").astype(np.int64) / 1e6
        array[unknown] = np.nan
    if array.dtype.kind not in "biuf" or array.ndim != 1 or np.ma.is_masked(times):
        raise TypeError(f"{name} must hold numbers, dates or times, one for each record, got {shown(times)}")
    with np.errstate(over="ignore"):
        return array.astype(np.float64)


def refuse_schema(name: str, schema: Any) -> None:
    """Refuse anything but a Schema or None."""
    if schema is not None and not isinstance(schema, Schema):
        raise TypeError(f"{name} must be a Schema or None, got {shown(schema)}")


def _is_arrow(column: Any) -> bool:
    return type(column).__module__.partition(".")[0] == "pyarrow"


def _as_values(column: Any) -> Any:
    """Encode a column of numbers as nominal; what is neither number nor text (dates) is written as text first."""
    import pyarrow.types as t

    plain = t.is_integer(column.type) or t.is_floating(column.type) or t.is_boolean(column.type)
    return (column if plain else column.cast("string")).dictionary_encode()


def _first_missing(labels: NDArray[Any]) -> int:
    if labels.dtype.kind == "f":
        missing = np.isnan(labels)
    elif labels.dtype.kind == "O":
        missing = np.array([v is None or v != v for v in labels], dtype=bool)
    else:
        return -1
    return int(np.argmax(missing)) if missing.any() else -1


def listed(names: Collection[str], most: int = 10) -> str:
    """Write the names of columns for a sentence."""
    text = ", ".join(shown(n, 30) for n in list(names)[:most])
    return text if len(names) <= most else f"{text}, … ({len(names)} in all)"
