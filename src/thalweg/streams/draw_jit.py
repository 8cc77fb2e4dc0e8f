"""What the generators draw: from the library's own random numbers, or from Java's, so that MOA's streams come out.

| table  | shape | dtype  | meaning                                                                             |
| random | 1     | uint64 | state of splitmix64 (``java`` is False)                                             |
| random | 3     | uint64 | Java: 48-bit state of java.util.Random, second normal value as bits, is there one?  |
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit import random as own
from thalweg.jit.compile import called, inlined

Seeds = NDArray[np.uint64]

_A, _C, _MASK = np.uint64(0x5DEECE66D), np.uint64(0xB), np.uint64((1 << 48) - 1)
_S17, _S21, _S22 = np.uint64(17), np.uint64(21), np.uint64(22)
_NO, _YES = np.uint64(0), np.uint64(1)
_UNIT = 1.0 / 9007199254740992.0  # 2^-53


def sown(seed: int, *, java: bool, cell: int = 0) -> Seeds:
    """Make the random state of a seed; cells are independent of each other, but in Java, where there is only one."""
    if java:
        return np.array([(seed ^ 0x5DEECE66D) & ((1 << 48) - 1), 0, 0], dtype=np.uint64)
    return own.seeded(seed, cell + 1)[cell:].copy()


@inlined
def uniform(s: Seeds, java: bool) -> float:
    """Draw from [0, 1)."""
    return _java_uniform(s) if java else own.uniform(s, 0)


@inlined
def integer(s: Seeds, java: bool, n: int) -> int:
    """Draw from 0, …, n - 1."""
    return _java_integer(s, n) if java else own.integer(s, 0, n)


@inlined
def normal(s: Seeds, java: bool) -> float:
    """Draw from N(0, 1)."""
    return _java_normal(s) if java else own.normal(s, 0)


@inlined
def chance(s: Seeds, java: bool, p: float) -> bool:
    """Draw True with probability p (Java: p in whole percent, by one integer below 100)."""
    return _java_integer(s, 100) + 1 <= p * 100.0 + 1e-9 if java else own.uniform(s, 0) < p


@called
def _java_uniform(s: Seeds) -> float:
    """nextDouble: 26 high bits of one step, 27 of the next."""
    s[0] = (s[0] * _A + _C) & _MASK
    high = np.int64(s[0] >> _S22)
    s[0] = (s[0] * _A + _C) & _MASK
    return float(high * 134217728 + np.int64(s[0] >> _S21)) * _UNIT


@called
def _java_integer(s: Seeds, n: int) -> int:
    """nextInt(n): the remainder of 31 bits, drawn again where the last, incomplete run of n is hit."""
    s[0] = (s[0] * _A + _C) & _MASK
    b = np.int64(s[0] >> _S17)
    if n & (n - 1) == 0:
        return (n * b) >> 31
    v = b % n
    while b - v + n - 1 >= 2147483648:
        s[0] = (s[0] * _A + _C) & _MASK
        b = np.int64(s[0] >> _S17)
        v = b % n
    return v


@called
def _java_normal(s: Seeds) -> float:
    """nextGaussian: the polar method; its second value is kept for the next call."""
    kept = s.view(np.float64)
    if s[2] != _NO:
        s[2] = _NO
        return kept[1]
    r = 0.0
    u = v = 0.0
    while r >= 1.0 or r == 0.0:
        u = 2.0 * _java_uniform(s) - 1.0
        v = 2.0 * _java_uniform(s) - 1.0
        r = u * u + v * v
    scale = math.sqrt(-2.0 * math.log(r) / r)
    kept[1] = v * scale
    s[2] = _YES
    return u * scale
