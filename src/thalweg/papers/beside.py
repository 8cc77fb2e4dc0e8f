"""Published numbers beside ours: differences, means and ranks, from a run or from a file of results."""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import final

import numpy as np

from thalweg.comparison.ranking import Ranking
from thalweg.comparison.significance import Floats, average_ranks
from thalweg.papers.plan import PaperTable, Published
from thalweg.show.tables import Table, equal_decimals

UNITS = {"accuracy": "accuracy in per cent", "error": "error in per cent", "time": "CPU µs per record",
         "memory": "kB of model at the end", "answer": "CPU µs of an answer", "index": "kB of index"}  # fmt: skip
COLUMNS = ("table", "stream", "learner", "published", "ours")
Numbers = Mapping[tuple[str, str], float]
"""By row and learner."""


@final
@dataclass(frozen=True)
class Beside:
    """One table, ours and the paper's.

    >>> from thalweg.papers.plan import read_plan
    >>> table = read_plan("sdf").tables[0]
    >>> both = Beside(table, ("HYPER",), {("HYPER", "ODL"): 92.0}, {("HYPER", "ODL"): 91.8})
    >>> both.difference("HYPER", "ODL")
    0.2
    """

    plan: PaperTable
    rows: tuple[str, ...]
    """Rows that were run, in the paper's words."""
    ours: Numbers
    published: Numbers

    @property
    def learners(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.plan.learners)

    @property
    def both(self) -> tuple[str, ...]:
        """Rows for which the paper prints a number for each learner, and we have one too."""
        return tuple(r for r in self.rows if all(self._known(r, x) for x in self.learners))

    def _known(self, row: str, learner: str) -> bool:
        return (row, learner) in self.published and not math.isnan(self.ours.get((row, learner), math.nan))

    def difference(self, row: str, learner: str) -> float:
        """Ours less the published number; NaN where one of them is missing."""
        place = row, learner
        return round(self.ours.get(place, math.nan) - self.published.get(place, math.nan), 6)

    def scores(self, numbers: Numbers, rows: Sequence[str]) -> Floats:
        """Tabulate numbers, NaN where there is none."""
        return np.array([[numbers.get((r, x), math.nan) for x in self.learners] for r in rows])

    def ranks(self, numbers: Numbers, rows: Sequence[str]) -> Floats | None:
        """Rank the learners over rows by the mean rank; None where there are fewer than two of either."""
        if len(rows) < 2 or len(self.learners) < 2:
            return None
        scores = self.scores(numbers, rows)
        return average_ranks(scores, higher_is_better=not self.plan.lower_is_better)

    def ranking(self) -> Ranking | None:
        """Rank ours, with the tests; None where there are fewer than two rows or learners."""
        if len(self.rows) < 2 or len(self.learners) < 2:
            return None
        scores = self.scores(self.ours, self.rows)
        return Ranking(self.learners, scores, higher_is_better=not self.plan.lower_is_better)

    def mean(self, numbers: Numbers, learner: str, rows: Sequence[str]) -> float:
        """Average over rows; what is given as a multiple is averaged as one, by the geometric mean."""
        values = [numbers.get((row, learner), math.nan) for row in rows]
        if not values:
            return math.nan
        return math.exp(fmean(map(math.log, values))) if self.plan.relative_to else fmean(values)

    # -- tables -------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Tabulate every row: ours, then in brackets the published number and the difference."""
        rows = [(row, *self._cells(row)) for row in self.rows]
        note = f"Ours{', then what is published' if self.published else ''}"
        if not self.plan.relative_to:
            note += f"{', and the difference' if self.published else ''}. Bold: the best of ours"
        return Table(("stream", *self.learners), rows, title=f"By stream, {self.unit}", notes=[f"{note}."])

    @property
    def unit(self) -> str:
        """What the numbers are."""
        unit = UNITS[self.plan.measure]
        return f"{unit.split(' of')[0]}, multiples of {self.plan.relative_to}" if self.plan.relative_to else unit

    def _cells(self, row: str) -> list[str]:
        ours = [self.ours.get((row, x), math.nan) for x in self.learners]
        best = (np.nanmin if self.plan.lower_is_better else np.nanmax)(ours) if not np.isnan(ours).all() else math.nan
        texts = []
        for learner, value in zip(self.learners, ours, strict=True):
            text = self.text(value)
            if (row, learner) in self.published:
                text += f" ({self.text(self.published[row, learner])}{self._change(row, learner)})"
            texts.append(f"* {text}" if value == best and not self.plan.relative_to else text)
        return texts

    def _change(self, row: str, learner: str) -> str:
        change = self.difference(row, learner)
        return "" if math.isnan(change) or self.plan.relative_to else f", {change:+,.{self.decimals}f}"

    def text(self, value: float) -> str:
        """Write a number."""
        if math.isnan(value):
            return "–"
        return f"{value:,.{self.decimals}f}"

    @cached_property
    def decimals(self) -> int:
        """How many decimals all numbers of the table have."""
        if self.plan.measure in ("accuracy", "error"):
            return 2
        return equal_decimals([*self.ours.values(), *self.published.values()])

    def summary(self) -> Table:
        """Tabulate every learner: means and mean ranks, published and ours, over the rows that both have."""
        if not self.published:
            rows = self._summary_of_ours()
            head: tuple[str, ...] = ("learner", "ours", "mean rank")
            return Table(head, rows, title=self.summary_title(self.rows))
        both = self.both
        theirs, mine = self.ranks(self.published, both), self.ranks(self.ours, both)
        rows = []
        for i, learner in enumerate(self.learners):
            numbers = [self.mean(n, learner, both) for n in (self.published, self.ours)]
            change = numbers[1] - numbers[0]
            last = [] if self.plan.relative_to else ["–" if math.isnan(change) else f"{change:+,.{self.decimals}f}"]
            rank = ["–" if r is None else f"{r[i]:.2f}" for r in (theirs, mine)]
            rows.append((learner, *map(self.text, numbers), *last, *rank))
        last_head = [] if self.plan.relative_to else ["difference"]
        head = ("learner", "published", "ours", *last_head, "mean rank, published", "mean rank, ours")
        return Table(head, rows, title=self.summary_title(both))

    def summary_title(self, rows: Sequence[str]) -> str:
        """What the means are of."""
        return f"Means over {'1 stream' if len(rows) == 1 else f'{len(rows)} streams'}, {self.unit}"

    def _summary_of_ours(self) -> list[tuple[str, ...]]:
        ranks = self.ranks(self.ours, self.rows)
        return [
            (x, self.text(self.mean(self.ours, x, self.rows)), "–" if ranks is None else f"{ranks[i]:.2f}")
            for i, x in enumerate(self.learners)
        ]

    def lines(self) -> list[tuple[str, str, str, str, str]]:
        """Give a line for each number, as the file of results has it."""
        places = [(row, learner) for row in self.rows for learner in self.learners]
        return [(self.plan.name, *at, _exact(self.published.get(at)), _exact(self.ours.get(at))) for at in places]


def _exact(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.6g}"


def published_numbers(table: PaperTable, printed: Published, rows: Iterable[str]) -> dict[tuple[str, str], float]:
    """Pick the published numbers of some rows, as the table wants them."""
    found = {}
    for row in rows:
        for learner in table.learners:
            if learner in printed.get(row, {}):
                by = printed[row][table.relative_to] if table.relative_to else 1.0
                found[row, learner] = printed[row][learner] / by
    return found


def read_lines(path: Path, tables: Iterable[PaperTable]) -> dict[str, Beside]:
    """Read a file of results; by the names of the tables."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    found = {}
    for table in tables:
        mine = [line for line in lines if line["table"] == table.name]
        numbers = [
            {(line["stream"], line["learner"]): float(line[which]) for line in mine if line[which]}
            for which in ("ours", "published")
        ]
        rows = tuple(dict.fromkeys(line["stream"] for line in mine))
        found[table.name] = Beside(table, rows, *numbers)
    return found
