"""Sparse rows at the door: one form for learners that take them, one sentence for what is wrong."""

from typing import Any, Literal

import numpy as np
import pytest
from scipy import sparse

from thalweg import Feature, NaiveBayes, Schema
from thalweg.core import door
from thalweg.core.classifier import Classifier

FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")


class Seen(Classifier):
    """Keeps what it is given: the sum of the rows learned, and the last X."""

    sparse = True
    missing: Literal["reject", "native"] = "native"

    def _start(self, schema):
        self.sums = np.zeros(schema.n_features)

    def _play(self, X, y, w, events, out, known):
        self.last = X
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        for e in events:
            if e >= 0:
                out[e] = 1.0 / max(out.shape[1], 1)
            else:
                self.sums += dense[~e] * w[~e]

    def _tables(self):
        return {"sums": self.sums}

    def _adopt(self, tables, schema, classes):
        self.sums = tables["sums"]


def rows(n: int = 20, d: int = 7, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, (n, d)) * (rng.random((n, d)) < 0.4) / 4.0


def canonical(X: Any) -> bool:
    return (
        type(X) is sparse.csr_array
        and X.data.dtype == np.float64
        and X.indices.dtype == X.indptr.dtype == np.int64
        and all(a.flags.c_contiguous for a in (X.data, X.indices, X.indptr))
        and bool((X.data != 0.0).all())
        and all((np.diff(X.indices[a:b]) > 0).all() for a, b in zip(X.indptr, X.indptr[1:], strict=False))
    )


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_becomes_one(form: str, kind: str) -> None:
    dense = rows()
    X = getattr(sparse, f"{form}_{kind}")(dense)
    got, schema = door.rows(X, None, missing=False, learning=True, sparse=True)
    assert canonical(got)
    assert schema.n_features == 7
    assert np.array_equal(got.toarray(), dense)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int64, np.float32, ">f8"])
def test_every_number_type_becomes_float64(dtype: Any) -> None:
    dense = np.abs(rows() * 4)
    X = sparse.csr_array(dense)
    X.data = X.data.astype(dtype)
    got, _ = door.rows(X, None, missing=False, learning=True, sparse=True)
    assert canonical(got)
    assert np.array_equal(got.toarray(), dense.astype(dtype).astype(np.float64))


def test_a_canonical_matrix_is_not_copied() -> None:
    first, schema = door.rows(sparse.csr_array(rows()), None, missing=False, learning=True, sparse=True)
    again, _ = door.rows(first, schema, missing=False, learning=True, sparse=True)
    assert np.shares_memory(first.data, again.data)
    assert np.shares_memory(first.indices, again.indices)


def test_the_callers_matrix_stays_as_it_is() -> None:
    data, indices, indptr = np.array([1.0, 0.0, 2.0, 5.0]), np.array([3, 1, 0, 2]), np.array([0, 3, 4])
    X = sparse.csr_array((data, indices, indptr), shape=(2, 4))
    learner = Seen().partial_fit(X, ["a", "b"])
    assert X.data.tolist() == [1.0, 0.0, 2.0, 5.0]
    assert X.indices.tolist() == [3, 1, 0, 2]
    assert X.nnz == 4
    assert learner.last.data.tolist() == [2.0, 1.0, 5.0]  # in order, without the zero
    assert learner.last.indices.tolist() == [0, 3, 2]
    assert learner.last.indptr.tolist() == [0, 2, 3]


def test_all_verbs_take_sparse_rows() -> None:
    dense, y = rows(), np.arange(20) % 3
    X = sparse.csr_matrix(dense)
    learner = Seen()
    assert learner.test_then_train(X, y).shape == (20, 3)
    assert canonical(learner.last)
    learner.partial_fit(X, y, sample_weight=np.full(20, 2.0))
    learner.play(X, y, [0, ~0])
    assert learner.predict_proba(X).shape == (20, 3)
    assert len(learner.predict(X)) == 20
    assert 0.0 <= learner.score(X, y) <= 1.0
    assert np.array_equal(learner.sums, 3 * dense.sum(axis=0) + dense[0])
    learner.fit(X, y)
    assert np.array_equal(learner.sums, dense.sum(axis=0))
    learner.partial_fit(dense, y)
    assert isinstance(learner.last, np.ndarray)  # dense rows stay dense
    assert np.array_equal(learner.sums, 2 * dense.sum(axis=0))


def test_one_sparse_record() -> None:
    dense, learner = rows(), Seen()
    for x in (sparse.csr_array(dense[:1]), sparse.coo_array(dense[0]), sparse.csr_matrix(dense[:1])):
        learner.learn_one(x, "a")
        assert canonical(learner.last)
        assert learner.predict_one(x) == "a"
    assert np.array_equal(learner.sums, 3 * dense[0])
    with pytest.raises(ValueError, match="x must be one row, got a sparse matrix of 2 rows"):
        learner.learn_one(sparse.csr_array(dense[:2]), "a")


