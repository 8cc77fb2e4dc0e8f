"""Tables that read well as text, in a terminal and in a notebook."""

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

from thalweg.registry import metric_of

if TYPE_CHECKING:
    from thalweg.evaluate.result import Result

_BARS = "▁▂▃▄▅▆▇█"


@final
class Table:
    """A head, rows of text and a few notes. words: so many columns, from the left, are words; the others are numbers.

    >>> print(Table(("metric", "value"), [("accuracy", "0.81"), ("kappa", "0.5")], title="SEA"))
    SEA
    metric    value
    ───────────────
    accuracy   0.81
    kappa       0.5
    """

    def __init__(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        title: str = "",
        notes: Sequence[str] = (),
        words: int = 1,
    ) -> None:
        self.head, self.rows, self.title, self.notes = tuple(head), [tuple(r) for r in rows], title, tuple(notes)
        self.words = words

    def __str__(self) -> str:
        widths = [max(len(r[i]) for r in (self.head, *self.rows)) for i in range(len(self.head))]
        lines = [
            "  ".join(
                cell.ljust(w) if i < self.words else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(r, widths, strict=True))
            ).rstrip()
            for r in (self.head, *self.rows)
        ]
        rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
        return "\n".join([*[self.title] * bool(self.title), lines[0], rule, *lines[1:], *self.notes])

    __repr__ = __str__

    def parts(self, width: int) -> "list[Table]":
        """Split into tables, one below the other, that are at most so many characters wide, if that can be.

        >>> [part.head for part in Table(("name", "first", "second"), [("a", "1", "2")]).parts(16)]
        [('name', 'first'), ('name', 'second')]
        """
        widths = [3 + max(len(r[i]) for r in (self.head, *self.rows)) for i in range(len(self.head))]
        blocks: list[list[int]] = [[]]
        for i in range(1, len(widths)):
            if blocks[-1] and widths[0] + sum(widths[j] for j in blocks[-1]) + widths[i] > width:
                blocks.append([])
            blocks[-1].append(i)
        return [
            Table(
                [self.head[i] for i in (0, *block)],
                [[row[i] for i in (0, *block)] for row in self.rows],
                title=self.title if n == 0 else "",
                notes=self.notes if n == len(blocks) - 1 else (),
                words=sum(i < self.words for i in (0, *block)),
            )
            for n, block in enumerate(blocks)
        ]

    def __rich__(self) -> Any:
        from rich import box
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, name in enumerate(self.head):
            table.add_column(Text(name), justify="left" if i < self.words else "right", no_wrap=True)
        for row in self.rows:
            table.add_row(*map(Text, row))
        title = [Text(self.title, style="bold")] * bool(self.title)
        return Group(*title, table, *(Text(note, style="dim") for note in self.notes))

    def _repr_html_(self) -> str:
        def cells(row: Sequence[str], tag: str) -> str:
            sides = ["left" if i < self.words else "right" for i in range(len(row))]
            pairs = zip(row, sides, strict=True)
            return "".join(f'<{tag} style="text-align:{side}">{html.escape(c)}</{tag}>' for c, side in pairs)

        body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in self.rows)
        caption = f'<caption style="text-align:left;font-weight:bold">{html.escape(self.title)}</caption>'
        notes = "".join(f"<div>{html.escape(note)}</div>" for note in self.notes)
        return (
            f"<table>{caption if self.title else ''}<thead><tr>{cells(self.head, 'th')}</tr></thead>"
            f"<tbody>{body}</tbody></table>{notes}"
        )


class Tabled(ABC):
    """Something that is shown as its table, in a terminal and in a notebook."""

    @abstractmethod
    def table(self) -> Table:
        """Write it as a table."""

    def __repr__(self) -> str:
        return str(self.table())

    def __rich__(self) -> Any:
        return self.table()

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def one(result: "Result") -> Table:
    """Tabulate one run: each metric over all rows and over the last window."""
    rows = [
        (
            metric_of(name).title,
            "" if metric_of(name).windowed else metric_text(name, value),
            metric_text(name, result.recent[name]),
        )
        for name, value in result.final.items()
    ]
    notes = [
        f"{result.rows:,} rows in {seconds_text(result.seconds)}{_speed(result.rows_per_second)}; "
        f"state {bytes_text(result.state_bytes)}, at most {bytes_text(result.peak_bytes)}",
        *_over_time(result),
        *[f"labels used: {result.labels_used:,} of {result.rows:,}"] * (result.labels_used != result.rows),
        *[f"rows without a prediction: {100.0 * result.unpredicted:.2f} %"] * (result.unpredicted >= 5e-5),
        *[f"known drifts at {_positions(result.drifts)}"] * bool(result.drifts),
        *[f"drifts detected at {_positions(result.detected)}"] * bool(result.detected),
        *[f"stopped early: {result.stopped}"] * (result.stopped not in ("end", "limit")),
    ]
    last = f"last {min(result.window, result.rows):,}"
    return Table(("metric", "all rows", last), rows, title=f"{result.learner} on {result.stream}", notes=notes)


