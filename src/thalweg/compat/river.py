"""A learner as a river classifier, and a river classifier as a learner: ``wrap`` gives either the other's verbs."""

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self, final, overload

from thalweg.core.classifier import Classifier
from thalweg.core.schema import Schema
from thalweg.learners.adapted.river_model import RiverModel

try:
    from river.base import MiniBatchClassifier
except ImportError:
    raise ImportError("thalweg.compat.river needs river: pip install 'thalweg[river]'") from None

if TYPE_CHECKING:
    import pandas as pd


@overload
def wrap(learner: Classifier) -> "RiverClassifier": ...
@overload
def wrap(learner: Any, *, batch: int = 1, seed: int = 1) -> RiverModel: ...
def wrap(learner: Any, *, batch: int = 1, seed: int = 1) -> "RiverClassifier | RiverModel":
    """Give a learner river's verbs, or make a learner of a river classifier, for ``prequential`` and ``compare``.

    A learner stays the same: what one learns, the other knows. Of a river classifier, or a pipeline that ends with
    one, a copy that has seen nothing takes part; ``batch``: it learns so many rows at once; ``seed``: for one that has
    none.

    >>> from river import preprocessing
    >>> from thalweg import HoeffdingTree
    >>> from thalweg.compat.river import wrap
    >>> model = preprocessing.StandardScaler() | wrap(HoeffdingTree(grace_period=50))
    >>> model.learn_one({"length": 3.0, "colour": 1.0}, "ripe")
    >>> model.predict_one({"length": 2.0, "weight": 7.0})
    'ripe'

    >>> from river import naive_bayes
    >>> from thalweg import SEA, prequential
    >>> prequential(SEA(seed=1), wrap(naive_bayes.GaussianNB()), limit=1_000).accuracy > 0.8
    True
    """
    return RiverClassifier(learner) if isinstance(learner, Classifier) else RiverModel(learner, batch=batch, seed=seed)


@final
class RiverClassifier(MiniBatchClassifier):  # type: ignore[misc]
    """A learner behind river's verbs.

    Features may appear and disappear: a new one joins when it is first learned, an absent one is missing.

    learner: any classifier of this library.

    >>> from thalweg import MajorityClass
    >>> model = RiverClassifier(MajorityClass())
    >>> model.learn_one({"x": 1.0}, True)
    >>> model.predict_proba_one({"x": 0.0})
    {True: 1.0}
    """

    def __init__(self, learner: Classifier) -> None:
        if not isinstance(learner, Classifier):
            raise TypeError(f"learner must be a classifier of this library, got {learner!r}")
        self.learner = learner

    # -- one record ---------------------------------------------------------------------------------------------------

    def learn_one(self, x: Mapping[Hashable, Any], y: Hashable, w: float = 1.0) -> None:
        """Learn a record with weight w."""
        self.learner.learn_one(_named(x), y, w)

    def predict_one(self, x: Mapping[Hashable, Any]) -> Any:
        """Give the most probable label; None before any label is known."""
        return self.learner.predict_one(_named(x))

    def predict_proba_one(self, x: Mapping[Hashable, Any]) -> dict[Hashable, float]:
        """Give the probability of each label seen so far."""
        return self.learner.predict_proba_one(_named(x))

    # -- many records, in pandas frames -------------------------------------------------------------------------------

    def learn_many(self, X: "pd.DataFrame", y: "pd.Series[Any]", w: Any = None) -> None:
        """Learn the rows in order, with weights w: the same as one after the other."""
        first = self.learner.schema is None
        if first:
            self.learner.declare(Schema((), open=True))
        try:
            self.learner.partial_fit(X, y, sample_weight=w)
        except BaseException:
            if first:
                self.learner.reset()
            raise

    def predict_many(self, X: "pd.DataFrame") -> "pd.Series[Any]":
        """Give each row's most probable label; None before any label is known."""
        import pandas as pd

        return pd.Series(self.learner.predict(X), index=X.index)

    def predict_proba_many(self, X: "pd.DataFrame") -> "pd.DataFrame":
        """Give each row's probability of each label seen so far."""
        import pandas as pd

        return pd.DataFrame(self.learner.predict_proba(X), index=X.index, columns=self.learner.classes_)

    # -- what river asks of a model -----------------------------------------------------------------------------------

    @property
    def _multiclass(self) -> bool:
        return True

    def _get_params(self) -> dict[str, Any]:
        return {"learner": (type(self.learner), self.learner.get_params(deep=False))}

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Make one with the same parameters, or these, that has learned nothing (include_attributes: the same).

        >>> from thalweg import HoeffdingTree
        >>> wrap(HoeffdingTree(delta=0.01)).clone({"learner": {"tau": 0.1}}).learner
        HoeffdingTree(delta=0.01, tau=0.1)
        """
        wanted = dict(new_params or {})
        change = wanted.pop("learner", {})
        if wanted:
            raise ValueError(f"new_params must name a parameter of this model: learner, got {next(iter(wanted))!r}")
        if isinstance(change, Classifier):
            return type(self)(change.copy())
        kind, change = change if isinstance(change, tuple) else (type(self.learner), change)
        if include_attributes and not change:
            return type(self)(self.learner.copy())
        same = self.learner.get_params(deep=False) if kind is type(self.learner) else {}
        return type(self)(kind(**same | change))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from thalweg.learners.baselines.majority import MajorityClass
        from thalweg.learners.trees.hoeffding import HoeffdingTree

        yield {"learner": MajorityClass()}
        yield {"learner": HoeffdingTree()}


def _named(x: Mapping[Hashable, Any]) -> Mapping[str, Any]:
    """River lets any hashable name a feature; a schema wants text."""
    for name in x:
        if type(name) is not str:
            return {str(name): value for name, value in x.items()}
    return x  # type: ignore[return-value]
