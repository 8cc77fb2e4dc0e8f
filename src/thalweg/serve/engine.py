"""The engine of the service: one writer of the journal, one book, one thread that learns, immutable versions.

A request becomes an entry. Entries are written to the journal together (group commit); only then are they applied to
the book, in order, and answered: what was acknowledged is in the journal. The jobs that follow are queued for the
thread that learns, so that no answer ever waits for learning. A new version takes the place of the old one every so
many learned rows, every so many seconds, or at a drift.

Which version answers. With ``every`` a number of rows or of seconds, an answer comes from the newest version, which
lags by at most that much plus what is queued. With ``every="each"`` it comes from the learner itself, after everything
that was acknowledged before: then the sequence of requests gives, bit for bit, what ``prequential`` with the same
delays gives. Scores compare a label with the probabilities that were answered when its record came; records that come
with their labels are tested by the learner at the moment at which they are learned.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from thalweg.active.strategy import Strategy
from thalweg.core import params
from thalweg.core.classifier import Classifier
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under
from thalweg.serve import entries
from thalweg.serve.book import Book
from thalweg.serve.contest import Contest
from thalweg.serve.duties import Duties
from thalweg.serve.jobs import Given, Outcome
from thalweg.serve.journal import Journal
from thalweg.serve.keeping import Snapshots
from thalweg.serve.learning import Event, Learning, Version
from thalweg.serve.thread import LearningThread, Work
from thalweg.serve.writer import Pending, UnavailableError, Writer

Floats = NDArray[np.float64]


_VIEW = 0.5  # seconds
_REPLAYED = 512
"""Entries that are replayed together."""


@final
class Engine:
    """Learns what requests bring, and keeps all of it in a folder.

    Parameters
    ----------
    learner : Classifier
        The champion; one that asks for labels (``ActiveLearner``) brings its strategy along.
    folder : str | os.PathLike[str]
        For the journal and the snapshots. One that has some is continued.
    name : str
        What to call the champion.
    strategy : Strategy | None
        Decides which labels are wanted; None: all are.
    shadows : Mapping[str, Classifier] | None
        Challengers by name.
    schema : Schema | None
        The features, and the classes, where they are known beforehand.
    every : int | float | Literal["each"]
        A whole number: learned rows between versions. A number with a fraction, or any with ``seconds=True``: seconds.
    sync : Literal["always", "interval", "never"]
        See ``Journal``.
    window : int
        Labels of the rolling metrics.
    max_open, max_age : int, int | None
        See ``ActiveLearner``.
    max_seconds : float | None
        A ticket is also let go of when so many seconds have passed; None: time does not matter.
    max_behind : int
        Rows that may wait to be learned; more are refused until some are done.
    max_disk : int | None
        Bytes of the folder; None: as many as there are.
    snapshot_rows, snapshot_seconds, snapshot_work : int, float, float
        A snapshot is written after so many entries or seconds, or when learning has taken so many seconds of the
        processor, so that a replay takes about as long at most.
    keep : int
        Snapshots that are kept: to start from, and to roll back to.
    promote : Contest | None
        The test by which a shadow takes the champion's place by itself; None: only a person promotes.
    """

    def __init__(
        self,
        learner: Classifier,
        folder: str | os.PathLike[str],
        *,
        name: str = "champion",
        strategy: Strategy | None = None,
        shadows: Mapping[str, Classifier] | None = None,
        schema: Schema | None = None,
        every: float | Literal["each"] = 1_000,
        seconds: bool = False,
        sync: Literal["always", "interval", "never"] = "always",
        window: int = 1_000,
        max_open: int = 100_000,
        max_age: int | None = None,
        max_seconds: float | None = None,
        max_behind: int = 200_000,
        max_disk: int | None = None,
        snapshot_rows: int = 100_000,
        snapshot_seconds: float = 300.0,
        snapshot_work: float = 5.0,
        keep: int = 3,
        promote: Contest | None = None,
    ) -> None:
        if not isinstance(learner, Classifier):
            raise TypeError(f"learner must be a learner of this library, got {params.shown(learner)}")
        if learner.unsavable:
            raise TypeError(learner.unsavable)
        for what, number in (("window", window), ("max_open", max_open), ("max_behind", max_behind), ("keep", keep),
                             ("snapshot_rows", snapshot_rows)):  # fmt: skip
            params.whole(what, number, least=1)
        if max_disk is not None:
            params.whole("max_disk", max_disk, least=1 << 24)
        if every != "each":
            params.number("every", every, above=0)
        if learner.asks:
            asking: Any = learner
            strategy, learner = strategy or asking.policy, asking.model
        self.each = every == "each"
        in_seconds = not self.each and (seconds or isinstance(every, float))
        self.every_rows = float("inf") if self.each or in_seconds else int(every)
        self.every_seconds = float(every) if in_seconds else float("inf")
        self.max_behind, self.max_disk, self.max_seconds = max_behind, max_disk, max_seconds
        self.snapshot_rows, self.snapshot_seconds, self.snapshot_work = snapshot_rows, snapshot_seconds, snapshot_work
        self.promote_rule = promote
        self.templates: dict[str, Classifier] = {name: learner, **(shadows or {})}
        if len(self.templates) != 1 + len(shadows or {}):
            raise ValueError(f"shadows must have other names than the champion, got {name!r} twice")
        self.missing = all(each.missing == "native" for each in self.templates.values())
        self._wanted_schema = schema if schema is not None else learner.schema
        self.snapshots = Snapshots(folder, keep=keep)
        self.snapshots.claim()
        try:
            segment = 64 << 20 if max_disk is None else max(1 << 16, min(64 << 20, max_disk // 16))
            self.journal = Journal(os.path.join(folder, "journal"), sync=sync, segment=segment)
            lacking = np.nan if self.missing else 0.0
            self.book = Book(
                strategy=None if strategy is None else strategy.copy(), max_open=max_open, max_age=max_age,
                lacking=lacking,
            )  # fmt: skip
            self.learning = Learning(
                (name, learner), {n: s for n, s in self.templates.items() if n != name}, labels=self.book.labels,
                asking=strategy is not None, window=window, room=max_open, contest=promote or Contest(),
            )  # fmt: skip
            self.learning.rollback = self.snapshots.champion
            self._recover()
        except BaseException:
            self.snapshots.release()
            raise
        rows, often = (float("inf"), float("inf")) if self.each else (self.every_rows, self.every_seconds)
        self.thread = LearningThread(self.learning, rows=rows, seconds=often, after=self._after)
        self.writer = Writer(self.journal, self._written, self.full)
        self.on_events: Callable[[list[Event]], object] | None = None
        """Called in the loop's thread when something happened, with the latest drifts, promotions and rollbacks."""
        self.view_of: Callable[[Learning], Any] | None = None
        """Sums up what the thread that learns knows; called in it, at most twice a second."""
        self.viewed = 0.0
        self.seen: Any = None
        self._last_event = self.learning.events[-1] if self.learning.events else None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn, self._growing = asyncio.Lock(), asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.duties = Duties(self)
        self.aside = ThreadPoolExecutor(1, "thalweg-files")
        self.answering = asyncio.Lock()
        """Held from the writing down of a topic's records until their answers are out."""
        self.outlet_state: Callable[[], dict[str, Any]] | None = None
        """Brings answers to their broker, and says how far they are; called in a thread, ``answering`` held."""

    # -- recovery -----------------------------------------------------------------------------------------------------

    def _recover(self) -> None:
        """Start from the newest good snapshot, and replay what the journal has behind it."""
        began = time.perf_counter()
        found = self.snapshots.newest()
        if found is not None:
            arrays, header = found
            self.book.restore(under("book", arrays))
            self.learning.labels = self.book.labels
            self.learning.restore(arrays, header["learning"], self.templates)
        elif self.journal.first > 1:
            raise ValueError(f"{self.snapshots.folder} must have a snapshot for its journal, which begins late")
        elif self.journal.position == 0:
            self.snapshots.write(0, *self.everything(self.book.state(), {}))
        self.outlet = {} if found is None else under("outlet", found[0])
        """How far the answers to topics were when the snapshot was written."""
        self.unsent: list[tuple[entries.Records, Given]] = []
        """Records of topics that were answered after that."""
        self.replayed = 0
        work: Work = []
        for position, payload in self.journal.read(after=self.learning.position):
            entry = entries.decode(payload)
            jobs, reply = self.book.apply(entry)
            work.append((position, jobs))
            if isinstance(entry, entries.Records) and entry.source is not None and isinstance(reply, Given):
                self.unsent.append((entry, reply))
            self.replayed += 1
            if len(work) == _REPLAYED:
                self.learning.carry_out(work)
                work = []
        self.learning.carry_out(work)
        self.applied = self.journal.position
        """The last position that the book knows."""
        self.recovery_seconds = time.perf_counter() - began

    def everything(self, book: dict[str, Any], outlet: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a snapshot holds, with this state of the book and of the answers to topics: arrays, and a header."""
        arrays, about = self.learning.state()
        return arrays | prefixed("book", book) | prefixed("outlet", outlet), {"learning": about}

    # -- life ---------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to take requests."""
        self._loop = asyncio.get_running_loop()
        self.thread.start()
        self.writer.start()
        self.task(self.duties.run())
        if self.book.schema is None and self._wanted_schema is not None:
            await self.submit(entries.Grown(time.time(), self._wanted_schema.to_json()))
            await self.in_learner(lambda: None)

    async def stop(self) -> None:
        """Write down everything, with a last snapshot, and let go of the folder."""
        for task in list(self._tasks):
            task.cancel()
        await self.writer.stop()
        with contextlib.suppress(OSError, UnavailableError):
            await self.snapshot()
        await self.thread.stop()
        self.aside.shutdown(wait=True)
        self.close()

    def close(self) -> None:
        """Let go of the folder; for an engine that was never started, or has stopped."""
        self.journal.close()
        self.snapshots.release()

    def task(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Let something be done beside, until the engine stops."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- entries ------------------------------------------------------------------------------------------------------

    async def submit(self, entry: entries.Any_) -> Any:
        """Write an entry down, apply it, and give the reply. Refused where nothing can be written down."""
        return await self.writer.submit(entry)

    def _written(self, batch: list[Pending], first: int) -> None:
        """Apply entries that are in the journal."""
        try:
            done = self.book.apply_all([pending.entry for pending in batch])
        except Exception as error:  # a defect: what is written can no longer be followed, so that nothing more may be
            self.writer.trouble = f"the journal cannot be followed at position {first}: {error}"
            for pending in batch:
                if not pending.future.done():
                    pending.future.set_exception(UnavailableError(self.writer.trouble))
            raise
        work: Work = [(position, jobs) for position, (jobs, _) in enumerate(done, first) if jobs]
        if not work or work[-1][0] != first + len(batch) - 1:
            work.append((first + len(batch) - 1, []))
        for pending, (_, reply) in zip(batch, done, strict=True):
            if not pending.future.done():
                pending.future.set_result(reply)
        self.applied = first + len(batch) - 1
        self.thread.put(work)
        self.duties.snapshot_if_due()

    def full(self) -> str | None:
        """Why nothing may be written down; None: it may."""
        if self.thread.failed is not None:
            return self.thread.failed
        if self.max_disk is None or self.journal.nbytes + self.snapshots.nbytes <= self.max_disk:
            return None
        return f"the folder has reached its ceiling of {self.max_disk:,} bytes"

    @property
    def trouble(self) -> str | None:
        """Why nothing can be written down; None: it can."""
        return self.writer.trouble or self.thread.failed

    @property
    def version(self) -> Version:
        """What answers."""
        return self.thread.version

    @property
    def behind(self) -> int:
        """Rows that wait to be learned."""
        return self.thread.behind

    async def in_learner(self, call: Callable[[], Any]) -> Any:
        """Let the thread that learns do something, after all that is queued."""
        return await self.thread.call(call)

    # -- requests -----------------------------------------------------------------------------------------------------

    async def grow(self, schema: Schema) -> None:
        """Let the schema be this one, which begins with the present one."""
        async with self._growing:
            now = self.book.schema
            if now is None or schema != now:
                await self.submit(entries.Grown(time.time(), schema.to_json()))

    def answer(self, X: Floats) -> tuple[Floats, Version]:
        """Answer rows from the newest version."""
        version = self.version
        return version.model.predict_proba(_fitted(X, version.features)), version

    async def records(
        self, X: Floats, ids: list[Any] | None = None, key: str | None = None, source: bytes | None = None
    ) -> Given:
        """Answer rows, and record them. Where nothing can be written down, those of a topic (source) wait."""
        if self.each:
            async with self._turn:
                proba, version = await self.in_learner(lambda: self._say(X))
                return await self.record(X, proba, version, ids, key, source)
        proba, version = self.answer(X)
        return await self.record(X, proba, version, ids, key, source)

    def _say(self, X: Floats) -> tuple[Floats, Version]:
        learning = self.learning
        proba = learning.learner.predict_proba(_fitted(X, 0 if learning.schema is None else learning.schema.n_features))
        return proba, Version(learning.position, learning.learned, 0.0, learning.learner,
                              learning.learner.classes_.tolist(), X.shape[1])  # fmt: skip

    async def record(
        self, X: Floats, proba: Floats, version: Version, ids: Any, key: str | None, source: bytes | None = None
    ) -> Given:
        """Record rows that a version has answered."""
        said = proba.tobytes()
        try:
            entry = entries.Records(
                time.time(), len(X), X.tobytes(), said, version.classes, version.number, ids, key, source
            )  # fmt: skip
            reply: Given | Outcome = await self.submit(entry)
            if isinstance(reply, Outcome):
                raise ValueError(
                    reply.refused or "the key must be that of a request for answers, it was one for labels"
                )
            return reply
        except UnavailableError:
            if source is not None:
                raise
            return Given(-1, len(X), bytes(len(X)), said, version.classes, version.number)

    async def labels(
        self, labels: list[Any], *, tickets: list[int] | None = None, ids: list[Any] | None = None,
        key: str | None = None, expert: str | None = None, source: bytes | None = None,
    ) -> Outcome:  # fmt: skip
        """Take labels of earlier records."""
        await self._room()
        entry = entries.Told(time.time(), labels, tickets, ids, key, expert, source)
        if self.each:
            async with self._turn:
                return await self._outcome(entry)
        return await self._outcome(entry)

    async def _outcome(self, entry: entries.Any_) -> Outcome:
        reply: Outcome = await self.submit(entry)
        return reply

    async def learn(
        self, X: Floats, labels: list[Any], *, key: str | None = None, source: bytes | None = None
    ) -> Outcome:
        """Take records with their labels."""
        await self._room()
        if self.book.policy is None:
            async with self._turn if self.each else contextlib.nullcontext():
                return await self._outcome(
                    entries.Learned(time.time(), len(X), X.tobytes(), labels, key=key, source=source)
                )
        if not self.each:
            proba, version = self.answer(X)
            entry = entries.Learned(
                time.time(), len(X), X.tobytes(), labels, proba.tobytes(), version.classes, key, source
            )  # fmt: skip
            return await self._outcome(entry)
        async with self._turn:  # each row is decided on by the learner that knows all rows before
            learned = 0
            for r in range(len(X)):
                row = X[r : r + 1]
                proba, version = await self.in_learner(lambda row=row: self._say(row))  # type: ignore[misc]
                one = None if key is None else f"{key}/{r}"
                reply = await self._outcome(entries.Learned(
                    time.time(), 1, row.tobytes(), labels[r : r + 1], proba.tobytes(), version.classes, one
                ))  # fmt: skip
                if reply.refused is not None:
                    return Outcome(learned, r, refused=reply.refused)
                learned += reply.learned
            return Outcome(learned, len(X))

    async def promote(self, name: str, why: str) -> None:
        """Let a shadow take the champion's place."""
        if name not in [shadow.name for shadow in self.learning.shadows]:
            names = [shadow.name for shadow in self.learning.shadows]
            raise ValueError(f"name must be that of a shadow, one of {params.shown(names)}, got {params.shown(name)}")
        await self.submit(entries.Promoted(time.time(), name, why))
        await self.in_learner(self.thread.swap)

    async def roll_back(self, position: int, why: str) -> None:
        """Let the champion know again what it knew at the position of a snapshot."""
        known = self.snapshots.positions()
        if position not in known:
            raise ValueError(f"version must be one that is kept, one of {known}, got {position}")
        name, _ = await asyncio.get_running_loop().run_in_executor(self.aside, self.snapshots.champion, position)
        if name != self.learning.name:
            raise ValueError(f"version must be of the champion {self.learning.name}, {position} is of {name}")
        self.snapshots.pin(position)
        await self.submit(entries.RolledBack(time.time(), position, why))
        await self.in_learner(self.thread.swap)
        await self.snapshot()
        self.snapshots.unpin(position)

    async def snapshot(self) -> int:
        """Write a snapshot of everything; give its position."""
        return await self.duties.snapshot()

    async def _room(self) -> None:
        """Wait until there is room for more to be learned."""
        until = time.monotonic() + 10.0
        while self.behind > self.max_behind:
            if time.monotonic() > until:
                raise UnavailableError(f"learning is more than {self.max_behind:,} rows behind")
            await asyncio.sleep(0.01)

    # -- in the thread that learns ------------------------------------------------------------------------------------

    def _after(self, drift: bool) -> None:
        if self._loop is None:
            return
        if self.view_of is not None and time.monotonic() - self.viewed >= _VIEW:
            self.view()
        if len(self.learning.events) and self.learning.events[-1] is not self._last_event:
            self._last_event = self.learning.events[-1]
            if self.on_events is not None:
                self._loop.call_soon_threadsafe(self.on_events, list(self.learning.events))
        self.duties.propose(self._loop)

    def view(self) -> Any:
        """Sum up what is known; in the thread that learns."""
        if self.view_of is not None:
            self.seen, self.viewed = self.view_of(self.learning), time.monotonic()
        return self.seen

    async def look(self) -> Any:
        """What the thread that learns knew last, or knows now where it has nothing to do."""
        if self.behind == 0 or self.seen is None:
            return await self.in_learner(self.view)
        return self.seen


def _fitted(X: Floats, features: int) -> Floats:
    """Rows as a version knows them that was made before some features joined."""
    return np.ascontiguousarray(X[:, :features]) if 0 < features < X.shape[1] else X
