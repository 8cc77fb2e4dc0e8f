"""Scikit-learn takes a learner as it is."""

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest
from centroids import Centroids

from thalweg import Classifier, HoeffdingTree, MajorityClass, NaiveBayes, NoChange
from thalweg.compat.sklearn import EXPECTED_FAILURES, check

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'thalweg[sklearn]'")

import joblib
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

LEARNERS = [HoeffdingTree(), HoeffdingTree(leaf="bayes", criterion="gini"), NaiveBayes(), MajorityClass(),
            NoChange(), Centroids()]  # fmt: skip
X, Y = make_classification(600, 6, random_state=0)
WORDS = np.array(["no", "yes"])[Y]


# -- scikit-learn's own checks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_every_check_of_scikit_learn(learner):
    results = check(learner)
    assert {r["check_name"] for r in results if r["status"] == "xfail"} <= EXPECTED_FAILURES.keys()
    assert sum(r["status"] == "passed" for r in results) > 50


def test_the_table_is_not_stale():
    results = check(HoeffdingTree())
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == EXPECTED_FAILURES.keys()


class Moody(Classifier):
    """Predicts by the place of a row in its chunk, which no learner may."""

    def _start(self, schema):
        self._seen = np.zeros(1)

    def _play(self, X, y, w, events, out, known):
        self._seen += len(y)
        out[np.arange(len(out)), np.arange(len(out)) % max(known, 1)] = 1.0

    def _tables(self):
        return {"seen": self._seen}

    def _adopt(self, tables, schema, classes):
        self._seen = tables["seen"]

    blind = True


def test_a_learner_that_breaks_a_promise_is_caught():
    with pytest.raises(AssertionError):
        check(Moody())


# -- what people do with a classifier ---------------------------------------------------------------------------------


def test_clone_has_the_parameters_and_none_of_the_knowledge():
    tree = HoeffdingTree(grace_period=50, leaf="bayes").fit(X, Y)
    twin = clone(tree)
    assert twin.get_params() == tree.get_params()
    assert twin.schema is None
    assert is_classifier(twin)


def test_pipeline():
    pipe = make_pipeline(StandardScaler(), HoeffdingTree()).fit(X, WORDS)
    alone = HoeffdingTree().fit(StandardScaler().fit_transform(X), WORDS)
    np.testing.assert_array_equal(pipe.predict_proba(X), alone.predict_proba(StandardScaler().fit_transform(X)))
    assert pipe.score(X, WORDS) > 0.9
    assert pipe.classes_.tolist() == ["no", "yes"]


def test_pipeline_of_frames():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(g=np.where(Y, "left", "right"))
    frame.index = pd.Index(range(1000, 1600), name="id")  # an index is no feature
    tree = HoeffdingTree().fit(frame, WORDS)
    assert tree.feature_names_in_.tolist() == list("abcdefg")
    assert tree.schema.features[-1].nominal
    np.testing.assert_array_equal(tree.predict(frame), tree.predict(frame[list("gfedcba")]))
    assert cross_val_score(HoeffdingTree(), frame, WORDS, cv=3).min() > 0.9


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_grid_search(n_jobs):
    search = GridSearchCV(HoeffdingTree(), {"grace_period": [50, 200], "leaf": ["majority", "bayes"]}, cv=3)
    with joblib.parallel_config("threading", n_jobs=n_jobs):  # processes would spend ten seconds on imports
        search.fit(X, WORDS)
    means = search.cv_results_["mean_test_score"]
    assert len(means) == 4
    assert np.ptp(means) > 0.01  # the parameters reach the trees
    assert search.best_estimator_.get_params() == HoeffdingTree(**search.best_params_).get_params()
    assert search.score(X, WORDS) > 0.9


def test_grid_search_names_a_bad_value():
    with pytest.raises(ValueError, match=r"grace_period must lie in \(0, ∞\), got -1"):
        GridSearchCV(HoeffdingTree(), {"grace_period": [-1, 200]}, cv=3, error_score="raise").fit(X, Y)


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss", "f1_macro"])
def test_cross_validation(scoring):
    scores = cross_val_score(HoeffdingTree(), X, Y, cv=3, scoring=scoring)
    assert scores.min() > cross_val_score(MajorityClass(), X, Y, cv=3, scoring=scoring).max()


def test_voting_and_calibration():
    vote = VotingClassifier([("tree", HoeffdingTree()), ("bayes", NaiveBayes())], voting="soft").fit(X, WORDS)
    assert vote.score(X, WORDS) > 0.9
    calibrated = CalibratedClassifierCV(NaiveBayes(), cv=3).fit(X, WORDS)
    assert calibrated.score(X, WORDS) > 0.85
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_a_page_shows_a_pipeline():
    assert "HoeffdingTree" in estimator_html_repr(make_pipeline(StandardScaler(), HoeffdingTree()))


# -- what scikit-learn's verbs promise here ---------------------------------------------------------------------------


def test_fit_begins_anew_and_sorts_the_classes():
    tree = HoeffdingTree().partial_fit(X, np.where(Y, "a", "b"))
    assert tree.fit(X[::-1], WORDS[::-1]).classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(tree.predict_proba(X), HoeffdingTree().fit(X[::-1], WORDS[::-1]).predict_proba(X))


