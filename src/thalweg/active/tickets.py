"""Rows that wait for a label that was asked for: bounded in number and in age, found again by ticket."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from thalweg.active import tickets_jit as jit
from thalweg.core.protocols import State

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FIRST_ROOM = 16


@final
@dataclass(frozen=True, slots=True)
class Told:
    """What became of the labels that were told."""

    learned: int
    """Rows that were learned."""
    repeated: tuple[int, ...] = ()
    """Tickets whose label had come before."""
    unknown: tuple[int, ...] = ()
    """Tickets that were never given."""
    expired: tuple[int, ...] = ()
    """Tickets that were let go of: too old, answered before or not."""


@final
@dataclass(frozen=True, slots=True)
class TicketCounts:
    """All tickets and all answers so far; given = open + answered + expired."""

    given: int
    open: int
    answered: int
    expired: int
    """Let go of without a label."""
    repeated: int
    """Answers to a ticket that had one."""
    unknown: int
    """Answers to a ticket that was never given."""
    late: int
    """Answers to a ticket that was let go of."""


@final
class Tickets:
    """The open tickets of a learner, and the rows they stand for."""

    __slots__ = ("_born", "_counts", "_rows", "_status", "max_age", "max_open")

    def __init__(self, features: int, *, max_open: int, max_age: int | None) -> None:
        self.max_open, self.max_age = int(max_open), int(max_age or 0)
        self._rows = np.zeros((0, features))
        self._status = np.zeros(0, dtype=np.int8)
        self._born = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(jit.COUNTS, dtype=np.int64)

    def give(self, X: Floats, why: NDArray[np.int8], first: int) -> Ints:
        """Give a ticket for each wanted row, -1 for the others. first: rows that had arrived before."""
        if not len(self._status):
            self._status = np.zeros(self.max_open, dtype=np.int8)
            self._born = np.zeros(self.max_open, dtype=np.int64)
            self._grow()
        tickets = np.full(len(X), -1, dtype=np.int64)
        done = 0
        while True:
            done = jit.give(
                self._rows, self._status, self._born, self._counts, X, why, done, first, self.max_age, tickets
            )
            if done == len(X):
                return tickets
            self._grow()

    def _grow(self) -> None:
        grown = np.zeros((min(max(_FIRST_ROOM, 2 * len(self._rows)), self.max_open), self._rows.shape[1]))
        jit.move(self._rows, grown, int(self._counts[jit.OLDEST]), int(self._counts[jit.GIVEN]))
        self._rows = grown

    def take(self, tickets: Ints, now: int) -> tuple[Ints, Told]:
        """Close the tickets that are open; give the places of those in ``tickets``, and what became of all."""
        kinds = np.empty(len(tickets), dtype=np.int64)
        if len(self._status):
            jit.take(self._status, self._born, self._counts, tickets, now, self.max_age, kinds)
        else:
            kinds[:] = jit.UNKNOWN
            self._counts[jit.UNKNOWN] += len(tickets)
        good = np.flatnonzero(kinds == jit.ANSWERED)
        if len(good) == len(kinds):
            return good, Told(len(good))
        repeated, unknown, late = (
            tuple(tickets[kinds == kind].tolist()) for kind in (jit.REPEATED, jit.UNKNOWN, jit.LATE)
        )
        return good, Told(len(good), repeated, unknown, late)

    def rows(self, tickets: Ints) -> Floats:
        """Give the rows of tickets that were just closed."""
        return self._rows[tickets % max(1, len(self._rows))]

    def note(self) -> Ints:
        """Copy the counts, for ``undo``."""
        return self._counts.copy()

    def undo(self, counts: Ints, closed: Ints) -> None:
        """Open tickets again that were just closed."""
        self._counts[:] = counts
        self._status[closed % self.max_open] = jit.WAITING

    def open(self) -> Ints:
        """Give the open tickets in order."""
        every: Ints = np.arange(self._counts[jit.OLDEST], self._counts[jit.GIVEN])
        waiting: Ints = every[self._status[every % self.max_open] == jit.WAITING]
        return waiting

    def let_go(self, now: int) -> None:
        """Let go of tickets that are too old by now."""
        jit.let_go(self._status, self._born, self._counts, now, self.max_age)

    def counts(self) -> TicketCounts:
        """Count tickets and answers."""
        c = self._counts.tolist()
        return TicketCounts(
            c[jit.GIVEN], c[jit.OPEN], c[jit.ANSWERED], c[jit.EXPIRED], c[jit.REPEATED], c[jit.UNKNOWN], c[jit.LATE]
        )

    def widen(self, features: int) -> None:
        """Make room for features that came later: waiting rows lack them."""
        more = features - self._rows.shape[1]
        if more > 0:
            self._rows = np.pad(self._rows, ((0, 0), (0, more)), constant_values=np.nan)

    def tables(self) -> State:
        """Give the tables, not copied."""
        return {"rows": self._rows, "status": self._status, "born": self._born, "counts": self._counts}

    def adopt(self, tables: State) -> None:
        """Continue from tables that ``tables`` gave, of the same limits and number of features."""
        rows, status, born, counts = (tables[name] for name in ("rows", "status", "born", "counts"))
        size = len(status) if status.ndim == 1 else -1
        ok = (
            [t.dtype.str[1:] for t in (rows, status, born, counts)] == ["f8", "i1", "i8", "i8"]
            and counts.shape == self._counts.shape
            and size in (0, self.max_open)
            and born.shape == (size,)
            and rows.ndim == 2
            and rows.shape[1] == self._rows.shape[1]
            and len(rows) <= self.max_open
        )
        if not ok:
            raise ValueError("its tickets have another type or shape")
        given, oldest, waiting, answered, expired = counts[: jit.EXPIRED + 1].tolist()
        inside = np.arange(oldest, given) if 0 <= given - oldest <= len(rows) else np.zeros(0, dtype=np.int64)
        held = int((status[inside % max(1, size)] == jit.WAITING).sum()) if size else 0
        if (
            counts.min() < 0
            or len(inside) != given - oldest
            or held != waiting
            or given != waiting + answered + expired
            or ((status < jit.NONE) | (status > jit.GONE)).any()
        ):
            raise ValueError("its tickets are damaged")
        self._rows, self._status, self._born, self._counts = rows, status, born, counts
