"""SEA, row by row.

| table  | shape | dtype  | meaning                                    |
| random | 1 / 3 | uint64 | random state, see draw_jit                 |
| wanted | 1     | int64  | the class that comes next, where balanced  |
"""

from thalweg.jit.compile import compiled
from thalweg.streams.draw_jit import Floats, Ints, Seeds, chance, uniform


@compiled
def fill(
    random: Seeds, wanted: Ints, threshold: float, noise: float, balance: bool, java: bool, X: Floats, y: Ints
) -> None:
    """Write the next rows and their labels."""
    for r in range(len(y)):
        found = False
        label = 0
        while not found:
            a = 10.0 * uniform(random, java)
            b = 10.0 * uniform(random, java)
            X[r, 0] = a
            X[r, 1] = b
            X[r, 2] = 10.0 * uniform(random, java)
            label = 0 if a + b <= threshold else 1
            found = not balance or label == wanted[0]
        wanted[0] = 1 - wanted[0]
        y[r] = 1 - label if chance(random, java, noise) else label
