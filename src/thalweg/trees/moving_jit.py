"""Moving house: all trees of a pool into larger, smaller or wider tables; and putting leaves to sleep."""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, compiled
from thalweg.trees.leaf_jit import HEADER, HUGE, NUMERIC_COLUMNS, ROOM, Floats, Ints, Watched, block_size, clear_block
from thalweg.trees.tables_jit import (
    FRESH,
    H_FREE,
    H_FREE_SLOT,
    H_NODES,
    H_SLOTS,
    IDLE,
    LEAF,
    Nodes,
    arity,
    majority,
    release,
)


@compiled
def move(
    nodes: Nodes,
    tally: Floats,
    stats: Floats,
    watched: Watched,
    head: Ints,
    trees: int,
    new_nodes: Nodes,
    new_tally: Floats,
    new_stats: Floats,
    new_watched: Watched,
) -> None:
    """Copy all trees into other tables, parents before children and without gaps; free lists start empty."""
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
        new_nodes[done] = nodes[i]
        new_tally[done] = tally[i]
        left = nodes[i]["left"]
        if nodes[i]["feature"] == LEAF:
            if left >= 0:
                new_stats[n_slots] = stats[left]
                new_watched[n_slots] = watched[left]
                new_nodes[done]["left"] = n_slots
                n_slots += 1
        else:
            k = arity(nodes, i)
            new_nodes[done]["left"] = n_nodes
            for c in range(k):
                source[n_nodes + c] = left + c
            if k % 2 == 1:
                source[n_nodes + k] = -1
            n_nodes += k + k % 2
        done += 1
    head[H_NODES], head[H_FREE], head[H_SLOTS], head[H_FREE_SLOT] = n_nodes, -1, n_slots, -1


@compiled
def live(nodes: Nodes, trees: int) -> tuple[int, int]:
    """Count the nodes (in even blocks) and slots that the trees use."""
    stack = np.empty(len(nodes), dtype=np.int64)
    n_nodes, n_slots = trees, 0
    for t in range(trees):
        stack[0], depth = t, 1
        while depth > 0:
            depth -= 1
            i = stack[depth]
            left = nodes[i]["left"]
            if nodes[i]["feature"] == LEAF:
                n_slots += left >= 0
            else:
                k = arity(nodes, i)
                n_nodes += k + k % 2
                for child in range(left, left + k):
                    stack[depth] = child
                    depth += 1
    return n_nodes, n_slots


@compiled
def ration(nodes: Nodes, tally: Floats, watched: Watched, head: Ints, trees: int, keep: int) -> None:
    """Keep the ``keep`` most promising leaves awake, put the others to sleep.

    Promise is the weight that the majority class would get wrong. A sleeping leaf that makes the cut wakes afresh.
    """
    leaves = np.empty(head[H_NODES], dtype=np.int64)
    promise = np.empty(head[H_NODES])
    stack = np.empty(head[H_NODES], dtype=np.int64)
    n = 0
    for t in range(trees):
        stack[0], depth = t, 1
        while depth > 0:
            depth -= 1
            i = stack[depth]
            if nodes[i]["feature"] == LEAF:
                leaves[n] = i
                promise[n] = tally[i, 1 + majority(tally, i)] - tally[i, 0]
                n += 1
            else:
                for child in range(nodes[i]["left"], nodes[i]["left"] + arity(nodes, i)):
                    stack[depth] = child
                    depth += 1
    order = np.argsort(promise[:n], kind="mergesort")
    for rank in range(n):
        i = leaves[order[rank]]
        left = nodes[i]["left"]
        if rank < keep:
            if left == IDLE:
                nodes[i]["left"] = FRESH
        else:
            if left >= 0:
                release(watched, head, left)
            nodes[i]["left"] = IDLE


