"""Jobs that are put together, and probabilities in the order of the book's codes."""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.core.classifier import Classifier
from thalweg.core.labels import Labels
from thalweg.serve.jobs import Answers, Labelled, Lesson

Floats = NDArray[np.float64]


def played(learner: Classifier, job: Lesson) -> Floats:
    """Predict each row before it is learned; give the probabilities."""
    if job.wanted is None:
        return learner.test_then_train(job.X, job.y)
    events = [e for r, wanted in enumerate(job.wanted.tolist()) for e in ((r, ~r) if wanted else (r,))]
    return learner.play(job.X, job.y, events)


def merged(jobs: list[Labelled]) -> Labelled:
    """Put labels that came one after the other together."""
    if len(jobs) == 1:
        return jobs[0]
    classes = max(j.proba.shape[1] for j in jobs)
    proba = [np.pad(j.proba, ((0, 0), (0, classes - j.proba.shape[1]))) for j in jobs]
    return Labelled(
        jobs[-1].at, np.concatenate([j.tickets for j in jobs]), np.concatenate([j.X for j in jobs]),
        [y for j in jobs for y in j.y],
        np.concatenate([j.codes for j in jobs]), np.concatenate(proba), np.concatenate([j.wanted for j in jobs]),
        np.concatenate([j.arrived for j in jobs]), None,
    )  # fmt: skip


def joined(jobs: list[Answers]) -> list[Answers]:
    """Put answers that came one after the other together, where they are of the same width."""
    done: list[Answers] = []
    at = 0
    while at < len(jobs):
        like = [jobs[at]]
        for job in jobs[at + 1 :]:
            if job.proba.shape[1] != like[0].proba.shape[1] or job.X.shape[1] != like[0].X.shape[1]:
                break
            like.append(job)
        at += len(like)
        done.append(
            like[0]
            if len(like) == 1
            else Answers(
                like[-1].at,
                like[0].first,
                np.concatenate([job.X for job in like]),
                np.concatenate([job.proba for job in like]),
                np.concatenate([job.why for job in like]),
            )
        )
    return done


def arranged(learner: Classifier, proba: Floats, labels: Labels) -> Floats:
    """Put a learner's columns in the order of the book's codes."""
    classes = learner.classes_
    codes, _ = labels.read(classes) if len(classes) else (np.zeros(0, dtype=np.int64), [])
    if (codes == np.arange(len(codes))).all():
        return proba
    wide = np.zeros((len(proba), int(codes.max()) + 1))
    wide[:, codes] = proba
    return wide


def best(proba: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Give the highest probability of each row, and its class; -1 where there is no answer."""
    if not proba.shape[1]:
        return np.zeros(len(proba)), np.full(len(proba), -1, dtype=np.int64)
    winners = proba.argmax(axis=1)
    sure: Floats = proba[np.arange(len(proba)), winners]
    return sure, np.where(sure > 0.0, winners, -1)


def are_right(proba: Floats, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say of each row whether its most probable class is its class."""
    return np.asarray(best(proba)[1] == codes)


def recalls(confusion: Floats) -> list[float]:
    """Give the recall of each class; NaN where it does not occur."""
    support = confusion.sum(axis=1)
    return [float(confusion[c, c] / support[c]) if support[c] > 0 else math.nan for c in range(len(support))]


def tallied(counts: Floats, codes: NDArray[np.int64]) -> Floats:
    """Count codes on top of what was counted."""
    more = np.bincount(codes).astype(np.float64) if len(codes) else np.zeros(0)
    if len(more) > len(counts):
        counts = np.pad(counts, (0, len(more) - len(counts)))
    counts[: len(more)] += more
    return counts
