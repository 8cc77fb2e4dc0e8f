"""The command ``thalweg paper``: a paper's experiment, run again, its published numbers beside ours."""

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thalweg.cli import shared

if TYPE_CHECKING:
    from thalweg.papers.plan import PaperTable


def paper(
    name: Annotated[str, typer.Argument(help="sdf, csknn, abacoc, ckdt or etree.", show_default=False)],
    scale: Annotated[
        str, typer.Option(help="smoke: a minute; small: a quarter of an hour; full: as published, hours to days.")
    ] = "small",
    out: Annotated[
        Path | None, typer.Option(help="Folder for finished runs and for the report (by default NAME-SCALE).")
    ] = None,
    jobs: shared.Jobs = 1,
    fresh: shared.Fresh = False,
) -> None:
    """Run a paper's experiment, and put what it published beside ours; stopped, the same command goes on from there."""
    from rich.console import Console

    from thalweg.comparison.live import Live
    from thalweg.papers import reproduce
    from thalweg.show.figure import figure_class

    figure_class()  # the report has pictures: what is missing is said before the runs
    folder = out or Path(f"{name}-{scale}")
    errors, live = Console(stderr=True), ExitStack()
    shown: list[Live] = []

    def on_table(table: "PaperTable", learners: Mapping[str, str], streams: list[str]) -> None:
        live.close()
        errors.print(f"{table.title}: {len(learners)} learners on {len(streams)} streams", highlight=False)
        shown.append(live.enter_context(Live(errors, learners, streams)))

    try:
        with live:
            found = reproduce(
                name, scale=scale, folder=folder, jobs=jobs, fresh=fresh, on_table=on_table,
                on_plan=lambda cells: shown[-1].plan(cells), on_event=lambda event: shown[-1].tell(event),
            )  # fmt: skip
    except KeyboardInterrupt as why:
        shared.stop(why, f"finished runs are kept in {folder}, the same command goes on")
    console = Console()
    for both in found.tables:
        if both.rows:
            console.print(f"\n{both.plan.title}", style="bold", highlight=False)
            for part in both.summary().parts(console.width):
                console.print(part)
    for verdict in found.verdicts:
        console.print(f"{verdict.word}: {verdict.claim.says} ({verdict.why})", highlight=False)
    if found.unavailable:
        console.print(f"not available: {', '.join(found.unavailable)}; the report says why", highlight=False)
    for path in found.write(folder):
        print(f"written: {path}")
    if found.failures:
        print(f"thalweg: {len(found.failures)} runs failed", file=sys.stderr)
        raise typer.Exit(1)
