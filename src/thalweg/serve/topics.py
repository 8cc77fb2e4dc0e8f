"""A service that is fed by topics: records and labels come from brokers, answers go to one. HTTP goes on beside.

Nothing is lost or learned twice. The entry of the journal that holds the records of a topic also holds the place behind
them, so that what was learned and where to read on cannot disagree. Answers are written once their records are in the
journal. A snapshot waits until all answers that it covers are with their broker, and notes how far they are; what the
journal has behind it is answered once more at the next start, less what is found to be there.
"""

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any, final

import msgspec
import numpy as np

from thalweg.core.params import shown
from thalweg.evaluate.answers import written
from thalweg.serve import entries
from thalweg.serve.jobs import Given
from thalweg.serve.records import JSON, Read
from thalweg.serve.writer import UnavailableError
from thalweg.streams.brokers.address import parsed
from thalweg.streams.brokers.reader import BEFORE, GapError, Merged, Message
from thalweg.streams.brokers.reader import LOG as BROKERS
from thalweg.streams.brokers.sinks import Out, Sink, open_sink
from thalweg.streams.brokers.stream import open_reader

if TYPE_CHECKING:
    from thalweg.serve.service import Service

LOG = logging.getLogger("thalweg.serve")
_MOST = 500  # messages that are taken together
_WAIT = 0.2  # seconds that a read waits for a message
_AGAIN = 1.0  # seconds until something that failed is tried again
_encode = msgspec.json.Encoder().encode


@final
class Inlet:
    """A topic that is read on from a position."""

    def __init__(self, name: str, address: str, position: entries.Position | None, on_gap: str) -> None:
        found = parsed(address)
        if found.scheme in ("sqlite", "postgresql"):
            raise ValueError(f"--{_option(name)} must be a topic of kafka://, redis:// or nats://, got {found.shown}")
        if position is not None and position.address != found.shown:
            raise ValueError(f"--{_option(name)} must be as in the folder, {position.address}, got {found.shown}")
        self._reader = open_reader(found)
        self.now = position or entries.Position(name, found.shown, {}, self._reader.before())
        try:
            lost = self._reader.seek(self.now.at, passed=self.now.passed, skip_gap=on_gap == "continue")
        except GapError as gap:
            self._reader.close()
            raise ValueError(f"{gap}; --on-gap continue goes on behind the gap") from None
        if lost:
            BROKERS.warning(
                "%s has dropped %s messages before they were read, which are lost", found.shown, f"{lost:,}"
            )
        self._lost = lost
        self._merged = Merged(self._reader, None)

    def read(self) -> list[Message]:
        """Give the next messages; none where nothing has come yet."""
        return self._merged.read(_MOST, _WAIT) or []

    def behind(self, messages: list[Message], bad: int = 0) -> bytes:
        """Go on behind messages, of which some are bad; give the position."""
        at = dict(self.now.at)
        for message in messages:
            at[message.partition] = (message.a, message.b)
        passed, self._lost = self.now.passed + self._lost + len(messages), 0
        self.now = entries.Position(self.now.name, self.now.address, at, passed, self.now.bad + bad)
        return msgspec.json.encode(self.now)

    def left(self, messages: list[Message]) -> list[Message]:
        """Give those messages that have not been taken yet, where taking them was broken off."""
        return [m for m in messages if (m.a, m.b) > self.now.at.get(m.partition, BEFORE)]

    def say_bad(self, message: Message, why: object) -> None:
        """Tell of a message that is left out."""
        LOG.warning("message %s %s of the %s is left out: %s", self.now.address, self._reader.name_of(message),
                    self.now.name, why)  # fmt: skip

    def close(self) -> None:
        """Let the connection go."""
        self._reader.close()


def _option(name: str) -> str:
    return "from" if name == "records" else name


