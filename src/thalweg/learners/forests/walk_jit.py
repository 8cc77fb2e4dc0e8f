"""Row by row through layers of forests: predict, decide whether the label is wanted, learn if it is.

``forest_jit.play`` is called by its address (``jit.native``), for one event of one shard at a time. The shards stand in
the order in which they play: layer by layer, forest by forest.

places[s], the tables of shard s: those of its pool, of its team, and of the work that it does. A shard keeps its votes
and notes from the prediction of a row to its learning, so that no tree is asked twice.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.active.strategies_jit import Asking, step
from thalweg.jit.compile import hot, inlined
from thalweg.jit.native import call_at, tables_at
from thalweg.learners.deep.outputs_jit import combine
from thalweg.pool.leaf_jit import Floats, Ints

H_LAYER, H_FOREST, H_FIRST, H_SIZE, H_APART, HEADS = range(6)
"""Columns of heads: the layer and the forest of a shard, its first member, members, and whether they play apart."""
C_ROW, C_LEARNS, C_SHARD, C_DONE, CURSOR = range(5)
"""Cells of cursor: the row; 1 where it is being learned; then by which shard, and how many members have."""


class Shards(NamedTuple):
    """What plays."""

    play: int
    """The address of ``forest_jit.play``."""
    places: Ints
    heads: Ints
    """shards × HEADS."""
    like: tuple[Any, Any, Any]
    """The tables of a shard, for their types: pool, team, work."""


class Layers(NamedTuple):
    """How layers are put together; a forest alone is one layer."""

    columns: Ints
    """Of a layer that has one before it, see ``deep.cascade``."""
    losses: Floats
    duel: Floats
    """See ``outputs_jit``."""
    rule: int
    mean: bool
    """Does the next layer see the mean of the forests, or each of them?"""
    answers: Floats
    """layers × forests × classes: what each says about the present row."""
    seen: Floats
    """layers × 1 × columns: the present row as each layer but the first sees it."""


@hot
def walk(
    shards: Any, layers: Any, X: Floats, y: Ints, w: Floats, asking: Any, why: NDArray[np.int8], out: Floats,
    known: int, cursor: Ints, one: Any,
) -> bool:  # fmt: skip
    """Go through the rows from the cursor on; False: the pool of the shard that the cursor names must grow first.

    one: tables for the present row: itself, its code, its weight, an event that predicts and one that learns, weights
    of the layers, what each layer says, and all of them together.
    """
    shards, layers, asking = Shards(*shards), Layers(*layers), Asking(*asking)
    x, label, weight, predicts, learns, says, P, mixed = one
    places, heads, answers = shards.places, shards.heads, layers.answers
    depth, forests, classes = answers.shape
    bundle, team, work = shards.like
    teams, works = len(bundle), len(bundle) + len(team)
    while cursor[C_ROW] < len(X):
        r = cursor[C_ROW]
        if cursor[C_LEARNS] == 0:
            for c in range(X.shape[1]):
                x[0, c] = X[r, c]
            label[0], weight[0] = y[r], w[r]
            s = 0
            for k in range(depth):
                if k > 0:
                    row_of_layer(layers, k, x)
                Z = layers.seen[k] if k > 0 else x
                for f in range(forests):
                    for c in range(classes):
                        answers[k, f, c] = 0.0
                    while s < len(heads) and heads[s, H_LAYER] == k and heads[s, H_FOREST] == f:
                        space = tables_at(places, s, works, work)
                        for c in range(classes):
                            space[0][0, c] = 0.0
                        call_at(
                            shards.play,
                            (
                                tables_at(places, s, 0, bundle), tables_at(places, s, teams, team), Z, label, weight,
                                predicts, space, known, 0, True, heads[s, H_FIRST],
                            ),
                        )  # fmt: skip
                        for c in range(classes):
                            answers[k, f, c] += space[0][0, c]
                        s += 1
                    share(answers[k, f], known)
                for c in range(classes):
                    P[k, 0, c] = 0.0
                    for f in range(forests):
                        P[k, 0, c] += answers[k, f, c]
                    P[k, 0, c] /= forests
            combine(P, label, predicts, known, layers.rule, layers.losses, layers.duel, says, mixed)
            for c in range(known):
                out[r, c] = mixed[0, c]
            why[r] = step(asking.kind, asking.table, 0, asking.rules, asking.random, out, r, known)
            cursor[C_LEARNS], cursor[C_SHARD], cursor[C_DONE] = 1, 0, 0
        if why[r] > 0:
            for s in range(cursor[C_SHARD], len(heads)):
                k = heads[s, H_LAYER]
                cursor[C_SHARD] = s
                cursor[C_DONE] = call_at(
                    shards.play,
                    (
                        tables_at(places, s, 0, bundle), tables_at(places, s, teams, team),
                        layers.seen[k] if k > 0 else x, label, weight, learns, tables_at(places, s, works, work),
                        known, cursor[C_DONE], heads[s, H_APART] > 0, heads[s, H_FIRST],
                    ),
                )  # fmt: skip
                if cursor[C_DONE] < heads[s, H_SIZE]:
                    return False
                cursor[C_DONE] = 0
            combine(P, label, learns, known, layers.rule, layers.losses, layers.duel, says, mixed)
        cursor[C_ROW] += 1
        cursor[C_LEARNS] = 0
    return True


@inlined
def share(total: Floats, known: int) -> None:
    """Turn summed votes into probabilities of the classes known; no votes: all classes alike."""
    whole = 0.0
    for c in range(known):
        whole += total[c]
    for c in range(len(total)):
        total[c] = 0.0 if c >= known else total[c] / whole if whole > 0.0 else 1.0 / known


@inlined
def row_of_layer(layers: Layers, k: int, x: Floats) -> None:
    """Let layer k see the row, and what the layer before says about it."""
    forests = layers.answers.shape[1]
    for i in range(len(layers.columns)):
        c = layers.columns[i]
        if c >= 0:
            layers.seen[k, 0, i] = x[0, c]
        elif layers.mean:
            said = 0.0
            for f in range(forests):
                said += layers.answers[k - 1, f, ~c]
            layers.seen[k, 0, i] = said / forests
        else:
            layers.seen[k, 0, i] = layers.answers[k - 1, ~c % forests, ~c // forests]
