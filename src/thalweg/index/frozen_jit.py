"""A forest as it is at one moment, laid out for answering.

| table  | shape        | dtype   | meaning |
| packed | nodes        | PACKED  | all trees, each packed as in trees_jit.py |
| leaf   | nodes        | uint32  | the number of a leaf; NO_LEAF: an inner node |
| trees  | trees × 3    | int64   | ROOT; SHARD: trees of a shard are added up first, as the living forest does; FIRST |
|        |              |         | of its leaves |
| weight | trees        | float64 | of each tree's vote; -1: votes are not scaled, as a tree by itself answers |
| sides  | trees × C    | int64   | which of the votes of its leaves is for class c (-1: none); no rows: the same as c |
| leaves | leaves × 5   | uint32  | CLASSES that vote by naive Bayes (0: it answers with ``plain``), numbers SEEN and |
|        |              |         | NOMINALS that it looks at, where its CELLS and its LISTS begin |
| plain  | leaves+1 × C | float64 | its answer by class weights, scaled to the weight of its tree; the last row is 0 |
| cells  | –            | float64 | of a leaf with K classes: K weights; for each number K means, K times 1/(2σ²), K |
|        |              |         | logarithms; for each value of each nominal, and then all others, K logarithms |
| lists  | –            | uint32  | of a leaf: its classes, its numbers, its nominals each with the room for values |
"""

import math

import numpy as np

from thalweg.index.batch_jit import BLOCK, find_ahead, find_all
from thalweg.index.ranks_jit import Ranks, find_ranked, rank_rows
from thalweg.index.trees_jit import Whole
from thalweg.jit.compile import compiled, hot, inlined
from thalweg.trees.leaf_jit import (
    BAYES_RIGHT,
    HUGE,
    INV,
    LOG,
    MAJORITY_RIGHT,
    MEAN,
    NUMBERS,
    NUMERIC_COLUMNS,
    OWN,
    ROOM,
    VALUES,
    Floats,
    Ints,
    Watched,
    lanes_of,
)
from thalweg.trees.tables_jit import ADAPTIVE, BAYES, R_BAYES_FROM, R_LEAF, Nodes, left_of

ROOT, SHARD, FIRST = 0, 1, 2
FEW = 16  # rows that are not worth sorting by their leaves
CLASSES, SEEN, NOMINALS, CELLS, LISTS, COLUMNS = 0, 1, 2, 3, 4, 5


# -- freezing ---------------------------------------------------------------------------------------------------------


@inlined
def answers_by_bayes(nodes: Nodes, tally: Floats, stats: Floats, rules: Floats, i: int) -> bool:
    """Does leaf i of a pool answer by naive Bayes?"""
    slot, kind = left_of(nodes, i), rules[R_LEAF]
    return slot >= 0 and (
        (kind == ADAPTIVE and stats[slot, MAJORITY_RIGHT] <= stats[slot, BAYES_RIGHT])
        or (kind == BAYES and tally[i, 0] >= rules[R_BAYES_FROM])
    )


@inlined
def scale_of(weight: float, total: float) -> float:
    """What votes with this sum are multiplied by."""
    return weight / total if weight >= 0.0 else 1.0


