"""Every learner of thalweg, beside river's and CapyMOA's where they have it, in one run: writes docs/performance.md.

``python benchmarks/all.py`` with the environment of ``make bench``. One core; a process for each measurement; all in
turn, so that a busy minute hits everyone. README.md in this folder says how it is measured.
"""

import argparse
import json
import sys
import tempfile
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import parts
import records
from contests import COUNTERPARTS, contest
from play import HERE, Bench, load, machine, require
from report import Table, rate, times
from rich.console import Console

from thalweg.registry import LEARNERS

SLOW = ("arf", "srp", "leveraging-bagging", "online-bagging", "adwin-bagging", "smooth-boost", "knn", "sam-knn")
"""Learners that river takes long for: it gets fewer rows, and thalweg the same ones."""
START = "start"
"""How long it takes to begin: measured between the learners that others have and the rest."""
NEAR = 0.5
"""Points of accuracy that seeds alone explain."""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Every learner beside river's and CapyMOA's, in one run")
    parser.add_argument("--rows", type=int, default=20_000, help="rows of the stream (default 20,000)")
    parser.add_argument("--river-rows", type=int, default=3_000, help="rows for river's slow learners (default 3,000)")
    parser.add_argument("--repeats", type=int, default=3, help="how often each measurement is made (default 3)")
    parser.add_argument("--only", default="", help="only learners whose name has this in it")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "performance.md", metavar="PATH")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all figures, repeat by repeat")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 130)
    where = machine()
    data = (records.electricity() or records.agrawal_drift()).first(options.rows)
    figures: dict[str, Any] = {}
    names = [n for n in (*COUNTERPARTS, START, *(n for n in LEARNERS if n not in COUNTERPARTS)) if options.only in n]
    start = None
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(Path(temporary), options.repeats, console)
        try:
            for name in names:
                if name == START:
                    start, figures[START] = parts.start(bench)
                    continue
                rows = options.river_rows if name in SLOW else options.rows
                figures[name] = found = measure(bench, name, data, min(rows, len(data.y)), bench.folder / name)
                told = {who: got if isinstance(got, str) else f"{rate(_cpu(got))}/s" for who, got in found.items()}
                console.print(f"{name}: {told}", highlight=False)
        except KeyboardInterrupt:
            console.print("interrupted: the page has what is measured by now")
    where["load_at_end"] = load()
    learners = {name: figures[name] for name in names if name in figures and name != START}
    tables = [beside(learners), accuracy(learners), alone(learners), *([start] if start else [])]
    for table in tables:
        table.show(console)
    options.out.write_text(page(tables, where, data, figures, options))
    if options.json:
        options.json.write_text(json.dumps({"machine": where, "repeats": options.repeats, **figures}, indent=1) + "\n")


def measure(bench: Bench, name: str, data: records.Records, river_rows: int, folder: Path) -> dict[str, Any]:
    """Run a learner in all libraries, in turn; whoever has it not is left out, whoever fails says why."""
    folder.mkdir()
    data.save(folder / "rows")
    data.first(river_rows).save(folder / "river")
    entry = contest(name)

    def ours() -> dict[str, Any]:
        got = bench.worker("thalweg", name=name, folder=str(folder / "rows"), passes=3, loop_rows=river_rows)
        return {"evaluation": _figures(got, "prequential", len(data.y)), "loop": _figures(got, "loop", river_rows)}

    def theirs(library: str, where: str, variant: str, rows: int, passes: int) -> dict[str, Any]:
        require(library)
        got = bench.worker(library, name=name, folder=str(folder / where), passes=passes)
        return _figures(got, variant, rows)

    work = {"thalweg": ours}
    if entry.capymoa is not None:
        work["CapyMOA"] = lambda: theirs("capymoa", "rows", "prequential", len(data.y), 3)
    if entry.river is not None and (entry.river_nominal or not any(f.nominal for f in data.schema.features)):
        work["river"] = lambda: theirs("river", "river", "loop", river_rows, 1)
    found = bench.turns(name, work)
    own = found.pop("thalweg")
    for kind in ("evaluation", "loop"):
        found[kind] = own if isinstance(own, str) else [run[kind] for run in own]
    return found


