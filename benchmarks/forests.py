"""The ensembles beside CapyMOA, MOA's pure Java loop and river: speed as ratios, in one run, on one core.

``python forests.py --repeats 3 --markdown forests.md``. The slow ones get fewer rows; thalweg always gets the same rows
as whoever it is compared with. Figures are medians over the repeats of rows per second of CPU; MOA's learners are warm
(the last of three passes), and its figure counts the process, or for the pure loop also its one thread.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import records
from play import AbsentError, Bench, load, machine
from report import Table, rate, times
from rich.console import Console

PASSES = 3


@dataclass(frozen=True)
class Match:
    """One ensemble on one stream, and how many times faster thalweg has promised to be."""

    name: str
    stream: str
    rows: int
    capymoa: float
    river: float = 0.0
    river_rows: int = 0
    java: float = 0.0


MATCHES = (
    Match("ARF 100", "Electricity", 10_000, capymoa=25, river=80, river_rows=2_000),
    Match("SDF 600 beside ARF 200", "Electricity", 5_000, capymoa=12),
    Match("ARF 10", "Electricity", 45_312, capymoa=12, java=10),
    Match("ARF 10", "RBF with drift", 20_000, capymoa=12),
    Match("ARF 10", "AGRAWAL with drift", 20_000, capymoa=12),
    Match("ARF 10", "Covtype", 50_000, capymoa=12),
    Match("ARF 10", "Text of 1,000 words", 1_000, capymoa=50),
    Match("leveraging bagging 30", "Electricity", 20_000, capymoa=12),
    Match("leveraging bagging 10", "Electricity", 45_312, capymoa=12, java=5),
    Match("SRP 10", "Electricity", 20_000, capymoa=12),
    Match("smooth boost 30", "Electricity", 20_000, capymoa=12),
    Match("online bagging 10", "Electricity", 45_312, capymoa=12),
)


def stream(name: str) -> records.Records | None:
    """Draw or read a stream."""
    if name == "Electricity":
        return records.electricity()
    if name == "Covtype":
        return records.covtype(50_000)
    made = {"RBF with drift": records.rbf_drift, "AGRAWAL with drift": records.agrawal_drift}
    return made[name]() if name in made else records.text(1_000)


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
        got = by("capymoa", "rows", PASSES)
        command = got["command"]
        return got["prequential"]

    def java() -> Any:
        if not command:
            raise AbsentError("needs CapyMOA")
        return bench.java("learner", str(folder / "rows" / "rows.arff"), command, str(PASSES))

    work = {"thalweg": lambda: by("thalweg", "rows", PASSES), "CapyMOA": capymoa}
    if match.java:
        work["MOA pure Java"] = java
    if match.river:
        work["thalweg, river's rows"] = lambda: by("thalweg", "river", PASSES)
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


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="ensembles beside CapyMOA, MOA and river")
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
        for i, match in enumerate(MATCHES):
            title = f"{match.name} on {match.stream}"
            data = stream(match.stream) if options.only in title else None
            if data is None:
                continue
            folder = Path(temporary) / f"match{i}"
            folder.mkdir()
            figures[title] = found = measure(bench, match, data, folder)
            rows += lines(title, match, found)
            for row in rows[-4:]:
                if row[0].startswith(title):
                    console.print("  ".join(row), highlight=False)
    table = Table("Ensembles, rows per second of CPU", ("", "thalweg", "other", "thalweg is", "bar", "accuracy"), rows)
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


if __name__ == "__main__":
    main()
