"""Transformers of scikit-learn and river in a pipeline: slow, and not to be saved."""

import copy
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, final

import numpy as np
from msgspec import structs

from thalweg.core.dicts import Dicts
from thalweg.core.fields import free, whole
from thalweg.core.foreign import pickled_bytes
from thalweg.core.in_use import looks
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Feature, Schema
from thalweg.prepare.columns import Plan, choose
from thalweg.prepare.transformer import Bools, Floats, Ints, Transformer

_TRIAL = 200
"""Random rows on which it is tried how many columns come out."""


class Foreign(Transformer):
    """A transformer of another library. Its columns come out ahead of those that it is not given.

    It is called from Python, so it is slow, and what it knows is its own business: it can be copied, not saved.
    """

    kind = ""

    model: Any = free(doc="Joins with its parameters and as if it had seen nothing.", kw_only=True)

    library: ClassVar[str]

    __slots__ = ("_model", "_waiting")

    @abstractmethod
    def _new_model(self) -> Any:
        """Make one with the same parameters that has seen nothing."""

    @abstractmethod
    def _names(self, schema: Schema) -> list[str]:
        """Give the names of what comes out."""

    @property
    def unsavable(self) -> str:
        """Why it cannot be saved."""
        return (
            f"{type(self.model).__name__} is a transformer of another library and cannot be saved in a safe file: use "
            "a transformer of thalweg"
        )

    @property
    def state_bytes(self) -> int:
        """Bytes of it as it would be pickled; 0 where that cannot be told."""
        return 0 if self._plan is None else pickled_bytes(self._model)

    def _planned(self, schema: Schema) -> Plan:
        columns = choose(type(self.model).__name__, self.columns, schema, self.kind)
        if self._plan is not None and len(columns) != len(self._plan.columns):
            raise ValueError(
                f"X must have the {len(self._plan.columns)} features of the first rows for "
                f"{type(self.model).__name__}, got {len(columns)}"
            )
        others = np.setdiff1d(np.arange(schema.n_features), columns)
        inner = structs.replace(schema, features=tuple(schema.features[f] for f in columns), shape=None, rank=None)
        names = self._plan.more[1] if self._plan is not None else self._names(inner)
        taken = {schema.names[f] for f in others}
        made = [Feature(name if name not in taken else f"{name}'") for name in names]
        features = (*made, *(schema.features[f] for f in others))
        out = structs.replace(schema, features=features, shape=None, rank=None)
        return Plan(schema, out, columns, others, (inner, names))

    def counted_back(self, shares: Floats) -> Floats:
        """Let a feature count for the column of its name, or else for all columns that the model works on alike."""
        plan = self._plan
        assert plan is not None, "meet comes first"
        back, names = np.zeros(plan.schema.n_features), list(plan.schema.names)
        for name, share in zip(plan.out.names, shares, strict=True):
            if name in names:
                back[names.index(name)] += share
            else:
                back[plan.columns] += share / len(plan.columns)
        return back

    def _start(self, plan: Plan) -> None:
        self._model = self._new_model()
        self._waiting: list[Floats] = []

    def _tables(self) -> State:
        raise TypeError(self.unsavable)

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        raise ValueError(self.unsavable)

    @looks
    def __getstate__(self) -> Any:
        known = None if self._plan is None else (self._plan, self._model, self._waiting)
        return self.get_params(deep=False), self._labels.copy(), known

    def __setstate__(self, state: Any) -> None:
        params, labels, known = state
        self.__init__(**params)  # type: ignore[misc]
        self._labels = labels
        if known is not None:
            self._plan = known[0]
            self._model, self._waiting = copy.deepcopy(known[1:])


