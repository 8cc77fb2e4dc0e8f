"""A Bayesian network, row by row.

| table   | shape      | dtype   | meaning                                                                       |
| random  | 1          | uint64  | random state, see draw_jit                                                    |
| prior   | classes    | float64 | running sum of the classes' shares (fixed)                                    |
| order   | features   | int64   | the features, each after its parent (fixed)                                   |
| parents | features   | int64   | the feature that a feature depends on beside the class; -1: none (fixed)      |
| sizes   | features   | int64   | how many categories a feature has (fixed)                                     |
| starts  | features   | int64   | where its tables begin in ``sums``: class, then the parent's category (fixed) |
| sums    | all tables | float64 | running sums of the shares of its categories (fixed)                          |
| firsts  | features   | int64   | where its categories begin in ``low`` and ``high`` (fixed)                    |
| low     | categories | float64 | what a category stands for: the least value; NaN: missing (fixed)             |
| high    | categories | float64 | and the greatest; the value is drawn between the two (fixed)                  |
"""

import numpy as np

from thalweg.jit.compile import compiled, inlined
from thalweg.streams.draw_jit import Floats, Ints, Seeds, uniforms


@inlined
def _pick(sums: Floats, start: int, size: int, u: float) -> int:
    """Find the category of a draw: the first whose running sum is above it."""
    i = 0
    while i < size - 1 and sums[start + i] <= u:
        i += 1
    return i


@compiled
def fill(
    random: Seeds,
    prior: Floats,
    order: Ints,
    parents: Ints,
    sizes: Ints,
    starts: Ints,
    sums: Floats,
    firsts: Ints,
    low: Floats,
    high: Floats,
    X: Floats,
    y: Ints,
) -> None:
    """Write the next rows and the codes of their classes: first the class, then each feature given its parent."""
    d = X.shape[1]
    draws, found = np.empty(1 + 2 * d), np.empty(d, dtype=np.int64)
    for r in range(len(y)):
        uniforms(random, False, draws)
        c = _pick(prior, 0, len(prior), draws[0])
        for k in range(d):
            f = order[k]
            parent = parents[f]
            case = c if parent < 0 else c * sizes[parent] + found[parent]
            i = _pick(sums, starts[f] + case * sizes[f], sizes[f], draws[1 + k])
            found[f] = i
            least = low[firsts[f] + i]
            X[r, f] = least + draws[1 + d + k] * (high[firsts[f] + i] - least)
        y[r] = c
