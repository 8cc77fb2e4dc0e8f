"""What stands before class subspaces: tensors to a few hundred values, by patches or as they are."""

from typing import Any, final

import numpy as np

from thalweg.core.protocols import State
from thalweg.learners.subspaces import front_jit as jit
from thalweg.learners.subspaces.patches import PatchFeatures
from thalweg.learners.subspaces.patches_jit import LARGEST
from thalweg.tensors.forms import Floats, Ints

FAR = 1e4
"""Values are cut at this many times their spread."""
_BLOCK = 256
_TABLES = ("centre", "directions")


@final
class Front:
    """Turns tensors, given as rows, into p values: patch features or the tensor's own, in their principal directions.

    All is learnt from the first tensors (``fit``). The values of a vector are each brought to spread 1 first; those of
    a tensor of higher order keep their ratios. A tensor with no more values than p is only scaled.
    """

    __slots__ = ("_dimension", "_patches", "_shape", "_tables", "_view")

    def __init__(self, shape: tuple[int, ...], patches: PatchFeatures | None, dimension: int) -> None:
        self._shape, self._patches, self._dimension = shape, patches, dimension
        self._tables: State = {}
        self._view: State = _as_it_is()
        if patches is not None:
            patches.shape_for(shape)

    @property
    def fitted(self) -> bool:
        """Has it seen tensors to learn from?"""
        return bool(self._tables)

    @property
    def sees_patches(self) -> bool:
        """Are tensors looked at by their patches?"""
        return self._patches is not None

    @property
    def dimension(self) -> int:
        """How many values a tensor gives: p, or fewer where it was learnt from few tensors."""
        return int(self._tables["directions"].shape[1])

    def fit(self, X: Floats) -> None:
        """Learn from these tensors, forgetting what was learnt before."""
        self._view = _as_it_is()
        if self._patches is not None:
            A = self._patches.learn(X, self._shape).respond(X, np.arange(len(X)))
            spread = np.full(A.shape[1], 1.0)
        else:
            A = X.clip(-LARGEST, LARGEST)
            spread = A.std(axis=0) if len(self._shape) == 1 else np.full(A.shape[1], float(A.std()))
        centre = A.mean(axis=0)
        scale = np.where(spread > _FLAT * (np.abs(centre) + _FLAT), 1.0 / np.maximum(spread, 1.0 / LARGEST), 0.0)
        if A.shape[1] <= self._dimension:
            turned = np.eye(A.shape[1])
        else:
            turned = _principal((A - centre) * scale, self._dimension)
        self._tables = {"centre": centre, "directions": np.ascontiguousarray(scale[:, None] * turned)}

    def map(self, X: Floats, which: Ints, out: Floats) -> None:
        """Write the values of the tensors in these rows of X to the rows of ``out`` of the same numbers."""
        routine: Any = jit.project
        tables = [self._tables[name] for name in _TABLES]
        for i in range(0, len(which), _BLOCK):  # a block, so that the responses of a long chunk need little room
            places = part = which[i : i + _BLOCK]
            A = X
            if len(self._view["turn"]):
                A, part = self._view["sign"] * X[part][:, self._view["turn"]], np.arange(len(part))
            if self._patches is not None:
                A, part = self._patches.respond(A, part), np.arange(len(part))
            routine(A, part, *tables, FAR, places, out)

    def see(self, turn: Ints, sign: float) -> None:
        """From now on take value turn[i] of a tensor, times sign, for value i."""
        before = self._view
        self._view = {
            "turn": turn[before["turn"]] if len(before["turn"]) else turn,
            "sign": before["sign"] * sign,
        }  # fmt: skip

    def copy(self) -> "Front":
        """Make another that knows the same."""
        patches = None
        if self._patches is not None:
            patches = PatchFeatures(**self._patches.get_params())
        other = Front(self._shape, patches, self._dimension)
        if self.fitted:
            other.adopt(self.tables())
        return other

    def widen(self, shape: tuple[int, ...]) -> None:
        """Take vectors with more values, which are not looked at until the next ``fit``."""
        self._shape = shape
        if self.fitted:
            for name, table in self._tables.items():
                more = shape[0] - len(table)
                self._tables[name] = np.concatenate([table, np.zeros((more, *table.shape[1:]))])

    def tables(self) -> State:
        """Give all tables, not copied; nothing before ``fit``."""
        if not self.fitted:
            return {}
        return self._tables | self._view | (self._patches.tables() if self._patches is not None else {})

    def adopt(self, tables: State) -> None:
        """Continue from what ``tables`` gave."""
        if "centre" not in tables:
            return
        own = {name: tables[name] for name in _TABLES}
        width = int(np.prod(self._shape))
        if self._patches is not None:
            self._patches.adopt(tables, self._shape)
            width = self._patches.width
        centre, directions = own["centre"], own["directions"]
        fits = centre.shape == (width,) and directions.ndim == 2 and len(directions) == width
        for table in own.values():
            if not fits or table.dtype != np.float64 or not table.flags.c_contiguous or not np.isfinite(table).all():
                raise ValueError("its tables 'centre' and 'directions' hold what no principal directions could")
        turn, sign = tables["turn"], tables["sign"]
        values = int(np.prod(self._shape))
        if turn.dtype != np.int64 or (len(turn) and not np.array_equal(np.sort(turn), np.arange(values))):
            raise ValueError("its table 'turn' holds what no view could")
        if sign.shape != (1,) or abs(sign[0]) != 1.0:
            raise ValueError("its table 'sign' holds what no view could")
        self._tables, self._view = own, {"turn": turn, "sign": sign}


def _as_it_is() -> State:
    return {"turn": np.zeros(0, dtype=np.int64), "sign": np.ones(1)}


_FLAT = 1e-12
"""A value whose spread is a smaller share of its size is constant."""


def _principal(A: Floats, most: int) -> Floats:
    """Give the strongest right singular vectors of A, one in each column; at least one."""
    n, width = A.shape
    values, vectors = np.linalg.eigh(A @ A.T if n <= width else A.T @ A)
    kept = np.flatnonzero(values[::-1] > _FLAT * max(float(values[-1]), 1.0 / LARGEST))[:most]
    chosen = vectors[:, ::-1][:, kept]
    if not len(kept):
        return np.eye(width, 1)
    return A.T @ (chosen / np.sqrt(values[::-1][kept])) if n <= width else chosen
