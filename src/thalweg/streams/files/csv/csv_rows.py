"""The header of a CSV file, and the rows of a file whose features a model knows already, as soon as they come."""

import csv
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.schema import Schema
from thalweg.streams.files.csv import csv_jit as jit
from thalweg.streams.files.marks import MISSING
from thalweg.streams.files.quarantine import Bad
from thalweg.streams.files.recoded import Dialect
from thalweg.streams.files.text import TRUE_FALSE, Buffer, TextTable, open_bytes
from thalweg.streams.files.text_table import Passages


def delimiter_of(name: str) -> str:
    """Give what a file of this name has between its values."""
    name = name.lower()
    return "\t" if name.endswith((".tsv", ".tab")) or ".tsv." in name or ".tab." in name else ","


def read_header(buffer: Buffer, delimiter: str) -> tuple[list[str], int, int]:
    """Read the names of the columns from the front of a file; give them, and the byte and the line behind them."""
    while True:
        buffer.fill(0)
        data = buffer.bytes[: buffer.end].tobytes()
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError(
                f"{buffer.name} must be UTF-8 text, it is UTF-16: say encoding='utf-16' (--encoding utf-16)"
            )
        start, line = 3 if data.startswith(b"\xef\xbb\xbf") else 0, 1
        while data[start : start + 1] in (b"\n", b"\r"):
            line += 1
            start += 2 if data[start : start + 2] == b"\r\n" else 1
        end, quoted = start, False
        while end < len(data) and (quoted or data[end] not in b"\r\n"):
            quoted ^= data[end] == 34
            end += 1
        if buffer.last or data[end : end + 1] == b"\n" or end + 1 < len(data):  # a line feed may follow a return
            break
    if start >= len(data):
        raise ValueError(f"{buffer.name} must have a header and records, it is empty")
    if quoted:
        raise ValueError(f"{buffer.name} must close its quotes: the header has one without an end")
    try:
        text = data[start:end].decode()
        names = next(csv.reader([text], delimiter=delimiter, strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(
            f"line {line} of {buffer.name} must be a header of UTF-8 text, it is not: "
            "say which encoding it has, such as encoding='latin-1' (--encoding latin-1)"
        ) from None
    if "\0" in text:
        raise ValueError(f"line {line} of {buffer.name} must be a header of text, it has a zero byte")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{buffer.name} must have columns of different names, {twice!r} appears more than once")
    return names, end + (2 if data[end : end + 2] == b"\r\n" else 1), line + text.count("\n") + 1


def known_rows(
    path: str,
    name: str,
    dialect: Dialect,
    schema: Schema,
    check: Callable[[Sequence[str]], Any],
    more_missing: Sequence[str] = (),
    carry: Sequence[str] = (),
) -> Iterator[tuple[NDArray[np.float64], list[Bad], dict[str, list[Any]]]]:
    """Give the rows of a schema, the bad records between them, and the words of columns to carry along.

    They come block by block, each as soon as it is there.

    path: a file, or "-" for standard input. name: what messages call it. check: is given the names of the columns, and
    may refuse them. A feature without a column is missing; a value that its nominal feature does not have gets the
    code of a value never seen, or, where the feature is closed, makes the record a bad one. carry: columns whose words
    are given as they are; None stands for a missing one.
    """
    with open_bytes(path) as file:
        buffer = Buffer(dialect.reading(file), name, eager=True)
        titles, start, line = read_header(buffer, dialect.delimiter)
        check(titles)
        n = len(titles)
        kind, place, rule = [jit.SKIP] * n, [0] * n, [jit.OPEN] * n
        words: dict[int, dict[str, int]] = {}
        absent, texts = [], [place for places in schema.texts.values() for place in places.tolist()]
        passages = Passages(schema, {title: c for c, title in enumerate(titles)}, 1, times=True)
        for f, feature in enumerate(schema.features):
            if feature.text is not None:
                continue
            if feature.name not in titles:
                absent.append(f)
                continue
            c = titles.index(feature.name)
            if c in passages.places:
                continue
            place[c] = f
            if feature.nominal:
                kind[c], rule[c] = jit.WORD, jit.FIXED if feature.open else jit.CLOSED
                words[c] = {str(v): code for code, v in enumerate(feature.values or ())}
            else:
                kind[c], words[c] = jit.NUMBER, TRUE_FALSE
        for c, at in passages.places.items():
            kind[c], place[c] = jit.WORD, at
        column = {name: titles.index(name) for name in carry if name not in schema.names}
        apart = {
            c: 1 + len(passages.places) + k for k, c in enumerate(sorted(set(column.values()) - set(passages.places)))
        }
        for c, at in apart.items():
            kind[c], place[c] = jit.WORD, -1 - at
        table = TextTable(
            name, titles, kind, place, rule, delimiter=dialect.delimiter,
            marks=[m for m in (*MISSING, *more_missing) if m],
            no_number="must hold a number for feature {name}, got {got}",
        )  # fmt: skip
        table.n_features = schema.n_features
        passages.join(table, schema)
        passages.begin(words)
        table.learn(words)
        for X, extra, bad, _ in table.blocks(buffer, (0, 0, 0, line), start):
            X[:, absent] = np.nan
            X[:, texts] = 0.0
            new = table.new_words()
            passages.admit([(c, word) for c, word in new if c not in apart])
            passages.fill(X, extra)
            carried = {
                name: _words(extra[:, apart[c]], c, new) if c in apart else passages.words(c, extra)
                for name, c in column.items()
            }
            if apart:
                table.forget()
                passages.begin(words)
            yield X, bad, carried | {n: _values(X, schema, n) for n in carry if n not in column}


def _words(codes: NDArray[np.float64], column: int, new: list[tuple[int, str]]) -> list[Any]:
    words = [word for c, word in new if c == column]
    return [words[int(code)] if code == code else None for code in codes.tolist()]


def _values(X: NDArray[np.float64], schema: Schema, name: str) -> list[Any]:
    """Give the values of a feature; one that the model has never seen has no name."""
    f = schema.names.index(name)
    known = schema.features[f].values
    cells = [None if v != v else int(v) if v.is_integer() else v for v in X[:, f].tolist()]
    return cells if known is None else [known[v] if v is not None and v < len(known) else None for v in cells]
