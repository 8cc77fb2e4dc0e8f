"""The extremely fast decision tree: against its slow twin, early splits, reviews, in pieces, within its limit."""

import numpy as np
import pytest
from growing import by_appearance, structure, tree_stream
from shadowing import draws, mixed, named, numbers, shadow

from thalweg import ExtremelyFastDecisionTree, HoeffdingTree
from twins.efdt import SlowExtremelyFastDecisionTree

QUICK = {"grace_period": 20, "review_period": 25, "delta": 0.1, "tau": 0.25}
MIXED = (None, 3, None, 5, 2)


def both(kinds, *, open=False, **options):
    """A tree and its twin."""
    twin = SlowExtremelyFastDecisionTree([0 if open and k else k for k in kinds], **options, choose=draws()["choose"])
    return named(ExtremelyFastDecisionTree(**options), kinds, open=open), twin


@pytest.mark.parametrize("leaf", ["adaptive", "bayes", "majority"])
@pytest.mark.parametrize("criterion", ["gain", "gini"])
@pytest.mark.parametrize("classes", [2, 5])
def test_numbers(classes, criterion, leaf):
    X, y = numbers(2400, classes=classes)
    tree, twin = both([None] * 5, **QUICK, criterion=criterion, leaf=leaf)
    shadow(tree, twin, X, y)
    assert twin.turns[0] > 5
    assert twin.turns[1] > 0


@pytest.mark.parametrize("binary_splits", [True, False])
@pytest.mark.parametrize("open_values", [True, False])
def test_nominal_and_missing_values(open_values, binary_splits):
    X, y = mixed(2400, MIXED, missing=0.05)
    tree, twin = both(MIXED, open=open_values, **QUICK, binary_splits=binary_splits)
    shadow(tree, twin, X, y)
    assert twin.turns[0] > 5
    assert twin.turns[1] > 0


def test_weights():
    X, y = numbers(2400, classes=3)
    w = np.random.default_rng(6).exponential(1.0, len(y)) * (np.random.default_rng(7).random(len(y)) < 0.9)
    tree, twin = both([None] * 5, **QUICK)
    shadow(tree, twin, X, by_appearance(y, w), w)
    assert twin.turns[1] > 0


def test_new_classes_in_mid_stream():
    X, y = numbers(2400, classes=6)
    y = by_appearance(np.minimum(y, 1 + np.arange(len(y)) // 300))
    tree, twin = both([None] * 5, **QUICK, leaf_range=False)
    shadow(tree, twin, X, y)
    assert y.max() >= 4
    assert twin.turns[1] > 0


@pytest.mark.parametrize("criterion", ["gain", "gini"])
def test_a_random_subspace(criterion):
    X, y = numbers(2400, d=8)
    tree, twin = both([None] * 8, **QUICK, subspace=3, criterion=criterion)
    shadow(tree, twin, X, y)
    assert twin.turns[0] > 5


# -- what it is for ---------------------------------------------------------------------------------------------------


def test_it_splits_before_a_hoeffding_tree_does():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 3000)
    X = (y + 0.7 * rng.normal(size=(4, 3000))).T.copy()  # four attributes that are equally good: a tie for the others
    first = {}
    for cls in (HoeffdingTree, ExtremelyFastDecisionTree):
        tree, at = cls(), 0
        while at < 3000 and (at == 0 or tree.n_leaves == 1):
            tree.partial_fit(X[at : at + 50], y[at : at + 50])
            at += 50
        first[cls] = at
    assert first[ExtremelyFastDecisionTree] <= 400
    assert first[HoeffdingTree] > 2000


def test_a_split_gives_way_to_a_better_one():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 8000)
    early = y + 0.8 * rng.normal(size=8000)
    late = np.where(np.arange(8000) < 1000, rng.normal(size=8000), y + 0.05 * rng.normal(size=8000))
    X = np.column_stack([early, late])
    tree = ExtremelyFastDecisionTree().partial_fit(X[:1000], y[:1000])
    assert structure(tree._pool)[0] == 0
    tree.partial_fit(X[1000:], y[1000:])
    assert structure(tree._pool)[0] == 1
    assert tree.revisions["replaced"] > 0


def test_it_learns_a_tree_faster_and_recovers_faster_than_a_hoeffding_tree():
    X, y = tree_stream(4, 30_000, d=6, depth=4, noise=0.02)
    X = np.concatenate([X, X[:, ::-1]])  # the same concept of other features
    y = np.concatenate([y, y])
    right = {}
    for cls in (HoeffdingTree, ExtremelyFastDecisionTree):
        tree = cls(delta=1e-3)
        right[cls] = tree.test_then_train(X, y).argmax(axis=1) == y
    fast, plain = right[ExtremelyFastDecisionTree], right[HoeffdingTree]
    assert fast[:30_000].mean() > plain[:30_000].mean() - 0.005
    assert fast[30_000:].mean() > plain[30_000:].mean() + 0.01


def test_on_electricity(electricity):
    X, y = electricity
    tree = ExtremelyFastDecisionTree(delta=1e-3)
    proba = tree.test_then_train(X, y)
    assert (tree.classes_[proba.argmax(axis=1)] == y).mean() > 0.825  # MOA's: 83.04 %


# -- in pieces, within the limit, from a file -------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [20_000, 60_000])
def test_the_limit_is_never_exceeded_and_it_still_learns(limit):
    X, y = tree_stream(1, 12_000)
    tree, free = (
        ExtremelyFastDecisionTree(**QUICK, limit_bytes=limit),
        ExtremelyFastDecisionTree(**QUICK, limit_bytes=None),
    )
    right = []
    for start in range(0, len(y), 50):
        rows = slice(start, start + 50)
        right.append((tree.test_then_train(X[rows], y[rows]).argmax(axis=1) == y[rows]).mean())
        assert tree.state_bytes <= limit
    assert free.partial_fit(X, y).state_bytes > limit
    assert np.mean(right[-100:]) > np.bincount(y).max() / len(y) + 0.03


def test_the_limit_holds_while_classes_and_values_grow():
    rng = np.random.default_rng(8)
    tree = ExtremelyFastDecisionTree(**QUICK, limit_bytes=30_000)
    for r in range(3000):
        x = {"a": float(rng.normal()), "b": float(rng.normal()), "word": f"w{rng.integers(0, 2 + r // 100)}"}
        tree.learn_one(x, int(x["a"] + x["b"] > 0) + 2 * (r % (1 + r // 300)))
        assert tree.state_bytes <= 30_000, r
    assert len(tree.classes_) > 10


@pytest.mark.parametrize(
    "bad",
    [
        {"review_period": 0}, {"review_period": "x"}, {"grace_period": 0}, {"delta": 2}, {"tau": -1}, {"leaf": "oak"},
        {"criterion": "luck"}, {"subspace": 0}, {"limit_bytes": 10}, {"seed": -1}, {"n_split_points": 0},
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters_are_refused_by_name(bad):
    with pytest.raises((ValueError, TypeError), match=f"^{next(iter(bad))} must"):
        ExtremelyFastDecisionTree(**bad)
