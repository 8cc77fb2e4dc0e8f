"""The budgeted perceptron with a Gaussian: against a slow twin, and what is kept."""

import numpy as np
import pytest

from rows_to_try import four_features
from thalweg import Feature, KernelPerceptron, Schema
from thalweg.checks import parts
from thalweg.learners.balls.tiles_jit import raise_powers, weigh
from twins.kernel_perceptron import SlowKernelPerceptron


@pytest.mark.parametrize("nominal", [False, True])
@pytest.mark.parametrize("scale", ["online", "minmax", None])
@pytest.mark.parametrize(
    ("max_rows", "discard", "width"), [(1000, "oldest", None), (9, "oldest", 3.0), (9, "random", None)]
)
def test_it_does_what_its_slow_twin_does(max_rows, discard, width, scale, nominal):
    X, y = four_features(1, 300, nominal)
    kinds = tuple(Feature(f"f{i}", values=(0, 1, 2) if nominal and i == 1 else None) for i in range(4))
    w = np.random.default_rng(2).integers(0, 4, 300) / 2
    options = {"max_rows": max_rows, "discard": discard, "width": width, "scale": scale, "seed": 4}
    fast, slow = (
        KernelPerceptron(**options).declare(Schema(kinds)),
        SlowKernelPerceptron([f.nominal for f in kinds], **options),
    )
    got = fast.test_then_train(X, y, w)
    for r in range(300):
        if slow.classes:
            np.testing.assert_allclose(got[r, : slow.classes], slow.proba(X[r]), rtol=1e-8, err_msg=f"row {r}")
        if w[r] > 0:
            slow.learn(X[r], int(y[r]), w[r])
    assert fast.n_rows == len(slow.rows)


def test_the_gaussian_is_one():
    far = np.concatenate([np.linspace(0, 40, 5000), [1e-300, 699.0, 701.0, 1e308]])
    near, whole, n = np.zeros(len(far)), np.zeros(len(far)), len(far)
    weigh(far, 1.0, near, whole, n)
    raise_powers(near.view(np.int64), whole.view(np.int64), n)
    np.testing.assert_allclose(near, np.exp(-np.minimum(far, 700.0)), rtol=1e-12)


def test_only_mistakes_are_kept():
    learner = KernelPerceptron(scale=None, width=1.0).partial_fit([[0.0], [0.1], [5.0], [4.9]], ["a", "a", "b", "b"])
    assert learner.n_rows == 1  # until then "a", which came first, was right
    assert learner.predict([[0.0]]).tolist() == ["b"]
    learner.partial_fit([[0.2], [0.1]], ["a", "a"])
    assert learner.n_rows == 2
    assert learner.predict([[0.0], [4.0]]).tolist() == ["a", "b"]


def test_bad_parameters_and_damage():
    for options in ({"max_rows": 0}, {"width": 0.0}, {"discard": "newest"}, {"scale": "window"}):
        with pytest.raises(ValueError, match="must"):
            KernelPerceptron(**options)
    learner = KernelPerceptron(max_rows=10).partial_fit(*four_features(3, 50))
    for name, place, value in (
        ("head", 0, 11),
        ("sides", (0, 0), -1),
        ("tiles", (0, 0, 0), np.nan),
        ("gauge", 0, np.inf),
    ):
        state = learner.state()
        state[name][place] = value
        with parts.unchanged(learner, name), pytest.raises(ValueError, match="its table"):
            learner.restore(state)


def test_features_may_join():
    learner = KernelPerceptron()
    for i in range(20):
        learner.learn_one({"a": float(i % 5)}, i % 2)
    learner.learn_one({"a": 1.0, "b": 2.0}, 0)
    assert set(learner.predict_proba_one({"a": 1.0, "b": 2.0})) == {0, 1}
