"""Self-adjusting memories: against a slow twin row by row, against other libraries' accuracy, and in trouble."""

import os
from pathlib import Path

import numpy as np
import pytest

from compiler_off import printed_with_and_without
from rows_to_try import accuracy, in_order, same
from thalweg import Feature, Schema, load, load_dataset, save
from thalweg.jit.random import seeded
from thalweg.learners.windows.sam_knn import SamKNN
from thalweg.registry import STREAMS
from twins.sam_knn import SlowSamKNN

NUMBERS = (False,) * 5
MIXED = (False, False, False, True, False, False, False, False, False, False, True)


def schema_of(nominal):
    return Schema(tuple(Feature(f"f{i}", values=(0, 1, 2) if n else None) for i, n in enumerate(nominal)))


def rows_of(seed, n, nominal=NUMBERS, *, whole=False):
    """Rows of two classes, later three; the rule turns round and comes back. ``whole``: many distances are equal."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 3, n) if b else rng.normal(size=n) for b in nominal]).astype(float)
    if whole:
        X = np.where(nominal, X, np.round(2 * X))
    sign = np.where(np.arange(n) // 150 % 3 == 1, -1, 1)
    y = (X[:, 0] * sign + 0.5 * X[:, 1] > 0).astype(int) + ((X[:, 2] > 1) & (np.arange(n) > 100))
    return X, in_order(y)


# -- the twin ---------------------------------------------------------------------------------------------------------

OPTIONS = (
    {"window": 200, "min_stm": 20, "k": 3},
    {"window": 120, "min_stm": 10, "k": 5, "recalculate": True},
    {"window": 300, "min_stm": 15, "k": 4, "weights": "uniform", "ltm_share": 0.6, "seed": 7},
    {"window": 80, "min_stm": 40, "k": 2, "ltm_share": 0.5},
    {"window": 150, "min_stm": 10, "k": 3, "scale": "online"},
    {"window": 12, "min_stm": 1, "k": 1, "ltm_share": 0.1},
    {"window": 9, "min_stm": 3, "k": 20, "ltm_share": 0.0},
)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("nominal", [NUMBERS, MIXED], ids=["numbers", "mixed"])
@pytest.mark.parametrize("whole", [False, True], ids=["apart", "ties"])
def test_it_does_what_its_slow_twin_does(options, nominal, whole):
    n = 500
    X, y = rows_of(1, n, nominal, whole=whole)
    fast = SamKNN(**options).declare(schema_of(nominal))
    params = {name: value for name, value in options.items() if name != "seed"}
    slow = SlowSamKNN(nominal, seeded(fast.seed)[0], **params)
    who = set()
    for i in range(n):
        if i:
            proba = fast.predict_proba(X[i : i + 1])[0]
            np.testing.assert_allclose(proba, slow.proba(X[i]), rtol=1e-12, err_msg=f"row {i}")
        fast.partial_fit(X[i : i + 1], y[i : i + 1])
        slow.learn(X[i], y[i])
        assert (fast.stm_size, fast.ltm_size, fast.answers) == (len(slow.stm), len(slow.ltm), slow.winner), f"row {i}"
        who.add(fast.answers)
    assert list(fast.right.values()) == np.sum([item.right for item in slow.stm], axis=0).tolist()
    state = fast.state()
    long = fast.ltm_size
    held = np.array([item.x for item in slow.ltm]).reshape(long, len(nominal))
    np.testing.assert_allclose(state["rows"][:, :long].T, held, rtol=0 if fast.scale is None else 1e-12)
    assert state["codes"][:long].tolist() == [item.y for item in slow.ltm]
    assert int(state["seeds"][0]) == slow.draws.state
    if options["window"] > 100:
        assert slow.shortened > 2
        assert {"short", "both"} < who or {"short", "long"} <= who


def test_the_options_of_the_twins_meet_every_rule():
    """Else the comparison would say less than it seems to."""
    compressed = shortened = 0
    for options in OPTIONS[:6]:
        X, y = rows_of(1, 500)
        slow = SlowSamKNN(NUMBERS, 5, **{name: value for name, value in options.items() if name != "seed"})
        for i in range(500):
            slow.learn(X[i], y[i])
        compressed, shortened = compressed + slow.compressed, shortened + slow.shortened
    assert compressed > 20
    assert shortened > 50


# -- what it is for ---------------------------------------------------------------------------------------------------


def test_it_is_as_accurate_as_capymoa_on_electricity(monkeypatch):
    folder = Path(os.environ.get("THALWEG_DATA") or Path(__file__).resolve().parents[4] / "shared" / "data")
    if not (folder / "electricity.parquet").exists():
        pytest.skip("needs Electricity in the folder that THALWEG_DATA names")
    monkeypatch.setenv("THALWEG_DATA", str(folder))
    chunk = load_dataset("electricity").take(45_312)
    learner = SamKNN()
    assert accuracy(learner, chunk.X, chunk.y) > 0.8281 - 0.002  # CapyMOA 0.13: 82.81 %
    assert learner.state_bytes < 1_000_000


def test_it_follows_clusters_that_move():
    chunk = STREAMS["rbf-drift"].make(seed=1).take(20_000)
    learner = SamKNN()
    assert accuracy(learner, chunk.X, chunk.y) > 0.82
    assert learner.state_bytes < 1_000_000


def test_the_past_is_remembered():
    """A concept that comes back is known at once, where a memory of the present alone has to learn it again."""
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(2, 12, 4)) * 6  # two places, each with clusters of its own
    where = np.repeat([0, 1, 0], [1500, 600, 100])
    cluster = rng.integers(0, 12, len(where))
    X = centres[where, cluster] + rng.normal(size=(len(where), 4)) * 0.3
    y = cluster % 2
    both, present = SamKNN(window=1000), SamKNN(window=400, ltm_share=0.0)
    got = [accuracy_after(learner, X, y, 2100) for learner in (both, present)]
    assert got[0] > 0.95
    assert got[0] > got[1] + 0.03
    assert both.ltm_size > 0


def accuracy_after(learner, X, y, start):
    learner.partial_fit(X[:start], y[:start])
    return accuracy(learner, X[start:], y[start:])


def test_the_short_term_memory_is_cut_when_everything_changes():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 3))
    y = (X[:, 0] > 0) ^ (np.arange(2000) >= 1000)
    learner = SamKNN(window=3000).partial_fit(X[:1000], y[:1000])
    assert learner.stm_size > 500
    learner.partial_fit(X[1000:1200], y[1000:1200])
    assert learner.stm_size < 300
    assert accuracy(learner, X[1200:], y[1200:]) > 0.9
    kept = learner.predict(X[:500]) == y[:500]  # what is left of the past does not contradict the present
    assert kept.mean() < 0.1


def test_exact_errors_and_followed_ones_choose_alike():
    X, y = rows_of(5, 3000)
    followed, exact = SamKNN(window=500), SamKNN(window=500, recalculate=True)
    a, b = accuracy(followed, X, y), accuracy(exact, X, y)
    assert abs(a - b) < 0.03
    assert followed.state()["marks"].tobytes() != exact.state()["marks"].tobytes()


def test_memories_are_looked_at():
    learner = SamKNN()
    assert (learner.stm_size, learner.ltm_size, learner.answers) == (0, 0, "short")
    assert learner.right == {"short": 0, "long": 0, "both": 0}
    learner.partial_fit([[0.0], [0.1], [0.2]], ["a", "a", "b"])
    assert (learner.stm_size, learner.ltm_size, learner.answers) == (3, 0, "short")
    assert learner.right == {"short": 1, "long": 0, "both": 1}


def test_votes():
    near, even = SamKNN(k=3), SamKNN(k=3, weights="uniform")
    for learner in (near, even):
        learner.partial_fit([[0.0], [2.0], [4.0]], ["a", "b", "b"])
    np.testing.assert_allclose(near.predict_proba([[1.0]]), [[3 / 7, 4 / 7]])
    np.testing.assert_allclose(even.predict_proba([[1.0]]), [[1 / 3, 2 / 3]])
    np.testing.assert_allclose(near.predict_proba([[0.0]]), [[1, 0]], atol=1e-8)
    newest = SamKNN(k=1).partial_fit([[0.0], [0.0]], ["a", "b"])
    assert newest.predict_one([0.0]) == "b"


def test_no_more_rows_than_the_window_even_if_all_classes_differ():
    rng = np.random.default_rng(6)
    for share in (0.0, 0.3, 0.99):
        learner = SamKNN(window=20, ltm_share=share, k=2, min_stm=3)
        for i in range(150):
            learner.learn_one(rng.normal(size=2).tolist(), i)
            assert learner.stm_size + learner.ltm_size <= 20
            assert learner.stm_size > 0
        learner.restore(learner.state())


def test_rows_that_coincide_are_compressed_to_one():
    learner = SamKNN(window=60, ltm_share=0.5).partial_fit(np.ones((100, 3)), np.zeros(100, dtype=int))
    assert learner.ltm_size < 31
    assert learner.predict_proba([[1.0, 1.0, 1.0]]).tolist() == [[1.0]]


def test_features_may_join():
    learner, rng = SamKNN(window=300), np.random.default_rng(7)
    for _ in range(200):
        learner.learn_one({"noise": rng.normal()}, bool(rng.random() < 0.5))
    for _ in range(400):
        a, colour = rng.normal() * 3, str(rng.choice(["red", "green"]))
        learner.learn_one({"noise": rng.normal(), "a": a, "colour": colour}, bool((a > 0) == (colour == "red")))
    seen = [learner.predict_one({"noise": 0.0, "a": a, "colour": c}) for a in (-4, 4) for c in ("red", "green")]
    assert seen == [False, True, True, False]


def test_numbers_at_the_edge_of_what_floats_can_hold_give_numbers():
    rng = np.random.default_rng(8)
    X = rng.choice([1e308, -1e308, 1e-308, 0.0, 1e200, 5.0], size=(300, 3))
    y = rng.integers(0, 2, 300)
    for scale in (None, "online"):
        learner = SamKNN(window=40, min_stm=5, k=3, scale=scale)
        with np.errstate(all="ignore"):
            proba = learner.test_then_train(X, y)[1:]
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        learner.restore(learner.state())  # all of it is finite


def test_scaled_rows_do_not_depend_on_the_unit():
    X, y = rows_of(15, 1500)
    units = 2.0 ** np.array([-30, 20, 3, 0, -4])
    plain, other = SamKNN(window=300, scale="online"), SamKNN(window=300, scale="online")
    a, b = plain.test_then_train(X, y), other.test_then_train(X * units, y)
    assert (a.argmax(axis=1) == b.argmax(axis=1))[50:].mean() > 0.99
    raw = SamKNN(window=300)
    assert accuracy(other, X * units, y) > accuracy(raw, X * units, y) + 0.05


# -- chunks, order, states --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"window": 200}, {"window": 2600, "min_stm": 1500}, OPTIONS[1], OPTIONS[4], OPTIONS[5]], ids=str
)
def test_chunks_do_not_matter(options):
    X, y = rows_of(9, 3000, MIXED)
    learners = [SamKNN(**options).declare(schema_of(MIXED)) for _ in range(3)]
    wanted = learners[0].test_then_train(X, y)
    for learner, size in zip(learners[1:], (1, 171), strict=True):
        for r in range(0, len(y), size):
            got = learner.test_then_train(X[r : r + size], y[r : r + size])
            np.testing.assert_array_equal(got, wanted[r : r + size, : got.shape[1]])
        same(learner.state(), learners[0].state())
    same(SamKNN(**options).declare(schema_of(MIXED)).partial_fit(X, y).state(), learners[0].state())
    many = learners[0].predict_proba(X[:203])
    np.testing.assert_array_equal(many, np.concatenate([learners[0].predict_proba(X[i : i + 1]) for i in range(203)]))
    same(learners[1].state(), learners[0].state())


def test_late_labels_in_any_order():
    X, y = rows_of(10, 600)
    events = np.concatenate([np.arange(600), ~np.arange(600)])[np.random.default_rng(11).permutation(1200)]
    whole, rows = SamKNN(window=100, min_stm=10), SamKNN(window=100, min_stm=10)
    wanted = whole.play(X, y, events)
    for e in events:
        if e < 0:
            rows.partial_fit(X[~e : ~e + 1], y[~e : ~e + 1])
        else:
            got = rows.predict_proba(X[e : e + 1])[0]
            by_label = dict(zip(rows.classes_.tolist(), got, strict=True))
            assert {c: p for c, p in zip(whole.classes_.tolist(), wanted[e], strict=True) if c in by_label} == by_label
    same({n: t for n, t in whole.state().items() if n in ("rows", "head")},
         {n: t for n, t in rows.state().items() if n in ("rows", "head")})  # fmt: skip


def test_saved_at_any_row(tmp_path):
    X, y = rows_of(12, 500)
    wanted = SamKNN(window=90, min_stm=10).partial_fit(X, y).state()
    learner = SamKNN(window=90, min_stm=10)
    for r in range(0, 500, 23):
        learner.partial_fit(X[r : r + 23], y[r : r + 23])
        save(learner, tmp_path / "learner")
        learner = load(tmp_path / "learner")
        twin = learner.copy()
        twin.partial_fit(X[:50], y[:50])  # goes its own way
    same(learner.state(), wanted)


def test_states_of_no_memory_are_refused():
    X, y = rows_of(13, 400)
    learner = SamKNN(window=150, min_stm=10).declare(schema_of(NUMBERS)).partial_fit(X[:200], y[:200])
    for r in range(200, 400):
        if learner.stm_size > 30 and learner.ltm_size > 0:  # so that candidates are tracked
            break
        learner.partial_fit(X[r : r + 1], y[r : r + 1])
    state = learner.state()
    assert state["levels"].any(axis=1).sum() > 1
    infinite, negative, counts = state["rows"].copy(), state["codes"].copy(), state["levels"].copy()
    infinite[0, 0], negative[0] = np.inf, -1
    counts[0, 1] += 1
    broken = {
        "rows": [state["rows"][:, :-1], state["rows"].astype("f4"), infinite, state["rows"].T],
        "codes": [negative, state["codes"][:-1], state["codes"].astype(float), state["codes"] + 10**12],
        "marks": [state["marks"] ^ 1, state["marks"] ^ 8, state["marks"][1:]],
        "reach": [state["reach"][1:], state["reach"].astype(float)],
        "levels": [counts, state["levels"] + 1, state["levels"][1:]],
        "head": [state["head"] + 1000, state["head"] - 1000, state["head"][:1], state["head"].astype(float)],
        "spans": [state["spans"] * 0.0, state["spans"] * np.nan, state["spans"][1:]],
        "seeds": [state["seeds"].astype(np.int64), state["seeds"][:0]],
    }
    for name, tables in broken.items():
        for table in tables:
            with pytest.raises(ValueError, match=r"state must be what SamKNN.state"):
                learner.restore(state | {name: table})
        with pytest.raises(ValueError, match=f"it lacks '{name}'"):
            learner.restore({k: v for k, v in state.items() if k != name})
    with pytest.raises(ValueError, match="state must be what"):
        SamKNN(window=151, min_stm=10).restore(state)
    same(learner.state(), state)
    with pytest.raises(ValueError, match=r"'codes' must hold numbers from 0 to \d, and holds 9"):
        learner.restore(state | {"codes": np.where(state["codes"] == 1, 9, state["codes"])})  # have no label


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"k": 0}, r"k must lie in \[1, 100000\], got 0"),
        ({"window": 1.5}, "window must be a whole number"),
        ({"ltm_share": 1}, r"ltm_share must lie in \[0, 1\), got 1"),
        ({"min_stm": 0}, "min_stm must lie in"),
        ({"recalculate": 1}, "recalculate must be True or False, got 1"),
        ({"weights": "all"}, "weights must be one of 'distance', 'uniform', got 'all'"),
        ({"scale": "window"}, "scale must be one of 'online', None, got 'window'"),
        ({"seed": -1}, "seed must lie in"),
    ],
)
def test_parameters_are_checked(params, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        SamKNN(**params)


SCRIPT = """
import hashlib
import numpy as np
from thalweg import Feature, SamKNN, Schema
rng = np.random.default_rng(1)
X = np.column_stack([rng.normal(size=(150, 5)), rng.integers(0, 3, 150)])
y = ((X[:, 0] > 0) ^ (np.arange(150) > 90)).astype(int)
schema = Schema((*(Feature(f"f{i}") for i in range(5)), Feature("n", values=(0, 1, 2))))
digest = hashlib.sha256()
for recalculate, scale in ((False, None), (True, None), (False, "online")):
    learner = SamKNN(window=60, min_stm=10, k=3, recalculate=recalculate, scale=scale).declare(schema)
    digest.update(learner.test_then_train(X, y).tobytes())
    digest.update(learner.predict_proba(X[:9]).tobytes())
    for table in learner.state().values():
        digest.update(table.tobytes())
print(digest.hexdigest())
"""


def test_without_the_compiler_everything_is_the_same():
    assert printed_with_and_without(SCRIPT)
