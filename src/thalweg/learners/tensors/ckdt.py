"""CKDT: a tree on chordal distances to landmark tensors."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.classifier import Floats, Ints
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import sound
from thalweg.learners.tensors.buffer import TensorBuffer
from thalweg.learners.tensors.chordal_features import ChordalFeatures
from thalweg.learners.tensors.mapped import MappedTree
from thalweg.learners.tensors.maps import TensorMap
from thalweg.learners.tensors.tensor_tree import BUILDS, REFILLING, TensorTree
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
    """The how manyth tensor it was that the learner learned."""
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
class CKDT(TensorTree):
    """A tree that asks how near a tensor is to a few landmark tensors, by chordal distances of their flattenings.

    n_landmarks: how many, drawn from the tensors that the tree is built from; stratify: at least one of each class
    while there is room. features: see ChordalFeatures; None is per-mode up to order 5, log-per-mode above, or kernel by
    "paper". append_norm: is the log of the norm a feature, too? None is yes, or no by "paper". rank, max_rank, energy,
    route: see ChordalFeatures; rank None is "energy", or "numerical" by "paper". evolving: may tensors have other sizes
    than those before? What they lack counts as 0; when a mode grows, features and tree are built anew from what comes
    then. For arrays of up to 200,000 values. tau: None is 0.002 for the bound "lcb". The rest: see TensorTree.

    B. Krawczyk, "Tensor decision trees for continual learning from drifting data streams", Machine Learning 110, 2021.

    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 600)
    >>> shapes = np.where(y == 1, 3.0, 0.5)[:, None, None]
    >>> X = rng.gamma(shapes, size=(600, 8, 8))
    >>> learner = CKDT()
    >>> proba = learner.test_then_train(X, y)
    >>> bool((proba.argmax(axis=1) == y)[300:].mean() > 0.9), len(learner.landmarks)
    (True, 20)
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        n_landmarks: int = 20,
        stratify: bool = True,
        features: str | None = None,
        rank: str | int | None = None,
        max_rank: int = 5,
        energy: float = 0.95,
        route: str = "auto",
        append_norm: bool | None = None,
        evolving: bool = False,
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
        super().__init__(
            preset=preset, window=window, bound=bound, delta=delta, grace_period=grace_period, tau=tau, leaf=leaf,
            max_leaves=max_leaves, rule=rule, error_guard=error_guard, replace=replace, min_rebuild=min_rebuild,
            max_buffer=max_buffer, shape=shape, seed=seed,
        )  # fmt: skip
        params.whole("n_landmarks", n_landmarks, least=1, most=min(window, min_rebuild))
        params.flag("stratify", stratify)
        params.flag("evolving", evolving)
        if evolving and shape is not None:
            raise ValueError(f"shape must be None where evolving is True, got {params.shown(shape)}")
        self.features, self.rank, self.max_rank, self.energy, self.route = features, rank, max_rank, energy, route
        self.n_landmarks, self.stratify, self.append_norm, self.evolving = n_landmarks, stratify, append_norm, evolving
        self._new_map()

    # -- landmarks ----------------------------------------------------------------------------------------------------

    def _new_map(self) -> ChordalFeatures:
        return ChordalFeatures(
            features=self._chosen("features"), rank=self._chosen("rank"), max_rank=self.max_rank, energy=self.energy,
            route=self.route, append_norm=self._chosen("append_norm"), seed=self.seed,
        )  # fmt: skip

    def _tau(self) -> float | None:
        """Give the least gain: distances that part the first tensors alike part later ones less, so leaves go on."""
        return LEAST_GAIN if self.tau is None and self._chosen("bound") == "lcb" else self.tau

    def _fit(self, features: TensorMap, kept: TensorBuffer) -> State:
        X, y = kept.tensors, kept.labels
        rng = np.random.default_rng([self.seed, int(self._marks[BUILDS])])
        drawn = draw(rng, X, y, self.n_landmarks, stratify=self.stratify, how=self._new_map())
        features.fit(X[drawn])
        return {**tensors_state(X[drawn]), "labels": y[drawn], "numbers": kept.numbers[drawn]}

    @property
    def landmarks(self) -> tuple[Landmark, ...]:
        """The tensors that others are compared with now; none before ``window`` tensors have come."""
        if not self._started or self._model is None:
            return ()
        notes, names = self._model.notes, self._labels.values
        X, each = tensors_from(notes), zip(notes["labels"].tolist(), notes["numbers"].tolist(), strict=True)
        return tuple(Landmark(names[label], number, X[k : k + 1]) for k, (label, number) in enumerate(each))

    @property
    def importances(self) -> Floats:
        """Which share of the gains of all splits each landmark and mode has: (landmarks, modes).

        The gain of a split on all modes of a landmark is spread evenly over them; one on the norm does not count.
        """
        if not self._started or self._model is None:
            return np.zeros((0, 0))
        seen, s, modes = self._seen_by(self._model), len(self._model.notes["labels"]), len(self._layout[1])
        gains = self._model.trees.importances(0)
        if seen.by_mode:
            table = gains[: s * modes].reshape(s, modes)
        else:
            table = np.repeat(gains[:s, None], modes, axis=1) / modes
        total = table.sum()
        return table / total if total > 0.0 else table

    def explain(self, x: Any) -> list[Reason]:
        """Say which splits lead to the answer for one tensor: with what it is compared, and in which modes it differs.

        x: an array (N1, …, NL), or a chunk of one tensor in another form.

        >>> rng = np.random.default_rng(1)
        >>> y = rng.integers(0, 2, 400)
        >>> X = rng.gamma(np.where(y == 1, 3.0, 0.5)[:, None, None], size=(400, 8, 8))
        >>> reasons = CKDT(append_norm=False).partial_fit(X, y).explain(X[0])
        >>> reasons[0].feature.startswith("landmark"), reasons[0].modes.shape
        (True, (2,))
        """
        chunk = isinstance(x, (CPTensors, SparseTensors))
        rows, _ = self._rows(x, learning=False) if chunk else self._one_row(x, learning=False)
        if rows.shape[0] != 1:
            raise ValueError(f"x must hold one tensor, got {rows.shape[0]}")
        if not self._started or self._model is None:
            return []
        seen = self._seen_by(self._model)
        bases = seen.bases(self._tensors(rows))
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

    @staticmethod
    def _seen_by(model: MappedTree) -> ChordalFeatures:
        assert isinstance(model.map, ChordalFeatures)
        return model.map

    def _refuse_notes(self, notes: State) -> None:
        X = tensors_from(notes)
        self._refuse_others("landmarks", form(X), shape_of(X))
        sound(notes, "labels", (len(X),), np.int64, least=0, below=len(self._seen))
        sound(notes, "numbers", (len(X),), np.int64, least=0)

    # -- sizes that change --------------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        if self.evolving:
            _refuse_large(schema)
        super()._start(schema)

    def _extend(self, schema: Schema) -> None:
        """Let a mode grow: what came before is 0 there, and what comes next makes new landmarks."""
        if not self.evolving:
            super()._extend(schema)
            return
        if schema.shape == self._layout[1]:
            self._begin(schema)
            return
        _refuse_large(schema)
        shape = self._begin(schema)
        self._detector.reset()
        kept, self._buffer = self._buffer, TensorBuffer(self.max_buffer)
        if self._model is None:
            if len(kept):
                self._buffer.restore({**kept.state(), **_padded(kept.state(), shape)})
            return
        self._trial = None
        self._model.notes |= _padded(self._model.notes, shape)
        self._model.map.fit(tensors_from(self._model.notes))
        self._marks[REFILLING] = 1


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
