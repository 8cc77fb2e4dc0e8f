"""A classifier of scikit-learn, or one that works like it, as a learner."""

from collections import deque
from typing import Any, final

import numpy as np

from thalweg.core.classifier import Floats, Ints
from thalweg.core.door import Rows
from thalweg.core.fields import whole
from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.learners.adapted.foreign import Foreign, spread, stacked


@final
class SklearnModel(Foreign):
    """A scikit-learn classifier with ``partial_fit``, as a learner for ``prequential``, ``compare``, ``Vote``, …

    scikit-learn must know all classes at the first call. A class that is not declared and appears later makes the
    model start anew, with the last ``window`` rows. Codes of nominal features are numbers to it. It cannot be saved.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from thalweg import SEA, prequential
    >>> from thalweg.compat.sklearn import wrap
    >>> learner = wrap(SGDClassifier(loss="log_loss"), batch=100)
    >>> result = prequential(SEA(seed=1), learner, limit=5_000)
    >>> result.accuracy > 0.7
    True
    """

    library = "sklearn"

    window: int = whole(
        default=1_000, doc="Rows kept, to be taught again when a new class appears.", least=1, most=1_000_000
    )

    __slots__ = ("_classes", "_kept")

    def _prepare(self) -> None:
        refuse_other(self.model, "partial_fit")
        self.missing, self.sparse = input_of(self.model)

    def _new_model(self) -> Any:
        return cloned(self.model, self.seed)

    def _start(self, schema: Schema) -> None:
        super()._start(schema)
        self._classes = 0
        self._kept: deque[tuple[Rows, Ints, Floats | None]] = deque()

    def _learn(self, X: Rows, y: Ints, w: Floats | None, known: int) -> None:
        self._kept.append((X, y, w))
        while sum(len(codes) for _, codes, _ in self._kept) - len(self._kept[0][1]) >= self.window:
            self._kept.popleft()
        if known > self._classes:
            self._model, self._classes = self._new_model(), known
            X, y = stacked([rows for rows, _, _ in self._kept]), np.concatenate([codes for _, codes, _ in self._kept])
            w = _joined([(len(codes), weights) for _, codes, weights in self._kept])
        more = {} if w is None else {"sample_weight": w}
        self._model.partial_fit(as_theirs(X), y, classes=np.arange(self._classes), **more)

    def _answer(self, X: Rows, known: int) -> Floats:
        return answer(self._model, X, known)

    def __getstate__(self) -> Any:
        own = (self._classes, self._kept) if self._started else None
        return super().__getstate__(), own

    def __setstate__(self, state: Any) -> None:
        shared, own = state
        super().__setstate__(shared)
        if own is not None:
            self._classes, self._kept = own[0], own[1].copy()


def refuse_other(model: Any, verb: str, name: str = "model") -> None:
    """Refuse what is no classifier, or has no such verb."""
    if isinstance(model, type) or not all(hasattr(model, v) for v in ("fit", "predict", "get_params")):
        raise TypeError(f"{name} must be a classifier with fit, predict and get_params, got {shown(model)}")
    kind = getattr(model, "_estimator_type", None) or _tags(model, "estimator_type")
    if kind not in (None, "classifier"):
        raise TypeError(f"{name} must be a classifier, got the {kind} {shown(model)}")
    if not hasattr(model, verb):
        raise TypeError(
            f"{name} must have {verb}, and {type(model).__name__} has not: RetrainOnDrift(…) fits it anew on a "
            "window of rows"
        )


def input_of(model: Any) -> tuple[Any, bool]:
    """Say what a model does with missing values ("native" or "reject"), and whether it takes sparse rows."""
    given = _tags(model, "input_tags")
    return "native" if getattr(given, "allow_nan", False) else "reject", bool(getattr(given, "sparse", False))


def cloned(model: Any, seed: int) -> Any:
    """Make a model with the same parameters that has seen nothing; give random numbers a seed where they have none."""
    from sklearn.base import clone

    twin = clone(model)
    lacking = [
        name for name, v in twin.get_params().items() if name.rpartition("__")[2] == "random_state" and v is None
    ]
    return twin.set_params(**dict.fromkeys(lacking, seed)) if lacking else twin


def answer(model: Any, X: Rows, known: int) -> Floats:
    """Give what a fitted model, whose classes are codes, says of rows."""
    X = as_theirs(X)
    if hasattr(model, "predict_proba"):
        return spread(model.predict_proba(X), model.classes_, known)
    out = np.zeros((X.shape[0], known))
    out[np.arange(len(out)), np.asarray(model.predict(X), dtype=np.int64)] = 1.0
    return out


def as_theirs(X: Rows) -> Rows:
    """Give rows as scikit-learn wants them: sparse ones with the short indices that most of its models need."""
    if isinstance(X, np.ndarray):
        return X
    from scipy.sparse import csr_array

    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _tags(model: Any, name: str) -> Any:
    """Read one of the tags that scikit-learn's estimators have; None: it cannot be told."""
    try:
        return getattr(model.__sklearn_tags__(), name, None)
    except Exception:  # another library's, or an older one's
        return None


def _joined(parts: list[tuple[int, Floats | None]]) -> Floats | None:
    if all(w is None for _, w in parts):
        return None
    return np.concatenate([np.ones(n) if w is None else w for n, w in parts])
