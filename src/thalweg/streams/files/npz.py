"""NumPy archives: X and y, read by parts, or a sparse matrix with y."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.fields import flag, free
from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.streams.files.array_header import DAMAGE, array_header
from thalweg.streams.files.block import Block, Mark
from thalweg.streams.files.block_stream import MOST_FEATURES, BlockStream
from thalweg.streams.files.columns import refuse_schema
from thalweg.streams.files.quarantine import Bad
from thalweg.streams.source import csr

_CELLS = 1 << 20  # numbers turned into rows at a time
_PACKED = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}
"""How many times smaller than its contents a member can be, by the ways in which NumPy packs."""


def _check_target(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must name an array, got {shown(value)}")


@final
class NPZStream(BlockStream):
    """The rows of an .npz file with the arrays X (tensors are flattened, the schema has their shape) and y, in order.

    A CSR matrix as SciPy saves it (data, indices, indptr, shape), with y beside it, gives dense rows, or sparse ones
    with sparse=True. A record is bad that has no label, a label beyond the schema's classes, or a code beyond a nominal
    feature's values.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "images.npz"
    >>> np.savez(path, X=np.arange(8, dtype=np.uint8).reshape(2, 2, 2), y=[0, 1])
    >>> NPZStream(path).take(2).X.tolist()
    [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]
    """

    target: str = free(default="y", doc="The name of the array with the labels.", check=_check_target, kw_only=False)
    _given_schema: Schema | None = free(
        default=None,
        doc="Features that are known beforehand, one for each column of X (nominal ones are codes), and the classes "
        "that a record may have.",
        check=refuse_schema,
        alias="schema",
    )
    sparse: bool = flag(default=False, doc="Give sparse rows.")

    @property
    def schema(self) -> Schema:
        """The features: numbers, or what the given schema says."""
        return self._schema

    def _set_schema(self, schema: Schema) -> None:
        self._schema = schema

    @property
    def rows(self) -> int:
        """How many records there are from the start to the end; those with bad labels do not count where skipped."""
        good = len(self._y) - int(np.count_nonzero(self._unlabelled | self._foreign))
        return good if self._limit is None else min(good, self._limit)

    def _look(self) -> None:
        schema = self._given_schema
        if self.sparse and schema is not None and schema.nominal_codes:
            raise ValueError("sparse must be False where features are nominal, got True")
        try:
            with zipfile.ZipFile(self._file) as archive:
                shape, wrong = self._explored(archive)
        except DAMAGE:
            raise ValueError(
                f"{self._name} must be an NPZ file with X and y: it is none, or damaged, or cut off"
            ) from None
        if wrong:
            raise ValueError(f"{self._name} {wrong}")
        self._width = int(np.prod(shape[1:], dtype=np.int64))
        if schema is not None and schema.n_features != self._width:
            raise ValueError(f"schema must have the {self._width} features of {self._name}, got {schema.n_features}")
        self._schema = schema or (Schema.tensor(shape[1:]) if len(shape) > 2 else Schema.numeric(self._width))
        self._look_at_labels()

    def _explored(self, archive: zipfile.ZipFile) -> tuple[tuple[int, ...], str]:
        """Read the labels, and the sparse matrix; give the shape of X, and what is wrong."""
        names = {n.removesuffix(".npy") for n in archive.namelist()}
        self._matrix: Any = None
        if self.target not in names or not ("X" in names or {"data", "indices", "indptr", "shape"} <= names):
            return (
                (),
                f"must have the arrays X (or a CSR matrix) and {self.target!r}, it has {shown(sorted(names), 200)}",
            )
        if "X" in names:
            with _member(archive, "X") as (_, (shape, columns_first, self._dtype)):
                pass
            if self._dtype.kind not in "biuf" or len(shape) < 2 or columns_first or 0 in shape[1:]:
                return (), f"must have rows of numbers in X, got {self._dtype} {shape}"
        else:
            if "format" in names and b"csr" not in _array(archive, "format").tobytes().replace(b"\0", b""):
                return (), "must hold a sparse matrix by rows (CSR)"
            shape = tuple(map(int, _array(archive, "shape")))
            if len(shape) != 2 or shape[1] > MOST_FEATURES:
                return (), f"must have two dimensions and up to {MOST_FEATURES:,} columns, got {shape}"
            self._matrix = csr(tuple(_array(archive, n) for n in ("data", "indices", "indptr")), shape)
            self._matrix.check_format()
        y = self._y = _array(archive, self.target)
        if y.ndim != 1 or len(y) != shape[0] or y.dtype.kind not in "biufU":
            return shape, (
                f"must have a label in {self.target!r} for each of the {shape[0]} rows of X, got {y.dtype} {y.shape}"
            )
        return shape, "" if len(y) else "must have records, it has none"

    def _look_at_labels(self) -> None:
        if self._y.dtype.kind in "iu":
            self._y = self._y.astype(np.int64)
        y, classes = self._y, np.array(self._schema.classes or ())
        self._unlabelled = np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=np.bool_)
        alike = (classes.dtype.kind == "U") == (y.dtype.kind == "U")
        known = np.isin(y, classes) if alike else np.zeros(len(y), dtype=np.bool_)
        self._foreign = ~known & ~self._unlabelled & (self._schema.classes is not None)
        if self._foreign.all():
            few = shown(np.unique(y[:1000]).tolist(), 60)
            raise ValueError(f"schema must have classes of {self._name}, {few}, got {shown(classes.tolist(), 200)}")
        if self.on_bad_row == "raise" and self._unlabelled.any():
            first = int(np.argmax(self._unlabelled)) + 1
            raise ValueError(f"{self._name} must have a label for every record, none in record {first}")

    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        rows, bads, first, _ = mark
        try:
            for start, X in self._parts(first, max(1, _CELLS // self._width)):
                block = self._block(X, (rows, bads, start, 0))
                rows, bads = rows + len(block.chunk), bads + len(block.bad)
                yield block
        except DAMAGE:
            raise ValueError(f"{self._name} cannot be read: the file is damaged or cut off") from None

    def _parts(self, first: int, step: int) -> Iterator[tuple[int, Any]]:
        """Give rows from the first on, each part with its place."""
        places = range(first, len(self._y), step)
        if self._matrix is not None:
            for start in places:
                X = self._matrix[start : start + step]
                X.sum_duplicates()
                yield start, X if self.sparse else X.toarray()
            return
        with zipfile.ZipFile(self._file) as archive, _member(archive, "X") as (file, _):
            size = self._width * self._dtype.itemsize
            file.seek(first * size, 1)
            for start in places:
                n = min(step, len(self._y) - start)
                X = np.frombuffer(file.read(n * size), self._dtype).reshape(n, -1).astype(np.float64)
                yield start, csr(X) if self.sparse else X

    def _block(self, X: Any, mark: Mark) -> Block:
        """Take the bad records out."""
        start, n = mark[2], X.shape[0]
        y = self._y[start : start + n]
        reasons = self._reasons(X, start)
        if not reasons:
            return Block(Chunk(X, y.copy()), mark)
        good = np.ones(n, dtype=np.bool_)
        good[list(reasons)] = False
        before = np.cumsum(good)
        bad = []
        for r in sorted(reasons):
            values = X[[r], :20].toarray()[0] if self.sparse else X[r, :20]
            text, here = shown([*values.tolist(), y[r].item()], 400), f"record {start + r + 1} of {self._name}"
            bad.append(Bad(int(before[r]), start + r + 1, text, f"{here} {reasons[r]}"))
        return Block(Chunk(X[good], y[good]), mark, bad)

    def _reasons(self, X: Any, start: int) -> dict[int, str]:
        """Say of each bad record, by its row, what is wrong with it."""
        part = slice(start, start + X.shape[0])
        found: dict[int, str] = {}
        for f, feature in reversed(list(enumerate(self._schema.features)) if self._schema.nominal_codes else []):
            if feature.nominal:
                codes = X[:, f]
                known = (codes >= 0) & (codes < (1 << 20 if feature.open else feature.cardinality))
                below = "" if feature.open else f" and below {feature.cardinality}"
                for r in np.flatnonzero(~np.isnan(codes) & ~(known & (codes == np.floor(codes)))).tolist():
                    found[r] = f"must have a whole code from 0{below} in feature {feature.name!r}, got {codes[r]:g}"
        classes = shown(list(self._schema.classes or ()), 200)
        for r in np.flatnonzero(self._foreign[part]).tolist():
            found[r] = f"must have one of the labels {classes}, got {shown(self._y[start + r].item(), 60)}"
        return found | dict.fromkeys(
            np.flatnonzero(self._unlabelled[part]).tolist(), "must have a label, it is missing"
        )


_Header = tuple[tuple[int, ...], bool, np.dtype[Any]]


@contextmanager
def _member(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[IO[bytes], _Header]]:
    """Open an array behind its header: shape, order and type, which must be as large as the file has room for."""
    info = archive.getinfo(f"{name}.npy")
    if info.file_size > info.compress_size * _PACKED[info.compress_type]:
        raise ValueError
    with archive.open(info) as file:
        shape, columns_first, dtype, size = array_header(file)
        if size != info.file_size - file.tell():
            raise ValueError
        yield file, (shape, columns_first, dtype)


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with _member(archive, name) as (file, (shape, columns_first, dtype)):
        return np.frombuffer(file.read(), dtype).reshape(shape, order="F" if columns_first else "C")
