"""The one abstract class of preprocessing. A transformer is a few tables, and adds a few short methods to it.

A transformer turns rows of one schema into rows of another. What it knows, a mean, a count, the last value of a key,
comes from the rows that were learned **before** the row that is transformed: neither the row itself nor its label has a
say in how it looks. So test-then-train stays honest, and rows may come in chunks of any size.
"""

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from thalweg.core import door
from thalweg.core.fields import Parametrised, fixed, free
from thalweg.core.in_use import InUse, changes, looks
from thalweg.core.labels import Labels, sequence
from thalweg.core.protocols import State
from thalweg.core.readings import NONE, Readings
from thalweg.core.schema import Feature, Schema
from thalweg.core.tables import refusing
from thalweg.prepare.columns import Columns, Kind, Plan, check_columns, choose, lay_out

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Kept(ABC):
    """What every transformer keeps beside its parameters and its tables."""

    __slots__ = ()
    _labels: Labels
    _plan: Plan | None
    _use: InUse


class Transformer(Parametrised, Kept):
    """Turns rows into other rows, with what it has learned from the rows before.

    Alone it has the verbs ``partial_fit``, ``transform`` and ``transform_then_learn``; ``thalweg.pipeline`` puts it in
    front of a learner.

    Examples
    --------
    >>> from thalweg import StandardScaler
    >>> scaler = StandardScaler().partial_fit([[1.0], [3.0]])
    >>> scaler.transform([[2.0]]).tolist()
    [[0.0]]
    """

    kind: ClassVar[Kind] = "numeric"
    """Which columns suit it; "": all."""
    labelled: bool = fixed(False)
    """Does it learn from labels? Then ``partial_fit`` must be given them."""
    missing: Literal["kept", "filled", "made"] = fixed("kept")
    """Missing values come out where they go in; none comes out at all; some may come out where none goes in."""
    sparse: bool = fixed(False)
    """Does it take sparse rows, and give sparse rows?"""
    readings: Readings = fixed(NONE)
    """How it wants columns with dates or text to be read."""

    columns: Columns = free(
        default=None,
        doc='Columns by name or position from 0, one or a list; "numeric" or "nominal": all of that kind; None: all '
        "that are suitable.",
        check=check_columns,
        kw_only=False,
    )

    __slots__ = ("_labels", "_plan", "_use")

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        self = super().__new__(cls)
        self._use = InUse(cls.__name__)
        self._forget()
        return self

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _show_constructor(cls)

    # -- what a transformer writes ------------------------------------------------------------------------------------

    def _made(self, feature: Feature) -> tuple[Feature, ...]:
        """Give the features that take the place of a chosen one; by default it stays what it is."""
        return (feature,)

    def _planned(self, schema: Schema) -> Plan:
        """Say what goes where; may refuse the schema. Depends on parameters and schema only, and changes nothing."""
        return lay_out(schema, choose(type(self).__name__, self.columns, schema, self.kind), self._made)

    @abstractmethod
    def _start(self, plan: Plan) -> None:
        """Make the tables of a transformer that has seen nothing."""

    def _extend(self, plan: Plan) -> None:
        """Make room for what the schema has more than before (features, nominal values); by default nothing."""

    @abstractmethod
    def _follow(self, plan: Plan, X: Any, y: Ints, w: Floats, learned: Bools, out: Floats) -> Any:
        """Transform row after row, each with what is known then; learn a row right after it was transformed, if told.

        plan: the transformer's own. X: rows as the door hands them on. y, w: class codes and weights of the rows that
        are learned; anything for the others. out: a row for each row of X, to be filled; its cells may hold anything. A
        transformer of sparse rows gets ``out=None`` for such, and returns them.
        """

    @abstractmethod
    def _tables(self) -> State:
        """Give the tables, not copied; at least one."""

    @abstractmethod
    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        """Continue from tables that ``_tables`` gave, or refuse them with a ValueError before anything has changed.

        They may come from a stranger's file: see ``Classifier._adopt``.
        """

    # -- learning and transforming ------------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn rows in order.

        Parameters
        ----------
        X : object
            Rows: an array, a frame, an Arrow table; a SciPy sparse matrix where ``sparse``.
        y : object
            Their labels, where it learns from labels (``labelled``).
        sample_weight : object
            A number ≥ 0 for each row.
        """
        self.transform_then_learn(X, y, sample_weight)
        return self

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget, then learn the rows in order (scikit-learn's verb; streams use ``partial_fit``)."""
        return self.reset().partial_fit(X, y, sample_weight)

    @changes
    def transform_then_learn(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Give the rows, each transformed by what was known before it, and learn them in order."""
        rows, schema = self._rows(X, learning=True)
        n = rows.shape[0]
        w = door.weights(sample_weight, n)
        codes, new = self._codes(y, n, w)
        if not w.all():  # a row of weight 0 changes nothing, also not the nominal values that are known
            rows, schema = self._rows(X, learning=True, learned=np.flatnonzero(w))
        self.meet(schema)
        self._labels.admit(new)
        return self.follow(rows, codes, w, w > 0.0)

    @looks
    def transform(self, X: Any) -> Any:
        """Give the rows as they look with what is known now. Changes nothing."""
        rows, schema = self._rows(X, learning=False)
        n = rows.shape[0]
        return self._seen(schema).follow(rows, np.full(n, -1), np.ones(n), np.zeros(n, dtype=np.bool_))

    def learn_one(self, x: Any, y: Hashable = None) -> Self:
        """Learn one record: a dict by feature name, or a row."""
        with self._use.changing:
            rows, schema = self._rows(x, learning=True, one=True)
            codes, new = self._codes(None if y is None else [y], 1, np.ones(1))
            self.meet(schema)
            self._labels.admit(new)
            self.follow(rows, codes, np.ones(1), np.ones(1, dtype=np.bool_))
        return self

    def transform_one(self, x: Any) -> dict[str, float]:
        """Give one record, a dict by feature name or a row, as it looks now, by the names of its new features."""
        with self._use.looking:
            rows, schema = self._rows(x, learning=False, one=True)
            seen = self._seen(schema)
            found = seen.follow(rows, np.full(1, -1), np.ones(1), np.zeros(1, dtype=np.bool_))
            row = found[0] if isinstance(found, np.ndarray) else found.toarray()[0]
            return dict(zip(seen.planned(schema).out.names, row.tolist(), strict=True))

    def _seen(self, schema: Schema) -> Self:
        """Give this transformer, or before its first row one that has met the schema."""
        if self._plan is not None:
            return self
        twin = self.fresh()
        twin.meet(schema)
        return twin

    def _rows(self, X: Any, *, learning: bool, one: bool = False, learned: Ints | None = None) -> tuple[Any, Schema]:
        """Let rows, or one record, pass the door."""
        schema = None if self._plan is None else self._plan.schema
        how: dict[str, Any] = {"missing": True, "learning": learning, "sparse": self.sparse, "readings": self.readings}
        return door.one_row(X, schema, **how) if one else door.rows(X, schema, learned=learned, **how)

    def _codes(self, y: Any, n: int, w: Floats) -> tuple[Ints, list[Hashable]]:
        """Give the class codes of the rows that are learned, and the labels that are new."""
        codes = np.full(n, -1)
        if not self.labelled:
            return codes, []
        if y is None:
            raise ValueError(f"y must hold a label for each row, {type(self).__name__} learns from them, got None")
        y = sequence(y)
        if len(y) != n:
            raise ValueError(f"y must hold a label for each of the {n} rows of X, got {len(y)}")
        codes[w > 0.0], new = self._labels.read(y[w > 0.0])
        return codes, new

    # -- in a pipeline ------------------------------------------------------------------------------------------------

    def meet(self, schema: Schema) -> Schema:
        """Start with the schema; later, make room for what it has more than before. Give the schema of what comes out.

        May refuse it in a sentence; then nothing has changed.
        """
        before = self._plan
        if before is None or schema is not before.schema:
            plan = self._planned(schema)
            if before is None:
                self._start(plan)
            else:
                self._extend(plan)
            self._plan = plan
        assert self._plan is not None
        return self._plan.out

    def planned(self, schema: Schema) -> Plan:
        """Say what goes where for a schema, which may be refused. Changes nothing."""
        plan = self._plan
        return plan if plan is not None and schema is plan.schema else self._planned(schema)

    def follow(self, X: Any, y: Ints, w: Floats, learned: Bools) -> Any:
        """Transform rows that have passed the door, each with what is known then; learn those that are learned."""
        plan = self._plan
        assert plan is not None, "meet comes first"
        if not isinstance(X, np.ndarray):
            return self._follow(plan, X, y, w, learned, np.zeros((0, 0)))
        out = np.empty((len(X), plan.out.n_features))
        self._follow(plan, X, y, w, learned, out)
        return out

    def counted_back(self, shares: Floats) -> Floats:
        """Let what each feature that comes out counts, count for the feature that it was made of."""
        plan = self._plan
        assert plan is not None, "meet comes first"
        back = np.zeros(plan.schema.n_features)
        np.add.at(back, self._sources(plan), shares)
        return back

    def _sources(self, plan: Plan) -> Ints:
        """Say which feature that goes in each one that comes out was made of."""
        return np.searchsorted(plan.places, np.arange(plan.out.n_features), side="right") - 1

    def lend(self, labels: Labels) -> Self:
        """Give the transformer itself as one that knows the labels, to be looked at or copied, not to learn."""
        self._labels = labels
        return self

    def tables(self) -> State:
        """Give the tables, not copied; none before the first row."""
        return {} if self._plan is None else self._tables()

    def adopt(self, tables: State, schema: Schema, classes: int) -> Schema:
        """Continue from what ``tables`` gave; give the schema of what comes out."""
        plan = self._planned(schema)
        self._adopt(tables, plan, classes)
        self._plan = plan
        return plan.out

    # -- what it knows ------------------------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema | None:
        """The features that go in, once they are known."""
        return None if self._plan is None else self._plan.schema

    @property
    def schema_out(self) -> Schema | None:
        """The features that come out, once they are known."""
        return None if self._plan is None else self._plan.out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Give the names of the features that come out, as scikit-learn asks for them."""
        if self._plan is None:
            raise ValueError(f"{type(self).__name__} has not seen a row yet: it does not know its features")
        return np.array(self._plan.out.names, dtype=object)

    @property
    def state_bytes(self) -> int:
        """Bytes of all tables."""
        return sum(table.nbytes for table in self.tables().values())

    # -- state --------------------------------------------------------------------------------------------------------

    @looks
    def state(self) -> State:
        """Copy out all that the transformer knows, as named arrays."""
        if self._plan is None:
            return {"labels": self._labels.to_bytes()}
        schema = np.frombuffer(self._plan.schema.to_json(), dtype=np.uint8).copy()
        tables = {name: table.copy() for name, table in self._tables().items()}
        return {"labels": self._labels.to_bytes(), "schema": schema} | tables

    @changes
    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` of a transformer with the same parameters gave."""
        with refusing(state, f"state must be what {type(self).__name__}.state() gave"):
            tables = {name: np.array(table, order="C") for name, table in state.items()}
            labels = Labels.from_bytes(tables.pop("labels"))
            if tables:
                self.adopt(tables, Schema.from_json(tables.pop("schema").tobytes()), len(labels))
            else:
                self._plan = None
        self._labels = labels

    def fresh(self) -> Self:
        """Make a transformer with the same parameters that has seen nothing."""
        return type(self)(**self.get_params(deep=False))

    def copy(self) -> Self:
        """Make a transformer with the same parameters and the same knowledge that goes its own way."""
        return copy.copy(self)

    def __getstate__(self) -> tuple[dict[str, Any], State]:
        """For ``copy`` and for worker processes; to keep a transformer, ``thalweg.save`` it."""
        return self.get_params(deep=False), self.state()

    def __setstate__(self, state: tuple[dict[str, Any], State]) -> None:
        params, tables = state
        self.__init__(**params)  # type: ignore[misc]
        self.restore(tables)

    @changes
    def reset(self) -> Self:
        """Forget everything but the parameters."""
        self._forget()
        return self

    def _forget(self) -> None:
        self._labels = Labels()
        self._plan = None


def _show_constructor(cls: type) -> None:
    """Show what the constructor takes: ``__new__`` takes anything."""
    own = inspect.signature(cls.__init__)  # type: ignore[misc]
    cls.__signature__ = own.replace(parameters=list(own.parameters.values())[1:])  # type: ignore[attr-defined]


_show_constructor(Transformer)
