"""Forms of tensors, their flattenings, and what is said to input that is none."""

import numpy as np
import pytest

from thalweg.learners.tensors.chordal_features import ChordalFeatures, chordal_distances
from thalweg.tensors.bases import Decomposition, flatten, fold
from thalweg.tensors.forms import CPTensors, SparseTensors, tensors_in
from twins import chordal as twin


@pytest.fixture
def tensors():
    return np.random.default_rng(1).normal(size=(3, 4, 5, 2))


def test_flattenings_are_those_of_the_definition(tensors):
    X = tensors
    for j in range(3):
        M = flatten(X, j)
        assert (M == np.array([twin.flattening(A, j) for A in X])).all()
        assert (fold(M, j, X.shape[1:]) == X).all()
        np.testing.assert_allclose((M**2).sum(axis=(1, 2)), (X**2).sum(axis=(1, 2, 3)))


def test_written_out_forms():
    rng = np.random.default_rng(3)
    weights, factors = rng.normal(size=(2, 3)), [rng.normal(size=(2, n, 3)) for n in (4, 5, 2)]
    C = CPTensors(weights, factors)
    np.testing.assert_allclose(C.dense(), np.einsum("nq,naq,nbq,ncq->nabc", weights, *factors))
    assert all((f == g).all() for f, g in zip(C.factors, factors, strict=True))
    assert (C[1].dense() == C.dense()[1:]).all()
    assert (C[[1, 0]].dense() == C.dense()[::-1]).all()
    S = SparseTensors.from_dense(C.dense())
    assert (S.dense() == C.dense()).all()
    assert (S[[1, 0]].dense() == C.dense()[::-1]).all()
    assert (S[1].dense() == C.dense()[1:]).all()
    twice = SparseTensors.one([[0, 1], [0, 1]], [2.0, 3.0], (1, 2))
    assert twice.dense().tolist() == [[[0.0, 5.0]]]


def _says(error, kind, *words):
    text = str(error.value)
    assert "\n" not in text
    assert error.type is kind
    for word in words:
        assert word in text, text


@pytest.fixture
def map(tensors):
    return ChordalFeatures().fit(tensors)


