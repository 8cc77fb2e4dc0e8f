"""Logistic regression against its twin, sparse against dense rows, and what it promises about scales."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from thalweg import Feature, Hyperplane, LogisticRegression, Schema, prequential
from twins.logistic import Twin

R = np.random.default_rng(9)
SCHEMA = Schema((Feature("a"), Feature("b", values=("x", "y", "z")), Feature("c"), Feature("d", values=(), open=True)))


def mixed(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = np.column_stack([R.normal(size=n) * 50, R.integers(0, 3, n), R.exponential(size=n), R.integers(0, 6, n)])
    X[R.random((n, 4)) < 0.1] = np.nan
    X[R.random(n) < 0.2, 2] = 0.0
    return X, R.integers(0, 3, n), R.choice([0.5, 1.0, 2.0], n)


@pytest.mark.parametrize(("rate", "keep"), [(1.0, 0.9999), (2.0, 1.0), (0.1, 0.9)])
def test_the_twin_says_the_same(rate: float, keep: float) -> None:
    X, y, w = mixed(400)
    learner, twin = LogisticRegression(rate=rate, keep=keep).declare(SCHEMA), Twin({1, 3}, rate, keep)
    proba = learner.test_then_train(X, y, w)
    order = {int(c): i for i, c in enumerate(learner.classes_)}
    for row, label, weight, said in zip(X, y, w, proba, strict=True):
        expected = twin.predict(row)
        np.testing.assert_allclose(said[: len(expected)], expected, rtol=1e-9, atol=1e-12)
        twin.learn(row, order[int(label)], weight)


def test_sparse_rows_are_the_same_bits_as_dense_ones() -> None:
    X = R.normal(size=(300, 40)) * (R.random((300, 40)) < 0.1)
    y = R.integers(0, 2, 300)
    dense, sparse = LogisticRegression(), LogisticRegression()
    np.testing.assert_array_equal(dense.test_then_train(X, y), sparse.test_then_train(csr_array(X), y))
    assert all(np.array_equal(table, dense.state()[name]) for name, table in sparse.state().items())


def test_the_scale_of_a_feature_does_not_matter() -> None:
    chunk = Hyperplane(seed=1).read(3000)
    powers = 2.0 ** np.arange(-200, 200, 40)  # exact
    plain = LogisticRegression().test_then_train(chunk.X, chunk.y)
    np.testing.assert_array_equal(plain, LogisticRegression().test_then_train(chunk.X * powers, chunk.y))


def test_it_learns_and_follows_a_drift() -> None:
    assert prequential(Hyperplane(seed=1), LogisticRegression(), limit=20_000).accuracy > 0.86
    X = R.normal(size=(20_000, 3))
    y = (X[:, 0] > 0) ^ (np.arange(20_000) >= 10_000)
    learner = LogisticRegression()
    proba = learner.test_then_train(X, y)
    right = learner.classes_[proba.argmax(axis=1)] == y
    assert right[:10_000].mean() > 0.97
    assert right[10_000:].mean() > 0.9


def test_values_far_beyond_those_learned_have_an_answer() -> None:
    learner = LogisticRegression().partial_fit([[1e-300], [-1e-300]] * 50, [0, 1] * 50)
    proba = learner.predict_proba([[1e300], [-1e300], [np.nan]])
    assert np.isfinite(proba).all()
    assert proba.argmax(axis=1)[:2].tolist() == [0, 1]


def test_weights_by_name() -> None:
    X, y, _ = mixed(200)
    learner = LogisticRegression().declare(SCHEMA)
    assert learner.weights == {}
    learner.partial_fit(X, y)
    assert {name: table.shape for name, table in learner.weights.items()} == {
        "a": (3, 1), "b": (3, 3), "c": (3, 1), "d": (3, 6)
    }  # fmt: skip


def test_tables_that_do_not_fit_are_refused() -> None:
    X, y, _ = mixed(100)
    learner = LogisticRegression().declare(SCHEMA).partial_fit(X, y)
    for name, change in (("layout", 1), ("scale", -1e6), ("squares", -1e6), ("shift", -1e6)):
        state = learner.state()
        state[name] = state[name] + change
        with pytest.raises(ValueError, match=f"state must be what .*{name}"):
            LogisticRegression().restore(state)
