"""CKDT: a tree on chordal distances to landmark tensors."""

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import fields, params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.learners.tensors.buffer import Noted, TensorBuffer
from thalweg.learners.tensors.chordal_features import ChordalFeatures, Similarity
from thalweg.learners.tensors.maps import TensorMap
from thalweg.learners.tensors.records import Records
from thalweg.learners.tensors.tensor_tree import MARK_REFILLING, TensorTreeLearner
from thalweg.tensors.bases import ROUTES_DOC, RankRule, Route
from thalweg.tensors.forms import LARGEST_FULL, CPTensors, Shape, SparseTensors, Tensors, form, shape_of
from thalweg.tensors.joining import tensors_from, tensors_state

LEAST_GAIN = 0.002
"""Of a split, by default."""
SAME = 1e-12
"""Landmarks as near as this are one."""
TRIES = 5
"""How often another tensor is drawn in place of a landmark that lies where one lies already."""


@dataclass(frozen=True, slots=True)
class Landmark:
    """A tensor that others are compared with."""

    label: Any
    """Its class."""
    number: int
    """Which tensor it was among those learned, the first being 1."""
    values: Tensors
    """The tensor, a chunk of one."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A split that a tensor passed on its way to a leaf."""

    feature: str
    """What was asked."""
    landmark: int
    """With which landmark the tensor was compared; -1: with none."""
    threshold: float
    value: float
    above: bool
    """Is the value above the threshold?"""
    modes: Floats
    """Which share each mode has in the distance from the landmark."""


