"""Learners that do not use all labels, in results and pictures."""

import numpy as np

from thalweg import AVU, SEA, ActiveLearner, AdaptiveRandomForest, DriftStream, NoChange, prequential
from thalweg.show.plots import curves, describe


def stream():
    return DriftStream(SEA(function=1, seed=1, noise=0.0), SEA(function=4, seed=2, noise=0.0), 3_000)


def test_replacements_are_told_in_rows_of_the_stream():
    forest = AdaptiveRandomForest(size=8, warning="adwin(delta=0.1)", drift="adwin(delta=0.05)")
    learner = ActiveLearner(learner=forest, strategy=AVU(budget=0.3))
    result = prequential(stream(), learner, limit=6_000, every=500)
    learned = np.array([row for row, _ in learner.replacements])
    told = np.array([row for row, _ in result.replaced])
    assert len(learned) > 0
    assert result.labels_used < 0.31 * result.rows
    assert np.abs(told - learned / 0.3).max() < 150  # labels come evenly
    assert told[0] > 3_000  # not before the drift, though only 900 labels were used by then
    everything = prequential(stream(), AdaptiveRandomForest(size=8, drift="adwin(delta=0.05)"), limit=6_000)
    forest = AdaptiveRandomForest(size=8, drift="adwin(delta=0.05)")
    prequential(stream(), forest, limit=6_000)
    assert [tuple(r) for r in everything.replaced] == forest.replacements


def test_late_labels_move_replacements():
    forest = AdaptiveRandomForest(size=8, warning="adwin(delta=0.1)", drift="adwin(delta=0.05)")
    result = prequential(stream(), forest, limit=6_000, every=500, delay=1_000)
    assert len(result.replaced) > 0
    for (told, _), (learned, _) in zip(result.replaced, forest.replacements, strict=True):
        assert abs(told - learned - 1_000) <= 500


def test_a_picture_shows_the_labels_used():
    learner = ActiveLearner(learner=NoChange(), strategy=AVU(budget=0.4))
    results = [prequential(SEA(seed=1), each, limit=3_000) for each in (NoChange(), learner)]
    assert "ActiveLearner used 40.0% of the labels." in describe(results)
    assert "NoChange used" not in describe(results)
    picture = curves(results)
    top, strip = picture.figure.axes
    assert strip.get_title(loc="left") == "Labels used so far (% of the rows)"
    (line,) = strip.lines
    assert np.allclose(line.get_ydata()[-1], 40.0, atol=0.1)
    assert picture.figure.get_size_inches()[1] > 4.2
    assert len(curves(results[:1]).figure.axes) == 1
    assert top.get_xlabel() == ""
