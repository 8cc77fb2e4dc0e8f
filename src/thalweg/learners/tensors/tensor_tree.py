"""A tree on features of tensors, built anew from the latest tensors when they change."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.classifier import Floats, Ints
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, sound, under
from thalweg.detectors.adwin import ADWIN
from thalweg.detectors.tensor_drift import TensorDriftDetector
from thalweg.learners.tensors.buffer import TensorBuffer
from thalweg.learners.tensors.by_blocks import NOTHING, WEIGHTLESS, BlockClassifier, shares
from thalweg.learners.tensors.mapped import MappedTree
from thalweg.learners.tensors.maps import TensorMap
from thalweg.learners.trees.binned import BinnedTrees
from thalweg.learners.trees.binned import check as check_tree
from thalweg.tensors.forms import Shape, Tensors, check_shape

PRESETS: dict[str, dict[str, Any]] = {
    "default": {
        "bound": "lcb", "leaf": "adaptive", "rule": "cusum", "error_guard": True, "replace": "better",
        "features": "auto", "rank": "energy", "append_norm": True,
    },
    "paper": {
        "bound": "mcdiarmid", "leaf": "majority", "rule": "paper", "error_guard": False, "replace": "now",
        "features": "kernel", "rank": "numerical", "append_norm": False,
    },
}  # fmt: skip
LEARNED, CALM, REFILLING, BUILDS, BORN, WINS, LOSSES = range(7)
_MARKS = 7
LONGEST_TRIAL = 2_000
"""After so many tensors a new tree that has not shown itself better is given up."""


class TensorTree(BlockClassifier):
    """What CKDT and the learners it is compared with share; they differ in how a tensor becomes features.

    The first ``window`` tensors are kept; the most frequent class answers meanwhile. Then the features are fixed, and a
    tree learns the kept tensors. A detector watches the tensors that are learned, and another, with ``error_guard``,
    the errors. From the first alarm on tensors are kept again; an alarm that ends for ``window`` tensors lets them go.
    At a drift, as soon as ``min_rebuild`` are kept, features and tree are built anew from them. With ``replace``
    "better" the old tree answers until the new one has been right so much more often where they differ that chance
    would hardly do it (three standard deviations); with "now" the new one takes over at once.

    window, min_rebuild, max_buffer: tensors. bound, delta, grace_period, tau, leaf, max_leaves: of the tree, see
    McDiarmidTree. rule: of the drift detector, "cusum" or "paper", see TensorDriftDetector. error_guard: is a rise of
    the error a drift, too? preset: what is None among bound, leaf, rule, error_guard and replace is "lcb", "adaptive",
    "cusum", True and "better" by "default"; "mcdiarmid", "majority", "paper", False and "now" by "paper", which is as
    published, and rarely splits.
    shape: None: tensors come as arrays (n, N1, …, NL), CPTensors or SparseTensors; else rows are reshaped to it, one
    size may be -1. seed: of all draws.
    """

    sparse = True
    bounded = True

    __slots__ = ()

    def __init__(
        self,
        *,
        preset: str = "default",
        window: int = 100,
        bound: str | None = None,
        delta: float = 0.05,
        grace_period: float = 50,
        tau: float | None = None,
        leaf: str | None = None,
        max_leaves: int = 256,
        rule: str | None = None,
        error_guard: bool | None = None,
        replace: str | None = None,
        min_rebuild: int = 50,
        max_buffer: int = 500,
        shape: Shape | None = None,
        seed: int = 1,
    ) -> None:
        params.choice("preset", preset, tuple(PRESETS))
        self.preset, self.bound, self.leaf, self.rule, self.error_guard = preset, bound, leaf, rule, error_guard
        self.replace = replace
        bound, leaf, rule, guard = map(self._chosen, ("bound", "leaf", "rule", "error_guard"))
        params.whole("window", window, least=2, most=1_000_000)
        params.whole("min_rebuild", min_rebuild, least=2, most=1_000_000)
        params.whole("max_buffer", max_buffer, least=max(window, min_rebuild), most=1_000_000)
        check_tree(bound=bound, delta=delta, grace_period=grace_period, tau=tau, leaf=leaf, max_leaves=max_leaves,
                   max_depth=20, bins=32)  # fmt: skip
        params.choice("rule", rule, ("cusum", "paper"))
        params.flag("error_guard", guard)
        params.choice("replace", self._chosen("replace"), ("better", "now"))
        params.whole("seed", seed, least=0)
        self.window, self.min_rebuild, self.max_buffer = window, min_rebuild, max_buffer
        self.delta, self.grace_period, self.tau, self.max_leaves = delta, grace_period, tau, max_leaves
        check_shape(shape)
        self.shape, self.seed = shape, seed

    def _chosen(self, name: str) -> Any:
        """A parameter, or where it is None what the preset says."""
        value = getattr(self, name)
        return PRESETS[self.preset][name] if value is None else value

    # -- what a learner writes ----------------------------------------------------------------------------------------

    @abstractmethod
    def _new_map(self) -> TensorMap:
        """Make the map from tensors to features, not fitted."""

    def _fit(self, features: TensorMap, kept: TensorBuffer) -> State:
        """Fit a new map to the tensors that were kept; give notes on them, to be found in the model."""
        features.fit(kept.tensors)
        return {}

    # -- the stream ---------------------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._begin(schema)
        self._model: MappedTree | None = None
        self._trial: MappedTree | None = None
        self._detector = TensorDriftDetector(rule=self._chosen("rule"), window=self.window, seed=self.seed)
        self._guard = ADWIN()
        self._buffer = TensorBuffer(self.max_buffer)
        self._marks = np.zeros(_MARKS, dtype=np.int64)
        self._seen = np.zeros(0)

    def _tau(self) -> float | None:
        return self.tau

    def _new_trees(self) -> BinnedTrees:
        return BinnedTrees(
            bound=self._chosen("bound"), delta=self.delta, grace_period=self.grace_period, tau=self._tau(),
            leaf=self._chosen("leaf"), max_leaves=self.max_leaves,
        )  # fmt: skip

    def _play_block(self, X: Tensors, y: Ints, w: Floats, learned: NDArray[np.bool_], said: Floats, known: int) -> int:
        """Predict each tensor; learn it right then if it is to be learned. Gives how many classes are known then."""
        if not learned.any():
            self._answer(X, said, known)
            return known
        looks: dict[MappedTree, tuple[int, Floats]] = {}  # by model: from where on it has seen the block, and how
        other = np.zeros((1, said.shape[1]))
        for i in range(len(X)):
            here = slice(i, i + 1)
            label, weight = (y[here], w[here]) if learned[i] else (NOTHING, WEIGHTLESS)
            if self._model is None:
                said[i, :known] = shares(self._seen[:known])
            for model, answer in ((self._model, said[here]), (self._trial if learned[i] else None, other)):
                if model is not None:
                    if model not in looks:
                        looks[model] = i, model.features(X[i:], learned[i:])
                    first, F = looks[model]
                    model.step(F[i - first : i - first + 1], label, weight, answer, known)
            if learned[i]:
                known = max(known, int(y[i]) + 1)
                self._seen[y[i]] += w[i]
                self._marks[LEARNED] += 1
                wrong = int(said[i].argmax()) != y[i]
                if self._trial is not None:
                    self._compare(wrong, int(other.argmax()) != y[i])
                if self._watch(X[here], int(y[i]), float(w[i]), wrong):
                    self._build()
        return known

    def _answer(self, X: Tensors, said: Floats, known: int) -> None:
        """Predict tensors; nothing changes."""
        if self._model is None:
            said[:, :known] = shares(self._seen[:known])
        else:
            F = self._model.features(X, np.zeros(len(X), dtype=np.bool_))
            self._model.trees.play(F, NOTHING, WEIGHTLESS, np.arange(len(F)), said, known)

    def _watch(self, tensor: Tensors, label: int, weight: float, wrong: bool) -> bool:
        """Look at a tensor that has been learned. Is it time to build anew?"""
        marks, level, none_yet = self._marks, 0, self._model is None
        if not none_yet and not marks[REFILLING]:
            level = int(self._detector.update(tensor)[0])
            if self._chosen("error_guard") and self._guard.update(float(wrong)):
                level = 2
            marks[REFILLING] = level == 2
            marks[CALM] = 0 if level else marks[CALM] + 1
            if marks[CALM] >= self.window:
                self._buffer.clear()
        if none_yet or marks[REFILLING] or level or len(self._buffer):
            self._buffer.add(tensor, label, weight, int(marks[LEARNED]))
        filling = none_yet or bool(marks[REFILLING])
        return filling and len(self._buffer) >= (self.window if none_yet else self.min_rebuild)

    def _build(self) -> None:
        """Take the tensors kept, and build features and tree from them."""
        kept, features = self._buffer, self._new_map()
        model = MappedTree(features, self._new_trees(), self._fit(features, kept))
        model.begin(kept)
        self._detector.reference(kept.tensors)
        self._guard = ADWIN()
        self._marks[BUILDS] += 1
        self._marks[[CALM, REFILLING, WINS, LOSSES]] = 0
        kept.clear()
        if self._model is None or self._chosen("replace") == "now":
            self._model = model
        else:
            self._trial = model
            self._marks[BORN] = self._marks[LEARNED]

    def _compare(self, old_wrong: bool, new_wrong: bool) -> None:
        """Count where only one of two trees is wrong; take the new one, or give it up, when that says enough."""
        marks = self._marks
        marks[WINS] += old_wrong and not new_wrong
        marks[LOSSES] += new_wrong and not old_wrong
        ahead, differ = int(marks[WINS] - marks[LOSSES]), int(marks[WINS] + marks[LOSSES])
        if ahead > 0 and ahead * ahead > 9 * differ:
            self._model, self._trial = self._trial, None
        elif marks[LEARNED] - marks[BORN] >= LONGEST_TRIAL:
            self._trial = None

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def n_builds(self) -> int:
        """How often features and tree were built; the first time when ``window`` tensors had come."""
        return int(self._marks[BUILDS]) if self._started else 0

    @property
    def n_leaves(self) -> int:
        """Leaves of the tree."""
        return self._model.trees.n_leaves(0) if self._started and self._model is not None else 1

    @property
    def depth(self) -> int:
        """Splits above the deepest leaf."""
        return self._model.trees.depth(0) if self._started and self._model is not None else 0

    # -- state --------------------------------------------------------------------------------------------------------

    def _tables(self) -> State:
        tables: State = {"marks": self._marks, "seen": self._seen, "guard": self._guard.state()["table"]}
        tables |= prefixed("drift", self._detector.state()) | prefixed("buffer", self._buffer.state())
        for name, model in (("model", self._model), ("trial", self._trial)):
            if model is not None:
                tables |= prefixed(name, model.tables())
        return tables

    def _become(self, tables: State, schema: Schema) -> None:
        self._start(schema)
        self._marks = sound(tables, "marks", (_MARKS,), np.int64, least=0)
        self._seen = sound(tables, "seen", (None,), least=0)
        self._guard.restore({"table": tables["guard"]})
        self._detector.restore(under("drift", tables))
        self._buffer.restore(under("buffer", tables))
        self._refuse_others("detector", *self._detector.layout)
        self._refuse_others("buffer", *self._buffer.layout)
        if (self._buffer.labels >= len(self._seen)).any():
            raise ValueError("its table 'buffer.labels' holds classes that were never seen")
        self._model, self._trial = (self._remade(under(name, tables)) for name in ("model", "trial"))
        if self._model is None and (self._trial is not None or len(self._buffer) >= self.window):
            raise ValueError("it lacks its model")
        if self._model is not None and not (self._detector.ready or self._marks[REFILLING]):
            raise ValueError("its detector lacks a reference")

    def _remade(self, tables: State) -> MappedTree | None:
        if not tables:
            return None
        model = MappedTree(self._new_map(), self._new_trees(), {})
        model.adopt(tables)
        self._refuse_others("map", *model.map.layout)
        self._refuse_notes(model.notes)
        return model

    def _refuse_notes(self, notes: State) -> None:
        """Refuse notes on a model that ``_fit`` could not have given."""
        if notes:
            raise ValueError(f"its notes hold {', '.join(notes)}")
