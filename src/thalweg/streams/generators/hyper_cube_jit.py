"""The drifting hyper-cube, row by row.

| table  | shape    | dtype   | meaning                           |
| random | 1        | uint64  | random state, see draw_jit        |
| low    | features | float64 | the lower corner of the cube      |
"""

from thalweg.jit.compile import compiled, inlined
from thalweg.streams.draw_jit import Floats, Ints, Seeds, integer, uniform


@inlined
def _move(s: Seeds, low: Floats, width: float, alpha: float) -> None:
    """Move the cube along one dimension, the other way where it would leave [0, 1]."""
    f = integer(s, False, len(low))
    step = alpha if uniform(s, False) < 0.5 else -alpha
    to = low[f] + step
    low[f] = to if 0.0 <= to <= 1.0 - width else min(max(low[f] - step, 0.0), 1.0 - width)


@inlined
def _draw(s: Seeds, low: Floats, width: float, x: Floats) -> bool:
    """Draw a record, and say whether it lies in the cube."""
    within = True
    for f in range(len(x)):
        x[f] = uniform(s, False)
        within = within and low[f] <= x[f] <= low[f] + width
    return within


@compiled
def fill(
    random: Seeds,
    low: Floats,
    given: int,
    period: int,
    width: float,
    alpha: float,
    inside: float,
    noise: float,
    X: Floats,
    y: Ints,
) -> None:
    """Write the next rows and their labels; ``given`` rows have been written before."""
    for r in range(len(y)):
        if given + r > 0 and (given + r) % period == 0:
            _move(random, low, width, alpha)
        x = X[r]
        label = 0
        if inside == 0.0:
            label = int(_draw(random, low, width, x))
        elif uniform(random, False) < inside:
            label = 1
            for f in range(len(x)):
                x[f] = low[f] + width * uniform(random, False)
        else:
            while _draw(random, low, width, x):
                pass
        y[r] = 1 - label if uniform(random, False) < noise else label
