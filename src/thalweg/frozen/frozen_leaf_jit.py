"""How the leaves of a frozen forest answer. A group of rows comes to a leaf (batch_jit.py), and all of it is answered.

| table  | shape      | dtype   | meaning |
| leaves | leaves × 5 | uint32  | CLASSES that vote by naive Bayes (0: it answers with ``plain``), numbers SEEN and |
|        |            |         | NOMINALS that it looks at, where its CELLS and its LISTS begin |
| plain  | leaves × C | float64 | its answer by class weights, scaled to the weight of its tree |
| cells  | –          | float64 | of a leaf with K classes: K weights; for each number K means, K times 1/(2σ²), K |
|        |            |         | logarithms; for each value of each nominal, and then all others, K logarithms |
| lists  | –          | uint32  | of a leaf: its classes, its numbers, its nominals each with the room for values |
| sides  | trees × C  | int64   | which of the votes of its leaves is for class c (-1: none); no rows: the same as c |
| part   | C × n      | float64 | what has been said about the rows of a block |

The living leaf adds up the same numbers in the same order: the bits are the same.
"""

import math

import numpy as np

from thalweg.index.batch_jit import Few
from thalweg.index.trees_jit import Whole
from thalweg.jit.compile import inlined
from thalweg.pool.leaf_jit import HUGE, Floats, Ints

CLASSES, SEEN, NOMINALS, CELLS, LISTS, COLUMNS = 0, 1, 2, 3, 4, 5
Four = tuple[float, float, float, float]
"""A number for each of four rows: a processor reckons with one while it waits for another."""


@inlined
def get(table: Whole, j: int, k: int) -> int:
    """Cell k of row j."""
    return int(np.int64(table[j, k]))


@inlined
def scale_of(weight: float, total: float) -> float:
    """What votes with this sum are multiplied by."""
    return weight / total if weight >= 0.0 else 1.0


@inlined
def add_plain(plain: Floats, j: int, rows: Few, part: Floats) -> None:
    """Add the answer of leaf j by class weights to rows."""
    for c in range(len(part)):
        vote, said = plain[j, c], part[c]
        if vote != 0.0:
            for k in range(len(rows)):
                said[rows[k]] += vote


# -- naive Bayes ------------------------------------------------------------------------------------------------------


@inlined
def number(v: float, mean: float, inv: float, log: float, tame: bool) -> float:
    """ln p(v | c) of a number; 0 where it is missing. tame: it is not."""
    if not tame and not abs(v) <= HUGE:
        return 0.0
    off = v - mean
    square = off * off
    return log - (square * inv if square > 0.0 else 0.0)


@inlined
def nominal(v: float, cells: Floats, at: int, room: int, classes: int) -> float:
    """ln p(v | c) of a nominal value, where those of class c begin at a cell; 0 where it is missing."""
    return float(cells[at + classes * (int(v) if v < room else room)]) if abs(v) <= HUGE else 0.0


@inlined
def small(distance: float) -> float:
    """e^(-distance), for a distance ≥ 0; beyond 746 it is 0, which takes the library's function long to find out."""
    near = distance < 746.0
    power = math.exp(-distance if near else 0.0)
    return power if near else 0.0


# -- two classes ------------------------------------------------------------------------------------------------------


@inlined
def add_two(leaves: Whole, plain: Floats, cells: Floats, lists: Whole, sides: Ints, t: int, weight: float, j: int,
            X: Floats, begin: int, rows: Few, tame: bool, part: Floats) -> None:  # fmt: skip
    """Add the answers of leaf j of tree t, of two classes, to rows, four at a time; the last stands in for any lacking.

    tame: no row lacks a value.
    """
    a, at, last = get(leaves, j, CELLS), get(leaves, j, LISTS), len(rows) - 1
    n0, n1, c0, c1 = cells[a], cells[a + 1], int(np.int64(lists[at])), int(np.int64(lists[at + 1]))
    for some in range(0, len(rows), 4):
        p, q = begin + row(rows, some), begin + row(rows, min(some + 1, last))
        r, s = begin + row(rows, min(some + 2, last)), begin + row(rows, min(some + 3, last))
        first, second = ask_two(leaves, cells, lists, j, X, p, q, r, s, tame)
        give_two(plain, j, sides, t, weight, first[0], second[0], n0, n1, c0, c1, rows, some, part)
        if some + 1 <= last:
            give_two(plain, j, sides, t, weight, first[1], second[1], n0, n1, c0, c1, rows, some + 1, part)
        if some + 2 <= last:
            give_two(plain, j, sides, t, weight, first[2], second[2], n0, n1, c0, c1, rows, some + 2, part)
        if some + 3 <= last:
            give_two(plain, j, sides, t, weight, first[3], second[3], n0, n1, c0, c1, rows, some + 3, part)


@inlined
def row(rows: Few, k: int) -> int:
    """Row k of a group."""
    return int(np.int64(rows[k]))


