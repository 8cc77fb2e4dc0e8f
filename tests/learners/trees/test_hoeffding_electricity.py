"""Electricity from its first to its last row: within half a point of MOA's tree with the same parameters."""

import pytest

from thalweg import HoeffdingTree

MOA = {
    (1e-7, "adaptive"): 80.33, (1e-7, "majority"): 75.62, (1e-7, "bayes"): 79.23,
    (1e-3, "adaptive"): 81.73, (1e-3, "majority"): 75.28, (1e-3, "bayes"): 80.58,
}  # fmt: skip
"""Accuracy in per cent of CapyMOA 0.15's HoeffdingTree (grace period 200), measured on the same 45,312 rows."""


@pytest.mark.parametrize(("delta", "leaf"), MOA)
def test_accuracy_of_the_whole_stream(electricity, delta, leaf):
    X, y = electricity
    tree = HoeffdingTree(delta=delta, leaf=leaf)
    answers = tree.test_then_train(X, y).argmax(axis=1)
    accuracy = 100 * (tree.classes_[answers] == y).mean()
    assert accuracy == pytest.approx(MOA[delta, leaf], abs=0.5)


def test_accuracy_of_the_first_rows(electricity):
    X, y = electricity
    tree = HoeffdingTree()
    answers = tree.test_then_train(X[:2000], y[:2000]).argmax(axis=1)
    assert 100 * (tree.classes_[answers] == y[:2000]).mean() == pytest.approx(85.85, abs=1.0)
