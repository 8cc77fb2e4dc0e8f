"""A pipeline is a learner like any other, and works wherever learners do."""

import json

import numpy as np
import pandas as pd
import pytest

import thalweg
from thalweg import (
    ActiveLearner,
    Agrawal,
    Balanced,
    DateParts,
    HashedText,
    HoeffdingTree,
    Imputer,
    MinMaxScaler,
    NaiveBayes,
    OneHot,
    Pipeline,
    Predictor,
    Random,
    Select,
    StandardScaler,
    TargetEncoder,
    Trainer,
    Vote,
    WindowKNN,
    checks,
    compare,
    pipeline,
    prequential,
)

EAGER = {"grace_period": 20, "delta": 0.2, "tau": 0.2}
MAKERS = {
    "tree": lambda: pipeline(StandardScaler(), Imputer(indicator=True), OneHot(max_values=2), HoeffdingTree(**EAGER)),
    "sparse": lambda: pipeline(StandardScaler(centre=False), WindowKNN(window=50)),
    "no transformers": lambda: pipeline(NaiveBayes()),
    "many": lambda: pipeline(
        MinMaxScaler(clip=True), Imputer(strategy="most_frequent"), StandardScaler(decay=0.9), NaiveBayes()
    ),
}
SLOW = ("same_without_compilation", "same_seed_same_bits")


@pytest.mark.parametrize(
    "check", [c for c in checks.CLASSIFIER_CHECKS if c.__name__ not in SLOW], ids=lambda c: c.__name__
)
@pytest.mark.parametrize("name", MAKERS)
def test_promises(name, check):
    check(MAKERS[name])


def mixed(n=400, seed=1):
    """A stream with nominal columns and gaps."""
    stream = Agrawal(seed=seed)
    found = stream.read(n)
    X = found.X.copy()
    X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    return X, found.y, stream.schema


def test_a_pipeline_is_its_parts_one_after_another():
    X, y, schema = mixed()
    whole = pipeline(StandardScaler(), OneHot(max_values=3), HoeffdingTree(**EAGER)).declare(schema)
    got = whole.test_then_train(X, y)
    scaler, encoder, tree = StandardScaler(), OneHot(max_values=3), HoeffdingTree(**EAGER)
    tree.declare(encoder.meet(scaler.meet(schema)))
    wanted = tree.test_then_train(encoder.transform_then_learn(scaler.transform_then_learn(X)), y)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(whole.transform(X), encoder.transform(scaler.transform(X)))
    assert [type(step) for step in whole.steps] == [StandardScaler, OneHot]
    assert isinstance(whole.model, HoeffdingTree)


def test_events_are_seen_as_moments():
    from thalweg.prepare.moments import moments
    from twins import preparing

    rng = np.random.default_rng(1)
    each = np.arange(40)
    orders = [each, ~each, np.stack([each, ~each], axis=1).ravel(), np.zeros(0, dtype=np.int64), np.array([3, ~3, ~3])]
    for events in (*orders, *(rng.integers(-4, 4, 30) for _ in range(50))):
        at = moments(events)
        assert (at.rows.tolist(), at.learned.tolist(), at.events.tolist()) == preparing.moments(events.tolist())
        assert at.consecutive == (len(at.rows) > 0 and bool((np.diff(at.rows) == 1).all()))


def test_large_chunks_are_divided(monkeypatch):
    X, y, schema = mixed()
    wanted = MAKERS["tree"]().declare(schema).test_then_train(X, y)
    monkeypatch.setattr("thalweg.prepare.pipeline.BLOCK", 7)
    np.testing.assert_array_equal(MAKERS["tree"]().declare(schema).test_then_train(X, y), wanted)


def test_in_an_evaluation_with_delay_and_a_checkpoint(tmp_path):
    make = MAKERS["tree"]
    whole = prequential(Agrawal(seed=3), make(), limit=3_000, delay=20)
    prequential(Agrawal(seed=3), make(), limit=1_500, delay=20, checkpoint=tmp_path / "run")
    resumed = prequential(Agrawal(seed=3), make(), limit=3_000, delay=20, checkpoint=tmp_path / "run", resume=True)
    assert resumed.accuracy == whole.accuracy
    assert whole.params["transformers"][0] == "StandardScaler()"


