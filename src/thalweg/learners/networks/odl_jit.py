"""Hedge backpropagation (Sahoo, Pham, Lu, Hoi 2018): a network with a classifier at every depth, one row at a time.

L hidden layers of u units, d columns of input, C classes. Depth 0 is the input, depth l the layer l.

| table  | shape         | dtype   | meaning                                                                          |
| inputs | d × u         | float64 | W of layer 1, a row for each column of input                                     |
| hidden | (L-1) × u × u | float64 | W of layer l at l - 2, a row for each unit below                                 |
| bias   | L × u         | float64 | b of layer l at l - 1                                                            |
| first  | C × d         | float64 | Θ of the classifier at depth 0                                                   |
| theta  | L × C × u     | float64 | Θ of the classifier at depth l at l - 1                                          |
| shift  | (L+1) × C     | float64 | c, the constants of the classifiers                                              |
| alpha  | L + 1         | float64 | α, the weights of the depths; 0 at depth 0 where it has no classifier            |
| stats  | d × 3         | float64 | number: values learned, mean, sum of squared deviations; nominal value: count    |
| layout | features × 2  | int64   | first column of a feature, and its number of values (-1: a number, one column)   |
| head   | 6             | int64   | classes, rows learned, steps since the weights were drawn, drifts, recoveries,   |
|        |               |         | rows since the drift that raised the rate                                        |
| dice   | 1             | uint64  | what all weights are drawn from                                                  |

A row of weights is drawn from ``dice`` and its own number (feature and value, unit, class), not from the draws before
it: so it does not matter when a value or a class is met. A nominal value counts as unseen until it has been learned.

Sums run in one order only: products are added row by row of W (forward), or in eight parts (backward).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.detectors.any_jit import feed, forget
from thalweg.jit.compile import called, hot, inlined
from thalweg.jit.random import Seeds, bits, uniform
from thalweg.jit.vectors import add, dot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CLASSES, LEARNED, STEPS, DRIFTS, RECOVERIES, SINCE = range(6)
HEAD = 6
COUNT, MEAN, SQUARES = range(3)
START, WIDTH = range(2)
RATE, BETA, FLOOR, DEPTH0, LOSS, SCALE, DETECTOR, ON_DRIFT = range(8)
RULES = 8
"""What the rules hold: η, β, s, is there a classifier at depth 0, a code of each choice, a detector's code or -1."""
MINMAX, ZERO_ONE, CLIPPED = range(3)
ONLY_COUNT, HEDGE, RESET = range(3)

MOST_VALUES = 1024
"""Columns of a nominal feature: further values share them."""
MOST_RECOVERIES = 20
LOG_BOOST, BOOSTED_ROWS = math.log(10.0), 500
"""At a drift the rate is ten times higher, and comes back within so many rows."""
STEEPEST = 0.1  # the largest rate that a row's weight can lead to
LEAST_PROBABILITY = 1e-12
LEAST_GAP = 1e-12
LEAST_SPREAD = 1e-8
FARTHEST = 10.0  # standard deviations from the mean
LARGEST = 1e100  # numbers beyond are taken for this: their squares would overflow
LARGEST_STEP = 10.0
"""No parameter may change by more in one step: those of a healthy network are far smaller."""
_SPREAD_KEYS = np.uint64(0xD1342543DE82EF95)


class Net(NamedTuple):
    """The tables in one bundle, as the compiled functions hand them on."""

    inputs: Floats
    hidden: Floats
    bias: Floats
    first: Floats
    theta: Floats
    shift: Floats
    alpha: Floats
    stats: Floats
    layout: Ints
    head: Ints
    dice: Seeds


class Work(NamedTuple):
    """What is known of one row on its way through the network; nothing of it is kept."""

    x: Floats
    """d: the row as the network takes it, h of depth 0."""
    h: Floats
    """L × u: h of depth l at l - 1."""
    delta: Floats
    """L × u: the gradient at a of depth l at l - 1."""
    p: Floats
    """(L+1) × C: what each classifier answers; after ``judge`` its gradient α (p - onehot y)."""
    mix: Floats
    """C: the answer of all."""
    losses: Floats
    """L + 1: the loss at each depth, as the hedge takes it."""
    live: Ints
    """(L+1) × max(d, u): the columns or units at each depth that are not 0."""
    lives: Ints
    """L + 1: their number."""
    seed: Seeds
    """1: for drawing weights."""


