"""One measurement in a process of its own: ``python worker.py WHAT '{"argument": …}'`` prints one line of JSON.

A pass over a stream is [CPU seconds of the process, seconds on the clock]. Rows are in memory, and compiled code is
loaded, before the clock starts; CapyMOA reads its ARFF file while it runs, which is the only way it has to be fast.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from contests import contest
from records import Records

Pass = list[float]
CHUNK = 1000


def timed(work: Callable[[], Any]) -> tuple[Pass, Any]:
    """Run, and give CPU and wall seconds with the answer."""
    cpu, wall = time.process_time(), time.perf_counter()
    answer = work()
    return [time.process_time() - cpu, time.perf_counter() - wall], answer


def several(passes: int, work: Callable[[], Any]) -> tuple[list[Pass], Any]:
    """Run several times; give all times and the last answer."""
    runs = [timed(work) for _ in range(passes)]
    return [seconds for seconds, _ in runs], runs[-1][1]


def process_bytes() -> int:
    """Give the most memory that this process has had, all its libraries included."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else 1024 * int(peak)


# -- a learner on a stream: variant -> accuracy and passes -------------------------------------------------------------


def thalweg_learner(name: str, folder: str, passes: int, loop_rows: int | None = None) -> dict[str, Any]:
    """test_then_train by chunks with the accuracy counted, and prequential with all its metrics.

    loop_rows: the first of these take so many rows, where others have fewer.
    """
    from thalweg import ArrayStream, prequential

    data, make = Records.load(Path(folder)), contest(name).thalweg
    size = 0

    def loop(rows: int = loop_rows or len(data.y)) -> float:
        nonlocal size
        learner = make().declare(data.schema)
        right = 0
        for start in range(0, rows, CHUNK):
            y = data.y[start : start + CHUNK]
            proba = learner.test_then_train(data.X[start : start + CHUNK], y)
            right += int((learner.classes_[proba.argmax(axis=1)] == y).sum()) if proba.shape[1] else 0
        size = learner.state_bytes
        return 100 * right / rows

    def evaluate(rows: int | None = None) -> float:
        stream = ArrayStream(data.X, data.y, schema=data.schema, limit=rows)
        return 100 * float(prequential(stream, make()).accuracy)

    found = {}
    for variant, work in (("loop", loop), ("prequential", evaluate)):
        work(2 * CHUNK)  # loads the compiled code, or compiles it
        times, accuracy = several(passes, work)
        found[variant] = {"accuracy": accuracy, "passes": times}
    return found | {"bytes": size, "process": process_bytes()}


def river_learner(name: str, folder: str, passes: int) -> dict[str, Any]:
    """predict_one, then learn_one, row by row, with river's own accuracy."""
    from river import metrics

    data, entry = Records.load(Path(folder)), contest(name)
    if entry.river is None:
        return {}
    make = entry.river
    rows, labels = data.dicts(), data.y.tolist()
    learner: Any = None

    def loop() -> float:
        nonlocal learner
        learner, accuracy = make(), metrics.Accuracy()
        for x, y in zip(rows, labels, strict=True):
            answer = learner.predict_one(x)
            if answer is not None:
                accuracy.update(y, answer)
            learner.learn_one(x, y)
        return 100 * float(accuracy.get())

    times, accuracy = several(passes, loop)
    return {"loop": {"accuracy": accuracy, "passes": times}, "bytes": int(learner._raw_memory_usage),
            "process": process_bytes()}  # fmt: skip