def test_inside_other_learners(tmp_path):
    X, y, schema = mixed()
    inner = MAKERS["tree"]()
    single = inner.fresh().declare(schema).test_then_train(X, y)
    asking = ActiveLearner(learner=inner, strategy=Random(budget=1.0)).declare(schema)
    np.testing.assert_array_equal(asking.test_then_train(X, y), single)
    np.testing.assert_array_equal(Vote(learners=(inner,)).declare(schema).test_then_train(X, y), single)
    thalweg.save(asking, tmp_path / "asking")
    np.testing.assert_array_equal(thalweg.load(tmp_path / "asking").predict_proba(X), asking.predict_proba(X))
    nested = pipeline(StandardScaler(), pipeline(Imputer(), NaiveBayes()))
    flat = pipeline(StandardScaler(), Imputer(), NaiveBayes())
    np.testing.assert_array_equal(
        nested.declare(schema).test_then_train(X, y), flat.declare(schema).test_then_train(X, y)
    )


def test_trained_and_answered_apart(tmp_path):
    X, y, _ = mixed()
    X = X[:, :3]
    learner = pipeline(StandardScaler(), Imputer(), NaiveBayes())
    with Trainer(learner, tmp_path, every=100) as trainer, Predictor(tmp_path, wait=None, poll=None) as predictor:
        trainer.feed(X, y)
        predictor.refresh()
        np.testing.assert_array_equal(predictor.predict_proba(X[:9]), trainer.learner.predict_proba(X[:9]))


def test_records_one_by_one():
    learner = pipeline(StandardScaler(), OneHot(), Imputer(), NaiveBayes())
    for i in range(60):
        learner.learn_one({"size": i % 7 + 10.0 * (i % 2), "hue": "red" if i % 2 else "blue"}, i % 2)
    assert learner.predict_one({"size": 14.0, "hue": "red"}) == 1
    assert learner.predict_one({"hue": "blue"}) == 0
    assert learner.predict_one({"size": 3.0, "hue": "never heard of"}) == 0


def test_names_with_bars(tmp_path):
    from thalweg.registry.typed import learner_takes_seed, make_learner

    made = make_learner("standard-scaler(columns=[salary, age]) | one-hot(max_values=4) | arf(size=3)@0.5", seed=7)
    inner = made.learner
    assert isinstance(inner, Pipeline)
    assert inner.transformers == made.learner.transformers
    assert inner.transformers[0].columns == ["salary", "age"]
    assert inner.learner.seed == 7
    assert learner_takes_seed("imputer | arf")
    assert not learner_takes_seed("imputer | naive-bayes")
    found = compare({"scaled": "standard-scaler|naive-bayes", "raw": "naive-bayes"}, on=["sea"], limit=500)
    assert found.of("scaled", "sea")[0].rows == 500
    with pytest.raises(ValueError, match="^transformer must be a known name, got 'standard-scalar': did you mean"):
        make_learner("standard-scalar | arf")
    with pytest.raises(ValueError, match="^one-hot has no parameter 'values'"):
        make_learner("one-hot(values=3) | arf")


class Rejecting(thalweg.Classifier):
    """A learner that takes no missing values."""

    def _start(self, schema): ...

    def _play(self, X, y, w, events, out, known):
        out[events[events >= 0], :known] = 1 / max(known, 1)

    def _tables(self):
        return {"nothing": np.zeros(1)}

    def _adopt(self, tables, schema, classes): ...


def test_refusals():
    with pytest.raises(TypeError, match="^the last part of a pipeline must be a learner, got StandardScaler"):
        pipeline(StandardScaler())
    with pytest.raises(TypeError, match="^each of transformers must be a transformer, got NaiveBayes"):
        pipeline(NaiveBayes(), NaiveBayes())
    with pytest.raises(TypeError, match="^pipeline must be given"):
        pipeline()
    with pytest.raises(TypeError, match="^transformers must be a list"):
        Pipeline(transformers="standard-scaler", learner=NaiveBayes())
    learner = pipeline(StandardScaler("no such column"), NaiveBayes())
    with pytest.raises(ValueError, match="^columns of StandardScaler must be among"):
        learner.partial_fit([[1.0]], ["a"])
    assert learner.schema is None
    with pytest.raises(TypeError, match="^a Pipeline explains no answer"):
        learner.explain_one([1.0])
    with pytest.raises(ValueError, match="^X must hold no missing value"):
        pipeline(StandardScaler(), Rejecting()).partial_fit([[np.nan]], ["a"])


