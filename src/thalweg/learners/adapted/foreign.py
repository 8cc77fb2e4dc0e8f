"""A model of another library as a learner: what the adapters share."""

import copy
from abc import abstractmethod
from collections import deque
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.door import Rows, take_rows
from thalweg.core.fields import free, whole
from thalweg.core.foreign import pickled_bytes
from thalweg.core.in_use import looks
from thalweg.core.protocols import State
from thalweg.core.schema import Schema

L = TypeVar("L", bound=Classifier)


class Foreign(Classifier):
    """A model of another library behind the verbs of a learner.

    It is called from Python for every ``batch`` rows, so it is slow. What it knows is its own business: it can be
    copied, but not saved, because no file is ever unpickled here.
    """

    model: Any = free(doc="The model inside: a fresh copy with the same parameters is used.", kw_only=False)
    batch: int = whole(
        default=1,
        doc="It learns so many rows at once; predictions in between come from what it knew before. 1: each row is "
        "learned before the next is predicted, which is slow.",
        least=1,
        most=1_000_000,
    )
    seed: int = whole(default=1, doc="For a model that draws random numbers and was given no seed of its own.", least=0)

    library: ClassVar[str]
    """The module of ``thalweg.compat`` that wraps such models."""

    __slots__ = ("_fitted", "_model", "_waiting")

    @abstractmethod
    def _new_model(self) -> Any:
        """Make a model with the same parameters that has seen nothing."""

    @abstractmethod
    def _learn(self, X: Rows, y: Ints, w: Floats | None, known: int) -> None:
        """Let the model learn rows; w: None where all weigh 1; known: how many classes there are by now."""

    @abstractmethod
    def _answer(self, X: Rows, known: int) -> Floats:
        """Give what the model says of rows: a column for each of the classes known, zeros where it says nothing."""

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    @looks
    def fitted(self) -> Any:
        """The model with what it knows: a copy, whose classes are the places of the labels in ``classes_``."""
        return copy.deepcopy(self._model) if self._started else self._new_model()

    @property
    def title(self) -> str:
        """What to call it in tables and pictures."""
        return type(self.model).__name__

    @property
    def unsavable(self) -> str:
        """Why it cannot be saved."""
        return (
            f"{type(self.model).__name__} is a model of another library and cannot be saved in a safe file: keep it "
            "as that library keeps models, or use a learner of thalweg"
        )

    @property
    def state_bytes(self) -> int:
        """Bytes of the model as it would be pickled; 0 where that cannot be told."""
        return pickled_bytes(self._model) if self._started else 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget, then learn the rows in order (scikit-learn's verb; streams use ``partial_fit``)."""
        return fit_anew(self, X, y, sample_weight)

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._model, self._fitted = self._new_model(), False
        self._waiting: deque[tuple[Rows, int, float]] = deque()

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        asked: list[int] = []
        for e in events.tolist():
            if e >= 0:
                if self._fitted:
                    asked.append(e)
                elif known:
                    out[e, :known] = 1.0 / known
                continue
            code = int(y[~e])
            known = max(known, code + 1)
            self._waiting.append((take_rows(X, np.array([~e])), code, float(w[~e])))
            if len(self._waiting) >= self.batch and known > 1:
                self._fill(X, asked, out)
                self._learn_waiting(known)
                asked = []
        self._fill(X, asked, out)

    def _fill(self, X: Rows, asked: list[int], out: Floats) -> None:
        if asked:
            with np.errstate(all="ignore"):
                answers = self._answer(take_rows(X, np.array(asked)), out.shape[1])
            total = answers.sum(axis=1, keepdims=True)
            good = np.isfinite(total) & (total > 0.0)
            out[asked] = np.divide(answers, total, out=np.zeros_like(answers), where=good)

    def _learn_waiting(self, known: int) -> None:
        rows, codes, weights = zip(*self._waiting, strict=True)
        self._waiting.clear()
        w = np.array(weights)
        with np.errstate(all="ignore"):
            self._learn(stacked(rows), np.array(codes), None if (w == 1.0).all() else w, known)
        self._fitted = True

    def _extend(self, schema: Schema) -> None:
        """Take over more values of nominal features: they are other codes; more features, a model cannot take."""
        if self._schema is not None and schema.n_features != self._schema.n_features:
            raise ValueError(
                f"X must have the {self._schema.n_features} features of the first rows for {type(self.model).__name__},"
                f" got {schema.n_features}"
            )

    def _tables(self) -> State:
        raise TypeError(self.unsavable)

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        raise ValueError(self.unsavable)

    # -- copies -------------------------------------------------------------------------------------------------------

    @looks
    def __getstate__(self) -> Any:
        known = (self._model, self._fitted, self._waiting) if self._started else None
        return self.get_params(deep=False), self._labels.copy(), self._schema, known

    def __setstate__(self, state: Any) -> None:
        params, labels, schema, known = state
        super().__setstate__((params, labels, schema, {}))
        if known is not None:
            self._model, self._fitted, self._waiting = copy.deepcopy(known)
            self._started = True


def fit_anew(learner: L, X: Any, y: Any, sample_weight: Any) -> L:
    """Let a learner forget, then learn the rows in order; or, where they are refused, stay as it is."""
    fresh = learner.fresh()
    if learner.schema is not None and not learner.started:
        fresh.declare(learner.schema)
    fresh.partial_fit(X, y, sample_weight=sample_weight)
    with learner._use.changing:
        learner.__setstate__(fresh.__getstate__())
    return learner


def stacked(rows: tuple[Rows, ...] | list[Rows]) -> Rows:
    """Put rows below each other, dense or sparse."""
    if isinstance(rows[0], np.ndarray):
        return np.concatenate(rows)
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack(rows, format="csr"))


def spread(proba: NDArray[Any], classes: NDArray[Any], known: int) -> Floats:
    """Put the columns of a model, whose classes are codes, in their places among the classes known."""
    out = np.zeros((len(proba), known))
    out[:, np.asarray(classes, dtype=np.int64)] = proba
    return out
