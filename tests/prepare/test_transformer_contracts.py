"""Every registered transformer keeps every promise; a new one is tested here as soon as it is in the registry."""

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import thalweg
from thalweg import Feature, Schema, registry
from thalweg.core.schema import Text

N = 240
WORDS = ("red", "green", "blue", "grey", "pink", "teal")
NOTE = Text("note", 1, 0, 3)
SCHEMA = Schema((
    Feature("size"), Feature("hue", values=WORDS[:3], open=True), Feature("when", time=True), Feature("age"),
    Feature("key", values=WORDS, open=True), *(Feature(f"note[{i}]", text=NOTE) for i in range(3)),
))  # fmt: skip
D = SCHEMA.n_features
KNOWN = registry.TRANSFORMERS
FEW = {
    "one-hot": {"max_values": 4}, "imputer": {"indicator": True}, "lags": {"lags": [1, 3], "means": [4]},
    "hashed-text": {"columns": "note", "width": 3}, "hashing": {"width": 4}, "rare-groups": {"least": 5, "share": 0.1},
    "date-parts": {"parts": ["hour", "month", "since_last", "since_first"], "cyclic": True},
    "select": {"k": 1, "every": 50},
}  # fmt: skip
"""Parameters with which a transformer shows what it can do on a few rows."""
CASES = [(name, FEW.get(name, {})) for name in KNOWN] + [
    ("select", {"k": 1, "every": 50, "by": "hoeffding-tree(grace_period=20, delta=0.2)"}),
    ("hashed-text", {"columns": "note", "width": 3, "values": "unit"}),
    ("hashing", {"columns": ["hue", "note"], "width": 3}),
    ("date-parts", {"columns": "size"}),
    ("imputer", {"strategy": "last"}), ("imputer", {"strategy": "most_frequent", "indicator": True}),
    ("standard-scaler", {"decay": 0.9, "centre": False}), ("min-max-scaler", {"clip": True}),
    ("lags", {"lags": [1, 2], "means": [3], "differences": True}),
    ("lags", {"columns": "age", "key": "key", "means": [2], "lags": [], "max_keys": 8}),
]  # fmt: skip
"""Every transformer at least once, and some in other ways."""
every = pytest.mark.parametrize(("name", "params"), CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])


