"""The desk: people label the records whose labels are wanted.

A question is lent to one expert at a time (a lease). An expert who says nothing for ``lease`` seconds loses it, and it
goes to somebody else. An answer is held back for ``hold`` seconds, within which it can be undone; then it is told to
the engine as any label is. Only then is it written to the journal, so that the order of the journal remains the order
of learning, and the model never has to unlearn anything. What is held back is kept in a file of its own, beside the
journal: a service that was killed goes on holding it. One that is stopped tells it first.

Of all questions a stated share, ``second``, is shown to a second expert after the label was told. That answer is
compared with the first one and counted, never learned: no record is labelled twice. Which questions these are depends
on the ticket alone.
"""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, final

import msgspec
import numpy as np

from thalweg.core import params
from thalweg.core.params import shown
from thalweg.serve import state
from thalweg.serve.engine import Engine
from thalweg.serve.writer import UnavailableError

Label = str | int | float | bool
MOST_AT_ONCE = 20
"""Questions that one expert may have at a time."""
_MASK = (1 << 64) - 1


class Held(msgspec.Struct):
    """A label that can still be undone."""

    ticket: int
    label: Label
    expert: str
    until: float


class Expert(msgspec.Struct):
    """What somebody did. agreed, compared: of the questions that a second expert answered, as one of the two."""

    answered: int = 0
    skipped: int = 0
    unknown: int = 0
    undone: int = 0
    compared: int = 0
    agreed: int = 0
    seen: float = 0.0


class _Kept(msgspec.Struct):
    """What outlives a crash."""

    held: list[Held] = []
    experts: dict[str, Expert] = {}
    compared: int = 0
    agreed: int = 0
    lost: int = 0
    """Answers that came to nothing: another label came first, or the record was too old."""


class _Lease(msgspec.Struct):
    expert: str
    until: float
    second: bool


class _Second(msgspec.Struct):
    """A question that was answered, for somebody else to answer again."""

    question: dict[str, Any]
    label: Label
    expert: str
    until: float


class TakenError(Exception):
    """The question is not this expert's, or no longer."""


