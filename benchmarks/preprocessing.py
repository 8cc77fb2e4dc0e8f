"""Scaler, imputer and one-hot in front of a tree: rows per second of processor time, beside river's pipeline.

    python benchmarks/preprocessing.py --rows 200000 --river 5000

10 numeric and 4 nominal columns of 8 values, 5 % of the cells missing. "alone" is the three transformers without a
learner, in chunks of 1,000 rows that are transformed and learned; all else is test-then-train.
"""

import argparse
import json
import time

import numpy as np

from thalweg import (
    DateParts,
    Feature,
    HashedText,
    Hashing,
    HoeffdingTree,
    Imputer,
    Lags,
    MinMaxScaler,
    OneHot,
    RareGroups,
    RobustScaler,
    Schema,
    Select,
    StandardScaler,
    TargetEncoder,
    pipeline,
)
from thalweg.core.door import hashed_texts

NUMERIC, NOMINAL, VALUES, CHUNK = 10, 4, 8, 1_000


def table(n):
    """Rows, labels and the schema."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(3.0, 10.0, (n, NUMERIC)), rng.integers(0, VALUES, (n, NOMINAL))])
    y = (X[:, 0] + 4.0 * (X[:, NUMERIC] < 2) > 3.0).astype(np.int64)
    X[rng.random(X.shape) < 0.05] = np.nan
    nominal = [Feature(f"c{i}", values=tuple("abcdefgh")) for i in range(NOMINAL)]
    return X, y, Schema((*(Feature(f"n{i}") for i in range(NUMERIC)), *nominal))


def rate(call, n):
    """Rows per second of processor time, the best of three runs."""
    best = 0.0
    for _ in range(3):
        begun = time.process_time()
        call()
        best = max(best, n / (time.process_time() - begun))
    return round(best)


def ours(n):
    """Rates of the transformers alone, of the tree alone and of both."""
    X, y, schema = table(n)
    cuts = [slice(i, i + CHUNK) for i in range(0, n, CHUNK)]
    steps, at = [StandardScaler(), Imputer(), OneHot(max_values=VALUES)], schema
    for step in steps:
        at = step.meet(at)
    codes, w, learned = np.full(CHUNK, -1), np.ones(CHUNK), np.ones(CHUNK, dtype=bool)

    def alone():
        for c in cuts:
            Z = X[c]
            for step in steps:
                Z = step.follow(Z, codes[: len(Z)], w[: len(Z)], learned[: len(Z)])

    alone()
    found = {"transformers alone": rate(alone, n)}
    for name, make in {
        "pipeline with tree": lambda: pipeline(StandardScaler(), Imputer(), OneHot(max_values=VALUES), HoeffdingTree()),
        "tree alone": HoeffdingTree,
    }.items():
        make().declare(schema).test_then_train(X[:CHUNK], y[:CHUNK])

        def whole(make=make):
            learner = make().declare(schema)
            for c in cuts:
                learner.test_then_train(X[c], y[c])

        found[name] = rate(whole, n)
    return found


def each(n):
    """Rates of the other transformers alone, each on the columns that suit it; texts are those of ten words."""
    X, y, schema = table(n)
    w, learned = np.ones(CHUNK), np.ones(CHUNK, dtype=bool)
    cuts = [slice(i, i + CHUNK) for i in range(0, n, CHUNK)]
    others = [
        StandardScaler(), Imputer(), OneHot(max_values=VALUES), RobustScaler(), MinMaxScaler(), TargetEncoder(),
        Hashing(width=16), RareGroups(), DateParts(0), Select(k=5), Lags(key="c0", lags=[1], means=[10]),
    ]  # fmt: skip
    found = {}
    for step in others:
        step.meet(schema)

        def alone(step=step):
            for c in cuts:
                step.follow(X[c], y[c], w[: len(y[c])], learned[: len(y[c])])

        alone()
        found[type(step).__name__] = rate(alone, n)
    rng = np.random.default_rng(1)
    words = np.array([f"word{i}" for i in range(20_000)])
    texts = [" ".join(row) for row in words[rng.integers(0, len(words), (n // 10, 10))]]
    how = HashedText("review", width=256).readings.texts[0]
    hashed_texts(texts[:10], how)
    found["HashedText, read"] = rate(lambda: hashed_texts(texts, how), n // 10)
    return found


def rivers(n):
    """Rates of river's pipeline, with and without its tree."""
    from river import compose, preprocessing, stats, tree

    X, y, schema = table(n)
    names = schema.names
    records = [
        {
            k: (None if v != v else v if f < NUMERIC else "abcdefgh"[int(v)])
            for f, (k, v) in enumerate(zip(names, x, strict=True))
        }
        for x in X.tolist()
    ]

    def prepared():
        numbers = compose.Select(*names[:NUMERIC]) | preprocessing.StatImputer(
            *((k, stats.Mean()) for k in names[:NUMERIC])
        )
        words = compose.Select(*names[NUMERIC:]) | preprocessing.StatImputer(
            *((k, stats.Mode()) for k in names[NUMERIC:])
        )
        return (numbers | preprocessing.StandardScaler()) + (words | preprocessing.OneHotEncoder())

    def alone():
        steps = prepared()
        for x in records:
            steps.learn_one(x)
            steps.transform_one(x)

    def whole():
        model = prepared() | tree.HoeffdingTreeClassifier()
        for x, label in zip(records, y.tolist(), strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    return {"river: transformers alone": rate(alone, n), "river: pipeline with tree": rate(whole, n)}


if __name__ == "__main__":
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--rows", type=int, default=200_000)
    read.add_argument("--river", type=int, default=5_000)
    read.add_argument("--each", action="store_true", help="Measure each transformer alone, too.")
    chosen = read.parse_args()
    if chosen.each:
        print(json.dumps(each(chosen.rows), indent=2))
    print(json.dumps(ours(chosen.rows) | (rivers(chosen.river) if chosen.river else {}), indent=2))
