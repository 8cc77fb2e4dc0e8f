"""What every forest must do: the same bits however it is fed, within its memory, and open to a look inside."""

import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import thalweg
from changing import MIXED, by_appearance, changing, schema_of
from thalweg import (
    ADWIN,
    DDM,
    EDDM,
    HDDMA,
    HDDMW,
    KSWIN,
    SEA,
    AdaptiveRandomForest,
    Agrawal,
    DriftStream,
    Feature,
    LeveragingBagging,
    OnlineBagging,
    OnlineSmoothBoost,
    PageHinkley,
    Schema,
    StreamingRandomPatches,
)
from thalweg.jit.compile import compiled
from thalweg.jit.random import seeded
from thalweg.learners.forests import forest as forest_file
from thalweg.learners.forests import forest_jit as m
from thalweg.pool.pool import Pool

pd = pytest.importorskip("pandas")

EAGER = {"grace_period": 30, "delta": 0.1, "tau": 0.2}
QUICK = {"drift": "adwin(delta=0.3)", "warning": "adwin(delta=0.9)"}

FORESTS = {
    "bagging": lambda **o: OnlineBagging(**{"size": 17} | EAGER | o),
    "adwin bagging": lambda **o: OnlineBagging(**{"size": 4, "drift": "adwin(delta=0.3)"} | EAGER | o),
    "leveraging": lambda **o: LeveragingBagging(**{"size": 4, "drift": "adwin(delta=0.3)"} | EAGER | o),
    "codes": lambda **o: LeveragingBagging(**{"size": 17, "drift": None, "codes": True} | EAGER | o),
    "boost": lambda **o: OnlineSmoothBoost(**{"size": 4} | EAGER | o),
    "boost exp": lambda **o: OnlineSmoothBoost(**{"size": 4, "weights": "exp"} | EAGER | o),
    "boost ocp": lambda **o: OnlineSmoothBoost(**{"size": 4, "weights": "ocp"} | EAGER | o),
    "arf": lambda **o: AdaptiveRandomForest(**{"size": 17} | QUICK | EAGER | o),
    "srp": lambda **o: StreamingRandomPatches(**{"size": 17} | QUICK | EAGER | o),
}
SHARDED = ("bagging", "codes", "arf", "srp")
FIVE = ("adwin bagging", "leveraging", "boost exp", "arf", "srp")


@pytest.fixture(params=FORESTS)
def make(request):
    """A function that makes one kind of forest."""
    return FORESTS[request.param]


def chunks(n, size):
    return [slice(a, a + size) for a in range(0, n, size)]


def run(forest, X, y, size=None, w=None):
    """Test, then train chunk by chunk; the probabilities of all rows, as wide as the last."""
    parts = [
        forest.test_then_train(X[rows], y[rows], None if w is None else w[rows])
        for rows in chunks(len(y), size or len(y))
    ]
    out = np.zeros((len(y), parts[-1].shape[1]))
    at = 0
    for part in parts:
        out[at : at + len(part), : part.shape[1]] = part
        at += len(part)
    return out


def same_state(a, b):
    """Do two forests know the same, bit for bit?"""
    one, other = a.state(), b.state()
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].tobytes() == other[name].tobytes(), name


def accuracy(proba, y):
    return (proba.argmax(axis=1) == y).mean()


# -- the same bits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 400_000])
def test_chunks_do_not_matter(make, limit):
    X, y = changing(1, 400, classes=4, late=40, missing=0.05, every=100)
    w = np.random.default_rng(1).exponential(1.0, len(y))
    first = make(limit_bytes=limit).declare(schema_of(MIXED))
    wanted = run(first, X, y, w=w)
    for size in (1, 7, 100):
        other = make(limit_bytes=limit).declare(schema_of(MIXED))
        got = run(other, X, y, size, w)
        assert np.array_equal(got, wanted)
        same_state(first, other)


@pytest.mark.parametrize("name", SHARDED)
@pytest.mark.parametrize("limit", [None, 800_000])
def test_threads_do_not_matter(name, limit, monkeypatch):
    started, threads = [], forest_file._threads
    monkeypatch.setattr(forest_file, "_WORTH_A_THREAD", 0)
    monkeypatch.setattr(forest_file, "_threads", lambda n, process: started.append(n) or threads(n, process))
    X, y = changing(2, 600, classes=3, every=150, missing=0.05)
    forests = [FORESTS[name](n_jobs=jobs, limit_bytes=limit).declare(schema_of(MIXED)) for jobs in (1, 2, 3, -1)]
    wanted = run(forests[0], X, y)
    assert not started
    for forest in forests[1:]:
        assert np.array_equal(run(forest, X, y, 250), wanted)
        assert np.array_equal(forest.predict_proba(X), forests[0].predict_proba(X))
        assert forest.state().keys() == forests[0].state().keys()
        same_state(forest, forests[0])
    assert {2, 3} <= set(started)


def test_small_work_starts_no_thread(monkeypatch):
    monkeypatch.setattr(forest_file, "_threads", None)
    X, y = changing(2, 100)
    AdaptiveRandomForest(size=17, n_jobs=2).partial_fit(X[:90], y[:90]).learn_one(X[90], int(y[90]))


def test_learning_one_by_one_is_learning_chunks(make):
    X, y = changing(3, 250, classes=3, late=30)
    chunk, single = make().declare(schema_of(MIXED)), make().declare(schema_of(MIXED))
    chunk.partial_fit(X, y)
    for r in range(len(y)):
        single.learn_one(X[r], int(y[r]))
    same_state(chunk, single)
    assert np.array_equal(list(single.predict_proba_one(X[0]).values()), chunk.predict_proba(X[:1])[0])


