"""How the trees of a pool grow: the parameters as one object, and as the numbers that compiled code reads."""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thalweg.core.fields import Parametrised, choice, flag, number, whole

CRITERIA = ("gain", "gini")
LEAVES = ("majority", "bayes", "adaptive")
BOUNDS = ("hoeffding", "mcdiarmid")
NULL_MERITS = ("zero", "moa")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How the trees of a pool grow: the words of ``HoeffdingTree``, with what holds where a learner lacks one."""

    grace_period: float = 200
    delta: float = 1e-7
    tau: float = 0.05
    criterion: str = "gain"
    leaf: str = "adaptive"
    bound: str = "hoeffding"
    min_branch_share: float = 0.01
    null_merit: str = "moa"
    n_split_points: int = 10
    binary_splits: bool = False
    bayes_from: float = 0.0
    prune: bool = True
    drop_poor: bool = False
    leaf_range: bool = True
    smoothing: float = 0.0
    subspace: int | None = None
    limit_bytes: int | None = None
    on_limit: str = "sleep"

    def to_array(self) -> NDArray[np.float64]:
        """The numbers that compiled code reads, in the order of the R_ names."""
        codes = (
            self.grace_period, self.delta, self.tau, CRITERIA.index(self.criterion), LEAVES.index(self.leaf),
            BOUNDS.index(self.bound), self.min_branch_share, NULL_MERITS.index(self.null_merit), self.n_split_points,
            self.binary_splits, self.bayes_from, self.prune, self.drop_poor and self.leaf == "majority",
            self.leaf_range, self.smoothing,
        )  # fmt: skip
        return np.array([*codes, 0.0], dtype=np.float64)


class Growing(Parametrised):
    """The parameters that trees and forests share: when a leaf splits, and how it answers."""

    __slots__ = ()

    grace_period: float = number(
        default=200, doc="Weight a leaf gains between two attempts to split (the paper's n_min).", above=0
    )
    delta: float = number(default=1e-7, doc="Allowed error of one decision (δ).", above=0, below=1)
    tau: float = number(default=0.05, doc="Split anyway once the bound is below it (τ, ties).", least=0, most=1)
    criterion: Literal["gain", "gini"] = choice(
        default="gain", doc="Merit of a split: information gain, or decrease of Gini impurity."
    )
    leaf: Literal["majority", "bayes", "adaptive"] = choice(
        default="adaptive",
        doc="How a leaf answers: by its majority, by naive Bayes, or by whichever has been right more often.",
    )
    binary_splits: bool = flag(default=False, doc="Never one branch for each nominal value.")
    leaf_range: bool = flag(
        default=True, doc="Take the range of information gain from the classes in the leaf instead of all classes seen."
    )

    def _rules(self, **own: Any) -> Rules:
        """How the trees grow: whichever of the parameters are rules, and those that are given here."""
        chosen = self.get_params(deep=False) | own
        return Rules(**{f.name: chosen[f.name] for f in fields(Rules) if f.name in chosen})


class GrowingAlone(Growing):
    """The parameters that all learners have which are one tree."""

    __slots__ = ()

    bound: Literal["hoeffding", "mcdiarmid"] = choice(
        default="hoeffding", doc="The bound ε of a decision; McDiarmid's is for Gini gains."
    )
    min_branch_share: float = number(
        default=0.01,
        doc="Information gain needs two branches with more than this share of the weight.",
        least=0,
        below=0.5,
    )
    n_split_points: int = whole(default=10, doc="Thresholds tried for each numeric attribute.", least=1, most=10_000)
    subspace: int | None = whole(
        default=None, doc="Attributes drawn at random for each leaf to watch; None: all.", least=1
    )
    limit_bytes: int | None = whole(
        default=33_554_432,
        doc="The model never takes more: the least promising leaves stop observing. None: no limit.",
        least=1024,
    )
    seed: int = whole(default=1, doc="Random seed.", least=0)

    def _prepare(self) -> None:
        if self.bound == "mcdiarmid" and self.criterion != "gini":
            raise ValueError(f"bound 'mcdiarmid' holds for criterion 'gini' only, got criterion {self.criterion!r}")
