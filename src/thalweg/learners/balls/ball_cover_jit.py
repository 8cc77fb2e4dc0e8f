"""A cover of balls: predicting from the nearest, learning by counting, moving, shrinking and opening balls.

N balls at most for now, d features, P counts of classes in balls. Whatever opens, moves and discards balls is here for
other learners on such a cover too. ball_index_jit.py finds the nearest; its ``points`` are the centres.

| table   | shape       | dtype   | meaning                                                                            |
| points  | N × d       | float64 | the centres, scaled as their rows were when they came                              |
| ids     | N           | int64   | balls are numbered on for ever: a discarded one's place is taken, its id is not    |
| balls   | N × 6       | float64 | radius, radius at the start, weight of mistakes, of all rows, of those the centre  |
|         |             |         | is the mean of, of the most frequent class                                         |
| marks   | N × 3       | int64   | time of the last row, most frequent class (lowest code among equals), first count  |
| entries | P × 2       | int64   | a count: its class, the next count of the same ball (-1: none)                     |
| voices  | P           | float64 | its weight                                                                         |
| head    | 8           | int64   | balls, next id, rows learned, is the first radius still unknown, counts used,      |
|         |             |         | the first of those free again, rows that wait, rows outside the diameter           |
| gauge   | 5           | float64 | diameter (0: not known), rows of this phase, estimate of the dimension, phase, the |
|         |             |         | greatest distance from the first row                                               |
| spans   | 5 × d       | float64 | of the rows learned: count, mean, squared deviations, least, greatest              |
| waiting | W × (d + 2) | float64 | rows that wait for the diameter, with class and weight                             |
| middle  | d + 1       | float64 | Mahalanobis: mean of the scaled rows, and how many                                 |
| root    | d × d       | float64 | L, where L Lᵀ = 1 + their scatter                                                  |
| seeds   | 1           | uint64  | the generator                                                                      |
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot, inlined
from thalweg.jit.random import integer, uniform
from thalweg.learners.balls import ball_index_jit as near
from thalweg.learners.balls.ball_index_jit import Index, Lens, delete, find, follow, has_room, insert, note, wants_care

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seeds = NDArray[np.uint64]

RADIUS, START, MISTAKES, TOTAL, MOVED, MOST = range(6)
BALL = 6
USED, BEST, FIRST = range(3)
MARK = 3
CLASS, NEXT = range(2)
BALLS, NEXT_ID, TIME, PENDING, ENTRIES, FREE, WAITING, OUTSIDE = range(8)
HEAD = 8
DIAMETER, T, DIMENSION, PHASE, FARTHEST = range(5)
GAUGE = 5
COUNT, MEAN, SQUARES, LEAST, GREATEST = range(5)
SPANS = 5

VARIANT, MAX_BALLS, DISCARD, METRIC, SCALE, TWO_LABELS = range(6)
RULES = 6
BASE, BASE_ADJ, AUTO, AUTO_ADJ = range(4)
BY_RATE, BY_COUNT, UNIFORM, OLDEST, LEAST_RECENT = range(5)
EUCLIDEAN, MANHATTAN, CHEBYSHEV, HAMMING, COSINE, ANGULAR, MAHALANOBIS, OWN = range(8)
UNSCALED, ONLINE, MINMAX = range(3)
SHRINKING, COVERING = range(2)
"""What the numbers hold: the exponent -1 / (2 + d), C0."""

LARGEST = 1e150  # numbers beyond are taken for this: their squares are added up
LARGEST_WHITENED = 1e70  # the same for Mahalanobis, where there are products of four
CLIP = 10.0
BUFFER = 100  # rows that tell the diameter
PATIENCE = 64  # balls drawn by chance before weights are added up
LEAST_TRUST = 0.01  # so that the nearest ball decides however far it is

KNOWN, ROW, NEAREST, WHY = range(4)
NOTES = 4
"""What is noted between events: classes known, the row that was placed last (-1: none), its ball, why it stopped."""
DONE, NO_ROOM, NO_ENTRIES, CARE, REPLAY = range(5)


class Cover(NamedTuple):
    """The tables in one bundle."""

    balls: Floats
    marks: Ints
    entries: Ints
    voices: Floats
    head: Ints
    gauge: Floats
    spans: Floats
    waiting: Floats
    middle: Floats
    root: Floats
    seeds: Seeds
    rules: Ints
    numbers: Floats


class Desk(NamedTuple):
    """Room for one row; nothing of it is kept."""

    scaled: Floats
    """d: the row in its scale."""
    spare: Floats
    """d."""
    notes: Ints
    """NOTES."""
    rho: Floats
    """1: distance of the nearest ball."""


# -- where a row lies -------------------------------------------------------------------------------------------------


@hot
def scale(row: Floats, z: Floats, spans: Floats, nominal: Ints, rules: Ints) -> None:
    """Scale a row as if it had been counted already; nominal values stay as they are."""
    d = len(z)
    if rules[SCALE] == ONLINE and rules[METRIC] != HAMMING:
        count, mean, squares = spans[COUNT], spans[MEAN], spans[SQUARES]
        for f in range(d):
            v = row[f]
            v = v if v < LARGEST else LARGEST
            v = v if v > -LARGEST else -LARGEST
            n, gap = count[f] + 1.0, v - mean[f]
            now = mean[f] + gap / n
            deviation = math.sqrt((squares[f] + gap * (v - now)) / n)
            v = (v - now) / (deviation if deviation > 0.0 else 1.0)
            v = v if v < CLIP else CLIP
            v = v if v > -CLIP else -CLIP
            z[f] = v if deviation > 0.0 else 0.0
    else:
        largest = LARGEST_WHITENED if rules[METRIC] == MAHALANOBIS else LARGEST
        for f in range(d):
            z[f] = max(-largest, min(largest, row[f]))
        if rules[SCALE] == MINMAX and rules[METRIC] != HAMMING:
            for f in range(d):
                least = min(spans[LEAST, f], z[f])
                width = max(spans[GREATEST, f], z[f]) - least
                z[f] = (z[f] - least) / width if width > 0.0 else 0.0
    for f in range(d):
        if nominal[f] != 0:
            z[f] = row[f]


@inlined
def place(cover: Cover, desk: Desk, nominal: Ints, row: Floats, x: Floats) -> None:
    """Write to x where a row lies among the centres."""
    z, metric = desk.scaled, cover.rules[METRIC]
    scale(row, z, cover.spans, nominal, cover.rules)
    if metric == MAHALANOBIS:
        whiten(z, x, cover.middle, cover.root)
    else:
        for f in range(len(x)):
            x[f] = z[f]
    if metric in (COSINE, ANGULAR):
        make_unit(x)


@hot
def make_unit(x: Floats) -> None:
    """Give a vector the length 1; one without length stays as it is."""
    squares = 0.0
    for f in range(len(x)):
        squares += x[f] * x[f]
    length = math.sqrt(squares)
    if length > 0.0:
        for f in range(len(x)):
            x[f] /= length


@hot
def whiten(z: Floats, x: Floats, middle: Floats, root: Floats) -> None:
    """x = √n L⁻¹ (z - mean): in these coordinates the covariance of the rows is 1."""
    d = len(z)
    by = math.sqrt(middle[d] + 1.0)
    for i in range(d):
        v = z[i] - middle[i]
        for j in range(i):
            v -= root[i, j] * x[j]
        x[i] = v / root[i, i]
    for i in range(d):
        x[i] *= by


@hot
def observe(row: Floats, spans: Floats, nominal: Ints) -> None:
    """Let mean, squared deviations, least and greatest take one more row (Welford)."""
    for f in range(len(row)):
        if nominal[f] != 0:
            continue
        v = max(-LARGEST, min(LARGEST, row[f]))
        spans[COUNT, f] += 1.0
        gap = v - spans[MEAN, f]
        spans[MEAN, f] += gap / spans[COUNT, f]
        spans[SQUARES, f] += gap * (v - spans[MEAN, f])
        spans[LEAST, f], spans[GREATEST, f] = min(spans[LEAST, f], v), max(spans[GREATEST, f], v)


@hot
def observe_scatter(z: Floats, middle: Floats, root: Floats, v: Floats) -> None:
    """Let mean and scatter of the scaled rows take one more: L Lᵀ ← L Lᵀ + v vᵀ, column by column."""
    d = len(z)
    n = middle[d] + 1.0
    by = math.sqrt(1.0 - 1.0 / n)
    for i in range(d):
        gap = z[i] - middle[i]
        middle[i] += gap / n
        v[i] = gap * by
    middle[d] = n
    for k in range(d):
        old = root[k, k]
        new = math.sqrt(old * old + v[k] * v[k])
        c, s = new / old, v[k] / old
        root[k, k] = new
        for i in range(k + 1, d):
            root[i, k] = (root[i, k] + s * v[i]) / c
            v[i] = c * v[i] - s * root[i, k]


@inlined
def distance_of(key: float, metric: int) -> float:
    """Turn what the index compares into the distance of the metric; unit vectors are a chord apart."""
    if metric in (EUCLIDEAN, MAHALANOBIS):
        return math.sqrt(key)
    if metric == COSINE:
        return key / 2.0
    if metric == ANGULAR:
        return 2.0 * math.asin(min(1.0, math.sqrt(key) / 2.0))
    return key


@inlined
def search(cover: Cover, index: Index, lens: Lens, desk: Desk, given: Floats) -> None:
    """Find the ball whose centre is nearest to lens.x. A metric of one's own has been asked before."""
    if cover.rules[METRIC] == OWN:
        desk.notes[NEAREST], desk.rho[0] = int(given[0]), given[1]
    elif cover.head[BALLS] > 0:
        find(index, lens)
        desk.notes[NEAREST] = lens.found[0]
        desk.rho[0] = distance_of(lens.near[0], cover.rules[METRIC])


