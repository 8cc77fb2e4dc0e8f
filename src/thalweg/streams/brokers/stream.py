"""A topic, a stream of Redis, a subject of NATS or a query as a stream of records, with a position to resume from."""

import os
import time
from collections import deque
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal, final

import msgspec
import numpy as np

from thalweg.core import fields
from thalweg.core.chunk import Chunk
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.brokers.address import Address, parsed, without_password
from thalweg.streams.brokers.formats import BadMessage, Format, Piece, make_decoder
from thalweg.streams.brokers.reader import BEFORE, LOG, GapError, Merged, Message, Place, Reader
from thalweg.streams.files.named_columns import NamedColumns
from thalweg.streams.files.quarantine import Bad, Quarantine, Way, check_file
from thalweg.streams.files.records import FIRST
from thalweg.streams.looking import Peek
from thalweg.streams.source import FAR, LIMIT, Source

HOMES = {
    "kafka": ".kafka:KafkaReader", "redis": ".redis:RedisReader", "rediss": ".redis:RedisReader",
    "nats": ".nats:NATSReader", "postgresql": ".sql:SQLReader", "sqlite": ".sql:SQLReader",
}  # fmt: skip
SHARED = ("format", "columns", "key", "schema_file", "message", "header", "follow", "on_gap")
"""Parameters that an address may set as well."""
_MOST = 2048  # messages, or records in messages that hold several, that are read at a time
_PATIENCE = 1.0  # seconds without a message after which a read says "nothing yet", so that a signal is heard


class _Position(msgspec.Struct):
    """Where a stream is."""

    at: dict[int, Place]
    """The last message of each partition of which all records were given."""
    inside: tuple[int, int] = (-1, 0)
    """The partition whose next message has been given in part, and how many of its records."""
    skipped: int = 0
    lost: int = 0
    passed: int = 0
    """How many messages there were up to here, as the reader counts."""


class _Addressed(Source):
    """A stream that is found by an address."""

    address: str = fields.free(
        doc="Where the records are: ``kafka://host:9092/topic``, ``redis://host/stream``, ``nats://host/subject``, "
        "``postgresql://user@host/database?query=…&order=column``, ``sqlite:///file?query=…&order=column``. The "
        "parameters from format to on_gap may stand behind it, ``?format=csv&columns=a,b``. A password is not kept.",
        kw_only=False,
    )


