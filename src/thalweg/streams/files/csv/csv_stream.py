"""CSV and TSV files of any size, from a file or from standard input."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, final

from thalweg.core.fields import again, fixed, free
from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.streams.files.blocks import Block, Mark
from thalweg.streams.files.column_stream import ColumnStream
from thalweg.streams.files.csv import csv_jit as jit
from thalweg.streams.files.csv.csv_rows import MISSING, delimiter_of, read_header
from thalweg.streams.files.text import TRUE_FALSE, Buffer, TextTable, arrow_type, kind_of, open_bytes
from thalweg.streams.files.text_table import WordTable


def _check_delimiter(name: str, value: Any) -> None:
    if not (isinstance(value, str) and len(value) == 1 and value.isascii() and value not in '\n\r"\0'):
        raise ValueError(f"{name} must be one character, got {value!r}")


def _check_words(name: str, value: Any) -> None:
    if not isinstance(value, (list, tuple)) or not all(isinstance(word, str) for word in value):
        raise TypeError(f"{name} must be a list of texts, got {shown(value)}")


@final
class CSVStream(ColumnStream):
    r"""The records of a text file with a header, in order, in constant memory; .gz, .bz2, .zst are unpacked on the way.

    Types are inferred from the first megabyte.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "weather.csv"
    >>> _ = path.write_text("sky,degrees,play\nclear,21,yes\nrain,,no\nclear,9,no\n")
    >>> stream = CSVStream(path, target="play")
    >>> chunk = stream.take(3)
    >>> chunk.X.tolist(), chunk.y.tolist(), stream.schema.features[0].values
    ([[0.0, 21.0], [1.0, nan], [0.0, 9.0]], ['yes', 'no', 'no'], ('clear', 'rain'))
    """

    path: str | os.PathLike[str] = again(
        doc='The file; "-": standard input, which can be read once and has no position.', kw_only=False
    )
    delimiter: str | None = free(default=None, doc="None: a tab for .tsv, else a comma.", check=_check_delimiter)
    missing_words: Sequence[str] = free(
        default=MISSING,
        doc="What stands for a missing value; in quotes it is a text.",
        check=_check_words,
        old="missing",
    )

    _pipes = fixed(True)

    @property
    def schema(self) -> Schema:
        """The features. Nominal ones have at least the values of the records read so far."""
        return self._rows.schema

    def _set_schema(self, schema: Schema) -> None:
        self._rows.learn(schema)

    def _look(self) -> None:
        self._delimiter = self.delimiter or delimiter_of(self._name)
        with open_bytes(self._file) as file:
            kinds = self._infer(Buffer(file, self._name))
        columns = self._columns_of({name: arrow_type(kind) for name, kind in kinds.items()}, self._given_schema)
        self._rows = WordTable(
            self._name,
            kinds,
            columns.schema,
            target=self.target,
            label_kind="text" if columns.text_target else kinds[self.target],
            clocks=(self.time, self.label_time),
            delimiter=self._delimiter,
            marks=self._marks,
        )

    # -- the first block ----------------------------------------------------------------------------------------------

    def _infer(self, buffer: Buffer) -> dict[str, str]:
        """Read the header, and infer from the first block what each column holds."""
        self._header, start, line = read_header(buffer, self._delimiter)
        self._marks = tuple(dict.fromkeys(m for m in self.missing_words if m))
        self._first = (0, 0, start, line)
        while (few := self._kinds_of_few(buffer, start)) is None:
            buffer.fill(0)
        kinds = few
        if self._file == "-":
            self._input = buffer
        while True:  # what the first few say holds for the whole block, or gives way to text
            table = self._trial(kinds)
            wrong = {b.column for *_, bad, _ in table.parse(buffer, start, self._first[3]) for b in bad} - {-1}
            if not wrong:
                return dict(zip(self._header, kinds, strict=True))
            for c in wrong:
                kinds[c] = "number" if kinds[c] == "whole" else "text"

    def _kinds_of_few(self, buffer: Buffer, start: int) -> list[str] | None:
        """Infer from the words of the first records what each column holds; None: the block is too short for one."""
        n = len(self._header)
        word = [jit.WORD] * n
        table = TextTable(
            self._name, self._header, word, [*range(n)], [0] * n, delimiter=self._delimiter, marks=self._marks
        )
        table.rows_at_once = max(1, min(200, 20_000 // n))
        table.learn({})
        rows, reason = 0, None
        for X, _, bad, _ in table.parse(buffer, start, self._first[3]):
            rows += len(X)
            reason = reason or (bad[0].reason if bad else None)
            if rows:
                break
        if rows == 0 and reason is None and not buffer.last:
            return None
        if rows == 0:
            raise ValueError(reason or f"{self._name} must have records, it has a header only")
        found: list[list[str]] = [[] for _ in range(n)]
        for c, w in table.new_words():
            if w not in self._marks:
                found[c].append(w)
        return [kind_of(words) for words in found]

    def _trial(self, kinds: list[str]) -> TextTable:
        """Make a table that finds what is not of its kind."""
        n = len(kinds)
        codes = {"nothing": jit.NUMBER, "number": jit.NUMBER, "date": jit.STAMP, "time": jit.STAMP, "text": jit.SKIP}
        kind, rule = [codes.get(k, jit.WORD) for k in kinds], [jit.CLOSED] * n
        for c, name in enumerate(self._header):
            if kinds[c] == "whole":
                kind[c], rule[c] = (jit.WORD, jit.WHOLE) if name == self.target else (jit.NUMBER, jit.OPEN)
        table = TextTable(
            self._name, self._header, kind, [*range(n)], rule, delimiter=self._delimiter, marks=self._marks
        )
        table.learn({c: TRUE_FALSE for c in range(n) if kinds[c] == "boolean"})
        return table

    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        with self._opened(mark) as (buffer, used):
            yield from self._rows.blocks(buffer, mark, used)
