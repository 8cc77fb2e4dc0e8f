"""A tree on features of tensors, built again from the latest tensors when they change."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Protocol, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import fields, params
from thalweg.core.classifier import Floats, Ints
from thalweg.core.declared import check, span, table
from thalweg.core.door import Rows
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under
from thalweg.detectors import adwin_jit
from thalweg.detectors.adwin import ADWIN
from thalweg.detectors.tensor_drift import TensorDriftDetector
from thalweg.learners.tensors.buffer import MANY, TensorBuffer
from thalweg.learners.tensors.maps import TensorMap
from thalweg.learners.tensors.records import LARGEST, Records, TensorParams
from thalweg.learners.trees.binned import BinnedTreeParams, BinnedTrees
from thalweg.tensors.forms import Tensors

PRESETS: dict[str, dict[str, Any]] = {
    "default": {
        "bound": "lcb", "leaf": "adaptive", "rule": "cusum", "error_guard": True, "replace": "better",
        "similarity": "auto", "rank": "energy", "append_norm": True,
    },
    "paper": {
        "bound": "mcdiarmid", "leaf": "majority", "rule": "paper", "error_guard": False, "replace": "now",
        "similarity": "kernel", "rank": "numerical", "append_norm": False,
    },
}  # fmt: skip
MARK_LEARNED, MARK_CALM, MARK_REFILLING, MARK_BUILDS, MARK_BORN, MARK_WINS, MARK_LOSSES, MARKS = range(8)
"""Places in ``marks``: tensors learned; those since the last alarm; is the buffer being filled for a new tree? trees
built; tensors learned when the tree on trial was built; tensors on which only the old or only the new one was wrong."""
LONGEST_TRIAL = 2_000
"""After so many tensors a new tree that has not shown itself better is given up."""
BLOCK = 256
"""At most this many events are worked on together. It changes nothing but the time."""
NO_CODES, NO_WEIGHTS = np.zeros(0, dtype=np.int64), np.zeros(0)
"""Labels and weights of tensors that are only predicted."""
GUARD = ADWIN()
"""What watches the errors of a learner: rows of one table, stepped in compiled code."""
GUARD_RULES = GUARD.rules()
_PREDICT, _BOTH = np.array([0]), np.array([0, -1])


class Block(NamedTuple):
    """Some tensors in order: each is predicted, and then learned if it is to be learned."""

    tensors: Tensors
    y: Ints
    """Their codes; empty where none is learned. So are their weights."""
    w: Floats
    learned: NDArray[np.bool_]
    """Which of them are to be learned."""
    proba: Floats
    """Room for the probabilities of the classes, zeros at first."""


def blocks(records: Records, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats) -> Iterator[Block]:
    """Cut the events of ``Classifier._play`` into blocks; what ``proba`` of a block holds afterwards is written to out.

    A row that is predicted now and learned later is there twice: it is predicted again right before.
    """
    for first in range(0, len(events), BLOCK):
        part = events[first : first + BLOCK]
        learns = part < 0
        row = np.where(learns, ~part, part)
        follows = np.zeros(len(part), dtype=np.bool_)  # learned right after it was predicted
        follows[1:] = learns[1:] & (part[:-1] == row[1:])
        rows, place = row[~follows], np.cumsum(~follows) - 1
        learned = np.zeros(len(rows), dtype=np.bool_)
        learned[place[learns]] = True
        codes, weights = (y[rows], w[rows]) if learned.any() else (NO_CODES, NO_WEIGHTS)
        if isinstance(X, np.ndarray) and records.form == "dense":
            tensors: Tensors = np.clip(X[rows], -LARGEST, LARGEST).reshape(len(rows), *records.shape)
        else:
            tensors = records.tensors(X[rows])
        proba = np.zeros((len(rows), out.shape[1]))
        yield Block(tensors, codes, weights, learned, proba)
        asked = place[~learns]
        if len(asked):
            out[rows[asked]] = proba[asked]


def shares(weights: Floats) -> Floats:
    """Give the share of each class by its weight; all the same while there is none.

    >>> shares(np.array([1.0, 3.0])).tolist(), shares(np.zeros(2)).tolist()
    ([0.25, 0.75], [0.5, 0.5])
    """
    total = float(weights.sum())
    return weights / total if total > 0.0 else np.full(len(weights), 1.0 / max(1, len(weights)))


def sound_guards(tables: State, name: str, n: int) -> Floats:
    """Give a table of n guards from a state, or refuse it."""
    guards = tables[name]
    if not GUARD.fits(guards) or len(guards) != n:
        raise ValueError(f"its table {name!r} holds what no {type(GUARD).__name__} could")
    return np.array(guards)


class Progress(NamedTuple):
    """How far a tensor tree has come."""

    marks: Annotated[Ints, table(MARKS, least=0, most=MANY, cells={MARK_REFILLING: span(0, 1)})]
    """MARKS."""
    seen: Annotated[Floats, table("known", least=0)]
    """known ≤ classes: the weight of each class so far."""
    guard: Annotated[Floats, table(1, "columns", loose=True)]
    """1 × –: a row of GUARD, which knows what it may be."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a tensor tree is built and replaced: parameters of a learner, with its preset's words for None."""

    window: int
    min_rebuild: int
    max_buffer: int
    rule: Literal["cusum", "paper"]
    error_guard: bool
    replace: Literal["better", "now"]
    seed: int
    tree: dict[str, Any]
    """Parameters of ``BinnedTrees``."""