@final
class MessageStream(NamedColumns, _Addressed):
    """The records of a broker's topic, in order: Kafka, Redis Streams, NATS JetStream; or of a query, by ADBC.

    The order is by time, then partition, then offset. ``state`` holds the positions, so that whoever restores it reads
    on with the next record, whatever has happened in between; the broker is told nothing.

    Examples
    --------
    >>> MessageStream("kafka://localhost")
    Traceback (most recent call last):
    ValueError: address must name a topic, as in kafka://localhost:9092/topic, got 'kafka://localhost'
    """

    format: Format = fields.choice(
        default="json",
        doc='What a message holds: a JSON object ("json") or array, a CSV line, an Avro or Protobuf record, an Arrow '
        'IPC stream ("arrow"), or, of Redis, its own "fields". A query has none.',
    )
    columns: Sequence[str] = fields.free(default=(), doc="The names of the values of CSV lines and JSON arrays.")
    key: str | None = fields.free(
        default=None, doc="The field that names a record, which is no feature; None: what the broker has as its key."
    )
    schema_file: str | os.PathLike[str] | None = fields.free(
        default=None, doc="The Avro schema in JSON, or the descriptor set of Protobuf."
    )
    message: str | None = fields.free(default=None, doc="The name of the Protobuf message, where there are several.")
    header: int = fields.whole(
        default=0, doc="Bytes before an Avro or Protobuf record: 5 where a schema registry's number is there.", least=0
    )
    follow: bool = fields.flag(
        default=False, doc="Go on for ever? Otherwise the stream ends at what was the last message when it was opened."
    )
    on_gap: Literal["stop", "continue"] = fields.choice(
        default="stop",
        doc='What to do where the broker has dropped messages that were not read yet: "stop" with a sentence, or '
        '"continue" and count them (``lost``).',
    )
    on_bad_row: Way = fields.choice(
        default="raise",
        doc='What to do with a message that cannot be read: "raise", "skip" (and count, see ``skipped``), or '
        '"quarantine": also write it with the reason and its position to the file ``quarantine``.',
    )
    quarantine: str | os.PathLike[str] | None = fields.free(
        default=None, doc='The .csv or .jsonl file for bad messages, with on_bad_row="quarantine".'
    )
    limit: int | None = LIMIT

    patience: float = fields.fixed(_PATIENCE)
    """Seconds without a message after which a read says "nothing yet"."""

    def _prepare(self) -> None:
        check_file(self.on_bad_row, self.quarantine)
        address = parsed(self.address)
        self._take_options(address)
        if isinstance(self.drop, str) or isinstance(self.nominal, str):
            raise TypeError(f"drop and nominal must be lists of fields, got {shown(self.drop)}, {shown(self.nominal)}")
        self.address = without_password(self.address)
        self.name = self._name = address.name
        self._where = address.shown
        self._cell = None if self.quarantine is None else Quarantine(self.quarantine)
        sql = address.scheme in ("postgresql", "sqlite")
        self._decoder = make_decoder(
            "rows" if sql else self.format, self, self._where, key=self.key, columns=self.columns,
            schema_file=self.schema_file, message=self.message, header=self.header,
        )  # fmt: skip
        self._reader = open_reader(address, fields=self.format == "fields")
        self._each = 1.0  # records in a message, so far
        self.restart()
        self._look()
        self._begin = (self._decoder.schema, self._decoder.memory)

    def _take_options(self, address: Address) -> None:
        """Let the address set what the caller has left as it is."""
        defaults = {n: self._fields[n].default for n in SHARED}
        for name in SHARED:
            if name not in address.options:
                continue
            text = address.options.pop(name)
            value: Any = text
            if name == "columns":
                value = tuple(text.split(","))
            elif name == "follow":
                value = {"true": True, "false": False, "": True}.get(text, text)
            elif name == "header" and text.isdecimal():
                value = int(text)
            now = getattr(self, name)
            if now != defaults[name] and now != value:
                raise ValueError(f"{name} must be given once, got {value!r} in the address and {now!r} beside it")
            check = self._fields[name].check
            if check is not None:
                check(name, value)
            setattr(self, name, value)

    def _look(self) -> None:
        """Find out what the messages hold, from the first that are there; wait for them where they may yet come."""
        told = False
        while len(self._ahead) < FIRST:
            found = self._merged.read(FIRST - len(self._ahead), wait=_PATIENCE)
            self._ahead += found or []
            if found is None or (not found and self._ahead):
                break
            if not found and not told:
                LOG.warning("waiting for the first record of %s", self._where)
                told = True
        self._decoder.look(self._ahead)

    # -- what a stream is ---------------------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """The features. Nominal ones have at least the values of the records read so far."""
        return self._decoder.schema

    @property
    def booleans(self) -> tuple[str, ...]:
        """The numeric features that hold true and false in the first records."""
        return self._decoder.booleans

    @property
    def skipped(self) -> int:
        """How many bad messages were left out so far."""
        return self._position.skipped

    @property
    def lost(self) -> int:
        """How many messages the broker had dropped before they were read, with on_gap="continue"."""
        return self._position.lost

    def close(self) -> None:
        """Let the connection go; the stream cannot be read any more."""
        self._reader.close()

    def _start(self) -> None:
        if hasattr(self, "_begin"):
            self._decoder.go_on(*self._begin)
        self._go_to(_Position({}, passed=self._reader.before()), 0)

    def _go_to(self, position: _Position, given: int) -> None:
        try:
            lost = self._reader.seek(position.at, passed=position.passed, skip_gap=self.on_gap == "continue")
        except GapError as gap:
            raise ValueError(f"{gap}; on_gap='continue' (--on-gap continue) goes on behind the gap") from None
        self._count_lost(position, lost)
        self._position = position
        self._merged = Merged(self._reader, None if self.follow else self._reader.ends(), position.inside[0])
        self._merged.passed(position.at)
        self._ahead: list[Message] = []
        self._queue: deque[Piece | BadMessage] = deque()
        self._drop, self._in_piece = position.inside[1], 0
        self._origins: list[tuple[Piece, int, int]] = []
        if self._cell is not None:
            self._cell.begin(anew=given == position.skipped == 0)

    def _count_lost(self, position: _Position, lost: int) -> None:
        if lost:
            position.lost += lost
            position.passed += lost
            LOG.warning("%s has dropped %s messages before they were read, which are lost", self._where, f"{lost:,}")

    # -- reading ------------------------------------------------------------------------------------------------------

    def _next(self, n: int) -> Chunk | None:
        parts: list[Chunk] = []
        self._origins = []
        patience = time.monotonic() + self.patience
        while n > 0:
            if not self._queue:
                wait = 0.0 if parts and self.follow else min(0.1, self.patience)
                more = self._fetch(wait)
                if more is None:
                    return Chunk.join(parts) if parts else None
                if not more and (parts if self.follow else time.monotonic() > patience):
                    break
                if not more and self.follow and time.monotonic() > patience:
                    break
                continue
            piece = self._queue[0]
            if isinstance(piece, BadMessage):
                self._pass(piece)
                self._queue.popleft()
                continue
            part = self._from(piece, n)
            parts.append(part)
            n -= len(part)
        return Chunk.join(parts) if parts else self._empty()

    def _fetch(self, wait: float) -> bool | None:
        """Read and decode more messages; False: nothing yet; None: ended."""
        most = max(1, int(_MOST / self._each))
        if self._ahead:
            messages: list[Message] | None = self._ahead
            self._ahead = []
        else:
            try:
                messages = self._merged.read(most, wait)
            except GapError as gap:
                self._over(gap)
                return True
        if not messages:
            return None if messages is None else False
        for piece in self._decoder.pieces(messages):
            self._queue.append(piece)
            if isinstance(piece, Piece):
                self._each = max(1.0, len(piece.chunk) / len(piece.messages))
        if self._drop:
            self._leave_out()
        return True

    def _over(self, gap: GapError) -> None:
        """Go on behind a gap, or not at all."""
        if self.on_gap == "stop":
            raise ValueError(f"{gap}; on_gap='continue' (--on-gap continue) goes on behind the gap") from None
        position = self._position
        position.inside = (-1, 0)
        self._go_to(position, self._given)

    def _leave_out(self) -> None:
        """Pass over the records of the first message that were given before."""
        first = self._queue[0]
        if isinstance(first, Piece):
            self._in_piece = min(self._drop, len(first.chunk))
        self._drop = 0

    def _from(self, piece: Piece, n: int) -> Chunk:
        """Take up to n records of the first piece, and note the position behind them."""
        start = self._in_piece
        stop = min(start + n, len(piece.chunk))
        self._in_piece = stop
        at, starts, messages = self._position.at, piece.starts, piece.messages
        self._origins.append((piece, start, stop))
        if starts is None:
            self._position.passed += stop - start
            one = len(self._reader.partitions) == 1
            for m in messages[stop - 1 : stop] if one else messages[start:stop]:
                at[m.partition] = (m.a, m.b)
        else:
            self._position.inside = (-1, 0)
            for m, begin, end in zip(messages, starts, [*starts[1:], len(piece.chunk)], strict=True):
                if start < end <= stop or start <= begin == end <= stop:
                    at[m.partition] = (m.a, m.b)
                    self._position.passed += 1
                elif begin < stop < end:
                    self._position.inside = (m.partition, stop - begin)
        if stop == len(piece.chunk):
            self._queue.popleft()
            self._in_piece = 0
        return piece.chunk if stop - start == len(piece.chunk) else piece.chunk[start:stop]

    def _pass(self, bad: BadMessage) -> None:
        """Leave a bad message out, as asked."""
        m = bad.message
        where = f"{self._where} {self._reader.name_of(m)}"
        reason = f"message {where} {bad.reason}"
        if self.on_bad_row == "raise":
            raise ValueError(reason)
        self._position.at[m.partition] = (m.a, m.b)
        self._position.inside = (-1, 0)
        self._position.skipped += 1
        self._position.passed += 1
        if self._cell is not None:
            text = m.value.decode("utf-8", "replace") if isinstance(m.value, bytes) else str(m.value)
            self._cell.add([Bad(0, m.a, text, reason)])

    def peek(self, rows: int, cells: int) -> Peek | None:
        """Look at the records that are there already."""
        if not self._queue and self._ahead:
            self._fetch(0.0)
        first = self._queue[0] if self._queue else None
        if not isinstance(first, Piece):
            return None
        rows = max(1, min(rows, cells // max(1, self.schema.n_features)))
        return Peek(first.chunk[self._in_piece :][:rows], self.schema, False, self.booleans)

    def origins(self) -> tuple[list[str], list[Any]]:
        """Give an id for each record of the last chunk, made from its position, and its key."""
        ids: list[str] = []
        keys: list[Any] = []
        name, place = self._name, self._reader.name_of
        for piece, start, stop in self._origins:
            if piece.starts is None:
                given = piece.messages[start:stop]
                ids += [f"{name}/{place(m)}" for m in given]
            else:
                which = np.searchsorted(piece.starts, np.arange(start, stop), side="right") - 1
                given = [piece.messages[k] for k in which.tolist()]
                begins = np.asarray(piece.starts)[which]
                inner = (np.arange(start, stop) - begins).tolist()
                ids += [f"{name}/{place(m)}/{i}" for m, i in zip(given, inner, strict=True)]
            keys += [m.key for m in given] if piece.keys is None else list(piece.keys[start:stop])
        return ids, keys

    # -- position -----------------------------------------------------------------------------------------------------

    def _tables(self) -> State:
        texts = {
            "schema": self.schema.to_json(), "memory": self._decoder.memory.encode(),
            "position": msgspec.json.encode(self._position),
        }  # fmt: skip
        return {name: np.frombuffer(text, dtype=np.uint8) for name, text in texts.items()}

    def _adopt(self, tables: State, given: int) -> None:
        schema = Schema.from_json(tables["schema"].tobytes())
        try:
            position = msgspec.json.decode(tables["position"].tobytes(), type=_Position)
            memory = tables["memory"].tobytes().decode()
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise ValueError(f"state must be a position in {self._where}") from None
        numbers = [position.inside[1], position.skipped, position.lost, position.passed]
        places = [v for place in position.at.values() for v in place]
        if not all(0 <= v <= FAR for v in numbers) or not all(-1 <= v < 1 << 64 for v in places):
            raise ValueError(f"state must be a position in {self._where}")
        foreign = sorted({*position.at, position.inside[0]} - {-1, *self._reader.partitions})
        if foreign:
            raise ValueError(f"state must be a position in {self._where}, which has no partition {foreign[0]}")
        self._decoder.go_on(schema, memory)
        self._go_to(position, given)


def open_reader(address: Address, **more: Any) -> Reader:
    """Connect to what an address names."""
    module, _, name = HOMES[address.scheme].partition(":")
    made: Reader = getattr(import_module(module, __package__), name)(address, **more)
    return made


__all__ = ["BEFORE", "MessageStream", "open_reader"]
