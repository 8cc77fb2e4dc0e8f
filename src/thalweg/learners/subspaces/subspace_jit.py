"""The loop of subspace learners: the first rows, who answers, and what a mistake changes.

A feature of a row is its residual to a class, less the least of its residuals, over their mean. The subspaces say
softmax(-sharpness · feature), and the sharpness follows the gradient of the log loss. Who erred least of late answers.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.detectors.any_jit import feed
from thalweg.jit.argmax import first_greatest
from thalweg.jit.compile import called, compiled
from thalweg.jit.random import GAMMA, Seeds, poisson
from thalweg.learners.subspaces.patches_jit import LARGEST

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROWS, KEPT, SAMPLED, DRIFTS, GROWN = range(5)
"""Places in ``head``: rows learned; kept for the reduction; sampled for the trees; drifts; are there trees?"""
MANY = 2**62
"""More rows than this are never learned."""
SHARPNESS, ERRORS = range(2)
SUBSPACES, TREES, BOTH = range(3)
RIGHT = ERRORS + 3
GAUGE = RIGHT + 1
FADING = 0.995
_STEP = 0.05
_SHARPEST = 12.0
_SURE = 0.9


class Course(NamedTuple):
    """How far a learner has come, and the rows that it has kept on the way."""

    head: Annotated[
        Ints,
        table(
            5,
            least=0,
            most=MANY,
            cells={
                KEPT: span(0, "max(0, kept - 1)", name="n_kept"),
                SAMPLED: span(0, "max(0, sample - 1)", name="n_sampled"),
                GROWN: span(0, 1),
            },
        ),
    ]
    """5: ROWS, KEPT, SAMPLED, DRIFTS, GROWN."""
    gauge: Annotated[Floats, table(GAUGE, least=0, cells={SHARPNESS: span(-_SHARPEST, _SHARPEST)})]
    """GAUGE: log of the softmax's SHARPNESS; decayed ERRORS of subspaces, trees, and both; RIGHT answers."""
    drift: Annotated[Floats, table(1, "columns", loose=True)]
    """1 × –: a row of the detector, which knows what it may be."""
    kept: Annotated[Floats, table("kept", "width", rows="n_kept")]
    """warmup or 0 × d: the rows that the reduction will be learnt from."""
    kept_codes: Annotated[Ints, table("kept", rows="n_kept", least=0, most="classes - 1")]
    """warmup or 0: their classes."""
    kept_weights: Annotated[Floats, table("kept", rows="n_kept", least=0)]
    """warmup or 0."""
    sample: Annotated[Floats, table("sample", "features", rows="n_sampled", loose=True)]
    """warmup or 0 × features: the rows that the trees will begin with; NaN for a class that was not known."""
    sample_codes: Annotated[Ints, table("sample", rows="n_sampled", least=0, most="classes - 1")]
    """warmup or 0: their classes."""
    sample_weights: Annotated[Floats, table("sample", rows="n_sampled", least=0)]
    """warmup or 0."""
    typical: Annotated[Floats, table("typical")]
    """256 or 1, 0 without trees: values that stand for those of a feature."""


@compiled
def keep_first(
    kept: Floats, codes: Ints, weights: Floats, n: int, until: int, X: Floats, y: Ints, w: Floats, events: Ints,
    out: Floats, known: int,
) -> int:  # fmt: skip
    """Keep rows until there are so many; the nearest of those kept says the class of a row. Give how many events."""
    for j in range(len(events)):
        e = events[j]
        if e < 0:
            kept[n], codes[n], weights[n] = X[~e], y[~e], w[~e]
            known = max(known, y[~e] + 1)
            n += 1
            if n == until:
                return j + 1
        elif known:
            out[e, :known] = 1.0 / known if n == 0 else (1.0 - _SURE) / known
            if n:
                out[e, nearest(kept, codes, n, X[e])] += _SURE
    return len(events)