def test_labels_that_come_late(make):
    X, y = changing(4, 200, classes=3)
    rng = np.random.default_rng(4)
    due = sorted((r + int(rng.integers(0, 30)), 1, ~r) for r in range(len(y)))
    events = [e for *_, e in sorted([*due, *((r, 0, r) for r in range(len(y)))])]
    events = [e for i, e in enumerate(events) for _ in range(2 if e >= 0 and i % 5 == 0 else 1)]  # some asked twice
    played, stepped = make().declare(schema_of(MIXED)), make().declare(schema_of(MIXED))
    got = played.play(X, y, events)
    for e in events:
        if e >= 0:
            proba = stepped.predict_proba(X[e : e + 1])[0]
            assert np.array_equal(got[e, : len(proba)], proba)
            assert not got[e, len(proba) :].any()
        else:
            stepped.partial_fit(X[~e : ~e + 1], y[~e : ~e + 1])
    same_state(played, stepped)


def test_rows_of_no_weight_change_nothing(make):
    X, y = changing(5, 300)
    w = (np.random.default_rng(5).random(len(y)) < 0.7).astype(float)
    w[0] = 1.0
    all_rows, some = make().declare(schema_of(MIXED)), make().declare(schema_of(MIXED))
    all_rows.test_then_train(X, y, w)
    some.partial_fit(X[w > 0], y[w > 0])
    same_state(all_rows, some)
    before = some.state()
    some.partial_fit(X[:5], y[:5], sample_weight=np.zeros(5)).learn_one(X[0], int(y[0]), 0.0)
    assert all(np.array_equal(before[name], table) for name, table in some.state().items())


def test_no_rows_are_no_work(make):
    X, y = changing(5, 50)
    forest = make().declare(schema_of(MIXED)).partial_fit(X, y)
    before = forest.state()
    assert forest.predict_proba(X[:0]).shape == (0, 2)
    assert forest.test_then_train(X[:0], y[:0]).shape == (0, 2)
    forest.partial_fit(X[:0], y[:0]).play(X, y, [])
    assert all(np.array_equal(before[name], table) for name, table in forest.state().items())


def test_the_seed_decides(make):
    X, y = changing(6, 400)
    a, b, c = (make(seed=seed).declare(schema_of(MIXED)) for seed in (1, 1, 2))
    first = run(a, X, y)
    assert np.array_equal(first, run(b, X, y))
    assert np.array_equal(first, run(c, X, y)) == isinstance(a, OnlineSmoothBoost)  # which draws nothing


# -- keeping ----------------------------------------------------------------------------------------------------------


def test_saved_in_mid_stream_it_goes_on(make, tmp_path):
    X, y = changing(7, 500, classes=3, every=120, missing=0.05)
    whole = make().declare(schema_of(MIXED))
    wanted = run(whole, X, y)
    half = make().declare(schema_of(MIXED)).partial_fit(X[:250], y[:250])
    thalweg.save(half, tmp_path / "forest")
    restored = make()
    restored.restore(half.state())
    for other in (thalweg.load(tmp_path / "forest"), restored, half.copy()):
        got = other.test_then_train(X[250:], y[250:])
        assert np.array_equal(got, wanted[250:])
        assert np.array_equal(other.predict_proba(X), whole.predict_proba(X))
        assert [str(member) for member in other.members] == [str(member) for member in whole.members]


def test_a_detector_object_is_saved_too(tmp_path):
    X, y = changing(8, 300)
    forest = LeveragingBagging(size=3, drift=KSWIN(delta=0.01)).partial_fit(X, y)
    thalweg.save(forest, tmp_path / "forest")
    other = thalweg.load(tmp_path / "forest")
    assert other.drift.get_params() == KSWIN(delta=0.01).get_params()
    same_state(forest, other)


# -- records that change their form -----------------------------------------------------------------------------------


