"""The pool of trees: its tables, how they grow, and how they stay within a limit.

Rows of ``nodes`` and ``tally`` belong to nodes, rows of ``stats`` and ``watched`` ("slots") to leaves that observe.
Compiled routines take rows from free lists and stop when there is none left; then ``make_room`` does what is needed:

| what is lacking               | what happens                                                                        |
| a class, a nominal value,     | ``_reshape``: all slots become wider; under a limit there are then fewer: splits    |
| a feature                     | are undone (``_prune``) and leaves put to sleep (``_ration``) until the rest fits   |
| a row for a node or a slot    | ``_enlarge``: gaps are closed, tables grow by half; under a limit they grow as far  |
|                               | as it allows, then leaves are put to sleep, and at last no node splits any more     |
"""

from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import check
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.compile import uncompiled
from thalweg.pool import moving_jit
from thalweg.pool import pool_jit as p
from thalweg.pool.extras import NO_EXTRAS, Extras, new_nodes, zeros
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


class Routine(Protocol):
    """A compiled loop over events for a pool of one tree."""

    def __call__(
        self, tables: p.Tables, linked: Any, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int,
        work: Floats, /,
    ) -> int:  # fmt: skip
        """Give the number of events done; less than all when a table must grow first."""


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
    """How many cells a compiled routine needs to work in, see pool_jit.cut."""

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
            if self.least_bytes > self.limit:
                raise ValueError(
                    f"limit_bytes must be at least {self.least_bytes} for {schema.n_features} features and {trees} "
                    f"trees, got {self.limit}"
                )
            if self._bytes(nodes, slots) > self.limit:
                nodes, slots = trees + fewest, trees + need
        self.nodes = new_nodes(nodes)
        self.links, self.marks, self.pairs = extras.make(nodes, trees)
        self.tally = np.zeros((nodes, 1 + CLASSES))
        self.stats = zeros((slots, width))
        self.watched = np.zeros((slots, m, 2), dtype=np.int32)
        self._bind()

    @classmethod
    def adopt(
        cls,
        rules: Rules,
        tables: State,
        schema: Schema,
        classes: int,
        trees: int,
        *,
        need: int = 1,
        extras: Extras = NO_EXTRAS,
    ) -> "Pool":
        """Continue from tables that ``tables()`` gave; others are refused, whatever they hold.

        classes: how many there are; the pool may have room for half as many more.
        """
        self = cls.__new__(cls)
        self._take_rules(rules, trees, need, extras)
        self._check(tables, schema, classes)
        self.links, self.marks, self.pairs = extras.make(0, 0)
        self.turns = np.zeros(0, dtype=np.int64)
        for name in cls.TABLES + extras.names:
            setattr(self, name, tables[name])
        self._note_arity()
        self._bind()
        return self

    def _check(self, tables: State, schema: Schema, classes: int) -> None:
        """Refuse tables that no pool of these rules could have."""
        wanted = tables["nodes"].size if self.extras.kind == p.ALTERNATES else 0
        known = {"trees": self.trees, "d": schema.n_features, "need": wanted}
        sizes = check(p.Trees, tables, **known, most={"C": 1 + max(CLASSES, classes + classes // 2)})
        if self.extras.bundle is not None:
            check(self.extras.bundle, tables, most=None, columns=self.extras.pair.size, **sizes)
        nodes, _, stats, watched, layout, _, head = (tables[name] for name in self.TABLES)
        room_for, m, ceilings = sizes["C"] - 1, self._m(layout), schema.ceilings[0]
        room, patches = layout[: L_ROOM + 1], layout[L_PATCH:]
        if not (
            sizes["L"] in (L_PATCH, L_PATCH + self.trees)
            and ((room > 0) == (schema.nominal > 0)).all()
            and (room <= np.maximum(1, ceilings + ceilings // 2)).all()
            and (layout[L_VALUES] <= room).all()
            and (patches <= 1).all()
            and (patches.sum(axis=1) == m).all()
            and room_for >= CLASSES
            and sizes["m"] == m
            and sizes["width"] == self._width(layout, room_for)
        ):
            raise ValueError("its tables do not fit each other")
        linked = tables["links"] if "links" in self.extras.names else np.zeros(0, dtype=np.int32)
        if not moving_jit.sound(nodes, stats, watched, layout, head, room_for, self.trees, self.extras.kind, linked):
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
        self.work = 1 + int(uncompiled(whole_lanes)(self.classes)) + self.watched.shape[1] + 2 * self.classes

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
        return self._bytes(self.trees + self.need * int(self.head[p.H_ARITY]), self.trees + self.need)

    def compact(self) -> State:
        """All state of the pool in tables without gaps: the same for the same trees, however they came about."""
        moved = self._moved(*self.live)
        return {name: moved.get(name, table) for name, table in self.tables().items()}

    def play(self, routine: Routine, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        """Let a compiled routine carry out the events; whenever it stops short, grow what it lacks and go on."""
        done = routine(self.bundle, self.linked, X, y, w, events, out, known, self.new_work())
        while done < len(events):
            learned = ~events[:done][events[:done] < 0]
            if learned.size:
                known = max(known, int(y[learned].max()) + 1)
            events = events[done:]
            r = ~events[0]
            self.make_room(X[r], int(y[r]))
            done = routine(self.bundle, self.linked, X, y, w, events, out, known, self.new_work())

    def new_work(self) -> Floats:
        """Make what a routine works in; it holds no answer yet."""
        work = np.empty(self.work)
        work[-1 - self.classes] = -1.0
        return work

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
        nodes, slots = len(self.nodes), len(self.stats)
        if self.limit is not None:
            nodes, slots = self._make_way(layout, classes, self.limit)
        self._resize(nodes, max(slots, self.live[1]))  # without gaps: the slots in use come first
        stats = zeros((slots, self._width(layout, classes)))
        watched = zeros((slots, self._m(layout), 2), np.int32)
        old, used = self.classes, int(self.head[p.H_SLOTS])
        moving_jit.relayout(self.stats, self.watched, self.layout, old, stats, watched, layout, classes, used)
        self.stats, self.watched, self.layout = stats, watched, layout
        self.tally = np.ascontiguousarray(np.pad(self.tally, ((0, 0), (0, classes - old))))
        self._note_arity()
        self._bind()

    def _make_way(self, layout: Ints, classes: int, limit: int) -> tuple[int, int]:
        """Give how many wider nodes and slots there may be; where trees use more, undo splits and put leaves to sleep.

        Nodes take at most half of the memory, and not the last observers' place.
        """
        node, slot = self._row_bytes(layout, classes)
        budget = max(0, limit - self._fixed_bytes(layout))
        spare = budget - (1 + self.need) * slot
        most = max(self.trees, min(budget // 2, spare if spare > 0 else budget) // node)
        nodes = len(self.nodes)
        if self.live[0] > most:
            self._prune(most)
            nodes = self.live[0]
        nodes = max(self.live[0], min(nodes, most))
        slots = min(len(self.stats), max(0, budget - nodes * node) // slot)
        if self.live[1] > slots:
            self._ration(self._keep(slots))
        self.head[p.H_FROZEN] &= self.stops
        return nodes, slots

    def _enlarge(self) -> None:
        """Make room for a split and a leaf: collect what is free, else grow, else put leaves to sleep."""
        used_nodes, used_slots = self.live
        nodes, slots = len(self.nodes), len(self.stats)
        need = self.need * int(self.head[p.H_ARITY])
        if used_nodes + max(need, used_nodes // 4) > nodes and not self.head[p.H_FROZEN]:
            nodes = used_nodes + max(need, used_nodes // 2)
        if used_slots + max(self.need, used_slots // 4) > slots:
            slots = used_slots + max(4, self.need, used_slots // 2)
        if self.limit is not None:
            node, slot = self._row_bytes(self.layout, self.classes)
            budget = max(0, self.limit - self._fixed_bytes(self.layout))
            if nodes * node + slots * slot > budget:
                nodes = min(nodes, used_nodes + max(need, used_nodes // 8))
                if self.stops or nodes * node > min(budget // 2, budget - (1 + self.need) * slot):
                    self.head[p.H_FROZEN] = 1
                    nodes = used_nodes
                slots = min(slots, max(0, budget - nodes * node) // slot)
                if used_slots + self.need > slots:
                    self._ration(self._keep(slots))
        self._resize(nodes, slots)

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
            i: slice(int(nodes[i]["left"]), int(nodes[i]["left"]) + int(uncompiled(p.arity)(nodes, i)))
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
        links, marks, pairs = self.extras.make(nodes, self.trees)
        new = {
            "nodes": new_nodes(nodes),
            "tally": zeros((nodes, self.tally.shape[1])),
            "stats": zeros((slots, self.stats.shape[1])),
            "watched": zeros((slots, *self.watched.shape[1:]), np.int32),
            "links": links,
            "marks": marks,
            "pairs": pairs,
        }
        old: Any = tuple(getattr(self, name) for name in new)
        into: Any = tuple(new.values())
        head = self.head.copy()
        moving_jit.move(old, head, self.trees, self.extras.kind, into)
        return new | {"head": head}

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
        return int(uncompiled(whole_lanes)(S_HEADER + sum(sizes[::-1][: self._m(layout)].tolist())))

    def _keep(self, slots: int) -> int:
        """How many leaves to keep awake so that an eighth of the slots, and at least ``need``, is free."""
        return max(0, slots - self.need - slots // 8)

    def _bytes(self, nodes: int, slots: int) -> int:
        """Bytes of tables with so many rows, in the beginning."""
        node, slot = self._row_bytes(self.layout, CLASSES)
        return self._fixed_bytes(self.layout) + nodes * node + slots * slot

    def _fixed_bytes(self, layout: Ints) -> int:
        return layout.nbytes + self.rng.nbytes + self.head.nbytes + self.turns.nbytes

    @property
    def row_bytes(self) -> tuple[int, int]:
        """Bytes of a node and of a slot now."""
        return self._row_bytes(self.layout, self.classes)

    def _row_bytes(self, layout: Ints, classes: int) -> tuple[int, int]:
        """Bytes of a node and of a slot."""
        node = p.NODE.itemsize + 8 * (1 + classes) + self.extras.node_bytes
        return node, 8 * (self._width(layout, classes) + self._m(layout))

    def _note_arity(self) -> None:
        widest = int(self.layout[L_ROOM].max(initial=2))
        self.head[p.H_ARITY] = 2 if self.binary else widest + widest % 2
        self.head[p.H_NOMINAL] = int((self.layout[L_ROOM] > 0).sum())
