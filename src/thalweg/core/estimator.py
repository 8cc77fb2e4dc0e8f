"""scikit-learn's hands for a learner: fit, score, parameters and tags, without depending on scikit-learn."""

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thalweg.core import door
from thalweg.core.fields import meant
from thalweg.core.in_use import InUse
from thalweg.core.labels import Labels, sequence
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Schema


class Estimator(ABC):
    """What scikit-learn expects of a classifier, in terms of a stream learner's own verbs."""

    __slots__ = ()

    missing: str
    sparse: bool
    blind: bool
    _labels: Labels
    _schema: Schema | None
    _started: bool
    _use: InUse

    @abstractmethod
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn rows in order."""

    @abstractmethod
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give each row's probability of each class."""

    @abstractmethod
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters by name."""

    @abstractmethod
    def declare(self, schema: Schema) -> Self:
        """Fix the features before the first row."""

    @abstractmethod
    def reset(self) -> Self:
        """Forget everything but the parameters."""

    @abstractmethod
    def fresh(self) -> Self:
        """Make one with the same parameters that has seen nothing."""

    @abstractmethod
    def _forget(self) -> None:
        """Forget everything but the parameters, whoever uses it."""

    @abstractmethod
    def _tables(self) -> State:
        """Give the tables, not copied."""

    @abstractmethod
    def _settle(self, labels: Labels, schema: Schema | None, tables: State, classes: int | None = None) -> None:
        """Continue from the parts of a learner with the same parameters."""

    @property
    def n_features_in_(self) -> int:
        """Number of features, once known."""
        if self._schema is None:
            raise AttributeError(f"{type(self).__name__} has no n_features_in_ before its first chunk")
        return self._schema.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, once known, where the input named them."""
        if self._schema is None or self._schema.names == tuple(f"x{i}" for i in range(self._schema.n_features)):
            raise AttributeError(f"{type(self).__name__} has no feature_names_in_: its input names no features")
        return np.array(self._schema.names, dtype=object)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget, then learn the rows in order (scikit-learn's verb; streams use ``partial_fit``)."""
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None")
        fresh = self.fresh()
        if isinstance(self._schema, Schema) and not self._started:
            fresh.declare(self._schema)
        labels = sequence(y)
        _warn_of_column(y)
        y = labels
        new = Labels().read(y)[1]
        if not new:
            raise ValueError("y must hold at least one label to fit, got none")
        _refuse_continuous(new)
        w = door.weights(sample_weight, len(y))
        if not w.any():
            raise ValueError("sample_weight must hold at least one number above zero, got none")
        try:
            new = sorted(new)  # type: ignore[type-var]
        except TypeError:
            pass
        fresh.partial_fit(X, y, sample_weight=w, classes=None if fresh._labels.closed else new)
        with self._use.changing:
            self._settle(fresh._labels, fresh._schema, fresh._tables())
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the share of rows predicted right."""
        proba, truth = self.predict_proba(X), sequence(y)
        if not len(proba) == len(truth) > 0:
            raise ValueError(f"y must hold a label for each of the {len(proba)} rows of X, got {len(truth)}")
        codes, _ = self._labels.read(truth)
        right = proba.argmax(axis=1) == codes if proba.shape[1] else np.zeros(len(codes))
        w = door.weights(sample_weight, len(codes))
        if not w.any():
            raise ValueError("sample_weight must hold at least one number above zero, got none")
        return float(np.average(right, weights=w))

    def set_params(self, **params: Any) -> Self:
        """Change parameters; those of a learner inside as ``learner__delta``.

        The learner starts anew: a parameter never changes under a model that uses it. A learner inside is replaced by
        another one, so that one that you hold stays as it is.
        """
        if not params:
            return self
        known = self.get_params(deep=False)
        for name in params:
            if name not in self.get_params():
                raise ValueError(f"Invalid parameter {shown(name)} for {type(self).__name__}: {meant(name, known)}")
        params = _with_inner(known, params)
        type(self)(**known | params)  # a bad value must leave this learner as it is
        with self._use.changing:
            self.__init__(**known | params)  # type: ignore[misc]
            self._forget()
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            requires_fit=False,  # a learner answers before its first row: a stream begins with a prediction
            classifier_tags=ClassifierTags(poor_score=self.blind),
            input_tags=InputTags(allow_nan=self.missing == "native", sparse=self.sparse),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return self._started


def _with_inner(known: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Make new parts for parameters of parts, such as ``learner__delta``."""
    made = {name: value for name, value in params.items() if "__" not in name}
    inside: dict[str, dict[str, Any]] = {}
    for name, value in params.items():
        part, both, key = name.partition("__")
        if both:
            inside.setdefault(part, {})[key] = value
    for part, chosen in inside.items():
        before = made.get(part, known[part])
        made[part] = type(before)(**_with_inner_of(before, chosen))
    return made


def _with_inner_of(part: Any, chosen: Mapping[str, Any]) -> dict[str, Any]:
    known = part.get_params(deep=False)
    return {**known, **_with_inner(known, chosen)}


def _warn_of_column(y: Any) -> None:
    """Warn as scikit-learn does, in its class where it is loaded: a column may be a mistake for a row of labels."""
    if getattr(y, "shape", ())[1:] == (1,):
        category = getattr(sys.modules.get("sklearn.exceptions"), "DataConversionWarning", UserWarning)
        warnings.warn("A column-vector y was passed when a 1d array was expected", category, stacklevel=3)


def _refuse_continuous(labels: list[Hashable]) -> None:
    if labels and isinstance(labels[0], float) and any(not v.is_integer() for v in labels if isinstance(v, float)):
        raise ValueError(f"Unknown label type: continuous. y must hold classes, got {shown(labels[0])}")
