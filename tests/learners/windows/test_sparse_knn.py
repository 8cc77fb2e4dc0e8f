"""Nearest neighbours among sparse rows: the answers of the dense window to the bit, in bounded room."""

import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from compiler_off import printed_with_and_without
from thalweg import Text, load, load_dataset, prequential, save
from thalweg.learners.windows.knn import WindowKNN
from twins.knn import SlowWindowKNN

METRICS = ("euclidean", "manhattan", "hamming", "cosine")


def rows_of(seed, n, d, *, kind="whole", share=0.2):
    """Rows that hold little, features that come and go, rows without anything."""
    rng = np.random.default_rng(seed)
    often = 2 * share * rng.random(d)
    often[0] = 1.0  # a feature that nearly all rows have
    held = rng.random((n, d)) < often
    values = {
        "whole": lambda: rng.integers(-2, 4, (n, d)).astype(float),
        "real": lambda: rng.normal(size=(n, d)) * rng.choice([1.0, 1e3], d),
        "wild": lambda: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-150, 150, (n, d)),
    }[kind]()
    X = np.where(held, values, 0.0)
    X[rng.random(n) < 0.03] = 0.0
    X[n // 2 : n // 2 + n // 5, 1] = 0.0
    return X, rng.integers(0, 3, n)


def same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


@pytest.mark.parametrize("scale", ["window", "online", None])
@pytest.mark.parametrize("metric", METRICS)
def test_it_answers_as_the_dense_window_does(metric, scale):
    shapes = ((30, 160, 12, 0.3), (150, 400, 60, 0.1), (1, 30, 5, 0.5), (70, 200, 8, 0.9))
    for (ties, weights), kind, shape in product(
        (("all", "uniform"), ("k", "distance")), ("whole", "real", "wild"), shapes
    ):
        window, n, d, share = shape
        X, y = rows_of(1, n, d, kind=kind, share=share)
        w = np.random.default_rng(2).integers(0, 4, n) / 2
        options = {"k": 4, "window": window, "metric": metric, "scale": scale, "ties": ties, "weights": weights}
        dense, tight = WindowKNN(**options), WindowKNN(**options)
        expected = dense.test_then_train(X, y, w)
        got = tight.test_then_train(sparse.csr_array(X), y, w)
        assert "ring" not in tight.state()
        np.testing.assert_array_equal(got, expected, err_msg=f"{options} {kind}")
        few = X[: n // 2]
        np.testing.assert_array_equal(tight.predict_proba(sparse.csr_array(few)), dense.predict_proba(few))
        turned, expected_state = tight._as_dense().tables(), dense._dense.tables()
        del turned["ring"], expected_state["ring"]  # what lies in free slots does not matter
        same(turned, expected_state)


def test_it_does_what_its_slow_twin_does():
    X, y = rows_of(3, 120, 9, kind="real", share=0.4)
    for metric, scale in product(METRICS, ("window", None)):
        options = {"k": 3, "window": 25, "metric": metric, "scale": scale}
        slow = SlowWindowKNN((None,) * 9, **options)
        learner = WindowKNN(**options)
        got = learner.test_then_train(sparse.csr_array(X), y)
        place = [int(np.flatnonzero(learner.classes_ == c)[0]) for c in range(3)]
        for r in range(len(y)):
            if slow.classes == 3:
                np.testing.assert_allclose(got[r, place], slow.proba(X[r]), rtol=1e-9, err_msg=f"row {r}")
            slow.learn(X[r], y[r])


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_chunks_copies_and_files_change_nothing(precision, tmp_path):
    X, y = rows_of(4, 500, 40, kind="real")
    options = {"window": 90, "precision": precision}
    expected = WindowKNN(**options).test_then_train(X, y)
    whole = WindowKNN(**options)
    np.testing.assert_array_equal(whole.test_then_train(sparse.csr_array(X), y), expected)
    for size in (1, 7, 64):
        learner, parts = WindowKNN(**options), []
        for i in range(0, 500, size):
            if i // size == 20:
                save(learner, tmp_path / "model")
                learner = load(tmp_path / "model")
            parts.append(learner.test_then_train(sparse.csr_array(X[i : i + size]), y[i : i + size]))
        np.testing.assert_array_equal(parts[-1], expected[i:])
        same(learner.state(), whole.state())


def test_dense_rows_join_a_sparse_window():
    X, y = rows_of(5, 300, 20)
    expected = WindowKNN(window=60).test_then_train(X, y)
    learner = WindowKNN(window=60)
    learner.partial_fit(sparse.csr_array(X[:100]), y[:100])
    np.testing.assert_array_equal(learner.test_then_train(X[100:200], y[100:200]), expected[100:200])
    assert "ring" not in learner.state()
    np.testing.assert_array_equal(learner.test_then_train(sparse.coo_array(X[200:]), y[200:]), expected[200:])


def test_sparse_rows_join_a_dense_window(monkeypatch):
    monkeypatch.setattr("thalweg.learners.windows.dense_window._CELLS", 60)  # three rows at a time
    X, y = rows_of(6, 300, 20)
    dense = WindowKNN(window=60)
    expected = dense.test_then_train(X, y)
    learner = WindowKNN(window=60).partial_fit(X[:100], y[:100])
    np.testing.assert_array_equal(learner.test_then_train(sparse.csr_array(X[100:]), y[100:]), expected[100:])
    same(learner.state(), dense.state())
    np.testing.assert_array_equal(learner.predict_proba(sparse.csr_array(X[:50])), dense.predict_proba(X[:50]))


@pytest.mark.parametrize("scale", ["window", "online", None])
def test_with_a_missing_value_it_becomes_dense(scale):
    X, y = rows_of(7, 200, 20)
    X[150, 3] = np.nan
    dense = WindowKNN(window=60, scale=scale)
    expected = dense.test_then_train(X, y)
    for size in (1, 50):
        learner = WindowKNN(window=60, scale=scale).partial_fit(sparse.csr_array(X[:100]), y[:100])
        before = learner.state()
        learner.predict_proba(X[150:151])
        same(before, learner.state())  # to predict such a row changes nothing
        got = [learner.test_then_train(X[i : i + size], y[i : i + size]) for i in range(100, 200, size)]
        np.testing.assert_array_equal(np.concatenate(got), expected[100:])
        after = learner.state()
        for name, table in dense.state().items():
            if name != "ring":
                np.testing.assert_array_equal(after[name], table, err_msg=name)


def test_a_row_that_lacks_values_is_only_predicted():
    X, y = rows_of(8, 120, 20)
    X[110, 3] = np.nan
    w = np.ones(120)
    w[110] = 0.0
    dense = WindowKNN(window=60)
    expected = dense.test_then_train(X, y, w)
    learner = WindowKNN(window=60).partial_fit(sparse.csr_array(X[:100]), y[:100])
    np.testing.assert_array_equal(learner.test_then_train(X[100:], y[100:], w[100:]), expected[100:])
    assert "ring" not in learner.state()
    np.testing.assert_array_equal(learner.predict_proba(X[:50]), dense.predict_proba(X[:50]))


def test_neighbours_are_the_same():
    X, y = rows_of(9, 200, 20, kind="real")
    dense, tight = WindowKNN(window=60).partial_fit(X, y), WindowKNN(window=60).partial_fit(sparse.csr_array(X), y)
    lacking = X[0].copy()
    lacking[2] = np.nan
    for x in (X[0], X[77], np.zeros(20), lacking):
        for a, b in zip(dense.neighbours(x), tight.neighbours(x), strict=True):
            assert a[:3] == b[:3]
            np.testing.assert_array_equal(a.row, b.row)
    for a, b in zip(dense.neighbours(X[5]), tight.neighbours(sparse.csr_array(X[5:6])), strict=True):
        assert a[:3] == b[:3]


def test_room_goes_by_what_the_window_holds():
    rng = np.random.default_rng(10)
    learner = WindowKNN(window=50)
    most = 0
    for _ in range(100):
        long = int(rng.integers(0, 400))
        X = sparse.random_array((20, 5000), density=long / 5000, rng=rng, format="csr")
        learner.partial_fit(X, rng.integers(0, 2, 20))
        most = max(most, 50 * long)
        assert len(learner._sparse._t.columns) <= max(1024, 3 * most)
        assert learner.state_bytes < 5000 * 100 + 40 * max(1024, 3 * most) + 100_000
    assert learner.n_rows == 50


def test_rows_that_may_matter_are_few():
    """The rough distances do their work: most rows are not measured exactly."""
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return
    code = """
import numpy as np
from scipy import sparse
from thalweg import Text
from thalweg.learners.windows import sparse_jit as jit
from thalweg.learners.windows.knn import WindowKNN
count = [0]
real = jit.exact
def exact(*args):
    count[0] += 1
    return real(*args)
jit.exact = exact
chunk = Text(words=300, sparse=True).take(400)
learner = WindowKNN(window=300)
learner.partial_fit(chunk.X[:370], chunk.y[:370])
learner.predict_proba(chunk.X[370:])
print(count[0] / 30)
"""
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert 5 < float(done.stdout) < 100  # of 300


def test_the_same_without_compilation():
    code = """
import numpy as np
from thalweg import Text
from thalweg.learners.windows.knn import WindowKNN
chunk = Text(words=60, sparse=True).take(200)
for metric in ("euclidean", "cosine"):
    P = WindowKNN(window=80, metric=metric).test_then_train(chunk.X, chunk.y)
    print(" ".join(float(v).hex() for v in P.ravel()))
"""
    assert printed_with_and_without(code, "-W", "ignore")


def test_evaluations_with_late_labels_and_interruptions(tmp_path):
    results = {}
    for kind in (True, False):
        for delay in (0, 37):
            stream = Text(words=80, sparse=kind)
            results[kind, delay] = prequential(stream, WindowKNN(window=100), limit=900, delay=delay)
    for delay in (0, 37):
        assert results[True, delay].final == results[False, delay].final
    file = tmp_path / "run"
    prequential(Text(words=80, sparse=True), WindowKNN(window=100), limit=500, delay=37, checkpoint=file)
    rest = prequential(
        Text(words=80, sparse=True), WindowKNN(window=100), limit=900, delay=37, checkpoint=file, resume=True
    )
    assert rest.final == results[True, 37].final
    assert rest.labels_pending == 37


def test_scikit_learn_hands_it_sparse_rows():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    for name in ("tag", "array", "matrix"):
        getattr(checks, f"check_estimator_sparse_{name}")("WindowKNN", WindowKNN())


BAD = {
    "head": lambda t: t | {"head": np.array([0, 70, 0])},
    "starts": lambda t: t | {"starts": t["starts"][::-1].copy()},
    "columns": lambda t: t | {"columns": t["columns"] + 20},
    "columns in disorder": lambda t: t | {"columns": t["columns"][::-1].copy()},
    "values": lambda t: t | {"values": np.where(np.arange(len(t["values"])) == 3, np.nan, t["values"])},
    "codes": lambda t: t | {"codes": t["codes"] - 9},
    "voices": lambda t: t | {"voices": -t["voices"]},
    "types": lambda t: t | {"columns": t["columns"].astype(np.int32)},
    "a table less": lambda t: {name: table for name, table in t.items() if name != "values"},
}


@pytest.mark.parametrize("what", BAD)
def test_damaged_states_are_refused(what):
    X, y = rows_of(11, 100, 20)
    learner = WindowKNN(window=60).partial_fit(sparse.csr_array(X), y)
    before = learner.state()
    with pytest.raises(ValueError, match=r"state must be what WindowKNN\.state\(\) gave"):
        learner.restore(BAD[what](learner.state()))
    same(before, learner.state())


def test_spam_as_published(real_data):
    """Table 4 of the compressed-kNN paper: kNN, w = 1000, on 39,916 words: 81.17 % for k = 5, 77.32 % for k = 11."""
    for k, accuracy in ((5, 81.17), (11, 77.32)):
        chunk = load_dataset("spam").take(9_324)
        learner = WindowKNN(k=k)
        guesses = learner.test_then_train(chunk.X, chunk.y).argmax(axis=1)
        assert round(100 * float((learner.classes_[guesses] == chunk.y).mean()), 2) == accuracy
        assert learner.state_bytes < 20e6
