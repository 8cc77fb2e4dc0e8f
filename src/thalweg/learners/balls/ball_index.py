"""An index of points that come, go and move: the nearest of them, exactly. For balls, and for neighbours too."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import plain
from thalweg.learners.balls import ball_index_jit as o
from thalweg.learners.balls.ball_index_build_jit import make
from thalweg.learners.balls.ball_index_update_jit import ASK, carry_out
from thalweg.learners.balls.tiles_jit import D_SQUARES, LANES, Floats, Ints

_PER_TILE = 52  # points of a tile of 32 in a new tree: some may join before it must be split
_PER_NODE = 12
_TRIED = 64  # points whose neighbours a new tree must find quickly


class BallIndex:
    """The k nearest of the points in ``points``, by their numbers; the lowest of ``ids`` first among equals.

    It makes, from the two tables of its owner, tables that follow from them: nothing of it needs to be saved.
    differences: how they are put together: D_SQUARES, D_ABSOLUTE, D_GREATEST or D_UNEQUAL of tiles_jit.py.
    tree: True: from 1,024 points on, as long as it pays; False: never.

    >>> index = BallIndex(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([0, 1]), np.zeros(2, dtype=np.int64))
    >>> index.nearest([3.0, 3.0], k=2)
    (array([1, 0]), array([ 1., 18.]))
    """

    tables: o.Index

    def __init__(
        self, points: Floats, ids: Ints, nominal: Ints, differences: int = D_SQUARES, *, n: int | None = None,
        tree: bool = True,
    ) -> None:  # fmt: skip
        self._kind = np.array([differences, int(nominal.any())], dtype=np.int64)
        self._try_at = o.LEAST_TREE if tree else np.iinfo(np.int64).max
        self._make(points, ids, nominal, np.arange(len(points) if n is None else n))

    def __len__(self) -> int:
        return int(self.tables.head[o.I_SIZE])

    @property
    def bytes(self) -> int:
        """Bytes of the tables that it made."""
        t = self.tables
        made = (t.tiles, t.who, t.leaves, t.where, t.boxes, t.kids, t.nodes, t.head)
        return sum(table.nbytes for table in made)

    def room(self, k: int = 1, floats: int = 0, ints: int = 0) -> o.Room:
        """Make room for one query at a time, and for more numbers behind it. Each thread needs its own."""
        numbers = np.zeros(o.Q_FLOATS + k + self.tables.points.shape[1] + floats)
        whole = np.zeros(o.Q_INTS + k + ints, dtype=np.int64)
        whole[o.Q_LAST] = -1
        return numbers, numbers.view(np.int64), whole

    def nearest(self, x: Any, k: int = 1) -> tuple[Ints, Floats]:
        """Give the numbers of the k nearest points, and their distances (squared for D_SQUARES)."""
        X = np.array([x], dtype=np.float64)
        answers, keys = self.run(np.array([ASK]), np.zeros(1, dtype=np.int64), X, k=k)
        n = int((answers[0] >= 0).sum())
        return answers[0, :n], keys[0, :n]

    def run(self, what: Ints, numbers: Ints, X: Floats, k: int = 1) -> tuple[Ints, Floats]:
        """Carry out INSERT, DELETE, MOVE, ASK in order; give numbers and distances of the k nearest to those asked."""
        answers, keys = np.full((len(what), k), -1, dtype=np.int64), np.full((len(what), k), np.inf)
        room, e = self.room(k), 0
        while True:
            e = carry_out(plain(self.tables), room, what, numbers, X, keys, answers, e)
            if e == len(what):
                return answers, keys
            self.care()

    def care(self) -> None:
        """Do what compiled code asked for: make room, or make the tree, make it once more, give it up."""
        head, n = self.tables.head, len(self)
        if head[o.I_ROOT] < 0 and n >= head[o.I_TRY_AT]:
            self._remake()
        elif head[o.I_ROOT] >= 0 and head[o.I_ASKED] >= o.TRIAL and not self._pays(0.6):
            self._give_up()
        elif head[o.I_ROOT] >= 0 and head[o.I_STALE] > n:
            self._remake()
        else:
            self._grow()

    def follow(self, points: Floats, ids: Ints) -> None:
        """Take over larger tables of the owner, which begin with the same rows."""
        where = np.full(len(points), -1, dtype=np.int64)
        where[: len(self.tables.where)] = self.tables.where
        self.tables = self.tables._replace(points=points, ids=ids, where=where)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _remake(self) -> None:
        """Make all tables once more from the points that are there."""
        t = self.tables
        self._make(t.points, t.ids, t.nominal, np.flatnonzero(t.where >= 0))

    def _make(self, points: Floats, ids: Ints, nominal: Ints, order: Ints) -> None:
        """Make all tables from the points of these numbers."""
        n, d = len(order), points.shape[1]
        tree = n >= self._try_at
        tiles = max(4, -(-n // _PER_TILE) * 2 if tree else -(-n // LANES) * 2)
        nodes = max(8, tiles // 4 + 2 * o.LEVELS) if tree else 0
        head = np.zeros(o.I_COLUMNS, dtype=np.int64)
        head[o.I_ROOT], head[o.I_TRY_AT] = -1, self._try_at
        self.tables = o.Index(
            points=points, ids=ids, nominal=nominal, kind=self._kind, head=head,
            tiles=np.full((tiles, d, LANES), np.inf), who=np.full((tiles, LANES), -1, dtype=np.int64),
            leaves=np.zeros((tiles, o.T_COLUMNS), dtype=np.int64), where=np.full(len(points), -1, dtype=np.int64),
            boxes=np.zeros((nodes, 2, d, o.CHILDREN)), kids=np.zeros((nodes, o.CHILDREN), dtype=np.int64),
            nodes=np.zeros((nodes, o.N_COLUMNS), dtype=np.int64),
        )  # fmt: skip
        order, tasks = np.ascontiguousarray(order), np.zeros((256, 4), dtype=np.int64)
        make(plain(self.tables), order, tasks, np.zeros((2, d)), tree, _PER_TILE, _PER_NODE)
        if tree:
            self._try(order)

    def _try(self, order: Ints) -> None:
        """Ask for the neighbours of a few points; a tree that looks at everything is given up at once."""
        some = np.ascontiguousarray(order[:: max(1, len(order) // _TRIED)])
        self.run(np.full(len(some), ASK), some, self.tables.points[some], k=2)
        if not self._pays(1.0):
            self._give_up()
        self.tables.head[o.I_ASKED], self.tables.head[o.I_TAKEN] = 0, 0

    def _pays(self, share: float) -> bool:
        """Does a query take fewer steps than this share of the tiles?"""
        head = self.tables.head
        return bool(head[o.I_TAKEN] * LANES < share * head[o.I_ASKED] * len(self))

    def _give_up(self) -> None:
        """Measure all tiles again, until there are twice as many points."""
        self._try_at = 2 * len(self)
        self._remake()

    def _grow(self) -> None:
        """Make room for twice as many tiles and nodes."""
        t = self.tables
        self.tables = t._replace(
            tiles=_doubled(t.tiles, np.inf), who=_doubled(t.who, -1), leaves=_doubled(t.leaves, 0),
            boxes=_doubled(t.boxes, 0), kids=_doubled(t.kids, 0), nodes=_doubled(t.nodes, 0),
        )  # fmt: skip


def _doubled(table: NDArray[Any], empty: float) -> NDArray[Any]:
    """Give a table with as many empty rows below."""
    return np.concatenate([table, np.full_like(table, empty)])
