"""CSV and TSV files of any size, from a file or from standard input."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, final

from thalweg.core.schema import Schema
from thalweg.streams.files.blocks import Block, Mark, check_path
from thalweg.streams.files.columns import Columns
from thalweg.streams.files.csv import csv_jit as jit
from thalweg.streams.files.csv.csv_rows import MISSING, delimiter_of, read_header
from thalweg.streams.files.text import TRUE_FALSE, Buffer, LabelWords, TextTable, arrow_type, kind_of, open_bytes
from thalweg.streams.files.text_table import TableStream


@final
class CSVStream(TableStream):
    r"""The records of a text file with a header, in order, in constant memory; .gz, .bz2, .zst are unpacked on the way.

    Parameters
    ----------
    path : str | os.PathLike[str]
        The file; "-": standard input, which can be read once and has no position.
    target : str
        The column with the labels.
    time, label_time : str | None
        Columns that say when a record, or its label, was seen; numbers are seconds.
    drop : Sequence[str]
        Columns to leave out.
    nominal : Sequence[str]
        Columns to be read as text though they look like numbers (the target may be one).
    delimiter : str | None
        None: a tab for .tsv, else a comma.
    missing : Sequence[str]
        What stands for a missing value; in quotes it is a text.
    schema : Schema | None
        Features that are known beforehand, such as those of the stream a learner has seen; else types are inferred
        from the first megabyte: a column with text is nominal, and new values join as they appear.
    on_bad_row : str
        What to do with a later record that breaks the schema: "raise", "skip" (and count, see ``skipped``), or
        "quarantine": write it with the reason to the file ``quarantine``, a .csv or .jsonl.
    quarantine : str | PathLike[str] | None
        The file for bad rows, with on_bad_row="quarantine".
    limit : int | None
        Rows.

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

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str = "class",
        *,
        time: str | None = None,
        label_time: str | None = None,
        drop: Sequence[str] = (),
        nominal: Sequence[str] = (),
        delimiter: str | None = None,
        missing: Sequence[str] = MISSING,
        schema: Schema | None = None,
        on_bad_row: str = "raise",
        quarantine: str | os.PathLike[str] | None = None,
        limit: int | None = None,
    ) -> None:
        self.path = "-" if path == "-" else check_path(path)
        if delimiter is not None and not (
            isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii() and delimiter not in '\n\r"\0'
        ):
            raise ValueError(f"delimiter must be one character, got {delimiter!r}")
        if not isinstance(missing, (list, tuple)) or not all(isinstance(m, str) for m in missing):
            raise TypeError(f"missing must be a list of texts, got {missing!r:.80}")
        self._set_limit(limit)
        self.target, self.time, self.label_time = target, time, label_time
        self.drop, self.nominal, self.delimiter, self.missing = drop, nominal, delimiter, missing
        self._name = self.name = "standard input" if self.path == "-" else Path(self.path).name
        self._given_schema = schema
        self._input: tuple[Any, ...] | None = None
        self._delimiter = delimiter or delimiter_of(self._name)
        with open_bytes(self.path) as file:
            kinds = self._infer(Buffer(file, self._name))
        types = {name: arrow_type(kind) for name, kind in kinds.items()}
        uses: dict[str, Any] = {n: getattr(self, n) for n in ("target", "time", "label_time", "drop", "nominal")}
        self._columns = Columns(self._name, types, schema=schema, **uses)
        self._schema = self._columns.schema
        self._lay_out(kinds)
        self._begin(on_bad_row, quarantine)

    # -- the first block ----------------------------------------------------------------------------------------------

    def _infer(self, buffer: Buffer) -> dict[str, str]:
        """Read the header, and infer from the first block what each column holds."""
        self._header, start, line = read_header(buffer, self._delimiter)
        self._marks = tuple(dict.fromkeys(m for m in self.missing if m))
        self._first = (0, 0, start, line)
        while (few := self._kinds_of_few(buffer, start)) is None:
            buffer.fill(0)
        kinds = few
        if self.path == "-":
            self._input = (buffer,)
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

    def _lay_out(self, kinds: dict[str, str]) -> None:
        """Give every column its place."""
        n = len(self._header)
        kind, place, rule = [jit.SKIP] * n, [0] * n, [jit.OPEN] * n
        self._booleans: list[int] = []
        column = {name: c for c, name in enumerate(self._header)}
        for f, feature in enumerate(self._columns.schema.features):
            c = column[feature.name]
            place[c] = f
            if feature.nominal:
                kind[c], rule[c] = jit.WORD, jit.OPEN if feature.open else jit.CLOSED
            elif kinds[feature.name] == "boolean":
                kind[c], rule[c] = jit.WORD, jit.CLOSED
                self._booleans.append(c)
            else:
                kind[c] = jit.NUMBER
        c = column[self.target]
        kind[c], place[c] = jit.WORD, -1
        held = "text" if self._columns.text_target else kinds[self.target]
        rule[c] = {"whole": jit.WHOLE, "number": jit.REAL, "boolean": jit.CLOSED}.get(held, jit.OPEN)
        self._labels, self._label_column, self._label_kind = LabelWords(held), c, held
        self._times: list[int | None] = [None, None]
        for k, name in enumerate((self.time, self.label_time)):
            if name is None:
                continue
            if kinds[name] in ("text", "boolean"):
                raise TypeError(f"column {name!r} must hold numbers, dates or times, got {kinds[name]}")
            c = column[name]
            if place[c] < -1:  # one column for both
                self._times[k] = -1 - place[c]
                continue
            kind[c], place[c] = jit.STAMP if kinds[name] in ("date", "time") else jit.NUMBER, -2 - k
            self._times[k] = 1 + k
        marks = self._marks
        self._table = TextTable(self._name, self._header, kind, place, rule, delimiter=self._delimiter, marks=marks)
        self._feature_of = {column[f.name]: i for i, f in enumerate(self._columns.schema.features) if f.nominal}

    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        if self.path == "-":
            yield from self._from_input(mark)
            return
        with open_bytes(self.path) as file:
            yield from self._parsed(Buffer(file, self._name, mark[2]), mark)

    def _from_input(self, mark: Mark) -> Iterator[Block]:
        if self._input is None or mark != self._first:
            raise ValueError("standard input can be read once: it cannot go back, nor be restored")
        (buffer,) = self._input
        self._input = None
        yield from self._parsed(buffer, mark, mark[2])
