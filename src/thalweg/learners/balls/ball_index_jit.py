"""Points that come, go and move, and the k nearest of them to a record: exactly, ties to the lowest id.

d features; the points lie in tiles of L, in each of which the values of a feature lie side by side, so that a processor
measures eight points at a time. Few points: all tiles are measured. Many: the tiles are the leaves of a tree of nodes
with up to F children, each in a box, and only tiles are measured whose box is not too far.

Every sum over features is made in one order. A box is therefore never farther than a point in it by so much as a
rounding, and the tree finds, bit for bit, what measuring all tiles finds.

| table  | shape         | dtype   | meaning                                                                          |
| points | N × d         | float64 | the points by number; kept by whoever has the index, and so are their ids        |
| ids    | N             | int64   | who comes first among equals                                                     |
| tiles  | T × d × L     | float64 | the same points; infinite where a place is free                                  |
| who    | T × L         | int64   | the number of the point in each place, -1: free                                  |
| leaves | T × 3         | int64   | of a tile: points in it, the node above, its place there                         |
| where  | N             | int64   | tile · L + place of each number, -1: it is not there                             |
| boxes  | M × 2 × d × F | float64 | of a node: the least and the greatest values of each child                       |
| kids   | M × F         | int64   | its children: nodes, or tiles where its level is 0                               |
| nodes  | M × 4         | int64   | how many children, the node above (-1: none), its place there, its level         |
| head   | 8             | int64   | tiles in use, nodes in use, the root (-1: no tree), points, points that left     |
|        |               |         | their box or went since the tree was made, size from which on a tree is tried,   |
|        |               |         | queries asked of this tree, tiles and nodes these took                           |
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot, inlined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LANES = 64
CHILDREN = 16
LEVELS = 16
"""More than a tree of 2^63 points can have."""
HELD, ABOVE, PLACE = range(3)
COUNT, PARENT, AT, LEVEL = range(4)
TILES, NODES, ROOT, SIZE, STALE, TRY_AT, ASKED, TAKEN = range(8)
HEAD = 8
SQUARES, ABSOLUTE, GREATEST, UNEQUAL = range(4)
"""How differences are put together: the sum of squares, the sum, the greatest, how many are not 0."""
METRIC, MIXED = range(2)
ALL_BITS = np.int64(0x7FFFFFFFFFFFFFFF)
BLOCK = 16  # features after which a tile that is too far already is given up
LEAST_TREE = 1024  # points from which on a tree is tried
TRIAL = 256  # queries after which it must have paid


class Index(NamedTuple):
    """The tables in one bundle."""

    points: Floats
    ids: Ints
    tiles: Floats
    who: Ints
    leaves: Ints
    where: Ints
    boxes: Floats
    kids: Ints
    nodes: Ints
    head: Ints
    nominal: Ints
    """d: 1 where values differ by 1 or not at all. It follows from the schema."""
    rules: Ints
    """How differences are put together; is any feature nominal?"""


class Lens(NamedTuple):
    """Room for one query; nothing of it is kept."""

    x: Floats
    """d: the query."""
    sums: Floats
    """LANES: distances from the points of a tile, squared for SQUARES."""
    bits: Ints
    """The same memory: numbers that are not negative compare like their bits, of which a processor finds the least of
    many at once."""
    near: Floats
    """k: what was found, the nearest first: distances ..."""
    near_bits: Ints
    """The same memory."""
    found: Ints
    """... and numbers."""
    bounds: Floats
    """LEVELS × F: how near the children of the nodes on the way can be."""
    way: Ints
    """LEVELS: the nodes on the way."""
    meter: Ints
    """Queries, tiles and nodes they took, how many were found, the number that was nearest last (-1: none)."""


ASKS, WORK, FOUND, LAST = range(4)
METER = 4


# -- measuring --------------------------------------------------------------------------------------------------------


@inlined
def least_of(bits: Ints) -> int:
    """Give the least of a tile's numbers, as bits."""
    m = bits[0]
    for i in range(LANES):
        m = min(m, bits[i])
    return int(m)


