"""The pool of trees: its tables, how they grow, and how they stay within a limit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.random import seeded
from thalweg.trees import moving_jit
from thalweg.trees import tables_jit as p
from thalweg.trees.leaf_jit import HEADER, HUGE, NUMERIC_COLUMNS, ROOM, VALUES

CRITERIA = ("gain", "gini")
LEAVES = ("majority", "bayes", "adaptive")
BOUNDS = ("hoeffding", "mcdiarmid")
NULL_MERITS = ("zero", "moa")
ON_LIMIT = ("sleep", "stop")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How the trees of a pool grow; the words of ``HoeffdingTree``."""

    grace_period: float = 200
    delta: float = 1e-7
    tau: float = 0.05
    criterion: str = "gain"
    leaf: str = "adaptive"
    bound: str = "hoeffding"
    min_branch_share: float = 0.01
    null_merit: str = "moa"
    n_split_points: int = 10
    binary_splits: bool = False
    bayes_from: float = 0.0
    prune: bool = True
    drop_poor: bool = False
    leaf_range: bool = True
    subspace: int | None = None
    limit_bytes: int | None = None
    on_limit: str = "sleep"

    def to_array(self) -> NDArray[np.float64]:
        """The numbers that compiled code reads, in the order of the R_ names."""
        codes = (
            self.grace_period, self.delta, self.tau, CRITERIA.index(self.criterion), LEAVES.index(self.leaf),
            BOUNDS.index(self.bound), self.min_branch_share, NULL_MERITS.index(self.null_merit), self.n_split_points,
            self.binary_splits, self.bayes_from, self.prune, self.drop_poor and self.leaf == "majority",
            self.leaf_range,
        )  # fmt: skip
        return np.array([*codes, 0.0, 0.0], dtype=np.float64)


