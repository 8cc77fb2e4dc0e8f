"""What the parameters of forests mean: of their trees, and how many features a leaf or a tree looks at."""

import math
import numbers
from typing import Any

from thalweg.core import params
from thalweg.core.params import shown
from thalweg.trees.hoeffding import HoeffdingTree
from thalweg.trees.pool import Rules

TREE = ("grace_period", "delta", "tau", "criterion", "leaf", "binary_splits", "null_merit", "leaf_range")
"""Parameters of a forest that are those of its trees; ``HoeffdingTree`` explains them."""


def check(forest: Any) -> None:
    """Refuse bad values of the parameters that all forests have."""
    params.whole("size", forest.size, least=1, most=100_000)
    tree_rules(forest)
    if forest.limit_bytes is not None:
        params.whole("limit_bytes", forest.limit_bytes, least=1024)
    params.whole("seed", forest.seed, least=0)
    params.whole("n_jobs", forest.n_jobs, least=-1)
    if forest.n_jobs == 0:
        raise ValueError("n_jobs must be a number of threads, or -1 for one on each core, got 0")


def tree_rules(forest: Any, subspace: int | None = None) -> Rules:
    """The rules of a forest's trees, from its own parameters."""
    chosen = {name: getattr(forest, name) for name in TREE}
    return HoeffdingTree(**chosen, subspace=subspace, limit_bytes=None).rules()


def check_subspace(value: Any) -> None:
    """Refuse anything that ``features_of`` cannot read."""
    if isinstance(value, str) and value in ("sqrt", "inv_sqrt", "all"):
        return
    plain = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if plain and (value != 0 if isinstance(value, numbers.Integral) else 0.0 < float(value) <= 1.0):
        return
    raise ValueError(
        f"subspace must be a number of features, a share in (0.0, 1.0], 'sqrt', 'inv_sqrt' or 'all', got {shown(value)}"
    )


def features_of(value: Any, d: int) -> int:
    """How many of d features: a number (below 0: all but so many), a share, √d + 1, d - √d, or all.

    >>> features_of("sqrt", 8), features_of(0.6, 10), features_of(-2, 10), features_of(50, 10)
    (4, 6, 8, 10)
    """
    if value == "all":
        m = d
    elif value == "sqrt":
        m = round(math.sqrt(d)) + 1
    elif value == "inv_sqrt":
        m = d - round(math.sqrt(d) + 1)
    elif isinstance(value, numbers.Integral):
        m = int(value) if int(value) > 0 else d + int(value)
    else:
        m = round(d * float(value))
    return max(1, min(m, d))
