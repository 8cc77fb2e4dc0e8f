"""A stream drawn on the terminal: a line of little bars for each class and each feature, as wide as there is room."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from thalweg.show.stream_picture import groups, percent, shaded
from thalweg.show.stream_summary import FeatureOverTime, Floats, StreamSummary
from thalweg.show.tables import sparkline

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_COLOURS = ("blue", "yellow", "green", "magenta", "cyan", "red")
_ROOMY = 80  # columns from which on the lowest and the highest are written too
_ENDS = 19  # columns for them
_NAME = 16  # columns for a name, at most
_VALUES = 3  # of a nominal feature


class _Line(NamedTuple):
    name: str
    number: str
    ends: str
    bars: str
    style: str = ""


@final
class Drawing:
    """What ``print(summary)`` shows on a terminal of some width."""

    def __init__(self, summary: StreamSummary) -> None:
        self._summary = summary

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        s = self._summary
        width = max(40, options.max_width)
        many = f"{len(s.classes):,} {'class' if len(s.classes) == 1 else 'classes'}"
        yield Text(f"{s.stream}, {s.rows:,} rows, {many}, {s.width}", style="bold")
        if s.drifts:
            yield Text(_drifts(s))
        for remark in s.remarks:
            yield Text(str(remark), style="yellow")
        wide = width >= _ROOMY
        names = [name for f in s.features for name in (f.name, *(f"  {v}" for v in f.values))]
        longest = max(len(n) for n in [*names, *(name for name, _, _ in groups(s)), "known drifts"])
        first = min(_NAME, longest)
        bars = width - first - 10 - (_ENDS if wide else 0) - 1
        features = [line for f in s.features for line in _feature(s, f, bars)]
        kinds = ["mean"] * any(not f.nominal for f in s.features) + ["share"] * any(f.nominal for f in s.features)
        yield Text("")
        yield from self._table(("class", "share"), list(_classes(s, bars)), first, bars, wide)
        yield Text("")
        yield Text(s.heading[0].upper() + s.heading[1:], style="bold")
        yield from self._table(("", "/".join(kinds)), features, first, bars, wide)
        yield Text("")
        yield Text("Bars: a share from 0 to its highest, a mean within the middle 80 % of all values.", style="dim")

    def _table(self, head: tuple[str, str], lines: list[_Line], first: int, bars: int, wide: bool) -> Iterator[Any]:
        """Write a head, the lines, and below them where the known drifts are."""
        from rich.text import Text

        s = self._summary
        axis = _Line(*head, "from – to", f"row 0{s.rows:>{bars - 5},}", "dim")
        drifts = _Line("known drifts", "", "", _marks(s, bars), "dim")
        for line in [axis, *lines, *[drifts] * bool(s.drifts)]:
            ends = f"{line.ends:>{_ENDS}}" if wide else ""
            dim = "dim" if line.style == "dim" else ""
            text = Text(f"{_cut(line.name, first):<{first}}{line.number:>10}{ends} ", style=dim)
            text.append(line.bars, style=line.style)
            text.no_wrap, text.overflow = True, "crop"
            yield text


def _classes(s: StreamSummary, width: int) -> Iterator[_Line]:
    for i, (name, over_time, share) in enumerate(groups(s)):
        ends = f"{percent(over_time.min())} – {percent(over_time.max())}"
        bars = _bars(s, over_time, 0.0, float(over_time.max()), width)
        yield _Line(name, percent(share), ends, bars, _COLOURS[i % len(_COLOURS)])


def _feature(s: StreamSummary, f: FeatureOverTime, width: int) -> Iterator[_Line]:
    if f.nominal and len(f.values) <= 2:
        for value, over_time in list(f.values.items())[:1]:
            yield _share(s, f"{f.name} = {value}", over_time, width)
    elif f.nominal:
        yield _Line(f.name, "", "", "")
        for value, over_time in list(f.values.items())[:_VALUES]:
            yield _share(s, f"  {value}", over_time, width)
    else:
        mean, low, high = f.middle
        known = f.mean[np.isfinite(f.mean)]
        ends = f"{_number(known.min())} – {_number(known.max())}" if known.size else ""
        yield _Line(f.name, _number(mean), ends, _bars(s, f.mean, low, high, width))
    if f.missing_share > 0:
        yield _share(s, "  missing", f.missing, width)._replace(number=percent(f.missing_share))


def _share(s: StreamSummary, name: str, over_time: Floats, width: int) -> _Line:
    rows = np.diff(s.edges)[np.isfinite(over_time)]
    known = over_time[np.isfinite(over_time)]
    if not known.size:
        return _Line(name, "–", "", "")
    share = float((known * rows).sum() / rows.sum())
    ends = f"{percent(known.min())} – {percent(known.max())}"
    return _Line(name, percent(share), ends, _bars(s, over_time, 0.0, float(known.max()), width))


def _bars(s: StreamSummary, values: Floats, low: float, high: float, width: int) -> str:
    """Draw values over time between two levels, a column for each equal part of the rows; a gap where none is known."""
    known = np.isfinite(values)
    rows = np.diff(s.edges) * known
    cuts = np.linspace(0.0, s.rows, width + 1)
    parts = (np.where(known, values, 0.0) * rows, rows)
    sums, counts = (np.diff(np.interp(cuts, s.edges, np.append(0.0, np.cumsum(part)))) for part in parts)
    level = np.divide(sums, counts, out=np.full(width, math.nan), where=counts > 1e-9)
    flat = not high > low
    drawn = []
    for v in level.tolist():
        middle = 0.5 if flat else min(1.0, max(0.0, (v - low) / (high - low)))
        drawn.append(" " if v != v else sparkline([0.0, middle, 1.0])[1])
    return "".join(drawn)


def _marks(s: StreamSummary, width: int) -> str:
    line = [" "] * width
    for d, reach in shaded(s):
        if reach:
            first, last = math.floor((d - reach) * width / s.rows), math.ceil((d + reach) * width / s.rows)
            for column in range(max(0, first), min(width, last)):
                line[column] = "─"
    for d in s.drifts:
        line[min(width - 1, int(d * width / s.rows))] = "▲"
    return "".join(line)


def _drifts(s: StreamSummary) -> str:
    wide = sorted({round(w) for w in s.widths if w > 1})
    span = " to ".join(f"{w:,}" for w in dict.fromkeys(wide[:1] + wide[-1:]))
    over = f", over {span} rows" if wide else ""
    more = f" and {len(s.drifts) - 8:,} more" if len(s.drifts) > 8 else ""
    return f"known drifts at {', '.join(f'{d:,}' for d in s.drifts[:8])}{more}{over}"


def _number(value: float) -> str:
    """Write a number in few characters.

    >>> _number(84_915.3), _number(0.12345), _number(-3.0)
    ('84,915', '0.123', '-3')
    """
    if not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e6 else f"{value + 0.0:.3g}"


def _cut(text: str, most: int) -> str:
    text = text.replace("\n", " ").replace("\t", " ")
    return text if len(text) <= most else f"{text[: most - 1]}…"
