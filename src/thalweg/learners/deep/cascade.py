"""Rows on their way through the layers.

To learn a row a layer needs what the layers before it said about the row just before they learned it. So a list of
events is rewritten until each row is predicted right before it is learned; then a whole block can go through the first
layer, then through the second with the first one's answers as further features, and so on. The result is the same as
row after row through all layers.
"""

import numpy as np

from thalweg.core.classifier import Floats, Ints
from thalweg.core.schema import Feature, Schema

CLASSES = 2
"""Columns for so many classes are there from the start."""


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
