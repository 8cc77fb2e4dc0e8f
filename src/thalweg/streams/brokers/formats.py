"""What messages hold: JSON objects and arrays, CSV lines, fields, Avro and Protobuf records, Arrow record batches.

A decoder turns messages, in order, into pieces: records as a chunk with the messages they came from, and bad ones.
"""

import csv
import io
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, final

import msgspec
import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.door import stamp
from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.streams.brokers.address import library
from thalweg.streams.brokers.reader import Message
from thalweg.streams.files.columns import Columns
from thalweg.streams.files.marks import MISSING
from thalweg.streams.files.named_columns import NamedColumns
from thalweg.streams.files.records import FIRST, Records, infer, label_column, true_or_false

Format = Literal["json", "json-array", "csv", "fields", "avro", "protobuf", "arrow"]
"""What a message holds."""


@dataclass(slots=True)
class Piece:
    """Records, and the messages they came from: one each, or, with ``starts``, several of each message."""

    chunk: Chunk
    messages: list[Message]
    keys: Sequence[Any] | None = None
    """The record's key, where a field has it."""
    starts: Sequence[int] | None = None
    """Where the records of each message begin in the chunk."""


@dataclass(slots=True)
class BadMessage:
    """A message that cannot be read."""

    message: Message
    reason: str
    """A sentence without a subject."""


