"""Row by row through layers of forests: predict, decide whether the label is wanted, learn if it is.

``forest_jit.play`` is called by its address (``jit.native``), for one shard at a time. The shards stand in
the order in which they play: layer by layer, forest by forest.

places[s], the tables of shard s: those of its pool, of its team, and of the work that it does. A shard keeps its votes
and notes from the prediction of a row to its learning, so that no tree is asked twice.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.active.strategies_jit import Asking, step
from thalweg.jit.compile import hot, inlined
from thalweg.jit.native import call_at, note_tables, tables_at
from thalweg.learners.deep.outputs_jit import combine
from thalweg.pool.leaf_jit import Floats, Ints

H_LAYER, H_FOREST, H_BEGINS, H_ENDS, H_FIRST, H_SIZE, H_APART, HEADS = range(8)
"""Columns of heads: the layer and the forest of a shard; is it the first, the last of its forest; its first member,
members, and whether they play apart."""
C_ROW, C_SHARD, C_DONE, CURSOR = range(4)
"""Cells of cursor: the row that is predicted; the shard that plays, and how many steps it has done."""


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
    """layers × 2 × columns: two rows as each layer but the first sees them."""


@hot
def note_shard(places: Ints, s: int, pool: Any, team: Any, work: Any) -> None:
    """Write down where the tables of shard s are."""
    note_tables(places, s, 0, pool)
    note_tables(places, s, len(pool), team)
    note_tables(places, s, len(pool) + len(team), work)


@hot
def walk(
    shards: Any, layers: Any, X: Floats, y: Ints, w: Floats, asking: Any, why: NDArray[np.int8], out: Floats,
    known: int, cursor: Ints, now: Any,
) -> bool:  # fmt: skip
    """Go through the rows from the cursor on; False: the pool of the shard that the cursor names must grow first.

    A shard learns a row and predicts the next one in one call, so that its trees are fetched once. So there are two
    rows at a time, which take turns in ``now``: themselves, codes, weights; the events that learn the one and predict
    the other, predict, and learn; the code of the row predicted last; weights of the layers, what each says about that
    row, and all of them together.
    """
    shards, layers, asking = Shards(*shards), Layers(*layers), Asking(*asking)
    x, labels, weights, both, predicts, learns, label, says, P, mixed = now
    places, heads, answers = shards.places, shards.heads, layers.answers
    depth, forests, classes = answers.shape
    bundle, team, work = shards.like
    teams, works = len(bundle), len(bundle) + len(team)
    while True:
        r = cursor[C_ROW]
        turn, last = r % 2, r == len(X)
        pending = r > 0 and why[r - 1] > 0
        if last and not pending:
            return True
        if not last:
            for c in range(X.shape[1]):
                x[turn, c] = X[r, c]
            labels[turn], weights[turn] = y[r], w[r]
        events = learns[turn] if last else both[turn] if pending else predicts[turn]
        for s in range(cursor[C_SHARD], len(heads)):
            k, f = heads[s, H_LAYER], heads[s, H_FOREST]
            if k > 0 and f == 0 and heads[s, H_BEGINS] > 0 and not last:
                row_of_layer(layers, k, x, turn)
            space = tables_at(places, s, works, work)
            if cursor[C_DONE] == 0:
                for c in range(classes):
                    space[0][0, c] = 0.0
            done = call_at(
                shards.play,
                (
                    tables_at(places, s, 0, bundle), tables_at(places, s, teams, team),
                    layers.seen[k] if k > 0 else x, labels, weights, events, space, known, cursor[C_DONE],
                    heads[s, H_APART] > 0 or not pending, heads[s, H_FIRST],
                ),
            )  # fmt: skip
            if done < heads[s, H_SIZE] * len(events):
                cursor[C_SHARD], cursor[C_DONE] = s, done
                return False
            cursor[C_DONE] = 0
            for c in range(classes):
                answers[k, f, c] = (0.0 if heads[s, H_BEGINS] > 0 else answers[k, f, c]) + space[0][0, c]
            if heads[s, H_ENDS] > 0:
                share(answers[k, f], known)
        if last:
            return True
        for k in range(depth):
            for c in range(classes):
                P[k, 0, c] = 0.0
                for f in range(forests):
                    P[k, 0, c] += answers[k, f, c]
                P[k, 0, c] /= forests
        label[0] = y[r]
        combine(P, label, predicts[0], known, layers.rule, layers.losses, layers.duel, says, mixed)
        for c in range(known):
            out[r, c] = mixed[0, c]
        why[r] = step(asking.kind, asking.table, 0, asking.rules, asking.random, out, r, known)
        if why[r] > 0:
            combine(P, label, learns[1], known, layers.rule, layers.losses, layers.duel, says, mixed)
        cursor[C_ROW], cursor[C_SHARD] = r + 1, 0


@inlined
def share(total: Floats, known: int) -> None:
    """Turn summed votes into probabilities of the classes known; no votes: all classes alike."""
    whole = 0.0
    for c in range(known):
        whole += total[c]
    for c in range(len(total)):
        total[c] = 0.0 if c >= known else total[c] / whole if whole > 0.0 else 1.0 / known


@inlined
def row_of_layer(layers: Layers, k: int, x: Floats, turn: int) -> None:
    """Let layer k see the row whose turn it is, and what the layer before says about it."""
    forests = layers.answers.shape[1]
    for i in range(len(layers.columns)):
        c = layers.columns[i]
        if c >= 0:
            layers.seen[k, turn, i] = x[turn, c]
        elif layers.mean:
            said = 0.0
            for f in range(forests):
                said += layers.answers[k - 1, f, ~c]
            layers.seen[k, turn, i] = said / forests
        else:
            layers.seen[k, turn, i] = layers.answers[k - 1, ~c % forests, ~c // forests]