# -- predicting -------------------------------------------------------------------------------------------------------


@inlined
def radius_of(cover: Cover, s: int) -> float:
    """The radius of a ball: its own, or that of this moment."""
    if cover.rules[VARIANT] >= AUTO:
        return float(cover.balls[s, RADIUS])
    return radius_now(cover.gauge)


@inlined
def radius_now(gauge: Floats) -> float:
    """R t^(-1 / (2 + d̂)), the same for all balls."""
    return float(gauge[DIAMETER] * max(1.0, gauge[T]) ** (-1.0 / (2.0 + gauge[DIMENSION])))


@inlined
def trust_in(cover: Cover, s: int, rho: float) -> float:
    """How much a ball is believed: 1 inside, less and less outside."""
    if cover.head[PENDING] != 0:
        return 1.0
    e = radius_of(cover, s)
    if rho <= e:
        return 1.0
    beyond = (rho - e) / e
    return max(LEAST_TRUST, math.exp(-0.5 * beyond * beyond))


@hot
def tell(cover: Cover, s: int, rho: float, p: Floats, known: int) -> None:
    """Write the probabilities of the classes: Laplace's, or the soft threshold of BASE."""
    if cover.head[BALLS] == 0 or known == 1:
        for c in range(known):
            p[c] = 1.0 / known
        return
    total, i = cover.balls[s, TOTAL], cover.marks[s, FIRST]
    if cover.rules[VARIANT] == BASE:
        ones = 0.0
        while i >= 0:
            if cover.entries[i, CLASS] == 1:
                ones = cover.voices[i]
            i = cover.entries[i, NEXT]
        p[1] = soften(ones, total)
        p[0] = 1.0 - p[1]
        return
    trust = trust_in(cover, s, rho)
    share = trust / (total + known)
    for c in range(known):
        p[c] = (1.0 - trust) / known + share
    while i >= 0:
        if cover.entries[i, CLASS] < known:
            p[cover.entries[i, CLASS]] += share * cover.voices[i]
        i = cover.entries[i, NEXT]