def frame(seed, n):
    """Numbers and words; new words and new classes turn up all the time."""
    rng = np.random.default_rng(seed)
    word = np.where(rng.random(n) < 0.5, rng.integers(0, 4, n), np.arange(n) // 3)
    number = rng.normal(size=n)
    label = np.where(number + (word % 2) > 0.8, "up", "down")
    label[np.arange(n) % 50 == 49] = "rare"
    return pd.DataFrame({"a": number, "word": [f"w{v}" for v in word], "b": rng.normal(size=n)}), label


@pytest.mark.parametrize("name", FIVE)
def test_words_that_turn_up_by_rows_and_by_chunks(name):
    X, y = frame(1, 240)
    first = FORESTS[name]()
    wanted = [dict(zip(first.classes_, row, strict=True)) for row in first.test_then_train(X, y)]
    for size in (1, 50):
        other = FORESTS[name]()
        for rows in chunks(len(y), size):
            known = len(other.classes_)
            got = other.predict_proba(X[rows][:1])[0] if known else None
            if got is not None:
                assert np.array_equal(got, list(wanted[rows.start].values())[:known])
            other.partial_fit(X[rows], y[rows])
        same_state(first, other)
    assert first.schema.features[1].cardinality > 40


@pytest.mark.parametrize("seed", [33, 34])
def test_a_word_never_met_before_is_judged_the_same_by_rows_and_by_chunks(seed):
    rng = np.random.default_rng(seed)
    n = 400
    y = rng.integers(0, 2, n)
    y = np.where(rng.random(n) < 0.8, 0, 1)
    y[:2] = 0, 1
    number = rng.normal(size=n) + 0.5 * y
    word = np.where(rng.random(n) < 0.5, rng.integers(0, 3, n), np.arange(n) // 2)
    X = np.column_stack([number, word, rng.normal(size=n)])
    schema = Schema((Feature("a"), Feature("b", values=(), open=True), Feature("c")))
    rows, chunk = (OnlineBagging(size=8, **EAGER).declare(schema) for _ in range(2))
    chunk.test_then_train(X, y)
    for r in range(n):
        rows.partial_fit(X[r : r + 1], y[r : r + 1])
    same_state(rows, chunk)


@pytest.mark.parametrize("name", FIVE)
def test_features_join(name, tmp_path):
    rng = np.random.default_rng(9)
    n = 900
    values = rng.normal(size=(n, 4))
    y = (values[:, 0] > 0).astype(int)
    y[400:] = (values[400:, 3] > 0).astype(int)  # from now on only the feature that joins can tell
    forest = FORESTS[name](size=9)
    right = []
    for r in range(n):
        x = {f"x{i}": values[r, i] for i in range(2 if r < 400 else 4)}
        right.append(forest.predict_one(x) == y[r])
        forest.learn_one(x, int(y[r]))
        if r == 600:
            thalweg.save(forest, tmp_path / "forest")
            forest = thalweg.load(tmp_path / "forest")
    assert np.mean(right[300:400]) > 0.9
    assert np.mean(right[-100:]) > 0.8
    assert forest.importances()["x3"] > 0.2
    assert forest.schema.n_features == 4
    forest.copy().learn_one({f"x{i}": 0.0 for i in range(4)}, 1)


def test_patches_that_began_without_a_choice_are_restored_after_growing():
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 2, 300)
    forest = StreamingRandomPatches(size=3, **EAGER)
    forest.partial_fit(pd.DataFrame(X[:, :2], columns=["a", "b"]), y)  # two of two features: no patches
    forest.grow(Schema(tuple(Feature(name) for name in "abcde"))).partial_fit(X, y)
    other = forest.copy()
    same_state(forest.partial_fit(X, y), other.partial_fit(X, y))


def test_new_classes_get_columns(make):
    X, y = changing(11, 300, classes=5, late=50)
    names = np.array(["a", "b", "c", "d", "e"])[y]
    forest = make().declare(schema_of(MIXED))
    proba = forest.test_then_train(X, names)
    assert forest.classes_.tolist() == list(dict.fromkeys(names.tolist()))
    known = np.maximum.accumulate(y) + 1
    for r in range(1, len(y)):
        assert proba[r, : known[r - 1]].sum() == pytest.approx(1.0)
        assert not proba[r, known[r - 1] :].any()
    assert (proba >= 0.0).all()


def test_before_any_row_all_classes_are_alike(make):
    forest = make().declare(Schema.numeric(2, classes=("no", "yes", "perhaps")))
    assert forest.predict_proba([[1.0, 2.0]]).tolist() == [[1 / 3] * 3]
    assert make().predict_one([1.0, 2.0]) is None


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "limit"), [(n, 250_000) for n in FIVE[:3]] + [("arf", 900_000), ("srp", 900_000)])
def test_the_limit_is_never_exceeded_and_the_forest_learns(name, limit):
    rng = np.random.default_rng(12)
    n = 8000
    X = rng.random((n, 8))
    bits = (X > 0.5).astype(int)
    y = by_appearance(bits[:, 0] ^ (bits[:, 1] & bits[:, 2]) ^ (rng.random(n) < 0.05))
    quiet = {"drift": "adwin(delta=0.00001)"} if name != "boost exp" else {}
    forest = FORESTS[name](limit_bytes=limit, **quiet)
    right = []
    for rows in chunks(n, 100):
        right.append(accuracy(forest.test_then_train(X[rows], y[rows]), y[rows]))
        tables = forest.state()
        assert sum(t.nbytes for key, t in tables.items() if key not in ("labels", "schema")) <= limit
        assert forest.state_bytes <= limit
    free = FORESTS[name](**quiet).partial_fit(X, y)
    assert free.state_bytes > limit  # it is a real limit
    assert forest.state_bytes > limit / 3  # and made use of
    assert np.mean(right[-20:]) > max(y.mean(), 1 - y.mean()) + 0.15


@pytest.mark.parametrize("name", FIVE)
def test_the_limit_holds_as_classes_and_words_turn_up(name):
    limit = 1_500_000
    forest = FORESTS[name](limit_bytes=limit)
    X, y = frame(13, 600)
    y = np.where(np.arange(600) % 20 == 7, [f"c{i // 60}" for i in range(600)], y)
    for rows in chunks(600, 20):
        forest.partial_fit(X[rows], y[rows])
        assert forest.state_bytes <= limit
    assert len(forest.classes_) > 10


def test_a_limit_that_is_too_small_gets_a_sentence_and_changes_nothing(make):
    X, y = changing(14, 50)
    forest = make(limit_bytes=2048)
    with pytest.raises(ValueError, match="^limit_bytes must be at least .*, got 2048$"):
        forest.partial_fit(X, y)
    assert forest.schema is None
    assert not len(forest.classes_)
    assert forest.state_bytes == 0
    assert forest.memory() == {}