class Decoder(ABC):
    """Turns messages into records of a schema, which grows as new values appear."""

    def __init__(self, options: NamedColumns, where: str, key: str | None) -> None:
        self.options, self.where, self.key = options, where, key
        self.uses = {n: getattr(options, n) for n in ("target", "time", "label_time")} | {"key": key}
        for argument, name in self.uses.items():
            if not isinstance(name, str) and (name is not None or argument == "target"):
                raise TypeError(f"{argument} must name a field, got {shown(name)}")
            if argument != "target" and name is not None and name in (self.uses["target"], *options.drop):
                raise ValueError(f"{argument} must be a field without another use, got {name!r}")
        self.leave = tuple(dict.fromkeys(n for n in (*self.uses.values(), *options.drop) if n is not None))

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The features."""

    @abstractmethod
    def look(self, messages: list[Message]) -> None:
        """Find out from the first messages what they hold."""

    @abstractmethod
    def go_on(self, schema: Schema, memory: str) -> None:
        """Continue with the schema, and the other memory, that messages before these have led to."""

    @property
    def memory(self) -> str:
        """What else is known from the first messages, as text for a snapshot."""
        return ""

    @property
    def booleans(self) -> tuple[str, ...]:
        """The numeric features that hold true and false in the first messages."""
        return ()

    @abstractmethod
    def pieces(self, messages: list[Message]) -> Iterator[Piece | BadMessage]:
        """Turn messages into records."""

    def _found(self, names: Sequence[str]) -> None:
        for argument, name in [*self.uses.items(), *(("drop", n) for n in self.options.drop)]:
            if name is not None and name not in names:
                raise ValueError(
                    f"{argument} must be one of the fields {shown(list(names), 200)} of {self.where}, got {name!r}"
                )


class RecordDecoder(Decoder):
    """Messages with one record each."""

    def __init__(self, options: NamedColumns, where: str, key: str | None) -> None:
        super().__init__(options, where, key)
        self._records = Records(options._given_schema or Schema(()), where, extra=options.extra)
        self._booleans: tuple[str, ...] = ()

    @abstractmethod
    def record(self, value: Any) -> dict[str, Any]:
        """Read one message, or raise a sentence without a subject."""

    @property
    def schema(self) -> Schema:
        """The features. Nominal ones have at least the values of the records read so far."""
        return self._records.schema

    @property
    def booleans(self) -> tuple[str, ...]:
        """The numeric features that hold true and false in the first messages."""
        return self._booleans

    def look(self, messages: list[Message]) -> None:
        """Infer the features from the first records."""
        first: list[dict[str, Any]] = []
        reason = f"{self.where} must have records, it is empty"
        for message in messages[:FIRST]:
            try:
                first.append(self.record(message.value))
            except ValueError as error:
                reason = f"a message of {self.where} {error}"
        if not first:
            raise ValueError(reason)
        self._found(list(dict.fromkeys(n for r in first for n in r)))
        found = infer(first, self.where, self.leave, self.options.nominal, self.options.readings)
        given = self.options._given_schema
        if given is not None and self.options.extra == "refuse" and set(given.columns) != set(found.columns):
            raise ValueError(
                f"schema must have the features {shown(list(found.columns), 200)} of {self.where}, "
                f"got {shown(list(given.columns), 200)}"
            )
        self._booleans = true_or_false(first, given or found)
        self.go_on(given or found, "")

    def go_on(self, schema: Schema, memory: str) -> None:
        """Continue with a schema."""
        self._records = Records(schema, self.where, extra=self.options.extra)

    def pieces(self, messages: list[Message]) -> Iterator[Piece | BadMessage]:
        """Turn messages into records, all at once where that can be done."""
        fast = self._at_once(messages)
        if fast is not None:
            yield fast
            return
        good: list[Message] = []
        rows: list[Any] = []
        for message in messages:
            try:
                rows.append(self._row(self.record(message.value)))
                good.append(message)
            except ValueError as error:
                if good:
                    yield self._piece(good, rows)
                    good, rows = [], []
                yield BadMessage(message, str(error))
        if good:
            yield self._piece(good, rows)

    def _at_once(self, messages: list[Message]) -> Piece | None:
        """Turn all messages into rows in one step; None: one of them needs a closer look."""
        return None

    def _row(self, record: Mapping[str, Any]) -> tuple[Any, Any, list[float], Any]:
        options = self.options
        label = self._records.label(record.get(options.target), f"field {options.target!r}")
        when = [stamp(record.get(n), f"field {n!r}") for n in (options.time, options.label_time) if n is not None]
        return self._records.row(record, self.leave), label, when, None if self.key is None else record.get(self.key)

    def _piece(self, messages: list[Message], rows: list[Any]) -> Piece:
        X, y, stamps, keys = zip(*rows, strict=True)
        table = np.array(X).reshape(len(X), self.schema.n_features)
        return self._made(table, label_column(list(y)), stamps, messages, keys)

    def _made(self, X: Any, y: Any, stamps: Any, messages: list[Message], keys: Any) -> Piece:
        columns = iter(np.array(stamps, dtype=np.float64).reshape(len(X), -1).T.copy())
        named = (self.options.time, self.options.label_time)
        times = [None if name is None else next(columns) for name in named]
        return Piece(Chunk(X, y, None, *times), messages, None if self.key is None else keys)


class _JSON(RecordDecoder):
    """JSON, decoded by a type made for the schema; what does not fit it is read again, record by record."""

    array_like = False

    def __init__(self, options: NamedColumns, where: str, key: str | None) -> None:
        super().__init__(options, where, key)
        self._typed: Any = None
        self._typed_for: Schema | None = None

    def _order(self) -> list[str]:
        return [*self.schema.columns, *self.leave]

    def _prepare_type(self) -> None:
        """Make the type that messages of this schema have, where all features are plain numbers and names."""
        schema, names = self.schema, self._order()
        self._typed_for, self._typed = schema, None
        if any(f.text is not None or f.time for f in schema.features):
            return
        at = {f.name: f"f{i}" for i, f in enumerate(schema.features)}
        left = {name: f"l{i}" for i, name in enumerate(self.leave)}
        wide = {f.name: (str if f.values is not None else float | bool) for f in schema.features}
        made = [((at | left)[n], wide[n] | None if n in wide else Any, None) for n in names]
        row = msgspec.defstruct(
            "Row", made, rename=None if self.array_like else {v: k for k, v in (at | left).items()},
            array_like=self.array_like, forbid_unknown_fields=self.options.extra == "refuse", gc=False,
        )  # fmt: skip
        self._decode = msgspec.json.Decoder(row).decode
        numbers = [at[f.name] for f in schema.features if f.values is None]
        self._texts = [(i, attrgetter(at[f.name]), {None: math.nan} | dict(f.codes))
                       for i, f in enumerate(schema.features) if f.values is not None]  # fmt: skip
        self._numbers = attrgetter(*numbers) if numbers else None
        self._places = [i for i, f in enumerate(schema.features) if f.values is None]
        self._target = attrgetter(left[self.options.target])
        self._others = {n: attrgetter(left[n]) for n in left}
        self._typed = row

    def _at_once(self, messages: list[Message]) -> Piece | None:
        if self.schema is not self._typed_for:
            self._prepare_type()
        if self._typed is None:
            return None
        try:
            rows = list(map(self._decode, [m.value for m in messages]))
            X = np.empty((len(rows), self.schema.n_features))
            if self._numbers is not None:
                table = np.array(list(map(self._numbers, rows)), dtype=np.float64).reshape(len(rows), -1)
                if len(self._places) == X.shape[1]:
                    X = table
                else:
                    X[:, self._places] = table
            for i, get, codes in self._texts:
                X[:, i] = [codes[value] for value in map(get, rows)]
            labels = list(map(self._target, rows))
            if len(set(map(type, labels))) != 1 or (y := label_column(labels)).dtype.kind not in "biU":
                return None
            _, new = self._records.labels.read(y)
            stamps = [
                [stamp(v, n) for v in map(self._others[n], rows)]
                for n in (self.options.time, self.options.label_time) if n is not None
            ]  # fmt: skip
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, ValueError, TypeError):
            return None
        self._records.labels.admit(new)
        keys = None if self.key is None else list(map(self._others[self.key], rows))
        return self._made(X, y, np.array(stamps).T, messages, keys)


@final
class JSONDecoder(_JSON):
    """One JSON object in each message."""

    def record(self, value: Any) -> dict[str, Any]:
        """Read one message."""
        record = _json(value)
        if not isinstance(record, dict):
            raise ValueError(f"must be a JSON object, got {shown(record, 60)}")
        return record


@final
class ArrayDecoder(_JSON):
    """One JSON array in each message; the columns are named beforehand."""

    array_like = True
    columns: Sequence[str] = ()

    def _order(self) -> list[str]:
        return list(self.columns)

    def record(self, value: Any) -> dict[str, Any]:
        """Read one message."""
        values = _json(value)
        if not isinstance(values, list) or len(values) != len(self.columns):
            raise ValueError(f"must be a JSON array of {len(self.columns)} values, got {shown(values, 60)}")
        return dict(zip(self.columns, values, strict=True))

    def _at_once(self, messages: list[Message]) -> Piece | None:
        needed = set(self.schema.columns) | set(self.leave)
        if needed != set(self.columns):  # some columns have no use
            return None
        commas = len(self.columns) - 1
        if any(m.value.count(b",") < commas for m in messages):  # a short array would pass for one with missing values
            return None
        return super()._at_once(messages)


class TextDecoder(RecordDecoder):
    """Records of words: which columns hold numbers, the first ones tell."""

    def __init__(self, options: NamedColumns, where: str, key: str | None) -> None:
        super().__init__(options, where, key)
        self._kinds: dict[str, str] = {}

    @abstractmethod
    def words(self, value: Any) -> dict[str, str]:
        """Read one message."""

    def look(self, messages: list[Message]) -> None:
        """Infer which columns hold numbers, then the features."""
        kinds: dict[str, set[str]] = {}
        for message in messages[:FIRST]:
            try:
                words = self.words(message.value)
            except ValueError:
                continue
            for name, word in words.items():
                if word not in MISSING:
                    kinds.setdefault(name, set()).add(_kind(word))
        self._kinds = {
            n: "text" if "text" in found or n in self.options.nominal else "float" if "float" in found else "int"
            for n, found in kinds.items()
        }
        super().look(messages)

    @property
    def memory(self) -> str:
        """Which columns hold numbers."""
        return msgspec.json.encode(self._kinds).decode()

    def go_on(self, schema: Schema, memory: str) -> None:
        """Continue with a schema, and what the columns are known to hold."""
        super().go_on(schema, memory)
        if memory:
            self._kinds = msgspec.json.decode(memory.encode(), type=dict[str, str])

    def record(self, value: Any) -> dict[str, Any]:
        """Read one message."""
        return {n: _value(n, word, self._kinds.get(n, "text")) for n, word in self.words(value).items()}


@final
class CSVDecoder(TextDecoder):
    """One line of CSV in each message; the columns are named beforehand."""

    columns: Sequence[str] = ()

    def words(self, value: Any) -> dict[str, str]:
        """Read one message."""
        rows = list(csv.reader(_text(value).splitlines()))
        if len(rows) != 1 or len(rows[0]) != len(self.columns):
            raise ValueError(f"must be a line of {len(self.columns)} values, got {shown(_text(value), 60)}")
        return dict(zip(self.columns, rows[0], strict=True))


@final
class FieldsDecoder(TextDecoder):
    """The fields of a message of Redis are the record."""

    def words(self, value: Any) -> dict[str, str]:
        """Read one message."""
        if not isinstance(value, dict):
            raise ValueError(f"must have fields, got {shown(value, 60)}")
        return {_text(name): _text(word) for name, word in value.items()}


@final
class AvroDecoder(RecordDecoder):
    """One Avro record in each message, written with the schema that ``schema_file`` holds."""

    avro: Any = None
    header: int = 0

    def record(self, value: Any) -> dict[str, Any]:
        """Read one message."""
        fastavro = library("fastavro", "avro")
        data = io.BytesIO(value[self.header :])
        try:
            record = fastavro.schemaless_reader(data, self.avro)
        except Exception:  # the library raises whatever the damage leads to
            record = None
        if not isinstance(record, dict) or data.read(1):
            raise ValueError(f"must be one Avro record of the schema, got {shown(value, 60)}")
        return record


@final
class ProtobufDecoder(RecordDecoder):
    """One Protobuf message in each message; ``schema_file`` holds its descriptor (``protoc --descriptor_set_out``)."""

    kind: Any = None
    header: int = 0

    def record(self, value: Any) -> dict[str, Any]:
        """Read one message."""
        message = self.kind()
        try:
            message.ParseFromString(value[self.header :])
        except Exception:
            raise ValueError(f"must be a Protobuf message of the descriptor, got {shown(value, 60)}") from None
        found: dict[str, Any] = {}
        for field in self.kind.DESCRIPTOR.fields:
            if field.has_presence and not message.HasField(field.name):
                found[field.name] = None
            else:
                given = getattr(message, field.name)
                found[field.name] = field.enum_type.values_by_number[given].name if field.enum_type else given
        return found


class ArrowDecoder(Decoder):
    """An Arrow IPC stream in each message, with one record batch or more; all have the same columns."""

    _columns: Columns

    @property
    def schema(self) -> Schema:
        """The features. Nominal ones have at least the values of the records read so far."""
        return self._columns.schema

    @property
    def booleans(self) -> tuple[str, ...]:
        """The numeric features that hold true and false."""
        return self._columns.booleans

    def look(self, messages: list[Message]) -> None:
        """Take the columns from the first message that can be read."""
        reason = f"{self.where} must have records, it is empty"
        for message in messages:
            try:
                table = self._table(message.value)
            except ValueError as error:
                reason = f"a message of {self.where} {error}"
                continue
            self._found(table.column_names)
            self._fields = table.schema.remove_metadata()
            types = dict(zip(table.column_names, table.schema.types, strict=True))
            types = {n: t for n, t in types.items() if n != self.key or n == self.options.target}
            self._columns = self.options._columns_of(self.where, types, self.options._given_schema)
            return
        raise ValueError(reason)

    def go_on(self, schema: Schema, memory: str) -> None:
        """Continue with a schema."""
        if self._columns.schema.names != schema.names:
            raise ValueError(f"state must be a position in messages with the features of {self.where}")
        self._columns.schema = schema

    def _table(self, value: Any) -> Any:
        import pyarrow as pa

        try:
            with pa.ipc.open_stream(value) as reader:
                table = reader.read_all()
            table.validate(full=True)
        except (pa.ArrowException, OSError, ValueError, TypeError):
            raise ValueError(f"must be an Arrow IPC stream, got {shown(value, 60)}") from None
        return table

    def pieces(self, messages: list[Message]) -> Iterator[Piece | BadMessage]:
        """Turn messages into records, all at once where they are alike."""
        good: list[tuple[Message, Any]] = []
        for message in messages:
            try:
                table = self._table(message.value)
                if table.schema.remove_metadata() != self._fields:
                    raise ValueError(f"must have the columns of the first, got {shown(table.column_names, 200)}")
            except ValueError as error:
                yield from self._joined(good)
                good = []
                yield BadMessage(message, str(error))
                continue
            good.append((message, table.replace_schema_metadata()))
        yield from self._joined(good)

    def _joined(self, good: list[tuple[Message, Any]]) -> Iterator[Piece | BadMessage]:
        import pyarrow as pa

        if not good:
            return
        whole = pa.concat_tables([table for _, table in good])
        try:
            chunk = self._columns.chunk(whole, 0)
        except (ValueError, TypeError) as error:
            if len(good) == 1:
                yield BadMessage(good[0][0], f"cannot be read: {error}")
                return
            for one in good:
                yield from self._joined([one])
            return
        starts = np.concatenate([[0], np.cumsum([t.num_rows for _, t in good])[:-1]]).tolist()
        keys = None if self.key is None else whole.column(self.key).to_pylist()
        yield Piece(chunk, [m for m, _ in good], keys, starts)


@final
class TableDecoder(ArrowDecoder):
    """Rows of a table that a database gave: each message is the table and the number of a row."""

    def look(self, messages: list[Message]) -> None:
        """Take the columns from the table."""
        super().look([msgspec.structs.replace(m, value=m.value[0]) for m in messages[:1]])

    def _table(self, value: Any) -> Any:
        return value

    def pieces(self, messages: list[Message]) -> Iterator[Piece | BadMessage]:
        """Turn consecutive rows of a table into records."""
        at = 0
        while at < len(messages):
            table, first = messages[at].value
            stop = at
            while stop < len(messages) and messages[stop].value[0] is table:
                stop += 1
            rows = table.slice(first, stop - at)
            if rows.schema.remove_metadata() != self._fields:
                raise ValueError(f"{self.where} must have the columns that it had at first, they have changed")
            yield from self._rows(messages[at:stop], rows)
            at = stop

    def _rows(self, messages: list[Message], rows: Any) -> Iterator[Piece | BadMessage]:
        try:
            chunk = self._columns.chunk(rows, 0)
        except (ValueError, TypeError) as error:
            if len(messages) == 1:
                yield BadMessage(messages[0], f"cannot be read: {error}")
                return
            half = len(messages) // 2
            yield from self._rows(messages[:half], rows.slice(0, half))
            yield from self._rows(messages[half:], rows.slice(half))
            return
        yield Piece(chunk, messages, None if self.key is None else rows.column(self.key).to_pylist())


def make_decoder(
    kind: str, options: NamedColumns, where: str, *, key: str | None, columns: Sequence[str],
    schema_file: Any = None, message: str | None = None, header: int = 0,
) -> Decoder:  # fmt: skip
    """Make the decoder of a format."""
    if kind in ("csv", "json-array"):
        if not columns:
            raise ValueError(f"columns must name the values of each message for format {kind!r}, as in columns=a,b,c")
    elif columns:
        raise ValueError(f"columns must not be given for format {kind!r}, whose records name their fields")
    if (kind in ("avro", "protobuf")) != (schema_file is not None):
        need = "must name the file with the schema" if schema_file is None else "must not be given"
        raise ValueError(f"schema_file {need} for format {kind!r}")
    if kind == "avro":
        avro = AvroDecoder(options, where, key)
        avro.avro, avro.header = _avro_schema(schema_file), header
        return avro
    if kind == "protobuf":
        proto = ProtobufDecoder(options, where, key)
        proto.kind, proto.header = _protobuf_class(schema_file, message), header
        return proto
    made: Any = DECODERS[kind](options, where, key)
    if columns:
        made.columns = tuple(columns)
    return made  # type: ignore[no-any-return]


DECODERS: dict[str, type[Decoder]] = {
    "json": JSONDecoder, "json-array": ArrayDecoder, "csv": CSVDecoder, "fields": FieldsDecoder, "avro": AvroDecoder,
    "protobuf": ProtobufDecoder, "arrow": ArrowDecoder, "rows": TableDecoder,
}  # fmt: skip


def _avro_schema(path: Any) -> Any:
    fastavro = library("fastavro", "avro")
    try:
        return fastavro.parse_schema(msgspec.json.decode(Path(path).read_bytes()))
    except OSError as error:
        raise ValueError(f"schema_file must be a file that can be read, {path} cannot: {error.strerror}") from None
    except Exception as error:
        raise ValueError(f"schema_file must hold an Avro schema in JSON, {path} does not: {error}") from None


def _protobuf_class(path: Any, message: str | None) -> Any:
    library("google.protobuf", "protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    found = descriptor_pb2.FileDescriptorSet()
    try:
        found.ParseFromString(Path(path).read_bytes())
        pool = descriptor_pool.DescriptorPool()
        for file in found.file:
            pool.Add(file)
    except OSError as error:
        raise ValueError(f"schema_file must be a file that can be read, {path} cannot: {error.strerror}") from None
    except Exception:
        raise ValueError(f"schema_file must hold what protoc --descriptor_set_out writes, {path} does not") from None
    names = [f"{f.package}.{m.name}".lstrip(".") for f in found.file for m in f.message_type]
    if message is None and len(names) == 1:
        message = names[0]
    if message not in names:
        raise ValueError(f"message must be one of {', '.join(names)} of {path}, got {shown(message)}")
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(message))


def _json(value: Any) -> Any:
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        raise ValueError(f"must be JSON, got {shown(text, 60)}") from None


def _text(value: Any) -> str:
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        raise ValueError(f"must be text in UTF-8, got {shown(value, 60)}") from None


def _kind(word: str) -> str:
    try:
        float(word)
    except ValueError:
        return "text"
    return "int" if word.strip().lstrip("+-").isdecimal() else "float"


def _value(name: str, word: str, kind: str) -> Any:
    if word in MISSING:
        return None
    if kind == "text":
        return word
    try:
        return float(word) if kind == "float" else int(word)
    except ValueError:
        try:
            return float(word)
        except ValueError:
            raise ValueError(f"must have a number in field {name!r}, got {shown(word, 60)}") from None
