"""Balls over two features of a stream, at chosen times: a picture, or an animation."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Floats
from thalweg.core.params import shown
from thalweg.show.figure import DARK, LIGHT, Picture, Theme, check_path

_SHOWN = 400  # rows in a picture: the last before its time
_PER_LINE = 3
_SECONDS = 0.25  # a frame of an animation


@runtime_checkable
class HasBalls(Protocol):
    """A learner whose balls can be drawn."""

    def copy(self) -> Self:
        """Make a learner that goes its own way."""
        ...

    def partial_fit(self, X: Any, y: Any) -> Any:
        """Learn rows in order."""
        ...

    def ball_shapes(self, features: Sequence[int]) -> tuple[Floats, Floats, list[Any], Floats]:
        """Give centres and half axes along features, in the units of the rows; most frequent class; rows counted."""
        ...


def plot_balls(
    learner: HasBalls,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    times: Sequence[int] | None = None,
    features: tuple[int, int] = (0, 1),
    dark: bool = False,
) -> Picture:
    """Let a copy of the learner learn the rows, and draw its balls over two features at chosen times.

    Balls are drawn in the scale of that time, coloured by their most frequent class and the fainter the fewer rows they
    counted, over the last 400 rows. With more than two features balls are shadows: a row may lie within and yet be far.

    Parameters
    ----------
    learner : HasBalls
        A BallCover or a BallCoverPlus, of which a copy is made; it stays as it is.
    X : object
        The rows.
    y : object
        Their labels.
    path : str | os.PathLike[str] | None
        A .png, .svg or .pdf file with a panel for each time, or a .gif with a frame for each; None: only give the
        panels.
    times : Sequence[int] | None
        After how many rows; None: after a third, two thirds and all.
    features : tuple[int, int]
        Which two are drawn. dark: for a dark page.
    dark : bool
        Draw for a dark page.

    Examples
    --------
    >>> from thalweg import BallCover, Sine
    >>> chunk = Sine(seed=1).read(600)
    >>> picture = plot_balls(BallCover(max_balls=40), chunk.X, chunk.y, times=(200, 600))
    >>> picture.alt
    'Balls of BallCover over x0 and x1: 12 after 200 rows, 27 after 600 rows.'
    """
    if isinstance(learner, type) or not isinstance(learner, HasBalls):
        raise TypeError(f"learner must be a BallCover or a BallCoverPlus, got {shown(learner)}")
    learner.ball_shapes(features)  # refuses a metric that cannot be drawn
    moving = path is not None and str(path).lower().endswith(".gif")
    if path is not None and not moving:
        check_path(path)
    n = len(y)
    stops = [max(1, n // 3), max(1, 2 * n // 3), n] if times is None else list(times)
    for t in stops:
        params.whole("times", t, least=1, most=n)
    if stops != sorted(set(stops)) or not stops:
        raise ValueError(f"times must rise, got {shown(times)}")
    learner, panels, seen = learner.copy(), [], 0
    X, y = np.asarray(X), np.asarray(y)
    for t in stops:
        learner.partial_fit(X[seen:t], y[seen:t])
        seen = t
        centres, half_axes, classes, rows = learner.ball_shapes(features)
        panels.append(
            (t, np.c_[centres, half_axes], classes, rows, X[max(0, t - _SHOWN) : t], y[max(0, t - _SHOWN) : t])
        )
    picture = _draw(learner, panels, features, DARK if dark else LIGHT)
    if moving:
        _animate(learner, panels, features, DARK if dark else LIGHT, Path(path or ""))
    elif path is not None:
        picture.save(path)
    return picture


def _draw(learner: Any, panels: list[Any], features: Sequence[int], theme: Theme) -> Picture:
    from matplotlib.figure import Figure

    wide, lines = min(len(panels), _PER_LINE), -(-len(panels) // _PER_LINE)
    figure = Figure(figsize=(3.4 * wide + 0.4, 3.4 * lines + 0.5), layout="constrained", facecolor=theme.paper)
    axes = figure.subplots(lines, wide, squeeze=False, sharex=True, sharey=True).reshape(-1)
    for panel, part in zip(panels, axes, strict=False):
        _panel(part, learner, panel, panels, features, theme)
    for part in axes[len(panels) :]:
        part.set_visible(False)
    names = [learner.schema.features[f].name for f in features]
    said = ", ".join(f"{len(p[2]):,} after {p[0]:,} rows" for p in panels)
    return Picture(figure, f"Balls of {type(learner).__name__} over {names[0]} and {names[1]}: {said}.")


def _panel(axes: Any, learner: Any, panel: Any, panels: list[Any], features: Sequence[int], theme: Theme) -> None:
    from matplotlib.patches import Ellipse

    t, shapes, classes, counts, X, y = panel
    codes = {label: i for i, label in enumerate(learner.classes_.tolist())}
    most = max(1.0, float(counts.max(initial=0.0)))
    axes.set_facecolor(theme.paper)
    order = np.argsort(-shapes[:, 2] * shapes[:, 3], kind="stable")  # the large ones below
    for s in order.tolist():
        a, b, width, height = shapes[s]
        colour = theme.lines[codes[classes[s]] % len(theme.lines)]
        strength = 0.08 + 0.22 * float(np.log1p(counts[s]) / np.log1p(most))
        axes.add_patch(
            Ellipse((a, b), 2 * width, 2 * height, facecolor=colour, alpha=strength, edgecolor="none", zorder=1)
        )
        axes.add_patch(
            Ellipse((a, b), 2 * width, 2 * height, fill=False, edgecolor=colour, alpha=0.6, linewidth=0.6, zorder=2)
        )
    marks = ("o", "s", "^", "D", "v", "P", "X")
    for label, i in codes.items():
        here = y == label
        axes.plot(
            X[here, features[0]], X[here, features[1]], marks[i % len(marks)], color=theme.lines[i % len(theme.lines)],
            markersize=2.6, linestyle="none", markeredgewidth=0, zorder=3,
        )  # fmt: skip
    rows = np.concatenate([p[4][:, list(features)] for p in panels]).astype(float)
    for low, high, limit in zip(rows.min(axis=0), rows.max(axis=0), (axes.set_xlim, axes.set_ylim), strict=True):
        margin = 0.06 * max(high - low, 1e-9)
        limit(low - margin, high + margin)
    axes.set_title(f"{t:,} rows, {len(classes):,} balls", loc="left", color=theme.ink, fontsize=10)
    axes.tick_params(colors=theme.faint, labelsize=8, length=0)
    for side in axes.spines.values():
        side.set_color(theme.grid)


def _animate(learner: Any, panels: list[Any], features: Sequence[int], theme: Theme, path: Path) -> None:
    from matplotlib.animation import PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2, 4.2), layout="constrained", facecolor=theme.paper)
    FigureCanvasAgg(figure)
    axes, writer = figure.subplots(), PillowWriter(fps=round(1 / _SECONDS))
    with writer.saving(figure, str(path), 72):
        for panel in panels:
            axes.clear()
            _panel(axes, learner, panel, panels, features, theme)
            writer.grab_frame()
