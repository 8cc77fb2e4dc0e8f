"""Rules of the specification that can be said in one sentence, each with its own small stream."""

import numpy as np
import pytest
from growing import declared, mixed_stream, numeric_stream, structure

from thalweg import HoeffdingTree
from thalweg.pool import pool_jit as p
from twins.hoeffding import SlowHoeffdingTree

EAGER = {"grace_period": 20, "delta": 0.1, "tau": 0.25}
NAN = float("nan")


def first_split(tree, X, y):
    """Number of rows after which the tree first splits; None: never."""
    for r in range(len(y)):
        tree.partial_fit(X[r : r + 1], y[r : r + 1])
        if tree.n_leaves > 1:
            return r + 1
    return None


def two_groups(n, seed=1):
    """A column that tells the two classes apart."""
    rng = np.random.default_rng(seed)
    y = rng.permuted(np.arange(n) % 2)
    return y + 0.05 * rng.normal(size=n), y


# -- when a leaf splits -----------------------------------------------------------------------------------------------


def test_without_confidence_and_ties_no_split_before_the_bound_is_below_the_gap():
    good, y = two_groups(1500)
    X = np.column_stack([good, np.random.default_rng(2).normal(size=1500)])
    rows = first_split(HoeffdingTree(grace_period=10, delta=1e-300, tau=0.0), X, y)
    # ε = √(690.8 / 2n) < 1 needs n > 345; the gap is a little below 1
    assert 350 <= rows <= 420


@pytest.mark.parametrize("criterion", ["gain", "gini"])
def test_useless_attributes_never_split_without_ties(criterion):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(4000, 3)), rng.integers(0, 2, 4000)
    tree = HoeffdingTree(grace_period=10, delta=1e-12, tau=0.0, criterion=criterion).partial_fit(X, y)
    assert tree.n_leaves == 1


@pytest.mark.parametrize(
    ("grace_period", "delta", "rows"), [(200, 1e-7, 3400), (1, 1e-7, 3224), (50, 0.01, 950), (1, 0.01, 922)]
)
def test_equal_attributes_are_split_once_the_bound_is_below_tau(grace_period, delta, rows):
    good, y = two_groups(3500)
    X = np.column_stack([good, good])
    assert first_split(HoeffdingTree(grace_period=grace_period, delta=delta, leaf="majority"), X, y) == rows


@pytest.mark.parametrize("seed", range(4))
def test_the_first_split_comes_at_a_multiple_of_the_grace_period(seed):
    X, y = numeric_stream(seed, 3000)
    rows = first_split(HoeffdingTree(grace_period=37, delta=0.01), X, y)
    assert rows % 37 == 0


def test_one_attribute_alone_splits_at_once_unless_not_splitting_has_merit_zero():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(400, 1)), rng.integers(0, 2, 400)
    assert first_split(HoeffdingTree(grace_period=50, tau=0.0), X, y) == 50
    assert first_split(HoeffdingTree(grace_period=50, tau=0.0, null_merit="zero"), X, y) is None


@pytest.mark.parametrize("leaf_range", [True, False])
def test_the_range_counts_the_classes_of_the_leaf_or_of_the_tree(leaf_range):
    good, y = two_groups(600)
    X = np.column_stack([good, np.random.default_rng(5).normal(size=600)])
    tree = HoeffdingTree(grace_period=1, delta=1e-20, tau=0.0, leaf_range=leaf_range)
    tree.partial_fit(X[:0], y[:0], classes=list(range(16)))
    rows = first_split(tree, X, y)
    ratio = np.sqrt(46.05 / (2 * rows)) * (1 if leaf_range else 4)
    assert 0.85 < ratio < 1.0  # ε is just below the gap, which is nearly 1


@pytest.mark.parametrize("criterion", ["gain", "gini"])
def test_one_class_and_one_value_never_split(criterion):
    options = EAGER | {"criterion": criterion, "tau": 1.0}
    X, y = mixed_stream(6, 500, (None, 3))
    assert declared((None, 3), **options).partial_fit(X, np.zeros(500, dtype=int)).n_leaves == 1
    assert declared((None, 3), **options).partial_fit(np.ones((500, 2)), y).n_leaves == 1


def test_a_branch_must_hold_its_share():
    y = np.arange(1000) % 2
    rare = (np.arange(1000) % 200 == 199).astype(float)  # half of one per cent, all of one class
    X = np.column_stack([rare, rare])
    assert declared((3, 3), **EAGER | {"tau": 1.0}).partial_fit(X, y).n_leaves == 1
    assert declared((3, 3), **EAGER | {"tau": 1.0, "min_branch_share": 0.0}).partial_fit(X, y).n_leaves > 1


def test_a_leaf_without_candidates_stays_awake():
    X, y = numeric_stream(7, 1500)
    X[:500] = 1.0
    tree = HoeffdingTree(**EAGER).partial_fit(X[:500], y[:500])
    assert tree.n_leaves == 1
    assert tree.partial_fit(X[500:], y[500:]).n_leaves > 2


# -- where a row goes -------------------------------------------------------------------------------------------------


def test_a_missing_value_takes_the_branch_through_which_most_weight_passed():
    good, y = two_groups(400)
    X = good[:, None]
    tree = HoeffdingTree(**EAGER, leaf="majority")
    tree.partial_fit(X[:60], y[:60])
    assert tree.n_leaves == 2
    for side in (1, 0):  # a hundred rows to one side, then more to the other
        rows = X[y == side][:100] if side else np.repeat(X[y == side][:50], 6)[:, None]
        tree.partial_fit(rows, np.full(len(rows), side))
        assert tree.predict([[NAN]])[0] == side
        np.testing.assert_array_equal(tree.predict_proba([[NAN]]), tree.predict_proba(rows[:1]))