@inlined
def measure(tile: Floats, lens: Lens, index: Index, limit: int) -> int:
    """Measure all points of a tile; give the least, as bits. Once all are beyond the limit it may be any such."""
    x, sums, bits, d = lens.x, lens.sums, lens.bits, tile.shape[0]
    for i in range(LANES):
        sums[i] = 0.0
    if index.rules[MIXED] != 0 or index.rules[METRIC] > ABSOLUTE:
        measure_any(tile, x, sums, index.nominal, index.rules[METRIC])
        return least_of(bits)
    squares = index.rules[METRIC] == SQUARES
    f = 0
    while f + 8 <= d:
        if squares:
            add_eight_squares(sums, tile, x, f)
        else:
            add_four(sums, tile, x, f)
            add_four(sums, tile, x, f + 4)
        f += 8
        if f % BLOCK == 0 and f + 8 < d:
            m = least_of(bits)
            if m > limit:
                return m
    if f + 4 <= d:
        if squares:
            add_four_squares(sums, tile, x, f)
        else:
            add_four(sums, tile, x, f)
        f += 4
    while f < d:
        values, v = tile[f], x[f]
        if squares:
            for i in range(LANES):
                sums[i] += (v - values[i]) * (v - values[i])
        else:
            for i in range(LANES):
                sums[i] += abs(v - values[i])
        f += 1
    return least_of(bits)


@inlined
def add_eight_squares(sums: Floats, tile: Floats, x: Floats, f: int) -> None:
    """Add (x - z)² of eight features."""
    z0, z1, z2, z3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    z4, z5, z6, z7 = tile[f + 4], tile[f + 5], tile[f + 6], tile[f + 7]
    x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
    x4, x5, x6, x7 = x[f + 4], x[f + 5], x[f + 6], x[f + 7]
    for i in range(LANES):
        s = sums[i]
        s += (x0 - z0[i]) * (x0 - z0[i])
        s += (x1 - z1[i]) * (x1 - z1[i])
        s += (x2 - z2[i]) * (x2 - z2[i])
        s += (x3 - z3[i]) * (x3 - z3[i])
        s += (x4 - z4[i]) * (x4 - z4[i])
        s += (x5 - z5[i]) * (x5 - z5[i])
        s += (x6 - z6[i]) * (x6 - z6[i])
        s += (x7 - z7[i]) * (x7 - z7[i])
        sums[i] = s


@inlined
def add_four_squares(sums: Floats, tile: Floats, x: Floats, f: int) -> None:
    """Add (x - z)² of four features."""
    z0, z1, z2, z3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
    for i in range(LANES):
        s = sums[i]
        s += (x0 - z0[i]) * (x0 - z0[i])
        s += (x1 - z1[i]) * (x1 - z1[i])
        s += (x2 - z2[i]) * (x2 - z2[i])
        s += (x3 - z3[i]) * (x3 - z3[i])
        sums[i] = s


@inlined
def add_four(sums: Floats, tile: Floats, x: Floats, f: int) -> None:
    """Add |x - z| of four features."""
    z0, z1, z2, z3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
    for i in range(LANES):
        s = sums[i]
        s += abs(x0 - z0[i])
        s += abs(x1 - z1[i])
        s += abs(x2 - z2[i])
        s += abs(x3 - z3[i])
        sums[i] = s


@hot
def measure_any(tile: Floats, x: Floats, sums: Floats, nominal: Ints, metric: int) -> None:
    """Add the differences of all features, whatever they are."""
    for f in range(tile.shape[0]):
        values, v = tile[f], x[f]
        if metric == UNEQUAL or nominal[f] != 0:
            for i in range(LANES):
                gap = 1.0 if values[i] != v else 0.0
                sums[i] = max(sums[i], gap) if metric == GREATEST else sums[i] + gap
        elif metric == GREATEST:
            for i in range(LANES):
                sums[i] = max(sums[i], abs(v - values[i]))
        elif metric == SQUARES:
            for i in range(LANES):
                sums[i] += (v - values[i]) * (v - values[i])
        else:
            for i in range(LANES):
                sums[i] += abs(v - values[i])


