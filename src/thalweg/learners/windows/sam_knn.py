"""Nearest neighbours with a short-term and a long-term memory that adjust themselves (SAM-kNN)."""

from typing import Any, Literal, final

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.random import seeded
from thalweg.learners.windows import sam_memory_jit as o
from thalweg.learners.windows.sam_knn_jit import play

_TABLES = ("rows", "codes", "marks", "reach", "levels", "head", "spans", "seeds")
_WHO: tuple[Literal["short", "long", "both"], ...] = ("short", "long", "both")
_VOTES = o.Desk._fields.index("votes")
_MOST_CLASSES = 1_000_000
_ROOM = 2048  # columns to begin with


@final
class SamKNN(Classifier):
    """Nearest neighbours in two memories: the rows of the present concept, and what is still true of the past.

    The short-term memory is cut to its newer half, quarter, … as soon as that would have made fewer errors. What it
    loses goes to the long-term memory, unless rows that stay contradict it. That one is cleaned by every new row in the
    same way, and clustered to half its size when there is no more room. Whichever was right most often of late answers:
    the short-term memory, the long-term memory, or both together.

    k: neighbours that vote. window: rows in both memories together, at most.
    ltm_share: the share of them that the long-term memory may have; it is compressed when both are full.
    min_stm: the short-term memory is halved only while it has twice as many rows.
    recalculate: False: the errors of shorter short-term memories are followed row by row, and exact ones decide where
    one seems better; True: exact ones always (up to three times slower).
    weights: "distance": a neighbour's vote is 1 / distance (at least 1e-9); "uniform": 1.
    scale: None: features should have like ranges; "online": numbers are divided by their standard deviation in all rows
    so far (what is kept is divided anew when that has changed by a tenth).
    seed: for the first centres of a clustering.

    Distances are Euclidean. Nominal values differ by 1 or not at all; a centre has the mean of numbers and the most
    frequent nominal value. Among rows that are equally near the newest comes first. Weights of rows are not looked at,
    but a row of weight 0 is not learned. A feature that joins is 0 (the first value) in the rows of before. Time for a
    row: proportional to window × features. Memory: at most (1.13 × window + 33) × (features + 3 + log2(window /
    min_stm)) × 8 bytes; there is no matrix of distances.

    Reference: V. Losing, B. Hammer, H. Wersing, "KNN classifier with self adjusting memory for heterogeneous concept
    drift", ICDM 2016.

    >>> from thalweg import RandomRBF
    >>> chunk = RandomRBF(speed=0.001, seed=1).read(3_000)
    >>> learner = SamKNN(window=1000)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    >>> learner.stm_size + learner.ltm_size <= 1000, learner.answers in ("short", "long", "both")
    (True, True)
    """

    bounded = True

    __slots__ = ("_classes", "_desk", "_memory", "_nominal", "_rules")

    def __init__(
        self,
        *,
        k: int = 5,
        window: int = 5000,
        ltm_share: float = 0.4,
        min_stm: int = 50,
        recalculate: bool = False,
        weights: Literal["distance", "uniform"] = "distance",
        scale: Literal["online"] | None = None,
        seed: int = 1,
    ) -> None:
        params.whole("k", k, least=1, most=100_000)
        params.whole("window", window, least=1, most=100_000_000)
        params.number("ltm_share", ltm_share, least=0, below=1)
        params.whole("min_stm", min_stm, least=1, most=100_000_000)
        params.flag("recalculate", recalculate)
        params.choice("weights", weights, ("distance", "uniform"))
        params.choice("scale", scale, ("online", None))
        params.whole("seed", seed, least=0)
        self.k = k
        self.window = window
        self.ltm_share = ltm_share
        self.min_stm = min_stm
        self.recalculate = recalculate
        self.weights = weights
        self.scale = scale
        self.seed = seed

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def stm_size(self) -> int:
        """Rows in the short-term memory."""
        return int(self._memory["head"][o.SIZE]) if self._started else 0

    @property
    def ltm_size(self) -> int:
        """Rows in the long-term memory: as they came, or centres of them."""
        return int(self._memory["head"][o.LONG]) if self._started else 0

    @property
    def answers(self) -> Literal["short", "long", "both"]:
        """The memory that answers now."""
        return _WHO[o.winner(self._memory["head"])] if self._started else "short"

    @property
    def right(self) -> dict[str, int]:
        """How many of the rows of the short-term memory each memory had right before they were learned."""
        counts = self._memory["head"][o.RIGHT : o.RIGHT + 3].tolist() if self._started else (0, 0, 0)
        return dict(zip(_WHO, counts, strict=True))

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._take(self._blank(schema.n_features, min(_ROOM, self._full)), schema)

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        routine: Any = play
        done, learning, classes = 0, bool((events < 0).any()), max(out.shape[1], self._classes)
        while True:
            tables = [self._memory[name] for name in _TABLES]
            desk = self._desk_for(classes, learning=learning)
            events = events[done:]
            done = routine(*tables, self._nominal, *desk, self._rules, X, y, events, out, known, self._full)
            if done == len(events):
                return
            known = max(known, int(y[~events[:done][events[:done] < 0]].max(initial=-1)) + 1)
            self._grow()

    def _extend(self, schema: Schema) -> None:
        rows = self._memory["rows"]
        more = np.zeros((schema.n_features - len(rows), rows.shape[1]))
        spans = np.concatenate([self._memory["spans"], _new_spans(len(more))])
        self._take(self._memory | {"rows": np.concatenate([rows, more]), "spans": spans}, schema)

    def _tables(self) -> State:
        return dict(self._memory)

    def _adopt(self, tables: State, schema: Schema) -> None:
        memory = {name: tables[name] for name in _TABLES}
        self._check(memory, schema)
        self._take(memory, schema)

    # -- inside -------------------------------------------------------------------------------------------------------

    @property
    def _full(self) -> int:
        """Columns of a table that need not grow any more: some are free, so that rows seldom have to move."""
        return self.window + 1 + max(32, self.window // 8)

    def _take(self, memory: State, schema: Schema) -> None:
        self._desk: tuple[Any, ...] | None
        self._memory, self._rules, self._desk = memory, self._make_rules(), None
        self._classes = int(memory["codes"].max(initial=-1)) + 1
        self._nominal = np.array([f.nominal for f in schema.features], dtype=np.int64)

    def _make_rules(self) -> Ints:
        rules = np.zeros(o.RULES, dtype=np.int64)
        rules[o.K], rules[o.WINDOW], rules[o.LEAST_SHORT] = self.k, self.window, self.min_stm
        rules[o.MOST_LONG] = int(self.ltm_share * self.window + 1e-9)
        rules[o.RECALCULATE], rules[o.BY_DISTANCE] = self.recalculate, self.weights == "distance"
        rules[o.SCALED] = self.scale == "online"
        return rules

    def _blank(self, d: int, columns: int) -> State:
        levels = int(o.candidates(self.window, self._make_rules()))
        return {
            "rows": np.zeros((d, columns)), "codes": np.zeros(columns, dtype=np.int64),
            "marks": np.zeros(columns, dtype=np.int64), "reach": np.zeros((levels, columns), dtype=np.int64),
            "levels": np.zeros((levels, 2), dtype=np.int64), "head": np.zeros(o.HEAD, dtype=np.int64),
            "spans": _new_spans(d), "seeds": seeded(self.seed),
        }  # fmt: skip

    def _grow(self) -> None:
        """Double the columns."""
        old = self._memory
        columns = len(old["codes"])
        new = self._blank(len(old["rows"]), min(2 * columns, self._full))
        for name in ("rows", "codes", "marks", "reach"):
            new[name][..., :columns] = old[name]
            old[name] = new[name]
        self._desk = None

    def _desk_for(self, classes: int, *, learning: bool) -> tuple[Any, ...]:
        """Make room to work (Desk, and what Bench adds to it); it is kept by a learner that learns."""
        if learning and self._desk is not None and len(self._desk[_VOTES]) == classes:
            return self._desk
        d, columns = self._memory["rows"].shape
        k, levels, work = min(self.k, columns), len(self._memory["levels"]), columns if learning else 0
        desk = (
            np.empty(d), np.empty(d), np.empty(columns), np.empty((3, k)), np.empty((3, k), dtype=np.int64),
            np.empty(3, dtype=np.int64), np.empty(3, dtype=np.int64), np.empty(levels, dtype=np.int64),
            np.empty(levels, dtype=np.int64), np.zeros(classes),
            np.empty(classes + 1, dtype=np.int64), np.empty((d, work)), np.empty((d, work)),
            *(np.empty(work) for _ in range(3)), *(np.empty(work, dtype=np.int64) for _ in range(5)),
        )  # fmt: skip
        if learning:
            self._desk = desk
        return desk

    def _check(self, memory: State, schema: Schema) -> None:
        """Refuse tables that no memory with these parameters could have."""
        columns = memory["codes"].size
        for name, table in self._blank(schema.n_features, columns).items():
            given = memory[name]
            if given.dtype != table.dtype or given.shape != table.shape or not given.flags.c_contiguous:
                raise ValueError(f"its table {name!r} has another type or shape")
        head, codes, marks = memory["head"], memory["codes"], memory["marks"]
        long, start, size, number, tracked = head[: o.RIGHT].tolist()
        inside = min(_ROOM, self._full) <= columns <= self._full and 0 <= long <= start <= start + size <= columns
        if not inside or size < 0 or long + size > self.window or number < 0:
            raise ValueError("its table 'head' holds what no memory could")
        used = np.r_[0:long, start : start + size]
        if not np.isfinite(memory["rows"][:, used]).all():
            raise ValueError("its table 'rows' holds what no memory could")
        if ((codes[used] < 0) | (codes[used] > _MOST_CLASSES)).any():
            raise ValueError("its table 'codes' holds what no memory could")
        spans = memory["spans"]
        if not (
            np.isfinite(spans).all() and (spans[:, [o.COUNT, o.SQUARES]] >= 0.0).all() and (spans[:, o.BY] > 0.0).all()
        ):
            raise ValueError("its table 'spans' holds what no memory could")
        bits = marks[start : start + size, None] >> np.arange(3 + tracked) & 1
        if not np.array_equal(bits[:, :3].sum(axis=0), head[o.RIGHT :]):
            raise ValueError("its table 'marks' does not fit the head")
        sizes = size >> np.arange(tracked)
        wrong = [bits[size - n + self.k :, 3 + j].sum() for j, n in enumerate(sizes)]
        if tracked not in (0, o.candidates(size, self._make_rules())) or not np.array_equal(
            memory["levels"][:tracked], np.column_stack([number + size - sizes, wrong]).astype(np.int64)
        ):
            raise ValueError("its table 'levels' does not fit its rows")


def _new_spans(d: int) -> Floats:
    spans = np.zeros((d, o.SPANS))
    spans[:, o.BY] = 1.0
    return spans
