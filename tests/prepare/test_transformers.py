"""Every registered transformer keeps every promise, and agrees with its plain twin."""

import copy
import pickle

import numpy as np
import pytest

import thalweg
from thalweg import Feature, Schema, registry
from twins import preparing

N = 240
WORDS = ("red", "green", "blue", "grey", "pink", "teal")
SCHEMA = Schema((
    Feature("size"), Feature("hue", values=WORDS[:3], open=True), Feature("when"), Feature("age"),
    Feature("key", values=WORDS, open=True),
))  # fmt: skip
NUMERIC, NOMINAL = [0, 2, 3], [1, 4]
KNOWN = registry.TRANSFORMERS
FEW = {"one-hot": {"max_values": 4}, "imputer": {"indicator": True}, "lags": {"lags": [1, 3], "means": [4]}}
"""Parameters with which a transformer shows what it can do on a few rows."""


def rows(seed=0, lacking=0.1):
    """Rows of the schema, labels and weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([
        rng.normal(3.0, 2.0, N), rng.integers(0, 3, N), 1.6e9 + 977.0 * np.arange(N), rng.integers(18, 40, N),
        rng.integers(0, 6, N),
    ])  # fmt: skip
    X[rng.random(X.shape) < lacking] = np.nan
    return np.ascontiguousarray(X), np.where(rng.random(N) < 0.4, "yes", "no"), rng.choice([0.0, 0.5, 1.0, 3.0], N)


def made(name, **more):
    return KNOWN[name].make(**{**FEW.get(name, {}), **more})


def met(name):
    """A transformer that knows its features, and has seen no row."""
    transformer = made(name)
    transformer.meet(SCHEMA)
    return transformer


def same_state(a, b):
    one, two = a.state(), b.state()
    assert one.keys() == two.keys()
    for key, table in one.items():
        np.testing.assert_array_equal(table, two[key], err_msg=key)


@pytest.mark.parametrize("name", KNOWN)
def test_rows_may_come_in_chunks_of_any_size(name):
    X, y, w = rows()
    whole = met(name)
    wanted = whole.transform_then_learn(X, y, w)
    assert wanted.shape == (N, whole.schema_out.n_features)
    for size in (1, 7):
        parts = met(name)
        cuts = [slice(i, i + size) for i in range(0, N, size)]
        np.testing.assert_array_equal(
            np.concatenate([parts.transform_then_learn(X[c], y[c], w[c]) for c in cuts]), wanted
        )
        same_state(parts, whole)
    single = met(name)
    for i in range(N):
        np.testing.assert_array_equal(single.transform(X[i : i + 1])[0], wanted[i])
        single.partial_fit(X[i : i + 1], y[i : i + 1], w[i : i + 1])
    same_state(single, whole)


@pytest.mark.parametrize("name", KNOWN)
def test_saved_in_the_middle(name, tmp_path):
    X, y, _ = rows(1)
    whole, first = met(name), met(name)
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


@pytest.mark.parametrize("name", KNOWN)
def test_no_row_knows_itself_its_label_or_what_comes_later(name):
    X, y, _ = rows(2)
    wanted = met(name).transform_then_learn(X, y)
    for i in (0, 60, 150):
        others, other_labels = X.copy(), y.copy()
        others[i + 1 :] = rows(3)[0][i + 1 :]
        other_labels[i:] = np.where(y[i:] == "yes", "no", "yes")
        if i == 0:  # the first label is not there before the others
            other_labels[0] = y[0]
        got = met(name).transform_then_learn(others, other_labels)
        np.testing.assert_array_equal(got[: i + 1], wanted[: i + 1])


@pytest.mark.parametrize("name", KNOWN)
def test_transforming_changes_nothing(name):
    X, y, _ = rows(4)
    one = met(name).partial_fit(X, y)
    before = one.copy()
    first = one.transform(X)
    np.testing.assert_array_equal(one.transform(X[::-1].copy())[::-1], first)
    one.transform_one(dict(zip(SCHEMA.names, [1.0, "blue", 0.0, 30.0, "unheard of"], strict=True)))
    one.partial_fit(X, y, np.zeros(N))
    same_state(one, before)
    untouched = X.copy()
    one.partial_fit(X, y)
    np.testing.assert_array_equal(X, untouched)


@pytest.mark.parametrize("name", KNOWN)
def test_missing_values_and_extremes(name):
    X, y, _ = rows(5, lacking=0.6)
    X[::7, 0], X[3::7, 3] = 1.7e308, -1e300
    one = met(name)
    out = one.transform_then_learn(X, y)
    assert not np.isinf(out).any()
    nothing = one.transform(np.full((2, 5), np.nan))
    for found in (out, nothing):
        assert one.missing != "filled" or not np.isnan(found).any()
    full, labels, _ = rows(5, lacking=0.0)
    assert one.missing == "made" or not np.isnan(met(name).transform_then_learn(full, labels)).any()


@pytest.mark.parametrize("name", KNOWN)
def test_new_values_and_features_join(name):
    X, y, _ = rows(6)
    records = [
        {
            "size": x[0], "hue": None if np.isnan(x[1]) else f"{WORDS[int(x[1])]}{i // 50}",
            **({"late": x[3], "word": WORDS[i % 6]} if i > 120 else {}),
        }
        for i, x in enumerate(X)
    ]  # fmt: skip
    one, twin = made(name), made(name)
    width = 0
    for record, label in zip(records, y, strict=True):
        got = twin.transform_one(record)
        assert len(got) >= width
        assert not np.isinf(list(got.values())).any()
        width = len(got)
        one.learn_one(record, label)
        twin.learn_one(record, label)
    same_state(one, twin)
    assert one.schema.n_features == 4
    again = made(name)
    again.restore(one.state())
    same_state(again, one)


@pytest.mark.parametrize("name", KNOWN)
def test_bad_input_gets_a_sentence(name):
    X, y, _ = rows(7)
    one = met(name).partial_fit(X, y)
    before = one.copy()
    with pytest.raises(ValueError, match="^X has 2 features"):
        one.partial_fit(X[:, :2], y)
    with pytest.raises(ValueError, match="^X must be finite"):
        one.transform(np.full((1, 5), np.inf))
    with pytest.raises(ValueError, match="^sample_weight must"):
        one.partial_fit(X, y, np.full(N, -1.0))
    if one.labelled:
        with pytest.raises(ValueError, match="^y must hold a label for each row"):
            one.partial_fit(X)
        with pytest.raises(ValueError, match="^y must hold a label for each of the 240 rows"):
            one.partial_fit(X, y[:3])
    with pytest.raises(ValueError, match=f"^columns of {type(one).__name__} must be among .* got 'nothing'"):
        made(name, columns="nothing").meet(SCHEMA)
    with pytest.raises(ValueError, match=r"must lie in \[0, 4\], got 9"):
        made(name, columns=[0, 9] if one.kind != "nominal" else [1, 9]).meet(SCHEMA)
    with pytest.raises(TypeError, match="^columns must name columns"):
        made(name, columns=1.5)
    if one.kind:
        wrong = 1 if one.kind == "numeric" else 0
        with pytest.raises(ValueError, match=f"must be {one.kind}"):
            made(name, columns=[wrong]).meet(SCHEMA)
    same_state(one, before)


@pytest.mark.parametrize("name", KNOWN)
def test_tables_that_no_transformer_gave_are_refused(name):
    X, y, _ = rows(8)
    one = met(name).partial_fit(X, y)
    state = one.state()
    tables = [key for key in state if key not in ("labels", "schema")]
    assert tables
    for key in tables:
        wrong = [state[key].astype(np.float32), state[key][..., None], state[key].reshape(-1)[:-1]]
        filled = np.full_like(state[key], np.inf if state[key].dtype.kind == "f" else 2**60)
        for table in (*wrong, filled):
            with pytest.raises(ValueError, match=f"^state must be what {type(one).__name__}"):
                made(name).restore({**state, key: table})
        with pytest.raises(ValueError, match="it lacks"):
            made(name).restore({k: v for k, v in state.items() if k != key})
    with pytest.raises(TypeError, match="a dict of arrays"):
        made(name).restore([])


def arranged(name, twin, **params):
    X, y, w = rows(9)
    one = KNOWN[name].make(**params)
    one.meet(SCHEMA)
    got = one.transform_then_learn(X, y, w)
    np.testing.assert_allclose(got, preparing.follow(twin, X, y, w), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("params", [{}, {"centre": False}, {"decay": 0.9}])
def test_standard_scaler_and_its_twin(params):
    arranged("standard-scaler", preparing.StandardScaler(NUMERIC, **params), **params)


def test_scalers_agree_with_river():
    river = pytest.importorskip("river.preprocessing")
    X, _, _ = rows(10, lacking=0.0)
    for ours, theirs in (
        (thalweg.StandardScaler(), river.StandardScaler()),
        (thalweg.MinMaxScaler(), river.MinMaxScaler()),
    ):
        got = ours.transform_then_learn(X[:, [0, 3]])
        for i, x in enumerate(X[:, [0, 3]].tolist()):
            if i:
                record = dict(enumerate(x))
                want = theirs.transform_one(record)
                np.testing.assert_allclose(got[i], [want[0], want[1]], rtol=1e-9, atol=1e-9)
            theirs.learn_one(dict(enumerate(x)))


@pytest.mark.parametrize("clip", [False, True])
def test_min_max_scaler_and_its_twin(clip):
    arranged("min-max-scaler", preparing.MinMaxScaler(NUMERIC, clip), clip=clip)


@pytest.mark.parametrize("strategy", ["mean", "last", "most_frequent"])
@pytest.mark.parametrize("indicator", [False, True])
def test_imputer_and_its_twin(strategy, indicator):
    columns = [1, 3, 4]  # few values each: the most frequent one is exact
    twin = preparing.Imputer(columns, strategy, indicator, nominal=NOMINAL)
    arranged("imputer", twin, columns=columns, strategy=strategy, indicator=indicator)


def test_one_hot_and_its_twin():
    arranged("one-hot", preparing.OneHot(NOMINAL, 4), max_values=4)


@pytest.mark.parametrize("smoothing", [0.0, 10.0])
def test_target_encoder_and_its_twin(smoothing):
    X, y, w = rows(14)
    y[0], w[0] = "no", 1.0  # so that "yes" is the second class
    one = thalweg.TargetEncoder(smoothing=smoothing)
    one.meet(SCHEMA)
    got = one.transform_then_learn(X, y, w)
    twin = preparing.follow(preparing.TargetEncoder(NOMINAL, smoothing), X, (y == "yes").astype(float), w)
    np.testing.assert_allclose(got, twin, rtol=1e-9, atol=1e-9)


def test_lags_and_their_twin():
    arranged("lags", preparing.Lags([0, 3], 4, [1, 3], [4]), columns=["size", "age"], key="key", lags=[1, 3], means=[4])


def test_lags_remember_a_bounded_number_of_keys():
    lags = thalweg.Lags(1, key=0, max_keys=8)
    rows = np.column_stack([np.arange(500.0), np.arange(500.0)])
    size = lags.partial_fit(rows[:10]).state_bytes
    assert lags.partial_fit(rows).state_bytes == size
    assert lags.transform(rows[-1:])[0, 2] == 499.0
    assert np.isnan(lags.transform(rows[:1])[0, 2])


def test_a_learner_that_takes_no_missing_values_needs_an_imputer_behind_lags():
    from thalweg import OnlineDeepLearning

    taking = OnlineDeepLearning().missing == "native"
    if not taking:
        with pytest.raises(ValueError, match=r"^learner must take missing values behind Lags"):
            thalweg.pipeline(thalweg.Lags(), OnlineDeepLearning())
    assert thalweg.pipeline(thalweg.Lags(), thalweg.Imputer(), OnlineDeepLearning()).missing == "native"


def test_sparse_rows_are_scaled_as_dense_ones():
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(11)
    X = np.where(rng.random((300, 9)) < 0.2, rng.normal(1.0, 5.0, (300, 9)), 0.0)
    dense, mixed = thalweg.StandardScaler(centre=False), thalweg.StandardScaler(centre=False)
    wanted = dense.transform_then_learn(X)
    found = [mixed.transform_then_learn(sparse.csr_array(X[:100])).toarray(), mixed.transform_then_learn(X[100:200])]
    found.append(mixed.transform_then_learn(sparse.csr_matrix(X[200:])).toarray())
    np.testing.assert_allclose(np.concatenate(found), wanted, rtol=1e-9, atol=1e-12)
    with pytest.raises(TypeError, match="^X must be dense"):
        thalweg.StandardScaler().partial_fit(sparse.csr_array(X))


def test_columns_by_name_position_and_kind():
    X, _, _ = rows(12)
    for columns, changed in (("age", [3]), ([0, "age"], [0, 3]), ("numeric", NUMERIC), (None, NUMERIC)):
        one = thalweg.StandardScaler(columns)
        one.meet(SCHEMA)
        out = one.transform_then_learn(X)
        differ = [f for f in range(5) if not np.array_equal(out[:, f], X[:, f], equal_nan=True)]
        assert differ == changed
    assert thalweg.Imputer("nominal")._planned(SCHEMA).columns.tolist() == NOMINAL


def test_as_scikit_learn_has_it():
    pipe = pytest.importorskip("sklearn.pipeline")
    from sklearn.base import clone

    X, y, _ = rows(13, lacking=0.0)
    one = thalweg.StandardScaler(decay=0.9)
    assert clone(one).get_params() == one.get_params()
    model = pipe.make_pipeline(thalweg.StandardScaler(), thalweg.NaiveBayes()).fit(X, y)
    assert model.predict(X).shape == (N,)
    assert list(model[0].get_feature_names_out()) == [f"x{i}" for i in range(5)]
