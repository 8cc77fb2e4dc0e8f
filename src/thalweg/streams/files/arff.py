"""ARFF files, dense and sparse: the header declares what each column holds."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from thalweg.core.params import shown
from thalweg.core.schema import Feature, Schema
from thalweg.streams.files.blocks import Block, Mark, check_path
from thalweg.streams.files.columns import Columns
from thalweg.streams.files.csv import csv_jit as jit
from thalweg.streams.files.jsonl import stamp
from thalweg.streams.files.quarantine import Bad
from thalweg.streams.files.text import Buffer, LabelWords, TextTable, arrow_type, chunk_of, kind_of, open_bytes
from thalweg.streams.files.text_table import TableStream, grown

_ROWS = 1024  # sparse records at a time
_TOKEN = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,{}'"%][^\s,{}]*)""")
_NUMERIC = {"numeric", "real", "integer"}
_MOST = 1 << 24  # bytes of the longest header


@final
class ARFFStream(TableStream):
    r"""The records of an ARFF file, in order, in constant memory; .gz, .bz2, .zst are unpacked on the way.

    Parameters
    ----------
    path : str | os.PathLike[str]
        The file.
    target : str
        The attribute with the labels; where its declared values are whole numbers, so are the labels, unless nominal
        names it.
    time, label_time : str | None
        Numeric or date attributes that say when a record, or its label, was seen.
    drop : Sequence[str]
        Attributes to leave out.
    nominal : Sequence[str]
        Columns of numbers that are names.
    schema, on_bad_row, quarantine, limit
        See ``CSVStream``; a record must have one of the schema's classes. Without a schema, nominal attributes have
        the declared values, in that order; others join those of string attributes as they appear. A value that a
        sparse record leaves out is 0, or the first declared value.

    Examples
    --------
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
        time: str | None = None,
        label_time: str | None = None,
        drop: Sequence[str] = (),
        nominal: Sequence[str] = (),
        schema: Schema | None = None,
        on_bad_row: str = "raise",
        quarantine: str | os.PathLike[str] | None = None,
        limit: int | None = None,
    ) -> None:
        self.path = check_path(path)
        self._set_limit(limit)
        self.target, self.time, self.label_time, self.drop, self.nominal = target, time, label_time, drop, nominal
        self._given_schema = schema
        self._name = self.name = Path(self.path).name
        self._attributes: dict[str, list[str] | str] = {}
        self._dates: dict[str, str] = {}  # what is wrong with a date that is no time
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
        free = (self.time, self.label_time, *(self.drop if isinstance(self.drop, (list, tuple)) else ()))
        for name, sentence in self._dates.items():
            if name not in free:
                raise ValueError(sentence)
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
        elif first == "date":
            self._attributes[name] = "time"
            self._dates[name] = (
                f"{here} must declare numbers, text or nominal values, got date: name attribute {name!r} as the time, "
                f"or leave it out by drop=[{name!r}]"
            )
        elif first == "relational":
            raise ValueError(f"{here} must declare numbers, text or nominal values, got relational: attribute {name!r} "
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
        uses: dict[str, Any] = {n: getattr(self, n) for n in ("target", "time", "label_time", "drop", "nominal")}
        inferred = Columns(self._name, types, schema=self._given_schema, **uses).schema
        features = []
        for f in inferred.features:
            kind = self._attributes[f.name]
            declared = isinstance(kind, list) and self._given_schema is None
            features.append(Feature(f.name, tuple(kind)) if declared else f)
        classes = inferred.classes
        kind = self._attributes[self.target]
        self._label_kind = "number" if kind == "number" and self.target not in self.nominal else "text"
        self._declared = None
        if isinstance(kind, list):
            if kind_of(kind) == "whole" and self.target not in self.nominal and len(set(map(int, kind))) == len(kind):
                self._label_kind = "whole"
            labels: dict[Any, str] = {int(w) if self._label_kind == "whole" else w: w for w in kind}
            if classes is None:
                classes = tuple(labels)
            elif not set(labels) & set(classes):
                raise ValueError(f"schema must have classes of {self._name}, {shown(list(labels), 200)}, "
                                 f"got {shown(list(classes), 200)}")  # fmt: skip
            self._declared = tuple(word for label, word in labels.items() if label in classes)
        self._schema = replace(inferred, features=tuple(features), classes=classes)
        self._blank = self._blank_row(features) if self._sparse else np.zeros(0)
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
        self._labels, self._label_column, self._booleans, self._times = (
            LabelWords(self._label_kind),
            c,
            [],
            [None, None],
        )
        for k, clock in enumerate((self.time, self.label_time)):
            if clock is None:
                continue
            if held[clock] not in ("number", "time"):
                raise TypeError(f"column {clock!r} must hold numbers, dates or times, got {held[clock]}")
            c = column[clock]
            if places[c] == 0:  # else one column for both
                kinds[c], places[c] = jit.STAMP if held[clock] == "time" else jit.NUMBER, -2 - k
            self._times[k] = -1 - places[c]
        self._feature_of = {column[f.name]: i for i, f in enumerate(features) if f.nominal}
        self._table = TextTable(self._name, header, kinds, places, rules, delimiter=",", marks=["?"], arff=True)

    def _blank_row(self, features: list[Feature]) -> NDArray[np.float64]:
        """Give the row that a sparse record without any pair stands for: 0, or the first declared value."""
        row = np.zeros(len(features))
        for i, f in enumerate(features):
            kind = self._attributes[f.name]
            if self._given_schema is None or not (f.nominal and isinstance(kind, list)):
                continue  # the first value has the code 0
            codes = {str(v): code for v, code in f.codes.items()}
            if kind[0] not in codes:
                raise ValueError(f"schema must have the value {kind[0]!r} of {f.name!r}: sparse records leave it out")
            row[i] = codes[kind[0]]
        return row

    # -- records ------------------------------------------------------------------------------------------------------

    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        with open_bytes(self.path) as file:
            buffer = Buffer(file, self._name, mark[2])
            yield from self._sparse_blocks(buffer, mark) if self._sparse else self._parsed(buffer, mark)

    def _sparse_blocks(self, buffer: Buffer, mark: Mark) -> Iterator[Block]:
        rows, bads, byte, line = mark
        used = 0
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
                    X, codes = np.tile(self._blank, (len(lines), 1)), np.zeros((len(lines), self._table.n_extra))
                    bad = []
                    n = 0
                    for number, text in lines:
                        if not text or text.startswith("%"):
                            continue
                        try:
                            self._sparse_row(text, X[n], codes[n])
                            n += 1
                        except ValueError as error:
                            X[n], codes[n] = self._blank, 0.0
                            bad.append(Bad(n, number, text, f"line {number} of {self._name} {error}"))
                    times = self._times[0], self._times[1]
                    yield Block(chunk_of(X[:n], codes[:n], self._labels, times), (rows, bads, *at), bad)
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
            elif (place := int(self._table.cols[c, 1])) < -1:
                numeric = kind_of([word]) in ("whole", "number")
                missing = word == "?" and not quoted
                code[-1 - place] = stamp(None if missing else float(word) if numeric else word, f"column {header[c]!r}")
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
            kind = self._attributes[self.target]
            label = kind[0] if isinstance(kind, list) else "0"
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
