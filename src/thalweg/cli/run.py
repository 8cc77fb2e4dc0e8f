"""The command ``thalweg run``: a learner through a stream, and how well that went."""

import ast
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.cli import shared
from thalweg.cli.advice import for_more_found
from thalweg.cli.names import complete_learners
from thalweg.cli.options import AS_IT_IS, AT_REST, TOGETHER, FileOptions, JoinOptions, LiveOptions, split
from thalweg.core.names import parse, steps
from thalweg.registry.typed import asking, for_rare_class, make_learner, split_budget


def run(
    learner: Annotated[
        str,
        typer.Argument(
            help="A learner's name, name(parameter=value), module:object, or a saved model, which learns on; "
            "see thalweg list.",
            autocompletion=complete_learners,
        ),
    ],
    stream: shared.StreamName,
    more: Annotated[
        list[str] | None, typer.Argument(help="Parameters of the learner, as after --set.", metavar="NAME=VALUE")
    ] = None,
    limit: shared.Limit = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the learner and of a generated stream.", min=0)] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A parameter of the learner: name=value.")] = None,
    prep: Annotated[
        list[str] | None,
        typer.Option(help="A transformer in front of the learner, such as standard-scaler; see thalweg list."),
    ] = None,
    delay: Annotated[str, typer.Option(help=shared.DELAY)] = "0",
    budget: Annotated[float | None, typer.Option(help="Share of the labels to ask for; others stay unseen.")] = None,
    strategy: Annotated[
        str | None, typer.Option(help="How to choose the labels to ask for (avu by default); see thalweg list.")
    ] = None,
    class_weight: Annotated[
        str | None,
        typer.Option(help="Let rare classes count more: balanced, over, under (sampling), or yes=10,no=1."),
    ] = None,
    alerts: Annotated[float | None, typer.Option(help="Call this share of the rows positive: 0.01.")] = None,
    precision: Annotated[
        float | None, typer.Option(help="Call as many rows positive as keep this share of them right: 0.5.")
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="The label of --alerts and --precision (the rarest by default).")
    ] = None,
    costs: Annotated[
        list[str] | None, typer.Option(help="What a mistake costs: LABEL:GUESS=COST, such as yes:no=10.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Metrics to compute: kappa,g_mean (by default all); see thalweg list.")
    ] = None,
    window: Annotated[int, typer.Option(help="Rows of the sliding window for metrics.", min=1)] = 1000,
    every: Annotated[int, typer.Option(help="Rows between two points of the curves.", min=1)] = 1000,
    seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds.")] = None,
    json: Annotated[
        str | None, typer.Option(help="Write the result as JSON to a file, or to - (standard output).")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw accuracy over time to a PNG, SVG or PDF file.")] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Write label, prediction and probabilities of every row to a .csv or .parquet file."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page about the run, for a browser.")] = None,
    baseline: Annotated[
        list[str] | None, typer.Option(help="A learner to run on the same rows, to compare with.")
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="Show all metrics, and each class.")] = False,
    save: Annotated[Path | None, typer.Option(help="Write the learned model to a file.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Continue from this checkpoint if it exists; Ctrl-C and SIGTERM write it.")
    ] = None,
    checkpoint_every: Annotated[
        str, typer.Option(help="How often --resume's file is written: rows (100000) or seconds (30s).")
    ] = "30s",
    quiet: shared.Quiet = False,
    data: FileOptions = AS_IT_IS,
    apart: JoinOptions = TOGETHER,
    live: LiveOptions = AT_REST,
) -> None:
    """Learn a stream, predicting each record before its label is used, and say how well that went."""
    from thalweg.evaluate.predictions import ENDINGS
    from thalweg.evaluate.prequential import prequential
    from thalweg.keeping.snapshot import save as save_model
    from thalweg.show.figure import figure_class

    shared.hush(quiet)
    chosen = _settings([*(settings or []), *(more or [])])
    learner = " | ".join([*(prep or []), learner])
    model = for_rare_class(
        make_learner(learner, seed=seed, **chosen), class_weight=class_weight, costs=costs, alerts=alerts,
        precision=precision, positive=positive,
    )  # fmt: skip
    extras = _extras(class_weight=class_weight, costs=costs, alerts=alerts, precision=precision)
    joined = apart.chosen(data, **live.chosen())
    source = apart.records(data).open(stream, seed=seed, **shared.known_to(model, stream), **live.chosen())
    if budget is None and strategy is not None:
        raise ValueError(f"--strategy needs --budget, the share of the labels to ask for, got --strategy {strategy}")
    if budget is not None:
        model = asking(model, strategy or "avu", budget)
    shared.check_paths(json if json != "-" else None, save, resume, predictions, report, plot=plot)
    if report is not None:
        figure_class()  # says what to install
    if predictions is not None and predictions.suffix.lower() not in ENDINGS:
        raise ValueError(f"--predictions must name a file that ends in {' or '.join(ENDINGS)}, got {predictions}")
    try:
        with shared.progress(quiet=quiet, transient=json == "-") as watch:
            result = prequential(
                source, model, limit=shared.rows_to_read(limit, source), delay=shared.read_delay(delay), window=window,
                seconds=seconds, every=every, metrics=None if metrics is None else split([metrics]),
                checkpoint=resume, resume=resume is not None and resume.exists(), checkpoint_every=checkpoint_every,
                on_progress=watch(learner), baselines=baseline or (),
                name=", ".join([_title(learner, chosen), *extras]), stream_name=shared.titled(stream),
                keep=predictions is not None, to=live.to, **joined,
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
    if predictions is not None and result.predictions is not None:
        result.predictions.write(predictions)
    if report is not None:
        result.report(report, command=shared.typed())
    if json == "-":
        shared.standard_output_is_data()
        print(result.to_json())
        return
    if json is not None:
        result.to_json(json)
    shared.show_on_terminal(result.table(all=True) if all else result)
    if all:
        shared.show_on_terminal(result.per_class)
    for path in (save, plot, predictions, report, json):
        if path is not None:
            print(f"written: {path}")
    if not quiet and (line := for_more_found(result, model)):
        print(f"thalweg: {line}", file=sys.stderr)


def _title(learner: str, chosen: Mapping[str, Any]) -> str:
    """Call the learner by what it is, also where an option has changed what its name says.

    >>> _title("arf(size=3)@0.5", {"size": 5})
    'arf(size=5)@0.5'
    """
    if not chosen:
        return learner
    spec, budget = split_budget(learner)
    *before, last = steps(spec)
    name, given = parse(last, first="learner")
    inside = ", ".join(f"{key}={value!r}" for key, value in (given | dict(chosen)).items())
    return f"{' | '.join([*before, name])}({inside}){'' if budget is None else f'@{budget!r}'}"


def _extras(**options: Any) -> list[str]:
    """Say what stands around the learner, for the title.

    >>> _extras(class_weight="balanced", alerts=None)
    ['class weight balanced']
    """
    return [f"{name.replace('_', ' ')} {value}" for name, value in options.items() if value]


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
