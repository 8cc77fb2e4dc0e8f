"""Nearest neighbours in a window: against a slow twin, against published accuracies, and in trouble."""

from itertools import product

import numpy as np
import pytest

from compiler_off import printed_with_and_without
from rows_to_try import accuracy, in_order, same, schema_of
from thalweg import Schema, checks, load_dataset
from thalweg.learners.windows import dense_window, sieve_jit
from thalweg.learners.windows.knn import WindowKNN
from twins.knn import SlowWindowKNN

METRICS = ("euclidean", "manhattan", "hamming", "cosine")
MIXED = (None, 3, None, None, 5, None, None, None, None)
"""Numbers, and how many values the nominal features have."""
NUMBERS = (None,) * 9


def rows_of(seed, n, kinds=MIXED, *, missing=0.0, whole=False):
    """Rows of three classes that appear one after the other; one feature never changes, and a trend runs in another."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(3, 5, n) if k is None else rng.integers(0, k, n) for k in kinds]).astype(float)
    if whole:  # so that many distances are equal
        X = np.clip(np.round(X), 0, 3)
    X[:, 2] = 7.0
    X[:, 3] += np.arange(n) * 0.5
    y = np.minimum((X[:, 0] > 3).astype(int) + (X[:, 1] > 0), np.arange(n) // 40)
    X[rng.random(X.shape) < missing] = np.nan
    return X, in_order(y)


# -- the slow twin ----------------------------------------------------------------------------------------------------

DATA = {
    "numbers": {"kinds": NUMBERS},
    "ties": {"kinds": NUMBERS, "whole": True},
    "mixed": {"kinds": MIXED, "missing": 0.15},
    "mixed ties": {"kinds": MIXED, "missing": 0.15, "whole": True},
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("scale", ["window", "online", None])
@pytest.mark.parametrize("metric", METRICS)
def test_it_does_what_its_slow_twin_does(metric, scale, data):
    kinds = DATA[data]["kinds"]
    X, y = rows_of(1, 100, **DATA[data])
    w = np.random.default_rng(2).integers(0, 4, len(y)) / 2
    for ties, weights in product(("all", "k"), ("uniform", "distance")):
        options = {"k": 4, "window": 29, "metric": metric, "scale": scale, "ties": ties, "weights": weights}
        fast = WindowKNN(**options).declare(schema_of(kinds))
        slow = SlowWindowKNN(kinds, **options)
        got = fast.test_then_train(X, y, w)
        for r in range(len(y)):
            if slow.classes:
                np.testing.assert_allclose(got[r, : slow.classes], slow.proba(X[r]), rtol=1e-9, err_msg=f"row {r}")
            assert not got[r, slow.classes :].any()
            slow.learn(X[r], y[r], w[r])


@pytest.mark.parametrize("metric", METRICS)
def test_the_neighbours_are_those_of_the_twin(metric):
    X, y = rows_of(3, 100, missing=0.1, whole=True)
    names = np.array(["red", "green", "blue"])
    for n, ties in ((20, "all"), (37, "k"), (60, "all"), (90, "k")):
        options = {"k": 6, "window": 37, "metric": metric, "ties": ties}
        fast = WindowKNN(**options).declare(schema_of(MIXED)).partial_fit(X[:n], names[y[:n]])
        slow = SlowWindowKNN(MIXED, **options)
        for r in range(n):
            slow.learn(X[r], y[r])
        for x in X[n:]:
            found = fast.neighbours(x)
            places, far = slow.nearest(x)
            held = min(n, 37)
            assert [neighbour.age for neighbour in found] == [held - i for i in places]
            assert [neighbour.label for neighbour in found] == [names[slow.labels[i]] for i in places]
            np.testing.assert_allclose([neighbour.distance for neighbour in found], far, rtol=1e-12)
            for neighbour, i in zip(found, places, strict=True):
                np.testing.assert_array_equal(neighbour.row, slow.rows[i])


def test_single_precision_is_exact_on_the_rounded_rows():
    X, y = rows_of(4, 300, NUMBERS)
    X = X.astype(np.float32).astype(np.float64)
    half, full = WindowKNN(window=100, precision="float32"), WindowKNN(window=100)
    assert half.test_then_train(X, y).tobytes() == full.test_then_train(X, y).tobytes()
    assert half.state_bytes < 0.7 * full.state_bytes
    rounded = half.copy().predict_proba(X + 1e-9)
    assert rounded.tobytes() == half.predict_proba((X + 1e-9).astype(np.float32).astype(np.float64)).tobytes()


# -- the sieve --------------------------------------------------------------------------------------------------------


def wide_rows(name, n, d):
    """Rows that are easy or hard for rough distances."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(n, d))
    if name == "words":  # many distances are equal, many features constant
        X = (rng.random((n, d)) < rng.random(d) ** 6).astype(float)
    elif name == "far away":
        X = 1e6 + X * 1e-3
    elif name == "outliers":
        X *= 10.0 ** (rng.integers(0, 12, (n, d)) * (rng.random((n, d)) < 0.001))
    elif name == "trend":
        X += np.arange(n)[:, None]
    elif name == "tiny":
        X *= 1e-30
    elif name == "huge":
        X *= 1e300
    elif name == "holes":
        X[n // 3 : n // 2][rng.random((n // 2 - n // 3, d)) < 0.01] = np.nan
    elif name == "copies":
        X = X[rng.integers(0, n // 20, n)]
    elif name == "clusters":
        X = X * 0.01 + rng.normal(size=(20, d))[rng.integers(0, 20, n)]
    elif name == "few stray":  # most queries are easy, some are not
        X = X * np.where(rng.random((n, 1)) < 0.1, 2.0, 0.01) + rng.normal(size=(20, d))[rng.integers(0, 20, n)]
    return X, rng.integers(0, 3, n)


@pytest.mark.parametrize(
    "name",
    ["plain", "words", "far away", "outliers", "trend", "tiny", "huge", "holes", "copies", "clusters", "few stray"],
)
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_the_sieve_changes_no_bit(name, precision, monkeypatch):
    X, y = wide_rows(name, 1100, 67)
    made = []
    real = dense_window.DenseWindow._sieve
    monkeypatch.setattr(
        dense_window.DenseWindow, "_sieve", lambda *args, **kw: made.append(real(*args, **kw)) or made[-1]
    )
    for scale, ties in product(("window", None), ("all", "k")):
        learners = [WindowKNN(window=530, scale=scale, ties=ties, precision=precision, k=7) for _ in range(2)]
        answers = []
        for learner, wide in zip(learners, (10**9, 1), strict=True):
            monkeypatch.setattr(dense_window, "_WIDE", wide)
            first = learner.test_then_train(X[:600], y[:600])
            answers.append([*first, *learner.test_then_train(X[600:], y[600:]), *learner.predict_proba(X)])
            assert bool(len(made[-1].shadow)) == (wide == 1)
        np.testing.assert_array_equal(answers[0], answers[1])
        same(learners[0].state(), learners[1].state())
        if name in ("plain", "words", "copies", "clusters", "few stray"):
            for sieve in made[-2:]:  # it was used, and never paused
                assert (sieve.by >= 0).all()
                assert sieve.status[:2].tolist() == [0, sieve_jit.PAUSES[0]]
        if name == "clusters":  # nor was the coarse one
            assert made[-2].status[2:].tolist() == [0, sieve_jit.PAUSES[0]]


# -- rules ------------------------------------------------------------------------------------------------------------


def test_ties_let_all_or_the_oldest_vote():
    X, y = [[0.0], [2.0], [2.0], [9.0]], ["a", "b", "c", "c"]
    everyone = WindowKNN(k=2, scale=None).partial_fit(X, y)
    exactly = WindowKNN(k=2, scale=None, ties="k").partial_fit(X, y)
    assert everyone.predict_proba([[1.0]]).round(9).tolist() == [[0.333333333] * 3]
    assert exactly.predict_proba([[1.0]]).tolist() == [[0.5, 0.5, 0.0]]
    assert [n.age for n in exactly.neighbours([1.0])] == [4, 3]


def test_scale_and_shift_do_not_matter_where_features_are_scaled():
    X, y = rows_of(5, 400, NUMBERS)
    wanted = WindowKNN(window=80).test_then_train(X, y)
    assert WindowKNN(window=80).test_then_train(X * 1024 + 2.0**20, y).shape == wanted.shape
    np.testing.assert_array_equal(WindowKNN(window=80).test_then_train(X * 1024, y), wanted)
    assert (WindowKNN(window=80, scale=None).test_then_train(X * [1024] + [1] * 9, y) != wanted).any()


def test_a_query_outside_the_range_is_not_clipped_and_constants_do_not_count():
    learner = WindowKNN(k=1).partial_fit([[0.0, 5.0], [10.0, 5.0]], ["a", "b"])
    (nearest,) = learner.neighbours([30.0, 1e9])
    assert (nearest.label, nearest.distance, nearest.age) == ("b", 2.0, 1)


def test_weights_of_rows_are_votes_and_nothing_is_kept_of_zero():
    learner = WindowKNN(k=3, scale=None)
    learner.partial_fit([[0.0], [1.0], [2.0]], ["a", "b", "a"], sample_weight=[1.0, 5.0, 2.0])
    assert learner.predict_proba([[1.0]]).tolist() == [[3 / 8, 5 / 8]]
    assert learner.partial_fit([[1.0]], ["a"], sample_weight=[0.0]).n_rows == 3
    near = WindowKNN(k=2, scale=None, weights="distance").partial_fit([[0.0], [3.0]], ["a", "b"])
    np.testing.assert_allclose(near.predict_proba([[1.0]]), [[2 / 3, 1 / 3]])
    np.testing.assert_allclose(near.predict_proba([[0.0]]), [[1, 0]], atol=1e-8)


def test_the_window_forgets_the_oldest():
    learner = WindowKNN(k=1, window=3, scale=None)
    learner.partial_fit([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "c", "d"])
    assert learner.predict_one([0.0]) == "b"
    assert learner.n_rows == 3
    assert WindowKNN(k=7, window=1).partial_fit([[0.0], [1.0]], ["a", "b"]).predict_one([0.0]) == "b"


def test_it_follows_a_change_within_its_window():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(3000, 4))
    y = (X[:, 0] > 0) ^ (np.arange(3000) >= 1500)
    learner = WindowKNN(window=200)
    learner.partial_fit(X[:1500], y[:1500])
    learner.partial_fit(X[1500:1700], y[1500:1700])
    assert accuracy(learner, X[1700:], y[1700:]) > 0.85


def test_features_and_values_may_join():
    learner = WindowKNN(k=3, window=400)
    rng = np.random.default_rng(7)
    for _ in range(300):
        learner.learn_one({"noise": rng.normal()}, bool(rng.random() < 0.5))
    for _ in range(300):
        a, colour = rng.normal(), str(rng.choice(["red", "green"]))
        learner.learn_one({"noise": rng.normal(), "a": a, "colour": colour}, bool((a > 0) == (colour == "red")))
    seen = [learner.predict_one({"noise": 0.0, "a": a, "colour": c}) for a in (-2, 2) for c in ("red", "green")]
    assert seen == [False, True, True, False]
    assert learner.neighbours({"colour": "blue"})
    again = WindowKNN(k=3, window=400)
    again.restore(learner.state())
    assert again.predict_proba_one({"a": 0.3}) == learner.predict_proba_one({"a": 0.3})


def test_numbers_at_the_edge_of_what_floats_can_hold_give_numbers():
    huge = np.array([[1e308, 1e-308, 1.0], [-1e308, 3e-308, 1.0], [0.0, 2e-308, 1.0], [5.0, 1e300, 1.0]])
    y = [0, 1, 0, 1]
    for metric, scale, precision in product(METRICS, ("window", "online", None), ("float64", "float32")):
        learner = WindowKNN(k=2, metric=metric, scale=scale, precision=precision, weights="distance")
        with np.errstate(all="ignore"):
            proba = [*learner.test_then_train(huge, y)[1:], *learner.predict_proba([[-1e308, 1e308, 1e308]])]
        np.testing.assert_allclose(np.sum(proba, axis=1), 1.0, err_msg=f"{metric} {scale} {precision}")


def test_an_empty_window_has_no_opinion():
    learner = WindowKNN().declare(Schema.numeric(2, classes=("a", "b", "c", "d")))
    assert learner.predict_proba([[1.0, 2.0]]).tolist() == [[0.25] * 4]
    assert learner.neighbours([1.0, 2.0]) == []


# -- chunks, order, states --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("metric", "scale", "precision"), [
    ("euclidean", "window", "float64"), ("euclidean", None, "float32"), ("manhattan", "online", "float64"),
    ("cosine", "window", "float64"), ("hamming", None, "float64"),
])  # fmt: skip
@pytest.mark.parametrize("window", [1, 3, 300, 700])
def test_chunks_do_not_matter(metric, scale, precision, window):
    X, y = rows_of(8, 900, missing=0.02)
    options = {"metric": metric, "scale": scale, "precision": precision, "window": window, "weights": "distance"}
    learners = [WindowKNN(**options).declare(schema_of(MIXED)) for _ in range(3)]
    wanted = learners[0].test_then_train(X, y)
    for learner, size in zip(learners[1:], (1, 61), strict=True):
        for r in range(0, len(y), size):
            got = learner.test_then_train(X[r : r + size], y[r : r + size])
            np.testing.assert_array_equal(got, wanted[r : r + size, : got.shape[1]])
        same(learner.state(), learners[0].state())
    apart = WindowKNN(**options).declare(schema_of(MIXED)).partial_fit(X, y)
    same(apart.state(), learners[0].state())


