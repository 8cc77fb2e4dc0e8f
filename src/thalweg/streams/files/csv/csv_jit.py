"""Text to numbers: a block of bytes becomes rows.

Nearly all cells are plain numbers and known words of up to 16 bytes, each with a delimiter after it: ``_run`` reads
them one after another with hardly a branch and no call. It stops at any other one: ``_rarer`` reads exponents and
longer words, ``_cell`` whatever there is (blanks, marks of missing values, new words, bad cells). Cells are found in
csv_cells_jit, numbers read in csv_numbers_jit, times in csv_times_jit, words looked up in csv_words_jit.

| table | shape       | dtype  | meaning                                                                             |
| block | bytes       | uint8  | the text, by its address; a line feed follows its end; 64 bytes around it are there |
| signs | 6           | int64  | delimiter, first quote, second quote, escape, comment (-1: none), 1: cells trimmed  |
| cols  | columns × 4 | int64  | C_: kind, place (≥ 0: column of X, < 0: column -1 - place of extra), rule, next code |
| X     | rows × f    | float64| the features; nominal ones as codes, missing ones as NaN                            |
| extra | rows × e    | float64| the other columns: code of the label, times                                         |
| Words: slots, words, arena     | the words: see csv_words_jit                                                        |
| Notes: bad, hard, spare        | what the call leaves behind:                                                        |
| bad   | b × 8       | int64  | row before which, first byte, end, line, what, column, cell's first byte, its end    |
| hard  | h × 4       | int64  | numbers left to Python: row, column, first byte (quoted: -1 - first byte), end      |
| spare | bytes       | uint8  | a quoted cell without its quotes                                                     |
| at    | 9           | int64  | AT_: byte, line, rows, bad, hard, words, arena, spare; first bytes of marks as bits |
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, hot, inlined
from thalweg.streams.files.csv.csv_cells_jit import (
    cell_end,
    ends,
    equals,
    is_text,
    low_zeros,
    peek1,
    peek8,
    poke,
    unquote,
)
from thalweg.streams.files.csv.csv_numbers_jit import named, number, plain, scientific
from thalweg.streams.files.csv.csv_times_jit import stamp
from thalweg.streams.files.csv.csv_words_jit import (
    AT_ARENA,
    AT_BAD,
    AT_BYTE,
    AT_HARD,
    AT_LINE,
    AT_MARKS,
    AT_ROWS,
    AT_SPARE,
    AT_WORDS,
    C_CODE,
    C_KIND,
    C_PLACE,
    C_RULE,
    CLOSED,
    FIXED,
    OPEN,
    REAL,
    ROW,
    WHOLE,
    add,
    find,
    forget,
    obeys,
    short,
    spread,
    teach,
)

Bytes = NDArray[np.uint8]
Whole = NDArray[np.int64]
Bits = NDArray[np.uint64]
Floats = NDArray[np.float64]

SKIP, NUMBER, WORD, STAMP = 0, 1, 2, 3  # kinds of columns
DONE, MORE, GROW = 0, 1, 2  # why a call ends: the block is used up, more rows wait for room in X, tables must grow
RAGGED, NOT_NUMBER, UNKNOWN, NO_LABEL, NOT_TEXT, QUOTE, NOT_WHOLE, NOT_STAMP, OPEN_QUOTE = range(1, 10)  # what is bad
_ONE = np.uint64(1)
_CUT, _FULL = -1, -2  # the block ends within the cell; there is no room for a word

__all__ = [
    "AT_ARENA", "AT_BAD", "AT_BYTE", "AT_HARD", "AT_LINE", "AT_MARKS", "AT_ROWS", "AT_WORDS", "CLOSED",
    "C_CODE", "C_PLACE", "C_RULE", "FIXED", "OPEN", "REAL", "WHOLE", "parse", "spread", "teach",
]  # fmt: skip


class Words(NamedTuple):
    """The words and their codes: see csv_words_jit."""

    slots: Whole
    words: Whole
    arena: Bits


class Notes(NamedTuple):
    """What a call leaves behind beside the rows."""

    bad: Whole
    hard: Whole
    spare: Bytes


@inlined
def _run(
    i: int, end: int, c: int, delimiter: int, signs: tuple[Any, ...], out: tuple[int, int], tables: tuple[Any, ...]
) -> tuple[int, int, bool]:
    """Read cells from column c on while they are plain; give where it stops, the column, and if the row is complete.

    signs: two quotes, 1: cells are trimmed. out: addresses of the rows of X and extra. tables: the address of cols and
    its length, of slots and its length - 1, of words, of arena.
    """
    q1, q2, trim = signs
    x_row, extra_row = out
    cols, n, slots, last, words, _ = tables
    while c < n:
        k = i + low_zeros(ends(i, delimiter))
        kind, place = peek8(cols + 32 * c), np.int64(peek8(cols + 32 * c + 8))
        v = np.nan
        if k == i:
            if place == -1:  # no label
                break
        elif kind == NUMBER:
            v, fine = plain(i, k, equals(i, 46))
            if not fine:
                break
        elif kind == STAMP:
            break
        else:
            first, size, b = i, k - i, peek1(i)
            quoted = b == q1 and kind == WORD and not trim
            if quoted:  # by one quote at each end, and by no other
                around = equals(i, q1) & ((_ONE << np.uint64(size)) - _ONE)
                if around != (_ONE << np.uint64(size - 1)) | _ONE or size < 3:
                    break
                first, size = i + 1, size - 2
            elif b in (q1, q2):
                break
            if kind == WORD:
                if size > 16 or (trim and (b <= 32 or peek1(k - 1) <= 32)):
                    break
                row = short(first, size, c, slots, last, words)
                if row == 0 or (peek8(row + 56) != np.uint64(0) and not quoted):
                    break
                v = np.float64(np.int64(peek8(row + 24)))
        if kind != SKIP:
            poke(x_row + 8 * place if place >= 0 else extra_row - 8 - 8 * place, v)
        if peek1(k) == delimiter:
            i = k + 1
            c += 1
        elif (peek1(k) == 10 or peek1(k) == 13) and k < end:
            return k, c + 1, True
        else:
            break
    return i, c, False


@called
def _rarer(i: int, k: int, c: int, kind: int, signs: tuple[Any, ...], tables: tuple[Any, ...]) -> tuple[float, bool]:
    """Read a number with an exponent, or a longer word that is known, from i up to k; False: it is none of both."""
    if kind == NUMBER:
        return scientific(i, k)
    q1, q2, trim = signs
    _, _, slots, last, words, arena = tables
    if kind != WORD or k - i <= 16 or trim or peek1(i) == q1 or peek1(i) == q2:
        return np.nan, False
    w, _ = find(i, k, c, slots, last, words, arena)
    row = words + ROW * w
    if w < 0 or peek8(row + 56) != np.uint64(0):
        return np.nan, False
    return np.float64(np.int64(peek8(row + 24))), True


@inlined
def _blanks(i: int, delimiter: int) -> int:
    """Step over spaces and tabs."""
    while (peek1(i) == 32 or peek1(i) == 9) and peek1(i) != delimiter:
        i += 1
    return i


@inlined
def _leave(r: int, c: int, first: int, stop: int, hard: Whole, at: Whole) -> None:
    """Leave a number to Python."""
    hard[at[AT_HARD], 0], hard[at[AT_HARD], 1], hard[at[AT_HARD], 2], hard[at[AT_HARD], 3] = r, c, first, stop
    at[AT_HARD] += 1


@called
def _other(i: int, end: int, c: int, tables: tuple[Any, ...], words: Whole) -> tuple[float, bool]:
    """Read a cell of a numeric column that is no decimal: empty, missing, a word with a value, inf or nan."""
    if i == end or find(i, end, -1, *tables)[0] >= 0:
        return np.nan, True
    w, _ = find(i, end, c, *tables)
    if w >= 0:
        return np.float64(words[w, 3]), True
    return named(i, end)


@called
def _cell(
    i: int,
    base: int,
    end: int,
    last: bool,
    c: int,
    sound: bool,
    signs: Whole,
    cols: Whole,
    known: Words,
    notes: Notes,
    at: Whole,
) -> tuple[int, float, int, int, int]:
    """Read any cell: where it ends, its value, what is bad, and the first byte and the end of that.

    sound: nothing in the row was bad so far; else no word is added.
    """
    slots, words, arena = known
    _, hard, spare = notes
    delimiter, q1, q2, escape, trim = signs[0], signs[1], signs[2], signs[3], signs[5] == 1
    pattern = np.uint64(delimiter) * np.uint64(0x0101010101010101)
    kind = cols[c, C_KIND] if c < len(cols) else SKIP
    blank = trim or kind in (NUMBER, STAMP)
    tables = (slots.ctypes.data, len(slots) - 1, words.ctypes.data, arena.ctypes.data)
    i0, v = i, np.nan
    problem, first, stop = 0, 0, 0
    if blank:
        i = _blanks(i, delimiter)
    opened = i
    quoted = peek1(i) == q1 or peek1(i) == q2
    if quoted:
        begin = spare.ctypes.data + at[AT_SPARE]
        i, to, lines = unquote(i, end, peek1(i), escape, spare, at[AT_SPARE])
        spare[to] = 10
        finish = spare.ctypes.data + to
        at[AT_SPARE] = to + 1
        if i < 0:
            return end, v, OPEN_QUOTE if last else _CUT, opened, end
        at[AT_LINE] += lines
        i = _blanks(i, delimiter)
        if peek1(i) != delimiter and peek1(i) != 10 and peek1(i) != 13:
            tail = i
            i = cell_end(i, pattern)
            problem, first, stop = QUOTE, tail, i
        elif kind == NUMBER and finish > begin:
            p = begin
            while peek1(p) == 32:
                p += 1
            p, v, status = number(p)
            while p < finish and peek1(p) == 32:
                p += 1
            if status == 2 and p == finish:
                _leave(at[AT_ROWS], c, -1 - (opened - base), i - base, hard, at)
            elif status == 0 or p != finish:
                v, fine = _other(begin, finish, c, tables, words)
                if not fine:
                    problem, first, stop = NOT_NUMBER, opened, i
    else:
        begin = i if blank else i0
        if kind == NUMBER:
            i, v, status = number(i)
            while peek1(i) == 32 and delimiter != 32:
                i += 1
            finish = i
            if status > 0 and (peek1(i) == delimiter or peek1(i) == 10 or peek1(i) == 13):
                if status == 2:
                    _leave(at[AT_ROWS], c, begin - base, finish - base, hard, at)
            else:
                i = cell_end(i, pattern)
                finish = i
                while finish > begin and (peek1(finish - 1) == 32 or peek1(finish - 1) == 9):
                    finish -= 1
                v, fine = _other(begin, finish, c, tables, words)
                if not fine:
                    problem, first, stop = NOT_NUMBER, begin, finish
        else:
            i = cell_end(i, pattern)
            finish = i
            if blank:
                while finish > begin and (peek1(finish - 1) == 32 or peek1(finish - 1) == 9):
                    finish -= 1
    if i >= end:
        return i, v, _CUT, 0, 0
    if kind == STAMP and finish > begin and problem == 0 and sound:
        if find(begin, finish, -1, *tables)[0] < 0:
            v, fine = stamp(begin, finish)
            if not fine:
                problem, first, stop = NOT_STAMP, i0, i
    elif kind == WORD and finish > begin and problem == 0 and sound:
        w = -1
        if not quoted and (at[AT_MARKS] >> (peek1(begin) & 63)) & 1:
            w, slot = find(begin, finish, -1, *tables)
        if w < 0:
            w, slot = find(begin, finish, c, *tables)
            rule = cols[c, C_RULE]
            if w >= 0:
                v = np.float64(words[w, 3])
            elif rule == CLOSED:
                problem, first, stop = UNKNOWN, i0, i
            elif not is_text(begin, finish):
                problem, first, stop = NOT_TEXT, i0, i
            elif rule == FIXED:
                v = np.float64(cols[c, C_CODE])
            elif rule >= WHOLE and not obeys(begin, finish, rule):
                problem, first, stop = NOT_WHOLE, i0, i
            elif at[AT_ARENA] + ((finish - begin + 7) >> 3) > len(arena):
                return i, v, _FULL, 0, 0
            else:
                add(begin, finish, c, cols[c, C_CODE], slot, slots, words, arena, at)
                v = np.float64(cols[c, C_CODE])
                cols[c, C_CODE] += 1
    if kind == WORD and cols[c, C_PLACE] == -1 and v != v and problem == 0:
        problem, first, stop = NO_LABEL, i0, i
    return i, v, problem, first, stop


@hot
def parse(
    base: int,
    end: int,
    last: bool,
    signs: Whole,
    cols: Whole,
    X: Floats,
    extra: Floats,
    known: tuple[Whole, Whole, Bits],
    notes: tuple[Whole, Whole, Bytes],
    at: Whole,
) -> int:
    """Read whole rows of the block between two addresses, while there is room; give why it ends.

    known, notes: the fields of ``Words`` and of ``Notes``.
    """
    slots, words, arena = known
    bad, hard, _ = notes
    n = len(cols)
    delimiter, comment = signs[0], signs[4]
    quotes = (signs[1], signs[2], signs[5] == 1)
    tables = (cols.ctypes.data, n, slots.ctypes.data, len(slots) - 1, words.ctypes.data, arena.ctypes.data)
    x_row, extra_row = (
        X.ctypes.data + 8 * X.shape[1] * at[AT_ROWS],
        extra.ctypes.data + 8 * extra.shape[1] * at[AT_ROWS],
    )
    i = base + at[AT_BYTE]
    why = DONE
    while i < end:
        b = peek1(i)
        if b == 10 or b == 13 or b == comment:  # an empty line, or a comment
            if b == comment:
                while peek1(i) != 10 and peek1(i) != 13:
                    i += 1
            if i >= end or (peek1(i) == 13 and i + 1 >= end and not last):
                break
            i += 2 if peek1(i) == 13 and i + 1 < end and peek1(i + 1) == 10 else 1
            at[AT_BYTE] = i - base
            at[AT_LINE] += 1
            continue
        if at[AT_ROWS] >= len(X) or at[AT_BAD] >= len(bad) or at[AT_HARD] + n > len(hard):
            why = MORE
            break
        if at[AT_WORDS] + n > len(words):
            why = GROW
            break
        row, line, before, hards = i, at[AT_LINE], at[AT_WORDS], at[AT_HARD]
        at[AT_SPARE] = 0
        problem, column, cell, cell_stop = 0, -1, 0, 0
        c = 0
        while True:
            i, c, complete = _run(i, end, c, delimiter, quotes, (x_row, extra_row), tables)
            if complete:
                break
            if c < n:
                k = i + low_zeros(ends(i, delimiter))
                v, fine = _rarer(i, k, c, cols[c, C_KIND], quotes, tables)
                if fine and peek1(k) == delimiter:
                    place = cols[c, C_PLACE]
                    poke(x_row + 8 * place if place >= 0 else extra_row - 8 - 8 * place, v)
                    i, c = k + 1, c + 1
                    continue
            i, v, what, first, stop = _cell(i, base, end, last, c, problem == 0, signs, cols, Words(*known),
                                            Notes(*notes), at)  # fmt: skip
            if what == OPEN_QUOTE or (what > 0 and problem == 0):
                problem, column, cell, cell_stop = what, c, first, stop
            if what < 0 or what == OPEN_QUOTE:
                why = GROW if what == _FULL else DONE
                break
            if c < n and cols[c, C_KIND] != SKIP:
                place = cols[c, C_PLACE]
                poke(x_row + 8 * place if place >= 0 else extra_row - 8 - 8 * place, v)
            c += 1
            complete = peek1(i) != delimiter
            if complete:
                break
            i += 1
        if complete and peek1(i) == 13 and i + 1 >= end and not last:  # a line feed may follow
            complete = False
        if not complete and problem != OPEN_QUOTE:
            at[AT_LINE], at[AT_HARD] = line, hards
            forget(before, slots, words, arena, cols, at)
            break
        if c != n and problem != OPEN_QUOTE and problem != QUOTE:
            problem, column = RAGGED, c
        if problem != 0:
            k = at[AT_BAD]
            bad[k, 0], bad[k, 1], bad[k, 2], bad[k, 3] = at[AT_ROWS], row - base, i - base, line
            bad[k, 4], bad[k, 5], bad[k, 6], bad[k, 7] = problem, column, cell - base, cell_stop - base
            at[AT_BAD] += 1
            at[AT_HARD] = hards
            forget(before, slots, words, arena, cols, at)
        else:
            at[AT_ROWS] += 1
            x_row += 8 * X.shape[1]
            extra_row += 8 * extra.shape[1]
        if i < end:
            i += 2 if peek1(i) == 13 and i + 1 < end and peek1(i + 1) == 10 else 1
        at[AT_BYTE] = i - base
        at[AT_LINE] += 1
    return why
