"""Layers of forests that ask for labels, row by row in compiled code."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thalweg.active.strategies_jit import Asking
from thalweg.core.classifier import Floats, Ints
from thalweg.jit.native import CELLS, address_of, addresses
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests import walk_jit as jit

if TYPE_CHECKING:
    from thalweg.learners.forests.forest import Forest


def walk(
    layers: "Sequence[Sequence[Forest]]", columns: Ints, losses: Floats, duel: Floats, rule: int, mean: bool,
    X: Floats, y: Ints, w: Floats, asking: Asking, why: NDArray[np.int8], out: Floats, known: int, classes: int,
) -> int:  # fmt: skip
    """Predict, decide about and learn all rows; give how many there are, or 0 where nothing is compiled.

    The codes of all rows are known. classes: how many the forests answer for.
    """
    shards = [
        (k, j, forest, shard)
        for k, layer in enumerate(layers)
        for j, forest in enumerate(layer)
        for shard in forest._shards
    ]
    one = (
        np.empty((1, X.shape[1])), np.zeros(1, dtype=np.int64), np.zeros(1), np.array([0]), np.array([~0]),
        np.empty(len(layers)), np.zeros((len(layers), 1, classes)), np.zeros((1, classes)),
    )  # fmt: skip
    spaces = [forest._work(shard, (1, classes), known) for _, _, forest, shard in shards]
    _, _, _, first = shards[0]
    play = address_of(
        m.play, first.pool.bundle, first.team, one[0], one[1], one[2], one[3], spaces[0], known, 0, True, first.first
    )
    if not play:
        return 0
    heads = np.array([(k, j, s.first, len(s.members), forest._apart) for k, j, forest, s in shards], dtype=np.int64)
    tables = len(first.pool.bundle) + len(first.team) + len(spaces[0])
    places = np.zeros((len(shards), CELLS * tables), dtype=np.int64)
    for (_, _, _, shard), space, row in zip(shards, spaces, places, strict=True):
        addresses((*shard.pool.bundle, *shard.team, *space), row)
    answers = np.zeros((len(layers), len(layers[0]), classes))
    put_together = (columns, losses, duel, rule, mean, answers, np.empty((len(layers), 1, len(columns))))
    cursor = np.zeros(jit.CURSOR, dtype=np.int64)
    ready: Any = (play, places, heads, (first.pool.bundle, first.team, spaces[0]))
    while not jit.walk(ready, put_together, X, y, w, tuple(asking), why, out, known, cursor, one):
        s = int(cursor[jit.C_SHARD])
        k, _, forest, shard = shards[s]
        x = put_together[-1][k, 0] if k else one[0][0]
        shard.pool.make_room(x, 1 if forest._plan.codes else int(y[cursor[jit.C_ROW]]))
        spaces[s] = forest._work(shard, (1, classes), known)  # its notes are of trees that have moved
        addresses((*shard.pool.bundle, *shard.team, *spaces[s]), places[s])
    return len(X)