def _figures(got: dict[str, Any], variant: str, rows: int) -> dict[str, Any]:
    """What is kept of a measurement: the last pass, when everything has warmed up."""
    return {"rows": rows, "cpu": got[variant]["passes"][-1][0], "accuracy": got[variant]["accuracy"],
            "bytes": got["bytes"], "process": got["process"]}  # fmt: skip


def _cpu(got: list[dict[str, Any]]) -> float:
    """Rows per second of CPU: the median of the repeats."""
    return median(g["rows"] / g["cpu"] for g in got)


PAIRS = (("evaluation", "CapyMOA"), ("loop", "river"))
"""Like with like: CapyMOA evaluates, river's loop only counts the accuracy."""


def _pair(found: dict[str, Any], ours: str, theirs: str) -> tuple[str, str, str]:
    """Our speed, theirs, and how many times faster we are."""
    mine, other = found.get(ours), found.get(theirs)
    own = rate(_cpu(mine)) if isinstance(mine, list) else "failed"
    if other is None:
        return own, "–", "–"
    if isinstance(other, str) or isinstance(mine, str):
        return own, "failed", "–"
    return own, rate(_cpu(other)), times(_cpu(mine) / _cpu(other))


def beside(learners: dict[str, Any]) -> Table:
    """How fast, beside the others."""
    shown = [name for name in COUNTERPARTS if name in learners]
    rows = [(name, *(cell for pair in PAIRS for cell in _pair(learners[name], *pair))) for name in shown]
    columns = ("learner", "evaluation: thalweg", "CapyMOA", "ratio", "loop: thalweg", "river", "ratio")
    note = (
        "Evaluation: with windows and all metrics, as CapyMOA's; its figure is the third pass, when Java has warmed "
        "up. Loop: predict, count the accuracy, learn, as river's; river's slow learners get fewer rows, and so does "
        "the loop."
    )
    return Table("Rows per second of CPU", columns, rows, note)


def accuracy(learners: dict[str, Any]) -> Table:
    """How good and how large, beside the others."""
    rows = []
    for name in (n for n in COUNTERPARTS if n in learners):
        found = learners[name]
        cells = [_accuracy(found.get(who)) for pair in PAIRS for who in pair]
        sizes = [_size(found.get(who), "bytes") for who in ("evaluation", "river")]
        processes = [_size(found.get(who), "process") for who in ("evaluation", "CapyMOA", "river")]
        rows.append((name, *cells, *sizes, *processes))
    columns = ("learner", "accuracy %: thalweg", "CapyMOA", "on river's rows: thalweg", "river", "model: thalweg",
               "river", "process: thalweg", "CapyMOA", "river")  # fmt: skip
    note = (
        "Model: its size at the end, as thalweg (state) and river count it; MOA tells its size only to an agent that "
        "CapyMOA does not start. Process: the most memory of the whole process, with Python, libraries, compiler or "
        "JVM, and rows."
    )
    return Table("Accuracy and memory", columns, rows, note)


def _accuracy(got: Any) -> str:
    return "–" if got is None else "failed" if isinstance(got, str) else f"{median(g['accuracy'] for g in got):.2f}"


def _size(got: Any, what: str) -> str:
    from thalweg.show.tables import bytes_text

    return bytes_text(round(median(g[what] for g in got))) if isinstance(got, list) else "–"


def alone(learners: dict[str, Any]) -> Table:
    """The learners that neither of the others has."""
    rows = []
    for name, found in learners.items():
        if name in COUNTERPARTS:
            continue
        got = found["evaluation"]
        cells = ("–", got, "–") if isinstance(got, str) else (rate(_cpu(got)), _accuracy(got), _size(got, "bytes"))
        rows.append((name, *cells))
    return Table("Learners that neither has", ("learner", "rows per CPU second", "accuracy %", "model"), rows)


