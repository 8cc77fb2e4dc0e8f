"""What ``thalweg demo`` shows: a stream whose concept changes three times, and learners side by side."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg import registry
from thalweg.evaluate.prequential import prequential
from thalweg.streams.drift import DriftStream
from thalweg.streams.generators.agrawal import Agrawal

if TYPE_CHECKING:
    from thalweg.evaluate.prequential import Progress
    from thalweg.evaluate.result import Result

LEARNERS = ("majority", "naive-bayes", "hoeffding-tree", "leveraging-bagging", "arf")
SIZE = 10
"""Members of the forests."""
FUNCTIONS = (3, 4, 1, 7)
"""Of the AGRAWAL stream, one after the other."""


def drifting_stream(rows: int, seed: int) -> DriftStream:
    """Loan applications whose rule changes at a quarter, a half and three quarters of the stream."""
    quarter = rows // 4
    concepts = [Agrawal(function=f, seed=seed + i) for i, f in enumerate(FUNCTIONS)]
    stream: Any = concepts[-1]
    for i in reversed(range(len(concepts) - 1)):
        stream = DriftStream(concepts[i], stream, position=quarter, width=max(1, quarter // 50), seed=seed + 10 + i)
    return stream  # type: ignore[no-any-return]


def run_demo(rows: int, seed: int, watch: "Callable[[str], Callable[[Progress], None]]") -> "list[Result]":
    """Run every learner of the demo over the same stream."""
    results = []
    for name in LEARNERS:
        stream = drifting_stream(rows, seed)
        entry = registry.LEARNERS[name]
        learner = entry.make(**({"size": SIZE} if "size" in registry.parameters(entry.cls) else {}))
        results.append(
            prequential(
                stream,
                learner,
                limit=rows,
                every=max(500, rows // 200),
                window=max(500, rows // 100),
                on_progress=watch(name),
                name=name,
                stream_name="AGRAWAL with three drifts",
            )
        )
    return results


def write_demo(results: "list[Result]", folder: Path) -> list[Path]:
    """Write the picture and the page; give their paths."""
    from thalweg.evaluate.plots import curves
    from thalweg.evaluate.report import page

    picture, web = folder / "thalweg-demo.png", folder / "thalweg-demo.html"
    curves(results, picture, size=(8.0, 5.4))
    page(
        results, web, title="Five learners on a stream that changes three times",
        words="Loan applications (the AGRAWAL generator). The rule that decides them changes at the dashed lines; "
        "every record is predicted before its label is used.",
    )  # fmt: skip
    return [picture, web]
