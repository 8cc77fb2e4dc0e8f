"""A stream as a picture: class shares, features over time and known drifts."""

import os
from typing import Any

import numpy as np

from thalweg.show.figure import DARK, LIGHT, Picture, Theme, check_path, figure_class, spread
from thalweg.show.stream_images import mosaic
from thalweg.show.stream_summary import FeatureOverTime, StreamSummary

SHOWN = 10
"""Classes that are drawn apart; the rest are drawn as one."""
_MORE = ("#8c510a", "#93a531", "#7b6fd0")  # for the classes beyond a theme's lines
FEW = 5
"""So many classes, or fewer, have a line each in the panels of the features."""


def draw(
    summary: StreamSummary,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    dark: bool = False,
    width: float = 9.0,
) -> Picture:
    """Draw the class shares as stacked areas, and below them a panel for each feature.

    A number is drawn as its mean with a band that holds the middle 80 % of the values, and, where the classes are few,
    the mean of each class in its colour; a nominal feature as the shares of its most frequent values. Known drifts are
    dashed lines, shaded as far as they reach. Where the records are images, some of each class are shown, from before
    and after each of the first drifts. path: a .png, .svg or .pdf file; None: only give the picture.
    title: None: the stream's name and rows. width: inches.

    >>> from thalweg import SEA
    >>> from thalweg.show.stream_summary import describe_stream
    >>> draw(describe_stream(SEA(), rows=5000)).alt.startswith("SEA, 5,000 rows: 2 classes")
    True
    """
    check_path(path)
    theme = DARK if dark else LIGHT
    count = len(summary.features)
    across = 1 if count == 1 else 2
    down = -(-count // across)
    heights = [3.1, *_gallery_height(summary, width), 0.7 + 1.6 * down]
    figure = figure_class()(figsize=(width, sum(heights)), layout="constrained", facecolor=theme.paper)
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.06, hspace=0.02, wspace=0.03)
    upper, *between, lower = figure.subfigures(len(heights), 1, height_ratios=heights)
    for middle in between:
        _draw_images(middle, summary, theme)
    axes = upper.add_subplot(facecolor=theme.paper)
    heading = f"{summary.stream}, {summary.rows:,} rows" if title is None else title
    axes.set_title(heading, loc="left", color=theme.ink, fontsize=13, fontweight="bold", pad=20)
    colours = _class_colours(summary, theme)
    _draw_classes(axes, summary, colours, theme)
    lower.suptitle(
        summary.heading[0].upper() + summary.heading[1:], x=0.012, ha="left", color=theme.ink, fontsize=11,
        fontweight="bold",
    )  # fmt: skip
    for i, feature in enumerate(summary.features):
        axes = lower.add_subplot(down, across, i + 1, facecolor=theme.paper)
        if feature.nominal:
            _draw_values(axes, summary, feature, theme)
        else:
            _draw_number(axes, summary, feature, colours, theme)
        _dress(axes, summary, theme, labelled=i + across >= count)
        _name(axes, summary, feature, theme)
    if legend := _legend(summary):
        lower.supxlabel(legend, color=theme.faint, fontsize=8.5, x=0.012, ha="left")
    return Picture(figure, describe(summary)).saved(path)


def describe(summary: StreamSummary) -> str:
    """Say in words what ``draw`` draws."""
    order = np.argsort(-summary.shares, kind="stable")
    classes = [f"{summary.classes[c]} {percent(summary.shares[c])}" for c in order[:SHOWN]]
    more = f" and {len(order) - SHOWN} more" if len(order) > SHOWN else ""
    lines = [f"{summary.stream}, {summary.rows:,} rows: {len(order)} classes ({', '.join(classes)}{more})"]
    lines.append(f"{summary.heading}: {', '.join(f.name for f in summary.features)}")
    if summary.images is not None:
        lines.append(f"images of the classes, {'×'.join(map(str, summary.shape or ()))}")
    if summary.drifts:
        lines.append(f"known drifts at row {', '.join(f'{d:,}' for d in summary.drifts[:10])}")
    return "; ".join(lines) + "."


def middles(summary: StreamSummary) -> Any:
    """Give the middle of each stretch."""
    return (summary.edges[1:] + summary.edges[:-1]) / 2.0


