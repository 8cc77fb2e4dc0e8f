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


TREES = (
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

CONTESTS = TREES
"""Those of side_by_side.py."""

_RIVER_TREE = later("river.tree.HoeffdingTreeClassifier", grace_period=200, delta=1e-7, tau=0.05, leaf_prediction="nba")
_RIVER_FAST_TREE = later("river.tree.HoeffdingTreeClassifier", grace_period=50, delta=0.01, leaf_prediction="nba")


def _around(path: str, tree: Factory, **params: Any) -> Factory:
    """Make a factory of a river ensemble around a tree."""
    return lambda: later(path, **params)(model=tree())


def _ensembles(size: int) -> tuple[Contest, ...]:
    """Make the ensembles of one size, with MOA's parameters of today."""
    moa = "capymoa.classifier"
    return (
        Contest(
            f"ARF {size}",
            thalweg=later("thalweg.AdaptiveRandomForest", size=size, preset="moa-2025"),
            river=later(
                "river.forest.ARFClassifier", n_models=size, max_features=0.6, lambda_value=6, grace_period=50,
                delta=0.01, seed=1,
            ),
            capymoa=later(f"{moa}.AdaptiveRandomForestClassifier", ensemble_size=size),
        ),
        Contest(
            f"SRP {size}",
            thalweg=later("thalweg.StreamingRandomPatches", size=size),
            river=_around("river.ensemble.SRPClassifier", _RIVER_FAST_TREE, n_models=size, subspace_size=0.6, seed=1),
            capymoa=later(f"{moa}.StreamingRandomPatches", ensemble_size=size),
        ),
        Contest(
            f"leveraging bagging {size}",
            thalweg=later("thalweg.LeveragingBagging", size=size),
            river=_around("river.ensemble.LeveragingBaggingClassifier", _RIVER_TREE, n_models=size, seed=1),
            capymoa=later(f"{moa}.LeveragingBagging", ensemble_size=size),
        ),
        Contest(
            f"online bagging {size}",
            thalweg=later("thalweg.OnlineBagging", size=size),
            river=_around("river.ensemble.BaggingClassifier", _RIVER_TREE, n_models=size, seed=1),
            capymoa=later(f"{moa}.OnlineBagging", ensemble_size=size),
        ),
        Contest(
            f"ADWIN bagging {size}",
            thalweg=later("thalweg.OnlineBagging", size=size, drift="adwin"),
            river=_around("river.ensemble.ADWINBaggingClassifier", _RIVER_TREE, n_models=size, seed=1),
            capymoa=later(f"{moa}.OnlineAdwinBagging", ensemble_size=size),
        ),
        Contest(
            f"smooth boost {size}",
            thalweg=later("thalweg.OnlineSmoothBoost", size=size),
            river=None,
            capymoa=later(f"{moa}.OnlineSmoothBoost", boosting_iterations=size),
        ),
    )  # fmt: skip


DEEP = Contest(
    "SDF 600 beside ARF 200",
    thalweg=later("thalweg.StreamingDeepForest", layers=3, size=50),
    river=None,
    capymoa=later("capymoa.classifier.AdaptiveRandomForestClassifier", ensemble_size=200),
)
"""Three layers of four forests of 50 trees, beside a third as many trees in one of MOA's forests."""

FORESTS = (*_ensembles(10), *_ensembles(30), *_ensembles(100), DEEP)


def _river_neighbours() -> Any:
    """Make river's exact search in a window."""
    engine = later("river.neighbors.LazySearch", window_size=1000)()
    return later("river.neighbors.KNNClassifier", n_neighbors=5, engine=engine)()


NEIGHBOURS = (
    Contest(
        "kNN",
        thalweg=later("thalweg.WindowKNN", k=5, window=1000),
        river=_river_neighbours,
        capymoa=later("capymoa.classifier.KNN", k=5, window_size=1000),
    ),
    Contest(
        "SAM kNN",
        thalweg=later("thalweg.SamKNN"),
        river=None,
        capymoa=later("capymoa.classifier.SAMkNN"),
    ),
)


_SIMPLE = (
    Contest(
        "Hoeffding adaptive tree",
        thalweg=later("thalweg.HoeffdingAdaptiveTree"),
        river=later("river.tree.HoeffdingAdaptiveTreeClassifier", seed=1),
        capymoa=later("capymoa.classifier.HoeffdingAdaptiveTree"),
    ),
    Contest(
        "EFDT",
        thalweg=later("thalweg.ExtremelyFastDecisionTree"),
        river=later("river.tree.ExtremelyFastDecisionTreeClassifier"),
        capymoa=later("capymoa.classifier.EFDT"),
    ),
    Contest(
        "majority",
        thalweg=later("thalweg.MajorityClass"),
        river=later("river.dummy.PriorClassifier"),
        capymoa=later("capymoa.classifier.MajorityClass"),
    ),
    Contest(
        "no change",
        thalweg=later("thalweg.NoChange"),
        river=later("river.dummy.NoChangeClassifier"),
        capymoa=later("capymoa.classifier.NoChange"),
    ),
)
_ALL = (*TREES, *FORESTS, *NEIGHBOURS, *_SIMPLE)

COUNTERPARTS = {
    "hoeffding-tree": "Hoeffding tree", "hoeffding-adaptive-tree": "Hoeffding adaptive tree", "efdt": "EFDT",
    "naive-bayes": "naive Bayes", "majority": "majority", "no-change": "no change", "knn": "kNN", "sam-knn": "SAM kNN",
    "arf": "ARF 10", "srp": "SRP 10", "leveraging-bagging": "leveraging bagging 10", "smooth-boost": "smooth boost 10",
    "online-bagging": "online bagging 10", "adwin-bagging": "ADWIN bagging 10",
}  # fmt: skip
"""The learners of the registry that river or CapyMOA have, too, and their entries; all.py measures every learner."""
SMALL = {"sdf": {"size": 5}}
"""Parameters of learners without a counterpart, where the defaults would take long."""


def contest(name: str) -> Contest:
    """Find an entry by its name; a learner of the registry without one competes with nobody."""
    found = next((c for c in _ALL if c.name == COUNTERPARTS.get(name, name)), None)
    if found is not None:
        return found
    from thalweg.registry import LEARNERS

    return Contest(name, thalweg=lambda: LEARNERS[name].make(**SMALL.get(name, {})), river=None, capymoa=None)
