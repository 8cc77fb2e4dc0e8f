"""Nodes of the E-tree, and the volumes of boxes. The tables are those of e_tree_jit.py."""

import math

import numpy as np

from thalweg.index.trees_jit import Bits
from thalweg.jit.compile import called, inlined
from thalweg.pool.leaf_jit import Floats, Ints

SIZE, PARENT, LEVEL = 0, 1, 2
ROOT, USED, FREE, MOST, LEAST = 0, 1, 2, 3, 4
FLOOR, LOGS = 1e-3, 60
"""Share of the domain that a side counts at least: one without width must not hide all others. With more features than
LOGS volumes are sums of logarithms: products would vanish."""
_NOMINAL = 4  # the share of values that a box allows counts to this power


# -- nodes ------------------------------------------------------------------------------------------------------------


@called
def take_node(low: Floats, high: Floats, flags: Bits, links: Ints, head: Ints, level: int) -> int:
    """Take a node without entries."""
    i = head[FREE]
    if i >= 0:
        head[FREE] = links[i, PARENT]
    else:
        i = head[USED]
        head[USED] += 1
    links[i, SIZE], links[i, PARENT], links[i, LEVEL] = 0, -1, level
    low[i, :, :], high[i, :, :], flags[i, :, :] = math.inf, -math.inf, 0
    return int(i)


@inlined
def free_node(links: Ints, head: Ints, i: int) -> None:
    """Give a node back."""
    links[i, SIZE], links[i, LEVEL] = 0, -1
    links[i, PARENT] = head[FREE]
    head[FREE] = i


@called
def put(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, home: Ints, i: int, what: int, lo: Floats,
        hi: Floats, bits: Bits) -> None:  # fmt: skip
    """Add an entry to node i."""
    e = links[i, SIZE]
    low[i, :, e], high[i, :, e], flags[i, e] = lo, hi, bits
    entry[i, e] = what
    links[i, SIZE] += 1
    if links[i, LEVEL] == 0:
        home[what] = i
    else:
        links[what, PARENT] = i


@called
def take_out(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, i: int, e: int) -> None:
    """Remove entry e of node i; the last one takes its place."""
    last = links[i, SIZE] - 1
    low[i, :, e], high[i, :, e], flags[i, e] = low[i, :, last], high[i, :, last], flags[i, last]
    entry[i, e] = entry[i, last]
    low[i, :, last], high[i, :, last], flags[i, last] = math.inf, -math.inf, 0
    links[i, SIZE] = last


@called
def where(entry: Ints, links: Ints, i: int, what: int) -> int:
    """Find an entry of node i."""
    for e in range(links[i, SIZE]):
        if entry[i, e] == what:
            return e
    return -1


@called
def bound(low: Floats, high: Floats, flags: Bits, links: Ints, child: int, lo: Floats, hi: Floats, bits: Bits) -> None:
    """Fill a box with the union of the entries of a node."""
    n = links[child, SIZE]
    lo[:], hi[:], bits[:] = math.inf, -math.inf, 0
    for f in range(len(lo)):
        for e in range(n):
            lo[f], hi[f] = min(lo[f], low[child, f, e]), max(hi[f], high[child, f, e])
    for e in range(n):
        for k in range(len(bits)):
            bits[k] |= flags[child, e, k]


@called
def tighten(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, child: int, lo: Floats, hi: Floats,
            bits: Bits) -> None:  # fmt: skip
    """Let the box of a node in its parent be the union of its entries."""
    i = links[child, PARENT]
    e = where(entry, links, i, child)
    bound(low, high, flags, links, child, lo, hi, bits)
    low[i, :, e], high[i, :, e], flags[i, e] = lo, hi, bits


@inlined
def flag(flags: Bits, i: int, e: int, k: int) -> bool:
    """Is bit k of entry e of node i set?"""
    return bool((flags[i, e, k >> 6] >> np.uint64(k & 63)) & np.uint64(1))


