"""Sparse rows from memory and from files: the same numbers as the dense ones, in any chunks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from thalweg import ArrayStream, Chunk, Feature, LibSVMStream, NPZStream, Schema

RNG = np.random.default_rng(3)
X = np.where(RNG.random((200, 40)) < 0.1, RNG.integers(-4, 5, (200, 40)) / 2.0, 0.0)
X[0, 39] = 1.0
Y = RNG.integers(0, 3, 200)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    matrix = sparse.csr_matrix(X)
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    np.savez(tmp_path / "csr.npz", format=b"csr", y=Y, **parts)
    np.savez(tmp_path / "dense.npz", X=X.reshape(200, 4, 10), y=Y)
    with (tmp_path / "a.libsvm").open("w") as file:
        for row, label in zip(X, Y, strict=True):
            file.write(" ".join([str(label), *(f"{i + 1}:{v!r}" for i, v in enumerate(row.tolist()) if v)]) + "\n")
    return tmp_path


MAKE: dict[str, Any] = {
    "array of a matrix": lambda folder: ArrayStream(sparse.csc_matrix(X), Y),
    "array of rows": lambda folder: ArrayStream(X, Y, sparse=True),
    "array of whole numbers": lambda folder: ArrayStream((X * 2).astype(np.int8), Y, sparse=True),
    "npz": lambda folder: NPZStream(folder / "csr.npz", sparse=True),
    "dense npz": lambda folder: NPZStream(folder / "dense.npz", sparse=True),
    "libsvm": lambda folder: LibSVMStream(folder / "a.libsvm", sparse=True),
}


@pytest.mark.parametrize("name", MAKE)
def test_the_same_numbers_in_any_chunks(folder: Path, name: str) -> None:
    want = X * 2 if "whole" in name else X
    for size in (1, 33, 1000):
        stream = MAKE[name](folder)
        assert stream.sparse
        chunk = Chunk.join(list(stream.chunks(size)))
        assert isinstance(chunk.X, sparse.csr_array)
        assert chunk.X.dtype == np.float64
        assert np.array_equal(chunk.X.toarray(), want)
        assert np.array_equal(chunk.y, Y)
    stream = MAKE[name](folder)
    stream.take(77)
    other = MAKE[name](folder)
    other.restore(stream.state())
    assert np.array_equal(other.take(50).X.toarray(), want[77:127])
    assert stream.read(0).X.shape == (0, 40)
    assert stream.read(0).sparse


def test_dense_is_what_files_give_unless_asked(folder: Path) -> None:
    for stream in (
        NPZStream(folder / "csr.npz"),
        LibSVMStream(folder / "a.libsvm"),
        ArrayStream(sparse.csr_array(X), Y, sparse=False),
    ):
        assert not stream.sparse
        chunk = stream.take(200)
        assert isinstance(chunk.X, np.ndarray)
        assert np.array_equal(chunk.X, X)


def test_a_chunk_is_a_copy() -> None:
    matrix = sparse.csr_array(X)
    stream = ArrayStream(matrix, Y)
    chunk = stream.take(10)
    chunk.X.data[:] = 7.0
    stream.restart()
    assert np.array_equal(stream.take(10).X.toarray(), X[:10])
    assert np.array_equal(matrix.toarray(), X)


def test_what_is_bad_is_refused(folder: Path) -> None:
    broken = sparse.csr_array(X)
    broken.data[0] = np.inf
    with pytest.raises(ValueError, match=r"X must be finite \(no infinity\), got inf in row 0"):
        ArrayStream(broken, Y)
    with pytest.raises(ValueError, match="y must hold a label for each of the 200 rows of X, got 199"):
        ArrayStream(sparse.csr_array(X), Y[1:])
    nominal = Schema((Feature("a", values=("u", "v")), *(Feature(f"b{i}") for i in range(39))))
    with pytest.raises(ValueError, match="sparse must be False where features are nominal"):
        NPZStream(folder / "csr.npz", schema=nominal, sparse=True)
    with pytest.raises(ValueError, match="sparse must be False where features are nominal"):
        ArrayStream(np.abs(np.sign(X)), Y, schema=nominal, sparse=True)
    for kind, path in ((NPZStream, "csr.npz"), (LibSVMStream, "a.libsvm")):
        with pytest.raises(TypeError, match="sparse must be"):
            kind(folder / path, sparse=1)


def test_bad_records_of_a_sparse_file_are_left_out(folder: Path) -> None:
    schema = Schema.numeric(40, classes=(0, 1))
    stream = NPZStream(folder / "csr.npz", schema=schema, sparse=True, on_bad_row="skip")
    chunk = stream.take(200)
    assert np.array_equal(chunk.X.toarray(), X[Y < 2])
    assert stream.skipped == np.count_nonzero(Y == 2)
    (folder / "b.libsvm").write_text("1 1:2\nx:1\n0 3:4\n")
    lines = LibSVMStream(folder / "b.libsvm", sparse=True, on_bad_row="skip").take(9)
    assert lines.X.toarray().tolist() == [[2, 0, 0], [0, 0, 4]]
