"""Which features mattered: one definition for all trees and forests, the same however a run is divided."""

import numpy as np
import pytest

from thalweg import (
    SEA,
    ActiveLearner,
    AdaptiveRandomForest,
    Agrawal,
    ArrayStream,
    HoeffdingTree,
    NaiveBayes,
    prequential,
)
from thalweg.evaluate.importances import MOST_POINTS, Importances
from thalweg.evaluate.result import Result
from thalweg.pool.importances import WithImportances, split_gains
from thalweg.registry import LEARNERS

TREES = ["hoeffding-tree", "hoeffding-adaptive-tree", "efdt", "mcdiarmid-tree"]
FORESTS = ["arf", "srp", "leveraging-bagging", "online-bagging", "adwin-bagging", "smooth-boost", "sdf"]


def test_all_trees_and_forests_have_them():
    found = {name for name, entry in LEARNERS.own.items() if issubclass(entry.cls, WithImportances)}
    assert found == {*TREES, *FORESTS}


@pytest.mark.parametrize(("name", "params"), [*((t, {}) for t in TREES), ("arf", {"size": 3}), ("sdf", {"size": 2})])
def test_they_find_what_matters(name, params):
    chunk = SEA(seed=1, noise=0.0).read(6_000)
    learner = LEARNERS[name].make(**params)
    with pytest.raises(ValueError, match="has not seen a row yet"):
        learner.importances()
    learner.partial_fit(chunk.X, chunk.y)
    shares = learner.feature_importances_
    assert shares.shape == (3,)
    assert shares.sum() == pytest.approx(1.0)
    assert shares.argmin() == 2  # the third feature of SEA says nothing
    found = learner.importances()
    assert list(found.values()) == sorted(shares, reverse=True)
    assert found == {f"x{f}": shares[f] for f in range(3)}


def plainly(view, features):
    """The decrease of impurity, node by node, as it is written in books."""

    def counts(i):
        children = view.children(i)
        return sum(counts(c) for c in children) if children else view.tally[i, 1:].astype(float)

    def mixed(i):
        n = counts(i)
        return n.sum() - (n @ n) / n.sum() if n.sum() else 0.0

    gains = np.zeros(features)
    for i, *_ in view.walk():
        if view.children(i):
            f = int(view.nodes[i]["feature"])
            gains[f if f >= 0 else -2 - f] += mixed(i) - sum(mixed(c) for c in view.children(i))
    return gains / counts(view.root).sum()


@pytest.mark.parametrize("binary", [True, False])
def test_against_a_plain_count(binary):
    stream = Agrawal(function=3, seed=1)  # with nominal features
    chunk = stream.read(8_000)
    tree = HoeffdingTree(binary_splits=binary).declare(stream.schema).partial_fit(chunk.X, chunk.y)
    view = tree._view()
    assert tree.n_leaves > 4
    assert split_gains(view.nodes, view.tally, np.array([view.root]), 9) == pytest.approx(plainly(view, 9))


def test_a_run_keeps_them_and_neither_chunks_nor_a_pause_matter(tmp_path):
    def run(limit=9_500, **options):
        return prequential(SEA(seed=2), HoeffdingTree(), limit=limit, every=100, **options)

    found = run().importances
    assert (found.rows[-1], found.names) == (9_500, ["x0", "x1", "x2"])
    assert MOST_POINTS // 2 <= len(found.rows) <= MOST_POINTS + 1
    assert set(np.diff(found.rows[:-1])) == {400}
    assert list(found.shares[-1]) == pytest.approx(found_by_tree := [found[n] for n in found.names])
    assert sum(found_by_tree) == pytest.approx(1.0, abs=1e-5)
    path = tmp_path / "run.ckpt"
    run(limit=5_150, checkpoint=path)
    for other in (run(chunk=37), run(checkpoint=path, resume=True)):
        assert other.importances.to_plain() == found.to_plain()
        assert other.mistakes == run().mistakes
        assert other.calibration == run().calibration


def test_they_are_written_down():
    result = prequential(SEA(seed=2), HoeffdingTree(), limit=3_000)
    twin = Result.from_json(result.to_json())
    assert twin == result
    assert dict(twin.importances) == dict(result.importances)
    assert "feature" in str(result.importances)
    assert prequential(SEA(seed=2), NaiveBayes(), limit=100).importances is None


def test_an_asking_learner_passes_them_on():
    chunk = SEA(seed=1).read(2_000)
    learner = ActiveLearner(learner=HoeffdingTree(grace_period=50))
    learner.test_then_train(chunk.X, chunk.y)
    assert learner.importances() == learner.model.importances()
    assert (learner.feature_importances_ == learner.model.feature_importances_).all()
    assert not hasattr(ActiveLearner(learner=NaiveBayes()), "feature_importances_")


@pytest.mark.filterwarnings("ignore::thalweg.ColumnWarning")
def test_features_that_join_have_mattered_nothing_before():
    rng = np.random.default_rng(1)
    X = rng.random((800, 3))
    tree = HoeffdingTree(grace_period=50)
    tree.partial_fit(X[:, :2], X[:, 0] > 0.5)
    result = prequential(ArrayStream(X[:, :2], X[:, 0] > 0.5), tree, every=200)
    assert next(iter(result.importances)) == "x0"
    empty = Importances([], ["a"], np.zeros((0, 1)))
    assert dict(empty) == {"a": 0.0}


def test_forests_count_their_trees_by_what_they_gain():
    chunk = SEA(seed=1, noise=0.0).read(3_000)
    forest = AdaptiveRandomForest(size=4).partial_fit(chunk.X, chunk.y)
    gains = sum(plainly(view, 3) for view, _, _ in forest._views())
    assert forest.feature_importances_ == pytest.approx(gains / gains.sum())
