"""One row for a lone plain tree, by addresses: to hand a routine fourteen tables takes longer than to play a row.

places[0], the tables: those of the pool, then of ``Row``; see ``thalweg.jit.native``.
"""

from typing import NamedTuple

import numpy as np

from thalweg.jit.compile import hot
from thalweg.jit.native import call_at, reader_of
from thalweg.pool.leaf_jit import Floats, Ints
from thalweg.pool.pool_jit import NODE


class Row(NamedTuple):
    """What a call for one row works in."""

    play: Ints
    """1: the address of the routine that plays the tree."""
    events: Ints
    """2: predict, learn."""
    labels: Ints
    """1: the code of the row."""
    weights: Floats
    """1: its weight."""
    work: Floats
    """See ``Pool.new_work``."""


_INT, _FLOAT = np.zeros(1, dtype=np.int64), np.zeros(1)
POOL = (np.zeros(1, dtype=NODE), np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1, 1), dtype=np.int32),
        np.zeros((1, 1), dtype=np.int64), np.zeros(1, dtype=np.uint64), _INT, _FLOAT)  # fmt: skip
"""Tables of the types that those of a pool have."""
_ROW = (_INT, _INT, _INT, _FLOAT, _FLOAT)
TABLES = len(POOL) + len(_ROW)
ROW = len(POOL)
read_pool, read_row = reader_of(*POOL), reader_of(*_ROW)


@hot
def play_row(places: Ints, X: Floats, out: Floats, label: int, weight: float, learns: bool, known: int) -> bool:
    """Predict the one row of X, or learn it; False: a table must grow first."""
    own, pool = Row(*read_row(places, 0, ROW)), read_pool(places, 0, 0)
    own.labels[0], own.weights[0] = label, weight
    events = own.events[1:] if learns else own.events[:1]
    own.work[len(own.work) - 1 - (pool[1].shape[1] - 1)] = -1.0  # no answer stands there
    done = call_at(own.play[0], (pool, (), X, own.labels, own.weights, events, out, known, own.work))
    return bool(done == 1)
