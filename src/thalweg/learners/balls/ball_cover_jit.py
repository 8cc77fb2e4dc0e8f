"""The cover of ABACOC: predicting from the nearest ball, learning by counting, moving, shrinking and opening balls.

How balls count and shrink is in balls_jit.py; ball_index_jit.py finds the nearest; its ``points`` are the centres,
scaled as their rows were when they came. Balls are numbered on for ever: the place of a discarded one is taken, its id
is not.
"""

import math
from typing import Annotated, NamedTuple

from thalweg.core.declared import span, table
from thalweg.jit.compile import hot, inlined
from thalweg.jit.random import integer, uniform
from thalweg.learners.balls.ball_index_jit import Index, Query, Room, find, query_of
from thalweg.learners.balls.ball_index_update_jit import clear, delete, follow, has_room, insert, note, wants_care
from thalweg.learners.balls.balls_jit import (
    AUTO,
    B_MISTAKES,
    B_MOVED,
    B_RADIUS,
    B_TOTAL,
    BASE,
    BASE_ADJ,
    DONE,
    E_CLASS,
    E_NEXT,
    H_BALLS,
    H_ENTRIES,
    H_FREE,
    H_NEXT_ID,
    H_OUTSIDE,
    H_PENDING,
    H_TIME,
    H_WAITING,
    M_BEST,
    M_FIRST,
    M_USED,
    MOVES,
    NO_ENTRIES,
    NO_ROOM,
    P_COVERING,
    R_DISCARD,
    R_MAX_BALLS,
    R_METRIC,
    R_SCALE,
    R_VARIANT,
    STAYS,
    W_COLUMNS,
    W_KNOWN,
    W_NEAREST,
    W_ROW,
    W_WHY,
    Cover,
    begin_ball,
    count,
    discard,
    find_count,
    learn_auto,
)
from thalweg.learners.balls.scaling_jit import (
    LARGEST,
    LARGEST_IN_PRODUCTS,
    UNSCALED,
    Floats,
    Ints,
    make_unit,
    observe,
    observe_scatter,
    scale,
    whiten,
)

G_DIAMETER, G_T, G_DIMENSION, G_PHASE, G_FARTHEST, G_COLUMNS = 0, 1, 2, 3, 4, 5
"""What ``gauge`` holds: diameter R (0: not known), rows t of this phase, estimate of the dimension, phase, the greatest
distance from the first row."""
BY_RATE, BY_COUNT, UNIFORM, OLDEST, LEAST_RECENT = 0, 1, 2, 3, 4
EUCLIDEAN, MANHATTAN, CHEBYSHEV, HAMMING, COSINE, ANGULAR, MAHALANOBIS, OWN = 0, 1, 2, 3, 4, 5, 6, 7

BUFFER = 100  # rows that tell the diameter
PATIENCE = 64  # balls drawn by chance before weights are added up
LEAST_TRUST = 0.01  # so that the nearest ball decides however far it is

CARE, REPLAY = 3, 4
"""Why it stopped, besides what balls_jit.py has: the index wants care; the rows that wait tell the diameter."""


class Extra(NamedTuple):
    """What only some covers need."""

    waiting: Annotated[Floats, table("W", "d + 2", rows="waiting", cells={
        -2: span(0, "classes - 1", whole=True), -1: span(0),
    })]  # fmt: skip
    """W × (d + 2): rows that wait for the diameter, with class and weight."""
    middle: Annotated[Floats, table("m + 1", cells={-1: span(0)})]
    """m + 1: Mahalanobis (m = d, else 0): mean of the scaled rows, and how many."""
    root: Annotated[Floats, table("m", "m")]
    """m × m: L, where L Lᵀ = 1 + their scatter."""


class Scratch(NamedTuple):
    """Room for one row; nothing of it is kept."""

    scaled: Floats
    """d: the row in its scale."""
    spare: Floats
    """d."""
    rho: Floats
    """1: distance of the nearest ball."""
    notes: Ints
    """W_COLUMNS."""


@inlined
def scratch_of(room: Room, d: int) -> Scratch:
    """Cut room for a row from what a query leaves."""
    floats, _, ints = room
    a, n = len(floats) - 2 * d - 1, len(ints)
    return Scratch(floats[a : a + d], floats[a + d : a + 2 * d], floats[a + 2 * d :], ints[n - W_COLUMNS :])


# -- where a row lies -------------------------------------------------------------------------------------------------


