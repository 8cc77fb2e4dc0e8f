"""Condensed neighbours: against a slow twin, and what is kept."""

import numpy as np
import pytest

from rows_to_try import four_features
from thalweg import CondensedKNN, Feature, Schema
from thalweg.checks import parts
from twins.condensed_knn import SlowCondensedKNN


@pytest.mark.parametrize("nominal", [False, True])
@pytest.mark.parametrize("scale", ["online", "minmax", None])
@pytest.mark.parametrize(("k", "max_rows"), [(1, 1000), (1, 7), (3, 20), (5, 3)])
def test_it_does_what_its_slow_twin_does(k, max_rows, scale, nominal):
    X, y = four_features(1, 300, nominal)
    kinds = tuple(Feature(f"f{i}", values=(0, 1, 2) if nominal and i == 1 else None) for i in range(4))
    w = np.random.default_rng(2).integers(0, 4, 300) / 2
    fast = CondensedKNN(k=k, max_rows=max_rows, scale=scale).declare(Schema(kinds))
    slow = SlowCondensedKNN([f.nominal for f in kinds], k=k, max_rows=max_rows, scale=scale)
    got = fast.test_then_train(X, y, w)
    for r in range(300):
        if slow.classes:
            np.testing.assert_allclose(got[r, : slow.classes], slow.proba(X[r]), rtol=1e-12, err_msg=f"row {r}")
        if w[r] > 0:
            slow.learn(X[r], int(y[r]), w[r])
    assert fast.n_rows == len(slow.rows)


def test_only_mistakes_are_kept():
    learner = CondensedKNN(scale=None).partial_fit([[0.0], [0.1], [5.0], [4.9], [0.2]], ["a", "a", "b", "b", "a"])
    assert learner.n_rows == 2
    assert learner.predict([[1.0], [4.0]]).tolist() == ["a", "b"]
    learner.partial_fit([[0.3]], ["c"])
    assert learner.n_rows == 3
    assert learner.predict_one([0.29]) == "c"


def test_the_oldest_goes():
    learner = CondensedKNN(max_rows=2, scale=None).partial_fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    assert learner.n_rows == 2
    assert learner.predict([[0.0], [2.0]]).tolist() == ["b", "c"]


def test_bad_parameters_and_damage():
    for options in ({"k": 0}, {"max_rows": 0}, {"scale": "window"}):
        with pytest.raises(ValueError, match="must"):
            CondensedKNN(**options)
    learner = CondensedKNN(max_rows=10).partial_fit(*four_features(3, 50))
    for name, place, value in (("head", 0, 11), ("head", 1, -1), ("codes", 0, -1), ("tiles", (0, 0, 0), np.nan)):
        state = learner.state()
        state[name][place] = value
        with parts.unchanged(learner, name), pytest.raises(ValueError, match="its table"):
            learner.restore(state)


def test_features_may_join():
    learner = CondensedKNN()
    for i in range(20):
        learner.learn_one({"a": float(i % 5)}, i % 2)
    learner.learn_one({"a": 1.0, "b": 2.0}, 0)
    assert set(learner.predict_proba_one({"a": 1.0, "b": 2.0})) == {0, 1}
