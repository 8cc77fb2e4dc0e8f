"""Run a paper's experiment: its grid through the comparison machinery, then its tables beside the published ones."""

import csv
import json
import math
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any, final

from thalweg.comparison import Comparison, compare
from thalweg.comparison.workers import Event
from thalweg.core import params
from thalweg.core.names import parse
from thalweg.evaluate.result import Result
from thalweg.papers.answering import answer_costs
from thalweg.papers.beside import COLUMNS, Beside, published_numbers
from thalweg.papers.claims import Verdict, judge
from thalweg.papers.plan import SCALES, PaperTable, Plan, Scale, check_name, read_plan, read_published


@final
@dataclass(frozen=True, eq=False)
class Reproduction:
    """What running a paper's experiment gave; ``reproduce`` makes it."""

    plan: Plan
    scale: str
    tables: tuple[Beside, ...]
    comparisons: Mapping[str, Comparison]
    """By the names of the tables."""
    unavailable: Mapping[str, str]
    """Rows that were not run, and why."""
    command: str
    """What to type to have this again."""
    kept: int = 0
    """How many runs were there already, and may have been made from an earlier commit."""

    @property
    def failures(self) -> dict[str, str]:
        """Runs that failed, and why."""
        return {
            f"{cell.learner} on {cell.stream}, seed {cell.seed}": why
            for found in self.comparisons.values()
            for cell, why in found.failures.items()
        }

    @property
    def verdicts(self) -> list[Verdict]:
        """What became of the paper's claims."""
        by_name = {both.plan.name: both for both in self.tables}
        return [judge(claim, by_name[claim.table]) for claim in self.plan.claims if claim.table in by_name]

    def runs(self) -> list[dict[str, Any]]:
        """Give a line for each run, each run once."""
        lines = [line for found in self.comparisons.values() for line in json.loads(found.to_json())["runs"]]
        return list({(line["made_as"], line["stream"], line["seed"]): line for line in lines}.values())

    def about(self) -> dict[str, Any]:
        """Say how it was made: command, commit, versions, machine, what is missing."""
        found = next(iter(self.comparisons.values()), None)
        return {
            "paper": self.plan.name, "scale": self.scale, "command": self.command, "commit": commit(),
            "runs": len(self.runs()), "runs_kept_from_before": self.kept,
            "date": datetime.now(UTC).date().isoformat(), "made_with": found.made_with() if found else {},
            "cpu_seconds": round(sum(line.get("cpu_seconds") or 0.0 for line in self.runs()), 1),
            "not_available": dict(self.unavailable), "failures": self.failures,
        }  # fmt: skip

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the report (HTML, Markdown), the numbers and the runs (CSV), and how it was made (JSON)."""
        from thalweg.papers.paper_page import html_page, markdown_page

        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        _write_csv(place / "results.csv", [dict(zip(COLUMNS, x, strict=True)) for t in self.tables for x in t.lines()])
        _write_csv(place / "runs.csv", self.runs())
        (place / "about.json").write_text(json.dumps(self.about(), indent=1, ensure_ascii=False) + "\n", "utf-8")
        (place / "report.md").write_text(markdown_page(self), "utf-8")
        (place / "report.html").write_text(html_page(self), "utf-8")
        return [place / name for name in ("report.html", "report.md", "results.csv", "runs.csv", "about.json")]


def reproduce(
    paper: str,
    *,
    scale: str = "small",
    folder: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    fresh: bool = False,
    on_table: Callable[[PaperTable, Mapping[str, str], list[str]], object] | None = None,
    on_plan: Callable[[int], object] | None = None,
    on_event: Callable[[Event], object] | None = None,
) -> Reproduction:
    """Run the experiment of a paper (sdf, csknn, abacoc, ckdt or etree), and put its published numbers beside ours.

    scale: "smoke" (a minute: does it run?), "small" (a quarter of an hour: do the orderings hold?) or "full" (as in the
    paper: hours to days). folder: where finished runs are kept; the same call again runs only what is missing.
    jobs: runs at a time. fresh: run all again. Streams whose data are not here are told in ``unavailable``, and the
    others run. on_table: called before each grid with its learners and streams; on_plan, on_event: see ``compare``.

    >>> reproduce("sdff")
    Traceback (most recent call last):
    ValueError: paper must be one of sdf, csknn, abacoc, ckdt, etree, got 'sdff' (did you mean 'sdf'?)
    """
    plan = read_plan(paper)
    check_name("scale", scale, SCALES)
    params.whole("jobs", jobs, least=1)
    size = plan.scales[scale]
    tables, comparisons, unavailable = [], {}, dict(plan.missing)
    done: dict[str, Comparison] = {}  # tables of one grid: it is run once
    kept = 0

    def tell(event: Event) -> None:
        nonlocal kept
        kept += event.kept
        if on_event is not None:
            on_event(event)

    for table in plan.tables:
        rows = _rows(table, size)
        for row, streams in list(rows.items()):
            if why := "; ".join(filter(None, map(_absent, streams))):
                unavailable[row] = why
                del rows[row]
        numbers: dict[tuple[str, str], float] = {}
        if rows:
            learners = {name: text.format_map(size.values) for name, text in table.learners.items()}
            streams = list(dict.fromkeys(stream for some in rows.values() for stream in some))
            limit = table.limits.get(scale, size.limit)
            grid = json.dumps([learners, streams, limit])
            if grid not in done:
                if on_table is not None:
                    on_table(table, learners, streams)
                done[grid] = compare(
                    learners, on=streams, seeds=size.seeds, limit=limit, jobs=jobs, folder=folder, fresh=fresh,
                    on_plan=on_plan, on_event=tell,
                )  # fmt: skip
            comparisons[table.name] = done[grid]
            numbers = _ours(table, rows, done[grid], limit)
        printed = read_published(paper, table.published) if table.published else {}
        tables.append(Beside(table, tuple(rows), numbers, published_numbers(table, printed, rows)))
    command = f"thalweg paper {paper} --scale {scale}"
    return Reproduction(plan, scale, tuple(tables), comparisons, unavailable, command, kept)


def _rows(table: PaperTable, size: Scale) -> dict[str, list[str]]:
    """Give the rows to run, and the streams of each."""
    return {
        row: [text.format_map(size.values) for text in ([given] if isinstance(given, str) else given)]
        for row, given in table.rows.items()
        if not size.rows or row in size.rows
    }


def _absent(stream: str) -> str:
    """Say why a stream cannot be read; empty: it can. Nothing about this machine is told."""
    from thalweg.streams.datasets.loading import DATASETS, find_file

    name = parse(stream)[0]
    dataset = DATASETS.get(name)
    if dataset is None:
        inner = parse(stream)[1].get("stream")
        return _absent(inner) if isinstance(inner, str) else ""
    if find_file(dataset) is not None:
        return ""
    way = f"`thalweg data get {name}` fetches it" if dataset.openml else f"it comes from {dataset.source}"
    return f"{name} is not in the folder that THALWEG_DATA names: {way}"


def _ours(
    table: PaperTable, rows: Mapping[str, list[str]], found: Comparison, limit: int | None
) -> dict[tuple[str, str], float]:
    """Pick the table's quantity from the runs: the mean over seeds, then over the streams of a row."""
    numbers = {}
    for row, streams in rows.items():
        for learner in table.learners:
            values = [_value(table, found, learner, stream, limit) for stream in streams]
            numbers[row, learner] = fmean(values)
        if table.relative_to:
            by = numbers[row, table.relative_to]
            numbers.update({(row, x): numbers[row, x] / by for x in table.learners})
    return numbers


def _value(table: PaperTable, found: Comparison, learner: str, stream: str, limit: int | None) -> float:
    runs = found.of(learner, stream)
    if not runs or found.failed(learner, stream):
        return math.nan
    if table.measure in ("answer", "index"):
        return answer_costs(found.learners[learner], stream, limit)[table.measure == "index"]
    return fmean(_MEASURES[table.measure](run) for run in runs)


_MEASURES: dict[str, Callable[[Result], float]] = {
    "accuracy": lambda run: 100.0 * run.accuracy,
    "error": lambda run: 100.0 * (1.0 - run.accuracy),
    "time": lambda run: 1e6 * run.cpu_seconds / run.rows,
    "memory": lambda run: run.state_bytes / 1000.0,
}


def commit() -> str:
    """Name the commit of the source tree that is running; empty where it is no tree of git."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return ""

    def git(*words: str) -> str:
        said = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
        return said.stdout.strip() if said.returncode == 0 else ""

    return git("rev-parse", "HEAD") + (", with changes" if git("status", "--porcelain", "--", "src") else "")


def _write_csv(path: Path, lines: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for line in lines for key in line)))
        writer.writeheader()
        writer.writerows(lines)
