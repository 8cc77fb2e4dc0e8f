"""CKDTForest: bagged trees, each on its own choice of landmarks and modes."""

from typing import Annotated, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import fields, params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check, table
from thalweg.core.door import Rows
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under
from thalweg.detectors import adwin_jit
from thalweg.detectors.tensor_drift import TensorDriftDetector
from thalweg.learners.tensors.buffer import MANY, TensorBuffer
from thalweg.learners.tensors.chordal_features import ChordalFeatures, Similarity
from thalweg.learners.tensors.ckdt import draw
from thalweg.learners.tensors.ckdt_forest_jit import vote
from thalweg.learners.tensors.records import Records, TensorParams
from thalweg.learners.tensors.tensor_tree import GUARD, GUARD_RULES, Block, blocks, shares, sound_guards
from thalweg.learners.trees.binned import BinnedTreeParams, BinnedTrees, Bound, Leaf
from thalweg.tensors.bases import RankRule
from thalweg.tensors.forms import Tensors

POOLS = 2
STRETCH = 32
"""After so many learned tensors trees are looked at: ADWIN does not look more often either."""
ALERT = 500
"""So many tensors after a drift of the tensors a rise of the errors is waited for."""
MEMORY = 1.0 / 500.0
"""What one tensor counts in the accuracy of a member."""
FAST, SLOW = 1.0 / 64.0, 1.0 / 1024.0
"""What one tensor counts in the errors of the forest, the recent ones and those for comparison."""
MARK_LEARNED, MARK_ALERTED, MARK_BUILDS, MARK_RESTARTS, MARKS = range(5)
"""Places in ``marks``: tensors learned; those since a drift of the tensors; halves drawn; members restarted."""
_PARTS = ("_records", "_maps", "_columns", "_trees", "_guards", "_detector", "_recent", "_marks", "_seen", "_accuracy",
          "_errors", "_failing")  # fmt: skip


class Progress(NamedTuple):
    """How far a forest has come."""

    marks: Annotated[Ints, table(MARKS, least=0, most=MANY)]
    """MARKS."""
    seen: Annotated[Floats, table("known", least=0)]
    """known ≤ classes: the weight of each class so far."""
    accuracy: Annotated[Floats, table("size", least=0)]
    """size: the decayed accuracy of each member."""
    errors: Annotated[Floats, table(2, least=0)]
    """2: the decayed errors of the forest, recent ones and those for comparison."""
    failing: Annotated[Ints, table("size", least=0, most=1)]
    """size: 1: the errors of the member have risen."""
    guards: Annotated[Floats, table("size", "columns", loose=True)]
    """size × –: rows of GUARD, which knows what they may be."""


class Choices(NamedTuple):
    """Which features each member has."""

    columns: Annotated[Ints, table("size", "m", least=0, most="width - 1")]
    """size × m: columns of what its half of the pool says."""


