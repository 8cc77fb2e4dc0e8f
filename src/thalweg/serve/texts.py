"""Lines of a text file, or of standard input, as tables of the columns that a model knows, as soon as they come."""

import csv
import re
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.streams.files.csv.csv_stream import MISSING

_BYTES = 1 << 20
_NO_NUMBER = re.compile(r"CSV column #(\d+): .*invalid value '(.*)'", re.DOTALL)
_RAGGED = re.compile(r"Expected (\d+) columns, got (\d+)")


def text_tables(
    text: str, where: str, delimiter: str, schema: Schema, known: Callable[[list[str]], list[str]],
    on_bad: Callable[[str], None] | None = None,
) -> Iterator[Any]:  # fmt: skip
    """Give Arrow tables of the columns that ``known`` takes of the header.

    text: a file, or - and what it holds for standard input. Of standard input a line that has come is given at once:
    whoever writes it may be waiting for the answer. on_bad: is told why a line is bad, and None is given in its place;
    without it a bad line is the end.
    """
    import pyarrow as pa

    source: Any = sys.stdin.buffer if text[:1] == "-" else pa.input_stream(text)
    blocks = _whole_lines(source.read1)  # what is there, not a full block
    header, _, rest = next(blocks, b"").partition(b"\n")
    try:
        titles = next(csv.reader([header.decode("utf-8-sig").strip("\r\n")], delimiter=delimiter), [])
    except UnicodeDecodeError:
        raise ValueError(f"line 1 of {where} must be a header of UTF-8 text, it is not") from None
    parse, line = _parser(titles, known(titles), delimiter, schema), 2
    for block in chain([rest], blocks):
        if block.strip():  # blank lines are no records
            try:
                tables = [parse(block)]
            except pa.ArrowInvalid as error:
                lines = [(n, record) for n, record in enumerate(block.split(b"\n"), line) if record.strip()]
                tables = _sift(lines, parse, titles, where, on_bad)
                if on_bad is None:  # each line by itself is good
                    raise ValueError(f"{where}: {error}") from None
            yield from tables
        line += block.count(b"\n")


def _whole_lines(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Give what has been read up to the last end of a line, and at the end the rest."""
    rest = b""
    while more := read(_BYTES):
        lines, end, rest = (rest + more).rpartition(b"\n")
        if end:
            yield lines + end
    if rest:
        yield rest


def _parser(titles: list[str], names: list[str], delimiter: str, schema: Schema) -> Callable[[bytes], Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    kinds = {f.name: pa.string() if f.nominal else pa.float64() for f in schema.features if f.name in names}
    fields = arrow_csv.ParseOptions(delimiter=delimiter)
    values = arrow_csv.ConvertOptions(
        column_types=kinds, include_columns=names, null_values=list(MISSING), strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )  # fmt: skip

    def parse(block: bytes) -> Any:
        whole = arrow_csv.ReadOptions(column_names=titles, block_size=len(block) + 1)
        return arrow_csv.read_csv(pa.BufferReader(block), whole, fields, values)

    return parse


def _sift(
    lines: list[tuple[int, bytes]], parse: Callable[[bytes], Any], titles: list[str], where: str,
    on_bad: Callable[[str], None] | None,
) -> list[Any]:  # fmt: skip
    """Read numbered lines; where that cannot be, each half of them, and None in the place of a bad line."""
    import pyarrow as pa

    try:
        return [parse(b"\n".join(record for _, record in lines))]
    except pa.ArrowInvalid as error:
        if len(lines) > 1:
            half = len(lines) // 2
            return [
                table for part in (lines[:half], lines[half:]) for table in _sift(part, parse, titles, where, on_bad)
            ]
        reason = _reason(str(error), titles, f"line {lines[0][0]} of {where}")
        if on_bad is None:
            raise ValueError(reason) from None
        on_bad(reason)
        return [None]


def _reason(error: str, titles: list[str], here: str) -> str:
    """Say why a line is bad."""
    if found := _NO_NUMBER.search(error):
        return f"{here} must hold a number for feature {titles[int(found[1])]!r}, got {shown(found[2])}"
    if found := _RAGGED.search(error):
        return f"{here} must have {found[1]} values, as the header has, got {found[2]}"
    return f"{here} cannot be read: {error}"
