"""RandomTree against a plain recursive twin."""

from typing import Any

import numpy as np
import pytest
from java_twin import JavaRandom, Tree, label

from thalweg.streams.generators.random_tree import RandomTree

SHAPES = [
    {},
    {"nominals": 0, "numerics": 4, "depth": 6, "first_leaf": 1, "leaf_fraction": 0.4},
    {"nominals": 3, "numerics": 7, "values": 4, "classes": 5, "depth": 7, "first_leaf": 2, "leaf_fraction": 0.3},
    {"depth": 0, "classes": 3},
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [1, 2, 30])
def test_the_java_tree_is_the_twins(shape: dict[str, Any], seed: int) -> None:
    stream = RandomTree(rng="java", model_seed=seed, seed=seed + 1, **shape)
    names = ("nominals", "numerics", "values", "classes", "depth", "first_leaf", "leaf_fraction")
    tree = Tree(*(getattr(stream, name) for name in names))
    n = tree.numerics
    root = tree.grow(JavaRandom(seed), 0, list(range(tree.nominals)), [0.0] * n, [1.0] * n)
    chunk = stream.take(500)
    assert chunk.y.tolist() == [label(root, row) for row in chunk.X.tolist()]
    random = JavaRandom(seed + 1)
    for row in chunk.X[:20].tolist():
        assert row[: tree.nominals] == [random.below(tree.values) for _ in range(tree.nominals)]
        assert row[tree.nominals :] == [random.uniform() for _ in range(n)]


def levels(stream: RandomTree) -> list[tuple[int, int]]:
    """Level and feature (-1: leaf) of each node, found from the root."""
    features, _, children = stream._tree
    found, waiting = [], [(0, 0)]
    while waiting:
        i, level = waiting.pop()
        f = int(features[i])
        found.append((level, f))
        if f >= 0:
            branches = stream.values if f < stream.nominals else 2
            waiting += [(int(children[i]) + b, level + 1) for b in range(branches)]
    return found


def test_leaves_are_where_they_may_be() -> None:
    stream = RandomTree(depth=6, first_leaf=4, leaf_fraction=0.5, model_seed=4)
    found = levels(stream)
    assert len(found) == len(stream._tree[0])
    assert {level for level, f in found if f < 0} == {4, 5, 6}
    assert max(level for level, _ in found) == 6
    fourth = [f for level, f in found if level == 4]
    assert abs(np.mean([f < 0 for f in fourth]) - 0.5) < 4 * 0.5 / np.sqrt(len(fourth))


def shares(stream: RandomTree) -> list[float]:
    """Work out how much of the space belongs to each class."""
    features, thresholds, children = (table.tolist() for table in stream._tree)
    total = [0.0] * stream.classes

    def visit(i: int, share: float, bounds: dict[int, tuple[float, float]]) -> None:
        f = features[i]
        if f < 0:
            total[children[i]] += share
        elif f < stream.nominals:
            for b in range(stream.values):
                visit(children[i] + b, share / stream.values, bounds)
        else:
            low, high = bounds.get(f, (0.0, 1.0))
            left = (thresholds[i] - low) / (high - low)
            visit(children[i], share * left, bounds | {f: (low, thresholds[i])})
            visit(children[i] + 1, share * (1 - left), bounds | {f: (thresholds[i], high)})

    visit(0, 1.0, {})
    return total


@pytest.mark.parametrize("rng", ["splitmix", "java"])
@pytest.mark.parametrize("shape", SHAPES)
def test_classes_have_the_shares_of_their_leaves(shape: dict[str, Any], rng: str) -> None:
    stream = RandomTree(rng=rng, model_seed=5, **shape)
    want = np.array(shares(stream))
    assert want.sum() == pytest.approx(1.0)
    got = np.bincount(stream.take(60_000).y, minlength=stream.classes) / 60_000
    assert (np.abs(got - want) <= 4 * np.sqrt(want * (1 - want) / 60_000)).all()


@pytest.mark.parametrize("rng", ["splitmix", "java"])
def test_values_are_uniform_and_nominal_ones_are_used_once(rng: str) -> None:
    stream = RandomTree(rng=rng, nominals=2, numerics=3, values=4, depth=4)
    X = stream.take(40_000).X
    for f in range(2):
        assert np.abs(np.bincount(X[:, f].astype(int)) / len(X) - 0.25).max() < 4 * np.sqrt(0.1875 / len(X))
    assert np.abs(X[:, 2:].mean(axis=0) - 0.5).max() < 4 * np.sqrt(1 / 12 / len(X))
    assert X[:, 2:].max() < 1.0
    pure = RandomTree(rng=rng, nominals=2, numerics=0, values=3, depth=9, first_leaf=9)
    assert max(level for level, _ in levels(pure)) == 2  # nothing is left to split on


def test_the_seeds_of_tree_and_records_are_apart() -> None:
    one, two = RandomTree(model_seed=1).take(500), RandomTree(model_seed=2).take(500)
    assert np.array_equal(one.X, two.X)
    assert (one.y != two.y).any()


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"nominals": 0, "numerics": 0}, "nominals and numerics must not both be 0"),
        ({"values": 1}, r"values must lie in \[2, 10000\], got 1"),
        ({"classes": 1}, r"classes must lie in \[2, 1000000\], got 1"),
        ({"leaf_fraction": 1.1}, r"leaf_fraction must lie in \[0, 1\], got 1.1"),
        ({"depth": 40, "first_leaf": 40}, "depth must give a tree of at most 4,194,304 nodes, got 40"),
    ],
)
def test_bad_parameters(params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        RandomTree(**params)
