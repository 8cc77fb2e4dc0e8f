"""How entries come into the E-tree and leave it."""

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
    Box,
    Tree,
    bound,
    choose,
    free_node,
    new_box,
    put,
    take_node,
    take_out,
    tighten,
)
from thalweg.index.e_tree_split_jit import divide, farthest
from thalweg.index.scores_jit import push
from thalweg.index.trees_jit import Boxes
from thalweg.jit.compile import called, compiled
from thalweg.pool.leaf_jit import Floats, Ints

# -- inserting --------------------------------------------------------------------------------------------------------


@compiled
def insert(tree: Tree, rules: Boxes, what: Ints, level: Ints, left: int, owed: int, treated: int, rule: int,
           share: float) -> tuple[Ints, Ints, int, int, int]:  # fmt: skip
    """Insert entries from the last to the first; stop where nodes might run out. Give what is left to call again with.

    level: of the node that an entry goes into. 0: the entry is a row of the table of rules; above: a node, which has
    lost its place, with all below it. left: entries that are to be inserted. Behind the first ``owed`` of them are
    those that lost their place to one being inserted; ``treated`` has a bit for each level at which that happened.
    share: of the entries of a node, that lose their place when it first has too many; see ``add_entry``.
    """
    tree, rules = Tree(*tree), Boxes(*rules)
    entry, links, head, domain = tree.entry, tree.links, tree.head, tree.domain
    box, work = new_box(tree), np.empty((2, entry.shape[1]))
    while left > 0:
        if len(links) - head[USED] < links[head[ROOT], LEVEL] + 3:
            return what, level, left, owed, treated
        left -= 1
        if left < owed:  # all that lost its place has one again
            owed, treated = left, 0
        row, to = what[left], level[left]
        if to > 0:
            bound(tree, row, box)
        else:
            box.lo[:], box.hi[:], box.bits[:] = rules.lo[row], rules.hi[row], rules.bits[row]
            for f in range(len(box.lo)):
                for end in (box.lo[f], box.hi[f]):
                    if -math.inf < end < math.inf:
                        domain[0, f], domain[1, f] = min(domain[0, f], end), max(domain[1, f], end)
        i = add_entry(tree, box, row, to, rule, treated if share > 0.0 else -1, work)
        if i >= 0:
            treated |= 1 << links[i, LEVEL]
            names = entry[i][farthest(tree, i, links[i, SIZE], share)]
            for k in range(len(names)):
                take_out(tree, i, names[k])
                if links[i, LEVEL] == 0:
                    tree.home[names[k]] = -1
                what, level = push(what, left, names[k]), push(level, left, links[i, LEVEL])
                left += 1
            while i != head[ROOT]:
                tighten(tree, i, box)
                i = links[i, PARENT]
    while links[head[ROOT], LEVEL] > 0 and links[head[ROOT], SIZE] == 1:
        root = head[ROOT]
        head[ROOT] = entry[root, 0]
        links[head[ROOT], PARENT] = -1
        free_node(tree, root)
    return what, level, 0, 0, 0


@called
def add_entry(tree: Tree, box: Box, what: int, level: int, rule: int, treated: int, work: Floats) -> int:
    """Insert an entry: down to the node that grows least, and where a node has too many entries divide it.

    Give a node that has too many and is not divided, as some of its entries shall find another place (the R*-tree's
    forced re-insertion); -1: there is none. It is not the root, and the first of its level: ``treated`` has a bit for
    each level at which there was one (-1: nothing is ever inserted again).
    """
    low, high, links, head = tree.low, tree.high, tree.links, tree.head
    i = head[ROOT]
    while links[i, LEVEL] > level:
        e = choose(tree, i, box, work)
        for f in range(len(box.lo)):
            low[i, f, e], high[i, f, e] = min(low[i, f, e], box.lo[f]), max(high[i, f, e], box.hi[f])
        for k in range(len(box.bits)):
            tree.flags[i, e, k] |= box.bits[k]
        i = tree.entry[i, e]
    put(tree, i, what, box)
    while links[i, SIZE] > head[MOST]:
        if i != head[ROOT] and (treated >> links[i, LEVEL]) & 1 == 0:
            return int(i)
        other = divide(tree, i, rule)
        if i == head[ROOT]:
            root = take_node(tree, links[i, LEVEL] + 1)
            head[ROOT] = root
            bound(tree, i, box)
            put(tree, root, i, box)
        else:
            tighten(tree, i, box)
        above = links[i, PARENT]
        bound(tree, other, box)
        put(tree, above, other, box)
        i = above
    return -1


# -- deleting ---------------------------------------------------------------------------------------------------------


@compiled
def delete(tree: Tree, rows: Ints) -> tuple[Ints, Ints]:
    """Delete rows, and dissolve nodes with too few entries; give what lost its place so, and the level of its node.

    All rows leave their leaves first. Then level after level the boxes of the nodes in question shrink. Entries of
    higher nodes come first: they must have their place again before what goes below them.
    """
    tree = Tree(*tree)
    links, head, home, box = tree.links, tree.head, tree.home, new_box(tree)
    seen = np.zeros(len(links), dtype=np.bool_)
    queue, n = np.empty(len(links), dtype=np.int64), 0
    for row in rows:
        i = home[row]
        home[row] = -1
        take_out(tree, i, row)
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
            tighten(tree, i, box)
            continue
        take_out(tree, above, i)
        for e in range(links[i, SIZE]):
            orphan = tree.entry[i, e]
            orphans, levels = push(orphans, lost, orphan), push(levels, lost, links[i, LEVEL])
            lost += 1
            if links[i, LEVEL] == 0:
                home[orphan] = -1
        free_node(tree, i)
    root = head[ROOT]
    if links[root, SIZE] == 0:
        links[root, LEVEL] = levels[lost - 1] if lost > 0 else 0
    return orphans[:lost][::-1].copy(), levels[:lost][::-1].copy()
