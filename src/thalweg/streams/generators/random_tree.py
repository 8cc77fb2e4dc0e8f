"""RandomTree: labels from the leaves of a random tree."""

from typing import final

import numpy as np

from thalweg.core.fields import number, whole
from thalweg.core.schema import Feature, Schema
from thalweg.streams.draw_jit import Floats, Ints, sown
from thalweg.streams.generators.random_tree_jit import fill, grow
from thalweg.streams.source import RNG, Generator, Rng

_MOST_NODES = 1 << 22


@final
class RandomTree(Generator):
    """Nominal and numeric features, drawn uniformly; the class is that of the leaf they lead to. No noise.

    References
    ----------
    Domingos, Hulten: Mining high-speed data streams. KDD 2000.

    Examples
    --------
    >>> stream = RandomTree(nominals=2, numerics=3)
    >>> stream.schema.names
    ('nominal0', 'nominal1', 'numeric0', 'numeric1', 'numeric2')
    """

    nominals: int = whole(default=5, doc="How many nominal features.", least=0, most=10_000)
    numerics: int = whole(default=5, doc="How many numeric features.", least=0, most=10_000)
    values: int = whole(default=5, doc="How many values a nominal feature has.", least=2, most=10_000)
    classes: int = whole(default=2, doc="How many; a class may own no leaf.", least=2, most=1_000_000)
    depth: int = whole(default=5, doc="Depth of the tree.", least=0, most=100)
    first_leaf: int = whole(default=3, doc="The level from which on a node may be a leaf.", least=0)
    leaf_fraction: float = number(default=0.15, doc="The probability that it is one.", least=0, most=1)
    model_seed: int = whole(default=1, doc="Random seed of the tree; ``seed`` is that of the records.", least=0)
    rng: Rng = RNG

    def _prepare(self) -> None:
        if self.nominals + self.numerics == 0:
            raise ValueError("nominals and numerics must not both be 0")
        words = tuple(f"value{v}" for v in range(self.values))
        features = [Feature(f"nominal{i}", values=words) for i in range(self.nominals)]
        features += [Feature(f"numeric{i}") for i in range(self.numerics)]
        self._schema = Schema(tuple(features), classes=tuple(range(self.classes)))
        self._tree = features_at, thresholds, children = self._grown()
        leaf = features_at < 0
        nexts = np.where(leaf, np.arange(len(leaf)), children)
        self._ways = np.maximum(features_at, 0), thresholds, np.where(leaf, 0.0, 1.0), nexts, children
        super()._prepare()

    def _grown(self) -> tuple[Ints, Floats, Ints]:
        """Draw the tree, in tables as large as it needs."""
        first_leaf = min(self.first_leaf, self.depth)
        shape = np.array([self.nominals, self.numerics, self.values, self.classes, self.depth, first_leaf])
        room = 1 << 12
        while room <= _MOST_NODES:
            tree = np.empty(room, dtype=np.int64), np.empty(room), np.empty(room, dtype=np.int64)
            java = self._java
            count = grow(sown(self.model_seed, java=java, cell=1), java, shape, float(self.leaf_fraction), *tree)
            if count >= 0:
                features, thresholds, children = tree
                return features[:count].copy(), thresholds[:count].copy(), children[:count].copy()
            room *= 4
        raise ValueError(f"depth must give a tree of at most {_MOST_NODES:,} nodes, got {self.depth}")

    def _fill(self, X: Floats, y: Ints) -> None:
        shape = int(self.nominals), int(self.values), int(self.depth)
        features_at, thresholds, inner, nexts, children = self._ways
        fill(self._random, *shape, features_at, thresholds, inner, nexts, children, self._java, X, y)
