"""What a record costs with each learner as it comes: writes docs/learners/costs.json, which the documentation shows.

``python benchmarks/costs.py``. One core, CPU time, a process for each learner, one after the other; the median of three
fresh models, each of which predicts and learns the same rows. Compiling is not counted.
"""

import argparse
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from play import HERE, machine

import thalweg
from thalweg import load_dataset
from thalweg.registry import LEARNERS, STREAMS, Entry, make

REPEATS = 3
PLAIN = ("rbf-drift", 10_000, "moving clusters, 10 features, 5 classes")
WIDE = ("text(words=1000)", 5_000, "messages as counts of 1,000 words, 2 classes")
IMAGES = ("mnist", 3_000, "images of {shape}, {classes} classes")
TENSORS = ("sim-tensor", 3_000, "tensors of {shape} as factors, {classes} classes")


def stream_for(name: str, entry: Entry) -> tuple[str, int, str]:
    """Images or other tensors for learners of tensors, 1,000 columns for those behind a projection, else 10 numbers."""
    if entry.cls.tensors:
        return IMAGES if name.startswith("subspace") else TENSORS
    return WIDE if name.startswith("cs") or name in ("hashed-knn", "pca-knn") else PLAIN


def measure(name: str, entry: Entry) -> dict[str, Any]:
    """Rows per second of CPU, and bytes of the state at the end."""
    source, rows, what = stream_for(name, entry)
    stream = load_dataset(source) if source == "mnist" else make("stream", source, STREAMS)
    chunk = stream.take(rows)
    shape = " × ".join(str(n) for n in stream.schema.shape or chunk.X.shape[1:])
    entry.make().declare(stream.schema).test_then_train(chunk.X[:1_000], chunk.y[:1_000])  # compiled now
    seconds = []
    for _ in range(REPEATS):
        learner = entry.make().declare(stream.schema)
        start = time.process_time()
        learner.test_then_train(chunk.X, chunk.y)
        seconds.append(time.process_time() - start)
    size = sum(table.nbytes for table in learner.state().values())
    what = what.format(shape=shape, classes=len(learner.classes_))
    return {
        "stream": source,
        "what": what,
        "rows": rows,
        "rows_per_second": round(rows / median(seconds)),
        "bytes": size,
    }


def main() -> None:
    """Measure all, or those that are asked for; the others keep their figures."""
    parser = argparse.ArgumentParser(description="What a record costs with each learner")
    parser.add_argument("--one", help="measure this one and print it: what is run for each")
    parser.add_argument("--only", default="", help="only learners whose name has this in it")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "learners" / "costs.json", metavar="PATH")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, LEARNERS[options.one])))
        return
    where = machine()  # and stay on one core
    found = json.loads(options.out.read_text()) if options.out.exists() else {"learners": {}}
    for name in (n for n in LEARNERS if options.only in n):
        told = subprocess.run([sys.executable, __file__, "--one", name], capture_output=True, text=True, check=True)
        found["learners"][name] = json.loads(told.stdout)
        print(name, found["learners"][name], flush=True)
        found["learners"] = {name: found["learners"][name] for name in LEARNERS if name in found["learners"]}
        found |= {"machine": where, "date": f"{datetime.now(UTC):%Y-%m-%d}", "version": thalweg.__version__}
        options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
