"""Rows that follow one another."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from thalweg import SEA, HoeffdingTree, WindowKNN
from thalweg.core.chunk import Chunk


def test_a_loop_gives_each_row_with_its_label() -> None:
    chunk = SEA(seed=1).read(300)
    by_one, at_once = HoeffdingTree(), HoeffdingTree().partial_fit(chunk.X, chunk.y)
    for row, label in chunk:
        by_one.learn_one(row, label)
    assert np.array_equal(by_one.predict_proba(chunk.X), at_once.predict_proba(chunk.X))


def test_rows_may_be_sparse() -> None:
    chunk = Chunk(csr_array(np.eye(4)), np.array(["a", "b", "c", "d"]))
    learner = WindowKNN(k=1)
    for row, label in chunk:
        learner.learn_one(row, label)
    assert learner.predict(chunk.X).tolist() == chunk.y.tolist()


@pytest.mark.parametrize("rows", [0, [0, 1], "y"])
def test_rows_are_a_slice(rows: object) -> None:
    with pytest.raises(TypeError, match="rows of a chunk must be a slice"):
        SEA(seed=1).read(3)[rows]
