"""How entries come into the E-tree and leave it. The tables are those of e_tree_jit.py."""

import math

import numpy as np

from thalweg.index.e_tree_nodes_jit import (
    LEAST,
    LEVEL,
    MOST,
    PARENT,
    ROOT,
    SIZE,
    USED,
    bound,
    choose,
    free_node,
    put,
    take_node,
    take_out,
    tighten,
    where,
)
from thalweg.index.e_tree_split_jit import divide, farthest
from thalweg.index.scores_jit import push
from thalweg.index.trees_jit import Bits
from thalweg.jit.compile import called, compiled
from thalweg.pool.leaf_jit import Floats, Ints

# -- inserting --------------------------------------------------------------------------------------------------------


@compiled
def insert(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, home: Ints, domain: Floats,
           values: Ints, at: Ints, lo: Floats, hi: Floats, bits: Bits, what: Ints, level: Ints, left: int, owed: int,
           treated: int, rule: int, share: float) -> tuple[Ints, Ints, int, int, int]:  # fmt: skip
    """Insert entries from the last to the first; stop where nodes might run out. Give what is left to call again with.

    level: of the node that an entry goes into. 0: the entry is a row of the table of rules; above: a node, which has
    lost its place, with all below it. left: entries that are to be inserted. Behind the first ``owed`` of them are
    those that lost their place to one being inserted; ``treated`` has a bit for each level at which that happened.
    share: of the entries of a node, that lose their place when it first has too many; see ``add_entry``.
    """
    work = np.empty((2, entry.shape[1]))
    a, b, c = np.empty(len(values)), np.empty(len(values)), np.empty(bits.shape[1], dtype=np.uint64)
    while left > 0:
        if len(links) - head[USED] < links[head[ROOT], LEVEL] + 3:
            return what, level, left, owed, treated
        left -= 1
        if left < owed:  # all that lost its place has one again
            owed, treated = left, 0
        row, to = what[left], level[left]
        if to > 0:
            bound(low, high, flags, links, row, a, b, c)
        else:
            a[:], b[:], c[:] = lo[row], hi[row], bits[row]
            for f in range(len(values)):
                for end in (a[f], b[f]):
                    if -math.inf < end < math.inf:
                        domain[0, f], domain[1, f] = min(domain[0, f], end), max(domain[1, f], end)
        i = add_entry(low, high, flags, entry, links, head, home, domain, values, at, a, b, c, row, to, rule,
                      treated if share > 0.0 else -1, work)  # fmt: skip
        if i >= 0:
            treated |= 1 << links[i, LEVEL]
            gone = farthest(low, high, flags, values, at, domain, i, links[i, SIZE], share)
            names = entry[i][gone]
            for k in range(len(names)):
                take_out(low, high, flags, entry, links, i, where(entry, links, i, names[k]))
                if links[i, LEVEL] == 0:
                    home[names[k]] = -1
                what, level = push(what, left, names[k]), push(level, left, links[i, LEVEL])
                left += 1
            while i != head[ROOT]:
                tighten(low, high, flags, entry, links, i, a, b, c)
                i = links[i, PARENT]
    while links[head[ROOT], LEVEL] > 0 and links[head[ROOT], SIZE] == 1:
        root = head[ROOT]
        head[ROOT] = entry[root, 0]
        links[head[ROOT], PARENT] = -1
        free_node(links, head, root)
    return what, level, 0, 0, 0


@called
def add_entry(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, home: Ints, domain: Floats,
              values: Ints, at: Ints, lo: Floats, hi: Floats, bits: Bits, what: int, level: int, rule: int,
              treated: int, work: Floats) -> int:  # fmt: skip
    """Insert an entry: down to the node that grows least, and where a node has too many entries divide it.

    Give a node that has too many and is not divided, as some of its entries shall find another place (the R*-tree's
    forced re-insertion); -1: there is none. It is not the root, and the first of its level: ``treated`` has a bit for
    each level at which there was one (-1: nothing is ever inserted again).
    """
    i = head[ROOT]
    while links[i, LEVEL] > level:
        e = choose(low, high, flags, entry, links, values, at, domain, i, lo, hi, bits, work)
        for f in range(len(lo)):
            low[i, f, e], high[i, f, e] = min(low[i, f, e], lo[f]), max(high[i, f, e], hi[f])
        for k in range(len(bits)):
            flags[i, e, k] |= bits[k]
        i = entry[i, e]
    put(low, high, flags, entry, links, home, i, what, lo, hi, bits)
    while links[i, SIZE] > head[MOST]:
        if i != head[ROOT] and (treated >> links[i, LEVEL]) & 1 == 0:
            return int(i)
        other = divide(low, high, flags, entry, links, head, home, domain, values, at, i, rule)
        if i == head[ROOT]:
            root = take_node(low, high, flags, links, head, links[i, LEVEL] + 1)
            head[ROOT] = root
            bound(low, high, flags, links, i, lo, hi, bits)
            put(low, high, flags, entry, links, home, root, i, lo, hi, bits)
        else:
            tighten(low, high, flags, entry, links, i, lo, hi, bits)
        above = links[i, PARENT]
        bound(low, high, flags, links, other, lo, hi, bits)
        put(low, high, flags, entry, links, home, above, other, lo, hi, bits)
        i = above
    return -1


# -- deleting ---------------------------------------------------------------------------------------------------------


@compiled
def delete(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, home: Ints,
           rows: Ints) -> tuple[Ints, Ints]:  # fmt: skip
    """Delete rows, and dissolve nodes with too few entries; give what lost its place so, and the level of its node.

    All rows leave their leaves first. Then level after level the boxes of the nodes in question shrink. Entries of
    higher nodes come first: they must have their place again before what goes below them.
    """
    d, width = low.shape[1], flags.shape[2]
    lo, hi, bits = np.empty(d), np.empty(d), np.empty(width, dtype=np.uint64)
    seen = np.zeros(len(links), dtype=np.bool_)
    queue, n = np.empty(len(links), dtype=np.int64), 0
    for row in rows:
        i = home[row]
        home[row] = -1
        take_out(low, high, flags, entry, links, i, where(entry, links, i, row))
        if not seen[i]:
            seen[i] = True
            queue[n] = i
            n += 1
    orphans, levels, lost, done = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64), 0, 0
    while done < n:  # parents join behind all nodes of a lower level
        i = queue[done]
        done += 1
        if i == head[ROOT]:
            continue
        above = links[i, PARENT]
        if not seen[above]:
            seen[above] = True
            queue[n] = above
            n += 1
        if links[i, SIZE] >= head[LEAST]:
            tighten(low, high, flags, entry, links, i, lo, hi, bits)
            continue
        take_out(low, high, flags, entry, links, above, where(entry, links, above, i))
        for e in range(links[i, SIZE]):
            orphans, levels = push(orphans, lost, entry[i, e]), push(levels, lost, links[i, LEVEL])
            lost += 1
            if links[i, LEVEL] == 0:
                home[entry[i, e]] = -1
        free_node(links, head, i)
    root = head[ROOT]
    if links[root, SIZE] == 0:
        links[root, LEVEL] = levels[lost - 1] if lost > 0 else 0
    return orphans[:lost][::-1].copy(), levels[:lost][::-1].copy()
