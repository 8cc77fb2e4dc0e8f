"""Transformers of scikit-learn and river in a pipeline."""

import copy
import pickle

import numpy as np
import pytest

import thalweg
from thalweg import SEA, Imputer, NaiveBayes, OneHot, StandardScaler, pipeline, prequential
from thalweg.prepare.foreign import RiverTransformer, SklearnTransformer

decomposition = pytest.importorskip("sklearn.decomposition")
preprocessing = pytest.importorskip("sklearn.preprocessing")
river = pytest.importorskip("river.preprocessing")


def rows(n=500):
    chunk = SEA(seed=3).take(n)
    X = chunk.X.copy()
    X[::11, 0] = np.nan
    return X, chunk.y


MAKERS = {
    "learns": lambda: SklearnTransformer(model=preprocessing.StandardScaler(), batch=20),
    "learns fewer columns": lambda: SklearnTransformer(model=decomposition.IncrementalPCA(2), batch=30),
    "fitted": lambda: SklearnTransformer(model=decomposition.PCA(2).fit(SEA(seed=1).take(50).X)),
    "some columns": lambda: SklearnTransformer("x1", model=preprocessing.MaxAbsScaler()),
    "river": lambda: RiverTransformer(model=river.StandardScaler()),
    "river with labels": lambda: RiverTransformer(model=_supervised()),
}


def _supervised():
    from river.feature_selection import SelectKBest
    from river.stats import PearsonCorr

    return SelectKBest(similarity=PearsonCorr(), k=3)


@pytest.mark.parametrize("name", MAKERS)
def test_rows_may_come_in_chunks_of_any_size(name):
    X, y = rows()
    whole = MAKERS[name]()
    wanted = whole.transform_then_learn(X, y)
    assert wanted.shape == (500, whole.schema_out.n_features)
    for size in (1, 37):
        parts = MAKERS[name]()
        got = [parts.transform_then_learn(X[i : i + size], y[i : i + size]) for i in range(0, 500, size)]
        np.testing.assert_array_equal(np.concatenate(got), wanted)
    first = whole.transform(X)
    np.testing.assert_array_equal(whole.transform(X), first)
    for again in (whole.copy(), copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):
        np.testing.assert_allclose(again.transform(X), first, rtol=1e-9)  # copied matrices may round otherwise


@pytest.mark.parametrize("name", MAKERS)
def test_no_row_knows_itself_or_what_comes_later(name):
    X, y = rows()
    wanted = MAKERS[name]().transform_then_learn(X, y)
    other = X.copy()
    other[251:] = 7.0
    labels = y.copy()
    labels[250:] = labels[0]
    np.testing.assert_array_equal(MAKERS[name]().transform_then_learn(other, labels)[:251], wanted[:251])


def test_what_they_compute():
    X, _ = rows()
    X = np.nan_to_num(X)
    ours = SklearnTransformer(model=preprocessing.StandardScaler(), batch=100).partial_fit(X)
    np.testing.assert_allclose(ours.transform(X), preprocessing.StandardScaler().fit(X).transform(X))
    theirs = river.StandardScaler()
    for x in X:
        theirs.learn_one(dict(zip(("x0", "x1", "x2"), x, strict=True)))
    got = RiverTransformer(model=river.StandardScaler()).partial_fit(X).transform(X[:1])[0]
    assert got.tolist() == list(theirs.transform_one(dict(zip(("x0", "x1", "x2"), X[0], strict=True))).values())


@pytest.mark.parametrize("model", [preprocessing.MinMaxScaler(), river.MinMaxScaler()])
def test_in_a_pipeline(model, tmp_path):
    with pytest.warns(UserWarning, match="is called from Python, which is slow, and cannot be saved") as said:
        learner = pipeline(StandardScaler(), Imputer(), model, NaiveBayes())
    assert len(said) == 1
    result = prequential(SEA(seed=1), learner, limit=3_000, delay=5)
    assert result.accuracy > 0.75
    assert learner.state_bytes > 0
    twin = learner.copy()
    X, _ = rows()
    np.testing.assert_array_equal(twin.predict_proba(X), learner.predict_proba(X))
    with pytest.raises(TypeError, match=r"^MinMaxScaler is a transformer of another library and cannot be saved"):
        thalweg.save(learner, tmp_path / "m")
    inside = thalweg.ActiveLearner(learner=learner.fresh(), strategy=thalweg.Random(budget=1.0))
    chunk = SEA(seed=1).take(300)
    np.testing.assert_array_equal(
        inside.test_then_train(chunk.X, chunk.y), learner.fresh().test_then_train(chunk.X, chunk.y)
    )


def test_refusals():
    with pytest.raises(ValueError, match="^model must have partial_fit, or be fitted already, PCA is neither"):
        SklearnTransformer(model=decomposition.PCA(2))
    with pytest.raises(TypeError, match="^model must be a transformer with transform"):
        SklearnTransformer(model=NaiveBayes())
    with pytest.raises(TypeError, match="^model must be a transformer of river"):
        RiverTransformer(model=5)
    with pytest.raises(ValueError, match="^columns must suit PCA, which says: "):
        SklearnTransformer(model=decomposition.PCA(1).fit(np.eye(4))).partial_fit(np.eye(3))
    with pytest.raises(TypeError, match="^each of transformers must be a transformer, got <object"):
        pipeline(object(), NaiveBayes())
    grows = pipeline(RiverTransformer(model=river.OneHotEncoder()), NaiveBayes())
    grows.learn_one({"hue": "red"}, 0)
    with pytest.raises(ValueError, match="^OneHotEncoder must give the same columns for every record"):
        grows.learn_one({"hue": "blue"}, 1)
    assert pipeline(OneHot(), NaiveBayes()).unsavable == ""
