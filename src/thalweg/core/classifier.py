"""The one abstract class. A learner is final, and adds four short methods to it.

The verbs are scikit-learn's; the meaning is a stream's. Behind every verb stands one method, ``_play``:
a list of events, carried out in order in compiled code. Event ``e ≥ 0`` predicts row ``e``; event ``e < 0``
learns row ``~e``. Predicting is 0, 1, 2, …; learning is ~0, ~1, ~2, …; test-then-train is 0, ~0, 1, ~1, …;
labels that come late are any other order. There is no second loop.
"""

import copy
import inspect
from abc import abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, Literal, Self

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from thalweg.core import door
from thalweg.core.answering import Answering
from thalweg.core.estimator import Estimator
from thalweg.core.fields import Parametrised, fixed
from thalweg.core.in_use import InUse, changes, looks
from thalweg.core.labels import Labels, sequence
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.readings import NONE, Readings
from thalweg.core.schema import Schema, refuse_shorter
from thalweg.core.tables import refusing
from thalweg.core.task import OneRoutine, Task, order

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NO_CODES = np.zeros(0, dtype=np.int64)
_NO_WEIGHTS = np.zeros(0)
_PREDICT_ONE = np.array([0], dtype=np.int64)
_LEARN_ONE = np.array([-1], dtype=np.int64)
_WEIGHT_ONE = np.ones(1)
_CODE = tuple(np.array([c], dtype=np.int64) for c in range(256))