@final
class CKDTForest(BinnedTreeParams, RankRule, TensorParams, Classifier):
    """Trees like that of CKDT, bagged: each has its own features, drawn from the landmarks and modes of a common pool.

    A tensor is decomposed once, and compared with the ``pool`` landmarks, of which there are two halves: the
    members 0, 2, 4, … draw from one, the others from the other. A member learns each tensor with a weight from
    Poisson(rate); the vote is the geometric mean of what they say, each counted by its accuracy over the last 500
    tensors or so. A member whose errors rise (ADWIN) begins anew with the last ``window`` tensors. When the tensors
    change (TensorDriftDetector) and the errors of the forest rise within 500 tensors, the half with the worse members
    is drawn from the new tensors, and its members begin anew; the other half stays until the next drift.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 600)
    >>> X = rng.gamma(np.where(y == 1, 3.0, 0.5)[:, None, None], size=(600, 8, 8))
    >>> forest = CKDTForest(size=5)
    >>> proba = forest.test_then_train(X, y)
    >>> bool((proba.argmax(axis=1) == y)[300:].mean() > 0.9)
    True
    """

    sparse: bool = fields.fixed(True)
    tensors = True
    bounded = True

    size: int = fields.whole(default=10, doc="Number of trees.", least=1, most=10_000)
    rate: float = fields.number(default=6.0, doc="Mean of the Poisson weight of a tensor (λ).", above=0, below=100)
    landmarks: int = fields.whole(
        default=20,
        doc="A member has as many features as so many landmarks give, at most those of its half of the pool.",
        least=1,
        most=1_000_000,
        old="n_landmarks",
    )
    pool: int = fields.whole(default=200, doc="Landmarks that members draw from, in two halves.", least=POOLS)
    similarity: Similarity = fields.choice(default="auto", doc="The features, see ChordalFeatures.", old="features")
    append_norm: bool = fields.flag(default=True, doc="Is the log of the norm a feature, too?")
    window: int = fields.whole(default=200, doc="The latest tensors, which are kept.", least=4, most=1_000_000)
    min_rebuild: int = fields.whole(
        default=100,
        doc="Tensors that landmarks are drawn from, at least; not fewer than half of the pool. The first half is drawn "
        "from so many, and until then the most frequent class answers; the second when the window is full.",
        least=2,
    )
    bound: Bound = fields.again(default="lcb")
    leaf: Leaf = fields.again(default="adaptive")

    def _prepare(self) -> None:
        params.whole("pool", self.pool, least=POOLS, most=self.window)
        params.whole("min_rebuild", self.min_rebuild, least=max(2, self.pool // POOLS), most=self.window)
        self._new_map()

    # -- parts --------------------------------------------------------------------------------------------------------

    def _new_map(self) -> ChordalFeatures:
        return ChordalFeatures(
            similarity=self.similarity, rank=self.rank, max_rank=self.max_rank, energy=self.energy,
            append_norm=self.append_norm, seed=self.seed,
        )  # fmt: skip

    def _start(self, schema: Schema) -> None:
        self._records = Records(type(self).__name__, self.shape, schema)
        self._maps: list[ChordalFeatures] = []
        self._columns: Ints = np.zeros((self.size, 0), dtype=np.int64)
        rules = {name: getattr(self, name) for name in BinnedTreeParams._fields}
        self._trees = BinnedTrees(trees=self.size, **rules)
        self._guards = GUARD.new_rows(self.size)
        self._detector = TensorDriftDetector(window=self.window, seed=self.seed)
        self._recent = TensorBuffer(self.window)
        self._marks = np.zeros(MARKS, dtype=np.int64)
        self._seen, self._accuracy, self._errors = np.zeros(0), np.full(self.size, 0.5), np.zeros(2)
        self._failing = np.zeros(self.size, dtype=np.int64)

    def _of_pool(self, p: int) -> range:
        """The members that draw from a half of the pool."""
        return range(p, self.size, POOLS)

    def _members(self) -> list[int]:
        """Those whose half of the pool has been drawn."""
        return [t for t in range(self.size) if t % POOLS < len(self._maps)]

    @property
    def _ripe(self) -> tuple[int, ...]:
        """How many tensors each half of the pool is first drawn from."""
        return (self.min_rebuild, self.window)

    # -- the stream ---------------------------------------------------------------------------------------------------

    def _extend(self, schema: Schema) -> None:
        """Refuse records of another shape; classes and names may join."""
        self._records = self._records.extended(schema)

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if len(self._seen) < out.shape[1]:
            self._seen = np.pad(self._seen, (0, out.shape[1] - len(self._seen)))
        for block in blocks(self._records, X, y, w, events, out):
            known = self._play_block(block, known)

    def _play_block(self, block: Block, known: int) -> int:
        X, y, w, learned, said = block
        at = 0
        while at < len(X):
            here = slice(at, at + self._stretch(learned[at:], y[at:], known))
            part = X[here]
            answer = self._vote if self._maps else self._wait
            known = answer(part, y[here], w[here], learned[here], said[here], known)
            if learned[here].any():
                self._tend(part[learned[here]])
            at = here.stop
        return known

    def _stretch(self, learned: NDArray[np.bool_], y: Ints, known: int) -> int:
        """How many tensors to go on with before a class is new, or the trees are looked at or built."""
        most = STRETCH - int(self._marks[MARK_LEARNED]) % STRETCH
        if len(self._maps) < POOLS:
            most = min(most, self._ripe[len(self._maps)] - len(self._recent))
        places = np.flatnonzero(learned)
        new = np.flatnonzero(y[places] >= known) if len(places) else places
        most = min(most, int(new[0]) + 1) if len(new) else most
        return int(places[most - 1]) + 1 if len(places) >= most else len(learned)

    def _wait(self, X: Tensors, y: Ints, w: Floats, learned: NDArray[np.bool_], said: Floats, known: int) -> int:
        """Answer with the shares of the classes, and keep the tensors."""
        for i in range(len(X)):
            said[i, :known] = shares(self._seen[:known])
            if learned[i]:
                self._keep(X[i : i + 1], int(y[i]), float(w[i]))
                known = max(known, int(y[i]) + 1)
        return known

    def _keep(self, tensor: Tensors, label: int, weight: float) -> None:
        self._seen[label] += weight
        self._marks[MARK_LEARNED] += 1
        self._recent.add(tensor, label, weight, int(self._marks[MARK_LEARNED]))

    def _vote(self, X: Tensors, y: Ints, w: Floats, learned: NDArray[np.bool_], said: Floats, known: int) -> int:
        """Ask all members, and let them learn."""
        n, F = len(X), self._features(X)
        each, places = np.arange(n), np.flatnonzero(learned)
        order = np.stack([each, ~each], axis=1).reshape(-1)
        draws = self._draws(len(places))
        opinions = np.zeros((self.size, n, said.shape[1]))
        drawn = np.zeros(self.size)  # members whose half of the pool is there
        for t in self._members():
            drawn[t] = 1.0
            weights = np.zeros(n)
            weights[places] = w[places] * draws[:, t] if len(places) else 0.0
            mine = order[(order >= 0) | (np.repeat(weights, 2) > 0.0)]
            self._trees.play(
                np.ascontiguousarray(F[t % POOLS][:, self._columns[t]]), y, weights, mine, opinions[t], known, t
            )
        right = opinions[:, places].argmax(axis=2) == y[places] if len(places) else np.zeros((self.size, 0), dtype=bool)
        at = 0
        for i in range(n):
            vote(opinions, i, self._accuracy * drawn, known, said[i])
            if learned[i]:
                wrong = float(said[i].argmax() != y[i])
                self._accuracy += MEMORY * (right[:, at] - self._accuracy)
                count = 1 + self._marks[MARK_LEARNED] - self.min_rebuild
                self._errors += np.maximum([FAST, SLOW], 1.0 / count) * (wrong - self._errors)
                self._keep(X[i : i + 1], int(y[i]), float(w[i]))
                known, at = max(known, int(y[i]) + 1), at + 1
        for t in self._members():
            for wrong in 1.0 - right[t]:
                self._failing[t] |= adwin_jit.step(self._guards, t, wrong, GUARD_RULES) == 2
        return known

    def _features(self, X: Tensors) -> list[Floats]:
        """Give what each half of the pool says of tensors; they are decomposed once."""
        bases = self._maps[0].bases(X)
        return [m.transform(bases) for m in self._maps]

    def _draws(self, n: int) -> Floats:
        """Draw the weight of the next n learned tensors for each member."""
        first = int(self._marks[MARK_LEARNED])
        keys = (np.array([self.seed % 2**64, first + i], dtype=np.uint64) for i in range(n))
        rngs = (np.random.Generator(np.random.Philox(key=key)) for key in keys)
        return np.array([rng.poisson(self.rate, self.size) for rng in rngs], dtype=np.float64).reshape(n, self.size)

    # -- drift --------------------------------------------------------------------------------------------------------

    def _tend(self, learned: Tensors) -> None:
        """Draw the first landmarks when it is time; watch the tensors that were learned."""
        marks = self._marks
        if len(self._maps) < POOLS:
            while len(self._maps) < POOLS and len(self._recent) >= self._ripe[len(self._maps)]:
                self._maps.append(self._new_map())
                p = len(self._maps) - 1
                self._fill(p, self._recent.tensors, self._recent.labels)
                self._begin_anew(list(self._of_pool(p)))
            if len(self._maps) == POOLS:
                self._detector.reference(self._recent.tensors)
            return
        if marks[MARK_ALERTED]:
            marks[MARK_ALERTED] += len(learned)
        else:
            levels = self._detector.take(learned, stop=True)
            if levels[-1] == 2:
                marks[MARK_ALERTED] = 1 + len(learned) - len(levels)
        if marks[MARK_LEARNED] % STRETCH == 0:
            self._react()

    def _react(self) -> None:
        """Let members that fail begin anew, and half of the pool after a drift that does harm."""
        marks, failing = self._marks, np.flatnonzero(self._failing).tolist()
        self._failing[:] = 0
        if failing:
            marks[MARK_RESTARTS] += len(failing)
            self._begin_anew(failing)
        recent, before = self._errors
        worse = recent > before + 3.0 * float(np.sqrt(before * (1.0 - before) * FAST / 2.0))
        if marks[MARK_ALERTED] >= self.min_rebuild and worse:
            means = [self._accuracy[p::POOLS].mean() if len(self._of_pool(p)) else 1.0 for p in range(POOLS)]
            p, last = int(np.argmin(means)), slice(-min(int(marks[MARK_ALERTED]), self.window), None)
            X = self._recent.tensors[last]
            self._fill(p, X, self._recent.labels[last])
            self._begin_anew(list(self._of_pool(p)), last)
            self._detector.reference(X)
            self._errors[:] = self._errors[0]
            marks[MARK_ALERTED] = 0
        elif marks[MARK_ALERTED] > ALERT:
            self._detector.reference(self._recent.tensors)
            marks[MARK_ALERTED] = 0

    def _fill(self, p: int, X: Tensors, y: Ints) -> None:
        """Draw a half of the pool from tensors, and the features of its members from it."""
        self._marks[MARK_BUILDS] += 1
        rng = np.random.default_rng([self.seed, int(self._marks[MARK_BUILDS])])
        drawn = draw(rng, X, y, self.pool // POOLS, stratify=True, how=self._new_map())
        self._maps[p] = self._new_map().fit(X[drawn])
        width = self._maps[p].width
        per = (width - self.append_norm) // len(drawn)
        most = min(width, self.landmarks * per + self.append_norm)
        if not self._columns.shape[1]:  # from now on as many: both halves always have as many landmarks
            self._columns = np.zeros((self.size, most), dtype=np.int64)
        for t in self._of_pool(p):
            chosen = np.sort(rng.choice(width, most, replace=False))
            if self.append_norm:
                chosen[-1] = width - 1
            self._columns[t] = chosen

    def _begin_anew(self, members: list[int], last: slice = slice(None)) -> None:
        """Let members begin with the latest tensors."""
        kept = self._recent
        F, y, w = self._features(kept.tensors[last]), kept.labels[last], kept.weights[last]
        for t in members:
            mine = np.ascontiguousarray(F[t % POOLS][:, self._columns[t]])
            self._trees.begin(t, mine)
            self._trees.learn(t, mine, y, w)
            self._guards[t] = GUARD.new_rows(1)[0]
            self._accuracy[t] = 0.5

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def n_builds(self) -> int:
        """How often half of the landmarks were drawn: twice in the beginning, then once at a drift."""
        return int(self._marks[MARK_BUILDS]) if self._started else 0

    @property
    def n_restarts(self) -> int:
        """How often a member began anew because its errors had risen."""
        return int(self._marks[MARK_RESTARTS]) if self._started else 0

    @property
    def n_drifts(self) -> int:
        """How often landmarks or members were replaced because the stream had changed."""
        return max(self.n_builds - POOLS, 0) + self.n_restarts

    @property
    def n_leaves(self) -> list[int]:
        """Leaves of each tree."""
        return self._trees.n_leaves.tolist() if self._started else [1] * self.size

    # -- state --------------------------------------------------------------------------------------------------------

    def _tables(self) -> State:
        tables: State = {
            "marks": self._marks, "seen": self._seen, "accuracy": self._accuracy, "errors": self._errors,
            "failing": self._failing, "columns": self._columns, "guards": self._guards,
        }  # fmt: skip
        tables |= prefixed("drift", self._detector.state()) | prefixed("recent", self._recent.state())
        tables |= prefixed("trees", self._trees.tables())
        for p, features in enumerate(self._maps):
            tables |= prefixed(f"map{p}", features.state())
        return tables

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        made = type(self)(**self.get_params(deep=False))  # beside, so that a state that is refused changes nothing
        made._start(schema)
        known = check(Progress, tables, size=self.size, most={"known": classes})["known"]
        made._marks, made._seen, made._accuracy = tables["marks"], tables["seen"], tables["accuracy"]
        made._errors, made._failing = tables["errors"], tables["failing"]
        made._guards = sound_guards(tables, "guards", self.size)
        made._detector.restore(under("drift", tables))
        made._recent.restore(under("recent", tables), known)
        made._records.refuse_others("detector", *made._detector.layout)
        made._records.refuse_others("window", *made._recent.layout)
        made._trees.adopt(under("trees", tables), classes)
        states = [state for p in range(POOLS) if (state := under(f"map{p}", tables))]
        if len(states) != sum(len(made._recent) >= ripe for ripe in self._ripe):
            raise ValueError("it lacks landmarks, or the tensors that they come from")
        for state in states:
            made._maps.append(self._new_map())
            made._maps[-1].restore(state)
            made._records.refuse_others("map", *made._maps[-1].layout, bases=True)
        width = min((m.width for m in made._maps), default=0)
        check(Choices, tables, size=self.size, width=width)
        made._columns = tables["columns"]
        if (made._trees.n_features[made._members()] != made._columns.shape[1]).any():
            raise ValueError("its trees are not on the features of its landmarks")
        for name in _PARTS:
            setattr(self, name, getattr(made, name))
