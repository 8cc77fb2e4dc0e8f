"""Events as moments, in one pass."""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot

Ints = NDArray[np.int64]


@hot
def divide(events: Ints, rows: Ints, learned: NDArray[np.bool_], now: Ints) -> tuple[int, bool]:
    """Write the row of each moment, whether it is learned, and each event seen from the moments.

    Give how many moments there are, and if their rows follow one another.
    """
    n, consecutive = 0, True
    for i in range(len(events)):
        e = events[i]
        if e >= 0 or i == 0 or events[i - 1] != ~e:
            row = e if e >= 0 else ~e
            consecutive = consecutive and (n == 0 or row == rows[n - 1] + 1)
            rows[n] = row
            learned[n] = False
            n += 1
        learned[n - 1] = learned[n - 1] or e < 0
        now[i] = n - 1 if e >= 0 else -n
    return n, consecutive and n > 0
