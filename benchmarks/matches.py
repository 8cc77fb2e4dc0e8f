"""Learners beside CapyMOA, MOA's pure Java loop and river: speed as ratios, in one run, on one core.

Slow libraries get fewer rows; thalweg always gets the same rows as whoever it is compared with. Figures are medians
over the repeats of rows per second of CPU; MOA's learners are warm (the last of a few passes), and its figure counts
the process, or for the pure loop also its one thread.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import records
from play import AbsentError, Bench, load, machine
from report import Table, rate, times
from rich.console import Console


@dataclass(frozen=True)
class Match:
    """One learner on one stream, and how many times faster thalweg has promised to be."""

    name: str
    stream: str
    rows: int
    capymoa: float
    river: float = 0.0
    river_rows: int = 0
    java: float = 0.0
    passes: int = 3


def measure(bench: Bench, match: Match, data: records.Records, folder: Path) -> dict[str, Any]:
    """Run all in turn; give CPU seconds per row of each repeat."""
    few = data.first(match.rows)
    few.save(folder / "rows")
    data.first(match.river_rows or 1).save(folder / "river")

    def by(library: str, where: str, passes: int) -> Any:
        return bench.worker(library, name=match.name, folder=str(folder / where), passes=passes)

    command = ""

    def capymoa() -> Any:
        nonlocal command
        got = by("capymoa", "rows", match.passes)
        command = got["command"]
        return got["prequential"]

    def java() -> Any:
        if not command:
            raise AbsentError("needs CapyMOA")
        return bench.java("learner", str(folder / "rows" / "rows.arff"), command, str(match.passes))

    work = {"thalweg": lambda: by("thalweg", "rows", 3), "CapyMOA": capymoa}
    if match.java:
        work["MOA pure Java"] = java
    if match.river:
        work["thalweg, river's rows"] = lambda: by("thalweg", "river", 3)
        work["river"] = lambda: by("river", "river", 1)["loop"]
    found = bench.turns(f"{match.name} on {match.stream}", work)
    return {who: got if isinstance(got, str) else [_figure(who, g) for g in got] for who, got in found.items()}


def _figure(who: str, got: Any) -> dict[str, Any]:
    """The CPU seconds of the last pass, and the accuracy."""
    if who.startswith("thalweg"):
        return {"cpu": got["loop"]["passes"][-1][0], "prequential": got["prequential"]["passes"][-1][0],
                "accuracy": got["loop"]["accuracy"]}  # fmt: skip
    if who == "MOA pure Java":
        cpu, _, thread = got["passes"][-1]
        return {"cpu": cpu, "thread": thread, "accuracy": got["accuracy"]}
    return {"cpu": got["passes"][-1][0], "accuracy": got["accuracy"]}


def run(title: str, matches: Sequence[Match], stream: Callable[[str], records.Records | None]) -> None:
    """Measure, print, write. stream: draws or reads the stream of that name; None where it is not there."""
    parser = argparse.ArgumentParser(description=f"{title} beside CapyMOA, MOA and river")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="only matches whose name has this in it")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 130)
    where = machine()
    rows: list[tuple[str, ...]] = []
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(Path(temporary), options.repeats, console)
        for i, match in enumerate(matches):
            what = f"{match.name} on {match.stream}"
            data = stream(match.stream) if options.only in what else None
            if data is None:
                continue
            folder = Path(temporary) / f"match{i}"
            folder.mkdir()
            figures[what] = found = measure(bench, match, data, folder)
            rows += lines(what, match, found)
            for row in rows[-4:]:
                if row[0].startswith(what):
                    console.print("  ".join(row), highlight=False)
    table = Table(f"{title}, rows per second of CPU", ("", "thalweg", "other", "thalweg is", "bar", "accuracy"), rows)
    table.show(console)
    where["load_at_end"] = load()
    if options.json:
        options.json.write_text(json.dumps({"machine": where, "repeats": options.repeats, **figures}, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(table.markdown())


def lines(title: str, match: Match, found: dict[str, Any]) -> list[tuple[str, ...]]:
    """The rows of the table about one match."""
    rows = []
    for who, key, bar, own, n in (
        ("CapyMOA", "cpu", match.capymoa, "prequential", match.rows),
        ("MOA pure Java", "cpu", match.java, "cpu", match.rows),
        ("MOA pure Java", "thread", match.java, "cpu", match.rows),
        ("river", "cpu", match.river, "cpu", match.river_rows),
    ):
        if who not in found:
            continue
        if isinstance(found[who], str):
            rows.append((f"{title}, {who}", "", "", found[who], "", ""))
            continue
        mine = found["thalweg, river's rows" if who == "river" else "thalweg"]
        a, b = median(n / g[own] for g in mine), median(n / g[key] for g in found[who])
        said = f"{title}, {who}" + (", its thread" if key == "thread" else "")
        accuracy = f"{np.mean([g['accuracy'] for g in mine]):.2f} / {np.mean([g['accuracy'] for g in found[who]]):.2f}"
        rows.append((said, rate(a), rate(b), times(a / b), f"≥ {bar:g} ×", accuracy))
    return rows
