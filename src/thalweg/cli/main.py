"""The command line: a thin skin over the library."""

import ast
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from thalweg import __version__, registry
from thalweg.cli import compare as compare_command
from thalweg.cli import data as data_commands
from thalweg.cli import paper as paper_command
from thalweg.core import params
from thalweg.named import ENDLESS, is_endless, make_learner, open_stream

if TYPE_CHECKING:
    from rich.console import Console

    from thalweg.evaluate.prequential import Progress

_STREAM = "A stream's name, name(parameter=value), a file, or - (standard input; see --format)."

app = typer.Typer(
    name="thalweg",
    help="Classify data streams that change while they are being learned.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data_commands.app)


# What typer raises for a wrong command line; its home differs between versions of typer.
_USAGE: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def main() -> None:
    """Run a command. Whatever goes wrong is one line on standard error, and exit code 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # what this terminal cannot show must not end a long run
        sys.stdout.reconfigure(errors="replace")
    try:
        code = app(standalone_mode=False)
    except _USAGE as error:
        _fail(error.format_message())
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", code=130)
    except (ValueError, TypeError, OSError, ImportError) as error:
        _fail(str(error))
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int = 2) -> NoReturn:
    print(f"thalweg: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


@app.callback(invoke_without_command=True)
def about(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Classify data streams that change while they are being learned."""
    if version:
        print(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def run(
    learner: Annotated[str, typer.Argument(help="A learner's name, or name(parameter=value); see thalweg list.")],
    stream: Annotated[str, typer.Argument(help=_STREAM)],
    more: Annotated[
        list[str] | None, typer.Argument(help="Parameters of the learner, as after --set.", metavar="[NAME=VALUE]...")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help=f"Stop after so many rows (an endless stream: {ENDLESS:,} by default).", min=0)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the learner and of a generated stream.", min=0)] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A parameter of the learner: name=value.")] = None,
    target: Annotated[str | None, typer.Option(help="The column to predict, when the stream is a file.")] = None,
    format: Annotated[
        str | None, typer.Option(help="What standard input holds: csv (by default), tsv or jsonl.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column of the file to leave out.")] = None,
    nominal: Annotated[list[str] | None, typer.Option(help="A column of numbers that are names, not amounts.")] = None,
    delay: Annotated[int, typer.Option(help="Rows between a record and its label.", min=0)] = 0,
    budget: Annotated[float | None, typer.Option(help="Share of the labels to ask for; others stay unseen.")] = None,
    strategy: Annotated[
        str | None, typer.Option(help="How to choose the labels to ask for (avu by default); see thalweg list.")
    ] = None,
    window: Annotated[int, typer.Option(help="Rows of the sliding window for metrics.", min=1)] = 1000,
    seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds.")] = None,
    json: Annotated[
        str | None, typer.Option(help="Write the result as JSON to a file, or to - (standard output).")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw accuracy over time to a PNG, SVG or PDF file.")] = None,
    save: Annotated[Path | None, typer.Option(help="Write the learned model to a file.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Continue from this checkpoint if it exists; Ctrl-C writes it.")
    ] = None,
) -> None:
    """Learn a stream, predicting each record before its label is used, and say how well that went."""
    from thalweg.evaluate.prequential import prequential
    from thalweg.keeping.snapshot import save as save_model

    model = make_learner(learner, seed=seed, **_settings([*(settings or []), *(more or [])]))
    source = open_stream(
        _input(stream, format), seed=seed, target=target, drop=tuple(drop or ()), nominal=tuple(nominal or ())
    )
    if budget is None and strategy is not None:
        raise ValueError(f"--strategy needs --budget, the share of the labels to ask for, got --strategy {strategy}")
    if budget is not None:
        from thalweg.active.learner import ActiveLearner

        model = ActiveLearner(
            learner=model, strategy=registry.make("strategy", strategy or "avu", registry.STRATEGIES, budget=budget)
        )
    _check_paths(json if json != "-" else None, plot, save, resume)
    if limit is None and is_endless(source):
        limit = ENDLESS
    try:
        with _progress(quiet=json == "-") as watch:
            result = prequential(
                source, model, limit=limit, delay=delay, window=window, seconds=seconds, checkpoint=resume,
                resume=resume is not None and resume.exists(), on_progress=watch(learner), name=learner,
                stream_name=stream,
            )  # fmt: skip
    except KeyboardInterrupt as stop:
        if json is None:
            _print(getattr(stop, "result", ""))
        notes = [note.replace("resume=True", "the same command") for note in getattr(stop, "__notes__", [])]
        _fail("; ".join(["interrupted", *notes]), code=130)
    if save is not None:
        save_model(model, save)
    if plot is not None:
        result.plot(plot)
    if json == "-":
        _standard_output_is_data()
        print(result.to_json())
        return
    if json is not None:
        result.to_json(json)
    _print(result)


app.command(cls=compare_command.ManyAfterOn)(compare_command.compare)
app.command()(paper_command.paper)


@app.command("list")
def list_() -> None:
    """List learners, streams, data sets, detectors and metrics."""
    from rich.console import Console
    from rich.table import Table

    from thalweg.registry import METRICS
    from thalweg.streams.datasets.loading import DATASETS

    tables: dict[str, dict[str, str]] = {
        "learners": {name: e.line for name, e in registry.LEARNERS.items()},
        "streams": {name: e.line for name, e in registry.STREAMS.items()},
        "streams of the papers": {name: e.line for name, e in registry.PAPERS.items()},
        "data sets (thalweg data says where they are to be had)": {name: d.line for name, d in DATASETS.items()},
        "detectors": {name: e.line for name, e in registry.DETECTORS.items()},
        "strategies (with --budget)": {name: e.line for name, e in registry.STRATEGIES.items()},
        "metrics": dict(METRICS),
    }
    console = Console()
    for title, rows in tables.items():
        table = Table(title=title, title_justify="left", show_header=False, box=None, padding=(0, 2))
        for name, line in rows.items():
            table.add_row(name, line)
        console.print(table)
        console.print()


@app.command()
def generate(
    stream: Annotated[str, typer.Argument(help="A stream's name, or name(parameter=value).")],
    rows: Annotated[int, typer.Option(help="How many rows to write.", min=1)],
    out: Annotated[Path, typer.Option(help="A file: .csv, .csv.gz, .parquet, .arff or .arrow.")],
    seed: Annotated[int | None, typer.Option(help="Seed of the stream.", min=0)] = None,
) -> None:
    """Write rows of a stream to a file; what is written reads back identical."""
    from rich.progress import Progress as Bars

    from thalweg.streams.files.writing import write_stream

    _check_paths(str(out))
    source = open_stream(stream, seed=seed)
    console = _errors()
    with Bars(console=console, disable=not console.is_terminal) as bars:
        task = bars.add_task(stream, total=rows)
        written = write_stream(source, out, rows, on_progress=lambda done: bars.update(task, completed=done))
    print(f"written: {out}, {written:,} rows")


@app.command()
def show(
    stream: Annotated[str, typer.Argument(help=_STREAM)],
    rows: Annotated[
        int | None, typer.Option(help=f"Read so many rows (an endless stream: {ENDLESS:,} by default).", min=1)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of a generated stream.", min=0)] = None,
    target: Annotated[str | None, typer.Option(help="The column to predict, when the stream is a file.")] = None,
    format: Annotated[
        str | None, typer.Option(help="What standard input holds: csv (by default), tsv or jsonl.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column of the file to leave out.")] = None,
    nominal: Annotated[list[str] | None, typer.Option(help="A column of numbers that are names, not amounts.")] = None,
    features: Annotated[
        str | None, typer.Option(help="Features to show: a,b,c (by default those that change most).")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw to a PNG, SVG or PDF file, not on the terminal.")] = None,
) -> None:
    """Draw a stream: class shares, features over time, and where it is known to change."""
    from rich.progress import Progress as Bars

    from thalweg.show.stream_summary import describe_stream

    _check_paths(None, plot)
    source = open_stream(
        _input(stream, format), seed=seed, target=target, drop=tuple(drop or ()), nominal=tuple(nominal or ())
    )
    if rows is None:
        rows = ENDLESS if is_endless(source) else sys.maxsize
    names = None if features is None else [name.strip() for name in features.split(",")]
    console, known = _errors(), getattr(source, "rows", None)
    with Bars(console=console, disable=not console.is_terminal, transient=True) as bars:
        total = None if known is None and rows == sys.maxsize else min(rows, known or rows)
        task = bars.add_task(stream, total=total)
        summary = describe_stream(
            source, rows, features=names, name=getattr(source, "name", None) or stream,
            on_progress=lambda done: bars.update(task, completed=done),
        )  # fmt: skip
    if plot is None:
        _print(summary)
        return
    summary.plot(plot)
    print(f"written: {plot}")


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model that thalweg run --save, or thalweg.save, wrote.")],
    data: Annotated[str, typer.Argument(help=f"{_STREAM} A file may have labels or not.")],
    out: Annotated[
        Path | None, typer.Option(help="A .csv or .parquet file (by default CSV on standard output).")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Write the probability of each class, too.")] = False,
    limit: Annotated[
        int | None, typer.Option(help=f"Stop after so many rows (an endless stream: {ENDLESS:,} by default).", min=0)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of a generated stream.", min=0)] = None,
    target: Annotated[
        str | None, typer.Option(help="The column with the labels, for .arff, .jsonl and .npz files.")
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="What standard input holds: csv (by default), tsv or jsonl.")
    ] = None,
    on_bad_row: Annotated[
        str, typer.Option(help="A bad record: raise (the run ends) or skip (it is reported; its line is empty).")
    ] = "raise",
) -> None:
    """Write what a saved model says about each record of a stream; nothing is learned."""
    from rich.progress import Progress as Bars

    from thalweg.keeping.snapshot import load
    from thalweg.serve.answers import is_table, some_rows, stream_records, table_records, write_answers

    params.choice("--on-bad-row", on_bad_row, ("raise", "skip"))
    _check_paths(None, None, out)
    learner, text = load(model), _input(data, format)
    if not hasattr(learner, "predict_proba"):
        raise ValueError(f"{model} must hold a learner, it holds a {type(learner).__name__}")
    if out is None:
        _standard_output_is_data()
    console, total = _errors(), limit

    def report(reason: str) -> None:
        console.print(f"thalweg: {reason}", markup=False, highlight=False, soft_wrap=True)

    on_bad = None if on_bad_row == "raise" else report
    if is_table(text) and target is None and learner.schema is not None:
        records = some_rows(table_records(text, learner.schema, on_bad), limit)
    elif on_bad is not None:
        raise ValueError(f"--on-bad-row skip needs records with named columns and no --target, got {data!r}")
    else:
        source = open_stream(text, seed=seed, target=target)
        if limit is None and is_endless(source):
            limit = ENDLESS
        known = getattr(source, "rows", None)
        total = min(limit or known, known) if known else limit
        records = stream_records(source, learner.schema, limit)
    with Bars(console=console, disable=not console.is_terminal, transient=out is None) as bars:
        task = bars.add_task(data, total=total)
        done = write_answers(
            learner, records, out, proba=proba, on_progress=lambda done: bars.update(task, completed=done),
            on_bad=on_bad,
        )  # fmt: skip
    if out is not None:
        print(f"written: {out}, {done:,} rows")


@app.command()
def index(
    model: Annotated[Path, typer.Argument(help="A saved tree, forest or ensemble of chunks.")],
    kind: Annotated[
        str, typer.Option(help="linear-rules, linear-trees, e-tree, bitmap, compiled-trees, or auto: all of them.")
    ] = "auto",
) -> None:
    """Say what a model's rules are like, and how fast each kind of index answers with them."""
    from thalweg.cli.index_report import describe_index
    from thalweg.keeping.snapshot import load

    _print(describe_index(load(model), kind))


@app.command()
def warmup() -> None:
    """Compile everything now, once, so that no later command waits for it."""
    import time

    import numpy as np

    from thalweg.cli.demo import drifting_stream
    from thalweg.evaluate.prequential import prequential
    from thalweg.streams.memory import ArrayStream

    begun = time.perf_counter()
    rng = np.random.default_rng(1)
    images, digits = rng.random((2_000, 8, 8)), rng.integers(0, 10, 2_000)
    with _progress(quiet=False) as watch:
        for name, entry in registry.LEARNERS.items():
            stream = (
                ArrayStream(images, digits) if getattr(entry.cls, "tensors", False) else drifting_stream(2_000, seed=1)
            )
            prequential(stream, entry.make(), limit=2_000, delay=10, on_progress=watch(name))
        for name, entry in registry.STREAMS.items():
            if name == "image-drift":  # reads a data set, which may not be there
                continue
            prequential(entry.make(), registry.LEARNERS["majority"].make(), limit=2_000, on_progress=watch(name))
        for entry in registry.DETECTORS.values():
            entry.make().update_many(np.zeros(100))
    print(f"compiled in {time.perf_counter() - begun:.1f} s; kept for later runs")


@app.command()
def demo(
    rows: Annotated[int, typer.Option(help="Length of the stream.", min=1000)] = 100_000,
    folder: Annotated[Path, typer.Option(help="Where to write the picture and the page.")] = Path(),
    seed: Annotated[int, typer.Option(help="Seed of the stream.", min=0)] = 1,
) -> None:
    """Learn a drifting stream with several learners: progress, a table, a picture and a page."""
    from thalweg.cli.demo import run_demo, write_demo
    from thalweg.show.tables import side_by_side

    _check_paths(str(folder / "thalweg-demo.html"), folder / "thalweg-demo.png")
    with _progress(quiet=False) as watch:
        results = run_demo(rows, seed, watch)
    _print(side_by_side(results, metrics=("accuracy", "kappa", "auc")))
    for path in write_demo(results, folder, f"thalweg demo --rows {rows} --seed {seed}"):
        print(f"written: {path}")


# -- inside -----------------------------------------------------------------------------------------------------------


def _settings(pairs: list[str]) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"a parameter (--set) must read like name=value, got {pair!r}")
        try:
            chosen[name.strip()] = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError):
            chosen[name.strip()] = text.strip()
    return chosen


def _standard_output_is_data() -> None:
    """Write UTF-8, as to a file: no letter of a label is lost."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="strict")


def _input(stream: str, format: str | None) -> str:
    """Say what standard input holds as ``open_file`` reads it: -, -.tsv, -.jsonl."""
    if format is None:
        return stream
    if stream != "-":
        raise ValueError(f"--format says what standard input (-) holds, got the stream {stream!r}")
    params.choice("--format", format, ("csv", "tsv", "jsonl"))
    return f"-.{format}"


def _check_paths(json: str | None = None, plot: Path | None = None, *others: Path | None) -> None:
    """Refuse a place that cannot be written to before any work is done, not after."""
    if plot is not None:
        from thalweg.show.figure import check_path

        check_path(plot)
    for path in (Path(json) if json else None, plot, *others):
        if path is not None and not path.parent.is_dir():
            raise ValueError(f"{path} must lie in a folder that exists")
        if path is not None and not os.access(path.parent, os.W_OK):
            raise ValueError(f"{path} must lie in a folder that can be written to")
        if path is not None and path.is_dir():
            raise ValueError(f"{path} must name a file, it is a folder")


@contextmanager
def _progress(quiet: bool) -> "Iterator[Callable[[str], Callable[[Progress], None]]]":
    """Show a bar for each run on the terminal: rows done and accuracy over the window."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    console = _errors()
    bars = Bars(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"), console=console, transient=quiet, disable=not console.is_terminal,
    )  # fmt: skip

    def watch(name: str) -> "Callable[[Progress], None]":
        task = bars.add_task(name, total=None, note="")

        def on_progress(now: "Progress") -> None:
            note = "compiling, once" if now.stage == "compiling" else f"accuracy {now.accuracy:.1%}"
            bars.update(task, completed=now.rows, total=now.total, note=note)

        return on_progress

    with bars:
        yield watch


def _errors() -> "Console":
    from rich.console import Console

    return Console(stderr=True)


def _print(what: Any) -> None:
    from rich.console import Console

    Console().print(what)


if __name__ == "__main__":
    main()
