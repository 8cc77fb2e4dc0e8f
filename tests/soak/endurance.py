"""Many rows through learners with limits: memory stays flat, limits hold, and the last rows cost what the first did.

    python -m soak.endurance --rows 100000000              # all four; goes on from its last tenth if it was stopped
    python -m soak.endurance --rows 1000000 --only knn

The stream is AGRAWAL, whose rule changes every 100,000 rows, ten rules in turn. Each tenth of the rows is timed by the
CPU; the learner is saved after each, so that a long run can be made in parts.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

import thalweg
from thalweg import AdaptiveRandomForest, Agrawal, BallCoverPlus, HoeffdingTree, WindowKNN

CONCEPT, CHUNK, MB = 100_000, 5_000, 1_000_000
EAGER = {"grace_period": 50, "delta": 0.01, "tau": 0.1}
"""So that trees stand at their limit early."""
LEARNERS = {
    "hoeffding-tree": (lambda: HoeffdingTree(limit_bytes=2 * MB, **EAGER), 2 * MB),
    "arf": (lambda: AdaptiveRandomForest(size=10, limit_bytes=8 * MB), 8 * MB),
    "knn": (lambda: WindowKNN(window=1_000), None),
    "ball-cover-plus": (lambda: BallCoverPlus(max_balls=400), None),
}


def resident():
    """Give the bytes of memory that the process holds now."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    return int(next(line for line in status.read_text().splitlines() if line.startswith("VmRSS")).split()[1]) * 1024


def endure(name, rows, folder):
    """Learn so many rows in tenths; give whether all held."""
    make, limit = LEARNERS[name]
    kept, told = folder / f"{name}-{rows}.safetensors", folder / f"{name}-{rows}.json"
    parts = json.loads(told.read_text()) if told.exists() else []
    blocks = []
    for function in range(1, 11):
        chunk = Agrawal(function=function, seed=function).read(CONCEPT)
        blocks.append((np.ascontiguousarray(chunk.X), np.asarray(chunk.y)))
    learner = thalweg.load(kept, mapped=False) if parts else make().declare(Agrawal().schema)
    tenth = max(CONCEPT, rows // 10)
    while len(parts) < 10:
        done, spent, right, highest = 0, 0.0, 0, 0
        while done < tenth:
            X, y = blocks[(len(parts) * tenth + done) // CONCEPT % 10]
            at = done % CONCEPT
            before = time.process_time()
            proba = learner.test_then_train(X[at : at + CHUNK], y[at : at + CHUNK])
            spent += time.process_time() - before
            right += int((learner.classes_[proba.argmax(axis=1)] == y[at : at + CHUNK]).sum())
            highest = max(highest, learner.state_bytes)
            done += CHUNK
        parts.append({"rows": done, "us": 1e6 * spent / done, "accuracy": right / done, "state": highest,
                      "process": resident()})  # fmt: skip
        thalweg.save(learner, kept)
        told.write_text(json.dumps(parts))
        now = parts[-1]
        print(f"{name}: tenth {len(parts)}, {now['us']:.3f} µs a row, accuracy {now['accuracy']:.4f}, "
              f"state {now['state'] / MB:.3f} MB, process {now['process'] / MB:.0f} MB", flush=True)  # fmt: skip
    states, costs = [part["state"] for part in parts[1:]], [part["us"] for part in parts]
    flat = max(states) <= 1.02 * states[0]
    within = limit is None or max(part["state"] for part in parts) <= limit
    steady = costs[-1] <= 1.05 * costs[1]
    print(f"{name}: {sum(part['rows'] for part in parts):,} rows; limit {'held' if within else 'EXCEEDED'}; "
          f"state {'flat' if flat else 'GREW'}; last tenth {costs[-1] / costs[1]:.3f} × the second")  # fmt: skip
    return flat and within and steady


def main():
    """Endure; the exit code is 0 where memory, limits and times held."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--only", nargs="*", default=list(LEARNERS))
    options.add_argument("--folder", type=Path, default=Path(os.environ.get("TMPDIR", "/tmp")) / "thalweg-endurance")
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    held = [endure(name, given.rows, given.folder) for name in given.only]
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
