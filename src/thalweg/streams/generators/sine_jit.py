"""Sine, row by row.

| table  | shape | dtype  | meaning                                    |
| random | 1 / 3 | uint64 | random state, see draw_jit                 |
| wanted | 1     | int64  | the class that comes next, where balanced  |
| bands  | n × 2 | float64 | bounds of the curve for x from i / n (fixed) |
"""

import math

from thalweg.jit.compile import compiled, inlined
from thalweg.streams.draw_jit import Floats, Ints, Seeds, uniforms

_THREE_PI = 3.0 * math.pi


@inlined
def curve(function: int, x: float) -> float:
    """The curve of functions 1 and 2, and that of 3 and 4."""
    return math.sin(x) if function <= 2 else 0.5 + 0.3 * math.sin(_THREE_PI * x)


@inlined
def is_below(function: int, bands: Floats, x: float, y: float) -> int:
    """Say 1 where a point lies below the curve. Where it is far from it, the bounds of its band tell."""
    i = int(x * len(bands))
    below = int(y < bands[i, 0])
    if below != int(y < bands[i, 1]):
        below = int(y < curve(function, x))
    return below


@compiled
def prepare(function: int, bands: Floats) -> None:
    """Find, for each band of x, what the curve stays above and below."""
    width = 1.0 / len(bands)
    steepest = 1.0 if function <= 2 else 0.3 * _THREE_PI
    for i in range(len(bands)):
        middle = curve(function, (i + 0.5) * width)
        bands[i, 0] = middle - steepest * width * 0.501
        bands[i, 1] = middle + steepest * width * 0.501


@compiled
def fill(
    random: Seeds, wanted: Ints, bands: Floats, function: int, balance: bool, java: bool, X: Floats, y: Ints
) -> None:
    """Write the next rows and their labels; where classes take turns, points are drawn until one of the class comes."""
    flipped = function & 1
    if not balance:
        uniforms(random, java, X.reshape(-1))
        for r in range(len(y)):
            y[r] = is_below(function, bands, X[r, 0], X[r, 1]) ^ flipped
        return
    for r in range(len(y)):
        x = X[r]
        label = 1 - wanted[0]
        while label != wanted[0]:
            uniforms(random, java, x[:2])
            label = is_below(function, bands, x[0], x[1]) ^ flipped
        wanted[0] = 1 - label
        uniforms(random, java, x[2:])
        y[r] = label
