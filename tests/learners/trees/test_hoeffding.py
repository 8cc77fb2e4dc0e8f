"""The tree against its slow twin: every answer, every split, and the row at which it happened."""

import numpy as np
import pytest
from growing import by_appearance, check_leaves, declared, follow, leaves, mixed_stream, numeric_stream, structure
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg import HoeffdingTree
from twins.hoeffding import SlowHoeffdingTree

EAGER = {"grace_period": 20, "delta": 0.1, "tau": 0.25}
MIXED = (None, 3, None, 5, 2)


@pytest.mark.parametrize("null_merit", ["moa", "zero"])
@pytest.mark.parametrize("leaf", ["adaptive", "bayes", "majority"])
@pytest.mark.parametrize("criterion", ["gain", "gini"])
@pytest.mark.parametrize("classes", [2, 5])
def test_numbers(classes, criterion, leaf, null_merit):
    X, y = numeric_stream(classes, 1300, classes=classes)
    options = EAGER | {"criterion": criterion, "leaf": leaf, "null_merit": null_merit}
    assert follow(HoeffdingTree(**options), SlowHoeffdingTree([None] * 5, **options), X, y) > 7


@pytest.mark.parametrize("leaf_range", [True, False])
@pytest.mark.parametrize("binary_splits", [True, False])
@pytest.mark.parametrize("leaf", ["adaptive", "bayes"])
@pytest.mark.parametrize("criterion", ["gain", "gini"])
def test_numbers_and_nominal_values(criterion, leaf, binary_splits, leaf_range):
    X, y = mixed_stream(3, 1200, MIXED)
    options = EAGER | {
        "criterion": criterion, "leaf": leaf, "binary_splits": binary_splits, "leaf_range": leaf_range
    }  # fmt: skip
    assert follow(declared(MIXED, **options), SlowHoeffdingTree(MIXED, **options), X, y) > 10


@pytest.mark.parametrize("open_values", [True, False])
@pytest.mark.parametrize("leaf", ["adaptive", "majority"])
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_missing_values(share, leaf, open_values):
    X, y = mixed_stream(4, 1500, MIXED, missing=share)
    options = EAGER | {"leaf": leaf}
    twin = SlowHoeffdingTree([None if k is None else 0 if open_values else k for k in MIXED], **options)
    assert follow(declared(MIXED, open=open_values, **options), twin, X, y) > 3


@pytest.mark.parametrize("kind", ["whole", "fractional", "tiny"])
@pytest.mark.parametrize("leaf", ["adaptive", "bayes"])
def test_weights(kind, leaf):
    X, y = mixed_stream(5, 1500, MIXED, missing=0.05)
    rng = np.random.default_rng(6)
    w = {
        "whole": rng.integers(0, 5, len(y)).astype(float),
        "fractional": rng.exponential(1.0, len(y)) * (rng.random(len(y)) < 0.9),
        "tiny": rng.exponential(0.05, len(y)) + 5.0 * (rng.random(len(y)) < 0.1),
    }[kind]
    options = EAGER | {"leaf": leaf}
    assert follow(declared(MIXED, **options), SlowHoeffdingTree(MIXED, **options), X, by_appearance(y, w), w) > 3


@pytest.mark.parametrize("leaf_range", [True, False])
@pytest.mark.parametrize("leaf", ["adaptive", "bayes", "majority"])
def test_new_classes_in_mid_stream(leaf, leaf_range):
    X, y = numeric_stream(8, 1600, classes=8)
    y = by_appearance(np.minimum(y, np.arange(len(y)) // 250))
    assert y.max() >= 6
    options = EAGER | {"leaf": leaf, "leaf_range": leaf_range}
    assert follow(HoeffdingTree(**options), SlowHoeffdingTree([None] * 5, **options), X, y) > 5


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (1000, {"bayes_from": 40.0, "leaf": "bayes"}),
        (1000, {"min_branch_share": 0.3}),
        (1000, {"min_branch_share": 0.0}),
        (1000, {"n_split_points": 1}),
        (1000, {"n_split_points": 37}),
        (1000, {"prune": False}),
        (1000, {"prune": False, "criterion": "gini"}),
        (3000, {"bound": "mcdiarmid", "criterion": "gini", "tau": 0.6}),
        (1000, {"grace_period": 7.5}),
    ],
    ids=str,
)
def test_the_other_options(rows, options):
    X, y = mixed_stream(9, rows, MIXED, noise=0.05)
    options = EAGER | options
    assert follow(declared(MIXED, **options), SlowHoeffdingTree(MIXED, **options), X, y) > 3


def test_poor_attributes_are_dropped():
    X, y = numeric_stream(11, 2500, d=6, noise=0.2)
    options = EAGER | {"leaf": "majority", "drop_poor": True, "tau": 0.1}
    tree, twin = HoeffdingTree(**options), SlowHoeffdingTree([None] * 6, **options)
    assert follow(tree, twin, X, y) > 3
    slots = [int(tree._pool.nodes[i]["left"]) for i in leaves(tree._pool)]
    dropped = [int((tree._pool.watched[slot, :, 0] < 0).sum()) for slot in slots if slot >= 0]
    assert max(dropped) >= 1
    assert dropped == [6 - len(leaf.observers) for leaf in twin.leaves() if leaf.observers is not None]


