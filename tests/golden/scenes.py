"""The short runs behind the golden files: every registered learner on small streams that touch most of its code."""

from pathlib import Path
from typing import Any

import numpy as np

import thalweg
from thalweg import registry
from thalweg.core.classifier import Classifier
from thalweg.core.schema import Schema

FOLDER = Path(__file__).parent / "learners"
ROWS, SAVED = 400, 250
"""Rows of a run, and the row after which the snapshot is taken."""
SMALL = {
    "sdf": {"layers": 2, "size": 2},
    "chunk-ensemble": {"chunk": 80}, "le-tree": {"chunk": 80}, "ge-tree": {"chunk": 80},
    "l-ensemble": {"chunk": 80}, "g-ensemble": {"chunk": 80},
}  # fmt: skip
"""Parameters that keep a run short and let every part of the learner take part in it."""
FEW = {"size": 3, "grace_period": 40, "warmup": 60, "window": 120, "min_rebuild": 30, "landmarks": 6, "pool": 12,
       "max_leaves": 12}  # fmt: skip


def make(name: str, **more: Any) -> Classifier:
    """Make a registered learner, small."""
    known = registry.parameters(registry.LEARNERS[name].cls)
    chosen = SMALL.get(name) or {key: n for key, n in FEW.items() if key in known}
    learner: Classifier = registry.LEARNERS[name].make(**chosen | {k: v for k, v in more.items() if k in known})
    return learner


def scenes(name: str) -> dict[str, tuple[Classifier, Any, Any]]:
    """Give the runs of a learner: who learns, the rows, their labels."""
    cls = registry.LEARNERS[name].cls
    if cls.tensors:
        stream = thalweg.SimTensor(order=3, drift="sudden", seed=5)
        chunk = stream.take(ROWS)
        images = np.random.default_rng(4).normal(size=(ROWS, 6, 6))
        bright = images[:, :3].sum(axis=(1, 2)) > images[:, 3:, 1:].sum(axis=(1, 2))
        images[bright, 2:4] += np.linspace(0.5, 2, ROWS)[bright, None, None]
        made: dict[str, tuple[Classifier, Any, Any]] = {
            "images": (make(name), images, np.where(bright, "day", "night"))
        }
        if not name.startswith("subspace"):
            made["tensors"] = (make(name).declare(stream.schema), chunk.X, chunk.y)
        return made
    numbers = thalweg.RandomRBF(classes=4, features=6, centroids=20, speed=0.01, seed=3).take(ROWS)
    words = np.array(["calm", "rising", "flood", "ebb"])[numbers.y]
    words[:100] = np.where(words[:100] == "ebb", "calm", words[:100])  # a class that appears late
    mixed = thalweg.Agrawal(function=2, seed=3)
    schema = Schema(mixed.schema.features, classes=mixed.schema.classes)
    rows = mixed.take(ROWS)
    X = rows.X.copy()
    learner = make(name)
    if learner.missing == "native":
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    made = {"numbers": (make(name), numbers.X, words), "mixed": (learner.declare(schema), X, rows.y)}
    if learner.sparse:
        text = thalweg.Text(words=200, seed=2)
        messages = text.take(ROWS)
        made["sparse"] = (make(name), messages.X, messages.y)
    return made


def play(name: str) -> dict[str, np.ndarray]:
    """Give the probabilities of each run, and of a label budget of one half."""
    from thalweg import AVU, ActiveLearner

    found = {scene: learner.test_then_train(X, y) for scene, (learner, X, y) in scenes(name).items()}
    scene, (learner, X, y) = next(iter(scenes(name).items()))
    schema = Schema.numeric(6, classes=tuple(np.unique(y).tolist())) if scene == "numbers" else None
    if schema is not None:
        asking = ActiveLearner(learner=learner, strategy=AVU(budget=0.5, seed=2)).declare(schema)
        found["budget"] = asking.test_then_train(X, y)
    return found


def snapshot(name: str) -> Classifier:
    """Give the learner of the first run as it is at the row of the snapshot."""
    learner, X, y = next(iter(scenes(name).values()))
    return learner.partial_fit(X[:SAVED], y[:SAVED])
