"""What lags and rolling means bring a tree and a forest: accuracy in test-then-train.

    python benchmarks/lags.py --electricity electricity.parquet

Electricity has a row for each half-hour; the lags are those of price and demand in New South Wales. Weather, which is
in the package, has a row for each day. The third stream is made here: 20 stations, each with a level of its own; the
label says whether the value is above the station's mean of the last 24, which no single row tells.
"""

import argparse
import json

import numpy as np

from thalweg import (
    AdaptiveRandomForest,
    ArrayStream,
    Feature,
    HoeffdingTree,
    Lags,
    NoChange,
    Schema,
    open_file,
    pipeline,
    prequential,
)
from thalweg.registry.typed import open_stream

PRICES = {"columns": ["nswprice", "nswdemand"], "lags": [1, 2, 48], "means": [6, 48]}
DAYS = {"lags": [1], "means": [3, 7]}
LEVELS = {"columns": "value", "key": "station", "lags": [1], "means": [6, 24]}


def stations(n=50_000, k=20, seed=1):
    """Rows of some stations in turn by chance."""
    rng = np.random.default_rng(seed)
    level, past = rng.normal(0.0, 10.0, k), [[] for _ in range(k)]
    rows, labels = [], []
    for s in rng.integers(0, k, n).tolist():
        level[s] += rng.normal(0.0, 0.3)
        v = level[s] + rng.normal()
        labels.append("above" if past[s] and v > np.mean(past[s][-24:]) else "below")
        past[s] = [*past[s][-23:], v]
        rows.append((s, v))
    schema = Schema((Feature("station", values=tuple(f"s{i}" for i in range(k))), Feature("value")))
    return ArrayStream(np.array(rows, dtype=float), np.array(labels), schema=schema)


def table(make, lags, seeds):
    """Accuracies of all learners on one stream; of the forest the mean and the range over seeds."""
    said = {"no change": [NoChange()]}
    for name, learners in {"tree": [HoeffdingTree()], "forest": [AdaptiveRandomForest(seed=s) for s in seeds]}.items():
        said[name] = learners
        said[f"{name} with lags"] = [pipeline(Lags(**lags), learner) for learner in learners]
        said[f"{name} with differences"] = [pipeline(Lags(**lags, differences=True), learner) for learner in learners]
    found = {}
    for name, learners in said.items():
        scores = [100.0 * prequential(make(), learner).accuracy for learner in learners]
        found[name] = [round(v, 2) for v in (np.mean(scores), min(scores), max(scores))]
    return found


if __name__ == "__main__":
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--electricity", help="The file; without it the stream is left out.")
    read.add_argument("--seeds", type=int, default=3)
    chosen = read.parse_args()
    streams = {"weather": (lambda: open_stream("weather"), DAYS), "20 stations": (stations, LEVELS)}
    if chosen.electricity:
        streams = {"electricity": (lambda: open_file(chosen.electricity), PRICES), **streams}
    for name, (make, lags) in streams.items():
        print(json.dumps({name: table(make, lags, range(1, chosen.seeds + 1))}), flush=True)
