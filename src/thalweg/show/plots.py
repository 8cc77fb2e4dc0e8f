"""Learning curves as pictures, each with a sentence that says what it shows."""

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg.core import params
from thalweg.registry import METRICS, metric_of
from thalweg.show.comparison_plots import costs, describe_ranks, intervals, rank_diagram
from thalweg.show.figure import DARK, LIGHT, Picture, Theme, check_path, figure_class, name_below, spread
from thalweg.show.tables import metric_text

if TYPE_CHECKING:
    from thalweg.evaluate.result import Result

__all__ = ["costs", "curves", "describe", "describe_ranks", "intervals", "rank_diagram"]

NARROW = 5.5
"""A picture of fewer inches has no room for names beside it."""
_STRIP = 0.75  # inches for each strip below the curves


def curves(
    results: Sequence["Result"],
    path: str | os.PathLike[str] | None = None,
    *,
    metric: str = "accuracy",
    title: str | None = None,
    dark: bool = False,
    size: tuple[float, float] = (8.0, 4.2),
    strips: bool = True,
    among: Sequence[str] = (),
) -> Picture:
    """Draw a windowed metric over the rows, one line for each learner, with the known drifts as dashed lines.

    path: a .png, .svg or .pdf file to write; None: only give the picture. title: None: the stream's name; "": what
    the axis shows, which is then not said beside it. Lines are named at their ends, in a narrow picture below it.
    Drifts that a learner detected are marked by triangles on its line. Where members of ensembles were replaced, a
    strip below shows when: a row for each member. Where a learner did not use all labels, a strip shows how many.
    size: inches, without the strips; strips=False: none of them. among: names of learners, in the order that gives them
    their colours, where several pictures show different ones of them.

    >>> from thalweg import SEA, NoChange, prequential
    >>> picture = curves([prequential(SEA(seed=1), NoChange(), limit=2000)])
    >>> picture.alt.startswith("Accuracy over the last 1,000 rows on SEA")
    True
    """
    if not isinstance(results, Sequence):  # one result
        results = [results]
    if not results:
        raise ValueError("results must hold at least one result, got none")
    params.choice("metric", metric, METRICS)
    if metric_of(metric).overall:
        raise ValueError(f"metric must have a value for each window to be drawn over time, got {metric!r}")
    for r in results:
        if f"window_{metric}" not in r.curve:
            raise ValueError(f"results must have the metric {metric!r}, the one of {r.learner} has {list(r.final)}")
    check_path(path)
    make = figure_class()
    theme = DARK if dark else LIGHT
    places = [among.index(r.learner) if r.learner in among else i for i, r in enumerate(results)]
    coloured = [(r, theme.lines[i % len(theme.lines)]) for i, r in zip(places, results, strict=True)]
    forests = [(r, colour) for r, colour in coloured if r.replaced and strips]
    sparing = [(r, colour) for r, colour in coloured if r.rows and r.labels_used < 0.99 * r.rows and strips]
    n = bool(sparing) + len(forests)
    heights = [size[1]] + [_STRIP] * n
    names = 0.22 * -(-len(results) // 2) if size[0] < NARROW else 0.0
    figure = make(figsize=(size[0], sum(heights) + names), layout="constrained", facecolor=theme.paper)
    figure.get_layout_engine().set(w_pad=0.14, h_pad=0.12)
    parts = figure.subplots(1 + n, 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})
    axes, *lower = parts[:, 0]
    axes.set_facecolor(theme.paper)
    scale = 100.0 if metric_of(metric).percent else 1.0
    ends = []
    for i, (r, colour) in zip(places, coloured, strict=True):
        x, y = r.curve["rows"], scale * r.curve[f"window_{metric}"]
        style = ("-", "--", "-.")[i // len(theme.lines) % 3]
        axes.plot(
            x, y, style, color=colour, linewidth=1.8, solid_joinstyle="round", zorder=3, marker=_dot(x), clip_on=False
        )
        good = np.flatnonzero(np.isfinite(y))
        if good.size:
            seen = np.array([d for d in r.detected if x[good[0]] <= d <= x[good[-1]]])
            axes.plot(seen, np.interp(seen, x[good], y[good]), "v", color=colour, markersize=5, zorder=4)
            ends.append((float(y[good[-1]]), r.learner, colour))
    _dress(axes, results, metric, theme)
    if sparing:
        _labels(lower[0], sparing, theme)
    for strip, (r, colour) in zip(lower[n - len(forests) :], forests, strict=True):
        _strip(strip, r, colour, theme)
    if lower:
        axes.set_xlabel("")
        lower[-1].set_xlabel("Rows", color=theme.ink, fontsize=10)
    _mark_drifts(axes, results, theme)
    if size[0] < NARROW:
        name_below(figure, sorted(ends, reverse=True), theme)
    else:
        _label(axes, ends, size[1], theme)
    stream = ", ".join(dict.fromkeys(r.stream for r in results))
    heading = stream if title is None else title
    if heading:
        axes.set_title(heading, loc="left", color=theme.ink, fontsize=12, fontweight="bold", pad=18)
    else:
        axes.set_title(
            axes.get_ylabel(), loc="left", color=theme.faint, fontsize=9.5, pad=18 if _drifts(results) else 8
        )
        axes.set_ylabel("")
    return Picture(figure, describe(results, metric)).saved(path)


def describe(results: Sequence["Result"], metric: str = "accuracy") -> str:
    """Say in words what ``curves`` draws.

    >>> from thalweg import SEA, NoChange, prequential
    >>> text = describe([prequential(SEA(seed=1), NoChange(), limit=2000)])
    >>> "NoChange" in text
    True
    """
    first = results[0]
    stream = ", ".join(dict.fromkeys(r.stream for r in results))
    lines = []
    for r in results:
        values = [v for v in r.curve[f"window_{metric}"].tolist() if v == v]
        if values:
            low, high, last = (metric_text(metric, v) for v in (min(values), max(values), values[-1]))
            lines.append(f"{r.learner} lies between {low} and {high} and ends at {last}")
        else:
            lines.append(f"{r.learner} has no values")
    what = _title(metric)
    rows = max(r.rows for r in results)
    marks = _drifts(results)
    drifts = f" Known drifts at row {', '.join(f'{d:,}' for d in marks)}." if marks else ""
    drifts += "".join(f" {r.learner} replaced {len(r.replaced)} trees." for r in results if r.replaced)
    for r in results:
        if r.rows and r.labels_used < 0.99 * r.rows:
            drifts += f" {r.learner} used {r.labels_used / r.rows:.1%} of the labels."
    return f"{what} over the last {first.window:,} rows on {stream}, {rows:,} rows: {'; '.join(lines)}.{drifts}"


def _title(metric: str) -> str:
    title = metric_of(metric).title
    return title[0].upper() + title[1:]


def _dot(x: Any) -> str:
    return "o" if len(x) == 1 else ""


def _drifts(results: Sequence["Result"]) -> list[int]:
    return sorted({d for r in results for d in r.drifts})


def _dress(axes: Any, results: Sequence["Result"], metric: str, theme: Theme) -> None:
    """Axes: thin, titled, in round numbers."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    unit = " (%)" if metric_of(metric).percent else ""
    what = _title(metric)
    windows = sorted({r.window for r in results})
    over = f"{windows[0]:,}" if len(windows) == 1 else "window of"
    axes.set_xlabel("Rows", color=theme.ink, fontsize=10)
    axes.set_ylabel(f"{what} over the last {over} rows{unit}", color=theme.ink, fontsize=10)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    ticks = 7 if axes.figure.get_figwidth() >= NARROW else 4
    axes.xaxis.set_major_locator(MaxNLocator(nbins=ticks, steps=[1, 2, 2.5, 5, 10], integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    last = max((int(r.curve["rows"][-1]) for r in results if len(r.curve["rows"])), default=1)
    axes.set_xlim(0, last)
    axes.margins(y=0.08)
    axes.autoscale_view(scalex=False)
    low, high = axes.get_ylim()
    highest = metric_of(metric).highest
    top = (100.0 if metric_of(metric).percent else 1.0) * (math.inf if highest is None else highest)
    if high > top:
        axes.set_ylim(low, top + 0.01 * (top - low))
    axes.grid(axis="y", color=theme.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=theme.faint, labelsize=9, length=0)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(theme.faint)


def _labels(axes: Any, sparing: Sequence[tuple["Result", str]], theme: Theme) -> None:
    """Draw the share of the rows whose labels were used up to now."""
    for r, colour in sparing:
        rows = r.curve["rows"]
        axes.plot(rows, 100.0 * r.curve["labels_used"] / rows, color=colour, linewidth=1.8, zorder=3, marker=_dot(rows))
    _dress_strip(axes, [r for r, _ in sparing], "Labels used so far (% of the rows)", theme)
    axes.set_ylim(0.0, 105.0)
    axes.set_yticks([0, 50, 100])
    axes.grid(axis="y", color=theme.grid, linewidth=0.8)


def _strip(axes: Any, result: "Result", colour: str, theme: Theme) -> None:
    """Draw a tick in the row of each member whenever its tree was replaced."""
    rows, members = np.array(result.replaced).T
    axes.plot(rows, members, "|", color=colour, markersize=5, markeredgewidth=1.2, zorder=3, clip_on=False)
    _dress_strip(axes, [result], f"{result.learner}: trees replaced", theme)
    axes.set_ylim(-0.8, members.max() + 0.8)
    axes.set_yticks([])


def _dress_strip(axes: Any, results: Sequence["Result"], title: str, theme: Theme) -> None:
    axes.set_facecolor(theme.paper)
    axes.set_axisbelow(True)
    for d in _drifts(results):
        axes.axvline(d, color=theme.faint, linewidth=1.0, linestyle=(0, (4, 3)), zorder=2)
    axes.tick_params(colors=theme.faint, labelsize=9, length=0)
    axes.set_title(title, loc="left", color=theme.ink, fontsize=9, pad=3)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(theme.faint)


def _mark_drifts(axes: Any, results: Sequence["Result"], theme: Theme) -> None:
    marks = _drifts(results)
    for i, d in enumerate(marks):
        axes.axvline(d, color=theme.faint, linewidth=1.0, linestyle=(0, (4, 3)), zorder=2)
        if i == 0 or len(marks) <= 6:
            axes.annotate(
                "drift", (d, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points",
                ha="center", va="bottom", color=theme.faint, fontsize=8.5,
            )  # fmt: skip
    if not any(r.detected for r in results):
        return
    words = "▼ drift detected by the learner"
    if axes.get_xlabel() and axes.figure.get_figwidth() < NARROW:  # no room beside it
        axes.set_xlabel(f"{axes.get_xlabel()}   ({words})", color=theme.ink, fontsize=9)
    else:
        axes.annotate(
            words, (1.0, 0.0), xycoords="axes fraction", xytext=(0, -26),
            textcoords="offset points", ha="right", va="center", color=theme.faint, fontsize=8.5,
        )  # fmt: skip


def _label(axes: Any, ends: Sequence[tuple[float, str, str]], height: float, theme: Theme) -> None:
    """Name each line at its end, beside a dot in its colour; names that would overlap are moved apart."""
    from matplotlib.lines import Line2D

    low, high = axes.get_ylim()
    gap = 0.26 / height * (high - low)
    order = sorted(ends, reverse=True)
    beside = axes.get_yaxis_transform()
    for (y, name, colour), place in zip(order, spread([y for y, _, _ in order], gap, low), strict=True):
        if abs(place - y) > 0.3 * gap:
            line = Line2D([1.0, 1.03], [y, place], transform=beside, color=colour, linewidth=0.8, clip_on=False)
            axes.add_artist(line)
        dot = Line2D([1.03], [place], transform=beside, color=colour, marker="o", markersize=6, clip_on=False)
        axes.add_artist(dot)
        axes.annotate(
            name, (1.03, place), xycoords=("axes fraction", "data"), xytext=(7, 0), textcoords="offset points",
            ha="left", va="center", color=theme.ink, fontsize=9.5, annotation_clip=False,
        )  # fmt: skip
