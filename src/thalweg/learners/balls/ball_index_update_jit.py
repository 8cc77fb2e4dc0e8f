"""How points come into the index of ball_index_jit.py, move, and go; its tables are described there."""

import math

from thalweg.jit.compile import hot, inlined
from thalweg.learners.balls.ball_index_jit import (
    CHILDREN,
    I_ASKED,
    I_NODES,
    I_ROOT,
    I_SIZE,
    I_STALE,
    I_TAKEN,
    I_TILES,
    I_TRY_AT,
    LEAST_TREE,
    LEVELS,
    N_COUNT,
    N_LEVEL,
    N_PARENT,
    N_PLACE,
    Q_ASKS,
    Q_WORK,
    T_ABOVE,
    T_HELD,
    T_PLACE,
    TRIAL,
    Index,
    Query,
    Room,
    bound_children,
    find,
    query_of,
)
from thalweg.learners.balls.tiles_jit import LANES, Floats, Ints


@inlined
def has_room(index: Index) -> bool:
    """Is there room for one more point, whatever must be split for it?"""
    head = index.head
    if head[I_ROOT] < 0:
        return bool(head[I_SIZE] < len(index.tiles) * LANES)
    levels = index.nodes[head[I_ROOT], N_LEVEL] + 2
    return bool(head[I_TILES] < len(index.tiles) and head[I_NODES] + levels <= len(index.nodes) and levels < LEVELS)


@inlined
def wants_care(index: Index) -> bool:
    """Should a tree be made, made anew, or given up?"""
    head = index.head
    if head[I_ROOT] < 0:
        return bool(head[I_SIZE] >= head[I_TRY_AT])
    return bool(head[I_STALE] > head[I_SIZE]) or not pays(index)


@inlined
def pays(index: Index) -> bool:
    """Does the tree take clearly fewer steps than there are tiles, each of which costs more?"""
    head = index.head
    if head[I_ASKED] < TRIAL:
        return True
    return bool(5 * head[I_TAKEN] * LANES < 3 * head[I_ASKED] * head[I_SIZE])


@inlined
def note(index: Index, query: Query) -> None:
    """Add what queries took to the account of the tree; old ones count less and less."""
    head, meter = index.head, query.meter
    head[I_ASKED] += meter[Q_ASKS]
    head[I_TAKEN] += meter[Q_WORK]
    meter[Q_ASKS], meter[Q_WORK] = 0, 0
    if head[I_ASKED] > 4 * TRIAL:
        head[I_ASKED], head[I_TAKEN] = head[I_ASKED] // 2, head[I_TAKEN] // 2


@inlined
def put(index: Index, number: int, tile: int, lane: int) -> None:
    """Write a point into a place of a tile."""
    values, x = index.tiles[tile], index.points[number]
    for f in range(len(x)):
        values[f, lane] = x[f]
    index.who[tile, lane] = number
    index.where[number] = tile * LANES + lane


@inlined
def vacate(index: Index, tile: int, lane: int) -> None:
    """Free a place: it is infinitely far."""
    values = index.tiles[tile]
    for f in range(values.shape[0]):
        values[f, lane] = math.inf
    index.who[tile, lane] = -1


@hot
def clear(index: Index) -> None:
    """Forget all points."""
    head = index.head
    for t in range(head[I_TILES]):
        for lane in range(LANES):
            vacate(index, t, lane)
        index.leaves[t, T_HELD] = 0
    for i in range(len(index.where)):
        index.where[i] = -1
    head[I_TILES], head[I_NODES], head[I_ROOT], head[I_SIZE], head[I_STALE], head[I_TRY_AT] = 0, 0, -1, 0, 0, LEAST_TREE
    head[I_ASKED], head[I_TAKEN] = 0, 0


@hot
def insert(index: Index, query: Query, number: int) -> None:
    """Take in the point of this number; there must be room. query.bounds is used."""
    head, leaves = index.head, index.leaves
    if head[I_ROOT] < 0:
        tile = head[I_SIZE] // LANES
        head[I_TILES] = max(head[I_TILES], tile + 1)
        put(index, number, tile, head[I_SIZE] % LANES)
        leaves[tile, T_HELD] += 1
        head[I_SIZE] += 1
        return
    x = index.points[number]
    tile = find_tile(index, query, x)
    if leaves[tile, T_HELD] == LANES:
        tile = split_tile(index, query, tile, x)
    put(index, number, tile, leaves[tile, T_HELD])
    leaves[tile, T_HELD] += 1
    head[I_SIZE] += 1
    widen(index, leaves[tile, T_ABOVE], leaves[tile, T_PLACE], x)


@hot
def find_tile(index: Index, query: Query, x: Floats) -> int:
    """Go down from the root to the nearest box."""
    node = index.head[I_ROOT]
    while True:
        bounds = query.bounds[:CHILDREN]
        bound_children(index, node, x, bounds)
        best = 0
        for i in range(1, index.nodes[node, N_COUNT]):
            if bounds[i] < bounds[best]:
                best = i
        child = index.kids[node, best]
        if index.nodes[node, N_LEVEL] == 0:
            return int(child)
        node = child


