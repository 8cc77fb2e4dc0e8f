"""ARFF files, dense and sparse: the header declares what each column holds."""

import re
from collections.abc import Iterator
from typing import Any, final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.door import stamp
from thalweg.core.params import shown
from thalweg.core.schema import Feature, Schema
from thalweg.streams.files.block import Block, Mark
from thalweg.streams.files.block_stream import BlockStream
from thalweg.streams.files.csv import csv_jit as jit
from thalweg.streams.files.lines import line_blocks
from thalweg.streams.files.named_columns import NamedColumns
from thalweg.streams.files.text import Buffer, arrow_type, kind_of, open_bytes
from thalweg.streams.files.text_table import WordTable, grown

_ROWS = 1024  # sparse records at a time
_TOKEN = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,{}'"%][^\s,{}]*)""")
_NUMERIC = {"numeric", "real", "integer"}
_MOST = 1 << 24  # bytes of the longest header


@final
class ARFFStream(NamedColumns, BlockStream):
    r"""The records of an ARFF file, in order, in constant memory; .gz, .bz2, .zst are unpacked on the way.

    Nominal attributes have the declared values, in that order; new values join those of string attributes as they
    appear. Where the declared values of the target are whole numbers, so are the labels, unless ``nominal`` names it.
    A record must have one of the schema's classes. A value that a sparse record leaves out is 0, or the first declared
    value.

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

    @property
    def schema(self) -> Schema:
        """The features. Nominal ones have at least the values of the records read so far."""
        return self._rows.schema

    def _set_schema(self, schema: Schema) -> None:
        self._rows.learn(schema)

    def _look(self) -> None:
        self._attributes: dict[str, list[str] | str] = {}
        self._dates: dict[str, str] = {}  # what is wrong with a date that is no time
        with open_bytes(self._file) as file:
            self._sparse = self._read_header(Buffer(file, self._name))
        self._lay_out()

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
        free = (
            self.time,
            self.label_time,
            *self.readings.times,
            *(self.drop if isinstance(self.drop, (list, tuple)) else ()),
        )
        for name, sentence in self._dates.items():
            if name not in free and not self.readings.dates:
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
        inferred = self._columns_of(self._name, types, self._given_schema).schema
        features = []
        for f in inferred.features:
            kind = self._attributes.get(f.name, "text")
            declared = isinstance(kind, list) and f.nominal and self._given_schema is None
            features.append(Feature(f.name, tuple(kind)) if declared else f)
        classes = inferred.classes
        kind = self._attributes[self.target]
        label_kind = "number" if kind == "number" and self.target not in self.nominal else "text"
        declared_words = None
        if isinstance(kind, list):
            if kind_of(kind) == "whole" and self.target not in self.nominal and len(set(map(int, kind))) == len(kind):
                label_kind = "whole"
            labels: dict[Any, str] = {int(w) if label_kind == "whole" else w: w for w in kind}
            if classes is None:
                classes = tuple(labels)
            elif not set(labels) & set(classes):
                raise ValueError(f"schema must have classes of {self._name}, {shown(list(labels), 200)}, "
                                 f"got {shown(list(classes), 200)}")  # fmt: skip
            declared_words = tuple(word for label, word in labels.items() if label in classes)
        self._blank = self._blank_row(features) if self._sparse else np.zeros(0)
        self._rows = WordTable(
            self._name,
            held,
            replace(inferred, features=tuple(features), classes=classes),
            target=self.target,
            label_kind=label_kind,
            clocks=(self.time, self.label_time),
            declared=declared_words,
            arff=True,
        )

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
        with self._opened(mark) as (buffer, _):
            if self._sparse:
                yield from line_blocks(buffer, mark, _ROWS, self._read_sparse, self._join_sparse)
            else:
                yield from self._rows.blocks(buffer, mark)

    def _read_sparse(self, line: bytes) -> tuple[Any, Any] | None:
        """Turn a line into a row and the codes of its label and times; None: a comment."""
        text = line.decode("utf-8", "replace")
        if text.startswith("%"):
            return None
        row, code = self._blank.copy(), np.zeros(self._rows.table.n_extra)
        self._sparse_row(text, row, code)
        return row, code

    def _join_sparse(self, records: list[tuple[Any, Any]]) -> Chunk:
        shape = len(records), -1
        rows, codes = (np.array([r[i] for r in records]) for i in (0, 1))
        if not records:
            return self._empty()
        return self._rows.chunk(rows.reshape(shape), codes.reshape(shape))

    def _sparse_row(self, text: str, row: Any, code: Any) -> None:
        """Read {index value, index value, …}."""
        if not (text.startswith("{") and text.endswith("}")):
            raise ValueError(f"must be a sparse record in braces, got {shown(text, 60)}")
        inside, at, before = text[1:-1].strip(), 0, -1
        header = self._rows.table.header
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
            if c == self._rows.label_column:
                label = None if word == "?" and not quoted else word
                if label is None:
                    raise ValueError(f"must have a label in column {header[c]!r}, it is missing")
            elif (place := int(self._rows.table.cols[c, 1])) < -1:
                numeric = kind_of([word]) in ("whole", "number")
                missing = word == "?" and not quoted
                code[-1 - place] = stamp(None if missing else float(word) if numeric else word, f"column {header[c]!r}")
            elif self._rows.table.cols[c, 0] != jit.SKIP:
                row[int(self._rows.table.cols[c, 1])] = self._sparse_value(c, word, quoted, new)
            at = value.end()
            comma = re.compile(r"\s*,").match(inside, at)
            if not comma and inside[at:].strip():
                raise ValueError(f"must have a comma between pairs, got {shown(inside[at:], 60)}")
            at = comma.end() if comma else len(inside)
        code[0] = self._label_code(label)
        if new:
            self._rows.schema = grown(self.schema, new)

    def _sparse_value(self, c: int, word: str, quoted: bool, new: dict[int, list[str]]) -> float:
        if word == "?" and not quoted:
            return float("nan")
        if c not in self._rows.feature_of:
            if kind_of([word]) not in ("whole", "number"):
                raise ValueError(f"must have a number in column {self._rows.table.header[c]!r}, got {shown(word, 60)}")
            return float(word)
        f = self._rows.feature_of[c]
        feature = self.schema.features[f]
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
        known = self._rows.table.known.setdefault(self._rows.label_column, {})
        if label is None:
            kind = self._attributes[self.target]
            label = kind[0] if isinstance(kind, list) else "0"
        if label not in known:
            name = self._rows.table.header[self._rows.label_column]
            if self._rows.declared is not None:
                raise ValueError(
                    f"must have one of {shown(list(known), 200)} in column {name!r}, got {shown(label, 60)}"
                )
            if self._rows.label_kind == "number" and kind_of([label]) not in ("whole", "number"):
                raise ValueError(f"must have a number in column {name!r}, got {shown(label, 60)}")
            known[label] = len(known)
            self._rows.labels.add(label)
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
