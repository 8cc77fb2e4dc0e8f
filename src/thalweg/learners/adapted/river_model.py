"""A classifier of river as a learner."""

import copy
import inspect
from typing import Any, final

import numpy as np

from thalweg.core.classifier import Floats, Ints
from thalweg.core.dicts import Dicts
from thalweg.core.door import Rows
from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.learners.adapted.foreign import Foreign


@final
class RiverModel(Foreign):
    """A river classifier, or a pipeline that ends with one, as a learner for ``prequential``, ``compare``, ``Vote``, …

    Each record is a dict to it: numbers, and the values of nominal features; a missing value is left out. It cannot be
    saved.

    Examples
    --------
    >>> from river import linear_model, preprocessing
    >>> from thalweg import SEA, prequential
    >>> from thalweg.compat.river import wrap
    >>> learner = wrap(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    >>> prequential(SEA(seed=1), learner, limit=2_000).accuracy > 0.8
    True
    """

    library = "river"
    missing = "native"

    __slots__ = ("_records", "_weighted")

    def _prepare(self) -> None:
        if isinstance(self.model, type) or not all(hasattr(self.model, v) for v in ("learn_one", "predict_proba_one")):
            raise TypeError(
                f"model must be a classifier of river, with learn_one and predict_proba_one, got {shown(self.model)}"
            )
        self._weighted = "w" in inspect.signature(_last(self.model).learn_one).parameters

    @property
    def title(self) -> str:
        """What to call it in tables and pictures."""
        return type(_last(self.model)).__name__

    def _new_model(self) -> Any:
        made = self.model.clone() if hasattr(self.model, "clone") else copy.deepcopy(self.model)
        params = made._get_params() if hasattr(made, "_get_params") else {}
        return made.clone({"seed": self.seed}) if params.get("seed", 0) is None else made

    def _start(self, schema: Schema) -> None:
        super()._start(schema)
        self._records = Dicts(schema)

    def _extend(self, schema: Schema) -> None:
        self._records = Dicts(schema)  # records may have new features: river takes them as they come

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if out.shape[1] > 2 and not getattr(_last(self.model), "_multiclass", True):
            raise ValueError(
                f"y must hold two classes for {type(_last(self.model)).__name__}, which tells two apart, got "
                f"{out.shape[1]}: river.multiclass.OneVsRestClassifier takes more"
            )
        super()._play(X, y, w, events, out, known)

    def _learn(self, X: Rows, y: Ints, w: Floats | None, known: int) -> None:
        if w is not None and not self._weighted:
            raise ValueError(f"sample_weight must be 1 for {type(_last(self.model)).__name__}, which takes no weights")
        for i, (record, code) in enumerate(zip(self._records.of(X), y.tolist(), strict=True)):
            if w is None:
                self._model.learn_one(record, code)
            else:
                self._model.learn_one(record, code, w=float(w[i]))

    def _answer(self, X: Rows, known: int) -> Floats:
        out = np.zeros((X.shape[0], known))
        for i, record in enumerate(self._records.of(X)):
            for code, share in self._model.predict_proba_one(record).items():
                if code is not None and int(code) < known:
                    out[i, int(code)] = share
        return out

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        if self._started and self._schema is not None:
            self._records = Dicts(self._schema)


def _last(model: Any) -> Any:
    """Give the classifier at the end of a pipeline."""
    steps = getattr(model, "steps", None)
    return next(reversed(steps.values())) if steps else model
