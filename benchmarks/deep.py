"""The streaming deep forest beside its paper and beside forests of as many trees: prequential accuracy.

``python deep.py electricity confirm --seeds 3 --json deep.json``. Tables: ``electricity`` (four forests of 50 trees,
all labels and 70 % of them), ``confirm`` (seven streams of 100,000 rows, 144 trees), ``choice`` (other forests for a
layer), ``depth`` (one to five layers), ``published`` (the paper's streams and learners, with ``--size`` trees in each
forest and four times as many in one, ``--rows`` rows). Results are written as they come, and a second call goes on.
Real streams are read from the folder that THALWEG_DATA names.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from report import Table
from rich.console import Console

import thalweg
from thalweg import (
    AVU,
    SEA,
    ActiveLearner,
    AdaptiveRandomForest,
    Agrawal,
    ArrayStream,
    DriftStream,
    LeveragingBagging,
    OnlineDeepLearning,
    OnlineSmoothBoost,
    RandomRBF,
    StreamingDeepForest,
    StreamingRandomPatches,
)
from thalweg import Random as ByChance

Make = Callable[[int], Any]
"""From a seed to a learner or a stream."""

FAST = "warning='adwin(delta=0.01)', drift='adwin(delta=0.001)'"
PUBLISHED = {
    "Electricity": (89.02, 89.43, 88.42, 88.31, 73.89, 91.32, 91.05),
    "Adult": (83.95, 84.65, 84.26, 83.42, 76.07, 84.68, 84.74),
    "Covtype": (92.52, 94.80, 93.51, 87.25, 89.58, 95.71, 95.66),
    "KDD 10 %": (99.97, 99.98, 99.95, 99.85, 99.96, 99.97, 99.97),
    "MNIST, abrupt": (91.56, 84.43, 60.93, 28.75, 88.83, 93.11, 93.53),
    "AGR_a": (90.70, 93.02, 89.89, 93.07, 60.89, 94.74, 94.85),
    "AGR_g": (87.07, 89.44, 86.72, 90.50, 60.08, 91.60, 91.70),
    "HYPER": (85.27, 84.95, 87.31, 89.18, 91.80, 88.49, 88.84),
    "RBF_f": (73.79, 75.28, 63.42, 43.46, 61.78, 78.88, 77.94),
    "RBF_m": (86.23, 85.13, 84.82, 66.90, 82.98, 87.82, 87.90),
    "RTG": (94.08, 90.77, 97.85, 94.67, 82.62, 98.05, 97.92),
    "SEA_a": (89.63, 88.21, 86.94, 88.95, 86.61, 89.70, 89.70),
    "SEA_g": (88.95, 87.44, 88.50, 88.46, 85.69, 89.05, 89.06),
}
"""Of ARF, SRP, leveraging bagging, smooth boosting, ODL, SDF, SDF on 70 % of the labels; KDD is all of it there."""
REAL = {"Electricity": "electricity", "Adult": "adult", "Covtype": "covtype", "KDD 10 %": "kddcup99"}


class Job(NamedTuple):
    """One run: a line and a column of a table."""

    learner: str
    stream: str
    make_learner: Make
    make_stream: Make
    rows: int | None


def real(name: str, first: int = 0, rows: int | None = None) -> Any:
    """Read rows of a data set."""
    source = thalweg.load_dataset(name)
    chunk = source.read(10_000_000 if rows is None else first + rows)
    return ArrayStream(chunk.X[first:], chunk.y[first:], schema=source.schema)


def mnist(rows: int | None) -> Any:
    """MNIST whose labels change: after half of the rows each digit gets the label of the next one.

    The paper does not say what its abrupt version is; this is ours.
    """
    chunk = thalweg.load_dataset("mnist").read(rows or 70_000)
    X, y = chunk.X.reshape(len(chunk.X), -1), np.array(chunk.y)
    y[len(y) // 2 :] = (y[len(y) // 2 :] + 1) % 10
    return ArrayStream(X, y)


def drifting(concepts: list[Any], rows: int, seed: int) -> Any:
    """Put concepts one after the other, each a part of the rows, with abrupt changes."""
    stream = concepts.pop()
    while concepts:
        stream = DriftStream(concepts.pop(), stream, rows // 4, 50, seed=seed)
    return stream


def seven(rows: int) -> dict[str, Make]:
    """The streams on which the default was confirmed: two data sets, two parts of a third, three fresh generators."""
    functions = (1, 2, 3, 4)
    return {
        "Electricity": lambda _: real("electricity"),
        "Adult": lambda _: real("adult"),
        "Covtype": lambda _: real("covtype", 0, rows),
        "Covtype from 200,000": lambda _: real("covtype", 200_000, rows),
        "RBF, fast": lambda _: RandomRBF(classes=5, features=10, speed=0.001, model_seed=77, seed=77, limit=rows),
        "SEA, abrupt": lambda _: drifting([SEA(function=f, seed=80 + f) for f in functions], rows, 81),
        "AGRAWAL, abrupt": lambda _: drifting([Agrawal(function=f, seed=90 + f) for f in functions], rows, 91),
    }


def layer(*forests: str, **options: Any) -> Make:
    """Make deep forests of such forests."""
    return lambda seed: StreamingDeepForest(forests=forests, seed=seed, **options)


def jobs(table: str, size: int, rows: int | None) -> Iterator[Job]:
    """What a table consists of."""
    electricity: Make = lambda _: real("electricity")  # noqa: E731
    rbf: Make = lambda _: thalweg.paper_stream("RBF_f", rows=rows or 100_000)  # noqa: E731
    sdf = StreamingDeepForest
    if table == "electricity":
        for name, make in {
            "SDF": lambda seed: sdf(seed=seed),
            "SDF, half the trees in deep layers": lambda seed: sdf(deep_size=25, seed=seed),
            "SDF, preset paper": lambda seed: sdf(preset="paper", seed=seed),
            "ARF 200": lambda seed: AdaptiveRandomForest(size=200, seed=seed),
            "SDF, AVU 0.7": lambda seed: ActiveLearner(learner=sdf(seed=seed), strategy=AVU(budget=0.7, seed=seed)),
            "SDF, random 0.7": lambda seed: ActiveLearner(
                learner=sdf(seed=seed), strategy=ByChance(budget=0.7, seed=seed)
            ),
            "SDF, preset paper, AVU 0.7": lambda seed: ActiveLearner(
                learner=sdf(preset="paper", seed=seed), strategy=AVU(budget=0.7, seed=seed)
            ),
        }.items():
            yield Job(name, "Electricity", make, electricity, None)
    elif table in ("confirm", "choice"):
        b, g = f"arf(subspace=0.6, {FAST})", f"arf(subspace=0.6, criterion='gini', {FAST})"
        common = {"size": 12, "pass_on": "mean", "output": "weighted"}
        learners: dict[str, Make] = {
            "SDF 3 × 48": lambda seed: sdf(size=12, seed=seed),
            "SDF 3 × 48, last layer": lambda seed: sdf(size=12, output="last", seed=seed),
            "SDF 2 × 48": lambda seed: sdf(size=12, layers=2, seed=seed),
            "SDF 48 + 24 + 24": lambda seed: sdf(size=12, deep_size=6, seed=seed),
            "SDF 1 × 144, same forests": lambda seed: sdf(size=36, layers=1, seed=seed),
            "SDF 3 × 48, preset paper": lambda seed: sdf(size=12, preset="paper", seed=seed),
            "ARF 144": lambda seed: AdaptiveRandomForest(size=144, seed=seed),
        }
        if table == "choice":
            learners = {
                "default": learners["SDF 3 × 48"],
                "four of 60 %, Gini": layer(g, g, g, g, **common),
                "four of 60 %, gain": layer(b, b, b, b, **common),
                "60 % and all, gain and Gini": layer(
                    b, f"arf(subspace='all', {FAST})", g, f"arf(subspace='all', criterion='gini', {FAST})", **common
                ),
                "default, a column for each forest": lambda seed: sdf(size=12, pass_on="forests", seed=seed),
            }
        for name, make in learners.items():
            for stream, make_stream in seven(rows or 100_000).items():
                yield Job(name, stream, make, make_stream, rows or 100_000)
    elif table == "depth":
        for layers in range(1, 6):
            for stream, make_stream in {"Electricity": electricity, "RBF_f": rbf}.items():
                for preset in ("default", "paper"):
                    yield Job(
                        f"{preset}, {layers} layers",
                        stream,
                        lambda seed, layers=layers, preset=preset: sdf(
                            layers=layers, size=size, preset=preset, output="last", seed=seed
                        ),
                        make_stream,
                        rows or 100_000,
                    )
    else:
        trees = 4 * size
        learners = {
            "ARF": lambda seed: AdaptiveRandomForest(size=trees, seed=seed),
            "SRP": lambda seed: StreamingRandomPatches(size=trees, seed=seed),
            "LB": lambda seed: LeveragingBagging(size=trees, seed=seed),
            "OSB": lambda seed: OnlineSmoothBoost(size=trees, seed=seed),
            "ODL": lambda seed: OnlineDeepLearning(seed=seed),
            "SDF": lambda seed: sdf(size=size, seed=seed),
            "SDF 0.7": lambda seed: ActiveLearner(
                learner=sdf(size=size, seed=seed), strategy=AVU(budget=0.7, seed=seed)
            ),
        }
        for stream in PUBLISHED:
            for name, make in learners.items():
                yield Job(name, stream, make, lambda _, stream=stream: published(stream, rows), rows)


def published(stream: str, rows: int | None) -> Any:
    """A stream of the paper."""
    if stream == "MNIST, abrupt":
        return mnist(rows)
    return real(REAL[stream]) if stream in REAL else thalweg.paper_stream(stream)


def measure(job: Job, seed: int) -> dict[str, Any]:
    """Run a learner over a stream."""
    source, learner = job.make_stream(seed), job.make_learner(seed)
    start = time.process_time()
    result = thalweg.prequential(source, learner, limit=job.rows, metrics=("accuracy",))
    asked = getattr(learner, "labels_asked", result.rows) / result.rows
    return {"accuracy": 100 * result.accuracy, "rows": result.rows, "limit": job.rows, "asked": asked,
            "seconds": time.process_time() - start}  # fmt: skip


def main() -> None:
    """Measure what is asked for and not there yet, and print all."""
    parser = argparse.ArgumentParser(description="the streaming deep forest beside its paper and other forests")
    parser.add_argument("tables", nargs="+", choices=("electricity", "confirm", "choice", "depth", "published"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--size", type=int, default=12, help="trees in each forest (depth, published)")
    parser.add_argument("--rows", type=int, help="at most so many rows of each stream")
    parser.add_argument("--streams", nargs="+", help="only these streams")
    parser.add_argument("--learners", nargs="+", help="only these learners")
    parser.add_argument("--json", type=Path, default=Path("deep.json"))
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    found = json.loads(options.json.read_text()) if options.json.exists() else {}
    for table in options.tables:
        for job in jobs(table, options.size, options.rows):
            if job.stream not in (options.streams or [job.stream]):
                continue
            if job.learner not in (options.learners or [job.learner]):
                continue
            runs = (
                found.setdefault(titled(table, options.size), {}).setdefault(job.learner, {}).setdefault(job.stream, [])
            )
            if any(r["limit"] != job.rows for r in runs):
                raise SystemExit(f"{options.json} has {job.stream} with another --rows: take another file")
            while len(runs) < options.seeds:
                runs.append(measure(job, len(runs) + 1))
                options.json.write_text(json.dumps(found, indent=1))
                print(f"{table}: {job.learner} on {job.stream}: {runs[-1]['accuracy']:.2f}", flush=True)
    tables = [summary(titled(table, options.size), found[titled(table, options.size)]) for table in options.tables]
    for table in tables:
        table.show(Console(width=140))
    if options.markdown:
        options.markdown.write_text("\n".join(table.markdown() for table in tables))


def titled(table: str, size: int) -> str:
    """A table's name, with the size where it matters."""
    return f"{table}, size {size}" if table in ("depth", "published") else table


