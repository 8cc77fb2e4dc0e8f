"""The memory limit: never above it, still learning, leaves that sleep and wake, the same bits at any chunk size."""

import numpy as np
import pytest
from growing import mixed_stream, tree_stream

from thalweg import HoeffdingTree
from thalweg.pool import pool_jit as p

HUNGRY = {"grace_period": 30, "delta": 0.05, "tau": 0.2}


def chunks(n, size):
    return [slice(start, start + size) for start in range(0, n, size)]


def leaf_states(pool, i=0, path=()):
    """Path from the root → slot, FRESH or IDLE, of every leaf."""
    if pool.nodes[i]["feature"] == p.LEAF:
        return {path: int(pool.nodes[i]["left"])}
    first, found = int(pool.nodes[i]["left"]), {}
    for b in range(int(p.arity(pool.nodes, i))):
        found |= leaf_states(pool, first + b, (*path, b))
    return found


@pytest.mark.parametrize("limit", [60_000, 200_000])
@pytest.mark.parametrize("leaf", ["adaptive", "majority"])
def test_the_state_stays_below_the_limit_and_the_tree_learns(limit, leaf):
    X, y = tree_stream(1, 12_000)
    tree, free = (
        HoeffdingTree(**HUNGRY, leaf=leaf, limit_bytes=limit),
        HoeffdingTree(**HUNGRY, leaf=leaf, limit_bytes=None),
    )
    right = 0
    for rows in chunks(len(y), 100):
        right += (tree.test_then_train(X[rows], y[rows]).argmax(axis=1) == y[rows]).sum()
        assert tree.state_bytes <= limit
        assert tree._pool.live <= (len(tree._pool.nodes), len(tree._pool.stats))
    assert free.partial_fit(X, y).state_bytes > limit  # it is a real limit
    assert tree.state_bytes > limit / 2  # and is made use of
    majority = np.bincount(y).max() / len(y)
    assert right / len(y) > majority + 0.05


def test_leaves_sleep_and_wake_again():
    X, y = tree_stream(2, 12_000)
    tree = HoeffdingTree(**HUNGRY, limit_bytes=60_000)
    slept, woken = set(), set()
    for rows in chunks(len(y), 50):
        now = leaf_states(tree.partial_fit(X[rows], y[rows])._pool)
        woken |= {path for path in slept if now.get(path, p.IDLE) != p.IDLE}
        slept |= {path for path, left in now.items() if left == p.IDLE}
    assert len(slept) > 10
    assert len(woken) > 3


def test_the_most_promising_leaves_stay_awake():
    X, y = tree_stream(3, 8000)
    pool = HoeffdingTree(**HUNGRY, limit_bytes=None).partial_fit(X, y)._pool
    pool._ration(5)
    promise = {}
    for i in range(int(pool.head[p.H_NODES])):
        if pool.nodes[i]["feature"] == p.LEAF:
            promise[i] = pool.tally[i, 0] - pool.tally[i, 1:].max()
    awake = {i for i in promise if pool.nodes[i]["left"] != p.IDLE}
    assert awake == set(sorted(promise, key=promise.get)[-5:])


def test_a_sleeping_leaf_counts_but_does_not_observe():
    X, y = tree_stream(3, 8000)
    tree = HoeffdingTree(**HUNGRY, leaf="bayes").partial_fit(X, y)
    tree._pool._ration(0)
    leaves, weight = tree.n_leaves, tree._pool.tally[:, 1:].sum()
    tree._pool.head[p.H_FROZEN] = 0
    for r in range(200):
        tree.learn_one(X[r], int(y[r]))
    assert tree._pool.tally[:, 1:].sum() == pytest.approx(weight + 200)
    assert tree.n_leaves == leaves
    assert tree._pool.live[1] == 0


