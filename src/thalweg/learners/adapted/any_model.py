"""Whatever learns, as a learner: a learner stays what it is, models of other libraries get their adapter."""

import warnings
from typing import Any

from thalweg.core.classifier import Classifier
from thalweg.core.params import shown
from thalweg.learners.adapted.river_model import RiverModel
from thalweg.learners.adapted.sklearn_model import SklearnModel


def as_learner(model: Any, *, name: str = "learner") -> Classifier:
    """Give a learner as it is, and wrap a classifier of scikit-learn or river, with a warning that it is slow.

    >>> from thalweg import NaiveBayes
    >>> as_learner(NaiveBayes())
    NaiveBayes()
    """
    if isinstance(model, Classifier):
        return model
    kind = None if isinstance(model, type) else _adapter(model)
    if kind is None:
        raise TypeError(
            f"{name} must be a Classifier, or a classifier of scikit-learn (with partial_fit) or river, "
            f"got {shown(model)}"
        )
    made = kind(model)
    warnings.warn(
        f"{type(model).__name__} is called from Python for every single row, which is slow: "
        f"thalweg.compat.{kind.library}.wrap(model, batch=100) calls it for a hundred at once",
        stacklevel=3,
    )
    return made


def is_foreign(model: Any) -> bool:
    """Is it a classifier of another library that can be wrapped, or says why not?

    >>> is_foreign("arf")
    False
    """
    return not isinstance(model, (type, Classifier)) and _adapter(model) is not None


def _adapter(model: Any) -> type[SklearnModel] | type[RiverModel] | None:
    """Find the adapter of a model by its verbs."""
    if hasattr(model, "learn_one") and hasattr(model, "predict_proba_one"):
        return RiverModel
    return SklearnModel if hasattr(model, "fit") and hasattr(model, "predict") else None