@inlined
def place(cover: Cover, extra: Extra, scratch: Scratch, nominal: Ints, row: Floats, x: Floats) -> None:
    """Write to x where a row lies among the centres."""
    z, metric = scratch.scaled, cover.rules[R_METRIC]
    kind = UNSCALED if metric == HAMMING else cover.rules[R_SCALE]
    scale(row, z, cover.spans, nominal, kind, LARGEST_IN_PRODUCTS if metric == MAHALANOBIS else LARGEST)
    if metric == MAHALANOBIS:
        whiten(z, x, extra.middle, extra.root)
    else:
        for f in range(len(x)):
            x[f] = z[f]
    if metric in (COSINE, ANGULAR):
        make_unit(x)


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
def search(cover: Cover, index: Index, query: Query, scratch: Scratch) -> None:
    """Find the ball whose centre is nearest to query.x. A metric of one's own was asked before, and has noted it."""
    if cover.rules[R_METRIC] != OWN and cover.head[H_BALLS] > 0:
        find(index, query)
        scratch.notes[W_NEAREST] = query.found[0]
        scratch.rho[0] = distance_of(query.near[0], cover.rules[R_METRIC])


# -- predicting -------------------------------------------------------------------------------------------------------


@inlined
def radius_of(cover: Cover, s: int) -> float:
    """The radius of a ball: its own, or that of this moment."""
    if cover.rules[R_VARIANT] >= AUTO:
        return float(cover.balls[s, B_RADIUS])
    return radius_now(cover.gauge)


@inlined
def radius_now(gauge: Floats) -> float:
    """e = R t^(-1 / (2 + d̂)), the same for all balls (BASE)."""
    return float(gauge[G_DIAMETER] * max(1.0, gauge[G_T]) ** (-1.0 / (2.0 + gauge[G_DIMENSION])))


@inlined
def trust_in(cover: Cover, s: int, rho: float) -> float:
    """How much a ball is believed: 1 inside, less and less outside."""
    if cover.head[H_PENDING] != 0:
        return 1.0
    e = radius_of(cover, s)
    if rho <= e:
        return 1.0
    beyond = (rho - e) / e
    return max(LEAST_TRUST, math.exp(-0.5 * beyond * beyond))


@hot
def write_proba(cover: Cover, s: int, rho: float, p: Floats, known: int) -> None:
    """Write the probabilities of the classes: Laplace's, or the soft threshold of BASE."""
    if cover.head[H_BALLS] == 0 or known == 1:
        for c in range(known):
            p[c] = 1.0 / known
        return
    total, i = cover.balls[s, B_TOTAL], cover.marks[s, M_FIRST]
    if cover.rules[R_VARIANT] == BASE:
        i = find_count(cover, s, 1)
        p[1] = soften(cover.voices[i] if i >= 0 else 0.0, total)
        p[0] = 1.0 - p[1]
        return
    trust = trust_in(cover, s, rho)
    share = trust / (total + known)
    for c in range(known):
        p[c] = (1.0 - trust) / known + share
    while i >= 0:
        if cover.entries[i, E_CLASS] < known:
            p[cover.entries[i, E_CLASS]] += share * cover.voices[i]
        i = cover.entries[i, E_NEXT]


@inlined
def soften(ones: float, n: float) -> float:
    """The probability of class 1 (Feder, Merhav, Gutman 1992): Laplace's, made certain beyond 1/2 ± g."""
    share, g = (ones + 1.0) / (n + 2.0), 1.0 / (2.0 * math.sqrt(n + 2.0))
    if share <= 0.5 - g:
        return 0.0
    if share >= 0.5 + g:
        return 1.0
    return float(0.5 + (share - 0.5) / (2.0 * g))


# -- balls -------------------------------------------------------------------------------------------------------------


@hot
def open_ball(cover: Cover, points: Floats, ids: Ints, x: Floats, radius: float, y: int, w: float) -> int:
    """Open a ball around x, in the place of a discarded one where there may be no more; the index must be told."""
    head, rules = cover.head, cover.rules
    if rules[R_MAX_BALLS] > 0 and head[H_BALLS] == rules[R_MAX_BALLS]:
        s = draw(cover, ids)
        discard(cover, s)
    else:
        s = head[H_BALLS]
        head[H_BALLS] = s + 1
    for f in range(len(x)):
        points[s, f] = x[f]
    ids[s] = head[H_NEXT_ID]
    head[H_NEXT_ID] += 1
    begin_ball(cover, s, radius, w)
    count(cover, s, y, w)
    return int(s)


