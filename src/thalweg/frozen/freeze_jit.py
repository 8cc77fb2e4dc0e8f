"""How the leaves of a living tree answer is written down, as frozen_leaf_jit.py reads it."""

import math

from thalweg.frozen.frozen_leaf_jit import CELLS, CLASSES, LISTS, NOMINALS, SEEN, Leaves, scale_of
from thalweg.jit.compile import compiled, inlined
from thalweg.pool.leaf_jit import (
    C_INV,
    C_LOG,
    C_MEAN,
    C_ROWS,
    G_CLASSES,
    L_ROOM,
    L_VALUES,
    S_BAYES_RIGHT,
    S_MAJORITY_RIGHT,
    S_NUMBERS,
    Ints,
    lanes_of,
)
from thalweg.pool.pool_jit import ADAPTIVE, BAYES, R_BAYES_FROM, R_LEAF, Tables, Trees, left_of


@inlined
def answers_by_bayes(p: Trees, i: int) -> bool:
    """Does leaf i of a pool answer by naive Bayes?"""
    slot, kind = left_of(p.nodes, i), p.rules[R_LEAF]
    return slot >= 0 and (
        (kind == ADAPTIVE and p.stats[slot, S_MAJORITY_RIGHT] <= p.stats[slot, S_BAYES_RIGHT])
        or (kind == BAYES and p.tally[i, 0] >= p.rules[R_BAYES_FROM])
    )


@compiled
def freeze(pool: Tables, origin: Ints, weight: float, sides: Ints, write: bool, tables: Leaves) -> tuple[int, int]:
    """Write down how the leaves of one tree answer; give how many cells and items that takes.

    write: False only counts. origin: each leaf's node in the pool, and its parent. sides: as in frozen_jit.py.
    """
    p = Trees(*pool)
    tally, stats, watched, layout = p.tally, p.stats, p.watched, p.layout
    leaves, plain, cells, lists = tables
    classes, cell, item = tally.shape[1] - 1, 0, 0
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
        if not answers_by_bayes(p, i):
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
        slot = left_of(p.nodes, i)
        numbers = int(stats[slot, S_NUMBERS])
        seen = 0
        for k in range(numbers):
            f, start, lanes = watched[slot, k, 0], watched[slot, k, 1], lanes_of(k, numbers)
            if f < 0 or not stats[slot, start] > 0.0:
                continue
            if write:
                lists[item + seen] = f
                for q in range(present):
                    a = start + lanes * (G_CLASSES + C_ROWS * lists[mine + q])
                    cells[cell + q] = stats[slot, a + lanes * C_MEAN]
                    cells[cell + present + q] = stats[slot, a + lanes * C_INV]
                    cells[cell + 2 * present + q] = stats[slot, a + lanes * C_LOG]
            cell += 3 * present
            seen += 1
        item += seen
        nominal = 0
        for k in range(numbers, watched.shape[1]):
            f, start = watched[slot, k, 0], watched[slot, k, 1]
            if f < 0 or stats[slot, start] == 0.0:
                continue
            if write:
                lists[item + 2 * nominal], lists[item + 2 * nominal + 1] = f, layout[L_ROOM, f]
                for v in range(layout[L_ROOM, f] + 1):
                    for q in range(present):
                        c = lists[mine + q]
                        n = stats[slot, start + 1 + c]
                        here = stats[slot, start + 1 + (1 + v) * classes + c] if v < layout[L_ROOM, f] else 0.0
                        log = math.log((here + 1.0) / (n + layout[L_VALUES, f])) if n > 0.0 else -math.inf
                        cells[cell + v * present + q] = log
            cell += (layout[L_ROOM, f] + 1) * present
            nominal += 1
        item += 2 * nominal
        if write:
            leaves[j, CLASSES], leaves[j, SEEN], leaves[j, NOMINALS] = present, seen, nominal
    return cell, item