@final
class CKDT(TensorTreeLearner, RankRule, Classifier):
    """A tree that asks how near a tensor is to a few landmark tensors, by chordal distances of their flattenings.

    The first ``window`` tensors are kept; the most frequent class answers meanwhile. Then landmarks are drawn from
    them, and a tree learns them by their distances from the landmarks. A detector watches the tensors that are
    learned, and another, with ``error_guard``, the errors. After a drift landmarks and tree are built again from the
    tensors that came since the first alarm; the old tree answers until the new one has shown itself better.

    B. Krawczyk, "Tensor decision trees for continual learning from drifting data streams", Machine Learning 110, 2021.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 600)
    >>> shapes = np.where(y == 1, 3.0, 0.5)[:, None, None]
    >>> X = rng.gamma(shapes, size=(600, 8, 8))
    >>> learner = CKDT()
    >>> proba = learner.test_then_train(X, y)
    >>> bool((proba.argmax(axis=1) == y)[300:].mean() > 0.9), len(learner.landmarks_)
    (True, 20)
    """

    landmarks: int = fields.whole(
        default=20, doc="How many are drawn from the tensors that the tree is built from.", least=1, old="n_landmarks"
    )
    stratify: bool = fields.flag(default=True, doc="Is at least one landmark of each class, while there is room?")
    similarity: Similarity | None = fields.choice(
        default=None,
        doc="The features, see ChordalFeatures; None: per-mode up to order 5, log-per-mode above, or kernel by paper.",
        old="features",
    )
    rank: Literal["numerical", "energy"] | int | None = fields.again(  # type: ignore[assignment]
        default=None, doc="Singular values that count, see ChordalFeatures; None: energy, or numerical by paper."
    )
    route: Route = fields.choice(default="auto", doc=ROUTES_DOC)
    append_norm: bool | None = fields.free(
        default=None, doc="Is the log of the norm a feature, too? None: yes, or no by paper.", check=params.flag
    )
    evolving: bool = fields.flag(
        default=False,
        doc="May tensors have other sizes than those before? What they lack counts as 0; when a mode grows, features "
        "and tree are built again from what comes then. For arrays of up to 200,000 values.",
    )
    tau: float | None = fields.again(
        default=None, doc="The gain from which a split is worth it; None: 0.002 for the bound lcb."
    )

    def _prepare(self) -> None:
        super()._prepare()
        params.whole("landmarks", self.landmarks, least=1, most=min(self.window, self.min_rebuild))
        if self.evolving and self.shape is not None:
            raise ValueError(f"shape must be None where evolving is True, got {params.shown(self.shape)}")
        self._maps()

    # -- landmarks ----------------------------------------------------------------------------------------------------

    def _maps(self) -> "Landmarks":
        how = ChordalFeatures(
            similarity=self._chosen("similarity"), rank=self._chosen("rank"), max_rank=self.max_rank,
            energy=self.energy, route=self.route, append_norm=self._chosen("append_norm"), seed=self.seed,
        )  # fmt: skip
        return Landmarks(how.get_params(deep=False), self.landmarks, self.stratify, self.seed)

    def _chosen(self, name: str) -> Any:
        """A parameter, or what stands for None.

        The least gain is lower than that of other trees: distances that part the first tensors alike part later ones
        less, so that leaves go on.
        """
        if name == "tau":
            return LEAST_GAIN if self.tau is None and self._chosen("bound") == "lcb" else self.tau
        return super()._chosen(name)

    @property
    def landmarks_(self) -> tuple[Landmark, ...]:
        """The tensors that others are compared with now; none before ``window`` tensors have come."""
        if self._model is None:
            return ()
        notes, names = self._model.notes, self._labels.values
        X, each = tensors_from(notes), zip(notes["labels"].tolist(), notes["numbers"].tolist(), strict=True)
        return tuple(Landmark(names[label], number, X[k : k + 1]) for k, (label, number) in enumerate(each))

    def importances(self) -> dict[str, float]:
        """Give which share of the gains of all splits each feature has: those of landmarks, of their modes, the norm.

        Empty before there is a tree; all 0 before its first split.
        """
        if self._model is None:
            return {}
        gains = self._model.trees.importances(0)
        total = float(gains.sum()) or 1.0
        return dict(zip(self._model.map.names, (gains / total).tolist(), strict=True))

    def explain_one(self, x: Any) -> list[Reason]:
        """Say which splits lead to the answer for one tensor: with what it is compared, and in which modes it differs.

        Parameters
        ----------
        x : object
            An array (N1, …, NL), or a chunk of one tensor in another form.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> y = rng.integers(0, 2, 400)
        >>> X = rng.gamma(np.where(y == 1, 3.0, 0.5)[:, None, None], size=(400, 8, 8))
        >>> reasons = CKDT(append_norm=False).partial_fit(X, y).explain_one(X[0])
        >>> reasons[0].feature.startswith("landmark"), reasons[0].modes.shape
        (True, (2,))
        """
        chunk = isinstance(x, (CPTensors, SparseTensors))
        rows, _ = self._rows(x, learning=False) if chunk else self._one_row(x, learning=False)
        if rows.shape[0] != 1:
            raise ValueError(f"x must hold one tensor, got {rows.shape[0]}")
        if self._model is None:
            return []
        seen = self._model.map
        assert isinstance(seen, ChordalFeatures)
        bases = seen.bases(self._records.tensors(rows))
        distances = bases.distances(seen.landmarks)[0]
        f, names, modes = seen.transform(bases)[0], seen.names, distances.shape[1]
        reasons = []
        for feature, threshold, above in self._model.trees.path(0, f):
            k = feature // modes if seen.by_mode else feature
            k = -1 if k >= len(distances) else k
            total = distances[k].sum() if k >= 0 else 0.0
            parts = distances[k] / total if total > 0.0 else np.zeros(modes)
            reasons.append(Reason(names[feature], k, threshold, float(f[feature]), above, parts))
        return reasons

    def explain(self, x: Any) -> list[Reason]:
        """Do what ``explain_one`` does, which is its name now."""
        warnings.warn("explain is now called explain_one", DeprecationWarning, stacklevel=2)
        return self.explain_one(x)

    # -- sizes that change --------------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        if self.evolving:
            _refuse_large(schema)
        super()._start(schema)

    def _extend(self, schema: Schema) -> None:
        """Let a mode grow: what came before is 0 there, and what comes next makes new landmarks."""
        if not self.evolving or schema.shape == self._records.shape:
            super()._extend(schema)
            return
        _refuse_large(schema)
        self._records, tree = Records(type(self).__name__, self.shape, schema), self._tree
        shape = self._records.shape
        tree.detector.reset()
        kept, tree.buffer = tree.buffer, TensorBuffer(self.max_buffer)
        if tree.model is None:
            if len(kept):
                tree.buffer.restore({**kept.state(), **_padded(kept.state(), shape)}, len(self._labels))
            return
        tree.trial = None
        tree.model.notes |= _padded(tree.model.notes, shape)
        tree.model.map.fit(tensors_from(tree.model.notes))
        tree.marks[MARK_REFILLING] = 1