@inlined
def soften(ones: float, n: float) -> float:
    """The probability of class 1 (Feder, Merhav, Gutman 1992): Laplace's, made certain beyond 1/2 ± g."""
    share, g = (ones + 1.0) / (n + 2.0), 1.0 / (2.0 * math.sqrt(n + 2.0))
    if share <= 0.5 - g:
        return 0.0
    if share >= 0.5 + g:
        return 1.0
    return float(0.5 + (share - 0.5) / (2.0 * g))


# -- balls ------------------------------------------------------------------------------------------------------------


@hot
def count(cover: Cover, s: int, y: int, w: float) -> None:
    """Count a row of class y in a ball."""
    balls, marks, entries, voices, head = cover.balls, cover.marks, cover.entries, cover.voices, cover.head
    balls[s, TOTAL] += w
    marks[s, USED] = head[TIME]
    i = marks[s, FIRST]
    while i >= 0 and entries[i, CLASS] != y:
        i = entries[i, NEXT]
    if i < 0:
        i = head[FREE]
        if i >= 0:
            head[FREE] = entries[i, NEXT]
        else:
            i = head[ENTRIES]
            head[ENTRIES] = i + 1
        entries[i, CLASS], entries[i, NEXT], voices[i] = y, marks[s, FIRST], 0.0
        marks[s, FIRST] = i
    voices[i] += w
    if voices[i] > balls[s, MOST] or (voices[i] == balls[s, MOST] and y < marks[s, BEST]):
        balls[s, MOST], marks[s, BEST] = voices[i], y