def test_a_large_window_grows_with_its_rows_whatever_the_chunks():
    rng = np.random.default_rng(13)
    X, y = rng.normal(size=(5500, 3)), rng.integers(0, 3, 5500)
    whole, parts = WindowKNN(window=5000), WindowKNN(window=5000)
    wanted = whole.partial_fit(X, y).predict_proba(X[:50])
    sizes = set()
    for r in range(0, 5500, 500):
        parts.partial_fit(X[r : r + 500], y[r : r + 500])
        sizes.add(parts.state_bytes)
        parts.restore(parts.state())
    assert len(sizes) == 3  # 4, 8, 10 tiles
    same(whole.state(), parts.state())
    far = ((X[500:] - X[0]) ** 2 / np.ptp(X[500:], axis=0) ** 2).sum(axis=1)
    assert [n.age for n in parts.neighbours(X[0])] == (5000 - np.argsort(far)[:5]).tolist()
    assert parts.predict_proba(X[:50]).tobytes() == wanted.tobytes()


def test_late_labels_in_any_order():
    X, y = rows_of(9, 400, NUMBERS)
    rng = np.random.default_rng(10)
    events = np.concatenate([np.arange(400), ~np.arange(400)])[rng.permutation(800)]
    whole, rows = WindowKNN(window=50), WindowKNN(window=50)
    wanted = whole.play(X, y, events)
    for e in events:
        if e < 0:
            rows.partial_fit(X[~e : ~e + 1], y[~e : ~e + 1])
        else:
            got = rows.predict_proba(X[e : e + 1])[0]
            by_label = dict(zip(rows.classes_.tolist(), got, strict=True))
            assert {c: p for c, p in zip(whole.classes_.tolist(), wanted[e], strict=True) if c in by_label} == by_label


