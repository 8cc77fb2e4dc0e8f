"""NumPy archives: X and y, or a sparse matrix with y, read by chunks without unpacking the whole."""

import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.streams.blocks import Block, BlockStream, Mark, check_path

_CELLS = 1 << 20  # numbers turned into rows at a time
_DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)


class _Member:
    """One array of an archive, read from front to back."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._file = archive.open(f"{name}.npy")
        version = np.lib.format.read_magic(self._file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        self.shape, fortran, self.dtype = read(self._file)
        if self.dtype.hasobject or (fortran and len(self.shape) > 1):
            raise ValueError("objects, or columns first")
        self._width = int(np.prod(self.shape[1:], dtype=np.int64))

    def take(self, n: int) -> NDArray[Any]:
        """Read the next n rows."""
        size = n * self._width * self.dtype.itemsize
        data = self._file.read(size)
        if len(data) != size:
            raise EOFError
        return np.frombuffer(data, dtype=self.dtype).reshape(n, *self.shape[1:])


@final
class NPZStream(BlockStream):
    """The rows of an .npz file with the arrays X (of any shape: a record is flattened) and y, in order.

    A CSR matrix as SciPy saves it (data, indices, indptr, shape), with y beside it, gives dense rows. path: the file.
    target: the name of the array with the labels. limit: rows.

    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "images.npz"
    >>> np.savez(path, X=np.arange(8, dtype=np.uint8).reshape(2, 2, 2), y=[0, 1])
    >>> NPZStream(path).take(2).X.tolist()
    [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]
    """

    def __init__(self, path: str | os.PathLike[str], target: str = "y", *, limit: int | None = None) -> None:
        self.path = check_path(path)
        if not isinstance(target, str):
            raise TypeError(f"target must name an array, got {target!r}")
        self._set_limit(limit)
        self.target = target
        self._name = self.name = Path(self.path).name
        try:
            with zipfile.ZipFile(self.path) as archive:
                names = [n.removesuffix(".npy") for n in archive.namelist()]
                self._sparse = "X" not in names and {"data", "indices", "indptr", "shape"} <= set(names)
                if target not in names or not (self._sparse or "X" in names):
                    want = f"must have the arrays X (or a CSR matrix) and {target!r}, it has {shown(names, 200)}"
                    raise _WrongError(want)
                labels = _Member(archive, target)
                self._y = labels.take(labels.shape[0] if labels.shape else 0)
                if self._sparse:
                    if "format" in names and b"csr" not in _whole(archive, "format").tobytes().replace(b"\0", b""):
                        raise _WrongError("must hold a sparse matrix by rows (CSR)")
                    rows, width = map(int, _whole(archive, "shape"))
                    self._starts = _whole(archive, "indptr").astype(np.int64)
                    starts = self._starts
                    if len(starts) != rows + 1 or starts[0] != 0 or (np.diff(starts) < 0).any() or width < 1:
                        raise _WrongError("must hold a sparse matrix whose rows are in order")
                else:
                    member = _Member(archive, "X")
                    rows, width = member.shape[0] if member.shape else 0, member._width
                    if member.dtype.kind not in "biuf" or len(member.shape) < 2 or width < 1:
                        raise _WrongError(f"must have rows of numbers in X, got {member.dtype} {member.shape}")
        except _WrongError as error:
            raise ValueError(f"{self._name} {error}") from None
        except _DAMAGE:
            raise ValueError(
                f"{self._name} must be an NPZ file with X and y: it is none, or damaged, or cut off"
            ) from None
        if len(self._y) != rows or self._y.ndim != 1 or self._y.dtype.kind not in "biufU":
            raise ValueError(f"{self._name} must have a label in {target!r} for each of the {rows} rows of X, got "
                             f"{self._y.dtype} {self._y.shape}")  # fmt: skip
        if rows == 0:
            raise ValueError(f"{self._name} must have records, it has none")
        if self._y.dtype.kind == "f" and np.isnan(self._y).any():
            first = int(np.argmax(np.isnan(self._y))) + 1
            raise ValueError(f"{self._name} must have a label for every record, none in record {first}")
        if self._y.dtype.kind in "iu":
            self._y = self._y.astype(np.int64)
        self._rows, self._width = rows, width
        self._schema = Schema.numeric(width)
        self._begin()

    @property
    def rows(self) -> int:
        """How many records there are from the start to the end."""
        return self._rows if self._limit is None else min(self._rows, self._limit)

    @property
    def schema(self) -> Schema:
        """The features: numbers."""
        return self._schema

    def _set_schema(self, schema: Schema) -> None:
        self._schema = schema

    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        at = mark[0]
        step = max(1, _CELLS // self._width)
        try:
            with zipfile.ZipFile(self.path) as archive:
                dense = None if self._sparse else _Member(archive, "X")
                parts = [_Member(archive, n) for n in ("data", "indices")] if self._sparse else []
                for start in range(0, self._rows, step):
                    n = min(step, self._rows - start)
                    X = self._dense_rows(parts, start, n) if dense is None else dense.take(n)
                    if start + n <= at:
                        continue
                    flat = X.reshape(n, -1).astype(np.float64)
                    yield Block(Chunk(flat, self._y[start : start + n].copy()), (start, 0, 0, 0))
        except _DAMAGE:
            raise ValueError(f"{self._name} cannot be read: the file is damaged or cut off") from None

    def _dense_rows(self, parts: list[_Member], start: int, n: int) -> NDArray[np.float64]:
        starts = self._starts[start : start + n + 1]
        values, columns = (p.take(int(starts[-1] - starts[0])) for p in parts)
        if len(columns) and not (0 <= columns.min() and columns.max() < self._width):
            raise ValueError("an index beyond the width")
        X = np.zeros((n, self._width))
        np.add.at(X, (np.repeat(np.arange(n), np.diff(starts)), columns), values)
        return X


class _WrongError(Exception):
    """The archive is whole, but not what is needed."""


def _whole(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    member = _Member(archive, name)
    return member.take(member.shape[0] if member.shape else 1)
