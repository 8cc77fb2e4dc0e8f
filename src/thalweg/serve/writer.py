"""The one writer of the journal: entries that come while others are being written are written together."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, final

from thalweg.serve import entries
from thalweg.serve.journal import Journal


class UnavailableError(Exception):
    """Nothing can be written down now; the sentence says why. A 503."""


class Pending(NamedTuple):
    """An entry on its way, and who waits for it."""

    entry: entries.Any_
    payload: bytes
    future: asyncio.Future[Any]


@final
class Writer:
    """Writes entries to the journal, and hands them on, in order, once they are written.

    on_written: is called in the loop's thread with the entries and the position of the first. full: says why nothing
    may be written, None: it may.
    """

    def __init__(
        self, journal: Journal, on_written: Callable[[list[Pending], int], None], full: Callable[[], str | None]
    ) -> None:
        self.journal = journal
        self.trouble: str | None = None
        """Why nothing can be written down; None: it can."""
        self._on_written, self._full = on_written, full
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pending: list[Pending] = []
        self._flushing = False
        self._more = threading.Condition()
        self._to_write: list[Pending] = []
        self._in_hand = 0
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to take entries, in the running loop."""
        self._loop = asyncio.get_running_loop()
        if self.journal.sync == "always":
            self._thread = threading.Thread(target=self._run, name="thalweg-journal", daemon=True)
            self._thread.start()

    async def stop(self) -> None:
        """Write what has come, and no more."""
        while self._pending or self._to_write or self._in_hand:
            await asyncio.sleep(0.002)
        self._stopping = True
        with self._more:
            self._more.notify_all()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, 30.0)

    async def submit(self, entry: entries.Any_) -> Any:
        """Write an entry down, and give the reply to it. Refused where nothing can be written down."""
        if self.trouble is not None:
            raise UnavailableError(self.trouble)
        assert self._loop is not None
        future: asyncio.Future[Any] = self._loop.create_future()
        self._pending.append(Pending(entry, entries.encode(entry), future))
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)
        return await future

    def _flush(self) -> None:
        """Write what has come together."""
        self._flushing = False
        batch, self._pending = self._pending, []
        why = self._full()
        if why is not None:
            self._failed(batch, OSError(why))
        elif self.journal.sync == "always":
            with self._more:
                self._to_write += batch
                self._in_hand += len(batch)
                self._more.notify()
        else:
            try:
                first = self.journal.append([pending.payload for pending in batch])
            except OSError as error:
                self._failed(batch, error)
            else:
                self._hand_on(batch, first)

    def _hand_on(self, batch: list[Pending], first: int) -> None:
        """Hand entries on; whatever goes wrong, nobody waits for ever."""
        try:
            self._on_written(batch, first)
        except Exception as error:
            for pending in batch:
                if not pending.future.done():
                    pending.future.set_exception(error)
            raise

    def _run(self) -> None:
        """The thread that brings entries to the disk, as many at once as have come."""
        assert self._loop is not None
        while True:
            with self._more:
                while not self._to_write and not self._stopping:
                    self._more.wait()
                batch, self._to_write = self._to_write, []
            if not batch:
                return
            try:
                first = self.journal.append([pending.payload for pending in batch])
            except OSError as error:
                self._loop.call_soon_threadsafe(self._failed, batch, error, len(batch))
            else:
                self._loop.call_soon_threadsafe(self._written, batch, first)

    def _written(self, batch: list[Pending], first: int) -> None:
        self._in_hand -= len(batch)
        self._hand_on(batch, first)

    def _failed(self, batch: list[Pending], error: OSError, in_hand: int = 0) -> None:
        self._in_hand -= in_hand
        why = self.say(error)
        for pending in batch:
            if not pending.future.done():
                pending.future.set_exception(UnavailableError(why))

    def say(self, error: OSError) -> str:
        """Write down why nothing can be written down."""
        self.trouble = f"the journal cannot be written: {error.strerror or error}"
        return self.trouble