def test_its_parts_can_be_taken_out():
    X, y, schema = mixed()
    whole = pipeline(TargetEncoder(), Select(k=2, by="hoeffding-tree", every=100), HoeffdingTree()).declare(schema)
    whole.partial_fit(X, y)
    encoder, select = whole.steps
    assert len(select.selected) == 2
    Z = encoder.transform(X)
    np.testing.assert_array_equal(select.transform(Z), whole.transform(X))


def test_a_stream_of_frames_with_new_words():
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(1)
    n = 900
    words = [f"w{rng.integers(0, 3 + i // 100)}" for i in range(n)]
    y = [f"c{len(w) > 2}" if rng.random() < 0.9 else "cFalse" for w in words]
    table = pa.table({"size": rng.normal(size=n), "word": words})
    runs = []
    for size in (100, 37):
        learner = pipeline(StandardScaler(), OneHot(max_values=5), HoeffdingTree(**EAGER))
        proba = [learner.test_then_train(table.slice(i, size), y[i : i + size]) for i in range(0, n, size)]
        runs.append(np.concatenate([np.pad(p, ((0, 0), (0, 2 - p.shape[1]))) for p in proba]))
    np.testing.assert_array_equal(*runs)


def test_the_command_line(run, tmp_path):
    words = ["--prep", "standard-scaler", "--prep", "one-hot(max_values=4)", "--save", tmp_path / "m.safetensors"]
    code, out, err = run("run", "naive-bayes", "agrawal", *words, "--limit", 500, "--json", "-")
    assert (code, err) == (0, "")
    assert json.loads(out)["learner"] == "standard-scaler | one-hot(max_values=4) | naive-bayes"
    assert isinstance(thalweg.load(tmp_path / "m.safetensors"), Pipeline)


def test_what_is_made_of_a_column_counts_for_the_column() -> None:
    rng = np.random.default_rng(3)
    n = 3000
    left = rng.random(n) < 0.5
    frame = pd.DataFrame(
        {"day": pd.date_range("2024-01-01", periods=n, freq="h").astype(str), "noise": rng.normal(size=n),
         "note": np.where(left, "cancel", "thanks"), "plan": rng.choice(["a", "b"], n)}
    )  # fmt: skip
    parts = (DateParts("day"), HashedText("note", width=16), StandardScaler(), OneHot("plan"))
    learner = pipeline(*parts, HoeffdingTree(**EAGER))
    result = prequential(frame.assign(left=left), learner, target="left")
    found = learner.importances()
    assert next(iter(found)) == "note"
    assert set(found) == {"day", "noise", "note", "plan"}
    assert sum(found.values()) == pytest.approx(1.0)
    assert learner.feature_importances_.shape == (len(learner.schema.names),)
    assert learner.feature_importances_.sum() == pytest.approx(learner.model.feature_importances_.sum())
    assert result.importances is not None
    assert dict(result.importances) == pytest.approx(found, abs=1e-5)
    with pytest.raises(TypeError, match="shuffles no columns"):
        learner.importances(frame, left)


def test_a_selected_column_counts_under_its_own_name() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 5))
    learner = pipeline(StandardScaler(), Select(k=1), HoeffdingTree()).partial_fit(X, X[:, 3] > 0)
    assert learner.importances() == {"x3": 1.0, "x0": 0.0, "x1": 0.0, "x2": 0.0, "x4": 0.0}
    wrapped = Balanced(pipeline(StandardScaler(), NaiveBayes())).partial_fit(X, X[:, 3] > 0)
    with pytest.raises(AttributeError):
        _ = wrapped.feature_importances_  # naive Bayes does not say