def test_states_of_no_window_are_refused():
    X, y = rows_of(11, 60, missing=0.1)
    for scale in ("window", "online", None):
        learner = WindowKNN(window=40, scale=scale).declare(schema_of(MIXED)).partial_fit(X, y)
        state = learner.state()
        moved = state["spans"].copy()
        moved[0, 0] += 1.0
        full = state["ring"].copy()
        full[0, 0, 3] = np.inf
        broken = {
            "ring": [state["ring"][:, :-1], state["ring"].astype("f4"), full, state["ring"].transpose(0, 2, 1)],
            "codes": [state["codes"] - 5, state["codes"][:-1], state["codes"].astype(float)],
            "voices": [-state["voices"], state["voices"] * np.nan, state["voices"][1:]],
            "spans": [moved, state["spans"][:-1], state["spans"] * np.nan],
            "head": [state["head"] + 100, state["head"] - 100, state["head"][:1], state["head"].astype(float)],
        }
        for name, tables in broken.items():
            for table in tables:
                with pytest.raises(ValueError, match="state must be what WindowKNN.state"):
                    learner.restore(state | {name: table})
            with pytest.raises(ValueError, match=f"it lacks '{name}'"):
                learner.restore({k: v for k, v in state.items() if k != name})
        with pytest.raises(ValueError, match="state must be what"):
            WindowKNN(window=41, scale=scale).restore(state)
        same(learner.state(), state)