BAD = {
    "order": (np.zeros((2, 4, 5)), ValueError, ("X must hold tensors of order 3", "(4, 5, 2)", "order 2", "(4, 5)")),
    "mode size": (np.zeros((2, 4, 6, 2)), ValueError, ("X must hold tensors of shape (4, 5, 2)", "(4, 6, 2)")),
    "NaN": (np.where(np.arange(80).reshape(2, 4, 5, 2) == 51, np.nan, 1.0), ValueError, ("nan", "[1, 1, 0, 1]")),
    "infinity": (np.full((1, 4, 5, 2), -np.inf), ValueError, ("X must be finite", "-inf", "[0, 0, 0, 0]")),
    "empty": (np.zeros((2, 4, 0, 2)), ValueError, ("empty mode", "(4, 0, 2)")),
    "complex": (np.zeros((2, 4, 5, 2), dtype=complex), TypeError, ("X must hold real numbers", "complex128")),
    "words": (np.full((1, 4, 5, 2), "a"), ValueError, ("X must hold numbers", "<U1")),
    "objects": ([[None]], ValueError, ("X must hold numbers",)),
    "one number": (3.0, ValueError, ("X must be an array of tensors", "()")),
    "a vector": (np.zeros(4), ValueError, ("X must be an array of tensors", "(4,)")),
    "ragged": ([[1.0, 2.0], [1.0]], ValueError, ("X must hold tensors of one shape",)),
    "another form": (
        SparseTensors.one([[0, 0, 0]], [1.0], (4, 5, 2)), ValueError, ("form of the landmarks, dense", "sparse"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_tensors_get_one_sentence_and_change_nothing(map, name):
    bad, kind, words = BAD[name]
    before = map.state()
    with pytest.raises((TypeError, ValueError)) as error:
        map.transform(bad)
    _says(error, kind, *words)
    if name in ("NaN", "infinity", "empty", "complex", "words", "objects", "one number", "a vector", "ragged"):
        with pytest.raises((TypeError, ValueError)) as error:
            map.fit(bad)
        assert error.type is kind
    after = map.state()
    assert before.keys() == after.keys()
    assert all((before[k] == after[k]).all() for k in before)


def test_bad_factors_and_coordinates():
    with pytest.raises(
        ValueError, match=r"factors\[1\] must have the shape \(2, size of the mode, 3\), got \(2, 5, 2\)"
    ):
        CPTensors(np.ones((2, 3)), [np.ones((2, 4, 3)), np.ones((2, 5, 2))])
    with pytest.raises(ValueError, match=r"factors\[0\] must be finite, got nan at \[0, 1, 0\]"):
        CPTensors(np.ones((1, 1)), [np.array([[[1.0], [np.nan]]])])
    with pytest.raises(TypeError, match="weights must hold real numbers"):
        CPTensors(np.ones((1, 1), dtype=complex), [np.ones((1, 2, 1))])
    with pytest.raises(ValueError, match=r"the number of factors must lie in \[1, 32\], got 0"):
        CPTensors(np.ones((1, 1)), [])
    with pytest.raises(ValueError, match=r"weights must have the shape"):
        CPTensors(np.ones(3), [np.ones((1, 2, 3))])
    with pytest.raises(ValueError, match=r"coords\[0, 1\] must lie in \[0, 2\), got 2"):
        SparseTensors.one([[0, 2]], [1.0], (2, 2))
    with pytest.raises(ValueError, match=r"coords must have the shape \(1, 3\), got \(1, 2\)"):
        SparseTensors.one([[0, 1]], [1.0], (2, 2, 2))
    with pytest.raises(ValueError, match="starts must rise from 0 to 1"):
        SparseTensors([[0, 1]], [1.0], starts=[0, 2], shape=(2, 2))
    with pytest.raises(TypeError, match="whole numbers"):
        SparseTensors.one([[0.0, 1.0]], [1.0], (2, 2))
    with pytest.raises(ValueError, match=r"values must be finite, got inf at \[0\]"):
        SparseTensors.one([[0, 1]], [np.inf], (2, 2))
    with pytest.raises(ValueError, match="each size in shape"):
        SparseTensors.one([[0, 1]], [1.0], (2, 0))
    with pytest.raises(ValueError, match="at most 10000000 values"):
        CPTensors.one([1.0], [np.ones((100, 1))] * 4).dense()


def test_bad_arguments():
    for wrong in ({"rank": "full"}, {"rank": 0}, {"max_rank": 0}, {"energy": 0.0}, {"route": "qr"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must"):
            Decomposition(**wrong)
    with pytest.raises(ValueError, match="route must not be 'randomised'"):
        Decomposition(rank="numerical", route="randomised")
    with pytest.raises(ValueError, match="similarity must be one of"):
        ChordalFeatures(similarity="cosine")
    with pytest.raises(ValueError, match="landmarks must hold at least one tensor"):
        ChordalFeatures().fit(np.zeros((0, 2, 2)))
    with pytest.raises(ValueError, match="call fit"):
        ChordalFeatures().transform(np.zeros((1, 2, 2)))
    with pytest.raises(ValueError, match="B must be in the form of A, dense, got sparse"):
        chordal_distances(np.ones((1, 2, 2)), SparseTensors.from_dense(np.ones((1, 2, 2))))
    with pytest.raises(ValueError, match=r"B must hold tensors of shape"):
        chordal_distances(np.ones((1, 2, 2)), np.ones((1, 2, 3)))
    with pytest.raises(ValueError, match="mode must lie in"):
        flatten(np.ones((1, 2, 3)), 2)


def test_missing_values_may_count_as_zero(tensors):
    X = tensors
    holes = X.copy()
    holes[0, 1, 2, 1] = np.nan
    filled = np.nan_to_num(holes)
    lenient = ChordalFeatures(missing="zero").fit(X)
    assert (lenient.transform(holes) == lenient.transform(filled)).all()
    with pytest.raises(ValueError, match="inf"):
        lenient.transform(np.full((1, 4, 5, 2), np.inf))
    assert np.isnan(holes[0, 1, 2, 1]), "the caller's array is not touched"


def test_whole_numbers_and_booleans_are_numbers():
    assert tensors_in(np.ones((2, 3, 3), dtype=bool)).dtype == np.float64
    assert tensors_in(np.ones((2, 3, 3), dtype=np.uint8)).dtype == np.float64
    assert tensors_in(np.ones((2, 3, 3), dtype=np.float32)[:, ::-1]).flags.c_contiguous
