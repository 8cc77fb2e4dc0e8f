"""One row at a time has compiled routines of its own: the same bits as chunks, whatever happens in between."""

import threading

import numpy as np
import pytest

from thalweg import (
    AdaptiveRandomForest,
    CompressedBagging,
    HoeffdingTree,
    LeveragingBagging,
    OnlineSmoothBoost,
    StreamingDeepForest,
)

D, CLASSES, ROWS = 5, 4, 900


def clouds(seed=1, features=D, rows=ROWS, classes=CLASSES):
    draw = np.random.default_rng(seed)
    y = draw.integers(0, classes, rows)
    y[: rows // 3] %= 2  # two classes join late
    X = draw.random((classes, features))[y] + draw.normal(0.0, 0.1, (rows, features))
    X[draw.random(X.shape) < 0.02] = np.nan
    X[rows // 2 :] += 0.3 * y[rows // 2 :, None]
    return X, y


LEARNERS = {
    "tree": lambda: HoeffdingTree(grace_period=50),
    "small tree": lambda: HoeffdingTree(grace_period=50, limit_bytes=20_000),
    "arf": lambda: AdaptiveRandomForest(size=11, grace_period=20),
    "small arf": lambda: AdaptiveRandomForest(size=4, grace_period=20, limit_bytes=100_000),
    "threads": lambda: AdaptiveRandomForest(size=11, grace_period=20, n_jobs=2),
    "codes": lambda: LeveragingBagging(size=5, codes=True),
    "boost": lambda: OnlineSmoothBoost(size=5, weights="exp"),
    "sdf": lambda: StreamingDeepForest(layers=2, size=3),
    "sdf of the paper": lambda: StreamingDeepForest(layers=2, size=2, preset="paper"),
    "sdf that grows": lambda: StreamingDeepForest(layers=1, size=3, max_layers=3),
    "csb": lambda: CompressedBagging(size=3, p=20, window=300),
    "csb by distance": lambda: CompressedBagging(size=3, p=18, window=200, metric="manhattan", weights="distance"),
    "csb, few": lambda: CompressedBagging(size=2, p=17, window=100, ties="k", draws="vote", projection="hash"),
    "csb, cosine": lambda: CompressedBagging(size=2, p=16, window=100, metric="cosine", drift=None),
    "csb, single": lambda: CompressedBagging(size=2, p=16, window=100, precision="float32"),
}


def same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


@pytest.mark.parametrize("name", LEARNERS)
def test_one_row_at_a_time_gives_the_bits_of_a_chunk(name):
    X, y = clouds()
    rows, chunk = LEARNERS[name](), LEARNERS[name]()
    expected = chunk.test_then_train(X, y)
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        if i == 400:  # a chunk in between moves tables
            got = rows.test_then_train(X[400:500], y[400:500])
            np.testing.assert_array_equal(got, expected[400:500, : got.shape[1]])
        if 400 <= i < 500:
            continue
        if i == 600:  # another learner goes on from there
            rows = rows.copy()
        got = list(rows.predict_proba_one(x).values())
        np.testing.assert_array_equal(got, expected[i, : len(got)], err_msg=str(i))
        rows.learn_one(x, label)
    same(rows.state(), chunk.state())


@pytest.mark.parametrize("name", ["tree", "arf", "sdf", "csb"])
def test_threads_that_predict_at_once_do_not_meet(name):
    X, y = clouds()
    learner = LEARNERS[name]().partial_fit(X, y)
    expected, found = learner.predict_proba(X), {}

    def ask(t):
        found[t] = [list(learner.predict_proba_one(x).values()) for x in X[t::4]]

    threads = [threading.Thread(target=ask, args=(t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for t in range(4):
        np.testing.assert_array_equal(found[t], expected[t::4])


def test_a_field_that_joins_is_seen_by_one_row():
    X, y = clouds(rows=300)
    X = np.nan_to_num(X)
    for make in (LEARNERS["tree"], LEARNERS["arf"], LEARNERS["sdf"], LEARNERS["csb"]):
        one, other = make(), make()
        for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
            record = {f"x{f}": v for f, v in enumerate(x[: 3 if i < 200 else D])}
            one.learn_one(record, label)
            other.partial_fit([record], [label])
        same(one.state(), other.state())


def test_a_row_of_many_near_duplicates_votes_with_all_ties():
    X = np.repeat(np.random.default_rng(1).random((20, 3)), 30, axis=0)
    y = np.arange(len(X)) % 3
    learner = CompressedBagging(size=3, p=24, window=500).partial_fit(X, y)
    expected = learner.predict_proba(X[:40])
    np.testing.assert_array_equal([list(learner.predict_proba_one(x).values()) for x in X[:40]], expected)
