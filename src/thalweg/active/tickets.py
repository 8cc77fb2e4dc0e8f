"""Rows whose labels were asked for: bounded in number and in age, found again by ticket."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from thalweg.active import tickets_jit as jit
from thalweg.core.protocols import State
from thalweg.core.waiting import Waiting

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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

    __slots__ = ("_counts", "_latest", "_waiting", "max_age", "max_open")

    def __init__(self, features: int, *, max_open: int, max_age: int | None) -> None:
        self.max_open, self.max_age = int(max_open), int(max_age or 0)
        self._waiting = Waiting((features,), most=self.max_open)
        self._latest = np.zeros((0, 2), dtype=np.int64)
        self._counts = np.zeros(jit.COUNTS, dtype=np.int64)

    def give(self, X: Floats, why: NDArray[np.int8], first: int) -> Ints:
        """Give a ticket for each wanted row, -1 for the others. first: rows that had arrived before."""
        if not len(self._latest):
            self._latest = np.zeros((self.max_open, 2), dtype=np.int64)
        pool, tickets = self._waiting, np.full(len(X), -1, dtype=np.int64)
        pool.make_room(min(int(np.count_nonzero(why)), self.max_open - int(self._counts[jit.OPEN])))
        jit.give(pool.rows, pool.free, self._latest, self._counts, X, why, first, self.max_age, tickets)
        return tickets

    def find(self, tickets: Ints, now: int) -> Ints:
        """Say what an answer to each ticket would be: jit.ANSWERED, REPEATED, UNKNOWN or LATE."""
        kinds = np.empty(len(tickets), dtype=np.int64)
        jit.find(self._waiting.free, self._latest, self._counts, tickets, now, self.max_age, kinds)
        return kinds

    def close(self, tickets: Ints, kinds: Ints) -> tuple[Floats, Told]:
        """Take answers to tickets whose kinds were just found; give the rows that waited, and what became of all."""
        places = np.empty(np.count_nonzero(kinds == jit.ANSWERED), dtype=np.int64)
        jit.close(self._latest, self._counts, tickets, kinds, places)
        others = (jit.REPEATED, jit.UNKNOWN, jit.LATE) if len(places) < len(kinds) else ()
        told = Told(len(places), *(tuple(tickets[kinds == kind].tolist()) for kind in others))
        return self._waiting.take(places), told

    def let_go(self, now: int) -> None:
        """Let go of tickets that are too old by now."""
        self.find(np.zeros(0, dtype=np.int64), now)

    def open(self) -> Ints:
        """Give the open tickets in order."""
        every: Ints = np.arange(self._counts[jit.OLDEST], self._counts[jit.GIVEN])
        waiting: Ints = every[self._latest[every % self.max_open, jit.AT] > 0]
        return waiting

    def counts(self) -> TicketCounts:
        """Count tickets and answers."""
        c = self._counts.tolist()
        return TicketCounts(
            c[jit.GIVEN], c[jit.OPEN], c[jit.ANSWERED], c[jit.EXPIRED], c[jit.REPEATED], c[jit.UNKNOWN], c[jit.LATE]
        )

    def widen(self, features: int) -> None:
        """Make room for features that came later: waiting rows lack them."""
        self._waiting.widen((features,))

    @property
    def nbytes(self) -> int:
        """Bytes of all tables."""
        return sum(t.nbytes for t in (self._waiting.rows, self._waiting.free, self._latest, self._counts))

    def state(self) -> State:
        """Copy out the counts, what became of the latest tickets, and in order the rows that wait."""
        latest = self._latest[: self._counts[jit.GIVEN]].copy()
        open_ones = self.open() % self.max_open
        rows = self._waiting.rows[latest[open_ones, jit.AT] - 1]
        latest[open_ones, jit.AT] = 1  # at which place is nobody's business
        return {"rows": rows, "latest": latest, "counts": self._counts.copy()}

    def restore(self, state: State) -> None:
        """Continue, with no ticket given yet, from what ``state`` of others with the same limits and features gave."""
        rows, latest, counts = (state[name] for name in ("rows", "latest", "counts"))
        if not latest.dtype == counts.dtype == np.int64 or counts.shape != self._counts.shape:
            raise ValueError("its tickets have another type or shape")
        given, oldest, waiting, answered, expired = counts[: jit.EXPIRED + 1].tolist()
        if (
            counts.min() < 0
            or latest.shape != (min(given, self.max_open), 2)
            or not given - len(latest) <= oldest <= given == waiting + answered + expired
            or not np.isin(latest[:, jit.AT], (1, jit.DONE, jit.GONE)).all()
            or not len(rows) == waiting == np.count_nonzero(latest[:, jit.AT] == 1)
        ):
            raise ValueError("its tickets are damaged")
        self._latest = np.zeros((self.max_open if given else 0, 2), dtype=np.int64)
        self._latest[:given], self._counts = latest, counts
        if len(self.open()) != waiting:
            raise ValueError("its tickets are damaged")
        self._latest[self.open() % self.max_open, jit.AT] = self._waiting.hold(rows) + 1
