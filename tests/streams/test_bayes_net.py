"""Records from a learned Bayesian network, against a network that is known."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from thalweg import SEA, Agrawal, ArrayStream, BayesNetStream, Chunk, Feature, Schema, Text
from thalweg.core.protocols import Stream

PARENTS = (-1, 0, 0, 2, 1)
SIZES = (3, 4, 2, 3, 2)
SCHEMA = Schema(tuple(Feature(f"x{f}", values=tuple(range(n))) for f, n in enumerate(SIZES)), classes=("a", "b", "c"))


def known(n: int, seed: int = 1) -> ArrayStream:
    """Draw from a tree-augmented network whose tables are random."""
    rng = np.random.default_rng(seed)
    classes = rng.choice(3, p=(0.5, 0.3, 0.2), size=n)
    X = np.empty((n, len(SIZES)), dtype=np.int64)
    for f, (parent, size) in enumerate(zip(PARENTS, SIZES, strict=True)):
        table = rng.dirichlet(np.full(size, 0.5), size=(3, 1 if parent < 0 else SIZES[parent])).cumsum(axis=2)
        sums = table[classes, 0 if parent < 0 else X[:, parent]]
        X[:, f] = (rng.random(n)[:, None] >= sums[:, :-1]).sum(axis=1)
    return ArrayStream(X.astype(float), np.array(["a", "b", "c"])[classes], schema=SCHEMA)


def pairs(columns: list[NDArray[Any]]) -> dict[tuple[int, int], NDArray[np.float64]]:
    """Share of each pair of values, for each pair of columns."""
    found = {}
    for i, j in combinations(range(len(columns)), 2):
        counts = np.zeros((4, 4))
        np.add.at(counts, (columns[i].astype(int), columns[j].astype(int)), 1.0)
        found[i, j] = counts / len(columns[i])
    return found


def columns_of(chunk: Chunk) -> list[NDArray[Any]]:
    return [*chunk.X.T, np.searchsorted(["a", "b", "c"], chunk.y)]


def test_the_marginals_of_a_known_network() -> None:
    source = known(100_000)
    stream = BayesNetStream(source)
    edges = {frozenset((f, int(p))) for f, p in enumerate(stream._net.parents) if p >= 0}
    assert edges == {frozenset((f, p)) for f, p in enumerate(PARENTS) if p >= 0}
    truth, got = pairs(columns_of(source.take(100_000))), pairs(columns_of(stream.take(100_000)))
    for pair, shares in truth.items():
        assert 0.5 * np.abs(shares - got[pair]).sum() < 0.02, pair


def test_bins_hold_equally_many_and_values_are_uniform_inside() -> None:
    rng = np.random.default_rng(1)
    x = rng.exponential(size=20_000)
    source = ArrayStream(x[:, None], (x > 1.0).astype(int))
    stream = BayesNetStream(source, bins=8)
    got = stream.take(50_000).X[:, 0]
    assert len(stream._net.low) == 8
    edges = np.quantile(x, np.linspace(0, 1, 9), method="nearest")
    assert np.allclose(stream._net.low, edges[:-1])
    counts = np.histogram(got, edges)[0] / len(got)
    assert np.abs(counts - 1 / 8).max() < 4 * np.sqrt(7 / 64 / len(got)) + 0.001
    inside = got[(got > edges[-2]) & (got < edges[-1])]
    place = (inside - edges[-2]) / (edges[-1] - edges[-2])
    assert abs(place.mean() - 0.5) < 4 * np.sqrt(1 / 12 / len(place))  # an exponential tail would lie far below
    assert got.min() >= x.min()
    assert got.max() <= x.max()


def test_missing_values_are_a_category() -> None:
    rng = np.random.default_rng(2)
    X = rng.random((10_000, 3))
    y = rng.integers(2, size=10_000)
    X[(y == 1) & (rng.random(10_000) < 0.4), 0] = np.nan
    X[:, 2] = np.nan
    chunk = BayesNetStream(ArrayStream(X, y)).take(20_000)
    lost = np.isnan(chunk.X)
    assert abs(lost[chunk.y == 1, 0].mean() - 0.4) < 0.03
    assert lost[chunk.y == 0, 0].mean() < 0.001
    assert not lost[:, 1].any()
    assert lost[:, 2].all()


def test_constants_and_labels_keep_their_kind() -> None:
    chunk = BayesNetStream(ArrayStream(np.full((50, 1), 7.5), ["yes", "no"] * 25)).take(100)
    assert (chunk.X == 7.5).all()
    assert set(chunk.y.tolist()) == {"yes", "no"}


def test_the_stream_stays_where_it_was() -> None:
    source = Agrawal()
    source.take(10)
    before = source.state()
    stream = BayesNetStream(source, sample=300)
    assert all(np.array_equal(a, b) for a, b in zip(before.values(), source.state().values(), strict=True))
    assert stream.name == "BNG-like"
    nominal = stream.take(200).X[:, 3:6]
    assert (nominal == np.floor(nominal)).all()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: BayesNetStream(SEA()), "sample must be given: the stream has no end"),
        (lambda: BayesNetStream(SEA(), sample=0), r"sample must lie in \[1, ∞\), got 0"),
        (lambda: BayesNetStream(SEA(), sample=5, bins=0), r"bins must lie in \[1, 1000\], got 0"),
        (lambda: BayesNetStream(SEA(limit=0)), "stream must have records with features to learn from, got SEA"),
        (lambda: BayesNetStream(Text(words=20, sparse=True), sample=5), "stream must give dense rows, got Text"),
        (lambda: BayesNetStream("iris"), "stream must be a stream, got 'iris'"),
    ],
)
def test_bad_parameters(make: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


def test_it_is_a_stream() -> None:
    assert isinstance(BayesNetStream(SEA(), sample=100), Stream)
