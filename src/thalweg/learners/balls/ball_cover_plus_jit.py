"""A cover of balls that several ask: their nearest by votes, all of them by signs, the last label. The best answers.

N balls at most for now, in tiles of L (tiles_jit.py): ball s lies in tile s / L; d features, K classes, P counts of
classes in balls. How balls count, shrink and are discarded is in balls_jit.py.
"""

import math
from typing import Annotated, NamedTuple

from thalweg.core.declared import span, table
from thalweg.jit.argmax import first_greatest
from thalweg.jit.compile import hot, inlined
from thalweg.jit.random import integer, uniform
from thalweg.learners.balls.balls_jit import (
    B_MISTAKES,
    B_MOVED,
    B_TOTAL,
    DONE,
    E_CLASS,
    E_NEXT,
    H_BALLS,
    H_ENTRIES,
    H_FREE,
    H_TIME,
    M_BEST,
    M_FIRST,
    M_USED,
    MARKS,
    MOVES,
    NO_ENTRIES,
    NO_ROOM,
    R_MAX_BALLS,
    R_OPENS,
    R_SCALE,
    STAYS,
    W_KNOWN,
    W_NEAREST,
    W_ROW,
    W_WHY,
    Cover,
    add_count,
    begin_ball,
    count,
    discard,
    find_count,
    learn_auto,
)
from thalweg.learners.balls.relevance_jit import weigh_features
from thalweg.learners.balls.scaling_jit import LARGEST, UNSCALED, Floats, Ints, observe, scale
from thalweg.learners.balls.tiles_jit import (
    G_SPREAD,
    G_SPREADS,
    LANES,
    any_of,
    keep_nearest,
    measure,
    put,
    raise_powers,
    tiles_of,
    track_spread,
    weigh,
)

M_LAST_LABEL, M_RIVAL, M_ALL = 3, 4, 5
"""What ``marks`` holds besides: the last label; the class that was most frequent where a mistake opened this ball (-1:
no mistake did)."""
G_WINS, G_LOSSES, G_ERRORS, G_ALL = 2, 3, 4, 8
"""What ``gauge`` holds: mean squared distance from rows to balls, of how many rows; of balls opened on a mistake: rows
they got right, wrong; the decayed error of the four that are asked."""
A_VOTE, A_SIGNS, A_LAST, A_RECENT, ALL_ASKED = 0, 1, 2, 3, 4
"""Who is asked."""

VOTERS = 5
DRAWN = 4  # balls among which the least worth is discarded
KEEP = 0.998  # of an error, from row to row
EXPLORE = 0.05

W_PREDICTED, W_ALL = 4, 8
"""What is noted besides: what each of the four said."""


class Marks(NamedTuple):
    """What the table of that name holds here."""

    marks: Annotated[Ints, table("N", M_ALL, rows="n", cells={
        **MARKS, M_LAST_LABEL: span(0, "classes - 1"), M_RIVAL: span(-1, "classes - 1"),
    })]  # fmt: skip


class Plus(NamedTuple):
    """What there is besides the cover."""

    tiles: Annotated[Floats, table(tiles_of("N"), "d", LANES)]
    """N/L × d × L: the centres."""
    signs: Annotated[Floats, table("P", rows="used")]
    """P: what the ball of a count says for its class, or against it, wherever it is near."""
    sums: Annotated[Floats, table("K", "d + 1")]
    """K × (d + 1): of each class: sum of the scaled rows, and their weight."""
    powers: Annotated[Floats, table(2, "d")]
    """2 × d: sum of the squares of the scaled rows; the factor by which a feature is stretched."""
    recent: Annotated[Floats, table(tiles_of("window"), "d", LANES)]
    """W/L × d × L: the last rows."""
    codes: Annotated[Ints, table("window + 1", least=-1, most="classes - 1", cells={-1: span(0, "max(window - 1, 0)")})]
    """W + 1: their labels (-1: none yet), and the place of the oldest."""
    nominal: Ints
    """d: 1 where values differ by 1 or not at all. It follows from the schema."""


