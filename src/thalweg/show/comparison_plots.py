"""Pictures of many learners on many streams: ranks with the critical difference, costs, intervals."""

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from thalweg.show.figure import DARK, LIGHT, Picture, Theme, check_path, figure_class, key
from thalweg.show.tables import bytes_text

if TYPE_CHECKING:
    from thalweg.comparison.ranking import Ranking
    from thalweg.comparison.significance import Interval

CONTROL = "bonferroni-dunn"
RULED = ("nemenyi", CONTROL)
"""Procedures that have one critical difference, drawn as a ruler."""
_ROW = 0.27  # inches for a learner's name in the diagram of ranks


def rank_diagram(
    ranking: "Ranking",
    path: str | os.PathLike[str] | None = None,
    *,
    procedure: Any = None,
    dark: bool = False,
    width: float = 8.0,
) -> Picture:
    """Draw the mean ranks on a line, best on the left; thick bars join learners that the test does not tell apart.

    ranking: whose ranks; of one with a control, the bar reaches as far as its test (Bonferroni–Dunn) does not tell
    learners from it, and their dots are hollow. path: a .png, .svg or .pdf file to write; None: only give the picture.
    procedure: which test joins all pairs ("nemenyi", with its critical difference as a ruler; "shaffer"; "holm"),
    whether or not there is a control; None: that of the control, or else Nemenyi's. dark: for a dark page.
    width: inches.

    >>> from thalweg.comparison.ranking import Ranking
    >>> ranking = Ranking(["tree", "forest"], [[0.7, 0.8], [0.6, 0.9], [0.5, 0.7]] * 2)
    >>> rank_diagram(ranking).alt
    'Mean ranks of 2 learners over 6 streams, 1 is the best: forest 1.00, tree 2.00. All of them differ (nemenyi).'
    """
    check_path(path)
    procedure = procedure or _own_procedure(ranking)
    theme = DARK if dark else LIGHT
    names = 0.3 + 0.085 * max(map(len, ranking.learners))
    draw = _hanging if names + 0.45 <= 0.27 * width else _in_rows
    return Picture(draw(ranking, procedure, width, names, theme), describe_ranks(ranking, procedure)).saved(path)


def _own_procedure(ranking: "Ranking") -> str:
    return "nemenyi" if ranking.control is None else CONTROL


def describe_ranks(ranking: "Ranking", procedure: Any = None) -> str:
    """Say in words what ``rank_diagram`` draws.

    >>> from thalweg.comparison.ranking import Ranking
    >>> describe_ranks(Ranking(["a", "b"], [[1, 1], [1, 1]])).rpartition(": ")[2]
    'a 1.50, b 1.50. They do not differ significantly.'
    """
    named = ", ".join(f"{ranking.learners[i]} {ranking.ranks[i]:.2f}" for i in ranking.order)
    what = f"Mean ranks of {len(ranking.learners)} learners over {ranking.streams} streams, 1 is the best: {named}."
    if not ranking.differ:
        return f"{what} They do not differ significantly."
    procedure = procedure or _own_procedure(ranking)
    if procedure == CONTROL:
        return f"{what} Compared with {ranking.words_about_control()}."
    groups = ranking.groups(procedure)
    if not groups:
        return f"{what} All of them differ ({procedure})."
    alike = "; ".join(", ".join(ranking.learners[i] for i in group) for group in groups)
    return f"{what} Not significantly different ({procedure}): {alike}."


def _hanging(ranking: "Ranking", procedure: Any, width: float, names: float, theme: Theme) -> Any:
    """Draw the line of ranks with the names hung below it: the better half to the left, the others to the right."""
    k, bars, margin = len(ranking.learners), _bars(ranking, procedure), names + 0.45
    left = math.ceil(k / 2)
    levels = _levels(bars)
    top = 0.95 if procedure in RULED else 0.5
    below = top + 0.22 + 0.16 * (max(levels, default=-1) + 1)
    figure, axes = _sheet(width, below + _ROW * left + 0.1, theme)

    def x(rank: float) -> float:
        return margin + (rank - 1.0) / (k - 1) * (width - 2.0 * margin)

    _line(axes, k, x, top, theme)
    for place, i in enumerate(ranking.order):
        on_left = place < left
        y = below + _ROW * ((place if on_left else k - 1 - place) + 0.35)
        at, edge = x(ranking.ranks[i]), margin - 0.12 if on_left else width - margin + 0.12
        axes.plot([at, at, edge], [top, y, y], color=theme.faint, linewidth=1.0, solid_joinstyle="round")
        axes.plot([at], [top], "o", markersize=5.5, zorder=4, **_dot(ranking, procedure, i, theme))
        words = (ranking.learners[i], f"{ranking.ranks[i]:.2f}")
        text, side, ha = ("  ".join(words), -0.06, "right") if on_left else ("  ".join(words[::-1]), 0.06, "left")
        axes.text(edge + side, y, text, ha=ha, va="center", color=theme.ink, fontsize=10)
    for level, (low, high) in zip(levels, bars, strict=True):
        y = top + 0.16 + 0.16 * level
        beyond, cap = (0.0, "butt") if procedure == CONTROL else (0.05, "round")  # a control's bar ends where it ends
        ends = [x(low) - beyond, x(high) + beyond]
        axes.plot(ends, [y, y], color=theme.lines[1], linewidth=4.0, solid_capstyle=cap)
    if procedure in RULED:
        _ruler(axes, ranking, procedure, x, theme)
    return figure