class Maps(Protocol):
    """How a tree comes to the map from tensors to features."""

    def new(self) -> TensorMap:
        """Make a map that is not fitted."""

    def fit(self, features: TensorMap, kept: TensorBuffer, builds: int) -> State:
        """Fit a new map to the tensors that were kept; give notes on them, to be found in the model."""

    def refuse(self, notes: State, records: Records, classes: int) -> None:
        """Refuse notes that ``fit`` could not have given."""


@final
class MappedTree:
    """A fitted map from tensors to features, a tree on the features, and notes on what the map was fitted to."""

    __slots__ = ("map", "notes", "trees")

    def __init__(self, features: TensorMap, trees: BinnedTrees, notes: State) -> None:
        self.map, self.trees, self.notes = features, trees, notes

    def begin(self, kept: TensorBuffer) -> None:
        """Begin the tree with the tensors kept: their features give the cut points, then they are learned."""
        F = self.features(kept.tensors, np.zeros(len(kept), dtype=np.bool_))
        self.trees.begin(0, F)
        self.trees.learn(0, F, kept.labels, kept.weights)

    def features(self, X: Tensors, learned: Any) -> Floats:
        """Give the features of each tensor; let the map learn it then, where it is to be learned."""
        each = np.arange(len(X))
        order = np.stack([each, ~each], axis=1).reshape(-1)
        return self.map.play(X, order[np.repeat(learned, 2) | (order >= 0)])

    def tables(self) -> State:
        """Give all tables."""
        return prefixed("map", self.map.state()) | prefixed("tree", self.trees.tables()) | prefixed("notes", self.notes)

    def adopt(self, tables: State, classes: int) -> None:
        """Continue from what ``tables`` gave; a tree on other features than those of the map is refused."""
        self.map.restore(under("map", tables))
        self.trees.adopt(under("tree", tables), classes)
        self.notes = under("notes", tables)
        if not self.map.fitted or self.trees.n_features[0] != self.map.width:
            raise ValueError("its tree is not on the features of its map")