@final
class Pool:
    """T trees in common tables. A Hoeffding tree is a pool of one."""

    TABLES = ("nodes", "tally", "stats", "watched", "layout", "rng", "head")

    def __init__(self, rules: Rules, schema: Schema, trees: int, seed: int) -> None:
        self.trees = trees
        self._take_rules(rules)
        layout = np.zeros((2, schema.n_features), dtype=np.int64)
        for f, feature in enumerate(schema.features):
            if feature.nominal:
                layout[ROOM, f] = max(1, feature.cardinality)
                layout[VALUES, f] = 0 if feature.open else feature.cardinality
        self.layout = layout
        self.rng = seeded(seed, trees)
        self.head = np.zeros(8, dtype=np.int64)
        self.head[[p.H_FREE, p.H_FREE_SLOT]] = -1
        self.head[p.H_NODES] = trees
        self._note_arity()
        classes = 2
        self.nodes = _leaves(trees + max(14, int(self.head[p.H_ARITY])))
        self.tally = np.zeros((len(self.nodes), 1 + classes))
        slots = max(4, trees)
        self.stats = np.zeros((slots, self._width(layout, classes)))
        self.watched = np.zeros((slots, self._m(layout), 2), dtype=np.int32)

    @classmethod
    def adopt(cls, rules: Rules, tables: State, schema: Schema, trees: int) -> "Pool":
        """Continue from tables that ``tables()`` gave; others are refused, whatever they hold."""
        self = cls.__new__(cls)
        self.trees = trees
        self._take_rules(rules)
        for name in cls.TABLES:
            setattr(self, name, tables[name])
        self._check(schema)
        return self

    def _check(self, schema: Schema) -> None:
        """Refuse tables that no pool of these rules could have."""
        kinds = {"nodes": (p.NODE, 1), "tally": (np.float64, 2), "stats": (np.float64, 2), "watched": (np.int32, 3),
                 "layout": (np.int64, 2), "rng": (np.uint64, 1), "head": (np.int64, 1)}  # fmt: skip
        for name, (dtype, ndim) in kinds.items():
            table = getattr(self, name)
            if table.dtype != dtype or table.ndim != ndim or not table.flags.c_contiguous:
                raise ValueError(f"its table {name!r} has another type or shape")
        classes = self.tally.shape[1] - 1
        nominal = [f.nominal for f in schema.features]
        if not (
            self.layout.shape == (2, schema.n_features)
            and (self.layout >= 0).all()
            and (self.layout[VALUES] <= self.layout[ROOM]).all()
            and (self.layout[ROOM] > 0).tolist() == nominal
            and classes >= 2
            and len(self.tally) == len(self.nodes)
            and self.watched.shape == (len(self.stats), self._m(self.layout), 2)
            and self.stats.shape[1] == self._width(self.layout, classes)
            and (self.rng.shape, self.head.shape) == ((self.trees,), (8,))
        ):
            raise ValueError("its tables do not fit each other")
        self._note_arity()
        if not moving_jit.sound(self.nodes, self.stats, self.watched, self.layout, self.head, classes, self.trees):
            raise ValueError("its tables point outside themselves")

    def _take_rules(self, rules: Rules) -> None:
        self.limit = rules.limit_bytes
        self.stops = rules.on_limit == "stop"
        self.binary = rules.binary_splits
        self.subspace = rules.subspace
        self.rules = rules.to_array()

    def tables(self) -> State:
        """All state of the pool, not copied."""
        return {name: getattr(self, name) for name in self.TABLES}

    @property
    def arguments(self) -> tuple[NDArray[Any], ...]:
        """The tables in the order in which compiled routines take them."""
        return (self.nodes, self.tally, self.stats, self.watched, self.layout, self.rng, self.head, self.rules)

    @property
    def nbytes(self) -> int:
        """Bytes of all tables."""
        return sum(table.nbytes for table in self.tables().values())

    def play(
        self,
        routine: Callable[..., int],
        X: NDArray[np.float64],
        y: NDArray[np.int64],
        w: NDArray[np.float64],
        events: NDArray[np.int64],
        out: NDArray[np.float64],
        known: int,
    ) -> None:
        """Let a compiled routine carry out the events; whenever it stops short, grow what it lacks and go on."""
        done = routine(*self.arguments, X, y, w, events, out, known)
        while done < len(events):
            learned = ~events[:done][events[:done] < 0]
            if learned.size:
                known = max(known, int(y[learned].max()) + 1)
            events = events[done:]
            r = ~events[0]
            self.make_room(X[r], int(y[r]))
            done = routine(*self.arguments, X, y, w, events, out, known)

    # -- growing ------------------------------------------------------------------------------------------------------

    def make_room(self, x: NDArray[np.float64], y: int) -> None:
        """Grow whatever kept a compiled routine from learning row x with label code y."""
        classes = self.tally.shape[1] - 1
        if y >= classes:
            self._reshape(self.layout, max(y + 1, classes + classes // 2))
            return
        room = self.layout[ROOM]
        lacking = (room > 0) & (np.abs(x) <= HUGE) & (x >= room)
        if lacking.any():
            layout = self.layout.copy()
            wanted = np.where(lacking, x, 0).astype(np.int64) + 1
            layout[ROOM] = np.where(lacking, np.maximum(wanted, room + room // 2), room)
            self._reshape(layout, classes)
            return
        self._enlarge()

    def extend(self, schema: Schema) -> None:
        """Make room for features that have joined."""
        new = schema.features[self.layout.shape[1] :]
        if new:
            more = np.array([[int(f.nominal) for f in new], [0] * len(new)], dtype=np.int64)
            self._reshape(np.ascontiguousarray(np.hstack([self.layout, more])), self.tally.shape[1] - 1)

    def _reshape(self, layout: NDArray[np.int64], classes: int) -> None:
        """Give every leaf room for more classes, values or attributes."""
        self._resize(len(self.nodes), len(self.stats))  # without gaps: slots in use come first
        used = int(self.head[p.H_SLOTS])
        m, width = self._m(layout), self._width(layout, classes)
        slots = len(self.stats)
        if self.limit is not None:  # wider rows, so fewer of them where the limit is near
            spare = self.limit - self._fixed_bytes(layout) - len(self.nodes) * _node_bytes(classes)
            fitting = max(2, spare // _slot_bytes(width, m))
            if fitting < slots:
                slots = fitting
                if used >= fitting:
                    self._ration(fitting - 1)
                    used = int(self.head[p.H_SLOTS])
        stats = np.zeros((slots, width))
        watched = np.zeros((slots, m, 2), dtype=np.int32)
        old_classes = self.tally.shape[1] - 1
        moving_jit.relayout(self.stats, self.watched, self.layout, old_classes, stats, watched, layout, classes, used)
        self.stats, self.watched, self.layout = stats, watched, layout
        self.tally = np.ascontiguousarray(np.pad(self.tally, ((0, 0), (0, classes - old_classes))))
        self._note_arity()

    def _enlarge(self) -> None:
        """Make room for a split and a leaf: collect what is free, else grow, else put leaves to sleep."""
        nodes, slots = moving_jit.live(self.nodes, self.trees)
        need = int(self.head[p.H_ARITY])
        classes, width = self.tally.shape[1] - 1, self.stats.shape[1]
        node, slot = _node_bytes(classes), _slot_bytes(width, self.watched.shape[1])
        room_nodes, room_slots = len(self.nodes), len(self.stats)
        if nodes + max(need, nodes // 4) > room_nodes and not self.head[p.H_FROZEN]:
            room_nodes = nodes + max(need, nodes // 2)
        if slots + max(1, slots // 4) > room_slots:
            room_slots = slots + max(4, slots // 2)
        if self.limit is not None:
            fixed = self._fixed_bytes(self.layout)
            if fixed + room_nodes * node + room_slots * slot > self.limit:
                room_nodes = max(nodes, min(room_nodes, nodes + max(need, nodes // 8)))
                frozen = fixed + room_nodes * node > self.limit // 2
                if self.stops or frozen:
                    self.head[p.H_FROZEN] = 1
                    room_nodes = nodes
                room_slots = max(2, min(room_slots, (self.limit - fixed - room_nodes * node) // slot))
                if slots >= room_slots:
                    self._ration(max(1, room_slots - 1 - room_slots // 8))
        self._resize(room_nodes, room_slots)

    def _ration(self, keep: int) -> None:
        moving_jit.ration(self.nodes, self.tally, self.watched, self.head, self.trees, keep)
        self._resize(len(self.nodes), len(self.stats))

    def _resize(self, nodes: int, slots: int) -> None:
        """Move all trees into tables of these lengths."""
        new_nodes = _leaves(nodes)
        new_tally = np.zeros((nodes, self.tally.shape[1]))
        stats = np.zeros((slots, self.stats.shape[1]))
        watched = np.zeros((slots, *self.watched.shape[1:]), dtype=np.int32)
        old = (self.nodes, self.tally, self.stats, self.watched)
        moving_jit.move(*old, self.head, self.trees, new_nodes, new_tally, stats, watched)
        self.nodes, self.tally, self.stats, self.watched = new_nodes, new_tally, stats, watched

    def rehearse(self) -> None:
        """Run everything that happens only when tables grow, so that it is compiled before time counts."""
        self._enlarge()
        self._ration(1)
        self._reshape(self.layout, self.tally.shape[1])

    # -- sizes --------------------------------------------------------------------------------------------------------

    def _m(self, layout: NDArray[np.int64]) -> int:
        """How many attributes a leaf watches (at least one cell, which the free list needs)."""
        d = layout.shape[1]
        return max(1, d if self.subspace is None else min(self.subspace, d)) if d else 0

    def _width(self, layout: NDArray[np.int64], classes: int) -> int:
        room = layout[ROOM]
        sizes = np.sort(np.where(room == 0, 1 + NUMERIC_COLUMNS * classes, 1 + classes + room * classes))
        return HEADER + int(sizes[::-1][: self._m(layout)].sum())

    def _fixed_bytes(self, layout: NDArray[np.int64]) -> int:
        return layout.nbytes + self.rng.nbytes + self.head.nbytes

    def _note_arity(self) -> None:
        widest = int(self.layout[ROOM].max(initial=2))
        self.head[p.H_ARITY] = 2 if self.binary else widest + widest % 2
        self.head[p.H_NOMINAL] = int((self.layout[ROOM] > 0).sum())


def _leaves(n: int) -> NDArray[np.void]:
    nodes = np.zeros(n, dtype=p.NODE)
    nodes["feature"] = p.LEAF
    nodes["left"] = p.FRESH
    return nodes


def _node_bytes(classes: int) -> int:
    return p.NODE.itemsize + 8 * (1 + classes)


def _slot_bytes(width: int, m: int) -> int:
    return 8 * width + 8 * m