def _in_rows(ranking: "Ranking", procedure: Any, width: float, names: float, theme: Theme) -> Any:
    """Draw a row for each learner, for long names and for narrow pictures; bars that join them stand on the right."""
    k, groups = len(ranking.learners), [] if procedure == CONTROL else ranking.groups(procedure)
    top = 0.95 if procedure in RULED else 0.4
    left, right = min(names, 0.52 * width), width - 0.62 - 0.16 * len(groups)
    figure, axes = _sheet(width, top + 0.15 + _ROW * k + 0.1, theme)

    def x(rank: float) -> float:
        return left + 0.12 + (rank - 1.0) / (k - 1) * (right - left - 0.24)

    def y(place: int) -> float:
        return top + 0.15 + _ROW * (place + 0.5)

    _line(axes, k, x, top, theme)
    for place, i in enumerate(ranking.order):
        at = y(place)
        axes.plot([x(1), x(k)], [at, at], color=theme.grid, linewidth=0.8, zorder=1)
        axes.plot([x(ranking.ranks[i])], [at], "o", markersize=6.5, zorder=4, **_dot(ranking, procedure, i, theme))
        axes.text(left - 0.02, at, ranking.learners[i], ha="right", va="center", color=theme.ink, fontsize=10)
        axes.text(right + 0.4, at, f"{ranking.ranks[i]:.2f}", ha="right", va="center", color=theme.ink, fontsize=10)
    for n, group in enumerate(groups):
        ends = [y(ranking.order.index(i)) for i in (group[0], group[-1])]
        column = right + 0.58 + 0.16 * n
        axes.plot([column] * 2, ends, color=theme.lines[1], linewidth=4.0, solid_capstyle="round")
    for low, high in _bars(ranking, procedure) if procedure == CONTROL else []:
        axes.plot([x(low), x(high)], [top + 0.08] * 2, color=theme.lines[1], linewidth=4.0, solid_capstyle="butt")
        for end in (low, high):
            axes.plot([x(end)] * 2, [top + 0.08, y(k - 1) + 0.1], color=theme.lines[1], linewidth=0.8, zorder=2)
    if procedure in RULED:
        _ruler(axes, ranking, procedure, x, theme)
    return figure


def _bars(ranking: "Ranking", procedure: Any) -> list[tuple[float, float]]:
    """Give the ranks that each bar reaches from and to."""
    if procedure != CONTROL:
        return [(ranking.ranks[group[0]], ranking.ranks[group[-1]]) for group in ranking.groups(procedure)]
    if not ranking.differ:
        return []
    mine, reach = ranking.ranks[ranking.reference], ranking.control_difference
    return [(max(mine - reach, 1.0), min(mine + reach, float(len(ranking.learners))))]


def _dot(ranking: "Ranking", procedure: Any, i: int, theme: Theme) -> dict[str, Any]:
    """Give the colours of a learner's dot: the control has that of the bar; hollow: not told from the control."""
    if procedure != CONTROL or i == ranking.reference:
        return {"color": theme.lines[procedure == CONTROL]}
    alike = not ranking.differ or ranking.against_control()[ranking.learners[i]] >= ranking.alpha
    return {
        "color": theme.lines[0],
        "markerfacecolor": theme.paper if alike else theme.lines[0],
        "markeredgewidth": 1.5,
    }


def _sheet(width: float, height: float, theme: Theme) -> tuple[Any, Any]:
    """Give an empty figure whose coordinates are inches, from the top left."""
    figure = figure_class()(figsize=(width, height), facecolor=theme.paper)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0.0, width)
    axes.set_ylim(height, 0.0)
    return figure, axes


