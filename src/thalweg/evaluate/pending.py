"""Rows whose labels have not come yet.

Time is either counted in rows, or read from the stream's columns ``time`` and ``label_time``. In both cases a row
has a moment at which its label is *due*, and the clock moves on with each row that arrives.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.protocols import State

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Plan(NamedTuple):
    """What to do with a chunk: the rows it takes, and the events for ``Classifier.play``."""

    X: Floats
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
    A label_time of NaN or infinity means that the label never comes.
    """

    __slots__ = ("_X", "_clock", "_codes", "_due", "_free", "_rows", "_slots", "_w", "delay", "never")

    def __init__(self, delay: int | str) -> None:
        self.delay = delay
        self.never = 0
        """Rows whose label never comes."""
        self._rows = 0
        self._clock = -np.inf
        self._X = np.zeros((0, 0))  # the pool of rows, in no order
        self._free = np.zeros(0, dtype=np.int64)  # places in the pool that hold nothing
        self._slots = np.zeros(0, dtype=np.int64)  # in order of arrival: place in the pool, class code, weight, due
        self._codes = np.zeros(0, dtype=np.int64)
        self._w = np.zeros(0)
        self._due = np.zeros(0)

    def __len__(self) -> int:
        return len(self._slots)

    def plan(self, chunk: Chunk, codes: Ints, w: Floats) -> Plan:
        """Take the next rows of the stream, and give what is to be predicted and learned now, in order."""
        n, old = len(chunk), len(self)
        clock, due = self._times(chunk)
        # When is each row learned? Before this row of the chunk is predicted; not before it was predicted itself.
        moment = np.searchsorted(clock, np.concatenate([self._due, due]))
        moment[old:] = np.maximum(moment[old:], np.arange(1, n + 1))
        wanted = np.concatenate([np.ones(old, dtype=np.bool_), w > 0.0])
        ripe = np.flatnonzero((moment < len(clock)) & wanted)
        ripe = ripe[np.lexsort((np.concatenate([self._due, due])[ripe], moment[ripe]))]

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
        plan = Plan(
            np.concatenate([self._X[self._slots[taken]].reshape(late, *chunk.X.shape[1:]), chunk.X]),
            np.concatenate([self._codes[taken], codes]),
            np.concatenate([self._w[taken], w]),
            events,
            late,
            np.flatnonzero(keep),
            np.flatnonzero(never),
        )
        self._drop(taken)
        self._hold(chunk.X[keep], codes[keep], w[keep], due[keep])
        self.never += int(np.count_nonzero(never))
        self._rows += n
        self._clock = float(clock[-1])
        return plan

    def keep(self, plan: Plan, asked: NDArray[np.bool_]) -> None:
        """Of the rows of the plan just made keep those whose label was asked for: the others wait for nothing."""
        if not asked.all():
            self._drop(len(self) - len(plan.held) + np.flatnonzero(~asked[plan.held]))
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

    def _drop(self, taken: Ints) -> None:
        self._free = np.concatenate([self._free, self._slots[taken]])
        for name in ("_slots", "_codes", "_w", "_due"):
            setattr(self, name, np.delete(getattr(self, name), taken))

    def _hold(self, X: Floats, codes: Ints, w: Floats, due: Floats) -> None:
        n, size = len(X), len(self._X)
        if n > len(self._free):
            more = max(n - len(self._free), size // 2)
            grown = np.zeros((size + more, *X.shape[1:]))
            if size:
                grown[:size] = self._X
            self._X = grown
            self._free = np.concatenate([self._free, np.arange(size, size + more)])
        slots, self._free = self._free[:n], self._free[n:]
        self._X[slots] = X
        self._slots = np.concatenate([self._slots, slots])
        self._codes = np.concatenate([self._codes, codes])
        self._w = np.concatenate([self._w, w])
        self._due = np.concatenate([self._due, due])

    def state(self) -> State:
        """Copy out the rows, in order of arrival, and the clock."""
        return {
            "X": self._X[self._slots],
            "codes": self._codes.copy(),
            "w": self._w.copy(),
            "due": self._due.copy(),
            "rows": np.array([self._rows, self.never]),
            "clock": np.array([self._clock]),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` gave."""
        n = len(state["codes"])
        self._X = np.array(state["X"])
        self._codes, self._w, self._due = (np.array(state[name]) for name in ("codes", "w", "due"))
        self._slots, self._free = np.arange(n), np.zeros(0, dtype=np.int64)
        self._rows, self.never = (int(v) for v in state["rows"])
        self._clock = float(state["clock"][0])
