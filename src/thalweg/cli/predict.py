"""The command ``thalweg predict``: what a saved model says about each record."""

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli import shared
from thalweg.core import params


def predict(
    model: Annotated[Path, typer.Argument(help="A model that thalweg run --save, or thalweg.save, wrote.")],
    data: Annotated[str, typer.Argument(help=f"{shared.STREAM} A file may have labels or not.")],
    out: Annotated[
        Path | None, typer.Option(help="A .csv or .parquet file (by default CSV on standard output).")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Write the probability of each class, too.")] = False,
    limit: shared.Limit = None,
    seed: shared.StreamSeed = None,
    target: Annotated[
        str | None, typer.Option(help="The column with the labels, for .arff, .jsonl and .npz files.")
    ] = None,
    format: shared.Format = None,
    on_bad_row: Annotated[
        str, typer.Option(help="A bad record: raise (the run ends) or skip (it is reported; its line is empty).")
    ] = "raise",
) -> None:
    """Write what a saved model says about each record of a stream; nothing is learned."""
    from thalweg.keeping.snapshot import load
    from thalweg.serve.answers import is_table, some_rows, stream_records, table_records, write_answers

    params.choice("--on-bad-row", on_bad_row, ("raise", "skip"))
    shared.check_paths(out)
    learner, text = load(model), shared.input_name(data, format)
    if not hasattr(learner, "predict_proba"):
        raise ValueError(f"{model} must hold a learner, it holds a {type(learner).__name__}")
    if out is None:
        shared.standard_output_is_data()
    console, total = shared.errors(), limit

    def report(reason: str) -> None:
        console.print(f"thalweg: {reason}", markup=False, highlight=False, soft_wrap=True)

    on_bad = None if on_bad_row == "raise" else report
    if is_table(text) and target is None and learner.schema is not None:
        records = some_rows(table_records(text, learner.schema, on_bad), limit)
    elif on_bad is not None:
        raise ValueError(f"--on-bad-row skip needs records with named columns and no --target, got {data!r}")
    else:
        source = shared.open_source(data, format, seed, target)
        limit, known = shared.rows_to_read(limit, source), getattr(source, "rows", None)
        total = min(limit or known, known) if known else limit
        records = stream_records(source, learner.schema, limit)
    with shared.bar(data, total, transient=out is None) as on_progress:
        done = write_answers(learner, records, out, proba=proba, on_progress=on_progress, on_bad=on_bad)
    if out is not None:
        print(f"written: {out}, {done:,} rows")
