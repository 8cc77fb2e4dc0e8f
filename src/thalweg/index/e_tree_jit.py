"""The E-tree: a height-balanced tree of boxes over the table of rules (Zhang et al. 2011, after Guttman's R-tree).

| table  | shape             | dtype   | meaning |
| low    | nodes × d × E     | float64 | lower ends of the boxes of a node's entries, which lie side by side: all are |
| high   | nodes × d × E     | float64 | tested at once. Of an entry that is not there: ∞ and -∞ |
| flags  | nodes × E × B     | uint64  | the bits of the entries' boxes, see trees_jit.py; of one not there: 0 |
| entry  | nodes × E         | int64   | of a leaf node rules (rows of the table), of a pivot node its children |
| links  | nodes × 3         | int64   | SIZE: entries; PARENT (-1: none; of a free node: the next); LEVEL (0: leaf) |
| head   | 5                 | int64   | ROOT, USED nodes, FREE: a free one (-1: none), MOST and LEAST entries M and m |
| home   | rules             | int64   | the leaf node that holds the rule; -1: none |
| domain | 2 × d             | float64 | least and greatest end of all boxes so far, by which volumes are measured |

E is M + 1, rounded up to whole vectors. ``work`` has room for 2 × E numbers.
"""

import math

import numpy as np

from thalweg.index.scores_jit import add_rule, push
from thalweg.index.trees_jit import Bits, place
from thalweg.jit.compile import called, compiled, inlined
from thalweg.trees.leaf_jit import Floats, Ints

SIZE, PARENT, LEVEL = 0, 1, 2
ROOT, USED, FREE, MOST, LEAST = 0, 1, 2, 3, 4
GREEDY, RSTAR = 0, 1
_FLOOR = 1e-3  # share of the domain that a side counts at least: one without width must not hide all others
_NOMINAL = 4  # the share of values that a box allows counts to this power
_LOGS = 60  # with more features volumes are sums of logarithms: products would vanish


# -- searching --------------------------------------------------------------------------------------------------------


@inlined
def test(low: Floats, high: Floats, flags: Bits, values: Ints, at: Ints, i: int, n: int, X: Floats, r: int,
         hit: Ints) -> None:  # fmt: skip
    """Say in ``hit`` which of the n entries of node i hold row r."""
    for e in range(n):
        hit[e] = 1
    for f in range(len(values)):
        v = X[r, f]
        if values[f] == 0 and v == v:
            a, b = low[i, f, :n], high[i, f, :n]
            for e in range(len(a)):
                hit[e] &= int(a[e] <= v) & int(v <= b[e])
        else:
            k = place(values, at, f, v)
            for e in range(n):
                hit[e] &= int(flag(flags, i, e, k))


@inlined
def flag(flags: Bits, i: int, e: int, k: int) -> bool:
    """Is bit k of entry e of node i set?"""
    return bool((flags[i, e, k >> 6] >> np.uint64(k & 63)) & np.uint64(1))


@called
def search(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, values: Ints, at: Ints,
           X: Floats, r: int, stack: Ints, hit: Ints, found: Ints) -> tuple[Ints, int, int]:  # fmt: skip
    """Give the rules that hold row r, ascending, how many they are, and how many entries were tested."""
    n, depth, tested = 0, 1, 0
    stack[0] = head[ROOT]
    while depth > 0:
        depth -= 1
        i = stack[depth]
        size = links[i, SIZE]
        tested += size
        test(low, high, flags, values, at, i, size, X, r, hit)
        for e in range(size):
            if hit[e] != 0:
                if links[i, LEVEL] == 0:
                    found = push(found, n, entry[i, e])
                    n += 1
                else:
                    stack[depth] = entry[i, e]
                    depth += 1
    found[:n].sort()
    return found, n, tested


@compiled
def e_tree_scores(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, values: Ints, at: Ints,
                  payload: Floats, owner: Ints, weight: Floats, X: Floats, out: Floats) -> int:  # fmt: skip
    """Add up the votes; give how many entries were tested."""
    stack, hit = np.empty(len(links) + 1, dtype=np.int64), np.empty(entry.shape[1], dtype=np.int64)
    found, tested = np.empty(64, dtype=np.int64), 0
    for r in range(len(X)):
        found, n, more = search(low, high, flags, entry, links, head, values, at, X, r, stack, hit, found)
        tested += more
        for k in range(n):
            add_rule(payload, owner, weight, found[k], out, r)
    return tested


