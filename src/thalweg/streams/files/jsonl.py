"""JSON lines: one record in braces on each line, from a file or from standard input."""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, final

import msgspec
import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.streams.files.blocks import Block, BlockStream, Mark, check_path
from thalweg.streams.files.quarantine import Bad
from thalweg.streams.files.records import FIRST, Records, infer, label_column
from thalweg.streams.files.text import Buffer, open_bytes

_ROWS = 1024


def lines_from(buffer: Buffer, line: int, used: int = 0) -> Iterator[tuple[int, int, bytes]]:
    """Give the lines of a file that are not empty: place, number and bytes."""
    while True:
        buffer.fill(used)
        data = buffer.bytes[: buffer.end].tobytes()
        used = 0
        while (stop := data.find(b"\n", used)) >= 0:
            text = data[used:stop].strip()
            if text:
                yield buffer.offset + used, line, text
            used, line = stop + 1, line + 1
        if buffer.last:
            if used < len(data) and (text := data[used:].strip()):
                yield buffer.offset + used, line, text
            return


@final
class JSONLinesStream(BlockStream):
    r"""The records of a file with one JSON object on each line, in order; .gz, .bz2, .zst are unpacked on the way.

    Parameters
    ----------
    path : str | os.PathLike[str]
        The file; "-": standard input, which can be read once and has no position.
    target : str
        The field with the labels.
    time, label_time : str | None
        Fields that say when a record, or its label, was seen: seconds, or text such as "2020-01-31 12:30:59" (UTC
        where it names no zone).
    drop : Sequence[str]
        Fields to leave out.
    nominal : Sequence[str]
        Fields of numbers that are nominal. A field that is null or absent is missing.
    schema, on_bad_row, quarantine, limit
        See ``CSVStream``; types are inferred from the first 1,000 records.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "weather.jsonl"
    >>> _ = path.write_text('{"sky": "clear", "degrees": 21, "play": "yes"}\n{"sky": "rain", "play": "no"}\n')
    >>> chunk = JSONLinesStream(path, target="play").take(2)
    >>> chunk.X.tolist(), chunk.y.tolist()
    ([[0.0, 21.0], [1.0, nan]], ['yes', 'no'])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str = "class",
        *,
        time: str | None = None,
        label_time: str | None = None,
        drop: Sequence[str] = (),
        nominal: Sequence[str] = (),
        schema: Schema | None = None,
        on_bad_row: str = "raise",
        quarantine: str | os.PathLike[str] | None = None,
        limit: int | None = None,
    ) -> None:
        self.path = "-" if path == "-" else check_path(path)
        for argument, names in (("drop", drop), ("nominal", nominal)):
            if isinstance(names, str):
                raise TypeError(f"{argument} must be a list of fields, got the text {names!r}")
        for argument, name in (("target", target), ("time", time), ("label_time", label_time)):
            if not isinstance(name, str) and (name is not None or argument == "target"):
                raise TypeError(f"{argument} must name a field, got {name!r}")
            if argument != "target" and name in (target, *drop):
                raise ValueError(f"{argument} must be a field without another use, got {name!r}")
        self._set_limit(limit)
        self.target, self.drop, self.nominal, self._given_schema = target, drop, nominal, schema
        self.time, self.label_time = time, label_time
        self._name = self.name = "standard input" if self.path == "-" else Path(self.path).name
        self._first = (0, 0, 0, 1)
        self._input: Buffer | None = None
        self._leave = tuple(dict.fromkeys(n for n in (target, time, label_time, *drop) if n is not None))
        with open_bytes(self.path) as file:
            buffer = Buffer(file, self._name)
            buffer.fill(0)
            if self.path == "-":
                self._input = buffer
            found = self._look(buffer)
        self._records = Records(schema or found, self._name)
        if schema is not None and set(schema.names) != set(found.names):
            raise ValueError(
                f"schema must have the features {shown(list(found.names), 200)} of {self._name}, "
                f"got {shown(list(schema.names), 200)}"
            )
        self._begin(on_bad_row, quarantine)

    def _look(self, buffer: Buffer) -> Schema:
        """Infer the features from the records of the first block."""
        data = buffer.bytes[: buffer.end].tobytes()
        parts = data.split(b"\n")
        if not buffer.last:
            parts.pop()
        first: list[dict[str, Any]] = []
        reason = None
        for number, text in enumerate(parts, 1):
            if not text.strip():
                continue
            try:
                first.append(self._decode(text))
            except ValueError as error:
                reason = reason or f"line {number} of {self._name} {error}"
            if len(first) == FIRST:
                break
        if not first and reason is None and not buffer.last:  # a record longer than the block
            buffer.fill(0)
            return self._look(buffer)
        if not first:
            raise ValueError(reason or f"{self._name} must have records, it is empty")
        names = list(dict.fromkeys(n for r in first for n in r))
        uses = [("target", self.target), ("time", self.time), ("label_time", self.label_time)]
        for argument, name in [*uses, *(("drop", n) for n in self.drop)]:
            if name is not None and name not in names:
                raise ValueError(
                    f"{argument} must be one of the fields {shown(names, 200)} of {self._name}, got {name!r}"
                )
        return infer(first, self._name, self._leave, self.nominal)

    def _decode(self, text: bytes) -> dict[str, Any]:
        try:
            record = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ValueError(f"must be a JSON object, got {shown(text.decode('utf-8', 'replace'), 60)}") from None
        if not isinstance(record, dict):
            raise ValueError(f"must be a JSON object, got {shown(record, 60)}")
        return record

    @property
    def schema(self) -> Schema:
        """The features. Nominal ones have at least the values of the records read so far."""
        return self._records.schema

    def _set_schema(self, schema: Schema) -> None:
        self._records = Records(schema, self._name)

    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        if self.path == "-":
            if self._input is None or mark != self._first:
                raise ValueError("standard input can be read once: it cannot go back, nor be restored")
            buffer, self._input = self._input, None
            yield from self._read(_Filled(buffer), mark)
            return
        with open_bytes(self.path) as file:
            yield from self._read(Buffer(file, self._name, mark[2]), mark)

    def _read(self, buffer: Any, mark: Mark) -> Iterator[Block]:
        rows, bads = mark[:2]
        block: list[tuple[int, int, bytes]] = []
        for item in lines_from(buffer, mark[3]):
            block.append(item)
            if len(block) == _ROWS:
                made = self._block(block, rows, bads)
                rows, bads, block = rows + len(made.chunk), bads + len(made.bad), []
                yield made
        if block:
            yield self._block(block, rows, bads)

    def _block(self, lines: list[tuple[int, int, bytes]], rows: int, bads: int) -> Block:
        X: list[Any] = []
        y: list[Any] = []
        bad: list[Bad] = []
        stamps: list[list[float]] = []
        clocks = [name for name in (self.time, self.label_time) if name is not None]
        for _, number, text in lines:
            try:
                record = self._decode(text)
                label = self._records.label(record.get(self.target), f"field {self.target!r}")
                when = [stamp(record.get(name), f"field {name!r}") for name in clocks]
                X.append(self._records.row(record, self._leave))
                y.append(label)
                stamps.append(when)
            except ValueError as error:
                reason = f"line {number} of {self._name} {error}"
                bad.append(Bad(len(X), number, text.decode("utf-8", "replace"), reason))
        table = np.array(X) if X else np.empty((0, self.schema.n_features))
        columns = iter(np.array(stamps, dtype=np.float64).reshape(len(X), len(clocks)).T.copy())
        times = [None if name is None else next(columns) for name in (self.time, self.label_time)]
        return Block(Chunk(table, label_column(y), None, *times), (rows, bads, lines[0][0], lines[0][1]), bad)


def stamp(value: Any, where: str) -> float:
    """Turn a number, or a date or time in text, into seconds (since 1970); what is missing into NaN.

    >>> stamp("1970-01-02", "field 'day'"), stamp("1970-01-01T02:00:01+01:00", "field 'day'"), stamp(5, "field 'day'")
    (86400.0, 3601.0, 5.0)
    """
    if value is None:
        return float("nan")
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        pass
    raise ValueError(
        f"must have seconds, or a date or time such as 2020-01-31 12:30:59, in {where}, got {shown(value, 60)}"
    )


class _Filled:
    """A buffer whose first block was looked at before."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer, self._fresh = buffer, True

    def fill(self, used: int) -> None:
        if self._fresh:
            self._fresh = False
        else:
            self._buffer.fill(used)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._buffer, name)