@inlined
def bound_children(index: Index, node: int, x: Floats, bounds: Floats) -> None:
    """Find how near a point in the box of each child can be; infinite where there is no child."""
    low, high, nominal, metric = index.boxes[node, 0], index.boxes[node, 1], index.nominal, index.rules[METRIC]
    for i in range(CHILDREN):
        bounds[i] = 0.0
    for f in range(len(x)):
        least, greatest, v = low[f], high[f], x[f]
        if metric == UNEQUAL or nominal[f] != 0:
            for i in range(CHILDREN):
                gap = 1.0 if v < least[i] or v > greatest[i] else 0.0
                bounds[i] = max(bounds[i], gap) if metric == GREATEST else bounds[i] + gap
        elif metric == SQUARES:
            for i in range(CHILDREN):
                a, b = least[i] - v, v - greatest[i]
                a = a if a > b else b
                a = a if a > 0.0 else 0.0
                bounds[i] += a * a
        elif metric == ABSOLUTE:
            for i in range(CHILDREN):
                a, b = least[i] - v, v - greatest[i]
                a = a if a > b else b
                bounds[i] += a if a > 0.0 else 0.0
        else:
            for i in range(CHILDREN):
                a, b = least[i] - v, v - greatest[i]
                a = a if a > b else b
                bounds[i] = a if a > bounds[i] else bounds[i]
    for i in range(index.nodes[node, COUNT], CHILDREN):
        bounds[i] = math.inf


# -- the nearest ------------------------------------------------------------------------------------------------------


@hot
def admit(who: Ints, ids: Ints, sums: Floats, near: Floats, found: Ints, meter: Ints, held: int, k: int) -> None:
    """Put the measured points of a tile that belong there among the k nearest."""
    for lane in range(held):
        key, number, n = sums[lane], who[lane], meter[FOUND]
        if n == k:
            if key > near[k - 1] or (key == near[k - 1] and ids[number] > ids[found[k - 1]]):
                continue
            i = k - 1
        else:
            i = n
            meter[FOUND] = n + 1
        while i > 0 and (near[i - 1] > key or (near[i - 1] == key and ids[found[i - 1]] > ids[number])):
            near[i], found[i] = near[i - 1], found[i - 1]
            i -= 1
        near[i], found[i] = key, number


@hot
def find(index: Index, lens: Lens) -> int:
    """Find the points nearest to lens.x, as many as there is room for in ``near`` and ``found``; give how many.

    The tile of the last answer is measured first; then all the others, or those that the tree leads to: the nearest
    child first, and others as long as they can be near enough.
    """
    head, meter, nodes, way = index.head, lens.meter, index.nodes, lens.way
    meter[FOUND] = 0
    tile, k = -1, len(lens.near)
    if meter[LAST] >= 0 and meter[LAST] < len(index.where) and index.where[meter[LAST]] >= 0:
        tile = index.where[meter[LAST]] // LANES
    first, following, depth, entered, work = tile, 0, -1, True, 0
    if head[ROOT] >= 0:
        depth, way[0], following = 0, head[ROOT], (head[SIZE] + LANES - 1) // LANES
    while True:
        if tile >= 0:
            limit = int(lens.near_bits[k - 1]) if meter[FOUND] == k else int(ALL_BITS)
            if measure(index.tiles[tile], lens, index, limit) <= limit:
                held = index.leaves[tile, HELD]
                admit(index.who[tile], index.ids, lens.sums, lens.near, lens.found, meter, held, k)
        tile = -1
        if following == first:
            following += 1
        if following * LANES < head[SIZE]:
            tile, following = following, following + 1
        while depth >= 0 and tile < 0:
            node, bounds = way[depth], lens.bounds[depth]
            if entered:
                bound_children(index, node, lens.x, bounds)
                work, entered = work + 1, False
            best, least = -1, math.inf
            for i in range(nodes[node, COUNT]):
                if bounds[i] < least:
                    best, least = i, bounds[i]
            if best < 0 or (meter[FOUND] == k and least > lens.near[k - 1]):
                depth -= 1
                continue
            bounds[best] = math.inf
            child = index.kids[node, best]
            if nodes[node, LEVEL] > 0:
                depth += 1
                way[depth], entered = child, True
            elif child != first:
                tile, work = child, work + 1
        if tile < 0:
            break
    if work > 0:
        meter[ASKS] += 1
        meter[WORK] += work
    if meter[FOUND] > 0:
        meter[LAST] = lens.found[0]
    return int(meter[FOUND])


# -- changing ---------------------------------------------------------------------------------------------------------


@inlined
def has_room(index: Index) -> bool:
    """Is there room for one more point, whatever must be split for it?"""
    head = index.head
    if head[ROOT] < 0:
        return bool(head[SIZE] < len(index.tiles) * LANES)
    levels = index.nodes[head[ROOT], LEVEL] + 2
    return bool(head[TILES] < len(index.tiles) and head[NODES] + levels <= len(index.nodes) and levels < LEVELS)


