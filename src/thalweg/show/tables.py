"""Tables that read well as text, in a terminal and in a notebook."""

import html
import math
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

from thalweg.registry import METRICS, metric_of

if TYPE_CHECKING:
    from thalweg.evaluate.result import Result

_BARS = "▁▂▃▄▅▆▇█"
WIDTH = 80
"""Characters of a line of text."""


@final
class Table:
    """A head, rows of text and a few notes.

    words: so many columns, from the left, are words; the others are numbers. lead: what it comes to, in sentences that
    stand above all else.

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
        lead: str = "",
    ) -> None:
        self.head, self.rows, self.title, self.notes = tuple(head), [tuple(r) for r in rows], title, tuple(notes)
        self.words, self.lead = words, lead

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
        lead = [*textwrap.wrap(self.lead, WIDTH), ""] if self.lead else []
        return "\n".join([*lead, *[self.title] * bool(self.title), lines[0], rule, *lines[1:], *self.notes])

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
                lead=self.lead if n == 0 else "",
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
        lead = [Text(self.lead), Text("")] if self.lead else []
        title = [Text(self.title, style="bold")] * bool(self.title)
        return Group(*lead, *title, table, *(Text(note, style="dim") for note in self.notes))

    def _repr_html_(self) -> str:
        def cells(row: Sequence[str], tag: str) -> str:
            sides = ["left" if i < self.words else "right" for i in range(len(row))]
            pairs = zip(row, sides, strict=True)
            return "".join(f'<{tag} style="text-align:{side}">{html.escape(c)}</{tag}>' for c, side in pairs)

        body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in self.rows)
        caption = f'<caption style="text-align:left;font-weight:bold">{html.escape(self.title)}</caption>'
        notes = "".join(f"<div>{html.escape(note)}</div>" for note in self.notes)
        lead = f"<p>{html.escape(self.lead)}</p>" if self.lead else ""
        return (
            f"{lead}<table>{caption if self.title else ''}<thead><tr>{cells(self.head, 'th')}</tr></thead>"
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


MATTER = {
    "rare class": ("pr_auc", "recall_at_budget", "balanced_accuracy", "accuracy"),
    "two classes": ("accuracy", "kappa", "balanced_accuracy", "auc_all"),
    "many classes": ("accuracy", "kappa", "balanced_accuracy", "f1_macro"),
}
"""The few metrics that matter for each kind of problem."""


def one(result: "Result", *, all: bool = False) -> Table:
    """Tabulate one run: its metrics over all rows and over the last window. all: not only those that matter most."""
    rows = [
        *_of_rare_class(result),
        *(
            (
                metric_of(name).title,
                "" if metric_of(name).windowed else metric_text(name, result.final[name]),
                metric_text(name, result.recent[name]) if name in result.recent else "",
            )
            for name in (result.final if all else _matter(result))
        ),
    ]
    notes = [
        f"{result.rows:,} rows in {seconds_text(result.seconds)}{_speed(result.rows_per_second)}; "
        f"state {bytes_text(result.state_bytes)}, at most {bytes_text(result.peak_bytes)}",
        *_over_time(result),
        *[f"labels used: {result.labels_used:,} of {result.rows:,}"] * (result.labels_used != result.rows),
        *_met(result),
        *[f"rows without a prediction: {100.0 * result.unpredicted:.2f} %"] * (result.unpredicted >= 5e-5),
        *[f"known drifts at {_positions(result.drifts)}"] * bool(result.drifts),
        *changes(result),
        *(f"for comparison: {o.learner} is right on {metric_text('accuracy', o.accuracy)}" for o in result.others),
        *[f"stopped early: {result.stopped}"] * (result.stopped not in ("end", "limit")),
    ]
    last = f"last {min(result.window, result.rows):,}"
    title = f"{result.learner} on {result.stream}"
    return Table(("metric", "all rows", last), rows, title=title, notes=notes, lead=result.summary)


def _met(result: "Result") -> list[str]:
    """Say what became of records and labels that came apart."""
    if not result.joined:
        return []
    n = result.joined
    return [
        f"records: {n['matched']:,} met their label, {n['open']:,} wait for it, {n['expired']:,} were let go of",
        f"labels: {n['matched']:,} matched, {n['early']:,} of them early; {n['late']:,} late, {n['repeated']:,} "
        f"repeated, {n['orphaned']:,} orphaned, {n['ahead']:,} ahead of their record",
    ]


def _matter(result: "Result") -> list[str]:
    """Name the metrics to show: those that somebody chose or brought, else the few that matter."""
    few = MATTER.get(result.kind, ("accuracy", "kappa"))
    if not all(name in result.final for name in few):
        return list(result.final)
    return [*few, *(name for name in result.final if name not in METRICS.own)]


def _of_rare_class(result: "Result") -> list[tuple[str, str, str]]:
    if result.kind != "rare class":
        return []
    occurring = {label: s for label, s in result.per_class.items() if s.support > 0.0}
    label, score = min(reversed(occurring.items()), key=lambda pair: pair[1].support)
    name = f"'{label}'" if isinstance(label, str) else f"class {label}"
    return [
        (f"recall of {name}", share_text(score.recall, 2), ""),
        (f"precision of {name}", share_text(score.precision, 2), ""),
    ]


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


def share_text(share: float, decimals: int = 1) -> str:
    """Write a share in per cent; a dash where undefined, and never 0 or 100 for what is not quite that.

    >>> share_text(0.0062), share_text(0.99996), share_text(1.0), share_text(0.00001)
    ('0.6 %', '> 99.9 %', '100.0 %', '< 0.1 %')
    """
    if share != share:
        return "–"
    least = 10.0**-decimals
    if 0.0 < share and 100.0 * share < 0.5 * least:
        return f"< {least:.{decimals}f} %"
    if share < 1.0 and 100.0 * (1.0 - share) <= 0.5 * least:
        return f"> {100.0 - least:.{decimals}f} %"
    return f"{100.0 * share:.{decimals}f} %"


def weight_text(weight: float) -> str:
    """Write a number of rows, or what they weigh.

    >>> weight_text(1443.0), weight_text(2.25)
    ('1,443', '2.2')
    """
    return f"{weight:,.0f}" if weight == round(weight) else f"{weight:,.1f}"


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


def changes(result: "Result") -> list[str]:
    """Say when the learner changed itself."""
    if not result.replaced:
        return [f"drifts detected at {_positions(result.detected)}"] * bool(result.detected)
    members = max(len(result.replaced), result.n_changes)  # of each member only the latest are kept
    first, last = result.replaced[0][0], result.replaced[-1][0]
    when = f"before row {first:,}" if first == last else f"between rows {first:,} and {last:,}"
    return [f"drift: {members:,} {'member' if members == 1 else 'members'} replaced, {when}"]


def _positions(rows: Sequence[int], most: int = 8) -> str:
    text = ", ".join(f"{r:,}" for r in rows[:most])
    return f"{text} and {len(rows) - most:,} more" if len(rows) > most else text
