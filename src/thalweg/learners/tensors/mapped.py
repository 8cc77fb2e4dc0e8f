"""A map from tensors to features, and the tree that grows on them."""

from typing import final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.classifier import Floats, Ints
from thalweg.core.protocols import State
from thalweg.core.tables import prefixed, under
from thalweg.learners.tensors.buffer import TensorBuffer
from thalweg.learners.tensors.maps import TensorMap
from thalweg.learners.trees.binned import BinnedTrees
from thalweg.tensors.forms import Tensors

_BOTH, _PREDICT = np.array([0, -1]), np.array([0])


@final
class MappedTree:
    """A fitted map, a tree on its features, and notes on what the map was fitted to."""

    __slots__ = ("map", "notes", "trees")

    def __init__(self, features: TensorMap, trees: BinnedTrees, notes: State) -> None:
        self.map, self.trees, self.notes = features, trees, notes

    def begin(self, kept: TensorBuffer) -> None:
        """Begin the tree with the tensors kept: their features give the cut points, then they are learned."""
        F = self.features(kept.tensors, np.zeros(len(kept), dtype=np.bool_))
        self.trees.begin(0, F)
        self.trees.learn(0, F, kept.labels, kept.weights)

    def features(self, X: Tensors, learned: NDArray[np.bool_]) -> Floats:
        """Give the features of each tensor; let the map learn it then, where it is to be learned."""
        F = np.zeros((len(X), self.map.width))
        each = np.arange(len(X))
        order = np.stack([each, ~each], axis=1).reshape(-1)
        self.map.play(X, order[np.repeat(learned, 2) | (order >= 0)], F)
        return F

    def step(self, f: Floats, y: Ints, w: Floats, said: Floats, known: int) -> None:
        """Predict the one tensor that has these features, and let the tree learn it where it has a label."""
        self.trees.play(f, y, w, _BOTH if len(y) else _PREDICT, said, known)

    def tables(self) -> State:
        """Give all tables."""
        return prefixed("map", self.map.state()) | prefixed("tree", self.trees.tables()) | prefixed("notes", self.notes)

    def adopt(self, tables: State) -> None:
        """Continue from what ``tables`` gave; a tree on other features than those of the map is refused."""
        self.map.restore(under("map", tables))
        self.trees.adopt(under("tree", tables))
        self.notes = under("notes", tables)
        if not self.map.fitted or self.trees.n_features(0) != self.map.width:
            raise ValueError("its tree is not on the features of its map")
