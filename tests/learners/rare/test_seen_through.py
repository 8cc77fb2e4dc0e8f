"""What the learner inside tells, the wrappers tell."""

import pytest

import thalweg
from thalweg import (
    ActiveLearner,
    AdaptiveRandomForest,
    Agrawal,
    Balanced,
    DriftStream,
    HoeffdingTree,
    NaiveBayes,
    Threshold,
)


@pytest.mark.parametrize(
    "wrap", [Balanced, lambda tree: Threshold(tree, alerts=0.1), lambda tree: ActiveLearner(learner=tree)]
)
def test_importances_are_those_of_the_learner_inside(wrap) -> None:
    chunk = Agrawal(function=2, seed=1).read(6_000)
    learner = wrap(HoeffdingTree())
    with pytest.raises(ValueError, match="has not seen a row yet"):
        learner.importances()
    learner.test_then_train(chunk.X, chunk.y)
    found = learner.importances()
    assert sum(found.values()) == pytest.approx(1.0)
    assert max(found, key=lambda name: found[name]) in {"x0", "x2"}  # salary and age
    assert learner.feature_importances_.tolist() == [found[name] for name in learner.schema.names]


def test_a_run_shows_the_importances_and_the_drifts_of_a_wrapped_learner() -> None:
    stream = DriftStream(Agrawal(function=1, seed=1), Agrawal(function=3, seed=2), position=4_000)
    result = thalweg.prequential(stream, Balanced(AdaptiveRandomForest(size=3)), limit=8_000)
    assert result.finds_drifts
    assert result.replaced
    assert result.importances is not None
    assert next(iter(result.importances)) in {"age", "elevel"}


def test_a_learner_without_importances_has_none_in_a_wrapper() -> None:
    assert not hasattr(Balanced(NaiveBayes()), "feature_importances_")
    result = thalweg.prequential(Agrawal(seed=1), Balanced(NaiveBayes()), limit=500)
    assert result.importances is None
