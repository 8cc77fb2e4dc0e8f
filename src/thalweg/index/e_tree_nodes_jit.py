"""Nodes of the E-tree, and the volumes of boxes."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from thalweg.core.declared import span, table
from thalweg.index.trees_jit import Bits
from thalweg.jit.compile import called, inlined
from thalweg.pool.leaf_jit import Floats, Ints

SIZE, PARENT, LEVEL = 0, 1, 2
ROOT, USED, FREE, MOST, LEAST = 0, 1, 2, 3, 4
FLOOR, LOGS = 1e-3, 60
"""Share of the domain that a side counts at least: one without width must not hide all others. With more features than
LOGS volumes are sums of logarithms: products would vanish."""
HIGHEST = 60
"""No tree has as many levels: each has a bit in a word."""
_NOMINAL = 4  # the share of values that a box allows counts to this power


class Tree(NamedTuple):
    """The tables of an E-tree. A node has room for E entries: M + 1, rounded up to whole vectors."""

    low: Annotated[Floats, table("nodes", "d", "E", loose=True)]
    """nodes × d × E: lower ends of the boxes of a node's entries, side by side so that all are tested at once. Of an
    entry that is not there: ∞."""
    high: Annotated[Floats, table("nodes", "d", "E", loose=True)]
    """nodes × d × E: upper ends. Of an entry that is not there: -∞."""
    flags: Annotated[Bits, table("nodes", "E", "width", loose=True)]
    """nodes × E × B: the bits of the entries' boxes, see trees_jit.py; of one not there: 0."""
    entry: Annotated[Ints, table("nodes", "E", loose=True)]
    """nodes × E: of a leaf node rules (rows of the table), of a pivot node its children; ``ETree.validate`` looks at
    those that there are."""
    links: Annotated[
        Ints,
        table(
            "nodes",
            3,
            rows="used",
            cells={SIZE: span(0, "M"), PARENT: span(-1, "used - 1"), LEVEL: span(-1, HIGHEST)},
        ),
    ]
    """nodes × 3: SIZE: entries; PARENT (-1: none; of a free node: the next); LEVEL (0: leaf)."""
    head: Annotated[
        Ints,
        table(
            5,
            cells={
                ROOT: span(0, "used - 1"),
                USED: span(1, "nodes", name="used"),
                FREE: span(-1, "used - 1"),
                MOST: span("M", "M"),
                LEAST: span("m", "m"),
            },
        ),
    ]
    """5: ROOT, USED nodes, FREE: a free one (-1: none), MOST and LEAST entries M and m."""
    home: Annotated[Ints, table("rules", least=-1, most="used - 1")]
    """rules: the leaf node that holds the rule; -1: none."""
    domain: Annotated[Floats, table(2, "d", loose=True)]
    """2 × d: least and greatest end of all boxes so far, by which volumes are measured."""
    values: Ints
    """d: as in trees_jit.py."""
    at: Ints
    """d: as in trees_jit.py."""


class Searched(NamedTuple):
    """The tables of ``Tree`` that a search looks at: fewer to hand over for each row."""

    low: Floats
    high: Floats
    flags: Bits
    entry: Ints
    links: Ints
    head: Ints
    values: Ints
    at: Ints


class Box(NamedTuple):
    """One box by itself."""

    lo: Floats
    """d."""
    hi: Floats
    """d."""
    bits: Bits
    """B."""


@called
def new_box(tree: Tree) -> Box:
    """Make room for a box."""
    d = len(tree.values)
    return Box(np.empty(d), np.empty(d), np.empty(tree.flags.shape[2], dtype=np.uint64))


# -- nodes ------------------------------------------------------------------------------------------------------------


@called
def take_node(tree: Tree, level: int) -> int:
    """Take a node without entries."""
    links, head = tree.links, tree.head
    i = head[FREE]
    if i >= 0:
        head[FREE] = links[i, PARENT]
    else:
        i = head[USED]
        head[USED] += 1
    links[i, PARENT], links[i, LEVEL] = -1, level
    empty_node(tree, i)
    return int(i)


@called
def empty_node(tree: Tree, i: int) -> None:
    """Let node i have no entries."""
    tree.links[i, SIZE] = 0
    tree.low[i, :, :], tree.high[i, :, :], tree.flags[i, :, :] = math.inf, -math.inf, 0


