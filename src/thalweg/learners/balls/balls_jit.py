"""A cover of balls: how they count rows, err, shrink, and are discarded. Whoever finds the nearest one is elsewhere.

The ball whose centre is nearest to a row predicts the class that it counted most. N balls at most for now, d features,
P counts of classes in balls; ball_cover_jit.py and ball_cover_plus_jit.py keep the centres, each in its own way.

Reference: R. De Rosa, F. Orabona, N. Cesa-Bianchi, "The ABACOC algorithm", ICDM 2015.
"""

from typing import Annotated, NamedTuple

from thalweg.core.declared import link, span, table
from thalweg.jit.compile import hot, inlined
from thalweg.jit.random import Seeds
from thalweg.learners.balls.scaling_jit import Floats, Ints, Spans

B_RADIUS, B_START, B_MISTAKES, B_TOTAL, B_MOVED, B_MOST, B_COLUMNS = 0, 1, 2, 3, 4, 5, 6
M_USED, M_BEST, M_FIRST, M_COLUMNS = 0, 1, 2, 3
MARKS = {M_USED: span(0, "time"), M_BEST: span(0, "classes - 1"), M_FIRST: link("used")}
E_CLASS, E_NEXT = 0, 1
H_BALLS, H_NEXT_ID, H_TIME, H_PENDING, H_ENTRIES, H_FREE, H_WAITING, H_OUTSIDE, H_COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7, 8
R_VARIANT, R_MAX_BALLS, R_DISCARD, R_METRIC, R_SCALE, R_TWO_LABELS, R_OPENS, R_COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7
P_SHRINKING, P_COVERING, P_COLUMNS = 0, 1, 2
BASE, BASE_ADJ, AUTO, AUTO_ADJ = 0, 1, 2, 3

W_KNOWN, W_ROW, W_NEAREST, W_WHY, W_COLUMNS = 0, 1, 2, 3, 4
"""What is noted between events: classes known, the row that was placed last (-1: none), its ball, why it stopped."""
DONE, NO_ROOM, NO_ENTRIES = 0, 1, 2

STAYS, MOVES = -1.0, -2.0
"""What learning a row may ask for: nothing, that the centre of the ball moves; else a new ball of this radius ≥ 0."""


class Cover(NamedTuple):
    """The tables that all covers have; the last two follow from the parameters."""

    balls: Annotated[Floats, table("N", B_COLUMNS, rows="n", least=0)]
    """N × 6: radius e, radius R at the start, weight of mistakes m, of all rows n, of those that the centre is the mean
    of (u), of the most frequent class."""
    marks: Annotated[Ints, table("N", M_COLUMNS, rows="n", cells=MARKS)]
    """N × 3 (some covers have more): time of the last row, most frequent class (lowest code among equals), first
    count."""
    entries: Annotated[Ints, table("P", 2, rows="used", cells={E_CLASS: span(0, "classes - 1"), E_NEXT: link("used")})]
    """P × 2: a count: its class, the next count of the same ball (-1: none)."""
    voices: Annotated[Floats, table("P", rows="used", least=0)]
    """P: its weight."""
    head: Annotated[Ints, table(H_COLUMNS, least=0, cells={
        H_BALLS: span(0, "min(N, most_balls)", name="n"), H_TIME: span(0, name="time"), H_PENDING: span(0, 1),
        H_ENTRIES: span(0, "P", name="used"), H_FREE: link("used"),
        H_WAITING: span(0, "max(W - 1, 0)", name="waiting"),
    })]  # fmt: skip
    """8: balls, next id, rows learned, is the first radius still unknown, counts used, the first of those free again,
    rows that wait, rows outside the diameter."""
    gauge: Annotated[Floats, table("measures", least=0)]
    """What a kind of cover measures."""
    spans: Spans
    """5 × d: see scaling_jit.py."""
    seeds: Annotated[Seeds, table(1)]
    """1: the generator."""
    rules: Ints
    """7: variant, most balls (0: no limit), who is discarded, metric, scale, does the start wait for two labels, may a
    mistake open a ball."""
    numbers: Floats
    """2: the exponent -1 / (2 + d) by which balls shrink, C0 of the covering."""


