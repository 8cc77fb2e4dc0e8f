"""A file or a generator played as if it were live: records at their time or at a rate, their labels later."""

import time
from collections import deque
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, final

import msgspec
import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.protocols import Stream
from thalweg.core.schema import Schema
from thalweg.streams.files.writing import csv_word
from thalweg.streams.source import records

Form = Literal["json", "csv", "arrow"]
FORMS: tuple[Form, ...] = ("json", "csv", "arrow")
_AT_ONCE = 1000  # records that are read at a time
_ENCODER = msgspec.json.Encoder()


class Message(NamedTuple):
    """What goes to a sink."""

    id: str
    key: bytes | None
    value: bytes


@final
class Replay:
    """Plays a stream: each record when its time has come, its label ``delay`` seconds of the stream's time later.

    A record is written with its key and time, without its label; a label with the key of its record and its own time.
    Both come in the order of time, a record before a label of the same time.

    stream: has the labels. key: the feature that names a record, or, where there is none of this name, the name of a
    number that counts up from 0. target, clock: what the label and the time are called. rate: records in a second;
    without times of its own, record i of the stream is i / rate seconds from the first. speed: the clock of the stream
    runs so much faster. Without rate and speed nothing waits. form: what a message holds: a JSON object, a CSV line, or
    an Arrow IPC stream with several. together: records have their labels, which do not come apart.

    >>> from thalweg import SEA
    >>> replay = Replay(SEA(seed=1, limit=3), key="id", delay=1.0)
    >>> for place, messages in replay.due():
    ...     print(place, [m.value.decode()[:22] for m in messages])
    records ['{"id":0,"time":0.0,"x0', '{"id":1,"time":1.0,"x0']
    labels ['{"id":0,"class":1,"tim']
    records ['{"id":2,"time":2.0,"x0']
    labels ['{"id":1,"class":1,"tim', '{"id":2,"class":0,"tim']
    """

    def __init__(
        self, stream: Stream, *, key: str = "id", target: str = "class", clock: str = "time", delay: float = 0.0,
        rate: float | None = None, speed: float | None = None, form: Form = "json", limit: int | None = None,
        together: bool = False,
    ) -> None:  # fmt: skip
        for name, what in ((target, "the label"), (clock, "the time")):
            if name in stream.schema.names or name == key:
                raise ValueError(f"{what} must be called by a name that no other column has, got {name!r}")
        self.stream, self.key, self.target, self.clock = stream, key, target, clock
        self.delay, self.rate, self.speed, self.form, self.limit = delay, rate, speed, form, limit
        self.together = together
        self._at = list(stream.schema.names).index(key) if key in stream.schema.names else -1
        self.records = self.labels = 0
        """How many were given so far."""
        self._first: float | None = None
        self._latest = -np.inf
        self._timed = False
        self._waiting: deque[tuple[float, Any, Any]] = deque()
        """Of labels that are to come: when, the key of their record, the label."""

    # -- what comes when ----------------------------------------------------------------------------------------------

    def due(self) -> Iterator[tuple[str, list[Message]]]:
        """Give what is to be written now, to "records" or to "labels"; nothing (an empty list): wait a little."""
        begun = time.monotonic()
        while (chunk := self._read()) is not None:
            times = self._times(chunk)
            keys, rows = self._apart(chunk)
            walls = self._walls(times)
            i = 0
            while i < len(keys):
                now = time.monotonic() - begun
                ready = len(keys) if walls is None else int(np.searchsorted(walls, now, "right"))
                while i < ready:
                    due = self._waiting[0][0] if self._waiting else np.inf
                    stop = min(ready, int(np.searchsorted(times, due, "right"))) if due < np.inf else ready
                    if stop <= i:
                        yield "labels", self._told(float(times[i]))
                        continue
                    stop = min(stop, i + int(np.searchsorted(times[i:stop], times[i] + self.delay, "right")))
                    yield "records", self._written(keys[i:stop], times[i:stop], rows, i)
                    if not self.together:
                        dues = (times[i:stop] + self.delay).tolist()
                        self._waiting.extend(zip(dues, keys[i:stop], chunk.y[i:stop].tolist(), strict=True))
                    i = stop
                if i < len(keys):
                    yield "labels", [] if self._by_rows else self._told_by(now)
        while self._waiting:
            yield "labels", self._told(np.inf) if self._by_rows else self._told_by(time.monotonic() - begun)

    def _read(self) -> Chunk | None:
        """Read on; None: that is all."""
        left = _AT_ONCE if self.limit is None else min(_AT_ONCE, self.limit - self.records)
        chunk = self.stream.read(left) if left > 0 else None
        return None if chunk is None or not len(chunk) else chunk.dense()

    def _times(self, chunk: Chunk) -> NDArray[np.float64]:
        """Give the time of each record; it never falls."""
        self._timed = chunk.time is not None
        if chunk.time is None:
            if self.speed is not None and self.rate is None:
                raise ValueError("speed must be given for a stream with times (--time), or with rate, got it alone")
            return np.arange(self.records, self.records + len(chunk)) / (self.rate or 1.0)
        if not np.isfinite(chunk.time).all():
            raise ValueError(
                f"time must be a number, a date or a time in every record, it is missing in one of {_AT_ONCE}"
            )
        times = np.maximum.accumulate(np.concatenate([[self._latest], chunk.time]))[1:]
        self._latest = float(times[-1])
        return times

    def _walls(self, times: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Say how many seconds after the beginning each record is due; None: at once."""
        if self._first is None:
            self._first = float(times[0])
        if self._timed and self.rate is not None and self.speed is None:
            return np.arange(self.records, self.records + len(times)) / self.rate
        if self.rate is None and self.speed is None:
            return None
        return (times - self._first) / (self.speed or 1.0)

    @property
    def _by_rows(self) -> bool:
        """Does the clock on the wall say nothing about that of the stream?"""
        return self.speed is None and (self._timed or self.rate is None)

    # -- labels -------------------------------------------------------------------------------------------------------

    def _told_by(self, now: float) -> list[Message]:
        """Give the labels that are due so many seconds after the beginning."""
        return self._told(np.nextafter((self._first or 0.0) + now * (self.speed or 1.0), np.inf))

    def _told(self, before: float) -> list[Message]:
        """Give the labels that come before a time of the stream."""
        out: list[dict[str, Any]] = []
        while self._waiting and self._waiting[0][0] < before and len(out) < _AT_ONCE:
            due, key, label = self._waiting.popleft()
            out.append({self.key: key, self.target: label, self.clock: due})
        self.labels += len(out)
        return self._messages(out, f"{self.target}-", self.labels - len(out))

    # -- records ------------------------------------------------------------------------------------------------------

    def _apart(self, chunk: Chunk) -> tuple[list[Any], list[dict[str, Any]]]:
        """Give the keys of records, and their features by name."""
        schema: Schema = self.stream.schema
        if schema.shape is not None:
            raise ValueError("stream must have records with named columns, got tensors")
        rows: list[dict[str, Any]] = [x for x, _ in records(chunk, schema)]
        if self.together:
            for row, label in zip(rows, chunk.y.tolist(), strict=True):
                row[self.target] = label
        if self._at < 0:
            return list(range(self.records, self.records + len(rows))), rows
        keys = []
        for row in rows:
            if self.key not in row:
                raise ValueError(f"key must be given in every record, column {self.key!r} is missing in one")
            key = row.pop(self.key)
            keys.append(int(key) if isinstance(key, float) and key.is_integer() else key)
        return keys, rows

    def _written(
        self, keys: list[Any], times: NDArray[np.float64], rows: list[dict[str, Any]], first: int
    ) -> list[Message]:
        out = []
        for row, key, when in zip(rows[first : first + len(keys)], keys, times.tolist(), strict=True):
            if self.form != "json":  # each record has all columns
                row = {name: row.get(name) for name in self.columns[2:]}
            out.append({self.key: key, self.clock: when} | row)
        self.records += len(out)
        return self._messages(out, "", self.records - len(out))

    @property
    def columns(self) -> list[str]:
        """The columns of a record."""
        label = [self.target] if self.together else []
        return [self.key, self.clock, *(name for name in self.stream.schema.names if name != self.key), *label]

    @property
    def label_columns(self) -> list[str]:
        """The columns of a label."""
        return [self.key, self.target, self.clock]

    def _messages(self, rows: list[dict[str, Any]], kind: str, first: int) -> list[Message]:
        """Write rows as messages, whose ids count them."""
        if not rows:
            return []
        if self.form == "arrow":
            return [Message(f"{kind}{first}", None, _batch(rows))]
        write = _ENCODER.encode if self.form == "json" else _line
        return [Message(f"{kind}{i}", str(row[self.key]).encode(), write(row)) for i, row in enumerate(rows, first)]


def _line(row: dict[str, Any]) -> bytes:
    return ",".join(
        "" if v is None else repr(v) if isinstance(v, float) else csv_word(v) for v in row.values()
    ).encode()


def _batch(rows: list[dict[str, Any]]) -> bytes:
    """Write rows as an Arrow IPC stream of one batch."""
    import pyarrow as pa

    table = pa.Table.from_pylist(rows)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue().to_pybytes()  # type: ignore[no-any-return]
