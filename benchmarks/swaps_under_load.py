"""A predictor that answers single records while a trainer, in a process of its own, publishes versions; and kill -9.

    python benchmarks/swaps_under_load.py [records] [versions] [kills]

Every answer is compared with what its version must answer: the trainer's stream can be read again from any place.
"""

import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

from thalweg import AdaptiveRandomForest, ChunkEnsemble, HyperCube, Predictor, Trainer
from thalweg.keeping.arrays_file import read_arrays

CHUNK = 1_000


def make(kind):
    """The learner and how it is published."""
    if kind == "forest":
        return AdaptiveRandomForest(size=10), {"every": CHUNK}
    return ChunkEnsemble(size=10, chunk=CHUNK, index=kind), {}


def batch(k):
    """The k-th rows of the stream."""
    chunk = HyperCube(seed=1000 + k).read(CHUNK)
    return chunk.X, chunk.y


def train(folder, kind, versions, pause):
    """Be the trainer."""
    learner, given = make(kind)
    with Trainer(learner, folder, **given) as trainer:
        while trainer.version < versions:
            trainer.feed(*batch(trainer.rows // CHUNK))
            print("published", trainer.version, flush=True)
            time.sleep(pause)


def start(folder, kind, versions, pause):
    """Start a trainer in another process."""
    command = [sys.executable, __file__, "train", folder, kind, str(versions), str(pause)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()  # its first version is there
    return process


def expected(kind, versions, X):
    """What each version must answer."""
    learner, _ = make(kind)
    found = []
    for k in range(versions):
        learner.partial_fit(*batch(k))
        found.append(learner.predict_proba(X))
    return found


def swaps(kind, records, versions):
    """Answer single records for as long as versions come, and at least so many."""
    X = HyperCube(seed=7).read(500).X
    make(kind)[0].partial_fit(*batch(0)).compile().predict_proba(X)  # compiled beforehand
    truth = expected(kind, versions, X)
    with tempfile.TemporaryDirectory() as folder:
        process = start(folder, kind, versions, 0.05)
        with Predictor(folder, wait=60.0, poll=0.01) as predictor:
            seen, wrong, took, refused, k = {}, 0, [], 0, 0
            while k < records or process.poll() is None:
                row = k % len(X)
                began = time.perf_counter_ns()
                try:
                    proba, version = predictor.answer(X[row : row + 1])
                except Exception:
                    refused += 1
                    continue
                took.append(time.perf_counter_ns() - began)
                wrong += not np.array_equal(proba[0], truth[version - 1][row])
                seen[version] = seen.get(version, 0) + 1
                k += 1
        process.wait()
    t = np.array(took) / 1e3
    print(
        f"{kind}: {k:,} records, {versions} published, {len(seen)} versions answered, {wrong} wrong, {refused} "
        f"refused; median {np.median(t):.1f} µs, p99 {np.quantile(t, 0.99):.1f}, p99.9 {np.quantile(t, 0.999):.1f}, "
        f"max {t.max() / 1e3:.1f} ms; p99 / median {np.quantile(t, 0.99) / np.median(t):.1f}",
        flush=True,
    )


def kills(kind, times):
    """Kill the trainer at random moments."""
    rng = np.random.default_rng(0)
    X = HyperCube(seed=7).read(200).X
    learner = make(kind)[0]
    at, bad, lost, left = 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder, Predictor(folder, wait=None, poll=0.01) as predictor:
        for _ in range(times):
            process = start(folder, kind, 1_000_000, 0.0)
            time.sleep(float(rng.random()) * 0.2)
            process.send_signal(signal.SIGKILL)
            process.wait()
            left += len(list(pathlib.Path(folder).glob(".*.part")))
            try:
                for path in pathlib.Path(folder).glob("version-*"):
                    read_arrays(path)
                newest = read_arrays(f"{folder}/current")[1]["version"]
            except ValueError:
                bad += 1
                continue
            lost += newest < at
            while at < newest:
                learner.partial_fit(*batch(at))
                at += 1
            predictor.refresh()
            bad += predictor.version != newest
            bad += not np.array_equal(predictor.predict_proba(X), learner.predict_proba(X))
        trouble = predictor.trouble
    print(
        f"{kind}: kill -9 {times} times, {at} versions, {bad} bad, {lost} lost, {left} half-written files left behind "
        f"(removed by the next trainer), trouble: {trouble}",
        flush=True,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["train"]:
        train(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
    else:
        records, versions, times = (int(v) for v in (*sys.argv[1:], 100_000, 100, 50)[:3])
        for kind in sys.argv[4:] or ("bitmap", "e-tree", "forest"):
            swaps(kind, records, versions)
        for kind in ("e-tree", "forest"):
            kills(kind, times)
