"""What the commands share: options, files that can be written, progress, and where sentences go."""

import io
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from thalweg.cli.names import complete_streams
from thalweg.core.interrupts import Terminated
from thalweg.registry.typed import ENDLESS, is_address, is_endless, is_file

if TYPE_CHECKING:
    from rich.console import Console

    from thalweg.core.classifier import Classifier
    from thalweg.core.protocols import Stream
    from thalweg.evaluate.prequential import Progress

STREAM = (
    "A stream's name, name(parameter=value), module:object, a file, - (standard input; see --format), or the address "
    "of a broker or database: kafka://, redis://, nats://, postgresql://, sqlite://."
)
StreamName = Annotated[str, typer.Argument(help=STREAM, autocompletion=complete_streams)]
Limit = Annotated[
    int | None,
    typer.Option(help=f"Stop after so many rows (by default at the end; an endless stream: {ENDLESS:,}).", min=0),
]
StreamSeed = Annotated[int | None, typer.Option(help="Seed of a generated stream.", min=0)]
DELAY = "Rows between a record and its label, or time (see --time and --label-time)."
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only: no progress, no advice.")]
Jobs = Annotated[int, typer.Option(help="Runs at a time, each in a process with one thread.", min=1)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Run all again, also what is done.")]


def fail(message: str, code: int = 2, notes: Sequence[str] = ()) -> NoReturn:
    """End with one line on standard error, and one for each note, such as what to type next."""
    for line in (message, *notes):
        print(f"thalweg: {' '.join(line.split())}", file=sys.stderr)
    sys.exit(code)


def hush(quiet: bool) -> None:
    """Give no advice where none is wanted."""
    if quiet:
        from thalweg.streams.looking import ColumnWarning

        warnings.simplefilter("ignore", ColumnWarning)


def stop(why: BaseException, *more: str) -> NoReturn:
    """End because of a signal, with one line on standard error and the exit code that shells expect."""
    terminated = isinstance(why, Terminated)
    fail("; ".join(["terminated" if terminated else "interrupted", *more]), code=143 if terminated else 130)


def read_delay(text: str) -> 'int | Literal["time"]':
    """Read ``--delay``: a number of rows, or time."""
    if text == "time":
        return "time"
    if not text.isdecimal():
        raise ValueError(f"--delay must be a number of rows from 0 on, or time, got {text!r}")
    return int(text)


def known_to(model: "Classifier", stream: str) -> dict[str, Any]:
    """Say what a file must be read as for a model that has learned already: what it knows, and no more."""
    if not (stream[:1] == "-" or is_file(stream)):
        return {}
    if model.schema is None:
        return {"readings": model.readings} if model.readings else {}
    return {"schema": model.schema, "extra": "ignore"}


def titled(stream: str) -> str:
    """Give what to call a stream: an address without its password and options.

    >>> titled("redis://me:secret@localhost/clicks?format=csv"), titled("SEA_a")
    ('redis://me@localhost/clicks', 'SEA_a')
    """
    if not is_address(stream):
        return stream
    from thalweg.streams.brokers.address import without_password

    return without_password(stream).partition("?")[0]


def rows_to_read(limit: int | None, source: "Stream") -> int | None:
    """Give the limit; an endless stream has one where none is named."""
    return ENDLESS if limit is None and is_endless(source) else limit


def typed() -> str:
    """Give the command that was typed, without passwords; nothing where another program runs this one."""
    from thalweg.streams.brokers.address import without_password

    def plain(word: str) -> str:
        option, sign, value = word.partition("=") if word.startswith("-") else ("", "", word)
        return option + sign + (without_password(value) if is_address(value) else value)

    name = Path(sys.argv[0])
    ours = name.stem == "thalweg" or name.parent.name == "thalweg"
    return shlex.join(["thalweg", *map(plain, sys.argv[1:])]) if ours else ""


def check_paths(*paths: Path | str | None, plot: Path | None = None) -> None:
    """Refuse a place that cannot be written to before any work is done, not after."""
    if plot is not None:
        from thalweg.show.figure import check_path, figure_class

        check_path(plot)
        figure_class()  # says what to install
    for path in [Path(path) for path in (*paths, plot) if path]:
        if not path.parent.is_dir():
            raise ValueError(f"{path} must lie in a folder that exists")
        if not os.access(path.parent, os.W_OK):
            raise ValueError(f"{path} must lie in a folder that can be written to")
        if path.is_dir():
            raise ValueError(f"{path} must name a file, it is a folder")


def standard_output_is_data() -> None:
    """Write UTF-8, as to a file: no letter of a label is lost."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="strict")


@contextmanager
def progress(
    *, quiet: bool = False, transient: bool = False
) -> "Iterator[Callable[[str], Callable[[Progress], None]]]":
    """Show a bar for each run on the terminal: rows done, time gone and time to go, and accuracy over the window."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = errors()
    bars = Bars(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TimeRemainingColumn(elapsed_when_finished=True), TextColumn("{task.fields[note]}"),
        console=console, transient=transient, disable=quiet or not console.is_terminal,
    )  # fmt: skip

    def watch(name: str) -> "Callable[[Progress], None]":
        task = bars.add_task(name, total=None, note="")

        def on_progress(now: "Progress") -> None:
            note = "compiling, once" if now.stage == "compiling" else f"accuracy {now.accuracy:.1%}"
            if now.joined:
                note += f", {now.joined['matched']:,} labels matched, {now.joined['open']:,} records open"
            bars.update(task, completed=now.rows, total=now.total, note=note)

        return on_progress

    with bars:
        yield watch


@contextmanager
def bar(name: str, total: int | None, transient: bool = False) -> "Iterator[Callable[[int], None]]":
    """Show one bar on the terminal; give the function that moves it."""
    from rich.progress import Progress as Bars

    console = errors()
    with Bars(console=console, disable=not console.is_terminal, transient=transient) as bars:
        task = bars.add_task(titled(name), total=total)
        yield lambda done: bars.update(task, completed=done)


def errors() -> "Console":
    """Give the terminal behind standard error."""
    from rich.console import Console

    return Console(stderr=True)


def show_on_terminal(what: Any) -> None:
    """Print to standard output what knows how to show itself."""
    from rich.console import Console

    Console().print(what)