def _line(axes: Any, k: int, x: Any, y: float, theme: Theme) -> None:
    """Draw the line of the ranks from 1 to k."""
    axes.plot([x(1), x(k)], [y, y], color=theme.ink, linewidth=1.4, solid_capstyle="butt")
    for rank in range(1, k + 1):
        axes.plot([x(rank)] * 2, [y - 0.07, y], color=theme.ink, linewidth=1.2)
        axes.text(x(rank), y - 0.11, str(rank), ha="center", va="bottom", color=theme.faint, fontsize=9)


def _levels(bars: Sequence[tuple[float, float]]) -> list[int]:
    """Put bars that would touch on different levels."""
    ends: list[float] = []
    levels = []
    for low, high in bars:
        level = next((n for n, end in enumerate(ends) if end < low - 0.08), len(ends))
        ends[level : level + 1] = [high]
        levels.append(level)
    return levels


def _ruler(axes: Any, ranking: "Ranking", procedure: Any, x: Any, theme: Theme) -> None:
    """Draw the critical difference as a length."""
    cd = ranking.control_difference if procedure == CONTROL else ranking.critical_difference
    k = len(ranking.learners)
    shown = min(cd, k - 1.0)
    y = 0.42
    axes.plot([x(1), x(1 + shown)], [y, y], color=theme.lines[1], linewidth=2.0)
    for end in (1, 1 + shown):
        axes.plot([x(end)] * 2, [y - 0.06, y + 0.06], color=theme.lines[1], linewidth=2.0)
    more = "" if shown == cd else ", more than there is"
    words = f"critical difference {cd:.2f}{f' to {ranking.control}' if procedure == CONTROL else ''}{more}"
    axes.text(x(1), y - 0.1, words, ha="left", va="bottom", color=theme.ink, fontsize=9)


class Cost(NamedTuple):
    """What a learner reaches, and what it takes."""

    learner: str
    accuracy: float
    rows_per_second: float
    state_bytes: float


def costs(
    learners: Sequence[Cost],
    path: str | os.PathLike[str] | None = None,
    *,
    dark: bool = False,
    size: tuple[float, float] = (8.0, 3.5),
) -> Picture:
    """Draw accuracy against speed, and against memory; a line joins those that no other beats in both.

    path: a .png, .svg or .pdf file to write; None: only give the picture. size: inches; a picture that is higher than
    wide has one panel below the other. The better, the higher, and the further to the right.

    >>> costs([Cost("tree", 0.8, 1e6, 2e5), Cost("forest", 0.9, 1e4, 4e6)]).alt
    'Accuracy against cost: tree 80.0 %, 1,000,000 rows a second, 200 kB; forest 90.0 %, 10,000 rows a second, 4 MB.'
    """
    check_path(path)
    shown = [c for c in learners if all(math.isfinite(v) for v in c[1:]) and c.rows_per_second > 0.0]
    if not shown:
        raise ValueError("learners must hold at least one with an accuracy, a speed and a size, got none")
    theme = DARK if dark else LIGHT
    figure = figure_class()(figsize=size, layout="constrained", facecolor=theme.paper)
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1, wspace=0.06, hspace=0.06)
    high = size[1] > size[0]
    panels = figure.subplots(2, 1) if high else figure.subplots(1, 2, sharey=True)
    numbers = [learners.index(c) for c in shown]
    accuracy = [100.0 * c.accuracy for c in shown]
    for axes, values, title in (
        (panels[0], [c.rows_per_second for c in shown], "Rows per CPU second"),
        (panels[1], [max(c.state_bytes, 1.0) for c in shown], "State at the end"),
    ):
        memory = axes is panels[1]
        _scatter(axes, values, accuracy, numbers, theme, smaller=memory)
        axes.set_xlabel(f"{title}{' (less to the right)' if memory else ''}", color=theme.ink, fontsize=10)
        axes.xaxis.set_major_formatter(bytes_tick if memory else rate_tick)
        if axes is panels[0] or high:
            axes.set_ylabel("Mean accuracy (%)", color=theme.ink, fontsize=10)
    _key(figure, shown, numbers, theme, high)
    told = "; ".join(
        f"{c.learner} {c.accuracy:.1%}, {c.rows_per_second:,.0f} rows a second, {bytes_text(round(c.state_bytes))}"
        for c in shown
    ).replace("%", " %")
    return Picture(figure, f"Accuracy against cost: {told}.").saved(path)


