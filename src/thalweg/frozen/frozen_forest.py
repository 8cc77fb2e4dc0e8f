"""A forest as it is at one moment: it learns no more, and answers faster."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import door, params
from thalweg.core.answering import Answering
from thalweg.core.declared import fresh
from thalweg.core.fields import Parametrised
from thalweg.core.labels import Labels
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import refusing
from thalweg.frozen import freeze_jit
from thalweg.frozen import frozen_jit as jit
from thalweg.frozen import frozen_leaf_jit as leaf_jit
from thalweg.frozen.frozen_sound import refuse_unsound
from thalweg.index import trees_jit
from thalweg.index.batch import height, rooms
from thalweg.index.rules import Floats, Ints
from thalweg.index.sources import trees_of
from thalweg.jit.compile import plain
from thalweg.pool.tree import Tree as LoneTree

Tree = tuple[Any, int, float, Ints]
"""A pool, the root of a tree in it, its weight (-1: it is alone), and which vote is for each class (-1: none)."""


class Frozen(Answering, Parametrised):
    """What predictors share that learn no more: labels, features and state."""

    mappable: ClassVar[bool] = True
    """Can its tables stand on a file?"""

    def __init__(self) -> None:
        """Make one that knows nothing yet."""
        self._prepare()

    def _prepare(self) -> None:
        self._labels: Labels = Labels()
        self._schema: Schema | None = None

    @abstractmethod
    def _answer(self, X: Floats) -> Floats:
        """Give the probabilities of rows that have passed the door."""

    def _proba(self, x: Any, one: bool) -> tuple[Floats, Labels]:
        return self._answer(self._rows(x, one)), self._labels

    def _known(self) -> tuple[Labels, Schema | None]:
        return self._labels, self._schema

    def _rows(self, x: Any, one: bool) -> Any:
        if self._schema is None:
            raise ValueError(f"{type(self).__name__} is empty: compile a forest, or restore one")
        enter = door.one_row if one else door.rows
        return enter(x, self._schema, missing=True, learning=False)[0]

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
        """Be what ``state`` gave.

        Parameters
        ----------
        copy : bool
            False lets the tables be these very arrays; they are never written to.
        """
        with refusing(state, f"state must be what {type(self).__name__}.state() gave"):
            if copy:
                state = {name: table.copy() for name, table in state.items()}
            labels = Labels.from_bytes(state["labels"])
            schema = Schema.from_json(state["schema"].tobytes()) if "schema" in state else None
            self._adopt(state, labels, schema)
        self._labels, self._schema = labels, schema

    @abstractmethod
    def _adopt(self, state: Mapping[str, NDArray[Any]], labels: Labels, schema: Schema | None) -> None:
        """Take over the tables, or refuse what could not be its own."""


@final
class FrozenForest(Frozen):
    """What a forest's ``compile`` gives: its trees packed for answering, the same probabilities bit for bit.

    A leaf that answers by class weights is a row of a table; one that answers by naive Bayes keeps the Gaussians of the
    classes that it has seen. Many rows go down a tree together.

    Examples
    --------
    >>> from thalweg import SEA, AdaptiveRandomForest
    >>> from thalweg.frozen.frozen_forest import freeze
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = AdaptiveRandomForest(size=5).partial_fit(chunk.X, chunk.y)
    >>> bool((freeze(forest).predict_proba(chunk.X) == forest.predict_proba(chunk.X)).all())
    True
    """

    TABLES: ClassVar[tuple[str, ...]] = (*jit.Forest._fields, *leaf_jit.Leaves._fields)

    def _prepare(self) -> None:
        super()._prepare()
        self._take(_no_trees(0))

    @classmethod
    def of(cls, trees: Sequence[Tree], labels: Labels, schema: Schema) -> "FrozenForest":
        """Freeze trees. Those of one pool come one after the other: their votes are added up first."""
        self = cls()
        self._labels, self._schema = labels.copy(), schema
        self._take(_freeze(trees, len(labels)))
        return self

    def _take(self, tables: State) -> None:
        self._height = height(tables["packed"])  # refuses what leads back to itself
        self._tables = {name: tables[name] for name in self.TABLES}
        self._forest = plain(jit.Forest(*(tables[name] for name in jit.Forest._fields)))
        self._leaves = plain(leaf_jit.Leaves(*(tables[name] for name in leaf_jit.Leaves._fields)))

    def _answer(self, X: Floats) -> Floats:
        classes = len(self._labels)
        out = np.empty((len(X), classes))
        if len(self):
            groups = rooms(X, self._height, len(self))
            part, logs = np.empty((classes, groups.turned.shape[1])), np.empty(2 + classes)
            jit.answer(self._forest, self._leaves, X, out, plain(groups), part, logs)
        else:
            out[:] = 1.0 / max(1, classes)
        return out

    def __len__(self) -> int:
        """Trees."""
        return len(self._tables["trees"])

    def tables(self) -> State:
        """All tables, not copied: what another process needs to answer."""
        return dict(self._tables)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Copy out the trees as plain arrays, for other programs; the guide on serving has a reader in NumPy.

        ``feature``, ``threshold``, ``left`` and ``missing_right`` have an item for each node: a row goes to ``left``
        where its value is at most the threshold, or missing and not ``missing_right``, and else to ``left + 1``.
        ``leaf`` is the row of ``votes`` (leaves × classes) of a leaf, and -1 of an inner node. ``root`` and ``group``
        have an item for each tree. Votes are added up tree by tree, group by group, and shared out to sum to 1.

        Only leaves that answer by class weights can be written so (``leaf="majority"``).

        Examples
        --------
        >>> from thalweg import SEA, AdaptiveRandomForest
        >>> chunk = SEA(seed=1).read(5_000)
        >>> forest = AdaptiveRandomForest(size=5, leaf="majority").partial_fit(chunk.X, chunk.y)
        >>> arrays = freeze(forest).to_arrays()
        >>> len(arrays["root"]), arrays["votes"].shape[1]
        (5, 2)
        """
        if self._tables["leaves"][:, leaf_jit.CLASSES].any():
            raise ValueError(
                "leaves must answer by class weights to be written as plain arrays, got some that answer by naive "
                'Bayes: learn with leaf="majority"'
            )
        packed, leaf = self._tables["packed"], self._tables["leaf"]
        return {
            "feature": (packed["feature"] >> 1).astype(np.int64),
            "threshold": packed["threshold"].copy(),
            "left": packed["left"].astype(np.int64),
            "missing_right": (packed["feature"] & 1).astype(np.bool_),
            "leaf": np.where(leaf == trees_jit.NO_LEAF, -1, leaf.astype(np.int64)),
            "votes": self._tables["plain"].copy(),
            "root": self._tables["trees"][:, jit.ROOT].copy(),
            "group": self._tables["trees"][:, jit.SHARD].copy(),
        }

    def _adopt(self, state: Mapping[str, NDArray[Any]], labels: Labels, schema: Schema | None) -> None:
        tables = {name: state[name] for name in self.TABLES}
        refuse_unsound(tables, len(labels), schema)
        self._take(tables)