Room = tuple[Floats, Ints, Ints, Floats]
"""Room for one row: numbers, the same memory as bits, whole numbers, what is said; ``scratch_of`` cuts it up."""


class Scratch(NamedTuple):
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
    notes: Ints
    """W_ALL."""
    scores: Floats
    """4 × K: what each says for each class."""


@inlined
def scratch_of(room: Room, d: int, n: int) -> Scratch:
    """Cut room for a row of d features and n places for balls."""
    floats, bits, ints, scores = room
    a, b, c = 2 * d + n, 2 * d + 2 * n, 2 * d + 3 * n
    return Scratch(
        floats[:d], floats[d : 2 * d], floats[2 * d : a], floats[a:b], bits[a:b], floats[b:c], bits[b:c], floats[c:],
        ints[W_ALL:], ints[:W_ALL], scores,
    )  # fmt: skip


# -- where a row lies -------------------------------------------------------------------------------------------------


@inlined
def place(cover: Cover, plus: Plus, scratch: Scratch, row: Floats) -> None:
    """Scale a row, and stretch it along the features that tell the classes apart."""
    scale(row, scratch.scaled, cover.spans, plus.nominal, cover.rules[R_SCALE], LARGEST)
    x, z, factors = scratch.x, scratch.scaled, plus.powers[1]
    for f in range(len(x)):
        x[f] = z[f] * factors[f]


@hot
def rank(far: Floats, n: int, top: Ints) -> None:
    """Write the nearest balls to ``top``, the nearest first; among equals the lowest place first."""
    held = 0
    for s in range(n):
        held = keep_nearest(far, s, held, top)


# -- what each says ---------------------------------------------------------------------------------------------------


@hot
def add_signs(first: Ints, entries: Ints, signs: Floats, near: Floats, scores: Floats, n: int) -> None:
    """Add up what all balls say for and against classes, by their nearness."""
    for s in range(n):
        i = first[s, M_FIRST]
        while i >= 0:
            scores[entries[i, E_CLASS]] += signs[i] * near[s]
            i = entries[i, E_NEXT]


@hot
def look(cover: Cover, plus: Plus, scratch: Scratch) -> None:
    """Find the balls near scratch.x and let everyone say what the class is."""
    head, gauge, notes, scores, far = cover.head, cover.gauge, scratch.notes, scratch.scores, scratch.far
    n, known, mixed, W = head[H_BALLS], notes[W_KNOWN], any_of(plus.nominal), len(plus.codes) - 1
    if n == 0:
        return
    measure(plus.tiles, n, scratch.x, far, plus.nominal, mixed)
    rank(far, n, scratch.top)
    s = scratch.top[0]
    notes[W_NEAREST] = s
    for a in range(ALL_ASKED):
        for c in range(known):
            scores[a, c] = 0.0
    for j in range(min(VOTERS, n)):
        b = scratch.top[j]
        share, i = 1.0 / ((far[b] + 1e-9) * (cover.balls[b, B_TOTAL] + 1.0)), cover.marks[b, M_FIRST]
        while i >= 0:
            scores[A_VOTE, cover.entries[i, E_CLASS]] += cover.voices[i] * share
            i = cover.entries[i, E_NEXT]
    if gauge[G_SPREADS] > 0.0:
        weigh(far, 1.0 / max(gauge[G_SPREAD], 1e-12), scratch.near, scratch.whole, n)
        raise_powers(scratch.near_bits, scratch.whole_bits, n)
        add_signs(cover.marks, cover.entries, plus.signs, scratch.near, scores[A_SIGNS], n)
    scores[A_LAST, cover.marks[s, M_LAST_LABEL]] = 1.0
    if W > 0 and plus.codes[0] >= 0:
        held = W if plus.codes[W - 1] >= 0 else plus.codes[W]
        measure(plus.recent, held, scratch.x, scratch.afar, plus.nominal, mixed)
        s = 0
        for i in range(1, held):
            if scratch.afar[i] < scratch.afar[s]:
                s = i
        scores[A_RECENT, plus.codes[s]] = 1.0
    for a in range(ALL_ASKED):
        notes[W_PREDICTED + a] = first_greatest(scores[a], known)


