"""The E-tree: an ensemble's rules as a spatial database."""

from typing import Any, Literal, cast, final

import numpy as np

from thalweg.core import params
from thalweg.core.declared import check
from thalweg.core.fields import choice, number, whole
from thalweg.index import e_tree_jit as jit
from thalweg.index import e_tree_nodes_jit as node
from thalweg.index import e_tree_update_jit as update
from thalweg.index.index import Index
from thalweg.index.rules import Floats, Ints, Rules
from thalweg.jit.compile import plain

SPLITS = ("greedy", "rstar")
_VECTOR, _BLOCK = 8, 256
"""Entries that are compared at once; nodes that are validated at once."""


@final
class ETree(Index):
    """A table of classifiers and a height-balanced tree of boxes: a record only looks into boxes that hold it.

    Rules are deleted by removing them, dissolving nodes with too few entries, and inserting the entries of these again:
    rules into leaves, nodes as they are at their level.

    References
    ----------
    P. Zhang, J. Li, P. Wang, B. J. Gao, X. Zhu, L. Guo, "Enabling fast prediction for ensemble models on data
    streams", KDD 2011.

    Examples
    --------
    >>> from thalweg.index.rules import box
    >>> tree = ETree(most=3, least=1)
    >>> for k, (a, b) in enumerate([(0, 1.5), (0.5, 2), (1, 2.5), (2.5, 4), (3.5, 5)], start=1):
    ...     tree.insert(k, box([(a, b), (a, b)], [0, 1]), weight=0.2)
    >>> tree.match([[4, 4]])[0], tree.entries_tested([[4, 4]])
    ([(4, 0), (5, 0)], 4)
    """

    BUNDLES = (*Index.BUNDLES, node.Tree)

    most: int = whole(default=30, doc="Entries of a node (the paper's M).", least=3, most=1000)
    least: int | None = whole(default=None, doc="Entries of a node other than the root (m); None: M / 2.", least=1)
    split: Literal["greedy", "rstar"] = choice(
        default="greedy",
        doc='How a node with too many entries is divided: "greedy", as in the paper, by the two most distant entries; '
        '"rstar", along one feature, as the R*-tree does.',
    )
    reinsert: float = number(
        default=0.3,
        doc='With "rstar", the share of a node\'s entries that are inserted again, once for each level, before a '
        "node is divided; 0: none.",
        least=0,
        most=0.5,
    )

    def _prepare(self) -> None:
        if self.least is not None:
            params.whole("least", self.least, least=1, most=self.most // 2)
        super()._prepare()

    def _reset(self) -> None:
        d, width, (most, least, entries) = len(self.values), self.bits.shape[1], self._sizes().values()
        self.low, self.high = np.full((4, d, entries), np.inf), np.full((4, d, entries), -np.inf)
        self.flags = np.zeros((4, entries, width), dtype=np.uint64)
        self.entry = np.zeros((4, entries), dtype=np.int64)
        self.links = np.zeros((4, 3), dtype=np.int64)
        self.links[0] = 0, -1, 0
        self.head = np.array([0, 1, -1, most, least], dtype=np.int64)
        self.home = np.zeros(0, dtype=np.int64)
        self.domain = np.stack([np.full(d, np.inf), np.full(d, -np.inf)])

    def _sizes(self) -> dict[str, int]:
        most, least = int(self.most), int(self.most) // 2 if self.least is None else int(self.least)
        return {"M": most, "m": least, "E": -(-(most + 1) // _VECTOR) * _VECTOR}

    def _add(self, rules: Rules, first: int) -> None:
        grown = np.full(len(self), -1, dtype=np.int64)
        grown[: len(self.home)] = self.home
        self.home = grown
        self._insert(np.arange(first, first + len(rules)))

    def _insert(self, what: Ints, level: Ints | None = None) -> None:
        """Insert rows of the table of rules in order; with ``level`` what a deletion left without a place."""
        level = np.zeros(len(what), dtype=np.int64) if level is None else level
        share = float(self.reinsert) if self.split == "rstar" else 0.0
        left = what[::-1].copy(), level[::-1].copy(), len(what), len(what), 0
        while True:  # also without entries: a root that a deletion left with one child goes
            left = update.insert(self._tree, self._boxes, *left, SPLITS.index(self.split), share)
            if not left[2]:
                return
            for name in ("low", "high", "flags", "entry", "links"):
                table = getattr(self, name)
                more = np.zeros((len(table) // 2 + 8, *table.shape[1:]), dtype=table.dtype)
                setattr(self, name, np.concatenate([table, more]))

    def _drop(self, rows: Ints) -> None:
        self._insert(*update.delete(self._tree, rows))

    def _renumber(self, new: Ints) -> None:
        leaf = self.links[:, node.LEVEL] == 0
        leaf[int(self.head[node.USED]) :] = False
        held = np.arange(self.entry.shape[1]) < self.links[:, node.SIZE, None]
        here = leaf[:, None] & held
        self.entry[here] = new[self.entry[here]]
        self.home = np.ascontiguousarray(self.home[new >= 0])

    def _rebuild(self) -> None:
        self._reset()
        self.home = np.full(len(self), -1, dtype=np.int64)
        self._insert(np.flatnonzero(self.alive))

    def _adopt(self) -> None:
        self.validate()

    def _scores(self, X: Floats, out: Floats) -> None:
        self._count(X, out, 0, np.inf)

    def _scores_until(self, X: Floats, out: Floats, c: int, enough: float) -> None:
        self._count(X, out, c, enough)

    def _count(self, X: Floats, out: Floats, c: int, enough: float) -> int:
        return jit.e_tree_scores(self._searched, self.payload, self.owner, self.weight, c, float(enough), X, out)

    def _match(self, X: Floats, start: Ints) -> Ints:
        return jit.e_tree_match(self._searched, self.payload, self.owner, self.weight, X, start)

    @property
    def _searched(self) -> node.Searched:
        tables = self.low, self.high, self.flags, self.entry, self.links, self.head, self.values, self.at
        return cast("node.Searched", tables)  # plain: making a named one for each call would take as long as the search

    @property
    def _tree(self) -> node.Tree:
        nodes = self.low, self.high, self.flags, self.entry, self.links, self.head, self.home, self.domain
        return plain(node.Tree(*nodes, self.values, self.at))

    def entries_tested(self, X: Any, *, c: int = 0, enough: float = np.inf) -> int:
        """Give how many boxes are compared with the rows of X.

        Parameters
        ----------
        c, enough
            As for ``scores_until``.
        """
        X = self._door(X)
        return self._count(X, np.zeros((len(X), self.payload.shape[1])), c, enough)

    @property
    def height(self) -> int:
        """Levels of nodes."""
        return int(self.links[self.head[node.ROOT], node.LEVEL]) + 1

    def validate(self) -> None:
        """Refuse, with one sentence, a tree that breaks a promise of the E-tree."""
        sizes = {"rules": len(self), "d": len(self.values), "width": self.bits.shape[1]}
        check(node.Tree, self.tables(), most=None, **self._sizes(), **sizes)
        root, links, alive = int(self.head[node.ROOT]), self.links, np.flatnonzero(self.alive)
        _promise(links[root, node.PARENT] == -1, "the root has no parent")
        two = self.height == 1 or links[root, node.SIZE] >= 2
        _promise(two, "a root that is no leaf has two entries or more")
        _promise(links[root, node.LEVEL] >= 0, "the root is no free node")
        taken, nodes = np.zeros(len(links), dtype=np.bool_), np.array([root])
        for level in range(self.height - 1, -1, -1):
            taken[nodes] = True
            parts = [self._validate_nodes(nodes[k : k + _BLOCK], level) for k in range(0, len(nodes), _BLOCK)]
            nodes = np.concatenate(parts)  # at last: the rules
            _promise(len(np.unique(nodes)) == len(nodes), f"no {'node' if level else 'rule'} is there twice")
        _promise(np.array_equal(np.sort(nodes), alive), "each rule is in the tree once")
        _promise((self.home[self.alive == 0] == -1).all(), "a deleted rule has no place")
        free = int(self.head[node.FREE])
        while free >= 0:
            _promise(not taken[free], "free nodes are apart from each other and from the tree")
            taken[free], free = True, int(links[free, node.PARENT])

    def _validate_nodes(self, nodes: Ints, level: int) -> Ints:
        """Refuse damaged nodes of one level; give their entries."""
        places, size = np.arange(self.entry.shape[1]), self.links[nodes, node.SIZE]
        enough = (size >= self.head[node.LEAST]) | (nodes == self.head[node.ROOT])
        _promise(enough.all(), "nodes have at least m entries")
        held, low, high = places < size[:, None], self.low[nodes].swapaxes(1, 2), self.high[nodes].swapaxes(1, 2)
        _promise((low[~held] == np.inf).all(), "what is no entry holds nothing")
        what: Ints = self.entry[nodes][held]
        above = np.repeat(nodes, size)
        there = ((what >= 0) & (what < (self.head[node.USED] if level else len(self)))).all()
        if level == 0:
            _promise(there and (self.home[what] == above).all(), "each rule knows its leaf")
            lo, hi, bits, said = self.lo[what], self.hi[what], self.bits[what], "a leaf holds the boxes of its rules"
        else:
            _promise(there and (self.links[what, node.PARENT] == above).all(), "each node knows its parent")
            _promise((self.links[what, node.LEVEL] == level - 1).all(), "all leaves are equally deep")
            own = (places < self.links[what, node.SIZE, None])[:, None]
            lo = self.low[what].min(axis=2, initial=np.inf, where=own)
            hi = self.high[what].max(axis=2, initial=-np.inf, where=own)
            bits = np.bitwise_or.reduce(self.flags[what], axis=1, where=own.swapaxes(1, 2))
            said = "the box of a node is the union of its entries"
        same = (low[held] == lo).all() and (high[held] == hi).all() and (self.flags[nodes][held] == bits).all()
        _promise(same, said)
        return what


def _promise(kept: Any, what: str) -> None:
    if not kept:
        raise ValueError(f"the E-tree is damaged: it is not true that {what}")
