"""Files of any size, by what their names end with."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.core import params
from thalweg.registry import FORMATS, Format, format_of, parameters
from thalweg.streams.files.marks import MISSING

if TYPE_CHECKING:
    from thalweg.streams.files.arff import ARFFStream
    from thalweg.streams.files.arrow import ArrowStream, ParquetStream
    from thalweg.streams.files.csv.csv_stream import CSVStream
    from thalweg.streams.files.jsonl import JSONLinesStream
    from thalweg.streams.files.libsvm import LibSVMStream
    from thalweg.streams.files.npz import NPZStream

    FileStream = CSVStream | ParquetStream | ArrowStream | ARFFStream | JSONLinesStream | LibSVMStream | NPZStream

_PACKED = (".gz", ".bz2", ".zst", ".lz4")


def open_file(
    path: str | os.PathLike[str], target: str | None = None, *, format: str | None = None,
    more_missing: Sequence[str] = (), **options: Any,
) -> "FileStream":  # fmt: skip
    """Open a file by what its name ends with, or standard input.

    Parameters
    ----------
    path : str | os.PathLike[str]
        The file; "-" is standard input with CSV, "-.tsv" with tabs between the values, "-.jsonl" with JSON lines.
    target : str | None
        The column with the labels; None: ``class`` (``y`` in an .npz; a .libsvm has no names).
    format : str | None
        What the file holds, whatever its name: "csv", "tsv", "arff", "jsonl", "libsvm", "parquet", "arrow" or "npz";
        None: what its name ends with says it.
    more_missing : Sequence[str]
        Words that stand for a missing value in a text file, beside the usual ones.
    options
        Those of its stream. A folder is read as the Parquet, or else the Arrow, files in it.

    Examples
    --------
    >>> open_file("notes.doc")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: path must end with .csv, .tsv, .tab, .arff, .jsonl, ... or .npz, got 'notes.doc': for another name ...
    """
    params.path("path", path)
    text = os.fspath(path)
    standard_input = text == "-" or text.startswith("-.")
    kind, tabs = _standard_input(text, format) if standard_input else _kind(text, format)
    given: dict[str, Any] = {"target": target} if target is not None and kind.target != "" else {}
    given |= {"delimiter": "\t"} if tabs and "delimiter" not in options else {}
    if more_missing:
        given["missing_words"] = (*options.pop("missing_words", MISSING), *more_missing)
    known = {"path", "target", *parameters(kind.cls)}
    if "readings" not in known:  # neither dates nor text can be in there
        options.pop("readings", None)
    for name in (*given, *options):
        if name not in known:
            own = "more_missing" if name == "missing_words" else name
            raise ValueError(f"{own} must not be given for {_shown(text)}: {kind.name} has no such option")
    return kind.make(path="-" if standard_input else path, **given | options)  # type: ignore[no-any-return]


def _shown(text: str) -> str:
    return "standard input" if text[:1] == "-" else text


def _kind(text: str, format: str | None) -> tuple[Format, bool]:
    """Find the format of a file, and whether tabs stand between its values."""
    if format is not None:
        params.choice("format", format, ("tsv", *FORMATS))
        return FORMATS["csv" if format == "tsv" else format], format == "tsv"
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
            f"or {other[-1]}, got {text!r}: for another name say format='csv' (--format csv)"
        )
    return kind, False


def _of_folder(folder: Path) -> Format:
    """Say what the files in a folder hold: Arrow where there are such files and no Parquet, else Parquet."""
    arrow = any(path.suffix.lower() in FORMATS["arrow"].endings for path in folder.iterdir())
    return FORMATS["arrow" if arrow and not any(folder.glob("*.p*q*")) else "parquet"]


def _standard_input(text: str, format: str | None) -> tuple[Format, bool]:
    """Find what standard input holds, and whether tabs stand between its values."""
    ending = text[1:].lower() or f".{format or 'csv'}"
    kind = format_of(ending)
    if kind not in (FORMATS["csv"], FORMATS["jsonl"]):
        raise ValueError(
            f"standard input must be one of -, -.csv, -.tsv, -.jsonl (CSV, JSON lines), got {(format or text)!r}"
        )
    return kind, kind is FORMATS["csv"] and ending != ".csv"
