"""Several trees in one pool: they do not disturb each other, and what one leaves behind the others use."""

import numpy as np
import pytest
from growing import leaves, mixed_stream, nodes_below, structure

from thalweg import Feature, Schema
from thalweg.jit.compile import compiled
from thalweg.jit.random import seeded
from thalweg.pool import pool_jit as p
from thalweg.pool.moving_jit import clear_tree
from thalweg.pool.pool import Pool
from thalweg.pool.pool_jit import has_room, learn, meet, vote, write_proba
from thalweg.pool.rules import Rules
from thalweg.pool.split_jit import attempt

KINDS = (None, 3, None, 5)
RULES = Rules(grace_period=20, delta=0.1, tau=0.3, subspace=3)


@compiled
def learn_all(tables, X, y, W, start):
    """Let every tree t learn row r with weight W[r, t]; a short answer (row × trees + tree) asks for room."""
    q = p.Trees(*tables)
    votes, logs = np.empty(q.tally.shape[1] - 1), np.empty(q.tally.shape[1] + 3 + q.watched.shape[1])
    trees = W.shape[1]
    for k in range(start, len(y) * trees):
        r, t = k // trees, k % trees
        if W[r, t] <= 0.0:
            continue
        if not has_room(q, 1, X, r, y[r]):
            return k
        meet(q, X, r)
        i, _ = p.find(q, t, X, r, W[r, t])
        if learn(q, t, i, X, r, y[r], W[r, t], False, logs, votes):
            attempt(q, t, 3, i)
    return len(y) * trees


@compiled
def answer_all(tables, X, t, out):
    """Write what tree t answers to each row."""
    q = p.Trees(*tables)
    votes, logs = np.empty(q.tally.shape[1] - 1), np.empty(q.tally.shape[1] + 3 + q.watched.shape[1])
    for r in range(len(X)):
        i, parent = p.find(q, t, X, r, 0.0)
        vote(q, i, parent, X, r, logs, votes)
        write_proba(votes, out.shape[1], out, r)


@compiled
def clear(tables, t):
    clear_tree(p.Trees(*tables), t)


SCHEMA = Schema(tuple(Feature(f"f{i}", values=None if k is None else tuple(range(k))) for i, k in enumerate(KINDS)))


def make(trees=3):
    return Pool(RULES, SCHEMA, trees=trees, rng=seeded(1, trees))