@inlined
def find_count(cover: Cover, s: int, y: int) -> int:
    """Find the count of class y in a ball; -1: there is none."""
    i = cover.marks[s, M_FIRST]
    while i >= 0 and cover.entries[i, E_CLASS] != y:
        i = cover.entries[i, E_NEXT]
    return int(i)


@inlined
def add_count(cover: Cover, s: int, y: int) -> int:
    """Give a ball a count of class y, without weight."""
    entries, head, i = cover.entries, cover.head, cover.head[H_FREE]
    if i >= 0:
        head[H_FREE] = entries[i, E_NEXT]
    else:
        i = head[H_ENTRIES]
        head[H_ENTRIES] = i + 1
    entries[i, E_CLASS], entries[i, E_NEXT], cover.voices[i] = y, cover.marks[s, M_FIRST], 0.0
    cover.marks[s, M_FIRST] = i
    return int(i)


@hot
def count(cover: Cover, s: int, y: int, w: float) -> None:
    """Count a row of class y in a ball: n ← n + w, n_y ← n_y + w."""
    balls, marks, voices = cover.balls, cover.marks, cover.voices
    balls[s, B_TOTAL] += w
    marks[s, M_USED] = cover.head[H_TIME]
    i = find_count(cover, s, y)
    if i < 0:
        i = add_count(cover, s, y)
    voices[i] += w
    if voices[i] > balls[s, B_MOST] or (voices[i] == balls[s, B_MOST] and y < marks[s, M_BEST]):
        balls[s, B_MOST], marks[s, M_BEST] = voices[i], y


@inlined
def begin_ball(cover: Cover, s: int, radius: float, w: float) -> None:
    """Let ball s be a new one without rows: e = R = radius, m = 0, u = w."""
    balls, marks = cover.balls, cover.marks
    balls[s, B_RADIUS], balls[s, B_START], balls[s, B_MISTAKES], balls[s, B_TOTAL] = radius, radius, 0.0, 0.0
    balls[s, B_MOVED], balls[s, B_MOST], marks[s, M_BEST], marks[s, M_FIRST] = w, 0.0, 0, -1


@inlined
def discard(cover: Cover, s: int) -> None:
    """Give the counts of a ball free."""
    entries, head = cover.entries, cover.head
    i = cover.marks[s, M_FIRST]
    while i >= 0:
        following = entries[i, E_NEXT]
        entries[i, E_NEXT] = head[H_FREE]
        head[H_FREE] = i
        i = following


@hot
def learn_auto(cover: Cover, s: int, rho: float, y: int, w: float, known: int) -> float:
    """AUTO and AUTO-ADJ: each ball has its own radius, e = R max(1, m)^(-1 / (2 + d)) after m mistakes."""
    balls, head, rules = cover.balls, cover.head, cover.rules
    if head[H_BALLS] == 0:
        head[H_PENDING] = 1
        return 0.0
    if head[H_PENDING] != 0:
        if rho > 0.0 and (rules[R_TWO_LABELS] == 0 or find_count(cover, s, y) < 0):
            balls[s, B_RADIUS], balls[s, B_START] = rho, rho
            head[H_PENDING] = 0
            return rho
        count(cover, s, y, w)
        return STAYS
    if rho > balls[s, B_RADIUS] or (y >= known and rho > 0.0 and rules[R_TWO_LABELS] == 0):  # the first of its class
        return rho
    right = cover.marks[s, M_BEST] == y
    if not right:
        balls[s, B_MISTAKES] += w
        balls[s, B_RADIUS] = balls[s, B_START] * max(1.0, balls[s, B_MISTAKES]) ** cover.numbers[P_SHRINKING]
    count(cover, s, y, w)
    return MOVES if right and rules[R_VARIANT] == AUTO_ADJ else STAYS
