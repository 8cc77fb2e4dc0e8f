"""The index of points: against measuring everything, whatever comes, goes and moves."""

import numpy as np
import pytest

from thalweg.learners.balls import ball_index_jit as o
from thalweg.learners.balls.ball_index import BallIndex
from thalweg.learners.balls.ball_index_update_jit import ASK, DELETE, INSERT, MOVE
from thalweg.learners.balls.tiles_jit import D_ABSOLUTE, D_GREATEST, D_SQUARES, D_UNEQUAL, LANES

METRICS = {"squares": D_SQUARES, "absolute": D_ABSOLUTE, "greatest": D_GREATEST, "unequal": D_UNEQUAL}


def operations(seed, n, d, *, room, warm, whole=False, near=False):
    """What happens: mostly insertions at first; then some of everything. near: moves are small, as those of balls."""
    rng = np.random.default_rng(seed)
    what, numbers, X = np.full(n, ASK), np.zeros(n, dtype=np.int64), rng.normal(size=(n, d))
    if whole:  # so that many distances are equal
        X = np.round(2 * X)
    free, there, at = list(range(room)), [], {}
    for e, u in enumerate(rng.random(n)):
        if (e < warm or u < 0.2) and free:
            number = free.pop(rng.integers(len(free)))
            there.append(number)
            what[e], numbers[e], at[number] = INSERT, number, X[e]
        elif u < 0.35 and len(there) > 1:
            i = rng.integers(len(there))
            there[i], there[-1] = there[-1], there[i]
            what[e], numbers[e] = DELETE, there.pop()
            free.append(int(numbers[e]))
        elif u < 0.55 and there:
            number = there[rng.integers(len(there))]
            if near:
                X[e] = at[number] + 0.01 * X[e]
            what[e], numbers[e], at[number] = MOVE, number, X[e]
    return what, numbers, X


def differ(what, numbers, X, metric, *, room, k=3, nominal=(), seed=0):
    """Run with and without a tree; give in how many queries the answers differ, and the index with the tree."""
    flags = np.zeros(X.shape[1], dtype=np.int64)
    flags[list(nominal)] = 1
    ids = np.random.default_rng(seed).permutation(room)
    one, two = (BallIndex(np.zeros((room, X.shape[1])), ids, flags, metric, n=0, tree=tree) for tree in (True, False))
    (a, far), (b, away) = one.run(what, numbers, X, k=k), two.run(what, numbers, X, k=k)
    return int(((a != b) | (far != away)).any(axis=1).sum()), one


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("d", [2, 5, 50])
@pytest.mark.parametrize("metric", METRICS)
def test_the_tree_finds_what_measuring_everything_finds(metric, d, whole):
    events = operations(d, 9_000, d, room=3_000, warm=2_500, whole=whole)
    nominal = (0,) if whole and metric != "unequal" else ()
    assert differ(*events, METRICS[metric], room=3_000, nominal=nominal)[0] == 0


def test_points_that_move_a_little_stay_in_the_tree():
    wrong, index = differ(*operations(1, 30_000, 3, room=6_000, warm=5_000, near=True), D_SQUARES, room=6_000)
    assert wrong == 0
    assert index.tables.head[o.I_ROOT] >= 0
    assert index.tables.head[o.I_TAKEN] < 12 * index.tables.head[o.I_ASKED]


def test_it_is_measured_against_numpy():
    rng = np.random.default_rng(2)
    P, ids = np.round(rng.normal(size=(2_000, 4)), 1), rng.permutation(2_000)
    index = BallIndex(P, ids, np.zeros(4, dtype=np.int64))
    assert index.tables.head[o.I_ROOT] >= 0
    for x in np.round(rng.normal(size=(200, 4)), 1):
        far = np.zeros(2_000)
        for f in range(4):
            far += (x[f] - P[:, f]) ** 2
        order = np.lexsort((ids, far))[:7]
        numbers, keys = index.nearest(x, k=7)
        np.testing.assert_array_equal(numbers, order)
        np.testing.assert_array_equal(keys, far[order])


def test_equal_points_and_points_on_a_line():
    for X in (np.ones((3_000, 3)), np.outer(np.arange(3_000.0), np.ones(3))):
        n = len(X)
        what = np.r_[np.full(n, INSERT), np.full(n, ASK), np.full(n - 1, DELETE), [ASK]]
        numbers = np.r_[np.arange(n), np.arange(n), np.arange(n - 1), [0]]
        rows = np.r_[X, X[::-1], X[1:], X[:1]]
        wrong, index = differ(what, numbers, rows, D_SQUARES, room=n)
        assert wrong == 0
        assert len(index) == 1


def test_it_takes_few_steps_among_many_points_and_gives_up_where_it_cannot():
    rng = np.random.default_rng(3)
    steps = []
    for n in (4_000, 64_000):
        index = BallIndex(rng.random((n, 2)), np.arange(n), np.zeros(2, dtype=np.int64))
        index.run(np.full(1000, ASK), np.zeros(1000, dtype=np.int64), rng.random((1000, 2)))
        steps.append(index.tables.head[o.I_TAKEN] / index.tables.head[o.I_ASKED])
    assert steps[1] < 2.0 * steps[0]
    wide = BallIndex(rng.random((4_000, 50)), np.arange(4_000), np.zeros(50, dtype=np.int64))
    assert wide.tables.head[o.I_ROOT] < 0
    assert wide.tables.head[o.I_TRY_AT] == 8_000


def test_every_point_is_in_one_place_and_in_its_boxes():
    events = operations(4, 20_000, 3, room=4_000, warm=3_500)
    _, index = differ(*events, D_SQUARES, room=4_000)
    tables = index.tables
    there = np.flatnonzero(tables.where >= 0)
    assert len(there) == len(index) == (tables.who >= 0).sum()
    tile, lane = np.divmod(tables.where[there], LANES)
    np.testing.assert_array_equal(tables.who[tile, lane], there)
    np.testing.assert_array_equal(tables.tiles[tile, :, lane], tables.points[there])
    for number, t in zip(there, tile, strict=True):
        node, place = tables.leaves[t, o.T_ABOVE], tables.leaves[t, o.T_PLACE]
        assert tables.kids[node, place] == t
        while node >= 0:
            low, high = tables.boxes[node, :, :, place]
            assert (low <= tables.points[number]).all()
            assert (tables.points[number] <= high).all()
            node, place = tables.nodes[node, o.N_PARENT], tables.nodes[node, o.N_PLACE]