@inlined
def widen(index: Index, node: int, place: int, x: Floats) -> None:
    """Let the box of a child, and those above it, hold x."""
    while node >= 0:
        low, high, wider = index.boxes[node, 0], index.boxes[node, 1], False
        for f in range(len(x)):
            if x[f] < low[f, place]:
                low[f, place], wider = x[f], True
            if x[f] > high[f, place]:
                high[f, place], wider = x[f], True
        if not wider:
            break
        place = index.nodes[node, N_PLACE]
        node = index.nodes[node, N_PARENT]


@inlined
def follow(index: Index, number: int) -> bool:
    """Follow the point of this number, which has moved; False: it has left its box, and must be put anew."""
    tile, x = index.where[number] // LANES, index.points[number]
    if index.head[I_ROOT] >= 0:
        node, place = index.leaves[tile, T_ABOVE], index.leaves[tile, T_PLACE]
        low, high = index.boxes[node, 0], index.boxes[node, 1]
        for f in range(len(x)):
            if x[f] < low[f, place] or x[f] > high[f, place]:
                return False
    put(index, number, tile, index.where[number] % LANES)
    return True


@hot
def delete(index: Index, number: int) -> None:
    """Let the point of this number go."""
    head, leaves, who, where = index.head, index.leaves, index.who, index.where
    tile, lane = where[number] // LANES, where[number] % LANES
    head[I_SIZE] -= 1
    last_tile = tile if head[I_ROOT] >= 0 else head[I_SIZE] // LANES
    last_lane = leaves[last_tile, T_HELD] - 1
    other = who[last_tile, last_lane]
    where[number] = -1
    if other != number:
        old, new = index.tiles[last_tile], index.tiles[tile]
        for f in range(old.shape[0]):
            new[f, lane] = old[f, last_lane]
        who[tile, lane] = other
        where[other] = tile * LANES + lane
    vacate(index, last_tile, last_lane)
    leaves[last_tile, T_HELD] = last_lane
    if head[I_ROOT] >= 0:
        head[I_STALE] += 1
        if last_lane == 0:  # an empty tile is nowhere
            node, place = leaves[tile, T_ABOVE], leaves[tile, T_PLACE]
            for f in range(index.boxes.shape[2]):
                index.boxes[node, 0, f, place], index.boxes[node, 1, f, place] = math.inf, -math.inf


# -- splitting --------------------------------------------------------------------------------------------------------


@inlined
def box_tile(index: Index, tile: int) -> None:
    """Fit the box of a tile to its points."""
    node, place, values = index.leaves[tile, T_ABOVE], index.leaves[tile, T_PLACE], index.tiles[tile]
    for f in range(values.shape[0]):
        low, high = math.inf, -math.inf
        for lane in range(index.leaves[tile, T_HELD]):
            low, high = min(low, values[f, lane]), max(high, values[f, lane])
        index.boxes[node, 0, f, place], index.boxes[node, 1, f, place] = low, high


@inlined
def box_node(index: Index, node: int) -> None:
    """Fit the box of a node, in the one above, to its children."""
    above, place = index.nodes[node, N_PARENT], index.nodes[node, N_PLACE]
    for f in range(index.boxes.shape[2]):
        low, high = math.inf, -math.inf
        for i in range(index.nodes[node, N_COUNT]):
            low, high = min(low, index.boxes[node, 0, f, i]), max(high, index.boxes[node, 1, f, i])
        index.boxes[above, 0, f, place], index.boxes[above, 1, f, place] = low, high


@inlined
def hang(index: Index, node: int, child: int) -> None:
    """Give a node one more child, still without a box."""
    place = index.nodes[node, N_COUNT]
    index.nodes[node, N_COUNT] = place + 1
    index.kids[node, place] = child
    if index.nodes[node, N_LEVEL] == 0:
        index.leaves[child, T_ABOVE], index.leaves[child, T_PLACE] = node, place
    else:
        index.nodes[child, N_PARENT], index.nodes[child, N_PLACE] = node, place


@hot
def new_node(index: Index, level: int) -> int:
    """Take the next node, without children."""
    node = index.head[I_NODES]
    index.head[I_NODES] = node + 1
    index.nodes[node, N_COUNT], index.nodes[node, N_PARENT], index.nodes[node, N_PLACE] = 0, -1, 0
    index.nodes[node, N_LEVEL] = level
    return int(node)