@hot
def play(inputs: Floats, hidden: Floats, bias: Floats, first: Floats, theta: Floats, shift: Floats, alpha: Floats,
         stats: Floats, layout: Ints, head: Ints, dice: Seeds, drift: Floats, x: Floats, h: Floats, delta: Floats,
         p: Floats, mix: Floats, losses: Floats, live: Ints, lives: Ints, seed: Seeds, drift_rules: Floats,
         rules: Floats, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> int:  # fmt: skip
    """Play the events; the number done is less than all where the rate is too high for the network to recover."""
    net = Net(inputs, hidden, bias, first, theta, shift, alpha, stats, layout, head, dice)
    work = Work(x, h, delta, p, mix, losses, live, lives, seed)
    ready = -1  # the row that ``work`` knows
    for k in range(len(events)):
        e = events[k]
        r = e if e >= 0 else ~e
        if e >= 0 and head[LEARNED] == 0:
            for c in range(known):
                out[e, c] = 1.0 / known
            continue
        new = e < 0 and y[r] >= head[CLASSES]
        if e < 0:
            known = max(known, y[r] + 1)
            if known > head[CLASSES]:
                admit(net, work, known)
                ready = -1
        if e >= 0 or ready != r:
            answer(net, work, rules, X, r)
        if e >= 0:
            ready = r
            for c in range(min(head[CLASSES], out.shape[1])):
                out[e, c] = mix[c]
            continue
        ready = -1
        wrong = 1.0 if new or greatest(mix, head[CLASSES]) != y[r] else 0.0
        if head[CLASSES] > 1 and not learn(net, work, rules, y[r], w[r]):
            return k
        observe(net, rules, X, r)
        if head[LEARNED] > 0 and rules[DETECTOR] >= 0.0:
            if feed(int(rules[DETECTOR]), drift, 0, wrong, drift_rules) == 2:
                head[DRIFTS] += 1
                respond(net, work, rules, drift)
        head[LEARNED] += 1
    return len(events)


# -- predicting -------------------------------------------------------------------------------------------------------


@called
def answer(net: Net, work: Work, rules: Floats, X: Floats, r: int) -> None:
    """Send row r through the network: all h, what each depth answers, and the mix of the answers."""
    encode(net, work, rules, X, r)
    for layer in range(net.bias.shape[0]):
        lift(net, work, layer)
    n = net.head[CLASSES]
    for c in range(n):
        work.mix[c] = 0.0
    for depth in range(0 if rules[DEPTH0] > 0.0 else 1, len(net.alpha)):
        classify(net, work, depth, n)
        for c in range(n):
            work.mix[c] += net.alpha[depth] * work.p[depth, c]


@inlined
def encode(net: Net, work: Work, rules: Floats, X: Floats, r: int) -> None:
    """Write row r as the network takes it: numbers standardised, a nominal value as 1 in its column, missing as 0."""
    x, stats, layout = work.x, net.stats, net.layout
    for f in range(layout.shape[0]):
        v, start, width = X[r, f], layout[f, START], layout[f, WIDTH]
        if width < 0:
            x[start] = 0.0
            if not math.isnan(v):
                x[start] = standardise(stats, start, v) if rules[SCALE] > 0.0 else v
            continue
        for j in range(start, start + width):
            x[j] = 0.0
        if not math.isnan(v):
            j = int(v) % MOST_VALUES
            if j < width and stats[start + j, COUNT] > 0.0:
                x[start + j] = 1.0
    m = 0
    for j in range(len(x)):
        if x[j] != 0.0:
            work.live[0, m] = j
            m += 1
    work.lives[0] = m


@inlined
def standardise(stats: Floats, j: int, v: float) -> float:
    """Give the distance from the mean so far in standard deviations so far; 0 before there are any."""
    n = stats[j, COUNT]
    if n < 2.0:
        return 0.0
    spread = max(math.sqrt(stats[j, SQUARES] / n), LEAST_SPREAD)
    return float(max(-FARTHEST, min(FARTHEST, (cut(v) - stats[j, MEAN]) / spread)))


@inlined
def cut(v: float) -> float:
    """Give the number, or the largest that is taken."""
    return max(-LARGEST, min(LARGEST, v))


@inlined
def lift(net: Net, work: Work, layer: int) -> None:
    """h of depth layer + 1 = ReLU(W h + b), from the h below it."""
    a, live, u = work.h[layer], work.live[layer], net.bias.shape[1]
    for j in range(u):
        a[j] = net.bias[layer, j]
    if layer == 0:
        for k in range(work.lives[0]):
            add(a, work.x[live[k]], net.inputs[live[k]], u)
    else:
        for k in range(work.lives[layer]):
            add(a, work.h[layer - 1, live[k]], net.hidden[layer - 1, live[k]], u)
    m = 0
    for j in range(u):
        if a[j] > 0.0:
            work.live[layer + 1, m] = j
            m += 1
        else:
            a[j] = 0.0
    work.lives[layer + 1] = m


@inlined
def classify(net: Net, work: Work, depth: int, n: int) -> None:
    """p of a depth = softmax(Θ h + c); all alike where that is no number."""
    p = work.p[depth]
    for c in range(n):
        z = net.shift[depth, c]
        if depth == 0:
            for k in range(work.lives[0]):
                j = work.live[0, k]
                z += net.first[c, j] * work.x[j]
        else:
            z += dot(net.theta[depth - 1, c], work.h[depth - 1], net.bias.shape[1])
        p[c] = z
    top = p[greatest(p, n)]
    total = 0.0
    for c in range(n):
        p[c] = math.exp(p[c] - top)
        total += p[c]
    for c in range(n):
        p[c] = p[c] / total if total < math.inf else 1.0 / n


@inlined
def greatest(p: Floats, n: int) -> int:
    """Find the greatest of n (the first among equals)."""
    best = 0
    for c in range(1, n):
        if p[c] > p[best]:
            best = c
    return best


# -- learning ---------------------------------------------------------------------------------------------------------


@called
def learn(net: Net, work: Work, rules: Floats, y: int, w: float) -> bool:
    """Take one step of gradient descent and one of the hedge, with what ``answer`` left; False: it cannot recover.

    A step that would change a parameter by more than LARGEST_STEP is not taken, and the rate is halved for good. To
    wait until one is infinite would be too late: what the steps before have left is then of no use.
    """
    head = net.head
    rate = rules[RATE] * 0.5 ** head[RECOVERIES]
    if head[SINCE] < BOOSTED_ROWS:
        rate *= math.exp(LOG_BOOST * (1.0 - head[SINCE] / BOOSTED_ROWS))
    rate = min(w * rate, max(STEEPEST, rules[RATE]))
    judge(net, work, rules, y)
    if not go_back(net, work, rules, rate) <= LARGEST_STEP:
        if head[RECOVERIES] == MOST_RECOVERIES:
            return False
        head[RECOVERIES] += 1
    else:
        step(net, work, rules, rate)
    hedge(net, work, rules, w)
    head[STEPS] += 1
    head[SINCE] = min(head[SINCE] + 1, BOOSTED_ROWS)
    return True


@inlined
def judge(net: Net, work: Work, rules: Floats, y: int) -> None:
    """Turn the answers of each depth into its loss, as the hedge takes it, and its gradient α (p - onehot y)."""
    begin, n = 0 if rules[DEPTH0] > 0.0 else 1, net.head[CLASSES]
    least, most = math.inf, 0.0
    for depth in range(begin, len(net.alpha)):
        p = work.p[depth]
        loss = -math.log(max(p[y], LEAST_PROBABILITY))
        if rules[LOSS] == ZERO_ONE:
            loss = 1.0 if greatest(p, n) != y else 0.0
        elif rules[LOSS] == CLIPPED:
            loss = min(loss, 1.0)
        least, most = min(least, loss), max(most, loss)
        work.losses[depth] = loss
        p[y] -= 1.0
        for c in range(n):
            p[c] *= net.alpha[depth]
    if rules[LOSS] == MINMAX:
        for depth in range(begin, len(net.alpha)):
            gap = most - least
            work.losses[depth] = (work.losses[depth] - least) / gap if gap >= LEAST_GAP else 0.0


@inlined
def go_back(net: Net, work: Work, rules: Floats, rate: float) -> float:
    """Find the gradient at every layer, from the top down; give the largest change of a parameter to come."""
    u, n = net.bias.shape[1], net.head[CLASSES]
    largest = 0.0
    for layer in range(net.bias.shape[0] - 1, -1, -1):
        delta, h = work.delta[layer], work.h[layer]
        for j in range(u):
            delta[j] = 0.0
        for c in range(n):
            add(delta, work.p[layer + 1, c], net.theta[layer, c], u)
        if layer + 1 < net.bias.shape[0]:
            for k in range(work.lives[layer + 1]):
                j = work.live[layer + 1, k]
                delta[j] += dot(net.hidden[layer, j], work.delta[layer + 1], u)
        steepest, highest = 1.0, 0.0  # changes are rate × what comes in × delta, or × p, which is at most 1
        for j in range(u):
            if not h[j] > 0.0:
                delta[j] = 0.0
            highest = largest_of(highest, abs(delta[j]))
        if layer == 0:
            for k in range(work.lives[0]):
                steepest = largest_of(steepest, abs(work.x[work.live[0, k]]))
        else:
            for k in range(work.lives[layer]):
                steepest = largest_of(steepest, work.h[layer - 1, work.live[layer, k]])
        largest = largest_of(largest, rate * steepest * largest_of(1.0, highest))
    top = 1.0
    for k in range(work.lives[net.bias.shape[0]]):
        top = largest_of(top, work.h[net.bias.shape[0] - 1, work.live[net.bias.shape[0], k]])
    return largest_of(largest, rate * top)


@inlined
def largest_of(a: float, b: float) -> float:
    """Give the larger; NaN counts as infinite."""
    return a if b <= a else b if b > a else math.inf


@inlined
def step(net: Net, work: Work, rules: Floats, rate: float) -> None:
    """Every parameter -= rate × its gradient."""
    u, n = net.bias.shape[1], net.head[CLASSES]
    for layer in range(net.bias.shape[0]):
        delta, live = work.delta[layer], work.live[layer]
        if layer == 0:
            for k in range(work.lives[0]):
                add(net.inputs[live[k]], -rate * work.x[live[k]], delta, u)
        else:
            for k in range(work.lives[layer]):
                add(net.hidden[layer - 1, live[k]], -rate * work.h[layer - 1, live[k]], delta, u)
        add(net.bias[layer], -rate, delta, u)
        for c in range(n):
            add(net.theta[layer, c], -rate * work.p[layer + 1, c], work.h[layer], u)
            net.shift[layer + 1, c] -= rate * work.p[layer + 1, c]
    if rules[DEPTH0] > 0.0:
        for c in range(n):
            f = -rate * work.p[0, c]
            for k in range(work.lives[0]):
                net.first[c, work.live[0, k]] += f * work.x[work.live[0, k]]
            net.shift[0, c] += f


@inlined
def hedge(net: Net, work: Work, rules: Floats, w: float) -> None:
    """α ← α β^(loss w), not below s / L, then normalised."""
    alpha, begin = net.alpha, 0 if rules[DEPTH0] > 0.0 else 1
    floor = rules[FLOOR] / net.bias.shape[0]
    total = 0.0
    for depth in range(begin, len(alpha)):
        alpha[depth] = max(alpha[depth] * rules[BETA] ** (work.losses[depth] * w), floor)
        total += alpha[depth]
    if not total > 0.0:
        spread_evenly(alpha, begin)
        return
    for depth in range(begin, len(alpha)):
        alpha[depth] /= total


@inlined
def spread_evenly(alpha: Floats, begin: int) -> None:
    """Give all depths the same weight."""
    for depth in range(begin, len(alpha)):
        alpha[depth] = 1.0 / (len(alpha) - begin)


@inlined
def observe(net: Net, rules: Floats, X: Floats, r: int) -> None:
    """Let the statistics of the columns take row r (Welford)."""
    stats = net.stats
    for f in range(net.layout.shape[0]):
        v, j, width = X[r, f], net.layout[f, START], net.layout[f, WIDTH]
        if math.isnan(v):
            continue
        if width < 0:
            if rules[SCALE] > 0.0:
                v = cut(v)
                stats[j, COUNT] += 1.0
                far = v - stats[j, MEAN]
                stats[j, MEAN] += far / stats[j, COUNT]
                stats[j, SQUARES] += far * (v - stats[j, MEAN])
        else:
            stats[j + int(v) % MOST_VALUES, COUNT] += 1.0


# -- changes ----------------------------------------------------------------------------------------------------------


@called
def respond(net: Net, work: Work, rules: Floats, drift: Floats) -> None:
    """Do what the rules say at a drift."""
    begin = 0 if rules[DEPTH0] > 0.0 else 1
    if rules[ON_DRIFT] == HEDGE:
        spread_evenly(net.alpha, begin)
        net.head[SINCE] = 0
    elif rules[ON_DRIFT] == RESET:
        bits(net.dice, 0)
        draw_inputs(net.inputs, net.layout, net.layout[:0], net.dice, work.seed)
        draw_hidden(net.hidden, net.dice, work.seed)
        net.bias[:] = 0.0
        net.first[:] = 0.0
        net.shift[:] = 0.0
        net.head[STEPS] = 0
        for c in range(net.head[CLASSES]):
            draw_class(net, work.seed, c, net.head[CLASSES])
        spread_evenly(net.alpha, begin)
        forget(int(rules[DETECTOR]), drift, 0)


@called
def admit(net: Net, work: Work, known: int) -> None:
    """Let classes join. Those that a learning network meets start a tenth as likely as its average class."""
    old = net.head[CLASSES]
    for c in range(old, known):
        if net.head[STEPS] == 0:
            draw_class(net, work.seed, c, known)
            continue
        for depth in range(len(net.alpha)):
            total = 0.0
            for b in range(old):
                total += net.shift[depth, b]
            net.shift[depth, c] = total / old - math.log(10.0)
    net.head[CLASSES] = known


@called
def draw_class(net: Net, seed: Seeds, c: int, known: int) -> None:
    """Draw Θ of a class at every depth but 0."""
    u = net.bias.shape[1]
    for layer in range(net.bias.shape[0]):
        draw(net.theta[layer, c], net.dice, seed, 3 * (c * net.bias.shape[0] + layer), glorot(u, max(known, 2)))


@called
def draw_inputs(inputs: Floats, layout: Ints, before: Ints, dice: Seeds, seed: Seeds) -> None:
    """Draw W of layer 1 for the columns that ``layout`` has and ``before`` had not.

    A nominal feature counts as one input, as one of its columns is 1.
    """
    limit = glorot(layout.shape[0], inputs.shape[1])
    for f in range(layout.shape[0]):
        had = columns(before, f) if f < before.shape[0] else 0
        for j in range(had, columns(layout, f)):
            draw(inputs[layout[f, START] + j], dice, seed, 3 * (f * MOST_VALUES + j) + 1, limit)


@inlined
def columns(layout: Ints, f: int) -> int:
    """How many columns feature f has."""
    return 1 if layout[f, WIDTH] < 0 else layout[f, WIDTH]


@called
def draw_hidden(hidden: Floats, dice: Seeds, seed: Seeds) -> None:
    """Draw W of the other layers."""
    limit = glorot(hidden.shape[1], hidden.shape[1])
    for layer in range(hidden.shape[0]):
        for i in range(hidden.shape[1]):
            draw(hidden[layer, i], dice, seed, 3 * (layer * hidden.shape[1] + i) + 2, limit)


@inlined
def glorot(a: int, b: int) -> float:
    """Give the limit of the weights between a and b units (Glorot, Bengio 2010, equation 16)."""
    return math.sqrt(6.0 / (a + b))


@inlined
def draw(weights: Floats, dice: Seeds, seed: Seeds, key: int, limit: float) -> None:
    """Draw weights from (-limit, limit) for this key."""
    seed[0] = dice[0] + np.uint64(key) * _SPREAD_KEYS
    seed[0] = bits(seed, 0)
    for j in range(len(weights)):
        weights[j] = (2.0 * uniform(seed, 0) - 1.0) * limit


@hot
def draw_network(inputs: Floats, hidden: Floats, layout: Ints, before: Ints, dice: Seeds, seed: Seeds) -> None:
    """Draw W of all layers; where there was a network ``before``, only what has joined."""
    draw_inputs(inputs, layout, before, dice, seed)
    if before.shape[0] == 0:
        draw_hidden(hidden, dice, seed)
