"""River takes a wrapped learner for one of its own."""

import copy
import random
import subprocess
import sys

import numpy as np
import pytest
from centroids import Centroids

from thalweg import SEA, Feature, HoeffdingTree, MajorityClass, NaiveBayes, NoChange, Schema

pytest.importorskip("river", reason="river is not installed: pip install 'thalweg[river]'")
pytest.importorskip("pandas", reason="pandas is not installed")

import pandas as pd
from river import base, checks, compose, datasets, evaluate, metrics, model_selection, preprocessing, stream, utils

from thalweg.compat.river import RiverClassifier, wrap

LEARNERS = [HoeffdingTree(), NaiveBayes(), MajorityClass(), NoChange()]
PHISHING = list(datasets.Phishing().take(600))


def _cases():
    for learner in LEARNERS:
        for i, check in enumerate(checks.yield_checks(wrap(learner.copy()))):
            yield pytest.param(learner, check, id=f"{learner!r}-{i}-{check.__name__}")


@pytest.mark.parametrize(("learner", "check"), [*_cases()])
def test_every_check_of_river(learner, check):
    model = wrap(learner.copy())
    assert not model._unit_test_skips()
    random.seed(1)
    check(model.clone())


def test_river_runs_them_its_own_way():
    checks.check_estimator(RiverClassifier(**next(RiverClassifier._unit_test_params())))


# -- it is the learner ------------------------------------------------------------------------------------------------


def test_the_verbs_are_those_of_the_learner():
    model, plain = wrap(HoeffdingTree(grace_period=50)), HoeffdingTree(grace_period=50)
    for x, y in PHISHING:
        assert model.predict_proba_one(x) == plain.predict_proba_one(x)
        assert model.predict_one(x) == plain.predict_one(x)
        assert model.learn_one(x, y) is None
        plain.learn_one(x, y)
    assert isinstance(model, base.MiniBatchClassifier)
    assert model._multiclass
    assert model.learner.state_bytes == plain.state_bytes


def test_before_any_label():
    model = wrap(HoeffdingTree())
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    assert model.predict_many(frame).tolist() == [None, None]
    assert model.predict_proba_many(frame).shape == (2, 0)


def test_weight():
    model = wrap(MajorityClass())
    model.learn_one({"a": 1.0}, "x", w=3.0)
    model.learn_one({"a": 1.0}, "y")
    model.learn_one({"a": 1.0}, "z", w=0.0)
    assert model.predict_proba_one({}) == {"x": 0.75, "y": 0.25}


def test_only_learners_are_wrapped():
    with pytest.raises(
        TypeError, match="model must be a classifier of river, with learn_one and predict_proba_one, got 3"
    ):
        wrap(3)


# -- features that come and go ----------------------------------------------------------------------------------------


def test_features_come_and_go():
    model = wrap(HoeffdingTree())
    model.learn_one({"a": 1.0, "b": 2.0}, "x")
    model.learn_one({"b": 1.0, "colour": "red"}, "y")
    assert model.learner.schema.names == ("a", "b", "colour")
    model.predict_one({"other": 3.0})  # predicting changes nothing
    assert model.learner.schema.names == ("a", "b", "colour")
    model.learn_many(pd.DataFrame({"d": [1.0, 2.0], "colour": ["blue", None]}), pd.Series(["x", "z"]))
    assert model.learner.schema.names == ("a", "b", "colour", "d")
    assert model.learner.schema.features[2].values == ("red", "blue")
    assert set(model.predict_proba_one({})) == {"x", "y", "z"}


def test_a_late_feature_is_learned():
    model, rng = wrap(HoeffdingTree(grace_period=50)), np.random.default_rng(1)
    for i in range(1500):
        v = float(rng.random())
        model.learn_one({"noise": float(rng.random())} | ({"late": v} if i >= 300 else {}), v > 0.5)
    right = [model.predict_one({"noise": 0.5, "late": v}) == (v > 0.5) for v in np.linspace(0.0, 1.0, 101)]
    assert np.mean(right) > 0.95


def test_a_learner_without_a_rule_for_missing_values_says_so():
    model = wrap(Centroids())
    model.learn_one({"a": 1.0, "b": 2.0}, "x")
    before = model.learner.state()
    with pytest.raises(ValueError, match="it lacks 'b'"):
        model.learn_one({"a": 1.0}, "y")
    with pytest.raises(ValueError, match="no missing value"):
        model.learn_many(pd.DataFrame({"a": [1.0]}), pd.Series(["y"]))
    assert all(np.array_equal(before[k], v) for k, v in model.learner.state().items())


def test_any_hashable_names_a_feature():
    X, y = np.random.default_rng(1).random((50, 3)), [0, 1] * 25
    by_number, by_name, by_frame = wrap(NaiveBayes()), wrap(NaiveBayes()), wrap(NaiveBayes())
    for x, label in stream.iter_array(X, y):
        by_number.learn_one(x, label)
        by_name.learn_one({str(k): v for k, v in x.items()}, label)
    by_frame.learn_many(pd.DataFrame(X), pd.Series(y))
    x = dict(enumerate(X[0]))
    assert by_number.predict_proba_one(x) == by_name.predict_proba_one({str(k): v for k, v in x.items()})
    assert by_number.predict_proba_one(x) == by_frame.predict_proba_one(x)


