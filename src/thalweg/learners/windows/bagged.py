"""Bagged nearest neighbours whose members share one window."""

from typing import final

import numpy as np

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check
from thalweg.core.fields import whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.detectors.by_name import make_detector
from thalweg.jit.compile import plain
from thalweg.learners.windows import bagged_jit as jit
from thalweg.learners.windows import replaced
from thalweg.learners.windows.dense_window import DenseWindow
from thalweg.learners.windows.neighbours import Bagging, Neighbours

MOST = 64
"""Members: a bit each."""


@final
class BaggedKNN(replaced.Replacing, Bagging, Neighbours, Classifier):
    """Leveraging bagging over nearest neighbours: a member leaves out what it does not draw, the worst starts anew.

    All members look into one window of the last rows, which is measured and scaled once for all; each votes with the
    rows that it has drawn. With the usual rate they differ in one row of 400, so this is a window that can forget.

    References
    ----------
    A. Bifet, G. Holmes, B. Pfahringer, "Leveraging bagging for evolving data streams", ECML PKDD 2010.

    Examples
    --------
    >>> from thalweg import SEA, BaggedKNN
    >>> chunk = SEA(seed=1).read(5_000)
    >>> learner = BaggedKNN(k=11)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    missing = "native"
    bounded = True

    size: int = whole(default=10, doc="Number of members.", least=1, most=MOST)
    seed: int = whole(default=1, doc="For the draws.", least=0)

    __slots__ = ("_bag", "_code", "_detector_rules", "_window")

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        window, detector = DenseWindow(self, schema), make_detector("drift", self.drift)
        members = replaced.new_members(int(self.size), self.seed, detector)
        self._take(window, {"held": np.zeros(window.room, dtype=np.uint64), **members})

    def _take(self, window: DenseWindow, bag: State) -> None:
        detector = make_detector("drift", self.drift)
        self._code, self._detector_rules = (0, np.zeros(0)) if detector is None else (detector.code, detector.rules())
        self._window, self._bag = window, bag

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        window, bag = self._window, self._bag
        learned = int((events < 0).sum())
        window.make_room(window.n_rows + learned)
        room = window.room
        if room > len(bag["held"]):
            bag["held"] = np.concatenate([bag["held"], np.zeros(room - len(bag["held"]), dtype=np.uint64)])
        scratch = window.scratch(len(events), learned)
        scratch = scratch._replace(moments=np.empty((len(scratch.moments), jit.Q_BAGGED_COLUMNS), dtype=np.int64))
        members = jit.Bag(
            **bag, rules=self._detector_rules, drawn=np.zeros(len(scratch.slots), dtype=np.uint64),
            near=np.empty(room, dtype=np.int64), mine=np.empty(room), places=np.empty(room, dtype=np.int64),
            heap=np.empty(min(int(self.k), room) + jit.SPARE),
            answers=np.empty((int(self.size), max(1, out.shape[1]))),
        )  # fmt: skip
        jit.play(
            plain(window.arrays), plain(scratch), plain(members), self._code, float(self.rate), window.rules,
            window.as_kept(X), y, w, events, out, known,
        )  # fmt: skip

    def _extend(self, schema: Schema) -> None:
        self._window.extend(schema)

    def _tables(self) -> State:
        return self._window.tables() | self._bag

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        window, size, detector = DenseWindow(self, schema), int(self.size), make_detector("drift", self.drift)
        window.restore(tables, classes)
        check(jit.Bag, tables, room=window.room, everyone=2**size - 1)
        self._take(window, {"held": tables["held"], **replaced.adopt_members(tables, size, detector)})
