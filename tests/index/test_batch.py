"""Groups of rows come to the leaves to which each row comes by itself."""

import numpy as np
import pytest

from index.test_rule_boxes import hard_rows
from thalweg import Agrawal, HoeffdingTree, RandomRBF
from thalweg.index import trees_jit
from thalweg.index.batch import height, rooms
from thalweg.index.batch_jit import BLOCK, CELLS, FEW
from thalweg.index.linear import CompiledTrees, LinearTrees
from thalweg.index.sources import rules_of


def packed_tree(nominal, base=0):
    """A tree of a stream, packed from a node on, its rules and rows of the stream."""
    stream = Agrawal(seed=3) if nominal else RandomRBF(classes=3, features=4, seed=3)
    chunk = stream.read(4_000)
    tree = HoeffdingTree(grace_period=30, delta=0.1, tau=0.9, binary_splits=False)
    [rules] = rules_of(tree.declare(stream.schema).partial_fit(chunk.X, chunk.y))
    size = int(trees_jit.packed_size(rules.nodes))
    packed, leaf = np.zeros(size, dtype=trees_jit.PACKED), np.zeros(size, dtype=np.uint32)
    size = int(trees_jit.pack(rules.nodes, rules.missing, packed, leaf, base, 0))
    return packed[:size], leaf[:size], rules, chunk.X


def way(packed, x, base=0):
    """The node of the leaf of one row, and the nodes on the way to it."""
    i, path = 0, []
    while int(packed["left"][i]) - base != i:
        path.append(i)
        f, v = int(packed["feature"][i]), x[int(packed["feature"][i]) // 2]
        right = v > packed["threshold"][i] or (v != v and f % 2 == 1)
        i = int(packed["left"][i]) - base + int(right)
    return i, path


@pytest.mark.parametrize("nominal", [False, True])
def test_the_order_of_nodes_changes_no_way(nominal):
    base = 1_000
    packed, leaf, rules, X = packed_tree(nominal, base)
    deep, numbers = trees_jit.in_depth(packed, leaf, base)
    assert len(deep) == len(packed) > 20
    left, here = deep["left"].astype(np.int64) - base, np.arange(len(deep))
    assert (left[left != here] > here[left != here]).all()  # parents first
    first = here[(left != here)][0]
    assert left[first] == 1
    if not nominal:  # after a pair of siblings comes what is below the left one
        below = [i for i in range(1, len(deep), 2) if left[i] != i]
        assert below
        assert all(left[i] == i + 2 for i in below)
    for x in hard_rows([rules], X, np.random.default_rng(1))[:300]:
        assert numbers[way(deep, x, base)[0]] == leaf[way(packed, x, base)[0]]


def test_height_is_that_of_the_longest_way():
    packed, _, rules, X = packed_tree(True)
    rows = hard_rows([rules], X, np.random.default_rng(1))
    tall = height(packed)
    assert tall >= max(len(way(packed, x)[1]) for x in rows) > 3
    packed["left"][int(packed["left"][0])] = 0
    with pytest.raises(ValueError, match="lead back to themselves"):
        height(packed)


@pytest.mark.parametrize("n", [0, 1, FEW - 1, FEW, FEW + 1, BLOCK, BLOCK + 3])
def test_any_number_of_rows(n):
    _, _, rules, X = packed_tree(True)
    X = np.tile(hard_rows([rules], X, np.random.default_rng(1)), (3, 1))[:n]
    assert len(X) == n
    one, many = LinearTrees().insert_all([rules] * 9), CompiledTrees().insert_all([rules] * 9)
    assert np.array_equal(many.scores(X), one.scores(X))


def test_wide_rows_come_in_smaller_blocks():
    d = 600
    stream = RandomRBF(features=d, seed=1)
    chunk = stream.read(1_500)
    tree = HoeffdingTree(grace_period=30, delta=0.1, tau=0.9, leaf="majority").partial_fit(chunk.X, chunk.y)
    turned, *_ = rooms(chunk.X, 5, 1)
    assert turned.shape == (d, CELLS // d)
    index = CompiledTrees().insert_all(rules_of(tree))
    assert np.array_equal(index.scores(chunk.X), tree.predict_proba(chunk.X))