@compiled
def freeze(nodes: Nodes, tally: Floats, stats: Floats, watched: Watched, layout: Ints, rules: Floats, origin: Ints,
           weight: float, sides: Ints, write: bool, leaves: Whole, plain: Floats, cells: Floats, lists: Whole,
           cell: int, item: int) -> tuple[int, int]:  # fmt: skip
    """Write down how the leaves of one tree answer, cells and lists from where they begin; give where they end.

    write: False only counts. origin: each leaf's node in the pool, and its parent. sides: as in the table above.
    """
    classes = tally.shape[1] - 1
    for j in range(len(origin)):
        i, parent = origin[j, 0], origin[j, 1]
        if write:
            leaves[j, :] = 0
            leaves[j, CELLS], leaves[j, LISTS] = cell, item
            source = parent if parent >= 0 and tally[i, 0] == 0.0 else i
            total = 0.0
            for c in range(classes):
                total += tally[source, 1 + c]
            for c in range(plain.shape[1]):
                side = sides[c]
                plain[j, c] = tally[source, 1 + side] * scale_of(weight, total) if total > 0.0 and side >= 0 else 0.0
        if not answers_by_bayes(nodes, tally, stats, rules, i):
            continue
        present = 0
        for c in range(classes):
            present += tally[i, 1 + c] > 0.0
        if present < 2:  # one class alone: naive Bayes says what the class weights say
            continue
        mine = item
        if write:
            q = 0
            for c in range(classes):
                if tally[i, 1 + c] > 0.0:
                    lists[item + q], cells[cell + q] = c, tally[i, 1 + c]
                    q += 1
        item, cell = item + present, cell + present
        slot = left_of(nodes, i)
        numbers = int(stats[slot, NUMBERS])
        seen = 0
        for k in range(numbers):
            f, start, lanes = watched[slot, k, 0], watched[slot, k, 1], lanes_of(k, numbers)
            if f < 0 or not stats[slot, start] > 0.0:
                continue
            if write:
                lists[item + seen] = f
                for q in range(present):
                    a = start + lanes * (OWN + NUMERIC_COLUMNS * lists[mine + q])
                    cells[cell + q] = stats[slot, a + lanes * MEAN]
                    cells[cell + present + q] = stats[slot, a + lanes * INV]
                    cells[cell + 2 * present + q] = stats[slot, a + lanes * LOG]
            cell += 3 * present
            seen += 1
        item += seen
        nominal = 0
        for k in range(numbers, watched.shape[1]):
            f, start = watched[slot, k, 0], watched[slot, k, 1]
            if f < 0 or stats[slot, start] == 0.0:
                continue
            if write:
                lists[item + 2 * nominal], lists[item + 2 * nominal + 1] = f, layout[ROOM, f]
                for v in range(layout[ROOM, f] + 1):
                    for q in range(present):
                        c = lists[mine + q]
                        n = stats[slot, start + 1 + c]
                        here = stats[slot, start + 1 + (1 + v) * classes + c] if v < layout[ROOM, f] else 0.0
                        log = math.log((here + 1.0) / (n + layout[VALUES, f])) if n > 0.0 else -math.inf
                        cells[cell + v * present + q] = log
            cell += (layout[ROOM, f] + 1) * present
            nominal += 1
        item += 2 * nominal
        if write:
            leaves[j, CLASSES], leaves[j, SEEN], leaves[j, NOMINALS] = present, seen, nominal
    return cell, item


# -- answering --------------------------------------------------------------------------------------------------------


@inlined
def term(v: float, mean: float, inv: float, log: float) -> float:
    """ln p(v | c) of a number."""
    off = v - mean
    square = off * off
    return log - (square * inv if square > 0.0 else 0.0)


@inlined
def small(distance: float) -> float:
    """e^(-distance), for a distance ≥ 0; beyond 746 it is 0, which takes the library's function long to find out."""
    near = distance < 746.0
    power = math.exp(-distance if near else 0.0)
    return power if near else 0.0


@inlined
def get(table: Whole, j: int, k: int) -> int:
    """Cell k of row j."""
    return int(np.int64(table[j, k]))


@inlined
def ask_two(leaves: Whole, cells: Floats, lists: Whole, j: int, X: Floats, begin: int, rows: Ints,
            logs: Floats) -> None:  # fmt: skip
    """Sum up the logarithms of a leaf with two classes for all of its rows, four or eight rows at a time.

    They go to logs[0] and logs[1]; logs[2] is for work.
    """
    a, at, n = get(leaves, j, CELLS) + 2, get(leaves, j, LISTS) + 2, len(rows)
    first, second, x = logs[0, :n], logs[1, :n], logs[2, :n]
    for q in range(n):
        first[q], second[q] = 0.0, 0.0
    for k in range(get(leaves, j, SEEN)):
        f = np.int64(lists[at + k])
        for q in range(n):
            x[q] = X[begin + rows[q], f]
        m0, m1, i0, i1, l0, l1 = cells[a], cells[a + 1], cells[a + 2], cells[a + 3], cells[a + 4], cells[a + 5]
        for q in range(len(x)):
            first[q] += term(x[q], m0, i0, l0) if abs(x[q]) <= HUGE else 0.0
        for q in range(len(x)):
            second[q] += term(x[q], m1, i1, l1) if abs(x[q]) <= HUGE else 0.0
        a += 6
    at += get(leaves, j, SEEN)
    for k in range(get(leaves, j, NOMINALS)):
        f, room = np.int64(lists[at + 2 * k]), int(np.int64(lists[at + 2 * k + 1]))
        for q in range(n):
            v = X[begin + rows[q], f]
            if abs(v) <= HUGE:
                here = a + 2 * (int(v) if v < room else room)
                first[q] += cells[here]
                second[q] += cells[here + 1]
        a += 2 * (room + 1)


