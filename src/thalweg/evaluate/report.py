"""One self-contained HTML page about one or several runs on one stream."""

from collections.abc import Sequence
from pathlib import Path

from thalweg.evaluate import document as part
from thalweg.evaluate.plots import curves
from thalweg.evaluate.result import Result
from thalweg.evaluate.table import side_by_side

PHONE = 4.4
"""Inches of a picture for a phone."""


def page(results: Sequence[Result], path: str | Path, *, title: str, words: str = "") -> None:
    """Write a page: the curves, a table, and what each learner was.

    >>> import tempfile
    >>> from thalweg import SEA, NoChange, prequential
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page([prequential(SEA(seed=1), NoChange(), limit=3000)], Path(folder) / "sea.html", title="SEA")
    """
    body = [
        *[part.paragraph(words, "lead")] * bool(words),
        part.figure(curves(results), curves(results, size=(PHONE, 2.8), title="")),
        part.table(side_by_side(results)),
        part.heading("The learners"),
        part.facts(((r.learner, call(r)) for r in results), code=True),
        part.foot(", ".join(_versions(results[0]))),
    ]
    Path(path).write_text(part.document(title, body), encoding="utf-8")


def call(result: Result) -> str:
    """Write the parameters of a learner."""
    return ", ".join(f"{k}={v!r}" for k, v in result.params.items()) or "no parameters"


def _versions(result: Result) -> list[str]:
    names = {"version": "thalweg", "machine": ""}
    return [f"{names.get(k, k)} {v}".strip() for k, v in result.meta.items() if isinstance(v, str)]
