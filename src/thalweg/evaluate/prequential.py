"""Predict every row before its label is used, score the prediction, then learn the row."""

import math
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, final

from thalweg.core import params
from thalweg.core.chunk import Chunk
from thalweg.core.classifier import Classifier
from thalweg.core.interrupts import SECONDS, Interrupts
from thalweg.core.params import shown
from thalweg.core.protocols import State, Stateful, Stream
from thalweg.evaluate.answers import Answers
from thalweg.evaluate.checkpoint import load_run, save_run
from thalweg.evaluate.join import MAX_BYTES, MAX_OPEN, Join
from thalweg.evaluate.joined import Joined, Meeting
from thalweg.evaluate.result import Result
from thalweg.evaluate.run import Run
from thalweg.learners.adapted.any_model import as_learner
from thalweg.registry import METRICS
from thalweg.registry.typed import make_learner
from thalweg.streams.any_data import as_stream, is_stream
from thalweg.streams.looking import told, warn_about

NAP = 0.01  # seconds to wait for a stream that has nothing yet


@final
@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    stage: Literal["compiling", "running"]
    rows: int
    total: int | None
    """Rows the run will have, where that is known."""
    seconds: float
    """Wall time in the learner so far."""
    accuracy: float
    """Over the window."""
    state_bytes: int
    joined: dict[str, int] = field(default_factory=dict)
    """Where labels come from another stream, what became of records and labels; see ``Result.joined``."""


