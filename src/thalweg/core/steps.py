"""Events rewritten so that each row is predicted right before it is learned.

Whatever learns from its own mistakes needs that: a layer of a cascade, a member that a detector watches.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

BLOCK = 2_048
"""So many events go together, at most. It changes nothing but the time."""


class Steps(NamedTuple):
    """A block of events, each row predicted right before it is learned."""

    rows: Ints
    """Which row each row of the block is; one that is predicted now and learned later is there twice."""
    events: Ints
    """What to do with the rows of the block."""
    asked: Ints
    """The rows of the block whose prediction was asked for."""


def unroll(events: Ints) -> Steps:
    """Let each row be predicted right before it is learned.

    >>> unroll(np.array([0, ~0, 1, 2, ~1]))
    Steps(rows=array([0, 1, 2, 1]), events=array([ 0, -1,  1,  2,  3, -4]), asked=array([0, 1, 2]))
    """
    learns = events < 0
    row = np.where(learns, ~events, events)
    just_predicted = np.zeros(len(events), dtype=np.bool_)
    just_predicted[1:] = learns[1:] & (events[:-1] == row[1:])
    own = ~just_predicted
    place = np.cumsum(own) - 1
    alone = learns & own
    at = np.arange(len(events)) + np.cumsum(alone)  # where each event goes: before one that is alone is a place free
    steps = np.empty(len(events) + int(alone.sum()), dtype=np.int64)
    steps[at] = np.where(learns, ~place, place)
    steps[at[alone] - 1] = place[alone]
    return Steps(row[own], steps, place[~learns])


def cut(events: Ints, y: Ints, known: int, most: int) -> int:
    """How many events to play until a class is new, ``most`` rows have been learned, or the block is full."""
    at = np.flatnonzero(events[:BLOCK] < 0)
    new = np.flatnonzero(y[~events[at]] >= known) if len(at) else at
    if len(at) and len(new):
        most = min(most, int(new[0]) + 1)
    return int(at[most - 1]) + 1 if most <= len(at) else min(BLOCK, len(events))
