"""CSV and TSV files of any size, from a file or from standard input."""

import codecs
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, final

from thalweg.core.fields import again, choice, fixed, free
from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.streams.files.block import Block, Mark
from thalweg.streams.files.block_stream import BlockStream
from thalweg.streams.files.csv import csv_jit as jit
from thalweg.streams.files.csv.csv_rows import delimiter_of, read_header
from thalweg.streams.files.marks import MISSING
from thalweg.streams.files.named_columns import NamedColumns
from thalweg.streams.files.recoded import find_dialect
from thalweg.streams.files.text import TRUE_FALSE, Buffer, TextTable, arrow_type, first_bytes, kind_of, open_bytes
from thalweg.streams.files.text_table import WordTable

LEAST = 50
"""Records that must have been seen before a word in a column of numbers counts as a mistake."""
STRAY = 0.02
"""The share of the records that may have such words; where more have, the column is text."""


def _check_delimiter(name: str, value: Any) -> None:
    if not (isinstance(value, str) and len(value) == 1 and value.isascii() and value not in '\n\r"\0'):
        raise ValueError(f"{name} must be one character, got {value!r}")


def _check_encoding(name: str, value: Any) -> None:
    try:
        codecs.lookup(value)
    except (LookupError, TypeError):
        raise ValueError(f"{name} must be an encoding of Python, such as 'latin-1', got {shown(value)}") from None


def _check_words(name: str, value: Any) -> None:
    if not isinstance(value, (list, tuple)) or not all(isinstance(word, str) for word in value):
        raise TypeError(f"{name} must be a list of texts, got {shown(value)}")


@final
class CSVStream(NamedColumns, BlockStream):
    r"""The records of a text file with a header, in order, in constant memory; .gz, .bz2, .zst are unpacked on the way.

    Types are inferred from the first megabyte. A column where at most 2 % of the records (of at least 50) have a word
    and the others numbers is a column of numbers: such a record is a bad one, unless ``missing_words`` has the word or
    ``nominal`` the column.

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
    delimiter: str | None = free(
        default=None,
        doc="What stands between the values. None: a tab for .tsv; else what divides the first lines most, a comma, a "
        "semicolon, a tab or a bar.",
        check=_check_delimiter,
    )
    decimal: Literal[".", ","] | None = choice(
        default=None,
        doc="The decimal sign. None: a comma where the delimiter is another, the first numbers have commas and none "
        "has a point.",
    )
    encoding: str | None = free(
        default=None, doc='The encoding of the text, such as "latin-1"; None: UTF-8.', check=_check_encoding
    )
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

    @property
    def booleans(self) -> tuple[str, ...]:
        """The numeric features that hold true and false in the file."""
        return self._rows.booleans

    def _look(self) -> None:
        sample = first_bytes(self._file)
        self._dialect = find_dialect(sample, delimiter_of(self._name), self.delimiter, self.decimal, self.encoding)
        self._delimiter = self._dialect.delimiter
        with self._bytes() as file:
            kinds = self._infer(Buffer(file, self._name))
        columns = self._columns_of(
            self._name, {name: arrow_type(kind) for name, kind in kinds.items()}, self._given_schema
        )
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

    @contextmanager
    def _bytes(self) -> Iterator[Any]:
        with open_bytes(self._file) as file:
            yield self._dialect.reading(file)

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
            rows, wrong = 0, dict[int, int]()
            for X, _, bad, _ in table.parse(buffer, start, self._first[3]):
                rows += len(X) + len(bad)
                for b in bad:
                    wrong[b.column] = wrong.get(b.column, 0) + 1
            wider = {c: "number" for c in wrong if c >= 0 and kinds[c] == "whole"}
            wider |= {
                c: "text" for c, n in wrong.items() if c >= 0 and c not in wider and not self._stray(c, n, rows, kinds)
            }
            if not wider:
                return dict(zip(self._header, kinds, strict=True))
            for c, kind in wider.items():
                kinds[c] = kind

    def _stray(self, column: int, words: int, rows: int, kinds: list[str]) -> bool:
        """Are these words mistakes in a column of numbers, which make bad records, and not a column of text?"""
        named = self._header[column] in (self.target, *self.nominal)
        return kinds[column] == "number" and not named and rows >= LEAST and words <= STRAY * rows

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
        return [self._kind(words, rows) for words in found]

    def _kind(self, words: list[str], rows: int) -> str:
        """Say what a column holds: also numbers where a word or two among many may be mistakes."""
        kind = kind_of(words)
        if kind == "text" and rows >= LEAST:
            odd = sum(kind_of([word]) not in ("whole", "number") for word in words)
            if odd <= STRAY * len(words):
                return "number"
        return kind

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
