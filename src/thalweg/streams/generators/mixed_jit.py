"""Mixed, row by row.

| table  | shape | dtype  | meaning                                    |
| random | 1 / 3 | uint64 | random state, see draw_jit                 |
| wanted | 1     | int64  | the class that comes next, where balanced  |
| bands  | n × 2 | float64 | bounds of the curve, see sine_jit (fixed)  |
"""

from thalweg.jit.compile import compiled, inlined
from thalweg.streams.draw_jit import Floats, Ints, Seeds, uniforms
from thalweg.streams.generators.sine_jit import is_below


@inlined
def _label(function: int, bands: Floats, x: Floats) -> int:
    """Turn two draws into booleans, and count the conditions that hold."""
    v, w = int(x[0] >= 0.5), int(x[1] >= 0.5)
    x[0], x[1] = float(v), float(w)
    positive = int(v + w + is_below(3, bands, x[2], x[3]) >= 2)
    return positive if function == 2 else 1 - positive


@compiled
def fill(
    random: Seeds, wanted: Ints, bands: Floats, function: int, balance: bool, java: bool, X: Floats, y: Ints
) -> None:
    """Write the next rows and their labels; where classes take turns, rows are drawn until one of the class comes."""
    if not balance:
        uniforms(random, java, X.reshape(-1))
        for r in range(len(y)):
            y[r] = _label(function, bands, X[r])
        return
    for r in range(len(y)):
        label = 1 - wanted[0]
        while label != wanted[0]:
            uniforms(random, java, X[r])
            label = _label(function, bands, X[r])
        wanted[0] = 1 - label
        y[r] = label