def test_stop_freezes_the_tree():
    X, y = tree_stream(4, 10_000)
    tree = HoeffdingTree(**HUNGRY, limit_bytes=60_000, on_limit="stop")
    grown = []
    for rows in chunks(len(y), 100):
        grown.append(tree.partial_fit(X[rows], y[rows]).n_leaves)
        assert tree.state_bytes <= 60_000
    assert tree._pool.head[p.H_FROZEN] == 1
    assert grown[-1] == grown[len(grown) // 2] > 5
    weights = tree._pool.tally[0, 0]
    assert weights == 10_000  # it goes on counting


@pytest.mark.parametrize("on_limit", ["sleep", "stop"])
@pytest.mark.parametrize("limit", [30_000, 60_000])
def test_any_chunk_size_gives_the_same_bits(limit, on_limit):
    X, y = tree_stream(5, 4000, classes=4)
    y = np.minimum(y, np.arange(len(y)) // 900)
    runs = []
    for size in (1, 7, 1000):
        tree = HoeffdingTree(**HUNGRY, limit_bytes=limit, on_limit=on_limit, subspace=4)
        out = [tree.test_then_train(X[rows], y[rows]) for rows in chunks(len(y), size)]
        wide = np.zeros((len(y), len(tree.classes_)))
        for rows, proba in zip(chunks(len(y), size), out, strict=True):
            wide[rows, : proba.shape[1]] = proba
        runs.append([wide, *tree.state().values()])
    assert tree.n_leaves > 5
    for other in runs[1:]:
        assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(runs[0], other, strict=True))


def test_any_chunk_size_gives_the_same_bits_with_open_nominal_values():
    pd = pytest.importorskip("pandas")
    X, y = mixed_stream(6, 3000, (10, 6, None), classes=2)
    frame = pd.DataFrame({"a": [f"a{v:.0f}" for v in X[:, 0]], "b": [f"b{v:.0f}" for v in X[:, 1]], "c": X[:, 2]})
    states = []
    for size in (50, 1000):
        tree = HoeffdingTree(**HUNGRY, limit_bytes=30_000)
        for rows in chunks(len(y), size):
            tree.partial_fit(frame[rows], y[rows])
            assert tree.state_bytes <= 30_000
        states.append(tree.state())
    assert tree.n_leaves > 10
    for name, table in states[0].items():
        assert np.array_equal(table, states[1][name], equal_nan=table.dtype.kind == "f"), name


def test_the_limit_holds_while_classes_grow_to_forty():
    X, y = tree_stream(7, 8000, d=6, noise=0.3)
    tree = HoeffdingTree(**HUNGRY, limit_bytes=60_000).partial_fit(X[:6000], y[:6000])
    leaves = tree.n_leaves
    for c in range(2, 40):
        tree.partial_fit(X[c : c + 5], np.full(5, c))
        assert tree.state_bytes <= 60_000, c
    assert len(tree.classes_) == 40
    assert 1 < tree.n_leaves <= leaves
    majority = np.bincount(y[6000:]).max() / 2000
    assert (tree.test_then_train(X[6000:], y[6000:]).argmax(axis=1) == y[6000:]).mean() > majority
    assert tree.state_bytes <= 60_000


def test_when_one_leaf_alone_outgrows_the_limit_the_tree_goes_on_counting():
    X, y = tree_stream(10, 6000, classes=60, noise=0.2)
    y = np.minimum(y, np.arange(6000) // 100)
    tree = HoeffdingTree(**HUNGRY, limit_bytes=8000)
    for rows in chunks(6000, 100):
        assert tree.partial_fit(X[rows], y[rows]).state_bytes <= 8000
    assert len(tree.classes_) > 50
    assert tree._pool.tally[0, 0] == 6000
    proba = tree.predict_proba(X[:50])
    assert np.isfinite(proba).all()
    assert proba.sum(axis=1) == pytest.approx(1.0)


def test_the_limit_holds_while_nominal_values_and_features_grow():
    rng = np.random.default_rng(8)
    tree = HoeffdingTree(**HUNGRY, limit_bytes=40_000)
    for r in range(3000):
        x = {f"n{k}": float(rng.normal()) for k in range(2 + r // 500)}
        x["word"] = f"w{rng.integers(0, 2 + r // 100)}"
        tree.learn_one(x, "up" if x["n0"] + x["n1"] > 0 else "down")
        assert tree.state_bytes <= 40_000, r
    assert tree.schema.n_features == 8
    assert tree.n_leaves > 2


@pytest.mark.parametrize(("d", "limit"), [(8, 1024), (2000, 60_000)])
def test_a_limit_too_small_for_one_leaf_is_refused_with_a_sentence(d, limit):
    X, y = tree_stream(9, 500, d=d)
    tree = HoeffdingTree(limit_bytes=limit)
    with pytest.raises(ValueError, match=f"limit_bytes must be at least [0-9]+ .* got {limit}") as error:
        tree.partial_fit(X, y)
    with pytest.raises(ValueError, match="limit_bytes"):
        tree.learn_one(X[0], int(y[0]))
    assert len(tree.classes_) == 0
    assert tree.schema is None
    least = int(str(error.value).split("at least ")[1].split()[0])
    tree = HoeffdingTree(**HUNGRY, limit_bytes=least).partial_fit(X, y)
    assert tree.state_bytes <= least
    assert tree._pool.live[1] == 1  # what the sentence asks for is enough to observe


@pytest.mark.parametrize(("d", "limit"), [(3, 4096), (300, 95_000)])
def test_a_limit_that_just_holds_one_leaf(d, limit):
    X, y = tree_stream(9, 2000, d=d)
    tree = HoeffdingTree(**HUNGRY, limit_bytes=limit)
    for rows in chunks(2000, 100):
        assert tree.partial_fit(X[rows], y[rows]).state_bytes <= limit
    assert tree._pool.live[1] >= 1
