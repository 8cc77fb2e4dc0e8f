"""Run every learner on every stream, and go on where an earlier run stopped."""

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from thalweg.comparison.cell import Cell, canonical
from thalweg.comparison.given import Makers, named_learners, named_streams, readings_of, short_names
from thalweg.comparison.outcome import Comparison
from thalweg.comparison.store import Store
from thalweg.comparison.workers import Event, run_cells, run_here
from thalweg.core import params
from thalweg.evaluate.result import Result
from thalweg.registry import METRICS, check_importable
from thalweg.registry.typed import is_file, learner_takes_seed, stream_takes_seed

CELLS = "cells.sqlite"
"""The file of finished cells, in the folder of a comparison."""


def compare(
    learners: Sequence[Any] | Mapping[str, Any],
    *,
    on: Sequence[Any] | Mapping[str, Any],
    seeds: int | Sequence[int] = 1,
    limit: int | None = None,
    jobs: int = 1,
    folder: str | os.PathLike[str] | None = None,
    target: str | None = None,
    delay: int | Literal["time"] = 0,
    window: int | None = None,
    metric: str = "accuracy",
    control: str | None = None,
    fresh: bool = False,
    on_plan: Callable[[int], object] | None = None,
    on_event: Callable[[Event], object] | None = None,
    **options: Any,
) -> Comparison:
    """Run each learner through each stream with each seed, each run in a process with one thread.

    Parameters
    ----------
    learners : Sequence[Any] | Mapping[str, Any]
        As on the command line: ``arf``, ``arf(size=30)``, ``sdf@0.7`` (asks for 70 % of the labels), ``module:object``,
        a saved model; or learners, classifiers of scikit-learn or river (slow), functions that make one; or a dict from
        names to any of these.
    on : Sequence[Any] | Mapping[str, Any]
        Streams by name, or files; or streams, frames, lists of records (dicts), pairs (X, y), and functions that make a
        stream; or a dict from the names to show to these.
        What is neither text nor a new learner of this library is run in this process, whatever ``jobs`` says, and not
        kept in ``folder``.
    seeds : int | Sequence[int]
        How many (1, 2, …), or which; a run that no seed can change is made once.
    limit : int | None
        Rows of each run.
    jobs : int
        Processes at a time; they change nothing but the time.
    folder : str | os.PathLike[str] | None
        Where finished runs are kept, written one by one: the same call again, after a crash or Ctrl-C, runs only what
        is missing. None: keep nothing.
    target : str | None
        The column to predict, where a stream is a file, a frame or records.
    delay : int | Literal["time"]
        When a row is learned, see ``prequential``.
    window : int | None
        Rows of the windowed metrics; None: a hundredth of the run, at least 1,000.
    metric : str
        What to rank by.
    control : str | None
        One of the learners, chosen beforehand, that all others are compared with (Bonferroni–Dunn), and not they with
        each other.
    fresh : bool
        Run all of them again. A run that fails is told in ``Comparison.failures``, and tried again the next time.
    on_plan : Callable[[int], object] | None
        Called with the number of runs.
    on_event : Callable[[Event], object] | None
        Called whenever something happens.
    options
        How files are read: ``drop``, ``nominal``, ``delimiter`` and so on, as ``open_file`` takes them.

    Examples
    --------
    >>> found = compare({"NB": "naive-bayes", "last": "no-change"}, on=["sea", "stagger"], limit=2000)
    >>> found.failures, [found.of("NB", "sea")[0].rows]
    ({}, [2000])
    >>> from thalweg import ArrayStream, HoeffdingTree
    >>> rows = ArrayStream([[0.0], [1.0]] * 200, ["no", "yes"] * 200)
    >>> compare([HoeffdingTree(grace_period=50), "majority"], on={"mine": rows}).scores().round(2).tolist()
    [[1.0, 0.5]]
    """
    named, own_learners = named_learners(learners)
    options = {name: given for name, given in options.items() if given is not None}
    readings = readings_of(learners)
    read = {"readings": readings} if readings else {}
    streams, own_streams = named_streams(on, {"target": target, **options, **read})
    chosen = _seeds(seeds)
    for what, value, least in (("limit", limit, 1), ("window", window, 1), ("jobs", jobs, 1)):
        if value is not None or what == "jobs":
            params.whole(what, value, least=least)
    params.choice("metric", metric, METRICS)
    check_importable("metric", metric)
    params.flag("fresh", fresh)
    control = _control(control, named)
    how = json.dumps(options | ({"readings": readings.to_json()} if readings else {})) if options or readings else ""
    cells = [
        Cell(spec, stream, seed, limit, target if is_file(stream) else None, window, delay, how * is_file(stream))
        for i, seed in enumerate(chosen)
        for stream in streams.values()
        for spec in named.values()
        if i == 0 or _takes_seed(spec, own_learners, learner_takes_seed)
        or _takes_seed(stream, own_streams, stream_takes_seed)
    ]  # fmt: skip
    if on_plan is not None:
        on_plan(len(cells))
    results: dict[Cell, Result] = {}
    failures: dict[Cell, str] = {}
    tell = on_event or (lambda event: None)
    here = [c for c in cells if c.learner in own_learners or c.stream in own_streams]
    elsewhere = [c for c in cells if c not in here]
    again = "" if here else _command(named, streams, {
        "--seeds": chosen, "--limit": limit, "--target": target, "--delay": delay, "--window": window,
        "--metric": metric, "--control": control, "--out": folder, **options,
    })  # fmt: skip
    found = Comparison(named, streams, cells, results, failures, metric, again, control)
    with Store(_file(folder)) as store:
        if fresh:
            store.forget(elsewhere)
        kept = {cell: result for cell, result in store.get(elsewhere).items() if metric in result.final}
        for cell, result in kept.items():
            results[cell] = result
            tell(Event(cell, "finished", rows=result.rows, result=result, kept=True))
        rest = run_cells([c for c in elsewhere if c not in results], jobs)
        try:
            for event in chain(rest, run_here(here, own_learners, own_streams, tell)):
                if event.result is not None:
                    if event.cell not in here:
                        store.put(event.cell, event.result)
                    results[event.cell] = event.result
                elif event.stage == "failed":
                    failures[event.cell] = event.error
                tell(event)
        except KeyboardInterrupt as stop:
            stop.__dict__["comparison"] = found
            raise
    return found


