"""Arrow IPC as requests bring it and as answers go back: limits before anything is unpacked, and no detours.

A stream says of every buffer where it lies and, where it is packed, how long it is unpacked. These sizes are added up
before Arrow makes anything of them: a small body can declare gigabytes, packed or by letting columns share their bytes.
"""

import struct
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.serve.jobs import Given

Floats = NDArray[np.float64]
MESSAGES = 1_000
"""Messages of a stream: each batch has its dictionaries checked again."""
LONGEST = 4_000
"""Bytes of a text in a column: a few long ones in a dictionary would become many."""
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_BATCHES = {"record batch": 0, "dictionary": 1}


class TooLargeError(ValueError):
    """A request is too large: a 413."""


def read_arrow(body: bytes, *, rows: int, nbytes: int) -> Any:
    """Read a stream of Arrow IPC as a table of so many rows and, unpacked, bytes at most."""
    import pyarrow as pa

    try:
        buffer = pa.py_buffer(body)
        declared = 0
        for k, message in enumerate(pa.ipc.MessageReader.open_stream(buffer)):
            if k > MESSAGES:
                raise TooLargeError(f"a stream of Arrow IPC must have at most {MESSAGES:,} messages, got more")
            declared += _declared(message)
        if declared > nbytes:
            raise TooLargeError(f"the body must have at most {nbytes:,} bytes, also unpacked, it declares {declared:,}")
        with pa.ipc.open_stream(buffer) as stream:
            _check_types(stream.schema)
            batches, n = [], 0
            for batch in stream:
                if not batch.num_rows:
                    continue
                n += batch.num_rows
                if n > rows:
                    raise TooLargeError(f"a request must have at most {rows:,} records, got more")
                batch.validate(full=True)
                batches.append(batch)
            table = pa.Table.from_batches(batches, schema=stream.schema)
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError, struct.error, IndexError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise ValueError(f"body must be a stream of Arrow IPC: {reason}") from None
    total = 0
    for name, column in zip(table.column_names, table.columns, strict=True):
        for chunk in column.chunks if _is_long(column.type) else ():
            longest, every = _lengths(chunk)
            total += every
            if longest > LONGEST:
                raise ValueError(
                    f"column {shown(name)} must hold text of at most {LONGEST:,} bytes, got {longest:,}"
                )  # fmt: skip
    if total > nbytes:  # views may share their bytes
        raise TooLargeError(f"the body must have at most {nbytes:,} bytes, also unpacked, its text has {total:,}")
    return table


def _check_types(schema: Any) -> None:
    """Refuse columns that are no numbers or text: what a few bytes of others stand for has no bound."""
    import pyarrow as pa

    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        flat = pa.types.is_primitive(kind) or pa.types.is_null(kind) or pa.types.is_decimal(kind)
        text = str(kind) in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
        if not (flat or text or pa.types.is_fixed_size_binary(kind)):
            raise ValueError(f"column {shown(field.name)} must hold numbers or text, got {shown(str(kind), 100)}")


def _declared(message: Any) -> int:
    """Bytes that the buffers of a message have once they are unpacked, as the message says."""
    if message.type not in _BATCHES:
        return 0
    data, body = memoryview(message.metadata), memoryview(message.body)
    batch = _follow(data, _field(data, _root(data), 2))
    if _BATCHES[message.type]:
        delta = _field(data, batch, 2)
        if delta and data[delta]:
            raise struct.error("a dictionary must come whole, not in parts")
        batch = _follow(data, _field(data, batch, 1))
    place = _field(data, batch, 2)
    if not place:
        return 0
    vector = _follow(data, place)
    packed = _field(data, batch, 3) > 0
    total = 0
    for k in range(struct.unpack_from("<I", data, vector)[0]):
        offset, length = struct.unpack_from("<qq", data, vector + 4 + 16 * k)
        if packed and length:
            said = struct.unpack_from("<q", body, offset)[0]
            length = length if said == -1 else said
        if length < 0 or offset < 0:
            raise struct.error("a buffer has a negative size")
        total += length
    return total


def _root(data: memoryview) -> int:
    """Where the outermost table of a flat buffer is."""
    return int(struct.unpack_from("<I", data, 0)[0])


