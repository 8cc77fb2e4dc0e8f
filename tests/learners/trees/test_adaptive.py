"""The Hoeffding adaptive tree: against its slow twin, after a drift, in pieces, within its limit."""

import numpy as np
import pytest
from growing import by_appearance, tree_stream
from shadowing import draws, mixed, named, numbers, shadow

from thalweg import Agrawal, HoeffdingAdaptiveTree, HoeffdingTree
from twins.adaptive import SlowHoeffdingAdaptiveTree

EAGER = {"grace_period": 20, "delta": 0.1, "tau": 0.25}
QUICK = EAGER | {"drift": "adwin(delta=0.3)", "min_rows": 40, "switch_delta": 0.3}
MIXED = (None, 3, None, 5, 2)


def both(kinds, *, open=False, **options):
    """A tree and its twin."""
    random = draws()
    twin = SlowHoeffdingAdaptiveTree([0 if open and k else k for k in kinds], **options, **random)
    return named(HoeffdingAdaptiveTree(**options), kinds, open=open), twin


@pytest.mark.parametrize("blend", [True, False])
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("leaf", ["adaptive", "bayes", "majority"])
def test_numbers(leaf, bootstrap, blend):
    X, y = numbers(3000)
    tree, twin = both([None] * 5, **QUICK, leaf=leaf, bootstrap=bootstrap, blend=blend)
    shadow(tree, twin, X, y)
    assert min(twin.turns) > 0  # alternates were started, have taken over, were dropped


@pytest.mark.parametrize("criterion", ["gain", "gini"])
@pytest.mark.parametrize("open_values", [True, False])
def test_nominal_and_missing_values(open_values, criterion):
    X, y = mixed(3600, MIXED, missing=0.05)
    tree, twin = both(MIXED, open=open_values, **QUICK, criterion=criterion)
    shadow(tree, twin, X, y)
    assert twin.turns[1] > 0


def test_weights():
    X, y = mixed(3000, MIXED)
    w = np.random.default_rng(6).exponential(1.0, len(y)) * (np.random.default_rng(7).random(len(y)) < 0.9)
    tree, twin = both(MIXED, **QUICK)
    shadow(tree, twin, X, by_appearance(y, w), w)
    assert twin.turns[1] > 0


