"""What the live page is built on: the document ``GET /v1/state`` and the events of ``GET /v1/events``.

**GET /v1/state** (role predict): everything that the page shows, but records. ``?ring=fine|middle|coarse`` chooses the
history (an hour in steps of 10 s, six hours in minutes, a day in steps of 10 min; default fine), ``?history=0`` leaves
it out. Numbers that are not known are null. Times are seconds since 1970.

    now, started           when this was written; when the service was started
    model                  name, class, parameters, features, classes (labels in the order of all lists below)
    version, position      the version that answers (a position of the journal) and the last position applied
    lag                    rows (waiting to be learned), entries (position - version), seconds (age of the version)
    metrics                over the rolling window of labels: window, accuracy, kappa, no_change, majority (accuracies
                           of the two simple rules), recall (a list by class), precision (likewise), support
    overall                over all labels: accuracy, kappa, labels
    estimated              mean confidence of the answers whose labels are pending: accuracy, records
    confusion              over the window: a list of lists, rows the label, columns the answer
    shares                 predicted, labelled: share of each class among all answers, and among all labels
    features               a list, the most drifting first: name, drift (standard deviations, or share of records for
                           nominal ones), importance (null: the learner does not tell), low, high (usual range)
    labels                 given (tickets), open, answered, expired, wanted_open, asked, budget, budget_used,
                           oldest_wanted (seconds), last_label (when), repeated, unknown, late, early
    drifts                 how many; the latest are in ``events``
    events                 the latest 50: at, position, kind (drift, promotion, rollback), text
    members                for ensembles: learned, replacements [[rows learned by then, member], …], count
    shadows                a list: name, class, accuracy, kappa (over the window), champion_accuracy, wins, losses,
                           labels (of the present contest), evidence (ln e; it wins at ln(1 / alpha)), bytes
    promotion              null, or the rule: labels, alpha
    speed                  records_per_second, requests_per_second, labels_per_second (over the last 10 s),
                           latency: p50, p90, p99 in milliseconds, of the latest requests for predictions
    memory                 bytes: process, champion, shadows, tickets
    disk                   bytes: journal, snapshots; ceiling (null: none), sync, trouble (null or a sentence)
    snapshots              positions that can be rolled back to
    alarms                 those that are on: name, since, text
    experts                labels by expert: {name: number}
    desk                   open, lent, held (questions), compared, agreed (of those that two answered), experts
    history                at: [when each step begins, …] and a list as long for each name of ``serve.history``:
                           records, requests, errors, labels, right, asked, drifts, confidence, known, known_right,
                           accuracy, kappa, no_change, majority, lag_rows, version, open, wanted_open, memory,
                           latency_p50, latency_p99, predicted_0…, labelled_0…, recall_0… (by class, up to 16),
                           shadow_0… (by the place in ``shadows``, up to 4). Estimated accuracy of a step is
                           confidence / records, the true one known_right / known, once labels have come.

**GET /v1/events** (role predict): server-sent events; each has a name and JSON. Read them with fetch, which can send
the token in a header.

    hello                  once, at first: {"version": …}
    state                  every second, while somebody listens: the document above without ``history``
    history                every 10 seconds: the last two steps of the fine ring, as in ``history``
    drift, promotion, rollback an event as in ``events``
    alarm                  an alarm goes on or off: name, on, text, since
    wanted                 labels are wanted: {"open": number} (at most twice a second)

**GET /v1/wanted** (role label): the open questions, ``?n=20&order=uncertain|oldest|newest``:

    open                   how many there are
    questions              ticket, id, record (by name; a tensor as lists), shape (null, or that of a tensor), guess,
                           classes, probabilities, why (uncertain, random, selective, warmup, or "" where all labels
                           are wanted), at (when the record came), age (seconds), version, ranges {name: [low, high]}
"""

import math
import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thalweg.active.strategy import REASONS
from thalweg.core.schema import Schema
from thalweg.serve.arranging import recalls
from thalweg.serve.engine import Engine
from thalweg.serve.history import COLUMNS, RINGS
from thalweg.serve.learning import Learning
from thalweg.serve.records import record_of

if TYPE_CHECKING:
    from thalweg.serve.service import Service


def number(value: float) -> float | None:
    """A number for JSON: null where there is none."""
    return None if value is None or not math.isfinite(value) else float(value)