@inlined
def ask_two(leaves: Whole, cells: Floats, lists: Whole, j: int, X: Floats, p: int, q: int, r: int, s: int,
            tame: bool) -> tuple[Four, Four]:  # fmt: skip
    """Give the sums of logarithms of both classes of leaf j for four rows of X."""
    first, second = (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)
    a, at = get(leaves, j, CELLS) + 2, get(leaves, j, LISTS) + 2
    for k in range(get(leaves, j, SEEN)):
        f = np.int64(lists[at + k])
        x = X[p, f], X[q, f], X[r, f], X[s, f]
        first = plus_number(first, x, cells[a], cells[a + 2], cells[a + 4], tame)
        second = plus_number(second, x, cells[a + 1], cells[a + 3], cells[a + 5], tame)
        a += 6
    at += get(leaves, j, SEEN)
    for k in range(get(leaves, j, NOMINALS)):
        f, room = np.int64(lists[at + 2 * k]), int(np.int64(lists[at + 2 * k + 1]))
        x = X[p, f], X[q, f], X[r, f], X[s, f]
        first = plus_nominal(first, x, cells, a, room)
        second = plus_nominal(second, x, cells, a + 1, room)
        a += 2 * (room + 1)
    return first, second


@inlined
def plus_number(logs: Four, x: Four, mean: float, inv: float, log: float, tame: bool) -> Four:
    """Add what a number says about a class."""
    one, two = number(x[0], mean, inv, log, tame), number(x[1], mean, inv, log, tame)
    three, four = number(x[2], mean, inv, log, tame), number(x[3], mean, inv, log, tame)
    return logs[0] + one, logs[1] + two, logs[2] + three, logs[3] + four


@inlined
def plus_nominal(logs: Four, x: Four, cells: Floats, at: int, room: int) -> Four:
    """Add what a nominal value says about a class."""
    one, two = nominal(x[0], cells, at, room, 2), nominal(x[1], cells, at, room, 2)
    three, four = nominal(x[2], cells, at, room, 2), nominal(x[3], cells, at, room, 2)
    return logs[0] + one, logs[1] + two, logs[2] + three, logs[3] + four


@inlined
def give_two(plain: Floats, j: int, sides: Ints, t: int, weight: float, first: float, second: float, n0: float,
             n1: float, c0: int, c1: int, rows: Few, k: int, part: Floats) -> None:  # fmt: skip
    """Add the votes of two classes with these weights and sums of logarithms to row k of a group."""
    least = small(abs(first - second))
    one, other = n0 * (least if first < second else 1.0), n1 * (least if second < first else 1.0)
    if not abs(first - second) >= 0.0:  # both are -∞, or not a number
        one, other = n0 if first > -math.inf else 0.0, n1 if second > -math.inf else 0.0
        if one + other == 0.0:
            add_plain(plain, j, rows[k : k + 1], part)
            return
    scale, r = scale_of(weight, one + other), rows[k]
    if len(sides) == 0:
        part[c0, r] += one * scale
        part[c1, r] += other * scale
        return
    for c in range(len(part)):
        if sides[t, c] == c0:
            part[c, r] += one * scale
        elif sides[t, c] == c1:
            part[c, r] += other * scale


# -- more classes -----------------------------------------------------------------------------------------------------


@inlined
def add_many(leaves: Whole, plain: Floats, cells: Floats, lists: Whole, weight: float, j: int, X: Floats, begin: int,
             rows: Few, logs: Floats, part: Floats) -> None:  # fmt: skip
    """Add the answers of leaf j, of more than two classes, to rows; these are never sides."""
    n, at = get(leaves, j, CLASSES), get(leaves, j, LISTS)
    for k in range(len(rows)):
        total = vote(leaves, cells, lists, j, X, begin + row(rows, k), logs)
        if not total > 0.0:
            add_plain(plain, j, rows[k : k + 1], part)
            continue
        scale = scale_of(weight, total)
        for q in range(n):
            part[np.int64(lists[at + q]), rows[k]] += logs[q] * scale


@inlined
def vote(leaves: Whole, cells: Floats, lists: Whole, j: int, X: Floats, r: int, logs: Floats) -> float:
    """Fill ``logs`` with the votes of leaf j by naive Bayes, and give their sum; 0: every class has a zero factor."""
    n, first = get(leaves, j, CLASSES), get(leaves, j, CELLS)
    ask(leaves, cells, lists, j, X, r, logs)
    top = -math.inf
    for q in range(n):
        if logs[q] > top:
            top = logs[q]
    if top == -math.inf:
        return 0.0
    total = 0.0
    for q in range(n):
        logs[q] = cells[first + q] * small(top - logs[q]) if logs[q] > -math.inf else 0.0
        total += logs[q]
    return total


@inlined
def ask(leaves: Whole, cells: Floats, lists: Whole, j: int, X: Floats, r: int, logs: Floats) -> None:
    """Sum up the logarithms of leaf j for each of its classes."""
    n = get(leaves, j, CLASSES)
    a, at = get(leaves, j, CELLS) + n, get(leaves, j, LISTS) + n
    for q in range(n):
        logs[q] = 0.0
    for k in range(get(leaves, j, SEEN)):
        v, mine = X[r, np.int64(lists[at + k])], cells[a : a + 3 * n]
        if abs(v) <= HUGE:
            for q in range(n):
                logs[q] += number(v, mine[q], mine[n + q], mine[2 * n + q], True)
        a += 3 * n
    at += get(leaves, j, SEEN)
    for k in range(get(leaves, j, NOMINALS)):
        v, room = X[r, np.int64(lists[at + 2 * k])], int(np.int64(lists[at + 2 * k + 1]))
        for q in range(n):
            logs[q] += nominal(v, cells, a + q, room, n)
        a += n * (room + 1)