@inlined
def free_node(tree: Tree, i: int) -> None:
    """Give a node back."""
    links, head = tree.links, tree.head
    links[i, SIZE], links[i, LEVEL] = 0, -1
    links[i, PARENT] = head[FREE]
    head[FREE] = i


@called
def put(tree: Tree, i: int, what: int, box: Box) -> None:
    """Add an entry to node i."""
    links, e = tree.links, tree.links[i, SIZE]
    tree.low[i, :, e], tree.high[i, :, e], tree.flags[i, e] = box.lo, box.hi, box.bits
    tree.entry[i, e] = what
    links[i, SIZE] += 1
    if links[i, LEVEL] == 0:
        tree.home[what] = i
    else:
        links[what, PARENT] = i


@called
def take_out(tree: Tree, i: int, what: int) -> None:
    """Remove an entry of node i; the last one takes its place."""
    low, high, flags, entry = tree.low, tree.high, tree.flags, tree.entry
    e, last = where(tree, i, what), tree.links[i, SIZE] - 1
    low[i, :, e], high[i, :, e], flags[i, e] = low[i, :, last], high[i, :, last], flags[i, last]
    entry[i, e] = entry[i, last]
    low[i, :, last], high[i, :, last], flags[i, last] = math.inf, -math.inf, 0
    tree.links[i, SIZE] = last


@called
def where(tree: Tree, i: int, what: int) -> int:
    """Find an entry of node i."""
    for e in range(tree.links[i, SIZE]):
        if tree.entry[i, e] == what:
            return e
    return -1


@called
def bound(tree: Tree, child: int, box: Box) -> None:
    """Fill a box with the union of the entries of a node."""
    lo, hi, bits = box
    n = tree.links[child, SIZE]
    lo[:], hi[:], bits[:] = math.inf, -math.inf, 0
    for f in range(len(lo)):
        for e in range(n):
            lo[f], hi[f] = min(lo[f], tree.low[child, f, e]), max(hi[f], tree.high[child, f, e])
    for e in range(n):
        for k in range(len(bits)):
            bits[k] |= tree.flags[child, e, k]


@called
def tighten(tree: Tree, child: int, box: Box) -> None:
    """Let the box of a node in its parent be the union of its entries."""
    i = tree.links[child, PARENT]
    e = where(tree, i, child)
    bound(tree, child, box)
    tree.low[i, :, e], tree.high[i, :, e], tree.flags[i, e] = box.lo, box.hi, box.bits


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
def measure(tree: Tree, i: int, n: int, box: Box, own: Floats, joint: Floats) -> None:
    """Fill ``own`` with the volumes of the n entries of node i, ``joint`` with those of their unions with a box."""
    flags, values, at, domain = tree.flags, tree.values, tree.at, tree.domain
    logs = len(values) > LOGS
    for e in range(n):
        own[e] = joint[e] = 0.0 if logs else 1.0
    for f in range(len(values)):
        if values[f] > 0:
            for e in range(n):
                one = share_of(flags[i, e], flags[i, e], at[f], at[f] + values[f] + 2) ** _NOMINAL
                two = share_of(flags[i, e], box.bits, at[f], at[f] + values[f] + 2) ** _NOMINAL
                own[e] = own[e] + math.log(max(one, 1e-12)) if logs else own[e] * one
                joint[e] = joint[e] + math.log(max(two, 1e-12)) if logs else joint[e] * two
            continue
        least, most = domain[0, f], domain[1, f]
        if not least < most:
            continue
        a, b, unit = tree.low[i, f, :n], tree.high[i, f, :n], 1.0 / (most - least)
        x, y = box.lo[f], box.hi[f]
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
def choose(tree: Tree, i: int, box: Box, work: Floats) -> int:
    """Find the entry of node i that grows least by a box; then the smallest, the one with fewest entries, the first.

    work: 2 × E.
    """
    entry, links, n = tree.entry, tree.links, tree.links[i, SIZE]
    own, joint = work[0], work[1]
    measure(tree, i, n, box, own, joint)
    logs = len(tree.values) > LOGS
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
def volume(tree: Tree, box: Box) -> float:
    """The volume of one box, or its logarithm where there are many features."""
    (lo, hi, bits), values, at, domain = box, tree.values, tree.at, tree.domain
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
