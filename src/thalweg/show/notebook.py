"""A result in a notebook: its colours are those of the notebook, light or dark."""

import html
from typing import TYPE_CHECKING

import numpy as np

from thalweg.show.tables import Table, metric_text

if TYPE_CHECKING:
    from thalweg.evaluate.result import Result

MOST_CLASSES = 20
"""So many classes are tabulated."""
_LEFT = "padding:.25em .8em .25em 0;text-align:left;border-bottom:1px solid rgba(128,128,128,.3)"
_RIGHT = _LEFT.replace("left", "right")


def shown_in_notebook(result: "Result") -> str:
    """Write a result as HTML: the summary, the numbers, the curve, and how well each class is recognised.

    >>> from thalweg import SEA, NoChange, prequential
    >>> "<svg" in shown_in_notebook(prequential(SEA(seed=1), NoChange(), limit=3000))
    True
    """
    table, classes = result.table(), result.per_class.table()
    few = Table(classes.head, classes.rows[:MOST_CLASSES], title="class by class")
    more = len(classes.rows) - MOST_CLASSES
    parts = [
        f'<p style="max-width:46em;font-size:1.08em"><b>{html.escape(result.summary)}</b></p>',
        _table(Table(table.head, table.rows, title=table.title)),
        _curve(result),
        _table(few) if len(classes.rows) > 1 else "",
        f"<p>and {more:,} more classes</p>" if more > 0 else "",
        '<div style="opacity:.75;font-size:.92em">',
        *(f"<div>{html.escape(note)}</div>" for note in table.notes),
        "</div>",
    ]
    return f'<div style="color:inherit;font-variant-numeric:tabular-nums">{"".join(parts)}</div>'


def _table(table: Table) -> str:
    def row(cells: tuple[str, ...], tag: str) -> str:
        styles = (_LEFT if i < table.words else _RIGHT for i in range(len(cells)))
        each = (f'<{tag} style="{s}">{html.escape(c)}</{tag}>' for c, s in zip(cells, styles, strict=True))
        return f"<tr>{''.join(each)}</tr>"

    caption = f'<caption style="text-align:left;font-weight:600;padding:.4em 0">{html.escape(table.title)}</caption>'
    body = "".join(row(cells, "td") for cells in table.rows)
    frame = "border-collapse:collapse;background:transparent;color:inherit;margin:.4em 0"
    return f'<table style="{frame}">{caption}<thead>{row(table.head, "th")}</thead><tbody>{body}</tbody></table>'


def _curve(result: "Result") -> str:
    """Draw the accuracy over the window as a line in the colour of the text, with the known drifts."""
    x, y = result.curve["rows"].astype(float), result.curve["window_accuracy"]
    good = np.isfinite(y)
    if good.sum() < 2:
        return ""
    x, y = x[good], y[good]
    low, high = float(y.min()), float(y.max())
    across = 600.0 * x / x[-1]
    up = 84.0 - 78.0 * (y - low) / (high - low if high > low else 1.0)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
    drifts = "".join(
        f'<line x1="{600.0 * d / x[-1]:.1f}" x2="{600.0 * d / x[-1]:.1f}" y1="0" y2="90" stroke="currentColor" '
        'stroke-dasharray="4 3" opacity=".5"/>'
        for d in result.drifts
    )
    words = f"Accuracy over the last {result.window:,} rows, between {metric_text('accuracy', low)} and "
    words += metric_text("accuracy", high)
    return (
        f'<figure style="margin:.6em 0;max-width:600px"><svg viewBox="0 0 600 90" role="img" aria-label="{words}" '
        f'style="width:100%;height:auto">{drifts}<polyline points="{points}" fill="none" stroke="currentColor" '
        f'stroke-width="1.8" stroke-linejoin="round"/></svg><figcaption style="opacity:.75;font-size:.92em">{words}'
        "</figcaption></figure>"
    )
