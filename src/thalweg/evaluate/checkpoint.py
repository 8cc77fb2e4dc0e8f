"""A run in a file: position in the stream, learner, metrics, pending rows and reports, so that it can go on."""

import os
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import EXACT, check, span, table
from thalweg.core.labels import Labels
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.tables import prefixed, under
from thalweg.evaluate.origin import name_of, stream_params
from thalweg.evaluate.result import WHOLE, plain
from thalweg.keeping.arrays_file import read_arrays, write_arrays
from thalweg.registry import METRICS
from thalweg.streams.brokers.address import without_password

if TYPE_CHECKING:
    from thalweg.evaluate.run import Run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KIND = "prequential run"
_PASSING = ("limit", "follow", "on_gap", "on_bad_row", "quarantine")
_COUNT = span(0, EXACT, whole=True)


class Kept(NamedTuple):
    """What a checkpoint keeps of the run itself, beside stream, learner, metrics, pending rows and labels."""

    counts: Annotated[Ints, table(3, least=0, most=EXACT)]
    """3: rows, labels used, the largest state so far in bytes."""
    times: Annotated[Floats, table(4, least=0)]
    """4: seconds, seconds of the processor, RAM-hours, and up to which time of the processor they are counted."""
    curve: Annotated[
        Floats, table("reports", "columns", loose=True, cells={0: _COUNT, range(1 - len(WHOLE), 0): _COUNT})
    ]
    """A row for each report; the first column and the last two are the whole numbers."""
    changes: Annotated[Ints, table("changed", 2, least=0, most=EXACT, optional=True)]
    """Rows, and changes that the learner had counted by then: before the run, then at each report with more."""
    before: Annotated[Ints, table(1, least=0, most=EXACT, optional=True)]
    """1: rows that the learner had learned before the run."""
    weighed: Annotated[
        Floats, table("points", "weights", least=0, most=EXACT, missing=True, optional=True, cells={0: _COUNT})
    ]
    """A row for each time the learner was looked at: rows, then the importance of each feature."""


def _header(run: "Run") -> dict[str, Any]:
    return {
        "kind": KIND,
        "learner": type(run.learner).__name__,
        "params": {k: plain(v) for k, v in run.learner.get_params(deep=False).items()},
        "stream": name_of(run.stream),
        "stream_params": _lasting(stream_params(run.stream)),
        "every": run.every,
        "window": run.window,
        "metrics": list(run.names),
        "delay": run.delay,
        "compat": run.metrics.compat,
        "join": {} if run.join is None else run.join.bounds(),
        "to": None if run.answers is None else run.answers.sink.where,
        "baselines": [
            [other.name, type(other.learner).__name__, {k: plain(v) for k, v in other.learner.get_params().items()}]
            for other in run.others
        ],
    }


def _lasting(params: Any) -> Any:
    """Leave out what may be another when a run goes on: where it ends, what is done about gaps and bad rows."""
    if not isinstance(params, dict):
        return params
    own = {name: name.removeprefix("records_").removeprefix("labels_") for name in params}
    return {
        name: without_password(value, _PASSING) if own[name] == "address" and isinstance(value, str) else value
        for name, value in params.items()
        if own[name] not in _PASSING
    }


def save_run(run: "Run", path: str | os.PathLike[str]) -> None:
    """Write stream position, learner, metrics, pending rows and curve to one file."""
    arrays = _arrays(run) | prefixed("stream", run.stream.state())
    if run.join is not None:
        arrays |= prefixed("join", run.join.state())
    if run.answers is not None:  # what the checkpoint has learned has been answered
        arrays |= prefixed("answers", run.answers.state())
    for k, other in enumerate(run.others):
        arrays |= prefixed(f"baseline{k}", _arrays(other))
    write_arrays(path, arrays, _header(run))


