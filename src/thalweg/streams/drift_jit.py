"""Which of two concepts gives the next record.

| table  | shape | dtype  | meaning                     |
| random | 1 / 3 | uint64 | random state, see draw_jit  |
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled
from thalweg.streams.draw_jit import uniform


@compiled
def choose(
    random: NDArray[np.uint64], java: bool, given: int, position: float, width: float, new: NDArray[np.bool_]
) -> int:
    """Decide for each of the next rows whether it comes from the new concept; give how many do.

    P(new) at the t-th row, t = 1, 2, …, is 1 / (1 + exp(-4 (t - position) / width)).
    """
    count = 0
    for r in range(len(new)):
        exponent = -4.0 * (given + r + 1 - position) / width
        p = 1.0 / (1.0 + math.exp(min(max(exponent, -700.0), 700.0)))
        new[r] = uniform(random, java) <= p
        count += new[r]
    return count
