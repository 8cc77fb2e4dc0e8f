"""The reverse: a stream becomes a file, and what is written reads back identical."""

import gzip
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import whole
from thalweg.core.protocols import Stream
from thalweg.core.schema import Schema
from thalweg.streams.files.arrow import SCHEMA_KEY
from thalweg.streams.files.marks import MISSING

_ROWS = 8192


def write_stream(
    stream: Stream,
    path: str | os.PathLike[str],
    rows: int | None = None,
    on_progress: Callable[[int], None] | None = None,
    *,
    target: str = "class",
) -> int:
    """Write the next rows of a stream to a .csv, .csv.gz, .parquet, .arrow or .arff file; give how many there were.

    Parameters
    ----------
    stream : Stream
        Read from where it stands.
    path : str | os.PathLike[str]
        The file; its ending says what is written.
    rows : int | None
        How many; None: all, where the stream has an end.
    on_progress : Callable[[int], None] | None
        Called with the number of rows written so far.
    target : str
        The name of the column with the labels. Numbers are written with all their digits. A CSV file has no place for
        the codes of nominal values: read it with ``schema=stream.schema`` to have the same ones. The file appears
        under its name when it is complete.

    Examples
    --------
    >>> from tempfile import mkdtemp; from thalweg import SEA, CSVStream
    >>> path = Path(mkdtemp()) / "sea.csv"
    >>> write_stream(SEA(seed=7), path, 100)
    100
    >>> bool((CSVStream(path).take(100).X == SEA(seed=7).take(100).X).all())
    True
    """
    text = os.fspath(path)
    end = next((e for e in sorted(ENDS, key=len, reverse=True) if text.lower().endswith(e)), None)
    if end is None:
        raise ValueError(f"path must end with {', '.join(ENDS)}, got {text!r}")
    if not Path(text).resolve().parent.is_dir():
        raise FileNotFoundError(f"path must lie in a folder that exists, got {text!r}")
    if rows is not None:
        whole("rows", rows, least=1)
    elif getattr(stream, "rows", None) is None and not hasattr(stream, "path"):
        raise ValueError("rows must be given: the stream has no end")
    schema = stream.schema
    if target in schema.names:
        raise ValueError(f"target must be a name that no feature has, got {target!r}")
    unfinished = Path(f"{text}.unfinished")
    try:
        chunks = _Chunks(stream, rows, on_progress)
        _WRITERS[end](stream, unfinished, chunks, target)
        unfinished.replace(text)
    finally:
        unfinished.unlink(missing_ok=True)
    return chunks.done


class _Chunks:
    """The next rows of a stream by chunks; counts those that were written."""

    def __init__(self, stream: Stream, rows: int | None, on_progress: Callable[[int], None] | None) -> None:
        self._stream, self._rows, self._on_progress, self.done = stream, rows, on_progress, 0

    def __iter__(self) -> Iterator[Chunk]:
        while (n := _ROWS if self._rows is None else min(_ROWS, self._rows - self.done)) > 0:
            chunk = self._stream.read(n)
            if chunk is None or len(chunk) == 0:
                return
            yield chunk.dense()
            self.done += len(chunk)
            if self._on_progress is not None:
                self._on_progress(self.done)


# -- text -------------------------------------------------------------------------------------------------------------


def csv_word(value: Any) -> str:
    """Write a value as a CSV file holds it."""
    text = str(value)
    if text == "" or "\0" in text:
        raise ValueError(f"a value must be text that a CSV file can hold, got {text!r}")
    odd = any(c in text for c in ',"\n\r') or text != text.strip() or text in MISSING
    return '"' + text.replace('"', '""') + '"' if odd else text


