"""How the trees of a pool grow: the parameters as one object, and as the numbers that compiled code reads."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params

CRITERIA = ("gain", "gini")
LEAVES = ("majority", "bayes", "adaptive")
BOUNDS = ("hoeffding", "mcdiarmid")
NULL_MERITS = ("zero", "moa")
ON_LIMIT = ("sleep", "stop")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How the trees of a pool grow; the words of ``HoeffdingTree``."""

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

    def check(self) -> None:
        """Refuse what no tree can grow by, with one sentence."""
        params.number("grace_period", self.grace_period, above=0)
        params.number("delta", self.delta, above=0, below=1)
        params.number("tau", self.tau, least=0, most=1)
        params.choice("criterion", self.criterion, CRITERIA)
        params.choice("leaf", self.leaf, LEAVES)
        params.choice("bound", self.bound, BOUNDS)
        if self.bound == "mcdiarmid" and self.criterion != "gini":
            raise ValueError(f"bound 'mcdiarmid' holds for criterion 'gini' only, got criterion {self.criterion!r}")
        params.number("min_branch_share", self.min_branch_share, least=0, below=0.5)
        params.choice("null_merit", self.null_merit, NULL_MERITS)
        params.whole("n_split_points", self.n_split_points, least=1, most=10_000)
        params.flag("binary_splits", self.binary_splits)
        params.number("bayes_from", self.bayes_from, least=0)
        params.flag("prune", self.prune)
        params.flag("drop_poor", self.drop_poor)
        params.flag("leaf_range", self.leaf_range)
        params.number("smoothing", self.smoothing, least=0, most=1)
        if self.subspace is not None:
            params.whole("subspace", self.subspace, least=1)
        if self.limit_bytes is not None:
            params.whole("limit_bytes", self.limit_bytes, least=1024)
        params.choice("on_limit", self.on_limit, ON_LIMIT)

    def to_array(self) -> NDArray[np.float64]:
        """The numbers that compiled code reads, in the order of the R_ names."""
        codes = (
            self.grace_period, self.delta, self.tau, CRITERIA.index(self.criterion), LEAVES.index(self.leaf),
            BOUNDS.index(self.bound), self.min_branch_share, NULL_MERITS.index(self.null_merit), self.n_split_points,
            self.binary_splits, self.bayes_from, self.prune, self.drop_poor and self.leaf == "majority",
            self.leaf_range, self.smoothing,
        )  # fmt: skip
        return np.array([*codes, 0.0], dtype=np.float64)