def _arrays(run: "Run") -> State:
    """Give all but the position in the stream."""
    arrays = prefixed("learner", run.learner.state()) | prefixed("metrics", run.metrics.state())
    if run.pending is not None:
        arrays |= prefixed("pending", run.pending.state())
    if run.join is not None:
        arrays |= prefixed("told", run.told.state(run.join.places()))
    if run.labels is not None:
        arrays["run.labels"] = run.labels.to_bytes()
    arrays["run.counts"] = np.array([run.rows, run.labels_used, run.peak])
    arrays["run.times"] = np.array([run.seconds, run.cpu_seconds, run.ram, run.ram_cpu])
    arrays["run.changes"] = np.array([(0, run.drifts_before), *run.changes], dtype=np.int64)
    arrays["run.curve"] = np.array(run.reports.lines, dtype=np.float64).reshape(-1, len(run.column_names))
    arrays["run.before"] = np.array([run.learned_before])
    arrays["run.weighed"] = run.weighed.to_array()
    return arrays


def load_run(run: "Run", path: str | os.PathLike[str]) -> None:
    """Continue from what ``save_run`` wrote, with the same stream, learner and settings."""
    arrays, header = read_arrays(path)
    if header.get("kind") != KIND:
        raise ValueError(f"checkpoint must be a file that prequential wrote, got {os.fspath(path)}")
    if run.all_metrics:  # those that there were when it was made; packages may have brought more since
        missing = [name for name in header.get("metrics", ()) if name not in METRICS]
        if missing:
            raise ValueError(f"checkpoint was made with the metrics {', '.join(missing)}, which are not known here")
        for each in (run, *run.others):
            each.choose(tuple(header.get("metrics", ())))
    header = {"baselines": [], "join": {}, "to": None, **header}  # earlier versions had none
    header["stream_params"] = _lasting(header.get("stream_params"))
    for key, value in _header(run).items():
        if header.get(key) != value:
            was, now = shown(header.get(key), 120), shown(value, 120)
            raise ValueError(f"checkpoint was made with {key}={was}, it cannot continue with {now}")
    changed: list[Any] = [run.stream, run.learner, *(other.learner for other in run.others)]
    before = [each.state() for each in changed]
    try:
        run.stream.restore(under("stream", arrays))
        if run.join is not None:
            known = len(Labels.from_bytes(arrays["run.labels"])) if "run.labels" in arrays else 0
            features = run.stream.schema.n_features
            run.join.restore(under("join", arrays), classes=known, features=features)
        if run.answers is not None:
            run.answers.restore(under("answers", arrays))
        _take(run, arrays)
        for k, other in enumerate(run.others):
            _take(other, under(f"baseline{k}", arrays))
    except (KeyError, ValueError) as error:  # a file made by hand: learners and stream stay as they were
        for each, state in zip(changed, before, strict=True):
            each.restore(state)
        raise ValueError(f"checkpoint {os.fspath(path)} cannot be continued: {error}") from None


def _take(run: "Run", arrays: State) -> None:
    """Continue from what ``_arrays`` gave."""
    run.learner.restore(under("learner", arrays))
    run.metrics.restore(under("metrics", arrays))
    kept = under("run", arrays)
    least = {size: 1 for name, size in (("changes", "changed"), ("weighed", "weights")) if name in kept}
    check(Kept, kept, columns=len(run.column_names), least=least)
    run.labels = Labels.from_bytes(kept["labels"]) if "labels" in kept else None
    classes = 0 if run.labels is None else len(run.labels)
    if len(run.metrics.confusion) > classes:
        raise ValueError("its labels are fewer than its classes")
    if run.pending is not None:
        features = run.stream.schema.n_features
        run.pending.restore(under("pending", arrays), classes=classes, features=features)
    if run.join is not None:
        run.told.restore(under("told", arrays), run.join.places(), classes=classes)
    run.rows, run.labels_used, run.peak = kept["counts"].tolist()
    run.seconds, run.cpu_seconds, run.ram, run.ram_cpu = kept["times"].tolist()
    run.reports.lines = kept["curve"].tolist()
    if "changes" in kept:  # earlier versions wrote none
        (_, run.drifts_before), *rest = kept["changes"].tolist()
        run.changes = [(rows, count) for rows, count in rest]
    if "weighed" in kept:
        run.learned_before = int(kept["before"][0])
        run.weighed.restore(kept["weighed"])