# -- frames -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("size", [7, 600])
def test_many_equals_one_after_the_other(learner, size):
    one, many = wrap(learner.copy()), wrap(learner.copy())
    for x, y in PHISHING:
        one.learn_one(x, y)
    X, y = pd.DataFrame([x for x, _ in PHISHING]), pd.Series([y for _, y in PHISHING])
    for i in range(0, len(X), size):
        many.learn_many(X[i : i + size], y[i : i + size])
    np.testing.assert_array_equal(
        many.predict_proba_many(X).to_numpy(), [list(one.predict_proba_one(x).values()) for x, _ in PHISHING]
    )


def test_answers_have_the_index_of_the_frame():
    model = wrap(MajorityClass())
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[7, 5, 3])
    model.learn_many(X, pd.Series(["u", "v", "v"], index=[7, 5, 3]))
    assert model.predict_many(X).to_dict() == {7: "v", 5: "v", 3: "v"}
    proba = model.predict_proba_many(X)
    assert proba.index.tolist() == [7, 5, 3]
    assert proba.columns.tolist() == ["u", "v"]


@pytest.mark.parametrize("frame", [{"a": [1.0, float("inf")]}, {"a": [1.0]}, {"a": [1.0, 2.0], "b": [b"x", b"y"]}])
def test_a_bad_frame_changes_nothing(frame):
    model = wrap(HoeffdingTree())
    with pytest.raises((ValueError, TypeError), match="must"):
        model.learn_many(pd.DataFrame(frame), pd.Series(["x", "y"]))
    assert model.learner.schema is None
    assert model.predict_proba_one({"a": 1.0}) == {}


# -- clones -----------------------------------------------------------------------------------------------------------


def test_clone():
    model = wrap(HoeffdingTree(delta=0.01))
    for x, y in PHISHING[:50]:
        model.learn_one(x, y)
    x = PHISHING[0][0]
    assert model.clone().predict_proba_one(x) == {}
    assert model.clone().learner.get_params() == model.learner.get_params()
    assert model.clone(include_attributes=True).predict_proba_one(x) == model.predict_proba_one(x)
    assert copy.deepcopy(model).predict_proba_one(x) == model.predict_proba_one(x)
    assert (
        model.clone({"learner": {"tau": 0.5}}).learner.get_params() == HoeffdingTree(delta=0.01, tau=0.5).get_params()
    )
    assert model.clone({"learner": (NaiveBayes, {})}).learner.get_params() == {}
    with pytest.raises(ValueError, match="new_params must name a parameter of this model: learner, got 'tau'"):
        model.clone({"tau": 0.5})
    with pytest.raises(ValueError, match="tau must lie in"):
        model.clone({"learner": {"tau": 5}})


def test_a_given_learner_is_not_shared_by_clones():
    given = MajorityClass().partial_fit([[1.0]], ["x"])
    wrap(HoeffdingTree()).clone({"learner": given}).learn_one({"x0": 1.0}, "y")
    assert given.classes_.tolist() == ["x"]


def test_a_grid_of_parameters():
    pipe = preprocessing.StandardScaler() | wrap(HoeffdingTree())
    models = utils.expand_param_grid(pipe, {"RiverClassifier": {"learner": {"grace_period": [50, 100, 200]}}})
    assert [m["RiverClassifier"].learner.grace_period for m in models] == [50, 100, 200]
    chosen = model_selection.SuccessiveHalvingClassifier(models, metric=metrics.Accuracy(), budget=1000)
    assert evaluate.progressive_val_score(PHISHING, chosen, metrics.Accuracy()).get() > 0.8


# -- where river models go --------------------------------------------------------------------------------------------


def test_progressive_validation_of_a_pipeline():
    model = preprocessing.StandardScaler() | wrap(HoeffdingTree())
    assert evaluate.progressive_val_score(PHISHING, model, metrics.Accuracy()).get() > 0.8
    assert evaluate.progressive_val_score(PHISHING, wrap(HoeffdingTree()), metrics.ROCAUC()).get() > 0.85


def test_progressive_validation_is_test_then_train():
    chunk = SEA(seed=1).read(1000)
    tree, model = HoeffdingTree(), wrap(HoeffdingTree())
    proba = tree.test_then_train(chunk.X, chunk.y)
    codes = np.array([tree.classes_.tolist().index(v) for v in chunk.y.tolist()])
    right = (proba.argmax(axis=1) == codes)[1:].sum()  # the first row has no class to predict, and river skips it
    metric = evaluate.progressive_val_score(stream.iter_array(chunk.X, chunk.y.tolist()), model, metrics.Accuracy())
    assert metric.get() == pytest.approx(right / 999)


def test_mini_batches_through_a_pipeline():
    model = preprocessing.StandardScaler() | wrap(NaiveBayes())
    X, y = pd.DataFrame([x for x, _ in PHISHING]), pd.Series([y for _, y in PHISHING])
    for i in range(0, 600, 100):
        model.learn_many(X[i : i + 100], y[i : i + 100])
    assert (model.predict_many(X) == y).mean() > 0.85
    assert isinstance(model, compose.Pipeline)


def test_a_declared_learner_keeps_its_schema():
    schema = Schema((Feature("size", values=("s", "m", "l")),), classes=("no", "yes"))
    model = wrap(HoeffdingTree().declare(schema))
    model.learn_one({"size": "m"}, "yes")
    assert model.predict_one({"size": "m"}) == "yes"
    with pytest.raises(ValueError, match="x must have the features"):
        model.learn_one({"size": "m", "weight": 1.0}, "yes")


def test_without_river_a_sentence_names_the_extra():
    code = "import sys; sys.modules['river'] = None\nimport thalweg.compat.river"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith("ImportError: thalweg.compat.river needs river: pip install 'thalweg[river]'")
