"""One row through all shards of a forest, or of layers of forests, in one call.

As in ``walk_jit``, ``forest_jit.play`` is called by its address, for one shard at a time in the order in which they
play. The routine is given nothing but addresses and the row: to hand it the tables one by one takes longer than to
play. places[s], the tables of shard s: those of its pool, of its team, and of the work that it does; in the last row
those of ``Common``.
"""

from typing import NamedTuple

import numpy as np

from thalweg.jit.compile import hot
from thalweg.jit.native import call_at, reader_of
from thalweg.learners.deep.outputs_jit import combine
from thalweg.learners.forests.forest_jit import NOTE_ANSWERED
from thalweg.learners.forests.walk_jit import (
    H_APART,
    H_BEGINS,
    H_ENDS,
    H_FIRST,
    H_FOREST,
    H_LAYER,
    H_SIZE,
    Layers,
    row_of_layer,
    share,
)
from thalweg.pool.leaf_jit import Floats, Ints
from thalweg.pool.pool_jit import NODE

O_PLAY, O_SHARD, O_DONE, O_RULE, O_MEAN, O_CELLS = range(6)
"""Cells of ``state``: the address of ``forest_jit.play``; the shard that plays, and how many steps it has done; how
answers of layers become one (ALONE: there is one forest), see ``Layers``."""
ALONE = -1


class Common(NamedTuple):
    """What all shards share."""

    state: Ints
    heads: Ints
    """shards × HEADS, see walk_jit.py."""
    events: Ints
    """2: predict, learn."""
    labels: Ints
    """1: the code of the row."""
    weights: Floats
    """1: its weight."""
    columns: Ints
    losses: Floats
    duel: Floats
    answers: Floats
    seen: Floats
    """layers × 1 × columns. These five: see ``Layers``."""
    says: Floats
    """Weights of the layers."""
    P: Floats
    """layers × 1 × classes: what each layer says."""
    mixed: Floats
    """1 × classes: what they say together."""


_FLOATS = tuple(np.zeros((1,) * n) for n in range(4))
_INTS = tuple(np.zeros((1,) * n, dtype=np.int64) for n in range(3))
_POOL = (np.zeros(1, dtype=NODE), _FLOATS[2], _FLOATS[2], np.zeros((1, 1, 1), dtype=np.int32), _INTS[2],
         np.zeros(1, dtype=np.uint64), _INTS[1], _FLOATS[1])  # fmt: skip
_TEAM = (_FLOATS[2], np.zeros(1, dtype=np.uint64), _FLOATS[2], _FLOATS[2], *(4 * (_FLOATS[1],)))
_WORK = (_FLOATS[2], _FLOATS[1], _FLOATS[2], _FLOATS[2], _INTS[2])
_COMMON = (_INTS[1], _INTS[2], _INTS[1], _INTS[1], _FLOATS[1], _INTS[1], _FLOATS[1], _FLOATS[1], _FLOATS[3], _FLOATS[3],
           _FLOATS[1], _FLOATS[3], _FLOATS[2])  # fmt: skip
TEAMS, WORKS, TABLES = len(_POOL), len(_POOL) + len(_TEAM), len(_POOL) + len(_TEAM) + len(_WORK)
read_pool, read_team, read_work, read_common = (
    reader_of(*_POOL),
    reader_of(*_TEAM),
    reader_of(*_WORK),
    reader_of(*_COMMON),
)


@hot
def play_row(places: Ints, X: Floats, out: Floats, label: int, weight: float, learns: bool, known: int) -> int:
    """Predict the one row of X, or learn it; -1: done; else the shard whose pool must grow first.

    Layers predict a row that they learn, too: each needs what the one before says about it.
    """
    own = Common(*read_common(places, len(places) - 1, 0))
    state, heads, answers = own.state, own.heads, own.answers
    layers = Layers(own.columns, own.losses, own.duel, state[O_RULE], state[O_MEAN] > 0, answers, own.seen)
    depth, forests, classes = answers.shape
    alone = state[O_RULE] == ALONE
    events = own.events[1:] if alone and learns else own.events if learns else own.events[:1]
    own.labels[0], own.weights[0] = label, weight
    for s in range(state[O_SHARD], len(heads)):
        k, f = heads[s, H_LAYER], heads[s, H_FOREST]
        space = read_work(places, s, WORKS)
        sums, notes = space[0], space[4]
        if state[O_DONE] == 0:
            if k > 0 and f == 0 and heads[s, H_BEGINS] > 0:
                row_of_layer(layers, k, X, 0)
            for c in range(classes):
                sums[0, c] = 0.0
            for t in range(len(notes)):
                notes[t, NOTE_ANSWERED] = -1
        done = call_at(
            state[O_PLAY],
            (
                read_pool(places, s, 0), read_team(places, s, TEAMS), own.seen[k] if k > 0 else X, own.labels,
                own.weights, events, space, known, state[O_DONE], heads[s, H_APART] > 0 or not learns,
                heads[s, H_FIRST],
            ),
        )  # fmt: skip
        if done < heads[s, H_SIZE] * len(events):
            state[O_SHARD], state[O_DONE] = s, done
            return s
        state[O_DONE] = 0
        if alone and learns:
            continue
        for c in range(classes):
            answers[k, f, c] = (0.0 if heads[s, H_BEGINS] > 0 else answers[k, f, c]) + sums[0, c]
        if heads[s, H_ENDS] > 0:
            share(answers[k, f], known)
    state[O_SHARD] = 0
    if alone:
        for c in range(0 if learns else known):
            out[0, c] = answers[0, 0, c]
        return -1
    P = own.P
    for k in range(depth):
        for c in range(classes):
            P[k, 0, c] = 0.0
            for f in range(forests):
                P[k, 0, c] += answers[k, f, c]
            P[k, 0, c] /= forests
    combine(P, own.labels, events[len(events) - 1 :], known, state[O_RULE], own.losses, own.duel, own.says, own.mixed)
    for c in range(0 if learns else known):
        out[0, c] = own.mixed[0, c]
    return -1