@pytest.mark.parametrize("leaf", ["adaptive", "bayes"])
def test_naive_bayes_needs_its_poor_attributes(leaf):
    X, y = numeric_stream(11, 2500, d=6, noise=0.2)
    plain = HoeffdingTree(**EAGER, leaf=leaf).test_then_train(X, y)
    assert np.array_equal(HoeffdingTree(**EAGER, leaf=leaf, drop_poor=True).test_then_train(X, y), plain)


def test_an_attribute_of_which_nothing_is_known_is_not_dropped():
    rng = np.random.default_rng(12)
    y = rng.integers(0, 2, 2000)
    fair = y + 0.6 * rng.normal(size=2000)
    X = np.column_stack([y + 0.01 * rng.normal(size=2000), fair, fair, rng.normal(size=2000)])
    X[:500, 0] = np.nan  # the best attribute comes late; two that are equal keep the leaf undecided, the last is poor
    options = {"grace_period": 50, "delta": 0.1, "tau": 0.0, "leaf": "majority", "drop_poor": True}
    tree, twin = HoeffdingTree(**options), SlowHoeffdingTree([None] * 4, **options)
    follow(tree, twin, X[:500], by_appearance(y)[:500])
    assert tree._pool.watched[0, :, 0].tolist() == [0, 1, 2, -1]
    follow(tree, twin, X[500:], by_appearance(y)[500:])
    assert structure(tree._pool)[0] == 0


@pytest.mark.parametrize("criterion", ["gain", "gini"])
def test_an_attribute_that_was_constant_so_far_is_not_dropped(criterion):
    rng = np.random.default_rng(13)
    y = rng.integers(0, 2, 3000)
    weak = y + 3.0 * rng.normal(size=(2, 3000))
    X = np.column_stack([np.where(np.arange(3000) < 200, 0.0, y), *weak])
    options = {
        "grace_period": 50,
        "delta": 1e-3,
        "tau": 0.0,
        "leaf": "majority",
        "drop_poor": True,
        "criterion": criterion,
    }
    tree, twin = HoeffdingTree(**options), SlowHoeffdingTree([None] * 3, **options)
    assert follow(tree, twin, X, by_appearance(y)) > 0
    assert structure(tree._pool)[0] == 0


@pytest.mark.parametrize("chunk", [1, 40, 1000])
def test_open_nominal_values_of_a_frame(chunk):
    pd = pytest.importorskip("pandas")
    X, y = mixed_stream(10, 1000, (None, 4, 6), missing=0.05)
    words = np.array(["plum", "fig", "pear", "lime", "date", "kiwi"], dtype=object)
    frame = pd.DataFrame({"size": X[:, 0]})
    for f, name in ((1, "kind"), (2, "fruit")):
        gone = np.isnan(X[:, f])
        frame[name] = np.where(gone, None, words[np.where(gone, 0, X[:, f]).astype(int)])
        X[~gone, f] = by_appearance(X[~gone, f])
    tree = HoeffdingTree(**EAGER)
    twin = SlowHoeffdingTree([None, 0, 0], **EAGER)
    for start in range(0, len(y), chunk):
        rows = slice(start, start + chunk)
        for x, c, got in zip(
            X[rows].tolist(), y[rows].tolist(), tree.test_then_train(frame[rows], y[rows]), strict=True
        ):
            np.testing.assert_allclose(got[: twin.known], twin.proba(x) if twin.known else [], rtol=1e-9)
            assert not got[twin.known :].any()
            twin.learn(x, c)
    assert structure(tree._pool) == twin.structure()
    check_leaves(tree._pool, twin)
    assert len(twin.splits) > 5


OPTIONS = st.fixed_dictionaries(
    {
        "grace_period": st.sampled_from([10, 20, 33.5]),
        "delta": st.sampled_from([0.3, 0.1, 0.01]),
        "tau": st.sampled_from([0.0, 0.2, 0.5]),
        "criterion": st.sampled_from(["gain", "gini"]),
        "leaf": st.sampled_from(["adaptive", "bayes", "majority"]),
        "null_merit": st.sampled_from(["moa", "zero"]),
        "binary_splits": st.booleans(),
        "leaf_range": st.booleans(),
        "smoothing": st.sampled_from([0.0, 0.0, 0.03, 0.5]),
        "min_branch_share": st.sampled_from([0.0, 0.01, 0.2]),
        "n_split_points": st.sampled_from([1, 3, 10]),
    }
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 1000),
    cardinalities=st.lists(st.sampled_from([None, None, 1, 2, 3, 6]), min_size=1, max_size=6),
    classes=st.sampled_from([2, 3, 9]),
    missing=st.sampled_from([0.0, 0.0, 0.3]),
    coarse=st.booleans(),
    weighted=st.booleans(),
    options=OPTIONS,
)
def test_any_stream(seed, cardinalities, classes, missing, coarse, weighted, options):
    X, y = mixed_stream(seed, 600, cardinalities, classes, missing=missing)
    if coarse:
        X = np.round(X)
    w = np.random.default_rng(seed).integers(0, 4, len(y)) / 2 if weighted else None
    tree, twin = declared(cardinalities, **options), SlowHoeffdingTree(cardinalities, **options)
    follow(tree, twin, X, by_appearance(y, w), w)


def test_the_first_rows_of_electricity(electricity):
    X, y = electricity
    assert (
        follow(HoeffdingTree(**EAGER), SlowHoeffdingTree([None] * 8, **EAGER), X[:3000], by_appearance(y[:3000])) > 10
    )