@final
class Topics:
    """Feeds a service from topics.

    records, labels: addresses, such as ``redis://localhost/clicks``; a record is a JSON object, a label
    ``{"id": …, "label": …}``. key: the field that names a record, also in labels, or None: the broker's own key.
    to: where answers go.
    on_gap: "stop" or "continue" where the broker has dropped what was not read yet.
    """

    def __init__(
        self, service: "Service", *, records: str | None = None, labels: str | None = None, to: str | None = None,
        key: str | None = None, on_gap: str = "stop",
    ) -> None:  # fmt: skip
        if to is not None and records is None:
            raise ValueError("--to needs --from, the topic whose records are answered")
        engine = service.engine
        if records is not None and service.reader.target is not None and engine.each and engine.book.policy is not None:
            raise ValueError("--from cannot have --target and --budget with --every each; labels may come by --labels")
        self._service, self._key, self._stopping = service, key, False
        self._target = service.reader.target or "class"
        given = [(name, address) for name, address in (("records", records), ("labels", labels)) if address is not None]
        self._in = {name: Inlet(name, address, engine.book.positions.get(name), on_gap) for name, address in given}
        self._sink: Sink | None = None if to is None else open_sink(to)
        if self._sink is not None:
            engine.outlet_state = self._outlet_state
        self._broken: str | None = None
        """Why answers cannot be written any more; the next start writes them."""
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Answer what was not answered before a crash, and begin to read."""
        engine = self._service.engine
        if self._sink is not None:
            if engine.outlet:
                await asyncio.to_thread(self._sink.restore, engine.outlet)
            else:
                await asyncio.to_thread(self._sink.begin)
                engine.unsent.clear()  # they came when there was nowhere to answer to
            for entry, given in engine.unsent:
                await self._answer(given, entry.ids or [])
            engine.unsent.clear()
            await engine.snapshot()  # before the first answer: a crash must find where they begin
        for name, inlet in self._in.items():
            take = self._take_records if name == "records" else self._take_labels
            self._tasks.append(asyncio.create_task(self._run(inlet, take)))

    async def stop(self) -> None:
        """Finish what is in hand, and let the brokers go."""
        self._stopping = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=10.0)
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """Let the brokers go; the last snapshot is written."""
        every: list[Inlet | Sink] = [*self._in.values(), *([] if self._sink is None else [self._sink])]
        for each in every:
            with contextlib.suppress(Exception):  # what is not out yet is answered at the next start
                await asyncio.to_thread(each.close)

    def _outlet_state(self) -> dict[str, Any]:
        """Bring answers to their broker, and say how far they are; refused where some are missing."""
        assert self._sink is not None
        if self._broken is not None:
            raise UnavailableError(self._broken)
        return dict(self._sink.state())

    async def _run(self, inlet: Inlet, take: Any) -> None:
        while not self._stopping and self._broken is None:
            try:
                messages = await asyncio.to_thread(inlet.read)
            except Exception as error:  # a gap, or whatever a client raises where its broker says no
                LOG.error("%s cannot be read on: %s", inlet.now.address, error)
                return
            while messages:
                async with self._service.engine.answering:
                    try:
                        await take(inlet, messages)
                        break
                    except UnavailableError as error:
                        LOG.warning("%s waits: %s", inlet.now.address, error)
                        messages = inlet.left(messages)
                await asyncio.sleep(_AGAIN)
                if self._stopping:
                    return
            if len(messages) < _MOST:  # nothing follows at once that answers could wait for
                async with self._service.engine.answering:
                    await self._out([])

    # -- records ------------------------------------------------------------------------------------------------------

    async def _take_records(self, inlet: Inlet, messages: list[Message]) -> None:
        """Answer or learn records, together where they are all good, otherwise one by one."""
        read = await self._read(messages)
        if isinstance(read, Read):
            await self._play(inlet, messages, read)
            return
        for message in messages:
            one = await self._read([message])
            if isinstance(one, Read):
                await self._play(inlet, [message], one)
            else:
                inlet.say_bad(message, one)
                await self._service.engine.submit(entries.Passed(time.time(), inlet.behind([message], 1)))

    async def _read(self, messages: list[Message]) -> Read | Exception:
        """Read messages as the service reads a request; give what is wrong with them."""
        try:
            records = [msgspec.json.decode(m.value, type=dict[str, Any]) for m in messages]
            ids = [self._name(m, record) for m, record in zip(messages, records, strict=True)]
            return await self._service.read(_encode({"records": records, "ids": ids}), JSON)
        except (ValueError, TypeError, msgspec.MsgspecError) as error:
            return error

    def _name(self, message: Message, record: dict[str, Any]) -> Any:
        """Take the name of a record out of it, or else from the broker."""
        if self._key is not None:
            name = record.pop(self._key, None)
            if not isinstance(name, (str, int)):
                raise ValueError(f"a record must be named by its field {self._key}, got {shown(name)}")
            return name
        return None if not message.key else message.key.decode("utf-8", "replace")

    async def _play(self, inlet: Inlet, messages: list[Message], read: Read) -> None:
        engine, before = self._service.engine, inlet.now
        source = inlet.behind(messages)
        try:
            if read.labels is not None:
                outcome = await engine.learn(read.X, read.labels, source=source)
                if outcome.refused is not None:
                    LOG.warning("%d records of %s are left out: %s", len(messages), before.address, outcome.refused)
                return
            given = await engine.records(read.X, read.ids, None, source)
        except UnavailableError:
            inlet.now = before
            raise
        self._service.answered(given)
        await self._answer(given, read.ids or [])

    async def _answer(self, given: Given, ids: list[Any]) -> None:
        if self._sink is None:
            return
        proba = np.frombuffer(given.proba).reshape(given.rows, -1) if given.classes else np.zeros((given.rows, 0))
        more = [{"version": given.version, "wanted": why > 0} for why in given.why]
        tickets = range(given.first, given.first + given.rows)
        await self._out(written(tickets, ids or [None] * given.rows, proba, given.classes, more))

    async def _out(self, out: list[Out]) -> None:
        """Write answers; with none, bring those to the broker that wait."""
        if self._sink is None or self._broken is not None:
            return
        try:
            if out:
                await asyncio.to_thread(self._sink.write, out)
            else:
                await asyncio.to_thread(self._sink.flush)
        except Exception as error:  # whatever a client raises; the records are in the journal, so nothing is lost
            self._broken = f"answers cannot be written to {self._sink.where}, start again when they can: {error}"
            LOG.error(self._broken)

    # -- labels -------------------------------------------------------------------------------------------------------

    async def _take_labels(self, inlet: Inlet, messages: list[Message]) -> None:
        names, labels, bad, before = [], [], 0, inlet.now
        for message in messages:
            try:
                told = msgspec.json.decode(message.value, type=dict[str, Any])
                name, label = told.get(self._key or "id"), told.get("label", told.get(self._target))
                if name is None:
                    name = (message.key or b"").decode("utf-8", "replace")
                if not isinstance(name, (str, int)) or name == "":
                    raise ValueError(f"it must name its record, by {self._key or 'id'} or by the broker's key")
                if not isinstance(label, (str, int, float)):
                    raise ValueError(f"it must hold a label, as label or as {self._target}")
            except (ValueError, msgspec.MsgspecError) as error:
                inlet.say_bad(message, error)
                bad += 1
            else:
                names.append(name)
                labels.append(label)
        if len(messages) > 1:
            try:
                self._service.engine.book.labels.read(labels, "labels")
            except (ValueError, TypeError):  # one of them is of another type: each by itself
                for message in messages:
                    await self._take_labels(inlet, [message])
                return
        source = inlet.behind(messages, bad)
        try:
            if not names:
                await self._service.engine.submit(entries.Passed(time.time(), source))
                return
            outcome = await self._service.engine.labels(labels, ids=names, source=source)
        except UnavailableError:
            inlet.now = before
            raise
        if outcome.refused is not None:
            LOG.warning("%d labels of %s are left out: %s", len(labels), inlet.now.address, outcome.refused)