@hot
def open_ball(cover: Cover, points: Floats, ids: Ints, x: Floats, radius: float, y: int, w: float) -> int:
    """Open a ball around x, in the place of a discarded one where there may be no more; the index must be told."""
    balls, marks, head, rules = cover.balls, cover.marks, cover.head, cover.rules
    if rules[MAX_BALLS] > 0 and head[BALLS] == rules[MAX_BALLS]:
        s = draw(cover, ids)
        discard(cover, s)
    else:
        s = head[BALLS]
        head[BALLS] = s + 1
    for f in range(len(x)):
        points[s, f] = x[f]
    ids[s] = head[NEXT_ID]
    head[NEXT_ID] += 1
    balls[s, RADIUS], balls[s, START], balls[s, MISTAKES], balls[s, TOTAL] = radius, radius, 0.0, 0.0
    balls[s, MOVED], balls[s, MOST], marks[s, BEST], marks[s, FIRST] = w, 0.0, 0, -1
    count(cover, s, y, w)
    return int(s)


@inlined
def discard(cover: Cover, s: int) -> None:
    """Give the counts of a ball free."""
    entries, head = cover.entries, cover.head
    i = cover.marks[s, FIRST]
    while i >= 0:
        following = entries[i, NEXT]
        entries[i, NEXT] = head[FREE]
        head[FREE] = i
        i = following


@inlined
def draw(cover: Cover, ids: Ints) -> int:
    """Choose the ball to be discarded."""
    balls, rule, n, seeds = cover.balls, cover.rules[DISCARD], cover.head[BALLS], cover.seeds
    if rule == UNIFORM:
        return integer(seeds, 0, n)
    if rule in (OLDEST, LEAST_RECENT):
        s = 0
        for i in range(1, n):
            a, b = (cover.marks[i, USED], cover.marks[s, USED]) if rule == LEAST_RECENT else (0, 0)
            if a < b or (a == b and ids[i] < ids[s]):
                s = i
        return s
    if rule == BY_RATE:  # any ball, taken with a probability of (mistakes + 1) / (rows + 2) < 1, else another
        for _ in range(PATIENCE):
            s = integer(seeds, 0, n)
            if uniform(seeds, 0) * (balls[s, TOTAL] + 2.0) < balls[s, MISTAKES] + 1.0:
                return s
    total = 0.0
    for i in range(n):
        total += weight_of(balls[i], rule)
    at = uniform(seeds, 0) * total
    total = 0.0
    for i in range(n):
        total += weight_of(balls[i], rule)
        if at < total:
            return i
    return int(n - 1)