def capymoa_learner(name: str, folder: str, passes: int) -> dict[str, Any]:
    """prequential_evaluation in its Java loop; and the command line of MOA's learner inside."""
    from capymoa.evaluation import prequential_evaluation
    from capymoa.stream import ARFFStream
    from moa.classifiers import Classifier

    make, path = contest(name).capymoa, Path(folder) / "rows.arff"
    if make is None:
        return {}

    learner: Any = None

    def evaluate() -> float:
        nonlocal learner
        stream = ARFFStream(path)
        learner = make(schema=stream.get_schema())
        return float(prequential_evaluation(stream, learner, window_size=1000, optimise=True).cumulative.accuracy())

    times, accuracy = several(passes, evaluate)
    size = int(learner.moa_learner.measureByteSize())
    command = str(make(schema=ARFFStream(path).get_schema()).moa_learner.getCLICreationString(Classifier.class_))
    return {"prequential": {"accuracy": accuracy, "passes": times}, "command": command, "bytes": size,
            "process": process_bytes()}  # fmt: skip


# -- one record: verb -> median microseconds ---------------------------------------------------------------------------


def median_us(verb: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> float:
    """Time every call by itself."""
    clock, times = time.perf_counter_ns, []
    for arguments in calls:
        start = clock()
        verb(*arguments)
        times.append(clock() - start)
    return statistics.median(times) / 1000


def one_record(library: str, name: str, folder: str, trained: int = 20_000, calls: int = 5_000) -> dict[str, Any]:
    """predict_one and learn_one on a learner that has learned ``trained`` rows."""
    data, entry = Records.load(Path(folder)), contest(name)
    rows, labels = data.dicts(), data.y.tolist()
    some = slice(trained, trained + calls)
    if library == "river":
        assert entry.river is not None
        learner = entry.river()
        for x, y in zip(rows[:trained], labels[:trained], strict=True):
            learner.learn_one(x, y)
        kinds: dict[str, list[Any]] = {"dict": rows[some]}
    else:
        learner = entry.thalweg().declare(data.schema)
        learner.partial_fit(data.X[:trained], data.y[:trained])
        learner.predict_one(rows[0])
        kinds = {"dict": rows[some], "array": [row.copy() for row in data.X[some]]}
    found = {}
    for kind, xs in kinds.items():
        found[f"predict_one, {kind}"] = median_us(learner.predict_one, [(x,) for x in xs])
        found[f"learn_one, {kind}"] = median_us(learner.learn_one, list(zip(xs, labels[some], strict=True)))
    return found


# -- ADWIN: passes and the positions of its detections -----------------------------------------------------------------


def adwin(library: str, path: str, delta: float, passes: int) -> dict[str, Any]:
    """All values through one detector."""
    values = np.fromfile(path, dtype="<f8")
    work: Callable[[], list[int]]
    if library == "river":
        from river import drift

        numbers = values.tolist()

        def work() -> list[int]:
            detector, found = drift.ADWIN(delta=delta), []
            for i, x in enumerate(numbers):
                detector.update(x)
                if detector.drift_detected:
                    found.append(i)
            return found
    else:
        from thalweg import ADWIN

        ADWIN(delta=delta).update_many(values[:100])

        def work() -> list[int]:
            levels = ADWIN(delta=delta).update_many(values)
            return np.flatnonzero(levels).tolist()

    times, changes = several(passes, work)
    return {"passes": times, "changes": changes}


# -- start -------------------------------------------------------------------------------------------------------------


def tree_start() -> dict[str, Any]:
    """Use every verb of a Hoeffding tree: all that it compiles, or loads from the cache."""
    from thalweg import HoeffdingTree

    rng = np.random.default_rng(1)
    X, y = rng.random((2000, 8)), rng.integers(0, 2, 2000)
    tree = HoeffdingTree()
    tree.test_then_train(X, y)
    tree.partial_fit(X, y)
    tree.predict_proba(X)
    tree.learn_one(X[0], 1)
    tree.predict_one(X[0])
    return {}


MEASUREMENTS: dict[str, Callable[..., dict[str, Any]]] = {
    "thalweg": thalweg_learner,
    "river": river_learner,
    "capymoa": capymoa_learner,
    "one-record": one_record,
    "adwin": adwin,
    "tree-start": tree_start,
}

if __name__ == "__main__":
    print(json.dumps(MEASUREMENTS[sys.argv[1]](**json.loads(sys.argv[2]))))
