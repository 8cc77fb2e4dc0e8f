"""Parquet and Arrow IPC files: one file, a folder of them, or a pattern, one batch in memory at a time."""

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, final

from thalweg.core.chunk import Chunk
from thalweg.core.fields import again, fixed
from thalweg.core.schema import Schema
from thalweg.streams.files.block import Block, Mark
from thalweg.streams.files.block_stream import BlockStream, check_path
from thalweg.streams.files.named_columns import NamedColumns
from thalweg.streams.files.quarantine import Bad

_BATCH = 8192  # records that are turned into rows at a time: few enough to stay in the processor's cache
SCHEMA_KEY = b"thalweg"
"""Where a file that this library wrote keeps the schema of the stream."""


_PATH: Any = again(
    doc="A file, a folder of them, or a pattern such as ``day-*.parquet``, in the order of their names.", kw_only=False
)


class _RecordBatches(NamedColumns, ABC):
    """Reads record batches of files one after another, for a ``BlockStream``."""

    _kind: str = fixed("Parquet")
    _ends: tuple[str, ...] = fixed(())
    path: str | os.PathLike[str] = fixed("")
    _name: str = fixed("")
    _limit: int | None = fixed(None)

    def _located(self) -> str:
        self._paths = [check_path(file) for file in _expand(self.path, self._ends)]
        return os.fspath(self.path)

    def _look(self) -> None:
        import pyarrow as pa

        self._sizes: list[list[int]] = []
        fields = None
        for file in self._paths:
            try:
                found, sizes = self._parts(file)
            except (ValueError, OSError, pa.ArrowException):
                raise ValueError(
                    f"{Path(file).name} must be {self._article} file: it is none, or damaged, or cut off"
                ) from None
            if fields is None:
                fields = found
            elif fields.remove_metadata() != found.remove_metadata():
                raise ValueError(
                    f"all files of {self._name} must have the same columns, {Path(file).name} has others than "
                    f"{Path(self._paths[0]).name}"
                )
            self._sizes.append(sizes)
        assert fields is not None
        if sum(map(sum, self._sizes)) == 0:
            raise ValueError(f"{self._name} must have records, it has none")
        for name in fields.names:
            if fields.names.count(name) > 1:
                raise ValueError(f"{self._name} must have columns of different names, {name!r} appears more than once")
        self._types = dict(zip(fields.names, fields.types, strict=True))
        written = (fields.metadata or {}).get(SCHEMA_KEY)
        schema = self._given_schema
        if schema is None and written is not None and not self.drop and not self.nominal and not self.readings:
            other = (self.target, self.time, self.label_time)
            schema = self._as_written(written, [n for n in fields.names if n not in other])
        self._text = [n for n, t in self._types.items() if pa.types.is_string(t)]
        self._columns = self._columns_of(self._name, self._types, schema)

    @property
    def _article(self) -> str:
        return "an Arrow" if self._kind == "Arrow" else f"a {self._kind}"

    def _as_written(self, text: bytes, names: list[str]) -> Schema | None:
        try:
            schema = Schema.from_json(text)
        except (ValueError, TypeError):
            return None
        return schema if set(schema.columns) == set(names) else None

    @abstractmethod
    def _parts(self, path: str) -> tuple[Any, list[int]]:
        """Give the fields of a file and the number of records of each of its parts."""

    @abstractmethod
    def _batches(self, path: str, part: int) -> Iterator[Any]:
        """Give the record batches of one part of a file, whatever they hold."""

    @property
    def rows(self) -> int:
        """How many records there are from the start to the end."""
        total = sum(map(sum, self._sizes))
        return total if self._limit is None else min(total, self._limit)

    @property
    def schema(self) -> Schema:
        """The features. Nominal ones have at least the values of the records read so far."""
        return self._columns.schema

    def _set_schema(self, schema: Schema) -> None:
        self._columns.schema = schema

    @property
    def booleans(self) -> tuple[str, ...]:
        """The numeric features that hold true and false in the file."""
        return self._columns.booleans

    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        import pyarrow as pa

        rows, bads, skip, _ = mark
        seen = 0
        for path, sizes in zip(self._paths, self._sizes, strict=True):
            for part, size in enumerate(sizes):
                if seen + size <= skip:
                    seen += size
                    continue
                end = seen + size
                try:
                    for batch in self._batches(path, part):
                        batch.validate(full=True)  # before any value is looked at: offsets, codes, lengths, text
                        if seen + batch.num_rows > end:
                            raise OSError
                        for start in range(0, batch.num_rows, _BATCH):
                            piece = batch.slice(start, _BATCH)
                            if seen + piece.num_rows <= skip:
                                seen += piece.num_rows
                                continue
                            chunk, bad = self._chunk(pa.Table.from_batches([piece]), seen)
                            yield Block(chunk, (rows, bads, seen, 0), bad)
                            seen += piece.num_rows
                            rows += len(chunk)
                            bads += len(bad)
                    if seen < end:
                        raise OSError
                except (OSError, pa.ArrowException):
                    raise ValueError(
                        f"{Path(path).name} cannot be read after record {seen}: the file is damaged or cut off"
                    ) from None

    def _chunk(self, table: Any, first: int) -> tuple[Chunk, list[Bad]]:
        """Turn a table into a chunk, record by record where one is bad."""
        with suppress(ValueError, TypeError):
            return self._columns.chunk(table, first), []
        parts: list[Chunk] = []
        bad: list[Bad] = []
        for i in range(table.num_rows):
            one = table.slice(i, 1)
            try:
                parts.append(self._columns.chunk(one, first + i))
            except (ValueError, TypeError) as error:
                text = str(one.to_pylist()[0])
                reason = f"record {first + i + 1} of {self._name}: {error}"
                bad.append(Bad(len(parts), first + i + 1, text, reason))
        return Chunk.join(parts or [self._columns.chunk(table.slice(0, 0), first)]), bad


