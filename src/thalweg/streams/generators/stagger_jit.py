"""STAGGER, row by row.

| table  | shape | dtype  | meaning                                    |
| random | 1 / 3 | uint64 | random state, see draw_jit                 |
| wanted | 1     | int64  | the class that comes next, where balanced  |
"""

from thalweg.jit.compile import compiled, inlined
from thalweg.streams.draw_jit import Floats, Ints, Seeds, integer


@inlined
def _holds(function: int, size: int, colour: int, shape: int) -> bool:
    """Small and red; green or circle; medium or large."""
    if function == 1:
        return size == 0 and colour == 0
    if function == 2:
        return colour == 2 or shape == 0
    return size != 0


@compiled
def fill(random: Seeds, wanted: Ints, function: int, balance: bool, java: bool, X: Floats, y: Ints) -> None:
    """Write the next rows and their labels."""
    for r in range(len(y)):
        found = False
        label = 0
        while not found:
            size = integer(random, java, 3)
            colour = integer(random, java, 3)
            shape = integer(random, java, 3)
            X[r, 0] = float(size)
            X[r, 1] = float(colour)
            X[r, 2] = float(shape)
            label = int(_holds(function, size, colour, shape))
            found = not balance or label == wanted[0]
        wanted[0] = 1 - wanted[0]
        y[r] = label
