"""Every learner tells of the drifts it found, or says nothing: no result claims what nobody looked for."""

import json

import pytest

from thalweg import (
    SEA,
    AdaptiveRandomForest,
    Agrawal,
    DriftStream,
    HoeffdingAdaptiveTree,
    OnlineBagging,
    prequential,
)
from thalweg.core.inside import finds_drifts
from thalweg.evaluate.result import Result
from thalweg.registry import LEARNERS
from thalweg.registry.typed import make_learner
from tiny_stream import Moving, TinyStream, rows

SILENT = {
    "online-bagging", "smooth-boost", "hoeffding-tree", "efdt", "mcdiarmid-tree", "knn", "sam-knn", "ball-cover-plus",
    "ball-cover", "condensed-knn", "kernel-perceptron", "cs-knn", "cs-sam-knn", "hashed-knn", "pca-knn",
    "chunk-ensemble", "le-tree", "ge-tree", "l-ensemble", "g-ensemble", "naive-bayes", "majority", "no-change",
    "logistic-regression",
}  # fmt: skip
"""Learners that have no detector."""


@pytest.mark.parametrize("name", LEARNERS.own)
def test_a_learner_that_looks_for_drifts_counts_them(name):
    learner = LEARNERS[name].make()
    assert finds_drifts(learner) is (name not in SILENT)
    if finds_drifts(learner):
        assert learner.n_drifts == 0
    if hasattr(learner, "replacements"):
        assert (learner.replacements, learner.n_drifts, learner.rows_learned) == ([], 0, 0)


@pytest.mark.parametrize(
    "name", ["arf(drift='none')", "srp(drift='none')", "odl(drift='none')", "csb-knn(p=5, drift=None)"]
)
def test_without_a_detector_nothing_is_told(name):
    assert not finds_drifts(make_learner(name))


def drifting():
    return DriftStream(SEA(function=1, seed=1, noise=0.0), SEA(function=4, seed=2, noise=0.0), 2_000)


def quick():
    return AdaptiveRandomForest(size=8, warning="adwin(delta=0.1)", drift="adwin(delta=0.05)")


def test_only_what_happens_in_a_run_is_counted():
    forest = quick()
    first = prequential(drifting(), forest, limit=5_000, every=500)
    assert len(first.replaced) == first.n_changes == forest.n_drifts > 0
    calm = prequential(SEA(function=4, seed=3, noise=0.0), forest, limit=300, every=100)
    assert (calm.replaced, calm.detected, calm.n_changes) == ([], [], 0)
    before = forest.n_drifts
    again = prequential(drifting(), forest, limit=5_000, every=500)
    assert again.n_changes == forest.n_drifts - before > 0
    assert len(again.replaced) == again.n_changes
    assert all(0 < row <= 5_000 for row, _ in again.replaced)
    assert again.detected == sorted({row for row, _ in again.replaced})


def test_what_happened_before_a_run_is_not_counted_after_it_was_resumed(tmp_path):
    def learned():
        forest = quick()
        prequential(drifting(), forest, limit=4_000)
        return forest

    path = tmp_path / "run.ckpt"
    whole = prequential(drifting(), learned(), limit=4_000)
    prequential(drifting(), learned(), limit=2_300, checkpoint=path)
    parts = prequential(drifting(), learned(), limit=4_000, checkpoint=path, resume=True)
    assert len(whole.replaced) > 0
    assert (parts.replaced, parts.detected, parts.n_changes) == (whole.replaced, whole.detected, whole.n_changes)


def test_a_learner_that_tells_nothing_has_missed_nothing():
    X, y, _ = rows(300)
    for learner in (Moving(), OnlineBagging(size=2)):
        result = prequential(TinyStream(X, y, drifts=(150,)), learner, every=50)
        assert not result.finds_drifts
        with pytest.raises(ValueError, match=rf"{type(learner).__name__} does not tell of drifts that it finds"):
            result.detections()
        assert Result.from_json(result.to_json()).finds_drifts is False


def test_old_results_know_whether_there_were_detections():
    stream = DriftStream(Agrawal(function=1, seed=1), Agrawal(function=3, seed=2), position=2_000)
    result = prequential(stream, HoeffdingAdaptiveTree(), limit=3_000)
    assert result.finds_drifts
    fields = json.loads(result.to_json())
    for name in ("finds_drifts", "n_changes"):
        del fields[name]
    assert Result.from_json(json.dumps(fields)).detections() == result.detections()
