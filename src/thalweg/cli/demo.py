"""The command ``thalweg demo``: a stream whose concept changes three times, and learners side by side."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thalweg.cli import shared
from thalweg.registry.typed import make_learner

if TYPE_CHECKING:
    from thalweg.evaluate.prequential import Progress
    from thalweg.evaluate.result import Result
    from thalweg.streams.drift import DriftStream

LEARNERS = {
    "majority": "majority",
    "naive-bayes": "naive-bayes",
    "hoeffding-tree": "hoeffding-tree",
    "leveraging-bagging": "leveraging-bagging(size=10)",
    "arf": "arf(size=10)",
    "sdf": "sdf(size=5)",
    "sdf, 70 % of labels": "sdf(size=5)@0.7",
}
MEANWHILE = "arf", "sdf"
"""Learners whose code another process compiles while the first of them run."""
FUNCTIONS = (3, 4, 1, 7)
"""Of the AGRAWAL stream, one after the other."""


def demo(
    limit: Annotated[int, typer.Option(help="Rows of the stream.", min=1000)] = 100_000,
    out: Annotated[Path, typer.Option(help="Folder for the picture and the page.")] = Path(),
    seed: Annotated[int, typer.Option(help="Seed of the stream.", min=0)] = 1,
) -> None:
    """Learn a drifting stream with several learners: progress, a table, a picture and a page."""
    from thalweg.show.tables import side_by_side

    shared.check_paths(out / "thalweg-demo.html", plot=out / "thalweg-demo.png")
    with shared.progress() as watch, compiling_meanwhile():
        results = run_demo(limit, seed, watch)
    shared.show_on_terminal(side_by_side(results, metrics=("accuracy", "kappa", "auc")))
    for path in write_demo(results, out, f"thalweg demo --limit {limit} --seed {seed}"):
        print(f"written: {path}")


@contextmanager
def compiling_meanwhile() -> Iterator[None]:
    """Let another process compile what the forests need, where that is to be done and there is a core for it.

    Whichever process comes first to a routine compiles it, and the other one waits for it.
    """
    from thalweg.jit.compile import has_code

    forests = Path(__file__).parent.parent / "learners" / "forests" / "forest_jit.py"
    if (os.cpu_count() or 1) < 2 or has_code(forests):
        yield
        return
    command = [sys.executable, "-m", "thalweg", "warmup", *MEANWHILE]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as helper:
        try:
            yield
        finally:
            helper.terminate()


def drifting_stream(rows: int, seed: int) -> "DriftStream":
    """Loan applications whose rule changes at a quarter, a half and three quarters of the stream."""
    from thalweg.streams.drift import DriftStream
    from thalweg.streams.generators.agrawal import Agrawal

    quarter = rows // 4
    concepts = [Agrawal(function=f, seed=seed + i) for i, f in enumerate(FUNCTIONS)]
    stream: Any = concepts[-1]
    for i in reversed(range(len(concepts) - 1)):
        stream = DriftStream(concepts[i], stream, position=quarter, width=max(1, quarter // 50), seed=seed + 10 + i)
    return stream  # type: ignore[no-any-return]


def run_demo(rows: int, seed: int, watch: "Callable[[str], Callable[[Progress], None]]") -> "list[Result]":
    """Run every learner of the demo over the same stream."""
    from thalweg.evaluate.prequential import prequential

    results = []
    for name, text in LEARNERS.items():
        results.append(
            prequential(
                drifting_stream(rows, seed), make_learner(text), limit=rows, every=max(500, rows // 200),
                window=max(500, rows // 100), on_progress=watch(name), name=name,
                stream_name="AGRAWAL with three drifts",
            )
        )  # fmt: skip
    return results


def write_demo(results: "list[Result]", folder: Path, command: str = "thalweg demo") -> list[Path]:
    """Write the picture and the page, with the command that makes them; give their paths."""
    from thalweg.show.plots import curves
    from thalweg.show.run_page import page

    picture, web = folder / "thalweg-demo.png", folder / "thalweg-demo.html"
    curves(results, picture)
    page(
        results, web, title="Seven learners on a stream that changes three times",
        words="Loan applications (the AGRAWAL generator). The rule that decides them changes at the dashed lines; "
        "every record is predicted before its label is used.",
        command=command,
    )  # fmt: skip
    return [picture, web]