@hot
def split_tile(index: Index, query: Query, tile: int, x: Floats) -> int:
    """Give the upper half of a full tile, along its longest side, to a new one beside it; give the one for x."""
    while index.nodes[index.leaves[tile, T_ABOVE], N_COUNT] == CHILDREN:
        make_way(index, index.leaves[tile, T_ABOVE])
    node, place = index.leaves[tile, T_ABOVE], index.leaves[tile, T_PLACE]
    side = longest(index.boxes[node, 0, :, place], index.boxes[node, 1, :, place])
    values = index.tiles[tile]
    middle = middle_of(values[side], LANES, query.sums)
    other = index.head[I_TILES]
    index.head[I_TILES] = other + 1
    index.leaves[other, T_HELD] = 0
    kept, spare = 0, LANES // 2  # of those in the middle as many stay as make it half
    for lane in range(LANES):
        if values[side, lane] < middle:
            spare -= 1
    for lane in range(LANES):
        number, v = index.who[tile, lane], values[side, lane]
        stays = v < middle
        if not stays and not v > middle and spare > 0:  # what is no number too
            stays, spare = True, spare - 1
        if stays:
            if kept != lane:
                put(index, number, tile, kept)
            kept += 1
        else:
            put(index, number, other, index.leaves[other, T_HELD])
            index.leaves[other, T_HELD] += 1
    for lane in range(kept, LANES):
        vacate(index, tile, lane)
    index.leaves[tile, T_HELD] = kept
    hang(index, node, other)
    box_tile(index, tile)
    box_tile(index, other)
    return int(tile if x[side] < middle else other)


@hot
def make_way(index: Index, node: int) -> None:
    """Split a full node; if those above are full too, the highest of them."""
    nodes, head = index.nodes, index.head
    while nodes[node, N_PARENT] >= 0 and nodes[nodes[node, N_PARENT], N_COUNT] == CHILDREN:
        node = nodes[node, N_PARENT]
    level = nodes[node, N_LEVEL]
    if nodes[node, N_PARENT] < 0:
        root = new_node(index, level + 1)
        hang(index, root, node)
        head[I_ROOT] = root
        box_node(index, node)
    place, above = nodes[node, N_PLACE], nodes[node, N_PARENT]
    side = longest(index.boxes[above, 0, :, place], index.boxes[above, 1, :, place])
    other = new_node(index, level)
    low, high = index.boxes[node, 0, side], index.boxes[node, 1, side]
    kept = 0
    for i in range(CHILDREN):
        rank = 0
        for j in range(CHILDREN):
            a, b = low[i] + high[i], low[j] + high[j]
            if b < a or (not a < b and j < i):
                rank += 1
        index.kids[other, i] = rank  # for a moment
    for i in range(CHILDREN):
        rank, child = index.kids[other, i], index.kids[node, i]
        to = other if rank >= CHILDREN // 2 else node
        if to == node:
            nodes[node, N_COUNT] = kept
            kept += 1
        at = nodes[to, N_COUNT]
        for f in range(index.boxes.shape[2]):
            index.boxes[to, 0, f, at] = index.boxes[node, 0, f, i]
            index.boxes[to, 1, f, at] = index.boxes[node, 1, f, i]
        hang(index, to, child)
    nodes[node, N_COUNT] = kept
    hang(index, above, other)
    box_node(index, node)
    box_node(index, other)


@inlined
def longest(low: Floats, high: Floats) -> int:
    """Give the feature in which a box is longest."""
    side, length = 0, -math.inf
    for f in range(len(low)):
        if high[f] - low[f] > length:
            side, length = f, high[f] - low[f]
    return side


@inlined
def middle_of(values: Floats, n: int, room: Floats) -> float:
    """Give the value that half of n values lie below, at most."""
    for i in range(n):
        v, j = values[i], i
        while j > 0 and room[j - 1] > v:
            room[j] = room[j - 1]
            j -= 1
        room[j] = v
    return float(room[n // 2])


# -- operations from outside ------------------------------------------------------------------------------------------

INSERT, DELETE, MOVE, ASK = range(4)


@hot
def carry_out(index: Index, room: Room, what: Ints, numbers: Ints, X: Floats, keys: Floats, answers: Ints,
              begin: int) -> int:  # fmt: skip
    """Carry out operations, from ``begin`` on: what, with which number and row. Give where it stopped for care."""
    index = Index(*index)
    d, k = index.points.shape[1], keys.shape[1]
    query = query_of(room, d, k)
    for e in range(begin, len(what)):
        number = numbers[e]
        if what[e] == ASK:
            for f in range(d):
                query.x[f] = X[e, f]
            n = find(index, query)
            for i in range(k):
                answers[e, i] = query.found[i] if i < n else -1
                keys[e, i] = query.near[i] if i < n else math.inf
            continue
        note(index, query)
        if wants_care(index) or not has_room(index):
            return e
        if what[e] != DELETE:
            for f in range(d):
                index.points[number, f] = X[e, f]
            if what[e] == MOVE and follow(index, number):
                continue
        if what[e] != INSERT:
            delete(index, number)
        if what[e] != DELETE:
            insert(index, query, number)
    note(index, query)
    return len(what)
