"""Rows on their way through the layers.

To learn a row a layer needs what the layers before it said about the row just before they learned it. So a list of
events is rewritten until each row is predicted right before it is learned; then a whole block can go through the first
layer, then through the second with the first one's answers as further features, and so on. The result is the same as
row after row through all layers.
"""

from typing import NamedTuple

import numpy as np

from thalweg.core.classifier import Floats, Ints
from thalweg.core.schema import Feature, Schema

BLOCK = 2_048
"""So many events go through a layer before the next layer's turn. It changes nothing but the time."""
CLASSES = 2
"""Columns for so many classes are there from the start."""


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


def first_learned(events: Ints) -> int:
    """How many events there are before a row is learned."""
    learns = events < 0
    return int(learns.argmax()) if learns.any() else len(events)


def widened(columns: Ints, features: int, answers: int) -> Ints:
    """Add columns for features and answers that are new, after those that are there.

    Column c ≥ 0 holds feature c of the record, c < 0 the answer ~c of the layer before.
    """
    now = int((columns >= 0).sum())
    return np.concatenate([columns, np.arange(now, features), ~np.arange(len(columns) - now, answers)])


def stacked(columns: Ints, X: Floats, answers: Floats) -> Floats:
    """Put records and the answers of the layer before into the columns of a layer."""
    Z = np.empty((len(X), len(columns)))
    given = columns >= 0
    Z[:, given] = X[:, columns[given]]
    Z[:, ~given] = answers[:, ~columns[~given]]
    return Z


def layer_schema(columns: Ints, schema: Schema) -> Schema:
    """What a record looks like to a layer that has one before it."""
    taken = set(schema.names)
    features = []
    for c in columns.tolist():
        if c >= 0:
            features.append(schema.features[c])
            continue
        name = f"answer {~c}"
        while name in taken:
            name += "'"
        features.append(Feature(name))
    return Schema(tuple(features))
