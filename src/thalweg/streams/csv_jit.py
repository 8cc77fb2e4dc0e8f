"""Text to numbers: a block of bytes becomes rows, eight bytes at a time.

| table | shape       | dtype  | meaning                                                                             |
| block | bytes       | uint8  | the text, by its address; a line feed and 16 more bytes follow its end              |
| cols  | columns × 4 | int64  | kind, place (≥ 0: column of X, < 0: column -1 - place of extra), rule, next code     |
| X     | rows × f    | float64| the features; nominal ones as codes, missing ones as NaN                            |
| extra | rows × e    | float64| the other columns: code of the label, times                                         |
| slots | 2^b         | int64  | hash table: number of a word + 1, 0: free                                           |
| words | w × 5       | int64  | column (-1: mark of a missing value), place in arena, bytes, code, slot             |
| arena | a           | uint64 | the bytes of the words, each filled up with zeros to eight                          |
| bad   | b × 8       | int64  | row before which, first byte, end, line, what, column, cell's first byte, its end    |
| hard  | h × 4       | int64  | numbers left to Python: row, column, first byte (quoted: -1 - first byte), end      |
| spare | bytes       | uint8  | a quoted cell without its quotes                                                     |
| at    | 9           | int64  | byte, line, rows, bad, hard, words, arena, spare used, first bytes of marks as bits |
"""

import ctypes
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from thalweg.jit.compile import called, compiled, inlined

Bytes = NDArray[np.uint8]
Whole = NDArray[np.int64]
Bits = NDArray[np.uint64]
Floats = NDArray[np.float64]

SKIP, NUMBER, WORD, STAMP = 0, 1, 2, 3  # kinds of columns
OPEN, CLOSED, WHOLE, REAL = 0, 1, 2, 3  # rules for words: any, only known ones, whole numbers, numbers
DONE, MORE, GROW = 0, 1, 2  # why a call ends: the block is used up, more rows wait for room in X, tables must grow
RAGGED, NOT_NUMBER, UNKNOWN, NO_LABEL, NOT_TEXT, QUOTE, NOT_WHOLE, NOT_STAMP, OPEN_QUOTE = range(1, 10)  # what is bad

_U = np.uint64
_ZERO, _ONE, _EIGHT = _U(0), _U(1), _U(8)
_LOW = _U(0x0101010101010101)
_HIGH = _U(0x8080808080808080)
_SEVEN = _U(0x7F7F7F7F7F7F7F7F)
_DIGIT0 = _U(0x3030303030303030)
_TO_HIGH = _U(0x7676767676767676)
_LF = _U(0x0A0A0A0A0A0A0A0A)
_CR = _U(0x0D0D0D0D0D0D0D0D)
_M8, _M16 = _U(0x00FF00FF00FF00FF), _U(0x0000FFFF0000FFFF)
_P10, _P100, _P1E4 = _U(2561), _U(6553601), _U(42949672960001)
_S16, _S32, _S52, _S63 = _U(16), _U(32), _U(52), _U(63)
_M9 = _U(0x1FF)
_MIX = _U(0x9E3779B97F4A7C15)
_HIDDEN = _U(1 << 52)
_SHORT = _U(10**9)  # below 2^53, one division is exact; the way for all others is as fast, and seldom both are taken
_EXACT = _U(1 << 53)
_FULL = _U(0xFFFFFFFFFFFFFFFF)
_THREE = _U(3)

_TEN = np.array([10.0**i for i in range(23)])
_TENS = np.array([10**i for i in range(9)], dtype=np.uint64)


def _powers_of_five() -> Bits:
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


def _peek1(address: Any) -> int:
    """Read the byte at an address."""
    return ctypes.c_uint8.from_address(int(address)).value


def _peek8(address: Any) -> np.uint64:
    """Read the eight bytes from an address on."""
    return np.uint64(ctypes.c_uint64.from_address(int(address)).value)


