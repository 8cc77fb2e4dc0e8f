"""Files of any size, read by chunks: CSV and Parquet."""

import os
import re
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.columns import Columns
from thalweg.streams.source import Source

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""What stands for a missing value in a text file."""

_BATCH = 8192  # records that are turned into rows at a time: few enough to stay in the processor's cache
_BLOCK = 1 << 20  # bytes of text parsed at a time; types are inferred from the first block


class _File(Source):
    """Reads tables one after another, and cuts them into chunks of any size."""

    path: str
    _columns: Columns

    def _open_with(self, types: Mapping[str, Any], schema: Schema | None) -> None:
        """Give every column its use; read nothing yet."""
        self.name = Path(self.path).name
        names = ("target", "time", "label_time", "drop", "nominal")
        self._given_schema = schema
        self._types = types
        self._columns = Columns(self._name, types, schema=schema, **{n: getattr(self, n) for n in names})
        self._begin_schema = self._columns.schema
        self.restart()

    @abstractmethod
    def _tables_from(self, row: int) -> Iterator[Any]:
        """Give the rest of the file from this record on, as Arrow tables."""

    @property
    def _name(self) -> str:
        return Path(self.path).name

    @property
    def schema(self) -> Schema:
        """The features. Nominal ones have at least the values of the records read so far."""
        return self._columns.schema

    def _start(self) -> None:
        self._columns.schema = self._begin_schema
        self._go_to(0)

    def _go_to(self, row: int) -> None:
        self._reader = self._tables_from(row)
        self._reached = row
        self._waiting: deque[Chunk] = deque()
        self._held = 0
        self._error: ValueError | None = None

    def _next(self, n: int) -> Chunk | None:
        while self._held < n and self._fetch():
            pass
        parts: list[Chunk] = []
        while n > 0 and self._waiting:
            chunk = self._waiting.popleft()
            if len(chunk) > n:
                self._waiting.appendleft(chunk[n:])
                chunk = chunk[:n]
            parts.append(chunk)
            n -= len(chunk)
            self._held -= len(chunk)
        return Chunk.join(parts) if parts else None

    def _fetch(self) -> bool:
        """Read one more table; an error stays: no later read steps over it."""
        if self._error is not None:
            raise self._error
        try:
            table = next(self._reader, None)
            if table is None:
                return False
            chunk = self._columns.chunk(table, self._reached)
        except (ValueError, TypeError, OSError, NotImplementedError) as error:
            self._error = self._explain(error)
            raise self._error from None
        self._waiting.append(chunk)
        self._held += len(chunk)
        self._reached += len(chunk)
        return True

    def _explain(self, error: Exception) -> ValueError:
        """Say in a sentence what is wrong with the file."""
        import pyarrow as pa

        if not isinstance(error, (pa.ArrowException, OSError)):
            return ValueError(str(error))
        return ValueError(f"{self._name} cannot be read after record {self._reached}: the file is damaged or cut off")

    def _param(self, name: str) -> Any:
        return self._given_schema if name == "schema" else getattr(self, name)

    def _tables(self) -> State:
        return {"schema": np.frombuffer(self._columns.schema.to_json(), dtype=np.uint8)}

    def _adopt(self, tables: State, given: int) -> None:
        schema = Schema.from_json(tables["schema"].tobytes())
        if schema.names != self._begin_schema.names:
            raise ValueError(f"state must be a position in a file with the features of {self._name}")
        self._columns.schema = schema
        self._go_to(given)


@final
class CSVStream(_File):
    r"""The records of a text file with a header, in order, in constant memory; .gz, .bz2, .zst are unpacked on the way.

    path: the file. target: the column with the labels. time, label_time: columns that say when a record, or its
    label, was seen; numbers are seconds. drop: columns to leave out. nominal: columns to be read as text though
    they look like numbers (the target may be one). delimiter: None: a tab for .tsv, else a comma.
    missing: what stands for a missing value.
    schema: features that are known beforehand, such as those of the stream a learner has seen; else types are inferred
    from the first megabyte: a column with text is nominal, and new values join as they appear. limit: rows.

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
        limit: int | None = None,
    ) -> None:
        _check_path(path)
        if delimiter is not None and not (isinstance(delimiter, str) and len(delimiter) == 1):
            raise ValueError(f"delimiter must be one character, got {delimiter!r}")
        if isinstance(missing, str) or not all(isinstance(m, str) for m in missing):
            raise TypeError(f"missing must be a list of texts, got {missing!r}")
        self._set_limit(limit)
        self.path, self.target, self.time, self.label_time = os.fspath(path), target, time, label_time
        self.drop, self.nominal, self.delimiter, self.missing = drop, nominal, delimiter, missing
        self._reached = 0
        self._header: list[str] = []
        self._open_with(self._infer(), schema)

    def _open(self, types: Mapping[str, Any] | None, columns: list[str] | None) -> Any:
        import pyarrow.csv as csv

        stem = Path(self.path).name.lower()
        tab = stem.endswith((".tsv", ".tab")) or ".tsv." in stem or ".tab." in stem
        return csv.open_csv(
            self.path,
            read_options=csv.ReadOptions(use_threads=False, block_size=_BLOCK),  # with threads no error knows its line
            parse_options=csv.ParseOptions(delimiter=self.delimiter or ("\t" if tab else ","), newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=columns,
                null_values=list(self.missing),
                strings_can_be_null=True,
            ),
        )

    def _infer(self) -> dict[str, Any]:
        """Infer the types of the columns from the first block."""
        try:
            with self._open(None, None) as reader:
                names, types = reader.schema.names, reader.schema.types
                first = next(iter(reader), None)
        except (ValueError, OSError) as error:
            raise self._explain(error) from None
        if first is None or first.num_rows == 0:
            raise ValueError(f"{self._name} must have records, it has a header only")
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{self._name} must have columns of different names, {name!r} appears more than once")
        self._header = names
        return dict(zip(names, types, strict=True))

    def _read_as(self) -> dict[str, Any]:
        """The types to read the columns with: one for all numbers, so that later blocks may have decimals."""
        import pyarrow as pa

        word = pa.dictionary(pa.int32(), pa.string())
        types = {name: word if name in self._columns.nominal else pa.float64() for name in self._columns.schema.names}
        for name in types:
            if pa.types.is_boolean(self._types[name]) and name not in self._columns.nominal:
                types[name] = pa.bool_()
        kind = self._types[self.target]
        text = pa.types.is_string(kind) or pa.types.is_null(kind) or self._columns.text_target
        types[self.target] = word if text else kind
        for column in (self.time, self.label_time):
            if column is not None:
                kind = self._types[column]
                number = pa.types.is_integer(kind) or pa.types.is_null(kind)
                stamp = pa.types.is_timestamp(kind)
                types[column] = pa.float64() if number else pa.timestamp("ns", kind.tz) if stamp else kind
        return types

    def _tables_from(self, row: int) -> Iterator[Any]:
        import pyarrow as pa

        with self._open(self._read_as(), self._columns.used) as reader:
            for batch in reader:
                skipped = min(row, batch.num_rows)
                row -= skipped
                for start in range(skipped, batch.num_rows, _BATCH):
                    yield pa.Table.from_batches([batch.slice(start, _BATCH)])

    def _explain(self, error: Exception) -> ValueError:
        text, name = str(error), self._name
        line = f"line {m[1]} of {name}" if (m := re.search(r"Row #(\d+)", text)) else name
        if m := re.search(r"Expected (\d+) columns, got (\d+)", text):
            return ValueError(f"{line} must have {m[1]} values, as the header has, got {m[2]}")
        if m := re.search(r"column #(\d+).*conversion error to ([^:]+): (invalid value '(.*)'|.*)", text, re.DOTALL):
            column = self._header[int(m[1])] if int(m[1]) < len(self._header) else m[1]
            if "UTF8" in m[3]:
                return ValueError(f"{line} must be UTF-8 text, it is not in column {column!r}")
            what = {"double": "a number", "int64": "a whole number", "bool": "true or false"}.get(m[2], m[2])
            return ValueError(
                f"{line} must have {what} in column {column!r}, as in the first rows, got {(m[4] or '')[:40]!r}: "
                f"if it is text, say nominal=[{column!r}]"
            )
        if "straddling" in text:
            return ValueError(f"{name} must close its quotes: a value after record {self._reached} has no end")
        if "Empty CSV file or block" in text:
            return ValueError(f"{name} must have records, it has a header only")
        if "Empty CSV" in text:
            return ValueError(f"{name} must have a header and records, it is empty")
        if isinstance(error, OSError):
            return ValueError(f"{name} cannot be unpacked after record {self._reached}: it is damaged or cut off")
        return super()._explain(error)