@inlined
def wants_care(index: Index) -> bool:
    """Should a tree be made, made anew, or given up?"""
    head = index.head
    if head[ROOT] < 0:
        return bool(head[SIZE] >= head[TRY_AT])
    return bool(head[STALE] > head[SIZE]) or not pays(index)


@inlined
def pays(index: Index) -> bool:
    """Does the tree take clearly fewer steps than there are tiles, each of which costs more?"""
    head = index.head
    if head[ASKED] < TRIAL:
        return True
    return bool(5 * head[TAKEN] * LANES < 3 * head[ASKED] * head[SIZE])


@inlined
def note(index: Index, lens: Lens) -> None:
    """Add what queries took to the account of the tree; old ones count less and less."""
    head, meter = index.head, lens.meter
    head[ASKED] += meter[ASKS]
    head[TAKEN] += meter[WORK]
    meter[ASKS], meter[WORK] = 0, 0
    if head[ASKED] > 4 * TRIAL:
        head[ASKED], head[TAKEN] = head[ASKED] // 2, head[TAKEN] // 2


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
    for t in range(head[TILES]):
        for lane in range(LANES):
            vacate(index, t, lane)
        index.leaves[t, HELD] = 0
    for i in range(len(index.where)):
        index.where[i] = -1
    head[TILES], head[NODES], head[ROOT], head[SIZE], head[STALE], head[TRY_AT] = 0, 0, -1, 0, 0, LEAST_TREE
    head[ASKED], head[TAKEN] = 0, 0


@hot
def insert(index: Index, lens: Lens, number: int) -> None:
    """Take in the point of this number; there must be room. lens.bounds is used."""
    head, leaves = index.head, index.leaves
    if head[ROOT] < 0:
        tile = head[SIZE] // LANES
        head[TILES] = max(head[TILES], tile + 1)
        put(index, number, tile, head[SIZE] % LANES)
        leaves[tile, HELD] += 1
        head[SIZE] += 1
        return
    x = index.points[number]
    tile = find_tile(index, lens, x)
    if leaves[tile, HELD] == LANES:
        tile = split_tile(index, lens, tile, x)
    put(index, number, tile, leaves[tile, HELD])
    leaves[tile, HELD] += 1
    head[SIZE] += 1
    widen(index, leaves[tile, ABOVE], leaves[tile, PLACE], x)


@hot
def find_tile(index: Index, lens: Lens, x: Floats) -> int:
    """Go down from the root to the nearest box."""
    node = index.head[ROOT]
    while True:
        bounds = lens.bounds[0]
        bound_children(index, node, x, bounds)
        best = 0
        for i in range(1, index.nodes[node, COUNT]):
            if bounds[i] < bounds[best]:
                best = i
        child = index.kids[node, best]
        if index.nodes[node, LEVEL] == 0:
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
        place = index.nodes[node, AT]
        node = index.nodes[node, PARENT]


@inlined
def follow(index: Index, number: int) -> bool:
    """Follow the point of this number, which has moved; False: it has left its box, and must be put anew."""
    tile, x = index.where[number] // LANES, index.points[number]
    if index.head[ROOT] >= 0:
        node, place = index.leaves[tile, ABOVE], index.leaves[tile, PLACE]
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
    head[SIZE] -= 1
    last_tile = tile if head[ROOT] >= 0 else head[SIZE] // LANES
    last_lane = leaves[last_tile, HELD] - 1
    other = who[last_tile, last_lane]
    where[number] = -1
    if other != number:
        old, new = index.tiles[last_tile], index.tiles[tile]
        for f in range(old.shape[0]):
            new[f, lane] = old[f, last_lane]
        who[tile, lane] = other
        where[other] = tile * LANES + lane
    vacate(index, last_tile, last_lane)
    leaves[last_tile, HELD] = last_lane
    if head[ROOT] >= 0:
        head[STALE] += 1
        if last_lane == 0:  # an empty tile is nowhere
            node, place = leaves[tile, ABOVE], leaves[tile, PLACE]
            for f in range(index.boxes.shape[2]):
                index.boxes[node, 0, f, place], index.boxes[node, 1, f, place] = math.inf, -math.inf