@final
@dataclass(frozen=True, slots=True)
class Landmarks:
    """Draws landmarks from the tensors that a tree is built from; its notes are the landmarks."""

    features: dict[str, Any]
    """Parameters of ``ChordalFeatures``."""
    n: int
    stratify: bool
    seed: int

    def new(self) -> ChordalFeatures:
        """Make a map that has no landmarks yet."""
        return ChordalFeatures(**self.features)

    def fit(self, features: TensorMap, kept: TensorBuffer, builds: int) -> State:
        """Draw the landmarks."""
        X, y, rng = kept.tensors, kept.labels, np.random.default_rng([self.seed, builds])
        drawn = draw(rng, X, y, self.n, stratify=self.stratify, how=self.new())
        features.fit(X[drawn])
        return {**tensors_state(X[drawn]), "labels": y[drawn], "numbers": kept.numbers[drawn]}

    def refuse(self, notes: State, records: Records, classes: int) -> None:
        """Refuse what are no landmarks of such records."""
        X = tensors_from(notes)
        records.refuse_others("landmarks", form(X), shape_of(X))
        check(Noted, notes, n=len(X), classes=classes)


def draw(
    rng: np.random.Generator, X: Tensors, y: Ints, n: int, *, stratify: bool, how: ChordalFeatures
) -> NDArray[np.int64]:
    """Draw n tensors for landmarks, in the order in which they came; one of each class first, if ``stratify``.

    One that lies at distance 0 from another is drawn again, a few times.

    >>> X = np.random.default_rng(1).random((9, 4, 4))
    >>> y = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1])
    >>> 8 in draw(np.random.default_rng(1), X, y, 3, stratify=True, how=ChordalFeatures(rank=1))
    True
    """
    order = rng.permutation(len(X))
    if stratify:
        first = np.zeros(len(X), dtype=np.bool_)
        first[np.unique(y[order], return_index=True)[1]] = True
        order = np.concatenate([order[first], order[~first]])
    chosen, rest = order[:n], order[n:]
    for _ in range(TRIES):
        bases = how.fit(X[chosen]).landmarks
        twins = np.flatnonzero(np.triu(bases.distances(bases).sum(axis=2) <= SAME, 1).any(axis=0))[: len(rest)]
        if not len(twins):
            break
        chosen[twins], rest = rest[: len(twins)], rest[len(twins) :]
    return np.sort(chosen)


def _refuse_large(schema: Schema) -> None:
    """Refuse tensors that are not worked on as arrays, where sizes may change."""
    if schema.rank is not None or math.prod(schema.shape or ()) > LARGEST_FULL:
        rule = f"X must hold arrays of at most {LARGEST_FULL} values each where evolving is True"
        raise ValueError(f"{rule}, got {'factors' if schema.rank is not None else 'tensors'} of shape {schema.shape}")


def _padded(state: State, shape: Shape) -> State:
    """Put zeros behind the values of each mode of tensors that ``tensors_state`` wrote down."""
    X = state["values"]
    return {"values": np.pad(X, [(0, 0), *((0, new - old) for old, new in zip(X.shape[1:], shape, strict=True))])}
