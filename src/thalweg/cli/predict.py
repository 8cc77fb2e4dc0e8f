"""The command ``thalweg predict``: what a saved model says about each record."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from thalweg.cli import shared
from thalweg.cli.options import AS_IT_IS, FileOptions, split
from thalweg.core import params
from thalweg.streams.files.marks import MISSING


def predict(
    model: Annotated[Path, typer.Argument(help="A model that thalweg run --save, or thalweg.save, wrote.")],
    records: Annotated[str, typer.Argument(help=f"{shared.STREAM} A file may have labels or not.")],
    out: Annotated[
        Path | None, typer.Option(help="A .csv or .parquet file (by default CSV on standard output).")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Write the probability of each class, too.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="Columns to write in front of the predictions: id,date.", metavar="COLUMNS")
    ] = None,
    limit: shared.Limit = None,
    seed: shared.StreamSeed = None,
    quiet: shared.Quiet = False,
    data: FileOptions = AS_IT_IS,
) -> None:
    """Write what a saved model says about each record of a stream; nothing is learned.

    Where a file has labels (see --target), the last lines say how good the predictions are.
    """
    from thalweg.keeping.snapshot import load
    from thalweg.serve.answers import is_table, some_rows, stream_records, table_records, write_answers

    on_bad_row, carry = data.on_bad_row or "raise", split(keep or [])
    params.choice("--on-bad-row", on_bad_row, ("raise", "skip"))
    shared.check_paths(out)
    learner = load(model)
    if not hasattr(learner, "predict_proba"):
        raise ValueError(f"{model} must hold a learner, it holds a {type(learner).__name__}")
    if out is None:
        shared.standard_output_is_data()
    console, total = shared.errors(), limit

    def report(reason: str) -> None:
        console.print(f"thalweg: {reason}", markup=False, highlight=False, soft_wrap=True)

    on_bad = None if on_bad_row == "raise" else report
    text = f"-.{data.format}" if records == "-" and data.format else records
    target = data.target or "class"
    if is_table(text) and learner.schema is not None:
        how = {k: v for k, v in data.chosen().items() if k in ("delimiter", "decimal", "encoding", "more_missing")}
        target = target if target not in learner.schema.names else ""
        rows = some_rows(table_records(text, learner.schema, on_bad, carry=carry, target=target or None, **how), limit)
    elif on_bad is not None or carry:
        option = "--keep" if carry else "--on-bad-row skip"
        raise ValueError(
            f"{option} needs records with named columns: CSV, JSON lines, Parquet or Arrow, got {records!r}"
        )
    else:
        source = data.open(records, seed=seed)
        limit, known = shared.rows_to_read(limit, source), getattr(source, "rows", None)
        total = min(limit or known, known) if known else limit
        rows = stream_records(source, learner.schema, limit, labels=target)
    score = _Score(learner.classes_.tolist(), target)
    with shared.bar(records, total, transient=out is None) as on_progress:
        done = write_answers(
            learner, rows, out, proba=proba, on_progress=on_progress, on_bad=on_bad, keep=carry, on_answers=score.add
        )
    if out is not None:
        print(f"written: {out}, {done:,} rows")
    if score.labelled and not quiet:
        print(score.sentence(), file=sys.stderr if out is None else sys.stdout)
    elif data.target is not None and not quiet and done:
        print(f"thalweg: {records} has no label in column {data.target}, so there is no score", file=sys.stderr)


class _Score:
    """How good predictions are, where records have labels; those without are passed over."""

    def __init__(self, classes: list[Any], target: str) -> None:
        from thalweg.evaluate.metrics import Metrics

        self.labels, self.target, self.metrics = classes, target, Metrics()
        self._codes = {str(label): code for code, label in enumerate(classes)}

    @property
    def labelled(self) -> int:
        """Rows with a label so far."""
        return self.metrics.rows

    def add(self, proba: Any, carried: dict[str, list[Any]]) -> None:
        """Score some rows."""
        given = carried.get(self.target)
        if given is None:
            return
        there = [
            i
            for i, (label, first) in enumerate(zip(given, proba[:, 0].tolist(), strict=True))
            if label is not None and label == label and label not in MISSING and first == first
        ]
        for label in dict.fromkeys(str(given[i]) for i in there):
            if label not in self._codes:
                self._codes[label] = len(self.labels)
                self.labels.append(label)
        if there:
            self.metrics.update([self._codes[str(given[i])] for i in there], proba[there])

    def sentence(self) -> str:
        """Say how good they are, as a run does."""
        from thalweg.evaluate.per_class import PerClass
        from thalweg.evaluate.summary import summary

        final = self.metrics.cumulative()
        known: Any = SimpleNamespace(
            per_class=PerClass(self.labels, self.metrics.confusion), accuracy=final["accuracy"], final=final,
            rows=self.metrics.rows, baselines=self.metrics.baselines, labels_pending=0, joined={},
        )  # fmt: skip
        return summary(known)