def learning_view(learning: Learning) -> dict[str, Any]:
    """What the thread that learns knows; to be called in it."""
    metrics, learner = learning.metrics, learning.learner
    confusion, baselines = metrics.window_counts()
    recent, overall = metrics.windowed(["accuracy", "kappa"]), metrics.cumulative(["accuracy", "kappa"])
    guesses = confusion.sum(axis=0)
    precision = [number(confusion[c, c] / guesses[c]) if guesses[c] else None for c in range(len(guesses))]
    return {
        "model": {
            "name": learning.name,
            "class": type(learner).__name__,
            "parameters": {name: _shown(value) for name, value in learner.get_params(deep=False).items()},
            "learned": learning.learned,
        },
        "learned_position": learning.position,
        "metrics": {
            "window": learning.window,
            **{name: number(value) for name, value in {**recent, **baselines}.items()},
            "recall": [number(r) for r in recalls(confusion)],
            "precision": precision,
            "support": confusion.sum(axis=1).tolist(),
        },
        "overall": {**{name: number(v) for name, v in overall.items()}, "labels": metrics.rows},
        "confusion": confusion.tolist(),
        "shares": {"predicted": _shares(learning.answered), "labelled": _shares(learning.told)},
        "features": _features(learning),
        "drifts": learning.drifts,
        "events": [event._asdict() for event in learning.events[-50:]],
        "members": _members(learner),
        "shadows": [
            {
                "name": shadow.name,
                "class": type(shadow.learner).__name__,
                **{name: number(v) for name, v in shadow.metrics.windowed(["accuracy", "kappa"]).items()},
                "champion_accuracy": number(recent["accuracy"]),
                "wins": shadow.contest.wins,
                "losses": shadow.contest.losses,
                "labels": shadow.contest.seen,
                "evidence": number(shadow.contest.evidence),
                "bytes": shadow.learner.state_bytes,
            }
            for shadow in learning.shadows
        ],
        "last_label": learning.last_label or None,
        "experts": dict(learning.experts),
        "bytes": {
            "champion": learner.state_bytes,
            "shadows": sum(shadow.learner.state_bytes for shadow in learning.shadows),
        },
        "trouble": learning.trouble,
    }


def _shown(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, int, float, bool)) else repr(value)[:500]


def _shares(counts: Any) -> list[float]:
    total = float(counts.sum())
    shares: list[float] = (counts / total).tolist() if total else counts.tolist()
    return shares


def _features(learning: Learning, most: int = 50) -> list[dict[str, Any]]:
    schema = learning.schema
    scores = learning.watch.scores(schema)
    if schema is None:
        return []
    scores += [0.0] * (schema.n_features - len(scores))
    ranges = usual_ranges(learning, schema)
    importances: dict[str, float] = {}
    tells = getattr(learning.learner, "importances", None)
    if tells is not None and learning.learner.started and schema.n_features <= 1_000:
        try:
            importances = tells()
        except (ValueError, TypeError, AttributeError):
            importances = {}
    order = np.argsort(-np.array(scores[: schema.n_features]), kind="stable")[:most]
    found = []
    for f in order.tolist():
        name = schema.names[f]
        low, high = ranges.get(name, (None, None))
        found.append(
            {"name": name, "drift": number(scores[f]), "importance": number(importances.get(name, math.nan)),
             "low": low, "high": high}
        )  # fmt: skip
    return found


def usual_ranges(learning: Learning, schema: Schema) -> dict[str, tuple[float | None, float | None]]:
    """The usual range of each numeric feature."""
    ranges = learning.watch.ranges()
    return {
        feature.name: (number(low), number(high))
        for feature, (low, high) in zip(schema.features, ranges, strict=False)
        if not feature.nominal
    }


def _members(learner: Any) -> dict[str, Any] | None:
    replaced = getattr(learner, "replacements", None)
    if replaced is None:
        return None
    size = getattr(learner, "size", None)
    return {
        "count": size if isinstance(size, int) else None,
        "learned": int(getattr(learner, "rows_learned", 0)),
        "replacements": [list(map(int, each)) for each in replaced][-200:],
    }


def labels_view(engine: Engine) -> dict[str, Any]:
    """Labels asked for, that came, and that wait."""
    book, now = engine.book, time.time()
    counts, wanted = book.counts(), book.open_tickets()
    policy = book.policy
    oldest = None
    if len(wanted):
        oldest = now - float(book.look(wanted[:1])[2]["at"][0])
    asked = counts.given if policy is None else policy.asked
    return {
        "given": counts.given, "open": counts.open, "answered": counts.answered, "expired": counts.expired,
        "repeated": counts.repeated, "unknown": counts.unknown, "late": counts.late, "early": len(book._early),
        "wanted_open": len(wanted), "asked": asked, "budget": None if policy is None else float(policy.budget),
        "budget_used": asked / book.records if book.records else 0.0, "oldest_wanted": oldest,
    }  # fmt: skip


