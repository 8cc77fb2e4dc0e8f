"""LIBSVM files: a label, then index:value pairs; what is left out is 0."""

from collections.abc import Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.fields import fixed, flag, whole
from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.streams.files.block import Block, Mark
from thalweg.streams.files.block_stream import MOST_FEATURES, BlockStream
from thalweg.streams.files.lines import line_blocks, lines_from
from thalweg.streams.files.records import label_column
from thalweg.streams.files.text import Buffer, kind_of, open_bytes
from thalweg.streams.source import csr

_CELLS = 1 << 20


@final
class LibSVMStream(BlockStream):
    r"""The records of a LIBSVM file, in order; .gz, .bz2, .zst are unpacked on the way.

    Labels are whole numbers where all are, else numbers or text.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "small.libsvm"
    >>> _ = path.write_text("+1 1:0.5 3:2\n-1 2:1\n")
    >>> chunk = LibSVMStream(path).take(2)
    >>> chunk.X.tolist(), chunk.y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1, -1])
    """

    features: int | None = whole(
        default=None,
        doc="The largest index (indices begin at 1); None: found by reading the file once before.",
        least=1,
        most=MOST_FEATURES,
        old="n_features",
    )
    sparse: bool = flag(default=False, doc="Give sparse rows, not dense ones.")

    _first = fixed((0, 0, 0, 1))

    def _look(self) -> None:
        self._kind, width = self._explored()
        self._schema = Schema.numeric(self.features or width)
        self._step = max(1, min(4096, _CELLS // self._schema.n_features))

    def _explored(self) -> tuple[str, int]:
        """Find what the labels are, and the largest index, from the records that can be read."""
        labels: set[str] = set()
        most, seen, reason = 0, 0, None
        with open_bytes(self._file) as file:
            for _, number, text in lines_from(Buffer(file, self._name), 1):
                try:
                    label, pairs = _pairs(text)
                except ValueError as error:
                    reason = reason or f"line {number} of {self._name} {error}"
                    continue
                seen += bool(label)
                if len(labels) < 10_000 and label:
                    labels.add(label)
                most = max([most, *(i for i, _ in pairs)])
                if self.features is not None and seen >= 1000:
                    break
        if not seen or (most == 0 and self.features is None):
            raise ValueError(reason or f"{self._name} must have records with index:value pairs, it has none")
        return kind_of(sorted(labels)), most

    @property
    def schema(self) -> Schema:
        """The features: numbers."""
        return self._schema

    def _set_schema(self, schema: Schema) -> None:
        self._schema = schema

    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        with open_bytes(self._file) as file:
            yield from line_blocks(Buffer(file, self._name, mark[2]), mark, self._step, self._read, self._join)

    def _read(self, text: bytes) -> tuple[Any, list[tuple[int, float]]] | None:
        """Turn a line into a label and its pairs; None: a comment."""
        word, pairs = _pairs(text)
        if not word:
            return None
        label, width = self._label(word), self._schema.n_features
        if pairs and pairs[-1][0] > width:
            raise ValueError(f"must have indices from 1 to {width}, got {pairs[-1][0]}")
        return label, pairs

    def _join(self, records: list[tuple[Any, list[tuple[int, float]]]]) -> Chunk:
        pairs = [pair for _, some in records for pair in some]
        columns = np.array([i - 1 for i, _ in pairs], dtype=np.int64)
        ends = np.cumsum([0, *(len(some) for _, some in records)])
        X = self._rows_of(np.array([v for _, v in pairs]), columns, ends)
        return Chunk(X, label_column([label for label, _ in records]))

    def _rows_of(self, values: NDArray[np.float64], columns: NDArray[np.int64], ends: NDArray[np.int64]) -> Any:
        shape = len(ends) - 1, self._schema.n_features
        if self.sparse:
            return csr((values, columns, ends), shape)
        X = np.zeros(shape)
        X[np.repeat(np.arange(shape[0]), np.diff(ends)), columns] = values
        return X

    def _label(self, word: str) -> Any:
        if self._kind not in ("whole", "number"):
            return word
        if kind_of([word]) not in ("whole", self._kind):
            raise ValueError(f"must have a {'whole ' * (self._kind == 'whole')}number as label, got {shown(word, 60)}")
        return int(word) if self._kind == "whole" else float(word)


def _pairs(text: bytes) -> tuple[str, list[tuple[int, float]]]:
    """Read a line: its label and its pairs; no label: a comment."""
    try:
        parts = text.decode().partition("#")[0].split()
    except UnicodeDecodeError:
        raise ValueError("must be UTF-8 text, it is not") from None
    if not parts:
        return "", []
    if ":" in parts[0] or "\0" in parts[0]:
        raise ValueError(f"must begin with a label, got {shown(parts[0], 60)}")
    pairs: list[tuple[int, float]] = []
    before = 0
    for part in parts[1:]:
        index, colon, value = part.partition(":")
        if index == "qid" and colon:
            continue
        if not colon or not (index.isascii() and index.isdigit()) or kind_of([value]) not in ("whole", "number"):
            raise ValueError(f"must have index:value pairs after the label, got {shown(part, 60)}")
        if len(index) > 8 or not before < int(index) <= MOST_FEATURES:
            raise ValueError(f"must have indices from 1 on, in order, each once, got {shown(index, 60)}")
        before = int(index)
        pairs.append((before, float(value)))
    return parts[0], pairs
