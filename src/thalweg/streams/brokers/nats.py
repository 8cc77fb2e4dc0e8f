"""NATS JetStream: messages are read by their numbers; answers carry ids that the server knows for a while."""

import asyncio
import re
import secrets
import threading
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, final

from thalweg.streams.brokers.address import Address, library
from thalweg.streams.brokers.reader import BEFORE, LOG, GapError, Message, Place, Reader
from thalweg.streams.brokers.sinks import Out, Sink

_WAIT = 10.0  # seconds for an answer to a question
_PAUSE = 0.5  # seconds between two attempts to connect again


class Client:
    """A connection in a thread of its own: it lives while nobody reads, and works inside any other loop."""

    def __init__(self, address: Address) -> None:
        nats = library("nats", "nats")
        self.errors = library("nats.errors", "nats")
        self.api = library("nats.js.api", "nats")
        self.where, self.subject = address.shown, address.name
        self.options = address.take(("stream",))
        self.down = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_live, args=(self._loop,), daemon=True)
        self._thread.start()
        login = {"user": address.user, "password": address.password} if address.user else {}
        try:
            self.nc = self.run(nats.connect(
                f"nats://{address.host}:{address.port}", allow_reconnect=True, max_reconnect_attempts=-1,
                reconnect_time_wait=_PAUSE, connect_timeout=5, disconnected_cb=self._lost, reconnected_cb=self._back,
                error_cb=self._wrong, **login,
            ), first=True)  # fmt: skip
        except Exception as error:
            self._end()
            raise ConnectionError(f"{self.where} cannot be reached: {error or type(error).__name__}") from None
        self.js = self.nc.jetstream(timeout=_WAIT)

    async def _wrong(self, error: Any) -> None:
        self.last_error = error

    async def _lost(self) -> None:
        if not self.down and not self.nc.is_closed:
            self.down = True
            LOG.warning("the connection to %s is lost, trying again", self.where)

    async def _back(self) -> None:
        if self.down:
            self.down = False
            LOG.warning("the connection to %s is back", self.where)

    def run(self, what: Coroutine[Any, Any, Any], *, first: bool = False) -> Any:
        """Run something in the connection's thread, and wait for it."""
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

    def patiently(self, make: Any) -> Any:
        """Run something that may be run again, until the server is there."""
        while True:
            try:
                return self.run(make())
            except (OSError, TimeoutError, self.errors.Error) as error:
                if _refused(error):
                    raise
                time.sleep(_PAUSE)

    def stream(self) -> str:
        """Give the name of the stream that keeps the subject."""
        if "stream" in self.options:
            return self.options["stream"]
        try:
            return str(self.run(self.js.find_stream_name_by_subject(self.subject)))
        except Exception:
            raise ValueError(f"{self.where} must be a subject that a stream of JetStream keeps, none does") from None

    def limits(self, stream: str) -> tuple[int, int]:
        """Give the numbers of the first message of a stream, and of the last of the subject; 0: there is none."""
        state = self.patiently(lambda: self.js.stream_info(stream)).state
        try:
            last = self.patiently(lambda: self.js.get_last_msg(stream, self.subject)).seq if state.messages else 0
        except Exception as error:
            if not _refused(error):
                raise
            last = 0
        return int(state.first_seq), int(last or 0)

    def subscribed(self, stream: str, after: int) -> Any:
        """Begin to read behind a number."""
        config = self.api.ConsumerConfig(
            deliver_policy=self.api.DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=after + 1,
            ack_policy=self.api.AckPolicy.NONE, inactive_threshold=60.0,
        )  # fmt: skip
        return self.patiently(lambda: self.js.pull_subscribe(self.subject, stream=stream, config=config))

    def after(self, subject: str, number: int) -> list[Any]:
        """Give all messages behind a number that are there now."""
        stream = self.stream()
        _, last = self.limits(stream)
        if last <= number:
            return []
        reading = self.subscribed(stream, number)
        found: list[Any] = []
        while not found or found[-1].metadata.sequence.stream < last:
            found += self.run(reading.fetch(500, timeout=_WAIT))
        self.run(reading.unsubscribe())
        return found

    def close(self) -> None:
        """Let the connection go."""
        with suppress(Exception):
            self.run(self.nc.close())
        self._end()

    def _end(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5.0)