# -- splitting --------------------------------------------------------------------------------------------------------


@inlined
def box_tile(index: Index, tile: int) -> None:
    """Fit the box of a tile to its points."""
    node, place, values = index.leaves[tile, ABOVE], index.leaves[tile, PLACE], index.tiles[tile]
    for f in range(values.shape[0]):
        low, high = math.inf, -math.inf
        for lane in range(index.leaves[tile, HELD]):
            low, high = min(low, values[f, lane]), max(high, values[f, lane])
        index.boxes[node, 0, f, place], index.boxes[node, 1, f, place] = low, high


@inlined
def box_node(index: Index, node: int) -> None:
    """Fit the box of a node, in the one above, to its children."""
    above, place = index.nodes[node, PARENT], index.nodes[node, AT]
    for f in range(index.boxes.shape[2]):
        low, high = math.inf, -math.inf
        for i in range(index.nodes[node, COUNT]):
            low, high = min(low, index.boxes[node, 0, f, i]), max(high, index.boxes[node, 1, f, i])
        index.boxes[above, 0, f, place], index.boxes[above, 1, f, place] = low, high


@inlined
def hang(index: Index, node: int, child: int) -> None:
    """Give a node one more child, still without a box."""
    place = index.nodes[node, COUNT]
    index.nodes[node, COUNT] = place + 1
    index.kids[node, place] = child
    if index.nodes[node, LEVEL] == 0:
        index.leaves[child, ABOVE], index.leaves[child, PLACE] = node, place
    else:
        index.nodes[child, PARENT], index.nodes[child, AT] = node, place


@hot
def new_node(index: Index, level: int) -> int:
    """Take the next node, without children."""
    node = index.head[NODES]
    index.head[NODES] = node + 1
    index.nodes[node, COUNT], index.nodes[node, PARENT], index.nodes[node, AT] = 0, -1, 0
    index.nodes[node, LEVEL] = level
    return int(node)


@hot
def split_tile(index: Index, lens: Lens, tile: int, x: Floats) -> int:
    """Give the upper half of a full tile, along its longest side, to a new one beside it; give the one for x."""
    while index.nodes[index.leaves[tile, ABOVE], COUNT] == CHILDREN:
        make_way(index, index.leaves[tile, ABOVE])
    node, place = index.leaves[tile, ABOVE], index.leaves[tile, PLACE]
    side = longest(index.boxes[node, 0, :, place], index.boxes[node, 1, :, place])
    values = index.tiles[tile]
    middle = middle_of(values[side], LANES, lens.sums)
    other = index.head[TILES]
    index.head[TILES] = other + 1
    index.leaves[other, HELD] = 0
    kept, spare = 0, LANES // 2  # of those in the middle as many stay as make it half
    for lane in range(LANES):
        if values[side, lane] < middle:
            spare -= 1
    for lane in range(LANES):
        number, v = index.who[tile, lane], values[side, lane]
        stays = v < middle
        if v == middle and spare > 0:
            stays, spare = True, spare - 1
        if stays:
            if kept != lane:
                put(index, number, tile, kept)
            kept += 1
        else:
            put(index, number, other, index.leaves[other, HELD])
            index.leaves[other, HELD] += 1
    for lane in range(kept, LANES):
        vacate(index, tile, lane)
    index.leaves[tile, HELD] = kept
    hang(index, node, other)
    box_tile(index, tile)
    box_tile(index, other)
    return int(tile if x[side] < middle else other)


@hot
def make_way(index: Index, node: int) -> None:
    """Split a full node; if those above are full too, the highest of them."""
    nodes, head = index.nodes, index.head
    while nodes[node, PARENT] >= 0 and nodes[nodes[node, PARENT], COUNT] == CHILDREN:
        node = nodes[node, PARENT]
    level = nodes[node, LEVEL]
    if nodes[node, PARENT] < 0:
        root = new_node(index, level + 1)
        hang(index, root, node)
        head[ROOT] = root
        box_node(index, node)
    place, above = nodes[node, AT], nodes[node, PARENT]
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
            nodes[node, COUNT] = kept
            kept += 1
        at = nodes[to, COUNT]
        for f in range(index.boxes.shape[2]):
            index.boxes[to, 0, f, at] = index.boxes[node, 0, f, i]
            index.boxes[to, 1, f, at] = index.boxes[node, 1, f, i]
        hang(index, to, child)
    nodes[node, COUNT] = kept
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