@compiled
def e_tree_match(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, values: Ints, at: Ints,
                 X: Floats, start: Ints) -> Ints:  # fmt: skip
    """Give the rules that hold each row, one row after the other."""
    stack, hit = np.empty(len(links) + 1, dtype=np.int64), np.empty(entry.shape[1], dtype=np.int64)
    found, every, total = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64), 0
    for r in range(len(X)):
        start[r] = total
        found, n, _ = search(low, high, flags, entry, links, head, values, at, X, r, stack, hit, found)
        for k in range(n):
            every = push(every, total, found[k])
            total += 1
    start[len(X)] = total
    return every[:total]


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
    logs = len(values) > _LOGS
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
            one, two = max(one, _FLOOR), max(two, _FLOOR)
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
    logs = len(values) > _LOGS
    best, least = 0, growth(logs, own[0], joint[0])
    for e in range(1, n):
        more = growth(logs, own[e], joint[e])
        if more < least or (
            more == least
            and (own[e] < own[best] or (own[e] == own[best] and links[entry[i, e], SIZE] < links[entry[i, best], SIZE]))
        ):
            best, least = e, more
    return best


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


# -- inserting --------------------------------------------------------------------------------------------------------


@compiled
def insert(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, home: Ints, domain: Floats,
           values: Ints, at: Ints, lo: Floats, hi: Floats, bits: Bits, what: Ints, level: Ints, begin: int,
           rule: int) -> int:  # fmt: skip
    """Insert entries from ``begin`` on; stop where nodes might run out; give how many are done.

    level: of the node that an entry goes into. 0: the entry is a row of the table of rules; above: a node, which has
    lost its place, with all below it.
    """
    work = np.empty((2, entry.shape[1]))
    a, b, c = np.empty(len(values)), np.empty(len(values)), np.empty(bits.shape[1], dtype=np.uint64)
    for k in range(begin, len(what)):
        if len(links) - head[USED] < links[head[ROOT], LEVEL] + 3:
            return k
        row = what[k]
        if level[k] > 0:
            bound(low, high, flags, links, row, a, b, c)
        else:
            a[:], b[:], c[:] = lo[row], hi[row], bits[row]
            for f in range(len(values)):
                for end in (a[f], b[f]):
                    if -math.inf < end < math.inf:
                        domain[0, f], domain[1, f] = min(domain[0, f], end), max(domain[1, f], end)
        add_entry(low, high, flags, entry, links, head, home, domain, values, at, a, b, c, row, level[k], rule, work)
    while links[head[ROOT], LEVEL] > 0 and links[head[ROOT], SIZE] == 1:
        root = head[ROOT]
        head[ROOT] = entry[root, 0]
        links[head[ROOT], PARENT] = -1
        free_node(links, head, root)
    return len(what)


@called
def add_entry(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, home: Ints, domain: Floats,
              values: Ints, at: Ints, lo: Floats, hi: Floats, bits: Bits, what: int, level: int, rule: int,
              work: Floats) -> None:  # fmt: skip
    """Insert an entry: down to the node that grows least, and where a node has too many entries divide it."""
    i = head[ROOT]
    while links[i, LEVEL] > level:
        e = choose(low, high, flags, entry, links, values, at, domain, i, lo, hi, bits, work)
        for f in range(len(lo)):
            low[i, f, e], high[i, f, e] = min(low[i, f, e], lo[f]), max(high[i, f, e], hi[f])
        for k in range(len(bits)):
            flags[i, e, k] |= bits[k]
        i = entry[i, e]
    put(low, high, flags, entry, links, home, i, what, lo, hi, bits)
    while links[i, SIZE] > head[MOST]:
        other = divide(low, high, flags, entry, links, head, home, domain, values, at, i, rule)
        if i == head[ROOT]:
            root = take_node(low, high, flags, links, head, links[i, LEVEL] + 1)
            head[ROOT] = root
            bound(low, high, flags, links, i, lo, hi, bits)
            put(low, high, flags, entry, links, home, root, i, lo, hi, bits)
        else:
            tighten(low, high, flags, entry, links, i, lo, hi, bits)
        above = links[i, PARENT]
        bound(low, high, flags, links, other, lo, hi, bits)
        put(low, high, flags, entry, links, home, above, other, lo, hi, bits)
        i = above