SHORT = ("accuracy", "kappa", "kappa_m", "kappa_t", "f1_macro", "auc")
"""The metrics of a table that fits on a screen."""


def side_by_side(results: Sequence["Result"], *, metrics: Sequence[str] = SHORT, strict: bool = True) -> Table:
    """Tabulate several learners on one stream.

    metrics: which to show, of those that all results have. strict: refuse runs of different length, whose cumulative
    numbers cannot be compared.
    """
    if not results:
        raise ValueError("results must hold at least one result, got none")
    lengths = sorted({r.rows for r in results})
    if strict and len(lengths) > 1:
        raise ValueError(f"results must have the same number of rows to share a table, got {lengths}")
    names = [name for name in metrics if all(name in r.final for r in results)]
    head = (
        "learner",
        *(f"{m.title}, end" if m.windowed else m.title for m in map(metric_of, names)),
        "rows/s",
        "state",
    )
    rows = [
        (
            r.learner,
            *(metric_text(n, r.final[n]) for n in names),
            "–" if r.rows_per_second != r.rows_per_second else f"{r.rows_per_second:,.0f}",
            bytes_text(r.state_bytes),
        )
        for r in results
    ]
    streams = ", ".join(dict.fromkeys(r.stream for r in results))
    return Table(head, rows, title=f"{streams}, {results[0].rows:,} rows" if len(lengths) == 1 else streams)


def metric_text(name: str, value: float) -> str:
    """Write a metric: in per cent or as a number, a dash where undefined."""
    if value != value:
        return "–"
    if metric_of(name).percent:
        return f"{100.0 * value:.2f} %"
    return f"{round(value, 4) + 0.0:.4f}"  # + 0.0: no minus before a zero


def equal_decimals(values: Iterable[float]) -> int:
    """Say how many decimals all numbers of a column get, so that the smallest of them has two digits that count.

    >>> equal_decimals([0.0634, 12.0]), equal_decimals([1.5, 20.0]), equal_decimals([250.0]), equal_decimals([])
    (3, 1, 0, 0)
    """
    sizes = [abs(v) for v in values if math.isfinite(v) and v != 0.0]
    return min(max(1 - math.floor(math.log10(min(sizes))), 0), 4) if sizes else 0


def bytes_text(n: int) -> str:
    """Write a number of bytes.

    >>> bytes_text(123_456)
    '123 kB'
    """
    size = float(n)
    for unit in ("B", "kB", "MB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} GB" if size < 999.5 else f"{size:.0f} GB"


def seconds_text(seconds: float) -> str:
    """Write a time.

    >>> seconds_text(0.0123), seconds_text(75.2)
    ('12.3 ms', '75.2 s')
    """
    return f"{1000.0 * seconds:.3g} ms" if seconds < 0.9995 else f"{seconds:.1f} s"


def sparkline(values: Any, width: int = 40) -> str:
    """Draw numbers as a line of little bars, from their smallest to their largest.

    >>> sparkline([0.1, 0.2, 0.3])
    '▁▅█'
    """
    finite = [float(v) for v in values if v == v]
    if len(finite) > width:
        edges = [round(i * len(finite) / width) for i in range(width + 1)]
        finite = [sum(finite[a:b]) / (b - a) for a, b in pairwise(edges)]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BARS[round((v - low) * scale)] for v in finite)


def _speed(rows_per_second: float) -> str:
    return f" ({rows_per_second:,.0f} per second)" if rows_per_second == rows_per_second else ""


def _over_time(result: "Result") -> list[str]:
    values = [v for v in result.curve["window_accuracy"] if v == v]
    if len(values) < 2:
        return []
    low, high = metric_text("accuracy", min(values)), metric_text("accuracy", max(values))
    return [f"accuracy over time  {sparkline(values, width=30)}  between {low} and {high}"]


def _positions(rows: Sequence[int], most: int = 8) -> str:
    text = ", ".join(f"{r:,}" for r in rows[:most])
    return f"{text} and {len(rows) - most:,} more" if len(rows) > most else text