@inlined
def draw(cover: Cover, ids: Ints) -> int:
    """Choose the ball to be discarded."""
    balls, rule, n, seeds = cover.balls, cover.rules[R_DISCARD], cover.head[H_BALLS], cover.seeds
    if rule == UNIFORM:
        return integer(seeds, 0, n)
    if rule in (OLDEST, LEAST_RECENT):
        s = 0
        for i in range(1, n):
            a, b = (cover.marks[i, M_USED], cover.marks[s, M_USED]) if rule == LEAST_RECENT else (0, 0)
            if a < b or (a == b and ids[i] < ids[s]):
                s = i
        return s
    if rule == BY_RATE:  # any ball, taken with a probability of (mistakes + 1) / (rows + 2) < 1, else another
        for _ in range(PATIENCE):
            s = integer(seeds, 0, n)
            if uniform(seeds, 0) * (balls[s, B_TOTAL] + 2.0) < balls[s, B_MISTAKES] + 1.0:
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
        return float((ball[B_MISTAKES] + 1.0) / (ball[B_TOTAL] + 2.0))
    return float(ball[B_MISTAKES] + 1.0)


@inlined
def move_ball(cover: Cover, centre: Floats, nominal: Ints, s: int, x: Floats, w: float) -> None:
    """c ← c + (x - c) w / u: the mean of its founder and of the rows predicted right; nominal values stay."""
    balls, metric = cover.balls, cover.rules[R_METRIC]
    balls[s, B_MOVED] += w
    step = w / balls[s, B_MOVED]
    for f in range(len(x)):
        if nominal[f] == 0:
            centre[f] += (x[f] - centre[f]) * step
    if metric in (COSINE, ANGULAR):
        make_unit(centre)


# -- learning ----------------------------------------------------------------------------------------------------------


@hot
def learn_base(cover: Cover, s: int, rho: float, y: int, w: float) -> float:
    """BASE and BASE-ADJ: one radius for all, which shrinks with time; a new phase when there are too many balls."""
    head, gauge = cover.head, cover.gauge
    gauge[G_T] += 1.0
    if head[H_BALLS] == 0:
        return 0.0
    if rho > gauge[G_DIAMETER]:
        head[H_OUTSIDE] += 1
        gauge[G_DIAMETER] = 2.0 * rho
    e = radius_now(gauge)
    if rho <= e:
        right = cover.marks[s, M_BEST] == y
        if not right:
            cover.balls[s, B_MISTAKES] += w
        count(cover, s, y, w)
        return MOVES if right and cover.rules[R_VARIANT] == BASE_ADJ else STAYS
    n, d, c0 = head[H_BALLS] + 1.0, gauge[G_DIMENSION], cover.numbers[P_COVERING]
    if n > c0 * 4.0**d * gauge[G_T] ** (d / (2.0 + d)):
        needed = math.ceil(math.log(n / c0) / math.log(4.0 * gauge[G_DIAMETER] / e))
        gauge[G_DIMENSION] = max(d + 1.0, float(needed))
        gauge[G_PHASE] += 1.0
        gauge[G_T] = 1.0
        head[H_BALLS], head[H_ENTRIES], head[H_FREE] = 0, 0, -1
    return 0.0


@inlined
def wait(cover: Cover, waiting: Floats, x: Floats, rho: float, y: int, w: float) -> float:
    """Keep the first rows until they tell the diameter; until then all are counted in one ball."""
    head, gauge = cover.head, cover.gauge
    n, d = head[H_WAITING], len(x)
    for f in range(d):
        waiting[n, f] = x[f]
    waiting[n, d], waiting[n, d + 1] = y, w
    head[H_WAITING] = n + 1
    if head[H_BALLS] == 0:
        head[H_PENDING] = 1
        return 0.0
    gauge[G_FARTHEST] = max(gauge[G_FARTHEST], rho)
    count(cover, 0, y, w)
    return STAYS


@inlined
def learn(cover: Cover, extra: Extra, index: Index, query: Query, scratch: Scratch, y: int, w: float) -> None:
    """Learn what lies at query.x: count it; move the ball, or open one, and tell the index."""
    s, rho, x, own = scratch.notes[W_NEAREST], scratch.rho[0], query.x, cover.rules[R_METRIC] == OWN
    cover.head[H_TIME] += 1
    if cover.rules[R_VARIANT] >= AUTO:
        what = learn_auto(cover, s, rho, y, w, scratch.notes[W_KNOWN])
    elif cover.gauge[G_DIAMETER] == 0.0:
        what = wait(cover, extra.waiting, x, rho, y, w)
    else:
        what = learn_base(cover, s, rho, y, w)
        if cover.head[H_BALLS] == 0 and not own:
            clear(index)
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
        insert(index, query, s)