def test_memory_by_part_is_the_memory(make):
    X, y = changing(15, 300)
    forest = make().declare(schema_of(MIXED)).partial_fit(X, y)
    parts = forest.memory()
    assert list(parts) == ["nodes", "leaves", "detectors", "members", "layout"]
    assert sum(parts.values()) == forest.state_bytes
    assert sum(t.nbytes for t in forest._tables().values()) == forest.state_bytes


# -- detectors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "detector"),
    [
        ("adwin(delta=0.05)", ADWIN(delta=0.05)),
        ("ddm", DDM()),
        ("eddm", EDDM()),
        ("hddm-a", HDDMA()),
        ("hddm-w", HDDMW()),
        ("page-hinkley(threshold=10)", PageHinkley(threshold=10)),
        ("kswin", KSWIN()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_any_detector_by_name_and_by_object(name, detector):
    rng = np.random.default_rng(16)
    X = rng.normal(size=(3000, 3))
    y = (X[:, 0] > 0).astype(int)
    y[1500:] = 1 - y[1500:]
    kinds = (
        lambda d: AdaptiveRandomForest(size=3, drift=d, detect_before=True),
        lambda d: AdaptiveRandomForest(size=3, drift="adwin(delta=0.001)", warning=d, detect_before=True),
        lambda d: OnlineBagging(size=3, drift=d),
        lambda d: LeveragingBagging(size=3, drift=d),
        lambda d: StreamingRandomPatches(size=3, drift=d, warning="none", detect_before=True),
    )
    for kind in kinds:
        detector.update(1.0)  # what it has seen is its own affair
        by_name, by_object = kind(name), kind(detector)
        proba = by_name.test_then_train(X, y)
        assert np.array_equal(proba, by_object.test_then_train(X, y))
        happened = sum(member.drifts + member.warnings for member in by_name.members)
        assert happened > 0
        assert any(row > 1500 for row, _ in by_name.replacements)
        restored = kind(detector)
        restored.restore(by_name.state())
        same_state(restored.partial_fit(X, y), by_name.partial_fit(X, y))
        assert accuracy(proba[1000:1500], y[1000:1500]) > 0.9


def test_none_means_no_detector():
    X, y = changing(17, 300)
    for nothing in (None, "none"):
        forest = OnlineBagging(size=3, drift=nothing).partial_fit(X, y)
        assert forest.memory()["detectors"] == 2 * 3 * 8
    assert AdaptiveRandomForest(size=3, drift="none").partial_fit(X, y)._plan.warning is None
    assert AdaptiveRandomForest(size=3, drift=None).partial_fit(X, y)._plan.warning is not None


def test_the_presets_of_the_adaptive_random_forest():
    old, new = AdaptiveRandomForest()._make_plan(54), AdaptiveRandomForest(preset="moa-2025")._make_plan(54)
    assert (old.rules.subspace, old.warning.delta, old.drift.delta) == (8, 1e-4, 1e-5)
    assert (new.rules.subspace, new.warning.delta, new.drift.delta) == (32, 1e-2, 1e-3)
    assert old.rate == new.rate == 6.0
    own = AdaptiveRandomForest(preset="moa-2025", subspace=3, drift="ddm")._make_plan(54)
    assert (own.rules.subspace, type(own.drift), own.warning.delta) == (3, DDM, 1e-2)
    X, y = changing(18, 400)
    by_hand = AdaptiveRandomForest(size=3, subspace=0.6, warning=ADWIN(delta=0.01), drift=ADWIN(delta=0.001))
    preset = AdaptiveRandomForest(size=3, preset="moa-2025")
    assert np.array_equal(by_hand.test_then_train(X, y), preset.test_then_train(X, y))


@pytest.mark.parametrize(
    ("subspace", "wanted"),
    [("sqrt", 4), ("inv_sqrt", 6), ("all", 10), (3, 3), (-3, 7), (0.6, 6), (99, 10), (-99, 1), (0.01, 1), (1.0, 10)],
)
def test_how_many_features_a_leaf_watches(subspace, wanted):
    assert AdaptiveRandomForest(subspace=subspace)._make_plan(10).rules.subspace == wanted
    plan = StreamingRandomPatches(subspace=subspace)._make_plan(10)
    k = max(2, wanted)
    assert (plan.patches, plan.rules.subspace) == ((True, k) if k < 10 else (False, None))


# -- bad parameters ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "sentence"),
    [
        (OnlineBagging, {"size": 0}, r"size must lie in \[1, 100000\], got 0"),
        (OnlineBagging, {"size": 2.5}, r"size must be a whole number in \[1, 100000\], got 2.5"),
        (OnlineBagging, {"size": True}, r"size must be a whole number in \[1, 100000\], got True"),
        (OnlineBagging, {"rate": 0}, r"rate must lie in \(0, 1000\], got 0"),
        (LeveragingBagging, {"rate": 1001}, r"rate must lie in \(0, 1000\], got 1001"),
        (AdaptiveRandomForest, {"rate": math.nan}, r"rate must lie in \(0, 1000\], got nan"),
        (StreamingRandomPatches, {"rate": "6"}, r"rate must be a number in \(0, 1000\], got '6'"),
        (OnlineBagging, {"n_jobs": 0}, "n_jobs must be a number of threads, or -1 for one on each core, got 0"),
        (OnlineBagging, {"n_jobs": -2}, r"n_jobs must lie in \[-1, ∞\), got -2"),
        (OnlineBagging, {"seed": -1}, r"seed must lie in \[0, ∞\), got -1"),
        (OnlineBagging, {"limit_bytes": 10}, r"limit_bytes must lie in \[1024, ∞\), got 10"),
        (OnlineBagging, {"delta": 1}, r"delta must lie in \(0, 1\), got 1"),
        (OnlineBagging, {"tau": -0.1}, r"tau must lie in \[0, 1\], got -0.1"),
        (OnlineBagging, {"grace_period": 0}, r"grace_period must lie in \(0, ∞\), got 0"),
        (OnlineBagging, {"leaf": "nb"}, "leaf must be one of 'majority', 'bayes', 'adaptive', got 'nb'"),
        (OnlineBagging, {"criterion": "mse"}, "criterion must be one of 'gain', 'gini', got 'mse'"),
        (OnlineBagging, {"drift": "cusum"}, "drift must be one of adwin, ddm, .*, or an object, got 'cusum'"),
        (OnlineBagging, {"drift": 3}, "drift must be a detector or its name, got 3"),
        (OnlineBagging, {"drift": ADWIN}, "drift must be a detector or its name, got <class "),
        (OnlineBagging, {"drift": np.zeros(2)}, "drift must be a detector or its name, got array"),
        (OnlineBagging, {"drift": "adwin("}, r"drift must read like adwin or adwin\(delta=0.01\): .*got 'adwin\('"),
        (OnlineBagging, {"drift": "adwin(delta=2)"}, r"drift 'adwin\(delta=2\)' cannot be made: delta must lie in"),
        (OnlineBagging, {"drift": "adwin(size=2)"}, r"drift 'adwin\(size=2\)' cannot be made: .*'size'"),
        (LeveragingBagging, {"sampling": "me"}, "sampling must be one of 'poisson', .*, 'any', got 'me'"),
        (LeveragingBagging, {"codes": 1}, "codes must be True or False, got 1"),
        (LeveragingBagging, {"sampling": "missed", "drift": None}, "sampling 'missed' needs .*, got drift None"),
        (OnlineSmoothBoost, {"gamma": 0}, r"gamma must lie in \(0, 1\), got 0"),
        (OnlineSmoothBoost, {"gamma": 1.0}, r"gamma must lie in \(0, 1\), got 1.0"),
        (OnlineSmoothBoost, {"weights": "equal"}, "weights must be one of 'plain', 'ocp', 'exp', got 'equal'"),
        (AdaptiveRandomForest, {"preset": "moa"}, "preset must be one of '2017', 'moa-2025', got 'moa'"),
        (AdaptiveRandomForest, {"subspace": 0}, "subspace must be a number of features, .* or 'all', got 0"),
        (AdaptiveRandomForest, {"subspace": 1.5}, "subspace must be .*, got 1.5"),
        (AdaptiveRandomForest, {"subspace": "log"}, "subspace must be .*, got 'log'"),
        (StreamingRandomPatches, {"subspace": False}, "subspace must be .*, got False"),
        (
            AdaptiveRandomForest,
            {"warning": "adwin", "drift": "none"},
            "warning must be none where drift is, got 'adwin'",
        ),
        (AdaptiveRandomForest, {"warning": "x"}, "warning must be one of adwin, .*, got 'x'"),
        (AdaptiveRandomForest, {"weighted_vote": 1}, "weighted_vote must be True or False, got 1"),
        (AdaptiveRandomForest, {"background_sampled": None}, "background_sampled must be True or False, got None"),
        (StreamingRandomPatches, {"method": "rows"}, "method must be one of 'patches', .*, got 'rows'"),
        (StreamingRandomPatches, {"detect_before": "no"}, "detect_before must be True or False, got 'no'"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_bad_parameters(kind, options, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence) as refused:
        kind(**options)
    assert "\n" not in str(refused.value)


# -- tables from outside ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good():
    X, y = changing(19, 500, every=120)
    forest = FORESTS["arf"]().declare(schema_of(MIXED)).partial_fit(X, y)
    return forest.state()


def refuse(state, reason):
    forest = FORESTS["arf"]()
    with pytest.raises(ValueError, match=f"state must be what AdaptiveRandomForest.state.* gave: .*{reason}"):
        forest.restore(state)
    assert forest.schema is None
    assert forest.state_bytes == 0


def members_with(good, column, value, row=0):
    members = good["members"].copy()
    members[row, column] = value
    return good | {"members": members}


def test_the_true_state_is_taken(good):
    FORESTS["arf"]().restore(good)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (m.M_FORE, 1.0), (m.M_FORE, 0.5), (m.M_FORE, -1.0), (m.M_FORE, 1e9), (m.M_BACK, 0.0), (m.M_GROWS, 2.0),
        (m.M_SEEN, math.nan), (m.M_RIGHT, math.inf), (m.M_DRIFTS, 0.5), (m.M_DRIFTS, -3.0), (m.M_DRIFTS, -1.0),
        (m.M_ROWS, -5.0), (m.M_GROWS, -1.0), (m.M_GROWS, 0.5),
    ],
)  # fmt: skip
def test_a_member_that_cannot_be_is_refused(good, column, value):
    refuse(members_with(good, column, value), "'members.*' must ")


def test_two_members_may_not_share_a_tree(good):
    members = good["members"].copy()
    members[[0, 1], m.M_FORE] = members[[1, 0], m.M_FORE]  # another order is fine
    FORESTS["arf"]().restore(good | {"members": members})
    members[0, m.M_FORE] = members[1, m.M_FORE]
    refuse(good | {"members": members}, "'members' must give each tree to one member")


@pytest.mark.parametrize("name", ["members", "dice", "warn", "drift"])
def test_another_type_or_shape_is_refused(good, name):
    refuse(good | {name: good[name][:-1].copy()}, f"{name!r} has another type or shape")
    refuse(good | {name: good[name].astype(np.float32)}, f"{name!r} has another type or shape")
    refuse(good | {name: good[name].reshape(-1, 1, 1).copy()}, f"{name!r} has another type or shape")


@pytest.mark.parametrize("name", ["members", "dice", "warn", "drift", *(f"{t}.1" for t in Pool.TABLES)])
def test_a_table_that_is_lacking_is_named(good, name):
    refuse({key: table for key, table in good.items() if key != name}, f"it lacks '{name}'")


@pytest.mark.parametrize("name", ["warn", "drift"])
@pytest.mark.parametrize(("column", "value"), [(2, 5e8), (5, 1e6), (5, -1.0), (12, 77.0), (3, math.nan), (8, 7.0)])
def test_a_detector_that_cannot_be_is_refused(good, name, column, value):
    table = good[name].copy()
    table[3, column] = value
    refuse(good | {name: table}, f"{name!r} holds what no ADWIN could")


def test_the_state_of_another_forest_is_refused(good):
    X, y = changing(19, 300)
    other = FORESTS["srp"]().declare(schema_of(MIXED)).partial_fit(X, y).state()
    refuse(other, "table")
    for name in ("bagging", "srp"):
        with pytest.raises(ValueError, match="state must be what"):
            FORESTS[name]().restore(good)
    with pytest.raises(ValueError, match="state must be what"):
        FORESTS["arf"](size=16).restore(good)


@pytest.mark.parametrize("table", ["nodes", "watched"])
def test_trees_that_point_astray_are_refused(good, table):
    bad = good[f"{table}.2"].copy()
    if table == "nodes":
        bad["left"][0] = 10**6
    else:
        bad[0, 0, 1] = 10**6
    refuse(good | {f"{table}.2": bad}, "point outside themselves")


def test_a_refused_state_leaves_the_forest_as_it_was(good):
    X, y = changing(20, 200)
    forest = FORESTS["arf"]().declare(schema_of(MIXED)).partial_fit(X, y)
    before = forest.state()
    with pytest.raises(ValueError, match="state must be what"):
        forest.restore(members_with(good, m.M_FORE, 1e9))
    assert all(np.array_equal(before[name], table) for name, table in forest.state().items())
    forest.partial_fit(X, y)


# -- looking at it ----------------------------------------------------------------------------------------------------


def concept(seed, n):
    """Only f1 (a word) and f2 (a number) tell the class."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.normal(size=n), rng.normal(size=n)])
    y = np.where(X[:, 1] == 1, X[:, 2] > 0, X[:, 2] < 0.5).astype(int) + (X[:, 1] == 2)
    return X, by_appearance(y)


CONCEPT = (None, 3, None, None)


def test_members_tell_what_they_are(make):
    X, y = changing(21, 1200, every=300)
    forest = make().declare(schema_of(MIXED)).partial_fit(X, y)
    members = forest.members
    assert [member.number for member in members] == list(range(forest.size))
    for member in members:
        assert 0 <= member.age <= 1200
        assert member.leaves >= 1
        assert (member.depth == 0) == (member.leaves == 1)
        assert math.isnan(member.accuracy) or 0.0 <= member.accuracy <= 1.0
    times = forest.replacements
    assert times == sorted(times)
    assert len(times) == sum(member.drifts for member in members)
    for row, t in times:
        assert 0 < row <= 1200
        assert members[t].drifts > 0
    replaced = {t for _, t in times}
    for member in members:
        latest = max((row for row, t in times if t == member.number), default=0)
        assert member.age >= 1200 - latest if member.number in replaced else member.age == 1200
    if forest._plan.drift is not None:
        assert replaced


def test_only_the_latest_replacements_are_kept():
    rng = np.random.default_rng(22)
    X = rng.normal(size=(9000, 2))
    y = ((X[:, 0] > 0) ^ (np.arange(9000) // 150 % 2 == 0)).astype(int)
    options = {"drift": "adwin(delta=0.9)", "warning": "none", "detect_before": True, "weighted_vote": False}
    forest = AdaptiveRandomForest(size=1, rate=1.0, grace_period=2000, **options)
    seen = set()
    for rows in chunks(9000, 100):
        seen |= set(forest.partial_fit(X[rows], y[rows]).replacements)
    drifts = forest.members[0].drifts
    assert drifts > m.M_RING
    assert len(seen) == drifts
    assert forest.replacements == sorted(seen)[-m.M_RING :]


def test_importances_find_what_matters(make):
    X, y = concept(23, 4000)
    forest = make().declare(schema_of(CONCEPT)).partial_fit(X, y)
    merit, shuffled = forest.importances(), forest.importances(X[:800], y[:800])
    assert sum(merit.values()) == pytest.approx(1.0)
    assert min(merit.values()) >= 0.0
    for found in (merit, shuffled):
        assert list(found.values()) == sorted(found.values(), reverse=True)
        assert set(list(found)[:2]) == {"f1", "f2"}
    assert merit["f1"] + merit["f2"] > 0.5
    assert shuffled["f2"] > 0.1
    assert abs(shuffled["f0"]) < 0.1
    assert forest.importances(X[:800], y[:800]) == shuffled
    assert forest.importances(X[:800], y[:800], repeats=1, seed=2) != shuffled


def test_importances_of_a_window_change_nothing_and_want_labels(make):
    X, y = concept(24, 500)
    forest = make().declare(schema_of(CONCEPT)).partial_fit(X, y)
    before = forest.state()
    window = X[:50].copy()
    forest.importances(window, y[:50])
    assert np.array_equal(window, X[:50])
    assert all(np.array_equal(before[name], table) for name, table in forest.state().items())
    with pytest.raises(TypeError, match="y must be a sequence of labels, got None"):
        forest.importances(X)
    with pytest.raises(ValueError, match="y must hold a label for each of the 500 rows of X, got 3"):
        forest.importances(X, y[:3])
    with pytest.raises(ValueError, match=r"repeats must lie in \[1, ∞\), got 0"):
        forest.importances(X, y, repeats=0)


def test_importances_of_words_in_a_frame():
    X, y = frame(25, 600)
    forest = AdaptiveRandomForest(size=5).partial_fit(X, y)
    assert set(forest.importances(X[-100:], y[-100:])) == {"a", "word", "b"}


def holds(test, x):
    """Is a test, as it is written, true of the record? Missing values and rounded thresholds get the benefit."""
    name, sign, value = test.split(" ", 2)
    v = x[int(name[1:])]
    if math.isnan(v):
        return True
    other = float(value)
    near = abs(v - other) <= 1e-4 * max(1.0, abs(other))
    return {"≤": v <= other or near, ">": v > other or near, "=": v == other, "≠": v != other}[sign]


def test_explanations_add_up(make):
    X, y = changing(26, 1200, classes=3, every=600)
    gaps = X.copy()
    gaps[np.random.default_rng(26).random(X.shape) < 0.2] = np.nan
    forest = make().declare(schema_of(MIXED)).partial_fit(gaps, y)
    tests = 0
    for r in range(40):
        x = (X if r % 2 else gaps)[r]
        why = forest.explain_one(x)
        proba = forest.predict_proba_one(x)
        assert why.proba == proba
        assert why.label == forest.predict_one(x)
        for c in proba:
            parts = [why.base[c], why.leaf[c], *(added[c] for added in why.contributions.values())]
            assert sum(parts) == pytest.approx(proba[c], abs=1e-9)
        assert [rule.member for rule in why.rules] == list(range(forest.size))
        for rule in why.rules:
            tests += len(rule.tests)
            assert all(holds(test, x) for test in rule.tests)
        if not getattr(forest, "codes", False):
            mixed = {c: sum(rule.weight * rule.answer[c] for rule in why.rules) for c in proba}
            assert mixed == pytest.approx(proba, abs=1e-9)
        named = {test.split(" ")[0] for rule in why.rules for test in rule.tests}
        assert set(why.contributions) <= named
        weights = [sum(map(abs, added.values())) for added in why.contributions.values()]
        assert weights == sorted(weights, reverse=True)
        assert str(why).splitlines()[0].startswith(f"{why.label}: ")
        assert str(why.rules[0])
    assert tests > 100


def test_explanations_of_words_and_dicts():
    X, y = frame(27, 600)
    forest = LeveragingBagging(size=3, codes=True, **EAGER).partial_fit(X, y)
    why = forest.explain_one({"a": 0.3, "word": "w1", "b": 0.0})
    for c, p in why.proba.items():
        total = why.base[c] + why.leaf[c] + sum(added[c] for added in why.contributions.values())
        assert total == pytest.approx(p, abs=1e-9)
    forest.explain_one({"a": 0.3, "word": "never met", "b": 0.0})


def test_a_forest_that_has_nothing_to_say_explains_that():
    forest = OnlineBagging(size=2, rate=1e-9).partial_fit([[1.0], [2.0]], ["no", "yes"])  # every draw is 0
    why = forest.explain_one([1.0])
    assert why.proba == why.base == {"no": 0.5, "yes": 0.5}


def test_there_is_nothing_to_look_at_before_the_first_row(make):
    forest = make()
    for look in (lambda: forest.members, forest.importances, lambda: forest.explain_one([1.0])):
        with pytest.raises(ValueError, match="the forest has not seen a row yet: nothing to look at"):
            look()
    assert forest.replacements == []
    assert forest.memory() == {}


def test_looking_changes_nothing(make):
    X, y = changing(28, 300)
    forest = make().declare(schema_of(MIXED)).partial_fit(X, y)
    before = forest.state()
    assert forest.members
    assert forest.importances()
    assert forest.memory()
    assert len(forest.replacements) <= m.M_RING * forest.size
    assert forest.explain_one(X[0]).label == forest.predict(X[:1])[0]
    assert all(np.array_equal(before[name], table) for name, table in forest.state().items())


# -- the parts --------------------------------------------------------------------------------------------------------


@compiled
def _draw_many(table, dice, out):
    for k in range(len(out)):
        out[k] = m.poisson(table, dice, 0)


@pytest.mark.parametrize("rate", [0.1, 1.0, 6.0, 50.0, 900.0])
def test_weights_are_poisson(rate):
    n = 100_000
    out = np.empty(n)
    _draw_many(m.odds(rate), seeded(3), out)
    law = stats.poisson(rate)
    edges = np.unique(law.ppf(np.linspace(0.0, 1.0, 21)[1:-1])).astype(int)
    cells = np.searchsorted(edges, out, side="left")
    wanted = np.diff([0.0, *law.cdf(edges), 1.0])
    got = np.bincount(cells, minlength=len(wanted))
    kept = wanted * n > 5
    assert got[~kept].sum() <= 30
    share = wanted[kept] / wanted[kept].sum()
    assert stats.chisquare(got[kept], got[kept].sum() * share).pvalue > 1e-3
    assert out.mean() == pytest.approx(rate, abs=5 * math.sqrt(rate / n))
    assert out.var() == pytest.approx(rate, rel=0.05)


def test_the_table_of_the_poisson_distribution_is_exact():
    for rate in (1e-6, 0.1, 1.0, 6.0, 100.0, 700.0, 740.0, 900.0, 1000.0):
        below = m.odds(rate)[m.GUIDE :]
        assert below[-1] == math.inf
        assert np.abs(below[:-1] - stats.poisson.cdf(np.arange(len(below) - 1), rate)).max() < 1e-12


def test_output_codes_halve_the_classes():
    sides = np.array([[int(m.code(t, c)) for c in range(8)] for t in range(200)])
    assert (sides.sum(axis=1) == 4).all()
    assert (sides[:, ::2] != sides[:, 1::2]).all()
    assert len({tuple(row) for row in sides}) == 16
    assert 0.4 < sides[:, 0].mean() < 0.6


@pytest.mark.parametrize("weights", ["ocp", "exp"])
def test_the_weights_of_boosting_stay_shares(weights):
    X, y = changing(29, 1500, classes=3, every=300)
    forest = OnlineSmoothBoost(size=7, weights=weights, gamma=0.2, **EAGER).declare(schema_of(MIXED))
    seen = []
    for rows in chunks(1500, 25):
        forest.partial_fit(X[rows], y[rows])
        alphas = forest._arrays["members"][:, m.M_ALPHA].copy()
        assert (alphas >= 0.0).all()
        assert alphas.sum() == pytest.approx(1.0, abs=1e-9)
        seen.append(alphas)
    assert np.ptp(seen, axis=0).max() > 0.05
    if weights == "exp":
        assert (np.diff(alphas) <= 0.0).all()  # an earlier member is in more of the experts


def test_boosting_hands_on_what_is_missed():
    X, y = concept(30, 3000)
    forest = OnlineSmoothBoost(size=5, gamma=0.3).declare(schema_of(CONCEPT)).partial_fit(X, y)
    weight = [float(view.tally[view.root, 0]) for view, *_ in forest._views()]
    assert weight[0] == 3000.0
    assert weight == sorted(weight, reverse=True)
    assert weight[-1] < 0.8 * weight[0]


def test_patches_confine_trees():
    rng = np.random.default_rng(31)
    X = rng.normal(size=(3000, 6))
    y = (X.sum(axis=1) > 0).astype(int)
    forest = StreamingRandomPatches(size=20, subspace=2, drift=None, **EAGER).partial_fit(X, y)
    used = [{int(f) for f in view.nodes["feature"][[i for i, *_ in view.walk()]] if f >= 0} for view, *_ in
            forest._views()]  # fmt: skip
    assert all(1 <= len(features) <= 2 for features in used)
    patches = np.concatenate([shard.pool.layout[2 : 2 + len(shard.members)] for shard in forest._shards])
    dealt = Counter(tuple(row) for row in patches.tolist())
    assert max(dealt.values()) == 2  # there are fifteen pairs, so the pack holds each twice
    assert all(features <= set(np.flatnonzero(row)) for features, row in zip(used, patches, strict=True))


# -- drift ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stream",
    [
        lambda: DriftStream(SEA(function=1, noise=0.0, seed=1), SEA(function=3, noise=0.0, seed=2), position=6000),
        lambda: DriftStream(Agrawal(function=1, seed=1), Agrawal(function=7, seed=2), position=6000),
    ],
    ids=["sea", "agrawal"],
)
def test_the_adaptive_random_forest_recovers_faster_than_bagging(stream):
    chunk = stream().read(10_000)
    after = {}
    for forest in (AdaptiveRandomForest(size=10), OnlineBagging(size=10)):
        proba = forest.declare(stream().schema).test_then_train(chunk.X, chunk.y)
        hits = forest.classes_[proba.argmax(axis=1)] == chunk.y
        assert hits[4000:6000].mean() > 0.8
        after[type(forest)] = hits[6500:].mean()
        if isinstance(forest, AdaptiveRandomForest):
            assert sum(6000 < row < 7500 for row, _ in forest.replacements) >= 3
    assert after[AdaptiveRandomForest] > after[OnlineBagging] + 0.01
    assert after[AdaptiveRandomForest] > 0.8


# -- the compiler off -------------------------------------------------------------------------------------------------


def bits():
    """Every probability and all that a forest knows after a short stream, for some forests, as text."""
    X, y = changing(32, 160, classes=3, every=40, missing=0.1, late=20)
    lines = []
    for name in FIVE:
        forest = FORESTS[name](size=3).declare(schema_of(MIXED))
        proba = forest.test_then_train(X, y)
        for r in range(40):
            forest.learn_one(X[r], int(y[r]))
        state = forest.state()
        tables = [proba, state["members"], state["drift"], state["tally.0"], state["stats.0"]]
        lines += [f"{name} {' '.join(v.hex() for v in table.ravel().tolist())}" for table in tables]
    return lines


def test_compiled_and_plain_agree_bit_for_bit():
    here = Path(__file__).parent
    code = f"import sys; sys.path[:0] = {[str(here), str(here.parents[1])]!r}\nimport test_forests\n"
    code += "print('\\n'.join(test_forests.bits()))"
    run = subprocess.run(
        [sys.executable, "-W", "ignore::RuntimeWarning", "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    for compiled_line, plain in zip(bits(), run.stdout.strip().split("\n"), strict=True):
        assert compiled_line == plain, compiled_line.split(" ", 1)[0]