def summary(name: str, found: dict[str, Any]) -> Table:
    """Make a table: accuracy by learner and stream, its mean, the rank among the learners, and the speed."""
    streams = list(dict.fromkeys(stream for runs in found.values() for stream in runs))
    means = {
        line: {s: statistics.mean(r["accuracy"] for r in runs[s]) for s in streams if runs.get(s)}
        for line, runs in found.items()
    }
    complete = [s for s in streams if all(s in means[line] for line in means)]
    rows = []
    for line, runs in found.items():
        cells = []
        for s in streams:
            values = [r["accuracy"] for r in runs.get(s, [])]
            spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
            cells.append(f"{means[line][s]:.2f}{spread}" if values else "")
        ranks = [1 + sum(means[other][s] > means[line][s] for other in means) for s in complete]
        every = [r for one in runs.values() for r in one]
        speed = sum(r["rows"] for r in every) / sum(r["seconds"] for r in every)
        mean = statistics.mean(means[line][s] for s in complete) if complete else 0.0
        rank = statistics.mean(ranks) if ranks else 0.0
        rows.append((line, *cells, f"{mean:.2f}", f"{rank:.1f}", f"{speed:,.0f}"))
    if name.startswith("published"):
        learners = ("ARF", "SRP", "LB", "OSB", "ODL", "SDF", "SDF 0.7")
        for line in learners:
            figures = [PUBLISHED[s][learners.index(line)] for s in streams]
            rows.append((f"{line}, published", *(f"{v:.2f}" for v in figures), "", "", ""))
    return Table(f"Deep forest: {name}", ("", *streams, "mean", "rank", "rows / CPU s"), rows)


if __name__ == "__main__":
    main()