@final
class SklearnTransformer(Foreign):
    """A transformer of scikit-learn: one with ``partial_fit`` learns with the stream, a fitted one stays as it is.

    Codes of nominal features are numbers to it. Before it has learned for the first time, what comes out is 0. A row
    with a missing value, where it takes none, is not learned and comes out missing.

    Examples
    --------
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> scaler = SklearnTransformer(model=MaxAbsScaler(), batch=2).partial_fit([[1.0], [4.0]])
    >>> scaler.transform([[2.0]]).tolist()
    [[0.5]]
    """

    library = "sklearn"

    batch: int = whole(
        default=100,
        doc="It learns so many rows at once; rows in between are transformed by what it knew before.",
        least=1,
        most=1_000_000,
    )

    __slots__ = ("_gaps", "_learns")

    def _prepare(self) -> None:
        model = self.model
        if isinstance(model, type) or not hasattr(model, "transform") or not hasattr(model, "get_params"):
            raise TypeError(f"model must be a transformer with transform and get_params, got {shown(model)}")
        self._learns = hasattr(model, "partial_fit")
        if not self._learns and not _is_fitted(model):
            raise ValueError(
                f"model must have partial_fit, or be fitted already, {type(model).__name__} is neither: "
                "fit it on rows that are not part of the evaluation"
            )
        try:
            self._gaps = bool(model.__sklearn_tags__().input_tags.allow_nan)
        except Exception:  # another library's, or an older one's
            self._gaps = False

    def _new_model(self) -> Any:
        from sklearn.base import clone

        return clone(self.model) if self._learns else copy.deepcopy(self.model)

    def _names(self, schema: Schema) -> list[str]:
        trial = self._new_model()
        rows = np.random.default_rng(1).normal(size=(max(_TRIAL, 2 * schema.n_features), schema.n_features))
        rows = np.where(schema.nominal > 0, np.floor(np.abs(rows)) % np.maximum(schema.cardinalities, 1), rows)
        try:
            with np.errstate(all="ignore"):
                found = _dense((trial.partial_fit(rows) if self._learns else trial).transform(rows))
        except Exception as error:  # someone else's code
            raise ValueError(f"columns must suit {type(self.model).__name__}, which says: {error}") from None
        if found.shape[1] == schema.n_features:
            return list(schema.names)
        return [f"{type(self.model).__name__.lower()}{i}" for i in range(found.shape[1])]

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        k = len(plan.more[1])
        rows = np.ascontiguousarray(X[:, plan.columns])
        out[:, k:] = X[:, plan.places]
        whole: Bools = np.full(len(X), True)
        if not self._gaps:
            whole = ~np.asarray(np.isnan(rows).any(axis=1))
        out[:, :k] = 0.0
        out[~whole, :k] = np.nan
        teaches = np.flatnonzero(learned & whole) if self._learns else np.zeros(0, dtype=np.int64)
        room = int(self.batch) - len(self._waiting)
        i = 0
        for stop in [*(teaches[room - 1 :: self.batch] + 1), len(X)]:
            if not self._learns or _is_fitted(self._model):
                with np.errstate(all="ignore"):
                    for r in i + np.flatnonzero(whole[i:stop]):  # products of matrices round by how many rows they have
                        out[r, :k] = _dense(self._model.transform(rows[r : r + 1]))
            self._waiting += [rows[r] for r in teaches[(teaches >= i) & (teaches < stop)]]
            if len(self._waiting) >= self.batch:
                with np.errstate(all="ignore"):
                    self._model.partial_fit(np.array(self._waiting))
                self._waiting = []
            i = stop


@final
class RiverTransformer(Foreign):
    """A transformer of river. Each record is a dict to it; a missing value is left out.

    The same names must come out of every record: a value that does not is missing, and another name is refused.

    Examples
    --------
    >>> from river.preprocessing import MaxAbsScaler
    >>> scaler = RiverTransformer(model=MaxAbsScaler()).partial_fit([[1.0], [4.0]])
    >>> scaler.transform([[2.0]]).tolist()
    [[0.5]]
    """

    library = "river"

    __slots__ = ("_supervised",)

    def _prepare(self) -> None:
        if isinstance(self.model, type) or not all(hasattr(self.model, v) for v in ("learn_one", "transform_one")):
            raise TypeError(
                f"model must be a transformer of river, with learn_one and transform_one, got {shown(self.model)}"
            )
        self._supervised = bool(getattr(self.model, "_supervised", False))
        self.labelled = self._supervised

    def _new_model(self) -> Any:
        return self.model.clone() if hasattr(self.model, "clone") else copy.deepcopy(self.model)

    def _names(self, schema: Schema) -> list[str]:
        trial = self._new_model()
        rng = np.random.default_rng(1)
        rows = rng.normal(size=(_TRIAL, schema.n_features))
        rows = np.where(schema.nominal > 0, np.floor(np.abs(rows)) % np.maximum(schema.cardinalities, 1), rows)
        found: dict[str, None] = {}
        try:
            for i, record in enumerate(Dicts(schema).of(rows)):
                self._teach(trial, record, i % 2)
                found.update(dict.fromkeys(map(str, trial.transform_one(record))))
        except Exception as error:  # someone else's code
            raise ValueError(f"columns must suit {type(self.model).__name__}, which says: {error}") from None
        return list(found)

    def _teach(self, model: Any, record: dict[str, Any], code: int) -> None:
        if self._supervised:
            model.learn_one(record, code)
        else:
            model.learn_one(record)

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        inner, names = plan.more
        place = {name: j for j, name in enumerate(names)}
        out[:, : len(names)] = np.nan
        out[:, len(names) :] = X[:, plan.places]
        for i, record in enumerate(Dicts(inner).of(X[:, plan.columns])):
            for name, value in self._model.transform_one(record).items():
                if str(name) not in place:
                    raise ValueError(
                        f"{type(self.model).__name__} must give the same columns for every record, {shown(name)} is new"
                    )
                out[i, place[str(name)]] = np.nan if value is None else float(value)
            if learned[i]:
                self._teach(self._model, record, int(y[i]))


def as_transformer(thing: Any) -> Any:
    """Give a transformer of scikit-learn or river as one of ours, with a warning that it is slow; all else as it is."""
    if isinstance(thing, (Transformer, type)):
        return thing
    made: Foreign
    if hasattr(thing, "learn_one") and hasattr(thing, "transform_one"):
        made = RiverTransformer(model=thing)
    elif hasattr(thing, "transform") and hasattr(thing, "get_params") and not hasattr(thing, "predict"):
        made = SklearnTransformer(model=thing)
    else:
        return thing
    warnings.warn(
        f"{type(thing).__name__} is called from Python, which is slow, and cannot be saved: a transformer of thalweg "
        "is compiled",
        stacklevel=3,
    )
    return made


def _dense(found: Any) -> Floats:
    """Give what a transformer returns as an array of numbers."""
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)


def _is_fitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True
