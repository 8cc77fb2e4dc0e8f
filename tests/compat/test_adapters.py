"""Classifiers of scikit-learn and river as learners: straight into prequential, at any chunk size, never saved."""

import copy
import pickle

import numpy as np
import pytest

from thalweg import (
    SEA,
    ActiveLearner,
    Feature,
    MajorityClass,
    Random,
    Schema,
    Vote,
    compare,
    compat,
    load,
    prequential,
    save,
)

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'thalweg[sklearn]'")
pytest.importorskip("river", reason="river is not installed: pip install 'thalweg[river]'")

from river import forest, linear_model, naive_bayes, tree
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from thalweg.compat.river import RiverClassifier
from thalweg.learners.adapted.any_model import as_learner

WORDS = np.array(["calm", "rising", "flood"])
WRAPPED = {
    "sgd": lambda: compat.sklearn.wrap(SGDClassifier(loss="log_loss"), batch=7),
    "sgd without probabilities": lambda: compat.sklearn.wrap(SGDClassifier(), batch=5),
    "gaussian": lambda: compat.sklearn.wrap(GaussianNB(), window=20),
    "river tree": lambda: compat.river.wrap(tree.HoeffdingTreeClassifier(grace_period=20)),
    "river forest": lambda: compat.river.wrap(forest.ARFClassifier(n_models=2), batch=3),
}


