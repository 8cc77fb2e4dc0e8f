"""Pictures of many learners on many streams: ranks with the critical difference, costs, intervals."""

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thalweg.evaluate.picture import DARK, LIGHT, Picture, Theme, check_path, figure_class

if TYPE_CHECKING:
    from thalweg.evaluate.ranking import Ranking

_ROW = 0.27  # inches for a learner's name in the diagram of ranks


def rank_diagram(
    ranking: "Ranking",
    path: str | os.PathLike[str] | None = None,
    *,
    procedure: Any = "nemenyi",
    dark: bool = False,
    width: float = 8.0,
) -> Picture:
    """Draw the mean ranks on a line, best on the left; thick bars join learners that the test does not tell apart.

    path: a .png, .svg or .pdf file to write; None: only give the picture. procedure: which test joins ("nemenyi",
    with its critical difference as a ruler; "shaffer"; "holm"). width: inches.

    >>> from thalweg.evaluate.ranking import Ranking
    >>> ranking = Ranking(["tree", "forest"], [[0.7, 0.8], [0.6, 0.9], [0.5, 0.7]])
    >>> rank_diagram(ranking).alt
    'Mean ranks of 2 learners over 3 streams, 1 is the best: forest 1.00, tree 2.00. All of them differ (nemenyi).'
    """
    if path is not None:
        check_path(path)
    theme = DARK if dark else LIGHT
    k = len(ranking.learners)
    groups = ranking.groups(procedure)
    left = math.ceil(k / 2)
    bars = _levels(groups, ranking)
    top = 0.95 if procedure == "nemenyi" else 0.5
    below = 0.22 + 0.16 * (max(bars, default=-1) + 1)
    height = top + below + _ROW * left + 0.1
    figure = figure_class()(figsize=(width, height), facecolor=theme.paper)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    margin = min(0.36 * width, 0.2 + 0.088 * max(map(len, ranking.learners)) + 0.45)
    axes.set_xlim(0.0, width)
    axes.set_ylim(height, 0.0)  # inches, from the top

    def x(rank: float) -> float:
        return margin + (rank - 1.0) / (k - 1) * (width - 2.0 * margin)

    axes.plot([x(1), x(k)], [top, top], color=theme.ink, linewidth=1.4, solid_capstyle="butt")
    for rank in range(1, k + 1):
        axes.plot([x(rank)] * 2, [top - 0.07, top], color=theme.ink, linewidth=1.2)
        axes.text(x(rank), top - 0.11, str(rank), ha="center", va="bottom", color=theme.faint, fontsize=9)
    for place, i in enumerate(ranking.order):
        _hang(axes, ranking, i, place, left, x, top, below, margin, width, theme)
    for level, group in zip(bars, groups, strict=True):
        y = top + 0.16 + 0.16 * level
        ends = [x(ranking.ranks[i]) for i in (group[0], group[-1])]
        axes.plot([ends[0] - 0.05, ends[1] + 0.05], [y, y], color=theme.lines[1], linewidth=4.0, solid_capstyle="round")
    if procedure == "nemenyi":
        _ruler(axes, ranking, x, theme)
    picture = Picture(figure, describe_ranks(ranking, procedure))
    if path is not None:
        picture.save(path)
    return picture


def describe_ranks(ranking: "Ranking", procedure: Any = "nemenyi") -> str:
    """Say in words what ``rank_diagram`` draws.

    >>> from thalweg.evaluate.ranking import Ranking
    >>> describe_ranks(Ranking(["a", "b"], [[1, 1], [1, 1]])).rpartition(": ")[2]
    'a 1.50, b 1.50. They do not differ significantly.'
    """
    named = ", ".join(f"{ranking.learners[i]} {ranking.ranks[i]:.2f}" for i in ranking.order)
    what = f"Mean ranks of {len(ranking.learners)} learners over {ranking.streams} streams, 1 is the best: {named}."
    if not ranking.differ:
        return f"{what} They do not differ significantly."
    groups = ranking.groups(procedure)
    if not groups:
        return f"{what} All of them differ ({procedure})."
    alike = "; ".join(", ".join(ranking.learners[i] for i in group) for group in groups)
    return f"{what} Not told apart ({procedure}): {alike}."


def _levels(groups: Sequence[tuple[int, ...]], ranking: "Ranking") -> list[int]:
    """Put bars that would touch on different levels."""
    ends: list[float] = []
    levels = []
    for group in groups:
        low, high = ranking.ranks[group[0]], ranking.ranks[group[-1]]
        level = next((n for n, end in enumerate(ends) if end < low - 0.08), len(ends))
        ends[level : level + 1] = [high]
        levels.append(level)
    return levels


def _hang(
    axes: Any, ranking: "Ranking", i: int, place: int, left: int, x: Any, top: float, below: float, margin: float,
    width: float, theme: Theme,
) -> None:  # fmt: skip
    """Hang a learner's name below its rank: the better half to the left, the others to the right."""
    k = len(ranking.learners)
    on_left = place < left
    row = place if on_left else k - 1 - place
    y = top + below + _ROW * (row + 0.35)
    at, edge = x(ranking.ranks[i]), margin - 0.12 if on_left else width - margin + 0.12
    axes.plot([at, at, edge], [top, y, y], color=theme.faint, linewidth=1.0, solid_joinstyle="round")
    axes.plot([at], [top], "o", color=theme.lines[0], markersize=5.5, zorder=4)
    name, rank = ranking.learners[i], f"{ranking.ranks[i]:.2f}"
    side = -0.06 if on_left else 0.06
    axes.text(
        edge + side, y, f"{name}  {rank}" if on_left else f"{rank}  {name}", ha="right" if on_left else "left",
        va="center", color=theme.ink, fontsize=10,
    )  # fmt: skip


def _ruler(axes: Any, ranking: "Ranking", x: Any, theme: Theme) -> None:
    """Draw the critical difference as a length."""
    cd, k = ranking.critical_difference, len(ranking.learners)
    shown = min(cd, k - 1.0)
    y = 0.42
    axes.plot([x(1), x(1 + shown)], [y, y], color=theme.lines[1], linewidth=2.0)
    for end in (1, 1 + shown):
        axes.plot([x(end)] * 2, [y - 0.06, y + 0.06], color=theme.lines[1], linewidth=2.0)
    more = "" if shown == cd else ", more than there is"
    words = f"critical difference {cd:.2f}{more}"
    axes.text(x(1), y - 0.1, words, ha="left", va="bottom", color=theme.ink, fontsize=9)
