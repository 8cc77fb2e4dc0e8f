"""How far a mean of n observations may be from the truth, each with probability at most delta."""

import math

from thalweg.jit.compile import inlined

HOEFFDING, MCDIARMID = 0, 1
"""Codes of the bounds."""


@inlined
def bound(code: int, span: float, delta: float, n: float) -> float:
    """ε for a quantity of range ``span``. McDiarmid's is for Gini gains, whatever the range."""
    if code == MCDIARMID:
        return math.sqrt(8.0 * math.log(1.0 / delta) / n)
    return math.sqrt(span * span * math.log(1.0 / delta) / (2.0 * n))