@inlined
def choose(gauge: Floats, asked: int) -> int:
    """Who has erred least of late?"""
    best = 0
    for a in range(1, asked):
        if gauge[G_ERRORS + a] < gauge[G_ERRORS + best]:
            best = a
    return best


@hot
def write_proba(cover: Cover, plus: Plus, scratch: Scratch, p: Floats) -> None:
    """Write the probabilities of the classes: what the best one says, as far as it can be trusted."""
    known, gauge = scratch.notes[W_KNOWN], cover.gauge
    if cover.head[H_BALLS] == 0 or known == 1:
        for c in range(known):
            p[c] = 1.0 / known
        return
    a = choose(gauge, asked(plus))
    scores, total = scratch.scores[a], 0.0
    most = scores[scratch.notes[W_PREDICTED + a]]
    for c in range(known):
        p[c] = math.exp(scores[c] - most) if a == A_SIGNS else scores[c]
        total += p[c]
    trust = max(0.01, 1.0 - gauge[G_ERRORS + a])
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
    signs, i = 0.0, cover.marks[s, M_FIRST]
    while i >= 0:
        signs += abs(plus.signs[i])
        i = cover.entries[i, E_NEXT]
    kept = (cover.balls[s, B_TOTAL] + 2.0) / (cover.balls[s, B_MISTAKES] + 1.0) + signs
    return float(kept / (cover.head[H_TIME] - cover.marks[s, M_USED] + cover.head[H_BALLS]))


@hot
def open_ball(cover: Cover, plus: Plus, x: Floats, radius: float, y: int, w: float, rival: int) -> int:
    """Open a ball around x, where there may be no more in the place of the least worth of a few."""
    head = cover.head
    if head[H_BALLS] < cover.rules[R_MAX_BALLS]:
        s = head[H_BALLS]
        head[H_BALLS] = s + 1
    else:
        s = integer(cover.seeds, 0, head[H_BALLS])
        least = worth(cover, plus, s)
        for _ in range(DRAWN - 1):
            other = integer(cover.seeds, 0, head[H_BALLS])
            value = worth(cover, plus, other)
            if value < least:
                s, least = other, value
        discard(cover, s)
    put(plus.tiles, s, x)
    begin_ball(cover, s, radius, w)
    cover.marks[s, M_RIVAL] = rival
    count(cover, s, y, w)
    plus.signs[cover.marks[s, M_FIRST]] = 0.0
    return int(s)


@inlined
def sign(cover: Cover, plus: Plus, s: int, c: int, by: float) -> None:
    """Let a ball say more for a class."""
    i = find_count(cover, s, c)
    if i < 0:
        i = add_count(cover, s, c)
        plus.signs[i] = 0.0
    plus.signs[i] += by


@inlined
def judge(cover: Cover, plus: Plus, scratch: Scratch, y: int, w: float) -> None:
    """Note who erred, and how far the balls are."""
    gauge, notes, n = cover.gauge, scratch.notes, cover.head[H_BALLS]
    keep = KEEP if w == 1.0 else KEEP**w
    for a in range(asked(plus)):
        gauge[G_ERRORS + a] *= keep
        if notes[W_PREDICTED + a] != y:
            gauge[G_ERRORS + a] += 1.0 - keep
    track_spread(gauge, scratch.far, n)


