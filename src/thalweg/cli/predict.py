"""The command ``thalweg predict``: what a saved model says about each record."""

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli import shared
from thalweg.cli.options import AS_IT_IS, FileOptions
from thalweg.core import params


def predict(
    model: Annotated[Path, typer.Argument(help="A model that thalweg run --save, or thalweg.save, wrote.")],
    records: Annotated[str, typer.Argument(help=f"{shared.STREAM} A file may have labels or not.")],
    out: Annotated[
        Path | None, typer.Option(help="A .csv or .parquet file (by default CSV on standard output).")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Write the probability of each class, too.")] = False,
    limit: shared.Limit = None,
    seed: shared.StreamSeed = None,
    quiet: shared.Quiet = False,
    data: FileOptions = AS_IT_IS,
) -> None:
    """Write what a saved model says about each record of a stream; nothing is learned."""
    from thalweg.keeping.snapshot import load
    from thalweg.serve.answers import is_table, some_rows, stream_records, table_records, write_answers

    on_bad_row = data.on_bad_row or "raise"
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
    if is_table(text) and data.target is None and learner.schema is not None:
        how = {k: v for k, v in data.chosen().items() if k in ("delimiter", "decimal", "encoding", "more_missing")}
        rows = some_rows(table_records(text, learner.schema, on_bad, **how), limit)
    elif on_bad is not None:
        raise ValueError(f"--on-bad-row skip needs records with named columns and no --target, got {records!r}")
    else:
        source = data.open(records, seed=seed)
        limit, known = shared.rows_to_read(limit, source), getattr(source, "rows", None)
        total = min(limit or known, known) if known else limit
        rows = stream_records(source, learner.schema, limit)
    with shared.bar(records, total, transient=out is None) as on_progress:
        done = write_answers(learner, rows, out, proba=proba, on_progress=on_progress, on_bad=on_bad)
    if out is not None:
        print(f"written: {out}, {done:,} rows")
