"""The thread that learns: it carries out jobs in order, and makes versions when they are due."""

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, final

from thalweg.serve.jobs import Answers, Growth, Job
from thalweg.serve.learning import Learning, Version
from thalweg.serve.writer import UnavailableError

log = logging.getLogger("thalweg.serve")
Work = list[tuple[int, list[Job]]]
_SLICE = 4_096
"""Rows that are learned before the thread looks up."""
_LAZY, _MANY = 0.05, 256
"""Answers without labels are only counted: that waits for so many seconds, or entries, so that it is done together."""


@final
class LearningThread:
    """Learns apart from those who answer.

    rows, seconds: after so many learned rows, or seconds, the next version is made, the first ones sooner; infinite
    both: never. after: called in this thread when jobs were carried out; told whether a drift was found.
    """

    def __init__(self, learning: Learning, *, rows: float, seconds: float, after: Callable[[bool], None]) -> None:
        self.learning, self.rows, self.seconds, self._after = learning, rows, seconds, after
        self.version: Version = learning.make_version()
        """What answers; replaced as a whole."""
        self.swaps = 0
        self.worked = 0.0
        """Seconds of the processor that went into learning: about what a replay would take."""
        self.on_version: Callable[[Version], None] | None = None
        """Called in this thread with each new version."""
        self.failed: str | None = None
        """Why nothing can be learned any more, which is a defect; None: it can."""
        self._wake = threading.Condition()
        self._queue: deque[Any] = deque()
        self._urgent = False
        """Is there anything in the queue that somebody waits for?"""
        self._lazy_since: float | None = None
        self._in = self._done = 0
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="thalweg-learning", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    async def stop(self) -> None:
        """Finish what is queued, and end."""
        self._stopping = True
        with self._wake:
            self._wake.notify_all()
        await asyncio.to_thread(self._thread.join, 60.0)

    def put(self, work: Work) -> None:
        """Queue the jobs of entries, each with its position."""
        with self._wake:
            for position, jobs in work:
                rows = sum(len(getattr(job, "y", ())) for job in jobs)
                self._in += rows
                self._queue.append((position, jobs, rows))
                self._urgent |= not all(type(job) is Answers for job in jobs)
            if self._urgent or len(self._queue) >= _MANY:
                self._urgent = True
                self._wake.notify()
            elif self._lazy_since is None:
                self._lazy_since = time.monotonic()
                self._wake.notify()

    async def call(self, what: Callable[[], Any]) -> Any:
        """Let the thread do something after all that is queued, and give what it gave."""
        future: Future[Any] = Future()
        with self._wake:
            if self.failed is not None:
                raise UnavailableError(self.failed)
            self._queue.append((what, future))
            self._urgent = True
            self._wake.notify()
        return await asyncio.wrap_future(future)

    @property
    def behind(self) -> int:
        """Rows that wait to be learned."""
        return self._in - self._done

    def swap(self) -> None:
        """Let a version of the champion as it is now answer."""
        self.version = version = self.learning.make_version()
        self.swaps += 1
        if self.on_version is not None:
            self.on_version(version)

    def _run(self) -> None:
        """Work until told to stop; where that fails, nobody waits for what will not be done."""
        try:
            self._work()
        except Exception as error:
            log.exception("learning failed")
            with self._wake:
                self.failed = f"learning failed: {error}"
                waiting = [item[1] for item in self._queue if callable(item[0])]
            for future in waiting:
                if future.set_running_or_notify_cancel():
                    future.set_exception(UnavailableError(self.failed))

    def _work(self) -> None:
        learning, swapped, learned = self.learning, time.monotonic(), self.learning.learned
        while True:
            with self._wake:
                while not self._urgent and not self._stopping:
                    now = time.monotonic()
                    waits = [self.seconds - (now - swapped)] if learned < learning.learned else []
                    if self._lazy_since is not None:
                        waits.append(self._lazy_since + _LAZY - now)
                    until = min(waits, default=math.inf)
                    if until <= 0.0:
                        break
                    self._wake.wait(None if until == float("inf") else min(until, 3600.0))
                if not self._queue and self._stopping:
                    return
                work, rows, call = self._take()
            began = time.thread_time()
            try:
                drift = learning.carry_out(work)
            except Exception:
                if call is not None:
                    self._queue.appendleft(call)  # it is told, too
                raise
            self.worked += time.thread_time() - began
            self._done += rows
            if call is not None:
                _fulfil(*call)
            self._after(drift)
            more = learning.learned - learned
            late = time.monotonic() - swapped >= self.seconds
            grown = any(isinstance(job, Growth) for _, jobs in work for job in jobs)
            versions = min(self.rows, self.seconds) < math.inf
            soon = min(self.rows, max(1, learned))  # the first versions come early: after 1, 2, 4, … rows
            if versions and ((more and (more >= soon or late or drift)) or grown):
                self.swap()
                swapped, learned = time.monotonic(), learning.learned

    def _take(self) -> tuple[Work, int, Any]:
        """Take from the queue as much as may be done together."""
        work: Work = []
        call = None
        rows, most = 0, min(_SLICE, self.rows, max(1, self.learning.learned))
        while self._queue and rows < most and len(work) < _SLICE:
            item = self._queue.popleft()
            if callable(item[0]):
                call = item
                break
            work.append(item[:2])
            rows += item[2]
        if not self._queue:
            self._urgent, self._lazy_since = False, None
        return work, rows, call


def _fulfil(call: Callable[[], Any], future: "Future[Any]") -> None:
    """Do what was asked for, unless whoever asked has gone: a future that was cancelled takes no result."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:
        future.set_exception(error)