@final
class NATSReader(Reader):
    """Reads one subject of a stream."""

    def __init__(self, address: Address, *, fields: bool = False) -> None:
        if fields:
            raise ValueError("format must not be 'fields' for NATS, whose messages have none")
        self._client = Client(address)
        self._stream = self._client.stream()
        self._after, self._caught = 0, False
        self._reading: Any = None

    def ends(self) -> dict[int, Place]:
        """Give the number of the last message."""
        _, last = self._client.limits(self._stream)
        return {0: (last, 0) if last else BEFORE}

    def seek(self, after: Mapping[int, Place], *, passed: int = 0, skip_gap: bool = False) -> int:
        """Go on behind a number."""
        first, last = self._client.limits(self._stream)
        self._drop()
        self._after = max(0, after.get(0, BEFORE)[0])
        if self._after == 0:
            self._after = max(0, first - 1)
            return 0
        if last and last < self._after:
            raise ValueError(
                f"{self._client.where} must be the stream that was read before: it ends at {last}, "
                f"the position is {self._after}"
            )
        return self._check_gap(first, skip_gap)

    def _check_gap(self, first: int, skip: bool) -> int:
        lost = max(0, first - 1 - self._after)
        if lost and not skip:
            raise GapError(
                f"{self._client.where} has dropped {lost:,} messages: the next is {self._after + 1}, "
                f"the first that is there {first}", lost,
            )  # fmt: skip
        self._after += lost
        return lost

    def fetch(self, most: int, wait: float) -> list[Message]:
        """Give the next messages."""
        client = self._client
        self._caught = False
        try:
            if self._reading is None:
                self._reading = client.subscribed(self._stream, self._after)
            found = client.run(self._reading.fetch(most, timeout=max(wait, 0.05)))
        except Exception as error:
            timed_out = isinstance(error, TimeoutError)
            if not timed_out and not isinstance(error, (OSError, client.errors.Error)):
                raise
            if client.down or not timed_out:
                self._drop()
                time.sleep(_PAUSE)
                return []
            first, last = client.limits(self._stream)
            self._caught = last <= self._after
            if not self._caught:  # the server has forgotten that we read, or dropped what we wanted
                self._drop()
                self._check_gap(first, False)
            return []
        out: list[Message] = []
        for m in found:
            about = m.metadata
            key = (m.headers or {}).get("key")
            out.append(Message(
                int(about.timestamp.timestamp() * 1000), 0, about.sequence.stream, 0,
                None if key is None else key.encode(), m.data,
            ))  # fmt: skip
        if out and out[0].a != self._after + 1:
            first, _ = client.limits(self._stream)
            if first > self._after + 1:
                self._drop()
                self._check_gap(first, False)
        if out:
            self._after = out[-1].a
        return out

    def _drop(self) -> None:
        if self._reading is not None:
            with suppress(Exception):
                self._client.run(self._reading.unsubscribe())
        self._reading = None

    def caught_up(self, partition: int) -> bool:
        """Did the server say that there is nothing more?"""
        return self._caught

    def close(self) -> None:
        """Let the connection go."""
        self._client.close()


@final
class NATSSink(Sink):
    """Publishes with the id of the answer in the message's id, and reads back what the snapshot does not know.

    Before it stands a name that the snapshot keeps, so that another run over the same records is answered as well; the
    header ``id`` is the answer's alone. The server drops a message whose id it has seen within the stream's duplicate
    window (two minutes unless set), which covers what a process that was killed had under way, and what is sent again
    after a lost connection. What is older than that is found by reading back. Each answer is there once, unless a
    connection is lost for longer than the window.
    """

    def __init__(self, address: Address) -> None:
        super().__init__()
        self._client = Client(address)
        self.where = self._client.where
        self._number = 0
        self._name = secrets.token_hex(8)

    def begin(self) -> None:
        """Begin behind what is there; make a stream for the subject where there is none."""
        client = self._client
        try:
            stream = client.stream()
        except ValueError:
            stream = re.sub(r"[^A-Za-z0-9_-]", "_", client.subject)
            client.run(client.js.add_stream(name=stream, subjects=[client.subject]))
        _, self._number = client.limits(stream)

    def _send(self, messages: list[Out]) -> None:
        left = messages
        while left:
            left = self._client.run(self._published(left))
            if left:
                LOG.warning("writing to %s failed, trying again", self.where)
                time.sleep(_PAUSE)

    async def _published(self, messages: list[Out]) -> list[Out]:
        """Publish messages; give the first that was not taken, and all behind it, so that their order stays."""
        js, subject = self._client.js, self._client.subject
        for start in range(0, len(messages), 200):
            waiting = []
            for m in messages[start : start + 200]:
                headers = {"Nats-Msg-Id": self._name + m.id, "id": m.id}
                if m.key is not None:
                    headers["key"] = m.key.decode("utf-8", "replace")
                waiting.append(await js.publish_async(subject, m.value, headers=headers, wait_stall=_WAIT))
            for i, one in enumerate(waiting):
                try:
                    done = await asyncio.wait_for(one, _WAIT)
                except (OSError, TimeoutError, self._client.errors.Error) as error:
                    if _refused(error):
                        raise ConnectionError(f"{self.where} refuses to be written to: {error}") from None
                    return messages[start + i :]
                self._number = max(self._number, int(done.seq))
        return []

    def _place(self) -> dict[str, Any]:
        return {"number": self._number, "name": self._name}

    def _go_on(self, place: dict[str, Any]) -> list[str]:
        self.begin()
        number, self._name = int(place["number"]), str(place.get("name", ""))  # earlier versions had none
        if self._number < number:
            raise ValueError(f"{self.where} must have the message {number} that was written before, it is gone")
        found = self._client.after(self._client.subject, number)
        ids = [(m.headers or {}).get("Nats-Msg-Id", "") for m in found]
        return [id_.removeprefix(self._name) for id_ in ids if id_.startswith(self._name)]

    def close(self) -> None:
        """Write what waits, and let the connection go."""
        super().close()
        self._client.close()


def _live(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, and close it."""
    loop.run_forever()
    loop.close()


def _refused(error: Any) -> bool:
    """Did the server answer, and say no?"""
    code = getattr(error, "code", None)
    return code is not None and int(code) not in (503, 504)
