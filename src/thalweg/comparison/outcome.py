"""What a grid of runs found: scores, ranks, tables and files."""

import csv
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, final

import numpy as np

from thalweg.comparison.cell import Cell
from thalweg.comparison.ranking import Ranking
from thalweg.comparison.significance import Floats
from thalweg.core.params import choice
from thalweg.evaluate.result import Result
from thalweg.registry import METRICS, metric_of
from thalweg.show.tables import Table, Tabled, bytes_text, equal_decimals, metric_text

NO_RANKING = "Ranks and tests need at least two learners and two streams."


@final
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabled):
    """The runs of a grid: every learner on every stream, with every seed.

    Examples
    --------
    >>> from thalweg import compare
    >>> found = compare(["no-change", "majority"], on=["sea", "sine"], limit=2000)
    >>> found.scores().shape
    (2, 2)
    """

    learners: Mapping[str, str]
    """The learners: what to call them, and how they are made."""
    streams: Mapping[str, str]
    """The streams: what to call them, and how they were named. Given as a list, both are the same."""
    cells: Sequence[Cell]
    """What was to be run: a learner, a stream and a seed each."""
    results: Mapping[Cell, Result]
    """What came out, of the cells that were run."""
    failures: Mapping[Cell, str]
    """Why a cell has no result."""
    metric: str = "accuracy"
    """What the learners are ranked by."""
    command: str = ""
    """What to type to have this again."""
    control: str | None = None
    """The learner that all others are compared with; None: all with all."""

    def __post_init__(self) -> None:
        """Let streams without names be called by what they are."""
        if not isinstance(self.streams, Mapping):
            object.__setattr__(self, "streams", {stream: stream for stream in self.streams})

    # -- numbers ------------------------------------------------------------------------------------------------------

    def of(self, learner: str, stream: str) -> list[Result]:
        """Give the results of a learner on a stream, a result for each seed that is there."""
        place = self.learners[learner], self.streams[stream]
        found = (self.results[c] for c in self.cells if (c.learner, c.stream) == place and c in self.results)
        return [replace(result, learner=learner, stream=stream) for result in found]

    def failed(self, learner: str, stream: str) -> bool:
        """Did any run of a learner on a stream fail?"""
        place = self.learners[learner], self.streams[stream]
        return any((c.learner, c.stream) == place for c in self.failures)

    def scores(self, metric: str | None = None) -> Floats:
        """Give a table of a metric, streams by learners: the mean over the seeds, NaN where a run is missing."""
        metric = metric or self.metric
        choice("metric", metric, METRICS)
        for stream in self.streams:
            lengths = sorted({r.rows for learner in self.learners for r in self.of(learner, stream)})
            if len(lengths) > 1:
                raise ValueError(f"runs on {stream} must have the same number of rows to be compared, got {lengths}")
        return np.array(
            [[self._score(learner, stream, metric) for learner in self.learners] for stream in self.streams]
        )

    def _score(self, learner: str, stream: str, metric: str) -> float:
        runs = self.of(learner, stream)
        return math.nan if not runs or self.failed(learner, stream) else fmean(r.final[metric] for r in runs)

    def ranking(self, metric: str | None = None) -> Ranking | None:
        """Rank the learners over the streams; None where there are fewer than two of either."""
        metric = metric or self.metric
        if len(self.learners) < 2 or len(self.streams) < 2:
            return None
        higher = not metric_of(metric).lower_is_better
        return Ranking(list(self.learners), self.scores(metric), higher_is_better=higher, control=self.control)

    # -- tables -------------------------------------------------------------------------------------------------------

    def table(self, metric: str | None = None) -> Table:
        """Tabulate a metric: a row for each stream, a column for each learner, the best of each row marked."""
        metric = metric or self.metric
        scores = self.scores(metric)
        ranking = self.ranking(metric)
        rows = [(s, *self._cells(s, metric, row)) for s, row in zip(self.streams, scores, strict=True)]
        if ranking is not None:
            means = [_bare(metric, float(np.mean(column))) for column in scores.T]
            rows += [("mean", *means), ("average rank", *(f"{rank:.2f}" for rank in ranking.ranks))]
        notes = [f"{metric_of(metric).title}{unit(metric)}; * the best of its stream" + self._spread_note()]
        notes += [f"failed: {c.learner} on {self._called(c)}, seed {c.seed}: {why}" for c, why in self.failures.items()]
        return Table(("stream", *self.learners), rows, title="Comparison", notes=notes)

    def _spread_note(self) -> str:
        return "; mean ± standard deviation over the seeds" if len({c.seed for c in self.cells}) > 1 else ""

    def _cells(self, stream: str, metric: str, row: Floats) -> list[str]:
        signed = row if metric_of(metric).lower_is_better else -row
        best = np.nanmin(signed) if np.isfinite(signed).any() else math.nan
        texts = []
        for learner, value, loss in zip(self.learners, row, signed, strict=True):
            if self.failed(learner, stream):
                texts.append("failed")
                continue
            values = [r.final[metric] for r in self.of(learner, stream)]
            spread = f" ± {_bare(metric, stdev(values))}" if len(values) > 1 else ""
            texts.append(f"{'* ' if loss == best else ''}{_bare(metric, float(value))}{spread}")
        return texts

    def costs(self) -> Table:
        """Tabulate what each learner costs: CPU time and memory, means over all runs."""
        rows = []
        runs = {name: [r for stream in self.streams for r in self.of(name, stream)] for name in self.learners}
        speeds = {name: typical_speed(of) for name, of in runs.items()}
        decimals = equal_decimals(1e6 / speed for speed in speeds.values())
        for name, of in runs.items():
            if math.isnan(speeds[name]):
                rows.append((name, *"––––"))
                continue
            state, peak = (round(fmean(getattr(r, each) for r in of)) for each in ("state_bytes", "peak_bytes"))
            times = f"{speeds[name]:,.0f}", f"{1e6 / speeds[name]:,.{decimals}f}"
            rows.append((name, *times, bytes_text(state), bytes_text(peak)))
        head = ("learner", "rows per CPU second", "µs per row", "state at the end", "most")
        return Table(head, rows, title="Costs", notes=["Means over all runs; rows per second: the geometric mean."])

    # -- files --------------------------------------------------------------------------------------------------------

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a line for each run."""
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            rows = [self._line(cell) for cell in self.cells]
            writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
            writer.writeheader()
            writer.writerows(rows)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write all runs (without their curves), the ranking, and how it was made, as one JSON object."""
        ranking = self.ranking()
        text = json.dumps(
            {
                "command": self.command,
                "made_with": self.made_with(),
                "metric": self.metric,
                "learners": dict(self.learners),
                "streams": list(self.streams),
                "runs": [self._line(cell) for cell in self.cells],
                "ranking": None if ranking is None else ranking.to_dict(),
            },
            indent=1,
        )
        text = text.replace(": NaN", ": null").replace(": Infinity", ": null")
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained page: pictures, ranks, tests, tables, and how to have it again."""
        from thalweg.comparison.comparison_page import write_page

        write_page(self, Path(path))

    def _line(self, cell: Cell) -> dict[str, Any]:
        name = next(name for name, spec in self.learners.items() if spec == cell.learner)
        about = {"learner": name, "made_as": cell.learner, "stream": self._called(cell), "seed": cell.seed}
        r = self.results.get(cell)
        if r is None:
            return {**about, "error": self.failures.get(cell, "not run")}
        costs = {
            "rows_per_cpu_second": speed(r), "cpu_seconds": r.cpu_seconds, "seconds": r.seconds,
            "ram_hours": r.ram_hours, "state_bytes": r.state_bytes, "peak_bytes": r.peak_bytes,
            "labels_used": r.labels_used,
        }  # fmt: skip
        return {**about, "error": "", "rows": r.rows, **r.final, **costs}

    def _called(self, cell: Cell) -> str:
        return next((name for name, spec in self.streams.items() if spec == cell.stream), cell.stream)

    def made_with(self) -> dict[str, str]:
        """Say with which versions and on which machine the runs were made."""
        found = [r.meta for r in self.results.values()]
        names = ("version", "python", "numpy", "numba", "machine")
        return {name: "; ".join(dict.fromkeys(str(m[name]) for m in found if name in m)) for name in names}


def speed(result: Result) -> float:
    """Rows predicted and learned in a second of CPU time; NaN where nothing was measured."""
    return result.rows / result.cpu_seconds if result.cpu_seconds > 0.0 else math.nan


def typical_speed(runs: Sequence[Result]) -> float:
    """Give the geometric mean of the speeds; NaN where none was measured."""
    speeds = [s for s in map(speed, runs) if s > 0.0]
    return math.exp(fmean(map(math.log, speeds))) if speeds else math.nan


def unit(metric: str) -> str:
    """Say in what a table gives a metric."""
    return " in per cent" if metric_of(metric).percent else ""


def _bare(metric: str, value: float) -> str:
    return metric_text(metric, value).removesuffix(" %")