def _low_zeros(a: np.uint64) -> int:
    """Count the zero bits below the lowest one; 64: there is none."""
    return (int(a) & -int(a)).bit_length() - 1 if a else 64


def _high_zeros(a: np.uint64) -> int:
    """Count the zero bits above the highest one."""
    return 64 - int(a).bit_length()


def _upper(a: np.uint64, b: np.uint64) -> np.uint64:
    """Give the upper half of a product of 128 bits."""
    return np.uint64((int(a) * int(b)) >> 64)


if not numba.config.DISABLE_JIT:  # the same, each one instruction of the processor

    @intrinsic  # type: ignore[untyped-decorator]
    def _peek1(_: Any, address: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            byte = builder.load(builder.inttoptr(args[0], cgutils.int8_t.as_pointer()))
            return builder.zext(byte, cgutils.intp_t)

        return types.int64(types.int64), code

    @intrinsic  # type: ignore[untyped-decorator]
    def _peek8(_: Any, address: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load(builder.inttoptr(args[0], cgutils.intp_t.as_pointer()), align=1)

        return types.uint64(types.int64), code

    @intrinsic  # type: ignore[untyped-decorator]
    def _low_zeros(_: Any, a: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.cttz(args[0], cgutils.false_bit)

        return types.int64(types.uint64), code

    @intrinsic  # type: ignore[untyped-decorator]
    def _high_zeros(_: Any, a: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.ctlz(args[0], cgutils.false_bit)

        return types.int64(types.uint64), code

    @intrinsic  # type: ignore[untyped-decorator]
    def _upper(_: Any, a: Any, b: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            wide = type(cgutils.intp_t)(128)
            product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
            return builder.trunc(builder.lshr(product, wide(64)), cgutils.intp_t)

        return types.uint64(types.uint64, types.uint64), code


@inlined
def _digits(i: int) -> tuple[int, np.uint64]:
    """Read up to eight digits from i on: how many there are, and their value."""
    t = _peek8(i) ^ _DIGIT0
    other = (((t & _SEVEN) + _TO_HIGH) | t) & _HIGH
    n = 8
    if other != _ZERO:  # a branch that is mostly foreseen: the next eight need not wait for the count
        n = _low_zeros(other) >> 3
        t = (t << np.uint64(63 - 8 * n)) << _ONE
    t = (t * _P10) >> _EIGHT
    t = ((t & _M8) * _P100) >> _S16
    t = ((t & _M16) * _P1E4) >> _S32
    return n, t


@inlined
def _rounded(m: np.uint64, q: int) -> tuple[float, bool]:
    """Give the double nearest to m · 10^q (Eisel, Lemire); False where it is not sure."""
    if m == _ZERO:
        return 0.0, True
    if m < _SHORT and -22 <= q <= 22:
        if q < 0:
            return np.float64(m) / _TEN[-q], True
        return np.float64(m) * _TEN[q], True
    if q < -342 or q > 308:
        return 0.0, False
    zeros = _high_zeros(m)
    w = m << np.uint64(zeros)
    high, low = _upper(w, _FIVE[q + 342, 0]), w * _FIVE[q + 342, 0]
    if high & _M9 == _M9:
        more = _upper(w, _FIVE[q + 342, 1])
        low = low + more
        if low < more:
            high = high + _ONE
    upper = np.int64(high >> _S63)
    shift = np.uint64(upper + 9)
    mantissa = high >> shift
    power = ((217706 * q) >> 16) + 63 + upper - zeros + 1023
    if power <= 0 or power >= 2046:
        return 0.0, False
    if low <= _ONE and -4 <= q <= 23 and (mantissa & _THREE) == _ONE and (mantissa << shift) == high:
        mantissa = mantissa & (_FULL - _ONE)
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    if mantissa >= _EXACT:
        mantissa = _HIDDEN
        power += 1
    bits = (np.uint64(power) << _S52) | (mantissa & (_HIDDEN - _ONE))
    return np.uint64(bits).view(np.float64), True


@inlined
def _number(i: int) -> tuple[int, float, int]:
    """Read a number from i on: where it ends, its value, and 1; 0: there is none; 2: Python must read it."""
    minus = _peek1(i) == 45
    i += minus | (_peek1(i) == 43)
    begin = i
    m = _ZERO
    n = 8
    while n == 8:
        n, part = _digits(i)
        m = m * _TENS[n] + part
        i += n
    q = 0
    count = i - begin
    if _peek1(i) == 46:
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
        while count > 0 and (_peek1(k) == 48 or _peek1(k) == 46):
            count -= _peek1(k) == 48
            k += 1
    if (_peek1(i) | 32) == 101:
        back = i
        i += 1
        down = _peek1(i) == 45
        if down or _peek1(i) == 43:
            i += 1
        e = 0
        first = i
        while 48 <= _peek1(i) <= 57:
            if e < 100_000:
                e = 10 * e + _peek1(i) - 48
            i += 1
        if i == first:
            return back, 0.0, 0
        q += -e if down else e
    if count > 19:
        return i, 0.0, 2
    v, sure = _rounded(m, q)
    return i, -v if minus else v, 1 if sure else 2


@called
def _number_apart(i: int) -> tuple[int, float, int]:
    """Read a number, out of line: where speed does not matter."""
    return _number(i)


@called
def _named(i: int, end: int) -> tuple[float, bool]:
    """Read inf, infinity or nan, in any case."""
    minus = i < end and _peek1(i) == 45
    if i < end and (minus or _peek1(i) == 43):
        i += 1
    h = np.int64(0)
    for k in range(i, end):
        if end - i > 8 or _peek1(k) > 122:
            return 0.0, False
        h = (h << 8) | (_peek1(k) | 32)
    if h == 0x6E616E:
        return np.nan, True
    if h in (0x696E66, 0x696E66696E697479):
        return -np.inf if minus else np.inf, True
    return 0.0, False


@inlined
def _cell_end(i: int, delimiter: np.uint64) -> int:
    """Give where an unquoted cell ends: at a delimiter, a line feed or a carriage return."""
    while True:
        v = _peek8(i)
        a, b, c = v ^ delimiter, v ^ _LF, v ^ _CR
        marks = (((a - _LOW) & ~a) | ((b - _LOW) & ~b) | ((c - _LOW) & ~c)) & _HIGH
        if marks != _ZERO:
            return i + (_low_zeros(marks) >> 3)
        i += 8


@called
def _is_text(i: int, end: int) -> bool:
    """Is it UTF-8 without a zero byte?"""
    while i < end:
        b = _peek1(i)
        i += 1
        if b == 0:
            return False
        if b < 0x80:
            continue
        if b < 0xC2 or b > 0xF4:
            return False
        more = 1 if b < 0xE0 else 2 if b < 0xF0 else 3
        if i + more > end:
            return False
        low, high = 0x80, 0xBF
        if b == 0xE0:
            low = 0xA0
        elif b == 0xED:
            high = 0x9F
        elif b == 0xF0:
            low = 0x90
        elif b == 0xF4:
            high = 0x8F
        for k in range(more):
            c = _peek1(i + k)
            if c < low or c > high:
                return False
            low, high = 0x80, 0xBF
        i += more
    return True


@inlined
def _part(i: int, left: int) -> np.uint64:
    """Read the next bytes of a word, filled up with zeros."""
    v = _peek8(i)
    return v if left >= 8 else v & ((_ONE << np.uint64(8 * left)) - _ONE)


@inlined
def _find(i: int, end: int, column: int, tables: tuple[int, int, int, int]) -> tuple[Any, Any]:
    """Look a word of a column up: its number or -1, and the slot where it is or would be."""
    slots, words, arena, last = tables
    size = end - i
    h = np.uint64(column + 2) * _MIX + np.uint64(size)
    for k in range(i, end, 8):
        h = (h ^ _part(k, end - k)) * _MIX
        h ^= h >> _S32
    slot = np.int64(h & np.uint64(last))
    w = np.int64(_peek8(slots + 8 * slot)) - 1
    while w >= 0:
        row = words + 40 * w
        if np.int64(_peek8(row + 16)) == size and np.int64(_peek8(row)) == column:
            p = arena + 8 * np.int64(_peek8(row + 8))
            k = i
            while k < end and _peek8(p) == _part(k, end - k):
                k += 8
                p += 8
            if k >= end:
                return w, slot
        slot = (slot + 1) & last
        w = np.int64(_peek8(slots + 8 * slot)) - 1
    return -1, slot


@inlined
def _add(
    i: int, end: int, column: int, code: int, slot: int, slots: Whole, words: Whole, arena: Bits, at: Whole
) -> None:
    """Add a word where ``_find`` found none."""
    w = at[5]
    words[w, 0], words[w, 1], words[w, 2], words[w, 3], words[w, 4] = column, at[6], end - i, code, slot
    for k in range(i, end, 8):
        arena[at[6]] = _part(k, end - k)
        at[6] += 1
    slots[slot] = w + 1
    at[5] += 1


@compiled
def teach(i: int, end: int, column: int, code: int, slots: Whole, words: Whole, arena: Bits, at: Whole) -> None:
    """Add the word between two addresses, with a code of its own."""
    w, slot = _find(i, end, column, (slots.ctypes.data, words.ctypes.data, arena.ctypes.data, len(slots) - 1))
    if w < 0:
        _add(i, end, column, code, slot, slots, words, arena, at)


@compiled
def spread(slots: Whole, words: Whole, arena: Bits, n: int) -> None:
    """Put n words into a new, empty table of slots."""
    for w in range(n):
        size, p = words[w, 2], words[w, 1]
        h = np.uint64(words[w, 0] + 2) * _MIX + np.uint64(size)
        for k in range((size + 7) >> 3):
            h = (h ^ arena[p + k]) * _MIX
            h ^= h >> _S32
        slot = np.int64(h & np.uint64(len(slots) - 1))
        while slots[slot] > 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = w + 1
        words[w, 4] = slot


@called
def _two(i: int) -> int:
    a, b = _peek1(i) - 48, _peek1(i + 1) - 48
    return 10 * a + b if 0 <= a <= 9 and 0 <= b <= 9 else -1


@called
def _stamp(i: int, end: int) -> tuple[float, bool]:
    """Read 2020-01-31, with 12:30, 12:30:59 or 12:30:59.25 after a space or T, and Z or +01:00: seconds since 1970."""
    if end - i < 10 or _peek1(i + 4) != 45 or _peek1(i + 7) != 45:
        return 0.0, False
    c, y, month, day = _two(i), _two(i + 2), _two(i + 5), _two(i + 8)
    if c < 0 or y < 0 or 100 * c + y < 1 or month < 1 or month > 12 or day < 1:
        return 0.0, False
    year = 100 * c + y
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    longest = 31 if month in (1, 3, 5, 7, 8, 10, 12) else 30 if month != 2 else 29 if leap else 28
    if day > longest:
        return 0.0, False
    y = year - 1 if month <= 2 else year
    era = y // 400
    of_era = y - era * 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    seconds = days * 86400
    part, scale = np.int64(0), np.int64(1)
    i += 10
    if i < end:
        if (_peek1(i) != 32 and _peek1(i) != 84) or end - i < 6 or _peek1(i + 3) != 58:
            return 0.0, False
        hour, minute = _two(i + 1), _two(i + 4)
        second = 0
        i += 6
        if end - i >= 3 and _peek1(i) == 58:
            second = _two(i + 1)
            i += 3
            if i < end and _peek1(i) == 46:
                i += 1
                k = i
                while i < end and 48 <= _peek1(i) <= 57:
                    if i - k < 9:
                        part = 10 * part + _peek1(i) - 48
                        scale *= 10
                    i += 1
                if i == k:
                    return 0.0, False
        if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
            return 0.0, False
        seconds += 3600 * hour + 60 * minute + second
        if i < end and _peek1(i) == 90:
            i += 1
        elif i < end and (_peek1(i) == 43 or _peek1(i) == 45):
            east = _peek1(i) == 43
            if end - i < 3:
                return 0.0, False
            hour, minute = _two(i + 1), 0
            i += 3
            if i < end and _peek1(i) == 58:
                i += 1
            if end - i >= 2:
                minute = _two(i)
                i += 2
            if hour < 0 or hour > 23 or minute < 0 or minute > 59:
                return 0.0, False
            seconds -= (3600 * hour + 60 * minute) * (1 if east else -1)
        if i < end:
            return 0.0, False
    return np.float64(seconds * scale + part) / np.float64(scale), True


@called
def _unquote(i: int, end: int, quote: int, escape: int, spare: Bytes, to: int) -> tuple[int, int, int]:
    """Copy a quoted cell that opens at i without its quotes; give where it ends, the end of the copy, and lines passed.

    A doubled quote is one; so is an escaped one where there is an escape. -1: the block ends first.
    """
    i += 1
    lines = 0
    while i < end:
        b = _peek1(i)
        if b == escape and i + 1 < end and escape >= 0:
            i += 1
            b = _peek1(i)
        elif b == quote:
            if i + 1 < end and _peek1(i + 1) == quote:
                i += 1
            else:
                return i + 1, to, lines
        lines += b == 10
        spare[to] = b
        to += 1
        i += 1
    return -1, to, lines


@compiled
def parse(
    base: int,
    end: int,
    last: bool,
    delimiter: int,
    quotes: Whole,
    cols: Whole,
    X: Floats,
    extra: Floats,
    slots: Whole,
    words: Whole,
    arena: Bits,
    bad: Whole,
    hard: Whole,
    spare: Bytes,
    at: Whole,
) -> int:
    """Read whole rows of the block between two addresses from byte ``at[0]`` on, while there is room; give why it ends.

    quotes: first quote, second quote (or -1), escape (or -1), comment (or -1), 1: cells are trimmed.
    """
    n = len(cols)
    pattern = np.uint64(delimiter) * _LOW
    q1, q2, escape, comment, trim = quotes[0], quotes[1], quotes[2], quotes[3], quotes[4] == 1
    tables = (slots.ctypes.data, words.ctypes.data, arena.ctypes.data, len(slots) - 1)
    i = base + at[0]
    why = DONE
    while i < end:
        b = _peek1(i)
        if b == 10 or b == 13 or b == comment:  # an empty line, or a comment
            if b == comment:
                while _peek1(i) != 10 and _peek1(i) != 13:
                    i += 1
            if i >= end or (_peek1(i) == 13 and i + 1 >= end and not last):
                break
            i += 2 if _peek1(i) == 13 and i + 1 < end and _peek1(i + 1) == 10 else 1
            at[0] = i - base
            at[1] += 1
            continue
        if at[2] >= len(X) or at[3] >= len(bad) or at[4] + n > len(hard):
            why = MORE
            break
        if at[5] + n > len(words):
            why = GROW
            break
        r, row, line, before = at[2], i, at[1], at[5]
        at[7] = 0
        problem, where_column, cell, cell_end = 0, -1, 0, 0
        hards = at[4]
        c = 0
        complete = False
        while True:
            kind = cols[c, 0] if c < n else SKIP
            if kind == NUMBER:  # the usual case, fast: a plain number, or a word that is known, and a delimiter
                k, v, status = _number(i)
                if status == 1 and _peek1(k) == delimiter and cols[c, 1] >= 0:
                    X[r, cols[c, 1]] = v
                    c += 1
                    i = k + 1
                    continue
            elif kind == WORD and not trim and _peek1(i) != q1 and not (at[8] >> (_peek1(i) & 63)) & 1:
                k = _cell_end(i, pattern)
                if _peek1(k) == delimiter and k > i and cols[c, 1] >= 0:
                    w, _ = _find(i, k, c, tables)
                    if w >= 0:
                        X[r, cols[c, 1]] = np.float64(_peek8(tables[1] + 40 * w + 24))
                        c += 1
                        i = k + 1
                        continue
            i0 = i
            if trim or kind in (NUMBER, STAMP):
                while (_peek1(i) == 32 or _peek1(i) == 9) and _peek1(i) != delimiter:
                    i += 1
            v = np.nan
            if _peek1(i) != q1 and _peek1(i) != q2:
                quoted = False
                begin = i
                if kind == NUMBER:
                    i, v, status = _number_apart(i)
                    while _peek1(i) == 32 and delimiter != 32:
                        i += 1
                    if status > 0 and (_peek1(i) == delimiter or _peek1(i) == 10 or _peek1(i) == 13):
                        finish = i
                        if status == 2:
                            hard[at[4], 0], hard[at[4], 1], hard[at[4], 2], hard[at[4], 3] = (
                                r,
                                c,
                                begin - base,
                                finish - base,
                            )
                            at[4] += 1
                    else:
                        i = _cell_end(i, pattern)
                        finish = i
                        while finish > begin and (_peek1(finish - 1) == 32 or _peek1(finish - 1) == 9):
                            finish -= 1
                        v = np.nan
                        if finish > begin:
                            w, _ = _find(begin, finish, -1, tables)
                            if w < 0:
                                v, fine = _named(begin, finish)
                                if not fine and problem == 0:
                                    problem, where_column, cell, cell_end = NOT_NUMBER, c, begin, finish
                else:
                    begin = i if trim or kind == STAMP else i0
                    i = _cell_end(i, pattern)
                    finish = i
                    if trim or kind == STAMP:
                        while finish > begin and (_peek1(finish - 1) == 32 or _peek1(finish - 1) == 9):
                            finish -= 1
            else:
                quoted = True
                opened = i
                begin = spare.ctypes.data + at[7]
                i, to, lines = _unquote(i, end, _peek1(i), escape, spare, at[7])
                spare[to] = 10
                finish = spare.ctypes.data + to
                at[7] = to + 1
                if i < 0:
                    if last:
                        problem, where_column, cell, cell_end = OPEN_QUOTE, c, opened, end
                        i = end
                    break
                at[1] += lines
                while (_peek1(i) == 32 or _peek1(i) == 9) and _peek1(i) != delimiter:
                    i += 1
                if _peek1(i) != delimiter and _peek1(i) != 10 and _peek1(i) != 13:
                    tail = i
                    i = _cell_end(i, pattern)
                    if i < end and problem == 0:
                        problem, where_column, cell, cell_end = QUOTE, c, tail, i
                elif kind == NUMBER and finish > begin:
                    first = begin
                    while _peek1(first) == 32:
                        first += 1
                    stop, v, status = _number_apart(first)
                    while stop < finish and _peek1(stop) == 32:
                        stop += 1
                    if status == 2 and stop == finish:
                        hard[at[4], 0], hard[at[4], 1], hard[at[4], 2], hard[at[4], 3] = (
                            r,
                            c,
                            -1 - (opened - base),
                            i - base,
                        )
                        at[4] += 1
                    elif status == 0 or stop != finish:
                        v = np.nan
                        w, _ = _find(begin, finish, -1, tables)
                        if w < 0:
                            v, fine = _named(begin, finish)
                            if not fine and problem == 0:
                                problem, where_column, cell, cell_end = NOT_NUMBER, c, opened, i
            if i >= end:  # the rest of the row comes with the next block
                break
            if kind >= WORD and finish > begin and problem == 0:
                if kind == STAMP:
                    w, _ = _find(begin, finish, -1, tables)
                    if w < 0:
                        v, fine = _stamp(begin, finish)
                        if not fine:
                            problem, where_column, cell, cell_end = NOT_STAMP, c, i0, i
                else:
                    w = -1
                    if not quoted and (at[8] >> (_peek1(begin) & 63)) & 1:
                        w, slot = _find(begin, finish, -1, tables)
                    if w < 0:
                        w, slot = _find(begin, finish, c, tables)
                        if w >= 0:
                            v = np.float64(words[w, 3])
                        elif cols[c, 2] == CLOSED:
                            problem, where_column, cell, cell_end = UNKNOWN, c, i0, i
                        elif not _is_text(begin, finish):
                            problem, where_column, cell, cell_end = NOT_TEXT, c, i0, i
                        elif cols[c, 2] >= WHOLE and not _obeys(begin, finish, cols[c, 2]):
                            problem, where_column, cell, cell_end = NOT_WHOLE, c, i0, i
                        elif at[6] + ((finish - begin + 7) >> 3) > len(arena):
                            why = GROW
                            break
                        else:
                            _add(begin, finish, c, cols[c, 3], slot, slots, words, arena, at)
                            v = np.float64(cols[c, 3])
                            cols[c, 3] += 1
            if c < n and kind != SKIP:
                place = cols[c, 1]
                if place >= 0:
                    X[r, place] = v
                else:
                    extra[r, -1 - place] = v
                    if place == -1 and v != v and problem == 0:
                        problem, where_column, cell, cell_end = NO_LABEL, c, i0, i
            c += 1
            if _peek1(i) != delimiter:
                complete = True
                break
            i += 1
        if complete and _peek1(i) == 13 and i + 1 >= end and not last:  # a line feed may follow
            complete = False
        if not complete and problem != OPEN_QUOTE:
            at[1], at[4] = line, hards
            _forget(before, slots, words, arena, cols, at)
            break
        if c != n and problem != OPEN_QUOTE and problem != QUOTE:
            problem, where_column = RAGGED, c
        if problem != 0:
            k = at[3]
            bad[k, 0], bad[k, 1], bad[k, 2], bad[k, 3] = r, row - base, i - base, line
            bad[k, 4], bad[k, 5], bad[k, 6], bad[k, 7] = problem, where_column, cell - base, cell_end - base
            at[3] += 1
            at[4] = hards
            _forget(before, slots, words, arena, cols, at)
        else:
            at[2] += 1
        if i < end:
            i += 2 if _peek1(i) == 13 and i + 1 < end and _peek1(i + 1) == 10 else 1
        at[0] = i - base
        at[1] += 1
    return why


@inlined
def _forget(n: int, slots: Whole, words: Whole, arena: Bits, cols: Whole, at: Whole) -> None:
    """Take the words after the n-th back, last first: their row is bad."""
    while at[5] > n:
        at[5] -= 1
        w = at[5]
        slots[words[w, 4]] = 0
        at[6] = words[w, 1]
        cols[words[w, 0], 3] -= 1


@called
def _obeys(i: int, end: int, rule: int) -> bool:
    """Is the word a whole number of at most 18 digits, or a number?"""
    if rule == REAL:
        for k in range(i, end):
            b = _peek1(k)
            if not (48 <= b <= 57 or b == 43 or b == 45 or b == 46 or (b | 32) == 101):
                return False
        stop, _, status = _number_apart(i)
        return status > 0 and stop == end
    if _peek1(i) == 43 or _peek1(i) == 45:
        i += 1
    if i == end or end - i > 18:
        return False
    while i < end and 48 <= _peek1(i) <= 57:
        i += 1
    return i == end
