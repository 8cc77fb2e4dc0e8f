"""The index of an ensemble's rules: insert, delete and weigh classifiers; which rules hold a record; the scores."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.declared import check, declared
from thalweg.core.fields import Parametrised
from thalweg.core.protocols import State
from thalweg.core.tables import refusing
from thalweg.index.rules import Floats, Ints, Rules, bit_places
from thalweg.index.scores_jit import Votes
from thalweg.index.trees_jit import Boxes
from thalweg.jit.compile import plain

_DEAD = 0.25
"""The tables are written anew once so large a share of their rules is deleted."""
_GONE = -(1 << 63)
"""The name of a classifier that was deleted."""
_LARGEST, _MOST_CLASSES = 1 << 62, 1 << 22


class Matches:
    """Which rules hold each row: those of row r are ``start[r]`` to ``start[r + 1]`` of ``classifier`` and ``rule``."""

    __slots__ = ("classifier", "rule", "start")

    def __init__(self, start: Ints, classifier: Ints, rule: Ints) -> None:
        self.start, self.classifier, self.rule = start, classifier, rule

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, r: int) -> list[tuple[int, int]]:
        """The rules of row r: (classifier, rule of it), in the order in which classifiers were inserted."""
        part = slice(int(self.start[r]), int(self.start[r + 1]))
        return list(zip(self.classifier[part].tolist(), self.rule[part].tolist(), strict=True))


class Index(Parametrised, ABC):
    """What all indexes share: the table of rules. A kind of index adds how rules are found."""

    BUNDLES: ClassVar[tuple[type, ...]] = (Boxes, Votes)
    """What declares its tables; a kind of index may add one."""
    mappable: ClassVar[bool] = True
    """Can its tables stand on a file?"""
    needs_trees: ClassVar[bool] = False
    """Can it only hold rules of trees?"""

    def __init__(self) -> None:
        """Make an index that has no parameters."""
        self._prepare()

    def _prepare(self) -> None:
        self.reason = ""
        """Why it was chosen."""
        self._clear(np.zeros(0, dtype=np.int64), 0)

    # -- what a kind of index writes ----------------------------------------------------------------------------------

    @abstractmethod
    def _add(self, rules: Rules, first: int) -> None:
        """Take in rules that stand in the table from row ``first`` on."""

    @abstractmethod
    def _drop(self, rows: Ints) -> None:
        """Forget rows of the table; they are marked as dead."""

    @abstractmethod
    def _renumber(self, new: Ints) -> None:
        """Dead rows have left the table: row i is now new[i] (-1: gone)."""

    @abstractmethod
    def _scores(self, X: Floats, out: Floats) -> None:
        """Add up the votes for each row."""

    def _scores_until(self, X: Floats, out: Floats, c: int, enough: float) -> None:
        """The same; a row may be left as it is once class ``c`` has more than ``enough`` votes."""
        self._scores(X, out)

    @abstractmethod
    def _match(self, X: Floats, start: Ints) -> Ints:
        """Give the rows of the table that hold each row of X, ascending; fill ``start``."""

    def _reset(self) -> None:
        """Begin with no rules."""

    @property
    def _boxes(self) -> Boxes:
        return plain(Boxes(self.lo, self.hi, self.bits, self.values, self.at))

    # -- the verbs ----------------------------------------------------------------------------------------------------

    def insert(self, name: int, rules: Rules, weight: float | None = None) -> None:
        """Add a classifier under a number.

        Parameters
        ----------
        weight : float | None
            Of its votes; None: its say in the ensemble that it comes from.
        """
        params.whole("name", name, least=-_LARGEST, most=_LARGEST)
        if not isinstance(rules, Rules):
            raise TypeError(f"rules must be Rules, got {params.shown(rules)}")
        if int(name) in self._slot:
            raise ValueError(f"name must be new to the index, got {name}, which it has")
        weight = rules.say if weight is None else weight
        params.number("weight", weight, least=0)
        if self.needs_trees and rules.nodes is None:
            raise TypeError(f"{type(self).__name__} holds rules of trees only, got rules that come from no tree")
        if len(self._slot) == 0 and len(self.names) == 0:
            self._clear(rules.values, rules.n_classes)
        if (rules.n_features, rules.n_classes) != (len(self.values), self.payload.shape[1]):
            raise ValueError(
                f"rules must have the {len(self.values)} features and {self.payload.shape[1]} classes of the index, "
                f"got {rules.n_features} and {rules.n_classes}"
            )
        values = np.maximum(self.values, rules.values)
        if (values > self.values).any():
            self._widen(values)
        rules = rules.widened(values)
        first, slot = len(self), len(self.names)
        self._append("names", np.array([name], dtype=np.int64))
        self._append("weight", np.array([float(weight)]))
        for key in ("lo", "hi", "bits", "payload"):
            self._append(key, getattr(rules, key))
        self._append("owner", np.full(len(rules), slot, dtype=np.int64))
        self._append("number", np.arange(len(rules)))
        self._append("alive", np.ones(len(rules), dtype=np.int64))
        self._slot[int(name)] = slot
        self._add(rules, first)

    def insert_all(self, ensemble: Iterable[Rules]) -> Self:
        """Add classifiers under the next free numbers."""
        for rules in ensemble:
            self.insert(1 + max(self._slot, default=-1), rules)
        return self

    def delete(self, name: int) -> None:
        """Remove a classifier."""
        slot = self._slot[name] if name in self._slot else self._unknown(name)
        rows = np.flatnonzero((self.owner == slot) & (self.alive != 0))
        self.alive[rows] = 0
        self.names[slot] = _GONE
        del self._slot[name]
        self._drop(rows)
        if len(self) and (len(self) - np.count_nonzero(self.alive)) > _DEAD * len(self):
            self._compact()

    def set_weight(self, name: int, weight: float) -> None:
        """Change the weight of a classifier's votes; 0 keeps its rules."""
        params.number("weight", weight, least=0)
        self.weight[self._slot[name] if name in self._slot else self._unknown(name)] = float(weight)

    def widen_classes(self, classes: int) -> None:
        """Give all rules room to vote for more classes; those there are do not."""
        params.whole("classes", classes, least=self.payload.shape[1])
        more = int(classes) - self.payload.shape[1]
        if more and len(self.names):
            self._put("payload", np.pad(self.payload, ((0, 0), (0, more))))

    def match(self, X: Any) -> Matches:
        """Say which rules hold each row, in the order in which their classifiers were inserted."""
        X = self._door(X)
        start = np.zeros(len(X) + 1, dtype=np.int64)
        rows = self._match(X, start) if len(self) else np.zeros(0, dtype=np.int64)
        return Matches(start, self.names[self.owner[rows]], self.number[rows])

    def scores(self, X: Any) -> Floats:
        """Give for each row the weighted sum of the votes of the rules that hold it: rows × classes."""
        X = self._door(X)
        out = np.zeros((len(X), self.payload.shape[1]))
        if len(self):
            self._scores(X, out)
        return out

    def scores_until(self, X: Any, c: int, enough: float) -> Floats:
        """Give the same, except that counting for a row may stop once class c has more than ``enough`` (∞: never).

        An ``ETree`` then stops; other kinds count all. Votes must not be below 0. To know whether a class has the
        majority, the votes that are left do not matter.
        """
        X = self._door(X)
        params.whole("c", c, least=0, below=max(1, self.payload.shape[1]))
        if enough != np.inf:
            params.number("enough", enough)
        out = np.zeros((len(X), self.payload.shape[1]))
        if len(self):
            self._scores_until(X, out, int(c), float(enough))
        return out

    # -- what it holds ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.lo)

    @property
    def n_rules(self) -> int:
        """Rules of the classifiers that it has."""
        return int(np.count_nonzero(self.alive))

    @property
    def classifiers(self) -> dict[int, float]:
        """The weight of each classifier, in the order of insertion."""
        return {name: float(self.weight[slot]) for name, slot in sorted(self._slot.items(), key=lambda item: item[1])}

    @property
    def nbytes(self) -> int:
        """Bytes of all its tables."""
        return sum(table.nbytes for table in self.tables().values())

    def tables(self) -> State:
        """All tables, not copied: what another process needs to answer."""
        return {name: getattr(self, name) for bundle in self.BUNDLES for name in declared(bundle)}

    def state(self) -> State:
        """Copy out all tables."""
        return {name: table.copy() for name, table in self.tables().items()}

    def restore(self, state: Mapping[str, NDArray[Any]], *, copy: bool = True) -> None:
        """Continue from what ``state`` of an index of the same kind gave.

        Parameters
        ----------
        copy : bool
            False hands the arrays over: they belong to the index from now on, and may change.
        """
        with refusing(state, f"state must be what {type(self).__name__}.state() gave"):
            tables = {name: state[name] for bundle in self.BUNDLES for name in declared(bundle)}
            self._refuse_unsound(tables)
        before = self.tables()
        try:
            self._take({name: table.copy() if copy else table for name, table in tables.items()})
        except Exception:
            self._take(before)
            raise

    def _refuse_unsound(self, tables: State) -> None:
        """Refuse tables that are not as declared, or do not fit each other."""
        sizes = self._sizes()
        for bundle in self.BUNDLES:
            sizes = check(bundle, tables, most=None, **sizes)
        owner, alive, names = tables["owner"], tables["alive"], tables["names"]
        there = names != _GONE
        if bit_places(tables["values"])[1] != sizes["width"] or sizes["classes"] > _MOST_CLASSES:
            raise ValueError("its tables do not fit each other")
        if (np.diff(owner) < 0).any() or not there[owner[alive != 0]].all():
            raise ValueError("its rules are not in the order of their classifiers")
        if len(np.unique(names[there])) != np.count_nonzero(there):
            raise ValueError("two of its classifiers have the same name")

    def _sizes(self) -> dict[str, int]:
        """Sizes of tables that follow from the parameters, by name."""
        return {}

    def _take(self, tables: State) -> None:
        """Let the tables be these."""
        self._clear(tables["values"], tables["payload"].shape[1])
        for name, table in tables.items():
            self._put(name, table)
        self._slot: dict[int, int] = {int(k): i for i, k in enumerate(tables["names"].tolist()) if k != _GONE}
        self._adopt()

    def _adopt(self) -> None:
        """Refuse tables of its own that it could not have made, or make them anew from the rules."""

    # -- inside -------------------------------------------------------------------------------------------------------

    def _clear(self, values: Ints, classes: int) -> None:
        self.lo: Floats
        self.hi: Floats
        self.bits: NDArray[np.uint64]
        self.payload: Floats
        self.owner: Ints
        self.number: Ints
        self.alive: Ints
        self.weight: Floats
        self.names: Ints
        self._room: dict[str, NDArray[Any]] = {}
        d, (at, width) = len(values), bit_places(values)
        self.at: Ints = at
        self._slot = {}
        whole = np.int64
        shapes: dict[str, tuple[tuple[int, ...], Any]] = {
            "lo": ((0, d), float), "hi": ((0, d), float), "bits": ((0, width), np.uint64),
            "payload": ((0, classes), float), "owner": ((0,), whole), "number": ((0,), whole),
            "alive": ((0,), whole), "weight": ((0,), float), "names": ((0,), whole),
        }  # fmt: skip
        for name, (shape, dtype) in shapes.items():
            self._put(name, np.zeros(shape, dtype=dtype))
        self.values: Ints = values
        self._reset()

    def _append(self, name: str, rows: NDArray[Any]) -> None:
        """Write rows at the end of a table, which grows by half where it is full."""
        room, used = self._room[name], len(getattr(self, name))
        if used + len(rows) > len(room):
            longer = np.zeros((max(used + len(rows), used + used // 2), *room.shape[1:]), dtype=room.dtype)
            longer[:used] = room[:used]
            self._room[name] = room = longer
        room[used : used + len(rows)] = rows
        setattr(self, name, room[: used + len(rows)])

    def _put(self, name: str, table: NDArray[Any]) -> None:
        """Let a table be this one, without room for more."""
        self._room[name] = table
        setattr(self, name, table)

    def _compact(self) -> None:
        """Write the tables without the rules of deleted classifiers."""
        kept = self.alive != 0
        new = np.where(kept, np.cumsum(kept) - 1, -1)
        live = np.array(sorted(self._slot.values()), dtype=np.int64)
        place = np.full(len(self.names), -1)
        place[live] = np.arange(len(live))
        self.owner[:] = place[self.owner]
        for name in ("hi", "bits", "payload", "owner", "number", "alive", "lo"):
            self._put(name, np.ascontiguousarray(getattr(self, name)[kept]))
        for name in ("weight", "names"):
            self._put(name, getattr(self, name)[live])
        self._slot = {int(name): i for i, name in enumerate(self.names.tolist())}
        self._renumber(new)

    def _widen(self, values: Ints) -> None:
        """Give all rules bits for more nominal values."""
        support = np.zeros(len(self))
        wider = Rules(self.lo, self.hi, self.bits, self.values, self.payload, support).widened(values)
        self._put("bits", wider.bits)
        self.values = values
        self.at, _ = bit_places(values)
        self._rebuild()

    def _rebuild(self) -> None:
        """The bits of all rules have changed."""

    def _door(self, X: Any) -> Floats:
        try:
            rows = np.ascontiguousarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"X must be rows of numbers, got {params.shown(X)}") from None
        if rows.ndim == 1 and rows.shape == self.values.shape:
            rows = rows.reshape(1, -1)
        if rows.ndim != 2 or (rows.shape[1] != len(self.values) and len(self.names)):
            raise ValueError(f"X must be rows of {len(self.values)} numbers, got an array of shape {rows.shape}")
        return rows

    def _unknown(self, name: Any) -> int:
        raise KeyError(f"name must be a classifier of the index, got {params.shown(name)}")
