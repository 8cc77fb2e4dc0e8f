"""Decimal numbers to the nearest doubles, eight digits at a time; every result is rounded as Python rounds.

| table | shape   | dtype  | meaning                                                                       |
| _TENS | 9       | uint64 | 10^n                                                                           |
| _TEN  | 23      | float64| 10^n, all exact                                                                |
| _FIVE | 651 × 2 | uint64 | the 128 leading bits of 5^q, q = -342 … 308                                    |
| _LAST | 49      | uint64 | bytes of a word to keep: of 16 + n the last n, at least none and at most all   |
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, inlined
from thalweg.streams.files.csv.csv_cells_jit import digits, equals, high_zeros, low_zeros, peek1, peek8, upper

_U = np.uint64
_ZERO, _ONE, _THREE, _EIGHT = _U(0), _U(1), _U(3), _U(8)
_HIGH, _SEVEN = _U(0x8080808080808080), _U(0x7F7F7F7F7F7F7F7F)
_DIGIT0, _TO_HIGH = _U(0x3030303030303030), _U(0x7676767676767676)
_M8, _M16 = _U(0x00FF00FF00FF00FF), _U(0x0000FFFF0000FFFF)
_P10, _P100, _P1E4 = _U(2561), _U(6553601), _U(42949672960001)
_S16, _S32, _S52, _S63 = _U(16), _U(32), _U(52), _U(63)
_M9, _FULL = _U(0x1FF), _U(0xFFFFFFFFFFFFFFFF)
_SHORT = _U(10**9)  # below 2^53, one division is exact; the way for all others is as fast, and seldom both are taken
_NINE = _U(9)
_1E3, _1E8, _1E16 = _U(10**3), _U(10**8), _U(10**16)

_TEN = np.array([10.0**i for i in range(23)] + [0.0] * 9 + [-(10.0**i) for i in range(9)])
_TENS = np.array([10**i for i in range(9)], dtype=np.uint64)
_LAST = np.array([2**64 - 2 ** (64 - 8 * min(max(n, 0), 8)) for n in range(-16, 33)], dtype=np.uint64)


def _powers_of_five() -> NDArray[np.uint64]:
    """The 128 leading bits of 5^q for q = -342 … 308, rounded down (up where q < 0), as in Lemire 2021."""
    table = np.empty((651, 2), dtype=np.uint64)
    for q in range(-342, 309):
        if q >= 0:
            power = 5**q
            shift = 128 - power.bit_length()
            bits = power << shift if shift >= 0 else power >> -shift
        else:
            power = 5**-q
            z = power.bit_length()
            b = 2 * z + 128 if q < -27 else z + 127
            bits = 2**b // power + 1
            bits >>= max(bits.bit_length() - 128, 0)
        table[q + 342, 0], table[q + 342, 1] = bits >> 64, bits & (2**64 - 1)
    return table


_FIVE = _powers_of_five()


@inlined
def _wrong(t: np.uint64) -> np.uint64:
    """Mark the bytes that are no digits, where '0' was taken off each."""
    return (((t & _SEVEN) + _TO_HIGH) | t) & _HIGH


@inlined
def _eight(t: np.uint64) -> np.uint64:
    """Give the value of eight digits; the first is the lowest byte."""
    t = (t * _P10) >> _EIGHT
    t = ((t & _M8) * _P100) >> _S16
    return ((t & _M16) * _P1E4) >> _S32


@inlined
def _nearest(m: np.uint64, q: Any) -> tuple[Any, Any]:
    """Give the double nearest to m · 10^q, m > 0 (Eisel, Lemire), and its power of two + 1023."""
    zeros = high_zeros(m)
    w = m << np.uint64(zeros)
    row = np.uint64(q + 342)
    high, low = upper(w, _FIVE[row, 0]), w * _FIVE[row, 0]
    if high & _M9 == _M9:
        more = upper(w, _FIVE[row, 1])
        low = low + more
        if low < more:
            high = high + _ONE
    top = np.int64(high >> _S63)
    shift = np.uint64(top + 9)
    mantissa = high >> shift
    power = ((217706 * q) >> 16) + 63 + top - zeros + 1023
    if low <= _ONE and -4 <= q <= 23 and (mantissa & _THREE) == _ONE and (mantissa << shift) == high:
        mantissa = mantissa & (_FULL - _ONE)
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    bits = (np.uint64(power - 1) << _S52) + mantissa  # the hidden bit adds the one, and so does a mantissa of 2^53
    return np.uint64(bits).view(np.float64), power


@inlined
def plain(i: int, k: int, points: np.uint64) -> tuple[float, bool]:
    """Read the number that fills the bytes from i up to k, with no branch on its looks; False: read it by ``number``.

    points: the bits that ``equals`` set for points from i on. The digits are taken from the end: those after the point
    as they stand, those before it from one byte earlier.
    """
    minus = peek1(i) == 45
    begin = i + (minus | (peek1(i) == 43))
    points = points & ((_ONE << np.uint64(k - i)) - _ONE)
    point = points != _ZERO
    after = k - i - 1 - low_zeros(points) if point else 0
    n = k - begin - point
    if n <= 0 or n > 24:
        return 0.0, False
    wrong, m2, m1, m = digits(k, np.int64(point), after, n)
    if wrong != _ZERO:
        return 0.0, False
    if n <= 8:
        return np.float64(np.int64(m)) / _TEN[np.uint64(after + 32 * minus)], True
    m += m2 * _1E16 + m1 * _1E8
    if m2 >= _1E3 or m == _ZERO:
        return 0.0, False
    zeros = high_zeros(m)
    w = m << np.uint64(zeros)
    high, low = upper(w, _FIVE[np.uint64(342 - after), 0]), w * _FIVE[np.uint64(342 - after), 0]
    if high & _M9 == _M9 or low <= _ONE:
        return 0.0, False
    top = high >> _S63
    mantissa = high >> (top + _NINE)
    power = np.uint64(1085 - ((217706 * after + 65535) >> 16) - zeros) + top
    bits = (power << _S52) + ((mantissa + (mantissa & _ONE)) >> _ONE)
    return np.uint64(bits | (np.uint64(minus) << _S63)).view(np.float64), True


@called
def scientific(i: int, k: int) -> tuple[float, bool]:
    """Read the number with an exponent, as 1.5e-07, that fills the bytes from i up to k; False: it is another one."""
    letter = (equals(i, 101) | equals(i, 69)) & ((_ONE << np.uint64(k - i)) - _ONE)
    if letter == _ZERO:
        return 0.0, False
    e = i + low_zeros(letter)
    minus = peek1(i) == 45
    begin = i + (minus | (peek1(i) == 43))
    points = equals(i, 46) & ((_ONE << np.uint64(e - i)) - _ONE)
    point = np.int64(points != _ZERO)
    after = e - i - 1 - low_zeros(points) if point else 0
    n = e - begin - point
    down = peek1(e + 1) == 45
    first = e + 1 + (down | (peek1(e + 1) == 43))
    if n <= 0 or n > 24 or k - first <= 0 or k - first > 3:
        return 0.0, False
    wrong, m2, m1, m = digits(e, point, after, n)
    strange, _, _, power = digits(k, 0, 0, k - first)
    if wrong | strange != _ZERO or m2 >= _1E3:
        return 0.0, False
    q = np.int64(power)
    v, sure = _rounded(m2 * _1E16 + m1 * _1E8 + m, (-q if down else q) - after)
    return -v if minus else v, sure


@inlined
def _digits(i: int) -> tuple[int, np.uint64]:
    """Read up to eight digits from i on: how many there are, and their value."""
    t = peek8(i) ^ _DIGIT0
    other = _wrong(t)
    n = 8
    if other != _ZERO:  # a branch that is mostly foreseen: the next eight need not wait for the count
        n = low_zeros(other) >> 3
        t = (t << np.uint64(63 - 8 * n)) << _ONE
    return n, _eight(t)


@inlined
def _rounded(m: np.uint64, q: Any) -> tuple[Any, bool]:
    """Give the double nearest to m · 10^q; False where it is not sure."""
    if m == _ZERO:
        return 0.0, True
    if m < _SHORT and -22 <= q <= 22:
        if q < 0:
            return np.float64(m) / _TEN[-q], True
        return np.float64(m) * _TEN[q], True
    if q < -342 or q > 308:
        return 0.0, False
    v, power = _nearest(m, q)
    return v, 0 < power < 2046


@called
def number(i: int) -> tuple[int, float, int]:
    """Read a number from i on: where it ends, its value, and 1; 0: there is none; 2: Python must read it."""
    minus = peek1(i) == 45
    i += minus | (peek1(i) == 43)
    begin = i
    m = _ZERO
    n = 8
    while n == 8:
        n, part = _digits(i)
        m = m * _TENS[n] + part
        i += n
    q = 0
    count = i - begin
    if peek1(i) == 46:
        i += 1
        point = i
        n = 8
        while n == 8:
            n, part = _digits(i)
            m = m * _TENS[n] + part
            i += n
        q = point - i
        count -= q
    if count == 0:
        return begin, 0.0, 0
    if count > 19:  # zeros in front do not count
        k = begin
        while count > 0 and (peek1(k) == 48 or peek1(k) == 46):
            count -= peek1(k) == 48
            k += 1
    if (peek1(i) | 32) == 101:
        back = i
        i += 1
        down = peek1(i) == 45
        if down or peek1(i) == 43:
            i += 1
        e = 0
        first = i
        while 48 <= peek1(i) <= 57:
            if e < 100_000:
                e = 10 * e + peek1(i) - 48
            i += 1
        if i == first:
            return back, 0.0, 0
        q += -e if down else e
    if count > 19:
        return i, 0.0, 2
    v, sure = _rounded(m, q)
    return i, -v if minus else v, 1 if sure else 2


@called
def named(i: int, end: int) -> tuple[float, bool]:
    """Read inf, infinity or nan, in any case."""
    minus = i < end and peek1(i) == 45
    if i < end and (minus or peek1(i) == 43):
        i += 1
    h = np.int64(0)
    for k in range(i, end):
        if end - i > 8 or peek1(k) > 122:
            return 0.0, False
        h = (h << 8) | (peek1(k) | 32)
    if h == 0x6E616E:
        return np.nan, True
    if h in (0x696E66, 0x696E66696E697479):
        return -np.inf if minus else np.inf, True
    return 0.0, False
