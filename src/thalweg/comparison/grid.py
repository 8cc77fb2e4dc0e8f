"""Run every learner on every stream, and go on where an earlier run stopped."""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from thalweg.comparison.cell import Cell, canonical
from thalweg.comparison.outcome import Comparison
from thalweg.comparison.store import Store
from thalweg.comparison.workers import Event, run_cells
from thalweg.core import params
from thalweg.core.names import parse
from thalweg.registry import METRICS, check_importable
from thalweg.registry.typed import (
    is_file,
    learner_takes_seed,
    make_learner,
    open_stream,
    split_budget,
    stream_takes_seed,
)

CELLS = "cells.sqlite"
"""The file of finished cells, in the folder of a comparison."""


def compare(
    learners: Sequence[str] | Mapping[str, str],
    *,
    on: Sequence[str],
    seeds: int | Sequence[int] = 1,
    limit: int | None = None,
    jobs: int = 1,
    folder: str | os.PathLike[str] | None = None,
    target: str | None = None,
    window: int | None = None,
    metric: str = "accuracy",
    control: str | None = None,
    fresh: bool = False,
    on_plan: Callable[[int], object] | None = None,
    on_event: Callable[[Event], object] | None = None,
) -> Comparison:
    """Run each learner through each stream with each seed, each run in a process with one thread.

    Parameters
    ----------
    learners : Sequence[str] | Mapping[str, str]
        As on the command line: ``arf``, ``arf(size=30)``, ``sdf@0.7`` (asks for 70 % of the labels); or a dict from
        the names to show to such texts.
    on : Sequence[str]
        Streams by name, or files.
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
        The column to predict, where a stream is a file.
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

    Examples
    --------
    >>> found = compare({"NB": "naive-bayes", "last": "no-change"}, on=["sea", "stagger"], limit=2000)
    >>> found.failures, [found.of("NB", "sea")[0].rows]
    ({}, [2000])
    """
    named = _learners(learners)
    streams = _streams(on, target)
    chosen = _seeds(seeds)
    for what, value, least in (("limit", limit, 1), ("window", window, 1), ("jobs", jobs, 1)):
        if value is not None or what == "jobs":
            params.whole(what, value, least=least)
    params.choice("metric", metric, METRICS)
    check_importable("metric", metric)
    params.flag("fresh", fresh)
    control = _control(control, named)
    cells = [
        Cell(spec, stream, seed, limit, target if is_file(stream) else None, window)
        for i, seed in enumerate(chosen)
        for stream in streams
        for spec in named.values()
        if i == 0 or learner_takes_seed(spec) or stream_takes_seed(stream)
    ]
    if on_plan is not None:
        on_plan(len(cells))
    results, failures = {}, {}
    tell = on_event or (lambda event: None)
    with Store(_file(folder)) as store:
        if fresh:
            store.forget(cells)
        kept = {cell: result for cell, result in store.get(cells).items() if metric in result.final}
        for cell, result in kept.items():
            results[cell] = result
            tell(Event(cell, "finished", rows=result.rows, result=result, kept=True))
        for event in run_cells([c for c in cells if c not in results], jobs):
            if event.result is not None:
                store.put(event.cell, event.result)
                results[event.cell] = event.result
            elif event.stage == "failed":
                failures[event.cell] = event.error
            tell(event)
    again = _command(named, streams, chosen, limit, target, window, metric, control, folder)
    return Comparison(named, streams, cells, results, failures, metric, again, control)


def _learners(given: Any) -> dict[str, str]:
    """Give the learners by the names they are shown under; what cannot be made is refused now."""
    if isinstance(given, str):
        given = [given]
    named = dict(given) if isinstance(given, Mapping) else {text: text for text in given}
    if not named:
        raise ValueError("learners must name at least one learner, got none")
    for text in named.values():
        make_learner(text)
        check_importable("learner", parse(split_budget(text)[0])[0])
    specs = [canonical(text) for text in named.values()]
    count = len(named) if isinstance(given, Mapping) else len(given)
    if len(set(specs)) < count:
        raise ValueError(f"learners must all differ, got {params.shown(list(named.values()))}")
    return dict(zip(named, specs, strict=True)) if isinstance(given, Mapping) else {s: s for s in specs}


def _streams(given: Any, target: str | None) -> list[str]:
    """Give the streams; a name that is not known is refused now, a data set that is not here fails later, alone."""
    streams = [given] if isinstance(given, str) else list(given)
    if not streams or len(set(streams)) < len(streams):
        raise ValueError(f"on must name at least one stream, and none twice, got {params.shown(streams)}")
    for text in streams:
        if text[:1] == "-":
            raise ValueError(f"on must name streams that can be read again and again, got {text!r}")
        if not _is_data(text):
            open_stream(text, target=target if is_file(text) else None)
        if not is_file(text):
            check_importable("stream", parse(text)[0])
    return streams


def _is_data(text: str) -> bool:
    from thalweg.streams.datasets.loading import DATASETS

    return not is_file(text) and parse(text)[0] in DATASETS


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


def _command(
    learners: Mapping[str, str], streams: Sequence[str], seeds: Sequence[int], limit: int | None, target: str | None,
    window: int | None, metric: str, control: str | None, folder: str | os.PathLike[str] | None,
) -> str:  # fmt: skip
    """Write what a person types to have the same again."""
    words = ["thalweg", "compare", *(s if n == s else f"{n}={s}" for n, s in learners.items()), "--on", *streams]
    many = list(seeds) == list(range(1, len(seeds) + 1))
    options = {
        "--seeds": str(len(seeds)) if many else ",".join(map(str, seeds)), "--limit": limit, "--target": target,
        "--window": window, "--metric": metric, "--control": control,
        "--out": None if folder is None else os.fspath(folder),
    }  # fmt: skip
    plain = {"--seeds": "1", "--metric": "accuracy"}
    words += [w for k, v in options.items() if v is not None and v != plain.get(k) for w in (k, str(v))]
    return shlex.join(words)
