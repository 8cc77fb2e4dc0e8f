"""One tree by itself: copied out of a pool, as boxes, and packed for descending.

| table   | shape        | dtype   | meaning                                                                      |
| nodes   | nodes        | NODE    | as in pool/pool_jit.py,  the root first; of a leaf ``left`` is its number   |
| missing | nodes        | int64   | of an inner node: the child for a value that is missing or has no branch      |

Packed, every test is ``x_f ≤ t``: a nominal one becomes two or more of them, and a node may be there twice. ``leaf``
has for each packed node the number of a leaf; NO_LEAF: an inner node.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.compile import called, compiled, inlined
from thalweg.pool.leaf_jit import Floats, Ints
from thalweg.pool.pool_jit import LEAF, NODE, Nodes, arity, feature_of, heavier, left_of

Bits = NDArray[np.uint64]
Whole = NDArray[np.uint32]
"""Numbers that are never below zero: compiled code then need not look whether an index counts from the end."""
PACKED = np.dtype([("threshold", np.float64), ("feature", np.uint32), ("left", np.uint32)])
NO_LEAF = 0xFFFFFFFF
_ONE = np.uint64(1)


class Boxes(NamedTuple):
    """Rules as boxes, a row for each."""

    lo: Annotated[Floats, table("rules", "d", loose=True)]
    """rules × d: a box holds x_f if lo ≤ x_f ≤ hi; of a nominal feature -∞."""
    hi: Annotated[Floats, table("rules", "d", loose=True)]
    """rules × d: of a nominal feature ∞."""
    bits: Annotated[Bits, table("rules", "width", loose=True)]
    """rules × B: for each feature first "missing values too", then of a nominal feature with V values one for each of
    them, and one for all others."""
    values: Annotated[Ints, table("d", least=0, most="64 * width")]
    """d: V of each feature; 0: numeric."""
    at: Ints
    """d: where the bits of each feature begin."""


PACKED_NODES = table(
    "nodes",
    dtype=PACKED,
    cells={"threshold": span(loose=True), "feature": span(0, "2 * d - 1"), "left": span(0, "nodes - 1")},
)
"""How packed nodes are declared, wherever they are kept."""


class Grown(NamedTuple):
    """The trees of an index, one after the other."""

    packed: Annotated[Nodes, PACKED_NODES]
    """nodes: threshold; feature: 2 f, 2 f + 1 where missing values go right; left child. Of a leaf: ∞, 0, itself."""
    rule: Annotated[Whole, table("nodes", loose=True)]
    """nodes: the rule of a leaf; any number that is none: no rule."""
    roots: Annotated[Ints, table("trees", least=0, most="nodes - 1")]
    """trees: where each begins; it ends where the next begins."""
    grown: Annotated[Ints, table("trees", least=0, most="slots - 1")]
    """trees: which classifier each is."""


@compiled
def unfold(nodes: Nodes, tally: Floats, root: int) -> tuple[Nodes, Ints, Ints]:
    """Copy the tree below a root of a pool, parents first; give its nodes, ``missing``, and each leaf's parent, leaf.

    The last table has a row for each leaf: its node in the pool, and its parent there (-1: none).
    """
    n, order = 1, np.empty(len(nodes), dtype=np.int64)
    above = np.empty(len(nodes), dtype=np.int64)
    order[0], above[0] = root, -1
    done, leaves = 0, 0
    while done < n:
        i = order[done]
        if feature_of(nodes, i) == LEAF:
            leaves += 1
        else:
            for child in range(left_of(nodes, i), left_of(nodes, i) + arity(nodes, i)):
                order[n], above[n] = child, i
                n += 1
        done += 1
    copy, missing = np.empty(n, dtype=NODE), np.full(n, -1, dtype=np.int64)
    origin = np.empty((leaves, 2), dtype=np.int64)
    first, leaf = 1, 0
    for k in range(n):
        i = order[k]
        copy[k]["feature"], copy[k]["threshold"] = nodes[i]["feature"], nodes[i]["threshold"]
        if feature_of(nodes, i) == LEAF:
            copy[k]["left"] = leaf
            origin[leaf, 0], origin[leaf, 1] = i, above[k]
            leaf += 1
        else:
            copy[k]["left"] = first
            missing[k] = first + heavier(tally, left_of(nodes, i), arity(nodes, i)) - left_of(nodes, i)
            first += arity(nodes, i)
    return copy, missing, origin


# -- boxes ------------------------------------------------------------------------------------------------------------


@inlined
def bit_at(bits: Bits, i: int, k: int) -> bool:
    """Is bit k of row i set?"""
    return bool((bits[i, k >> 6] >> np.uint64(k & 63)) & _ONE)


@inlined
def set_bit(bits: Bits, i: int, k: int, on: bool) -> None:
    """Set bit k of row i, or clear it."""
    mask = _ONE << np.uint64(k & 63)
    bits[i, k >> 6] = bits[i, k >> 6] | mask if on else bits[i, k >> 6] & ~mask


@inlined
def holds(boxes: Boxes, i: int, X: Floats, r: int) -> bool:
    """Does box i hold row r?"""
    lo, hi, bits, values, at = boxes
    for f in range(lo.shape[1]):
        v = X[r, f]
        if values[f] == 0:
            if not lo[i, f] <= v <= hi[i, f]:
                if v == v or not bit_at(bits, i, at[f]):
                    return False
        elif not bit_at(bits, i, place(values, at, f, v)):
            return False
    return True


@inlined
def place(values: Ints, at: Ints, f: int, v: float) -> int:
    """Which bit stands for value v of a nominal feature, or for a missing value of any?"""
    if v != v:
        return int(at[f])
    return int(at[f] + 1 + (int(v) if 0.0 <= v < values[f] else values[f]))


@compiled
def boxes_of(nodes: Nodes, missing: Ints, values: Ints, at: Ints, width: int) -> tuple[Floats, Floats, Bits]:
    """Give the box of each leaf, in the order of their numbers."""
    n, d = len(nodes), len(values)
    lo, hi = np.full((n, d), -math.inf), np.full((n, d), math.inf)
    bits = np.zeros((n, width), dtype=np.uint64)
    leaves = 0
    for f in range(d):
        for k in range(1 if values[f] == 0 else values[f] + 2):
            set_bit(bits, 0, at[f] + k, True)
    for i in range(n):
        f = feature_of(nodes, i)
        if f == LEAF:
            leaves += 1
            continue
        first, k, t = left_of(nodes, i), arity(nodes, i), nodes[i]["threshold"]
        for child in range(first, first + k):
            lo[child], hi[child], bits[child] = lo[i], hi[i], bits[i]
            g = f if f >= 0 else -2 - f
            if missing[i] != child:
                set_bit(bits, child, at[g], False)
            if f >= 0 and child == first:
                hi[child, f] = min(hi[child, f], t)
            elif f >= 0:
                above = np.nextafter(t, math.inf) if t < math.inf else math.nan
                lo[child, f] = max(lo[child, f], above) if t < math.inf else math.inf
                hi[child, f] = hi[child, f] if t < math.inf else -math.inf
            else:
                restrict(bits, child, at[g] + 1, values[g], t, child - first, missing[i] == child)
            if f >= 0 and lo[child, f] > hi[child, f]:  # no number: then the union with another is the other
                lo[child, f], hi[child, f] = math.inf, -math.inf
    low, high, kept = np.empty((leaves, d)), np.empty((leaves, d)), np.empty((leaves, width), dtype=np.uint64)
    for i in range(n):
        if feature_of(nodes, i) == LEAF:
            j = left_of(nodes, i)
            low[j], high[j], kept[j] = lo[i], hi[i], bits[i]
    return low, high, kept


@called
def restrict(bits: Bits, i: int, first: int, values: int, t: float, branch: int, heavy: bool) -> None:
    """Leave of the values of a nominal feature those that a test sends to one branch."""
    for v in range(values + 1):
        own = v == branch if v < -t else heavy
        goes = (v == t) == (branch == 0) if t >= 0.0 else own
        if not goes:
            set_bit(bits, i, first + v, False)


@compiled
def possible(boxes: Boxes) -> NDArray[np.bool_]:
    """Which boxes hold anything at all?"""
    lo, hi, bits, values, at = boxes
    kept = np.ones(len(lo), dtype=np.bool_)
    for i in range(len(lo)):
        for f in range(len(values)):
            some = bit_at(bits, i, at[f]) or (values[f] == 0 and lo[i, f] <= hi[i, f])
            for k in range(at[f] + 1, at[f] + 2 + values[f] if values[f] > 0 else at[f] + 1):
                some = some or bit_at(bits, i, k)
            kept[i] = kept[i] and some
    return kept


# -- packed -----------------------------------------------------------------------------------------------------------


@compiled
def packed_size(nodes: Nodes) -> int:
    """How many packed nodes a tree takes at most."""
    size = 1
    for i in range(len(nodes)):
        if feature_of(nodes, i) >= 0:
            size += 2
        elif feature_of(nodes, i) < LEAF:
            size += 4 if nodes[i]["threshold"] >= 0.0 else 2 * arity(nodes, i)
    return size  # a node may be there twice: its children are then shared


@compiled
def pack(nodes: Nodes, missing: Ints, packed: Nodes, leaf: Whole, base: int, first_leaf: int) -> int:
    """Write a tree into ``packed`` and ``leaf`` from ``base`` on, siblings side by side, nearest to the root first.

    Give the number of packed nodes. A pending one is a node of the tree, or a part (low … high) of the branches of a
    nominal test.
    """
    room = len(packed)
    source = np.empty((room, 3), dtype=np.int64)  # node, first and last branch in question (-1: all)
    shared = np.full(len(nodes), -1, dtype=np.int64)  # where the children of a node are already
    source[0, 0], source[0, 1], source[0, 2] = 0, -1, -1
    done, n = 0, 1
    while done < n:
        i, low, high = source[done, 0], source[done, 1], source[done, 2]
        whole = low < 0
        f = feature_of(nodes, i)
        here = base + done
        leaf[done] = NO_LEAF
        if f == LEAF:
            packed[done]["threshold"], packed[done]["feature"], packed[done]["left"] = math.inf, 0, here
            leaf[done] = first_leaf + left_of(nodes, i)
            done += 1
            continue
        t, first = nodes[i]["threshold"], left_of(nodes, i)
        if f >= 0:
            packed[done]["threshold"] = t
            packed[done]["feature"] = 2 * f + int(missing[i] != first)
            a0, a1, a2, b0, b1, b2 = first, -1, -1, first + 1, -1, -1
        elif t >= 0.0:  # x ≤ v first, then (low = 0) x ≤ v - ½
            g = -2 - f
            if whole:
                packed[done]["threshold"] = t
                packed[done]["feature"] = 2 * g + int(missing[i] != first)
                a0, a1, a2, b0, b1, b2 = i, 0, 0, first + 1, -1, -1
            else:
                packed[done]["threshold"] = t - 0.5
                packed[done]["feature"] = 2 * g + 1  # missing values that come here go to "equals"
                a0, a1, a2, b0, b1, b2 = first + 1, -1, -1, first, -1, -1
        else:
            g, k = -2 - f, arity(nodes, i)
            if whole:
                low, high = 0, k  # branch k: values that have none
            heavy = missing[i] - first
            middle = (low + high) // 2
            packed[done]["threshold"] = middle + 0.5
            packed[done]["feature"] = 2 * g + int(heavy > middle)
            a0, a1, a2 = (i, low, middle) if low < middle else (first + low, -1, -1)
            b0, b1, b2 = (i, middle + 1, high) if middle + 1 < high else (first + high, -1, -1)
            if middle + 1 == high == k:
                b0, b1, b2 = missing[i], -1, -1
        if whole and shared[i] >= 0:
            packed[done]["left"] = base + shared[i]
        else:
            if whole:
                shared[i] = n
            packed[done]["left"] = base + n
            source[n, 0], source[n, 1], source[n, 2] = a0, a1, a2
            source[n + 1, 0], source[n + 1, 1], source[n + 1, 2] = b0, b1, b2
            n += 2
        done += 1
    return n


@compiled
def in_depth(packed: Nodes, leaf: Whole, base: int) -> tuple[Nodes, Whole]:
    """Give a packed tree with another order: after a pair of siblings what is below the left one, then below the right.

    Groups of rows that go down it (batch_jit.py) then read the memory from one end to the other. Siblings may be the
    children of two nodes, and come after both.
    """
    n = len(packed)
    order, end = np.empty(n, dtype=np.int64), n  # pairs by their left node, the root by itself; filled from the end
    seen, path, depth = np.zeros(n, dtype=np.bool_), np.empty((n, 2), dtype=np.int64), 1
    path[0, 0], path[0, 1] = 0, 0  # a pair, and how many of its nodes have been looked below, the right one first
    while depth > 0:
        first, done = path[depth - 1, 0], path[depth - 1, 1]
        last = first if first == 0 else first + 1
        if done == 1 + last - first:
            end -= 1
            order[end] = first
            depth -= 1
            continue
        path[depth - 1, 1] = done + 1
        i = last - done
        below = np.int64(packed[i]["left"]) - base
        if below != i and not seen[below]:
            seen[below] = True
            path[depth, 0], path[depth, 1] = below, 0
            depth += 1
    place, size = np.empty(n, dtype=np.int64), 0
    for k in range(end, n):
        place[order[k]] = size
        size += 1 if k == end else 2
    turned, numbers = np.empty(n, dtype=PACKED), np.empty(n, dtype=np.uint32)
    for k in range(end, n):
        for i in range(order[k], order[k] + (1 if k == end else 2)):
            to, below = place[order[k]] + i - order[k], np.int64(packed[i]["left"]) - base
            turned[to] = packed[i]
            turned[to]["left"] = base + (to if below == i else place[below])
            numbers[to] = leaf[i]
    return turned[:size], numbers[:size]


@inlined
def step(packed: Nodes, i: int, X: Floats, r: int) -> int:
    """Go from packed node i to the child that row r takes; a leaf leads to itself."""
    f = np.int64(packed[i]["feature"])
    v, t = X[r, f >> 1], packed[i]["threshold"]
    return int(np.int64(packed[i]["left"]) + (int(v > t) | (int(v != v) & (f & 1))))


@inlined
def descend(packed: Nodes, root: int, X: Floats, r: int) -> int:
    """Find the leaf of row r below a root."""
    i = root
    j = step(packed, i, X, r)
    while j != i:
        i = j
        j = step(packed, i, X, r)
    return i


@compiled
def hold_all(boxes: Boxes, X: Floats) -> NDArray[np.bool_]:
    """Say for each row which boxes hold it."""
    boxes = Boxes(*boxes)
    found = np.zeros((len(X), len(boxes.lo)), dtype=np.bool_)
    for r in range(len(X)):
        for i in range(len(boxes.lo)):
            found[r, i] = holds(boxes, i, X, r)
    return found
