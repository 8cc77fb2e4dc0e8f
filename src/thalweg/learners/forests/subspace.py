"""How many features a leaf or a tree looks at."""

import math
import numbers
from typing import Any

from thalweg.core.params import shown


def check_subspace(name: str, value: Any) -> None:
    """Refuse anything that ``features_of`` cannot read."""
    if isinstance(value, str) and value in ("sqrt", "inv_sqrt", "all"):
        return
    plain = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if plain and (value != 0 if isinstance(value, numbers.Integral) else 0.0 < float(value) <= 1.0):
        return
    raise ValueError(
        f"{name} must be a number of features, a share in (0.0, 1.0], 'sqrt', 'inv_sqrt' or 'all', got {shown(value)}"
    )


def features_of(value: Any, d: int) -> int:
    """How many of d features: a number (below 0: all but so many), a share, √d + 1, d - √d - 1, or all.

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
