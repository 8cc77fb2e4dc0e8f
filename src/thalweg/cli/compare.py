"""The command ``thalweg compare``: learners on streams, a live table, and files that say it all."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thalweg.cli import shared
from thalweg.cli.names import complete_learners, complete_streams
from thalweg.cli.options import AS_IT_IS, FileOptions

if TYPE_CHECKING:
    from thalweg.comparison import Comparison


def compare(
    learners: Annotated[
        list[str],
        typer.Argument(help="Learners: arf, arf(size=30), sdf@0.7 (70 % of the labels), module:object, saved models, "
                       "NAME=arf(size=30).", metavar="LEARNER...", show_default=False,
                       autocompletion=complete_learners),
    ],
    on: Annotated[
        list[str], typer.Option(help="Streams: names, name(parameter=value), module:object, files, NAME=file.",
                                metavar="STREAM...", autocompletion=complete_streams)
    ],
    seeds: Annotated[str, typer.Option(help="How many seeds (1, 2, …), or which: 3,5,7.")] = "1",
    limit: Annotated[int | None, typer.Option(help="Rows of each run (an endless stream: 100,000).", min=1)] = None,
    jobs: shared.Jobs = 1,
    out: Annotated[Path, typer.Option(help="Folder for finished runs and for the report.")] = Path("comparison"),
    delay: Annotated[str, typer.Option(help=shared.DELAY)] = "0",
    window: Annotated[int | None, typer.Option(help="Rows of the sliding window for metrics.", min=1)] = None,
    metric: Annotated[str, typer.Option(help="What to rank by; see thalweg list.")] = "accuracy",
    control: Annotated[
        str | None, typer.Option(help="Compare all others with this learner, and not with each other.")
    ] = None,
    fresh: shared.Fresh = False,
    quiet: shared.Quiet = False,
    data: FileOptions = AS_IT_IS,
) -> None:  # fmt: skip
    """Compare learners on streams; stopped at any time, the same command goes on from there."""
    from rich.console import Console

    from thalweg.cli.advice import advised
    from thalweg.comparison import compare as run
    from thalweg.comparison.live import Live
    from thalweg.comparison.outcome import NO_RANKING

    shared.hush(quiet)
    named, streams = _named(learners), _streams(on)
    try:
        with advised(data, *streams.values()), Live(Console(stderr=True, quiet=quiet), named, streams) as live:
            found = run(
                named, on=streams, seeds=_seeds(seeds), limit=limit, jobs=jobs, folder=out,
                delay=shared.read_delay(delay), window=window, metric=metric, control=control, fresh=fresh,
                on_plan=live.plan, on_event=live.tell, **data.chosen(),
            )  # fmt: skip
    except KeyboardInterrupt as why:
        part = getattr(why, "comparison", None)
        if part is not None and part.results:
            shared.show_on_terminal(part)
        shared.stop(why, f"finished runs are kept in {out}, the same command goes on")
    console = Console()
    ranking = found.ranking()
    tables = [] if ranking is None else [ranking.table()]
    tables += [] if ranking is None or ranking.control is None else [ranking.control_table()]
    for table in (found.table(), *tables):
        for part in table.parts(console.width):
            console.print(part)
    if ranking is None:
        console.print(NO_RANKING, style="dim")
    for path in write(found, out):
        print(f"written: {path}")
    if found.failures:
        print(f"thalweg: {len(found.failures)} of {len(found.cells)} runs failed", file=sys.stderr)
        raise typer.Exit(1)


def write(found: "Comparison", folder: Path) -> list[Path]:
    """Write the files of a comparison; give their paths."""
    table, numbers = folder / "results.csv", folder / "results.json"
    found.to_csv(table)
    found.to_json(numbers)
    try:
        found.to_html(folder / "report.html")
    except ImportError as error:
        print(f"thalweg: no report.html: {error}", file=sys.stderr)
        return [table, numbers]
    return [table, numbers, folder / "report.html"]


def _named(learners: list[str]) -> dict[str, str]:
    """Read ``NAME=learner`` and ``learner``; two that are the same are seen by the grid."""
    from thalweg.comparison.cell import canonical

    named: dict[str, str] = {}
    for text in learners:
        name, equals, spec = text.partition("=")
        spec = canonical(spec if equals and "(" not in name else text)
        if not equals or "(" in name:
            name = spec
        if name in named:
            raise ValueError(f"learners must have different names, got {name!r} twice")
        named[name] = spec
    return named


def _streams(on: list[str]) -> dict[str, str]:
    """Read ``NAME=file`` and ``file``; a file without a name of its own has a short one."""
    from thalweg.comparison.given import short_names

    named = short_names({text: text for text in on if not _is_named(text)})
    for text in on:
        if _is_named(text):
            name, _, spec = text.partition("=")
            if name in named:
                raise ValueError(f"streams must have different names, got {name!r} twice")
            named[name] = spec
    if len(named) < len(on):
        raise ValueError(f"--on must name no stream twice, got {' '.join(on)}")
    return named


def _is_named(text: str) -> bool:
    name, equals, _ = text.partition("=")
    return bool(equals) and "(" not in name and not Path(text).exists()


def _seeds(text: str) -> int | list[int]:
    try:
        return [int(seed) for seed in text.split(",")] if "," in text else int(text)
    except ValueError:
        raise ValueError(f"--seeds must be a number, or numbers like 3,5,7, got {text!r}") from None
