"""One self-contained HTML page about one or several runs on one stream."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.registry import metric_of
from thalweg.show import document as part
from thalweg.show.plots import curves
from thalweg.show.tables import Table, side_by_side

if TYPE_CHECKING:
    from thalweg.evaluate.result import Result

PHONE = 4.4
"""Inches of a picture for a phone."""
MOST_CLASSES = 50
"""A table of more classes is left out."""


def page(results: Sequence["Result"], path: str | Path, *, title: str, words: str = "", command: str = "") -> None:
    """Write a page: the curves, a table, what each learner was, and the command that makes it again.

    >>> import tempfile
    >>> from thalweg import SEA, NoChange, prequential
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page([prequential(SEA(seed=1), NoChange(), limit=3000)], Path(folder) / "sea.html", title="SEA")
    """
    body = [
        *[part.paragraph(words, "lead")] * bool(words),
        part.figure(curves(results), curves(results, size=(PHONE, 2.8), title=""), caption(results)),
        part.table(side_by_side(results)),
        part.heading("What it means"),
        part.facts((r.learner, r.summary) for r in results),
        *_classes(results),
        part.heading("The learners"),
        part.facts(((r.learner, call(r)) for r in results), code=True),
        *([part.heading("How it was made"), part.command(command)] if command else []),
        part.facts(made_with({k: v for k, v in results[0].meta.items() if isinstance(v, str)}).items()),
    ]
    Path(path).write_text(part.document(title, body), encoding="utf-8")


def _classes(results: Sequence["Result"]) -> Iterator[part.Part]:
    """Tabulate how well each class is recognised, by each learner."""
    known = [r for r in results if 1 < len(r.classes) <= MOST_CLASSES]
    if known:
        yield part.heading("Class by class")
    for r in known:
        table = r.per_class.table()
        yield part.table(Table(table.head, table.rows, title=r.learner if len(results) > 1 else ""))


def caption(results: Sequence["Result"], metric: str = "accuracy") -> str:
    """Say what a picture of curves shows: lines and marks that are there."""
    name = metric_of(metric).title
    said = [f"{name[0].upper()}{name[1:]} over the last {results[0].window:,} rows."]
    said += ["Dashed lines: where the stream is known to change."] * any(r.drifts for r in results)
    said += ["Triangles: where a learner saw a change."] * any(r.detected for r in results)
    return " ".join(said)


def made_with(versions: Mapping[str, str]) -> dict[str, str]:
    """Name what a run was made with, for people.

    >>> made_with({"version": "1.0", "numba": ""})
    {'thalweg': '1.0'}
    """
    names = {"version": "thalweg", "python": "Python", "numpy": "NumPy", "numba": "Numba", "machine": "Machine"}
    return {names[key]: text for key, text in versions.items() if text and key in names}


def call(result: "Result") -> str:
    """Write the parameters of a learner."""
    return ", ".join(f"{k}={v!r}" for k, v in result.params.items()) or "no parameters"
