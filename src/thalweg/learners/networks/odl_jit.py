"""Hedge backpropagation (Sahoo, Pham, Lu, Hoi 2018, Algorithm 1), one row at a time: see net_jit.py for the tables.

Every depth answers, F = Σ α^(l) f^(l). The gradient of Σ α^(l) loss^(l) moves the weights of all layers, and the hedge
moves α to the depths that lose least. Sums run in one order only: products are added row by row of W (forward), or in
eight parts (backward).
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.detectors.any_jit import feed, forget
from thalweg.jit.argmax import first_greatest
from thalweg.jit.compile import called, hot, inlined
from thalweg.jit.random import bits
from thalweg.jit.vectors import add, dot
from thalweg.jit.welford import welford
from thalweg.learners.networks.net_jit import (
    BOOSTED_ROWS,
    CLIPPED,
    H_CLASSES,
    H_DRIFTS,
    H_LEARNED,
    H_RECOVERIES,
    H_SINCE,
    H_STEPS,
    HEDGE,
    L_START,
    L_WIDTH,
    LARGEST_SCORE,
    LARGEST_STEP,
    LARGEST_VALUE,
    LEAST_GAP,
    LEAST_PROBABILITY,
    LEAST_SPREAD,
    LOG_BOOST,
    MINMAX,
    MOST_RECOVERIES,
    MOST_VALUES,
    R_BETA,
    R_DEPTH0,
    R_DETECTOR,
    R_FLOOR,
    R_LOSS,
    R_ON_DRIFT,
    R_RATE,
    R_SCALE,
    RESET,
    S_COUNT,
    S_MEAN,
    S_SQUARES,
    STEEPEST,
    ZERO_ONE,
    Net,
    Work,
    add_classes,
    draw_class,
    draw_hidden,
    draw_inputs,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@hot
def play(
    net: Net, work: Work, drift: Floats, drift_rules: Floats, rules: Floats, X: Floats, y: Ints, w: Floats,
    events: Ints, out: Floats, known: int,
) -> int:  # fmt: skip
    """Play the events; the number done is less than all where the rate is too high for the network to recover."""
    net, work = Net(*net), Work(*work)
    head, mix = net.head, work.mix
    ready = -1  # the row that ``work`` knows
    for k in range(len(events)):
        e = events[k]
        r = e if e >= 0 else ~e
        if e >= 0 and head[H_LEARNED] == 0:
            for c in range(known):
                out[e, c] = 1.0 / known
            continue
        new = e < 0 and y[r] >= head[H_CLASSES]
        if e < 0:
            known = max(known, y[r] + 1)
            if known > head[H_CLASSES]:
                add_classes(net, work, known)
                ready = -1
        if e >= 0 or ready != r:
            answer(net, work, rules, X, r)
        if e >= 0:
            ready = r
            for c in range(min(head[H_CLASSES], out.shape[1])):
                out[e, c] = mix[c]
            continue
        ready = -1
        wrong = 1.0 if new or first_greatest(mix, head[H_CLASSES]) != y[r] else 0.0
        if head[H_CLASSES] > 1 and not learn(net, work, rules, y[r], w[r]):
            return k
        observe(net, rules, X, r)
        if head[H_LEARNED] > 0 and rules[R_DETECTOR] >= 0.0:
            if feed(int(rules[R_DETECTOR]), drift, 0, wrong, drift_rules) == 2:
                head[H_DRIFTS] += 1
                respond(net, work, rules, drift)
        head[H_LEARNED] += 1
    return len(events)


# -- predicting -------------------------------------------------------------------------------------------------------


@called
def answer(net: Net, work: Work, rules: Floats, X: Floats, r: int) -> None:
    """Send row r through the network: all h, what each depth answers, and the mix of the answers."""
    encode(net, work, rules, X, r)
    for layer in range(net.bias.shape[0]):
        feed_layer(net, work, layer)
    n = net.head[H_CLASSES]
    for c in range(n):
        work.mix[c] = 0.0
    for depth in range(0 if rules[R_DEPTH0] > 0.0 else 1, len(net.alpha)):
        classify(net, work, depth, n)
        for c in range(n):
            work.mix[c] += net.alpha[depth] * work.p[depth, c]


@inlined
def encode(net: Net, work: Work, rules: Floats, X: Floats, r: int) -> None:
    """Write row r as the network takes it: numbers standardised, a nominal value as 1 in its column, missing as 0."""
    x, stats, layout = work.x, net.stats, net.layout
    for f in range(layout.shape[0]):
        v, start, width = X[r, f], layout[f, L_START], layout[f, L_WIDTH]
        if width < 0:
            x[start] = 0.0
            if not math.isnan(v):
                x[start] = standardise(stats, start, v) if rules[R_SCALE] > 0.0 else v
            continue
        for j in range(start, start + width):
            x[j] = 0.0
        if not math.isnan(v):
            j = int(v) % MOST_VALUES
            if j < width and stats[start + j, S_COUNT] > 0.0:
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
    n = stats[j, S_COUNT]
    if n < 2.0:
        return 0.0
    spread = max(math.sqrt(stats[j, S_SQUARES] / n), LEAST_SPREAD)
    return float(max(-LARGEST_SCORE, min(LARGEST_SCORE, (cut(v) - stats[j, S_MEAN]) / spread)))


@inlined
def cut(v: float) -> float:
    """Give the number, or the largest that is taken."""
    return max(-LARGEST_VALUE, min(LARGEST_VALUE, v))


@inlined
def feed_layer(net: Net, work: Work, layer: int) -> None:
    """h of depth layer + 1 = ReLU(W h + b), from the h below it (in the paper h^(l) = σ(W^(l) h^(l-1)))."""
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
    """p of a depth = softmax(Θ h + c), f^(l) of the paper; all alike where that is no number."""
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
    top = p[first_greatest(p, n)]
    total = 0.0
    for c in range(n):
        p[c] = math.exp(p[c] - top)
        total += p[c]
    for c in range(n):
        p[c] = p[c] / total if total < math.inf else 1.0 / n


# -- learning ---------------------------------------------------------------------------------------------------------


@called
def learn(net: Net, work: Work, rules: Floats, y: int, w: float) -> bool:
    """Take one step of gradient descent and one of the hedge, with what ``answer`` left; False: it cannot recover.

    A step that would change a parameter by more than LARGEST_STEP is not taken, and the rate is halved for good. To
    wait until one is infinite would be too late: what the steps before have left is then of no use.
    """
    head = net.head
    rate = rules[R_RATE] * 0.5 ** head[H_RECOVERIES]
    if head[H_SINCE] < BOOSTED_ROWS:
        rate *= math.exp(LOG_BOOST * (1.0 - head[H_SINCE] / BOOSTED_ROWS))
    rate = min(w * rate, max(STEEPEST, rules[R_RATE]))
    find_losses(net, work, rules, y)
    if not backpropagate(net, work, rules, rate) <= LARGEST_STEP:
        if head[H_RECOVERIES] == MOST_RECOVERIES:
            return False
        head[H_RECOVERIES] += 1
    else:
        step(net, work, rules, rate)
    hedge(net, work, rules, w)
    head[H_STEPS] += 1
    head[H_SINCE] = min(head[H_SINCE] + 1, BOOSTED_ROWS)
    return True


@inlined
def find_losses(net: Net, work: Work, rules: Floats, y: int) -> None:
    """Turn the answers of each depth into its loss, as the hedge takes it, and its gradient α (p - onehot y)."""
    begin, n = 0 if rules[R_DEPTH0] > 0.0 else 1, net.head[H_CLASSES]
    least, most = math.inf, 0.0
    for depth in range(begin, len(net.alpha)):
        p = work.p[depth]
        loss = -math.log(max(p[y], LEAST_PROBABILITY))
        if rules[R_LOSS] == ZERO_ONE:
            loss = 1.0 if first_greatest(p, n) != y else 0.0
        elif rules[R_LOSS] == CLIPPED:
            loss = min(loss, 1.0)
        least, most = min(least, loss), max(most, loss)
        work.losses[depth] = loss
        p[y] -= 1.0
        for c in range(n):
            p[c] *= net.alpha[depth]
    if rules[R_LOSS] == MINMAX:
        for depth in range(begin, len(net.alpha)):
            gap = most - least
            work.losses[depth] = (work.losses[depth] - least) / gap if gap >= LEAST_GAP else 0.0


@inlined
def backpropagate(net: Net, work: Work, rules: Floats, rate: float) -> float:
    """Find the gradient at every layer, from the top down; give the largest change of a parameter to come."""
    u, n = net.bias.shape[1], net.head[H_CLASSES]
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
    """Take the step of online gradient descent: every parameter -= η × its gradient, which α has weighted already."""
    u, n = net.bias.shape[1], net.head[H_CLASSES]
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
    if rules[R_DEPTH0] > 0.0:
        for c in range(n):
            f = -rate * work.p[0, c]
            for k in range(work.lives[0]):
                net.first[c, work.live[0, k]] += f * work.x[work.live[0, k]]
            net.shift[0, c] += f


@inlined
def hedge(net: Net, work: Work, rules: Floats, w: float) -> None:
    """The hedge (Algorithm 1): α^(l) ← max(α^(l) β^(loss w), s / L), then α ← α / Σ α.

    The loss of a depth lies in [0, 1], as the hedge of Freund and Schapire (1997) asks; w is the row's weight.
    """
    alpha, begin = net.alpha, 0 if rules[R_DEPTH0] > 0.0 else 1
    floor = rules[R_FLOOR] / net.bias.shape[0]
    total = 0.0
    for depth in range(begin, len(alpha)):
        alpha[depth] = max(alpha[depth] * rules[R_BETA] ** (work.losses[depth] * w), floor)
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
    """Let the statistics of the columns take row r."""
    stats = net.stats
    for f in range(net.layout.shape[0]):
        v, j, width = X[r, f], net.layout[f, L_START], net.layout[f, L_WIDTH]
        if math.isnan(v):
            continue
        if width < 0:
            if rules[R_SCALE] > 0.0:
                v = cut(v)
                stats[j, S_COUNT] += 1.0
                stats[j, S_MEAN], stats[j, S_SQUARES] = welford(
                    stats[j, S_COUNT], stats[j, S_MEAN], stats[j, S_SQUARES], v, 1.0
                )
        else:
            stats[j + int(v) % MOST_VALUES, S_COUNT] += 1.0


# -- changes ----------------------------------------------------------------------------------------------------------


@called
def respond(net: Net, work: Work, rules: Floats, drift: Floats) -> None:
    """Do what the rules say at a drift."""
    begin = 0 if rules[R_DEPTH0] > 0.0 else 1
    if rules[R_ON_DRIFT] == HEDGE:
        spread_evenly(net.alpha, begin)
        net.head[H_SINCE] = 0
    elif rules[R_ON_DRIFT] == RESET:
        bits(net.dice, 0)
        draw_inputs(net.inputs, net.layout, net.layout[:0], net.dice, work.seed)
        draw_hidden(net.hidden, net.dice, work.seed)
        net.bias[:] = 0.0
        net.first[:] = 0.0
        net.shift[:] = 0.0
        net.head[H_STEPS] = 0
        for c in range(net.head[H_CLASSES]):
            draw_class(net, work.seed, c, net.head[H_CLASSES])
        spread_evenly(net.alpha, begin)
        forget(int(rules[R_DETECTOR]), drift, 0)
