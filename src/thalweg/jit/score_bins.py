"""Bins of probabilities that are finer towards 0 and 1, where the scores of rare classes are.

There are 8 bins for each halving of the score, or of what it lacks to 1, down to 2⁻⁶⁴. Two scores in one bin differ by
an eighth of themselves at most.
"""

import numpy as np

from thalweg.jit.compile import inlined

_CUT = 52 - 3  # bits of a number below those that choose its bin
_SMALL = 2.0**-64
_FIRST = (int(np.float64(_SMALL).view(np.int64)) >> _CUT) - 1  # a score of 2⁻⁶⁴ is in bin 1
_LAST = 1010
BINS = _LAST + 1


@inlined
def bin_of(score: float) -> int:
    """Find the bin of a score from 0 to 1. The bin of 1 - score is as far from the other end."""
    less = min(score, 1.0 - score)
    i = 0 if less < _SMALL else (np.float64(less).view(np.int64) >> _CUT) - _FIRST
    return int(i if score <= 0.5 else _LAST - i)


@inlined
def edge_of(i: int) -> float:
    """Give the lower edge of a bin; that of a bin above a half is the last score below it."""
    if i <= _LAST // 2:
        return _number(i) if i > 0 else 0.0
    return 1.0 - _number(_LAST - i + 1)


@inlined
def _number(i: int) -> float:
    return float(np.int64((i + _FIRST) << _CUT).view(np.float64))
