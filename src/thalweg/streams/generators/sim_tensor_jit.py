"""Drawing CP tensors whose factors have Gamma entries.

| table     | shape             | dtype   | meaning                                                              |
| random    | 1                 | uint64  | the generator                                                        |
| shapes    | concepts × 2      | float64 | shape of the Gamma distribution of each class                        |
| templates | concepts × 2 × L × r × N | float64 | factors of each class; no concepts: entries are drawn afresh  |
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot, inlined
from thalweg.jit.random import normal, uniform

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seeds = NDArray[np.uint64]

NONE, GRADUAL, INCREMENTAL, SUDDEN = 0, 1, 2, 3
"""The kinds of drift."""
_NOISE = 5.0


@inlined
def gamma(s: Seeds, shape: float) -> float:
    """Draw from Gamma(shape, 1) by the method of Marsaglia and Tsang (2000)."""
    boost = 1.0
    if shape < 1.0:
        boost = math.pow(1.0 - uniform(s, 0), 1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(s, 0)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        if math.log(1.0 - uniform(s, 0)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return boost * d * v


@inlined
def progress(drift: int, t: float, start: float, width: float) -> float:
    """How far the change that begins at ``start`` has come at position t, from 0 to 1."""
    if drift == GRADUAL:
        return 1.0 / (1.0 + math.exp(max(-700.0, min(700.0, -4.0 * (t - start) / width))))
    if drift == INCREMENTAL:
        return max(0.0, min(1.0, (t - start) / width))
    return 1.0 if t >= start else 0.0


@hot
def draw_templates(random: Seeds, shapes: Floats, scale: float, templates: Floats) -> None:
    """Draw the factors of each concept and class."""
    for c in range(templates.shape[0]):
        for k in range(templates.shape[1]):
            for j in range(templates.shape[2]):
                for q in range(templates.shape[3]):
                    for e in range(templates.shape[4]):
                        templates[c, k, j, q, e] = scale * gamma(random, shapes[c, k])


@hot
def draw_tensors(
    random: Seeds, position: int, starts: Floats, width: float, drift: int, shapes: Floats, scale: float,
    templates: Floats, swap: bool, columns: Floats, y: Ints,
) -> None:  # fmt: skip
    """Draw the next tensors. starts: where the changes begin; shapes, templates: one concept more than changes."""
    for i in range(len(y)):
        t = float(position + i)
        near = 0  # the last change that can matter: the one before the middle to the next
        for c in range(1, len(starts)):
            if t >= (0.5 * (starts[c - 1] + starts[c]) if drift == GRADUAL else starts[c]):
                near = c
        before, after, share = 0, 0, 0.0
        if drift != NONE and len(starts) > 0:
            before, after = near, near + 1
            share = progress(drift, t, starts[near], width)
        u = uniform(random, 0)  # drawn for every tensor: all kinds of drift use the same numbers up to the first change
        if drift != INCREMENTAL or swap:
            share = 1.0 if u < share else 0.0
        k = 1 if uniform(random, 0) < 0.5 else 0
        turned = swap and (before if share < 1.0 else after) % 2 == 1
        y[i] = 1 - k if turned else k
        shape = (1.0 - share) * shapes[before, k] + share * shapes[after, k]
        for j in range(columns.shape[1]):
            for q in range(columns.shape[2]):
                for e in range(columns.shape[3]):
                    if len(templates) > 0:
                        old, new = templates[before, k, j, q, e], templates[after, k, j, q, e]
                        columns[i, j, q, e] = ((1.0 - share) * old + share * new) * gamma(random, _NOISE) / _NOISE
                    else:
                        columns[i, j, q, e] = scale * gamma(random, shape)
