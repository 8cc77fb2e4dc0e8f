"""Bagged nearest neighbours, each member behind a projection of its own."""

from typing import Any, Literal, final

import numpy as np
from numba import config

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.fields import again, choice, whole
from thalweg.core.inside import Inner, made_like
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.steps import cut, unroll
from thalweg.core.tables import prefixed, under
from thalweg.detectors.by_name import make_detector
from thalweg.learners.compressed import csb_knn_jit as jit
from thalweg.learners.compressed.csb_knn_row import OneRow
from thalweg.learners.compressed.projected import RandomProjection
from thalweg.learners.windows import replaced
from thalweg.learners.windows.knn import WindowKNN
from thalweg.learners.windows.neighbours import Bagging, Neighbours
from thalweg.projections.by_name import make_projection
from thalweg.projections.projection import Linear, Projection


@final
class CompressedBagging(replaced.Replacing, Bagging, Neighbours, RandomProjection, Classifier):
    """Leveraging bagging over nearest neighbours behind random projections (CSB-kNN): the matrices make them differ.

    A member that is replaced gets a new matrix. A projection that moves ("pca") is not for this; CompressedBaggedKNN
    has one matrix for all members.

    References
    ----------
    M. Bahri, A. Bifet, S. Maniu, R. de Mello, N. Tziortziotis, "Compressed k-nearest neighbors ensembles for evolving
    data streams", ECAI 2020.

    Examples
    --------
    >>> from thalweg import CompressedBagging, Text
    >>> chunk = Text(words=500, seed=1).read(3_000)
    >>> learner = CompressedBagging(size=5, p=20)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.7)
    True
    """

    missing = "native"
    sparse = True
    bounded = True

    size: int = whole(default=10, doc="Number of members.", least=1, most=10_000)
    draws: Literal["skip", "vote"] = choice(
        default="skip",
        doc='"skip": a member leaves a row out where its draw is 0, and that is all (the paper); "vote": the vote of a '
        "neighbour counts as often as it was drawn.",
    )
    seed: int = again(default=1, doc="For matrices and draws.")

    __slots__ = ("_bag", "_kind", "_members", "_projections", "_spare")

    def _prepare(self) -> None:
        if self._new_projection(0, 0).moves:
            raise ValueError(f"projection must be one that does not move, got {shown(self.projection)}")

    # -- looking at it ------------------------------------------------------------------------------------------------

    def memory(self) -> dict[str, int]:
        """Bytes of the members, of their projections, and of the detectors."""
        if not self._started:
            return {}
        return {
            "members": sum(member.state_bytes for member in self._members),
            "projections": sum(p.nbytes for p in self._projections),
            "detectors": sum(self._bag[name].nbytes for name in ("detectors", "dice", "counts")),
        }

    @property
    def state_bytes(self) -> int:
        """Bytes of the model and of the projections, also where these are drawn anew after loading."""
        return sum(self.memory().values())

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        size = int(self.size)
        self._kind = make_detector("drift", self.drift)
        self._bag = replaced.new_members(size, self.seed, self._kind)
        self._projections = [self._new_projection(i, 0) for i in range(size)]
        for projection in self._projections:
            projection.begin(schema)
        self._members = [self._fresh_member() for _ in range(size)]
        self._spare: list[OneRow] = []

    def _play(self, X: Any, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if len(events) == X.shape[0] == 1 and self._play_row(X, y, w, events.item(0) < 0, out, known):
            return
        while len(events):
            n = cut(events, y, known, len(events))
            self._play_block(X, y, w, events[:n], out, known)
            learned = ~events[:n][events[:n] < 0]
            known = max(known, int(y[learned].max(initial=-1)) + 1)
            events = events[n:]

    def _play_row(self, X: Any, y: Ints, w: Floats, learns: bool, out: Floats, known: int) -> bool:
        """Predict the one row of X, or learn it, in one compiled call; False: that is not to be had."""
        if not isinstance(X, np.ndarray) or self.precision != "float64" or config.DISABLE_JIT:
            return False
        spare, classes = self._spare, out.shape[1]
        one = spare.pop() if spare else None  # of threads at once each has one
        if one is None or one.classes != classes:
            windows = [w for w in (member.learner.dense_window for member in self._members) if w is not None]
            drawn = [projection for projection in self._projections if isinstance(projection, Linear)]
            if not len(windows) == len(drawn) == int(self.size):
                return False
            one = OneRow(windows, drawn, self._bag, self._kind, self.draws == "vote", classes)
        failing = one.play(X, y, w, float(self.rate), learns, out, known)
        if failing is None:
            return False
        spare.append(one)
        if learns:
            self._bag["learned"][0] += 1
            if failing >= 0:
                self._replace(failing, int(self._bag["learned"][0]))
        return True

    def _play_block(self, X: Any, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        """Play events at whose end, at most, a class is new.

        Each member plays all of them as if none were replaced; the one that is plays again from there on.
        """
        steps = unroll(events)
        learns = np.flatnonzero(steps.events < 0)
        learned = ~steps.events[learns]
        if len(y):
            y, w = y[steps.rows], w[steps.rows]
        drawn = np.empty((len(self._members), len(learned)), dtype=np.int64)
        jit.draw(self._bag["dice"], float(self.rate), drawn)
        seen = [self._seen(projection, X, steps.rows) for projection in self._projections]
        answers = np.zeros((len(self._members), len(steps.rows), max(1, out.shape[1])))

        def play(i: int, after: int) -> None:
            """Let member i play the events after so many learned rows."""
            own = np.ones(len(steps.events), dtype=np.bool_)
            own[learns] = drawn[i] > 0
            own[: learns[after - 1] + 1 if after else 0] = False
            weight = w.copy()
            if self.draws == "vote":
                weight[learned] *= drawn[i]
            todo = steps.events[own]
            answers[i, todo[todo >= 0]] = 0.0
            self._members[i].play(seen[i], y, weight, todo, answers[i], known)

        for i in range(len(self._members)):
            play(i, 0)
        if self._kind is not None and len(learned):
            truth, code, rules, detectors = y[learned], self._kind.code, self._kind.rules(), self._bag["detectors"]
            errors = (answers[:, learned].argmax(axis=2) != truth).astype(np.float64)
            shown = jit.watch(detectors, code, rules, errors, 0)
            while shown <= len(learned):
                i = int(jit.find_worst(detectors, code))
                self._replace(i, int(self._bag["learned"][0]) + shown)
                seen[i] = self._seen(self._projections[i], X, steps.rows)
                play(i, shown)
                errors[i, shown:] = answers[i, learned[shown:]].argmax(axis=1) != truth[shown:]
                shown = jit.watch(detectors, code, rules, errors, shown)
        self._bag["learned"][0] += len(learned)
        if len(steps.asked):
            out[steps.rows[steps.asked]] = answers[:, steps.asked, : out.shape[1]].mean(axis=0)

    def _extend(self, schema: Schema) -> None:
        self._spare = []
        for projection in self._projections:
            projection.begin(schema)

    def _tables(self) -> State:
        tables = self._bag | prefixed("projection", self._projections[0].tables())
        for i, member in enumerate(self._members):
            tables |= member.tables(f"{i}")
        return tables

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        size, kind = int(self.size), make_detector("drift", self.drift)
        bag = replaced.adopt_members(tables, size, kind)
        drawn = under("projection", tables)
        projections = []
        for i in range(size):
            projections.append(self._new_projection(i, int(bag["counts"][i])))
            projections[-1].adopt(drawn, schema)
        seen = Schema.numeric(projections[0].dimension)
        members = [Inner.adopt(made_like(WindowKNN, self), f"{i}", tables, seen, classes) for i in range(size)]
        self._bag, self._kind, self._projections, self._members, self._spare = bag, kind, projections, members, []

    # -- inside -------------------------------------------------------------------------------------------------------

    def _fresh_member(self) -> Inner[WindowKNN]:
        """Make a member that has seen nothing but knows how wide its rows are."""
        return Inner(made_like(WindowKNN, self), Schema.numeric(self._projections[0].dimension))

    def _new_projection(self, i: int, generation: int) -> Projection:
        """Make the projection of member i after so many replacements."""
        seed = int(np.random.SeedSequence([int(self.seed), i, generation]).generate_state(1)[0])
        return make_projection("projection", self.projection, seed=seed, **self._size())

    def _seen(self, projection: Projection, X: Any, rows: Ints) -> Floats:
        """Project rows as a member sees them."""
        out = np.zeros((len(rows), projection.dimension))
        projection.project(X, rows, out)
        return out

    def _replace(self, i: int, now: int) -> None:
        """Let member i start again, after so many learned rows."""
        assert self._schema is not None
        assert self._kind is not None
        counts, self._spare = self._bag["counts"], []
        self._bag["replaced"][i, counts[i] % replaced.KEPT] = now
        counts[i] += 1
        self._members[i] = self._fresh_member()
        self._bag["detectors"][i] = self._kind.new_rows(1)[0]
        projection = self._new_projection(i, int(counts[i]))
        projection.adopt(self._projections[i].tables(), self._schema)
        self._projections[i] = projection
