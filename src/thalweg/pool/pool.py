"""The pool of trees: its tables, how they grow, and how they stay within a limit.

Rows of ``nodes`` and ``tally`` belong to nodes, rows of ``stats`` and ``watched`` ("slots") to leaves that observe.
Compiled routines take rows from free lists and stop when there is none left; then ``make_room`` does what is needed:

| what is lacking               | what happens                                                                        |
| a class, a nominal value,     | ``_reshape``: all slots become wider; under a limit there are then fewer: splits    |
| a feature                     | are undone (``_prune``) and leaves put to sleep (``_ration``) until the rest fits   |
| a row for a node or a slot    | ``_enlarge``: gaps are closed, tables grow by half; under a limit they grow as far  |
|                               | as it allows, then leaves are put to sleep, and at last no node splits any more     |
"""

import math
import mmap
from dataclasses import dataclass, field
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.pool import moving_jit
from thalweg.pool import pool_jit as p
from thalweg.pool.leaf_jit import (
    C_ROWS,
    G_CLASSES,
    HUGE,
    L_PATCH,
    L_ROOM,
    L_VALUES,
    S_HEADER,
    Floats,
    Ints,
    whole_lanes,
)
from thalweg.pool.rules import Rules

CLASSES = 2
"""Room for classes at the start; it grows as they appear."""
_OWN_MEMORY = 1 << 16
_LINE = 64
"""Bytes of a cache line."""


class Routine(Protocol):
    """A compiled loop over events for a pool of one tree."""

    def __call__(
        self, tables: p.Tables, linked: Any, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int,
        work: Floats, /,
    ) -> int:  # fmt: skip
        """Give the number of events done; less than all when a table must grow first."""