@inlined
def weight_of(ball: Floats, rule: int) -> float:
    """How likely a ball is to be discarded, but for a factor."""
    if rule == BY_RATE:
        return float((ball[MISTAKES] + 1.0) / (ball[TOTAL] + 2.0))
    return float(ball[MISTAKES] + 1.0)


@inlined
def move_ball(cover: Cover, centre: Floats, nominal: Ints, s: int, x: Floats, w: float) -> None:
    """Let the centre be the mean of its founder and of the rows predicted right; nominal values stay."""
    balls, metric = cover.balls, cover.rules[METRIC]
    balls[s, MOVED] += w
    step = w / balls[s, MOVED]
    for f in range(len(x)):
        if nominal[f] == 0:
            centre[f] += (x[f] - centre[f]) * step
    if metric in (COSINE, ANGULAR):
        make_unit(centre)


# -- learning ---------------------------------------------------------------------------------------------------------

STAYS, MOVES = -1.0, -2.0
"""What learning a row may ask for: nothing, that the centre of the ball moves; else a new ball of this radius ≥ 0."""


@hot
def learn_auto(cover: Cover, s: int, rho: float, y: int, w: float, known: int) -> float:
    """AUTO and AUTO-ADJ: each ball has its own radius, which shrinks as it errs."""
    balls, head, rules = cover.balls, cover.head, cover.rules
    if head[BALLS] == 0:
        head[PENDING] = 1
        return 0.0
    if head[PENDING] != 0:
        if rho > 0.0 and (rules[TWO_LABELS] == 0 or not counted(cover, s, y)):
            balls[s, RADIUS], balls[s, START] = rho, rho
            head[PENDING] = 0
            return rho
        count(cover, s, y, w)
        return STAYS
    if rho > balls[s, RADIUS] or (y >= known and rho > 0.0 and rules[TWO_LABELS] == 0):  # the first of its class
        return rho
    right = cover.marks[s, BEST] == y
    if not right:
        balls[s, MISTAKES] += w
        balls[s, RADIUS] = balls[s, START] * max(1.0, balls[s, MISTAKES]) ** cover.numbers[SHRINKING]
    count(cover, s, y, w)
    return MOVES if right and rules[VARIANT] == AUTO_ADJ else STAYS


@inlined
def counted(cover: Cover, s: int, y: int) -> bool:
    """Has the ball a row of class y?"""
    i = cover.marks[s, FIRST]
    while i >= 0 and cover.entries[i, CLASS] != y:
        i = cover.entries[i, NEXT]
    return bool(i >= 0)


@hot
def learn_base(cover: Cover, s: int, rho: float, y: int, w: float) -> float:
    """BASE and BASE-ADJ: one radius for all, which shrinks with time; a new phase when there are too many balls."""
    head, gauge = cover.head, cover.gauge
    gauge[T] += 1.0
    if head[BALLS] == 0:
        return 0.0
    if rho > gauge[DIAMETER]:
        head[OUTSIDE] += 1
        gauge[DIAMETER] = 2.0 * rho
    e = radius_now(gauge)
    if rho <= e:
        right = cover.marks[s, BEST] == y
        if not right:
            cover.balls[s, MISTAKES] += w
        count(cover, s, y, w)
        return MOVES if right and cover.rules[VARIANT] == BASE_ADJ else STAYS
    n, d, c0 = head[BALLS] + 1.0, gauge[DIMENSION], cover.numbers[COVERING]
    if n > c0 * 4.0**d * gauge[T] ** (d / (2.0 + d)):
        needed = math.ceil(math.log(n / c0) / math.log(4.0 * gauge[DIAMETER] / e))
        gauge[DIMENSION] = max(d + 1.0, float(needed))
        gauge[PHASE] += 1.0
        gauge[T] = 1.0
        head[BALLS], head[ENTRIES], head[FREE] = 0, 0, -1
    return 0.0


