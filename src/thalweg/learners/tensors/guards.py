"""The detectors that watch a learner's errors: rows of one table, stepped in compiled code."""

from typing import Any

import numpy as np

from thalweg.core.classifier import Floats
from thalweg.core.protocols import State
from thalweg.detectors.adwin import ADWIN

GUARD = ADWIN()
"""What each of them is; they are kept as rows of a table."""
GUARD_RULES = GUARD.rules()


def sound_guards(tables: State, name: str, n: int) -> Floats:
    """Give a table of n guards from a state, or refuse it."""
    table: Any = tables[name]
    if not GUARD.fits(table) or len(table) != n:
        raise ValueError(f"its table {name!r} holds what no {type(GUARD).__name__} could")
    return np.array(table)