@called
def nearest(kept: Floats, codes: Ints, n: int, x: Floats) -> int:
    """Give the class of the nearest of the n rows kept."""
    best, least = -1, np.inf
    for i in range(n):
        total = 0.0
        for f in range(len(x)):
            d = min(max(x[f], -LARGEST), LARGEST) - min(max(kept[i, f], -LARGEST), LARGEST)
            total += d * d
        if best < 0 or total < least:
            best, least = codes[i], total
    return best


@compiled
def features(residuals: Floats, out: Floats) -> None:
    """Write the features of rows with these residuals; NaN for a class of which nothing is known."""
    for j in range(len(residuals)):
        least, total, n = np.inf, 0.0, 0
        for k in range(residuals.shape[1]):
            r = residuals[j, k]
            if r < np.inf:
                least = min(least, r)
                total += r
                n += 1
        for k in range(residuals.shape[1]):
            r = residuals[j, k]
            if r < np.inf:
                out[j, k] = (r - least) * n / total if total > 0.0 else 0.0
            else:
                out[j, k] = np.nan


@compiled
def answer(
    gauge: Floats, code: int, drift: Floats, rules: Floats, F: Floats, trees: Floats, y: Ints, w: Floats, events: Ints,
    out: Floats, known: int,
) -> int:  # fmt: skip
    """Answer, and learn who errs, in the order of events; give how many, and minus that if the last revealed a drift.

    trees: what the trees say of each event; no columns: there are none yet.
    """
    own = np.empty((3, max(known, F.shape[1])))
    for j in range(len(events)):
        e = events[j]
        row = max(e, ~e)
        softmax(F[j], gauge[SHARPNESS], known, own[SUBSPACES])
        answers = 1
        if trees.shape[1]:
            answers = 3
            for k in range(known):
                own[TREES, k] = trees[j, k]
                own[BOTH, k] = 0.5 * (own[SUBSPACES, k] + own[TREES, k])
        chosen = SUBSPACES
        for v in range(1, answers):
            if gauge[ERRORS + v] < gauge[ERRORS + chosen]:
                chosen = v
        if e >= 0:
            out[e, :known] = own[chosen, :known]
            continue
        c, v = y[row], w[row]
        wrong = 1.0
        fade = FADING**v
        for k in range(answers):
            erred = 0.0 if c < known and first_greatest(own[k], known) == c else 1.0
            gauge[ERRORS + k] = fade * gauge[ERRORS + k] + (1.0 - fade) * erred
            if k == chosen:
                wrong = erred
        if c < known:
            sharpen(F[j], own[SUBSPACES], c, known, gauge)
        gauge[RIGHT] += 1.0 - wrong
        known = max(known, c + 1)
        if code >= 0 and feed(code, drift, 0, wrong, rules) == 2:
            return -(j + 1)
    return len(events)


@called
def softmax(f: Floats, sharpness: float, known: int, p: Floats) -> None:
    """Write the probabilities of the classes by their features; all alike if nothing is known of any."""
    total, beta = 0.0, math.exp(sharpness)
    for k in range(known):
        p[k] = 0.0 if math.isnan(f[k]) else math.exp(-beta * f[k])
        total += p[k]
    for k in range(known):
        p[k] = p[k] / total if total > 0.0 else 1.0 / known


@called
def sharpen(f: Floats, p: Floats, c: int, known: int, gauge: Floats) -> None:
    """Take a step down the gradient of the log loss of class c."""
    if math.isnan(f[c]):
        return
    expected = 0.0
    for k in range(known):
        if p[k] > 0.0:
            expected += p[k] * f[k]
    slope = math.exp(gauge[SHARPNESS]) * (f[c] - expected)
    moved = gauge[SHARPNESS] - _STEP * min(max(slope, -1.0), 1.0)
    gauge[SHARPNESS] = min(max(moved, -_SHARPEST), _SHARPEST)


@compiled
def draw(seeds: Seeds, learned: int, rate: float, out: Floats) -> None:
    """Write the weight of each of the next rows for each tree; a draw depends on the number of the row alone."""
    place = np.zeros(1, dtype=np.uint64)
    for t in range(len(out)):
        place[0] = seeds[t] + np.uint64(learned) * GAMMA
        for j in range(out.shape[1]):
            out[t, j] = poisson(place, 0, rate)
