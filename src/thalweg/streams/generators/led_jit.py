"""LED, row by row.

| table  | shape | dtype  | meaning                     |
| random | 1 / 3 | uint64 | random state, see draw_jit  |
"""

from thalweg.jit.compile import compiled
from thalweg.streams.draw_jit import Floats, Ints, Seeds, chance, coins, integer


@compiled
def fill(random: Seeds, segments: Ints, noise: float, drifting: int, java: bool, X: Floats, y: Ints) -> None:
    """Write the next rows and their labels; the first ``drifting`` segments change places with the next columns."""
    for r in range(len(y)):
        x = X[r]
        digit = integer(random, java, 10)
        lit = segments[digit]
        for i in range(7):
            x[i] = float(1 - lit[i] if chance(random, java, noise) else lit[i])
        coins(random, java, x[7:])
        for i in range(drifting):
            x[i], x[7 + i] = x[7 + i], x[i]
        y[r] = digit