def _field(data: memoryview, table: int, k: int) -> int:
    """Where a field of a table of a flat buffer is; 0: it has none."""
    directory = table - struct.unpack_from("<i", data, table)[0]
    at = 4 + 2 * k
    if directory < 0 or at + 2 > struct.unpack_from("<H", data, directory)[0]:
        return 0
    offset = struct.unpack_from("<H", data, directory + at)[0]
    return table + offset if offset else 0


def _follow(data: memoryview, place: int) -> int:
    return int(place + struct.unpack_from("<I", data, place)[0])


def _is_long(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(t.is_dictionary(kind) or not t.is_primitive(kind))


def _lengths(chunk: Any) -> tuple[int, int]:
    """Bytes of the longest text, and of all where they may share some; 0: it holds none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(chunk.type):
        return _lengths(chunk.dictionary)
    if str(chunk.type).endswith("_view"):  # a view begins with its length
        views = np.frombuffer(chunk.buffers()[1], dtype="<i4")[::4] if len(chunk) else np.zeros(1, dtype="<i4")
        texts = views[chunk.offset : chunk.offset + len(chunk)]
        return int(texts.max(initial=0)), int(texts.sum(dtype=np.int64))
    try:
        return int(pc.max(pc.binary_length(chunk)).as_py() or 0), 0
    except pa.ArrowException:  # of another kind: the door says so
        return 0, 0


def numeric(table: Any, schema: Schema) -> Floats | None:
    """A table whose columns are just the features of the schema, all numbers, none missing; None: it is another."""
    import pyarrow as pa

    names = table.column_names
    if len(names) != schema.n_features or schema.nominal.any():
        return None
    if names != list(schema.names):
        if set(names) != set(schema.names):
            return None
        table = table.select(schema.names)
    batches = table.to_batches()
    if len(batches) != 1 or not all(map(pa.types.is_float64, table.schema.types)):
        return _columns(table)
    try:
        X: Floats = batches[0].to_tensor(row_major=True).to_numpy()
    except pa.ArrowException:  # some are missing
        return None
    return X


def _columns(table: Any) -> Floats | None:
    import pyarrow as pa

    X = np.empty((table.num_rows, table.num_columns))
    for f, column in enumerate(table.columns):
        if column.null_count or not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            return None
        X[:, f] = column.to_numpy()
    return X


# -- answers ----------------------------------------------------------------------------------------------------------


def to_arrow(given: Given) -> bytes:
    """Write an answer as Arrow IPC: label, p(class) for each, ticket, wanted; the version in the metadata."""
    import pyarrow as pa

    proba = np.frombuffer(given.proba).reshape(given.rows, len(given.classes))
    recorded = given.first >= 0
    first = given.first if recorded else 0
    tickets = np.arange(first, first + given.rows)
    columns = [
        _labels_column(proba, given.classes),
        *(pa.array(column) for column in np.ascontiguousarray(proba.T)),
        pa.array(tickets, mask=None if recorded else np.ones(given.rows, bool)),
        pa.array(np.frombuffer(given.why, dtype=np.int8) > 0),
    ]
    names = ("label", *(f"p({label})" for label in given.classes), "ticket", "wanted")
    schema, head = _head(names, tuple(column.type for column in columns), given.version)
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    return b"".join((head, batch.serialize(), _END))


@lru_cache(16)
def _head(names: tuple[str, ...], types: tuple[Any, ...], version: int) -> tuple[Any, bytes]:
    """The schema of an answer, and the message that brings it."""
    import pyarrow as pa

    schema = pa.schema(list(zip(names, types, strict=True)), metadata={"version": str(version)})
    return schema, schema.serialize().to_pybytes()


def _labels_column(proba: Floats, classes: list[Any]) -> Any:
    """The most probable label of each record, null where there is no answer."""
    import pyarrow as pa

    if not classes:
        return pa.nulls(len(proba))
    codes = proba.argmax(axis=1)
    empty = proba[np.arange(len(proba)), codes] <= 0.0
    return pa.array(classes).take(pa.array(codes, mask=empty if empty.any() else None))
