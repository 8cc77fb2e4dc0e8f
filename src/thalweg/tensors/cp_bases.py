"""Bases of the row spaces of tensors in factor form, without writing a tensor out."""

import math
from typing import Annotated, NamedTuple, Self, final

import numpy as np

from thalweg.core.declared import check, table
from thalweg.core.protocols import State
from thalweg.tensors import chordal_jit as jit
from thalweg.tensors.bases import GRAM_TOL, Bases, Decomposition, row_sums
from thalweg.tensors.forms import CPTensors, Floats, Ints

MANY_COLUMNS = 32
"""CP tensors of a higher rank, such as means of many, go through LAPACK instead of Jacobi's rotations."""


class Mixed(NamedTuple):
    """Bases as columns of factors that are mixed."""

    columns: Annotated[Floats, table("n", "L", "r", "N")]
    """n × L × r × N: the columns of the factors, each of length 1, or zeros."""
    turns: Annotated[Floats, table("n", "L", "r", "m")]
    """n × L × r × m: how they are mixed."""


@final
class CPBases(Bases):
    """Bases K_j C_j of CP tensors: columns (n, L, r, N) of the factors, and turns C (n, L, r, m)."""

    form = "cp"
    __slots__ = ("columns", "turns")

    def __init__(self, shape: tuple[int, ...], columns: Floats, turns: Floats, ranks: Ints, logs: Floats) -> None:
        self.shape, self.columns, self.turns, self.ranks, self.logs = shape, columns, turns, ranks, logs

    def overlaps(self, others: Self) -> Floats:
        """Give Tr(GᵀG), (n, s, L), from inner products of the columns of the factors."""
        out = np.zeros((len(self), len(others), len(self.shape)))
        jit.cp_overlaps(self.columns, self.turns, others.columns, others.turns, out)
        return out

    @property
    def parts(self) -> State:
        """Columns and turns."""
        return {"columns": self.columns, "turns": self.turns}

    @classmethod
    def made(cls, state: State, shape: tuple[int, ...], ranks: Ints, logs: Floats) -> tuple[Self, list[int]]:
        """Make bases from columns and turns."""
        n, L = ranks.shape
        found = check(Mixed, state, n=n, L=L, N=max(shape))
        return cls(shape, state["columns"].copy(), state["turns"].copy(), ranks, logs), [
            min(found["r"], found["m"])
        ] * L


def cp_bases(how: Decomposition, X: CPTensors) -> CPBases:
    """Find the bases of CP tensors."""
    most = np.array([min(X.rank, how.most(X.shape, j)) for j in range(X.order)], dtype=np.int64)
    columns, weights = X.columns.copy(), np.ascontiguousarray(X.weights)
    turns = np.zeros((len(X), X.order, X.rank, int(most.max())))
    ranks, logs = np.zeros((len(X), X.order), dtype=np.int64), np.zeros(len(X))
    if X.rank > MANY_COLUMNS:
        for i in range(len(X)):
            logs[i] = _large(how, weights[i], columns[i], most, turns[i], ranks[i])
    else:
        jit.cp_bases(weights, columns, how.rule, float(how.energy), GRAM_TOL, most, turns, ranks, logs)
    return CPBases(X.shape, columns, turns, ranks, logs)


def _large(how: Decomposition, weights: Floats, columns: Floats, most: Ints, turns: Floats, ranks: Ints) -> float:
    """Do what ``jit.cp_bases`` does for one tensor of many columns; give the log of its norm."""
    tops = np.abs(columns).max(axis=2)
    columns /= np.where(tops > 0.0, tops, 1.0)[:, :, None]
    lengths = np.linalg.norm(columns, axis=2)
    columns /= np.where(lengths > 0.0, lengths, 1.0)[:, :, None]
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(weights)) + (np.log(tops) + np.log(lengths)).sum(axis=0)
    log = float(logs.max())
    if log == -np.inf:
        return log
    loads = np.copysign(np.exp(logs - log), weights)
    grams = columns @ columns.swapaxes(1, 2)
    norm = float(loads @ np.multiply.reduce(grams, axis=0) @ loads)
    for j in range(len(columns)):
        w, Q = np.linalg.eigh(np.multiply.reduce(np.delete(grams, j, axis=0), axis=0))
        known = w > GRAM_TOL**2 * w[-1]
        w, Q = w[known], Q[:, known]
        H = loads[:, None] * Q * np.sqrt(w)
        e, V = np.linalg.eigh(H.T @ grams[j] @ H)
        squares = np.maximum(0.0, e[::-1])[None]
        ranks[j] = how.count(squares, row_sums(squares), GRAM_TOL, int(most[j]))[0]
        turns[j, :, : ranks[j]] = (Q / np.sqrt(w)) @ V[:, ::-1][:, : ranks[j]]
    return log + 0.5 * math.log(norm) if norm > 0.0 else -np.inf
