"""The words of nominal columns and their codes: a hash table, and the words in the order in which they appeared.

| table | shape | dtype  | meaning                                                                            |
| slots | 2^b   | int64  | hash table: number of a word + 1, 0: free                                          |
| words | w × 8 | int64  | column (-1: mark of a missing value), place in arena, bytes, code, slot, its first |
|       |       |        | and its next eight bytes, 1: a mark is spelled like it                             |
| arena | a     | uint64 | the bytes of the words, each filled up with zeros to eight                         |
| at    | 9     | int64  | AT_WORDS words, AT_ARENA cells of arena used, AT_MARKS first bytes of marks as bits |
| cols  | c × 4 | int64  | C_CODE: the next code of a column; see csv_jit                                     |
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, compiled, inlined
from thalweg.streams.files.csv.csv_cells_jit import peek1, peek8, upper
from thalweg.streams.files.csv.csv_numbers_jit import number

Whole = NDArray[np.int64]
Bits = NDArray[np.uint64]

OPEN, CLOSED, WHOLE, REAL, FIXED = range(5)
"""Rules for words: any, only known ones, whole numbers, numbers; FIXED: any, but unknown ones share the next code."""
ROW = 64  # bytes of a row of words
AT_BYTE, AT_LINE, AT_ROWS, AT_BAD, AT_HARD, AT_WORDS, AT_ARENA, AT_SPARE, AT_MARKS = range(9)
C_KIND, C_PLACE, C_RULE, C_CODE = range(4)

_U = np.uint64
_MIX, _MIX2 = _U(0x9E3779B97F4A7C15), _U(0xD6E8FEB86659FD93)
_FIRST = np.array([2 ** (8 * n) - 1 for n in range(8)] + [2**64 - 1] * 9, dtype=np.uint64)
_NEXT = np.array([0] * 9 + [2 ** (8 * n) - 1 for n in range(1, 9)], dtype=np.uint64)


@inlined
def _part(i: int, left: int) -> Any:
    """Read the next bytes of a word, filled up with zeros."""
    return peek8(i) & _FIRST[np.uint64(min(left, 8))]


@inlined
def _folded(a: np.uint64, b: np.uint64) -> np.uint64:
    """Give both halves of a product in one: every bit of a changes many."""
    return upper(a, b) ^ (a * b)


@inlined
def _mixed(a: np.uint64, b: np.uint64, size: int, column: int) -> np.uint64:
    """Mix the first 16 bytes of a word, its size and its column."""
    return _folded(a + np.uint64(column + 2) * _MIX2, _MIX) ^ _folded(b + np.uint64(size), _MIX2)


@inlined
def short(i: int, size: int, column: int, slots: int, last: int, words: int) -> Any:
    """Give the address of the row of a word of 1 to 16 bytes, with no branch on its size; 0: unknown.

    slots, words (and arena): addresses of the tables. last: the number of slots - 1.
    """
    s = np.uint64(size)
    a, b = peek8(i) & _FIRST[s], peek8(i + 8) & _NEXT[s]
    slot = np.int64(_mixed(a, b, size, column)) & last
    while True:
        w = np.int64(peek8(slots + 8 * slot))
        if w == 0:
            return 0
        row = words + ROW * (w - 1)
        other = (peek8(row) ^ np.uint64(column)) | (peek8(row + 16) ^ s) | (peek8(row + 40) ^ a) | (peek8(row + 48) ^ b)
        if other == np.uint64(0):
            return row
        slot = (slot + 1) & last


@called
def find(i: int, end: int, column: int, slots: int, last: int, words: int, arena: int) -> tuple[Any, Any]:
    """Look any word of a column up: its number or -1, and the slot where it is or would be. Tables as for ``short``."""
    size = end - i
    h = _mixed(_part(i, size), _part(i + 8, max(size - 8, 0)), size, column)
    for k in range(i + 16, end, 8):
        h = _folded(h ^ _part(k, end - k), _MIX)
    slot = np.int64(h) & last
    w = np.int64(peek8(slots + 8 * slot)) - 1
    while w >= 0:
        row = words + ROW * w
        if np.int64(peek8(row + 16)) == size and np.int64(peek8(row)) == column:
            k, p = i, arena + 8 * np.int64(peek8(row + 8))
            while k < end and peek8(p) == _part(k, end - k):
                k += 8
                p += 8
            if k >= end:
                return w, slot
        slot = (slot + 1) & last
        w = np.int64(peek8(slots + 8 * slot)) - 1
    return -1, slot


@called
def add(
    i: int, end: int, column: int, code: int, slot: int, slots: Whole, words: Whole, arena: Bits, at: Whole
) -> None:
    """Add a word where ``find`` found none."""
    w, size = at[AT_WORDS], end - i
    tables = (slots.ctypes.data, len(slots) - 1, words.ctypes.data, arena.ctypes.data)
    marked = False
    if column >= 0 and (at[AT_MARKS] >> (peek1(i) & 63)) & 1:
        marked = find(i, end, -1, *tables)[0] >= 0
    words[w, 0], words[w, 1], words[w, 2], words[w, 3], words[w, 4] = column, at[AT_ARENA], size, code, slot
    words[w, 5], words[w, 6] = np.int64(_part(i, size)), np.int64(_part(i + 8, max(size - 8, 0)))
    words[w, 7] = marked
    for k in range(i, end, 8):
        arena[at[AT_ARENA]] = _part(k, end - k)
        at[AT_ARENA] += 1
    slots[slot] = w + 1
    at[AT_WORDS] += 1


@compiled
def teach(i: int, end: int, column: int, code: int, slots: Whole, words: Whole, arena: Bits, at: Whole) -> None:
    """Give a word of a column its code, unless it has one."""
    tables = (slots.ctypes.data, len(slots) - 1, words.ctypes.data, arena.ctypes.data)
    w, slot = find(i, end, column, *tables)
    if w < 0:
        add(i, end, column, code, slot, slots, words, arena, at)


@compiled
def spread(slots: Whole, words: Whole, arena: Bits, n: int) -> None:
    """Put n words into a new, empty table of slots."""
    for w in range(n):
        size, p = words[w, 2], words[w, 1]
        h = _mixed(np.uint64(words[w, 5]), np.uint64(words[w, 6]), size, words[w, 0])
        for k in range(2, (size + 7) >> 3):
            h = _folded(h ^ arena[p + k], _MIX)
        slot = np.int64(h) & (len(slots) - 1)
        while slots[slot] > 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = w + 1
        words[w, 4] = slot


@called
def forget(n: int, slots: Whole, words: Whole, arena: Bits, cols: Whole, at: Whole) -> None:
    """Take the words after the n-th back, last first: their row is bad."""
    while at[AT_WORDS] > n:
        at[AT_WORDS] -= 1
        w = at[AT_WORDS]
        slots[words[w, 4]] = 0
        at[AT_ARENA] = words[w, 1]
        cols[words[w, 0], C_CODE] -= 1


@called
def obeys(i: int, end: int, rule: int) -> bool:
    """Is the word a whole number of at most 18 digits, or a number?"""
    if rule == REAL:
        for k in range(i, end):
            b = peek1(k)
            if not (48 <= b <= 57 or b == 43 or b == 45 or b == 46 or (b | 32) == 101):
                return False
        stop, _, status = number(i)
        return status > 0 and stop == end
    if peek1(i) == 43 or peek1(i) == 45:
        i += 1
    if i == end or end - i > 18:
        return False
    while i < end and 48 <= peek1(i) <= 57:
        i += 1
    return i == end