def test_codes_of_classes_that_do_not_exist_are_refused():
    learner = WindowKNN(k=2, scale=None).partial_fit([[0.0], [1.0]], ["a", "b"])
    state = learner.state()
    state["codes"][0] = 10**9
    with pytest.raises(ValueError, match="'codes' must hold numbers from 0 to 1, and holds 1000000000"):
        learner.restore(state)


def test_memory_is_stated_and_small():
    X = np.zeros((1500, 40))
    learner = WindowKNN().partial_fit(X, np.arange(1500) % 3)
    assert learner.state_bytes <= 0.5e6
    assert learner.state_bytes == WindowKNN().partial_fit(X[:1], [0]).state_bytes
    wide = WindowKNN(window=100_000).partial_fit(X[:1], [0])
    assert wide.state_bytes < 1e6  # the window grows with its rows
    for r in range(0, 1500, 300):
        wide.partial_fit(X[r : r + 300], np.arange(300) % 3)
    assert wide.n_rows == 1501


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("k", 0, "k must lie in"),
        ("k", 1.5, "k must be a whole number"),
        ("window", 0, "window must lie in"),
        ("metric", "chebyshev", "metric must be one of 'euclidean'"),
        ("ties", "none", "ties must be one of 'all', 'k'"),
        ("weights", None, "weights must be one of 'uniform', 'distance'"),
        ("scale", "minmax", "scale must be one of 'window', 'online', None, got 'minmax'"),
        ("scale", [], "scale must be one of 'window', 'online', None, got []"),
        ("precision", "float16", "precision must be one of 'float64', 'float32'"),
    ],
)
def test_wrong_parameters_get_a_sentence(name, value, sentence):
    with pytest.raises((ValueError, TypeError)) as error:
        WindowKNN(**{name: value})
    assert str(error.value).startswith(sentence)


