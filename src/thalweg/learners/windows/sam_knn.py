"""Nearest neighbours with a short-term and a long-term memory that adjust themselves (SAM-kNN)."""

from typing import Literal, final

import numpy as np

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check, declared
from thalweg.core.fields import Parametrised, choice, flag, number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.compile import plain, uncompiled
from thalweg.jit.random import seeded
from thalweg.learners.windows import sam_memory_jit as jit
from thalweg.learners.windows.sam_knn_jit import play

_TABLES = tuple(declared(jit.Memory))
_WHO: tuple[Literal["short", "long", "both"], ...] = ("short", "long", "both")
_COLUMNS = 2048  # of the tables to begin with


class Memories(Parametrised):
    """How large the memories are, and how they are asked."""

    k: int = whole(default=5, doc="Neighbours that vote.", least=1, most=100_000)
    window: int = whole(default=5000, doc="Rows in both memories together, at most.", least=1, most=100_000_000)
    ltm_share: float = number(
        default=0.4,
        doc="The share of them that the long-term memory may have; it is compressed when both are full.",
        least=0,
        below=1,
    )
    min_stm: int = whole(
        default=50,
        doc="The short-term memory is halved only while it has twice as many rows.",
        least=1,
        most=100_000_000,
    )
    recalculate: bool = flag(
        default=False,
        doc="False: the errors of shorter short-term memories are followed row by row, and exact ones decide where one "
        "seems better; True: exact ones always (up to three times slower).",
    )
    weights: Literal["distance", "uniform"] = choice(
        default="distance", doc='"distance": a neighbour\'s vote is 1 / distance (at least 1e-9); "uniform": 1.'
    )
    scale: Literal["online"] | None = choice(
        default=None,
        doc='None: features should have like ranges; "online": numbers are divided by their standard deviation in '
        "all rows so far (what is kept is divided again when that has changed by a tenth).",
    )
    seed: int = whole(default=1, doc="For the first centres of a clustering.", least=0)