@final
class TensorTree:
    """A tree on features of tensors, the detectors that watch it, and the tensors that the next one is built from.

    The first ``window`` tensors are kept; the most frequent class answers meanwhile. Then the features are fixed, and a
    tree learns the kept tensors. A detector watches the tensors that are learned, and another, with ``error_guard``,
    the errors. From the first alarm on tensors are kept again; an alarm that ends for ``window`` tensors lets them go.
    At a drift, as soon as ``min_rebuild`` are kept, features and tree are built again from them (Krawczyk 2021,
    Algorithm 1). With ``replace`` "better" the old tree answers until the new one has been right so much more often
    where they differ that chance would hardly do it (three standard deviations); with "now" the new one takes over at
    once.
    """

    __slots__ = ("_maps", "_plan", "buffer", "detector", "guard", "marks", "model", "seen", "trial")

    def __init__(self, plan: Plan, maps: Maps) -> None:
        self._plan, self._maps = plan, maps
        self.model: MappedTree | None = None
        self.trial: MappedTree | None = None
        self.detector = TensorDriftDetector(rule=plan.rule, window=plan.window, seed=plan.seed)
        self.guard = GUARD.new_rows(1)
        self.buffer = TensorBuffer(plan.max_buffer)
        self.marks = np.zeros(MARKS, dtype=np.int64)
        self.seen = np.zeros(0)
        """The weight of each class so far."""

    # -- the stream ---------------------------------------------------------------------------------------------------

    def play(self, block: Block, known: int) -> int:
        """Predict each tensor; learn it right then if it is to be learned. Gives how many classes are known then."""
        X, y, w, learned, proba = block
        if not learned.any():
            self._answer(X, proba, known)
            return known
        self.seen = np.pad(self.seen, (0, max(0, proba.shape[1] - len(self.seen))))
        looks: dict[MappedTree, tuple[int, Floats]] = {}  # by model: from where on it has seen the block, and how
        other = np.zeros((1, proba.shape[1]))
        for i in range(len(X)):
            here = slice(i, i + 1)
            label, weight, events = (y[here], w[here], _BOTH) if learned[i] else (NO_CODES, NO_WEIGHTS, _PREDICT)
            if self.model is None:
                proba[i, :known] = shares(self.seen[:known])
            for model, answer in ((self.model, proba[here]), (self.trial if learned[i] else None, other)):
                if model is not None:
                    if model not in looks:
                        looks[model] = i, model.features(X[i:], learned[i:])
                    first, F = looks[model]
                    model.trees.play(F[i - first : i - first + 1], label, weight, events, answer, known)
            if learned[i]:
                known = max(known, int(y[i]) + 1)
                self.seen[y[i]] += w[i]
                self.marks[MARK_LEARNED] += 1
                wrong = int(proba[i].argmax()) != y[i]
                if self.trial is not None:
                    self._compare(wrong, int(other.argmax()) != y[i])
                if self._watch(X[here], int(y[i]), float(w[i]), wrong):
                    self._build()
        return known

    def _answer(self, X: Tensors, proba: Floats, known: int) -> None:
        """Predict tensors; nothing changes."""
        if self.model is None:
            seen = np.pad(self.seen, (0, max(0, known - len(self.seen))))
            proba[:, :known] = shares(seen[:known])
        else:
            F = self.model.features(X, np.zeros(len(X), dtype=np.bool_))
            self.model.trees.play(F, NO_CODES, NO_WEIGHTS, np.arange(len(F)), proba, known)

    def _watch(self, tensor: Tensors, label: int, weight: float, wrong: bool) -> bool:
        """Look at a tensor that has been learned. Is it time to build again?"""
        marks, level, none_yet = self.marks, 0, self.model is None
        if not none_yet and not marks[MARK_REFILLING]:
            level = int(self.detector.take(tensor)[0])
            if self._plan.error_guard and adwin_jit.step(self.guard, 0, float(wrong), GUARD_RULES) == 2:
                level = 2
            marks[MARK_REFILLING] = level == 2
            marks[MARK_CALM] = 0 if level else marks[MARK_CALM] + 1
            if marks[MARK_CALM] >= self._plan.window and self.buffer.records:
                self.buffer.clear()
        if none_yet or marks[MARK_REFILLING] or level or self.buffer.records:
            self.buffer.add(tensor, label, weight, int(marks[MARK_LEARNED]))
        filling = none_yet or bool(marks[MARK_REFILLING])
        return filling and len(self.buffer) >= (self._plan.window if none_yet else self._plan.min_rebuild)

    def _build(self) -> None:
        """Take the tensors kept, and build features and tree from them."""
        kept, features = self.buffer, self._maps.new()
        model = MappedTree(features, self._new_trees(), self._maps.fit(features, kept, int(self.marks[MARK_BUILDS])))
        model.begin(kept)
        self.detector.reference(kept.tensors)
        self.guard = GUARD.new_rows(1)
        self.marks[MARK_BUILDS] += 1
        self.marks[[MARK_CALM, MARK_REFILLING, MARK_WINS, MARK_LOSSES]] = 0
        kept.clear()
        if self.model is None or self._plan.replace == "now":
            self.model = model
        else:
            self.trial = model
            self.marks[MARK_BORN] = self.marks[MARK_LEARNED]

    def _new_trees(self) -> BinnedTrees:
        return BinnedTrees(**self._plan.tree)

    def _compare(self, old_wrong: bool, new_wrong: bool) -> None:
        """Count where only one of two trees is wrong; take the new one, or give it up, when that says enough.

        Of n tensors on which only one is wrong, a tree no better than the other wins n / 2 with variance n / 4: the new
        one is better if wins - losses > 3 √n.
        """
        marks = self.marks
        marks[MARK_WINS] += old_wrong and not new_wrong
        marks[MARK_LOSSES] += new_wrong and not old_wrong
        ahead, differ = int(marks[MARK_WINS] - marks[MARK_LOSSES]), int(marks[MARK_WINS] + marks[MARK_LOSSES])
        if ahead > 0 and ahead * ahead > 9 * differ:
            self.model, self.trial = self.trial, None
        elif marks[MARK_LEARNED] - marks[MARK_BORN] >= LONGEST_TRIAL:
            self.trial = None

    # -- state --------------------------------------------------------------------------------------------------------

    def tables(self) -> State:
        """Give all tables, not copied."""
        tables: State = {"marks": self.marks, "seen": self.seen, "guard": self.guard}
        tables |= prefixed("drift", self.detector.state()) | prefixed("buffer", self.buffer.state())
        for name, model in (("model", self.model), ("trial", self.trial)):
            if model is not None:
                tables |= prefixed(name, model.tables())
        return tables

    def adopt(self, tables: State, records: Records, classes: int) -> None:
        """Continue from what ``tables`` gave; what no tree on such tensors could have given is refused."""
        known = check(Progress, tables, most={"known": classes})["known"]
        self.marks, self.seen, self.guard = tables["marks"], tables["seen"], sound_guards(tables, "guard", 1)
        self.detector.restore(under("drift", tables))
        self.buffer.restore(under("buffer", tables), known)
        records.refuse_others("detector", *self.detector.layout)
        records.refuse_others("buffer", *self.buffer.layout)
        self.model, self.trial = (self._made(under(name, tables), records, classes) for name in ("model", "trial"))
        if self.model is None and (self.trial is not None or len(self.buffer) >= self._plan.window):
            raise ValueError("it lacks its model")
        if self.model is not None and not (self.detector.ready or self.marks[MARK_REFILLING]):
            raise ValueError("its detector lacks a reference")

    def _made(self, tables: State, records: Records, classes: int) -> MappedTree | None:
        if not tables:
            return None
        model = MappedTree(self._maps.new(), self._new_trees(), {})
        model.adopt(tables, classes)
        records.refuse_others("map", *model.map.layout, bases=model.map.bases_of_vectors)
        self._maps.refuse(model.notes, records, len(self.seen))
        return model


