"""Files of any size, by what their names end with."""

import os
from pathlib import Path
from typing import Any

from thalweg.core import params
from thalweg.streams.files.arff import ARFFStream
from thalweg.streams.files.arrow import ArrowStream, ParquetStream
from thalweg.streams.files.csv.csv_rows import MISSING
from thalweg.streams.files.csv.csv_stream import CSVStream
from thalweg.streams.files.jsonl import JSONLinesStream
from thalweg.streams.files.libsvm import LibSVMStream
from thalweg.streams.files.npz import NPZStream

FileStream = CSVStream | ParquetStream | ArrowStream | ARFFStream | JSONLinesStream | LibSVMStream | NPZStream

KINDS: dict[str, Any] = {
    ".csv": CSVStream,
    ".tsv": CSVStream,
    ".tab": CSVStream,
    ".arff": ARFFStream,
    ".jsonl": JSONLinesStream,
    ".ndjson": JSONLinesStream,
    ".libsvm": LibSVMStream,
    ".svm": LibSVMStream,
    ".parquet": ParquetStream,
    ".pq": ParquetStream,
    ".arrow": ArrowStream,
    ".feather": ArrowStream,
    ".ipc": ArrowStream,
    ".npz": NPZStream,
}
_PACKED = (".gz", ".bz2", ".zst", ".lz4")
_TEXT = (CSVStream, ARFFStream, JSONLinesStream, LibSVMStream)


def open_file(path: str | os.PathLike[str], target: str | None = None, **options: Any) -> FileStream:
    """Open a file by what its name ends with, or standard input.

    path: the file; "-" is standard input with CSV, "-.tsv" with tabs between the values, "-.jsonl" with JSON lines.
    target: the column with the labels; None: ``class`` (``y`` in an .npz; a .libsvm has no names).
    options: those of its stream. A folder is read as the Parquet, or else the Arrow, files in it.

    >>> open_file("notes.doc")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: path must end with .csv, .tsv, .tab, .arff, .jsonl, ... or .npz, got 'notes.doc'
    """
    params.path("path", path)
    named: dict[str, Any] = {} if target is None else {"target": target}
    text = os.fspath(path)
    if text == "-" or text.startswith("-."):
        return _standard_input(text, {**named, **options})
    suffixes = [s.lower() for s in Path(text).suffixes]
    packed = bool(suffixes) and suffixes[-1] in _PACKED
    kind = KINDS.get(suffixes[-2 if packed else -1]) if len(suffixes) > packed else None
    if kind is None and Path(text).is_dir():
        arrow = any(p.suffix.lower() in (".arrow", ".feather", ".ipc") for p in Path(text).iterdir())
        kind = ArrowStream if arrow and not any(Path(text).glob("*.p*q*")) else ParquetStream
    if kind is None or (packed and kind not in _TEXT):
        text_ends = ", ".join(e for e, k in KINDS.items() if k in _TEXT)
        other = [e for e, k in KINDS.items() if k not in _TEXT]
        raise ValueError(
            f"path must end with {text_ends} (also {', '.join(_PACKED)}), {', '.join(other[:-1])} or {other[-1]}, "
            f"got {text!r}"
        )
    if kind is LibSVMStream:
        named = {}
    return kind(path, **named, **options)  # type: ignore[no-any-return]


def _standard_input(text: str, options: dict[str, Any]) -> FileStream:
    ending = text[1:].lower() or ".csv"
    kind = KINDS.get(ending)
    if kind is JSONLinesStream:
        return JSONLinesStream("-", **options)
    if kind is not CSVStream:
        raise ValueError(f"standard input must be one of -, -.csv, -.tsv, -.jsonl (CSV, JSON lines), got {text!r}")
    return CSVStream("-", **({} if ending == ".csv" else {"delimiter": "\t"}) | options)


__all__ = ["KINDS", "MISSING", "CSVStream", "FileStream", "ParquetStream", "open_file"]