def test_new_classes_in_mid_stream():
    X, y = numbers(3000, classes=6)
    y = by_appearance(np.minimum(y, 1 + np.arange(len(y)) // 400))
    tree, twin = both([None] * 5, **QUICK)
    shadow(tree, twin, X, y)
    assert y.max() >= 4
    assert twin.turns[0] > 0


def test_a_random_subspace():
    X, y = numbers(3000, d=8)
    tree, twin = both([None] * 8, **QUICK, subspace=3)
    shadow(tree, twin, X, y)
    assert twin.turns[1] > 0


def test_binary_splits_and_the_null_merit_of_the_paper():
    X, y = mixed(3000, MIXED)
    tree, twin = both(MIXED, **QUICK, binary_splits=True, null_merit="zero", leaf_range=False)
    shadow(tree, twin, X, y)
    assert twin.turns[0] > 0


# -- drift ------------------------------------------------------------------------------------------------------------


def concepts(*functions, rows=10_000):
    """AGRAWAL's functions, one after another."""
    chunks = [Agrawal(function=f, seed=f).read(rows) for f in functions]
    return np.concatenate([c.X for c in chunks]), np.concatenate([c.y for c in chunks])


def test_it_recovers_from_a_drift_faster_than_a_hoeffding_tree():
    X, y = concepts(7, 4, 1)
    right = {}
    for cls in (HoeffdingTree, HoeffdingAdaptiveTree):
        learner = cls(delta=1e-3)
        proba = learner.test_then_train(X, y)
        right[cls] = learner.classes_[proba.argmax(axis=1)] == y
    tree, plain = right[HoeffdingAdaptiveTree], right[HoeffdingTree]
    assert abs(tree[:10_000].mean() - plain[:10_000].mean()) < 0.02  # nothing lost while nothing changes
    for start in (10_000, 20_000):
        assert tree[start + 3000 : start + 10_000].mean() > plain[start + 3000 : start + 10_000].mean() + 0.03


def test_without_drift_no_branch_is_replaced():
    X, y = tree_stream(3, 20_000)
    tree = HoeffdingAdaptiveTree(**EAGER, drift="adwin(delta=0.0001)").partial_fit(X, y)
    assert tree.n_leaves > 10
    assert tree.alternates["taken over"] == 0


def test_alternates_are_counted():
    X, y = concepts(1, 3, rows=5000)
    tree = HoeffdingAdaptiveTree(delta=1e-3).partial_fit(X, y)
    turns = tree.alternates
    assert turns["started"] >= turns["taken over"] + turns["growing"]
    assert turns["taken over"] > 0


def test_on_electricity_it_is_better_than_a_hoeffding_tree(electricity):
    X, y = electricity
    scores = {}
    for cls in (HoeffdingTree, HoeffdingAdaptiveTree):
        tree = cls(delta=1e-3)
        proba = tree.test_then_train(X, y)
        scores[cls] = (tree.classes_[proba.argmax(axis=1)] == y).mean()
    assert scores[HoeffdingAdaptiveTree] > scores[HoeffdingTree] + 0.01
    assert scores[HoeffdingAdaptiveTree] > 0.84  # MOA's: 84.45 %


# -- in pieces, within the limit, from a file -------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [30_000, 100_000])
def test_the_limit_is_never_exceeded_and_it_still_adapts(limit):
    X, y = tree_stream(1, 6000)
    X, y = np.concatenate([X, X, X]), np.concatenate([y, 1 - y, y])
    tree, free = HoeffdingAdaptiveTree(**QUICK, limit_bytes=limit), HoeffdingAdaptiveTree(**QUICK, limit_bytes=None)
    right = []
    for start in range(0, len(y), 50):
        rows = slice(start, start + 50)
        right.append((tree.test_then_train(X[rows], y[rows]).argmax(axis=1) == y[rows]).mean())
        assert tree.state_bytes <= limit
    assert free.partial_fit(X, y).state_bytes > limit
    assert np.mean(right[-40:]) > np.bincount(y).max() / len(y) + 0.03
    assert tree.alternates["taken over"] > 0


def test_a_limit_too_small_is_refused_with_a_sentence():
    X, y = numbers(300)
    with pytest.raises(ValueError, match=r"limit_bytes must be at least [0-9]+ .* got 1024"):
        HoeffdingAdaptiveTree(limit_bytes=1024).partial_fit(X, y)


@pytest.mark.parametrize(
    "bad",
    [
        {"drift": 0}, {"drift": 1}, {"drift": "ddm"}, {"drift": None},
        {"switch_delta": "x"}, {"switch_delta": 2}, {"min_rows": 0},
        {"min_rows": 1.5}, {"bootstrap": 1}, {"blend": None}, {"grace_period": 0}, {"delta": 2}, {"tau": -1},
        {"leaf": "oak"}, {"criterion": "luck"}, {"subspace": 0}, {"limit_bytes": 10}, {"seed": -1},
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters_are_refused_by_name(bad):
    with pytest.raises((ValueError, TypeError), match=f"^{next(iter(bad))} must"):
        HoeffdingAdaptiveTree(**bad)


def test_the_old_word_for_the_detector_still_works():
    with pytest.warns(DeprecationWarning, match="'drift_delta' of HoeffdingAdaptiveTree is now called 'drift'"):
        old = HoeffdingAdaptiveTree(**EAGER, drift_delta=0.3)
    new = HoeffdingAdaptiveTree(**EAGER, drift="adwin(delta=0.3)")
    X, y = np.random.default_rng(1).random((600, 3)), np.arange(600) // 300
    assert (old.test_then_train(X, y) == new.test_then_train(X, y)).all()