def rate_tick(value: float, _place: Any = None) -> str:
    """Write a number of rows for an axis.

    >>> rate_tick(10_000), rate_tick(1e6), rate_tick(300)
    ('10 k', '1 M', '300')
    """
    for unit, name in ((1e6, " M"), (1e3, " k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def bytes_tick(value: float, _place: Any = None) -> str:
    """Write a number of bytes for an axis.

    >>> bytes_tick(1e5)
    '100 kB'
    """
    return bytes_text(round(value))


def _key(figure: Any, shown: Sequence[Cost], numbers: Sequence[int], theme: Theme, below: bool) -> None:
    """Say which mark is whose, the most accurate first: beside the panels, or below them."""
    from matplotlib.lines import Line2D

    order = sorted(range(len(shown)), key=lambda i: -shown[i].accuracy)
    marks = [Line2D([], [], linestyle="", markersize=7.5, **_mark(numbers[i], theme)) for i in order]
    names = [shown[i].learner for i in order]
    key(figure, marks, names, theme, below=below)


def _mark(number: int, theme: Theme) -> dict[str, Any]:
    """Give the colour and the shape of a learner's mark; the shapes change when the colours are used up."""
    n = len(theme.lines)
    return {"color": theme.lines[number % n], "marker": "os^D"[number // n % 4]}


def _scatter(axes: Any, x: list[float], y: list[float], numbers: list[int], theme: Theme, smaller: bool) -> None:
    """Draw dots over a logarithmic axis, and the line of those that nobody beats."""
    axes.set_facecolor(theme.paper)
    axes.set_xscale("log")
    order = sorted(range(len(x)), key=lambda i: (-y[i], x[i] if smaller else -x[i]))
    front: list[int] = []
    for i in order:
        if not front or (x[i] < x[front[-1]] if smaller else x[i] > x[front[-1]]):
            front.append(i)
    axes.plot([x[i] for i in front], [y[i] for i in front], color=theme.grid, linewidth=2.0, zorder=1)
    for i, number in enumerate(numbers):
        axes.plot([x[i]], [y[i]], linestyle="", markersize=9, zorder=3, **_mark(number, theme))
    low, high = min(x), max(x)
    room = max((high / low) ** 0.08, 1.5)
    left, right = low / room, high * room
    axes.xaxis.set_major_locator(_round_numbers(left, right))
    axes.set_xlim(*((right, left) if smaller else (left, right)))
    span = max(max(y) - min(y), 1.0)
    axes.set_ylim(min(y) - 0.1 * span, min(max(y) + 0.1 * span, 101.0))
    axes.grid(axis="y", color=theme.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=theme.faint, labelsize=9, length=0)
    axes.tick_params(axis="x", which="minor", length=0, labelbottom=False)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(theme.faint)


def _round_numbers(low: float, high: float) -> Any:
    """Say where a logarithmic axis has numbers: within a decade or two the powers of ten are too few."""
    from matplotlib.ticker import FixedLocator, LogLocator

    if high >= 100.0 * low:
        return LogLocator(numticks=5)
    steps = (1.0, 2.0, 5.0) if high >= 7.0 * low else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return FixedLocator([s * 10.0**p for p in powers for s in steps if low <= s * 10.0**p <= high])


def intervals(
    rows: Sequence[tuple[str, "Interval"]],
    path: str | os.PathLike[str] | None = None,
    *,
    title: str,
    dark: bool = False,
    width: float = 8.0,
) -> Picture:
    """Draw means with their intervals, one below the other, and a line at zero.

    path: a .png, .svg or .pdf file to write; None: only give the picture. title: what the numbers are.

    >>> from thalweg.comparison.significance import Interval
    >>> intervals([("tree", Interval(-2.0, -3.0, -1.0))], title="Points behind the forest").alt
    'Points behind the forest: tree -2.00 (-3.00 to -1.00).'
    """
    check_path(path)
    theme = DARK if dark else LIGHT
    figure = figure_class()(figsize=(width, 0.85 + 0.3 * len(rows)), layout="constrained", facecolor=theme.paper)
    axes = figure.add_subplot(facecolor=theme.paper)
    axes.axvline(0.0, color=theme.faint, linewidth=1.0, linestyle=(0, (4, 3)))
    for n, (_, (mean, low, high)) in enumerate(rows):
        axes.plot([low, high], [n, n], color=theme.lines[0], linewidth=2.2, solid_capstyle="round")
        axes.plot([mean], [n], "o", color=theme.lines[0], markersize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_xlabel(title, color=theme.ink, fontsize=10)
    axes.grid(axis="x", color=theme.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis="x", colors=theme.faint, labelsize=9, length=0)
    axes.tick_params(axis="y", colors=theme.ink, labelsize=10, length=0)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(theme.faint)
    told = "; ".join(f"{name} {mean:.2f} ({low:.2f} to {high:.2f})" for name, (mean, low, high) in rows)
    return Picture(figure, f"{title}: {told}.").saved(path)
