"""One run as a self-contained HTML page: what it means, each class, what changed and mattered when."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.show import document as part
from thalweg.show import run_plots
from thalweg.show.plots import curves
from thalweg.show.run_page import MOST_CLASSES, PHONE, call, caption, made_with
from thalweg.show.tables import (
    Table,
    bytes_text,
    changes,
    one,
    seconds_text,
    share_text,
    side_by_side,
)

if TYPE_CHECKING:
    from thalweg.evaluate.result import Result

MOST_DRAWN = 40
"""A confusion matrix of more classes is not drawn."""
MOST_MISTAKES = 15


def write_report(result: "Result", path: str | Path, *, command: str = "") -> None:
    """Write the page.

    >>> import tempfile
    >>> from thalweg import SEA, NoChange, prequential
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(prequential(SEA(seed=1), NoChange(), limit=3000), Path(folder) / "run.html")
    """
    title = f"{result.learner} on {result.stream}"
    sections = [
        ("Class by class", "classes", _classes(result)),
        ("Over time", "time", _over_time(result)),
        ("What mattered", "features", _features(result)),
        ("Can the probabilities be trusted?", "calibration", _calibration(result)),
        ("Confident errors", "errors", _errors(result)),
        ("Costs", "costs", _costs(result)),
        ("How to reproduce", "making", _making(result, command)),
    ]
    made = [(words, anchor, parts) for words, anchor, each in sections if (parts := list(each))]
    body = [part.paragraph(result.summary, "lead"), part.links((anchor, words) for words, anchor, _ in made)]
    body += _numbers(result)
    for words, anchor, parts in made:
        body += [part.heading(words, anchor=anchor), *parts]
    Path(path).write_text(part.document(title, body), encoding="utf-8")


def _numbers(result: "Result") -> Iterator[part.Part]:
    few, whole = one(result), one(result, all=True)
    yield part.table(Table(few.head, few.rows, title="The numbers that matter for this kind of problem"))
    yield part.details("All metrics", part.table(Table(whole.head, whole.rows)))
    if result.others:
        beside = side_by_side([result, *result.others])
        yield part.table(Table(beside.head, beside.rows, title="Beside other learners, on the same rows"))


def _classes(result: "Result") -> Iterator[part.Part]:
    if 1 < len(result.classes) <= MOST_CLASSES:
        yield part.table(result.per_class.table())
    if 1 < len(result.classes) <= MOST_DRAWN:
        yield part.figure(
            run_plots.confusion(result), run_plots.confusion(result, width=PHONE),
            "Each row is a class: how many of its rows were predicted as each class. A good learner is dark on the "
            "diagonal.",
        )  # fmt: skip


def _over_time(result: "Result") -> Iterator[part.Part]:
    if not len(result.curve["rows"]):
        return
    all_of_them = [result, *result.others]
    said = changes(result) or ["The learner does not look for drifts."] * (not result.finds_drifts)
    for sentence in said or ["The learner found no drift."]:
        yield part.paragraph(f"{sentence[0].upper()}{sentence[1:]}".rstrip(".") + ".")
    yield part.figure(
        curves(all_of_them, title=""), curves(all_of_them, size=(PHONE, 2.8), title=""), caption(all_of_them)
    )


def _features(result: "Result") -> Iterator[part.Part]:
    found = result.importances
    if found is None or not found.shares.any():
        return
    yield part.figure(
        run_plots.importances_over_time(result), run_plots.importances_over_time(result, size=(PHONE, 3.0)),
        "The part of each feature in what all splits of the model gain, as the run went on.",
    )  # fmt: skip
    yield part.table(found.table(15))


def _calibration(result: "Result") -> Iterator[part.Part]:
    if not any(sure > 0.0 for sure, *_ in result.calibration):
        return
    error = result.final.get("calibration_error", float("nan"))
    if error == error:
        yield part.paragraph(
            f"On average the probability of what is predicted is {share_text(error)} away from the share that is right."
        )
    yield part.figure(
        run_plots.reliability(result), run_plots.reliability(result, size=(PHONE, 3.8)),
        "Below the dashed line the learner is surer than it should be. The larger a dot, the more rows.",
    )  # fmt: skip
    if result.alerts and result.kind == "rare class":
        rows = [(share_text(a), share_text(recall), share_text(precision)) for a, recall, precision in result.alerts]
        head = ("rows looked into", "found", "of these right")
        yield part.table(
            Table(head, rows, title="If the rows with the highest probability of the rare class are looked into")
        )


def _errors(result: "Result") -> Iterator[part.Part]:
    mistakes = result.worst(MOST_MISTAKES)
    if mistakes:
        yield part.paragraph("Wrong predictions with the highest probability; rows are counted from 0.")
        table = mistakes.table()
        yield part.table(Table(table.head, table.rows))


def _costs(result: "Result") -> Iterator[part.Part]:
    speed = result.rows_per_second
    pace = f", {speed:,.0f} rows per second" if speed == speed else ""
    size = f"{bytes_text(result.state_bytes)} at the end, {bytes_text(result.peak_bytes)} at most"
    yield part.facts(
        [
            ("Rows", f"{result.rows:,}"),
            ("Time in the learner", seconds_text(result.seconds) + pace),
            ("Processor time", seconds_text(result.cpu_seconds)),
            ("Size of the model", size),
            ("Labels used", f"{result.labels_used:,} of {result.rows:,}"),
        ]
    )  # fmt: skip
    yield part.paragraph("Compilation, reading and scoring are not counted.", "note")


def _making(result: "Result", command: str) -> Iterator[part.Part]:
    if command:
        yield part.command(command)
    stream = result.meta.get("stream_params") or {}
    settings = f"window={result.window}, every={result.every}, delay={result.delay}"
    yield part.facts([("Learner", call(result)), ("Evaluation", settings)], code=True)
    if stream:
        yield part.facts([("Stream", ", ".join(f"{k}={v!r}" for k, v in stream.items()))], code=True)
    yield part.facts(made_with({k: v for k, v in result.meta.items() if isinstance(v, str)}).items())
