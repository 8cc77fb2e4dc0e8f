"""Random numbers from a ``uint64`` state array: cell ``i`` of the array is one generator (splitmix64).

The state is an ordinary table of whatever draws from it, so saving, restoring and splitting over threads cannot
change a draw. One cell per tree (or member, or stream) keeps their draws independent of each other.
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled, inlined

Seeds = NDArray[np.uint64]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31, _S32 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_UNIT = 1.0 / 9007199254740992.0  # 2^-53


def seeded(seed: int, n: int = 1) -> Seeds:
    """Make n independent generators from one seed.

    >>> seeded(1, 2).tolist() == seeded(1, 3)[:2].tolist()
    True
    """
    return np.random.SeedSequence(seed).generate_state(n, np.uint64).astype(np.uint64)


@inlined
def bits(s: Seeds, i: int) -> np.uint64:
    """Draw 64 random bits (Steele, Lea, Flood 2014)."""
    s[i] += GAMMA
    return mixed(s[i])


@inlined
def mixed(z: np.uint64) -> np.uint64:
    """Make random bits of a state that counts up by GAMMA: the second half of splitmix64."""
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return np.uint64(z ^ (z >> _S31))


@inlined
def uniform(s: Seeds, i: int) -> float:
    """Draw from [0, 1)."""
    return float(bits(s, i) >> _S11) * _UNIT


@inlined
def uniforms(s: Seeds, i: int, out: NDArray[np.float64]) -> None:
    """Fill with draws from [0, 1): the same that ``uniform`` gives one by one, but none waits for the one before."""
    at = s[i]
    for k in range(len(out)):
        at += GAMMA
        out[k] = float(np.int64(mixed(at) >> _S11)) * _UNIT
    s[i] = at


@compiled
def uniforms_from(seed: int, first: int, out: NDArray[np.float64]) -> None:
    """Fill with draws number ``first``, ``first`` + 1, … of a generator that begins with this very seed."""
    at = np.empty(1, dtype=np.uint64)
    at[0] = np.uint64(seed) + np.uint64(first) * GAMMA
    uniforms(at, 0, out)


@inlined
def integer(s: Seeds, i: int, n: int) -> int:
    """Draw from 0, …, n - 1 (n < 2^32), without a division; the bias is below n / 2^32."""
    return int(np.int64(((bits(s, i) >> _S32) * np.uint64(n)) >> _S32))


@inlined
def normal(s: Seeds, i: int) -> float:
    """Draw from N(0, 1) by Marsaglia's polar method; the second value is dropped, so nothing is kept between draws."""
    u = 2.0 * uniform(s, i) - 1.0
    v = 2.0 * uniform(s, i) - 1.0
    r = u * u + v * v
    while r >= 1.0 or r == 0.0:
        u = 2.0 * uniform(s, i) - 1.0
        v = 2.0 * uniform(s, i) - 1.0
        r = u * u + v * v
    return u * math.sqrt(-2.0 * math.log(r) / r)


@inlined
def poisson(s: Seeds, i: int, rate: float) -> int:
    """Draw from Poisson(rate) with one uniform, by inversion; capped at max(100, 10 · rate). For rates below 100."""
    u = uniform(s, i)
    cap = max(100, int(10.0 * rate))
    p = math.exp(-rate)
    total = p
    k = 0
    while u >= total and k < cap:
        k += 1
        p *= rate / k
        total += p
    return k


@inlined
def choose(s: Seeds, i: int, n: int, chosen: NDArray[np.int64]) -> None:
    """Fill ``chosen`` with distinct numbers below n, each subset equally likely (Floyd's method), in random order."""
    m = len(chosen)
    for j in range(m):
        top = n - m + j
        pick = integer(s, i, top + 1)
        for k in range(j):
            if chosen[k] == pick:
                pick = top
                break
        at = integer(s, i, j + 1)  # a random place among the first j + 1, so that the order is random too
        chosen[j] = chosen[at]
        chosen[at] = pick


@inlined
def shuffle(s: Seeds, i: int, items: NDArray[np.int64]) -> None:
    """Put the items in random order (Fisher, Yates)."""
    for j in range(len(items) - 1, 0, -1):
        k = integer(s, i, j + 1)
        items[j], items[k] = items[k], items[j]
