"""The command ``thalweg generate``: a stream becomes a file."""

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli import shared
from thalweg.registry.typed import open_stream


def generate(
    stream: Annotated[str, typer.Argument(help="A stream's name, or name(parameter=value).")],
    limit: Annotated[int, typer.Option(help="How many rows to write.", min=1)],
    out: Annotated[Path, typer.Option(help="A file: .csv, .csv.gz, .parquet, .arff or .arrow.")],
    seed: Annotated[int | None, typer.Option(help="Seed of the stream.", min=0)] = None,
) -> None:
    """Write rows of a stream to a file; what is written reads back identical."""
    from thalweg.streams.files.writing import write_stream

    shared.check_paths(out)
    source = open_stream(stream, seed=seed)
    with shared.bar(stream, limit) as on_progress:
        written = write_stream(source, out, limit, on_progress=on_progress)
    print(f"written: {out}, {written:,} rows")