# -- making -----------------------------------------------------------------------------------------------------------


@hot
def make(points: Floats, ids: Ints, tiles: Floats, who: Ints, leaves: Ints, where: Ints, boxes: Floats, kids: Ints,
         nodes: Ints, head: Ints, nominal: Ints, rules: Ints, order: Ints, tasks: Ints, spread: Floats, tree: int,
         n: int, per_tile: int, per_node: int) -> None:  # fmt: skip
    """Put the n points of ``order`` in cleared tables: in full tiles, or as a tree. tasks: room for parts to be cut."""
    index = Index(points, ids, tiles, who, leaves, where, boxes, kids, nodes, head, nominal, rules)
    head[SIZE] = n
    if tree == 0:
        for i in range(n):
            put(index, order[i], i // LANES, i % LANES)
            leaves[i // LANES, HELD] += 1
        head[TILES] = (n + LANES - 1) // LANES
        return
    level, most = 0, per_tile * per_node
    while most < n:
        level, most = level + 1, most * per_node
    # a task: first, last, into how many parts, the node that gets them
    head[ROOT] = new_node(index, level)
    tasks[0, 0], tasks[0, 1], tasks[0, 2], tasks[0, 3] = 0, n, 0, head[ROOT]
    waiting = 1
    while waiting > 0:
        waiting -= 1
        a, b, parts, node = tasks[waiting, 0], tasks[waiting, 1], tasks[waiting, 2], tasks[waiting, 3]
        level = nodes[node, LEVEL]
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
            tasks[waiting, 0], tasks[waiting, 1], tasks[waiting, 2], tasks[waiting, 3] = middle, b, parts - half, node
            waiting += 1
            tasks[waiting, 0], tasks[waiting, 1], tasks[waiting, 2], tasks[waiting, 3] = a, middle, half, node
            waiting += 1
        elif level > 0:
            child = new_node(index, level - 1)
            hang(index, node, child)
            tasks[waiting, 0], tasks[waiting, 1], tasks[waiting, 2], tasks[waiting, 3] = a, b, 0, child
            waiting += 1
        else:
            tile = head[TILES]
            head[TILES] = tile + 1
            hang(index, node, tile)
            for i in range(a, b):
                put(index, order[i], tile, i - a)
            leaves[tile, HELD] = b - a
            box_tile(index, tile)
    for i in range(head[NODES]):  # a child has a higher number than the node above it
        node = head[NODES] - 1 - i
        if nodes[node, PARENT] >= 0:
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


# -- operations from outside ------------------------------------------------------------------------------------------

INSERT, DELETE, MOVE, ASK = range(4)


@hot
def carry_out(points: Floats, ids: Ints, tiles: Floats, who: Ints, leaves: Ints, where: Ints, boxes: Floats,
              kids: Ints, nodes: Ints, head: Ints, nominal: Ints, rules: Ints, x: Floats, sums: Floats, bits: Ints,
              near: Floats, near_bits: Ints, found: Ints, bounds: Floats, way: Ints, meter: Ints, what: Ints,
              numbers: Ints, X: Floats, keys: Floats, answers: Ints, begin: int) -> int:  # fmt: skip
    """Carry out operations, from ``begin`` on: what, with which number and row. Give where it stopped for care."""
    index = Index(points, ids, tiles, who, leaves, where, boxes, kids, nodes, head, nominal, rules)
    lens = Lens(x, sums, bits, near, near_bits, found, bounds, way, meter)
    d, k = points.shape[1], len(near)
    for e in range(begin, len(what)):
        number = numbers[e]
        if what[e] == ASK:
            for f in range(d):
                x[f] = X[e, f]
            n = find(index, lens)
            for i in range(k):
                answers[e, i] = found[i] if i < n else -1
                keys[e, i] = near[i] if i < n else math.inf
            continue
        note(index, lens)
        if wants_care(index) or not has_room(index):
            return e
        if what[e] != DELETE:
            for f in range(d):
                points[number, f] = X[e, f]
            if what[e] == MOVE and follow(index, number):
                continue
        if what[e] != INSERT:
            delete(index, number)
        if what[e] != DELETE:
            insert(index, lens, number)
    note(index, lens)
    return len(what)
