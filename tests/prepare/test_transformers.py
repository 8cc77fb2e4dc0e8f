"""Transformers agree with their plain twins."""

import numpy as np
import pytest

import thalweg
from prepare.test_transformer_contracts import KNOWN, SCHEMA, N, rows
from twins import preparing

NUMERIC, NOMINAL = [0, 3], [1, 4]


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


@pytest.mark.parametrize("differences", [False, True])
def test_lags_and_their_twin(differences):
    params = {"columns": ["size", "age"], "key": "key", "lags": [1, 3], "means": [4], "differences": differences}
    arranged("lags", preparing.Lags([0, 3], 4, [1, 3], [4], differences), **params)


def test_robust_scaler_and_its_twin():
    """With fewer than 256 rows the sketch has all of them."""
    arranged("robust-scaler", preparing.RobustScaler(NUMERIC))


@pytest.mark.parametrize("shape", ["normal", "sorted", "skewed", "repeated"])
def test_the_sketch_finds_quartiles_in_fixed_memory(shape):
    rng = np.random.default_rng(4)
    n = 200_000
    v = {
        "normal": rng.normal(1e6, 3.0, n), "sorted": np.arange(n, dtype=float), "skewed": rng.lognormal(0.0, 3.0, n),
        "repeated": rng.integers(0, 7, n).astype(float),
    }[shape]  # fmt: skip
    scaler = thalweg.RobustScaler().partial_fit(v[:300, None])
    size = scaler.state_bytes
    scaler.partial_fit(v[300:, None])
    assert scaler.state_bytes == size
    ordered = np.sort(v)
    for q, found in zip((0.25, 0.5, 0.75), scaler.state()["quartiles"][0], strict=True):
        below, up_to = np.searchsorted(ordered, found, "left") / n, np.searchsorted(ordered, found, "right") / n
        late = 0.04 * (shape == "sorted")  # the last rows may not be in it yet
        assert below - 0.015 <= q <= up_to + 0.015 + late


def test_rare_groups_and_their_twin():
    arranged("rare-groups", preparing.RareGroups(NOMINAL, 5, 0.2), least=5, share=0.2)


def test_date_parts_and_their_twin():
    parts = ["month", "hour", "since_first", "weekday", "day", "day_of_year", "since_last"]
    arranged("date-parts", preparing.DateParts([2], parts), parts=parts)


def test_days_of_many_years():
    seconds = np.random.default_rng(5).integers(-60_000_000_000, 200_000_000_000, 2_000).astype(float)
    parts = ["hour", "weekday", "day", "day_of_year", "month"]
    twin = preparing.DateParts([0], parts)
    wanted = [twin.transform([t]) for t in seconds.tolist()]
    np.testing.assert_array_equal(thalweg.DateParts(0, parts=parts).transform(seconds[:, None]), wanted)


def test_cyclic_parts_are_close_where_the_clock_starts_again():
    parts = thalweg.DateParts(0, parts=["hour"], cyclic=True)
    late, early = parts.transform([[86_399.0], [86_401.0]])
    assert np.abs(late - early).max() < 1e-3
    np.testing.assert_allclose(parts.transform([[21_600.0]])[0], [1.0, 0.0], atol=1e-12)


TEXTS = ["Good, GOOD film!", "schön — «Über»", "", None, "a", "don't worry, be happy", "naïve 東京 café"]


@pytest.mark.parametrize(("words", "characters"), [(1, 0), (3, 0), (0, 3), (2, 4), (0, 20)])
def test_hashed_text_and_its_twin(words, characters):
    from thalweg.core.door import hashed_texts
    from thalweg.core.schema import Text

    got = hashed_texts(TEXTS, Text("t", words, characters, 13))
    np.testing.assert_array_equal(got, [preparing.hashed_text(t, words, characters, 13) for t in TEXTS])


def test_what_columns_of_text_hold():
    records = [{"t": "good good film"}, {"t": "bad film"}]
    for values, wanted in (("count", [1.0, 2.0]), ("once", [1.0, 1.0]), ("unit", [1 / 5**0.5, 2 / 5**0.5])):
        one = thalweg.HashedText("t", width=50, values=values).learn_one(records[1])
        found = [v for v in one.transform_one(records[0]).values() if v]
        np.testing.assert_allclose(sorted(found), wanted)


def test_hashing_by_name_keeps_no_value_and_agrees_with_codes():
    pa = pytest.importorskip("pyarrow")
    named = thalweg.Hashing("city", width=8).partial_fit(pa.table({"city": ["a"]}))
    size = named.state_bytes
    table = pa.table({"city": [f"city {i}" for i in range(500)] + [None]})
    assert named.partial_fit(table).state_bytes == size
    assert named.schema.columns == ("city",)
    coded = thalweg.Hashing(width=8).partial_fit(table)
    np.testing.assert_array_equal(named.transform(table), coded.transform(table))
    assert not named.transform(table)[-1].any()
    assert named.transform(pa.table({"city": ["never seen"]})).sum() == 1.0
    assert coded.transform(pa.table({"city": ["never seen"]})).sum() == 0.0


def test_select_finds_what_matters_and_follows_the_stream():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(6_000, 12))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.where(np.arange(6_000) < 3_000, X[:, 4] > 0.2, X[:, 9] > 0.2)
    for by in ("information", thalweg.HoeffdingAdaptiveTree(grace_period=50)):
        select = thalweg.Select(k=2, by=by, every=500).partial_fit(X[:3_000], y[:3_000])
        assert "x4" in select.selected
        select.partial_fit(X[3_000:], y[3_000:])
        assert "x9" in select.selected
    with pytest.raises(TypeError, match="^by must be a tree or a forest"):
        thalweg.Select(by="naive-bayes")


def test_the_information_of_a_column():
    from thalweg.prepare import select_jit as jit

    rng = np.random.default_rng(7)
    bins, labels = rng.integers(0, jit.BINS, 400), rng.integers(0, 3, 400)
    counts = np.zeros((1, jit.BINS, jit.CLASSES))
    np.add.at(counts[0], (bins, labels), 1.0)
    scores = np.zeros(1)
    jit.information(counts, 1.0, scores)
    np.testing.assert_allclose(scores[0], preparing.information(bins.tolist(), labels.tolist()))


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
    assert list(model[0].get_feature_names_out()) == [f"x{i}" for i in range(8)]
