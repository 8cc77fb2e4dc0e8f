"""One row for a lone plain tree, in one call that is handed little."""

from typing import final

import numpy as np

from thalweg.core.classifier import Floats, Ints
from thalweg.jit.native import CELLS, address_of, note
from thalweg.pool import tree_row_jit as jit
from thalweg.pool.pool import Pool, Routine


@final
class TreeRow:
    """What one call at a time works in; threads that predict at once have one each."""

    __slots__ = ("_bundle", "_fit", "_places", "_pool", "_row")

    def __init__(self, pool: Pool, routine: Routine) -> None:
        self._pool, self._places = pool, np.zeros((1, CELLS * jit.TABLES), dtype=np.int64)
        label, weight, table = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros((1, 1))
        events, work = np.array([0, ~0]), pool.new_work()
        play = address_of(routine, pool.bundle, (), table, label, weight, events, table, 1, work)
        self._row = jit.Row(np.array([play]), events, label, weight, work)
        self._find_again()

    def _find_again(self) -> None:
        """Take the tables of the pool as they are now."""
        self._bundle, self._row = self._pool.bundle, self._row._replace(work=self._pool.new_work())
        self._fit = bool(self._row.play[0]) and note(self._places, 0, 0, (*self._bundle, *self._row))

    def play(self, X: Floats, y: Ints, w: Floats, learns: bool, out: Floats, known: int) -> bool:
        """Predict the one row of X, or learn it; False: a table lies otherwise than usual, and nothing was done."""
        if self._pool.bundle is not self._bundle:
            self._find_again()
        if not self._fit or not X.flags.carray:
            return False
        label, weight = (y.item(0), w.item(0)) if learns else (0, 0.0)
        while not jit.play_row(self._places, X, out, label, weight, learns, known):
            self._pool.make_room(X[0], label)
            self._find_again()
        return True