@inlined
def wait(cover: Cover, x: Floats, rho: float, y: int, w: float) -> float:
    """Keep the first rows until they tell the diameter; until then all are counted in one ball."""
    head, gauge, waiting = cover.head, cover.gauge, cover.waiting
    n, d = head[WAITING], len(x)
    for f in range(d):
        waiting[n, f] = x[f]
    waiting[n, d], waiting[n, d + 1] = y, w
    head[WAITING] = n + 1
    if head[BALLS] == 0:
        head[PENDING] = 1
        return 0.0
    gauge[FARTHEST] = max(gauge[FARTHEST], rho)
    count(cover, 0, y, w)
    return STAYS


@inlined
def learn(cover: Cover, index: Index, lens: Lens, desk: Desk, y: int, w: float) -> None:
    """Learn what lies at lens.x: count it; move the ball, or open one, and tell the index."""
    s, rho, x, own = desk.notes[NEAREST], desk.rho[0], lens.x, cover.rules[METRIC] == OWN
    cover.head[TIME] += 1
    if cover.rules[VARIANT] >= AUTO:
        what = learn_auto(cover, s, rho, y, w, desk.notes[KNOWN])
    elif cover.gauge[DIAMETER] == 0.0:
        what = wait(cover, x, rho, y, w)
    else:
        what = learn_base(cover, s, rho, y, w)
        if cover.head[BALLS] == 0 and not own:
            near.clear(index)
    if what == STAYS:
        return
    if what == MOVES:
        move_ball(cover, index.points[s], index.nominal, s, x, w)
        if own or follow(index, s):
            return
    else:
        s = open_ball(cover, index.points, index.ids, x, what, y, w)
    if not own:
        if index.where[s] >= 0:
            delete(index, s)
        insert(index, lens, s)


@inlined
def lacks(cover: Cover, index: Index, lens: Lens) -> int:
    """Say what is wanted before a row can be learned, or DONE."""
    head, rules = cover.head, cover.rules
    if (rules[MAX_BALLS] == 0 or head[BALLS] < rules[MAX_BALLS]) and head[BALLS] == len(cover.balls):
        return NO_ROOM
    if head[FREE] < 0 and head[ENTRIES] == len(cover.entries):
        return NO_ENTRIES
    if rules[METRIC] != OWN:
        note(index, lens)
        if not has_room(index) or wants_care(index):
            return CARE
    return DONE


@hot
def play(points: Floats, ids: Ints, tiles: Floats, who: Ints, leaves: Ints, where: Ints, boxes: Floats, kids: Ints,
         nodes: Ints, index_head: Ints, nominal: Ints, index_rules: Ints, x: Floats, sums: Floats, bits: Ints,
         keys: Floats, key_bits: Ints, found: Ints, bounds: Floats, way: Ints, meter: Ints, balls: Floats, marks: Ints,
         entries: Ints, voices: Floats, head: Ints, gauge: Floats, spans: Floats, waiting: Floats, middle: Floats,
         root: Floats, seeds: Seeds, rules: Ints, numbers: Floats, scaled: Floats, spare: Floats, notes: Ints,
         rho: Floats, given: Floats, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats,
         begin: int) -> int:  # fmt: skip
    """Play the events from ``begin`` on; give where it stopped for want of something (notes[WHY]), or their number."""
    index = Index(points, ids, tiles, who, leaves, where, boxes, kids, nodes, index_head, nominal, index_rules)
    lens = Lens(x, sums, bits, keys, key_bits, found, bounds, way, meter)
    cover = Cover(balls, marks, entries, voices, head, gauge, spans, waiting, middle, root, seeds, rules, numbers)
    desk = Desk(scaled, spare, notes, rho)
    for e in range(begin, len(events)):
        r = events[e] if events[e] >= 0 else ~events[e]
        if notes[ROW] != r:
            place(cover, desk, nominal, X[r], x)
            search(cover, index, lens, desk, given)
            notes[ROW] = r
        if events[e] >= 0:
            tell(cover, notes[NEAREST], rho[0], out[r], notes[KNOWN])
            continue
        notes[WHY] = lacks(cover, index, lens)
        if notes[WHY] != DONE:
            return e
        learn(cover, index, lens, desk, y[r], w[r])
        if rules[METRIC] == MAHALANOBIS:
            observe_scatter(scaled, middle, root, spare)
        if rules[SCALE] != UNSCALED:
            observe(X[r], spans, nominal)
        notes[KNOWN] = max(notes[KNOWN], y[r] + 1)
        notes[ROW] = -1
        if head[WAITING] == BUFFER:
            notes[WHY] = REPLAY
            return e + 1
    notes[WHY] = DONE
    return len(events)


