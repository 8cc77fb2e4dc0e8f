"""Run cells in worker processes, each with one thread, and tell what happens as it happens."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from thalweg import registry
from thalweg.comparison.cell import Cell
from thalweg.evaluate.result import Result

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_SOURCES = Path(__file__).resolve().parents[2]


@final
@dataclass(frozen=True)
class Event:
    """Something that happened to a cell: it goes on, it is finished (result), or it failed (error)."""

    cell: Cell
    stage: str
    """"starting", "compiling", "running", "finished" or "failed"."""
    rows: int = 0
    total: int | None = None
    accuracy: float | None = None
    result: Result | None = None
    error: str = ""
    kept: bool = False
    """Was the result there already?"""


def run_cells(cells: Sequence[Cell], jobs: int) -> Iterator[Event]:
    """Run all cells, ``jobs`` at a time. A cell that fails, or kills its process, is told, and the others go on."""
    inbox: queue.SimpleQueue[tuple[_Worker, str | None]] = queue.SimpleQueue()
    waiting = list(reversed(cells))
    busy: dict[_Worker, Cell] = {}
    try:
        while waiting and len(busy) < jobs:
            yield _hand(_Worker(inbox), waiting.pop(), busy)
        while busy:
            worker, line = inbox.get()
            if worker not in busy:  # one that was let go has ended
                continue
            event = _read(worker, busy[worker], line)
            yield event
            if event.stage not in ("finished", "failed"):
                continue
            del busy[worker]
            if waiting:
                yield _hand(_Worker(inbox) if line is None else worker, waiting.pop(), busy)
            elif line is not None:
                worker.end()
    finally:
        for worker in busy:
            worker.kill()


def run_here(
    cells: Sequence[Cell], learners: Mapping[str, Callable[[int], Any]], streams: Mapping[str, Callable[[int], Any]],
    tell: Callable[[Event], object],
) -> Iterator[Event]:  # fmt: skip
    """Run cells in this process, one after the other: those with objects that no other process has."""
    for cell in cells:
        yield Event(cell, "starting")

        def on_progress(now: Any, cell: Cell = cell) -> None:
            accuracy = None if now.accuracy != now.accuracy else now.accuracy
            tell(Event(cell, now.stage, now.rows, now.total, accuracy))

        try:
            own = {
                kind: makers[name](cell.seed)
                for kind, makers, name in (("learner", learners, cell.learner), ("stream", streams, cell.stream))
                if name in makers
            }
            yield Event(cell, "finished", result=cell.run(on_progress, **own))
        except Exception as error:
            yield Event(cell, "failed", error=" ".join(f"{type(error).__name__}: {error}".split()))


def _hand(worker: "_Worker", cell: Cell, busy: "dict[_Worker, Cell]") -> Event:
    busy[worker] = cell
    worker.give(cell)
    return Event(cell, "starting")


def _read(worker: "_Worker", cell: Cell, line: str | None) -> Event:
    """Understand what a worker says; None: it has died."""
    if line is None:
        return Event(cell, "failed", error=worker.last_words())
    told: dict[str, Any] = json.loads(line)
    if "result" in told:
        return Event(cell, "finished", result=Result.from_json(told["result"]))
    if "error" in told:
        return Event(cell, "failed", error=told["error"])
    return Event(cell, told["stage"], told["rows"], told["total"], told["accuracy"])


@final
class _Worker:
    """One process, and a thread that puts what it says into the inbox."""

    def __init__(self, inbox: "queue.SimpleQueue[tuple[_Worker, str | None]]") -> None:
        registered = registry.shared()
        path = os.pathsep.join([str(_SOURCES), *filter(None, [os.environ.get("PYTHONPATH")])])
        path = os.pathsep.join([path, *(os.path.abspath(folder) for folder in sys.path)])  # for what is the user's own
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "thalweg.comparison.worker", json.dumps(registered)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, encoding="utf-8",
            env={**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": path},
        )  # fmt: skip
        threading.Thread(target=self._listen, args=(inbox,), daemon=True).start()

    def _listen(self, inbox: "queue.SimpleQueue[tuple[_Worker, str | None]]") -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers:
            for line in answers:
                inbox.put((self, line))
        inbox.put((self, None))

    def give(self, cell: Cell) -> None:
        """Hand over a cell; a worker that is dead is heard of through the inbox."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(asdict(cell)) + "\n")
            self._process.stdin.flush()
        except OSError:
            pass

    def last_words(self) -> str:
        """Say how it died."""
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        self._close()
        return f"the process ended with code {code}{': ' if said else ''}{said}"

    def end(self) -> None:
        """Let it go: there is nothing more to do."""
        self._close()
        self._process.wait()

    def kill(self) -> None:
        """Stop it at once."""
        self._process.kill()
        self.end()

    def _close(self) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            pass
        self._errors.close()
