"""The commands ``thalweg data``: what data sets there are, getting one, and where they lie."""

from typing import TYPE_CHECKING, Annotated

import typer

from thalweg.cli import shared

if TYPE_CHECKING:
    from thalweg.streams.datasets.catalogue import Dataset

app = typer.Typer(name="data", help="Real data sets: list them, get one, see where they lie.", no_args_is_help=False)

_WIDE = 130  # columns of a terminal that has room for all
_LEGEND = """
where: the folder that THALWEG_DATA names, the cache, or
  package: comes with thalweg,
  download: thalweg data get NAME brings it from OpenML,
  own: bring it yourself; thalweg data path NAME says from where."""

Name = Annotated[str, typer.Argument(help="A data set's name; see thalweg data list.")]


@app.callback(invoke_without_command=True)
def about(context: typer.Context) -> None:
    """Real data sets: list them, get one, see where they lie."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("list")
def list_() -> None:
    """List the data sets that are known by name, and where each is to be had."""
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from thalweg.streams.datasets.catalogue import DATASETS

    console = Console()
    wide = console.width >= _WIDE
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("name" if wide else "name; order; papers; licence", overflow="fold", no_wrap=wide)
    for number in ("rows", "features", "classes"):
        table.add_column(number, justify="right", no_wrap=True)
    for words in ("order", "papers", "licence") if wide else ():
        table.add_column(words)
    table.add_column("where", no_wrap=True)
    for d in DATASETS.values():
        about = (d.order, ", ".join(d.papers), d.licence)
        details = Text(f"{d.order}; {''.join(f'{p}, ' for p in d.papers)}licence: {d.licence}", "dim")
        name = d.name if wide else Group(d.name, Padding(details, (0, 0, 0, 2)))
        table.add_row(name, f"{d.rows:,}", f"{d.features:,}", str(d.classes), *(about if wide else ()), _where(d))
    console.print(table)
    console.print(_LEGEND, highlight=False)


@app.command()
def get(name: Name) -> None:
    """Get a data set from OpenML into the cache; where it is there already, check it."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from thalweg.streams.datasets.loading import find_entry, find_file, get_dataset, verify

    dataset = find_entry(name)
    path = find_file(dataset)
    if path is not None:
        checked = "the checksum is right" if verify(dataset, path) else "no checksum is known"
        print(f"already there: {path} ({checked})")
        return
    console = Console(stderr=True)
    bars = Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip
    try:
        with bars:
            task = bars.add_task(name, total=None)
            path = get_dataset(name, on_progress=lambda done, total: bars.update(task, completed=done, total=total))
    except KeyboardInterrupt as why:
        shared.stop(why, f"`thalweg data get {name}` goes on from there")
    print(f"written: {path}")
    print(f"{dataset.line}; licence: {dataset.licence}; from: {dataset.source}")
    if dataset.openml is not None and dataset.openml.note:
        print(f"note: {dataset.openml.note}")


@app.command()
def path(
    name: Annotated[str | None, typer.Argument(help="A data set's name; none: print the folders.")] = None,
) -> None:
    """Print the file of a data set, or the folders that are looked at, in order."""
    from thalweg.streams.datasets.loading import VARIABLE, dataset_path, folders

    if name is not None:
        print(dataset_path(name))
        return
    for kind, folder in folders().items():
        if folder is None:
            print(f"{kind}: ({VARIABLE} is not set)")
        else:
            print(f"{kind}: {folder}{'' if folder.is_dir() else ' (does not exist)'}")


def _where(dataset: "Dataset") -> str:
    """Say where a data set is to be had."""
    from thalweg.streams.datasets.loading import find_file, folders

    if dataset.packaged:
        return "package"
    found = find_file(dataset)
    if found is not None:
        return next(kind for kind, folder in folders().items() if folder == found.parent)
    return "download" if dataset.openml else "own"
