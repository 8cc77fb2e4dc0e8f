"""One cell of a grid: a learner on a stream with a seed, and the key under which its result is kept."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from typing import Any, final

from thalweg import __version__
from thalweg.core.names import parse
from thalweg.evaluate.result import Result
from thalweg.registry.typed import ENDLESS, is_endless, is_file, make_learner, open_stream, split_budget

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

    @property
    def key(self) -> str:
        """What the result is kept under: it changes with the version, and with a file that has changed."""
        made_of = [__version__, canonical(self.learner), *list(asdict(self).values())[1:]]
        if is_file(self.stream) and os.path.exists(self.stream):
            about = os.stat(self.stream)
            made_of += [os.path.abspath(self.stream), about.st_size, about.st_mtime_ns]
        return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()

    def run(self, on_progress: Any = None) -> Result:
        """Run the learner through the stream."""
        from thalweg.evaluate.prequential import prequential

        learner = make_learner(self.learner, seed=self.seed)
        target = self.target if is_file(self.stream) else None
        stream = open_stream(self.stream, seed=self.seed, target=target)
        limit = ENDLESS if self.limit is None and is_endless(stream) else self.limit
        rows = [n for n in (limit, getattr(stream, "rows", None)) if isinstance(n, int)]
        every = max(1, min(rows) // REPORTS) if rows else WINDOW
        return prequential(
            stream, learner, limit=limit, every=every, window=self.window or max(WINDOW, every),
            on_progress=on_progress, name=self.learner, stream_name=self.stream,
        )  # fmt: skip


def canonical(learner: str) -> str:
    """Write a learner's text in the one way that all ways to write it share.

    >>> canonical("arf( size = 30,delta=1e-3 )@.70")
    'arf(delta=0.001, size=30)@0.7'
    """
    spec, budget = split_budget(learner)
    name, given = parse(spec)
    inside = ", ".join(f"{key}={given[key]!r}" for key in sorted(given))
    return f"{name}{f'({inside})' if inside else ''}{'' if budget is None else f'@{budget!r}'}"