@final
class ParquetStream(_File):
    """The records of a Parquet file, in order, one row group in memory at a time.

    path: the file. target: the column with the labels. time, label_time: columns that say when a record, or its
    label, was seen; numbers are seconds. drop: columns to leave out. nominal: columns of numbers that are nominal.
    schema: features that are known beforehand, such as those of the stream a learner has seen; else text and
    dictionary columns are nominal, and new values join as they appear. limit: rows.

    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "weather.parquet"
    >>> pq.write_table(pa.table({"sky": ["clear", "rain"], "degrees": [21, None], "play": [True, False]}), path)
    >>> chunk = ParquetStream(path, target="play").take(2)
    >>> chunk.X.tolist(), chunk.y.tolist()
    ([[0.0, 21.0], [1.0, nan]], [True, False])
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
        limit: int | None = None,
    ) -> None:
        import pyarrow.parquet as pq

        _check_path(path)
        self._set_limit(limit)
        self.path, self.target, self.time, self.label_time = os.fspath(path), target, time, label_time
        self.drop, self.nominal = drop, nominal
        try:
            with pq.ParquetFile(self.path) as file:
                fields, groups = file.schema_arrow, file.metadata.num_row_groups
                self._groups: list[int] = [file.metadata.row_group(g).num_rows for g in range(groups)]
        except (ValueError, OSError):
            raise ValueError(f"{self._name} must be a Parquet file: it is none, or damaged, or cut off") from None
        if sum(self._groups) == 0:
            raise ValueError(f"{self._name} must have records, it has none")
        self._open_with(dict(zip(fields.names, fields.types, strict=True)), schema)

    @property
    def rows(self) -> int:
        """How many records there are from the start to the end."""
        total = sum(self._groups)
        return total if self._limit is None else min(total, self._limit)

    def _tables_from(self, row: int) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        text = [n for n in self._columns.used if pa.types.is_string(self._types[n])]
        with pq.ParquetFile(self.path, read_dictionary=text) as file:
            for group, size in enumerate(self._groups):
                if row >= size:
                    row -= size
                    continue
                for batch in file.iter_batches(_BATCH, row_groups=[group], columns=self._columns.used):
                    skipped = min(row, batch.num_rows)
                    row -= skipped
                    if skipped < batch.num_rows:
                        yield pa.Table.from_batches([batch.slice(skipped)])


KINDS: dict[str, type[CSVStream] | type[ParquetStream]] = {
    ".parquet": ParquetStream,
    ".pq": ParquetStream,
    ".csv": CSVStream,
    ".tsv": CSVStream,
    ".tab": CSVStream,
}
_PACKED = (".gz", ".bz2", ".zst", ".lz4")


def open_file(path: str | os.PathLike[str], target: str = "class", **options: Any) -> CSVStream | ParquetStream:
    """Open a file by what its name ends with; options are those of ``CSVStream`` or ``ParquetStream``.

    >>> open_file("notes.doc")
    Traceback (most recent call last):
    ValueError: path must end with .csv, .tsv, .tab (also .gz, .bz2, .zst, .lz4), .parquet or .pq, got 'notes.doc'
    """
    suffixes = [s.lower() for s in Path(os.fspath(path)).suffixes]
    packed = bool(suffixes) and suffixes[-1] in _PACKED
    kind = KINDS.get(suffixes[-2 if packed else -1]) if len(suffixes) > packed else None
    if kind is None or (packed and kind is ParquetStream):
        known = ".csv, .tsv, .tab (also .gz, .bz2, .zst, .lz4), .parquet or .pq"
        raise ValueError(f"path must end with {known}, got {os.fspath(path)!r}")
    return kind(path, target, **options)


def _check_path(path: Any) -> None:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must name a file, got {path!r}")
    if Path(path).is_dir():
        raise ValueError(f"path must name a file, {os.fspath(path)!r} is a folder")
    if not Path(path).exists():
        raise FileNotFoundError(f"path must name a file, there is none at {os.fspath(path)!r}")
