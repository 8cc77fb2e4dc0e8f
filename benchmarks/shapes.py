"""Learners on streams of nine shapes beside CapyMOA and MOA's pure Java loop, both warm: ``python shapes.py``.

2 to 1,000 features, 2 to 40 classes; numbers, values, mostly zeros; drifting and stationary. One core, a process
for each measurement, all in turn; the figures are medians of the last of three passes, in rows per second of CPU of the
whole process. CapyMOA evaluates, so ``prequential`` is set beside it; ``test_then_train`` is the same without metrics,
and is set beside MOA's pure loop.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import records
from matches import Match, measure
from play import Bench, load, machine
from records import Records
from report import Table, rate, times
from rich.console import Console

from thalweg import LED, Agrawal, ArrayStream, DriftStream, Feature, Hyperplane, RandomRBF, Schema, Text
from thalweg.streams.source import Source

LEARNERS = ("Hoeffding tree", "ARF 10", "leveraging bagging 10", "SRP 10", "kNN")
SLOW = 8_000
"""Rows of at most 100 features for kNN, of which Java does a few thousand a second."""
BAR, JAVA_BAR = 12.0, 4.0
"""How many times faster thalweg is to be than CapyMOA, and than MOA's pure loop."""


def _clouds(rows: int, features: int, classes: int, moves: int = 0) -> Source:
    """Make three clouds for each class; a few times they move elsewhere."""
    draw = np.random.default_rng([features, classes])
    y = draw.integers(0, classes, rows)
    centres = draw.random((moves + 1, 3 * classes, features))
    X = centres[np.arange(rows) * (moves + 1) // rows, 3 * y + draw.integers(0, 3, rows)]
    schema = Schema(tuple(Feature(f"x{f}") for f in range(features)), classes=tuple(range(classes)))
    return ArrayStream(X + draw.normal(0.0, 0.07, X.shape), y, schema=schema)


def _applicants(rows: int) -> Source:
    return DriftStream(Agrawal(function=1, seed=1), Agrawal(function=4, seed=2), position=rows // 2, width=1000)


SHAPES: dict[str, tuple[int, Callable[[int], Source]]] = {
    "2 × 24": (40_000, lambda n: _clouds(n, 2, 24)),
    "3 × 11": (40_000, lambda n: _clouds(n, 3, 11)),
    "3 × 11, drifting": (40_000, lambda n: _clouds(n, 3, 11, moves=3)),
    "5 × 40": (40_000, lambda n: _clouds(n, 5, 40)),
    "8 × 2, drifting": (40_000, lambda _: RandomRBF(features=8, speed=0.001, seed=1)),
    "9 × 2, numbers and values, drifting": (40_000, _applicants),
    "24 × 10, values": (40_000, lambda _: LED(seed=1)),
    "50 × 2": (20_000, lambda _: Hyperplane(features=50, seed=1)),
    "1,000 × 2, mostly zeros": (2_000, lambda _: Text(words=1000, seed=1)),
}
"""Features × classes: how many rows, and a stream for so many."""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Streams of nine shapes beside CapyMOA and MOA, in one run")
    parser.add_argument("--repeats", type=int, default=5, help="how often each measurement is made (default 5)")
    parser.add_argument("--only", default="", help='only "LEARNER on SHAPE" that have this in it')
    parser.add_argument("--no-java", action="store_true", help="leave MOA's pure Java loop out")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all figures, repeat by repeat")
    parser.add_argument("--markdown", type=Path, metavar="PATH", help="write the table")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 150)
    where = machine()
    figures: dict[str, Any] = {}
    lines: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(Path(temporary), options.repeats, console)
        for shape, (n, draw) in SHAPES.items():
            data: Records | None = None
            for name in LEARNERS:
                what = f"{name} on {shape}"
                if options.only not in what:
                    continue
                data = data or records.drawn(shape, draw(n), n)
                rows = min(n, SLOW) if name == "kNN" else n
                folder = bench.folder / f"match{len(figures)}"
                folder.mkdir()
                match = Match(name, shape, rows, capymoa=BAR, java=0.0 if options.no_java else JAVA_BAR)
                figures[what] = found = measure(bench, match, data, folder)
                lines.append(line(what, rows, found))
                console.print("  ".join(lines[-1]), highlight=False)
    where["load_at_end"] = load()
    columns = ("rows / CPU s", "test_then_train", "prequential", "CapyMOA", "prequential is", "least – most",
               "test_then_train is", "pure Java", "test_then_train is", "accuracy %")  # fmt: skip
    table = Table(f"Shapes of streams, medians of {options.repeats}", columns, lines)
    table.show(console)
    if options.json:
        options.json.write_text(json.dumps({"machine": where, "repeats": options.repeats, **figures}, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(table.markdown())


def line(what: str, rows: int, found: dict[str, Any]) -> tuple[str, ...]:
    """The row of the table about one learner on one shape."""
    ours, theirs, java = found["thalweg"], found["CapyMOA"], found.get("MOA pure Java", "")
    if isinstance(ours, str) or isinstance(theirs, str):
        return what, *(got if isinstance(got, str) else "" for got in (ours, ours, theirs)), *(6 * ("",))
    cells, other = [what], median(g["cpu"] for g in theirs)
    loop, evaluation = (median(g[key] for g in ours) for key in ("cpu", "prequential"))
    cells += [rate(rows / loop), rate(rows / evaluation), rate(rows / other), times(other / evaluation)]
    each = [b["cpu"] / a["prequential"] for a, b in zip(ours, theirs, strict=True)]
    cells += [f"{times(min(each))} – {times(max(each))}", times(other / loop)]
    if isinstance(java, str):
        cells += [java, ""]
    else:
        bare = median(g["cpu"] for g in java)
        cells += [rate(rows / bare), times(bare / loop)]
    return *cells, f"{median(g['accuracy'] for g in ours):.1f} / {median(g['accuracy'] for g in theirs):.1f}"


if __name__ == "__main__":
    main()