def broken(**changes: Any) -> sparse.csr_array:
    X = sparse.csr_array(np.eye(3, 7))
    for name, value in changes.items():
        setattr(X, name, np.array(value))
    return X


TWICE = sparse.coo_array(([1.0, 1.0], ([0, 0], [2, 2])), shape=(3, 7))
TWICE_BY_COLUMN = sparse.csc_array(([1.0, 1.0], [0, 0], [0, 2] + [2] * 6), shape=(3, 7))
BEYOND_BY_COLUMN = sparse.csc_array(np.eye(3, 7))
BEYOND_BY_COLUMN.indices = np.array([0, 1, 3])

BAD: dict[str, tuple[Any, str]] = {
    "infinity": (broken(data=[1.0, np.inf, 1.0]), r"finite \(no infinity\), got inf in row 1, feature 'x1'"),
    "NaN": (broken(data=[1.0, 1.0, np.nan]), "no missing value .* where it is sparse, got nan in row 2, feature 'x2'"),
    "a feature twice": (broken(indices=[0, 4, 4], indptr=[0, 1, 3, 3]), "once, .* in row 1, feature 'x4'"),
    "a feature twice, out of order": (broken(indices=[4, 0, 4], indptr=[0, 0, 3, 3]), "once, .* row 1, feature 'x4'"),
    "a feature twice in COO": (TWICE, "each feature of a row once"),
    "a feature twice in CSC": (TWICE_BY_COLUMN, "each feature of a row once"),
    "an index beyond": (broken(indices=[0, 1, 7]), "indices from 0 and below 7, got .* index 7"),
    "an index beyond in CSC": (BEYOND_BY_COLUMN, "indices from 0 and below 3, got .* index 3"),
    "an index below": (broken(indices=[0, 1, -1]), "indices from 0 and below 7, got .* index -1"),
    "an indptr that falls": (broken(indptr=[0, 2, 1, 3]), "indptr does not fit"),
    "an indptr that is short": (broken(indptr=[0, 1, 3]), "indptr does not fit"),
    "an indptr beyond": (broken(indptr=[0, 1, 2, 9]), "indptr does not fit"),
    "a feature too many": (sparse.csr_array(np.eye(3, 8)), "X has 8 features, but thalweg is expecting 7"),
    "complex numbers": (sparse.csr_array(np.eye(3, 7) * 1j), "Complex data not supported"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_sparse_rows_change_nothing(what: str) -> None:
    X, sentence = BAD[what]
    learner = Seen().partial_fit(sparse.csr_array(rows()), np.arange(20) % 3)
    before = learner.state()
    for verb in (
        lambda: learner.partial_fit(X, [7, 8, 9]),
        lambda: learner.test_then_train(X, [7, 8, 9]),
        lambda: learner.play(X, [7, 8, 9], [0, ~0]),
        lambda: learner.predict_proba(X),
    ):
        with pytest.raises(ValueError, match=sentence):
            verb()
    after = learner.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_one_dimension_is_refused_as_for_arrays() -> None:
    with pytest.raises(ValueError, match="two dimensions"):
        Seen().partial_fit(sparse.coo_array(np.ones(3)), [0])


def test_nominal_features_need_dense_rows() -> None:
    schema = Schema((Feature("size"), Feature("car", values=("vw", "fiat"))))
    with pytest.raises(ValueError, match="dense where a feature is nominal, as 'car' is"):
        Seen().declare(schema).partial_fit(sparse.csr_array(np.eye(2)), [0, 1])


def test_a_dense_learner_says_so() -> None:
    with pytest.raises(TypeError, match=r"X must be dense for this learner, got a sparse matrix: pass X\.toarray\(\)"):
        NaiveBayes().partial_fit(sparse.csr_array(np.eye(3)), [0, 1, 0])
    with pytest.raises(TypeError, match="X must be dense for this learner"):
        NaiveBayes().learn_one(sparse.csr_array(np.eye(1, 3)), 0)


def test_an_empty_sparse_chunk() -> None:
    learner = Seen().partial_fit(sparse.csr_array(rows()), np.arange(20) % 3)
    empty = sparse.csr_array((0, 7))
    assert learner.test_then_train(empty, []).shape == (0, 3)
    assert learner.predict_proba(empty).shape == (0, 3)


def test_rows_without_any_value() -> None:
    got, _ = door.rows(sparse.csr_array((3, 5)), None, missing=False, learning=True, sparse=True)
    assert canonical(got)
    assert got.shape == (3, 5)
    assert got.nnz == 0