def _takes_seed(spec: str, own: Makers, test: Callable[[str], bool]) -> bool:
    return spec not in own and test(spec)


def _seeds(given: Any) -> list[int]:
    if isinstance(given, Sequence) and not isinstance(given, str):
        seeds = list(given)
        for seed in seeds:
            params.whole("seeds", seed, least=0)
        if not seeds or len(set(seeds)) < len(seeds):
            raise ValueError(f"seeds must hold at least one seed, and none twice, got {params.shown(given)}")
        return seeds
    params.whole("seeds", given, least=1)
    return list(range(1, given + 1))


def _control(given: str | None, named: Mapping[str, str]) -> str | None:
    """Give the control by the name it is shown under."""
    if given is None or given in named:
        return given
    found = [name for name, spec in named.items() if isinstance(given, str) and spec == canonical(given)]
    if not found:
        raise ValueError(f"control must be one of {', '.join(named)}, got {params.shown(given)}")
    return found[0]


def _file(folder: str | os.PathLike[str] | None) -> Path | None:
    if folder is None:
        return None
    params.folder("folder", folder)
    return Path(folder) / CELLS


def _command(learners: Mapping[str, str], streams: Mapping[str, str], options: Mapping[str, Any]) -> str:
    """Write what a person types to have the same again."""
    words = ["thalweg", "compare", *(s if n == s else f"{n}={s}" for n, s in learners.items()), "--on"]
    words += [s if n == s or short_names({s: s}) == {n: s} else f"{n}={s}" for n, s in streams.items()]
    plain = {"--seeds": "1", "--metric": "accuracy", "--delay": "0"}
    for name, value in options.items():
        option = name if name[:2] == "--" else _OPTIONS.get(name, f"--{name.replace('_', '-')}")
        if value is None or (text := _text(option, value)) == plain.get(option):
            continue
        words += [option, text]
    return shlex.join(words)


_OPTIONS = {"more_missing": "--missing"}


def _text(option: str, value: Any) -> str:
    if option == "--seeds" and list(value) == list(range(1, len(value) + 1)):
        return str(len(value))
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
