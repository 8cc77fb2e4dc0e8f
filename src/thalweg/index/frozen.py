"""A forest as it is at one moment: it learns no more, and answers faster."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import door, params
from thalweg.core.labels import Labels
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.index import frozen_jit as jit
from thalweg.index import trees_jit
from thalweg.index.batch_jit import BLOCK
from thalweg.index.ranks import rank_nodes
from thalweg.index.rules import Floats, Ints
from thalweg.index.sources import trees_of
from thalweg.trees.tree import Tree as LoneTree

Tree = tuple[Any, int, float, Ints]
"""A pool, the root of a tree in it, its weight (-1: it is alone), and which vote is for each class (-1: none)."""


class Frozen(params.Parametrised, ABC):
    """What predictors share that learn no more: labels, features and verbs."""

    mappable = True
    """Can its tables stand on a file?"""

    _labels: Labels
    _schema: Schema | None

    def __init__(self) -> None:
        self._labels, self._schema = Labels(), None

    @abstractmethod
    def _answer(self, X: Floats) -> Floats:
        """Give the probabilities of rows that have passed the door."""

    def predict_proba(self, X: Any) -> Floats:
        """Give each row's probability of each class in ``classes_``, as the living forest did."""
        X, _ = door.rows(X, self._known_schema, missing=True, learning=False)
        return self._answer(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give each row's most probable label (the first in ``classes_`` among equals)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba_one(self, x: Any) -> dict[Hashable, float]:
        """Give the probability of each class for one record: a dict by feature name, or a row."""
        X, _ = door.one_row(x, self._known_schema, missing=True, learning=False)
        return dict(zip(self._labels.values, self._answer(X)[0].tolist(), strict=True))

    def predict_one(self, x: Any) -> Any:
        """Give the most probable label of one record."""
        X, _ = door.one_row(x, self._known_schema, missing=True, learning=False)
        return self._labels.values[int(self._answer(X)[0].argmax())]

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns of ``predict_proba``."""
        return self._labels.to_array()

    @property
    def schema(self) -> Schema | None:
        """The features."""
        return self._schema

    @property
    def _known_schema(self) -> Schema:
        if self._schema is None:
            raise ValueError(f"{type(self).__name__} is empty: compile a forest, or restore one")
        return self._schema

    @property
    def nbytes(self) -> int:
        """Bytes of all tables."""
        return sum(table.nbytes for table in self.tables().values())

    @abstractmethod
    def tables(self) -> State:
        """All tables, not copied: what another process needs to answer."""

    def state(self) -> State:
        """Copy out all that it knows, as named arrays."""
        state = {"labels": self._labels.to_bytes()}
        if self._schema is not None:
            state["schema"] = np.frombuffer(self._schema.to_json(), dtype=np.uint8).copy()
        return state | {name: table.copy() for name, table in self.tables().items()}

    def restore(self, state: Mapping[str, NDArray[Any]], *, copy: bool = True) -> None:
        """Be what ``state`` gave. copy: False lets the tables be these very arrays; they are never written to."""
        mine = f"state must be what {type(self).__name__}.state() gave"
        try:
            if copy:
                state = {name: table.copy() for name, table in state.items()}
            labels = Labels.from_bytes(state["labels"])
            schema = Schema.from_json(state["schema"].tobytes()) if "schema" in state else None
            self._adopt(state, labels, schema)
        except KeyError as error:
            raise ValueError(f"{mine}: it lacks {error}") from None
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{mine}: {error}") from None
        self._labels, self._schema = labels, schema

    @abstractmethod
    def _adopt(self, state: Mapping[str, NDArray[Any]], labels: Labels, schema: Schema | None) -> None:
        """Take over the tables, or refuse what could not be its own."""


@final
class FrozenForest(Frozen):
    """What a forest's ``compile`` gives: its trees packed for answering, the same probabilities bit for bit.

    A leaf that answers by class weights is a row of a table; one that answers by naive Bayes keeps the Gaussians of the
    classes that it has seen. Many rows go down a tree together.

    >>> from thalweg import SEA, AdaptiveRandomForest
    >>> from thalweg.index.frozen import freeze
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = AdaptiveRandomForest(size=5).partial_fit(chunk.X, chunk.y)
    >>> bool((freeze(forest).predict_proba(chunk.X) == forest.predict_proba(chunk.X)).all())
    True
    """

    TABLES = ("packed", "leaf", "trees", "weight", "sides", "leaves", "plain", "cells", "lists")

    def __init__(self) -> None:
        super().__init__()
        self._take(_no_trees(0))

    @classmethod
    def of(cls, trees: Sequence[Tree], labels: Labels, schema: Schema) -> "FrozenForest":
        """Freeze trees. Those of one pool come one after the other: their votes are added up first."""
        self = cls()
        self._labels, self._schema = labels.copy(), schema
        self._take(_freeze(trees, len(labels)))
        return self

    def _take(self, tables: State) -> None:
        self._tables = tuple(tables[name] for name in self.TABLES)
        first = np.append(tables["trees"][:, jit.FIRST], len(tables["leaves"]))
        self._widest = int(np.diff(first).max(initial=1))
        self._ranks = rank_nodes(tables["packed"])

    def _answer(self, X: Floats) -> Floats:
        classes, rows, columns = len(self._labels), min(len(X), BLOCK), len(self._ranks[2])
        out = np.empty((len(X), classes))
        if len(self):
            part, logs = np.empty((rows, classes)), np.empty((3, max(rows, classes)))
            routine: Any = jit.answer
            work = np.empty((5, max(rows + 1, self._widest)), dtype=np.int64)
            ahead, ranks = np.empty((8, len(self)), dtype=np.int64), np.empty((rows, 2 * columns), dtype=np.uint16)
            routine(*self._tables, *self._ranks, X, out, part, logs, work, ahead, ranks)
        else:
            out[:] = 1.0 / max(1, classes)
        return out

    def __len__(self) -> int:
        """Trees."""
        return len(self._tables[2])

    def tables(self) -> State:
        """All tables, not copied: what another process needs to answer."""
        return dict(zip(self.TABLES, self._tables, strict=True))

    def _adopt(self, state: Mapping[str, NDArray[Any]], labels: Labels, schema: Schema | None) -> None:
        tables = {name: state[name] for name in self.TABLES}
        _check(tables, len(labels), 0 if schema is None else schema.n_features)
        self._take(tables)


def freeze(model: Any) -> FrozenForest:
    """Freeze a forest or a tree of this library; of a Hoeffding adaptive tree only one without alternates.

    model: what has learned; it may go on learning, and the frozen one stays as it is.

    >>> from thalweg import SEA, HoeffdingTree
    >>> chunk = SEA(seed=1).read(5_000)
    >>> tree = HoeffdingTree().partial_fit(chunk.X, chunk.y)
    >>> bool((freeze(tree).predict_proba(chunk.X) == tree.predict_proba(chunk.X)).all())
    True
    """
    if not (hasattr(model, "_grown_trees") or isinstance(model, LoneTree)):
        raise TypeError(f"model must be a tree or a forest of this library, got {params.shown(model)}")
    if getattr(model, "blend", False) and model._started and (model._pool.links >= 0).any():
        raise ValueError("model must have no alternate subtrees, whose votes are blended, got a tree that has")
    trees = trees_of(model)
    if isinstance(model, LoneTree):
        trees = [(pool, root, -1.0, sides) for pool, root, _, sides in trees]
    return FrozenForest.of(trees, model._labels, model._schema)


def _no_trees(classes: int) -> State:
    whole = np.uint32
    return {
        "packed": np.zeros(0, dtype=trees_jit.PACKED), "leaf": np.zeros(0, dtype=whole),
        "trees": np.zeros((0, 3), dtype=np.int64), "weight": np.zeros(0),
        "sides": np.zeros((0, classes), dtype=np.int64), "leaves": np.zeros((0, jit.COLUMNS), dtype=whole),
        "plain": np.zeros((1, classes)), "cells": np.zeros(0), "lists": np.zeros(0, dtype=whole),
    }  # fmt: skip


def _freeze(trees: Sequence[Tree], classes: int) -> State:
    parts: dict[str, list[NDArray[Any]]] = {name: [table] for name, table in _no_trees(classes).items()}
    parts["plain"].clear()
    base = cell = item = leaves = shard = 0
    coded = any((sides != np.arange(classes)).any() for *_, sides in trees)
    no_cells, no_items = np.zeros(0), np.zeros(0, dtype=np.uint32)
    for t, (pool, root, weight, sides) in enumerate(trees):
        if t and pool is not trees[t - 1][0]:
            shard += 1
        nodes, missing, origin = trees_jit.unfold(pool.nodes, pool.tally, root)
        size = int(trees_jit.packed_size(nodes))
        packed, leaf = np.zeros(size, dtype=trees_jit.PACKED), np.zeros(size, dtype=np.uint32)
        size = int(trees_jit.pack(nodes, missing, packed, leaf, base, leaves))
        n = len(origin)
        rows, plain = np.zeros((n, jit.COLUMNS), dtype=np.uint32), np.zeros((n, classes))
        given = (pool.nodes, pool.tally, pool.stats, pool.watched, pool.layout, pool.rules, origin, weight, sides)
        cells_end, items_end = jit.freeze(*given, False, rows, plain, no_cells, no_items, 0, 0)
        cells, lists = np.zeros(cells_end), np.zeros(items_end, dtype=np.uint32)
        jit.freeze(*given, True, rows, plain, cells, lists, 0, 0)
        rows[:, jit.CELLS] += np.uint32(cell)
        rows[:, jit.LISTS] += np.uint32(item)
        new = {
            "packed": packed[:size], "leaf": leaf[:size], "trees": np.array([[base, shard, leaves]]),
            "weight": np.array([float(weight)]), "sides": sides[None] if coded else sides[None][:0], "leaves": rows,
            "plain": plain, "cells": cells, "lists": lists,
        }  # fmt: skip
        for name, table in new.items():
            parts[name].append(table)
        base, cell, item, leaves = base + size, cell + int(cells_end), item + int(items_end), leaves + n
    parts["plain"].append(np.zeros((1, classes)))
    return {name: np.ascontiguousarray(np.concatenate(tables)) for name, tables in parts.items()}


def _check(tables: State, classes: int, d: int) -> None:
    """Refuse tables that no frozen forest could have."""
    for name, fresh in _no_trees(classes).items():
        table = tables[name]
        if table.dtype != fresh.dtype or table.shape[1:] != fresh.shape[1:] or not table.flags.c_contiguous:
            raise ValueError(f"its table {name!r} has another type or shape")
    packed, leaf, trees, leaves, lists = (tables[n] for n in ("packed", "leaf", "trees", "leaves", "lists"))
    n, t = len(packed), len(trees)
    left, here = packed["left"].astype(np.int64), np.arange(n)
    inner = left != here
    rows = leaves.astype(np.int64)
    sound = (
        len(leaf) == n
        and len(tables["weight"]) == t
        and len(tables["plain"]) == len(leaves) + 1
        and len(tables["sides"]) in (0, t)
        and (left[inner] > here[inner]).all()
        and (left[inner] + 1 < n).all()
        and (packed["feature"] // 2 < max(1, d)).all()
        and (leaf[~inner] < len(leaves)).all()
        and (tables["packed"]["threshold"][~inner] == np.inf).all()
        and ((trees[:, jit.ROOT] >= 0) & (trees[:, jit.ROOT] < n)).all()
        and (np.diff(trees[:, jit.SHARD]) >= 0).all()
        and _leaves_sound(packed, leaf, trees, len(leaves))
        and (t == 0 or trees[0, jit.SHARD] == 0)
        and (rows[:, jit.CLASSES] != 1).all()
        and (rows[:, jit.CLASSES] <= max(2, classes)).all()
    )
    if not sound or not _lists_sound(rows, lists.astype(np.int64), len(tables["cells"]), classes, d):
        raise ValueError("its tables point outside themselves")


def _leaves_sound(packed: NDArray[np.void], leaf: NDArray[np.uint32], trees: Ints, leaves: int) -> bool:
    """Do the nodes from one root to the next lead to leaves of this tree only, and not to another tree?"""
    for t in range(len(trees)):
        root, first = int(trees[t, jit.ROOT]), int(trees[t, jit.FIRST])
        end, last = trees[t + 1, [jit.ROOT, jit.FIRST]].tolist() if t + 1 < len(trees) else (len(packed), leaves)
        part, own = packed["left"][root:end].astype(np.int64), leaf[root:end].astype(np.int64)
        ends = part == np.arange(root, end)
        if not root < end or (part >= end).any() or (own[ends] < first).any() or (own[ends] >= last).any():
            return False
    return True


def _lists_sound(rows: Ints, lists: Ints, cells: int, classes: int, d: int) -> bool:
    """Do leaves that answer by naive Bayes only name features, classes and cells that there are?"""
    for k, numbers, nominals, cell, item in rows[rows[:, jit.CLASSES] > 0].tolist():
        end = item + k + numbers + 2 * nominals
        if end > len(lists) or (lists[item : item + k] >= max(2, classes)).any():
            return False
        named = np.append(lists[item + k : item + k + numbers], lists[item + k + numbers : end : 2])
        room = lists[item + k + numbers + 1 : end : 2]
        if (named >= d).any() or cell + k * (1 + 3 * numbers + int((room + 1).sum())) > cells:
            return False
    return True
