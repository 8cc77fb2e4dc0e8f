"""Which learners compete. To add one, add an entry to CONTESTS; nothing else changes."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

Factory = Callable[..., Any]


def later(path: str, **params: Any) -> Factory:
    """Make a factory that imports its class only when it is called, so that no process loads another's library."""

    def make(**more: Any) -> Any:
        module, name = path.rsplit(".", 1)
        return getattr(import_module(module), name)(**params, **more)

    return make


@dataclass(frozen=True)
class Contest:
    """One learner in three libraries, with the same parameters. None: the library has no such learner."""

    name: str
    thalweg: Factory
    river: Factory | None
    capymoa: Factory | None
    """Is given ``schema``. MOA's pure Java loop runs the learner that this one wraps."""
    river_nominal: bool = True
    """Does river's learner take nominal features?"""


CONTESTS = (
    Contest(
        "Hoeffding tree",
        thalweg=later("thalweg.HoeffdingTree", grace_period=200, delta=1e-7, tau=0.05),
        river=later(
            "river.tree.HoeffdingTreeClassifier", grace_period=200, delta=1e-7, tau=0.05, leaf_prediction="nba"
        ),
        capymoa=later(
            "capymoa.classifier.HoeffdingTree",
            grace_period=200,
            confidence=1e-7,
            tie_threshold=0.05,
            leaf_prediction="NaiveBayesAdaptive",
        ),
    ),
    Contest(
        "naive Bayes",
        thalweg=later("thalweg.NaiveBayes"),
        river=later("river.naive_bayes.GaussianNB"),
        capymoa=later("capymoa.classifier.NaiveBayes"),
        river_nominal=False,
    ),
)


def contest(name: str) -> Contest:
    """Find an entry by its name."""
    return next(c for c in CONTESTS if c.name == name)
