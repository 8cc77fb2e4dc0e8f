"""Waveform, row by row.

| table  | shape | dtype  | meaning                     |
| random | 1 / 3 | uint64 | random state, see draw_jit  |
"""

from thalweg.jit.compile import compiled
from thalweg.streams.draw_jit import Floats, Ints, Seeds, integer, normals, uniform


@compiled
def fill(random: Seeds, waves: Floats, java: bool, X: Floats, y: Ints) -> None:
    """Write the next rows and their labels: class 0 mixes the waves 0 and 1, class 1: 0 and 2, class 2: 1 and 2."""
    for r in range(len(y)):
        label = integer(random, java, 3)
        a, b = waves[1 if label == 2 else 0], waves[1 if label == 0 else 2]
        share = uniform(random, java)
        x = X[r]
        normals(random, java, x)
        for i in range(len(a)):
            x[i] = share * a[i] + (1.0 - share) * b[i] + x[i]
        y[r] = label
