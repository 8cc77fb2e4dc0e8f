"""One row for all members of an ensemble of neighbours behind projections, in one compiled call."""

from collections.abc import Sequence
from typing import final

import numpy as np

from thalweg.core.classifier import Floats, Ints
from thalweg.core.protocols import State
from thalweg.detectors.detector import Detector
from thalweg.jit.native import CELLS, note
from thalweg.learners.compressed import csb_knn_jit as jit
from thalweg.learners.windows.dense_window import DenseWindow
from thalweg.projections.projection import Linear


@final
class OneRow:
    """What one call at a time works in; threads that predict at once have one each.

    Windows that have grown are found again. Whoever keeps it throws it away when anything else is another.
    """

    __slots__ = ("_arrays", "_common", "_fit", "_kept", "_places", "_windows", "_work", "classes")

    def __init__(
        self, windows: Sequence[DenseWindow], projections: Sequence[Linear], bag: State, kind: Detector | None,
        often: bool, classes: int,
    ) -> None:  # fmt: skip
        """Put the tables together. often: does a neighbour vote as often as it was drawn?"""
        size, first, columns = len(windows), windows[0], projections[0].columns
        how = np.zeros(jit.O_CELLS, dtype=np.int64)
        how[jit.O_DETECTOR], how[jit.O_VOTES], how[jit.O_WINDOW] = (
            -1 if kind is None else kind.code,
            often,
            first.window,
        )
        how[jit.O_ONES], how[jit.O_PLAIN] = projections[0].ones, not columns.widths.any()
        self.classes, self._windows, self._kept = classes, windows, [projection.kept for projection in projections]
        self._common = jit.Common(
            how=how, rules=first.rules, first=columns.first, widths=columns.widths, dice=bag["dice"],
            detectors=bag["detectors"], detector_rules=np.zeros(1) if kind is None else kind.rules(),
            answers=np.zeros((size, max(1, classes))), row=np.zeros((1, projections[0].dimension)),
        )  # fmt: skip
        self._places = np.zeros((size + 1, CELLS * jit.TABLES), dtype=np.int64)
        self._find_again()

    def _find_again(self) -> None:
        """Take the tables of the windows as they are now."""
        self._arrays = [window.arrays for window in self._windows]
        widest = max(self._windows, key=lambda window: window.room)
        near = (np.zeros(widest.room, dtype=kind) for kind in (np.int64, np.int64, np.float64, np.float64))
        self._work = (*self._common, *widest.scratch(1, 0), *near)
        fit = [
            note(self._places, i, 0, (*window, *kept))
            for i, (window, kept) in enumerate(zip(self._arrays, self._kept, strict=True))
        ]
        self._fit = note(self._places, len(fit), 0, self._work) and all(fit)

    def play(self, X: Floats, y: Ints, w: Floats, rate: float, learns: bool, out: Floats, known: int) -> int | None:
        """Predict the one row of X, or learn it; give the member to replace, or -1.

        None: a table lies otherwise than usual, and nothing was done.
        """
        if not self._fit or not X.flags.carray:
            return None
        for window, arrays in zip(self._windows, self._arrays, strict=True):
            if window.arrays is not arrays:
                self._find_again()
                break
        label, weight = (y.item(0), w.item(0)) if learns else (0, 0.0)
        failing = jit.play_row(self._places, X, out, label, weight, rate, learns, known)
        if failing != jit.CROWDED:
            return failing
        for window in self._windows:
            window.make_room(window.n_rows + 1)
        self._find_again()
        return jit.play_row(self._places, X, out, label, weight, rate, learns, known)
