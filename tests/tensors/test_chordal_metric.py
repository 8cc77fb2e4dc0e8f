"""The chordal distance as a metric of rows, and balls of it."""

import copy

import numpy as np
import pytest

from thalweg import BallCover, ChordalDistance
from thalweg.learners.tensors.chordal_features import chordal_distances

SHAPE = (5, 4, 3)


def spaces(n, seed):
    """Tensors whose class is a direction in the first mode, at any scale and with either sign."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    side = np.eye(6)[y] + 0.1 * rng.random((n, 6))
    return np.einsum("n,ni,nj->nij", rng.normal(size=n) * 10.0 ** rng.integers(-2, 3, n), side, rng.random((n, 6))), y


@pytest.mark.parametrize("rank", ["numerical", "energy", 2])
def test_it_is_the_root_of_the_chordal_distances(rank):
    X = np.random.default_rng(1).normal(size=(6, *SHAPE))
    near = ChordalDistance(shape=SHAPE, rank=rank, keep=3)  # fewer than there are rows
    rows = X.reshape(6, -1)
    got = np.array([[near(a, b) for b in rows] for a in rows])
    np.testing.assert_allclose(got**2, chordal_distances(X, X, rank=rank).sum(axis=2), atol=1e-9)
    assert np.array_equal(got, [[near(a, b) for b in rows] for a in rows])  # kept or found anew
    for a, b, c in np.ndindex(6, 6, 6):
        assert got[a, c] <= got[a, b] + got[b, c] + 1e-7


def test_balls_of_it_see_the_space_and_not_the_scale():
    X, y = spaces(300, 2)
    chordal = BallCover(metric=ChordalDistance(shape=(6, 6)), variant="auto", scale=None, max_balls=40)
    plain = BallCover(variant="auto", scale=None, max_balls=40)
    right = []
    for learner in (chordal, plain):
        proba = learner.test_then_train(X, y)
        right.append((learner.classes_[proba.argmax(axis=1)] == y)[50:].mean())
    assert right[0] > 0.95
    assert right[0] > right[1] + 0.2
    assert np.array_equal(chordal.predict(-1000.0 * X), chordal.predict(X))
    assert chordal.n_balls <= 40


def test_chunks_and_copies_change_nothing():
    X, y = spaces(60, 3)
    metric = ChordalDistance(shape=(6, 6))
    whole, parts = (BallCover(metric=metric, variant="auto", scale=None) for _ in range(2))
    expected = whole.test_then_train(X, y)
    got = [p for i in range(0, 60, 7) for p in parts.test_then_train(X[i : i + 7], y[i : i + 7])]
    for a, b in zip(got, expected, strict=True):
        assert a.tobytes() == b[: len(a)].tobytes()
    twin = copy.deepcopy(metric)
    assert repr(twin) == repr(metric) == "ChordalDistance(shape=(6, 6))"
    assert twin(X[0].ravel(), X[1].ravel()) == metric(X[0].ravel(), X[1].ravel())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"shape": None}, "shape must be all sizes of the tensors, got None"),
        ({"shape": (4, -1)}, r"shape must be all sizes of the tensors, got \(4, -1\)"),
        ({"shape": (4, 4), "keep": 1}, r"keep must lie in \[2, ∞\), got 1"),
        ({"shape": (4, 4), "rank": "most"}, "rank must be"),
    ],
)
def test_bad_parameters_get_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        ChordalDistance(**options)


def test_rows_of_another_width_get_a_sentence_and_change_nothing():
    learner = BallCover(metric=ChordalDistance(shape=(2, 2)), variant="auto", scale=None)
    with pytest.raises(ValueError, match="shape must have as many values as a row, 6, got"):
        learner.partial_fit(np.random.default_rng(1).random((3, 6)), [0, 1, 0])
    assert learner.n_balls == 0