@inlined
def ask(leaves: Whole, cells: Floats, lists: Whole, j: int, X: Floats, r: int, logs: Floats) -> None:
    """Sum up the logarithms of a leaf for each of its classes."""
    n = get(leaves, j, CLASSES)
    a, at = get(leaves, j, CELLS) + n, get(leaves, j, LISTS) + n
    for q in range(n):
        logs[q] = 0.0
    for k in range(get(leaves, j, SEEN)):
        v = X[r, np.int64(lists[at + k])]
        if abs(v) <= HUGE:
            mine = cells[a : a + 3 * n]
            for q in range(n):
                logs[q] += term(v, mine[q], mine[n + q], mine[2 * n + q])
        a += 3 * n
    at += get(leaves, j, SEEN)
    for k in range(get(leaves, j, NOMINALS)):
        v, room = X[r, np.int64(lists[at + 2 * k])], int(np.int64(lists[at + 2 * k + 1]))
        if abs(v) <= HUGE:
            here = a + n * (int(v) if v < room else room)
            for q in range(n):
                logs[q] += cells[here + q]
        a += n * (room + 1)


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
def add_plain(plain: Floats, j: int, part: Floats, k: int) -> None:
    """Add the answer of leaf j by class weights to row k of ``part``."""
    for c in range(part.shape[1]):
        part[k, c] += plain[j, c]


@inlined
def add_two(leaves: Whole, plain: Floats, cells: Floats, lists: Whole, sides: Ints, t: int, weight: float, j: int,
            X: Floats, begin: int, rows: Ints, logs: Floats, part: Floats) -> None:  # fmt: skip
    """Add the answers of leaf j of tree t, of two classes, to its rows."""
    ask_two(leaves, cells, lists, j, X, begin, rows, logs)
    a, at = get(leaves, j, CELLS), get(leaves, j, LISTS)
    n0, n1, c0, c1 = cells[a], cells[a + 1], np.int64(lists[at]), np.int64(lists[at + 1])
    for q in range(len(rows)):
        k, first, second = rows[q], logs[0, q], logs[1, q]
        least = small(abs(first - second))
        one, other = n0 * (least if first < second else 1.0), n1 * (least if second < first else 1.0)
        if not abs(first - second) >= 0.0:  # both are -∞, or not a number
            one, other = n0 if first > -math.inf else 0.0, n1 if second > -math.inf else 0.0
            if one + other == 0.0:
                add_plain(plain, j, part, k)
                continue
        scale = scale_of(weight, one + other)
        if len(sides) == 0:
            part[k, c0] += one * scale
            part[k, c1] += other * scale
            continue
        for c in range(part.shape[1]):
            if sides[t, c] == c0:
                part[k, c] += one * scale
            elif sides[t, c] == c1:
                part[k, c] += other * scale


@inlined
def add_many(leaves: Whole, plain: Floats, cells: Floats, lists: Whole, weight: float, j: int, X: Floats, r: int,
             logs: Floats, part: Floats, k: int) -> None:  # fmt: skip
    """The same of more than two classes; these are never sides."""
    total = vote(leaves, cells, lists, j, X, r, logs)
    if not total > 0.0:
        add_plain(plain, j, part, k)
        return
    scale, at = scale_of(weight, total), get(leaves, j, LISTS)
    for q in range(get(leaves, j, CLASSES)):
        part[k, np.int64(lists[at + q])] += logs[q] * scale


