"""The plain ways: look at every rule, or go down every tree. All other indexes must say what these say."""

from typing import final

import numpy as np

from thalweg.index import scores_jit as jit
from thalweg.index import trees_jit
from thalweg.index.batch import height, refuse_tangled, rooms
from thalweg.index.batch_jit import batch_scores
from thalweg.index.index import Index
from thalweg.index.rules import Floats, Ints, Rules
from thalweg.jit.compile import plain


@final
class LinearRules(Index):
    """Looks at every rule for every record.

    Examples
    --------
    >>> from thalweg.index.rules import box
    >>> index = LinearRules()
    >>> index.insert(7, box([(0.0, 1.5)], [0.0, 1.0]))
    >>> index.match([[1.0], [2.0]])[0], index.scores([[1.0], [2.0]]).tolist()
    ([(7, 0)], [[0.0, 1.0], [0.0, 0.0]])
    """

    def _add(self, rules: Rules, first: int) -> None:
        pass

    def _drop(self, rows: Ints) -> None:
        pass

    def _renumber(self, new: Ints) -> None:
        pass

    def _scores(self, X: Floats, out: Floats) -> None:
        jit.scan_scores(self._boxes, self.payload, self.owner, self.alive, self.weight, X, out)

    def _match(self, X: Floats, start: Ints) -> Ints:
        return jit.scan_match(self._boxes, self.alive, X, start)


class _Trees(Index):
    """What indexes share that go down trees."""

    needs_trees = True
    BUNDLES = (*Index.BUNDLES, trees_jit.Grown)

    def _reset(self) -> None:
        self.packed = np.zeros(0, dtype=trees_jit.PACKED)
        self.rule = np.zeros(0, dtype=np.uint32)
        self.roots = np.zeros(0, dtype=np.int64)
        self.grown = np.zeros(0, dtype=np.int64)
        self._height = 0

    def _add(self, rules: Rules, first: int) -> None:
        assert rules.nodes is not None
        assert rules.missing is not None
        assert rules.leaf_rule is not None
        size = int(trees_jit.packed_size(rules.nodes))
        packed, leaf = np.zeros(size, dtype=trees_jit.PACKED), np.zeros(size, dtype=np.uint32)
        base = len(self.packed)
        size = int(trees_jit.pack(rules.nodes, rules.missing, packed, leaf, base, 0))
        rows = np.append(np.where(rules.leaf_rule >= 0, first + rules.leaf_rule, trees_jit.NO_LEAF), trees_jit.NO_LEAF)
        which = np.minimum(leaf[:size], len(rows) - 1)
        self._height = max(self._height, height(packed[:size], base))
        self.packed = np.concatenate([self.packed, packed[:size]])
        self.rule = np.concatenate([self.rule, rows[which].astype(np.uint32)])
        self.roots = np.append(self.roots, base)
        self.grown = np.append(self.grown, len(self.names) - 1)

    def _drop(self, rows: Ints) -> None:
        kept = np.isin(self.grown, list(self._slot.values()))
        grown = self.grown[kept]
        ends, tall = np.append(self.roots[1:], len(self.packed)), self._height
        parts, rules, roots, base = [], [], [], 0
        for t in np.flatnonzero(kept):
            part = self.packed[self.roots[t] : ends[t]].copy()
            part["left"] -= np.uint32(self.roots[t] - base)
            parts.append(part)
            rules.append(self.rule[self.roots[t] : ends[t]])
            roots.append(base)
            base += len(part)
        self._reset()
        if parts:
            self.packed, self.rule = np.concatenate(parts), np.concatenate(rules)
            self.roots, self.grown, self._height = np.array(roots, dtype=np.int64), grown, tall

    def _renumber(self, new: Ints) -> None:
        self.grown = np.arange(len(self.roots))
        there = self.rule < len(new)
        self.rule[there] = new[self.rule[there].astype(np.int64)].astype(np.uint32)

    def _adopt(self) -> None:
        refuse_tangled(self.packed, self.roots)
        if self.grown.tolist() != sorted(self._slot.values()):
            raise ValueError("state must be what state() gave: its trees are not those of its classifiers")
        self._height = height(self.packed)

    def _match(self, X: Floats, start: Ints) -> Ints:
        return jit.descend_match(self.packed, self.rule, self.roots, self.alive, X, start)


@final
class LinearTrees(_Trees):
    """Goes down every tree for every record, one after the other.

    Examples
    --------
    >>> from thalweg import SEA, OnlineBagging
    >>> from thalweg.index.sources import rules_of
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = OnlineBagging(size=3).partial_fit(chunk.X, chunk.y)
    >>> index = LinearTrees().insert_all(rules_of(forest))
    >>> [len(index.match(chunk.X[:1])[0]), index.scores(chunk.X[:1]).shape]
    [3, (1, 2)]
    """

    def _scores(self, X: Floats, out: Floats) -> None:
        jit.descend_scores(
            self.packed, self.rule, self.roots, self.payload, self.owner, self.alive, self.weight, X, out
        )


@final
class CompiledTrees(_Trees):
    """Lets many records go down a tree together, tree after tree: for batches.

    Examples
    --------
    >>> from thalweg import SEA, OnlineBagging
    >>> from thalweg.index.sources import rules_of
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = OnlineBagging(size=3).partial_fit(chunk.X, chunk.y)
    >>> index = CompiledTrees().insert_all(rules_of(forest))
    >>> bool((index.scores(chunk.X) == LinearTrees().insert_all(rules_of(forest)).scores(chunk.X)).all())
    True
    """

    def _scores(self, X: Floats, out: Floats) -> None:
        batch_scores(
            self.packed, self.rule, self.roots.reshape(-1, 1), self.payload, self.owner, self.alive, self.weight,
            X, out, plain(rooms(X, self._height, len(self.roots))),
        )  # fmt: skip
