"""Points that come, go and move, and the k nearest of them to a record: exactly, ties to the lowest id.

d features; the points lie in tiles of L (tiles_jit.py). Few points: all tiles are measured. Many: the tiles are the
leaves of a tree of nodes with up to F children, each in a box, and only tiles are measured whose box is not too far.
ball_index_update_jit.py inserts, deletes and moves points, ball_index_build_jit.py makes a tree of many at once.

Every sum over features is made in one order. A box is therefore never farther than a point in it by so much as a
rounding, and the tree finds, bit for bit, what measuring all tiles finds.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from thalweg.core.declared import table
from thalweg.jit.compile import hot, inlined
from thalweg.learners.balls.tiles_jit import (
    D_ABSOLUTE,
    D_GREATEST,
    D_SQUARES,
    D_UNEQUAL,
    LANES,
    Floats,
    Ints,
    add_eight_squares,
    add_four,
    add_four_squares,
    least_of,
    measure_any,
)

CHILDREN = 16
LEVELS = 16
"""More than a tree of 2^63 points can have."""
ALL_BITS = np.int64(0x7FFFFFFFFFFFFFFF)
BLOCK = 16  # features after which a tile that is too far already is given up
LEAST_TREE = 1024  # points from which on a tree is tried
TRIAL = 256  # queries after which it must have paid

# The columns of ``leaves``, ``nodes``, ``head`` and ``kind``, which Index describes.
T_HELD, T_ABOVE, T_PLACE, T_COLUMNS = 0, 1, 2, 3
N_COUNT, N_PARENT, N_PLACE, N_LEVEL, N_COLUMNS = 0, 1, 2, 3, 4
I_TILES, I_NODES, I_ROOT, I_SIZE, I_STALE, I_TRY_AT, I_ASKED, I_TAKEN, I_COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7, 8
K_DIFFERENCES, K_MIXED = 0, 1
# The columns of ``meter``, which Query describes.
Q_ASKS, Q_WORK, Q_FOUND, Q_LAST, Q_COLUMNS = 0, 1, 2, 3, 4


class Index(NamedTuple):
    """The tables. The first two belong to whoever has the index; the others follow from them."""

    points: Annotated[Floats, table("N", "d", rows="n")]
    """N × d: the points by number."""
    ids: Annotated[Ints, table("N", rows="n", least=0)]
    """N: who comes first among equals."""
    tiles: Floats
    """T × d × L: the same points; infinite where a place is free."""
    who: Ints
    """T × L: the number of the point in each place, -1: free."""
    leaves: Ints
    """T × 3: of a tile: points in it (T_HELD), the node above (T_ABOVE), its place there (T_PLACE)."""
    where: Ints
    """N: tile · L + place of each number, -1: it is not there."""
    boxes: Floats
    """M × 2 × d × F: of a node: the least and the greatest values of each child."""
    kids: Ints
    """M × F: its children: nodes, or tiles where its level is 0."""
    nodes: Ints
    """M × 4: how many children (N_COUNT), the node above (N_PARENT, -1: none), its place there, its level."""
    head: Ints
    """8: tiles in use, nodes in use, the root (-1: no tree), points, points that left their box or went since the tree
    was made (I_STALE), size from which on a tree is tried, queries asked of this tree, tiles and nodes these took."""
    nominal: Ints
    """d: 1 where values differ by 1 or not at all. It follows from the schema."""
    kind: Ints
    """2: how differences are put together (K_DIFFERENCES: D_SQUARES …); is any feature nominal (K_MIXED)?"""


Room = tuple[Floats, Ints, Ints]
"""Room for one query at a time: numbers, the same memory as bits, whole numbers. Two arrays are cheaper to make, and to
hand over, than a dozen; ``query_of`` cuts them up."""


class Query(NamedTuple):
    """Room for one query; nothing of it is kept."""

    x: Floats
    """d: the query."""
    sums: Floats
    """LANES: distances from the points of a tile, squared for D_SQUARES."""
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
    """LEVELS · F: how near the children of the nodes on the way can be."""
    way: Ints
    """LEVELS: the nodes on the way."""
    meter: Ints
    """4: queries, tiles and nodes they took, how many were found, the number that was nearest last (-1: none)."""


Q_FLOATS = LANES + LEVELS * CHILDREN  # and k + d
Q_INTS = LEVELS + Q_COLUMNS  # and k


@inlined
def query_of(room: Room, d: int, k: int) -> Query:
    """Cut room for a query; what is left begins at Q_FLOATS + k + d and at Q_INTS + k."""
    floats, bits, ints = room
    return Query(
        floats[Q_FLOATS + k : Q_FLOATS + k + d], floats[:LANES], bits[:LANES], floats[Q_FLOATS : Q_FLOATS + k],
        bits[Q_FLOATS : Q_FLOATS + k], ints[Q_INTS : Q_INTS + k], floats[LANES:Q_FLOATS], ints[Q_COLUMNS:Q_INTS],
        ints[:Q_COLUMNS],
    )  # fmt: skip


# -- measuring --------------------------------------------------------------------------------------------------------


@inlined
def measure(tile: Floats, query: Query, index: Index, limit: int) -> int:
    """Measure all points of a tile; give the least, as bits. Once all are beyond the limit it may be any such."""
    x, sums, bits, d = query.x, query.sums, query.bits, tile.shape[0]
    for i in range(LANES):
        sums[i] = 0.0
    if index.kind[K_MIXED] != 0 or index.kind[K_DIFFERENCES] > D_ABSOLUTE:
        measure_any(tile, x, sums, index.nominal, index.kind[K_DIFFERENCES])
        return least_of(bits)
    squares = index.kind[K_DIFFERENCES] == D_SQUARES
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
def bound_children(index: Index, node: int, x: Floats, bounds: Floats) -> None:
    """Find how near a point in the box of each child can be; infinite where there is no child."""
    low, high, nominal, metric = index.boxes[node, 0], index.boxes[node, 1], index.nominal, index.kind[K_DIFFERENCES]
    for i in range(CHILDREN):
        bounds[i] = 0.0
    for f in range(len(x)):
        least, greatest, v = low[f], high[f], x[f]
        if metric == D_UNEQUAL or nominal[f] != 0:
            for i in range(CHILDREN):
                gap = 1.0 if v < least[i] or v > greatest[i] else 0.0
                bounds[i] = max(bounds[i], gap) if metric == D_GREATEST else bounds[i] + gap
        elif metric == D_SQUARES:
            for i in range(CHILDREN):
                a, b = least[i] - v, v - greatest[i]
                a = a if a > b else b
                a = a if a > 0.0 else 0.0
                bounds[i] += a * a
        elif metric == D_ABSOLUTE:
            for i in range(CHILDREN):
                a, b = least[i] - v, v - greatest[i]
                a = a if a > b else b
                bounds[i] += a if a > 0.0 else 0.0
        else:
            for i in range(CHILDREN):
                a, b = least[i] - v, v - greatest[i]
                a = a if a > b else b
                bounds[i] = a if a > bounds[i] else bounds[i]
    for i in range(index.nodes[node, N_COUNT], CHILDREN):
        bounds[i] = math.inf


# -- the nearest ------------------------------------------------------------------------------------------------------


@hot
def admit(who: Ints, ids: Ints, sums: Floats, near: Floats, found: Ints, meter: Ints, held: int, k: int) -> None:
    """Put the measured points of a tile that belong there among the k nearest."""
    for lane in range(held):
        key, number, n = sums[lane], who[lane], meter[Q_FOUND]
        if n == k:
            if key > near[k - 1] or (key == near[k - 1] and ids[number] > ids[found[k - 1]]):
                continue
            i = k - 1
        else:
            i = n
            meter[Q_FOUND] = n + 1
        while i > 0 and (near[i - 1] > key or (near[i - 1] == key and ids[found[i - 1]] > ids[number])):
            near[i], found[i] = near[i - 1], found[i - 1]
            i -= 1
        near[i], found[i] = key, number


@hot
def find(index: Index, query: Query) -> int:
    """Find the points nearest to query.x, as many as there is room for in ``near`` and ``found``; give how many.

    The tile of the last answer is measured first; then all the others, or those that the tree leads to: the nearest
    child first, and others as long as they can be near enough.
    """
    head, meter, nodes, way = index.head, query.meter, index.nodes, query.way
    meter[Q_FOUND] = 0
    tile, k = -1, len(query.near)
    if meter[Q_LAST] >= 0 and meter[Q_LAST] < len(index.where) and index.where[meter[Q_LAST]] >= 0:
        tile = index.where[meter[Q_LAST]] // LANES
    first, following, depth, entered, work = tile, 0, -1, True, 0
    if head[I_ROOT] >= 0:
        depth, way[0], following = 0, head[I_ROOT], (head[I_SIZE] + LANES - 1) // LANES
    while True:
        if tile >= 0:
            limit = int(query.near_bits[k - 1]) if meter[Q_FOUND] == k else int(ALL_BITS)
            if measure(index.tiles[tile], query, index, limit) <= limit:
                held = index.leaves[tile, T_HELD]
                admit(index.who[tile], index.ids, query.sums, query.near, query.found, meter, held, k)
        tile = -1
        if following == first:
            following += 1
        if following * LANES < head[I_SIZE]:
            tile, following = following, following + 1
        while depth >= 0 and tile < 0:
            node, bounds = way[depth], query.bounds[depth * CHILDREN : (depth + 1) * CHILDREN]
            if entered:
                bound_children(index, node, query.x, bounds)
                work, entered = work + 1, False
            best, least = -1, math.inf
            for i in range(nodes[node, N_COUNT]):
                if bounds[i] < least:
                    best, least = i, bounds[i]
            if best < 0 or (meter[Q_FOUND] == k and least > query.near[k - 1]):
                depth -= 1
                continue
            bounds[best] = math.inf
            child = index.kids[node, best]
            if nodes[node, N_LEVEL] > 0:
                depth += 1
                way[depth], entered = child, True
            elif child != first:
                tile, work = child, work + 1
        if tile < 0:
            break
    if work > 0:
        meter[Q_ASKS] += 1
        meter[Q_WORK] += work
    if meter[Q_FOUND] > 0:
        meter[Q_LAST] = query.found[0]
    return int(meter[Q_FOUND])
