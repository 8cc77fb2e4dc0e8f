"""Those who learn: the champion, whose answers are given, and its shadows; and what is known about their answers.

One thread owns all of this. It carries out the jobs that the book makes of the journal, in order; how jobs are put
together into calls changes nothing, since learners, metrics and detectors do not mind how rows are divided.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.answering import Answering
from thalweg.core.classifier import Classifier
from thalweg.core.inside import begin
from thalweg.core.labels import Labels
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under
from thalweg.detectors.adwin import ADWIN
from thalweg.evaluate.metrics import Metrics
from thalweg.serve.arranging import are_right, arranged, best, joined, merged, played, recalls, tallied
from thalweg.serve.contest import Contest
from thalweg.serve.entries import Began, Promoted, RolledBack
from thalweg.serve.history import CLASSES, SHADOWS, History
from thalweg.serve.jobs import Answers, Growth, Job, Labelled, Lesson
from thalweg.serve.watch import Watch

Floats = NDArray[np.float64]
_DRIFT = 2
_MOST_EVENTS = 200
_OFTEN = 1.0  # seconds of the journal's own time between two points of the rolling metrics


class Event(NamedTuple):
    """Something to be told: a drift, a promotion, a rollback."""

    at: float
    position: int
    kind: str
    text: str


class Version(NamedTuple):
    """What answers. It never changes: a newer one takes its place as a whole."""

    number: int
    """The position of the journal up to which it has learned: what a version is, is a function of that."""
    learned: int
    """Rows that it has learned."""
    at: float
    model: Answering
    classes: list[Any]
    features: int


@final
class Shadow:
    """A challenger: it learns what the champion learns, and is scored on the same labels, without answering."""

    def __init__(self, name: str, learner: Classifier, *, window: int, room: int, contest: Contest) -> None:
        self.name, self.learner, self.metrics, self.contest = name, learner, Metrics(window=window), contest
        self._said = np.zeros((room, 0))
        self._ticket = np.full(room, -1, dtype=np.int64)
        self.trouble: str | None = None

    def answer(self, job: Answers, labels: Labels) -> None:
        """Predict records, and remember what was predicted until their labels come."""
        proba = arranged(self.learner, self.learner.predict_proba(job.X), labels)
        places = (job.first + np.arange(len(job.X))) % len(self._ticket)
        if proba.shape[1] > self._said.shape[1]:
            self._said = np.pad(self._said, ((0, 0), (0, proba.shape[1] - self._said.shape[1])))
        self._said[places, : proba.shape[1]] = proba
        self._said[places, proba.shape[1] :] = 0.0
        self._ticket[places] = job.first + np.arange(len(job.X))

    def score(self, job: Labelled, champion_right: NDArray[np.bool_]) -> None:
        """Compare what was predicted with labels that came."""
        places = job.tickets % len(self._ticket)
        known = self._ticket[places] == job.tickets
        self._score(job.codes[known], self._said[places[known]], champion_right[known])

    def _score(self, codes: NDArray[np.int64], proba: Floats, champion_right: NDArray[np.bool_]) -> None:
        self.metrics.update(codes, proba)
        self.contest.see(are_right(proba, codes), champion_right)

    def learn_lesson(self, job: Lesson, labels: Labels, champion_right: NDArray[np.bool_]) -> None:
        """Test and train on records with labels."""
        self._score(job.codes, arranged(self.learner, played(self.learner, job), labels), champion_right)

    def state(self) -> State:
        """Copy out everything."""
        return (
            prefixed("learner", self.learner.state())
            | prefixed("metrics", self.metrics.state())
            | prefixed("contest", self.contest.state())
            | {"said": self._said.copy(), "ticket": self._ticket.copy()}
        )

    def restore(self, state: State) -> None:
        """Continue from what ``state`` gave."""
        self.learner.restore(under("learner", state))
        self.metrics.restore(under("metrics", state))
        self.contest.restore(under("contest", state))
        self._said, self._ticket = state["said"].copy(), state["ticket"].copy()


@final
class Learning:
    """The champion, its shadows, and their scores.

    champion: name and learner. shadows: likewise. labels: the book's, for the columns of probabilities. asking: does a
    strategy choose the labels? window: labels of the rolling metrics. room: tickets that may be open.
    """

    def __init__(
        self, champion: tuple[str, Classifier], shadows: Mapping[str, Classifier], *, labels: Labels, asking: bool,
        window: int, room: int, contest: Contest,
    ) -> None:  # fmt: skip
        self.name, self.learner = champion
        self._contest = contest
        self.window, self._room, self._asking = window, room, asking
        self.shadows = [self._shadow(name, learner) for name, learner in shadows.items()]
        self.labels = labels
        self.metrics = Metrics(window=window)
        self.detector = ADWIN()
        self.watch, self.history = Watch(), History()
        self.position = self.learned = 0
        self.events: list[Event] = []
        self.drifts = 0
        self.answered = np.zeros(0)
        """Answers given by class."""
        self.told = np.zeros(0)
        """Labels that came by class."""
        self.experts: dict[str, int] = {}
        self.last_label = 0.0
        self.trouble: str | None = None
        self.rollback: Any = None
        """Gives the champion's state at a position; the engine sets it."""
        self._shown = 0.0

    def _shadow(self, name: str, learner: Classifier) -> Shadow:
        contest = Contest(labels=self._contest.labels, alpha=self._contest.alpha)
        return Shadow(name, learner, window=self.window, room=self._room, contest=contest)

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def carry_out(self, work: Sequence[tuple[int, Sequence[Job]]]) -> bool:
        """Carry out the jobs of entries, each with its position, in order; say whether a drift was found."""
        drifts, together, answers = self.drifts, [], []
        for position, jobs in work:
            for job in jobs:
                if isinstance(job, Labelled):
                    together.append((position, job))
                elif isinstance(job, Answers):
                    if not self.shadows:
                        answers.append(job)
                        continue
                    if together:
                        self._learn(together)
                        together = []
                    self._see(job)
                else:
                    if together:
                        self._learn(together)
                        together = []
                    if isinstance(job, Growth):  # answers before it are narrower than what follows
                        for seen in joined(answers):
                            self._see(seen)
                        answers = []
                    self._other(position, job)
        if together:
            self._learn(together)
        for job in joined(answers):
            self._see(job)
        if work:
            self.position = work[-1][0]
        return self.drifts > drifts

    def _see(self, job: Answers) -> None:
        sure, winners = best(job.proba)
        self.answered = tallied(self.answered, winners[winners >= 0])
        wanted = float(np.count_nonzero(job.why))
        self.history.add(job.at, records=len(job.X), confidence=float(sure.sum()), asked=wanted)
        self._count_classes(job.at, "predicted", winners)
        self.watch.see(job.X, self.schema)
        for shadow in self.shadows:
            shadow.answer(job, self.labels)

    def _learn(self, together: list[tuple[int, Labelled]]) -> None:
        position, job = together[-1][0], merged([job for _, job in together])
        right = self._score(position, job.at, job.codes, job.proba)
        times, which = np.unique(job.arrived, return_inverse=True)
        counts, hits = np.bincount(which), np.bincount(which, weights=right)
        for at, n, good in zip(times.tolist(), counts.tolist(), hits.tolist(), strict=True):
            self.history.add(at, known=n, known_right=good)
        for _, one in together:
            if one.expert is not None and (one.expert in self.experts or len(self.experts) < 1_000):
                self.experts[one.expert] = self.experts.get(one.expert, 0) + len(one.y)
        for shadow in self.shadows:
            shadow.score(job, right)
        rows = np.flatnonzero(job.wanted)
        if not len(rows):
            return
        X, y = job.X[rows], [job.y[r] for r in rows.tolist()]
        for learner in (self.learner, *(shadow.learner for shadow in self.shadows)):
            try:
                learner.partial_fit(X, y)
            except (ValueError, TypeError) as error:  # the door of the service lets nothing in that could do this
                self.trouble = f"{type(learner).__name__} refused rows it should have learned: {error}"
        self.learned += len(rows)

    def _other(self, position: int, job: Job) -> None:
        if isinstance(job, Lesson):
            proba = arranged(self.learner, played(self.learner, job), self.labels)
            self.learned += len(job.X) if job.wanted is None else int(np.count_nonzero(job.wanted))
            right = self._score(position, job.at, job.codes, proba)
            self.watch.see(job.X, self.schema)
            for shadow in self.shadows:
                shadow.learn_lesson(job, self.labels, right)
        elif isinstance(job, Growth):
            for learner in (self.learner, *(shadow.learner for shadow in self.shadows)):
                self._grow(learner, job.schema)
        elif isinstance(job, Promoted):
            self._promote(position, job)
        elif isinstance(job, RolledBack):
            self._roll_back(position, job)
        elif isinstance(job, Began):
            pass

    def _grow(self, learner: Classifier, schema: Schema) -> None:
        learner.grow(schema)
        if self._asking:  # a learner that asks begins with the first record, not with the first label
            begin(learner, schema)

    def _score(self, position: int, at: float, codes: NDArray[np.int64], proba: Floats) -> NDArray[np.bool_]:
        self.metrics.update(codes, proba)
        right = are_right(proba, codes)
        self.told = tallied(self.told, codes)
        self.last_label = max(self.last_label, at)
        self.history.add(at, labels=len(codes), right=float(np.count_nonzero(right)))
        self._count_classes(at, "labelled", codes)
        levels = self.detector.update_many((~right).astype(np.float64))
        found = int(np.count_nonzero(levels == _DRIFT))
        if found:
            self.drifts += found
            self.history.add(at, drifts=found)
            text = f"errors rose to {100 * self.detector.estimate:.1f} % of the latest {self.detector.width:,} labels"
            self._tell(Event(at, position, "drift", text))
        if at - self._shown >= _OFTEN:
            self._shown = at
            self._point(at)
        return right

    def _point(self, at: float) -> None:
        """Write down the rolling metrics."""
        confusion, baselines = self.metrics.window_counts()
        values = self.metrics.windowed(["accuracy", "kappa"])
        for c, recall in enumerate(recalls(confusion)[:CLASSES]):
            values[f"recall_{c}"] = recall
        for s, shadow in enumerate(self.shadows[:SHADOWS]):
            values[f"shadow_{s}"] = shadow.metrics.windowed(["accuracy"])["accuracy"]
        self.history.put(at, **values, **baselines)

    def _count_classes(self, at: float, what: str, codes: NDArray[np.int64]) -> None:
        few = codes[(codes >= 0) & (codes < CLASSES)]
        counts = np.bincount(few)
        self.history.add(at, **{f"{what}_{c}": float(counts[c]) for c in np.flatnonzero(counts).tolist()})

    def _promote(self, position: int, job: Promoted) -> None:
        for k, shadow in enumerate(self.shadows):
            if shadow.name == job.name:
                self.shadows[k] = self._shadow(self.name, self.learner)
                self._tell(
                    Event(job.at, position, "promotion", f"{job.name} takes the place of {self.name}: {job.why}")
                )
                self.name, self.learner = shadow.name, shadow.learner
                self.detector.reset()
                for other in self.shadows:
                    other.contest.reset()
                return

    def _roll_back(self, position: int, job: RolledBack) -> None:
        name, state = self.rollback(job.position)
        if name == self.name:
            self.learner.restore(state)
            schema = self.learner.schema
            if schema is not None and self.schema is not None and schema != self.schema:
                self._grow(self.learner, self.schema)
            self.detector.reset()
            self._tell(
                Event(job.at, position, "rollback", f"{name} is as it was at position {job.position}: {job.why}")
            )

    @property
    def schema(self) -> Schema | None:
        """The schema of the champion."""
        return self.learner.schema

    def _tell(self, event: Event) -> None:
        self.events.append(event)
        del self.events[:-_MOST_EVENTS]

    def ready_to_promote(self) -> Shadow | None:
        """A shadow that has won its contest; None: there is none."""
        won = [shadow for shadow in self.shadows if shadow.contest.won]
        return max(won, key=lambda shadow: shadow.contest.evidence) if won else None

    # -- versions -----------------------------------------------------------------------------------------------------

    def make_version(self) -> Version:
        """Make a version of the champion as it is now."""
        learner: Any = self.learner
        freeze = getattr(learner, "compile", None)
        model = learner.copy() if freeze is None or not learner.started else freeze()
        schema = learner.schema
        features = 0 if schema is None else schema.n_features
        classes = learner.classes_.tolist()
        return Version(self.position, self.learned, time.time(), model, classes, features)

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[State, dict[str, Any]]:
        """Copy out everything: arrays, and what a header holds."""
        arrays = prefixed("champion", self.learner.state()) | prefixed("metrics", self.metrics.state())
        arrays |= prefixed("detector", self.detector.state()) | prefixed("watch", self.watch.state())
        arrays |= prefixed("history", self.history.state())
        arrays |= {"answered": self.answered.copy(), "told": self.told.copy()}
        for k, shadow in enumerate(self.shadows):
            arrays |= prefixed(f"shadow{k}", shadow.state())
        about = {
            "position": self.position,
            "learned": self.learned,
            "drifts": self.drifts,
            "last_label": self.last_label,
            "champion": [self.name, repr(self.learner.get_params(deep=False))],
            "shadows": [[s.name, repr(s.learner.get_params(deep=False))] for s in self.shadows],
            "events": [list(event) for event in self.events],
            "experts": dict(self.experts),
        }
        return arrays, about

    def restore(self, arrays: State, about: dict[str, Any], templates: Mapping[str, Classifier]) -> None:
        """Continue from what ``state`` gave; templates: learners by name, of which the state may put any first."""
        name = self._same(about["champion"], templates)
        learner = templates[name].fresh()
        learner.restore(under("champion", arrays))
        kept = {each[0]: k for k, each in enumerate(about["shadows"]) if each[0] in templates and each[0] != name}
        shadows = []
        for each in (n for n in templates if n != name):
            shadow = self._shadow(each, templates[each].fresh())
            if each in kept:
                self._same(about["shadows"][kept[each]], templates)
                shadow.restore(under(f"shadow{kept[each]}", arrays))
            elif learner.schema is not None:
                self._grow(shadow.learner, learner.schema)
            shadows.append(shadow)
        self.metrics.restore(under("metrics", arrays))
        self.detector.restore(under("detector", arrays))
        self.watch.restore(under("watch", arrays))
        self.history.restore(under("history", arrays))
        self.answered, self.told = arrays["answered"].copy(), arrays["told"].copy()
        self.name, self.learner, self.shadows = name, learner, shadows
        self.position, self.learned = about["position"], about["learned"]
        self.drifts, self.last_label = about["drifts"], about["last_label"]
        self.events = [Event(*event) for event in about["events"]]
        self.experts = dict(about["experts"])

    def _same(self, kept: list[str], templates: Mapping[str, Classifier]) -> str:
        name, params = kept
        if name not in templates:
            raise ValueError(f"learner and shadows must be those of the folder, got none called {name!r}")
        given = repr(templates[name].get_params(deep=False))
        if given != params:
            raise ValueError(f"{name} must have the parameters it has in the folder, {params}, got {given}")
        return name
