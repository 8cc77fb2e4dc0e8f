"""The command ``thalweg run``: a learner through a stream, and how well that went."""

import ast
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.cli import shared
from thalweg.registry.typed import asking, make_learner


def run(
    learner: Annotated[str, typer.Argument(help="A learner's name, or name(parameter=value); see thalweg list.")],
    stream: shared.StreamName,
    more: Annotated[
        list[str] | None, typer.Argument(help="Parameters of the learner, as after --set.", metavar="[NAME=VALUE]...")
    ] = None,
    limit: shared.Limit = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the learner and of a generated stream.", min=0)] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A parameter of the learner: name=value.")] = None,
    target: shared.Target = None,
    format: shared.Format = None,
    drop: shared.Drop = None,
    nominal: shared.Nominal = None,
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
        Path | None, typer.Option(help="Continue from this checkpoint if it exists; Ctrl-C and SIGTERM write it.")
    ] = None,
    checkpoint_every: Annotated[
        str, typer.Option(help="How often --resume's file is written: rows (100000) or seconds (30s).")
    ] = "30s",
) -> None:
    """Learn a stream, predicting each record before its label is used, and say how well that went."""
    from thalweg.evaluate.prequential import prequential
    from thalweg.keeping.snapshot import save as save_model

    model = make_learner(learner, seed=seed, **_settings([*(settings or []), *(more or [])]))
    source = shared.open_source(stream, format, seed, target, drop, nominal)
    if budget is None and strategy is not None:
        raise ValueError(f"--strategy needs --budget, the share of the labels to ask for, got --strategy {strategy}")
    if budget is not None:
        model = asking(model, strategy or "avu", budget)
    shared.check_paths(json if json != "-" else None, save, resume, plot=plot)
    try:
        with shared.progress(quiet=json == "-") as watch:
            result = prequential(
                source, model, limit=shared.rows_to_read(limit, source), delay=delay, window=window, seconds=seconds,
                checkpoint=resume, resume=resume is not None and resume.exists(), checkpoint_every=checkpoint_every,
                on_progress=watch(learner),
                name=learner, stream_name=stream,
            )  # fmt: skip
    except KeyboardInterrupt as stop:
        if json is None:
            shared.show_on_terminal(getattr(stop, "result", ""))
        notes = [note.replace("resume=True", "the same command") for note in getattr(stop, "__notes__", [])]
        shared.stop(stop, *notes)
    if save is not None:
        save_model(model, save)
    if plot is not None:
        result.plot(plot)
    if json == "-":
        shared.standard_output_is_data()
        print(result.to_json())
        return
    if json is not None:
        result.to_json(json)
    shared.show_on_terminal(result)


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
