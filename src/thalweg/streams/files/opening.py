"""Files of any size, by what their names end with."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.core import params
from thalweg.registry import FORMATS, Format, format_of

if TYPE_CHECKING:
    from thalweg.streams.files.arff import ARFFStream
    from thalweg.streams.files.arrow import ArrowStream, ParquetStream
    from thalweg.streams.files.csv.csv_stream import CSVStream
    from thalweg.streams.files.jsonl import JSONLinesStream
    from thalweg.streams.files.libsvm import LibSVMStream
    from thalweg.streams.files.npz import NPZStream

    FileStream = CSVStream | ParquetStream | ArrowStream | ARFFStream | JSONLinesStream | LibSVMStream | NPZStream

_PACKED = (".gz", ".bz2", ".zst", ".lz4")


def open_file(path: str | os.PathLike[str], target: str | None = None, **options: Any) -> "FileStream":
    """Open a file by what its name ends with, or standard input.

    Parameters
    ----------
    path : str | os.PathLike[str]
        The file; "-" is standard input with CSV, "-.tsv" with tabs between the values, "-.jsonl" with JSON lines.
    target : str | None
        The column with the labels; None: ``class`` (``y`` in an .npz; a .libsvm has no names).
    options
        Those of its stream. A folder is read as the Parquet, or else the Arrow, files in it.

    Examples
    --------
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
    kind = format_of(suffixes[-2 if packed else -1]) if len(suffixes) > packed else None
    if kind is None and Path(text).is_dir():
        kind = _of_folder(Path(text))
    if kind is None or (packed and not kind.text):
        text_ends, other = (
            [e for f in FORMATS.values() if f.text is text for e in f.endings] for text in (True, False)
        )
        raise ValueError(
            f"path must end with {', '.join(text_ends)} (also {', '.join(_PACKED)}), {', '.join(other[:-1])} "
            f"or {other[-1]}, got {text!r}"
        )
    if kind.target == "":
        named = {}
    return kind.make(path=path, **named, **options)  # type: ignore[no-any-return]


def _of_folder(folder: Path) -> Format:
    """Say what the files in a folder hold: Arrow where there are such files and no Parquet, else Parquet."""
    arrow = any(path.suffix.lower() in FORMATS["arrow"].endings for path in folder.iterdir())
    return FORMATS["arrow" if arrow and not any(folder.glob("*.p*q*")) else "parquet"]


def _standard_input(text: str, options: dict[str, Any]) -> "FileStream":
    ending = text[1:].lower() or ".csv"
    kind = format_of(ending)
    if kind not in (FORMATS["csv"], FORMATS["jsonl"]):
        raise ValueError(f"standard input must be one of -, -.csv, -.tsv, -.jsonl (CSV, JSON lines), got {text!r}")
    tabs = {"delimiter": "\t"} if kind is FORMATS["csv"] and ending != ".csv" else {}
    return kind.make(path="-", **tabs | options)  # type: ignore[no-any-return]
