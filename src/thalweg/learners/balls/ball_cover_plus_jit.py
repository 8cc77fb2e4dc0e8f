"""A cover of balls that several ask: their nearest by votes, all of them by signs, the last label. The best answers.

N balls at most for now, in tiles of L, in each of which the values of a feature lie side by side; d features, K
classes, P counts of classes in balls. How balls count, move, shrink and open is in ball_cover_jit.py; its tables are
meant where no more is said.

| table   | shape       | dtype   | meaning                                                                           |
| tiles   | N/L × d × L | float64 | the centres: ball s lies in tile s / L                                            |
| balls   | N × 6       | float64 | see there                                                                         |
| marks   | N × 5       | int64   | see there; the last label; the class that was most frequent where a mistake       |
|         |             |         | opened this ball (-1: no mistake did)                                             |
| entries | P × 2       | int64   | see there                                                                         |
| voices  | P           | float64 | weight of the class in the ball                                                   |
| signs   | P           | float64 | what the ball says for the class, or against it, wherever it is near              |
| head    | 8           | int64   | see there                                                                         |
| gauge   | 8           | float64 | mean squared distance from rows to balls, of how many rows; balls opened on a     |
|         |             |         | mistake: rows they got right, wrong; decayed error of the four that are asked     |
| spans   | 5 × d       | float64 | see there                                                                         |
| sums    | K × (d + 1) | float64 | of each class: sum of the scaled rows, and their weight                           |
| powers  | 2 × d       | float64 | sum of the squares of the scaled rows; the factor by which a feature is stretched |
| recent  | W/L × d × L | float64 | the last rows                                                                     |
| codes   | W + 1       | int64   | their labels (-1: none yet), and the place of the oldest                          |
| seeds   | 1           | uint64  | the generator                                                                     |
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot, inlined
from thalweg.jit.random import integer, uniform
from thalweg.learners.balls.ball_cover_jit import (
    BALLS,
    BEST,
    CLASS,
    ENTRIES,
    FIRST,
    FREE,
    MISTAKES,
    MOST,
    MOVED,
    MOVES,
    NEXT,
    RADIUS,
    SCALE,
    START,
    STAYS,
    TIME,
    TOTAL,
    UNSCALED,
    USED,
    Cover,
    count,
    discard,
    learn_auto,
    observe,
    scale,
)
from thalweg.learners.balls.ball_index_jit import LANES
from thalweg.learners.balls.tiles_jit import any_of, mean_of, measure, put, raise_powers, weigh

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seeds = NDArray[np.uint64]

LAST_LABEL, RIVAL = 3, 4
MARK = 5
SPREAD, SPREADS, WINS, LOSSES, ERRORS = range(5)
GAUGE = 8
VOTE, SIGNS, LAST, RECENT = range(4)
"""Who is asked."""
OPENS = 6
RULES = 7
"""The rules of ball_cover_jit.py, and: may a mistake open a ball?"""

VOTERS = 5
DRAWN = 4  # balls among which the least worth is discarded
KEEP = 0.998  # of an error, from row to row
EXPLORE = 0.05
SHARE = 2.0 / 3.0  # of a feature's weight that is due to its relevance
SHRINK = 100.0  # rows after which half of that counts
EVERY = 100  # rows after which relevance is worked out again
LARGEST = 1e70  # where squares of sums are made

KNOWN, ROW, NEAREST, WHY, SAID = range(5)
NOTES = 9
"""Between events: classes known, the row that was placed last (-1: none), its ball, why it stopped, what each said."""
DONE, NO_ROOM, NO_ENTRIES = range(3)


class Plus(NamedTuple):
    """What there is besides the cover."""

    tiles: Floats
    signs: Floats
    sums: Floats
    powers: Floats
    recent: Floats
    codes: Ints
    nominal: Ints


class Desk(NamedTuple):
    """Room for one row; nothing of it is kept."""

    scaled: Floats
    """d: the row in its scale."""
    x: Floats
    """d: the same, stretched by relevance."""
    far: Floats
    """N: squared distances from the balls."""
    near: Floats
    """N: exp of them, and the bits of this and of what is left."""
    near_bits: Ints
    whole: Floats
    whole_bits: Ints
    afar: Floats
    """W: squared distances from the last rows."""
    top: Ints
    """VOTERS: the nearest balls."""
    says: Floats
    """4 × K: what each says for each class."""
    notes: Ints


# -- where a row lies -------------------------------------------------------------------------------------------------


@inlined
def place(cover: Cover, plus: Plus, desk: Desk, row: Floats) -> None:
    """Scale a row, and stretch it along the features that tell the classes apart."""
    scale(row, desk.scaled, cover.spans, plus.nominal, cover.rules)
    x, z, factors = desk.x, desk.scaled, plus.powers[1]
    for f in range(len(x)):
        x[f] = z[f] * factors[f]


@hot
def rank(far: Floats, n: int, top: Ints) -> None:
    """Write the nearest balls to ``top``, the nearest first; among equals the lowest place first."""
    held = 0
    for s in range(n):
        v = far[s]
        if held == VOTERS:
            if v >= far[top[VOTERS - 1]]:
                continue
            i = VOTERS - 1
        else:
            i = held
            held += 1
        while i > 0 and far[top[i - 1]] > v:
            top[i] = top[i - 1]
            i -= 1
        top[i] = s


# -- what each says ---------------------------------------------------------------------------------------------------


@hot
def hear_signs(first: Ints, entries: Ints, signs: Floats, near: Floats, says: Floats, n: int) -> None:
    """Add up what all balls say for and against classes, by their nearness."""
    for s in range(n):
        i = first[s, FIRST]
        while i >= 0:
            says[entries[i, CLASS]] += signs[i] * near[s]
            i = entries[i, NEXT]


@hot
def look(cover: Cover, plus: Plus, desk: Desk) -> None:
    """Find the balls near desk.x and let everyone say what the class is."""
    head, gauge, notes, says, far = cover.head, cover.gauge, desk.notes, desk.says, desk.far
    n, known, mixed, W = head[BALLS], notes[KNOWN], any_of(plus.nominal), len(plus.codes) - 1
    if n == 0:
        return
    measure(plus.tiles, n, desk.x, far, plus.nominal, mixed)
    rank(far, n, desk.top)
    s = desk.top[0]
    notes[NEAREST] = s
    for a in range(4):
        for c in range(known):
            says[a, c] = 0.0
    for j in range(min(VOTERS, n)):
        b = desk.top[j]
        share, i = 1.0 / ((far[b] + 1e-9) * (cover.balls[b, TOTAL] + 1.0)), cover.marks[b, FIRST]
        while i >= 0:
            says[VOTE, cover.entries[i, CLASS]] += cover.voices[i] * share
            i = cover.entries[i, NEXT]
    if gauge[SPREADS] > 0.0:
        weigh(far, 1.0 / max(gauge[SPREAD], 1e-12), desk.near, desk.whole, n)
        raise_powers(desk.near_bits, desk.whole_bits, n)
        hear_signs(cover.marks, cover.entries, plus.signs, desk.near, says[SIGNS], n)
    says[LAST, cover.marks[s, LAST_LABEL]] = 1.0
    if W > 0 and plus.codes[0] >= 0:
        held = W if plus.codes[W - 1] >= 0 else plus.codes[W]
        measure(plus.recent, held, desk.x, desk.afar, plus.nominal, mixed)
        s = 0
        for i in range(1, held):
            if desk.afar[i] < desk.afar[s]:
                s = i
        says[RECENT, plus.codes[s]] = 1.0
    for a in range(4):
        best = 0
        for c in range(1, known):
            if says[a, c] > says[a, best]:
                best = c
        notes[SAID + a] = best


@inlined
def choose(gauge: Floats, asked: int) -> int:
    """Who has erred least of late?"""
    best = 0
    for a in range(1, asked):
        if gauge[ERRORS + a] < gauge[ERRORS + best]:
            best = a
    return best


@hot
def tell(cover: Cover, plus: Plus, desk: Desk, p: Floats) -> None:
    """Write the probabilities of the classes: what the best one says, as far as it can be trusted."""
    known, gauge = desk.notes[KNOWN], cover.gauge
    if cover.head[BALLS] == 0 or known == 1:
        for c in range(known):
            p[c] = 1.0 / known
        return
    a = choose(gauge, asked(plus))
    says, total = desk.says[a], 0.0
    most = says[desk.notes[SAID + a]]
    for c in range(known):
        p[c] = math.exp(says[c] - most) if a == SIGNS else says[c]
        total += p[c]
    trust = max(0.01, 1.0 - gauge[ERRORS + a])
    for c in range(known):
        p[c] = p[c] * trust / total + (1.0 - trust) / known


@inlined
def asked(plus: Plus) -> int:
    """How many are asked?"""
    return 4 if len(plus.codes) > 1 else 3


# -- learning ---------------------------------------------------------------------------------------------------------


@hot
def worth(cover: Cover, plus: Plus, s: int) -> float:
    """What would be lost with a ball: rows per mistake and its signs, the less the longer it counted no row."""
    signs, i = 0.0, cover.marks[s, FIRST]
    while i >= 0:
        signs += abs(plus.signs[i])
        i = cover.entries[i, NEXT]
    kept = (cover.balls[s, TOTAL] + 2.0) / (cover.balls[s, MISTAKES] + 1.0) + signs
    return float(kept / (cover.head[TIME] - cover.marks[s, USED] + cover.head[BALLS]))


@hot
def open_ball(cover: Cover, plus: Plus, x: Floats, radius: float, y: int, w: float, rival: int, most: int) -> int:
    """Open a ball around x, where there may be no more in the place of the least worth of a few."""
    balls, marks, head = cover.balls, cover.marks, cover.head
    if head[BALLS] < most:
        s = head[BALLS]
        head[BALLS] = s + 1
    else:
        s = integer(cover.seeds, 0, head[BALLS])
        least = worth(cover, plus, s)
        for _ in range(DRAWN - 1):
            other = integer(cover.seeds, 0, head[BALLS])
            value = worth(cover, plus, other)
            if value < least:
                s, least = other, value
        discard(cover, s)
    put(plus.tiles, s, x)
    balls[s, RADIUS], balls[s, START], balls[s, MISTAKES], balls[s, TOTAL] = radius, radius, 0.0, 0.0
    balls[s, MOVED], balls[s, MOST], marks[s, BEST], marks[s, FIRST] = w, 0.0, 0, -1
    marks[s, RIVAL] = rival
    count_signed(cover, plus, s, y, w)
    return int(s)


@inlined
def count_signed(cover: Cover, plus: Plus, s: int, y: int, w: float) -> None:
    """Count a row; a class that is new to the ball begins without a sign."""
    before = cover.marks[s, FIRST]
    count(cover, s, y, w)
    if cover.marks[s, FIRST] != before:
        plus.signs[cover.marks[s, FIRST]] = 0.0


@inlined
def sign(cover: Cover, plus: Plus, s: int, c: int, by: float) -> None:
    """Let a ball say more for a class."""
    entries, head = cover.entries, cover.head
    i = cover.marks[s, FIRST]
    while i >= 0 and entries[i, CLASS] != c:
        i = entries[i, NEXT]
    if i < 0:
        i = head[FREE]
        if i >= 0:
            head[FREE] = entries[i, NEXT]
        else:
            i = head[ENTRIES]
            head[ENTRIES] = i + 1
        entries[i, CLASS], entries[i, NEXT], cover.voices[i], plus.signs[i] = c, cover.marks[s, FIRST], 0.0, 0.0
        cover.marks[s, FIRST] = i
    plus.signs[i] += by


@inlined
def judge(cover: Cover, plus: Plus, desk: Desk, y: int, w: float) -> None:
    """Note who erred, and how far the balls are."""
    gauge, notes, n = cover.gauge, desk.notes, cover.head[BALLS]
    keep = KEEP if w == 1.0 else KEEP**w
    for a in range(asked(plus)):
        gauge[ERRORS + a] *= keep
        if notes[SAID + a] != y:
            gauge[ERRORS + a] += 1.0 - keep
    gauge[SPREADS] += 1.0
    gauge[SPREAD] += (mean_of(desk.far, n) - gauge[SPREAD]) / gauge[SPREADS]


@hot
def learn(cover: Cover, plus: Plus, desk: Desk, y: int, w: float, most: int) -> None:
    """Learn what lies at desk.x."""
    head, gauge, marks, notes, x = cover.head, cover.gauge, cover.marks, desk.notes, desk.x
    head[TIME] += 1
    if head[BALLS] == 0:
        learn_auto(cover, 0, 0.0, y, w, notes[KNOWN])
        s = open_ball(cover, plus, x, 0.0, y, w, -1, most)
        marks[s, LAST_LABEL] = y
        return
    wrong = notes[SAID + choose(gauge, asked(plus))] != y
    judge(cover, plus, desk, y, w)
    s = notes[NEAREST]
    rho, best, mistakes, first = math.sqrt(desk.far[s]), marks[s, BEST], cover.balls[s, MISTAKES], marks[s, FIRST]
    what = learn_auto(cover, s, rho, y, w, notes[KNOWN])
    if what in (STAYS, MOVES):
        if marks[s, FIRST] != first:
            plus.signs[marks[s, FIRST]] = 0.0
        erred = cover.balls[s, MISTAKES] != mistakes
        if erred and marks[s, RIVAL] == y:
            gauge[LOSSES] += w
        if what == MOVES:
            if marks[s, RIVAL] >= 0 and marks[s, RIVAL] != y:
                gauge[WINS] += w
            move(cover, plus, s, x, w)
        elif erred and wrong and rho > 0.0 and cover.rules[OPENS] != 0 and allows(cover):
            s = open_ball(cover, plus, x, rho, y, w, best, most)
    else:
        s = open_ball(cover, plus, x, what, y, w, -1, most)
    if notes[SAID + SIGNS] != y:
        sign(cover, plus, s, y, w)
        sign(cover, plus, s, notes[SAID + SIGNS], -w)
    marks[s, LAST_LABEL] = y


@inlined
def allows(cover: Cover) -> bool:
    """Were balls opened on mistakes right more often than what they came from (a sign test)? Else now and then."""
    wins, losses = cover.gauge[WINS], cover.gauge[LOSSES]
    return bool(wins - losses > math.sqrt(wins + losses) or uniform(cover.seeds, 0) < EXPLORE)


@inlined
def move(cover: Cover, plus: Plus, s: int, x: Floats, w: float) -> None:
    """Let the centre be the mean of its founder and of the rows predicted right; nominal values stay."""
    cover.balls[s, MOVED] += w
    step = w / cover.balls[s, MOVED]
    tile, lane = plus.tiles[s // LANES], s % LANES
    for f in range(len(x)):
        if plus.nominal[f] == 0:
            tile[f, lane] += (x[f] - tile[f, lane]) * step


@inlined
def remember(plus: Plus, x: Floats, y: int) -> None:
    """Put a row in the place of the oldest of the last."""
    W = len(plus.codes) - 1
    i = plus.codes[W]
    put(plus.recent, i, x)
    plus.codes[i] = y
    plus.codes[W] = (i + 1) % W


@inlined
def take(cover: Cover, plus: Plus, z: Floats, y: int, w: float) -> None:
    """Let sums and squares of the classes take one more row; work relevance out again now and then."""
    d, n = len(z), cover.head[TIME]
    sums, squares = plus.sums[y], plus.powers[0]
    for f in range(d):
        v = max(-LARGEST, min(LARGEST, z[f]))
        sums[f] += w * v
        squares[f] += w * v * v
    sums[d] += w
    if n & (n - 1) == 0 or n % EVERY == 0:
        stretch(plus.sums, plus.powers, plus.nominal, n)


@hot
def stretch(sums: Floats, powers: Floats, nominal: Ints, n: int) -> None:
    """Stretch each feature by the share of its variance that lies between the classes, beside that of the others."""
    K, d = len(sums), len(nominal)
    weight, mean, numbers, factors = 0.0, 0.0, 0, powers[1]
    for c in range(K):
        weight += sums[c, d]
    for f in range(d):
        factors[f] = 0.0
        if nominal[f] != 0:
            continue
        total, between = 0.0, 0.0
        for c in range(K):
            if sums[c, d] > 0.0:
                total += sums[c, f]
                between += sums[c, f] * sums[c, f] / sums[c, d]
        between -= total * total / weight
        within = powers[0, f] - total * total / weight
        if within > 1e-12 * powers[0, f]:
            factors[f] = max(0.0, min(1.0, between / within))
        mean += factors[f]
        numbers += 1
    mean /= max(1, numbers)
    pull = SHARE * n / (n + SHRINK)
    for f in range(d):
        plain = nominal[f] != 0 or not mean > 0.0
        factors[f] = 1.0 if plain else math.sqrt(1.0 + pull * (factors[f] / mean - 1.0))


@inlined
def lacks(cover: Cover, most: int) -> int:
    """Say what is wanted before a row can be learned, or DONE. It may need three counts."""
    head, entries = cover.head, cover.entries
    if head[BALLS] < most and head[BALLS] == len(cover.balls):
        return NO_ROOM
    room, i = len(entries) - head[ENTRIES], head[FREE]
    while room < 3 and i >= 0:
        room += 1
        i = entries[i, NEXT]
    return DONE if room >= 3 else NO_ENTRIES


@hot
def play(tiles: Floats, balls: Floats, marks: Ints, entries: Ints, voices: Floats, signs: Floats, head: Ints,
         gauge: Floats, spans: Floats, sums: Floats, powers: Floats, recent: Floats, codes: Ints, seeds: Seeds,
         nominal: Ints, rules: Ints, numbers: Floats, nothing: Floats, scaled: Floats, x: Floats, far: Floats,
         near: Floats, near_bits: Ints, whole: Floats, whole_bits: Ints, afar: Floats, top: Ints, says: Floats,
         notes: Ints, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, most: int,
         begin: int) -> int:  # fmt: skip
    """Play the events from ``begin`` on; give where it stopped for want of something (notes[WHY]), or their number."""
    cover = Cover(balls, marks, entries, voices, head, gauge, spans, nothing, gauge, nothing, seeds, rules, numbers)
    plus = Plus(tiles, signs, sums, powers, recent, codes, nominal)
    desk = Desk(scaled, x, far, near, near_bits, whole, whole_bits, afar, top, says, notes)
    for e in range(begin, len(events)):
        r = events[e] if events[e] >= 0 else ~events[e]
        if notes[ROW] != r:
            place(cover, plus, desk, X[r])
            look(cover, plus, desk)
            notes[ROW] = r
        if events[e] >= 0:
            tell(cover, plus, desk, out[r])
            continue
        notes[WHY] = lacks(cover, most)
        if notes[WHY] != DONE:
            return e
        learn(cover, plus, desk, y[r], w[r], most)
        if len(codes) > 1:
            remember(plus, x, y[r])
        take(cover, plus, scaled, y[r], w[r])
        if rules[SCALE] != UNSCALED:
            observe(X[r], spans, nominal)
        notes[KNOWN] = max(notes[KNOWN], y[r] + 1)
        notes[ROW] = -1
    notes[WHY] = DONE
    return len(events)
