"""Tensors to a few hundred values: their patches or their own values, in their principal directions."""

from typing import final

import numpy as np

from thalweg.core.declared import check
from thalweg.core.protocols import State
from thalweg.learners.subspaces import patches_jit as jit
from thalweg.learners.subspaces.patches import PatchFeatures
from thalweg.tensors.forms import Floats, Ints

FAR = 1e4
"""Values are cut at this many times their spread."""
_BLOCK = 256
_FLAT = 1e-12
"""A value whose spread is a smaller share of its size is constant."""


@final
class Reduction:
    """Turns tensors, given as rows, into p values: patch features or the tensor's own, in their principal directions.

    All is learnt from the first tensors (``fit``). The values of a vector are each brought to spread 1 first; those of
    a tensor of higher order keep their ratios. A tensor with no more values than p is only scaled.
    """

    __slots__ = ("_most", "_patches", "_shape", "_tables", "_view")

    def __init__(self, shape: tuple[int, ...], patches: PatchFeatures | None, p: int) -> None:
        self._shape, self._patches, self._most = shape, patches, p
        self._tables: State = {}
        self._view: State = _as_it_is()
        if patches is not None:
            patches.shape_for(shape)

    @property
    def fitted(self) -> bool:
        """Has it seen tensors to learn from?"""
        return bool(self._tables)

    @property
    def uses_patches(self) -> bool:
        """Are tensors looked at by their patches?"""
        return self._patches is not None

    @property
    def p(self) -> int:
        """How many values a tensor gives: p, or fewer where it was learnt from few tensors."""
        return int(self._tables["directions"].shape[1])

    def fit(self, X: Floats) -> None:
        """Learn from these tensors, forgetting what was learnt before."""
        self._view = _as_it_is()
        if self._patches is not None:
            A = self._patches.learn(X, self._shape).respond(X, np.arange(len(X)))
            spread = np.full(A.shape[1], 1.0)
        else:
            A = X.clip(-jit.LARGEST, jit.LARGEST)
            spread = A.std(axis=0) if len(self._shape) == 1 else np.full(A.shape[1], float(A.std()))
        centre = A.mean(axis=0)
        scale = np.where(spread > _FLAT * (np.abs(centre) + _FLAT), 1.0 / np.maximum(spread, 1.0 / jit.LARGEST), 0.0)
        turned = np.eye(A.shape[1]) if A.shape[1] <= self._most else _principal((A - centre) * scale, self._most)
        self._tables = {"centre": centre, "directions": np.ascontiguousarray(scale[:, None] * turned)}

    def map(self, X: Floats, which: Ints, out: Floats) -> None:
        """Write the values of the tensors in these rows of X to the rows of ``out`` of the same numbers."""
        centre, directions = self._tables["centre"], self._tables["directions"]
        for i in range(0, len(which), _BLOCK):  # a block, so that the responses of a long chunk need little room
            places = part = which[i : i + _BLOCK]
            A = X
            if len(self._view["turn"]):
                A, part = self._view["sign"] * X[part][:, self._view["turn"]], np.arange(len(part))
            if self._patches is not None:
                A, part = self._patches.respond(A, part), np.arange(len(part))
            jit.project(A, part, centre, directions, FAR, places, out)

    def values(self, X: Floats) -> Floats:
        """Give the values of these tensors."""
        out = np.empty((len(X), self.p))
        self.map(X, np.arange(len(X)), out)
        return out

    def add_view(self, turn: Ints, sign: float) -> None:
        """From now on take value turn[i] of a tensor, times sign, for value i."""
        before = self._view["turn"]
        self._view = {"turn": turn[before] if len(before) else turn, "sign": self._view["sign"] * sign}

    def copy(self) -> "Reduction":
        """Make another that knows the same."""
        patches = None if self._patches is None else PatchFeatures(**self._patches.get_params(deep=False))
        other = Reduction(self._shape, patches, self._most)
        other.adopt(self.tables())
        return other

    def widen(self, shape: tuple[int, ...]) -> None:
        """Take vectors with more values, which are not looked at until the next ``fit``."""
        self._shape = shape
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
        width = values = int(np.prod(self._shape))
        if self._patches is not None:
            self._patches.adopt(tables, self._shape)
            width = self._patches.width
        check(jit.Projection, tables, Q=width, values=values, most={"p": self._most})
        centre, directions, turn, sign = (tables[name] for name in jit.Projection._fields)
        if (len(turn) and not np.array_equal(np.sort(turn), np.arange(values))) or abs(sign[0]) != 1.0:
            raise ValueError("its tables 'turn' and 'sign' hold what no view could")
        self._tables, self._view = {"centre": centre, "directions": directions}, {"turn": turn, "sign": sign}


def _as_it_is() -> State:
    return {"turn": np.zeros(0, dtype=np.int64), "sign": np.ones(1)}


def _principal(A: Floats, most: int) -> Floats:
    """Give the strongest right singular vectors of A, one in each column; at least one."""
    n, width = A.shape
    values, vectors = np.linalg.eigh(A @ A.T if n <= width else A.T @ A)
    kept = np.flatnonzero(values[::-1] > _FLAT * max(float(values[-1]), 1.0 / jit.LARGEST))[:most]
    chosen = vectors[:, ::-1][:, kept]
    if not len(kept):
        return np.eye(width, 1)
    return A.T @ (chosen / np.sqrt(values[::-1][kept])) if n <= width else chosen
