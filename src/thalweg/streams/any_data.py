"""A stream from whatever holds records: a stream, its name, a file, a frame, arrays, or an iterable."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from thalweg.core import door
from thalweg.core.params import shown
from thalweg.core.protocols import Stream
from thalweg.core.readings import NONE, Readings
from thalweg.registry.typed import is_file, open_stream
from thalweg.streams.files.columns import Columns
from thalweg.streams.iterable import IterableStream
from thalweg.streams.memory import ArrayStream

_WAYS = (
    "a stream, the name of one or of a file, a frame or records (dicts) with target=, (X, y), or an iterable of "
    "(record, label) pairs"
)


def as_stream(
    data: Any, target: str | None = None, *, name: str = "stream", readings: Readings = NONE, **options: Any
) -> Stream:
    """Make a stream of what holds records with labels; a stream stays what it is.

    Parameters
    ----------
    data : object
        A stream, the name of one or of a file, a frame (pandas, polars, Arrow), a pair of rows and labels, dicts that
        have the label among their fields, or pairs of a record and its label. What comes once is read once.
    target : str | None
        The column, or field, with the labels; None: pairs have them apart, and ``class`` is the column of a file.
    name : str
        What to call the argument in a message.
    readings : Readings
        How a pipeline wants columns with dates or text to be read; a stream has been read already.
    options
        How a file or frame is read: ``drop``, ``nominal``, ``time``, …

    Examples
    --------
    >>> as_stream([{"sky": "clear", "play": "yes"}, {"sky": "rain", "play": "no"}], target="play").take(2).y.tolist()
    ['yes', 'no']
    """
    if is_stream(data):
        _refuse(f"{name} is a stream, which says itself", target, options)
        return data  # type: ignore[no-any-return]
    if isinstance(data, (str, os.PathLike)):
        text = os.fspath(data)
        if readings and (text[:1] == "-" or is_file(text)):
            options = {"readings": readings} | options
        return open_stream(text, target=target, **options)
    if readings:
        options = {"readings": readings} | options
    if isinstance(data, tuple) and len(data) == 2 and target is None and not _is_pair(data[0]):
        return ArrayStream(*data, **options)
    if is_table(data):
        return _of_frame(data, target, name, options)
    if isinstance(data, (bytes, Mapping, type, np.ndarray)) or not isinstance(data, Iterable):
        raise TypeError(f"{name} must be {_WAYS}, got {shown(data)}")
    drop = options.pop("drop", ())
    if target is None and not drop:
        return IterableStream(data, **options)
    parted = _Parted(data, target, drop, name)
    return IterableStream(iter(parted) if iter(data) is data else parted, **options)


def is_stream(data: Any) -> bool:
    """Is it a stream already?"""
    return callable(getattr(data, "read", None)) and hasattr(data, "schema") and not isinstance(data, type)


def _is_pair(first: Any) -> bool:
    return isinstance(first, (tuple, list)) and len(first) == 2 and isinstance(first[0], Mapping)


def is_table(data: Any) -> bool:
    """Is it a frame with rows and named columns?"""
    arrow = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    return arrow and not isinstance(data, type) and len(getattr(data, "shape", (0, 0))) == 2


def _refuse(why: str, target: Any, options: Mapping[str, Any]) -> None:
    given = (["target"] if target is not None else []) + list(options)
    if given:
        raise ValueError(f"{given[0]} must not be given here: {why} what it holds")


def _of_frame(frame: Any, target: str | None, name: str, options: dict[str, Any]) -> ArrayStream:
    table = door.arrow_table(frame)
    names = table.column_names
    target = "class" if target is None and "class" in names else target
    if target is None:
        raise ValueError(f"target must name the column of {name} with the labels, one of {shown(names, 200)}, got None")
    own = {"time", "label_time", "drop", "nominal", "schema", "readings"}
    how = {key: options.pop(key) for key in own & options.keys()}
    columns = Columns(name, dict(zip(names, table.schema.types, strict=True)), target=target, **how)
    chunk = columns.chunk(table, 0)
    stream = ArrayStream(
        chunk.X, chunk.y, schema=columns.schema, time=chunk.time, label_time=chunk.label_time, **options
    )
    stream.booleans, stream.target = columns.booleans, target
    stream.nominal = how.get("nominal", ())
    return stream


class _Parted:
    """Records with their labels taken out of them; can be read as often as the records can."""

    def __init__(self, records: Iterable[Any], target: str | None, drop: Iterable[str], name: str) -> None:
        self._records, self._target, self._drop, self._name = records, target, tuple(drop), name

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for i, record in enumerate(self._records):
            label = None
            if self._target is None:
                record, label = record
            if not isinstance(record, Mapping):
                raise TypeError(f"record {i} of {self._name} must be a dict, as target is given, got {shown(record)}")
            if self._target is not None:
                label = record.get(self._target)
            yield {k: v for k, v in record.items() if k != self._target and k not in self._drop}, label