@final
class ParquetStream(_RecordBatches, BlockStream):
    """The records of Parquet files, in order, one row group in memory at a time.

    Text and dictionary columns are nominal.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "weather.parquet"
    >>> pq.write_table(pa.table({"sky": ["clear", "rain"], "degrees": [21, None], "play": [True, False]}), path)
    >>> chunk = ParquetStream(path, target="play").take(2)
    >>> chunk.X.tolist(), chunk.y.tolist()
    ([[0.0, 21.0], [1.0, nan]], [True, False])
    """

    path: str | os.PathLike[str] = _PATH

    _kind, _ends = "Parquet", (".parquet", ".pq")

    def _parts(self, path: str) -> tuple[Any, list[int]]:
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            groups = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
            if min(groups, default=0) < 0:
                raise ValueError
            return file.schema_arrow, groups

    def _batches(self, path: str, part: int) -> Iterator[Any]:
        import pyarrow.parquet as pq

        used = self._columns.used
        with pq.ParquetFile(path, read_dictionary=[n for n in used if n in self._text]) as file:
            yield from file.iter_batches(_BATCH, row_groups=[part], columns=used)


@final
class ArrowStream(_RecordBatches, BlockStream):
    """The records of Arrow IPC files (.arrow, .feather, .ipc), in order, one batch in memory at a time.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "weather.arrow"
    >>> table = pa.table({"sky": ["clear", "rain"], "play": [True, False]})
    >>> with pa.ipc.new_file(path, table.schema) as file: file.write_table(table)
    >>> ArrowStream(path, target="play").take(2).y.tolist()
    [True, False]
    """

    path: str | os.PathLike[str] = _PATH

    _kind, _ends = "Arrow", (".arrow", ".feather", ".ipc")

    def _parts(self, path: str) -> tuple[Any, list[int]]:
        with _open_arrow(path) as file:
            schema = file.schema
        widths = [_bits(kind) for kind in schema.types]
        with _open_arrow(path, [widths.index(min(widths))]) as file:  # all batches say how long they are, cheaply
            batches = (file.get_batch(i) for i in range(file.num_record_batches))
            return schema, [_length(batch) for batch in batches]

    def _batches(self, path: str, part: int) -> Iterator[Any]:
        names = list(self._types)
        with _open_arrow(path, [names.index(name) for name in self._columns.used]) as file:
            yield file.get_batch(part).select(self._columns.used)


@contextmanager
def _open_arrow(path: str, columns: list[int] | None = None) -> Iterator[Any]:
    """Open a file to read some of its columns. It is not mapped: who cuts off a mapped file kills who looks at it."""
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(included_fields=columns, use_threads=False)
    with pa.OSFile(path) as source, pa.ipc.open_file(source, options=options) as file:
        yield file


def _bits(kind: Any) -> int:
    """Give the bits of a value, or a guess where values have no fixed width."""
    try:
        return int(kind.bit_width)
    except ValueError:
        return 128


def _length(batch: Any) -> int:
    """Give the number of records that a batch says it has, where its columns have as many."""
    batch.validate()
    return int(batch.num_rows)


def _expand(path: Any, ends: tuple[str, ...]) -> list[str]:
    """Give the files that a path, a folder or a pattern names."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must name a file, got {path!r}")
    text = os.fspath(path)
    if Path(text).is_dir():
        found = sorted(str(p) for p in Path(text).iterdir() if p.suffix.lower() in ends)
        if not found:
            raise ValueError(f"path must name a file or a folder with {' or '.join(ends)} files, {text!r} has none")
        return found
    if Path(text).exists():
        return [text]
    if found := sorted(glob.glob(text, recursive=True)):
        return found
    raise FileNotFoundError(f"path must name a file, there is none at {text!r}")
