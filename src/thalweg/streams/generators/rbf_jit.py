"""RandomRBF, row by row.

| table   | shape                | dtype   | meaning                                              |
| random  | 1 / 3                | uint64  | random state of the rows, see draw_jit               |
| centres | centroids × features | float64 | where the centroids are                              |
| steps   | drifting × features  | float64 | how far the first of them move before each row       |
| owners  | centroids            | int64   | class of each centroid (fixed)                       |
| spreads | centroids            | float64 | standard deviation of the distance to it (fixed)     |
| bounds  | centroids            | float64 | running sum of the weights (fixed)                   |
"""

import math

from thalweg.jit.compile import compiled, inlined
from thalweg.streams.draw_jit import Floats, Ints, Seeds, integer, normal, uniform


@compiled
def build(s: Seeds, java: bool, classes: int, centres: Floats, owners: Ints, spreads: Floats, bounds: Floats) -> None:
    """Draw the model."""
    total = 0.0
    for i in range(len(centres)):
        for f in range(centres.shape[1]):
            centres[i, f] = uniform(s, java)
        owners[i] = integer(s, java, classes)
        spreads[i] = uniform(s, java)
        total += uniform(s, java)
        bounds[i] = total


@compiled
def aim(s: Seeds, java: bool, speed: float, steps: Floats) -> None:
    """Draw the directions of the drift: unit vectors without a negative component, times the speed."""
    for i in range(len(steps)):
        norm = 0.0
        for f in range(steps.shape[1]):
            steps[i, f] = uniform(s, java)
            norm += steps[i, f] * steps[i, f]
        norm = math.sqrt(norm)
        for f in range(steps.shape[1]):
            steps[i, f] = steps[i, f] / norm * speed


@inlined
def _move(centres: Floats, steps: Floats) -> None:
    """Move the drifting centroids; at 0 and 1 a coordinate stops and turns."""
    for j in range(len(steps)):
        step = steps[j]
        v = centres[j] + step
        centres[j] = min(max(v, 0.0), 1.0)
        steps[j] = -step if v > 1.0 or v < 0.0 else step


@inlined
def _pick(s: Seeds, java: bool, bounds: Floats) -> int:
    """Choose a centroid by weight: the first whose running sum is above the draw."""
    v = uniform(s, java) * bounds[-1]
    low, size = 0, len(bounds)
    while size > 1:
        half = size >> 1
        low = low + half if bounds[low + half - 1] <= v else low
        size -= half
    return low


@compiled
def fill(
    random: Seeds,
    centres: Floats,
    steps: Floats,
    owners: Ints,
    spreads: Floats,
    bounds: Floats,
    java: bool,
    X: Floats,
    y: Ints,
) -> None:
    """Write the next rows and their labels."""
    d = X.shape[1]
    flat_centres, flat_steps = centres.reshape(-1), steps.reshape(-1)
    for r in range(len(y)):
        _move(flat_centres, flat_steps)
        i = _pick(random, java, bounds)
        norm = 0.0
        for f in range(d):
            u = uniform(random, java) * 2.0 - 1.0
            X[r, f] = u
            norm += u * u
        scale = normal(random, java) * spreads[i] / math.sqrt(norm)
        for f in range(d):
            X[r, f] = centres[i, f] + X[r, f] * scale
        y[r] = owners[i]
