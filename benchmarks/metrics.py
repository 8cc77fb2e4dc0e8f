"""What the metrics cost: `prequential` beside the same learner, rows and chunks without metrics.

    python benchmarks/metrics.py --rows 200000 --repeats 7

Streams of random clouds with 8 features and 2 classes, 3 and 11, 5 and 40. "alone" reads chunks of 1,000 rows and calls
`test_then_train`; "prequential" is a call with all its metrics and a report every 1,000 rows. Both take turns in one
process. Nanoseconds of processor time per row, and the share of `prequential` that is not the learner: medians, with
the least and the most of the repeats.
"""

import argparse
import json
import statistics
import time

from thalweg import AdaptiveRandomForest, ArrayStream, HoeffdingTree, MajorityClass, RandomRBF, prequential

SHAPES = {"8 × 2": (8, 2), "3 × 11": (3, 11), "5 × 40": (5, 40)}
LEARNERS = {
    "majority": (MajorityClass, 1),
    "Hoeffding tree": (HoeffdingTree, 1),
    "ARF 10": (lambda: AdaptiveRandomForest(size=10), 5),
}
"""How each is made, and by how much its rows are fewer."""
CHUNK = 1_000


def alone(stream, make):
    """Play all rows without metrics."""
    learner = make().declare(stream.schema)
    while (chunk := stream.read(CHUNK)) is not None:
        learner.test_then_train(chunk.X, chunk.y)


def scored(stream, make):
    """Play all rows with metrics."""
    prequential(stream, make(), chunk=CHUNK)


def seconds(call, X, y, make):
    """Processor time of one call."""
    stream = ArrayStream(X, y)
    begun = time.process_time()
    call(stream, make)
    return time.process_time() - begun


def spread(values, digits):
    """Median, least and most."""
    return [round(v, digits) for v in (statistics.median(values), min(values), max(values))]


def measure(X, y, make, repeats):
    """Measure both in turns; the first turn compiles and does not count."""
    turns = [(seconds(alone, X, y, make), seconds(scored, X, y, make)) for _ in range(repeats + 1)][1:]
    n = len(y) / 1e9
    return {
        "alone, ns": spread([a / n for a, _ in turns], 0),
        "prequential, ns": spread([b / n for _, b in turns], 0),
        "share, %": spread([100.0 * (b - a) / b for a, b in turns], 1),
    }


def main():
    """Measure every learner on every shape."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--rows", type=int, default=200_000)
    read.add_argument("--repeats", type=int, default=7)
    read.add_argument("--learners", nargs="*", default=list(LEARNERS), choices=list(LEARNERS))
    chosen = read.parse_args()
    for shape, (features, classes) in SHAPES.items():
        stream = RandomRBF(features=features, classes=classes, centroids=3 * classes, seed=1)
        rows = stream.take(chosen.rows)
        for name in chosen.learners:
            make, fewer = LEARNERS[name]
            n = chosen.rows // fewer
            print(json.dumps({shape: name, **measure(rows.X[:n], rows.y[:n], make, chosen.repeats)}), flush=True)


if __name__ == "__main__":
    main()
