"""One prequential run: everything that has to survive an interruption, in one place."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal, final

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from thalweg.core import door
from thalweg.core.chunk import Chunk
from thalweg.core.classifier import Classifier
from thalweg.core.inside import finds_drifts, rehearse
from thalweg.core.labels import Labels
from thalweg.core.protocols import State, Stream
from thalweg.core.schema import Feature, Schema
from thalweg.evaluate.answers import Answers
from thalweg.evaluate.importances import Watched
from thalweg.evaluate.join import Join, Reunion, Told
from thalweg.evaluate.joined import Joined, Meeting
from thalweg.evaluate.metrics import Metrics
from thalweg.evaluate.origin import about, name_of
from thalweg.evaluate.pending import Pending
from thalweg.evaluate.predictions import Predictions
from thalweg.evaluate.reports import Reports
from thalweg.evaluate.result import WHOLE, Result, column, plain
from thalweg.registry import METRICS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_DENSE = 4_000
"""Sparse rows with at most so many features are made dense, chunk by chunk, for a learner that takes no others."""
GIB_HOUR = 1024.0**3 * 3600.0
_WARM: set[tuple[Any, ...]] = set()
"""What this process has compiled by playing a few rows: learners by their parameters, and what kind of rows."""
_MOST_WARM = 1_000


@final
class Run:
    """A learner on its way through a stream, and what is known about it so far."""

    def __init__(
        self, stream: Stream | Joined, learner: Classifier, *, every: int, window: int, metrics: tuple[str, ...] | None,
        delay: int | str, compat: Literal["moa"] | None, name: str | None, stream_name: str | None,
        keep: bool = False, beside: Mapping[str, Classifier] | None = None, join: Join | None = None,
        answers: Answers | None = None,
    ) -> None:  # fmt: skip
        self.stream, self.learner, self.answers = stream, learner, answers
        self.join = join
        """Where labels come from another stream: ``stream`` gives meetings then."""
        self.told = Told()
        self.others = [
            Run(stream, other, every=every, window=window, metrics=metrics, delay=delay, compat=compat, name=title,
                stream_name=stream_name, join=join)
            for title, other in (beside or {}).items()
        ]  # fmt: skip
        """Learners that play the same rows, to compare with."""
        self.every, self.window, self.delay = every, window, delay
        self.all_metrics = metrics is None
        self.choose(tuple(m for m in METRICS if metrics is None or m in metrics or m in ("accuracy", "kappa")))
        self.name, self.stream_name = name or learner.title, stream_name or name_of(stream)
        self.metrics = Metrics(window=window, compat=compat)
        self.pending = Pending(delay, evolving=learner.evolving) if delay else None
        self.labels: Labels | None = None
        self.kept: list[tuple[Ints, Floats]] | None = [] if keep else None
        """The classes and the probabilities of all chunks, where they are kept."""
        self.came: list[tuple[Ints, Ints]] = []
        """Which rows have these classes, of those whose labels came later."""
        self.rows = 0
        self.busy = False
        """Are there rows that were read, but not yet learned and scored?"""
        self.in_hand = 0
        self.labels_used = 0
        self.drifts_before = int(getattr(learner, "n_drifts", 0))
        self.learned_before = int(getattr(learner, "rows_learned", 0))
        self.seconds = self.cpu_seconds = 0.0
        self.changes: list[tuple[int, int]] = []
        """Rows, and how many drifts the learner had counted by then, at each report with more than before."""
        self.weighed = Watched()
        self.ram, self.ram_cpu, self.peak = 0.0, 0.0, 0
        self._schema: Schema | None = None
        self._columns: Ints = np.zeros(0, dtype=np.int64)
        self._straight = True

    def choose(self, metrics: tuple[str, ...]) -> None:
        """Say which metrics are reported."""
        self.names, self.reports = metrics, Reports(metrics)

    # -- on the way ---------------------------------------------------------------------------------------------------

    def room(self, chunk: int, limit: int | None) -> int:
        """Say how many rows may be read at once: reports must see the learner as it was at their row."""
        n = min(chunk, self.every - self.rows % self.every)
        return n if limit is None else min(n, limit - self.rows)

    def read(self, n: int) -> Chunk | Meeting | None:
        """Read up to n rows."""
        self.busy = True
        if isinstance(self.stream, Joined):
            meeting = self.stream.read(n)
            self.in_hand = 0 if meeting is None else len(meeting.records)
            self.busy = meeting is not None and meeting.events > 0
            return meeting
        chunk = self.stream.read(n)
        self.in_hand = 0 if chunk is None else len(chunk)
        if self.in_hand > n:
            raise ValueError(f"stream must give at most the {n} rows it is asked for, got {self.in_hand}")
        if chunk is not None and self.delay == "time" and (chunk.time is None or chunk.label_time is None):
            raise ValueError('delay="time" needs a stream that has time and label_time, this one has not')
        self.busy = self.in_hand > 0
        return chunk if chunk is None or self.learner.sparse else self._dense(chunk)

    def put_back(self, position: State) -> None:
        """Let the stream give the rows in hand again: it was at this position before."""
        self.stream.restore(position)
        self.busy, self.in_hand = False, 0

    def _dense(self, chunk: Chunk) -> Chunk:
        """Give rows for a learner that takes no sparse ones."""
        if chunk.sparse and chunk.X.shape[1] > MOST_DENSE:
            raise ValueError(
                f"{type(self.learner).__name__} takes no sparse rows, and {self.stream_name} has them with "
                f"{chunk.X.shape[1]:,} features: only up to {MOST_DENSE:,} are made dense, chunk by chunk"
            )
        return chunk.dense()

    def where(self) -> str:
        """Say which rows are in hand."""
        if self.in_hand:
            return f"at rows {self.rows:,} to {self.rows + self.in_hand - 1:,}, counted from 0"
        return f"after {self.rows:,} rows"

    def warm_up(self, chunk: Chunk | Meeting) -> None:
        """Make sure that everything is compiled: a twin of the learner plays a few rows, and is thrown away."""
        self._meet_schema()
        if isinstance(chunk, Meeting):  # any label will do
            few, known = chunk.records[:8], self.learner.classes_[:1]
            few = few if self.learner.sparse else self._dense(few)
            chunk = Chunk(few.X, np.resize(known, len(few)) if len(known) else np.zeros(len(few), dtype=np.int64))
        self._warm_up(chunk[:8])
        for other in self.others:
            other.warm_up(chunk if other.learner.sparse else other._dense(chunk))

    def _warm_up(self, few: Chunk) -> None:
        n, schema = len(few), self.stream.schema
        later = self.pending is not None or self.join is not None
        kind = (
            type(self.learner), repr(self.learner), self.learner.started, few.sparse, few.w is None,
            later, bool(schema.nominal_codes), schema.shape, self.names,
        )  # fmt: skip
        if kind in _WARM:
            return
        if len(_WARM) >= _MOST_WARM:
            _WARM.clear()
        with suppress(ValueError, TypeError):  # what is wrong with these rows is said when they are played in earnest
            twin = self.learner.copy()
            proba = twin.test_then_train(few.X, few.y)
            rehearse(twin)
            if later:
                twin.play(few.X, few.y, np.concatenate([np.arange(n), ~np.arange(n)]))
            scratch = Metrics(window=n)
            scratch.update(np.zeros(n, dtype=np.int64), proba)
            scratch.cumulative(), scratch.windowed()
            scratch.note()
            _WARM.add(kind)

    def step(self, chunk: Chunk | Meeting) -> None:
        """Predict, learn and score the next rows, and report if it is time."""
        self._meet_schema()
        if isinstance(chunk, Meeting):
            self._join(chunk)
            return
        w = None if chunk.w is None else door.weights(chunk.w, len(chunk))
        live = None if w is None or w.all() else np.flatnonzero(w)
        if live is None:
            codes = self._read(chunk.y)
        else:
            codes = np.zeros(len(chunk), dtype=np.int64)
            codes[live] = self._read(np.asarray(chunk.y)[live])
        proba = self._play(chunk, codes, w, live)
        self.metrics.update(codes, proba, w)
        if self.answers is not None:
            self.answers.put(self.stream, self.rows, proba, [] if self.labels is None else self.labels.values)
        if self.kept is not None:
            self.kept.append((codes if w is None else np.where(w > 0.0, codes, -1), proba))
        self._count(len(chunk))
        for other in self.others:
            other.step(chunk if other.learner.sparse else other._dense(chunk))
        self.busy, self.in_hand = False, 0

    def _count(self, n: int) -> None:
        """Count rows, and report if it is time."""
        self.rows += n
        if n and self.rows % self.every == 0:
            size = self.learner.state_bytes
            self.reports.add(self.metrics, self.rows, self._spent(size))
            self.changes = self._changes()
            self.weighed.report(self.rows // self.every, self.every, self.learner)
            self.ram, self.ram_cpu, self.peak = self._resources(size)

    def _join(self, meeting: Meeting) -> None:
        """Predict records, and score and learn those whose labels came, in the order in which all of them came."""
        assert self.join is not None
        if meeting.records.w is not None:
            raise ValueError("records must have no weights where their labels come from another stream, got some")
        codes = self._read(meeting.labels, "labels")
        assert self.labels is not None
        plan = self.join.meet(meeting, codes, len(self.labels))
        y = self.labels.to_array()[plan.codes] if len(self.labels) else plan.codes  # no label is looked at yet
        for run in (self, *self.others):
            if run is not self:
                run._meet_schema()
            if len(y):
                run._play_joined(plan, y)
            run._count(plan.n)
        self.busy, self.in_hand = False, 0

    def _play_joined(self, plan: Reunion, y: NDArray[Any]) -> None:
        learner, n = self.learner, plan.n
        X: Any = plan.X if learner.sparse or isinstance(plan.X, np.ndarray) else plan.X.toarray()
        learned = ~plan.events[plan.events < 0]
        codes = self._read(y[learned])
        offered, before = self.told.take(plan)
        gone = ~offered  # rows whose label the learner did not ask for are scored alone
        events = plan.events if not gone.any() else plan.events[(plan.events >= 0) | ~gone[~plan.events]]
        proba = self._arrange(self._timed(learner.play, X, y, events), len(y))
        asked = self._asked()
        if asked is None:
            asked = np.ones(len(y), dtype=np.bool_)
        asked[n:] = offered[n:]
        self.labels_used += int(np.count_nonzero(asked[learned]))
        if self.answers is not None and n:
            self.answers.put(self.stream, self.rows, proba[:n], [] if self.labels is None else self.labels.values)
        if self.kept is not None:
            self.kept.append((np.full(n, -1), proba[:n]))
            self.came.append((plan.numbers[learned], codes))
        self.told.keep(plan.places, proba[plan.held], asked[plan.held])
        wide = max(proba.shape[1], before.shape[1])
        scores = np.zeros((len(y), wide))
        scores[:n, : proba.shape[1]], scores[n:, : before.shape[1]] = proba[:n], before
        self.metrics.update(codes, scores[learned])

    def _play(self, chunk: Chunk, codes: Ints, w: Floats | None, live: Ints | None) -> Floats:
        learner, n = self.learner, len(chunk)
        if self.pending is not None:
            plan = self.pending.plan(chunk, codes, np.ones(n) if w is None else w)
            assert self.labels is not None
            # before the first label all rows have weight 0, and none is late
            y = self.labels.to_array()[plan.codes] if len(self.labels) else np.asarray(chunk.y)
            proba = self._timed(learner.play, plan.X, y, plan.events, plan.w)[plan.late :]
            learned = ~plan.events[plan.events < 0]
            asked = self._asked()
            if asked is None:
                asked = np.ones(len(plan.codes), dtype=np.bool_)
            asked[: plan.late] = True  # of the older rows only those that were asked for have waited
            self.labels_used += int(np.count_nonzero(asked[learned]))
            self.pending.keep(plan, asked[plan.late :])
            return self._arrange(proba, n)
        if live is None or w is None:
            proba, played = self._timed(learner.test_then_train, chunk.X, chunk.y, chunk.w), n
        else:  # rows of weight 0 are neither predicted nor learned
            part = self._timed(learner.test_then_train, chunk.X[live], np.asarray(chunk.y)[live], w[live])
            proba, played = np.zeros((n, part.shape[1])), len(live)
            proba[live] = part
        asked = self._asked()
        self.labels_used += played if asked is None else int(np.count_nonzero(asked))
        return self._arrange(proba, n)

    def _asked(self) -> NDArray[np.bool_] | None:
        """Of which rows of the last call was the label used: a learner that asks for labels tells, others use all."""
        asked: NDArray[np.bool_] | None = getattr(self.learner, "asked_rows", None)
        return asked

    def _timed(self, verb: Callable[..., Floats], *rows: Any) -> Floats:
        cpu, wall = time.process_time(), time.perf_counter()
        proba = verb(*rows)
        self.seconds += time.perf_counter() - wall
        self.cpu_seconds += time.process_time() - cpu
        return proba

    def _meet_schema(self) -> None:
        """Tell the learner what the stream knows about its features: names, nominal values, classes."""
        schema = self.stream.schema
        if schema is self._schema or schema == self._schema:
            return
        learner, known = self.learner, self.learner.schema
        if known is None and not len(learner.classes_):
            learner.declare(schema)
        elif known is not None:
            if known.names != schema.names and known.names != Schema.numeric(schema.n_features).names:
                raise ValueError(
                    f"stream must have the learner's features in the learner's order {list(known.names)}, "
                    f"got {list(schema.names)}"
                )
            features = tuple(_longer(a, b) for a, b in zip(known.features, schema.features, strict=True))
            if features != known.features and known.names == schema.names:
                learner.grow(structs.replace(known, features=features))
        self._schema = schema

    # -- labels and columns -------------------------------------------------------------------------------------------

    def _read(self, y: Any, name: str = "y") -> Ints:
        """Give the codes of labels: the learner's own where it knew them before, then in order of arrival."""
        if self.labels is None:
            schema = self.learner.schema
            self.labels = Labels(None if schema is None else schema.classes)
            self.labels.admit(self.labels.read(self.learner.classes_)[1])
        labels = self.labels
        codes, new = labels.read(y, name)
        labels.admit(new)
        return codes

    def _arrange(self, proba: Floats, n: int) -> Floats:
        """Put the learner's columns, which are in the order in which it learned the classes, in the order of codes."""
        assert self.labels is not None
        if self._straight and proba.shape == (n, len(self._columns)):
            return proba
        classes = self.learner.classes_
        if proba.shape != (n, len(classes)):
            raise ValueError(
                f"{type(self.learner).__name__} must give one row of {len(classes)} probabilities for each of the "
                f"{n} rows, got shape {proba.shape}"
            )
        if len(classes) != len(self._columns):
            self._columns, new = self.labels.read(classes)
            self.labels.admit(new)
            self._straight = bool((self._columns == np.arange(len(classes))).all())
        if self._straight:
            return proba
        arranged = np.zeros((n, len(self.labels)))
        arranged[:, self._columns] = proba
        return arranged

    # -- reports ------------------------------------------------------------------------------------------------------

    @property
    def column_names(self) -> list[str]:
        """What a report holds."""
        return [*self.reports.columns, "seconds", "cpu_seconds", *WHOLE[1:]]

    def _spent(self, size: int) -> tuple[float, ...]:
        """Give what a report has beside the metrics."""
        return self.seconds, self.cpu_seconds, size, self.labels_used

    def _resources(self, size: int) -> tuple[float, float, int]:
        """Give the RAM-hours, the CPU time up to which they are counted, and the largest state, up to now."""
        ram = self.ram + size * (self.cpu_seconds - self.ram_cpu) / GIB_HOUR
        return ram, self.cpu_seconds, max(self.peak, size)

    def result(self, stopped: str) -> Result:
        """Sum up, as if the stream ended here. The run itself can go on."""
        reports, size = list(self.reports.lines), self.learner.state_bytes
        if self.rows % self.every:
            reports.append(self.reports.line(self.metrics, self.rows, self._spent(size)))
        elif reports and self.join is not None:  # labels may have come after the last record
            reports[-1] = self.reports.line(self.metrics, self.rows, self._spent(size))
        columns = np.array(reports, dtype=np.float64).reshape(-1, len(self.column_names)).T
        recent = self.metrics.windowed(self.reports.recent)
        cumulative = self.metrics.cumulative(name for name in self.names if not METRICS[name].windowed)
        classes = [] if self.labels is None else [plain(v) for v in self.labels.values]
        confusion = np.zeros((len(classes), len(classes)))
        seen = self.metrics.confusion
        confusion[: len(seen), : len(seen)] = seen
        support = np.zeros(len(classes))
        support[: len(seen)] = self.metrics.support
        ram, _, peak = self._resources(size) if self.rows % self.every else (self.ram, 0.0, self.peak)
        pending = 0 if self.pending is None else len(self.pending) + self.pending.never
        joined = {} if self.join is None else self.join.counts()
        return Result(
            learner=self.name,
            params={k: plain(v) for k, v in self.learner.get_params(deep=False).items()},
            stream=self.stream_name,
            rows=self.rows,
            final={name: cumulative[name] if name in cumulative else recent[name] for name in self.names},
            recent=recent,
            curve={name: column(name, values) for name, values in zip(self.column_names, columns, strict=True)},
            classes=classes,
            confusion=confusion,
            support=support.tolist(),
            baselines=self.metrics.baselines,
            unpredicted=self.metrics.unpredicted,
            seconds=self.seconds,
            cpu_seconds=self.cpu_seconds,
            ram_hours=ram,
            state_bytes=size,
            peak_bytes=max(peak, size),
            labels_used=self.labels_used,
            labels_pending=pending + joined.get("open", 0) + joined.get("expired", 0),
            joined=joined,
            drifts=[int(d) for d in getattr(self.stream, "drifts", ()) if d < self.rows],
            detected=self._detected(),
            finds_drifts=finds_drifts(self.learner),
            n_changes=int(getattr(self.learner, "n_drifts", 0)) - self.drifts_before,
            importances=self.weighed.found(self.rows, self.learner),
            calibration=self.metrics.calibration,
            alerts=self.metrics.alerts,
            mistakes=[(row, classes[true], classes[guess], p) for row, true, guess, p in self.metrics.mistakes],
            others=[other.result(stopped) for other in self.others],
            every=self.every,
            window=self.window,
            delay=self.delay,
            stopped=stopped,
            replaced=self._replaced(),
            meta=about(self.stream),
            predictions=self._predictions(classes),
        )

    def _predictions(self, classes: list[Any]) -> Predictions | None:
        if self.kept is None:
            return None
        proba = np.zeros((self.rows, len(classes)))
        codes = np.full(self.rows, -1)
        at = 0
        for part, scores in self.kept:
            codes[at : at + len(part)] = part
            proba[at : at + len(part), : scores.shape[1]] = scores
            at += len(part)
        for rows, came in self.came:
            codes[rows] = came
        return Predictions(classes, codes, proba)

    def _changes(self) -> list[tuple[int, int]]:
        count = int(getattr(self.learner, "n_drifts", 0))
        known = self.changes[-1][1] if self.changes else self.drifts_before
        return [*self.changes, (self.rows, count)] if count > known else self.changes

    def _detected(self) -> list[int]:
        """Where the learner saw a change: it says so, it replaced members, or by a report it counted more changes."""
        told = [int(d) - self.learned_before for d in getattr(self.learner, "drifts", ())]
        if any(d > 0 for d in told):
            return [d for d in told if d > 0]
        members = sorted({row for row, _ in self._replaced()})
        return members or [row for row, _ in self._changes()]

    def _replaced(self) -> list[list[int]]:
        """When members were replaced: a learner counts the rows it learned, which may be fewer than those it met."""
        told = getattr(self.learner, "replacements", ())
        found = [(row - self.learned_before, t) for row, t in told if row > self.learned_before]
        if not found:
            return []
        learned, members = np.array(found).T
        if self.labels_used < self.rows:
            met, used = (self.column_names.index(name) for name in ("rows", "labels_used"))
            curve = np.array([(0, 0), *((p[met], p[used]) for p in self.reports.lines), (self.rows, self.labels_used)])
            learned = np.rint(np.interp(learned, curve[:, 1], curve[:, 0]))
        return [[int(row), int(t)] for row, t in zip(learned, members, strict=True)]


def _longer(known: Feature, given: Feature) -> Feature:
    """Give the feature with more values, of one the learner knows and one the stream has; their codes must agree."""
    mine, theirs = known.values, given.values
    if (mine is None) != (theirs is None):
        kinds = ["numeric" if v is None else "nominal" for v in (theirs, mine)]
        raise ValueError(f"feature {known.name!r} is {kinds[0]} in the stream, but {kinds[1]} in the learner")
    if mine is None or theirs is None:
        return known
    if any(a != b for a, b in zip(mine, theirs, strict=False)):
        raise ValueError(
            f"feature {known.name!r} has the values {list(theirs)!r} in the stream, "
            f"in another order than the learner knows them: {list(mine)!r}"
        )
    return given if len(theirs) > len(mine) else known
