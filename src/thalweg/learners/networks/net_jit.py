"""The tables of a network with a classifier at every depth, and how its weights are drawn; odl_jit.py trains it.

L hidden layers of u units, d columns of input, C classes. Depth 0 is the input, depth l the layer l.

A row of weights is drawn from ``dice`` and its own number (feature and value, unit, class), not from the draws before
it: so it does not matter when a value or a class is met. A nominal value counts as unseen until it has been learned.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.compile import called, hot, inlined
from thalweg.jit.random import Seeds, bits, uniform

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

H_CLASSES, H_LEARNED, H_STEPS, H_DRIFTS, H_RECOVERIES, H_SINCE, H_CELLS = range(7)
S_COUNT, S_MEAN, S_SQUARES, S_COLUMNS = range(4)
L_START, L_WIDTH = range(2)
R_RATE, R_BETA, R_FLOOR, R_DEPTH0, R_LOSS, R_SCALE, R_DETECTOR, R_ON_DRIFT, R_CELLS = range(9)
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
LARGEST_SCORE = 10.0  # standard deviations from the mean
LARGEST_VALUE = 1e100  # numbers beyond are taken for this: their squares would overflow
LARGEST_STEP = 10.0
"""No parameter may change by more in one step: those of a healthy network are far smaller."""
_SPREAD_KEYS = np.uint64(0xD1342543DE82EF95)


class Net(NamedTuple):
    """The state."""

    inputs: Annotated[Floats, table("D", "u")]
    """d × u: W of layer 1, a row for each column of input."""
    hidden: Annotated[Floats, table("L - 1", "u", "u")]
    """(L-1) × u × u: W of layer l at l - 2, a row for each unit below."""
    bias: Annotated[Floats, table("L", "u")]
    """L × u: b of layer l at l - 1."""
    first: Annotated[Floats, table("C", "D")]
    """C × d: Θ of the classifier at depth 0."""
    theta: Annotated[Floats, table("L", "C", "u")]
    """L × C × u: Θ of the classifier at depth l at l - 1."""
    shift: Annotated[Floats, table("L + 1", "C")]
    """(L+1) × C: c, the constants of the classifiers."""
    alpha: Annotated[Floats, table("L + 1", least=0)]
    """L + 1: α, the weights of the depths; 0 at depth 0 where it has no classifier."""
    stats: Annotated[Floats, table("D", S_COLUMNS, cells={S_COUNT: span(0), S_SQUARES: span(0)})]
    """d × 3: number: values learned, mean, sum of squared deviations; nominal value: count."""
    layout: Annotated[Ints, table("features", 2, cells={L_START: span(0, "D - 1"), L_WIDTH: span(-1, MOST_VALUES)})]
    """features × 2: first column of a feature, and its number of values (-1: a number, one column)."""
    head: Annotated[Ints, table(H_CELLS, least=0, most=2**53, cells={
        H_CLASSES: span(0, "min(C, classes)", name="there"), H_LEARNED: span(0, f"there * {2**53}"),
        H_RECOVERIES: span(0, MOST_RECOVERIES), H_SINCE: span(0, BOOSTED_ROWS),
    })]  # fmt: skip
    """6: classes, rows learned (none without a class), steps since the weights were drawn, drifts, recoveries, rows
    since the drift that raised the rate."""
    dice: Annotated[Seeds, table(1)]
    """1: what all weights are drawn from."""


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


# -- drawing weights --------------------------------------------------------------------------------------------------


@called
def add_classes(net: Net, work: Work, known: int) -> None:
    """Let classes join. Those that a learning network meets start a tenth as likely as its average class."""
    old = net.head[H_CLASSES]
    for c in range(old, known):
        if net.head[H_STEPS] == 0:
            draw_class(net, work.seed, c, known)
            continue
        for depth in range(len(net.alpha)):
            total = 0.0
            for b in range(old):
                total += net.shift[depth, b]
            net.shift[depth, c] = total / old - math.log(10.0)
    net.head[H_CLASSES] = known


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
            draw(inputs[layout[f, L_START] + j], dice, seed, 3 * (f * MOST_VALUES + j) + 1, limit)


@inlined
def columns(layout: Ints, f: int) -> int:
    """How many columns feature f has."""
    return 1 if layout[f, L_WIDTH] < 0 else layout[f, L_WIDTH]


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
