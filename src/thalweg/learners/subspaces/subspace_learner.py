"""What subspace trees and forests share: tensors to residuals, residuals to trees, a new start at a drift."""

import math
from typing import Any, Literal

import numpy as np

from thalweg.core import fields, params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.jit.random import seeded
from thalweg.learners.subspaces import subspace_jit as jit
from thalweg.learners.subspaces.past_model import PastModel
from thalweg.learners.subspaces.patches import PatchFeatures, has_patches
from thalweg.learners.subspaces.reduction import Reduction
from thalweg.learners.subspaces.subspace_jit import DRIFTS, GROWN, KEPT, ROWS, SAMPLED
from thalweg.learners.subspaces.subspaces import ClassSubspaces, SubspaceParams
from thalweg.learners.tensors.records import Records, TensorParams
from thalweg.learners.trees.binned import BinnedTrees
from thalweg.tensors.forms import LARGEST_FULL, Shape

MOST_FEATURES = 32
"""Residuals to so many classes are features of the trees."""
ANSWERS = ("subspaces", "trees", "both")
_FIRST_SHARPNESS = 3.0
_TREE, _PAST = "tree_", "elder_"
"""What the names of the tables of the trees, and of the past model, begin with."""
_BETTER = 0.03
"""By so much old knowledge must be right more often than the new to be taken up again."""
_TYPICAL = 256


def _auto_or_flag(name: str, value: Any) -> None:
    if not isinstance(value, str) or value != "auto":
        params.flag(name, value)