def groups(summary: StreamSummary) -> list[tuple[str, Any, float]]:
    """Give the classes to show, in their order, with shares over time and over all; the rare ones as one, last."""
    order = np.argsort(-summary.shares, kind="stable").tolist()
    own = sorted(order[: SHOWN if len(order) <= SHOWN else SHOWN - 1])
    found = [(str(summary.classes[c]), summary.class_shares[:, c], float(summary.shares[c])) for c in own]
    rest = [c for c in order if c not in own]
    if rest:
        every = summary.class_shares[:, rest].sum(axis=1), float(summary.shares[rest].sum())
        found.append((f"{len(rest)} others", *every))
    return found


def shaded(summary: StreamSummary) -> list[tuple[int, float]]:
    """Give the drifts with how far they reach to either side: 0 where that is too little to be seen."""
    pairs = zip(summary.drifts, summary.widths, strict=True)
    return [(d, w / 2.0 if w > 0.004 * summary.rows else 0.0) for d, w in pairs]


def _class_colours(summary: StreamSummary, theme: Theme) -> dict[str, str]:
    """Give each class a colour; the rare ones share the last, a pale one."""
    names = [name for name, _, _ in groups(summary)]
    colours = dict(zip(names, (*theme.lines, *_MORE), strict=False))
    if len(summary.classes) > len(names):
        colours[names[-1]] = theme.grid
    return colours


def _draw_classes(axes: Any, summary: StreamSummary, colours: dict[str, str], theme: Theme) -> None:
    x, base = summary.edges, np.zeros(len(summary.edges))
    ends = []
    for name, over_time, share in groups(summary):
        top = base + 100.0 * np.append(over_time, over_time[-1:])
        axes.fill_between(x, base, top, step="post", color=colours[name], alpha=0.85, linewidth=0)
        ink = theme.faint if colours[name] == theme.grid else colours[name]
        ends.append((float((base[-1] + top[-1]) / 2.0), f"{_short(name)}  {percent(share)}", ink))
        base = top
    axes.set_ylim(0, 100)
    _dress(axes, summary, theme, labelled=True)
    axes.set_ylabel("Share of the classes (%)", color=theme.ink, fontsize=9.5)
    _mark(axes, summary, theme, named=True)
    _label(axes, ends, 9.0, size=9.5, weight="bold")


def _draw_number(axes: Any, summary: StreamSummary, f: FeatureOverTime, colours: dict[str, str], theme: Theme) -> None:
    x = middles(summary)
    axes.fill_between(x, f.low, f.high, color=theme.faint, alpha=0.18, linewidth=0)
    if len(f.by_class) <= FEW:
        for label, mean in f.by_class.items():
            axes.plot(x, mean, color=colours[str(label)], linewidth=1.0, zorder=3)
    axes.plot(x, f.mean, color=theme.ink, linewidth=1.6, zorder=4, marker="o" if len(x) == 1 else "")
    _mark(axes, summary, theme)


def _draw_values(axes: Any, summary: StreamSummary, f: FeatureOverTime, theme: Theme) -> None:
    x, base = summary.edges, np.zeros(len(summary.edges))
    ends = []
    for (value, over_time), dark in zip(f.values.items(), (0.62, 0.44, 0.29, 0.17, 0.09), strict=False):
        top = base + 100.0 * np.nan_to_num(np.append(over_time, over_time[-1:]))
        axes.fill_between(x, base, top, step="post", color=theme.ink, alpha=dark, linewidth=0)
        ends.append((float((base[-1] + top[-1]) / 2.0), _short(str(value), 14), theme.faint))
        base = top
    ceiling = min(100.0, 1.15 * max(1.0, float(base.max(initial=0.0))))
    if base[-1] < 0.9 * ceiling and ceiling == 100.0:
        ends.append((float((base[-1] + ceiling) / 2.0), "others", theme.faint))
    axes.set_ylim(0, ceiling)
    _mark(axes, summary, theme)
    _label(axes, ends, 0.17 * ceiling, size=8, weight="normal")


_SIDE = 0.78  # inches of an image, at most


def _gallery_height(summary: StreamSummary, width: float) -> list[float]:
    """Give the height of the panel of images, where there are any."""
    if summary.images is None:
        return []
    lines, classes, tall, wide = summary.images.shape[:4]
    return [0.75 + 1.1 * lines * min(_SIDE, 0.85 * width / classes) * tall / wide]


