"""Dates and times as seconds since 1970; without a time zone they are those of UTC."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.params import shown

FORM = "seconds, or a date or time such as 2020-01-31 12:30:59,"


def stamp(value: Any, where: str) -> float:
    """Turn a number, a date or a time, also in text, into seconds; what is missing into NaN.

    The sentence about anything else has no subject; where: what it is in.

    >>> stamp("1970-01-02", "field 'day'"), stamp("1970-01-01T02:00:01+01:00", "field 'day'"), stamp(5, "field 'day'")
    (86400.0, 3601.0, 5.0)
    """
    if value is None or value != value:
        return float("nan")
    try:
        if isinstance(value, np.datetime64):
            return float(value.astype("M8[us]").astype(np.int64)) / 1e6
        if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
            return float(value)
        moment = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
        if isinstance(moment, date) and not isinstance(moment, datetime):
            moment = datetime(moment.year, moment.month, moment.day)
        if isinstance(moment, datetime):
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"must have {FORM} in {where}, got {shown(value, 60)}")


def time_column(column: Any, name: str) -> NDArray[np.float64]:
    """Turn an Arrow column of numbers, dates, times or text into seconds; missing values into NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = pc.cast(column, kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        try:
            return np.array([stamp(v, f"column {name!r}") for v in column.to_pylist()], dtype=np.float64)
        except ValueError as error:
            raise ValueError(f"X {error}") from None
    scale = 1.0
    if pa.types.is_date(kind):
        column = pc.cast(column, pa.timestamp("s"))
    elif pa.types.is_timestamp(kind):
        scale = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
    elif pa.types.is_time(kind):
        column, scale = pc.cast(pc.cast(column, pa.time64("ns")), pa.int64()), 1e9
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise TypeError(f"X must have {FORM} in column {name!r}, got {kind}")
    if pa.types.is_temporal(column.type):
        column = pc.cast(column, pa.int64())
    return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64) / scale