def freeze(model: Any) -> FrozenForest:
    """Freeze a forest or a tree of this library; of a Hoeffding adaptive tree only one without alternates.

    Parameters
    ----------
    model : object
        What has learned; it may go on learning, and the frozen one stays as it is.

    Examples
    --------
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
    return fresh(jit.Forest, nodes=0, trees=0, coded=0, classes=classes) | _no_leaves(0, classes, 0, 0)._asdict()


def _no_leaves(n: int, classes: int, cells: int, items: int) -> leaf_jit.Leaves:
    return leaf_jit.Leaves(**fresh(leaf_jit.Leaves, leaves=n, classes=classes, cells=cells, items=items))


def _freeze(trees: Sequence[Tree], classes: int) -> State:
    parts: dict[str, list[NDArray[Any]]] = {name: [table] for name, table in _no_trees(classes).items()}
    base = cell = item = leaves = shard = 0
    coded = any((sides != np.arange(classes)).any() for *_, sides in trees)
    for t, (pool, root, weight, sides) in enumerate(trees):
        if t and pool is not trees[t - 1][0]:
            shard += 1
        nodes, missing, origin = trees_jit.unfold(pool.nodes, pool.tally, root)
        size = int(trees_jit.packed_size(nodes))
        packed, leaf = np.zeros(size, dtype=trees_jit.PACKED), np.zeros(size, dtype=np.uint32)
        size = int(trees_jit.pack(nodes, missing, packed, leaf, base, 0))
        packed, leaf = trees_jit.in_depth(packed[:size], leaf[:size], base)
        leaf, origin = _in_order(leaf, origin, leaves)
        n = len(origin)
        given, counted = (pool.bundle, origin, float(weight), sides), (0, 0)
        for write in (False, True):
            own = _no_leaves(n, classes, *counted)
            counted = freeze_jit.freeze(*given, write, plain(own))
        own.leaves[:, [leaf_jit.CELLS, leaf_jit.LISTS]] += np.array([cell, item], dtype=np.uint32)
        place, said = np.array([[base, shard, leaves]]), np.array([float(weight)])
        tree = jit.Forest(packed, leaf, place, said, sides[None] if coded else sides[None][:0])
        for name, table in (tree._asdict() | own._asdict()).items():
            parts[name].append(table)
        base, cell, item, leaves = base + len(packed), cell + counted[0], item + counted[1], leaves + n
    return {name: np.ascontiguousarray(np.concatenate(tables)) for name, tables in parts.items()}


def _in_order(leaf: NDArray[np.uint32], origin: Ints, first: int) -> tuple[NDArray[np.uint32], Ints]:
    """Number leaves from ``first`` on in the order in which they come; origin: a row for each leaf, by its number."""
    ends = np.flatnonzero(leaf != trees_jit.NO_LEAF)
    _, met = np.unique(leaf[ends], return_index=True)  # a leaf may be there twice
    order = leaf[ends[np.sort(met)]].astype(np.int64)
    number = np.empty(len(order), dtype=np.uint32)
    number[order] = np.arange(first, first + len(order))
    leaf[ends] = number[leaf[ends]]
    return leaf, np.ascontiguousarray(origin[order])