@called
def divide(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, home: Ints, domain: Floats,
           values: Ints, at: Ints, i: int, rule: int) -> int:  # fmt: skip
    """Divide the M + 1 entries of node i between it and a new node, which is given."""
    n, d = links[i, SIZE], len(values)
    los, his, bits = low[i].copy(), high[i].copy(), flags[i].copy()
    what = entry[i, :n].copy()
    second = np.zeros(n, dtype=np.int64)
    if rule == RSTAR:
        by_axis(los, his, values, domain, n, head[LEAST], second)
    else:
        by_seeds(low, high, flags, values, at, domain, i, n, head[LEAST], second)
    other = take_node(low, high, flags, links, head, links[i, LEVEL])
    links[i, SIZE] = 0
    low[i, :, :], high[i, :, :], flags[i, :, :] = math.inf, -math.inf, 0
    lo, hi = np.empty(d), np.empty(d)
    for e in range(n):
        for f in range(d):
            lo[f], hi[f] = los[f, e], his[f, e]
        put(low, high, flags, entry, links, home, other if second[e] != 0 else i, what[e], lo, hi, bits[e])
    return other


@called
def by_seeds(low: Floats, high: Floats, flags: Bits, values: Ints, at: Ints, domain: Floats, i: int, n: int, least: int,
             second: Ints) -> None:  # fmt: skip
    """Divide greedily: the two entries with the most distant centres, then each to the group that grows less by it."""
    d = len(values)
    centre, away = np.zeros((n, d)), np.zeros((n, n))
    for f in range(d):
        if values[f] == 0 and domain[0, f] < domain[1, f]:
            a, b, unit = domain[0, f], domain[1, f], 1.0 / (domain[1, f] - domain[0, f])
            for e in range(n):
                x, y = min(max(low[i, f, e], a), b), min(max(high[i, f, e], a), b)
                centre[e, f] = (0.5 * (x + y) - a) * unit
    one, other, far = 0, 1, -1.0
    for e in range(n):
        for g in range(e + 1, n):
            s = 0.0
            for f in range(d):
                s += (centre[e, f] - centre[g, f]) ** 2
                if values[f] > 0:
                    for k in range(at[f], at[f] + values[f] + 2):
                        s += 1.0 if flag(flags, i, e, k) != flag(flags, i, g, k) else 0.0
            away[e, g] = away[g, e] = math.sqrt(s)
            if away[e, g] > far:
                one, other, far = e, g, away[e, g]
    order = np.argsort(-np.abs(away[one] - away[other]), kind="mergesort")
    members = np.zeros(2, dtype=np.int64)
    los, his = np.empty((2, d)), np.empty((2, d))
    bits = np.zeros((2, flags.shape[2]), dtype=np.uint64)
    lo, hi, both, grown = np.empty(d), np.empty(d), np.empty(flags.shape[2], dtype=np.uint64), np.empty(2)
    left = n
    logs = d > _LOGS
    for turn in range(n + 2):
        e = one if turn == 0 else other if turn == 1 else int(order[turn - 2])
        if turn >= 2 and e in (one, other):
            continue
        if turn < 2:
            g = turn
            los[g], his[g], bits[g] = low[i, :, e], high[i, :, e], flags[i, e]
        else:
            for g in range(2):
                for f in range(d):
                    lo[f], hi[f] = min(los[g, f], low[i, f, e]), max(his[g, f], high[i, f, e])
                for k in range(bits.shape[1]):
                    both[k] = bits[g, k] | flags[i, e, k]
                joint = volume(lo, hi, both, values, at, domain)
                grown[g] = growth(logs, volume(los[g], his[g], bits[g], values, at, domain), joint)
            g = 0 if grown[0] < grown[1] or (grown[0] == grown[1] and members[0] <= members[1]) else 1
            if members[0] + left <= least:
                g = 0
            elif members[1] + left <= least:
                g = 1
            for f in range(d):
                los[g, f], his[g, f] = min(los[g, f], low[i, f, e]), max(his[g, f], high[i, f, e])
            for k in range(bits.shape[1]):
                bits[g, k] |= flags[i, e, k]
        members[g] += 1
        left -= 1
        second[e] = g


@called
def volume(lo: Floats, hi: Floats, bits: Bits, values: Ints, at: Ints, domain: Floats) -> float:
    """The volume of one box, or its logarithm where there are many features."""
    logs = len(values) > _LOGS
    size = 0.0 if logs else 1.0
    for f in range(len(values)):
        if values[f] > 0:
            side = share_of(bits, bits, at[f], at[f] + values[f] + 2) ** _NOMINAL
            side = max(side, 1e-12) if logs else side
        elif domain[0, f] < domain[1, f]:
            side = (min(hi[f], domain[1, f]) - max(lo[f], domain[0, f])) * (1.0 / (domain[1, f] - domain[0, f]))
            side = max(side, _FLOOR)
        else:
            continue
        size = size + math.log(side) if logs else size * side
    return size