def _zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    """Make a table of zeros, at the beginning of a cache line.

    A large one gets memory of its own, which goes back to the system when it is replaced.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < _OWN_MEMORY or not hasattr(mmap, "MAP_PRIVATE"):
        cells = np.zeros(size + _LINE, dtype=np.uint8)
        first = -int(cells.__array_interface__["data"][0]) % _LINE
        table: NDArray[Any] = cells[first : first + size].view(dtype).reshape(shape)
        return table
    own = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(own, dtype=dtype).reshape(shape)


@dataclass(frozen=True, kw_only=True)
class Extras:
    """What the trees of a pool have beyond the tables of plain ones; see pool_jit.py."""

    kind: int = p.UNLINKED
    marks: int = 0
    """Columns of ``marks``."""
    pair: Floats = field(default_factory=lambda: np.empty(0))
    """A row of ``pairs`` as it is in the beginning."""
    turns: int = 0
    """How many things ``turns`` counts."""
    rules: tuple[float, ...] = ()
    """More numbers for compiled code to read, from R_OWN."""

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that there are."""
        there = {"links": self.kind != p.UNLINKED, "marks": self.marks, "pairs": self.pair.size, "turns": self.turns}
        return tuple(name for name, used in there.items() if used)

    def make(self, nodes: int, trees: int) -> tuple[NDArray[np.int32], Floats, Floats]:
        """Make links, marks and pairs for so many nodes."""
        links = np.full(nodes if self.kind != p.UNLINKED else 0, p.NO_LINK, dtype=np.int32)
        pairs = _zeros(((nodes - trees) // 2 if self.pair.size else 0, self.pair.size))
        pairs[:] = self.pair
        return links, _zeros((nodes if self.marks else 0, self.marks)), pairs

    @property
    def node_bytes(self) -> int:
        """Bytes for each node."""
        return 4 * (self.kind != p.UNLINKED) + 8 * self.marks + self.pair.nbytes // 2


NO_EXTRAS = Extras()


@final
class Pool:
    """T trees in common tables. A Hoeffding tree is a pool of one."""

    TABLES = ("nodes", "tally", "stats", "watched", "layout", "rng", "head")
    nodes: NDArray[np.void]
    tally: Floats
    stats: Floats
    watched: NDArray[np.int32]
    layout: Ints
    rng: NDArray[np.uint64]
    head: Ints
    links: NDArray[np.int32]
    marks: Floats
    pairs: Floats
    turns: Ints
    bundle: p.Tables
    """All tables of plain trees and the rules, as compiled routines take them."""
    linked: p.Linked | tuple[()]
    """The tables that plain trees do not have; of plain trees nothing."""
    classes: int
    """Room for classes."""
    work: int
    """How many cells a compiled routine needs to work in: ``logs`` and ``votes`` of pool_jit.cut."""

    def __init__(
        self,
        rules: Rules,
        schema: Schema,
        trees: int,
        rng: NDArray[np.uint64],
        *,
        patches: Any = None,
        need: int = 1,
        extras: Extras = NO_EXTRAS,
    ) -> None:
        """Make trees that have seen nothing.

        rng: a generator for each tree. patches: for each tree a row with 1 for each feature that it may watch, as many
        as ``rules.subspace``; None: all. need: how many trees one step of the compiled routine teaches (1 or 2).
        extras: what these trees have beyond plain ones.
        """
        self._take_rules(rules, trees, need, extras)
        layout = np.zeros((L_PATCH + (0 if patches is None else trees), schema.n_features), dtype=np.int64)
        for f, feature in enumerate(schema.features):
            if feature.nominal:  # an open feature starts small whatever its first chunk knows: chunks must not matter
                layout[:L_PATCH, f] = (1, 0) if feature.open else max(1, feature.cardinality)
        if patches is not None:
            layout[L_PATCH:] = patches
        self.layout, self.rng = layout, rng
        self.head = np.zeros(8, dtype=np.int64)
        self.head[[p.H_FREE, p.H_FREE_SLOT]] = -1
        self.head[p.H_NODES] = trees
        self.turns = np.zeros(extras.turns, dtype=np.int64)
        self._note_arity()
        fewest = need * int(self.head[p.H_ARITY])
        nodes, slots = trees + max(14, fewest), max(4, trees + need)
        m, width = self._m(layout), self._width(layout, CLASSES)
        if self.limit is not None:
            least = self.least_bytes
            usual = self._fixed_bytes(layout) + nodes * self._node_bytes(CLASSES) + slots * _slot_bytes(width, m)
            if least > self.limit:
                raise ValueError(
                    f"limit_bytes must be at least {least} for {schema.n_features} features and {trees} trees, "
                    f"got {self.limit}"
                )
            if usual > self.limit:
                nodes, slots = trees + fewest, trees + need
        self.nodes = _leaves(nodes)
        self.links, self.marks, self.pairs = extras.make(nodes, trees)
        self.tally = np.zeros((nodes, 1 + CLASSES))
        self.stats = _zeros((slots, width))
        self.watched = np.zeros((slots, m, 2), dtype=np.int32)
        self._bind()

    @classmethod
    def adopt(
        cls, rules: Rules, tables: State, schema: Schema, trees: int, *, need: int = 1, extras: Extras = NO_EXTRAS
    ) -> "Pool":
        """Continue from tables that ``tables()`` gave; others are refused, whatever they hold."""
        self = cls.__new__(cls)
        self._take_rules(rules, trees, need, extras)
        self.links, self.marks, self.pairs = extras.make(0, 0)
        self.turns = np.zeros(0, dtype=np.int64)
        for name in cls.TABLES + extras.names:
            setattr(self, name, tables[name])
        self._check(schema)
        self._bind()
        return self

    def _check(self, schema: Schema) -> None:
        """Refuse tables that no pool of these rules could have."""
        kinds = {"nodes": (p.NODE, 1), "tally": (np.float64, 2), "stats": (np.float64, 2), "watched": (np.int32, 3),
                 "layout": (np.int64, 2), "rng": (np.uint64, 1), "head": (np.int64, 1), "links": (np.int32, 1),
                 "marks": (np.float64, 2), "pairs": (np.float64, 2), "turns": (np.int64, 1)}  # fmt: skip
        for name, (dtype, ndim) in kinds.items():
            table = getattr(self, name)
            if table.dtype != dtype or table.ndim != ndim or not table.flags.c_contiguous:
                raise ValueError(f"its table {name!r} has another type or shape")
        classes = self.tally.shape[1] - 1
        nominal = [f.nominal for f in schema.features]
        if not (
            self.layout.shape in ((L_PATCH, schema.n_features), (L_PATCH + self.trees, schema.n_features))
            and (self.layout >= 0).all()
            and (self.layout[L_PATCH:].sum(axis=1) == self._m(self.layout)).all()
            and (self.layout[L_PATCH:] <= 1).all()
            and (self.layout[L_VALUES] <= self.layout[L_ROOM]).all()
            and (self.layout[L_ROOM] > 0).tolist() == nominal
            and classes >= 2
            and len(self.tally) == len(self.nodes)
            and self.watched.shape == (len(self.stats), self._m(self.layout), 2)
            and self.stats.shape[1] == self._width(self.layout, classes)
            and (self.rng.shape, self.head.shape) == ((self.trees,), (8,))
            and 0 <= self.head[p.H_NEED] <= len(self.nodes)
            and [self.links.shape, self.marks.shape, self.pairs.shape]
            == [table.shape for table in self.extras.make(len(self.nodes), self.trees)]
            and self.turns.shape == (self.extras.turns,)
        ):
            raise ValueError("its tables do not fit each other")
        self._note_arity()
        tables = (self.nodes, self.stats, self.watched, self.layout, self.head)
        if not moving_jit.sound(*tables, classes, self.trees, self.extras.kind, self.links):
            raise ValueError("its tables point outside themselves")

    def _take_rules(self, rules: Rules, trees: int, need: int, extras: Extras) -> None:
        self.trees, self._need, self.extras = trees, need, extras
        self.limit = rules.limit_bytes
        self.stops = rules.on_limit == "stop"
        self.binary = rules.binary_splits
        self.subspace = rules.subspace
        self.rules = np.concatenate([rules.to_array(), np.array(extras.rules, dtype=np.float64)])

    def _bind(self) -> None:
        """Put the tables together for compiled routines, whenever one of them is another."""
        tables = p.Trees(
            nodes=self.nodes, tally=self.tally, stats=self.stats, watched=self.watched, layout=self.layout,
            rng=self.rng, head=self.head, rules=self.rules,
        )  # fmt: skip
        self.bundle = tables[:]
        self.classes = self.tally.shape[1] - 1
        self.linked = () if self.extras is NO_EXTRAS else (self.links, self.marks, self.pairs, self.turns)
        self.work = int(whole_lanes(self.classes)) + self.watched.shape[1] + self.classes

    def tables(self) -> State:
        """All state of the pool, not copied."""
        return {name: getattr(self, name) for name in self.TABLES + self.extras.names}

    @property
    def need(self) -> int:
        """How many trees the next step teaches: what the compiled routine has said, or what is always enough."""
        return max(self._need, int(self.head[p.H_NEED]))

    @property
    def least_bytes(self) -> int:
        """Bytes of trees that have seen nothing, with room for the first step."""
        nodes = self.trees + self.need * int(self.head[p.H_ARITY])
        slots = (self.trees + self.need) * _slot_bytes(self._width(self.layout, CLASSES), self._m(self.layout))
        return self._fixed_bytes(self.layout) + nodes * self._node_bytes(CLASSES) + slots

    def compact(self) -> State:
        """All state of the pool in tables without gaps: the same for the same trees, however they came about."""
        moved = self._moved(*self.live)
        return {name: moved.get(name, table) for name, table in self.tables().items()}

    @property
    def nbytes(self) -> int:
        """Bytes of all tables."""
        return sum(table.nbytes for table in self.tables().values())

    def play(self, routine: Routine, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        """Let a compiled routine carry out the events; whenever it stops short, grow what it lacks and go on."""
        done = routine(self.bundle, self.linked, X, y, w, events, out, known, np.empty(self.work))
        while done < len(events):
            learned = ~events[:done][events[:done] < 0]
            if learned.size:
                known = max(known, int(y[learned].max()) + 1)
            events = events[done:]
            r = ~events[0]
            self.make_room(X[r], int(y[r]))
            done = routine(self.bundle, self.linked, X, y, w, events, out, known, np.empty(self.work))

    # -- growing ------------------------------------------------------------------------------------------------------

    def make_room(self, x: Floats, y: int) -> None:
        """Grow whatever kept a compiled routine from learning row x with label code y."""
        classes = self.classes
        if y >= classes:
            self._reshape(self.layout, max(y + 1, classes + classes // 2))
            return
        room = self.layout[L_ROOM]
        lacking = (room > 0) & (np.abs(x) <= HUGE) & (x >= room)
        if lacking.any():
            layout = self.layout.copy()
            wanted = np.where(lacking, x, 0).astype(np.int64) + 1
            layout[L_ROOM] = np.where(lacking, np.maximum(wanted, room + room // 2), room)
            self._reshape(layout, classes)
            return
        self._enlarge()

    def extend(self, schema: Schema, subspace: int | None = None) -> None:
        """Make room for features that have joined. subspace: so many features new leaves watch from now on, if more."""
        if self.subspace is not None and subspace is not None:
            self.subspace = max(self.subspace, subspace)
        new = schema.features[self.layout.shape[1] :]
        if new:
            more = np.zeros((len(self.layout), len(new)), dtype=np.int64)
            more[L_ROOM] = [f.nominal for f in new]
            self._reshape(np.ascontiguousarray(np.hstack([self.layout, more])), self.classes)

    def _reshape(self, layout: Ints, classes: int) -> None:
        """Give every leaf room for more classes, values or attributes."""
        m, width = self._m(layout), self._width(layout, classes)
        nodes, slots = len(self.nodes), len(self.stats)
        if self.limit is not None:  # wider rows, so fewer of them where the limit is near
            budget = max(0, self.limit - self._fixed_bytes(layout))
            spare = budget - (1 + self.need) * _slot_bytes(width, m)  # nodes must not take the last observers' place
            most = max(self.trees, min(budget // 2, spare if spare > 0 else budget) // self._node_bytes(classes))
            if self.live[0] > most:
                self._prune(most)
                nodes = self.live[0]
            nodes = max(self.live[0], min(nodes, most))
            slots = min(slots, max(0, budget - nodes * self._node_bytes(classes)) // _slot_bytes(width, m))
            if self.live[1] > slots:
                self._ration(self._keep(slots))
            self.head[p.H_FROZEN] &= self.stops
        self._resize(nodes, max(slots, self.live[1]))  # without gaps: the slots in use come first
        stats = _zeros((slots, width))
        watched = _zeros((slots, m, 2), np.int32)
        old = self.classes
        used = int(self.head[p.H_SLOTS])
        moving_jit.relayout(self.stats, self.watched, self.layout, old, stats, watched, layout, classes, used)
        self.stats, self.watched, self.layout = stats, watched, layout
        self.tally = np.ascontiguousarray(np.pad(self.tally, ((0, 0), (0, classes - old))))
        self._note_arity()
        self._bind()

    def _enlarge(self) -> None:
        """Make room for a split and a leaf: collect what is free, else grow, else put leaves to sleep."""
        nodes, slots = self.live
        need = self.need * int(self.head[p.H_ARITY])
        node, slot = self._node_bytes(self.classes), _slot_bytes(self.stats.shape[1], self.watched.shape[1])
        room_nodes, room_slots = len(self.nodes), len(self.stats)
        if nodes + max(need, nodes // 4) > room_nodes and not self.head[p.H_FROZEN]:
            room_nodes = nodes + max(need, nodes // 2)
        if slots + max(self.need, slots // 4) > room_slots:
            room_slots = slots + max(4, self.need, slots // 2)
        if self.limit is not None:
            budget = max(0, self.limit - self._fixed_bytes(self.layout))
            if room_nodes * node + room_slots * slot > budget:
                room_nodes = min(room_nodes, nodes + max(need, nodes // 8))
                if self.stops or room_nodes * node > min(budget // 2, budget - (1 + self.need) * slot):
                    self.head[p.H_FROZEN] = 1
                    room_nodes = nodes
                room_slots = min(room_slots, max(0, budget - room_nodes * node) // slot)
                if slots + self.need > room_slots:
                    self._ration(self._keep(room_slots))
        self._resize(room_nodes, room_slots)

    @property
    def live(self) -> tuple[int, int]:
        """How many nodes and slots the trees use."""
        n_nodes, n_slots = moving_jit.live(self.nodes, self.trees, self.extras.kind, self.links)
        return int(n_nodes), int(n_slots)

    def _ration(self, keep: int) -> None:
        """Keep the ``keep`` most promising leaves awake, put the others to sleep; their slots are free after a move.

        Promise is the weight that the majority class would get wrong. A sleeping leaf that makes the cut wakes afresh.
        """
        self._resize(len(self.nodes), len(self.stats))  # without gaps: every node in use is a node of a tree
        nodes, tally = self.nodes[: self.head[p.H_NODES]], self.tally
        leaves = np.flatnonzero(nodes["feature"] == p.LEAF)
        promise = tally[leaves, 0] - tally[leaves, 1:].max(axis=1)
        ranked = leaves[np.argsort(-promise, kind="stable")]
        left = nodes["left"]
        awake = ranked[:keep]
        left[awake[left[awake] == p.IDLE]] = p.FRESH
        left[ranked[keep:]] = p.IDLE
        if self.extras.kind == p.KEPT:  # inner nodes come after all leaves, the heaviest first
            inner = np.flatnonzero(nodes["feature"] != p.LEAF)
            heaviest = inner[np.argsort(-tally[inner, 0], kind="stable")]
            self.links[heaviest[max(0, keep - len(leaves)) :]] = p.NO_LINK

    def _prune(self, most: int) -> None:
        """Turn the lightest splits above leaves into leaves until the trees use at most so many nodes."""
        self._resize(len(self.nodes), len(self.stats))
        nodes, tally, used = self.nodes, self.tally, int(self.head[p.H_NODES])
        children = {
            i: slice(int(nodes[i]["left"]), int(nodes[i]["left"]) + int(p.arity(nodes, i)))
            for i in np.flatnonzero(nodes["feature"][:used] != p.LEAF).tolist()
        }
        while used > most and children:
            bottom = [i for i, c in children.items() if (nodes["feature"][c] == p.LEAF).all()]
            for i in sorted(bottom, key=lambda i: (tally[i, 0], i)):
                below = children.pop(i)
                tally[i, 1:] = tally[below, 1:].sum(axis=0)
                nodes[i] = (0.0, p.LEAF, p.FRESH)
                self.links[i : i + 1] = p.NO_LINK
                k = below.stop - below.start
                used -= k + k % 2
                if used <= most:
                    break

    def _resize(self, nodes: int, slots: int) -> None:
        """Move all trees into tables of these lengths."""
        for name, table in self._moved(nodes, slots).items():
            setattr(self, name, table)
        self._bind()

    def _moved(self, nodes: int, slots: int) -> State:
        """Give the tables that are others once all trees have moved into such of these lengths, without gaps."""
        head = self.head.copy()
        new_nodes, new_tally = _leaves(nodes), _zeros((nodes, self.tally.shape[1]))
        stats, watched = _zeros((slots, self.stats.shape[1])), _zeros((slots, *self.watched.shape[1:]), np.int32)
        links, marks, pairs = self.extras.make(nodes, self.trees)
        old = (self.nodes, self.tally, self.stats, self.watched, self.links, self.marks, self.pairs)
        new = (new_nodes, new_tally, stats, watched, links, marks, pairs)
        moving_jit.move(old, head, self.trees, self.extras.kind, new)
        return {"nodes": new_nodes, "tally": new_tally, "stats": stats, "watched": watched, "head": head,
                "links": links, "marks": marks, "pairs": pairs}  # fmt: skip

    def rehearse(self) -> None:
        """Run everything that happens only when tables grow, so that it is compiled before time counts."""
        self._enlarge()
        self._ration(1)
        self._reshape(self.layout, self.classes + 1)

    # -- sizes --------------------------------------------------------------------------------------------------------

    def _m(self, layout: Ints) -> int:
        """How many attributes a leaf watches (at least one cell, which the free list needs)."""
        d = int(layout.shape[1])
        return max(1, d if self.subspace is None else min(self.subspace, d))

    def _width(self, layout: Ints, classes: int) -> int:
        room = layout[L_ROOM]
        sizes = np.sort(np.where(room == 0, G_CLASSES + C_ROWS * classes, 1 + classes + room * classes))
        return whole_lanes(S_HEADER + int(sizes[::-1][: self._m(layout)].sum()))

    def _keep(self, slots: int) -> int:
        """How many leaves to keep awake so that an eighth of the slots, and at least ``need``, is free."""
        return max(0, slots - self.need - slots // 8)

    def _fixed_bytes(self, layout: Ints) -> int:
        return layout.nbytes + self.rng.nbytes + self.head.nbytes + self.turns.nbytes

    def _node_bytes(self, classes: int) -> int:
        return p.NODE.itemsize + 8 * (1 + classes) + self.extras.node_bytes

    def _note_arity(self) -> None:
        widest = int(self.layout[L_ROOM].max(initial=2))
        self.head[p.H_ARITY] = 2 if self.binary else widest + widest % 2
        self.head[p.H_NOMINAL] = int((self.layout[L_ROOM] > 0).sum())


def _leaves(n: int) -> NDArray[np.void]:
    nodes = _zeros((n,), p.NODE)
    nodes["feature"] = p.LEAF
    nodes["left"] = p.FRESH
    return nodes


def _slot_bytes(width: int, m: int) -> int:
    return 8 * width + 8 * m
