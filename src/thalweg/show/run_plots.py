"""Pictures of one run: which classes are mistaken for which, what mattered when, how far to trust probabilities."""

from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg.show.figure import LIGHT, Picture, figure_class, name_below
from thalweg.show.plots import NARROW
from thalweg.show.tables import share_text

if TYPE_CHECKING:
    from thalweg.evaluate.result import Result

MOST_LINES = 6
"""So many features are drawn over time."""
NUMBERED = 12
"""Up to so many classes the cells of a confusion matrix have numbers."""


def confusion(result: "Result", *, width: float = 8.0) -> Picture:
    """Draw the confusion matrix: a row for each class, darker where more of its rows were predicted so.

    >>> from thalweg import SEA, NoChange, prequential
    >>> confusion(prequential(SEA(seed=1), NoChange(), limit=2000)).alt.startswith("Confusion matrix of 2 classes")
    True
    """
    from matplotlib.patches import Rectangle

    n, names = len(result.classes), [_short(str(c)) for c in result.classes]
    totals = np.array(result.support) if result.support else result.confusion.sum(axis=1)
    shares = result.confusion / np.where(totals > 0.0, totals, 1.0)[:, None]
    figure, axes = _axes(width, min(0.9 * width, 1.0 + 0.5 * n))
    small = max(4.0, min(9.0, 55.0 * width / (8.0 * max(n, 1)) + 2.0))
    for i, j in zip(*np.nonzero(shares), strict=True):
        axes.add_patch(
            Rectangle(
                (j, i), 1.0, 1.0, facecolor=LIGHT.lines[0], alpha=float(0.06 + 0.6 * shares[i, j]), edgecolor="none"
            )
        )
        if n <= NUMBERED:
            axes.text(
                j + 0.5, i + 0.5, share_text(float(shares[i, j]), 0), ha="center", va="center", color=LIGHT.ink,
                fontsize=small,
            )  # fmt: skip
    places = np.arange(n) + 0.5
    axes.set_xticks(places, names, rotation=90 if n > 6 or max(map(len, names), default=0) > 6 else 0, fontsize=small)
    axes.set_yticks(places, names, fontsize=small)
    axes.set_xlim(0, n)
    axes.set_ylim(n, 0)
    axes.set_xlabel("Predicted", color=LIGHT.ink, fontsize=9.5)
    axes.set_ylabel("Class", color=LIGHT.ink, fontsize=9.5)
    axes.spines["bottom"].set_visible(False)
    off = shares - np.diag(np.diag(shares))
    words = f"Confusion matrix of {n:,} classes."
    if n > 1 and off.any():
        i, j = np.unravel_index(int(off.argmax()), off.shape)
        words += f" Most often mistaken: {result.classes[i]} for {result.classes[j]}, {share_text(float(off[i, j]))}."
    return Picture(figure, words)


def importances_over_time(result: "Result", *, size: tuple[float, float] = (8.0, 3.4)) -> Picture:
    """Draw how much the features that matter most mattered as the run went on."""
    found = result.importances
    assert found is not None
    peaks = found.shares.max(axis=0, initial=0.0)
    first = np.argsort(-peaks, kind="stable")[:MOST_LINES]
    figure, axes = _axes(*size)
    ends = []
    for k, f in enumerate(first.tolist()):
        colour = LIGHT.lines[k % len(LIGHT.lines)]
        values = 100.0 * found.shares[:, f]
        axes.plot(
            found.rows, values, color=colour, linewidth=1.8, marker="o" if len(values) == 1 else "", clip_on=False
        )
        ends.append((float(values[-1]), _short(found.names[f], 24), colour))
    for drift in result.drifts:
        axes.axvline(drift, color=LIGHT.faint, linewidth=1.0, linestyle=(0, (4, 3)))
    _thousands(axes, size[0])
    axes.set_xlim(0, int(found.rows[-1]))
    axes.set_ylim(0, None)
    axes.set_title("Importance (% of what all splits gain)", loc="left", color=LIGHT.faint, fontsize=9.5, pad=8)
    axes.set_xlabel("Rows", color=LIGHT.ink, fontsize=10)
    axes.grid(axis="y", color=LIGHT.grid, linewidth=0.8)
    name_below(figure, sorted(ends, reverse=True), LIGHT)
    last = ", ".join(f"{name} {share_text(value)}" for name, value in list(found.items())[:3])
    return Picture(figure, f"Importance of {len(first)} features over {found.rows[-1]:,} rows. At the end: {last}.")


def reliability(result: "Result", *, size: tuple[float, float] = (8.0, 3.8)) -> Picture:
    """Draw the share that was right by the probability of what was predicted; on the dashed line both are the same."""
    found = np.array([point for point in result.calibration if point[0] > 0.0])  # 0: there was no prediction
    sure, right, weight = (100.0 * column for column in found.reshape(-1, 3).T)
    figure, axes = _axes(*size)
    low = 10.0 * np.floor(min(sure.min(), right.min()) / 10.0)
    axes.plot([low, 100.0], [low, 100.0], color=LIGHT.faint, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.plot(sure, right, color=LIGHT.lines[0], linewidth=1.4)
    axes.scatter(sure, right, s=12.0 + 160.0 * weight / weight.sum(), color=LIGHT.lines[0], linewidths=0, zorder=3)
    axes.set_xlabel("Probability of what was predicted (%)", color=LIGHT.ink, fontsize=10)
    axes.set_title("Share that was right (%)", loc="left", color=LIGHT.faint, fontsize=9.5, pad=8)
    axes.grid(color=LIGHT.grid, linewidth=0.8)
    points = "; ".join(f"{p:.0f} % sure, {r:.0f} % right" for p, r in zip(sure, right, strict=True))
    return Picture(figure, f"Reliability curve: {points}.")


def _axes(width: float, height: float) -> tuple[Any, Any]:
    figure = figure_class()(figsize=(width, height), layout="constrained", facecolor=LIGHT.paper)
    axes = figure.subplots()
    axes.set_facecolor(LIGHT.paper)
    axes.set_axisbelow(True)
    axes.tick_params(colors=LIGHT.faint, labelsize=9, length=0)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT.faint)
    return figure, axes


def _thousands(axes: Any, width: float) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    ticks = 7 if width >= NARROW else 4
    axes.xaxis.set_major_locator(MaxNLocator(nbins=ticks, steps=[1, 2, 2.5, 5, 10], integer=True))


def _short(name: str, most: int = 14) -> str:
    """Cut a long name; its end may be what tells it from others.

    >>> _short("a very long name of a class")
    'a very…a class'
    """
    half = most // 2
    return name if len(name) <= most else f"{name[: half - 1]}…{name[-half:]}"
