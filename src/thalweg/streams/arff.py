"""ARFF files, dense and sparse: the header declares what each column holds."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np

from thalweg.core.params import shown
from thalweg.core.schema import Feature, Schema
from thalweg.streams import csv_jit as jit
from thalweg.streams.blocks import Block, Mark, check_path
from thalweg.streams.columns import Columns
from thalweg.streams.quarantine import Bad
from thalweg.streams.table import TableStream, grown
from thalweg.streams.text import Buffer, Labels, TextTable, arrow_type, chunk_of, kind_of, open_bytes

_ROWS = 1024  # sparse records at a time
_TOKEN = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,{}'"%][^\s,{}]*)""")
_NUMERIC = {"numeric", "real", "integer"}
_MOST = 1 << 24  # bytes of the longest header


@final
class ARFFStream(TableStream):
    r"""The records of an ARFF file, in order, in constant memory; .gz, .bz2, .zst are unpacked on the way.

    path: the file. target: the attribute with the labels; where its declared values are whole numbers, so are the
    labels, unless nominal names it. drop: attributes to leave out. on_bad_row, quarantine, limit: see ``CSVStream``.
    Nominal attributes have the declared values, in that order; others join those of string attributes as they appear.
    A value that a sparse record leaves out is 0, or the first declared value.

    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "weather.arff"
    >>> _ = path.write_text(
    ...     "@relation weather\n@attribute sky {clear, rain}\n@attribute degrees numeric\n@attribute play {yes, no}\n"
    ...     "@data\nclear,21,yes\nrain,?,no\n")
    >>> chunk = ARFFStream(path, target="play").take(2)
    >>> chunk.X.tolist(), chunk.y.tolist()
    ([[0.0, 21.0], [1.0, nan]], ['yes', 'no'])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str = "class",
        *,
        drop: Sequence[str] = (),
        nominal: Sequence[str] = (),
        on_bad_row: str = "raise",
        quarantine: str | os.PathLike[str] | None = None,
        limit: int | None = None,
    ) -> None:
        self.path = check_path(path)
        self._set_limit(limit)
        self.target, self.drop, self.nominal = target, drop, nominal
        self._name = self.name = Path(self.path).name
        self._attributes: dict[str, list[str] | str] = {}
        with open_bytes(self.path) as file:
            self._sparse = self._read_header(Buffer(file, self._name))
        self._lay_out()
        self._begin(on_bad_row, quarantine)

    # -- the header ---------------------------------------------------------------------------------------------------

    def _read_header(self, buffer: Buffer) -> bool:
        """Read the declarations; say whether the first record is sparse."""
        buffer.fill(0)
        at, line = 0, 1
        while True:
            data = buffer.bytes[: buffer.end].tobytes()
            stop = data.find(b"\n", at)
            if stop < 0 and not buffer.last and buffer.end < _MOST:
                buffer.fill(0)
                continue
            if stop < 0 and at >= len(data):
                raise ValueError(f"{self._name} must have a line @data, it has none")
            stop = len(data) if stop < 0 else stop
            try:
                text = data[at:stop].decode("utf-8-sig").strip()
            except UnicodeDecodeError:
                raise ValueError(f"line {line} of {self._name} must be UTF-8 text, it is not") from None
            at, line = stop + 1, line + 1
            if self._declare(text, line - 1):
                break
        self._first = (0, 0, at, line)
        if not self._attributes:
            raise ValueError(f"{self._name} must declare attributes, it has none")
        while True:  # the first record
            data = buffer.bytes[at : buffer.end].tobytes()
            for text_line in data.split(b"\n"):
                record = text_line.strip()
                if record and not record.startswith(b"%"):
                    return record.startswith(b"{")
            if buffer.last:
                raise ValueError(f"{self._name} must have records, it has a header only")
            buffer.fill(0)

    def _declare(self, text: str, line: int) -> bool:
        """Read a line of the header; True: the records follow."""
        here = f"line {line} of {self._name}"
        word = text.split(None, 1)[0].lower() if text else ""
        if not text or text.startswith("%") or word == "@relation":
            return False
        if word == "@data":
            return True
        if word != "@attribute":
            raise ValueError(f"{here} must be @relation, @attribute, @data or a comment, got {shown(text, 60)}")
        rest = text[len(word) :]
        match = _TOKEN.match(rest)
        if not match:
            raise ValueError(f"{here} must name an attribute, got {shown(text, 60)}")
        name, kind = _unquoted(match[1]), rest[match.end() :].strip()
        if "\0" in text:
            raise ValueError(f"{here} must be text, it has a zero byte")
        if name in self._attributes:
            raise ValueError(f"{self._name} must have columns of different names, {name!r} appears more than once")
        if kind.startswith("{"):
            self._attributes[name] = _values(kind, here)
        elif (first := kind.split(None, 1)[0].lower() if kind else "") in _NUMERIC or first == "string":
            self._attributes[name] = "text" if first == "string" else "number"
        elif first in ("date", "relational"):
            raise ValueError(f"{here} must declare numbers, text or nominal values, got {first}: attribute {name!r} "
                             "cannot be read, write it as a number")  # fmt: skip
        else:
            raise ValueError(
                f"{here} must say what {name!r} holds (numeric, string or {{values}}), got {shown(kind, 60)}"
            )
        return False

    def _lay_out(self) -> None:
        """Give every column its place."""
        held = {n: ("text" if isinstance(k, list) else k) for n, k in self._attributes.items()}
        types = {n: arrow_type(k) for n, k in held.items()}
        uses: dict[str, Any] = {"target": self.target, "drop": self.drop, "nominal": self.nominal}
        inferred = Columns(self._name, types, **uses).schema
        features = []
        for f in inferred.features:
            kind = self._attributes[f.name]
            features.append(Feature(f.name, tuple(kind)) if isinstance(kind, list) else f)
        kind = self._attributes[self.target]
        self._label_kind = "number" if kind == "number" and self.target not in self.nominal else "text"
        self._declared = None
        classes: tuple[Any, ...] | None = None
        if isinstance(kind, list):
            self._declared = tuple(kind)
            if kind_of(kind) == "whole" and self.target not in self.nominal and len(set(map(int, kind))) == len(kind):
                self._label_kind = "whole"
            classes = tuple(map(int, kind)) if self._label_kind == "whole" else tuple(kind)
        self._schema = Schema(tuple(features), classes)
        header = list(self._attributes)
        n = len(header)
        kinds, places, rules = [jit.SKIP] * n, [0] * n, [jit.OPEN] * n
        column = {name: c for c, name in enumerate(header)}
        for i, f in enumerate(features):
            c = column[f.name]
            places[c] = i
            if f.nominal:
                kinds[c], rules[c] = jit.WORD, jit.OPEN if f.open else jit.CLOSED
            else:
                kinds[c] = jit.NUMBER
        c = column[self.target]
        kinds[c], places[c] = jit.WORD, -1
        rules[c] = jit.CLOSED if self._declared else jit.REAL if self._label_kind == "number" else jit.OPEN
        self._labels, self._label_column, self._booleans, self._times = Labels(self._label_kind), c, [], [None, None]
        self._feature_of = {column[f.name]: i for i, f in enumerate(features) if f.nominal}
        self._table = TextTable(self._name, header, kinds, places, rules, delimiter=",", marks=["?"], arff=True)

    # -- records ------------------------------------------------------------------------------------------------------

    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        with open_bytes(self.path) as file:
            buffer = Buffer(file, self._name, mark[2])
            yield from self._sparse_blocks(buffer, mark) if self._sparse else self._parsed(buffer, mark)

    def _sparse_blocks(self, buffer: Buffer, mark: Mark) -> Iterator[Block]:
        rows, bads, byte, line = mark
        used = 0
        f = self._table.n_features
        while True:
            buffer.fill(used)
            data = buffer.bytes[: buffer.end].tobytes()
            used = 0
            lines: list[tuple[int, str]] = []
            at = (byte, line)
            while True:
                stop = data.find(b"\n", used)
                if stop >= 0:
                    lines.append((line, data[used:stop].decode("utf-8", "replace").strip()))
                    used, line = stop + 1, line + 1
                if lines and (len(lines) == _ROWS or stop < 0):
                    X, codes, bad = np.zeros((len(lines), f)), np.zeros((len(lines), 1)), []
                    n = 0
                    for number, text in lines:
                        if not text or text.startswith("%"):
                            continue
                        try:
                            self._sparse_row(text, X[n], codes[n])
                            n += 1
                        except ValueError as error:
                            X[n], codes[n] = 0.0, 0.0
                            bad.append(Bad(n, number, text, f"line {number} of {self._name} {error}"))
                    yield Block(chunk_of(X[:n], codes[:n], self._labels, (None, None)), (rows, bads, *at), bad)
                    rows += n
                    bads += len(bad)
                    at = (buffer.offset + used, line)
                    lines = []
                if stop < 0:
                    break
            byte = buffer.offset + used
            if buffer.last:
                return

    def _sparse_row(self, text: str, row: Any, code: Any) -> None:
        """Read {index value, index value, …}."""
        if not (text.startswith("{") and text.endswith("}")):
            raise ValueError(f"must be a sparse record in braces, got {shown(text, 60)}")
        inside, at, before = text[1:-1].strip(), 0, -1
        header = self._table.header
        label: str | None = None
        new: dict[int, list[str]] = {}
        while at < len(inside):
            pair = re.compile(r"\s*(\d+)\s+").match(inside, at)
            value = _TOKEN.match(inside, pair.end()) if pair else None
            if not pair or not value:
                raise ValueError(f"must hold pairs of an index and a value, got {shown(inside[at:], 60)}")
            c, word = int(pair[1]), _unquoted(value[1])
            if not before < c < len(header):
                rule = f"below {len(header)}" if c >= len(header) else "in order, each once"
                raise ValueError(f"must have indices {rule}, got {c}")
            before = c
            quoted = value[1][0] in "\"'"
            if c == self._label_column:
                label = None if word == "?" and not quoted else word
                if label is None:
                    raise ValueError(f"must have a label in column {header[c]!r}, it is missing")
            elif self._table.cols[c, 0] != jit.SKIP:
                row[int(self._table.cols[c, 1])] = self._sparse_value(c, word, quoted, new)
            at = value.end()
            comma = re.compile(r"\s*,").match(inside, at)
            if not comma and inside[at:].strip():
                raise ValueError(f"must have a comma between pairs, got {shown(inside[at:], 60)}")
            at = comma.end() if comma else len(inside)
        code[0] = self._label_code(label)
        if new:
            self._schema = grown(self._schema, new)

    def _sparse_value(self, c: int, word: str, quoted: bool, new: dict[int, list[str]]) -> float:
        if word == "?" and not quoted:
            return float("nan")
        if c not in self._feature_of:
            if kind_of([word]) not in ("whole", "number"):
                raise ValueError(f"must have a number in column {self._table.header[c]!r}, got {shown(word, 60)}")
            return float(word)
        f = self._feature_of[c]
        feature = self._schema.features[f]
        if word in feature.codes:
            return feature.codes[word]
        if not feature.open:
            raise ValueError(
                f"must have one of {shown(list(feature.values or ()), 200)} in column {feature.name!r}, "
                f"got {shown(word, 60)}"
            )
        new.setdefault(f, []).append(word)
        return len(feature.values or ()) + len(new[f]) - 1

    def _label_code(self, label: str | None) -> int:
        known = self._table.known.setdefault(self._label_column, {})
        if label is None:
            label = self._declared[0] if self._declared else "0"
        if label not in known:
            name = self._table.header[self._label_column]
            if self._declared is not None:
                raise ValueError(
                    f"must have one of {shown(list(known), 200)} in column {name!r}, got {shown(label, 60)}"
                )
            if self._label_kind == "number" and kind_of([label]) not in ("whole", "number"):
                raise ValueError(f"must have a number in column {name!r}, got {shown(label, 60)}")
            known[label] = len(known)
            self._labels.add(label)
        return known[label]


def _unquoted(word: str) -> str:
    if len(word) > 1 and word[0] in "\"'" and word[-1] == word[0]:
        return re.sub(r"\\(.)", r"\1", word[1:-1])
    return word


def _values(kind: str, here: str) -> list[str]:
    """Read {a, 'b c', d}."""
    values: list[str] = []
    at = 1
    while True:
        match = _TOKEN.match(kind, at)
        if not match:
            raise ValueError(f"{here} must have nominal values in braces, got {shown(kind, 60)}")
        values.append(_unquoted(match[1]))
        rest = kind[match.end() :].lstrip()
        at = len(kind) - len(rest) + 1
        if rest.startswith("}"):
            break
        if not rest.startswith(","):
            raise ValueError(f"{here} must have nominal values in braces, with commas between, got {shown(kind, 60)}")
    if len(set(values)) != len(values):
        twice = next(v for v in values if values.count(v) > 1)
        raise ValueError(f"{here} must have different nominal values, {twice!r} appears more than once")
    return values
