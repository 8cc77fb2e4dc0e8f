"""What is known of the records that were answered, and of their labels: tickets, names, decisions, repeated requests.

The book is changed by the entries of the journal, in order, and by nothing else: the same entries make the same book.
It turns each entry into jobs for those who learn, and into the reply to whoever sent the request.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard, final

import msgspec
import numpy as np
from numpy.typing import NDArray

from thalweg.active.strategy import REASONS, Strategy
from thalweg.active.tickets import TicketCounts, Tickets
from thalweg.active.tickets_jit import ANSWERED, LATE, REPEATED, UNKNOWN
from thalweg.core.labels import Labels
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under
from thalweg.serve.entries import Any_, Expired, Grown, Learned, Passed, Position, Records, Told, matrix
from thalweg.serve.jobs import Answers, Given, Growth, Job, Labelled, Lesson, Outcome

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ALL_WANTED = np.full(1, len(REASONS), dtype=np.int8)
"""Why a label is wanted where no strategy decides: all are."""
KEY_BYTES = 32 << 20
"""Bytes of replies that are remembered by their keys."""
_NOTES = np.dtype([("at", "<f8"), ("version", "<i8"), ("why", "i1"), ("known", "<i8")])


@final
class Book:
    """Tickets of all records that were answered, open until their label comes, they are too old or too many.

    strategy: decides which labels are wanted; None: all are. max_open, max_age: see ``ActiveLearner``; every record has
    a ticket here, wanted or not. max_early: labels that may wait for their record. max_keys: requests that are
    remembered by their key.
    """

    def __init__(
        self, *, strategy: Strategy | None, max_open: int, max_age: int | None, max_early: int = 10_000,
        max_keys: int = 10_000, lacking: float = np.nan,
    ) -> None:  # fmt: skip
        self.policy = strategy
        self.max_open, self.max_age, self.max_early, self.max_keys = max_open, max_age, max_early, max_keys
        self.lacking = lacking
        """What records have that came before a feature joined."""
        self.schema: Schema | None = None
        self.labels = Labels()
        self.records = 0
        self.wanted_open = 0
        self.early_dropped = 0
        self.refused = 0
        """Requests for labels that were refused after they had been written down."""
        self._tickets: Tickets | None = None
        self._notes = np.zeros(0, dtype=_NOTES)
        self._proba = np.zeros((0, 0))
        self._ticket_of: dict[Any, int] = {}
        self._id_of: dict[int, Any] = {}
        self.positions: dict[str, Position] = {}
        """Where topics are read on, by what they are for."""
        self._early: dict[Any, tuple[Any, str | None]] = {}
        self._keys: dict[str, bytes] = {}
        self._key_bytes = 0

    # -- entries ------------------------------------------------------------------------------------------------------

    def apply(self, entry: Any_) -> tuple[list[Job], Any]:
        """Take the next entry of the journal; give the jobs that follow from it, and the reply."""
        source = getattr(entry, "source", None)
        if source is not None:
            position = msgspec.json.decode(source, type=Position)
            self.positions[position.name] = position
        key = getattr(entry, "key", None)
        if key is not None:
            kept = self.remembered(key)
            if kept is not None:
                return [], kept
        jobs: list[Job]
        reply: Any = None
        unfit = self._unfit(entry) if isinstance(entry, (Records, Learned)) else None
        if unfit is not None:
            self.refused += 1
            jobs, reply = [], Outcome(0, 0, refused=unfit)
        elif isinstance(entry, Records):
            jobs, reply = self._take_records(entry)
        elif isinstance(entry, Told):
            jobs, reply = self._take_labels(entry)
        elif isinstance(entry, Learned):
            jobs, reply = self._take_lesson(entry)
        elif isinstance(entry, Grown):
            self._take_schema(Schema.from_json(entry.schema))
            assert self.schema is not None
            jobs = [Growth(self.schema)]
        elif isinstance(entry, Passed):
            jobs = []
        elif isinstance(entry, Expired):
            if self._tickets is not None:
                self._tickets.let_go_of(entry.before)
                self._tidy()
            jobs = []
        else:
            jobs = [entry]
        if key is not None:
            self._remember(key, reply)
        return jobs, reply

    def apply_all(self, entries: Sequence[Any_]) -> list[tuple[list[Job], Any]]:
        """Take entries in order; the same as one after the other, and faster for many of single records."""
        done: list[tuple[list[Job], Any]] = []
        at = 0
        while at < len(entries):
            stop, one = at, entries[at]
            if _plain_one(one) and self._unfit(one) is None:
                stop = at + 1
                while stop < len(entries) and _plain_one(other := entries[stop]) and _alike(other, one):
                    stop += 1
            if stop - at > 1:
                done += self._take_together(entries[at:stop])  # type: ignore[arg-type]
                at = stop
            else:
                done.append(self.apply(entries[at]))
                at += 1
        return done

    def _take_together(self, entries: Sequence[Records]) -> list[tuple[list[Job], Any]]:
        """Take entries of one record each as if they were one entry."""
        first = entries[0]
        X, proba = b"".join([e.X for e in entries]), b"".join([e.proba for e in entries])
        together = Records(entries[-1].at, len(entries), X, proba, first.classes, first.version)
        jobs, given = self._take_records(together)
        done: list[tuple[list[Job], Any]] = [
            ([], Given(given.first + k, 1, given.why[k : k + 1], e.proba, e.classes, e.version))
            for k, e in enumerate(entries)
        ]
        done[-1] = jobs, done[-1][1]
        return done

    def _unfit(self, entry: Records | Learned) -> str | None:
        """Why the rows of an entry are none of this book; None: they are."""
        if self.schema is None:
            return "records must come after a schema, and there is none yet"
        width, known = len(entry.X) // (8 * max(1, entry.rows)), self.schema.n_features
        if len(entry.X) != 8 * width * entry.rows or width > known:
            return f"records must have at most the {known:,} features of the schema, got {width:,}"
        return None

    def _take_schema(self, schema: Schema) -> None:
        if self._tickets is None:
            self._tickets = Tickets(schema.n_features, max_open=self.max_open, max_age=self.max_age)
            if schema.classes is not None and not len(self.labels):
                self.labels = Labels(schema.classes)
        elif self.schema is not None:
            self._tickets.widen(self.schema, schema, lacking=self.lacking)
        self.schema = schema

    def _take_records(self, entry: Records) -> tuple[list[Job], Given]:
        assert self._tickets is not None
        assert self.schema is not None
        X, n = self._wide(matrix(entry.X, entry.rows)), entry.rows
        said = matrix(entry.proba, n) if entry.classes else np.zeros((n, 0))
        proba = self._arranged(said, entry.classes)
        why = ALL_WANTED.repeat(n) if self.policy is None else self.policy.decide(said)
        first = self.records
        tickets = self._tickets.give(X, np.ones(n, dtype=np.int8), first)
        self.records += n
        places = self._tickets.places(tickets)
        self._make_room()
        self._notes["at"][places], self._notes["version"][places] = entry.at, entry.version
        self._notes["why"][places], self._notes["known"][places] = why, len(self.labels)
        self._proba[places, : proba.shape[1]] = proba
        self._proba[places, proba.shape[1] :] = 0.0
        jobs: list[Job] = [Answers(entry.at, int(tickets[0]) if n else first, X, proba, why)]
        if entry.ids is not None:
            jobs += self._name(entry, tickets)
        if len(self._id_of) > 2 * self.max_open:
            self._tidy()
        return jobs, Given(int(tickets[0]) if n else -1, n, why.tobytes(), entry.proba, entry.classes, entry.version)

    def _name(self, entry: Records, tickets: Ints) -> list[Job]:
        """Keep the names of records; give the jobs for labels that came before their records."""
        found: list[tuple[int, Any, str | None]] = []
        for name, ticket in zip(entry.ids or (), tickets.tolist(), strict=True):
            if name is None:
                continue
            self._ticket_of[name], self._id_of[ticket] = ticket, name
            if name in self._early:
                found.append((ticket, *self._early.pop(name)))
        jobs: list[Job] = []
        for ticket, label, expert in found:
            more, _ = self._take_labels(Told(entry.at, [label], [ticket], expert=expert))
            jobs += more
        return jobs

    def _take_labels(self, entry: Told) -> tuple[list[Job], Outcome]:
        values, early, unknown = list(entry.labels), [], []
        given: list[int] = []
        if entry.tickets is not None:
            given = entry.tickets
        else:
            kept = []
            for name, label in zip(entry.ids or (), values, strict=True):
                ticket = self._ticket_of.get(name)
                if ticket is not None:
                    given.append(ticket)
                    kept.append(label)
                elif len(self._early) < self.max_early or name in self._early:
                    self._early[name] = label, entry.expert
                    early.append(name)
                else:
                    self.early_dropped += 1
                    unknown.append(name)
            values = kept
        tickets = np.array(given, dtype=np.int64)
        if self._tickets is None:
            return [], Outcome(0, 0, unknown=[*unknown, *given], early=early)
        kinds = self._tickets.find(tickets, self.records)
        answered = kinds == ANSWERED
        y = [label for label, good in zip(values, answered.tolist(), strict=True) if good]
        try:
            codes, new = self.labels.read(y, "labels")
        except (ValueError, TypeError) as error:
            self.refused += 1
            return [], Outcome(0, 0, refused=str(error))
        self.labels.admit(new)
        places, open_ = self._tickets.places(tickets[answered]), tickets[answered]
        rows, _ = self._tickets.close(tickets, kinds)
        notes = self._notes[places]
        wanted = notes["why"] > 0
        names = (lambda kind: [self._id_of.get(t, t) for t in tickets[kinds == kind].tolist()]) if entry.ids else (
            lambda kind: tickets[kinds == kind].tolist()
        )  # fmt: skip
        reply = Outcome(
            int(np.count_nonzero(wanted)), len(y), repeated=names(REPEATED), unknown=[*unknown, *names(UNKNOWN)],
            expired=names(LATE), early=early,
        )  # fmt: skip
        if not len(y):
            return [], reply
        proba = np.zeros((len(y), len(self.labels)))
        known = min(self._proba.shape[1], proba.shape[1])
        proba[:, :known] = self._proba[places, :known]
        job = Labelled(
            entry.at, open_, np.asarray(rows), y, codes, proba, wanted, notes["at"].copy(), entry.expert
        )  # fmt: skip
        return [job], reply

    def _take_lesson(self, entry: Learned) -> tuple[list[Job], Outcome]:
        X = self._wide(matrix(entry.X, entry.rows))
        try:
            codes, new = self.labels.read(entry.labels, "labels")
        except (ValueError, TypeError) as error:
            self.refused += 1
            return [], Outcome(0, 0, refused=str(error))
        self.labels.admit(new)
        wanted = None
        if self.policy is not None:
            wanted = self.policy.decide(matrix(entry.proba, entry.rows) if entry.classes else np.zeros((len(X), 0))) > 0
        learned = len(X) if wanted is None else int(np.count_nonzero(wanted))
        return [Lesson(entry.at, X, entry.labels, codes, wanted)], Outcome(learned, len(X))

    def _wide(self, X: Floats) -> Floats:
        """Rows that were read before a feature joined lack it."""
        assert self.schema is not None
        more = self.schema.n_features - X.shape[1]
        return X if more <= 0 else np.pad(X, ((0, 0), (0, more)), constant_values=self.lacking)

    def _arranged(self, said: Floats, classes: list[Any]) -> Floats:
        """Put probabilities in the order of the book's codes."""
        codes, new = self.labels.read(classes) if classes else (np.zeros(0, dtype=np.int64), [])
        self.labels.admit(new)
        if len(codes) == len(self.labels) and (codes == np.arange(len(codes))).all():
            return said
        proba = np.zeros((len(said), len(self.labels)))
        proba[:, codes] = said
        return proba

    def _make_room(self) -> None:
        assert self._tickets is not None
        more, classes = self._tickets.room - len(self._notes), len(self.labels) - self._proba.shape[1]
        if more > 0:
            self._notes = np.concatenate([self._notes, np.zeros(more, dtype=_NOTES)])
        if more > 0 or classes > 0:
            self._proba = np.pad(self._proba, ((0, max(0, more)), (0, max(0, classes))))

    def _tidy(self) -> None:
        """Forget the names of records too old to be told from unknown ones."""
        oldest = self.records - 2 * self.max_open
        for ticket in [t for t in self._id_of if t < oldest]:
            name = self._id_of.pop(ticket)
            if self._ticket_of.get(name) == ticket:
                del self._ticket_of[name]

    # -- requests that come again -------------------------------------------------------------------------------------

    def remembered(self, key: str) -> Any:
        """The reply to an earlier request with this key; None: there was none."""
        kept = self._keys.get(key)
        if kept is None:
            return None
        kind, data = kept[:1], kept[1:]
        return msgspec.msgpack.decode(data, type=Given if kind == b"g" else Outcome)

    def _remember(self, key: str, reply: Any) -> None:
        self._keys[key] = kept = (b"g" if isinstance(reply, Given) else b"o") + msgspec.msgpack.encode(reply)
        self._key_bytes += len(kept)
        while len(self._keys) > self.max_keys or (self._key_bytes > KEY_BYTES and len(self._keys) > 1):
            self._key_bytes -= len(self._keys.pop(next(iter(self._keys))))

    # -- what waits ---------------------------------------------------------------------------------------------------

    def counts(self) -> TicketCounts:
        """Count tickets and labels."""
        if self._tickets is None:
            return TicketCounts(0, 0, 0, 0, 0, 0, 0)
        self._tickets.let_go(self.records)
        return self._tickets.counts()

    def open_tickets(self, *, wanted: bool = True) -> Ints:
        """Give the tickets that wait for a label, oldest first; wanted: only those whose label is asked for."""
        if self._tickets is None:
            return np.zeros(0, dtype=np.int64)
        self._tickets.let_go(self.records)
        tickets = self._tickets.open()
        return tickets[self._notes["why"][self._tickets.places(tickets)] > 0] if wanted else tickets

    def look(self, tickets: Ints) -> tuple[Floats, Floats, NDArray[np.void], list[Any]]:
        """Of open tickets the rows, the probabilities answered, notes (at, version, why, known), and the names."""
        assert self._tickets is not None
        places = self._tickets.places(tickets)
        names = [self._id_of.get(t) for t in tickets.tolist()]
        return np.asarray(self._tickets.look(tickets)), self._proba[places], self._notes[places], names

    def is_open(self, ticket: int) -> bool:
        """Does this ticket wait for a label?"""
        open_ = self.open_tickets(wanted=False)
        at = int(np.searchsorted(open_, ticket))
        return at < len(open_) and int(open_[at]) == ticket

    @property
    def nbytes(self) -> int:
        """Bytes of what waits, about."""
        tickets = 0 if self._tickets is None else self._tickets.nbytes
        return tickets + self._notes.nbytes + self._proba.nbytes + 200 * len(self._id_of) + self._key_bytes

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Copy out everything."""
        about = {
            "records": self.records,
            "max_open": self.max_open,
            "max_age": self.max_age,
            "ids": list(self._id_of.items()),
            "early": [[name, *label] for name, label in self._early.items()],
            "keys": list(self._keys.items()),
            "early_dropped": self.early_dropped,
            "refused": self.refused,
            "positions": list(self.positions.values()),
        }
        arrays: State = {"labels": self.labels.to_bytes(), "about": _bytes(msgspec.msgpack.encode(about))}
        if self.policy is not None:
            arrays |= prefixed("strategy", self.policy.state())
        if self.schema is not None and self._tickets is not None:
            arrays["schema"] = _bytes(self.schema.to_json())
            places = self._tickets.places(self._tickets.open())
            arrays |= prefixed("tickets", self._tickets.state())
            arrays["notes"], arrays["proba"] = self._notes[places], self._proba[places]
        return arrays

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` of a book with the same limits gave."""
        about = msgspec.msgpack.decode(state["about"].tobytes())
        for name in ("max_open", "max_age"):
            if about[name] != getattr(self, name):
                raise ValueError(f"{name} must be as in the folder, {about[name]}, got {getattr(self, name)}")
        self.labels = Labels.from_bytes(state["labels"])
        self.records, self.early_dropped, self.refused = about["records"], about["early_dropped"], about["refused"]
        self._id_of = {ticket: _plain(name) for ticket, name in about["ids"]}
        self._ticket_of = {name: ticket for ticket, name in self._id_of.items()}
        self._early = {_plain(name): (label, expert) for name, label, expert in about["early"]}
        self._keys = dict(about["keys"])
        self._key_bytes = sum(map(len, self._keys.values()))
        positions = msgspec.convert(about.get("positions", []), list[Position])  # earlier versions had none
        self.positions = {position.name: position for position in positions}
        strategy = under("strategy", dict(state))
        if (self.policy is None) != (not strategy):
            raise ValueError("budget and strategy must be as in the folder, which was made with others")
        if self.policy is not None:
            self.policy.restore(strategy)
        if "schema" in state:
            self._take_schema(Schema.from_json(state["schema"].tobytes()))
            assert self._tickets is not None
            assert self.schema is not None
            self._tickets.restore(under("tickets", dict(state)), self.schema, missing=True)
            self._make_room()
            places = self._tickets.places(self._tickets.open())
            self._notes[places] = state["notes"]
            self._proba[places, : state["proba"].shape[1]] = state["proba"]


def _plain_one(entry: Any_) -> TypeGuard[Records]:
    return type(entry) is Records and entry.rows == 1 and entry.ids is None and entry.key is None


def _alike(a: Records, b: Records) -> bool:
    """May two entries of records be taken together?"""
    return a.version == b.version and len(a.X) == len(b.X) and (a.classes is b.classes or a.classes == b.classes)


def _plain(name: Any) -> Any:
    return tuple(name) if isinstance(name, list) else name


def _bytes(data: bytes | Iterable[int]) -> NDArray[np.uint8]:
    return np.frombuffer(bytes(data), dtype=np.uint8).copy()
