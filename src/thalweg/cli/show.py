"""The command ``thalweg show``: a picture of a stream."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli import shared
from thalweg.registry.typed import ENDLESS


def show(
    stream: shared.StreamName,
    rows: Annotated[
        int | None, typer.Option(help=f"Read so many rows (an endless stream: {ENDLESS:,} by default).", min=1)
    ] = None,
    seed: shared.StreamSeed = None,
    target: shared.Target = None,
    format: shared.Format = None,
    drop: shared.Drop = None,
    nominal: shared.Nominal = None,
    features: Annotated[
        str | None, typer.Option(help="Features to show: a,b,c (by default those that change most).")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw to a PNG, SVG or PDF file, not on the terminal.")] = None,
) -> None:
    """Draw a stream: class shares, features over time, and where it is known to change."""
    from thalweg.show.stream_summary import describe_stream

    shared.check_paths(plot=plot)
    source = shared.open_source(stream, format, seed, target, drop, nominal)
    most, known = shared.rows_to_read(rows, source), getattr(source, "rows", None)
    names = None if features is None else [name.strip() for name in features.split(",")]
    with shared.bar(stream, known if most is None else min(most, known or most), transient=True) as on_progress:
        summary = describe_stream(
            source, sys.maxsize if most is None else most, features=names,
            name=getattr(source, "name", None) or stream, on_progress=on_progress,
        )  # fmt: skip
    if plot is None:
        shared.show_on_terminal(summary)
        return
    summary.plot(plot)
    print(f"written: {plot}")