@inlined
def lacks(cover: Cover, index: Index, query: Query) -> int:
    """Say what is wanted before a row can be learned, or DONE."""
    head, rules = cover.head, cover.rules
    if (rules[R_MAX_BALLS] == 0 or head[H_BALLS] < rules[R_MAX_BALLS]) and head[H_BALLS] == len(cover.balls):
        return NO_ROOM
    if head[H_FREE] < 0 and head[H_ENTRIES] == len(cover.entries):
        return NO_ENTRIES
    if rules[R_METRIC] != OWN:
        note(index, query)
        if not has_room(index) or wants_care(index):
            return CARE
    return DONE


@hot
def play(index: Index, cover: Cover, extra: Extra, room: Room, X: Floats, y: Ints, w: Floats, events: Ints,
         out: Floats, begin: int) -> int:  # fmt: skip
    """Play the events from ``begin`` on; give where it stopped for want of something (W_WHY), or their number."""
    index, cover, extra, d = Index(*index), Cover(*cover), Extra(*extra), X.shape[1]
    query, scratch = query_of(room, d, 1), scratch_of(room, d)
    notes, rules = scratch.notes, cover.rules
    for e in range(begin, len(events)):
        r = events[e] if events[e] >= 0 else ~events[e]
        if notes[W_ROW] != r:
            place(cover, extra, scratch, index.nominal, X[r], query.x)
            search(cover, index, query, scratch)
            notes[W_ROW] = r
        if events[e] >= 0:
            write_proba(cover, notes[W_NEAREST], scratch.rho[0], out[r], notes[W_KNOWN])
            continue
        notes[W_WHY] = lacks(cover, index, query)
        if notes[W_WHY] != DONE:
            return e
        learn(cover, extra, index, query, scratch, y[r], w[r])
        if rules[R_METRIC] == MAHALANOBIS:
            observe_scatter(scratch.scaled, extra.middle, extra.root, scratch.spare)
        if rules[R_SCALE] != UNSCALED:
            observe(X[r], cover.spans, index.nominal)
        notes[W_KNOWN] = max(notes[W_KNOWN], y[r] + 1)
        notes[W_ROW] = -1
        if cover.head[H_WAITING] == BUFFER:
            notes[W_WHY] = REPLAY
            return e + 1
    notes[W_WHY] = DONE
    return len(events)


@hot
def replay(index: Index, cover: Cover, extra: Extra, room: Room) -> None:
    """Take the diameter from the rows that wait, and learn them once more."""
    index, cover, extra, d = Index(*index), Cover(*cover), Extra(*extra), index[0].shape[1]
    query, scratch = query_of(room, d, 1), scratch_of(room, d)
    head, gauge, waiting = cover.head, cover.gauge, extra.waiting
    gauge[G_DIAMETER] = 2.0 * gauge[G_FARTHEST] if gauge[G_FARTHEST] > 0.0 else 1.0
    head[H_BALLS], head[H_ENTRIES], head[H_FREE], head[H_PENDING], head[H_NEXT_ID], head[H_WAITING] = 0, 0, -1, 0, 0, 0
    clear(index)
    head[H_TIME] -= BUFFER
    for i in range(BUFFER):
        for f in range(d):
            query.x[f] = waiting[i, f]
        search(cover, index, query, scratch)
        learn(cover, extra, index, query, scratch, int(waiting[i, d]), waiting[i, d + 1])
    for i in range(BUFFER):
        for f in range(d + 2):
            waiting[i, f] = 0.0


@hot
def look(index: Index, cover: Cover, extra: Extra, room: Room, X: Floats, placed: Floats, nearest: Ints,
         distances: Floats) -> None:  # fmt: skip
    """Find where rows lie, their nearest balls and how far these are. A metric of one's own needs the first only."""
    index, cover, extra, d = Index(*index), Cover(*cover), Extra(*extra), X.shape[1]
    query, scratch = query_of(room, d, 1), scratch_of(room, d)
    for r in range(len(X)):
        place(cover, extra, scratch, index.nominal, X[r], query.x)
        for f in range(d):
            placed[r, f] = query.x[f]
        search(cover, index, query, scratch)
        nearest[r], distances[r] = scratch.notes[W_NEAREST], scratch.rho[0]