# -- published --------------------------------------------------------------------------------------------------------

PUBLISHED = {
    ("enron", 5, "all", "window"): 96.18,
    ("enron", 11, "all", "window"): 96.00,
    ("cnae9", 5, "all", "window"): 73.33,
    ("cnae9", 11, "all", "window"): 71.48,
    ("cnae9", 5, "k", None): 78.33,
    ("cnae9", 11, "k", None): 79.63,
}
"""Accuracy in per cent: Bahri et al. 2020, Table 4; the last two were recomputed from the data."""


@pytest.mark.parametrize("case", PUBLISHED, ids=str)
def test_published_accuracies(case, real_data):
    name, k, ties, scale = case
    stream = load_dataset(name)
    chunk = stream.read(10_000)
    for precision in ("float64", "float32"):
        learner = WindowKNN(k=k, ties=ties, scale=scale, precision=precision).declare(stream.schema)
        assert round(100 * accuracy(learner, chunk.X, chunk.y), 2) == PUBLISHED[case]


# -- promises ---------------------------------------------------------------------------------------------------------

LEARNERS = {
    "default": WindowKNN,
    "small": lambda: WindowKNN(k=3, window=20, metric="manhattan", ties="k", weights="distance", scale="online"),
    "angles": lambda: WindowKNN(k=3, window=50, metric="cosine", precision="float32", scale=None),
    "hamming": lambda: WindowKNN(k=3, window=50, metric="hamming"),
}


@pytest.mark.parametrize("check", checks.CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", LEARNERS)
def test_it_keeps_the_promises_of_a_learner(name, check):
    check(LEARNERS[name])


SCRIPT = """
import hashlib
import numpy as np
from thalweg import Feature, Schema
from thalweg.learners.windows import dense_window
from thalweg.learners.windows.knn import WindowKNN
rng = np.random.default_rng(3)
X = np.round(rng.normal(size=(60, 6)), 1)
X[:, 2] = rng.integers(0, 3, 60)
X[rng.random(X.shape) < 0.05] = np.nan
y = rng.integers(0, 3, 60)
schema = Schema(tuple(Feature(f"f{i}", values=(0, 1, 2) if i == 2 else None) for i in range(6)))
digest = hashlib.sha256()
for metric in ("euclidean", "manhattan", "hamming", "cosine"):
    for scale, precision, ties in (("window", "float64", "all"), ("online", "float32", "k"), (None, "float64", "k")):
        learner = WindowKNN(k=3, window=20, metric=metric, scale=scale, precision=precision, ties=ties)
        digest.update(learner.declare(schema).test_then_train(X, y).tobytes())
        for table in learner.state().values():
            digest.update(table.tobytes())
dense_window._WIDE = dense_window._MANY = 1
digest.update(WindowKNN(k=3, window=20).test_then_train(np.nan_to_num(X), y).tobytes())
print(digest.hexdigest())
"""


def test_without_the_compiler_everything_is_the_same():
    assert printed_with_and_without(SCRIPT)
