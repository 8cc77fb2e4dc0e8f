"""What is drawn for each record of another stream."""

import math
from typing import Annotated, NamedTuple

from thalweg.core.declared import table
from thalweg.jit.compile import compiled, inlined
from thalweg.streams.draw_jit import Floats, Ints, Seeds, integer, uniform


class Picked(NamedTuple):
    """How far some of another stream's records have been chosen."""

    random: Annotated[Seeds, table(1)]
    """1: random state, see draw_jit."""
    used: Annotated[Ints, table(1, least=0, most="block")]
    """1: records of the block that have been looked at."""
    wanted: Annotated[Ints, table(1, least=-1, most="classes - 1", optional=True)]
    """1: class of the record that is looked for, -1: not drawn yet."""


@inlined
def _progress(t: float, position: float, width: float) -> float:
    """How far a drift has come at the t-th row, t = 1, 2, …: 1 / (1 + exp(-4 (t - position) / width))."""
    return 1.0 / (1.0 + math.exp(min(max(-4.0 * (t - position) / width, -700.0), 700.0)))


@compiled
def recur(random: Seeds, given: int, period: int, width: float, concepts: int, which: Ints) -> None:
    """Choose the concept of each of the next rows: one after another, and again from the first, each for a period."""
    for r in range(len(which)):
        t = given + r + 1
        turn = (2 * t + period) // (2 * period)  # the change that is nearest
        at = (turn - 1) % concepts
        u = uniform(random, False)
        if turn == 0:
            at = 0
        elif u <= _progress(float(t), float(turn * period), width):
            at = turn % concepts
        which[r] = at


@compiled
def advance(random: Seeds, given: int, positions: Floats, width: float, steps: Ints) -> None:
    """Say for each of the next rows how many of the changes it has come through; width 0: each at once."""
    for r in range(len(steps)):
        t = float(given + r + 1)
        u = uniform(random, False)
        steps[r] = 0
        for position in positions:
            if t > position if width == 0.0 else u <= _progress(t, position, width):
                steps[r] += 1


@compiled
def flip(random: Seeds, noise: float, classes: int, codes: Ints) -> None:
    """Put another class in the place of a label, each of the others equally likely."""
    for r in range(len(codes)):
        if uniform(random, False) < noise:
            other = integer(random, False, classes - 1)
            codes[r] = other + 1 if other >= codes[r] else other


@compiled
def lose(random: Seeds, share: float, features: Ints, X: Floats) -> None:
    """Put NaN in the place of a value."""
    for r in range(len(X)):
        for f in features:
            if uniform(random, False) < share:
                X[r, f] = math.nan


@compiled
def scatter(random: Seeds, width: float, times: Floats) -> None:
    """Add up to the width to each time."""
    for r in range(len(times)):
        times[r] += width * uniform(random, False)


@compiled
def turn(
    given: int, position: float, width: float, angle: float, f: int, g: int, a: float, b: float, X: Floats
) -> None:
    """Turn two features around (a, b): by nothing before the change, by the whole angle after it, evenly between."""
    for r in range(len(X)):
        share = min(max((given + r + 1 - position) / width + 0.5, 0.0), 1.0)
        if share == 0.0:
            continue
        c, s = math.cos(angle * share), math.sin(angle * share)
        u, v = X[r, f] - a, X[r, g] - b
        X[r, f] = a + c * u - s * v
        X[r, g] = b + s * u + c * v


@compiled
def keep(random: Seeds, shares: Floats, codes: Ints, picked: Ints) -> tuple[int, int]:
    """Keep each record with the share of its class; give how many are picked, and how many were looked at."""
    count = 0
    for i in range(len(codes)):
        if uniform(random, False) < shares[codes[i]]:
            picked[count] = i
            count += 1
            if count == len(picked):
                return count, i + 1
    return count, len(codes)


@compiled
def draw(
    random: Seeds,
    wanted: Ints,
    before: Floats,
    after: Floats,
    position: float,
    width: float,
    given: int,
    codes: Ints,
    picked: Ints,
) -> tuple[int, int]:
    """Draw the class of the next record, take the next record of that class, and so on."""
    count = 0
    for i in range(len(codes)):
        if wanted[0] < 0:
            p = _progress(float(given + count + 1), position, width)
            u = uniform(random, False)
            c = -1
            while c < 0 or (u >= 0.0 and c < len(before) - 1):
                c += 1
                u -= before[c] + p * (after[c] - before[c])
            wanted[0] = c
        if codes[i] == wanted[0]:
            wanted[0] = -1
            picked[count] = i
            count += 1
            if count == len(picked):
                return count, i + 1
    return count, len(codes)
