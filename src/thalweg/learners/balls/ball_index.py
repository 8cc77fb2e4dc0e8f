"""An index of points that come, go and move: the nearest of them, exactly. For balls, and for neighbours too."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.learners.balls import ball_index_jit as o

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_PER_TILE = 52  # points of a tile of 32 in a new tree: some may join before it must be split
_PER_NODE = 12
_TRIED = 64  # points whose neighbours a new tree must find quickly

_carry_out: Any = o.carry_out
_make: Any = o.make


class BallIndex:
    """The k nearest of the points in ``points``, by their numbers; the lowest of ``ids`` first among equals.

    It makes, from the two tables of its owner, tables that follow from them: nothing of it needs to be saved.
    metric: how differences are put together, SQUARES, ABSOLUTE, GREATEST or UNEQUAL of ball_index_jit.py.
    tree: True: from 1,024 points on, as long as it pays; False: never.

    >>> index = BallIndex(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([0, 1]), np.zeros(2, dtype=np.int64))
    >>> index.nearest([3.0, 3.0], k=2)
    (array([1, 0]), array([ 1., 18.]))
    """

    def __init__(
        self, points: Floats, ids: Ints, nominal: Ints, metric: int = o.SQUARES, *, n: int | None = None,
        tree: bool = True,
    ) -> None:  # fmt: skip
        self.points, self.ids, self.nominal = points, ids, nominal
        self.where: Ints = np.zeros(0, dtype=np.int64)
        self.rules = np.array([metric, int(nominal.any())], dtype=np.int64)
        self.try_at = o.LEAST_TREE if tree else np.iinfo(np.int64).max
        self._make(np.arange(len(points) if n is None else n))

    def __len__(self) -> int:
        return int(self.head[o.SIZE])

    @property
    def tables(self) -> tuple[NDArray[Any], ...]:
        """The tables in the order of Index."""
        return (
            self.points, self.ids, self.tiles, self.who, self.leaves, self.where, self.boxes, self.kids, self.nodes,
            self.head, self.nominal, self.rules,
        )  # fmt: skip

    @property
    def bytes(self) -> int:
        """Bytes of the tables that it made."""
        return sum(t.nbytes for t in self.tables[2:10])

    def lens(self, k: int = 1) -> tuple[NDArray[Any], ...]:
        """Make room for one query at a time: see Lens in ball_index_jit.py. Each thread needs its own."""
        sums, near, meter = np.zeros(o.LANES), np.zeros(k), np.zeros(o.METER, dtype=np.int64)
        meter[o.LAST] = -1
        return (
            np.zeros(self.points.shape[1]), sums, sums.view(np.int64), near, near.view(np.int64),
            np.zeros(k, dtype=np.int64), np.zeros((o.LEVELS, o.CHILDREN)), np.zeros(o.LEVELS, dtype=np.int64), meter,
        )  # fmt: skip

    def nearest(self, x: Any, k: int = 1) -> tuple[Ints, Floats]:
        """Give the numbers of the k nearest points, and their distances (squared for SQUARES)."""
        X = np.array([x], dtype=np.float64)
        answers, keys = self.run(np.array([o.ASK]), np.zeros(1, dtype=np.int64), X, k=k)
        n = int((answers[0] >= 0).sum())
        return answers[0, :n], keys[0, :n]

    def run(self, what: Ints, numbers: Ints, X: Floats, k: int = 1) -> tuple[Ints, Floats]:
        """Carry out INSERT, DELETE, MOVE, ASK in order; give numbers and distances of the k nearest to those asked."""
        answers, keys = np.full((len(what), k), -1, dtype=np.int64), np.full((len(what), k), np.inf)
        lens, e = self.lens(k), 0
        while True:
            e = _carry_out(*self.tables, *lens, what, numbers, X, keys, answers, e)
            if e == len(what):
                return answers, keys
            self.care()

    def care(self) -> None:
        """Do what compiled code asked for: make room, or make the tree, make it anew, give it up."""
        head, n = self.head, len(self)
        if head[o.ROOT] < 0 and n >= head[o.TRY_AT]:
            self._make(self._present())
        elif head[o.ROOT] >= 0 and head[o.ASKED] >= o.TRIAL and not self._pays(0.6):
            self._give_up()
        elif head[o.ROOT] >= 0 and head[o.STALE] > n:
            self._make(self._present())
        else:
            self._grow()

    def follow(self, points: Floats, ids: Ints) -> None:
        """Take over larger tables of the owner, which begin with the same rows."""
        where = np.full(len(points), -1, dtype=np.int64)
        where[: len(self.where)] = self.where
        self.points, self.ids, self.where = points, ids, where

    # -- inside -------------------------------------------------------------------------------------------------------

    def _present(self) -> Ints:
        """The numbers that are there, in order."""
        return np.flatnonzero(self.where >= 0)

    def _make(self, order: Ints) -> None:
        """Make all tables from the points."""
        n, d = len(order), self.points.shape[1]
        tree = n >= self.try_at
        tiles = max(4, -(-n // _PER_TILE) * 2 if tree else -(-n // o.LANES) * 2)
        nodes = max(8, tiles // 4 + 2 * o.LEVELS) if tree else 0
        self.tiles = np.full((tiles, d, o.LANES), np.inf)
        self.who = np.full((tiles, o.LANES), -1, dtype=np.int64)
        self.leaves = np.zeros((tiles, 3), dtype=np.int64)
        self.where = np.full(len(self.points), -1, dtype=np.int64)
        self._nodes(nodes)
        self.head = np.zeros(o.HEAD, dtype=np.int64)
        self.head[o.ROOT], self.head[o.TRY_AT] = -1, self.try_at
        tasks = np.zeros((256, 4), dtype=np.int64)
        _make(*self.tables, np.ascontiguousarray(order), tasks, np.zeros((2, d)), int(tree), n, _PER_TILE, _PER_NODE)

        if tree:
            self._try(order)

    def _try(self, order: Ints) -> None:
        """Ask for the neighbours of a few points; a tree that looks at everything is given up at once."""
        some = np.ascontiguousarray(order[:: max(1, len(order) // _TRIED)])
        self.run(np.full(len(some), o.ASK), some, self.points[some], k=2)
        if not self._pays(1.0):
            self._give_up()
        self.head[o.ASKED], self.head[o.TAKEN] = 0, 0

    def _pays(self, share: float) -> bool:
        """Does a query take fewer steps than this share of the tiles?"""
        return bool(self.head[o.TAKEN] * o.LANES < share * self.head[o.ASKED] * len(self))

    def _give_up(self) -> None:
        """Measure all tiles again, until there are twice as many points."""
        self.try_at = 2 * len(self)
        self._make(self._present())

    def _nodes(self, n: int) -> None:
        self.boxes = np.zeros((n, 2, self.points.shape[1], o.CHILDREN))
        self.kids, self.nodes = np.zeros((n, o.CHILDREN), dtype=np.int64), np.zeros((n, 4), dtype=np.int64)

    def _grow(self) -> None:
        """Make room for twice as many tiles and nodes."""
        self.tiles, self.who, self.leaves = (
            _doubled(self.tiles, np.inf),
            _doubled(self.who, -1),
            _doubled(self.leaves, 0),
        )
        self.boxes, self.kids, self.nodes = (_doubled(table, 0) for table in (self.boxes, self.kids, self.nodes))


def _doubled(table: NDArray[Any], empty: float) -> NDArray[Any]:
    """Give a table with as many empty rows below."""
    return np.concatenate([table, np.full_like(table, empty)])
