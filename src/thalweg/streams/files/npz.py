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
from thalweg.core.params import flag, shown
from thalweg.core.schema import Feature, Schema
from thalweg.streams.files.blocks import Block, BlockStream, Mark, check_path
from thalweg.streams.files.columns import refuse_schema
from thalweg.streams.files.quarantine import Bad, check_ways
from thalweg.streams.source import csr

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
    """The rows of an .npz file with the arrays X (tensors are flattened, the schema has their shape) and y, in order.

    A CSR matrix as SciPy saves it (data, indices, indptr, shape), with y beside it, gives dense rows, or sparse ones
    with sparse=True.

    Parameters
    ----------
    path : str | os.PathLike[str]
        The file.
    target : str
        The name of the array with the labels.
    schema : Schema | None
        Features that are known beforehand, one for each column of X (nominal ones are codes), and the classes that a
        record may have.
    on_bad_row, quarantine, limit
        See ``CSVStream``; a record is bad that has no label, a label beyond the schema's classes, or a code beyond a
        nominal feature's values.
    sparse : bool
        Give sparse rows, where the file holds a sparse matrix.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "images.npz"
    >>> np.savez(path, X=np.arange(8, dtype=np.uint8).reshape(2, 2, 2), y=[0, 1])
    >>> NPZStream(path).take(2).X.tolist()
    [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str = "y",
        *,
        schema: Schema | None = None,
        on_bad_row: str = "raise",
        quarantine: str | os.PathLike[str] | None = None,
        limit: int | None = None,
        sparse: bool = False,
    ) -> None:
        self.path = check_path(path)
        refuse_schema(schema)
        flag("sparse", sparse)
        self.sparse = sparse
        if sparse and schema is not None and schema.nominal_codes:
            raise ValueError("sparse must be False where features are nominal, got True")
        if not isinstance(target, str):
            raise TypeError(f"target must name an array, got {target!r}")
        self._set_limit(limit)
        self.target = target
        self._name = self.name = Path(self.path).name
        shape: tuple[int, ...] = ()
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
                    shape = member.shape[1:]
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
        if self._y.dtype.kind in "iu":
            self._y = self._y.astype(np.int64)
        self._rows, self._width = rows, width
        if schema is not None and schema.n_features != width:
            raise ValueError(f"schema must have the {width} features of {self._name}, got {schema.n_features}")
        self._given_schema = schema
        self._schema = schema or (Schema.tensor(shape) if len(shape) > 1 else Schema.numeric(width))
        self._unlabelled = np.isnan(self._y) if self._y.dtype.kind == "f" else np.zeros(rows, dtype=np.bool_)
        self._foreign = np.zeros(rows, dtype=np.bool_)
        if self._schema.classes is not None:
            classes = np.array(self._schema.classes)
            alike = (classes.dtype.kind == "U") == (self._y.dtype.kind == "U")
            known = np.isin(self._y, classes) if alike else np.zeros(rows, dtype=np.bool_)
            self._foreign = ~known & ~self._unlabelled
            if self._foreign.all():
                few = shown(np.unique(self._y[:1000]).tolist(), 60)
                raise ValueError(f"schema must have classes of {self._name}, {few}, got {shown(classes.tolist(), 200)}")
        check_ways(on_bad_row, quarantine)
        if on_bad_row == "raise" and self._unlabelled.any():
            first = int(np.argmax(self._unlabelled)) + 1
            raise ValueError(f"{self._name} must have a label for every record, none in record {first}")
        self._begin(on_bad_row, quarantine)

    @property
    def rows(self) -> int:
        """How many records there are from the start to the end; those with bad labels do not count where skipped."""
        good = self._rows - int(np.count_nonzero(self._unlabelled | self._foreign))
        return good if self._limit is None else min(good, self._limit)

    @property
    def schema(self) -> Schema:
        """The features: numbers, or what the given schema says."""
        return self._schema

    def _set_schema(self, schema: Schema) -> None:
        self._schema = schema

    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        rows, bads, at, _ = mark
        step = max(1, _CELLS // self._width)
        try:
            with zipfile.ZipFile(self.path) as archive:
                dense = None if self._sparse else _Member(archive, "X")
                parts = [_Member(archive, n) for n in ("data", "indices")] if self._sparse else []
                for start in range(0, self._rows, step):
                    n = min(step, self._rows - start)
                    X: Any = self._csr_rows(parts, start, n) if dense is None else dense.take(n)
                    if start < at:
                        continue
                    if dense is not None:
                        X = X.reshape(n, -1).astype(np.float64)
                    if self.sparse == isinstance(X, np.ndarray):
                        X = csr(X) if self.sparse else X.toarray()
                    block = self._block(X, (rows, bads, start, 0))
                    rows, bads = rows + len(block.chunk), bads + len(block.bad)
                    yield block
        except _DAMAGE:
            raise ValueError(f"{self._name} cannot be read: the file is damaged or cut off") from None

    def _block(self, X: Any, mark: Mark) -> Block:
        """Take the bad records out."""
        start = mark[2]
        part = slice(start, start + X.shape[0])
        wrong = self._wrong_codes(X)
        bad = self._unlabelled[part] | self._foreign[part] | (wrong >= 0)
        if not bad.any():
            return Block(Chunk(X, self._y[part].copy()), mark)
        good = ~bad
        before = np.cumsum(good)
        found = []
        for r in np.flatnonzero(bad).tolist():
            f = int(wrong[r])
            code = None if f < 0 else (self._schema.features[f], float(X[r, f]))
            values = X[r, :20] if isinstance(X, np.ndarray) else X[[r], :20].toarray()[0]
            text = shown([*values.tolist(), self._y[start + r].item()], 400)
            found.append(Bad(int(before[r]), start + r + 1, text, self._reason(start + r, code)))
        return Block(Chunk(X[good], self._y[part][good]), mark, found)

    def _wrong_codes(self, X: Any) -> NDArray[np.int64]:
        """Give for each record the first nominal feature whose code stands for no value; -1: there is none."""
        wrong = np.full(X.shape[0], -1)
        if self._given_schema is None or self.sparse:
            return wrong
        for f in range(self._width - 1, -1, -1):
            feature = self._schema.features[f]
            if feature.nominal:
                codes = X[:, f]
                whole = (codes >= 0) & (codes < (1 << 20 if feature.open else feature.cardinality))
                wrong[~np.isnan(codes) & ~(whole & (codes == np.floor(codes)))] = f
        return wrong

    def _reason(self, record: int, code: tuple[Feature, float] | None) -> str:
        here = f"record {record + 1} of {self._name}"
        if self._unlabelled[record]:
            return f"{here} must have a label, it is missing"
        if self._foreign[record]:
            known = shown(list(self._schema.classes or ()), 200)
            return f"{here} must have one of the labels {known}, got {shown(self._y[record].item(), 60)}"
        assert code is not None
        feature, value = code
        below = "" if feature.open else f" and below {feature.cardinality}"
        return f"{here} must have a whole code from 0{below} in feature {feature.name!r}, got {value:g}"

    def _csr_rows(self, parts: list[_Member], start: int, n: int) -> Any:
        from scipy.sparse import csr_array

        starts = self._starts[start : start + n + 1]
        values, columns = (p.take(int(starts[-1] - starts[0])) for p in parts)
        if len(columns) and not (0 <= columns.min() and columns.max() < self._width):
            raise ValueError("an index beyond the width")
        entries = values.astype(np.float64), columns.astype(np.int64), starts - starts[0]
        X = csr_array(entries, shape=(n, self._width))
        X.sum_duplicates()
        return X


class _WrongError(Exception):
    """The archive is whole, but not what is needed."""


def _whole(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    member = _Member(archive, name)
    return member.take(member.shape[0] if member.shape else 1)