@hot
def learn(cover: Cover, plus: Plus, scratch: Scratch, y: int, w: float) -> None:
    """Learn what lies at scratch.x."""
    head, gauge, marks, notes, x = cover.head, cover.gauge, cover.marks, scratch.notes, scratch.x
    head[H_TIME] += 1
    if head[H_BALLS] == 0:
        learn_auto(cover, 0, 0.0, y, w, notes[W_KNOWN])
        s = open_ball(cover, plus, x, 0.0, y, w, -1)
        marks[s, M_LAST_LABEL] = y
        return
    wrong = notes[W_PREDICTED + choose(gauge, asked(plus))] != y
    judge(cover, plus, scratch, y, w)
    s = notes[W_NEAREST]
    rho, best, mistakes, first = (
        math.sqrt(scratch.far[s]),
        marks[s, M_BEST],
        cover.balls[s, B_MISTAKES],
        marks[s, M_FIRST],
    )
    what = learn_auto(cover, s, rho, y, w, notes[W_KNOWN])
    if what in (STAYS, MOVES):
        if marks[s, M_FIRST] != first:
            plus.signs[marks[s, M_FIRST]] = 0.0
        erred = cover.balls[s, B_MISTAKES] != mistakes
        if erred and marks[s, M_RIVAL] == y:
            gauge[G_LOSSES] += w
        if what == MOVES:
            if marks[s, M_RIVAL] >= 0 and marks[s, M_RIVAL] != y:
                gauge[G_WINS] += w
            move(cover, plus, s, x, w)
        elif erred and wrong and rho > 0.0 and cover.rules[R_OPENS] != 0 and allows(cover):
            s = open_ball(cover, plus, x, rho, y, w, best)
    else:
        s = open_ball(cover, plus, x, what, y, w, -1)
    if notes[W_PREDICTED + A_SIGNS] != y:
        sign(cover, plus, s, y, w)
        sign(cover, plus, s, notes[W_PREDICTED + A_SIGNS], -w)
    marks[s, M_LAST_LABEL] = y


@inlined
def allows(cover: Cover) -> bool:
    """Were balls opened on mistakes right more often than what they came from (a sign test)? Else now and then."""
    wins, losses = cover.gauge[G_WINS], cover.gauge[G_LOSSES]
    return bool(wins - losses > math.sqrt(wins + losses) or uniform(cover.seeds, 0) < EXPLORE)


@inlined
def move(cover: Cover, plus: Plus, s: int, x: Floats, w: float) -> None:
    """c ← c + (x - c) w / u: the mean of its founder and of the rows predicted right; nominal values stay."""
    cover.balls[s, B_MOVED] += w
    step = w / cover.balls[s, B_MOVED]
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
def lacks(cover: Cover) -> int:
    """Say what is wanted before a row can be learned, or DONE. It may need three counts."""
    head, entries = cover.head, cover.entries
    if head[H_BALLS] < cover.rules[R_MAX_BALLS] and head[H_BALLS] == len(cover.balls):
        return NO_ROOM
    room, i = len(entries) - head[H_ENTRIES], head[H_FREE]
    while room < 3 and i >= 0:
        room += 1
        i = entries[i, E_NEXT]
    return DONE if room >= 3 else NO_ENTRIES


@hot
def play(cover: Cover, plus: Plus, room: Room, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats,
         begin: int) -> int:  # fmt: skip
    """Play the events from ``begin`` on; give where it stopped for want of something (W_WHY), or their number."""
    cover, plus = Cover(*cover), Plus(*plus)
    scratch = scratch_of(room, X.shape[1], len(plus.tiles) * LANES)
    notes = scratch.notes
    for e in range(begin, len(events)):
        r = events[e] if events[e] >= 0 else ~events[e]
        if notes[W_ROW] != r:
            place(cover, plus, scratch, X[r])
            look(cover, plus, scratch)
            notes[W_ROW] = r
        if events[e] >= 0:
            write_proba(cover, plus, scratch, out[r])
            continue
        notes[W_WHY] = lacks(cover)
        if notes[W_WHY] != DONE:
            return e
        learn(cover, plus, scratch, y[r], w[r])
        if len(plus.codes) > 1:
            remember(plus, scratch.x, y[r])
        weigh_features(plus.sums, plus.powers, plus.nominal, scratch.scaled, y[r], w[r], cover.head[H_TIME])
        if cover.rules[R_SCALE] != UNSCALED:
            observe(X[r], cover.spans, plus.nominal)
        notes[W_KNOWN] = max(notes[W_KNOWN], y[r] + 1)
        notes[W_ROW] = -1
    notes[W_WHY] = DONE
    return len(events)