# -- volumes ----------------------------------------------------------------------------------------------------------


@called
def share_of(bits_a: Bits, bits_b: Bits, first: int, last: int) -> float:
    """Share of the bits from first to last that one of two rows of bits has."""
    n = 0
    for k in range(first, last):
        n += int(((bits_a[k >> 6] | bits_b[k >> 6]) >> np.uint64(k & 63)) & np.uint64(1))
    return n / (last - first)


@called
def measure(low: Floats, high: Floats, flags: Bits, values: Ints, at: Ints, domain: Floats, i: int, n: int, lo: Floats,
            hi: Floats, bits: Bits, own: Floats, joint: Floats) -> None:  # fmt: skip
    """Fill ``own`` with the volumes of the n entries of node i, ``joint`` with those of their unions with a box."""
    logs = len(values) > LOGS
    for e in range(n):
        own[e] = joint[e] = 0.0 if logs else 1.0
    for f in range(len(values)):
        if values[f] > 0:
            for e in range(n):
                one = share_of(flags[i, e], flags[i, e], at[f], at[f] + values[f] + 2) ** _NOMINAL
                two = share_of(flags[i, e], bits, at[f], at[f] + values[f] + 2) ** _NOMINAL
                own[e] = own[e] + math.log(max(one, 1e-12)) if logs else own[e] * one
                joint[e] = joint[e] + math.log(max(two, 1e-12)) if logs else joint[e] * two
            continue
        least, most = domain[0, f], domain[1, f]
        if not least < most:
            continue
        a, b, unit = low[i, f, :n], high[i, f, :n], 1.0 / (most - least)
        x, y = lo[f], hi[f]
        for e in range(len(a)):
            one = (min(b[e], most) - max(a[e], least)) * unit
            two = (min(max(b[e], y), most) - max(min(a[e], x), least)) * unit
            one, two = max(one, FLOOR), max(two, FLOOR)
            own[e] = own[e] + math.log(one) if logs else own[e] * one
            joint[e] = joint[e] + math.log(two) if logs else joint[e] * two


@inlined
def growth(logs: bool, own: float, joint: float) -> float:
    """How much larger a union is than a box."""
    if not logs:
        return joint - own
    return math.exp(joint) - math.exp(own) if joint > -600.0 else joint - own


@called
def choose(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, values: Ints, at: Ints, domain: Floats,
           i: int, lo: Floats, hi: Floats, bits: Bits, work: Floats) -> int:  # fmt: skip
    """Find the entry of node i that grows least by a box; then the smallest, the one with fewest entries, the first."""
    n = links[i, SIZE]
    own, joint = work[0], work[1]
    measure(low, high, flags, values, at, domain, i, n, lo, hi, bits, own, joint)
    logs = len(values) > LOGS
    best, least = 0, growth(logs, own[0], joint[0])
    for e in range(1, n):
        more = growth(logs, own[e], joint[e])
        if more < least or (
            more == least
            and (own[e] < own[best] or (own[e] == own[best] and links[entry[i, e], SIZE] < links[entry[i, best], SIZE]))
        ):
            best, least = e, more
    return best


@called
def volume(lo: Floats, hi: Floats, bits: Bits, values: Ints, at: Ints, domain: Floats) -> float:
    """The volume of one box, or its logarithm where there are many features."""
    logs = len(values) > LOGS
    size = 0.0 if logs else 1.0
    for f in range(len(values)):
        if values[f] > 0:
            side = share_of(bits, bits, at[f], at[f] + values[f] + 2) ** _NOMINAL
            side = max(side, 1e-12) if logs else side
        elif domain[0, f] < domain[1, f]:
            side = (min(hi[f], domain[1, f]) - max(lo[f], domain[0, f])) * (1.0 / (domain[1, f] - domain[0, f]))
            side = max(side, FLOOR)
        else:
            continue
        size = size + math.log(side) if logs else size * side
    return size
