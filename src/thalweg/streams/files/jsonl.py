"""JSON lines: one record in braces on each line, from a file or from standard input."""

import os
from collections.abc import Iterator
from typing import Any, final

import msgspec
import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.door import stamp
from thalweg.core.fields import again, fixed
from thalweg.core.params import shown
from thalweg.core.readings import Readings
from thalweg.core.schema import Schema
from thalweg.streams.files.block import Block, Mark
from thalweg.streams.files.block_stream import BlockStream
from thalweg.streams.files.columns import ColumnError, listed
from thalweg.streams.files.lines import line_blocks
from thalweg.streams.files.named_columns import NamedColumns
from thalweg.streams.files.records import FIRST, Records, infer, label_column, true_or_false
from thalweg.streams.files.text import Buffer, open_bytes

_ROWS = 1024


@final
class JSONLinesStream(NamedColumns, BlockStream):
    r"""The records of a file with one JSON object on each line, in order; .gz, .bz2, .zst are unpacked on the way.

    Types are inferred from the first 1,000 records. A field that is null or absent is missing.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "weather.jsonl"
    >>> _ = path.write_text('{"sky": "clear", "degrees": 21, "play": "yes"}\n{"sky": "rain", "play": "no"}\n')
    >>> chunk = JSONLinesStream(path, target="play").take(2)
    >>> chunk.X.tolist(), chunk.y.tolist()
    ([[0.0, 21.0], [1.0, nan]], ['yes', 'no'])
    """

    path: str | os.PathLike[str] = again(
        doc='The file; "-": standard input, which can be read once and has no position.', kw_only=False
    )

    _first = fixed((0, 0, 0, 1))
    _pipes = fixed(True)

    def _look(self) -> None:
        for argument, names in (("drop", self.drop), ("nominal", self.nominal)):
            if isinstance(names, str):
                raise TypeError(f"{argument} must be a list of fields, got the text {names!r}")
        for argument, name in self._uses():
            if not isinstance(name, str) and (name is not None or argument == "target"):
                raise TypeError(f"{argument} must name a field, got {name!r}")
            if argument != "target" and name in (self.target, *self.drop):
                raise ValueError(f"{argument} must be a field without another use, got {name!r}")
        self._leave = tuple(dict.fromkeys(n for n in (*dict(self._uses()).values(), *self.drop) if n is not None))
        with open_bytes(self._file) as file:
            buffer = Buffer(file, self._name)
            buffer.fill(0)
            if self._file == "-":
                self._input = buffer
            found = self._infer(buffer)
        schema = self._given_schema
        self._records = Records(schema or found, self._name, extra=self.extra)
        if schema is not None and self.extra == "refuse" and set(schema.columns) != set(found.columns):
            raise ValueError(
                f"schema must have the features {shown(list(found.columns), 200)} of {self._name}, "
                f"got {shown(list(schema.columns), 200)}"
            )

    def _uses(self) -> list[tuple[str, str | None]]:
        return [("target", self.target), ("time", self.time), ("label_time", self.label_time)]

    def _infer(self, buffer: Buffer) -> Schema:
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
            return self._infer(buffer)
        if not first:
            raise ValueError(reason or f"{self._name} must have records, it is empty")
        names = list(dict.fromkeys(n for r in first for n in r))
        for argument, name in [*self._uses(), *(("drop", n) for n in self.drop)]:
            if name is not None and name not in names:
                raise ColumnError(
                    f"{argument} must be one of the fields {listed(names)} of {self._name}, got {name!r}",
                    argument=argument, columns=names,
                )  # fmt: skip
        schema = infer(
            first, self._name, self._leave, self.nominal, self.readings.joined(Readings.of(self._given_schema))
        )
        self._booleans = true_or_false(first, self._given_schema or schema)
        return schema

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

    @property
    def booleans(self) -> tuple[str, ...]:
        """The numeric features that hold true and false in the first records."""
        return self._booleans

    def _set_schema(self, schema: Schema) -> None:
        self._records = Records(schema, self._name, extra=self.extra)

    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        with self._opened(mark) as (buffer, _):
            yield from line_blocks(buffer, mark, _ROWS, self._read, self._join)

    def _read(self, text: bytes) -> tuple[Any, Any, list[float]]:
        """Turn a line into a row, its label and its times."""
        record = self._decode(text)
        label = self._records.label(record.get(self.target), f"field {self.target!r}")
        when = [stamp(record.get(n), f"field {n!r}") for n in (self.time, self.label_time) if n is not None]
        return self._records.row(record, self._leave), label, when

    def _join(self, records: list[tuple[Any, Any, list[float]]]) -> Chunk:
        X, y, stamps = zip(*records, strict=True) if records else ((), (), ())
        table = np.array(X).reshape(len(X), self.schema.n_features)
        columns = iter(np.array(stamps, dtype=np.float64).reshape(len(X), -1).T.copy())
        times = [None if name is None else next(columns) for name in (self.time, self.label_time)]
        return Chunk(table, label_column(list(y)), None, *times)
