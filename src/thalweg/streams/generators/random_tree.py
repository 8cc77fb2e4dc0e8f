"""RandomTree: labels from the leaves of a random tree."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Feature, Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.random_tree_jit import fill, grow
from thalweg.streams.source import Generator

_MOST_NODES = 1 << 22


@final
class RandomTree(Generator):
    """Nominal and numeric features, drawn uniformly; the class is that of the leaf they lead to. No noise.

    nominals, numerics: how many features of each kind. values: of a nominal feature. classes: how many; a class
    may own no leaf. depth: of the tree. first_leaf: the level from which on a node may be a leaf before that, with
    probability ``leaf_fraction``. model_seed: of the tree; seed: of the records. rng: "splitmix", or "java" for
    MOA's very rows. limit: rows, None: endless.

    Domingos, Hulten: Mining high-speed data streams. KDD 2000.

    >>> stream = RandomTree(nominals=2, numerics=3)
    >>> stream.schema.names
    ('nominal0', 'nominal1', 'numeric0', 'numeric1', 'numeric2')
    """

    def __init__(
        self,
        *,
        nominals: int = 5,
        numerics: int = 5,
        values: int = 5,
        classes: int = 2,
        depth: int = 5,
        first_leaf: int = 3,
        leaf_fraction: float = 0.15,
        model_seed: int = 1,
        rng: str = "splitmix",
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        whole("nominals", nominals, least=0, most=10_000)
        whole("numerics", numerics, least=0, most=10_000)
        if nominals + numerics == 0:
            raise ValueError("nominals and numerics must not both be 0")
        whole("values", values, least=2, most=10_000)
        whole("classes", classes, least=2, most=1_000_000)
        whole("depth", depth, least=0, most=100)
        whole("first_leaf", first_leaf, least=0)
        number("leaf_fraction", leaf_fraction, least=0, most=1)
        whole("model_seed", model_seed, least=0)
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.nominals, self.numerics, self.values, self.classes = nominals, numerics, values, classes
        self.depth, self.first_leaf, self.leaf_fraction = depth, first_leaf, leaf_fraction
        self.model_seed, self.rng, self.seed = model_seed, rng, seed
        words = tuple(f"value{v}" for v in range(values))
        features = [Feature(f"nominal{i}", values=words) for i in range(nominals)]
        features += [Feature(f"numeric{i}") for i in range(numerics)]
        self._schema = Schema(tuple(features), classes=tuple(range(classes)))
        self._tree = features_at, thresholds, children = self._grown()
        leaf = features_at < 0
        nexts = np.where(leaf, np.arange(len(leaf)), children)
        self._ways = np.maximum(features_at, 0), thresholds, np.where(leaf, 0.0, 1.0), nexts, children
        self.restart()

    @property
    def schema(self) -> Schema:
        """Nominal features, then numeric ones."""
        return self._schema

    def _grown(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw the tree, in tables as large as it needs."""
        first_leaf = min(self.first_leaf, self.depth)
        shape = np.array([self.nominals, self.numerics, self.values, self.classes, self.depth, first_leaf])
        room = 1 << 12
        while room <= _MOST_NODES:
            tree = np.empty(room, dtype=np.int64), np.empty(room), np.empty(room, dtype=np.int64)
            java = self.rng == "java"
            count = grow(sown(self.model_seed, java=java, cell=1), java, shape, float(self.leaf_fraction), *tree)
            if count >= 0:
                features, thresholds, children = (table[:count].copy() for table in tree)
                return features, thresholds, children
            room *= 4
        raise ValueError(f"depth must give a tree of at most {_MOST_NODES:,} nodes, got {self.depth}")

    def _start(self) -> None:
        self._random = sown(self.seed, java=self.rng == "java")

    def _next(self, n: int) -> Chunk:
        X, y = np.empty((n, self._schema.n_features)), np.empty(n, dtype=np.int64)
        shape = int(self.nominals), int(self.values), int(self.depth)
        fill(self._random, *shape, *self._ways, self.rng == "java", X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return {"random": self._random}

    def _adopt(self, tables: State, given: int) -> None:
        self._random = tables["random"]
