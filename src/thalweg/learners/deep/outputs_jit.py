"""How the answers of the layers become one: the votes of layers, and what they are weighed by."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.compile import hot, inlined, inlined_entry

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LAST, MEAN, BEST, WEIGHTED = 0, 1, 2, 3
"""Whose answer counts: the last layer's; all alike; the one with the least loss; all, weighed by their losses."""
FADE = 0.999
_ETA = 0.2
VOTING, ROWS, GAINED, LOST = 0, 1, 2, 3
TRIAL = 1_000
"""Rows after which a layer on trial is judged."""


class Cascade(NamedTuple):
    """What a deep forest has besides its forests."""

    columns: Annotated[Ints, table("width", least="-width", most="d - 1")]
    """Of a layer that has one before it: c ≥ 0 is feature c of the record, c < 0 the answer ~c of the layer before."""
    losses: Annotated[Floats, table("layers", least=0, most=1.0 / (1.0 - FADE))]
    """Errors of each layer, faded."""
    duel: Annotated[
        Floats,
        table(
            4,
            cells={
                VOTING: span("fewest", "greatest", whole=True),
                ROWS: span(0, TRIAL - 1, whole=True, name="rows"),
                GAINED: span(0, "rows", whole=True),
                LOST: span(0, "rows", whole=True),
            },
        ),
    ]
    """VOTING: layers that vote, one more may be on trial. Since it was last judged: ROWS learned; rows that it alone
    got right (GAINED), and the last that votes alone (LOST)."""


@hot
def combine(P: Floats, y: Ints, events: Ints, known: int, rule: int, losses: Floats, duel: Floats, weights: Floats,
            out: Floats) -> None:  # fmt: skip
    """Write to out[e] what the layers say together about row e; where a row is learned note who was right.

    P: layers × rows × classes, what each layer says.
    """
    voting = int(duel[VOTING])
    for e in events:
        if e >= 0:
            weigh(losses, voting, rule, weights)
            for c in range(known):
                out[e, c] = 0.0
                for k in range(voting):
                    out[e, c] += weights[k] * P[k, e, c]
            continue
        r = ~e
        known = max(known, y[r] + 1)
        last, trial = False, False
        for k in range(len(P)):
            right = is_right(P, k, r, y[r])
            losses[k] = FADE * losses[k] + (0.0 if right else 1.0)
            if k == voting - 1:
                last = right
            trial = right
        if voting < len(P):
            duel[ROWS] += 1.0
            if trial and not last:
                duel[GAINED] += 1.0
            if last and not trial:
                duel[LOST] += 1.0


@inlined_entry
def weigh(losses: Floats, voting: int, rule: int, weights: Floats) -> None:
    """Fill ``weights``, which sum to 1, with the say of each layer that votes.

    Luong, Nguyen, Liew 2020 take the last layer's answer; WEIGHTED is ours: exp(-η loss), losses faded row by row.
    """
    best = 0
    for k in range(1, voting):
        if losses[k] < losses[best]:
            best = k
    whole = 0.0
    for k in range(voting):
        if rule == LAST:
            weights[k] = 1.0 if k == voting - 1 else 0.0
        elif rule == BEST:
            weights[k] = 1.0 if k == best else 0.0
        elif rule == MEAN:
            weights[k] = 1.0
        else:
            weights[k] = math.exp(_ETA * (losses[best] - losses[k]))
        whole += weights[k]
    for k in range(voting):
        weights[k] /= whole


@inlined
def is_right(P: Floats, k: int, r: int, y: int) -> bool:
    """Is y the most probable class of row r to layer k? (The lowest code among equals counts.)"""
    best = 0
    for c in range(1, P.shape[2]):
        if P[k, r, c] > P[k, r, best]:
            best = c
    return best == y and P[k, r, best] > 0.0
