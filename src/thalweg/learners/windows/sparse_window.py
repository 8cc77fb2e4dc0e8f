"""The window of WindowKNN while its rows are sparse: its tables grow with the values that are in it."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import check, span, table
from thalweg.core.protocols import State
from thalweg.jit.compile import plain
from thalweg.learners.windows import sparse_jit as jit
from thalweg.learners.windows import window_jit as o

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Kept(NamedTuple):
    """What is kept: n rows in the order of their slots, with E values; see sparse_jit.py."""

    codes: Annotated[Ints, table("n", least=0, most="classes - 1")]
    """n: their classes."""
    voices: Annotated[Floats, table("n", least=0)]
    """n: their weights."""
    columns: Annotated[Ints, table("E", least=0, most="d - 1")]
    """E: the features of the rows, row after row."""
    values: Annotated[Floats, table("E")]
    """E: their values."""
    starts: Annotated[Ints, table("n + 1", least=0, most="E")]
    """n + 1: row s lies from starts[s] to starts[s + 1]."""
    head: Annotated[Ints, table(3, cells={0: o.NEXT, 1: span("n", "n"), 2: span(0, 2**53)})]
    """3: the slot that the next row takes, rows, rows learned."""
    spans: Annotated[Floats, table("online", o.S_COLUMNS, loose=True, optional=True)]
    """d × 8: for scale "online" the spans of window_jit.py."""


@final
class SparseWindow:
    """Up to ``window`` sparse rows of d features; rules: see window_jit.py.

    There is room for at most one and a half times the most values that a full window ever had. What is kept
    (``tables``) does not depend on how much room there is.
    """

    __slots__ = ("_rules", "_t", "d", "window")

    def __init__(self, d: int, rules: Ints, room: int = 1024) -> None:
        self.d, self.window, self._rules = d, int(rules[o.R_WINDOW]), rules
        spans = np.zeros((d, jit.V_COLUMNS))
        spans[:, jit.V_LEAST], spans[:, jit.V_GREATEST] = np.inf, -np.inf
        if rules[o.R_SCALE] == o.UNSCALED:
            spans[:, jit.V_BY] = 1.0
        online = np.zeros((d if rules[o.R_SCALE] == o.ONLINE else 0, o.S_COLUMNS))
        online[:, o.S_LEAST], online[:, o.S_GREATEST] = np.inf, -np.inf
        slots, ints = min(self.window, 64), np.int64
        self._t = jit.Sparse(
            columns=np.zeros(room, dtype=ints), values=np.zeros(room), begin=np.zeros(slots, dtype=ints),
            sizes=np.zeros(slots, dtype=ints), codes=np.zeros(slots, dtype=ints), voices=np.zeros(slots),
            head=np.zeros(jit.SPARSE_CELLS, dtype=ints), spans=spans, online=online, starts=np.zeros(d + 1, dtype=ints),
            slots=np.zeros(room, dtype=ints), held=np.zeros(room), fresh=np.zeros(slots, dtype=ints),
            first=np.full(d, -1), before=np.zeros(room, dtype=ints), own=np.zeros((slots, 2)),
        )  # fmt: skip

    @property
    def n_rows(self) -> int:
        """Rows in the window."""
        return int(self._t.head[o.W_SIZE])

    @property
    def nbytes(self) -> int:
        """Bytes of all tables, with the index and the room that is free."""
        return sum(table.nbytes for table in self._t)

    def measure(self, X: "csr_array", classes: int) -> Floats:
        """Give the distance of each row of the window from a record (squared where Euclidean)."""
        first = np.zeros(1, dtype=np.int64)
        ask = first[:0], np.zeros(0), first, np.zeros((1, classes)), classes
        return self.play(X, *ask, every=True)[: self.n_rows]

    def play(
        self, X: "csr_array", y: Ints, w: Floats, events: Ints, out: Floats, known: int, *, every: bool = False
    ) -> Floats:
        """Play the events; give the distances from the last query: of all rows, if ``every``."""
        learned = ~events[events < 0]
        self._make_slots(self.n_rows + len(learned))
        n, k = len(self._t.codes), int(min(self._rules[o.R_K], self.window))
        room = jit.Room(np.zeros(n), np.zeros(n), np.zeros(o.Q_COLUMNS, dtype=np.int64), np.zeros(k))
        while len(events):
            done, known = jit.play(
                plain(self._t), plain(room), self._rules, X.data, X.indices, X.indptr, y, w, events, out, known, every
            )
            if done == len(events):
                break
            row = ~events[done]
            self._make_room(int(X.indptr[row + 1] - X.indptr[row]))
            events = events[done:]
        return room.sums

    # -- what is kept -------------------------------------------------------------------------------------------------

    def tables(self) -> State:
        """Give the rows in the order of their slots, and what the scale needs to know of rows that have left."""
        t, n = self._t, self.n_rows
        starts, places = self._places(np.arange(n))
        kept = {
            "starts": starts, "columns": t.columns[places], "values": t.values[places], "codes": t.codes[:n],
            "voices": t.voices[:n], "head": t.head[[o.W_NEXT, o.W_SIZE, jit.W_LEARNED]],
        }  # fmt: skip
        return kept | ({"spans": t.online} if len(t.online) else {})

    def restore(self, kept: State, classes: int) -> None:
        """Continue, with no row learned yet, from what ``tables`` gave; refuse what no window could have."""
        online = len(self._t.online)
        check(Kept, kept, most={"n": self.window}, d=self.d, window=self.window, classes=classes, online=online)
        starts, columns, values, codes = kept["starts"], kept["columns"], kept["values"], kept["codes"]
        refuse_disorder(starts, columns)
        n, spans = len(codes), kept.get("spans", self._t.online)
        if not _could_be(spans, int(kept["head"][2])):
            raise ValueError("its table 'spans' holds what no window could")
        self._make_slots(n)
        self._make_room(len(columns))
        t = self._t
        t.codes[:n], t.voices[:n] = codes, kept["voices"]
        t.head[[o.W_NEXT, o.W_SIZE, jit.W_LEARNED]] = kept["head"]
        t.online[:] = spans
        self._lay_down(starts, columns, values)

    def dense(self) -> Floats:
        """Give the rows as dense ones, in the order of their slots."""
        kept = self.tables()
        rows = np.zeros((self.n_rows, self.d))
        rows[np.repeat(np.arange(len(rows)), np.diff(kept["starts"])), kept["columns"]] = kept["values"]
        return rows

    def row(self, slot: int) -> Floats:
        """Give the row of a slot as a dense one."""
        _, places = self._places(np.array([slot]))
        row = np.zeros(self.d)
        row[self._t.columns[places]] = self._t.values[places]
        return row

    # -- inside -------------------------------------------------------------------------------------------------------

    def _places(self, slots: Ints) -> tuple[Ints, Ints]:
        """Give where the rows of these slots begin when put one after another, and where their values lie."""
        count = self._t.sizes[slots]
        starts = np.concatenate([[0], np.cumsum(count)])
        places = np.repeat(self._t.begin[slots] - starts[:-1], count) + np.arange(starts[-1])
        return starts, places

    def _make_slots(self, n: int) -> None:
        """Make room for n rows, or a full window."""
        had, n = len(self._t.codes), min(n, self.window)
        if n > had:
            more = min(self.window, 1 << (n - 1).bit_length()) - had
            longer: dict[str, Any] = {}
            for name in ("begin", "sizes", "codes", "voices", "fresh", "own"):
                table = getattr(self._t, name)
                longer[name] = np.concatenate([table, np.zeros((more, *table.shape[1:]), dtype=table.dtype)])
            self._t = self._t._replace(**longer)

    def _make_room(self, m: int) -> None:
        """Make room for a row of m values more: half as much again as all need, or what there is, put in order."""
        kept = self.tables()
        starts, columns, values = kept["starts"], kept["columns"], kept["values"]
        room = max(len(self._t.columns), 3 * (len(columns) + m) // 2)
        ints: dict[str, Any] = {name: np.zeros(room, dtype=np.int64) for name in ("columns", "slots", "before")}
        self._t = self._t._replace(**ints, values=np.zeros(room), held=np.zeros(room))
        self._lay_down(starts, columns, values)

    def _lay_down(self, starts: Ints, columns: Ints, values: Floats) -> None:
        """Put the rows into the ring, the oldest first; make spans and index anew."""
        t, n = self._t, len(starts) - 1
        oldest = int(t.head[o.W_NEXT]) if n == self.window else 0
        order = np.roll(np.arange(n), -oldest)
        count = np.diff(starts)
        ends = np.cumsum(count[order])
        t.sizes[:n] = count
        t.begin[order] = ends - count[order]
        total = len(columns)
        t.head[jit.W_TOP] = t.head[jit.W_LIVE] = total
        split = int(starts[oldest]) if n else 0
        t.columns[:total], t.values[:total] = np.roll(columns, -split), np.roll(values, -split)
        if self._rules[o.R_SCALE] == o.BY_WINDOW:
            self._find_spans(columns, values)
        elif self._rules[o.R_SCALE] == o.ONLINE:
            t.spans[:, jit.V_BY] = [o.scale_of(span, o.ONLINE) for span in t.online]
        jit.index(plain(t), self._rules)

    def _find_spans(self, columns: Ints, values: Floats) -> None:
        spans, n = self._t.spans, self.n_rows
        spans[:] = 0.0
        spans[:, jit.V_LEAST], spans[:, jit.V_GREATEST] = np.inf, -np.inf
        np.minimum.at(spans[:, jit.V_LEAST], columns, values)
        np.maximum.at(spans[:, jit.V_GREATEST], columns, values)
        for at, edge in ((jit.V_AT_LEAST, jit.V_LEAST), (jit.V_AT_GREATEST, jit.V_GREATEST)):
            spans[:, at] = np.bincount(columns[values == spans[columns, edge]], minlength=self.d)
        spans[:, jit.V_HAVE] = np.bincount(columns, minlength=self.d)
        some = spans[:, jit.V_HAVE] < n
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            width = np.where(some, np.maximum(spans[:, jit.V_GREATEST], 0.0), spans[:, jit.V_GREATEST])
            width = width - np.where(some, np.minimum(spans[:, jit.V_LEAST], 0.0), spans[:, jit.V_LEAST])
            by = np.clip(1.0 / width, 1.0 / o.LARGEST_FLOAT, o.LARGEST_FLOAT)
        spans[:, jit.V_BY] = np.where(width > 0.0, by, 0.0)


def refuse_disorder(starts: Ints, columns: Ints) -> None:
    """Refuse rows, one after another, whose features do not rise, or that are not all of them."""
    if starts[0] != 0 or starts[-1] != len(columns) or (np.diff(starts) < 0).any():
        raise ValueError("its table 'starts' must rise from 0 to the number of its values")
    rises = np.diff(columns, prepend=-1) > 0
    rises[starts[:-1][np.diff(starts) > 0]] = True
    if not rises.all():
        raise ValueError("its table 'columns' must rise in each row")


def _could_be(online: Floats, learned: int) -> bool:
    """Could these be the spans of so many rows?"""
    count, squares = online[:, o.S_COUNT], online[:, o.S_SQUARES]
    return bool((count == learned).all() and np.isfinite(online[:, o.S_MEAN]).all() and (squares >= 0.0).all())
