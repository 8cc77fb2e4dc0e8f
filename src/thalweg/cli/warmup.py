"""The command ``thalweg warmup``: compile everything beforehand."""

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import registry
from thalweg.cli import shared
from thalweg.cli.names import complete_learners

ROWS = 2_000
Watch = Callable[[str], Callable[[Any], None]]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[LEARNER]...", help="Learners; by default all, and all streams.", autocompletion=complete_learners
    ),
]
Processes = Annotated[int, typer.Option("--jobs", help="Processes at a time; 0: one for each core.", min=0)]


def warmup(learners: Names = None, jobs: Processes = 1) -> None:
    """Compile everything now, once, so that no later command waits for it."""
    for name in learners or ():
        registry.find("learner", name, registry.LEARNERS)
    names = [registry.known_name(name, registry.LEARNERS) or name for name in learners or ()]
    begun = time.perf_counter()
    with shared.progress() as watch:
        compile_all(tasks(names), jobs or os.cpu_count() or 1, watch)
    print(f"compiled in {time.perf_counter() - begun:.1f} s; kept for later runs")


def tasks(learners: Iterable[str] = ()) -> list[list[str]]:
    """Give what to compile, as lists of names: a process of its own is worth while for each list.

    Learners of one family have most of their code in common, and so have all streams.
    """
    families: dict[str, list[str]] = {}
    for name in learners or registry.LEARNERS:
        families.setdefault(registry.LEARNERS[name].family, []).append(name)
    return [*families.values(), *([] if learners else [["streams"], ["files"]])]


def compile_all(todo: list[list[str]], jobs: int, watch: Watch) -> None:
    """Compile what each list needs, in so many processes."""
    if jobs == 1 or len(todo) == 1:
        for names in todo:
            compile_for(names, watch)
        return
    with ProcessPoolExecutor(min(jobs, len(todo)), mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(compile_for, names) for names in todo]:
            done.result()


def compile_for(names: list[str], watch: Watch | None = None) -> None:
    """Compile what these learners need, or what ``streams`` or ``files`` stands for, by using it."""
    import numpy as np

    from thalweg.cli.demo import drifting_stream
    from thalweg.evaluate.prequential import prequential
    from thalweg.streams.files.opening import open_file
    from thalweg.streams.memory import ArrayStream

    rng = np.random.default_rng(1)
    for name in names:
        told = None if watch is None else watch(name)
        if name == "streams":
            for each, entry in registry.STREAMS.items():
                if each != "image-drift":  # reads a data set, which may not be there
                    prequential(entry.make(), registry.LEARNERS["majority"].make(), limit=ROWS, on_progress=told)
            for entry in registry.DETECTORS.values():
                entry.make().update_many(np.zeros(100))
        elif name == "files":
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "rows.csv"
                path.write_text("x,word,class\n" + "1.5,a,yes\n-2e3,b,no\n,a,yes\n" * 500)
                prequential(open_file(path), registry.LEARNERS["naive-bayes"].make(), limit=ROWS, on_progress=told)
        else:
            entry = registry.LEARNERS[name]
            images = ArrayStream(rng.random((ROWS, 8, 8)), rng.integers(0, 10, ROWS))
            stream = images if getattr(entry.cls, "tensors", False) else drifting_stream(ROWS, seed=1)
            learner = entry.make()
            prequential(stream, learner, limit=ROWS, delay=10, on_progress=told)
            stream.restart()
            chunk = stream.read(1)
            if chunk is not None:  # one row at a time has routines of its own
                learner.learn_one(chunk.X[0], chunk.y[0]).predict_one(chunk.X[0])