def rows(n=120):
    """Rows of which the third class appears late."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3))
    y = np.where(np.arange(n) < n // 3, X[:, 0] > 0, np.digitize(X[:, 0], [-0.5, 0.5])).astype(int)
    return X, WORDS[y]


@pytest.mark.parametrize("name", WRAPPED)
def test_chunks_copies_and_single_records_change_nothing(name):
    X, y = rows()
    whole, parts = WRAPPED[name]().test_then_train(X, y), WRAPPED[name]()
    found = np.zeros_like(whole)
    for start in range(0, len(X), 13):
        some = parts.test_then_train(X[start : start + 13], y[start : start + 13])
        found[start : start + 13, : some.shape[1]] = some
        ways = (copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), lambda m: m.copy())
        parts = ways[start % 4](parts)
    assert np.allclose(found, whole, rtol=0.0, atol=1e-12)  # a product of matrices rounds by their size
    assert np.allclose(whole[1:].sum(axis=1), 1.0)
    assert parts.classes_.tolist() == ["calm", "rising", "flood"] or set(parts.classes_) == set(WORDS)
    one = WRAPPED[name]()
    for x, label in zip(X[:40], y[:40], strict=True):
        one.learn_one(x, label)
    assert one.predict_one(X[40]) == WRAPPED[name]().partial_fit(X[:40], y[:40]).predict_one(X[40])
    assert one.state_bytes > 0


def test_each_row_is_predicted_before_it_is_learned():
    X, y = rows(40)
    y = np.where(X[:, 0] > 0, "rising", "calm")
    mine, theirs, classes = compat.sklearn.wrap(GaussianNB()), GaussianNB(), ["calm", "rising"]
    if y[0] == "rising":
        classes.reverse()
    proba = mine.test_then_train(X, y)
    second = int(np.flatnonzero(y != y[0])[0])
    codes = np.array([classes.index(label) for label in y])
    with np.errstate(all="ignore"):
        theirs.partial_fit(X[: second + 1], codes[: second + 1], classes=[0, 1])
        for i in range(second + 1, 40):
            want = np.nan_to_num(theirs.predict_proba(X[i : i + 1])[0])
            assert np.array_equal(proba[i], want / want.sum() if want.sum() else want)
            theirs.partial_fit(X[i : i + 1], codes[i : i + 1])
    assert np.array_equal(mine.fitted.theta_, theirs.theta_)


def test_straight_into_an_evaluation_with_one_line_that_says_it_is_slow():
    with pytest.warns(UserWarning, match=r"GaussianNB is called .* slow: thalweg.compat.sklearn.wrap\(model, batch="):
        result = prequential(SEA(seed=1), GaussianNB(), limit=200)
    assert (result.learner, result.rows) == ("GaussianNB", 200)
    with pytest.warns(UserWarning, match=r"LogisticRegression is called .*thalweg.compat.river.wrap"):
        assert prequential(SEA(seed=1), linear_model.LogisticRegression(), limit=300, delay=20).accuracy > 0.5
    learner = compat.sklearn.wrap(GaussianNB(), batch=50)
    assert prequential(SEA(seed=1), learner, limit=2_000).accuracy > 0.85
    assert learner.fitted.class_count_.sum() == 2_000


def test_inside_other_learners():
    X, y = rows()
    for outer in (
        Vote(learners=(compat.sklearn.wrap(GaussianNB()), MajorityClass())),
        ActiveLearner(learner=compat.river.wrap(naive_bayes.GaussianNB()), strategy=Random(budget=0.5)),
    ):
        assert (outer.test_then_train(X, y).argmax(axis=1) >= 0).all()
        with pytest.raises(TypeError, match="GaussianNB is a model of another library and cannot be saved"):
            save(outer, "never.safetensors")


def test_what_cannot_be_saved_says_so_before_the_work(tmp_path):
    learner = compat.sklearn.wrap(GaussianNB())
    with pytest.raises(TypeError, match="GaussianNB is a model of another library and cannot be saved in a safe file"):
        save(learner, tmp_path / "model.safetensors")
    with pytest.raises(TypeError, match="cannot be saved"):
        prequential(SEA(seed=1), learner, limit=10, checkpoint=tmp_path / "run.checkpoint")
    assert not [*tmp_path.iterdir()]
    learner.partial_fit(*rows())
    with pytest.raises(TypeError, match="cannot be saved"):
        learner.state()
    save(MajorityClass(), tmp_path / "other.safetensors")
    assert load(tmp_path / "other.safetensors").unsavable == ""


def test_sparse_rows_weights_and_fit():
    rng = np.random.default_rng(1)
    X = csr_array(np.where(rng.random((60, 20)) < 0.2, 1.0, 0.0))
    y = X.toarray()[:, 0] > 0
    learner = compat.sklearn.wrap(BernoulliNB(), batch=10)
    assert learner.sparse
    sparse = learner.test_then_train(X, y, sample_weight=np.arange(60) % 3)
    dense = compat.sklearn.wrap(BernoulliNB(), batch=10).test_then_train(
        X.toarray(), y, sample_weight=np.arange(60) % 3
    )
    assert np.allclose(sparse, dense)
    again = compat.sklearn.wrap(SGDClassifier(loss="log_loss"), batch=10).fit(X, y)
    assert again.predict_proba(X).shape == (60, 2)
    with pytest.raises(ValueError, match="sample_weight must be 1 for HoeffdingTreeClassifier|takes no weights"):
        compat.river.wrap(forest.AMFClassifier(n_estimators=1)).partial_fit(
            [[1.0], [2.0]], [0, 1], sample_weight=[1, 2]
        )


def test_river_sees_records_with_words_and_gaps():
    class Memory(naive_bayes.GaussianNB):
        seen = []  # noqa: RUF012

        def learn_one(self, x, y):
            self.seen.append((dict(x), y))

    schema = Schema((Feature("sky", values=("clear", "grey")), Feature("degrees")))
    learner = compat.river.wrap(Memory()).declare(schema)
    learner.partial_fit([[1.0, 20.5], [np.nan, 3.0]], ["dry", "wet"])
    assert Memory.seen == [({"sky": "grey", "degrees": 20.5}, 0), ({"degrees": 3.0}, 1)]


def test_refusals():
    with pytest.raises(TypeError, match=r"model must have partial_fit, and RandomForestClassifier has not: Retrain"):
        compat.sklearn.wrap(RandomForestClassifier())
    with pytest.raises(TypeError, match=r"model must be a classifier, got the regressor SGDRegressor\(\)"):
        compat.sklearn.wrap(SGDRegressor())
    with pytest.raises(
        TypeError, match="model must be a classifier of river, with learn_one and predict_proba_one, got 3"
    ):
        compat.river.wrap(3)
    with pytest.raises(
        TypeError, match="learner must be a Classifier, or a classifier of scikit-learn .* or river, got <"
    ):
        as_learner(GaussianNB)
    with pytest.raises(
        ValueError, match="y must hold two classes for LogisticRegression, .*, got 3: river.multiclass.One"
    ):
        compat.river.wrap(linear_model.LogisticRegression()).partial_fit([[1.0], [2.0], [3.0]], ["a", "b", "c"])
    with pytest.raises(ValueError, match="X has 2 features"):
        compat.sklearn.wrap(GaussianNB()).partial_fit(*rows()).predict([[1.0, 2.0]])
    assert isinstance(compat.river.wrap(MajorityClass()), RiverClassifier)


def test_a_seed_makes_a_model_without_one_deterministic():
    X, y = rows()
    for make in (WRAPPED["sgd"], WRAPPED["river forest"]):
        assert np.array_equal(make().test_then_train(X, y), make().test_then_train(X, y))


@pytest.mark.filterwarnings("ignore:GaussianNB is called:UserWarning")
def test_in_a_comparison():
    found = compare(
        {"theirs": GaussianNB(), "wrapped": compat.sklearn.wrap(GaussianNB(), batch=50), "ours": "naive-bayes"},
        on=["sea"],
        limit=300,
    )
    assert not found.failures
    assert [found.of(name, "sea")[0].rows for name in ("theirs", "wrapped", "ours")] == [300, 300, 300]
    with pytest.raises(
        TypeError, match="learners must be texts .*, classifiers of scikit-learn or river, or functions"
    ):
        compare([3], on=["sea"])