class SubspaceLearner(SubspaceParams, TensorParams, Classifier):
    """Class subspaces, trees on the residuals to them, and a choice between the two; see ``SubspaceTree``."""

    tensors = True
    bounded = True

    patches: bool | Literal["auto"] = fields.free(
        default="auto",
        doc="True: records are images (height, width) or (height, width, channels), looked at by patches; False: they "
        'are not; "auto": by their shape, at least 8 x 8 with up to 16 channels.',
        check=_auto_or_flag,
    )
    p: int = fields.whole(
        default=200,
        doc="Principal directions of the tensors that are kept, at most.",
        least=1,
        most=10_000,
        old="dimension",
    )
    warmup: int = fields.whole(
        default=300,
        doc="Tensors that filters and directions are learnt from; a quarter and half of them give first versions. "
        "Before, the nearest tensor so far answers.",
        least=8,
        most=100_000,
    )
    grace_period: float = fields.number(default=50, doc="Weight a leaf gains between two attempts to split.", above=0)
    max_leaves: int = fields.whole(default=64, doc="Leaves of a tree, at most.", least=1, most=1_000_000)
    drift: str | Detector | None = fields.free(
        default="adwin",
        doc='A detector or its name, for the errors of the answers; None or "none": no detector.',
        check=make_detector,
    )

    _own: dict[str, Any]
    _past: PastModel | None

    __slots__ = ("_detector", "_own", "_past", "_records", "_reduction", "_seeds", "_spaces", "_trees")

    def _prepare(self) -> None:
        self._detector = make_detector("drift", self.drift)

    @property
    def _n_trees(self) -> int:
        """How many trees there are."""
        return 1

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def answers(self) -> str:
        """Who answers now: "subspaces", "trees" or "both"."""
        errors = self.errors
        return min(errors, key=lambda name: errors[name])

    @property
    def errors(self) -> dict[str, float]:
        """The decayed error of each that may answer; half of it is due to the last 138 rows."""
        if not self._started:
            return {ANSWERS[0]: 0.0}
        asked = ANSWERS if self._own["head"][GROWN] else ANSWERS[:1]
        return {name: float(self._own["gauge"][jit.ERRORS + v]) for v, name in enumerate(asked)}

    @property
    def finds_drifts(self) -> bool:
        """Does it look for drifts, and tell of those it found?"""
        return make_detector("drift", self.drift) is not None

    @property
    def n_drifts(self) -> int:
        """How often all was learnt anew because errors had risen."""
        return int(self._own["head"][DRIFTS]) if self._started else 0

    @property
    def n_leaves(self) -> list[int]:
        """Leaves of each tree."""
        return self._trees.n_leaves.tolist() if self._started else [1] * self._n_trees

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._records = Records(type(self).__name__, self.shape, schema)
        shape = self._records.shape
        if math.prod(shape) > LARGEST_FULL:
            name, most = type(self).__name__, LARGEST_FULL
            raise ValueError(f"X must hold tensors of at most {most} values for {name}, got tensors of shape {shape}")
        self._make_parts(shape)
        self._own = {
            "head": np.zeros(5, dtype=np.int64), "gauge": np.zeros(jit.GAUGE), "drift": self._fresh_detector(),
            "typical": np.zeros(0),
        } | _room("kept", int(self.warmup), schema.n_features) | _room("sample", 0, 0)  # fmt: skip
        self._own["gauge"][jit.SHARPNESS] = _FIRST_SHARPNESS

    def _make_parts(self, shape: Shape) -> None:
        """Make the parts for records of this shape."""
        wanted = has_patches(shape) if self.patches == "auto" else self.patches
        patches = PatchFeatures(seed=int(self.seed)) if wanted else None
        self._reduction = Reduction(shape, patches, int(self.p))
        self._spaces = self._new_spaces()
        self._trees = self._new_trees()
        self._past = None
        self._seeds = seeded(self.seed, self._n_trees)

    def _fresh_detector(self) -> Floats:
        return np.zeros((1, 1)) if self._detector is None else self._detector.new_rows(1)

    def _new_spaces(self) -> ClassSubspaces:
        return ClassSubspaces(rank=self.rank, softness=self.softness, window=self.window)

    def _new_trees(self) -> BinnedTrees:
        return BinnedTrees(
            trees=self._n_trees, grace_period=self.grace_period, max_leaves=self.max_leaves, leaf="bayes"
        )

    def _play(self, X: Any, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        tensors = self._records.tensors(X)
        dense = tensors if isinstance(tensors, np.ndarray) else tensors.dense()
        rows = np.ascontiguousarray(dense.reshape(len(dense), int(np.prod(self._records.shape))))
        own, head, at, classes = self._own, self._own["head"], 0, out.shape[1]
        if self._reduction.fitted:
            self._spaces.add_classes(classes)
        Z: Floats | None = None
        drifted = False
        while at < len(events):
            left = events[at:]
            milestone = self._next_milestone()
            if not self._reduction.fitted:
                n = jit.keep_first(own["kept"], own["kept_codes"], own["kept_weights"], int(head[KEPT]), milestone,
                                   rows, y, w, left, out, known)  # fmt: skip
                gone = left[:n]
                head[KEPT] += np.count_nonzero(gone < 0)
            else:
                if Z is None:
                    Z = np.empty((len(rows), self._reduction.p))
                    self._reduction.map(rows, np.unique(np.maximum(left, ~left)), Z)
                n, drifted = self._step(rows, Z, y, w, left, out, known, milestone)
                gone = left[:n]
            at += n
            learned = ~gone[gone < 0]
            if not len(learned):
                continue
            known = max(known, int(y[learned].max()) + 1)
            head[ROWS] += len(learned)
            if Z is not None:
                self._spaces.learn_events(Z, y, w, gone)
            if drifted:
                self._restart(classes)
                drifted = False
            elif head[KEPT] == milestone and len(own["kept"]):
                self._reach_milestone(milestone, classes)
                Z = None
            elif Z is not None:
                self._update_trees(known)

    def _step(
        self, X: Floats, Z: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int, milestone: int
    ) -> tuple[int, bool]:
        """Carry out events as long as they see the same subspaces; give how many, and whether they end in a drift."""
        own, head = self._own, self._own["head"]
        collecting, sampling = len(own["kept"]), len(own["sample_codes"])
        most = milestone - int(head[KEPT]) if collecting else sampling - int(head[SAMPLED]) if sampling else -1
        events = events[: self._spaces.count_until_refresh(y, w, events, 0, most)]
        residuals = self._spaces.residuals_of(Z, events)
        F = np.empty_like(residuals)
        jit.features(residuals, F)
        said = self._ask_trees(F, y, w, events, known) if head[GROWN] else np.zeros((len(events), 0))
        code, rules = (-1, np.zeros(1)) if self._detector is None else (self._detector.code, self._detector.rules())
        n = jit.answer(own["gauge"], code, own["drift"], rules, F, said, y, w, events, out, known)
        events = events[: abs(n)]
        learned = np.flatnonzero(events < 0)
        which, more = ~events[learned], len(learned)
        if collecting and more:
            at = slice(int(head[KEPT]), int(head[KEPT]) + more)
            own["kept"][at], own["kept_codes"][at], own["kept_weights"][at] = X[which], y[which], w[which]
            head[KEPT] += more
        elif sampling and more:
            at = slice(int(head[SAMPLED]), int(head[SAMPLED]) + more)
            own["sample_codes"][at], own["sample_weights"][at] = y[which], w[which]
            own["sample"][at, : min(F.shape[1], MOST_FEATURES)] = F[learned, :MOST_FEATURES]
            head[SAMPLED] += more
        return abs(n), n < 0

    # -- what tensors are reduced to, now and before a drift ----------------------------------------------------------

    def _next_milestone(self) -> int:
        """How many rows must be kept until the reduction is learnt, or old knowledge is tried again."""
        kept, most = int(self._own["head"][KEPT]), int(self.warmup)
        marks = (most // 2, most) if self._past is not None else (most // 4, most // 2, most)
        return next(m for m in marks if m > kept or m == most)

    def _reach_milestone(self, milestone: int, classes: int) -> None:
        """Take up old knowledge again if it is better than the new, or else learn the reduction from the rows kept."""
        own = self._own
        X, y, w = own["kept"][:milestone], own["kept_codes"][:milestone], own["kept_weights"][:milestone]
        known_again = self._past is not None and self._try_past(self._past, X, y, w, classes)
        if not known_again and (self._past is None or milestone == self.warmup):
            self._reduction.fit(X)
            self._spaces.clear(self._reduction.p, classes)
            self._spaces.learn_all(self._reduction.values(X), y, w)
        if known_again or milestone == self.warmup:
            self._past = None
            own |= _room("kept", 0, 0) | _room("sample", int(self.warmup), MOST_FEATURES)
            own["sample"][:] = np.nan
            own["head"][[KEPT, SAMPLED]] = 0

    def _try_past(self, past: PastModel, X: Floats, y: Ints, w: Floats, classes: int) -> bool:
        """Continue from old knowledge, if it is right more often than the new about the last of these rows."""
        n, gauge = int(self.warmup) // 2, self._own["gauge"]
        past.spaces.add_classes(classes)
        match = past.match(X[-n:], y[-n:])
        right, gauge[jit.RIGHT] = gauge[jit.RIGHT] / n, 0.0
        if match.accuracy < right + _BETTER:
            return False
        self._reduction, self._spaces = past.reduction, past.spaces
        self._reduction.add_view(match.turn, match.sign)
        self._spaces.rename(match.renamed)
        self._spaces.learn(self._reduction.values(X), y, w)
        return True

    def _restart(self, classes: int) -> None:
        """Learn all anew, the reduction once there are rows for it; keep what was known, to try it again."""
        own, head = self._own, self._own["head"]
        if self._past is None and not len(own["kept"]):
            self._past = PastModel(self._reduction.copy(), self._spaces, self._records.shape)
            self._spaces = self._new_spaces()
        self._spaces.clear(self._reduction.p, classes)
        self._trees = self._new_trees()
        width = int(np.prod(self._records.shape))
        own |= _room("kept", int(self.warmup), width) | _room("sample", 0, 0) | {"typical": np.zeros(0)}
        own["drift"] = self._fresh_detector()
        own["gauge"][jit.ERRORS :] = 0.0
        head[[KEPT, SAMPLED, GROWN]] = 0
        head[DRIFTS] += 1

    # -- the trees ----------------------------------------------------------------------------------------------------

    def _ask_trees(self, F: Floats, y: Ints, w: Floats, events: Ints, known: int) -> Floats:
        """Give what the trees say of the row of each event, and let them learn."""
        learns = np.flatnonzero(events < 0)
        which, n = ~events[learns], len(events)
        codes, weights = np.zeros(n, dtype=np.int64), np.zeros(n)
        codes[learns], weights[learns] = y[which], w[which]
        order = np.insert(np.arange(n), learns + 1, ~learns)  # each row is asked for; those to be learned then learned
        draws = np.ones((self._n_trees, len(learns)))
        self._draw_weights(draws)
        F = np.ascontiguousarray(F[:, :MOST_FEATURES])
        total = np.zeros((n, max(known, int(codes.max()) + 1)))
        for t in range(self._n_trees):
            own = weights.copy()
            own[learns] *= draws[t]
            said = np.zeros_like(total)
            self._trees.play(F, codes, own, order[(order >= 0) | (own[~order] > 0.0)], said, known, t)
            total += said
        return total / self._n_trees

    def _draw_weights(self, draws: Floats) -> None:
        """Multiply the weights of the next rows for each tree."""

    def _update_trees(self, known: int) -> None:
        """Begin the trees once there is a sample; let the residuals to new classes join them."""
        own, head, trees = self._own, self._own["head"], self._trees
        n = min(known, MOST_FEATURES)
        if not head[GROWN]:
            if len(own["sample_codes"]) and head[SAMPLED] == len(own["sample_codes"]):
                own["typical"] = _quantiles(own["sample"])
                self._trees = trees = self._new_trees()
                sample = np.ascontiguousarray(own["sample"][:, :n])
                for t in range(self._n_trees):
                    trees.begin(t, sample)
                    trees.learn(t, sample, own["sample_codes"], own["sample_weights"])
                own["gauge"][jit.ERRORS + jit.TREES : jit.RIGHT] = own["gauge"][jit.ERRORS]
                own |= _room("sample", 0, 0)
                head[SAMPLED], head[GROWN] = 0, 1
        elif trees.n_features[0] < n:
            for t in range(self._n_trees):
                trees.add_features(t, np.repeat(own["typical"][:, None], n - int(trees.n_features[t]), axis=1))

    def _rehearse(self) -> None:
        """Let another of its kind pass through first rows, reductions, trees and a drift, so that all is compiled."""
        schema, shape = self._records.schema, self._records.shape
        other = type(self)(**{**self.get_params(deep=False), "warmup": 8, "shape": shape})
        X = np.random.default_rng(0).random((60, schema.n_features))
        y = np.arange(60) % 2
        other.test_then_train(X[:30], y[:30])
        other._restart(2)
        other.test_then_train(X[30:], y[30:])

    # -- state --------------------------------------------------------------------------------------------------------

    def _extend(self, schema: Schema) -> None:
        records = Records(type(self).__name__, self.shape, schema)
        before, shape = self._records.shape, records.shape
        if shape != before and len(shape) > 1:
            raise ValueError(f"X must hold tensors of shape {before}, got tensors of shape {shape}")
        self._records = records
        if shape == before:
            return
        self._reduction.widen(shape)
        if self._past is not None:
            self._past.widen(shape)
        kept = self._own["kept"]
        if len(kept):
            self._own["kept"] = np.pad(kept, ((0, 0), (0, shape[0] - kept.shape[1])))

    def _tables(self) -> State:
        trees = {_TREE + name: table for name, table in self._trees.tables().items()}
        past = {} if self._past is None else {_PAST + name: table for name, table in self._past.tables().items()}
        return self._own | self._reduction.tables() | self._spaces.tables() | trees | past

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        own = {name: tables[name] for name in jit.Course._fields}
        self._refuse_unsound(own, schema.n_features, classes)
        made = type(self)(**self.get_params(deep=False))  # beside, so that a state that is refused changes nothing
        made._records, made._own = Records(type(self).__name__, self.shape, schema), own
        made._make_parts(made._records.shape)
        made._reduction.adopt(tables)
        made._spaces.adopt(tables, classes)
        made._trees.adopt(_part(tables, _TREE), classes)
        if past := _part(tables, _PAST):
            made._past = PastModel(made._reduction.copy(), self._new_spaces(), made._records.shape)
            made._past.adopt(past, classes)
        if made._reduction.fitted and made._spaces.p != made._reduction.p:
            raise ValueError("its tables 'directions' and 'sums' do not fit each other")
        if not (made._reduction.fitted or len(own["kept"])):
            raise ValueError("it lacks rows for its reduction, and the reduction itself")
        for name in SubspaceLearner.__slots__:
            setattr(self, name, getattr(made, name))

    def _refuse_unsound(self, own: State, d: int, classes: int) -> None:
        """Refuse tables that no learner with these parameters could have."""
        found = check(jit.Course, own, classes=classes, most={"typical": _TYPICAL})
        kept, sample = (found["kept"], found["width"]), (found["sample"], found["features"])
        if kept not in ((0, 0), (self.warmup, d)) or sample not in ((0, 0), (self.warmup, MOST_FEATURES)):
            raise ValueError("its tables 'kept' and 'sample' hold what no warm-up could")
        if own["head"][GROWN] and not found["typical"]:
            raise ValueError("its table 'typical' is empty")
        if self._detector is not None and not self._detector.fits(own["drift"]):
            raise ValueError(f"its table 'drift' holds what no {type(self._detector).__name__} could")


def _room(name: str, n: int, width: int) -> dict[str, Any]:
    """Make room for n rows with their codes and weights."""
    return {name: np.zeros((n, width)), f"{name}_codes": np.zeros(n, dtype=np.int64), f"{name}_weights": np.zeros(n)}


def _part(tables: State, prefix: str) -> State:
    return {name.removeprefix(prefix): table for name, table in tables.items() if name.startswith(prefix)}


def _quantiles(sample: Floats) -> Floats:
    """Give values that stand for those of a sample, all features together."""
    values = np.sort(sample[np.isfinite(sample)])
    return values[np.linspace(0, len(values) - 1, _TYPICAL).astype(np.int64)] if len(values) else np.zeros(1)