class Classifier(Parametrised, Answering, Estimator):
    """Learns a stream of labelled records, and predicts each before its label is used.

    Threads: any number may predict at once with one learner; one that learns needs it for itself, and a call that meets
    a learner in use raises RuntimeError at once. ``copy`` gives a learner that goes its own way.
    """

    missing: Literal["reject", "native"] = fixed("reject")
    """What NaN gets: a sentence, or the learner's own rule for missing values."""
    sparse: bool = fixed(False)
    """Does it take sparse rows? Then ``_play`` gets them as the door hands them on, see ``thalweg.core.door.Rows``."""
    blind: bool = fixed(False)
    """Does it predict without looking at the record?"""
    tensors: bool = fixed(False)
    """Does it look at the shape of a record? To others a tensor is a row of its values, the last index fastest."""
    evolving: bool = fixed(False)
    """May tensors have other sizes than those before?"""
    bounded: bool = fixed(False)
    """Does the state stay bounded however long the stream is?"""
    asks: bool = fixed(False)
    """Does it learn only from labels that it wants? Then ``asked_rows`` says which, and no other learner is outside."""
    readings: Readings = fixed(NONE)
    """How it wants columns with dates or text to be read."""

    __slots__ = ("_labels", "_schema", "_started", "_use")

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        self = super().__new__(cls)
        self._use = InUse(cls.__name__)
        self._forget()
        return self

    def __init__(self) -> None:
        """Make a learner that has no parameters."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = inspect.signature(cls.__init__)  # __new__ takes anything: show what the constructor takes
        cls.__signature__ = own.replace(parameters=list(own.parameters.values())[1:])  # type: ignore[attr-defined]

    # -- what a learner writes ----------------------------------------------------------------------------------------

    @abstractmethod
    def _start(self, schema: Schema) -> None:
        """Make the tables of a model that has seen nothing."""

    @abstractmethod
    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        """Carry out the events in order: e ≥ 0 predicts row e, e < 0 learns row ~e.

        The contract, for every learner and for whoever calls one (see ``thalweg.core.inside``):

        X: rows as the door hands them on, dense; a learner that takes sparse ones (``sparse``) writes ``X: Rows`` and
        gets either. Rows that no event names may be there; they must not matter.
        y: the code of each row that is learned; anything, often -1, for the others. w: the weights, above 0 for rows
        that are learned. Both may be empty where no event learns.
        events: row numbers and their complements in any order; a row may be predicted twice, or learned twice.
        known: how many classes are known at the first event; learning a row with code c makes it at least c + 1.
        out: zeros, a row for each row of X and a column for each class that is known **after the last event**. For
        each predicted row e write to ``out[e]`` the probabilities of the classes known at that event: they sum to 1, or
        all are 0 if there is no answer. A class that is not known yet keeps its 0, and so does a row that is not
        predicted.

        Nothing else says how many classes there are: tables are sized by ``out.shape[1]``, never by the labels that the
        learner knows, since a learner inside another one works on codes alone and knows none. Predicting changes
        nothing that a later answer, or the state, could show.
        """

    def _play_asking(
        self, X: Floats, y: Ints, w: Floats, asking: Any, why: NDArray[np.int8], out: Floats, known: int
    ) -> int | None:
        """Predict each row, let a strategy decide on the probabilities, and learn it if its label is wanted.

        As ``_play``, row after row in one compiled call, the same bits: all weights are above 0, all codes below
        ``known``. asking: the strategy, see ``thalweg.active.strategies_jit.Asking``. why[r] becomes the reason for
        which the label of row r is wanted, 0 where it is not.

        Gives how many rows from the first on are done. 0: not now, the first row must be played event by event. None:
        this learner never does.
        """
        return None

    def _as_routine(self, X: Floats) -> OneRoutine | None:
        """Give what plays these rows in ``_play``, if it is one compiled routine and nothing else."""
        return None

    @abstractmethod
    def _tables(self) -> State:
        """Give the tables, not copied."""

    @abstractmethod
    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        """Continue from tables that ``_tables`` gave, or refuse them with a ValueError before anything has changed.

        They may come from a stranger's file: whatever they hold, no index may lead outside a table. Declare type, shape
        and range of each (``thalweg.core.declared``) and call ``check``. classes: how many the labels are; every code
        of a class is below.
        """

    def _extend(self, schema: Schema) -> None:
        """Make room for what the schema has more than before (features, nominal values); by default nothing."""

    def _rehearse(self) -> None:
        """Run, on a copy that is thrown away, whatever ``_play`` needs only now and then, so that it is compiled."""

    # -- learning and predicting --------------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn rows in order.

        Parameters
        ----------
        X : object
            Rows (array, pandas or polars frame, Arrow table, list of dicts; a SciPy sparse matrix where ``sparse``).
        y : object
            Their labels, of any one hashable type.
        classes : object
            Labels that are known beforehand, as in scikit-learn; never needed, new ones join as they appear.
        sample_weight : object
            A number ≥ 0 for each row.
        """
        self._carry_out(X, y, sample_weight, predict=False, classes=classes)
        return self

    def _proba(self, x: Any, one: bool) -> tuple[Floats, Labels]:
        with self._use.looking:
            X, _ = self._one_row(x, learning=False) if one else self._rows(x, learning=False)
            n, known = X.shape[0], len(self._labels.values)
            out = np.zeros((n, known))
            if self._started:
                self._play(X, _NO_CODES, _NO_WEIGHTS, _PREDICT_ONE if one else np.arange(n), out, known)
            elif known:
                out += 1.0 / known
            return out, self._labels

    def _known(self) -> tuple[Labels, Schema | None]:
        return self._labels, self._schema

    def test_then_train(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Predict each row before learning it; the same, bit for bit, as the two verbs row by row.

        A class that a row could not know yet has probability 0 in that row.
        """
        return self._carry_out(X, y, sample_weight)

    def play(self, X: Any, y: Any, events: Any, sample_weight: Any = None) -> Floats:
        """Predict and learn rows in any order: event e ≥ 0 predicts row e, event ~e learns it. For late labels.

        The label of a row that is not learned is not looked at; a row that is not predicted has probability 0.
        """
        y = sequence(y)
        return self._carry_out(X, y, sample_weight, order(events, len(y)))

    # -- one record ---------------------------------------------------------------------------------------------------

    def learn_one(self, x: Any, y: Hashable, weight: float = 1.0) -> Self:
        """Learn one record: a dict by feature name, or a row."""
        with self._use.changing:
            X, schema = self._one_row(x, learning=True)
            code, new = self._labels.read_one(y)
            plain = type(weight) is float or type(weight) is int
            w = _WEIGHT_ONE if plain and weight == 1.0 else door.weights(weight, 1)
            if w[0] > 0.0:
                known = len(self._labels)
                if schema is not self._schema or not self._started:
                    self._meet(schema)
                if new:
                    self._labels.admit(new)
                out = np.zeros((1, len(self._labels)))
                self._play(X, _CODE[code] if code < 256 else np.array([code]), w, _LEARN_ONE, out, known)
        return self

    def _one_row(self, x: Any, *, learning: bool) -> tuple[Any, Schema]:
        schema, native = self._schema, self.missing == "native"
        if schema is not None:
            row = door.usual_row(x, schema, native, learning)
            if row is not None:
                return row, schema
        return door.one_row(
            x, schema, missing=native, learning=learning, sparse=self.sparse,
            evolving=self.evolving, tensors=self.tensors, readings=self.readings,
        )  # fmt: skip

    def _rows(self, X: Any, *, learning: bool, learned: Ints | None = None) -> tuple[Any, Schema]:
        return door.rows(
            X, self._schema, missing=self.missing == "native", learning=learning, learned=learned, sparse=self.sparse,
            evolving=self.evolving, readings=self.readings,
        )  # fmt: skip

    # -- what it knows ------------------------------------------------------------------------------------------------

    @property
    def started(self) -> bool:
        """Is there a model? There is one from the first row on that is learned, or asked about live."""
        return self._started

    @property
    def title(self) -> str:
        """What to call it in tables and pictures."""
        return type(self).__name__

    @property
    def unsavable(self) -> str:
        """Why it cannot be saved, in a sentence; empty: it can."""
        return ""

    @property
    def next_change(self) -> int | None:
        """After how many more learned rows the model next changes, where it learns by chunks; None: with any row."""
        return None

    @changes
    def declare(self, schema: Schema) -> Self:
        """Fix the features, and the classes where the schema has them, before the first row.

        Examples
        --------
        >>> from thalweg import Feature, HoeffdingTree, Schema
        >>> tree = HoeffdingTree().declare(Schema((Feature("size", values=("s", "m", "l")),), classes=("no", "yes")))
        >>> tree.classes_.tolist()
        ['no', 'yes']
        """
        if not isinstance(schema, Schema):
            raise TypeError(f"schema must be a Schema, got {shown(schema)}")
        if self._started or len(self._labels):
            raise ValueError("schema must be declared before the first row is learned")
        self._labels, self._schema = Labels(schema.classes), schema
        return self

    @property
    def extra(self) -> Literal["refuse", "ignore"]:
        """What becomes of a field or column that is no feature of the learner: a sentence, or nothing.

        A learner that began with dicts, and was declared nothing, learns a new field as a new feature.

        Examples
        --------
        >>> from thalweg import HoeffdingTree
        >>> import pandas as pd
        >>> tree = HoeffdingTree().partial_fit(pd.DataFrame({"size": [1, 2]}), ["no", "yes"])
        >>> tree.extra = "ignore"
        >>> tree.predict_one({"size": 2, "sent": "today"})
        'yes'
        """
        return "refuse" if self._schema is None else self._schema.extra

    @extra.setter
    @changes
    def extra(self, extra: Literal["refuse", "ignore"]) -> None:
        if self._schema is None:
            raise ValueError("extra must be set when the features are known: after the first row, or after declare")
        self._schema = structs.replace(self._schema, extra=extra)

    def grow(self, schema: Schema) -> Self:
        """Take over a schema that has more features or more values of open nominal features than the present one."""
        with self._use.changing:
            old = self._schema
            if old is not None and isinstance(schema, Schema):
                refuse_shorter(schema, old)
                if self._started:
                    self._extend(schema)
                self._schema = schema
                return self
        return self.declare(schema)

    # -- state --------------------------------------------------------------------------------------------------------

    @looks
    def state(self) -> State:
        """Copy out all that the learner knows, as named arrays."""
        state = {"labels": self._labels.to_bytes()}
        if self._schema is not None:
            state["schema"] = np.frombuffer(self._schema.to_json(), dtype=np.uint8).copy()
        if self._started:
            state |= {name: table.copy() for name, table in self._tables().items()}
        return state

    @changes
    def restore(self, state: Mapping[str, NDArray[Any]], *, copy: bool = True) -> None:
        """Continue from what ``state`` of a learner with the same parameters gave.

        Parameters
        ----------
        copy : bool
            False hands the arrays over: they belong to the learner from now on, and will change.
        """
        with refusing(state, f"state must be what {type(self).__name__}.state() gave"):
            tables = {n: t.copy() if copy or not t.flags.writeable else t for n, t in state.items()}
            labels = Labels.from_bytes(tables.pop("labels"))
            schema = Schema.from_json(tables.pop("schema").tobytes()) if "schema" in tables else None
            if tables:
                if schema is None:
                    raise KeyError("schema")
                self._adopt(tables, schema, len(labels))
        self._labels, self._schema, self._started = labels, schema, bool(tables)

    @property
    def state_bytes(self) -> int:
        """Bytes of all tables of the model."""
        return sum(t.nbytes for t in self._tables().values()) if self._started else 0

    def fresh(self) -> Self:
        """Make a learner with the same parameters that has seen nothing."""
        return type(self)(**self.get_params(deep=False))

    def copy(self) -> Self:
        """Make a learner with the same parameters and the same knowledge that goes its own way."""
        return copy.copy(self)

    @looks
    def __getstate__(self) -> tuple[dict[str, Any], Labels, Schema | None, State]:
        """For ``copy`` and for worker processes; to keep a learner, ``thalweg.save`` it."""
        return self.get_params(deep=False), self._labels.copy(), self._schema, self._tables() if self._started else {}

    def __setstate__(self, state: tuple[dict[str, Any], Labels, Schema | None, State]) -> None:
        params, labels, schema, tables = state
        self.__init__(**params)  # type: ignore[misc]
        self._settle(labels, schema, {name: np.array(table) for name, table in tables.items()})

    @changes
    def reset(self) -> Self:
        """Forget everything but the parameters."""
        self._forget()
        return self

    def _forget(self) -> None:
        self._labels: Labels = Labels()
        self._schema: Schema | None = None
        self._started: bool = False

    # -- inside -------------------------------------------------------------------------------------------------------

    def _carry_out(
        self, X: Any, y: Any, w: Any, events: Ints | None = None, *, predict: bool = True, classes: Any = None
    ) -> Floats:
        with self._use.changing:
            return self._perform(self._read(X, y, w, events, predict=predict, classes=classes))

    def _read(
        self, X: Any, y: Any, w: Any, events: Ints | None = None, *, predict: bool = True, classes: Any = None
    ) -> Task:
        """Let everything pass the door, or refuse it. Changes nothing.

        events: None: learn the rows in order, each predicted before if ``predict``.
        """
        if y is None:
            raise ValueError("y must hold a label for each row, got None")
        y = sequence(y)
        n = len(y)
        weights = door.weights(w, n)
        given = events is not None
        in_order = not given
        if events is None:
            each = np.arange(n)
            events = np.stack([each, ~each], axis=1).reshape(-1) if predict else ~each
        if w is not None and not weights.all():  # a row of weight 0 changes nothing: it is not learned
            events = events[(events >= 0) | (weights[np.maximum(events, ~events)] > 0.0)]
            in_order = False
        learned = None if in_order else ~events[events < 0]
        X, schema = self._rows(X, learning=True, learned=learned)
        if X.shape[0] != n:
            raise ValueError(f"y must hold a label for each of the {X.shape[0]} rows of X, got {n}")
        labels = self._labels
        if classes is not None:
            labels = labels.copy()
            labels.admit(labels.read(classes, "classes")[1])
        if learned is None:
            codes, new = labels.read(y)
        else:
            codes = np.full(n, -1, dtype=np.int64)
            codes[learned], new = labels.read(y[learned])
        return Task(X, schema, labels, codes, new, weights, events, given)

    def _perform(self, task: Task) -> Floats:
        """Carry out what passed the door; give the probabilities of the rows that are predicted."""
        X, schema, labels, codes, new, w, events, _ = task
        known = len(labels)
        if (events < 0).any():
            self._meet(schema)  # may still refuse
        labels.admit(new)
        self._labels = labels
        out = np.zeros((X.shape[0], len(labels)))
        if self._started:
            self._play(X, codes, w, events, out, known)
        elif known:
            out[events] = 1.0 / known
        return out

    def _settle(self, labels: Labels, schema: Schema | None, tables: State, classes: int | None = None) -> None:
        """Continue from the parts of a learner with the same parameters.

        classes: how many there are, where others know the labels.
        """
        if tables and schema is not None:
            self._adopt(tables, schema, len(labels) if classes is None else classes)
        self._labels, self._schema, self._started = labels, schema, bool(tables)

    def _meet(self, schema: Schema) -> None:
        if not self._started:
            self._start(schema)
            self._started = True
        elif schema is not self._schema:
            self._extend(schema)
        self._schema = schema