def prequential(
    stream: Any,
    learner: Any,
    *,
    target: str | None = None,
    limit: int | None = None,
    every: int = 1000,
    window: int = 1000,
    metrics: Iterable[str] | None = None,
    delay: int | Literal["time"] = 0,
    seconds: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | str = 100_000,
    resume: bool = False,
    on_progress: Callable[[Progress], object] | None = None,
    chunk: int = 1000,
    name: str | None = None,
    stream_name: str | None = None,
    compat: Literal["moa"] | None = None,
    keep: bool = False,
    baselines: Iterable[str | Classifier] = (),
    labels: Any = None,
    key: str | None = None,
    wait: int | str | None = None,
    max_open: int = MAX_OPEN,
    max_bytes: int = MAX_BYTES,
    to: Any = None,
    **options: Any,
) -> Result:
    """Run a learner through a stream: each row is predicted, scored and then learned.

    Ctrl-C and SIGTERM finish the rows in hand, save the checkpoint and raise KeyboardInterrupt; a second signal raises
    at once. That exception, and any that the learner or the stream raises, carries the result so far as
    ``error.result``.

    Parameters
    ----------
    stream : Stream | object
        Read from where it is. Or what holds records with labels: a frame (pandas, polars, Arrow) or dicts, with
        ``target``; a pair (X, y); an iterable of (record, label) pairs; the name of a stream or of a file.
    learner : Classifier | str
        Goes on from what it knows, and has learned the rows afterwards. Or a classifier of scikit-learn (with
        ``partial_fit``) or river: a copy of it that has seen nothing takes part, slowly; see ``thalweg.compat``. Or a
        name such as "arf(size=30)".
    target : str | None
        The column, or field, to predict, where stream is a file, a frame or dicts.
    limit : int | None
        Stop after so many rows; a stream that never ends (``stream.endless``) needs it, or seconds.
    every : int
        Rows between two reports.
    window : int
        Rows of the windowed metrics.
    metrics : Iterable[str] | None
        Names that ``thalweg list`` shows; None: all. accuracy and kappa are always there.
    delay : int | Literal["time"]
        When a row is learned. 0: at once; n: right after the row n rows later has been predicted; "time": before the
        first row whose time is not before the label_time of this one. Every row is scored on arrival. Rows whose label
        has not come when the run ends are never learned; ``Result.labels_pending`` counts them.
    seconds : float | None
        Stop at the next chunk after so much time (compilation not counted).
    checkpoint : str | os.PathLike[str] | None
        A file for the whole state of the run, written every ``checkpoint_every`` rows or seconds, at the end, and on
        Ctrl-C or SIGTERM. With resume=True the run goes on from there, as if it had never stopped: learner and stream
        must be made with the same parameters as before.
    checkpoint_every : int | str
        Rows between two checkpoints, or seconds as text: "30s".
    resume : bool
        Continue from the checkpoint.
    on_progress : Callable[[Progress], object] | None
        Called with a ``Progress`` after each chunk, and before compilation.
    chunk : int
        Rows handed to the learner at once; it changes nothing but speed.
    name, stream_name : str | None
        What to call the learner and the stream in tables and pictures.
    compat : Literal["moa"] | None
        "moa", see ``Metrics``.
    keep : bool
        Keep label, prediction and probabilities of every row (``Result.predictions``): 8 bytes a row for each class and
        one more. Not with resume, since a checkpoint does not have them.
    baselines : Iterable[str | Classifier]
        Learners, or their names, that play the same rows, to compare with: ``Result.others``. Their time does not count
        as the learner's. The majority class and the previous label are compared with always, at no cost.
    labels : Stream | object
        Where the labels come from, if not with the records: a file, a frame, dicts, or a stream, with the columns
        ``key`` and ``target``. A record is predicted when it comes, scored and learned when its label comes, late or
        early; ``Result.joined`` counts what became of all. Where both have a ``time`` (that of labels may be named
        by ``label_time``), they come in its order, a record before a label of the same time; else record i comes
        before label i, and label i before record i + 1. A stream must be one that has the key for its labels.
    key : str | None
        The column of records and of labels by which they are joined: whole numbers, or text of up to 256 bytes. No two
        records may have the same.
    wait : int | str | None
        How long a record waits for its label, and a label for its record: "30s", "5m", "12h", "3d", by time; or a
        number of records that come meanwhile. So long, too, is a key remembered of which the label has come, to know
        labels that are repeated. None: without end, as far as the following allow.
    max_open, max_bytes : int
        So many records wait at most, and so many bytes of them; whatever has waited longest is let go first,
        and counted.
    to : str | os.PathLike[str] | Sink | None
        Where the answer to each row goes, as JSON: ``kafka://host/topic``, ``redis://host/stream``, ``nats://host/subject``,
        or a file. With a checkpoint each is written once, also after a crash.
    options
        How a file or frame is read: ``drop``, ``nominal``, ``time`` and so on, see ``open_file``.

    Warns
    -----
    ColumnWarning
        A file or frame has columns that need a decision, such as ids, dates as text, or one that gives the target away.

    Examples
    --------
    >>> from thalweg import SEA, MajorityClass
    >>> result = prequential(SEA(seed=1), MajorityClass(), limit=2000)
    >>> result.rows, result.stopped
    (2000, 'limit')
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sky": ["clear", "rain"] * 9, "play": ["yes", "no"] * 9})
    >>> prequential(frame, "naive-bayes", target="play").rows
    18
    """
    _check(delay)
    learner = make_learner(learner) if isinstance(learner, str) else as_learner(learner)
    join = None
    if labels is not None:
        patience = _check_join(key, wait, max_open, max_bytes, delay)
        records, others = _apart(stream, labels, str(key), learner, options)
        for each in (records, others):
            _check_checkpoint(checkpoint, each, learner, resume)
        join = Join(wait=patience, max_open=int(max_open), max_bytes=int(max_bytes), evolving=learner.evolving)
        stream = Joined(
            records, others, key=str(key), column=target, seconds=isinstance(wait, str), tracked=checkpoint is not None
        )
    elif key is not None or wait is not None:
        name = "key" if key is not None else "wait"
        raise ValueError(f"{name} must be given with labels=, the stream that has them, got {name} alone")
    else:
        stream = as_stream(stream, target, **{"readings": learner.readings} | options)
        warn_about(stream)
    for what, value, least in (
        ("limit", limit, 0), ("every", every, 1), ("window", window, 1), ("chunk", chunk, 1),
    ):  # fmt: skip
        if value is not None or what != "limit":
            params.whole(what, value, least=least)
    if seconds is not None:
        params.number("seconds", seconds, above=0.0)
    often = read_often(checkpoint_every)
    params.flag("resume", resume)
    params.flag("keep", keep)
    if keep and resume:
        raise ValueError("keep=True needs all rows of a run, resume=True must not be given with it")
    if limit is None and seconds is None and getattr(stream, "endless", False):
        raise ValueError(
            f"limit or seconds must be given for a stream that never ends, got neither for {shown(stream)}"
        )
    _check_checkpoint(checkpoint, stream, learner, resume)
    if metrics is not None and not isinstance(metrics, Iterable):
        raise TypeError(f"metrics must be names of metrics, got {shown(metrics)}")
    chosen = None if metrics is None else (metrics,) if isinstance(metrics, str) else tuple(metrics)
    for metric in chosen or ():
        params.choice("metrics", metric, METRICS)
    for what, text in (("name", name), ("stream_name", stream_name)):
        if text is not None and not isinstance(text, str):
            raise TypeError(f"{what} must be text or None, got {shown(text)}")
    if on_progress is not None and not callable(on_progress):
        raise TypeError(f"on_progress must be a function or None, got {shown(on_progress)}")

    run = Run(
        stream, learner, every=int(every), window=int(window), metrics=chosen,
        delay=delay if isinstance(delay, str) else int(delay), compat=compat, name=name, stream_name=stream_name,
        keep=keep, beside=_beside(baselines, learner), join=join, answers=None if to is None else Answers(to),
    )  # fmt: skip
    if resume and checkpoint is not None:
        load_run(run, checkpoint)
    if run.answers is not None:
        run.answers.begin()
        if checkpoint is not None and not resume:  # before the first answer: a crash must find where they begin
            save_run(run, checkpoint)
    with Interrupts() as interrupts:
        try:
            drive = _Drive(run, interrupts, limit, seconds, checkpoint, often, int(chunk), on_progress)
            stopped = drive.to_the_end()
            if run.answers is not None:
                run.answers.sink.flush()
            if checkpoint is not None:
                save_run(run, checkpoint)
            interrupts.raise_if_asked()
            return run.result(stopped)
        except KeyboardInterrupt as stop:
            if checkpoint is not None and not run.busy and (run.answers is None or run.answers.sink.whole):
                save_run(run, checkpoint)
                stop.add_note(
                    f"saved after {run.rows:,} rows in {os.fspath(checkpoint)}: resume=True continues from there"
                )
            _attach(stop, run, "interrupt")
            raise
        except Exception as error:
            error.add_note(f"{run.name} on {run.stream_name}: {run.where()}")
            _attach(error, run, "error")
            raise
        finally:
            if run.answers is not None:
                run.answers.close()


