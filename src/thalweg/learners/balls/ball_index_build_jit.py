"""How the tree of ball_index_jit.py is made of many points at once: cut in halves along the widest feature."""

import math

from thalweg.jit.compile import hot, inlined
from thalweg.learners.balls.ball_index_jit import (
    I_NODES,
    I_ROOT,
    I_SIZE,
    I_TILES,
    N_LEVEL,
    N_PARENT,
    T_HELD,
    Index,
)
from thalweg.learners.balls.ball_index_update_jit import box_node, box_tile, hang, longest, new_node, put
from thalweg.learners.balls.tiles_jit import LANES, Floats, Ints


@hot
def make(index: Index, order: Ints, tasks: Ints, spread: Floats, tree: bool, per_tile: int,
         per_node: int) -> None:  # fmt: skip
    """Put the points of ``order`` in cleared tables: in full tiles, or as a tree. tasks: room for parts to be cut."""
    index = Index(*index)
    head, nodes, leaves, points, n = index.head, index.nodes, index.leaves, index.points, len(order)
    head[I_SIZE] = n
    if not tree:
        for i in range(n):
            put(index, order[i], i // LANES, i % LANES)
            leaves[i // LANES, T_HELD] += 1
        head[I_TILES] = (n + LANES - 1) // LANES
        return
    level, most = 0, per_tile * per_node
    while most < n:
        level, most = level + 1, most * per_node
    head[I_ROOT] = new_node(index, level)
    waiting = add_task(tasks, 0, 0, n, 0, head[I_ROOT])
    while waiting > 0:
        waiting -= 1
        a, b, parts, node = tasks[waiting, 0], tasks[waiting, 1], tasks[waiting, 2], tasks[waiting, 3]
        level = nodes[node, N_LEVEL]
        each = per_tile
        for _ in range(level):
            each *= per_node
        if parts == 0:
            parts = (b - a + each - 1) // each
        if parts > 1:
            half = parts // 2
            middle = a + (b - a) * half // parts
            side = widest(points, order, a, b, spread)
            part(points, order, a, b, middle, side)
            waiting = add_task(tasks, waiting, middle, b, parts - half, node)
            waiting = add_task(tasks, waiting, a, middle, half, node)
        elif level > 0:
            child = new_node(index, level - 1)
            hang(index, node, child)
            waiting = add_task(tasks, waiting, a, b, 0, child)
        else:
            tile = head[I_TILES]
            head[I_TILES] = tile + 1
            hang(index, node, tile)
            for i in range(a, b):
                put(index, order[i], tile, i - a)
            leaves[tile, T_HELD] = b - a
            box_tile(index, tile)
    for i in range(head[I_NODES]):  # a child has a higher number than the node above it
        node = head[I_NODES] - 1 - i
        if nodes[node, N_PARENT] >= 0:
            box_node(index, node)


@hot
def widest(points: Floats, order: Ints, a: int, b: int, spread: Floats) -> int:
    """Give the feature in which the points of a part are farthest apart."""
    d = points.shape[1]
    for f in range(d):
        spread[0, f], spread[1, f] = math.inf, -math.inf
    for i in range(a, b):
        x = points[order[i]]
        for f in range(d):
            spread[0, f], spread[1, f] = min(spread[0, f], x[f]), max(spread[1, f], x[f])
    return longest(spread[0], spread[1])


@hot
def part(points: Floats, order: Ints, a: int, b: int, middle: int, side: int) -> None:
    """Order the points of a part so that those before the middle have the lesser values (Hoare's selection)."""
    low, high = a, b - 1
    while low < high:
        pivot = points[order[(low + high) // 2], side]
        i, j = low, high
        while i <= j:
            while points[order[i], side] < pivot:
                i += 1
            while points[order[j], side] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break


@inlined
def add_task(tasks: Ints, waiting: int, first: int, last: int, parts: int, node: int) -> int:
    """Let points from first to last wait to be cut into parts (0: not known yet) for a node; give how many wait."""
    tasks[waiting, 0], tasks[waiting, 1], tasks[waiting, 2], tasks[waiting, 3] = first, last, parts, node
    return waiting + 1
