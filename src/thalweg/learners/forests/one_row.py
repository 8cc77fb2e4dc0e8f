"""One row for a forest, or for layers of forests, in one compiled call."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, final

import numpy as np

from thalweg.core.classifier import Floats, Ints
from thalweg.jit.native import CELLS, address_of, note
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests import one_row_jit as jit
from thalweg.learners.forests.walk_jit import HEADS

if TYPE_CHECKING:
    from thalweg.learners.forests.forest import Forest

Cascade = tuple[Ints, Floats, Floats, int, bool]
"""Columns, losses, duel, rule and mean of layers: see ``walk_jit.Layers``."""
ALONE: Cascade = np.zeros(0, dtype=np.int64), np.zeros(1), np.array([1.0, 0.0, 0.0, 0.0]), jit.ALONE, True


@final
class OneRow:
    """What one call at a time works in; threads that predict at once have one each.

    Pools that have grown are found again. Whoever keeps it throws it away when anything else is another.
    """

    __slots__ = ("_common", "_places", "_pools", "_shards", "_spaces", "_state", "_tables", "classes")

    def __init__(self, layers: "Sequence[Sequence[Forest]]", cascade: Cascade, classes: int) -> None:
        columns, losses, duel, rule, mean = cascade
        self.classes = classes
        self._shards = [
            (k, j, forest, shard)
            for k, layer in enumerate(layers)
            for j, forest in enumerate(layer)
            for shard in forest._shards
        ]
        heads = np.array(
            [
                (k, j, s is forest._shards[0], s is forest._shards[-1], s.first, len(s.members), forest._apart)
                for k, j, forest, s in self._shards
            ],
            dtype=np.int64,
        ).reshape(-1, HEADS)
        self._state = np.zeros(jit.O_CELLS, dtype=np.int64)
        self._state[jit.O_RULE], self._state[jit.O_MEAN] = rule, mean
        self._common = jit.Common(
            state=self._state, heads=heads, events=np.array([0, ~0]), labels=np.zeros(1, dtype=np.int64),
            weights=np.zeros(1), columns=columns, losses=losses, duel=duel,
            answers=np.zeros((len(layers), len(layers[0]), classes)), seen=np.empty((len(layers), 1, len(columns))),
            says=np.empty(len(layers)), P=np.zeros((len(layers), 1, classes)), mixed=np.zeros((1, classes)),
        )  # fmt: skip
        self._places = np.zeros((len(self._shards) + 1, CELLS * jit.TABLES), dtype=np.int64)
        self._pools = [s.pool for _, _, _, s in self._shards]
        self._tables = [pool.bundle for pool in self._pools]
        self._spaces = [forest._work(s, (1, classes), classes) for _, _, forest, s in self._shards]

    @classmethod
    def of(cls, layers: "Sequence[Sequence[Forest]]", cascade: Cascade, classes: int) -> Self | None:
        """Make one; None: nothing is compiled, or tables lie otherwise than usual."""
        made = cls(layers, cascade, classes)
        _, _, _, first = made._shards[0]
        own, row = made._common, np.empty((1, 1))
        made._state[jit.O_PLAY] = address_of(
            m.play, first.pool.bundle, first.team, row, own.labels, own.weights, own.events, made._spaces[0], 1, 0,
            True, first.first,
        )  # fmt: skip
        fit = [made._note(s) for s in range(len(made._shards))]
        return made if made._state[jit.O_PLAY] and note(made._places, len(fit), 0, own) and all(fit) else None

    def _note(self, s: int) -> bool:
        """Write down where the tables of shard s are."""
        _, _, _, shard = self._shards[s]
        return note(self._places, s, 0, (*self._tables[s], *shard.team, *self._spaces[s]))

    def _find_again(self, s: int) -> None:
        """Take the tables of the pool of shard s as they are now."""
        _, _, forest, shard = self._shards[s]
        self._tables[s] = shard.pool.bundle
        self._spaces[s] = self._spaces[s][:2] + forest._work(shard, (1, self.classes), self.classes)[2:]
        self._note(s)

    def play(self, X: Floats, y: Ints, w: Floats, learns: bool, out: Floats, known: int) -> bool:
        """Predict the one row of X, or learn it; False: it lies otherwise than usual, and nothing was done."""
        if not X.flags.carray:
            return False
        for pool, tables in zip(self._pools, self._tables, strict=True):
            if pool.bundle is not tables:
                for s in range(len(self._pools)):
                    self._find_again(s)
                break
        label, weight = (y.item(0), w.item(0)) if learns else (0, 0.0)
        s = jit.play_row(self._places, X, out, label, weight, learns, known)
        while s >= 0:
            k, _, forest, shard = self._shards[s]
            shard.pool.make_room(self._common.seen[k, 0] if k else X[0], 1 if forest._plan.codes else label)
            self._find_again(s)
            s = jit.play_row(self._places, X, out, label, weight, learns, known)
        return True
