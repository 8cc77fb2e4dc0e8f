"""Rows whose labels were asked for: bounded in number and in age, found again by ticket."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from thalweg.active import tickets_jit as jit
from thalweg.core import door
from thalweg.core.declared import check
from thalweg.core.door import Rows, grown_rows, is_sparse, sparse_rows, take_rows
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.waiting import Waiting, WaitingSparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_AT_ONCE = 256  # rows that tickets are given to at a time


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
    """The open tickets of a learner, and the rows they stand for.

    Rows are kept sparse if the first that was ever asked about is, until one comes that lacks a value (NaN) or until
    features join.
    """

    __slots__ = ("_counts", "_features", "_latest", "_sparse", "_waiting", "max_age", "max_open")

    def __init__(self, features: int, *, max_open: int, max_age: int | None) -> None:
        self.max_open, self.max_age = int(max_open), int(max_age or 0)
        self._features = features
        self._waiting = Waiting((features,), most=self.max_open)
        self._sparse: WaitingSparse | None = None
        """Where rows are sparse, these at their places; those of ``_waiting`` are empty."""
        self._latest = np.zeros((0, 2), dtype=np.int64)
        self._counts = np.zeros(jit.COUNTS, dtype=np.int64)

    def give(self, X: Rows, why: NDArray[np.int8], first: int) -> Ints:
        """Give a ticket for each wanted row, -1 for the others. first: rows that had arrived before."""
        if not len(self._latest):
            self._latest = np.zeros((self.max_open, 2), dtype=np.int64)
        tickets, wanted = np.full(X.shape[0], -1, dtype=np.int64), np.flatnonzero(why)
        if not len(wanted):
            return tickets
        if is_sparse(X) and not self._counts[jit.GIVEN]:
            self._sparse, self._waiting = WaitingSparse(self._features), Waiting((0,), most=self.max_open)
        elif self._sparse is not None and isinstance(X, np.ndarray) and np.isnan(X[wanted]).any():
            self._make_dense()
        pool = self._waiting
        pool.make_room(min(len(wanted), self.max_open - int(self._counts[jit.OPEN])))
        for e in range(0, len(tickets), _AT_ONCE):
            part = slice(e, e + _AT_ONCE)
            rows = np.zeros((len(tickets[part]), 0)) if self._sparse is not None else _dense(X[part])
            jit.give(pool.rows, pool.free, self._latest, self._counts, rows, why[part], first + e, self.max_age,
                     tickets[part])  # fmt: skip
        if self._sparse is not None:
            at = self._latest[tickets[wanted] % self.max_open, jit.T_AT]
            held = (at > 0) & (self._counts[jit.GIVEN] - tickets[wanted] <= self.max_open)
            self._sparse.put(at[held] - 1, take_rows(X, wanted[held]))
        return tickets

    def find(self, tickets: Ints, now: int) -> Ints:
        """Say what an answer to each ticket would be: jit.ANSWERED, REPEATED, UNKNOWN or LATE."""
        kinds = np.empty(len(tickets), dtype=np.int64)
        jit.find(self._waiting.free, self._latest, self._counts, tickets, now, self.max_age, kinds)
        return kinds

    def close(self, tickets: Ints, kinds: Ints) -> tuple[Rows, Told]:
        """Take answers to tickets whose kinds were just found; give the rows that waited, and what became of all."""
        places = np.empty(np.count_nonzero(kinds == jit.ANSWERED), dtype=np.int64)
        jit.close(self._latest, self._counts, tickets, kinds, places)
        others = (jit.REPEATED, jit.UNKNOWN, jit.LATE) if len(places) < len(kinds) else ()
        told = Told(len(places), *(tuple(tickets[kinds == kind].tolist()) for kind in others))
        rows = self._look(places)
        self._waiting.take(places)
        return rows, told

    def let_go(self, now: int) -> None:
        """Let go of tickets that are too old by now."""
        self.find(np.zeros(0, dtype=np.int64), now)

    def let_go_of(self, before: int) -> None:
        """Let go of the open tickets that were given before this one."""
        old = self.open()
        old = old[old < before]
        self._waiting.take(self.places(old))
        self._latest[old % self.max_open, jit.T_AT] = jit.AT_GONE
        self._counts[jit.OPEN] -= len(old)
        self._counts[jit.EXPIRED] += len(old)

    def places(self, tickets: Ints) -> Ints:
        """Give the places, from 0, at which the rows of these open tickets wait."""
        return np.asarray(self._latest[tickets % self.max_open, jit.T_AT] - 1)

    def look(self, tickets: Ints) -> Rows:
        """Give the rows of these open tickets."""
        return self._look(self.places(tickets))

    @property
    def room(self) -> int:
        """Places that there are, taken or free."""
        return len(self._waiting.rows)

    def open(self) -> Ints:
        """Give the open tickets in order."""
        every: Ints = np.arange(self._counts[jit.OLDEST], self._counts[jit.GIVEN])
        waiting: Ints = every[self._latest[every % self.max_open, jit.T_AT] > 0]
        return waiting

    def counts(self) -> TicketCounts:
        """Count tickets and answers."""
        c = self._counts.tolist()
        return TicketCounts(
            c[jit.GIVEN], c[jit.OPEN], c[jit.ANSWERED], c[jit.EXPIRED], c[jit.REPEATED], c[jit.UNKNOWN], c[jit.LATE]
        )

    def widen(self, before: Schema, schema: Schema, lacking: float) -> None:
        """Let waiting rows be of a schema that has grown: ``lacking`` stands for what they have not; in tensors, 0."""
        if schema.n_features != self._features:
            self._make_dense()
            self._features = schema.n_features
            self._waiting.rows = grown_rows(self._waiting.rows, before, schema, lacking)

    @property
    def nbytes(self) -> int:
        """Bytes of all tables."""
        values = 0 if self._sparse is None else self._sparse.nbytes
        return values + sum(t.nbytes for t in (self._waiting.rows, self._waiting.free, self._latest, self._counts))

    def _look(self, places: Ints) -> Rows:
        """Give the rows at these places."""
        if self._sparse is None:
            return self._waiting.look(places)
        rows = self._sparse.look(places)
        rows.has_sorted_indices = rows.has_canonical_format = True  # they came through the door
        return rows

    def _make_dense(self) -> None:
        """Keep the rows dense from now on."""
        if self._sparse is not None:
            wide, places = np.zeros((len(self._waiting.rows), self._features)), self._places()
            wide[places] = self._sparse.look(places).toarray()
            self._waiting.rows, self._sparse = wide, None

    def _places(self) -> Ints:
        """Give the places of the rows of the open tickets, in order."""
        return self.places(self.open())

    def state(self) -> State:
        """Copy out the counts, what became of the latest tickets, and in order the rows that wait."""
        latest = self._latest[: self._counts[jit.GIVEN]].copy()
        rows = self._look(self._places())
        latest[self.open() % self.max_open, jit.T_AT] = 1  # at which place is nobody's business
        known = {"latest": latest, "counts": self._counts.copy()}
        if isinstance(rows, np.ndarray):
            return {"rows": rows, **known}
        return {"starts": rows.indptr, "columns": rows.indices, "values": rows.data, **known}

    def restore(self, state: State, schema: Schema, *, missing: bool) -> None:
        """Continue, with no ticket given yet, from what ``state`` of others with the same limits and features gave."""
        check(jit.Desk, state, features=self._features)
        latest, counts = state["latest"], state["counts"]
        dense = "rows" in state
        rows = (
            door.rows(state["rows"], schema, missing=missing, learning=True)[0] if dense else self._sparse_rows(state)
        )
        given, _, waiting, answered, expired = counts[: jit.EXPIRED + 1].tolist()
        if (
            len(latest) != min(given, self.max_open)
            or given != waiting + answered + expired
            or not latest[:, jit.T_AT].all()
            or not rows.shape[0] == waiting == np.count_nonzero(latest[:, jit.T_AT] == 1)
        ):
            raise ValueError("its tickets are damaged")
        self._latest = np.zeros((self.max_open if given else 0, 2), dtype=np.int64)
        self._latest[:given], self._counts = latest, counts
        if len(self.open()) != waiting:
            raise ValueError("its tickets are damaged")
        if isinstance(rows, np.ndarray):
            places = self._waiting.hold(rows)
        else:
            self._waiting = Waiting((0,), most=self.max_open)
            places = self._waiting.hold(np.zeros((waiting, 0)))
            self._sparse = WaitingSparse(self._features)
            self._sparse.put(places, rows)
        self._latest[self.open() % self.max_open, jit.T_AT] = places + 1

    def _sparse_rows(self, state: State) -> Rows:
        """Read sparse rows from a state; the door finds what is wrong with them."""
        from scipy.sparse import csr_array

        starts, columns, values = (state[name] for name in ("starts", "columns", "values"))
        if not (starts.dtype == columns.dtype == np.int64 and values.dtype == np.float64 and starts.ndim == 1):
            raise ValueError("its tickets have another type or shape")
        rows = csr_array((max(0, len(starts) - 1), self._features))
        rows.data, rows.indices, rows.indptr = values, columns, starts
        return sparse_rows(rows, Schema.numeric(self._features))


def _dense(X: Rows) -> Floats:
    return X if isinstance(X, np.ndarray) else np.ascontiguousarray(X.toarray())