def rows(seed=0, lacking=0.1):
    """Rows of the schema, labels and weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([
        rng.normal(3.0, 2.0, N), rng.integers(0, 3, N), 1.6e9 + 977.0 * np.arange(N), rng.integers(18, 40, N),
        rng.integers(0, 6, N), *rng.integers(0, 3, (3, N)),
    ])  # fmt: skip
    X[:, :5][rng.random((N, 5)) < lacking] = np.nan
    return np.ascontiguousarray(X), np.where(rng.random(N) < 0.4, "yes", "no"), rng.choice([0.0, 0.5, 1.0, 3.0], N)


def made(name, params, **more):
    return KNOWN[name].make(**{**params, **more})


def met(name, params):
    """A transformer that knows its features, and has seen no row."""
    transformer = made(name, params)
    transformer.meet(SCHEMA)
    return transformer


def same_state(a, b):
    one, two = a.state(), b.state()
    assert one.keys() == two.keys()
    for key, table in one.items():
        np.testing.assert_array_equal(table, two[key], err_msg=key)


@every
def test_rows_may_come_in_chunks_of_any_size(name, params):
    X, y, w = rows()
    whole = met(name, params)
    wanted = whole.transform_then_learn(X, y, w)
    assert wanted.shape == (N, whole.schema_out.n_features)
    for size in (1, 7):
        parts = met(name, params)
        cuts = [slice(i, i + size) for i in range(0, N, size)]
        np.testing.assert_array_equal(
            np.concatenate([parts.transform_then_learn(X[c], y[c], w[c]) for c in cuts]), wanted
        )
        same_state(parts, whole)
    single = met(name, params)
    for i in range(N):
        np.testing.assert_array_equal(single.transform(X[i : i + 1])[0], wanted[i])
        single.partial_fit(X[i : i + 1], y[i : i + 1], w[i : i + 1])
    same_state(single, whole)


@every
def test_saved_in_the_middle(name, params, tmp_path):
    X, y, _ = rows(1)
    whole, first = met(name, params), met(name, params)
    wanted = whole.transform_then_learn(X, y)
    first.partial_fit(X[:100], y[:100])
    thalweg.save(first, tmp_path / "t.safetensors")
    copies = [thalweg.load(tmp_path / "t.safetensors"), first.copy(), copy.deepcopy(first),
              pickle.loads(pickle.dumps(first))]  # fmt: skip
    for again in copies:
        assert again.get_params() == first.get_params()
        np.testing.assert_array_equal(again.transform_then_learn(X[100:], y[100:]), wanted[100:])
        same_state(again, whole)
    assert first.reset().schema is None


@every
def test_no_row_knows_itself_its_label_or_what_comes_later(name, params):
    X, y, _ = rows(2)
    wanted = met(name, params).transform_then_learn(X, y)
    for i in (0, 60, 150):
        others, other_labels = X.copy(), y.copy()
        others[i + 1 :] = rows(3)[0][i + 1 :]
        other_labels[i:] = np.where(y[i:] == "yes", "no", "yes")
        if i == 0:  # the first label is not there before the others
            other_labels[0] = y[0]
        got = met(name, params).transform_then_learn(others, other_labels)
        np.testing.assert_array_equal(got[: i + 1], wanted[: i + 1])


@every
def test_transforming_changes_nothing(name, params):
    X, y, _ = rows(4)
    one = met(name, params).partial_fit(X, y)
    before = one.copy()
    first = one.transform(X)
    np.testing.assert_array_equal(one.transform(X[::-1].copy())[::-1], first)
    one.transform_one(dict(zip(SCHEMA.names, [1.0, "blue", 0.0, 30.0, "unheard of"], strict=False)))
    one.partial_fit(X, y, np.zeros(N))
    same_state(one, before)
    untouched = X.copy()
    one.partial_fit(X, y)
    np.testing.assert_array_equal(X, untouched)


@every
def test_missing_values_and_extremes(name, params):
    X, y, _ = rows(5, lacking=0.6)
    X[::7, 0], X[3::7, 3] = 1.7e308, -1e300
    one = met(name, params)
    out = one.transform_then_learn(X, y)
    assert not np.isinf(out).any()
    nothing = one.transform(np.full((2, D), np.nan))
    for found in (out, nothing):
        assert one.missing != "filled" or not np.isnan(found).any()
    full, labels, _ = rows(5, lacking=0.0)
    assert one.missing == "made" or not np.isnan(met(name, params).transform_then_learn(full, labels)).any()


@every
def test_new_values_and_features_join(name, params):
    X, y, _ = rows(6)
    records = [
        {
            "size": x[0], "hue": None if np.isnan(x[1]) else f"{WORDS[int(x[1])]}{i // 50}", "age": x[3],
            "when": f"2024-01-{1 + i // 24:02d}T{i % 24:02d}:00:00", "key": WORDS[i % 3 + 2 * (i > 50)],
            "note": " ".join(WORDS[j] for j in range(6) if i >> j & 1),
            **({"late": x[3], "word": WORDS[i % 6]} if i > 120 else {}),
        }
        for i, x in enumerate(X)
    ]  # fmt: skip
    one, twin = made(name, params), made(name, params)
    one.learn_one(records[0], y[0])
    twin.learn_one(records[0], y[0])
    width = 0
    for record, label in zip(records, y, strict=True):
        got = twin.transform_one(record)
        assert len(got) >= width
        assert not np.isinf(list(got.values())).any()
        width = len(got)
        one.learn_one(record, label)
        twin.learn_one(record, label)
    same_state(one, twin)
    assert one.schema.columns == ("size", "hue", "age", "when", "key", "note", "late", "word")
    again = made(name, params)
    again.restore(one.state())
    same_state(again, one)


@every
def test_bad_input_gets_a_sentence(name, params):
    X, y, _ = rows(7)
    one = met(name, params).partial_fit(X, y)
    before = one.copy()
    with pytest.raises(ValueError, match="^X has 2 features"):
        one.partial_fit(X[:, :2], y)
    with pytest.raises(ValueError, match="^X must be finite"):
        one.transform(np.full((1, D), np.inf))
    with pytest.raises(ValueError, match="^sample_weight must"):
        one.partial_fit(X, y, np.full(N, -1.0))
    if one.labelled:
        with pytest.raises(ValueError, match="^y must hold a label for each row"):
            one.partial_fit(X)
        with pytest.raises(ValueError, match="^y must hold a label for each of the 240 rows"):
            one.partial_fit(X, y[:3])
    with pytest.raises(ValueError, match=f"^columns of {type(one).__name__} must be among .* got 'nothing'"):
        made(name, params, columns="nothing").meet(SCHEMA)
    if one.kind != "text":
        with pytest.raises(ValueError, match=r"must lie in \[0, 7\], got 9"):
            made(name, params, columns=[0, 9] if one.kind != "nominal" else [1, 9]).meet(SCHEMA)
    with pytest.raises(TypeError, match="^columns must name columns"):
        made(name, params, columns=1.5)
    if one.kind:
        wrong = "size" if one.kind in ("nominal", "text") else "hue"
        with pytest.raises(ValueError, match=f"must be {one.kind}"):
            made(name, params, columns=[wrong]).meet(SCHEMA)
    same_state(one, before)


@every
def test_tables_that_no_transformer_gave_are_refused(name, params):
    X, y, _ = rows(8)
    one = met(name, params).partial_fit(X, y)
    state = one.state()
    tables = [
        key for key in state if key not in ("labels", "schema") and not key.startswith("beside") and state[key].size
    ]
    assert tables
    for key in tables:
        wrong = [state[key].astype(np.float32), state[key][..., None], state[key].reshape(-1)[:-1]]
        filled = np.full_like(state[key], np.inf if state[key].dtype.kind == "f" else 2**60)
        for table in (*wrong, filled):
            with pytest.raises(ValueError, match=f"^state must be what {type(one).__name__}"):
                made(name, params).restore({**state, key: table})
        with pytest.raises(ValueError, match="it lacks"):
            made(name, params).restore({k: v for k, v in state.items() if k != key})
    with pytest.raises(TypeError, match="a dict of arrays"):
        made(name, params).restore([])


@every
def test_in_a_pipeline_with_late_labels(name, params):
    X, y, _ = rows(10)
    events, waiting = [], []
    rng = np.random.default_rng(3)
    for i in range(N):
        events.append(i)
        waiting.append(i)
        while waiting and rng.random() < 0.5:
            events.append(~waiting.pop(0))
    learner = thalweg.pipeline(made(name, params), thalweg.NaiveBayes())
    whole = learner.fresh().declare(SCHEMA)
    wanted = whole.play(X, y, events)
    steps = learner.fresh().declare(SCHEMA)
    for e in events:
        if e >= 0:
            got = steps.predict_proba(X[e : e + 1])[0]
            np.testing.assert_array_equal(got, wanted[e, : len(got)])
        else:
            steps.partial_fit(X[~e : ~e + 1], y[~e : ~e + 1])
    np.testing.assert_array_equal(steps.predict_proba(X), whole.predict_proba(X))


@every
def test_a_pipeline_inside_others_saved_and_served(name, params, tmp_path):
    X, y, _ = rows(11)
    learner = thalweg.pipeline(made(name, params), thalweg.NaiveBayes())
    single = learner.fresh().declare(SCHEMA)
    wanted = single.test_then_train(X, y)
    for outer in (
        thalweg.ActiveLearner(learner=learner, strategy=thalweg.Random(budget=1.0)),
        thalweg.Vote(learners=(learner,)),
    ):
        assert outer.readings == learner.readings
        np.testing.assert_array_equal(outer.declare(SCHEMA).test_then_train(X, y), wanted)
    assert [type(step) for step in single.steps] == [type(made(name, params))]
    thalweg.save(single, tmp_path / "m.safetensors")
    again = thalweg.load(tmp_path / "m.safetensors")
    assert again.get_params(deep=False)["transformers"][0].get_params() == made(name, params).get_params()
    np.testing.assert_array_equal(again.test_then_train(X, y), single.copy().test_then_train(X, y))
    with thalweg.Trainer(learner.fresh().declare(SCHEMA), tmp_path / "t", every=N // 2) as trainer:
        trainer.feed(X, y)
        with thalweg.Predictor(tmp_path / "t", wait=None, poll=None) as predictor:
            np.testing.assert_array_equal(predictor.predict_proba(X), single.predict_proba(X))


def digests():
    """Give what every transformer makes of some rows, as digests of the bits."""
    X, y, w = rows(12)
    found = {}
    for i, (name, params) in enumerate(CASES):
        if "by" not in params:  # trees are tested elsewhere, and take long
            made_of = met(name, params).transform_then_learn(X, y, w)
            found[f"{name}-{i}"] = hashlib.sha256(np.ascontiguousarray(made_of + 0.0)).hexdigest()
    return found


def test_the_same_bits_without_compilation():
    code = "import json; from prepare.test_transformer_contracts import digests; print(json.dumps(digests()))"
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    assert json.loads(done.stdout) == digests()