def _arff_word(value: Any) -> str:
    text = str(value)
    if "\n" in text or "\r" in text or "\0" in text:
        raise ValueError(f"a value must be text on one line for an ARFF file, got {text!r}")
    plain = text and text != "?" and all(c.isalnum() or c in "_-.+/:" for c in text)
    return text if plain else "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _lines(chunk: Chunk, schema: Schema, word: Callable[[Any], str], missing: str) -> bytes:
    """Write records as lines of text."""
    columns: list[list[str]] = []
    for f, feature in enumerate(schema.features):
        column = chunk.X[:, f]
        if feature.values is None:
            cells = [missing if v != v else repr(v) for v in column.tolist()]
        else:
            known = [word(v) for v in feature.values]
            cells = [missing if v != v else known[int(v)] for v in column.tolist()]
        columns.append(cells)
    words = {v: word(v) for v in dict.fromkeys(chunk.y.tolist())}
    columns.append([words[v] for v in chunk.y.tolist()])
    return ("\n".join(map(",".join, zip(*columns, strict=True))) + "\n").encode()


def _csv(stream: Stream, path: Path, chunks: Iterable[Chunk], target: str, *, packed: bool = False) -> None:
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else nullcontext(raw) as file:
        file.write((",".join(csv_word(n) for n in (*stream.schema.names, target)) + "\n").encode())
        for chunk in chunks:
            file.write(_lines(chunk, stream.schema, csv_word, ""))


def _arff(stream: Stream, path: Path, chunks: Iterable[Chunk], target: str) -> None:
    """Write the records first: the header declares the values and classes that appeared."""
    body = path.with_name(path.name + ".records")
    classes: dict[Any, None] = dict.fromkeys(stream.schema.classes or ())
    try:
        with body.open("wb") as file:
            for chunk in chunks:
                classes.update(dict.fromkeys(chunk.y.tolist()))
                file.write(_lines(chunk, stream.schema, _arff_word, "?"))
        with path.open("wb") as file, body.open("rb") as records:
            file.write(b"@relation stream\n\n")
            for feature in stream.schema.features:
                kind = "numeric" if feature.values is None else "{" + ",".join(map(_arff_word, feature.values)) + "}"
                if feature.values == ():
                    kind = "string"
                file.write(f"@attribute {_arff_word(feature.name)} {kind}\n".encode())
            file.write(f"@attribute {_arff_word(target)} {{{','.join(map(_arff_word, classes))}}}\n\n@data\n".encode())
            shutil.copyfileobj(records, file, 1 << 20)
    finally:
        body.unlink(missing_ok=True)


# -- Arrow ------------------------------------------------------------------------------------------------------------


def _arrow(stream: Stream, path: Path, chunks: Iterable[Chunk], target: str, *, parquet: bool = False) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None
    fields: Any = None
    try:
        for chunk in chunks:
            table = _table(chunk, stream.schema, target)
            if writer is None:
                fields = table.schema.with_metadata({SCHEMA_KEY: stream.schema.to_json()})
                writer = pq.ParquetWriter(path, fields) if parquet else pa.ipc.new_file(str(path), fields)
            writer.write_table(table.cast(fields))
        if writer is None:
            raise ValueError("the stream must have records, it has none")
    finally:
        if writer is not None:
            writer.close()


def _table(chunk: Chunk, schema: Schema, target: str) -> Any:
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for f, feature in enumerate(schema.features):
        column = np.ascontiguousarray(chunk.X[:, f])
        if feature.values is None:
            columns[feature.name] = pa.array(column)
            continue
        words = feature.values
        kind = None if words else pa.string()
        columns[feature.name] = pa.array([None if v != v else words[int(v)] for v in column.tolist()], kind)
    labels = chunk.y.tolist()
    columns[target] = pa.array(labels)
    return pa.table(columns)


_WRITERS: dict[str, Callable[[Stream, Path, Iterable[Chunk], str], None]] = {
    ".csv": _csv,
    ".csv.gz": partial(_csv, packed=True),
    ".parquet": partial(_arrow, parquet=True),
    ".arrow": _arrow,
    ".arff": _arff,
}
ENDS = tuple(_WRITERS)
"""What the name of a file that is written may end with."""
