"""Which features tell the classes apart: those whose variance lies between the classes are stretched."""

import math

from thalweg.jit.compile import hot, inlined
from thalweg.learners.balls.scaling_jit import LARGEST_IN_PRODUCTS, Floats, Ints

SHARE = 2.0 / 3.0  # of a feature's weight that is due to its relevance
SHRINK = 100.0  # rows after which half of that counts
EVERY = 100  # rows after which relevance is worked out again


@inlined
def weigh_features(sums: Floats, powers: Floats, nominal: Ints, z: Floats, y: int, w: float, n: int) -> None:
    """Let sums and squares of the classes take the n-th row; work relevance out again now and then."""
    d, own, squares = len(z), sums[y], powers[0]
    for f in range(d):
        v = max(-LARGEST_IN_PRODUCTS, min(LARGEST_IN_PRODUCTS, z[f]))
        own[f] += w * v
        squares[f] += w * v * v
    own[d] += w
    if n & (n - 1) == 0 or n % EVERY == 0:
        stretch(sums, powers, nominal, n)


@hot
def stretch(sums: Floats, powers: Floats, nominal: Ints, n: int) -> None:
    """Stretch each feature by the share of its variance that lies between the classes, beside that of the others."""
    K, d = len(sums), len(nominal)
    weight, mean, numbers, factors = 0.0, 0.0, 0, powers[1]
    for c in range(K):
        weight += sums[c, d]
    for f in range(d):
        factors[f] = 0.0
        if nominal[f] != 0:
            continue
        total, between = 0.0, 0.0
        for c in range(K):
            if sums[c, d] > 0.0:
                total += sums[c, f]
                between += sums[c, f] * sums[c, f] / sums[c, d]
        between -= total * total / weight
        within = powers[0, f] - total * total / weight
        if within > 1e-12 * powers[0, f]:
            factors[f] = max(0.0, min(1.0, between / within))
        mean += factors[f]
        numbers += 1
    mean /= max(1, numbers)
    pull = SHARE * n / (n + SHRINK)
    for f in range(d):
        plain = nominal[f] != 0 or not mean > 0.0
        factors[f] = 1.0 if plain else math.sqrt(1.0 + pull * (factors[f] / mean - 1.0))