@final
class Desk:
    """Lends questions to experts, and holds their answers back for a while.

    Parameters
    ----------
    engine : Engine
        What learns.
    path : str | os.PathLike[str] | None
        A file for what is held back; None: it is lost where the process is killed, and the questions come again.
    lease : float
        Seconds after which a question goes to somebody else.
    hold : float
        Seconds within which an answer can be undone.
    second : float
        The share of the questions that a second expert answers, too.
    wait : float
        Seconds that such a question waits for a second expert.
    give_up : int
        A question that so many experts did not know is not asked any more.
    most : int
        Questions that may be lent, answers that may be held back, and second questions that may wait, each.
    clock : Callable[[], float]
        Gives seconds since 1970.
    """

    def __init__(
        self,
        engine: Engine,
        path: str | os.PathLike[str] | None = None,
        *,
        lease: float = 120.0,
        hold: float = 60.0,
        second: float = 0.1,
        wait: float = 900.0,
        give_up: int = 2,
        most: int = 1_000,
        clock: Callable[[], float] = time.time,
    ) -> None:
        for name, value in (("lease", lease), ("wait", wait)):
            params.number(name, value, above=0)
        params.number("hold", hold, least=0)
        params.number("second", second, least=0, most=1)
        for name, count in (("give_up", give_up), ("most", most)):
            params.whole(name, count, least=1)
        self.engine, self.lease, self.hold, self.second, self.wait = engine, lease, hold, second, wait
        self.give_up, self.most, self._clock = give_up, most, clock
        self._path = None if path is None else Path(path)
        self._leases: dict[int, _Lease] = {}
        self._held: dict[int, Held] = {}
        self._seconds: dict[int, _Second] = {}
        self._passed: dict[int, dict[str, bool]] = {}
        """Who would not answer which question; True: did not know."""
        self._telling, self._writing = asyncio.Lock(), asyncio.Lock()
        self._kept = self._read()
        for held in self._kept.held:
            self._held[held.ticket] = held

    # -- experts ------------------------------------------------------------------------------------------------------

    def next(self, expert: str, n: int = 1, order: str = "oldest") -> list[dict[str, Any]]:
        """Lend questions until the expert has ``n``; give all that they have. Leases that they have begin anew."""
        params.whole("n", n, least=1, most=MOST_AT_ONCE)
        params.choice("order", order, ("oldest", "newest", "uncertain"))
        now = self._clock()
        self._sweep(now)
        self._expert(expert).seen = now
        mine = [ticket for ticket, lease in self._leases.items() if lease.expert == expert]
        for ticket in mine:
            self._leases[ticket].until = now + self.lease
        room = min(n - len(mine), self.most - len(self._leases))
        if room > 0:
            new = [t for t, s in self._seconds.items() if s.expert != expert and self._free(t, expert)][:room]
            seconds = len(new)
            if room > seconds:
                new += self._choose(expert, room - seconds, order)
            for k, ticket in enumerate(new):
                self._leases[ticket] = _Lease(expert, now + self.lease, k < seconds)
            mine += new
        return self._questions(mine)

    def _choose(self, expert: str, n: int, order: str) -> list[int]:
        tickets, chosen = state.wanted_tickets(self.engine, order), []
        for ticket in tickets[: n + len(self._leases) + len(self._held) + len(self._passed)].tolist():
            if self._free(ticket, expert) and ticket not in self._held:
                chosen.append(ticket)
                if len(chosen) == n:
                    break
        return chosen

    def _free(self, ticket: int, expert: str) -> bool:
        passed = self._passed.get(ticket, {})
        return ticket not in self._leases and expert not in passed and sum(passed.values()) < self.give_up

    def _questions(self, tickets: list[int]) -> list[dict[str, Any]]:
        """What is asked: open questions, and those for a second expert, who is not told that they are."""
        found = {t: self._seconds[t].question for t in tickets if self._leases[t].second}
        found |= {q["ticket"]: q for q in self._open_questions([t for t in tickets if t not in found])}
        return [found[ticket] | {"until": self._leases[ticket].until} for ticket in tickets]

    def _open_questions(self, tickets: list[int]) -> list[dict[str, Any]]:
        learning = self.engine.learning
        ranges = {} if learning.schema is None else state.usual_ranges(learning, learning.schema)
        return state.questions_of(self.engine, np.array(tickets, dtype=np.int64), ranges)

    async def answer(self, expert: str, ticket: int, label: Label, *, new: bool = False) -> float:
        """Take an answer; give the time until which it can be undone. new: the label is that of a new class."""
        now = self._clock()
        lease = self._mine(expert, ticket, now, again=True)
        _, fresh = self.engine.book.labels.read([label], "label")
        if fresh and not new and len(self.engine.book.labels):
            raise ValueError(f"label must be one of the classes, or new must be true, got {shown(label)}")
        if lease is not None and lease.second:
            self._compare(expert, ticket, label)
            return now
        before = self._held.pop(ticket, None)
        self._held[ticket] = held = Held(ticket, label, expert, now + self.hold)
        self._leases.pop(ticket, None)
        self._expert(expert).answered += before is None
        try:
            await self._keep()
        except UnavailableError:
            if self._held.get(ticket) is held:
                del self._held[ticket]
                self._expert(expert).answered -= 1
                self._leases[ticket] = _Lease(expert, now + self.lease, second=False)
            raise
        while len(self._held) > self.most:
            await self._tell(next(iter(self._held.values())))
        return now + self.hold

    def _compare(self, expert: str, ticket: int, label: Label) -> None:
        first = self._seconds.pop(ticket)
        del self._leases[ticket]
        same = type(first.label) is type(label) and first.label == label
        for who in (self._expert(expert), self._expert(first.expert)):
            who.compared += 1
            who.agreed += same
        self._expert(expert).answered += 1
        self._kept.compared += 1
        self._kept.agreed += same

    async def turn_down(self, expert: str, ticket: int, why: Literal["skip", "unknown"]) -> None:
        """Give a question back, which then goes to others alone. unknown: the expert does not know."""
        params.choice("why", why, ("skip", "unknown"))
        self._mine(expert, ticket, self._clock())
        self._leases.pop(ticket, None)
        self._passed.setdefault(ticket, {})[expert] = why == "unknown"
        while len(self._passed) > self.most:
            del self._passed[next(iter(self._passed))]
        who = self._expert(expert)
        if why == "skip":
            who.skipped += 1
        else:
            who.unknown += 1

    async def undo(self, expert: str, ticket: int | None = None) -> dict[str, Any]:
        """Take an answer back, the expert's latest or that of a ticket; give its question, which is theirs again."""
        now = self._clock()
        mine = [h for h in self._held.values() if h.expert == expert and h.until > now and ticket in (None, h.ticket)]
        if not mine or not self.engine.book.is_open(mine[-1].ticket):
            raise TakenError(f"an answer can be undone for {self.hold:g} seconds, and there is none so young")
        last = self._held.pop(mine[-1].ticket)
        self._leases[last.ticket] = _Lease(expert, now + self.lease, second=False)
        who = self._expert(expert)
        who.answered, who.undone = who.answered - 1, who.undone + 1
        await self._keep()
        return self._questions([last.ticket])[0]

    def leave(self, expert: str) -> int:
        """Give back all questions that an expert has; say how many."""
        mine = [ticket for ticket, lease in self._leases.items() if lease.expert == expert]
        for ticket in mine:
            del self._leases[ticket]
        return len(mine)

    def _mine(self, expert: str, ticket: int, now: float, *, again: bool = False) -> _Lease | None:
        """Check that a question is this expert's; who comes late may still answer where nobody else has it."""
        self._sweep(now)
        lease, held = self._leases.get(ticket), self._held.get(ticket)
        if lease is not None and lease.expert == expert:
            self._expert(expert).seen = now
            return lease
        if lease is not None or (held is not None and not (again and held.expert == expert and held.until > now)):
            raise TakenError(f"the question {ticket} is somebody else's by now")
        if not 0 <= ticket < 1 << 62 or not self.engine.book.is_open(ticket):
            raise TakenError(f"the question {ticket} is not open: its label came, or it is too old")
        return None

    def _expert(self, name: str) -> Expert:
        known = self._kept.experts
        if name not in known:
            while len(known) >= self.most:
                del known[min(known, key=lambda who: known[who].seen)]
            known[name] = Expert()
        return known[name]

    # -- time ---------------------------------------------------------------------------------------------------------

    def _sweep(self, now: float) -> None:
        """Let go of leases that are over, or whose question is."""
        self._seconds = {t: s for t, s in self._seconds.items() if s.until > now or t in self._leases}
        open_ = self.engine.book.open_tickets()
        for ticket, lease in list(self._leases.items()):
            at = int(np.searchsorted(open_, ticket))
            there = ticket in self._seconds if lease.second else at < len(open_) and int(open_[at]) == ticket
            if lease.until <= now or not there:
                del self._leases[ticket]

    async def tell_due(self, *, everything: bool = False) -> int:
        """Tell the labels whose time has come, in the order of the answers; give how many."""
        now, told = self._clock(), 0
        for held in [h for h in self._held.values() if everything or h.until <= now]:
            told += await self._tell(held)
        return told

    async def _tell(self, held: Held) -> bool:
        async with self._telling:
            if self._held.get(held.ticket) is not held:
                return False
            held.until = min(held.until, self._clock())  # from here on it cannot be undone
            again = self._is_second(held.ticket) and self.engine.book.is_open(held.ticket)
            question = self._open_questions([held.ticket])[0] if again else None
            outcome = await self.engine.labels([held.label], tickets=[held.ticket], expert=held.expert)
            del self._held[held.ticket]
            self._passed.pop(held.ticket, None)
            if not outcome.scored:
                self._kept.lost += 1
            elif question is not None and len(self._seconds) < self.most:
                now = self._clock()
                self._seconds[held.ticket] = _Second(question, held.label, held.expert, now + self.wait)
            await self._keep()
            return outcome.scored > 0

    def _is_second(self, ticket: int) -> bool:
        """Is it among the share of the questions that a second expert sees? By SplitMix64 of the ticket."""
        z = (ticket * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return (z ^ (z >> 31)) < self.second * 2.0**64

    async def run(self) -> None:
        """Tell labels when their time has come, until cancelled."""
        while True:
            await asyncio.sleep(0.25)
            try:
                await self.tell_due()
            except UnavailableError:  # they stay held back until there is room again
                await asyncio.sleep(1.0)

    # -- what is known ------------------------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Give the numbers of the desk."""
        now, kept = self._clock(), self._kept
        lent: dict[str, int] = {}
        for lease in self._leases.values():
            if lease.until > now:
                lent[lease.expert] = lent.get(lease.expert, 0) + 1
        return {
            "open": len(self.engine.book.open_tickets()) - len(self._held), "lent": sum(lent.values()),
            "held": len(self._held), "second_share": self.second, "second_open": len(self._seconds),
            "compared": kept.compared, "agreed": kept.agreed, "lost": kept.lost,
            "unknown": sum(sum(who.values()) >= self.give_up for who in self._passed.values()),
            "lease": self.lease, "hold": self.hold,
            "experts": {name: msgspec.to_builtins(who) | {"lent": lent.get(name, 0)}
                        for name, who in kept.experts.items()},
        }  # fmt: skip

    # -- the file -----------------------------------------------------------------------------------------------------

    def _read(self) -> _Kept:
        if self._path is None or not self._path.exists():
            return _Kept()
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Kept)
        except msgspec.DecodeError as error:
            raise ValueError(f"{self._path} must hold what the desk wrote, it does not: {error}") from None

    async def _keep(self) -> None:
        if self._path is None:
            return
        self._kept.held = list(self._held.values())
        data = msgspec.json.encode(self._kept)
        async with self._writing:
            try:
                await asyncio.to_thread(_replace, self._path, data, self.engine.journal.sync != "never")
            except OSError as error:
                raise UnavailableError(f"the desk cannot write: {error.strerror or error}") from None


def _replace(path: Path, data: bytes, sync: bool) -> None:
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(data)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    part.replace(path)