def test_labels_of_any_hashable_type_go_through_fit_and_copy():
    pairs = [(int(v), "x") for v in Y]
    tree = HoeffdingTree().fit(X, pairs)
    assert tree.score(X, pairs) > 0.9
    assert tree.copy().predict_one(X[0]) == tree.predict_one(X[0])


BAD = [
    (lambda t: t.fit(X, None), ValueError, "requires y"),
    (lambda t: t.fit(X[:0], Y[:0]), ValueError, "at least one label"),
    (lambda t: t.fit(X[:, :0], Y), ValueError, "0 feature"),
    (lambda t: t.fit(X, Y[:-1]), ValueError, "600 rows of X, got 599"),
    (lambda t: t.fit(X, Y, sample_weight=np.zeros(600)), ValueError, "above zero"),
    (lambda t: t.fit(X, Y, sample_weight=[1.0]), ValueError, "one number for each of the 600"),
    (lambda t: t.fit(X, X[:, 0]), ValueError, "Unknown label type: continuous"),
    (lambda t: t.fit(X, np.c_[Y, Y]), ValueError, "y must have one dimension"),
    (lambda t: t.predict(X[:, :4]), ValueError, "X has 4 features, but thalweg is expecting 6"),
    (lambda t: t.predict(X[0]), ValueError, "Reshape your data"),
    (lambda t: t.predict(X * 1j), ValueError, "Complex data not supported"),
    (lambda t: t.score(X, Y[:-1]), ValueError, "600 rows of X, got 599"),
    (lambda t: t.score(X[:0], Y[:0]), ValueError, "a label for each of the 0 rows"),
    (lambda t: t.play(X[:3], Y[:5], [0, ~4]), ValueError, "each of the 3 rows of X, got 5"),
    (lambda t: t.set_params(tau=2), ValueError, "tau must lie in"),
    (lambda t: t.set_params(speed=2), ValueError, "Invalid parameter 'speed'"),
]


@pytest.mark.parametrize(("act", "error", "words"), BAD)
def test_bad_input_gets_a_sentence_and_changes_nothing(act, error, words):
    tree = HoeffdingTree().fit(X, Y)
    before = tree.state()
    with pytest.raises(error, match=words):
        act(tree)
    after = tree.state()
    assert before.keys() == after.keys()
    assert all(before[k].tobytes() == after[k].tobytes() for k in before)


def test_sparse_input_is_named():
    sparse = pytest.importorskip("scipy.sparse")
    for kind in (sparse.csr_array, sparse.dok_array, sparse.dok_matrix):
        with pytest.raises(TypeError, match="got a sparse matrix"):
            HoeffdingTree().fit(kind(X), Y)


def test_a_column_of_labels_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        tree = HoeffdingTree().fit(X, Y[:, None])
    np.testing.assert_array_equal(tree.predict(X), HoeffdingTree().fit(X, Y).predict(X))
    assert tree.score(X, Y[:, None]) == tree.score(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HoeffdingTree().partial_fit(X, Y[:, None])


def test_a_weight_is_a_number_of_repetitions():
    w = np.arange(len(X)) % 4
    for make in (NaiveBayes, MajorityClass, NoChange, Centroids):
        weighted, repeated = make().fit(X, Y, sample_weight=w), make().fit(X.repeat(w, axis=0), Y.repeat(w))
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_constructors_take_their_parameters_and_nothing_else():
    assert str(inspect.signature(MajorityClass)) == "() -> None"
    assert list(inspect.signature(Centroids).parameters) == ["sharpness"]
    for cls in (MajorityClass, HoeffdingTree):
        with pytest.raises(TypeError, match="(has no parameter|unexpected keyword argument) 'speed'"):
            cls(speed=3)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t)), lambda t: t.copy()])
def test_copies_know_the_same_and_go_their_own_way(learner, way):
    learner = clone(learner).partial_fit(X[:300], WORDS[:300])
    twin = way(learner)
    np.testing.assert_array_equal(twin.predict_proba(X), learner.predict_proba(X))
    before = learner.predict_proba(X)
    twin.partial_fit(X[300:], np.full(300, "new"))
    assert twin.classes_.tolist()[-1] == "new"
    assert "new" not in learner.classes_
    np.testing.assert_array_equal(learner.predict_proba(X), before)
    np.testing.assert_array_equal(
        twin.predict_proba(X), learner.partial_fit(X[300:], np.full(300, "new")).predict_proba(X)
    )


def test_arguments_of_partial_fit_have_the_order_of_scikit_learn():
    tree = HoeffdingTree().partial_fit([[1.0], [2.0]], [0, 1], [0, 1, 2])
    assert tree.classes_.tolist() == [0, 1, 2]
    assert list(inspect.signature(NaiveBayes.partial_fit).parameters) == ["self", "X", "y", "classes", "sample_weight"]
    light = NaiveBayes().partial_fit([[1.0], [2.0]], [0, 1], None, [1.0, 0.0])
    assert light.classes_.tolist() == [0]
