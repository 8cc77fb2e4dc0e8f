"""Tensors to vectors: how near each tensor is to a few landmark tensors."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self, final, get_args

import numpy as np
from numpy.typing import NDArray

from thalweg.core import fields
from thalweg.core.declared import check, table
from thalweg.core.protocols import State
from thalweg.core.tables import numbered, refusing
from thalweg.learners.tensors.maps import TensorMap
from thalweg.tensors import chordal_jit as jit
from thalweg.tensors.bases import ROUTES_DOC, Bases, Decomposition, RankRule, Route, bases_from, same_form
from thalweg.tensors.forms import Floats, Ints, Tensors, form, shape_of, tensors_in

Similarity = Literal["auto", "kernel", "distance", "per-mode", "log-overlap", "log-per-mode"]
LEAST_LOG = math.log(jit.TINY)
"""The log of the norm of a tensor that is 0."""
FEW_MODES = 5
"""Up to this order the features are those of each mode, if nothing else is asked for."""


def chordal_distances(
    A: Any, B: Any, *, rank: Literal["numerical", "energy"] | int = "numerical", **options: Any
) -> Floats:
    """Give the squared chordal distance ‖Π_A - Π_B‖² of each tensor of A and of B in each mode: (n, s, L).

    Π projects onto the row space of the flattening of that mode. Scale, sign and any invertible mixing of the rows do
    not count. rank, options: see Decomposition.

    >>> A, B = np.array([[[1.0, 0.0], [0.0, 0.0]]]), np.array([[[0.0, 5.0], [0.0, 0.0]]])
    >>> chordal_distances(A, B).tolist(), chordal_distances(A, -3.0 * A).tolist()
    ([[[2.0, 0.0]]], [[[0.0, 0.0]]])
    """
    how = Decomposition(rank=rank, **options)
    first = tensors_in(A, name="A")
    second = tensors_in(B, name="B", shape=shape_of(first))
    if form(first) != form(second):
        raise ValueError(f"B must be in the form of A, {form(first)}, got {form(second)} tensors")
    return how.of(first).distances(how.of(second))


class Kernel(NamedTuple):
    """What is known of landmarks beside their bases."""

    width: Annotated[Floats, table(1, least=1e-12)]
    """1: 2σ² of the kernel."""


class Start(NamedTuple):
    """Where the route "warm" begins in one mode."""

    start: Annotated[Floats, table("side", "k")]
    """shorter side × k: leading directions."""


@final
class ChordalFeatures(RankRule, TensorMap):
    """Similarities of tensors to s landmark tensors, by the chordal distances D_j² of their flattenings.

    The paper's: rank "numerical", similarity "kernel". The route "warm" starts from the leading directions of all
    landmarks, which are found by ``fit`` and kept in the state.

    A tensor that is 0 has rank 0: D_j² is the rank of the other, and its overlap counts as 1e-300. What a tensor gives
    does not depend on the chunk it comes in, to the last bit.

    M. Signoretto, L. De Lathauwer, J. Suykens, "A kernel-based framework to tensorial data analysis", 2011.
    B. Krawczyk, "Tensor decision trees for continual learning from drifting data streams", 2021.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> map = ChordalFeatures(similarity="distance", rank=2).fit(rng.random((4, 8, 8)))
    >>> map.transform(rng.random((10, 8, 8))).shape, map.names[:2]
    ((10, 4), ('landmark 0', 'landmark 1'))
    """

    bases_of_vectors = True

    similarity: Similarity = fields.choice(
        default="auto",
        doc="What is said of a landmark. kernel: exp(-S / 2σ²), S = Σ_j D_j² (the paper's; 2σ² is the median of S over "
        "pairs of landmarks); distance: S; per-mode: the D_j² of each mode; log-overlap: "
        "Σ_j -log(Tr(GᵀG) / min(R_A, R_B)), which keeps its digits for tensors of many modes; log-per-mode: its "
        "summands; auto: per-mode up to order 5, log-per-mode above.",
        old="features",
    )
    route: Route = fields.choice(default="auto", doc=ROUTES_DOC)
    append_norm: bool = fields.flag(
        default=False, doc="One more feature: the log of the norm, which distances do not see."
    )
    missing: Literal["reject", "zero"] = fields.choice(
        default="reject",
        doc="What NaN in an array gets: a sentence, or it counts as 0.",
        old_values={"refuse": "reject"},
    )
    seed: int = fields.whole(default=1, doc="For the sketches.", least=0)

    def _prepare(self) -> None:
        self._how = Decomposition(rank=self.rank, max_rank=self.max_rank, energy=self.energy, route=self.route,
                                  seed=self.seed)  # fmt: skip
        self._landmarks: Bases | None = None
        self._starts: list[Floats] = []
        self._width = 2.0

    # -- landmarks ---------------------------------------------------------------------------------------------------

    def fit(self, landmarks: Any) -> Self:
        """Take these tensors for the landmarks; their bases are found once and kept."""
        X = tensors_in(landmarks, name="landmarks", missing=self.missing)
        if len(X) == 0:
            raise ValueError("landmarks must hold at least one tensor, got none")
        found = self._how.of(X)
        sums = _totals(found.distances(found))
        pairs = sums[np.triu_indices(len(X), 1)]
        middle = float(np.median(pairs)) if len(pairs) else 0.0
        self._landmarks, self._width = found, middle if middle >= 1e-12 else 2.0
        self._starts = self._how.starts(X)
        return self

    @property
    def landmarks(self) -> Bases:
        """The bases of the landmarks."""
        if self._landmarks is None:
            raise ValueError("landmarks are not known yet: call fit with some tensors first")
        return self._landmarks

    @property
    def fitted(self) -> bool:
        """Are there landmarks?"""
        return self._landmarks is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that tensors must have."""
        return self.landmarks.shape

    @property
    def layout(self) -> tuple[str, tuple[int, ...]]:
        """The form and the shape that tensors must have."""
        return self.landmarks.form, self.shape

    @property
    def sigma(self) -> float:
        """The width σ of the kernel."""
        return float(np.sqrt(self._width / 2.0))

    @property
    def kind(self) -> str:
        """The features in use, where "auto" was asked for."""
        if self.similarity != "auto":
            return self.similarity
        return "per-mode" if len(self.shape) <= FEW_MODES else "log-per-mode"

    @property
    def by_mode(self) -> bool:
        """Has each mode of a landmark a feature of its own?"""
        return self.kind in ("per-mode", "log-per-mode")

    @property
    def names(self) -> tuple[str, ...]:
        """What each feature is."""
        s, modes = len(self.landmarks), len(self.shape)
        names = [f"landmark {k}" for k in range(s)]
        if self.by_mode:
            names = [f"landmark {k}, mode {j}" for k in range(s) for j in range(modes)]
        return (*names, "log norm") if self.append_norm else tuple(names)

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.landmarks) * (len(self.shape) if self.by_mode else 1) + self.append_norm

    # -- tensors -----------------------------------------------------------------------------------------------------

    def tensors(self, X: Any) -> Tensors:
        """Let a chunk in, or say what is wrong with it; nothing changes."""
        found = tensors_in(X, missing=self.missing, shape=self.shape if self.fitted else None)
        if self.fitted:
            same_form(found, self.landmarks)
        return found

    def bases(self, X: Any) -> Bases:
        """Decompose tensors: what costs most, to be done once where it is needed twice."""
        return self._how.of(self.tensors(X), self._starts)

    def distances(self, X: Any) -> Floats:
        """Give D_j² of each tensor, landmark and mode: (n, s, L)."""
        return self.bases(X).distances(self.landmarks)

    def transform(self, X: Any) -> Floats:
        """Give the features of tensors, or of their bases: one row for each tensor."""
        landmarks = self.landmarks
        found = X if isinstance(X, Bases) else self.bases(X)
        if found.shape != landmarks.shape:
            raise ValueError(f"X must hold bases of tensors of shape {landmarks.shape}, got {found.shape}")
        F = np.zeros((len(found), self.width))
        similar = F if not self.append_norm else np.zeros((len(found), self.width - 1))
        code = get_args(Similarity).index(self.kind) - 1
        jit.fill_features(code, found.overlaps(landmarks), found.ranks, landmarks.ranks, self._width, similar)
        if self.append_norm:
            F[:, :-1], F[:, -1] = similar, np.maximum(found.logs, LEAST_LOG)
        return F

    def play(self, X: Tensors, events: Ints) -> Floats:
        """Give the features of each tensor that an event e ≥ 0 asks for; there is nothing to learn after ``fit``."""
        rows = events[events >= 0]
        F = np.zeros((len(X), self.width))
        if len(rows):
            F[rows] = self.transform(self._how.of(X[rows], self._starts))
        return F

    # -- state -------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Copy out the landmarks, the width of the kernel, and the starts of the route "warm"."""
        if self._landmarks is None:
            return {}
        starts = {f"start_{j}": start.copy() for j, start in enumerate(self._starts)}
        return {**self._landmarks.state(), "width": np.array([self._width]), **starts}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` gave."""
        if not state:
            self._landmarks, self._width, self._starts = None, 2.0, []
            return
        with refusing(state, f"state must be what {type(self).__name__}.state() gave"):
            found = bases_from(state)
            check(Kernel, state)
            modes = range(len(found.shape) if self.route == "warm" and found.form == "dense" else 0)
            for j in modes:
                side, k = self._how.start_size(found.shape, j)
                check(Start, numbered(j, state), side=side, k=k)
        self._landmarks, self._width = found, float(state["width"][0])
        self._starts = [state[f"start_{j}"].copy() for j in modes]


def _totals(values: Floats) -> Floats:
    """Add up the modes in their order."""
    total = np.zeros(values.shape[:2])
    for j in range(values.shape[2]):
        total += values[:, :, j]
    return total
