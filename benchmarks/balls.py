"""Covers of balls beside other small models: accuracy at equal bytes, and the sub-sampling of the ABACOC paper.

``python balls.py size --shares 1 10 --seeds 1 --json balls.json``. Tables: ``size`` (every learner gets as many bytes
as ``BallCoverPlus`` with balls for so many percent of the rows; a learner without a limit gets as many labels as it can
have without exceeding them), ``labels`` (each label is revealed with a probability; all rows are predicted; accuracy
and what was stored). Results are written as they come, and a second call goes on. ``--picture`` draws accuracy against
bytes. Data sets are read from the folder that THALWEG_DATA names.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from report import Table
from rich.console import Console

import thalweg
from thalweg import BallCover, BallCoverPlus, CondensedKNN, HoeffdingTree, KernelPerceptron, Schema, WindowKNN

STREAMS = {
    "electricity": None, "gas": None, "spambase": None, "magic": None, "adult": None, "poker": None,
    "covtype": 100_000, "kddcup99": 100_000, "mnist": 20_000,
}  # fmt: skip
"""And how many rows; None: all."""
SORTED = ("spambase", "magic")
ASIDE = ("batch", "concentration")
REVEALED = (0.01, 0.03, 0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 1.0)
CHUNK = 5_000
COUNTS = 2  # classes that a ball is taken to have counted, for its size

Make = Callable[[int, int], Any]
"""From a size and a seed to a learner."""


@lru_cache(maxsize=1)
def rows_of(stream: str) -> tuple[Any, Any, Schema]:
    """Read a stream: rows, labels, features. Those sorted by class are shuffled."""
    source = thalweg.load_dataset(stream, limit=STREAMS[stream])
    chunk, schema = source.read(10_000_000), source.schema
    X, y = np.asarray(chunk.X, dtype=float).reshape(len(chunk.y), -1), np.asarray(chunk.y)
    if X.shape[1] != schema.n_features:
        schema = Schema.numeric(X.shape[1])
    kept = [i for i, f in enumerate(schema.features) if f.name not in ASIDE]
    X, schema = X[:, kept], Schema(tuple(schema.features[i] for i in kept))
    if stream in SORTED:
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
    return np.ascontiguousarray(X), y, schema


def sizes(d: int, K: int) -> dict[str, tuple[int, int]]:
    """Bytes of one ball or row of each learner, and of what it has once; what is kept for speed only does not count."""
    spans, ball = 8 * 5 * d, 8 * (d + 6)
    plus = ball + 8 * 5 + COUNTS * 32, spans + 8 * (K * (d + 1) + 2 * d)
    cover = ball + 8 * 4 + COUNTS * 24, spans
    row = 8 * (d + 2), spans
    return {"plus": plus, "cover": cover, "row": row, "perceptron": (8 * (d + 3), spans)}


LEARNERS: dict[str, tuple[str, Make]] = {
    "BallCoverPlus": ("plus", lambda n, s: BallCoverPlus(max_balls=n, seed=s)),
    "BallCoverPlus, open on mistake": ("plus", lambda n, s: BallCoverPlus(max_balls=n, open_on_mistake=True, seed=s)),
    "BallCoverPlus, recent": ("plus", lambda n, s: BallCoverPlus(max_balls=n, recent=True, seed=s)),
    "AUTO-ADJ FIX": ("cover", lambda n, s: BallCover(max_balls=n, seed=s)),
    "AUTO FIX": ("cover", lambda n, s: BallCover(variant="auto", max_balls=n, seed=s)),
    "AUTO-ADJ, fewer labels": ("labels", lambda _, s: BallCover(seed=s)),
    "BASE-ADJ, fewer labels": ("labels", lambda _, s: BallCover(variant="base-adj", seed=s)),
    "BASE, fewer labels": ("labels", lambda _, s: BallCover(variant="base", seed=s)),
    "Hoeffding tree": ("bytes", lambda n, _: HoeffdingTree(limit_bytes=n)),
    "1-NN, window": ("row", lambda n, _: WindowKNN(k=1, window=n, scale="online", ties="k")),
    "3-NN, window": ("row", lambda n, _: WindowKNN(k=3, window=n, scale="online", ties="k")),
    "Condensed 1-NN": ("row", lambda n, _: CondensedKNN(max_rows=n)),
    "Kernel perceptron": ("perceptron", lambda n, s: KernelPerceptron(max_rows=n, seed=s)),
}


def run(learner: Any, stream: str, revealed: float = 1.0, seed: int = 1) -> dict[str, Any]:
    """Predict every row, learn it if its label is revealed."""
    X, y, schema = rows_of(stream)
    learner.declare(schema)
    w = (np.random.default_rng(seed).random(len(y)) < revealed).astype(float)
    right, start = 0, time.process_time()
    for i in range(0, len(y), CHUNK):
        some = slice(i, i + CHUNK)
        P = learner.test_then_train(X[some], y[some], w[some])
        if P.shape[1]:
            right += int((learner.classes_[P.argmax(axis=1)] == y[some])[P.any(axis=1)].sum())
    n = next((getattr(learner, name) for name in ("n_balls", "n_rows", "n_leaves") if hasattr(learner, name)), 0)
    return {"accuracy": 100 * right / len(y), "seconds": time.process_time() - start, "rows": len(y), "n": n,
            "state_bytes": learner.state_bytes, "revealed": revealed}  # fmt: skip


def at_size(name: str, stream: str, share: float, seed: int) -> dict[str, Any] | None:
    """Run a learner that has as many bytes as BallCoverPlus with balls for a share (in percent) of the rows."""
    X, y, _ = rows_of(stream)
    d, K, kind, make = X.shape[1], len(np.unique(y)), *LEARNERS[name]
    per = sizes(d, K)
    budget = max(4, int(share * len(y) / 100)) * per["plus"][0] + per["plus"][1]
    if kind == "bytes":
        return run(make(budget, seed), stream) | {"bytes": budget}
    if kind != "labels":
        each, once = per[kind]
        n = max(4, (budget - once) // each)
        return run(make(n, seed), stream) | {"bytes": budget, "limit": n}
    if name.startswith("BASE,") and K > 2:
        return None
    best = None
    for revealed in (0.003, 0.01, 0.03, 0.1, 0.3, 1.0):  # from below: the small ones are quick
        each, once = per["cover"]
        found = run(make(0, seed), stream, revealed, seed)
        if found["n"] * each + once > budget:
            break
        best = found | {"bytes": budget}
    return best


def by_labels(name: str, stream: str, revealed: float, seed: int) -> dict[str, Any] | None:
    """Run a learner that stores what it likes of the labels revealed."""
    X, y, _ = rows_of(stream)
    per, K = sizes(X.shape[1], len(np.unique(y))), len(np.unique(y))
    if name == "BASE" and K > 2:
        return None
    kept = max(4, int(revealed * len(y)))
    learner, each = {
        "AUTO-ADJ": (BallCover(seed=seed), per["cover"]),
        "AUTO": (BallCover(variant="auto", seed=seed), per["cover"]),
        "BASE-ADJ": (BallCover(variant="base-adj", seed=seed), per["cover"]),
        "BASE": (BallCover(variant="base", seed=seed), per["cover"]),
        "BallCoverPlus": (BallCoverPlus(max_balls=max(64, kept), seed=seed), per["plus"]),
        "1-NN, all revealed": (WindowKNN(k=1, window=kept + 64, scale="online", ties="k"), per["row"]),
        "Condensed 1-NN": (CondensedKNN(max_rows=kept + 64), per["row"]),
    }[name]
    found = run(learner, stream, revealed, seed)
    return found | {"bytes": found["n"] * each[0] + each[1]}


REVEALING = ("AUTO-ADJ", "AUTO", "BASE-ADJ", "BASE", "BallCoverPlus", "1-NN, all revealed", "Condensed 1-NN")


def main() -> None:
    """Measure what is asked for and not there yet, and print all."""
    parser = argparse.ArgumentParser(description="covers of balls beside other small models")
    parser.add_argument("tables", nargs="+", choices=("size", "labels"))
    parser.add_argument("--shares", type=float, nargs="+", default=[1.0, 10.0], help="balls, in percent of the rows")
    parser.add_argument("--revealed", type=float, nargs="+", default=list(REVEALED), help="shares of the labels")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--streams", nargs="+", default=list(STREAMS), choices=tuple(STREAMS))
    parser.add_argument("--learners", nargs="+", help="only these learners")
    parser.add_argument("--json", type=Path, default=Path("balls.json"))
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--picture", type=Path, help="a .png or .svg file: accuracy against bytes")
    options = parser.parse_args()
    found = json.loads(options.json.read_text()) if options.json.exists() else {}
    for table in options.tables:
        names = list(LEARNERS) if table == "size" else list(REVEALING)
        shares = options.shares if table == "size" else options.revealed
        for stream in options.streams:
            for share in shares:
                for name in options.learners or names:
                    runs = found.setdefault(table, {}).setdefault(f"{share:g}", {}).setdefault(name, {})
                    runs = runs.setdefault(stream, [])
                    while len(runs) < options.seeds:
                        measure = at_size if table == "size" else by_labels
                        runs.append(measure(name, stream, share, len(runs) + 1))
                        options.json.write_text(json.dumps(found, indent=1))
                        said = f"{runs[-1]['accuracy']:.2f} ({runs[-1]['n']})" if runs[-1] else "does not fit"
                        print(f"{table} {share:g}: {name} on {stream}: {said}", flush=True)
    tables = [summary(t, share, found[t][share]) for t in options.tables for share in found.get(t, {})]
    for table in tables:
        table.show(Console(width=170))
    if options.markdown:
        options.markdown.write_text("\n".join(table.markdown() for table in tables))
    if options.picture:
        draw(found["size"], options.picture)


def mean_of(runs: list[Any]) -> float | None:
    """The mean accuracy; None: it has not run, or does not fit."""
    return statistics.mean(r["accuracy"] for r in runs) if runs and all(runs) else None


def summary(name: str, share: str, found: dict[str, Any]) -> Table:
    """Make a table: accuracy by learner and stream, its mean, and the average rank among learners that ran on all."""
    streams = [s for s in STREAMS if any(s in runs for runs in found.values())]
    means = {line: {s: mean_of(runs.get(s, [])) for s in streams} for line, runs in found.items()}
    whole = [line for line in means if None not in means[line].values()]
    rows = []
    for line in means:
        cells = [_cell(means[line][s], found[line].get(s, []), name) for s in streams]
        mean, rank = "", ""
        if line in whole:
            mean = f"{statistics.mean(v for v in means[line].values() if v is not None):.2f}"
            rank = f"{statistics.mean(_rank(means, whole, line, s) for s in streams):.2f}"
        rows.append((line, *cells, mean, rank))
    what = f"{share} % of the rows" if name == "size" else f"{100 * float(share):g} % of the labels"
    return Table(f"Balls, {name}: {what}", ("", *streams, "mean", "rank"), rows)


def _cell(mean: float | None, runs: list[Any], name: str) -> str:
    if mean is None:
        return "–"
    return f"{mean:.1f}" + (f" / {round(statistics.mean(r['n'] for r in runs)):,}" if name == "labels" else "")


def _rank(means: dict[str, Any], whole: list[str], line: str, stream: str) -> float:
    """The rank of a learner; the options of BallCoverPlus do not compete with each other, nor with the default."""
    mine, first = means[line][stream], "BallCoverPlus"
    others = [o for o in whole if o != line and not (o.startswith(first) and (line.startswith(first) or o != first))]
    return 1 + sum((means[o][stream] > mine) + (means[o][stream] == mine) / 2 for o in others)


DRAWN = (
    "BallCoverPlus", "AUTO-ADJ FIX", "Hoeffding tree", "1-NN, window", "3-NN, window", "Condensed 1-NN",
    "Kernel perceptron",
)  # fmt: skip


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw accuracy against bytes, a panel for each stream."""
    from matplotlib.figure import Figure

    from thalweg.show.figure import LIGHT, Picture

    figure = Figure(figsize=(10.5, 8.2), layout="constrained", facecolor=LIGHT.paper)
    axes = figure.subplots(3, 3).reshape(-1)
    marks = ("o", "s", "^", "D", "v", "P", "X")
    ends = []
    for stream, part in zip(STREAMS, axes, strict=True):
        lows, highs, places = [], [], []
        for name, colour, mark in zip(DRAWN, LIGHT.lines, marks, strict=True):
            points = []
            for runs in found.values():
                mean = mean_of(runs.get(name, {}).get(stream, []))
                if mean is not None:
                    points.append((runs[name][stream][0]["bytes"] / 1024, mean))
            if not points:
                continue
            points.sort()
            first = name == DRAWN[0]
            part.plot(
                *zip(*points, strict=True), mark, linestyle="-", color=colour, label=name,
                linewidth=2.4 if first else 1.2, markersize=5, zorder=4 if first else 3,
            )  # fmt: skip
            lows.append(min(v for _, v in points))
            highs.append(max(v for _, v in points))
            places = [x for x, _ in points]
            if first:
                ends.append(f"{stream} {points[0][1]:.1f} to {points[-1][1]:.1f} %")
        part.set_xscale("log")
        part.set_xticks(places, [f"{x:,.0f}" for x in places])
        part.minorticks_off()
        low, high = sorted(lows)[1], max(highs)  # one line may leave the panel, so that the others can be told
        if min(lows) < low - 0.5 * (high - low):
            part.set_ylim(low - 0.12 * (high - low), high + 0.08 * (high - low))
        part.set_title(stream, loc="left", color=LIGHT.ink, fontsize=10, fontweight="bold")
        part.grid(color=LIGHT.grid, linewidth=0.6)
        part.tick_params(colors=LIGHT.faint, labelsize=8, length=0, which="both")
        for side in part.spines.values():
            side.set_visible(False)
    for part in axes[-3:]:
        part.set_xlabel("KiB of model", color=LIGHT.ink, fontsize=9)
    for part in axes[::3]:
        part.set_ylabel("Accuracy (%)", color=LIGHT.ink, fontsize=9)
    lines, names = axes[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside upper center", ncols=4, frameon=False, fontsize=9, labelcolor=LIGHT.ink)
    Picture(figure, "Accuracy against bytes of the model on nine streams. BallCoverPlus: " + ", ".join(ends)).save(path)


if __name__ == "__main__":
    main()