@final
@dataclass(frozen=True, slots=True)
class _Drive:
    """The loop over the chunks of a stream."""

    run: Run
    interrupts: Interrupts
    limit: int | None
    seconds: float | None
    checkpoint: str | os.PathLike[str] | None
    often: tuple[float, float]
    """Rows and seconds between two checkpoints, whichever is over first."""
    chunk: int
    on_progress: Callable[[Progress], object] | None

    def to_the_end(self) -> str:
        """Go on until something says stop; give its name."""
        run, warm, chunk = self.run, False, self.chunk
        saved, changed = (run.rows, time.monotonic()), False  # has anything come since?
        deadline = math.inf if self.seconds is None else time.perf_counter() + self.seconds
        while True:
            self.interrupts.raise_if_asked()
            if self.limit is not None and run.rows >= self.limit:
                return "limit"
            if time.perf_counter() >= deadline:
                return "seconds"
            position = None if warm or self.checkpoint is None else run.stream.state()
            rows = run.read(run.room(chunk, self.limit))
            if rows is None:
                return "end"
            if (rows.events if isinstance(rows, Meeting) else len(rows)) == 0:
                if run.answers is not None:  # nobody should wait for them
                    run.answers.sink.flush()
                if changed and self._keep(*saved):
                    saved, changed = (run.rows, time.monotonic()), False
                time.sleep(NAP)
                continue
            if not warm and not (isinstance(rows, Meeting) and not len(rows.records)):
                before = time.perf_counter()
                self._warm_up(rows, position)
                deadline += time.perf_counter() - before
                warm = True
            before = time.perf_counter()
            run.step(rows)
            took = time.perf_counter() - before
            if took > SECONDS:  # how rows are divided changes nothing but how soon it can stop
                chunk = max(1, chunk // 2 if isinstance(rows, Meeting) else len(rows) // 2)
            elif took < 0.25 * SECONDS:  # the machine may have been busy
                chunk = min(self.chunk, 2 * chunk)
            changed = True
            if self._keep(*saved):
                saved, changed = (run.rows, time.monotonic()), False
            self._tell("running")

    def _keep(self, rows: int, moment: float) -> bool:
        """Write a checkpoint if it is time for one, after that of so many rows at this moment."""
        rows_apart, seconds_apart = self.often
        due = self.run.rows - rows >= rows_apart or time.monotonic() - moment >= seconds_apart
        if due and self.checkpoint is not None:
            save_run(self.run, self.checkpoint)
        return due

    def _warm_up(self, rows: Chunk | Meeting, position: State | None) -> None:
        """Compile; a signal meanwhile is not held back, and the rows in hand go back to the stream."""
        self._tell("compiling")
        try:
            with self.interrupts.at_once():
                self.run.warm_up(rows)
        except KeyboardInterrupt:
            if position is not None:
                self.run.put_back(position)
            raise

    def _tell(self, stage: Literal["compiling", "running"]) -> None:
        if self.on_progress is not None:
            run = self.run
            accuracy = run.metrics.windowed(["accuracy"])["accuracy"]
            total = _total(run.stream, self.limit)
            joined = {} if run.join is None else run.join.counts()
            self.on_progress(Progress(stage, run.rows, total, run.seconds, accuracy, run.learner.state_bytes, joined))


def _beside(baselines: Any, learner: Classifier) -> dict[str, Classifier]:
    """Make the learners to compare with."""
    if isinstance(baselines, (str, Classifier)):
        baselines = (baselines,)
    found: dict[str, Classifier] = {}
    for each in baselines:
        if not isinstance(each, (str, Classifier)) or each is learner:
            raise TypeError(f"baselines must hold names of learners, or other learners, got {shown(each)}")
        title = each if isinstance(each, str) else type(each).__name__
        if title in found:
            raise ValueError(f"baselines must hold each learner once, got {title} twice")
        found[title] = make_learner(each) if isinstance(each, str) else each
    return found


def read_often(text: Any, name: str = "checkpoint_every") -> tuple[float, float]:
    """Read how often to write checkpoints: give rows and seconds, one of them infinite.

    >>> read_often(5000), read_often("30s"), read_often("5000")
    ((5000, inf), (inf, 30.0), (5000, inf))
    """
    if isinstance(text, str):
        number, unit = (text[:-1], "s") if text.endswith("s") else (text, "")
        try:
            value = float(number) if unit else int(number)
        except ValueError:
            value = 0
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be a number of rows like 100000, or of seconds like 30s, got {shown(text)}")
        return (math.inf, float(value)) if unit else (value, math.inf)
    params.whole(name, text, least=1)
    return int(text), math.inf


def _apart(records: Any, labels: Any, key: str, learner: Classifier, options: dict[str, Any]) -> tuple[Stream, Stream]:
    """Open records and labels: the key is the target of both."""
    clock = options.get("label_time", options.get("time"))
    how = {name: value for name, value in options.items() if name != "label_time"}
    stream = as_stream(records, _target(records, key, "records"), **{"readings": learner.readings} | how)
    told(stream)  # the keys are no classes, whatever they look like
    ours = {} if clock is None or is_stream(labels) else {"time": clock}
    return stream, as_stream(labels, _target(labels, key, "labels"), name="labels", **ours)


def _target(data: Any, key: str, name: str) -> str | None:
    """Say which column holds the keys; a stream knows, and must have been told the same."""
    if not is_stream(data):
        return key
    target = getattr(data, "target", None)
    if target not in (None, key):
        raise ValueError(f"{name} must be a stream that has the key {key!r} for its labels, its target is {target!r}")
    return None


def _check_join(key: Any, wait: Any, max_open: Any, max_bytes: Any, delay: Any) -> float | None:
    """Refuse what says nothing about how to join; give the longest wait, in seconds or in records."""
    if not isinstance(key, str) or not key:
        raise ValueError(f"key must name the column by which records and labels are joined, got {shown(key)}")
    if delay != 0:
        raise ValueError(f"delay must be 0 where labels come from another stream, got {shown(delay)}")
    params.whole("max_open", max_open, least=1, most=100_000_000)
    params.whole("max_bytes", max_bytes, least=1)
    if wait is None or isinstance(wait, str):
        return None if wait is None else params.duration("wait", wait, "or a number of records")
    params.whole("wait", wait, least=1)
    return float(wait)


def _check(delay: Any) -> None:
    if isinstance(delay, str):
        if delay != "time":
            raise ValueError(f"delay must be a number of rows or 'time', got {shown(delay)}")
    else:
        params.whole("delay", delay, least=0)


def _check_checkpoint(path: str | os.PathLike[str] | None, stream: Any, learner: Classifier, resume: bool) -> None:
    """Refuse now what would only fail when the first checkpoint is written."""
    if path is None:
        if resume:
            raise ValueError("resume=True needs checkpoint to name the file to go on from, got None")
        return
    params.path("checkpoint", path)
    if os.path.isdir(path):
        raise IsADirectoryError(f"checkpoint must name a file, got the folder {os.fspath(path)}")
    if not Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(f"checkpoint must be in a folder that exists, got {os.fspath(path)}")
    if not isinstance(stream, Stateful):
        raise TypeError(f"stream must have state and restore for a checkpoint, got {shown(stream)}")
    if learner.unsavable:
        raise TypeError(learner.unsavable)


def _total(stream: Any, limit: int | None) -> int | None:
    length = getattr(stream, "rows", None)
    return limit if not isinstance(length, int) else length if limit is None else min(length, limit)


def _attach(error: BaseException, run: Run, stopped: str) -> None:
    with suppress(Exception):  # the error itself is what matters
        error.result = run.result(stopped)  # type: ignore[attr-defined]
