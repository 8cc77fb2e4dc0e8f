"""RetrainOnDrift: starts anew at a drift, at rows that no division into chunks can move."""

import numpy as np
import pytest

from thalweg import (
    ADWIN,
    Agrawal,
    DriftStream,
    HoeffdingTree,
    MajorityClass,
    NaiveBayes,
    RetrainOnDrift,
    checks,
    load,
    prequential,
    save,
)

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'thalweg[sklearn]'")

from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

EAGER = {"window": 300, "keep": 30, "detector": "ddm"}
MAKERS = {
    "naive-bayes": lambda: RetrainOnDrift(NaiveBayes(), **EAGER),
    "every 170 rows": lambda: RetrainOnDrift(HoeffdingTree(grace_period=20), every=170, **EAGER),
    "without a detector": lambda: RetrainOnDrift(NaiveBayes(), detector=None, window=60, keep=60, every=60),
}
FITTED = {
    "tree": lambda: RetrainOnDrift(DecisionTreeClassifier(max_depth=3), **EAGER),
    "pipeline": lambda: RetrainOnDrift(make_pipeline(StandardScaler(), KNeighborsClassifier(3)), **EAGER),
}


def rows(n=700):
    """Three concepts; the third class is new in the second."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    first, second, third = X[:, 0] > 0, 1 + (X[:, 1] > 0), X[:, 0] < 0
    where = np.arange(n)
    return X, np.array(["a", "b", "c"])[np.where(where < 200, first, np.where(where < 450, second, third)).astype(int)]


@pytest.mark.parametrize("check", checks.CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_with_a_learner_inside_it_keeps_every_promise(name, check):
    check(MAKERS[name])


@pytest.mark.parametrize("name", [*MAKERS, *FITTED])
def test_chunks_and_copies_change_nothing(name):
    X, y = rows()
    make = (MAKERS | FITTED)[name]
    whole, parts = make(), make()
    want = whole.test_then_train(X, y)
    found = np.zeros_like(want)
    for start in range(0, len(X), 13):
        some = parts.test_then_train(X[start : start + 13], y[start : start + 13])
        found[start : start + 13, : some.shape[1]] = some
        parts = parts.copy()
    assert np.array_equal(found, want)
    assert np.allclose(want[1:].sum(axis=1), 1.0)
    learned = make()
    learned.partial_fit(X, y)  # rows that were not asked about are judged all the same
    assert learned.n_drifts == whole.n_drifts
    assert np.array_equal(learned.predict_proba(X), whole.predict_proba(X))
    if name != "without a detector":
        assert whole.n_drifts >= 2


def test_it_recovers_from_a_drift_where_the_classifier_alone_does_not():
    def accuracy(learner):
        stream = DriftStream(Agrawal(function=1, seed=1), Agrawal(function=2, seed=2), position=3_000)
        result = prequential(stream, learner, limit=6_000)
        return result.accuracy, result.detected

    tree = DecisionTreeClassifier(max_depth=5)
    once, _ = accuracy(RetrainOnDrift(tree, window=1_000, detector=None))
    again, detected = accuracy(RetrainOnDrift(tree, window=1_000))
    assert again > once + 0.1
    assert detected == [4_000]  # the report after it
    assert accuracy(RetrainOnDrift(NaiveBayes()))[0] > accuracy(NaiveBayes())[0] + 0.05


def test_saved_with_a_learner_inside_and_never_with_another_library_s(tmp_path):
    X, y = rows()
    learner = RetrainOnDrift(HoeffdingTree(grace_period=20), **EAGER | {"detector": ADWIN(delta=0.1)})
    learner.partial_fit(X[:333], y[:333])
    save(learner, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert np.array_equal(again.test_then_train(X[333:], y[333:]), learner.test_then_train(X[333:], y[333:]))
    with pytest.raises(
        TypeError, match="DecisionTreeClassifier is a classifier of another library and cannot be saved"
    ):
        save(FITTED["tree"]().partial_fit(X, y), tmp_path / "never.safetensors")
    assert not (tmp_path / "never.safetensors").exists()


def test_a_file_that_could_not_have_been_saved_is_refused():
    X, y = rows(120)
    state = MAKERS["naive-bayes"]().partial_fit(X, y).state()
    for table, wrong in (
        ("kept.codes", np.full_like(state["kept.codes"], 7)),
        ("kept.weights", np.zeros_like(state["kept.weights"])),
        ("kept.rows", np.full_like(state["kept.rows"], np.inf)),
        ("kept.rows", np.zeros((999, 4))),
        ("kept.counts", -state["kept.counts"]),
        ("kept.counts", np.full_like(state["kept.counts"], 9)),
        ("detector.table", state["detector.table"] * np.nan),
    ):
        with pytest.raises(ValueError, match="state must be what RetrainOnDrift"):
            MAKERS["naive-bayes"]().restore(state | {table: wrong})


def test_parameters_and_weights():
    X, y = rows(200)
    with pytest.raises(ValueError, match="keep must be at most the window, 60, got 61"):
        RetrainOnDrift(NaiveBayes(), window=60, keep=61)
    with pytest.raises(TypeError, match="learner must be a classifier with fit, predict and get_params, got 3"):
        RetrainOnDrift(3)
    with pytest.raises(ValueError, match="detector must be one of adwin"):
        RetrainOnDrift(NaiveBayes(), detector="drift")
    with pytest.raises(ValueError, match="sample_weight must be 1 for KNeighborsClassifier, which takes no weights"):
        RetrainOnDrift(KNeighborsClassifier()).partial_fit(X, y, sample_weight=np.full(200, 2.0))
    weighted = FITTED["tree"]().partial_fit(X, y, sample_weight=np.arange(200) % 3)
    assert weighted.model.get_depth() > 0
    assert FITTED["tree"]().fit(X, y).score(X, y) > 0.5
    assert isinstance(RetrainOnDrift(MajorityClass()).model, MajorityClass)
    one = FITTED["tree"]().partial_fit(X[:80], ["a"] * 80)
    assert one.predict_one(X[0]) == "a"