@final
class SamKNN(Memories, Classifier):
    """Nearest neighbours in two memories: the rows of the present concept, and what is still true of the past.

    The short-term memory is cut to its newer half, quarter, … as soon as that would have made fewer errors. What it
    loses goes to the long-term memory, unless rows that stay contradict it. That one is cleaned by every new row in the
    same way, and clustered to half its size when there is no more room. Whichever was right most often of late answers:
    the short-term memory, the long-term memory, or both together.

    Distances are Euclidean. Nominal values differ by 1 or not at all; a centre has the mean of numbers and the most
    frequent nominal value. Among rows that are equally near the newest comes first. Weights of rows are not looked at,
    but a row of weight 0 is not learned. A feature that joins is 0 (the first value) in the rows of before. Time for a
    row: proportional to window × features. Memory: at most (1.13 × window + 33) × (features + 3 + log2(window /
    min_stm)) × 8 bytes; there is no matrix of distances.

    References
    ----------
    V. Losing, B. Hammer, H. Wersing, "KNN classifier with self adjusting memory for heterogeneous concept drift", ICDM
    2016.

    Examples
    --------
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

    __slots__ = ("_classes", "_memory", "_room", "_rules")

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def stm_size(self) -> int:
        """Rows in the short-term memory."""
        return int(self._memory.head[jit.M_SIZE]) if self._started else 0

    @property
    def ltm_size(self) -> int:
        """Rows in the long-term memory: as they came, or centres of them."""
        return int(self._memory.head[jit.M_LONG]) if self._started else 0

    @property
    def answers(self) -> Literal["short", "long", "both"]:
        """The memory that answers now."""
        return _WHO[uncompiled(jit.best_memory)(self._memory.head)] if self._started else "short"

    @property
    def right(self) -> dict[str, int]:
        """How many of the rows of the short-term memory each memory had right before they were learned."""
        counts = self._memory.head[jit.M_RIGHT : jit.M_RIGHT + 3].tolist() if self._started else (0, 0, 0)
        return dict(zip(_WHO, counts, strict=True))

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._take(self._blank(min(_COLUMNS, self._full), schema.nominal))

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        done, learning, classes = 0, bool((events < 0).any()), max(out.shape[1], self._classes)
        while True:
            search, clusters = self._room_for(classes, learning=learning)
            events = events[done:]
            done = play(
                plain(self._memory), plain(search), plain(clusters), self._rules, X, y, events, out, known, self._full
            )
            if done == len(events):
                return
            known = max(known, int(y[~events[:done][events[:done] < 0]].max(initial=-1)) + 1)
            self._grow()

    def _extend(self, schema: Schema) -> None:
        old, nominal = self._memory, schema.nominal
        more = np.zeros((len(nominal) - len(old.rows), len(old.codes)))
        spans = np.concatenate([old.spans, _new_spans(len(more))])
        self._take(old._replace(rows=np.concatenate([old.rows, more]), spans=spans, nominal=nominal))

    def _tables(self) -> State:
        return dict(zip(_TABLES, self._memory, strict=False))

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        memory = jit.Memory(**{name: tables[name] for name in _TABLES}, nominal=schema.nominal)
        check(
            jit.Memory, tables, least={"C": min(_COLUMNS, self._full)}, most={"C": self._full}, d=schema.n_features,
            J=int(uncompiled(jit.candidates)(self.window, self._make_rules())), window=self.window, classes=classes,
        )  # fmt: skip
        self._refuse_misfits(memory)
        self._take(memory)

    # -- inside -------------------------------------------------------------------------------------------------------

    @property
    def _full(self) -> int:
        """Columns of a table that need not grow any more: some are free, so that rows seldom have to move."""
        return self.window + 1 + max(32, self.window // 8)

    def _take(self, memory: jit.Memory) -> None:
        self._memory, self._rules = memory, self._make_rules()
        self._room: tuple[jit.Search, jit.Clusters] | None = None  # room to work, which a learner that learns keeps
        self._classes = int(memory.codes.max(initial=-1)) + 1

    def _make_rules(self) -> Ints:
        rules = np.zeros(jit.SAM_CELLS, dtype=np.int64)
        rules[jit.SAM_K], rules[jit.SAM_WINDOW], rules[jit.SAM_LEAST_SHORT] = self.k, self.window, self.min_stm
        rules[jit.SAM_MOST_LONG] = int(self.ltm_share * self.window + 1e-9)
        rules[jit.SAM_RECALCULATE], rules[jit.SAM_BY_DISTANCE] = self.recalculate, self.weights == "distance"
        rules[jit.SAM_SCALED] = self.scale == "online"
        return rules

    def _blank(self, columns: int, nominal: Ints) -> jit.Memory:
        levels, d = int(uncompiled(jit.candidates)(self.window, self._make_rules())), len(nominal)
        return jit.Memory(
            rows=np.zeros((d, columns)), codes=np.zeros(columns, dtype=np.int64),
            marks=np.zeros(columns, dtype=np.int64), reach=np.zeros((levels, columns), dtype=np.int64),
            levels=np.zeros((levels, 2), dtype=np.int64), head=np.zeros(jit.M_CELLS, dtype=np.int64),
            spans=_new_spans(d), seeds=seeded(self.seed), nominal=nominal,
        )  # fmt: skip

    def _grow(self) -> None:
        """Double the columns."""
        old, columns = self._memory, len(self._memory.codes)
        new = self._blank(min(2 * columns, self._full), old.nominal)
        new.rows[:, :columns], new.reach[:, :columns] = old.rows, old.reach
        new.codes[:columns], new.marks[:columns] = old.codes, old.marks
        self._memory = old._replace(rows=new.rows, codes=new.codes, marks=new.marks, reach=new.reach)
        self._room = None

    def _room_for(self, classes: int, *, learning: bool) -> tuple[jit.Search, jit.Clusters]:
        """Make room to look at rows and, for a learner that learns, to compress; that one keeps it."""
        if learning and self._room is not None and len(self._room[0].votes) == classes:
            return self._room
        d, columns = self._memory.rows.shape
        k, levels, n, ints = min(self.k, columns), len(self._memory.levels), columns if learning else 0, np.int64
        search = jit.Search(
            query=np.empty(d), x=np.empty(d), sums=np.empty(columns), near=np.empty((3, k)),
            at=np.empty((3, k), dtype=ints), found=np.empty(3, dtype=ints), predicted=np.empty(3, dtype=ints),
            guess=np.empty(levels, dtype=ints), oldest=np.empty(levels, dtype=ints), votes=np.zeros(classes),
        )  # fmt: skip
        clusters = jit.Clusters(
            x=search.x, sums=search.sums, ends=np.empty(classes + 1, dtype=ints), old=np.empty((d, n)),
            centres=np.empty((d, n)), least=np.empty(n), second=np.empty(n), blocks=np.empty(n),
            own=np.empty(n, dtype=ints), counts=np.empty(n, dtype=ints), moved=np.empty(n, dtype=ints),
            heads=np.empty(n, dtype=ints), chain=np.empty(n, dtype=ints),
        )  # fmt: skip
        if learning:
            self._room = search, clusters
        return search, clusters

    def _refuse_misfits(self, memory: jit.Memory) -> None:
        """Refuse tables that do not fit each other."""
        head, marks = memory.head, memory.marks
        long, start, size, number, tracked = head[: jit.M_RIGHT].tolist()
        if not np.isfinite(memory.rows[:, :long]).all() or not np.isfinite(memory.rows[:, start : start + size]).all():
            raise ValueError("its table 'rows' must hold finite numbers")
        bits = marks[start : start + size, None] >> np.arange(3 + tracked) & 1
        if not np.array_equal(bits[:, :3].sum(axis=0), head[jit.M_RIGHT :]):
            raise ValueError("its table 'marks' does not fit the head")
        sizes = size >> np.arange(tracked)
        wrong = [bits[size - n + self.k :, 3 + j].sum() for j, n in enumerate(sizes)]
        if tracked not in (0, uncompiled(jit.candidates)(size, self._make_rules())) or not np.array_equal(
            memory.levels[:tracked], np.column_stack([number + size - sizes, wrong]).astype(np.int64)
        ):
            raise ValueError("its table 'levels' does not fit its rows")


def _new_spans(d: int) -> Floats:
    spans = np.zeros((d, jit.D_COLUMNS))
    spans[:, jit.D_BY] = 1.0
    return spans