@inlined
def add_all(leaves: Whole, plain: Floats, cells: Floats, lists: Whole, sides: Ints, t: int, weight: float, base: int,
            X: Floats, begin: int, n: int, logs: Floats, part: Floats, work: Ints) -> None:  # fmt: skip
    """Add the answers of tree t, whose first leaf is ``base``, to n rows whose leaves are work[0].

    First the answers that are ready; then those of leaves with two classes, leaf after leaf; then all others.
    """
    at, two, many, order, ends = work[0], work[1], work[2], work[3], work[4]
    pairs, more, most, last = 0, 0, 0, len(plain) - 1
    for k in range(n):
        j = at[k]
        classes = get(leaves, j, CLASSES)
        add_plain(plain, j if classes == 0 else last, part, k)
        two[pairs], many[more] = k, k
        pairs += classes == 2
        more += classes > 2
        most = max(most, j - base)
    if pairs < FEW:
        order = two
    else:
        for i in range(most + 1):
            ends[i] = 0
        for q in range(pairs):
            ends[at[two[q]] - base] += 1
        total = 0
        for i in range(most + 1):
            total += ends[i]
            ends[i] = total - ends[i]
        for q in range(pairs):
            i = at[two[q]] - base
            order[ends[i]] = two[q]
            ends[i] += 1
    done = 0
    while done < pairs:
        j, end = at[order[done]], done + 1
        while end < pairs and at[order[end]] == j:
            end += 1
        add_two(leaves, plain, cells, lists, sides, t, weight, j, X, begin, order[done:end], logs, part)
        done = end
    for q in range(more):
        k = many[q]
        add_many(leaves, plain, cells, lists, weight, at[k], X, begin + k, logs[0], part, k)


@hot
def answer(packed: Nodes, leaf: Whole, trees: Ints, weight: Floats, sides: Ints, leaves: Whole, plain: Floats,
           cells: Floats, lists: Whole, ranked: Nodes, cuts: Floats, columns: Ints, X: Floats, out: Floats,
           part: Floats, logs: Floats, work: Ints, ahead: Ints, ranks: Ranks) -> None:  # fmt: skip
    """Fill ``out`` with the probabilities of each row.

    For work, with n = min(BLOCK, rows): part: n × C, logs: 3 × max(n, C), work: 5 × max(n + 1, leaves of a tree),
    ahead: 8 × trees, ranks: n × 2 columns. Few rows are not worth ranking.
    """
    classes = out.shape[1]
    for begin in range(0, len(X), BLOCK):
        n = min(BLOCK, len(X) - begin)
        part[:n, :] = 0.0
        shard = 0
        if n < len(ahead):
            for k in range(n):
                find_ahead(packed, leaf, trees, X, begin + k, ahead[k])
        elif len(ranked) > 0:
            rank_rows(cuts, columns, X, begin, n, ranks)
        for t in range(len(trees)):
            if trees[t, SHARD] != shard:
                close(part, out, begin, n, shard == 0)
                shard = trees[t, SHARD]
            if n < len(ahead):
                for k in range(n):
                    work[0, k] = ahead[k, t]
            elif len(ranked) > 0:
                find_ranked(ranked, leaf, trees[t, ROOT], ranks, n, work[0])
            else:
                find_all(packed, leaf, trees[t, ROOT], X, begin, n, work[0])
            add_all(leaves, plain, cells, lists, sides, t, weight[t], trees[t, FIRST], X, begin, n, logs, part, work)
        close(part, out, begin, n, shard == 0)
        for r in range(begin, begin + n):
            total = 0.0
            for c in range(classes):
                total += out[r, c]
            for c in range(classes):
                out[r, c] = out[r, c] / total if total > 0.0 else 1.0 / classes


@inlined
def close(part: Floats, out: Floats, begin: int, n: int, first: bool) -> None:
    """Add what the trees of a shard said to what was said before."""
    for k in range(n):
        for c in range(out.shape[1]):
            out[begin + k, c] = part[k, c] if first else out[begin + k, c] + part[k, c]
            part[k, c] = 0.0