class TensorTreeLearner(BinnedTreeParams, TensorParams):
    """What makes a ``TensorTree`` a learner, beside ``Classifier``: CKDT, and the learners that it is compared with.

    They differ in ``_maps``, which says how a tensor becomes features.
    """

    sparse: bool = fields.fixed(True)
    tensors: ClassVar[bool] = True
    bounded: ClassVar[bool] = True

    preset: Literal["default", "paper"] = fields.choice(
        default="default",
        doc="What stands for None among bound, leaf, rule, error_guard and replace: lcb, adaptive, cusum, True and "
        "better, or by paper mcdiarmid, majority, paper, False and now, which is as published, and rarely splits.",
    )
    window: int = fields.whole(
        default=100, doc="Tensors that the first features and tree are built from.", least=2, most=1_000_000
    )
    rule: Literal["cusum", "paper"] | None = fields.choice(
        default=None, doc="When tensors have drifted, see TensorDriftDetector."
    )
    error_guard: bool | None = fields.free(default=None, doc="Is a rise of the error a drift, too?", check=params.flag)
    replace: Literal["better", "now"] | None = fields.choice(
        default=None,
        doc="When a new tree takes over: once it has shown itself better (by three standard deviations), or at once.",
    )
    min_rebuild: int = fields.whole(
        default=50, doc="Tensors since an alarm that a new tree is built from, at least.", least=2, most=1_000_000
    )
    max_buffer: int = fields.whole(default=500, doc="Tensors kept for that, at most.", least=2, most=1_000_000)

    _started: bool = fields.fixed(False)
    """Has it learned anything? ``Classifier`` says."""

    def _prepare(self) -> None:
        params.whole("max_buffer", self.max_buffer, least=max(self.window, self.min_rebuild), most=1_000_000)

    def _chosen(self, name: str) -> Any:
        """A parameter, or where it is None what the preset says."""
        value = getattr(self, name)
        return PRESETS[self.preset].get(name) if value is None else value

    def _maps(self) -> Maps:
        raise NotImplementedError

    def _new_tree(self) -> TensorTree:
        plan = Plan(
            window=self.window, min_rebuild=self.min_rebuild, max_buffer=self.max_buffer, seed=self.seed,
            rule=self._chosen("rule"), error_guard=self._chosen("error_guard"), replace=self._chosen("replace"),
            tree={name: self._chosen(name) for name in BinnedTreeParams._fields},
        )  # fmt: skip
        return TensorTree(plan, self._maps())

    def _start(self, schema: Schema) -> None:
        self._records = Records(type(self).__name__, self.shape, schema)
        self._tree = self._new_tree()

    def _extend(self, schema: Schema) -> None:
        """Refuse records of another shape; classes and names may join."""
        self._records = self._records.extended(schema)

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        for block in blocks(self._records, X, y, w, events, out):
            known = self._tree.play(block, known)

    def _tables(self) -> State:
        return self._tree.tables()

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        records, tree = Records(type(self).__name__, self.shape, schema), self._new_tree()
        tree.adopt(tables, records, classes)  # may refuse them: then nothing has changed
        self._records, self._tree = records, tree

    @property
    def _model(self) -> MappedTree | None:
        return self._tree.model if self._started else None

    @property
    def n_builds(self) -> int:
        """How often features and tree were built; the first time when ``window`` tensors had come."""
        return int(self._tree.marks[MARK_BUILDS]) if self._started else 0

    @property
    def n_drifts(self) -> int:
        """How often they were built again because the stream had changed."""
        return max(self.n_builds - 1, 0)

    @property
    def n_leaves(self) -> int:
        """Leaves of the tree."""
        return 1 if self._model is None else int(self._model.trees.n_leaves[0])

    @property
    def depth(self) -> int:
        """Splits above the deepest leaf."""
        return 0 if self._model is None else int(self._model.trees.depth[0])
