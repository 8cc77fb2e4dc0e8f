"""The command ``thalweg show``: a picture of a stream."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli import shared
from thalweg.cli.options import AS_IT_IS, FileOptions


def show(
    stream: shared.StreamName,
    limit: shared.Limit = None,
    seed: shared.StreamSeed = None,
    features: Annotated[
        str | None, typer.Option(help="Features to show: a,b,c (by default those that change most).")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw to a PNG, SVG or PDF file, not on the terminal.")] = None,
    quiet: shared.Quiet = False,
    data: FileOptions = AS_IT_IS,
) -> None:
    """Draw a stream: class shares, features over time, and where it is known to change."""
    from thalweg.show.stream_summary import describe_stream

    shared.check_paths(plot=plot)
    source = data.open(stream, seed=seed)
    most, known = shared.rows_to_read(limit, source), getattr(source, "rows", None)
    names = None if features is None else [name.strip() for name in features.split(",")]
    with shared.bar(stream, known if most is None else min(most, known or most), transient=True) as on_progress:
        summary = describe_stream(
            source, sys.maxsize if most is None else most, features=names,
            name=getattr(source, "name", None) or stream, on_progress=on_progress,
        )  # fmt: skip
    if plot is None:
        shared.show_on_terminal(summary)
        return
    for remark in () if quiet else summary.remarks:
        print(f"thalweg: {remark}", file=sys.stderr)
    summary.plot(plot)
    print(f"written: {plot}")
