"""One cell of a grid: a learner on a stream with a seed, and the key under which its result is kept."""

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any, Literal, final

from thalweg import __version__
from thalweg.core.names import parse, steps
from thalweg.core.readings import Readings
from thalweg.evaluate.result import Result
from thalweg.registry import LEARNERS, known_name
from thalweg.registry.typed import (
    ENDLESS,
    is_endless,
    is_file,
    is_own,
    is_saved,
    make_learner,
    open_stream,
    split_budget,
)
from thalweg.streams.looking import told

REPORTS = 100
"""So many points has the curve of a run whose length is known."""
WINDOW = 1000
"""The least window of the windowed metrics."""


@final
@dataclass(frozen=True)
class Cell:
    """What one run needs; everything is text or a number, so that it can be sent to another process.

    >>> cell = Cell("naive-bayes", "sea", seed=1, limit=2000)
    >>> cell.run().rows
    2000
    """

    learner: str
    stream: str
    seed: int
    limit: int | None = None
    target: str | None = None
    window: int | None = None
    delay: int | Literal["time"] = 0
    options: str = ""
    """How a file is read, as JSON."""

    @property
    def key(self) -> str:
        """What the result is kept under: it changes with the version, and with a file that has changed."""
        made_of = [__version__, canonical(self.learner), self.stream, self.seed, self.limit, self.target, self.window]
        made_of += [self.delay, self.options] if self.delay or self.options else []
        if is_saved(self.learner):
            made_of += _about(self.learner)
        if is_file(self.stream) and os.path.exists(self.stream):
            made_of += _about(self.stream)
        return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()

    def run(self, on_progress: Any = None, *, learner: Any = None, stream: Any = None) -> Result:
        """Run the learner through the stream; those that are objects of the caller's are handed over."""
        from thalweg.evaluate.prequential import prequential

        if learner is None:
            learner = make_learner(self.learner, seed=self.seed)
        if stream is None:
            how = {"target": self.target, **json.loads(self.options or "{}")} if is_file(self.stream) else {}
            if "readings" in how:
                how["readings"] = Readings.from_json(how["readings"])
            if how and learner.schema is not None:
                how |= {"schema": learner.schema, "extra": "ignore"}
            stream = open_stream(self.stream, seed=self.seed, **how)
        told(stream)  # who asked for the comparison knows
        limit = ENDLESS if self.limit is None and is_endless(stream) else self.limit
        rows = [n for n in (limit, getattr(stream, "rows", None)) if isinstance(n, int)]
        every = max(1, min(rows) // REPORTS) if rows else WINDOW
        return prequential(
            stream, learner, limit=limit, every=every, window=self.window or max(WINDOW, every), delay=self.delay,
            on_progress=on_progress, name=self.learner, stream_name=self.stream,
        )  # fmt: skip


def _about(file: str) -> list[Any]:
    """Say which file this is, and whether it has changed."""
    about = os.stat(file)
    return [os.path.abspath(file), about.st_size, about.st_mtime_ns]


def canonical(learner: str) -> str:
    """Write a learner's text in the one way that all ways to write it share.

    >>> canonical("arf( size = 30,delta=1e-3 )@.70")
    'arf(delta=0.001, size=30)@0.7'
    >>> canonical("standard-scaler|arf(size=30)")
    'standard-scaler | arf(size=30)'
    """
    if is_saved(learner):
        return learner
    spec, budget = split_budget(learner)
    *before, last = steps(spec)
    parts = [*(_canonical(part, "columns") for part in before), _canonical(last, "learner")]
    return f"{' | '.join(parts)}{'' if budget is None else f'@{budget!r}'}"


def _canonical(part: str, first: str) -> str:
    if is_own(part):
        return part
    name, given = parse(part, first=first)
    name = known_name(name, LEARNERS) or name
    inside = ", ".join(f"{key}={given[key]!r}" for key in sorted(given))
    return f"{name}({inside})" if inside else name
