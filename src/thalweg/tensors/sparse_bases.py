"""Bases of the row spaces of sparse tensors, by the columns of their flattenings that are not 0."""

from typing import Annotated, Any, NamedTuple, Self, final

import numpy as np

from thalweg.core.declared import check, table
from thalweg.core.protocols import State
from thalweg.core.tables import numbered
from thalweg.tensors import chordal_jit as jit
from thalweg.tensors.bases import Bases, Decomposition, scaled
from thalweg.tensors.forms import LARGEST_DENSE, Floats, Ints, SparseTensors


class Columns(NamedTuple):
    """The columns of the flattenings along one mode that are not 0, those of the first tensor first."""

    keys: Annotated[Ints, table("c", "L - 1", least=0, most=2**62)]
    """c × L - 1: where they are in the other modes."""
    values: Annotated[Floats, table("c", "m")]
    """c × m: what the basis is there."""
    starts: Annotated[Ints, table("n + 1", least=0, most="c")]
    """n + 1: where those of each tensor begin, and the last end."""


@final
class SparseBases(Bases):
    """Bases by the columns that are not 0: for mode j keys (c, L - 1), values (c, m_j), starts (n + 1)."""

    form = "sparse"
    __slots__ = ("_tables", "keys", "starts", "values")

    def __init__(
        self, shape: tuple[int, ...], keys: list[Ints], values: list[Floats], starts: list[Ints], ranks: Ints,
        logs: Floats,
    ) -> None:  # fmt: skip
        self.shape, self.keys, self.values, self.starts = shape, keys, values, starts
        self.ranks, self.logs = ranks, logs
        self._tables: list[tuple[dict[bytes, int], Floats]] | None = None

    def tables(self) -> list[tuple[dict[bytes, int], Floats]]:
        """For each mode: where a column is in the table, and the table (columns, n · m_j) of all tensors side by side.

        The first row of a table is zeros, for columns that no tensor has.
        """
        if self._tables is None:
            self._tables = []
            for keys, values, starts in zip(self.keys, self.values, self.starts, strict=True):
                place: dict[bytes, int] = {}
                at = [place.setdefault(key, len(place) + 1) for key in _packed(keys)]
                width = values.shape[1]
                table = np.zeros((len(place) + 1, len(self), width))
                owner = np.repeat(np.arange(len(self)), np.diff(starts))
                table[at, owner] = values
                self._tables.append((place, table.reshape(len(place) + 1, -1)))
        return self._tables

    def overlaps(self, others: Self) -> Floats:
        """Give Tr(GᵀG), (n, s, L), from the columns that both have."""
        out = np.zeros((len(self), len(others), len(self.shape)))
        for j, (place, every) in enumerate(others.tables()):
            packed = _packed(self.keys[j])
            for i in range(len(self)):
                a, b = self.starts[j][i], self.starts[j][i + 1]
                at = [place.get(key, 0) for key in packed[a:b]]
                mine = np.ascontiguousarray(self.values[j][a:b, : self.ranks[i, j]].T)
                sums = np.zeros((1, len(others)))
                jit.add_squares(np.ascontiguousarray(mine @ every[at])[None], sums)
                out[i, :, j] = sums[0]
        return out

    @property
    def parts(self) -> State:
        """Keys, values and starts of each mode."""
        kinds: dict[str, list[Any]] = {"keys": self.keys, "values": self.values, "starts": self.starts}
        return {f"{name}_{j}": tables[j] for j in range(len(self.shape)) for name, tables in kinds.items()}

    @classmethod
    def made(cls, state: State, shape: tuple[int, ...], ranks: Ints, logs: Floats) -> tuple[Self, list[int]]:
        """Make bases from keys, values and starts."""
        parts = [numbered(j, state) for j in range(len(shape))]
        widths = [check(Columns, part, L=len(shape), n=len(logs))["m"] for part in parts]
        keys, values, starts = ([part[name].copy() for part in parts] for name in Columns._fields)
        for at, some in zip(starts, keys, strict=True):
            if at[0] != 0 or at[-1] != len(some) or (np.diff(at) < 0).any():
                raise ValueError("its tables 'starts' and 'keys' do not fit each other")
        return cls(shape, keys, values, starts, ranks, logs), widths


def sparse_bases(how: Decomposition, X: SparseTensors) -> SparseBases:
    """Find the bases of sparse tensors, from the columns of their flattenings that are not 0."""
    n = len(X)
    ranks, logs = np.zeros((n, X.order), dtype=np.int64), np.full(n, -np.inf)
    keys: list[Ints] = []
    values: list[Floats] = []
    starts: list[Ints] = []
    for j in range(X.order):
        most = how.most(X.shape, j)
        others = [k for k in range(X.order) if k != j]
        parts: list[tuple[Ints, Floats]] = []
        for i in range(n):
            cells = slice(X.starts[i], X.starts[i + 1])
            columns, M = _small_matrix(X.coords[cells, j], X.coords[cells][:, others], X.values[cells])
            A, totals, log = scaled(M[None])
            logs[i] = log[0]
            found = np.zeros((1, min(most, *M.shape) if M.size else 0, M.shape[1]))
            if M.size:
                ranks[i, j] = how.row_spaces(A, totals, j, found)[0]
            parts.append((columns, found[0, : ranks[i, j]].T))
        starts.append(np.concatenate([[0], np.cumsum([len(c) for c, _ in parts])]).astype(np.int64))
        widest = max([1, *(len(v.T) for _, v in parts)])
        keys.append(np.concatenate([np.zeros((0, len(others)), dtype=np.int64), *(c for c, _ in parts)]))
        padded = [np.pad(v, ((0, 0), (0, widest - v.shape[1]))) for _, v in parts]
        values.append(np.concatenate([np.zeros((0, widest)), *padded]))
    return SparseBases(X.shape, keys, values, starts, ranks, logs)


def _packed(keys: Ints) -> list[bytes]:
    width = keys.shape[1] * 8
    data = np.ascontiguousarray(keys).tobytes()
    return [data[i : i + width] for i in range(0, len(data), width)]


def _small_matrix(rows: Ints, columns: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Give the distinct columns, and the matrix of distinct rows by distinct columns."""
    _, r = np.unique(rows, return_inverse=True)
    distinct, c = np.unique(columns, axis=0, return_inverse=True)
    size = int(r.max(initial=-1)) + 1
    if size * len(distinct) > LARGEST_DENSE:
        rule = f"X must hold sparse tensors with at most {LARGEST_DENSE} places in the rows and columns that are not 0"
        raise ValueError(f"{rule} of a flattening, got {size} × {len(distinct)}")
    M = np.zeros((size, len(distinct)))
    np.add.at(M, (r, c.reshape(-1)), values)
    return distinct, M
