"""Leaves that watch a few attributes drawn at random."""

import numpy as np
import pytest
from growing import declared, follow, leaves, mixed_stream, numeric_stream, structure

from thalweg import HoeffdingTree
from thalweg.jit.random import choose, seeded
from twins.hoeffding import SlowHoeffdingTree

EAGER = {"grace_period": 20, "delta": 0.1, "tau": 0.3}


def drawn_from(seed):
    """Draw as the tree with this seed does."""
    rng = seeded(seed, 1)

    def draw(d, m):
        chosen = np.empty(m, dtype=np.int64)
        choose(rng, 0, d, chosen)
        return chosen.tolist()

    return draw


def watched(pool):
    """The attributes that each leaf with a slot watches."""
    slots = [int(pool.nodes[i]["left"]) for i in leaves(pool)]
    return [pool.watched[slot, :, 0].tolist() for slot in slots if slot >= 0]


@pytest.mark.parametrize("m", [1, 2, 4])
def test_each_leaf_watches_m_distinct_attributes(m):
    X, y = numeric_stream(1, 3000, d=6, noise=0.2)
    sets = watched(HoeffdingTree(**EAGER, subspace=m).partial_fit(X, y)._pool)
    assert len(sets) > 5
    for features in sets:
        assert len(set(features)) == m
        assert all(0 <= f < 6 for f in features)
    assert len({tuple(sorted(features)) for features in sets}) > 2


@pytest.mark.parametrize("m", [6, 9, None])
def test_as_many_as_there_are_means_all(m):
    X, y = numeric_stream(1, 1000, d=6)
    tree = HoeffdingTree(**EAGER, subspace=m).partial_fit(X, y)
    assert all(features == list(range(6)) for features in watched(tree._pool))
    assert structure(tree._pool) == structure(HoeffdingTree(**EAGER, seed=9).partial_fit(X, y)._pool)


def test_the_seed_decides():
    X, y = numeric_stream(2, 2000, d=8)
    trees = [HoeffdingTree(**EAGER, subspace=3, seed=seed) for seed in (1, 1, 2)]
    first, same, other = (tree.test_then_train(X, y) for tree in trees)
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert structure(trees[0]._pool) != structure(trees[2]._pool)


@pytest.mark.parametrize(("criterion", "null_merit"), [("gain", "moa"), ("gain", "zero"), ("gini", "moa")])
@pytest.mark.parametrize("m", [1, 3])
def test_the_slow_twin_with_the_same_draws(m, criterion, null_merit):
    kinds = (None, 3, None, 5, 2, None)
    X, y = mixed_stream(3, 1500, kinds, missing=0.1)
    options = EAGER | {"subspace": m, "criterion": criterion, "null_merit": null_merit}
    tree = declared(kinds, **options, seed=7)
    assert follow(tree, SlowHoeffdingTree(kinds, **options, choose=drawn_from(7)), X, y) > 3


def test_a_leaf_that_finds_nothing_to_split_on_looks_elsewhere():
    X, y = numeric_stream(4, 3000, d=2)
    X = np.column_stack([np.zeros((3000, 18)), X])  # eighteen constants: most draws are dead
    options = EAGER | {"subspace": 2}
    tree = HoeffdingTree(**options, seed=5)
    twin = SlowHoeffdingTree([None] * 20, **options, choose=drawn_from(5))
    assert follow(tree, twin, X, y) > 3
    assert {f for _, f, _ in twin.splits} == {18, 19}


def test_a_leaf_keeps_its_draw_while_it_has_a_candidate():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(2000, 6)), rng.integers(0, 2, 2000)  # nothing to learn: not splitting is best
    X[rng.random(X.shape) < 0.3] = np.nan
    for criterion in ("gain", "gini"):
        tree = HoeffdingTree(grace_period=20, delta=1e-9, tau=0.0, subspace=2, criterion=criterion, null_merit="zero")
        draws = [
            tree.partial_fit(X[r : r + 20], y[r : r + 20])._pool.watched[0, :, 0].tolist() for r in range(0, 2000, 20)
        ]
        assert tree.n_leaves == 1
        assert all(draw == draws[0] for draw in draws)