def teach(pool, X, y, W):
    done = learn_all(pool.bundle, X, y, W, 0)
    while done < W.size:
        pool.make_room(X[done // W.shape[1]], int(y[done // W.shape[1]]))
        done = learn_all(pool.bundle, X, y, W, done)


def answers(pool, X, t):
    out = np.zeros((len(X), 3))
    answer_all(pool.bundle, X, t, out)
    return out


@pytest.fixture
def grown():
    X, y = mixed_stream(1, 1500, KINDS, missing=0.05)
    W = np.random.default_rng(2).poisson(1.0, (1500, 3)).astype(float)
    pool = make()
    teach(pool, X, y, W)
    return pool, X, y, W


def slots(pool, t):
    return {int(pool.nodes[i]["left"]) for i in leaves(pool, t) if pool.nodes[i]["left"] >= 0}


def free_slots(pool):
    found, slot = [], int(pool.head[p.H_FREE_SLOT])
    while slot >= 0:
        found.append(slot)
        slot = int(pool.watched[slot, 0, 0])
    return found


def free_nodes(pool):
    found, i = [], int(pool.head[p.H_FREE])
    while i >= 0:
        found += [i, i + 1]
        i = int(pool.nodes[i]["left"])
    return found


def check_books(pool):
    """Every node and every slot belongs to one tree, to the free list, or is the odd one of a block."""
    nodes = [i for t in range(pool.trees) for i in nodes_below(pool, t)]
    used = [s for t in range(pool.trees) for s in slots(pool, t)]
    assert len(set(nodes)) == len(nodes)
    assert len(set(used)) == len(used)
    assert not set(nodes) & set(free_nodes(pool))
    assert sorted(used + free_slots(pool)) == list(range(int(pool.head[p.H_SLOTS])))
    odd = sum(p.arity(pool.nodes, i) % 2 for i in nodes if pool.nodes[i]["feature"] != p.LEAF)
    assert len(nodes) + odd + len(free_nodes(pool)) == pool.head[p.H_NODES]
    assert pool.live == (len(nodes) + odd, len(used))


def test_trees_in_a_pool_grow_as_they_would_alone(grown):
    pool, X, y, W = grown
    check_books(pool)
    seen = set()
    for t in range(3):
        alone = make(trees=1)
        alone.rng[0] = make().rng[t]
        teach(alone, X, y, np.ascontiguousarray(W[:, t : t + 1]))
        assert structure(alone) == structure(pool, t)
        assert np.array_equal(answers(alone, X, 0), answers(pool, X, t))
        assert len(leaves(pool, t)) > 5
        seen.add(structure(pool, t))
    assert len(seen) == 3


def test_clearing_a_tree_frees_all_it_had_and_leaves_the_others_alone(grown):
    pool, X, *_ = grown
    nodes, used = pool.live
    mine = len(nodes_below(pool, 1)) + sum(
        p.arity(pool.nodes, i) % 2 for i in nodes_below(pool, 1) if pool.nodes[i]["feature"] != p.LEAF
    )
    my_slots = len(slots(pool, 1))
    before = [answers(pool, X, t) for t in (0, 2)]
    clear(pool.bundle, 1)
    check_books(pool)
    assert pool.live == (nodes - mine + 1, used - my_slots)
    assert structure(pool, 1) is None
    assert not pool.tally[1].any()
    assert np.array_equal(answers(pool, X, 1), np.full((len(X), 3), 1 / 3))
    assert all(np.array_equal(a, answers(pool, X, t)) for a, t in zip(before, (0, 2), strict=True))


def test_freed_nodes_and_slots_are_used_again(grown):
    pool, X, y, W = grown
    for _ in range(4):  # tree 1 is replaced again and again, and grows as it did the first time
        clear(pool.bundle, 1)
        pool.rng[1] = make().rng[1]
        only = np.zeros_like(W)
        only[:, 1] = W[:, 1]
        teach(pool, X, y, only)
        check_books(pool)
    assert structure(pool, 1) == structure_of_second(X, y, W)
    assert len(pool.nodes) <= 2 * pool.live[0] + 16


def structure_of_second(X, y, W):
    alone = make(trees=1)
    alone.rng[0] = make().rng[1]
    teach(alone, X, y, np.ascontiguousarray(W[:, 1:2]))
    return structure(alone)


@pytest.mark.parametrize("cleared", [None, 0, 2])
def test_moving_house_changes_no_answer_and_no_future(grown, cleared):
    pool, X, y, W = grown
    if cleared is not None:
        clear(pool.bundle, cleared)
    stayed = Pool.adopt(RULES, {name: table.copy() for name, table in pool.tables().items()}, SCHEMA, 3, trees=3)
    before = [answers(pool, X, t) for t in range(3)]
    need_nodes, need_slots = pool.live
    pool._resize(need_nodes, need_slots)
    assert (pool.head[p.H_NODES], pool.head[p.H_SLOTS]) == (need_nodes, need_slots)
    check_books(pool)
    assert all(np.array_equal(answers(pool, X, t), before[t]) for t in range(3))
    for each in (pool, stayed):
        teach(each, X[::-1].copy(), y[::-1].copy(), W)
    for t in range(3):
        assert structure(pool, t) == structure(stayed, t)
        assert np.array_equal(answers(pool, X, t), answers(stayed, X, t))


def test_clearing_a_tree_without_features():
    pool = Pool(RULES, Schema(()), trees=2, rng=seeded(1, 2))
    X, y, W = np.zeros((5, 0)), np.array([0, 1, 0, 0, 1]), np.ones((5, 2))
    teach(pool, X, y, W)
    clear(pool.bundle, 0)
    check_books(pool)
    teach(pool, X, y, W)
    check_books(pool)
    np.testing.assert_allclose(answers(pool, X[:1], 0)[0], [0.6, 0.4, 0.0])
    np.testing.assert_allclose(answers(pool, X[:1], 1)[0], [0.6, 0.4, 0.0])