def behind(figures: dict[str, Any]) -> list[str]:
    """Say where thalweg is slower, less accurate or larger: nobody else would."""
    told = _starting(figures.get(START))
    for name in (n for n in COUNTERPARTS if n in figures):
        found = figures[name]
        for ours, theirs in PAIRS:
            mine, other = found.get(ours), found.get(theirs)
            if not isinstance(mine, list) or not isinstance(other, list):
                continue
            ratio = _cpu(mine) / _cpu(other)
            if ratio < 1.0:
                told.append(f"`{name}` is {1.0 / ratio:.1f} times slower than {theirs}'s.")
            gap = median(g["accuracy"] for g in other) - median(g["accuracy"] for g in mine)
            if gap > NEAR:
                told.append(f"`{name}` is {gap:.2f} points less accurate than {theirs}'s on these rows.")
            size = other[-1]["bytes"]
            if theirs == "river" and mine[-1]["bytes"] > 1.2 * size:
                told.append(f"`{name}` is {mine[-1]['bytes'] / size:.1f} times as large as {theirs}'s.")
    return told or ["Nowhere in this run."]


def _starting(start: dict[str, Any] | None) -> list[str]:
    """Compare the first use of a tree with what the others need to begin; seconds are [on the clock, CPU]."""
    names = ("a Hoeffding tree, nothing compiled yet", "import river's tree", "import CapyMOA's tree, start a JVM")
    found = [(start or {}).get(name) for name in names]
    if not all(isinstance(got, list) for got in found):
        return []
    first, river, capymoa = (median(seconds[1] for seconds in got or []) for got in found)
    return [
        f"The very first use compiles: {first:.0f} s of CPU for a tree, once for each version of thalweg, where river "
        f"starts in {river:.1f} s and CapyMOA in {capymoa:.1f} s."
    ] * (first > min(river, capymoa))


def page(tables: list[Table], where: dict[str, Any], data: records.Records, figures: Any, options: Any) -> str:
    """Write the page."""
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    many = "one measurement" if options.repeats == 1 else f"medians of {options.repeats} measurements"
    command = f"python benchmarks/all.py --rows {options.rows} --river-rows {options.river_rows}"
    words = (
        f"{data.name}, the first {len(data.y):,} rows × {data.X.shape[1]}; ensembles of ten members; the same rows for "
        "all, and parameters as in `benchmarks/contests.py`: matched where the libraries name them, else each one's "
        "own defaults (`hoeffding-adaptive-tree`, `efdt`), so accuracies compare settings, too. "
        f"One core, a process for each measurement, all in turn; {many}. Differences below 20 % "
        f"mean nothing: other work was going on (load {where['load']:.1f} at the start, {where['load_at_end']:.1f} at "
        f"the end, of {where['cores']} cores), which CPU time does not count but feels. {where['cpu']}; {versions}; "
        f"{datetime.now(UTC):%Y-%m-%d}. [How it is measured](../benchmarks/README.md)."
    )
    head = "Every learner is compared with river's and CapyMOA's, where they have it. One command makes this page:"
    said = "\n".join(f"- {line}" for line in behind(figures))
    missing = [name for name in LEARNERS if name not in figures]
    words += f" Not measured in this run: {', '.join(missing)}." if missing else ""
    return "\n".join([
        f"# Performance\n\n{head}\n\n```sh\nmake performance     # or: {command} --repeats {options.repeats}\n```\n",
        f"{textwrap.fill(words, 120, break_long_words=False, break_on_hyphens=False)}\n",
        *(table.markdown() for table in tables[:2]),
        f"## Where thalweg is not ahead\n\n{said}\n",
        *(table.markdown() for table in tables[2:]),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