def pending_view(engine: Engine, most: int = 2_000) -> dict[str, Any]:
    """The accuracy that the confidence of pending answers promises: the latest of them."""
    tickets = engine.book.open_tickets(wanted=False)[-most:]
    if not len(tickets):
        return {"accuracy": None, "records": 0}
    _, proba, _, _ = engine.book.look(tickets)
    return {"accuracy": number(float(proba.max(axis=1).mean())) if proba.shape[1] else None, "records": len(tickets)}


def wanted_view(engine: Engine, n: int, order: str, ranges: dict[str, Any]) -> dict[str, Any]:
    """The open questions."""
    tickets = wanted_tickets(engine, order)
    return {"open": len(engine.book.open_tickets()), "questions": questions_of(engine, tickets[:n], ranges)}


def wanted_tickets(engine: Engine, order: str) -> NDArray[np.int64]:
    """The tickets of the open questions; where the most uncertain come first, the latest 5,000 alone."""
    tickets = engine.book.open_tickets()
    if order == "newest":
        return tickets[::-1]
    if order == "uncertain" and len(tickets):
        tickets = tickets[-5_000:]
        proba = np.sort(engine.book.look(tickets)[1], axis=1)
        margin = proba[:, -1] - proba[:, -2] if proba.shape[1] > 1 else np.zeros(len(tickets))
        return tickets[np.argsort(margin, kind="stable")]
    return tickets


def questions_of(engine: Engine, tickets: NDArray[np.int64], ranges: dict[str, Any]) -> list[dict[str, Any]]:
    """Records that wait for a label, as a person needs them."""
    book, now, schema = engine.book, time.time(), engine.book.schema
    if not len(tickets) or schema is None:
        return []
    X, proba, notes, names = book.look(tickets)
    labels, asks, questions = book.labels.values, book.policy is not None, []
    for r, ticket in enumerate(tickets.tolist()):
        known = int(notes["known"][r])
        p = proba[r, :known]
        guess = labels[int(p.argmax())] if known and p.max() > 0.0 else None
        questions.append(
            {"ticket": ticket, "id": names[r], "record": record_of(X[r], schema), "shape": schema.shape, "guess": guess,
             "classes": labels[:known], "probabilities": p.tolist(),
             "why": REASONS[int(notes["why"][r])] if asks else "",
             "at": float(notes["at"][r]), "age": now - float(notes["at"][r]), "version": int(notes["version"][r]),
             "ranges": ranges}
        )  # fmt: skip
    return questions


def resident() -> int:
    """Bytes of memory that the process has."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def history_view(learning: Learning, ring: str) -> dict[str, Any]:
    """The series of a ring; columns of classes and shadows that there are not are left out."""
    if ring not in RINGS:
        raise ValueError(f"ring must be one of {', '.join(RINGS)}, got {ring!r}")
    classes, shadows = len(learning.labels), len(learning.shadows)
    names = [
        name
        for name in COLUMNS
        if not name.rpartition("_")[2].isdigit()
        or int(name.rpartition("_")[2]) < (shadows if name.startswith("shadow_") else classes)
    ]
    return learning.history.series(ring, names, time.time())


async def service_view(service: "Service") -> dict[str, Any]:
    """Everything but the history."""
    engine, seen, now = service.engine, await service.engine.look(), time.time()
    version = engine.version
    number = engine.learning.position if engine.each else version.number
    labels = labels_view(engine) | {"last_label": seen["last_label"]}
    rule = engine.promote_rule
    schema = engine.book.schema
    model = seen["model"] | {
        "features": 0 if schema is None else schema.n_features, "classes": engine.book.labels.values
    }  # fmt: skip
    return {
        "now": now, "started": service.started, "model": model, "version": number, "position": engine.applied,
        "lag": {"rows": engine.behind, "entries": engine.applied - number,
                "seconds": 0.0 if engine.each or (not engine.behind and version.learned == model["learned"])
                else now - version.at},
        **{name: seen[name] for name in ("metrics", "overall", "confusion", "shares", "features", "drifts",
                                         "events", "members", "shadows", "experts")},
        "estimated": pending_view(engine), "labels": labels,
        "promotion": None if rule is None else {"labels": rule.labels, "alpha": rule.alpha},
        "speed": service.monitor.speed(), "memory": {"process": resident(), **seen["bytes"],
                                                  "tickets": engine.book.nbytes},
        "disk": {"journal": engine.journal.nbytes, "snapshots": engine.snapshots.nbytes,
                 "ceiling": engine.max_disk, "sync": engine.journal.sync, "trouble": engine.trouble},
        "snapshots": engine.snapshots.positions(), "alarms": service.monitor.alarms(),
        "desk": service.desk.summary(),
    }  # fmt: skip