@compiled
def prune(nodes: Nodes, tally: Floats, trees: int, most: int) -> None:
    """Turn the lightest splits above leaves into leaves until the trees use at most so many nodes (in even blocks)."""
    n, _ = live(nodes, trees)
    stack = np.empty(len(nodes), dtype=np.int64)
    bottom = np.empty(len(nodes), dtype=np.int64)
    weight = np.empty(len(nodes))
    while n > most:
        found = 0
        for t in range(trees):
            stack[0], depth = t, 1
            while depth > 0:
                depth -= 1
                i = stack[depth]
                if nodes[i]["feature"] == LEAF:
                    continue
                above_leaves = True
                for child in range(nodes[i]["left"], nodes[i]["left"] + arity(nodes, i)):
                    if nodes[child]["feature"] != LEAF:
                        above_leaves = False
                    stack[depth] = child
                    depth += 1
                if above_leaves:
                    bottom[found], weight[found] = i, tally[i, 0]
                    found += 1
        if found == 0:
            return
        for k in np.argsort(weight[:found], kind="mergesort"):
            i = bottom[k]
            n -= arity(nodes, i) + arity(nodes, i) % 2
            for c in range(1, tally.shape[1]):
                tally[i, c] = 0.0
                for child in range(nodes[i]["left"], nodes[i]["left"] + arity(nodes, i)):
                    tally[i, c] += tally[child, c]
            nodes[i]["feature"] = LEAF
            nodes[i]["left"] = FRESH
            nodes[i]["threshold"] = 0.0
            if n <= most:
                return


@compiled
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

    New attributes join a leaf that watches all of them; a random-subspace leaf keeps those it has.
    """
    old = min(watched.shape[1], layout.shape[1])
    for slot in range(slots):
        for a in range(HEADER):
            new_stats[slot, a] = stats[slot, a]
        start = HEADER
        for j in range(new_watched.shape[1]):
            f = watched[slot, j, 0] if j < old else j
            new_watched[slot, j, 0] = f
            new_watched[slot, j, 1] = start
            if f < 0:  # given up
                continue
            room = new_layout[ROOM, f]
            clear_block(new_stats, slot, start, room, new_classes)
            if j < old:
                was = watched[slot, j, 1]
                columns = NUMERIC_COLUMNS if room == 0 else 1 + layout[ROOM, f]
                new_stats[slot, start] = stats[slot, was]
                for k in range(columns):
                    for c in range(classes):
                        new_stats[slot, start + 1 + k * new_classes + c] = stats[slot, was + 1 + k * classes + c]
            start += block_size(room, new_classes)


@compiled
def sound(nodes: Nodes, stats: Floats, watched: Watched, layout: Ints, head: Ints, classes: int, trees: int) -> bool:
    """Can tables that came from outside be used without leaving them? Every index is within, every node used once."""
    d = layout.shape[1]
    used = np.zeros(len(nodes), dtype=np.bool_)
    taken = np.zeros(len(stats), dtype=np.bool_)
    if not (trees <= head[H_NODES] <= len(nodes) and 0 <= head[H_SLOTS] <= len(stats)):
        return False
    for t in range(trees):
        used[t] = True
    stack = np.empty(len(nodes), dtype=np.int64)
    for t in range(trees):
        stack[0], depth = t, 1
        while depth > 0:
            depth -= 1
            i = stack[depth]
            f, left = nodes[i]["feature"], nodes[i]["left"]
            if f == LEAF:
                if left < IDLE or left >= head[H_SLOTS]:
                    return False
                if left >= 0:
                    if taken[left] or not sound_slot(stats, watched, layout, left, classes):
                        return False
                    taken[left] = True
                continue
            threshold = nodes[i]["threshold"]
            if f >= d or -2 - f >= d:
                return False
            if f < LEAF and (layout[ROOM, -2 - f] == 0 or not -HUGE < threshold < HUGE):
                return False
            k = arity(nodes, i)
            if left < trees or k < 2 or left + k > head[H_NODES]:
                return False
            for child in range(left, left + k):
                if used[child]:
                    return False
                used[child] = True
                stack[depth] = child
                depth += 1
    return sound_lists(nodes, watched, head, used, taken)


@called
def sound_slot(stats: Floats, watched: Watched, layout: Ints, slot: int, classes: int) -> bool:
    """Do the blocks of a leaf lie within its row?"""
    for j in range(watched.shape[1]):
        f, start = watched[slot, j, 0], watched[slot, j, 1]
        if f < 0:
            continue
        if f >= layout.shape[1] or start < HEADER or start + block_size(layout[ROOM, f], classes) > stats.shape[1]:
            return False
    return True


@called
def sound_lists(nodes: Nodes, watched: Watched, head: Ints, used: NDArray[np.bool_], taken: NDArray[np.bool_]) -> bool:
    """Do the free lists hold only what no tree uses, each once?"""
    i = head[H_FREE]
    while i >= 0:
        if i + 1 >= head[H_NODES] or used[i] or used[i + 1]:
            return False
        used[i] = True
        i = nodes[i]["left"]
    slot = head[H_FREE_SLOT]
    while slot >= 0:
        if slot >= head[H_SLOTS] or taken[slot]:
            return False
        taken[slot] = True
        slot = watched[slot, 0, 0]
    return True
