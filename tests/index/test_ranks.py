"""Rows that are ranked go down trees as rows of numbers do."""

import numpy as np
import pytest

from thalweg import AdaptiveRandomForest, RandomRBF
from thalweg.index.frozen import FrozenForest
from thalweg.index.ranks import rank_nodes
from thalweg.index.ranks_jit import HIGHEST
from thalweg.index.trees_jit import PACKED


def line(cuts):
    """A tree that asks one threshold after the other, each lower than the one before; missing values go right."""
    n = len(cuts)
    packed = np.zeros(2 * n + 1, dtype=PACKED)
    packed["threshold"], packed["left"] = np.inf, np.arange(len(packed))
    for k, cut in enumerate(sorted(cuts, reverse=True)):
        packed[max(0, 2 * k - 1)] = cut, 1, 2 * k + 1
    return packed


def test_equal_thresholds_have_one_rank():
    packed = line([0.5, -0.0, 0.25])
    packed["threshold"][0] = 0.25
    packed["threshold"][3] = 0.0
    ranked, cuts, columns = rank_nodes(packed)
    assert cuts.tolist() == [0.0, 0.25]
    assert columns.tolist() == [[0, 0, 2]]
    assert ranked["rank"][[0, 1, 3]].tolist() == [1, 1, 0]
    assert set(ranked["rank"][[2, 4, 5, 6]].tolist()) == {HIGHEST}
    assert (ranked["column"][[0, 1, 3]] == 1).all()


@pytest.mark.parametrize(("cuts", "fits"), [(HIGHEST - 1, True), (HIGHEST, False)])
def test_more_thresholds_than_ranks(cuts, fits):
    ranked, found, _ = rank_nodes(line(np.arange(float(cuts))))
    assert len(found) == cuts
    assert (len(ranked) == 2 * cuts + 1) == fits


def test_no_nodes():
    ranked, cuts, columns = rank_nodes(np.zeros(0, dtype=PACKED))
    assert (len(ranked), len(cuts), columns.shape) == (0, 0, (0, 3))


def test_with_and_without_ranks_the_same_bits():
    chunk = RandomRBF(classes=3, seed=1).read(4_000)
    forest = AdaptiveRandomForest(size=12, grace_period=50).partial_fit(chunk.X, chunk.y)
    ranked, plain = forest.compile(), forest.compile()
    nothing, cuts, columns = plain._ranks
    plain._ranks = nothing[:0], cuts, columns
    assert isinstance(plain, FrozenForest)
    X = chunk.X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    X[:500] = cuts[:500, None]  # exactly on thresholds
    for rows in (X, X[:8], X[:9], X[:1_025]):
        assert np.array_equal(ranked.predict_proba(rows), plain.predict_proba(rows))
