"""LIBSVM files: a label, then index:value pairs; what is left out is 0."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.params import flag, shown, whole
from thalweg.core.schema import Schema
from thalweg.streams.files.blocks import Block, BlockStream, Mark, check_path
from thalweg.streams.files.jsonl import lines_from
from thalweg.streams.files.quarantine import Bad
from thalweg.streams.files.records import label_column
from thalweg.streams.files.text import Buffer, kind_of, open_bytes

_CELLS = 1 << 20
_MOST = 10_000_000


@final
class LibSVMStream(BlockStream):
    r"""The records of a LIBSVM file, in order; .gz, .bz2, .zst are unpacked on the way.

    Parameters
    ----------
    path : str | os.PathLike[str]
        The file.
    n_features : int | None
        The largest index (indices begin at 1); None: found by reading the file once before.
    on_bad_row, quarantine, limit
        See ``CSVStream``.
    sparse : bool
        Give sparse rows, not dense ones. Labels are whole numbers where all are, else numbers or text.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "small.libsvm"
    >>> _ = path.write_text("+1 1:0.5 3:2\n-1 2:1\n")
    >>> chunk = LibSVMStream(path).take(2)
    >>> chunk.X.tolist(), chunk.y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1, -1])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        n_features: int | None = None,
        on_bad_row: str = "raise",
        quarantine: str | os.PathLike[str] | None = None,
        limit: int | None = None,
        sparse: bool = False,
    ) -> None:
        self.path = check_path(path)
        flag("sparse", sparse)
        self.sparse = sparse
        if n_features is not None:
            whole("n_features", n_features, least=1, most=_MOST)
        self._set_limit(limit)
        self.n_features = n_features
        self._name = self.name = Path(self.path).name
        self._first = (0, 0, 0, 1)
        self._kind, width = self._look()
        self._schema = Schema.numeric(n_features or width)
        self._step = max(1, min(4096, _CELLS // self._schema.n_features))
        self._begin(on_bad_row, quarantine)

    def _look(self) -> tuple[str, int]:
        """Find what the labels are, and the largest index, from the records that can be read."""
        labels: set[str] = set()
        most, seen, reason = 0, 0, None
        with open_bytes(self.path) as file:
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
                if self.n_features is not None and seen >= 1000:
                    break
        if not seen or (most == 0 and self.n_features is None):
            raise ValueError(reason or f"{self._name} must have records with index:value pairs, it has none")
        return kind_of(sorted(labels)), most

    @property
    def schema(self) -> Schema:
        """The features: numbers."""
        return self._schema

    def _set_schema(self, schema: Schema) -> None:
        self._schema = schema

    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        rows, bads = mark[:2]
        with open_bytes(self.path) as file:
            block: list[tuple[int, int, bytes]] = []
            for item in lines_from(Buffer(file, self._name, mark[2]), mark[3]):
                block.append(item)
                if len(block) == self._step:
                    made = self._block(block, rows, bads)
                    rows, bads, block = rows + len(made.chunk), bads + len(made.bad), []
                    yield made
            if block:
                yield self._block(block, rows, bads)

    def _block(self, lines: list[tuple[int, int, bytes]], rows: int, bads: int) -> Block:
        width = self._schema.n_features
        columns: list[int] = []
        values: list[float] = []
        ends = [0]
        y: list[Any] = []
        bad: list[Bad] = []
        for _, number, text in lines:
            try:
                label, pairs = _pairs(text)
                if not label:
                    continue  # a comment
                value = self._label(label)
                if pairs and pairs[-1][0] > width:
                    raise ValueError(f"must have indices from 1 to {width}, got {pairs[-1][0]}")
            except ValueError as error:
                shown_text = text.decode("utf-8", "replace")
                bad.append(Bad(len(y), number, shown_text, f"line {number} of {self._name} {error}"))
                continue
            for i, v in pairs:
                columns.append(i - 1)
                values.append(v)
            ends.append(len(columns))
            y.append(value)
        X = self._rows_of(np.array(values), np.array(columns, dtype=np.int64), np.array(ends))
        return Block(Chunk(X, label_column(y)), (rows, bads, lines[0][0], lines[0][1]), bad)

    def _rows_of(self, values: NDArray[np.float64], columns: NDArray[np.int64], ends: NDArray[np.int64]) -> Any:
        shape = len(ends) - 1, self._schema.n_features
        if self.sparse:
            from scipy.sparse import csr_array

            return csr_array((values, columns, ends), shape=shape)
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
        if len(index) > 8 or not before < int(index) <= _MOST:
            raise ValueError(f"must have indices from 1 on, in order, each once, got {shown(index, 60)}")
        before = int(index)
        pairs.append((before, float(value)))
    return parts[0], pairs
