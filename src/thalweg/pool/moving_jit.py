"""Moving house: all trees of a pool into larger, smaller or wider tables; and looking over tables from outside."""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, compiled, hot, inlined
from thalweg.jit.random import choose
from thalweg.pool.leaf_jit import (
    HUGE,
    L_PATCH,
    L_ROOM,
    S_HEADER,
    S_NUMBERS,
    Floats,
    Ints,
    Watched,
    block_size,
    clear_block,
    clear_number,
    lanes_of,
    start_of,
)
from thalweg.pool.pool_jit import (
    ALTERNATES,
    H_FREE,
    H_FREE_SLOT,
    H_NODES,
    H_SLOTS,
    IDLE,
    KEPT,
    LEAF,
    UNLINKED,
    Links,
    Nodes,
    Trees,
    arity,
    feature_of,
    left_of,
    plant,
    release,
)

Movable = tuple[Nodes, Floats, Floats, Watched, Links, Floats, Floats]
"""The tables whose rows move: nodes, tally, stats, watched, links, marks, pairs."""


@compiled
def move(old: Movable, head: Ints, trees: int, kind: int, new: Movable) -> None:
    """Copy all trees into other tables, parents before children and without gaps; free lists start empty."""
    nodes, tally, stats, watched, links, marks, pairs = old
    new_nodes, new_tally, new_stats, new_watched, new_links, new_marks, new_pairs = new
    n_nodes, n_slots = trees, 0
    source = np.empty(len(new_nodes), dtype=np.int64)  # where new node i came from
    for t in range(trees):
        source[t] = t
    done = 0
    while done < n_nodes:
        i = source[done]
        if i < 0:  # the odd one of a block with an odd number of children
            done += 1
            continue
        left = left_of(nodes, i)
        new_nodes[done]["feature"] = nodes[i]["feature"]
        new_nodes[done]["threshold"] = nodes[i]["threshold"]
        new_nodes[done]["left"] = left
        for c in range(tally.shape[1]):
            new_tally[done, c] = tally[i, c]
        for c in range(marks.shape[1]):
            new_marks[done, c] = marks[i, c]
        if feature_of(nodes, i) == LEAF:
            if left >= 0:
                move_slot(stats, watched, left, new_stats, new_watched, n_slots)
                new_nodes[done]["left"] = n_slots
                n_slots += 1
        else:
            k = arity(nodes, i)
            new_nodes[done]["left"] = n_nodes
            for c in range(k):
                source[n_nodes + c] = left + c
            if k % 2 == 1:
                source[n_nodes + k] = -1
            move_pair(pairs, (left - trees) // 2, new_pairs, (n_nodes - trees) // 2)
            n_nodes += k + k % 2
            if kind != UNLINKED:
                new_links[done] = links[i]
            if kind == ALTERNATES and links[i] >= 0:
                new_links[done] = n_nodes
                source[n_nodes], source[n_nodes + 1] = links[i], -1
                move_pair(pairs, (links[i] - trees) // 2, new_pairs, (n_nodes - trees) // 2)
                n_nodes += 2
            elif kind == KEPT and links[i] >= 0:
                move_slot(stats, watched, links[i], new_stats, new_watched, n_slots)
                new_links[done] = n_slots
                n_slots += 1
        done += 1
    head[H_NODES], head[H_FREE], head[H_SLOTS], head[H_FREE_SLOT] = n_nodes, -1, n_slots, -1


@inlined
def move_slot(
    stats: Floats, watched: Watched, slot: int, new_stats: Floats, new_watched: Watched, new_slot: int
) -> None:
    """Copy one slot."""
    for a in range(stats.shape[1]):
        new_stats[new_slot, a] = stats[slot, a]
    for j in range(watched.shape[1]):
        new_watched[new_slot, j, 0] = watched[slot, j, 0]
        new_watched[new_slot, j, 1] = watched[slot, j, 1]


@inlined
def move_pair(pairs: Floats, k: int, new_pairs: Floats, new_k: int) -> None:
    """Copy what is kept for one pair of nodes; nothing in a pool that keeps nothing."""
    for a in range(pairs.shape[1]):
        new_pairs[new_k, a] = pairs[k, a]


@compiled
def live(nodes: Nodes, trees: int, kind: int, links: Links) -> tuple[int, int]:
    """Count the nodes (in even blocks) and slots that the trees use, with what they are linked to."""
    stack = np.empty(len(nodes), dtype=np.int64)
    n_nodes, n_slots = trees, 0
    for t in range(trees):
        stack[0], depth = t, 1
        while depth > 0:
            depth -= 1
            i = stack[depth]
            left = left_of(nodes, i)
            if feature_of(nodes, i) == LEAF:
                n_slots += left >= 0
            else:
                k = arity(nodes, i)
                n_nodes += k + k % 2
                for child in range(left, left + k):
                    stack[depth] = child
                    depth += 1
                if kind == ALTERNATES and links[i] >= 0:
                    n_nodes += 2
                    stack[depth] = links[i]
                    depth += 1
                elif kind == KEPT and links[i] >= 0:
                    n_slots += 1
    return n_nodes, n_slots


@hot
def relayout(
    stats: Floats,
    watched: Watched,
    layout: Ints,
    classes: int,
    new_stats: Floats,
    new_watched: Watched,
    new_layout: Ints,
    new_classes: int,
    slots: int,
) -> None:
    """Copy the first slots, all in use, into rows with more room for classes, values or attributes.

    New attributes join a leaf that watches all of them; a random-subspace leaf keeps those it has, and if leaves are to
    watch more from now on, the rest of its list is given up.
    """
    old, d = min(watched.shape[1], layout.shape[1]), layout.shape[1]
    joined = range(d, max(d, min(new_watched.shape[1], new_layout.shape[1])) if old == d else d)
    for slot in range(slots):
        for a in range(S_HEADER):
            new_stats[slot, a] = stats[slot, a]
        was = int(stats[slot, S_NUMBERS])
        numbers = was
        for f in joined:
            numbers += new_layout[L_ROOM, f] == 0
        new_stats[slot, S_NUMBERS] = numbers
        for j in range(new_watched.shape[1]):
            new_watched[slot, j, 0], new_watched[slot, j, 1] = -1, S_HEADER
        for j in range(was):
            new_watched[slot, j, 0] = watched[slot, j, 0]
        for j in range(was, old):
            new_watched[slot, j + numbers - was, 0] = watched[slot, j, 0]
        n, j = was, old + numbers - was
        for f in joined:
            if new_layout[L_ROOM, f] == 0:
                new_watched[slot, n, 0] = f
                n += 1
            else:
                new_watched[slot, j, 0] = f
                j += 1
        for j in range(numbers):
            start, lanes = start_of(j, new_classes), lanes_of(j, numbers)
            new_watched[slot, j, 1] = start
            clear_number(new_stats, slot, start, lanes, new_classes)
            if j < was:
                for k in range(block_size(0, classes)):
                    a = start_of(j, classes) + k * lanes_of(j, was)
                    new_stats[slot, start + k * lanes] = stats[slot, a]
        start = S_HEADER + numbers * block_size(0, new_classes)
        for j in range(numbers, new_watched.shape[1]):
            f = new_watched[slot, j, 0]
            new_watched[slot, j, 1] = start
            if f < 0:  # given up
                continue
            clear_block(new_stats, slot, start, new_layout[L_ROOM, f], new_classes)
            if f < d:
                a = watched[slot, j - numbers + was, 1]
                new_stats[slot, start] = stats[slot, a]
                for k in range(1 + layout[L_ROOM, f]):
                    for c in range(classes):
                        new_stats[slot, start + 1 + k * new_classes + c] = stats[slot, a + 1 + k * classes + c]
            start += block_size(new_layout[L_ROOM, f], new_classes)


@compiled
def sound(
    nodes: Nodes,
    stats: Floats,
    watched: Watched,
    layout: Ints,
    head: Ints,
    classes: int,
    trees: int,
    kind: int,
    links: Links,
) -> bool:
    """Can tables that came from outside be used without leaving them? Every index is within, every node used once.

    Their shapes and the cells of ``head`` are as declared. Nodes but roots lie in pairs, and a pair has one owner: the
    node that has its children there, the node whose alternate it holds, or the free list.
    """
    d = layout.shape[1]
    used = np.zeros(len(nodes), dtype=np.bool_)
    taken = np.zeros(len(stats), dtype=np.bool_)
    met = np.full(d, -1, dtype=np.int64)  # the slot in which an attribute was met last
    numeric = 0
    for f in range(d):
        numeric += int(layout[L_ROOM, f] == 0)
    if (head[H_NODES] - trees) % 2 != 0:
        return False
    stack = np.empty(len(nodes), dtype=np.int64)
    for t in range(trees):
        used[t] = True
        stack[t] = t
    depth = trees
    while depth > 0:
        depth -= 1
        i = stack[depth]
        f, left = feature_of(nodes, i), left_of(nodes, i)
        if f == LEAF:
            if left < IDLE or (
                left >= 0 and not take_slot(stats, watched, layout, head, left, classes, numeric, taken, met)
            ):
                return False
            continue
        threshold = nodes[i]["threshold"]
        if f >= d or -2 - f >= d:
            return False
        if f < LEAF and (layout[L_ROOM, -2 - f] == 0 or not -len(nodes) <= threshold < HUGE):
            return False
        if f < LEAF and threshold != math.floor(threshold):
            return False
        k = arity(nodes, i)
        if k < 2 or not take_block(head, left, k, trees, used):
            return False
        for child in range(left, left + k):
            stack[depth] = child
            depth += 1
        if kind == UNLINKED or links[i] < 0:
            continue
        link = int(np.int64(links[i]))
        if kind == ALTERNATES:
            if not take_block(head, link, 2, trees, used):
                return False
            stack[depth] = link
            depth += 1
        elif not take_slot(stats, watched, layout, head, link, classes, numeric, taken, met):
            return False
    return sound_lists(nodes, watched, head, trees, used, taken)


@called
def take_block(head: Ints, first: int, k: int, trees: int, used: NDArray[np.bool_]) -> bool:
    """Are these k nodes side by side whole pairs that nobody uses? From now on they are used."""
    end = first + k + k % 2
    if first < trees or (first - trees) % 2 != 0 or end > head[H_NODES]:
        return False
    for i in range(first, end):
        if used[i]:
            return False
        used[i] = True
    return True


@called
def take_slot(stats: Floats, watched: Watched, layout: Ints, head: Ints, slot: int, classes: int, numeric: int,
              taken: NDArray[np.bool_], met: Ints) -> bool:  # fmt: skip
    """Is this a sound slot that nobody uses? From now on it is used."""
    if slot >= head[H_SLOTS] or taken[slot] or not sound_slot(stats, watched, layout, slot, classes, numeric, met):
        return False
    taken[slot] = True
    return True


@called
def sound_slot(stats: Floats, watched: Watched, layout: Ints, slot: int, classes: int, numeric: int, met: Ints) -> bool:
    """Do the cells of a leaf lie within its row, those of numeric attributes where they belong?

    No attribute is watched twice, so that the leaf fits into a row however much room attributes get.
    """
    m, d = watched.shape[1], layout.shape[1]
    cell = stats[slot, S_NUMBERS]
    if not 0.0 <= cell <= min(m, numeric) or cell != math.floor(cell):
        return False
    numbers = int(cell)
    behind = S_HEADER + numbers * block_size(0, classes)
    if behind > stats.shape[1]:
        return False
    for j in range(m):
        f, start = watched[slot, j, 0], watched[slot, j, 1]
        if f >= d or (f >= 0 and met[f] == slot):
            return False
        if f >= 0:
            met[f] = slot
        if j < numbers:
            if start != start_of(j, classes) or (f >= 0 and layout[L_ROOM, f] > 0):
                return False
        elif f >= 0:
            room = layout[L_ROOM, f]
            if room == 0 or start < behind or start + block_size(room, classes) > stats.shape[1]:
                return False
    return True


@called
def sound_lists(
    nodes: Nodes, watched: Watched, head: Ints, trees: int, used: NDArray[np.bool_], taken: NDArray[np.bool_]
) -> bool:
    """Do the free lists hold only what no tree uses, each once?"""
    i = head[H_FREE]
    while i >= 0:
        if not take_block(head, i, 2, trees, used):
            return False
        i = np.int64(left_of(nodes, i))
    slot = head[H_FREE_SLOT]
    while slot >= 0:
        if slot >= head[H_SLOTS] or taken[slot]:
            return False
        taken[slot] = True
        slot = np.int64(watched[slot, 0, 0])
    return True


# -- freeing ---------------------------------------------------------------------------------------------------------


@called
def draw_patch(p: Trees, t: int) -> None:
    """Choose the attributes that tree t may watch from now on."""
    if p.layout.shape[0] > L_PATCH:
        chosen = np.empty(p.watched.shape[1], dtype=np.int64)
        choose(p.rng, t, p.layout.shape[1], chosen)
        p.layout[L_PATCH + t, :] = 0
        for f in chosen:
            p.layout[L_PATCH + t, f] = 1


@called
def clear_tree(p: Trees, t: int) -> None:
    """Make tree t a single leaf that has seen nothing; its nodes and slots are free for others."""
    free_below(p, np.empty(0, dtype=np.int32), UNLINKED, t)
    plant(p, t)


@called
def free_below(p: Trees, links: Links, kind: int, root: int) -> None:
    """Free all nodes and slots below a node, and what they are linked to; the node itself must be rewritten."""
    stack = np.empty(p.head[H_NODES], dtype=np.int64)
    freed = np.empty(p.head[H_NODES], dtype=np.int64)
    n_freed = 0
    stack[0], depth = root, 1
    while depth > 0:
        depth -= 1
        i = stack[depth]
        left = left_of(p.nodes, i)
        if feature_of(p.nodes, i) == LEAF:
            if left >= 0:
                release(p.watched, p.head, left)
            continue
        for pair in range(left, left + arity(p.nodes, i), 2):
            freed[n_freed] = pair
            n_freed += 1
        for child in range(left, left + arity(p.nodes, i)):
            stack[depth] = child
            depth += 1
        if kind == ALTERNATES and links[i] >= 0:
            freed[n_freed] = links[i]
            n_freed += 1
            stack[depth] = links[i]
            depth += 1
        elif kind == KEPT and links[i] >= 0:
            release(p.watched, p.head, links[i])
    for k in range(n_freed):  # the free list runs through the nodes: only now that all are read
        p.nodes[freed[k]]["left"] = p.head[H_FREE]
        p.head[H_FREE] = freed[k]
