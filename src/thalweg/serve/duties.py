"""What an engine does now and then: bring the journal to the disk, expire tickets, write snapshots, try again."""

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any, final

import numpy as np

from thalweg.serve import entries
from thalweg.serve.writer import UnavailableError

if TYPE_CHECKING:
    from thalweg.serve.engine import Engine

_PATIENCE = 30.0  # seconds


@final
class Duties:
    """The duties of an engine, done in the loop's thread, files in one beside it."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self.writing: asyncio.Task[Any] | None = None
        """The snapshot that is being written."""
        self._snapshot_at, self._snapshot_time = engine.learning.position, time.monotonic()
        self._snapshot_worked = 0.0
        self._proposed = False

    async def run(self) -> None:
        """Do what is due now and then: bring the journal to the disk, expire tickets, write snapshots, try again."""
        loop, last = asyncio.get_running_loop(), time.monotonic()
        while True:
            await asyncio.sleep(0.05)
            if self._engine.journal.sync == "interval" and self._engine.journal.synced < self._engine.journal.position:
                try:
                    await loop.run_in_executor(self._engine.aside, self._engine.journal.bring_to_disk)
                except OSError as error:
                    self._engine.writer.say(error)
            if time.monotonic() - last < (1.0 if self._engine.trouble is None else 0.2):
                continue
            last = time.monotonic()
            try:
                if self._engine.trouble is not None and self._engine.applied == self._engine.journal.position:
                    await self._try_again()
                await self._expire()
                self.snapshot_if_due()
            except UnavailableError:
                pass  # it is tried again
            except OSError as error:
                self._engine.writer.say(error)

    async def _expire(self) -> None:
        if self._engine.max_seconds is None:
            return
        open_ = self._engine.book.open_tickets(wanted=False)
        if len(open_):
            _, _, notes, _ = self._engine.book.look(open_)
            old = int(np.searchsorted(notes["at"], time.time() - self._engine.max_seconds))
            if old:
                await self._engine.submit(entries.Expired(time.time(), int(open_[old - 1]) + 1))

    async def _try_again(self) -> None:
        if self._engine.full() is not None:
            self.snapshot_if_due(now=True)
            self._forget()
            return
        self._engine.writer.trouble = None
        await self._engine.submit(entries.Began(time.time(), {"again": True}))

    def snapshot_if_due(self, now: bool = False) -> None:
        if self.writing is not None and not self.writing.done():
            return
        since = self._engine.applied - self._snapshot_at
        late = time.monotonic() - self._snapshot_time >= self._engine.snapshot_seconds
        late |= self._engine.thread.worked - self._snapshot_worked >= self._engine.snapshot_work
        if since and (now or since >= self._engine.snapshot_rows or late or (since >= 50 and self._crowded())):
            self.writing = self._engine.task(self._snapshot_quietly())

    def _forget(self) -> None:
        """Remove what is not needed to start again; where the folder is crowded, not even should a snapshot be bad."""
        known = self._engine.snapshots.positions()
        if known:
            self._engine.journal.forget(known[-1] if self._crowded() else self._engine.snapshots.oldest())

    def _crowded(self) -> bool:
        return (
            self._engine.max_disk is not None
            and self._engine.journal.nbytes + self._engine.snapshots.nbytes > 0.5 * self._engine.max_disk
        )

    async def _snapshot_quietly(self) -> None:
        try:
            await self.snapshot()
        except UnavailableError:
            pass  # the writer refuses by itself when learning has failed
        except OSError as error:
            self._engine.writer.say(error)

    async def snapshot(self) -> int:
        """Write a snapshot of everything; give its position."""
        self._snapshot_time = time.monotonic()
        try:
            await asyncio.wait_for(self._engine.answering.acquire(), _PATIENCE)
        except TimeoutError:
            raise UnavailableError("answers to a topic wait for their broker, and so does the snapshot") from None
        try:
            arrays, header = await self._copy()
        finally:
            self._engine.answering.release()

        def write() -> None:
            self._engine.journal.bring_to_disk()
            self._engine.snapshots.write(header["learning"]["position"], arrays, header)
            self._forget()

        await asyncio.get_running_loop().run_in_executor(self._engine.aside, write)
        return int(header["learning"]["position"])

    async def _copy(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Copy everything at one position; answers to topics are out up to there."""
        engine = self._engine
        outlet = engine.outlet if engine.outlet_state is None else await asyncio.to_thread(engine.outlet_state)
        self._snapshot_at, self._snapshot_worked, book = engine.applied, engine.thread.worked, engine.book.state()
        copied: tuple[dict[str, Any], dict[str, Any]] = await engine.in_learner(lambda: engine.everything(book, outlet))
        return copied

    def propose(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ask for a promotion where the rule says so. It takes effect when its entry comes in the journal."""
        if self._engine.promote_rule is None or self._proposed:
            return
        shadow = self._engine.learning.ready_to_promote()
        if shadow is not None:
            self._proposed = True
            c = shadow.contest
            why = f"right where the other was wrong {c.wins} times, the other way round {c.losses} times"
            loop.call_soon_threadsafe(self._promote_soon, shadow.name, why)

    def _promote_soon(self, name: str, why: str) -> None:
        async def do() -> None:
            with contextlib.suppress(UnavailableError, ValueError):
                await self._engine.promote(name, why)
            self._proposed = False

        self._engine.task(do())