def test_an_unseen_value_takes_the_heaviest_branch_and_an_untaken_one_answers_as_its_parent():
    rng = np.random.default_rng(8)
    values = rng.choice([0, 1, 4], 300, p=[0.2, 0.5, 0.3])
    y = (values == 1).astype(int)
    y[:10] = np.arange(10) % 2
    tree = declared((1,), open=True, **EAGER, leaf="majority")
    rows = first_split(tree, values[:, None].astype(float), y)
    counts = np.bincount(y[:rows], minlength=2)
    assert structure(tree._pool) == (0, ("values", 5), (None,) * 5)
    for untaken in (2, 3):
        np.testing.assert_allclose(tree.predict_proba([[untaken]])[0], counts / rows)
    np.testing.assert_array_equal(tree.predict_proba([[5], [77], [NAN]]), tree.predict_proba([[1]] * 3))
    tree.learn_one([77.0], 0)  # and it learns there
    assert tree._pool.tally[int(tree._pool.nodes[0]["left"]) + 1, 0] == (values[:rows] == 1).sum() + 1


def test_an_unseen_value_differs_from_the_one_that_is_tested():
    X, y = mixed_stream(9, 600, (4,), classes=2, noise=0.0)
    tree = declared((4,), **EAGER, binary_splits=True, leaf="majority").partial_fit(X, y)
    twin = SlowHoeffdingTree([4], **EAGER, binary_splits=True, leaf="majority")
    for x, c in zip(X.tolist(), y.tolist(), strict=True):
        twin.learn(x, c)
    assert structure(tree._pool)[1][0] == "=="
    for v in (0.0, 3.0, 9.0, NAN):
        np.testing.assert_allclose(tree.predict_proba([[v]])[0], twin.proba([v]))


@pytest.mark.parametrize("huge", [1e151, -1e300])
def test_values_whose_square_would_overflow_are_missing_to_the_observers(huge):
    X, y = numeric_stream(10, 1200)
    there, gone = X.copy(), X.copy()
    there[::7, 1], gone[::7, 1] = huge, NAN
    a, b = HoeffdingTree(), HoeffdingTree()
    a.partial_fit(there[:100], y[:100])
    b.partial_fit(gone[:100], y[:100])
    assert a.n_leaves == b.n_leaves == 1
    np.testing.assert_array_equal(a._pool.stats, b._pool.stats)
    assert np.isfinite(a.partial_fit(there, y).predict_proba(there)).all()


def test_a_spread_too_small_for_a_density_is_none():
    tree = HoeffdingTree(leaf="bayes").partial_fit([[0.0], [1e-160], [5.0], [6.0]], [0, 0, 1, 1])
    proba = tree.predict_proba([[5e-161], [5.5]])
    assert proba[0, 0] > 0.99
    assert proba[1, 1] > 0.99


# -- what is the same -------------------------------------------------------------------------------------------------


def test_k_copies_are_one_row_of_weight_k():
    X, y = mixed_stream(11, 300, (None, 3, None), missing=0.1)
    k = np.random.default_rng(12).integers(1, 5, 300)
    never = {"grace_period": 1e9, "leaf": "bayes"}
    copies = declared((None, 3, None), **never).partial_fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    weighted = declared((None, 3, None), **never).partial_fit(X, y, sample_weight=k)
    np.testing.assert_allclose(weighted._pool.tally, copies._pool.tally, rtol=1e-12)
    np.testing.assert_allclose(weighted._pool.stats[0], copies._pool.stats[0], rtol=1e-9)


@pytest.mark.parametrize("criterion", ["gain", "gini"])
def test_permuted_columns_give_the_permuted_tree(criterion):
    X, y = numeric_stream(13, 3000, classes=3, noise=0.3)
    order = [3, 0, 4, 1, 2]
    plain, other = (HoeffdingTree(grace_period=100, delta=0.1, tau=0.2, criterion=criterion) for _ in range(2))
    np.testing.assert_allclose(
        other.test_then_train(np.ascontiguousarray(X[:, order]), y), plain.test_then_train(X, y), rtol=1e-9
    )

    def renamed(node):
        return node and (order[node[0]], node[1], tuple(renamed(b) for b in node[2]))

    assert plain.n_leaves > 5
    assert renamed(structure(other._pool)) == structure(plain._pool)


def test_rows_of_weight_zero_change_nothing_but_are_answered():
    X, y = numeric_stream(14, 800)
    w = (np.arange(800) % 3 > 0).astype(float)
    kept = HoeffdingTree(**EAGER)
    want = kept.test_then_train(X[w > 0], y[w > 0])
    tree = HoeffdingTree(**EAGER)
    got = tree.test_then_train(X, y, w)
    assert got.shape == (800, 2)
    np.testing.assert_array_equal(got[w > 0], want)
    assert all(np.array_equal(a, b) for a, b in zip(tree.state().values(), kept.state().values(), strict=True))


def test_inner_nodes_count_what_passes():
    X, y = numeric_stream(15, 2000)
    pool = HoeffdingTree(**EAGER).partial_fit(X, y)._pool
    assert pool.tally[0, 0] == 2000
    assert pool.tally[0, 1:].sum() < 2000  # the class weights are those of the split
    assert pool.nodes[0]["feature"] != p.LEAF
