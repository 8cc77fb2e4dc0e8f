"""How the leaves of a frozen forest answer. A group of rows comes to a leaf (batch_jit.py), and all of it is answered.

The living leaf adds up the same numbers in the same order: the bits are the same. ``part`` is what has been said about
the rows of a block, C × n.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from thalweg.core.declared import span, table
from thalweg.index.batch_jit import Few
from thalweg.index.trees_jit import Whole
from thalweg.jit.compile import inlined
from thalweg.pool.leaf_jit import HUGE, Floats, Ints

CLASSES, SEEN, NOMINALS, CELLS, LISTS, COLUMNS = 0, 1, 2, 3, 4, 5
Two = tuple[float, float]
Four = tuple[float, float, float, float]
"""A number for each of four rows: a processor reckons with one while it waits for another."""


class Leaves(NamedTuple):
    """The leaves of all trees of a frozen forest."""

    leaves: Annotated[Whole, table("leaves", COLUMNS, loose=True, cells={CLASSES: span(0, "max(2, classes)")})]
    """leaves × 5: CLASSES that vote by naive Bayes (0: it answers with ``plain``), numbers SEEN and NOMINALS that it
    looks at, where its CELLS and its LISTS begin."""
    plain: Annotated[Floats, table("leaves", "classes", loose=True)]
    """leaves × C: its answer by class weights, scaled to the weight of its tree."""
    cells: Annotated[Floats, table("cells", loose=True)]
    """Of a leaf with K classes: K weights; for each number K means, K times 1/(2σ²), K logarithms; for each value of
    each nominal, and then all others, K logarithms."""
    lists: Annotated[Whole, table("items", loose=True)]
    """Of a leaf: its classes, its numbers, its nominals each with the room for values."""


@inlined
def get(p: Leaves, j: int, k: int) -> int:
    """Cell k of leaf j."""
    return int(np.int64(p.leaves[j, k]))


@inlined
def listed(p: Leaves, k: int) -> int:
    """Item k of the lists."""
    return int(np.int64(p.lists[k]))


@inlined
def scale_of(weight: float, total: float) -> float:
    """What votes with this sum are multiplied by."""
    return weight / total if weight >= 0.0 else 1.0


@inlined
def add_plain(p: Leaves, j: int, rows: Few, part: Floats) -> None:
    """Add the answer of leaf j by class weights to rows."""
    for c in range(len(part)):
        vote, said = p.plain[j, c], part[c]
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
def add_two(p: Leaves, sides: Ints, t: int, weight: float, j: int, X: Floats, begin: int, rows: Few, tame: bool,
            part: Floats) -> None:  # fmt: skip
    """Add the answers of leaf j of tree t, of two classes, to rows, four at a time; the last stands in for any lacking.

    sides: as in frozen_jit.py. tame: no row lacks a value.
    """
    a, at, last = get(p, j, CELLS), get(p, j, LISTS), len(rows) - 1
    n, c = (p.cells[a], p.cells[a + 1]), (listed(p, at), listed(p, at + 1))
    for some in range(0, len(rows), 4):
        one, two = begin + row(rows, some), begin + row(rows, min(some + 1, last))
        three, four = begin + row(rows, min(some + 2, last)), begin + row(rows, min(some + 3, last))
        first, second = ask_two(p, j, X, (one, two, three, four), tame)
        give_two(p, j, sides, t, weight, (first[0], second[0]), n, c, rows, some, part)
        if some + 1 <= last:
            give_two(p, j, sides, t, weight, (first[1], second[1]), n, c, rows, some + 1, part)
        if some + 2 <= last:
            give_two(p, j, sides, t, weight, (first[2], second[2]), n, c, rows, some + 2, part)
        if some + 3 <= last:
            give_two(p, j, sides, t, weight, (first[3], second[3]), n, c, rows, some + 3, part)


@inlined
def row(rows: Few, k: int) -> int:
    """Row k of a group."""
    return int(np.int64(rows[k]))


@inlined
def ask_two(p: Leaves, j: int, X: Floats, r: tuple[int, int, int, int], tame: bool) -> tuple[Four, Four]:
    """Give the sums of logarithms of both classes of leaf j for four rows of X."""
    first, second, cells = (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), p.cells
    a, at = get(p, j, CELLS) + 2, get(p, j, LISTS) + 2
    for k in range(get(p, j, SEEN)):
        f = listed(p, at + k)
        x = X[r[0], f], X[r[1], f], X[r[2], f], X[r[3], f]
        first = plus_number(first, x, cells[a], cells[a + 2], cells[a + 4], tame)
        second = plus_number(second, x, cells[a + 1], cells[a + 3], cells[a + 5], tame)
        a += 6
    at += get(p, j, SEEN)
    for k in range(get(p, j, NOMINALS)):
        f, room = listed(p, at + 2 * k), listed(p, at + 2 * k + 1)
        x = X[r[0], f], X[r[1], f], X[r[2], f], X[r[3], f]
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
def give_two(p: Leaves, j: int, sides: Ints, t: int, weight: float, logs: Two, n: Two, c: tuple[int, int], rows: Few,
             k: int, part: Floats) -> None:  # fmt: skip
    """Add the votes of two classes with these sums of logarithms and weights n to row k of a group."""
    first, second = logs
    least = small(abs(first - second))
    one, other = n[0] * (least if first < second else 1.0), n[1] * (least if second < first else 1.0)
    if not abs(first - second) >= 0.0:  # both are -∞, or not a number
        one, other = n[0] if first > -math.inf else 0.0, n[1] if second > -math.inf else 0.0
        if one + other == 0.0:
            add_plain(p, j, rows[k : k + 1], part)
            return
    scale, r = scale_of(weight, one + other), rows[k]
    if len(sides) == 0:
        part[c[0], r] += one * scale
        part[c[1], r] += other * scale
        return
    for q in range(len(part)):
        if sides[t, q] == c[0]:
            part[q, r] += one * scale
        elif sides[t, q] == c[1]:
            part[q, r] += other * scale


# -- more classes -----------------------------------------------------------------------------------------------------


@inlined
def add_many(p: Leaves, weight: float, j: int, X: Floats, begin: int, rows: Few, logs: Floats, part: Floats) -> None:
    """Add the answers of leaf j, of more than two classes, to rows; these are never sides."""
    n, at = get(p, j, CLASSES), get(p, j, LISTS)
    for k in range(len(rows)):
        total = vote(p, j, X, begin + row(rows, k), logs)
        if not total > 0.0:
            add_plain(p, j, rows[k : k + 1], part)
            continue
        scale = scale_of(weight, total)
        for q in range(n):
            part[listed(p, at + q), rows[k]] += logs[q] * scale


@inlined
def vote(p: Leaves, j: int, X: Floats, r: int, logs: Floats) -> float:
    """Fill ``logs`` with the votes of leaf j by naive Bayes, and give their sum; 0: every class has a zero factor."""
    n, first = get(p, j, CLASSES), get(p, j, CELLS)
    ask(p, j, X, r, logs)
    top = -math.inf
    for q in range(n):
        if logs[q] > top:
            top = logs[q]
    if top == -math.inf:
        return 0.0
    total = 0.0
    for q in range(n):
        logs[q] = p.cells[first + q] * small(top - logs[q]) if logs[q] > -math.inf else 0.0
        total += logs[q]
    return total


@inlined
def ask(p: Leaves, j: int, X: Floats, r: int, logs: Floats) -> None:
    """Sum up the logarithms of leaf j for each of its classes."""
    n, cells = get(p, j, CLASSES), p.cells
    a, at = get(p, j, CELLS) + n, get(p, j, LISTS) + n
    for q in range(n):
        logs[q] = 0.0
    for k in range(get(p, j, SEEN)):
        v, mine = X[r, listed(p, at + k)], cells[a : a + 3 * n]
        if abs(v) <= HUGE:
            for q in range(n):
                logs[q] += number(v, mine[q], mine[n + q], mine[2 * n + q], True)
        a += 3 * n
    at += get(p, j, SEEN)
    for k in range(get(p, j, NOMINALS)):
        v, room = X[r, listed(p, at + 2 * k)], listed(p, at + 2 * k + 1)
        for q in range(n):
            logs[q] += nominal(v, cells, a + q, room, n)
        a += n * (room + 1)
