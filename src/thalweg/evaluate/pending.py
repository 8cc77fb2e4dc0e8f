"""Rows whose labels have not come yet.

Time is either counted in rows, or read from the stream's columns ``time`` and ``label_time``. In both cases a row
has a moment at which its label is *due*, and the clock moves on with each row that arrives.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk, stacked
from thalweg.core.declared import EXACT, check, table
from thalweg.core.door import Rows
from thalweg.core.protocols import State
from thalweg.evaluate.waiting_rows import RowsOfAnyForm, rows_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ENTRY = np.dtype([("place", np.int64), ("codes", np.int64), ("w", np.float64), ("due", np.float64)])


class Due(NamedTuple):
    """What is known of the rows that wait, in order of arrival, beside the rows; and the clock."""

    codes: Annotated[Ints, table("n", least=0, most="classes - 1")]
    """n: of their labels."""
    w: Annotated[Floats, table("n", least=0)]
    """n: their weights."""
    due: Annotated[Floats, table("n", loose=True)]
    """n: when their labels come."""
    rows: Annotated[Ints, table(2, least=0, most=EXACT // 2)]
    """2: rows so far; those whose label never comes."""
    clock: Annotated[Floats, table(1, loose=True)]
    """1: the latest time seen."""


class Plan(NamedTuple):
    """What to do with a chunk: the rows it takes, and the events for ``Classifier.play``."""

    X: Rows
    codes: Ints
    w: Floats
    events: Ints
    late: int
    """So many rows before those of the chunk are old ones, whose labels are due now."""
    held: Ints
    """The rows of the chunk whose labels come later."""
    never: Ints
    """The rows of the chunk whose labels never come."""


@final
class Pending:
    """Holds predicted rows until their labels are due, and says in which order to predict and to learn.

    delay: a number of rows (row t is learned right after row t + delay is predicted), or "time": before a row is
    predicted, all rows whose label_time is not after the latest time seen are learned, in the order of label_time.
    A label_time of NaN or infinity means that the label never comes. evolving: may tensors have other sizes than
    those before?
    """

    __slots__ = ("_clock", "_list", "_pool", "_rows", "delay", "never")

    def __init__(self, delay: int | str, *, evolving: bool = False) -> None:
        self.delay = delay
        self.never = 0
        """Rows whose label never comes."""
        self._rows = 0
        self._clock = -np.inf
        self._pool = RowsOfAnyForm(evolving=evolving)
        self._list = np.zeros(0, dtype=_ENTRY)  # in order of arrival: where the row waits, and what is known of it

    def __len__(self) -> int:
        return len(self._list)

    def plan(self, chunk: Chunk, codes: Ints, w: Floats) -> Plan:
        """Take the next rows of the stream, and give what is to be predicted and learned now, in order."""
        n, old = len(chunk), len(self)
        clock, due = self._times(chunk)
        rows = self._pool.fit(chunk, self._list["place"])
        # When is each row learned? Before this row of the chunk is predicted; not before it was predicted itself.
        dues = np.concatenate([self._list["due"], due])
        moment = np.searchsorted(clock, dues)
        moment[old:] = np.maximum(moment[old:], np.arange(1, n + 1))
        wanted = np.concatenate([np.ones(old, dtype=np.bool_), w > 0.0])
        ripe = np.flatnonzero((moment < len(clock)) & wanted)
        ripe = ripe[np.lexsort((dues[ripe], moment[ripe]))]

        taken = np.sort(ripe[ripe < old])
        late = len(taken)
        place = np.empty(old + n, dtype=np.int64)  # where a row is among those of the plan
        place[taken] = np.arange(late)
        place[old:] = late + np.arange(n)
        asked = np.flatnonzero(w > 0.0)
        when = np.concatenate([2 * moment[ripe], 2 * asked + 1])
        events = np.concatenate([~place[ripe], late + asked])[np.argsort(when, kind="stable")]
        never = ~(due < np.inf) & (w > 0.0)
        keep = (w > 0.0) & ~never
        keep[ripe[ripe >= old] - old] = False
        X, entries = self._take(taken)
        plan = Plan(
            stacked([X, rows]),
            np.concatenate([entries["codes"], codes]),
            np.concatenate([entries["w"], w]),
            events,
            late,
            np.flatnonzero(keep),
            np.flatnonzero(never),
        )
        self._hold(rows[keep], codes[keep], w[keep], due[keep])
        self.never += int(np.count_nonzero(never))
        self._rows += n
        self._clock = float(clock[-1])
        return plan

    def keep(self, plan: Plan, asked: NDArray[np.bool_]) -> None:
        """Of the rows of the plan just made keep those whose label was asked for: the others wait for nothing."""
        if not asked.all():
            self._take(len(self) - len(plan.held) + np.flatnonzero(~asked[plan.held]))
            self.never -= int(np.count_nonzero(~asked[plan.never]))

    def _times(self, chunk: Chunk) -> tuple[Floats, Floats]:
        """Give the clock at each row, and when the label of each row is due."""
        n = len(chunk)
        if self.delay != "time":  # the clock after the last row counts too: a label due then is learned at once
            clock = np.arange(self._rows, self._rows + n + 1, dtype=np.float64)
            return clock, clock[1:] + float(self.delay)
        if chunk.time is None or chunk.label_time is None:
            raise ValueError('delay="time" needs a stream that has time and label_time, this one has not')
        if not np.isfinite(chunk.time).all():
            i = int(np.argmin(np.isfinite(chunk.time)))
            raise ValueError(f"time must be a finite number in every row, got {chunk.time[i]} in row {self._rows + i}")
        clock = np.maximum.accumulate(np.concatenate([[self._clock], chunk.time]))[1:]
        return clock, np.asarray(chunk.label_time, dtype=np.float64)

    def _hold(self, X: Any, *known: NDArray[Any]) -> None:
        """Add rows to the end of the list. known: codes, weights, due times."""
        more = np.empty(X.shape[0], dtype=_ENTRY)
        for name, column in zip(_ENTRY.names or (), (self._pool.hold(X), *known), strict=True):
            more[name] = column
        self._list = np.concatenate([self._list, more])

    def _take(self, which: Ints) -> tuple[Rows, NDArray[np.void]]:
        """Remove entries from the list; give their rows and what is known of them."""
        taken = self._list[which]
        self._list = np.delete(self._list, which)
        return self._pool.take(taken["place"]), taken

    def state(self) -> State:
        """Copy out the rows, in order of arrival, and the clock."""
        return {
            **self._pool.state(self._list["place"]),
            **{name: self._list[name].copy() for name in ("codes", "w", "due")},
            "rows": np.array([self._rows, self.never]),
            "clock": np.array([self._clock]),
        }

    def restore(self, state: Mapping[str, NDArray[Any]], *, classes: int, features: int) -> None:
        """Continue from what ``state`` gave: rows of so many classes; sparse ones have so many features at most."""
        check(Due, state, classes=classes)
        X = rows_of(state, features)
        codes, w, due, rows, clock = (state[name] for name in ("codes", "w", "due", "rows", "clock"))
        if X.shape[0] != len(codes) or not ((w > 0.0) & (due < np.inf)).all() or np.isnan(clock[0]):
            raise ValueError("its waiting rows are damaged")
        self._list = self._list[:0]
        self._pool.begin(X)
        if len(codes):
            self._hold(X, codes, w, due)
        self._rows, self.never = rows.tolist()
        self._clock = float(clock[0])
