"""Transformers agree with their plain twins."""

import numpy as np
import pytest

import thalweg
from prepare.test_contracts import KNOWN, SCHEMA, N, rows
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
    assert list(model[0].get_feature_names_out()) == [f"x{i}" for i in range(8)]