def _draw_images(part: Any, summary: StreamSummary, theme: Theme) -> None:
    """Show a column of images for each class, and say beside them which row they come from."""
    assert summary.images is not None
    lines, classes, tall, wide = summary.images.shape[:4]
    picture = mosaic(summary.images)
    gap = (picture.shape[1] - classes * wide) / max(1, classes - 1)
    axes = part.add_subplot(facecolor=theme.paper)
    axes.imshow(picture, interpolation="nearest")
    axes.set_anchor("W")
    axes.set_xticks([j * (wide + gap) + (wide - 1) / 2 for j in range(classes)])
    axes.set_xticklabels([_short(str(c), 12) for c in summary.classes[:classes]])
    rows = summary.image_rows or []
    firsts = [i for i in range(lines) if i == 0 or rows[i] != rows[i - 1]]
    axes.set_yticks([i * (tall + gap) + (tall - 1) / 2 for i in firsts])
    axes.set_yticklabels([f"from row {rows[i]:,}" for i in firsts])
    axes.tick_params(colors=theme.faint, labelsize=8.5, length=0, top=False, labeltop=True, labelbottom=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    part.suptitle("Images of each class", x=0.012, ha="left", color=theme.ink, fontsize=11, fontweight="bold")


def _label(axes: Any, ends: list[tuple[float, str, str]], gap: float, size: float, weight: str) -> None:
    """Name each stripe beside its end; names that would overlap are moved apart."""
    order = ends[::-1]
    places = spread([e[0] for e in order], gap, 0.02 * axes.get_ylim()[1])
    for (_, text, colour), y in zip(order, places, strict=True):
        axes.annotate(
            text, (1.0, y), xycoords=("axes fraction", "data"), xytext=(6, 0), textcoords="offset points", ha="left",
            va="center", color=colour, fontsize=size, fontweight=weight, annotation_clip=False,
        )  # fmt: skip


def _name(axes: Any, summary: StreamSummary, f: FeatureOverTime, theme: Theme) -> None:
    """Name the panel; where values are missing, draw how many in a strip above it."""
    gone = f.missing_share > 0
    title = _short(f.name, 40) + (" (share of its values, %)" if f.nominal else "")
    axes.set_title(title, loc="left", color=theme.ink, fontsize=9.5, pad=16 if gone else 4)
    if not gone:
        return
    most = float(f.missing.max())
    strip = axes.inset_axes((0.0, 1.03, 1.0, 0.1), sharex=axes)
    height = np.append(f.missing, f.missing[-1:])
    strip.fill_between(summary.edges, 0, height, step="post", color=theme.ink, alpha=0.7, linewidth=0)
    strip.set_ylim(0, most)
    strip.axis("off")
    axes.annotate(
        f"{percent(f.missing_share)} missing, at most {percent(most)}", (1.0, 1.15), xycoords="axes fraction",
        ha="right", va="bottom", color=theme.faint, fontsize=8,
    )  # fmt: skip


def _mark(axes: Any, summary: StreamSummary, theme: Theme, named: bool = False) -> None:
    marks = shaded(summary)
    for i, (d, reach) in enumerate(marks):
        if reach:
            ends = max(0.0, d - reach), min(d + reach, summary.rows)
            axes.axvspan(*ends, color=theme.faint, alpha=0.16, linewidth=0, zorder=2.5)
        axes.axvline(d, color=theme.ink, linewidth=0.9, linestyle=(0, (4, 3)), zorder=5)
        if named and (i == 0 or len(marks) <= 6):
            axes.annotate(
                "drift", (d, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points",
                ha="center", va="bottom", color=theme.faint, fontsize=8.5,
            )  # fmt: skip


def _dress(axes: Any, summary: StreamSummary, theme: Theme, labelled: bool) -> None:
    """Axes: thin, in round numbers."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_xlim(0, max(1, summary.rows))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10], integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}" if 1e3 <= abs(v) < 1e7 else f"{v:g}"))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
    axes.grid(axis="y", color=theme.grid, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors=theme.faint, labelsize=8.5, length=0, labelbottom=labelled)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(theme.faint)
    if labelled:
        axes.set_xlabel("Rows", color=theme.ink, fontsize=9)


def _legend(summary: StreamSummary) -> str:
    if all(f.nominal for f in summary.features):
        return ""
    few = any(0 < len(f.by_class) <= FEW for f in summary.features)
    return "Grey band: the middle 80 % of the values. Thick line: mean." + " Thin lines: mean of each class." * few


def _short(text: str, most: int = 18) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def percent(share: float) -> str:
    """Write a share.

    >>> percent(0.5), percent(0.0123), percent(0.0001)
    ('50 %', '1.2 %', '0.01 %')
    """
    points = 100.0 * float(share)
    if points >= 9.95 or points == 0.0:
        return f"{points:.0f} %"
    return f"{points:.1f} %" if points >= 0.095 else f"{points:.1g} %"
