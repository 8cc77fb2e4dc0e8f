"""What the generators draw: from the library's own random numbers, or from Java's, so that MOA's streams come out."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import table
from thalweg.jit import random as own
from thalweg.jit.compile import called, inlined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seeds = NDArray[np.uint64]


class Drawn(NamedTuple):
    """What every generator keeps."""

    random: Annotated[Seeds, table("cells")]
    """1: state of splitmix64; 3, Java: 48-bit state of java.util.Random, second normal value as bits, is there one?"""
    wanted: Annotated[Ints, table(1, least=0, most=1, optional=True)]
    """1: the class that comes next, where the two take turns."""


_A, _C, _MASK = np.uint64(0x5DEECE66D), np.uint64(0xB), np.uint64((1 << 48) - 1)
_S17, _S21, _S22 = np.uint64(17), np.uint64(21), np.uint64(22)
_NO, _YES = np.uint64(0), np.uint64(1)
_UNIT = 1.0 / 9007199254740992.0  # 2^-53
_MOST_NORMAL = 13.0  # a draw from 53 bits lies below

_FRACTION, _ONE, _S20, _S32 = np.uint64((1 << 52) - 1), np.uint64(0x3FF << 52), np.uint64(20), np.uint64(32)
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_L1, _L2, _L3, _L4 = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
)
_L5, _L6, _L7 = 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01

_TAIL, _AREA, _LAYER = 3.442619855899, 9.91256303526217e-3, np.uint64(127)


def _edges() -> Floats:
    """Where the 128 layers of the ziggurat end, all of the same area; the lowest one has the tail."""
    f = math.exp(-0.5 * _TAIL * _TAIL)
    edges = [_AREA / f, _TAIL]
    while len(edges) < 128:
        edges.append(math.sqrt(-2.0 * math.log(_AREA / edges[-1] + f)))
        f = math.exp(-0.5 * edges[-1] * edges[-1])
    return np.array([*edges, 0.0])


_EDGES = _edges()
_INNER = _EDGES[1:] / _EDGES[:-1]


def sown(seed: int, *, java: bool, cell: int = 0) -> Seeds:
    """Make the random state of a seed; cells are independent of each other, but in Java, where there is only one."""
    if java:
        return np.array([(int(seed) ^ 0x5DEECE66D) & ((1 << 48) - 1), 0, 0], dtype=np.uint64)
    return own.seeded(seed, cell + 1)[cell:].copy()


def is_sown(random: Seeds) -> bool:
    """Could this be a random state? Any bits could, but for Java's second normal value, which is never large.

    >>> is_sown(sown(1, java=True))
    True
    """
    return len(random) != 3 or not random[2] or bool(abs(random[1:2].view(np.float64)[0]) < _MOST_NORMAL)


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
def uniforms(s: Seeds, java: bool, out: Floats) -> None:
    """Fill with draws from [0, 1): the same that ``uniform`` gives one by one, but none waits for the one before."""
    if java:
        for i in range(len(out)):
            out[i] = _java_uniform(s)
        return
    own.uniforms(s, 0, out)


@inlined
def integers(s: Seeds, java: bool, n: int, m: int, out: Floats) -> None:
    """Fill rows: the first m columns with draws from 0, …, n - 1, the others from [0, 1), as if one by one."""
    if java:
        for x in out:
            for f in range(m):
                x[f] = float(_java_integer(s, n))
            uniforms(s, java, x[m:])
        return
    uniforms(s, java, out.reshape(-1))
    for r in range(len(out)):
        for f in range(m):
            out[r, f] = float((int(out[r, f] * 4294967296.0) * n) >> 32)


@inlined
def chances(s: Seeds, java: bool, out: Floats) -> None:
    """Fill with draws, each of which lies below p with probability p (Java: p in whole percent)."""
    if not java:
        uniforms(s, java, out)
        return
    for i in range(len(out)):
        out[i] = (_java_integer(s, 100) + 1) * 0.01 - 2e-11


@inlined
def normals(s: Seeds, java: bool, out: Floats) -> None:
    """Fill with draws from N(0, 1)."""
    for i in range(len(out)):
        out[i] = _java_normal(s) if java else _ziggurat(s)


@inlined
def _ziggurat(s: Seeds) -> float:
    """Draw from N(0, 1): a layer and a place in it by one draw, which is nearly always below the curve.

    Marsaglia, Tsang: The ziggurat method for generating random variables. 2000. In double precision as by Doornik 2005.
    """
    b = own.bits(s, 0)
    layer = int(np.int64(b & _LAYER))
    u = 2.0 * (float(np.int64(b >> own._S11)) * _UNIT) - 1.0
    if abs(u) < _INNER[layer]:
        return float(u * _EDGES[layer])
    return _outside(s, layer, u)


@called
def _outside(s: Seeds, layer: int, u: float) -> float:
    """Go on where a draw is not surely below the curve."""
    while True:
        if layer == 0:
            x = -math.log(1.0 - own.uniform(s, 0)) / _TAIL
            while -2.0 * math.log(1.0 - own.uniform(s, 0)) < x * x:
                x = -math.log(1.0 - own.uniform(s, 0)) / _TAIL
            return _TAIL + x if u > 0.0 else -_TAIL - x
        v = u * _EDGES[layer]
        top = math.exp(-0.5 * (_EDGES[layer] * _EDGES[layer] - v * v))
        bottom = math.exp(-0.5 * (_EDGES[layer + 1] * _EDGES[layer + 1] - v * v))
        if bottom + own.uniform(s, 0) * (top - bottom) < 1.0:
            return float(v)
        b = own.bits(s, 0)
        layer = int(np.int64(b & _LAYER))
        u = 2.0 * (float(np.int64(b >> own._S11)) * _UNIT) - 1.0
        if abs(u) < _INNER[layer]:
            return float(u * _EDGES[layer])


@inlined
def coins(s: Seeds, java: bool, out: Floats) -> None:
    """Fill up to 64 places with 0 or 1, equally likely (Java: by one integer below 2 for each)."""
    if java:
        for i in range(len(out)):
            out[i] = float(_java_integer(s, 2))
        return
    b = own.bits(s, 0)
    for i in range(len(out)):
        out[i] = float(np.int64((b >> np.uint64(i)) & _YES))


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
        return int((n * b) >> 31)
    v = b % n
    while b - v + n - 1 >= 2147483648:
        s[0] = (s[0] * _A + _C) & _MASK
        b = np.int64(s[0] >> _S17)
        v = b % n
    return int(v)


@called
def _java_normal(s: Seeds) -> float:
    """nextGaussian: the polar method; its second value is kept for the next call."""
    kept = s.view(np.float64)
    if s[2] != _NO:
        s[2] = _NO
        return float(kept[1])
    r = 0.0
    u = v = 0.0
    while r >= 1.0 or r == 0.0:
        u = 2.0 * _java_uniform(s) - 1.0
        v = 2.0 * _java_uniform(s) - 1.0
        r = u * u + v * v
    scale = math.sqrt(-2.0 * _java_log(s, r) / r)
    kept[1] = v * scale
    s[2] = _YES
    return u * scale


@called
def _java_log(s: Seeds, v: float) -> float:
    """StrictMath.log for 0 < v < 1: Java prescribes fdlibm's to the last bit, which the machine's own may miss by one.

    v = 2^k (1 + f) with √½ < 1 + f < √2, and log(1 + f) = f - f²/2 + q (f²/2 + R(q²)), q = f / (2 + f). The state's
    second cell is the place where a number is looked at as bits.
    """
    kept = s.view(np.float64)
    kept[1] = v
    bits = s[1]
    head = np.int64((bits & _FRACTION) >> _S32)  # the high 20 bits of the fraction
    k = np.int64(bits >> _S32 >> _S20) - 1023
    s[1] = (bits & _FRACTION) | _ONE
    m: float = kept[1]
    if head + 0x95F64 >= 0x100000:
        m *= 0.5
        k += 1
    f, n = m - 1.0, float(k)
    if (head + 2) & 0xFFFFF < 3:  # |f| < 2^-20
        near = f * f * (0.5 - 0.33333333333333333 * f)
        return n * _LN2_HIGH - ((near - n * _LN2_LOW) - f) if f != 0.0 else n * _LN2_HIGH + n * _LN2_LOW
    q = f / (2.0 + f)
    z = q * q
    w = z * z
    rest = z * (_L1 + w * (_L3 + w * (_L5 + w * _L7))) + w * (_L2 + w * (_L4 + w * _L6))
    if (head - 0x6147A) | (0x6B851 - head) > 0:
        half = 0.5 * f * f
        return n * _LN2_HIGH - ((half - (q * (half + rest) + n * _LN2_LOW)) - f)
    return n * _LN2_HIGH - ((q * (f - rest) - n * _LN2_LOW) - f)