@hot
def replay(points: Floats, ids: Ints, tiles: Floats, who: Ints, leaves: Ints, where: Ints, boxes: Floats, kids: Ints,
           nodes: Ints, index_head: Ints, nominal: Ints, index_rules: Ints, x: Floats, sums: Floats, bits: Ints,
           keys: Floats, key_bits: Ints, found: Ints, bounds: Floats, way: Ints, meter: Ints, balls: Floats,
           marks: Ints, entries: Ints, voices: Floats, head: Ints, gauge: Floats, spans: Floats, waiting: Floats,
           middle: Floats, root: Floats, seeds: Seeds, rules: Ints, numbers: Floats, scaled: Floats, spare: Floats,
           notes: Ints, rho: Floats, given: Floats) -> None:  # fmt: skip
    """Take the diameter from the rows that wait, and learn them anew."""
    index = Index(points, ids, tiles, who, leaves, where, boxes, kids, nodes, index_head, nominal, index_rules)
    lens = Lens(x, sums, bits, keys, key_bits, found, bounds, way, meter)
    cover = Cover(balls, marks, entries, voices, head, gauge, spans, waiting, middle, root, seeds, rules, numbers)
    desk = Desk(scaled, spare, notes, rho)
    gauge[DIAMETER] = 2.0 * gauge[FARTHEST] if gauge[FARTHEST] > 0.0 else 1.0
    head[BALLS], head[ENTRIES], head[FREE], head[PENDING], head[NEXT_ID], head[WAITING] = 0, 0, -1, 0, 0, 0
    near.clear(index)
    head[TIME] -= BUFFER
    d = len(x)
    for i in range(BUFFER):
        for f in range(d):
            x[f] = waiting[i, f]
        search(cover, index, lens, desk, given)
        learn(cover, index, lens, desk, int(waiting[i, d]), waiting[i, d + 1])
    for i in range(BUFFER):
        for f in range(d + 2):
            waiting[i, f] = 0.0


@hot
def look(points: Floats, ids: Ints, tiles: Floats, who: Ints, leaves: Ints, where: Ints, boxes: Floats, kids: Ints,
         nodes: Ints, index_head: Ints, nominal: Ints, index_rules: Ints, x: Floats, sums: Floats, bits: Ints,
         keys: Floats, key_bits: Ints, found: Ints, bounds: Floats, way: Ints, meter: Ints, balls: Floats, marks: Ints,
         entries: Ints, voices: Floats, head: Ints, gauge: Floats, spans: Floats, waiting: Floats, middle: Floats,
         root: Floats, seeds: Seeds, rules: Ints, numbers: Floats, scaled: Floats, spare: Floats, notes: Ints,
         rho: Floats, given: Floats, X: Floats, placed: Floats, nearest: Ints, distances: Floats) -> None:  # fmt: skip
    """Find where rows lie, their nearest balls and how far these are. A metric of one's own needs the first only."""
    index = Index(points, ids, tiles, who, leaves, where, boxes, kids, nodes, index_head, nominal, index_rules)
    lens = Lens(x, sums, bits, keys, key_bits, found, bounds, way, meter)
    cover = Cover(balls, marks, entries, voices, head, gauge, spans, waiting, middle, root, seeds, rules, numbers)
    desk = Desk(scaled, spare, notes, rho)
    for r in range(len(X)):
        place(cover, desk, nominal, X[r], x)
        for f in range(len(x)):
            placed[r, f] = x[f]
        search(cover, index, lens, desk, given)
        nearest[r], distances[r] = notes[NEAREST], rho[0]