@called
def by_axis(low: Floats, high: Floats, values: Ints, domain: Floats, n: int, least: int,
            second: Ints) -> None:  # fmt: skip
    """Divide along one feature, as the R*-tree does: the one with the least margins, there the least overlap."""
    d = len(values)
    best_axis, best_margin = -1, math.inf
    lo, hi = np.empty((2, d)), np.empty((2, d))
    for f in range(d):
        if values[f] == 0 and domain[0, f] < domain[1, f]:
            order, margin = sorted_along(low, high, domain, f, n), 0.0
            for cut in range(least, n - least + 1):
                unions(low, high, domain, order, cut, lo, hi)
                for g in range(2):
                    for h in range(d):
                        margin += hi[g, h] - lo[g, h]
            if margin < best_margin:
                best_axis, best_margin = f, margin
    if best_axis < 0:
        for e in range(n // 2, n):
            second[e] = 1
        return
    order = sorted_along(low, high, domain, best_axis, n)
    best_cut, best_overlap, best_area = least, math.inf, math.inf
    for cut in range(least, n - least + 1):
        unions(low, high, domain, order, cut, lo, hi)
        overlap, first_area, second_area = 1.0, 1.0, 1.0
        for h in range(d):
            overlap *= max(0.0, min(hi[0, h], hi[1, h]) - max(lo[0, h], lo[1, h]))
            first_area *= max(_FLOOR, hi[0, h] - lo[0, h])
            second_area *= max(_FLOOR, hi[1, h] - lo[1, h])
        area = first_area + second_area
        if overlap < best_overlap or (overlap == best_overlap and area < best_area):
            best_cut, best_overlap, best_area = cut, overlap, area
    for k in range(best_cut, n):
        second[order[k]] = 1


@called
def sorted_along(low: Floats, high: Floats, domain: Floats, f: int, n: int) -> Ints:
    """The entries in the order of their lower, then upper ends in feature f."""
    key = np.empty(n)
    for e in range(n):
        a = min(max(low[f, e], domain[0, f]), domain[1, f])
        b = min(max(high[f, e], domain[0, f]), domain[1, f])
        key[e] = a + 1e-3 * b
    return np.argsort(key, kind="mergesort")


@called
def unions(low: Floats, high: Floats, domain: Floats, order: Ints, cut: int, lo: Floats, hi: Floats) -> None:
    """The boxes of the first ``cut`` entries and of the others, as shares of the domain."""
    for f in range(lo.shape[1]):
        a, b = domain[0, f], domain[1, f]
        unit = 1.0 / (b - a) if a < b else 0.0
        lo[0, f], hi[0, f], lo[1, f], hi[1, f] = 1.0, 0.0, 1.0, 0.0
        for k in range(len(order)):
            g, e = int(k >= cut), order[k]
            x = (min(max(low[f, e], a), b) - a) * unit if unit > 0.0 else 0.0
            y = (min(max(high[f, e], a), b) - a) * unit if unit > 0.0 else 1.0
            lo[g, f], hi[g, f] = min(lo[g, f], x), max(hi[g, f], y)


# -- deleting ---------------------------------------------------------------------------------------------------------


@compiled
def delete(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, home: Ints,
           rows: Ints) -> tuple[Ints, Ints]:  # fmt: skip
    """Delete rows, and dissolve nodes with too few entries; give what lost its place so, and the level of its node.

    All rows leave their leaves first. Then level after level the boxes of the nodes in question shrink. Entries of
    higher nodes come first: they must have their place again before what goes below them.
    """
    d, width = low.shape[1], flags.shape[2]
    lo, hi, bits = np.empty(d), np.empty(d), np.empty(width, dtype=np.uint64)
    seen = np.zeros(len(links), dtype=np.bool_)
    queue, n = np.empty(len(links), dtype=np.int64), 0
    for row in rows:
        i = home[row]
        home[row] = -1
        take_out(low, high, flags, entry, links, i, where(entry, links, i, row))
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
            tighten(low, high, flags, entry, links, i, lo, hi, bits)
            continue
        take_out(low, high, flags, entry, links, above, where(entry, links, above, i))
        for e in range(links[i, SIZE]):
            orphans, levels = push(orphans, lost, entry[i, e]), push(levels, lost, links[i, LEVEL])
            lost += 1
            if links[i, LEVEL] == 0:
                home[entry[i, e]] = -1
        free_node(links, head, i)
    root = head[ROOT]
    if links[root, SIZE] == 0:
        links[root, LEVEL] = levels[lost - 1] if lost > 0 else 0
    return orphans[:lost][::-1].copy(), levels[:lost][::-1].copy()
