"""Orthonormal bases of the row spaces of flattenings, and how much two such spaces overlap.

What is promised: the basis of a tensor, and its overlap with landmarks, are the same to the last bit alone or in a
chunk of any size. All products are made tensor by tensor, in shapes that depend on the shape of one tensor, the rank
rule and the landmarks only: never on the number of tensors. Factor forms use compiled sums of a fixed order; dense and
sparse ones go through BLAS and LAPACK, and may differ in the last bits between machines or builds of BLAS.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.fields import Parametrised
from thalweg.core.params import choice, number, shown, whole
from thalweg.core.protocols import State
from thalweg.core.tables import sound
from thalweg.tensors import chordal_jit as jit
from thalweg.tensors.forms import (
    LARGEST_DENSE,
    CPTensors,
    Floats,
    Ints,
    SparseTensors,
    Tensors,
    flatten,
    form,
    shape_of,
    tensors_in,
)
from thalweg.tensors.joining import FORMS, form_from, shape_from
from thalweg.tensors.warm import follow, leading

ROUTES = ("auto", "svd", "gram", "randomised", "warm")
LARGE = 200
"""Flattenings whose both sides are longer are sketched."""
SPARE = 5
"""Columns beyond the rank, of a sketch or a warm start."""
GRAM_TOL = 1e-7
"""Singular values below this share of the first are noise where they come from a Gram matrix."""
CLEAR = 1e-2
"""With "auto" (and "warm"), a kept singular value below this share of the first is found again by an SVD."""
SEEN = 0.5
"""A tensor of which a warm start leads to less than this share of the squares is decomposed from scratch."""
MANY_COLUMNS = 32
"""CP tensors of a higher rank, such as means of many, go through LAPACK instead of Jacobi's rotations."""
BLOCK = 64
"""Tensors worked on at a time, to stay in the cache."""


class Bases(ABC):
    """The bases of a chunk of tensors, one for each mode."""

    __slots__ = ("logs", "ranks", "shape")

    shape: tuple[int, ...]
    ranks: Ints
    """(n, L): dimensions of the row spaces; 0 for a tensor that is 0."""
    logs: Floats
    """(n): log of the norm of each tensor; -inf for a tensor that is 0."""

    form: ClassVar[str]
    """That of the tensors; those of order 1 are all dense."""

    def __len__(self) -> int:
        return len(self.ranks)

    @abstractmethod
    def overlaps(self, others: Self) -> Floats:
        """Give Tr(GᵀG), G = D_Bᵀ D_A, for each tensor, each of the others, and each mode: (n, s, L)."""

    @abstractmethod
    def state(self) -> State:
        """Copy the bases out as a few arrays."""

    def distances(self, others: Self) -> Floats:
        """Give the squared chordal distances R_A + R_B - 2 Tr(GᵀG), not below 0: (n, s, L)."""
        sums = (self.ranks[:, None, :] + others.ranks[None, :, :]).astype(np.float64)
        return np.maximum(0.0, sums - 2.0 * self.overlaps(others))


@final
class DenseBases(Bases):
    """Bases as rows of arrays (n, m_j, P_j); rows beyond the rank are zeros, so that all have one shape."""

    form = "dense"
    __slots__ = ("rows",)

    def __init__(self, shape: tuple[int, ...], rows: list[Floats], ranks: Ints, logs: Floats) -> None:
        self.shape, self.rows, self.ranks, self.logs = shape, rows, ranks, logs

    def overlaps(self, others: Self) -> Floats:
        """Give Tr(GᵀG), (n, s, L): one product with the stacked rows of the others for each tensor and mode."""
        routine: Any = jit.add_squares
        out = np.zeros((len(self.shape), len(self), len(others)))
        for j, (mine, theirs) in enumerate(zip(self.rows, others.rows, strict=True)):
            stacked = theirs.reshape(-1, theirs.shape[2]).T
            for i in range(0, len(self), BLOCK):
                routine(np.ascontiguousarray(mine[i : i + BLOCK] @ stacked), out[j, i : i + BLOCK])
        return np.ascontiguousarray(np.moveaxis(out, 0, 2))

    def state(self) -> State:
        """Copy the bases out as a few arrays."""
        kept = {f"rows_{j}": rows.copy() for j, rows in enumerate(self.rows)}
        return {**_head(self), **kept}


@final
class CPBases(Bases):
    """Bases K_j C_j of CP tensors: columns (n, L, r, N) of the factors, and turns C (n, L, r, m)."""

    form = "cp"
    __slots__ = ("columns", "turns")

    def __init__(self, shape: tuple[int, ...], columns: Floats, turns: Floats, ranks: Ints, logs: Floats) -> None:
        self.shape, self.columns, self.turns, self.ranks, self.logs = shape, columns, turns, ranks, logs

    def overlaps(self, others: Self) -> Floats:
        """Give Tr(GᵀG), (n, s, L), from inner products of the columns of the factors."""
        routine: Any = jit.cp_overlaps
        out = np.zeros((len(self), len(others), len(self.shape)))
        routine(self.columns, self.turns, others.columns, others.turns, out)
        return out

    def state(self) -> State:
        """Copy the bases out as a few arrays."""
        return {**_head(self), "columns": self.columns.copy(), "turns": self.turns.copy()}


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
        routine: Any = jit.add_squares
        out = np.zeros((len(self), len(others), len(self.shape)))
        for j, (place, table) in enumerate(others.tables()):
            packed = _packed(self.keys[j])
            for i in range(len(self)):
                a, b = self.starts[j][i], self.starts[j][i + 1]
                at = [place.get(key, 0) for key in packed[a:b]]
                mine = np.ascontiguousarray(self.values[j][a:b, : self.ranks[i, j]].T)
                sums = np.zeros((1, len(others)))
                routine(np.ascontiguousarray(mine @ table[at])[None], sums)
                out[i, :, j] = sums[0]
        return out

    def state(self) -> State:
        """Copy the bases out as a few arrays."""
        kept: State = {}
        for j in range(len(self.shape)):
            kept[f"keys_{j}"], kept[f"values_{j}"] = self.keys[j].copy(), self.values[j].copy()
            kept[f"starts_{j}"] = self.starts[j].copy()
        return {**_head(self), **kept}


def _head(bases: Bases) -> State:
    return {
        "form": np.array([FORMS.index(bases.form)], dtype=np.int64),
        "shape": np.array(bases.shape, dtype=np.int64),
        "ranks": bases.ranks.copy(),
        "logs": bases.logs.copy(),
    }


def bases_from(state: Mapping[str, NDArray[Any]]) -> Bases:
    """Make bases again from what ``state`` gave; what no bases could have given is refused.

    >>> bases = Decomposition().bases(np.ones((1, 2, 3)))
    >>> bool(bases_from(bases.state()).distances(bases).max() < 1e-14)
    True
    """
    kind, shape = form_from(state), shape_from(state)
    modes, L, P = range(len(shape)), len(shape), math.prod(shape)
    n = len(state["logs"])
    ranks, logs = (
        sound(state, "ranks", (n, L), np.int64, least=0).copy(),
        sound(state, "logs", (n,), least=-np.inf).copy(),
    )
    most: list[int]
    found: Bases
    if kind == "dense":
        rows = [sound(state, f"rows_{j}", (n, None, P // shape[j] if L > 1 else P)).copy() for j in modes]
        found, most = DenseBases(shape, rows, ranks, logs), [table.shape[1] for table in rows]
    elif kind == "cp":
        columns = sound(state, "columns", (n, L, None, max(shape))).copy()
        turns = sound(state, "turns", (n, L, columns.shape[2], None)).copy()
        found, most = CPBases(shape, columns, turns, ranks, logs), [turns.shape[3]] * L
    else:
        starts = [sound(state, f"starts_{j}", (n + 1,), np.int64, least=0).copy() for j in modes]
        keys = [sound(state, f"keys_{j}", (None, L - 1), np.int64, least=0).copy() for j in modes]
        values = [sound(state, f"values_{j}", (len(keys[j]), None)).copy() for j in modes]
        for at, table in zip(starts, keys, strict=True):
            if at[0] != 0 or at[-1] != len(table) or (np.diff(at) < 0).any():
                raise ValueError("its tables 'starts' and 'keys' do not fit each other")
        found, most = SparseBases(shape, keys, values, starts, ranks, logs), [table.shape[1] for table in values]
    if n == 0 or (ranks > most).any():
        raise ValueError("its table 'ranks' holds what no bases could")
    return found


@final
class Decomposition(Parametrised):
    """How tensors become bases: the rank rule, and the route.

    rank: "numerical", every singular value that is not rounding (the paper's rule); "energy", as few as hold the share
    ``energy`` of the squares, at most max_rank; or a whole number, as many, if there are. The last two keep at most
    half of the columns of a flattening, since a space that fills most of them says nothing.
    route: "svd", most accurate; "gram", eigenvectors of the smaller Gram matrix, which loses singular values below
    1e-7 of the first; "randomised", a sketch with one power step; "warm", one or two power steps from ``starts``, the
    leading directions of tensors seen before, and without them, or for a tensor of which they lead to less than half,
    as "auto"; "auto", svd for the numerical rank, else gram (and svd for the few tensors whose kept singular value is
    below 1/100 of the first), randomised where both sides are beyond 200. Factor (CP) tensors have a route of their
    own, sparse ones use the columns that are not 0.
    seed: for the sketches.

    >>> Decomposition(rank=2).bases(np.random.default_rng(1).random((1, 8, 8))).ranks.tolist()
    [[2, 2]]
    """

    __slots__ = ("energy", "max_rank", "rank", "route", "seed")

    def __init__(
        self, *, rank: str | int = "energy", max_rank: int = 5, energy: float = 0.95, route: str = "auto", seed: int = 1
    ) -> None:
        if isinstance(rank, str):
            if rank not in ("numerical", "energy"):
                raise ValueError(f"rank must be 'numerical', 'energy' or a whole number above 0, got {shown(rank)}")
        else:
            whole("rank", rank, least=1)
        whole("max_rank", max_rank, least=1)
        number("energy", energy, above=0, most=1)
        choice("route", route, ROUTES)
        if route in ("randomised", "warm") and rank == "numerical":
            rule = f"route must not be {route!r} where rank is 'numerical'"
            raise ValueError(f"{rule}: {'a sketch' if route == 'randomised' else 'a start'} has a rank of its own")
        whole("seed", seed, least=0)
        self.rank, self.max_rank, self.energy, self.route, self.seed = rank, max_rank, energy, route, seed

    def bases(self, tensors: Any) -> Bases:
        """Decompose each tensor once for each mode."""
        return self.of(tensors_in(tensors))

    def of(self, X: Tensors, starts: Sequence[Floats] = ()) -> Bases:
        """Decompose tensors that were let in before. starts: for the route "warm"."""
        if isinstance(X, np.ndarray):
            return self._dense(X, starts)
        if X.order == 1:  # its one flattening is the tensor itself, as a row
            return self._dense(X.dense(), starts)
        return self._cp(X) if isinstance(X, CPTensors) else self._sparse(X)

    # -- warm starts -------------------------------------------------------------------------------------------------

    def starts(self, X: Tensors) -> list[Floats]:
        """Give where the route "warm" begins in each mode: the leading directions of the mean Gram matrix of these.

        None for other routes and forms; no columns in a mode too short to gain from them.

        >>> [start.shape for start in Decomposition(route="warm").starts(np.ones((4, 16, 16, 3)))]
        [(16, 10), (16, 10), (3, 0)]
        """
        shape = shape_of(X)
        if self.route != "warm" or (len(shape) > 1 and not isinstance(X, np.ndarray)):
            return []
        scaled = _scaled(X if isinstance(X, np.ndarray) else X.dense())[0]
        sizes = [self.start_size(shape, j) for j in range(len(shape))]
        return [leading(flatten(scaled, j), k) if k else np.zeros((side, 0)) for j, (side, k) in enumerate(sizes)]

    def start_size(self, shape: tuple[int, ...], j: int) -> tuple[int, int]:
        """Give the rows and columns of a start in mode j."""
        most, side = self._most(shape, j), min(_sides(shape, j))
        return side, most + SPARE if side > most + SPARE else 0

    # -- the rank rule -----------------------------------------------------------------------------------------------

    @property
    def _rule(self) -> int:
        return jit.FIXED if not isinstance(self.rank, str) else jit.ENERGY if self.rank == "energy" else jit.NUMERICAL

    def _most(self, shape: tuple[int, ...], j: int) -> int:
        """Give the largest rank that mode j may have."""
        rows, columns = _sides(shape, j)
        if self.rank == "numerical":
            return min(rows, columns)
        asked = self.max_rank if isinstance(self.rank, str) else int(self.rank)
        return max(1, min(asked, rows, columns, columns // 2))

    def _count(self, squares: Floats, totals: Floats, tol: float, most: int) -> Ints:
        routine: Any = jit.count_ranks
        ranks = np.zeros(len(squares), dtype=np.int64)
        routine(np.ascontiguousarray(squares), totals, self._rule, float(self.energy), tol, most, ranks)
        return ranks

    # -- dense -------------------------------------------------------------------------------------------------------

    def _dense(self, X: Floats, starts: Sequence[Floats]) -> DenseBases:
        n, shape = len(X), X.shape[1:]
        modes = range(len(shape))
        rows = [np.zeros((n, self._most(shape, j), _sides(shape, j)[1])) for j in modes]
        ranks, logs = np.zeros((n, len(shape)), dtype=np.int64), np.full(n, -np.inf)
        for i in range(0, n, BLOCK):
            block = slice(i, i + BLOCK)
            scaled, totals, logs[block] = _scaled(X[block])
            for j in modes:
                start = starts[j] if starts and starts[j].size else None
                ranks[block, j] = self._mode(flatten(scaled, j), totals, j, rows[j][block], start)
        return DenseBases(shape, rows, ranks, logs)

    def _mode(self, A: Floats, totals: Floats, j: int, out: Floats, start: Floats | None = None) -> Ints:
        """Find bases of the row spaces of matrices (n, N, P); totals: the sums of their squares."""
        if start is None:
            return self._from_scratch(A, totals, j, out)
        most = out.shape[1]
        squares, rows = follow(A, start, most)
        ranks = self._count(squares, totals, GRAM_TOL, most)
        out[:] = rows * _first(ranks, most)[:, :, None]
        unseen = np.flatnonzero(_sums(squares) < SEEN * totals)
        if len(unseen):
            found = np.zeros((len(unseen), *out.shape[1:]))
            ranks[unseen] = self._from_scratch(A[unseen], totals[unseen], j, found)
            out[unseen] = found
        return ranks

    def _from_scratch(self, A: Floats, totals: Floats, j: int, out: Floats) -> Ints:
        route, choosing = self.route, self.route in ("auto", "warm")
        if choosing:
            large = min(A.shape[1:]) > LARGE
            route = "svd" if self.rank == "numerical" else "randomised" if large else "gram"
        if route == "svd":
            return self._by_svd(A, out)
        if route == "randomised" and min(A.shape[1:]) > out.shape[1] + SPARE:
            return self._by_sketch(A, totals, j, out)
        ranks, clear = self._by_gram(A, out)
        if choosing and not clear.all():
            again = np.flatnonzero(~clear)
            found = np.zeros((len(again), *out.shape[1:]))
            ranks[again] = self._by_svd(A[again], found)
            out[again] = found
        return ranks

    def _by_svd(self, A: Floats, out: Floats) -> Ints:
        most = out.shape[1]
        _, s, V = np.linalg.svd(A, full_matrices=False)
        squares = s * s
        ranks = self._count(squares, _sums(squares), max(A.shape[1:]) * np.finfo(float).eps, most)
        out[:] = V[:, :most] * _first(ranks, most)[:, :, None]
        return ranks

    def _by_gram(self, A: Floats, out: Floats) -> tuple[Ints, NDArray[np.bool_]]:
        """By eigenvectors of A Aᵀ or AᵀA, the smaller; say also where all that is kept is clear of rounding."""
        most, wide = out.shape[1], A.shape[1] <= A.shape[2]
        turned = A.swapaxes(1, 2)
        w, U = np.linalg.eigh(A @ turned if wide else turned @ A)
        squares = np.maximum(0.0, w[:, ::-1])
        ranks = self._count(squares, _sums(squares), GRAM_TOL, most)
        counts = _first(ranks, most)
        top = U[:, :, ::-1][:, :, :most].swapaxes(1, 2)
        if wide:
            s = np.sqrt(np.where(counts > 0.0, squares[:, :most], 1.0))
            out[:] = np.ascontiguousarray(top * (counts / s)[:, :, None]) @ A
        else:
            out[:] = top * counts[:, :, None]
        wanted = ranks if isinstance(self.rank, str) else np.where(ranks > 0, most, 0)
        least = squares[np.arange(len(squares)), np.maximum(0, wanted - 1)]
        return ranks, least >= CLEAR**2 * squares[:, 0]

    def _by_sketch(self, A: Floats, totals: Floats, j: int, out: Floats) -> Ints:
        """By the range of Aᵀ Ω after one power step (Halko, Martinsson, Tropp 2011)."""
        most = out.shape[1]
        omega = np.random.default_rng([self.seed, j]).standard_normal((A.shape[1], most + SPARE))
        turned = A.swapaxes(1, 2)
        Q, _ = np.linalg.qr(turned @ omega)
        Q, _ = np.linalg.qr(turned @ (A @ Q))
        _, s, V = np.linalg.svd(A @ Q, full_matrices=False)
        ranks = self._count(s * s, totals, GRAM_TOL, most)
        out[:] = (np.ascontiguousarray(V[:, :most]) @ Q.swapaxes(1, 2)) * _first(ranks, most)[:, :, None]
        return ranks

    # -- factors and coordinates -------------------------------------------------------------------------------------

    def _cp(self, X: CPTensors) -> CPBases:
        routine: Any = jit.cp_bases
        most = np.array([min(X.rank, self._most(X.shape, j)) for j in range(X.order)], dtype=np.int64)
        columns = X.columns.copy()
        turns = np.zeros((len(X), X.order, X.rank, int(most.max())))
        ranks, logs = np.zeros((len(X), X.order), dtype=np.int64), np.zeros(len(X))
        share = float(self.energy)
        weights = np.ascontiguousarray(X.weights)
        if X.rank > MANY_COLUMNS:
            for i in range(len(X)):
                logs[i] = self._cp_large(weights[i], columns[i], most, turns[i], ranks[i])
            return CPBases(X.shape, columns, turns, ranks, logs)
        routine(weights, columns, self._rule, share, GRAM_TOL, most, turns, ranks, logs)
        return CPBases(X.shape, columns, turns, ranks, logs)

    def _cp_large(self, weights: Floats, columns: Floats, most: Ints, turns: Floats, ranks: Ints) -> float:
        """Do what ``cp_bases`` does for one tensor of many columns; give the log of its norm."""
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
            ranks[j] = self._count(squares, _sums(squares), GRAM_TOL, int(most[j]))[0]
            turns[j, :, : ranks[j]] = (Q / np.sqrt(w)) @ V[:, ::-1][:, : ranks[j]]
        return log + 0.5 * math.log(norm) if norm > 0.0 else -np.inf

    def _sparse(self, X: SparseTensors) -> SparseBases:
        n = len(X)
        ranks, logs = np.zeros((n, X.order), dtype=np.int64), np.full(n, -np.inf)
        keys: list[Ints] = []
        values: list[Floats] = []
        starts: list[Ints] = []
        for j in range(X.order):
            most = self._most(X.shape, j)
            others = [k for k in range(X.order) if k != j]
            parts: list[tuple[Ints, Floats]] = []
            for i in range(n):
                cells = slice(X.starts[i], X.starts[i + 1])
                columns, M = _small_matrix(X.coords[cells, j], X.coords[cells][:, others], X.values[cells])
                scaled, totals, log = _scaled(M[None])
                logs[i] = log[0]
                found = np.zeros((1, min(most, *M.shape) if M.size else 0, M.shape[1]))
                if M.size:
                    ranks[i, j] = self._mode(scaled, totals, j, found)[0]
                parts.append((columns, found[0, : ranks[i, j]].T))
            starts.append(np.concatenate([[0], np.cumsum([len(c) for c, _ in parts])]).astype(np.int64))
            widest = max([1, *(len(v.T) for _, v in parts)])
            keys.append(np.concatenate([np.zeros((0, len(others)), dtype=np.int64), *(c for c, _ in parts)]))
            padded = [np.pad(v, ((0, 0), (0, widest - v.shape[1]))) for _, v in parts]
            values.append(np.concatenate([np.zeros((0, widest)), *padded]))
        return SparseBases(X.shape, keys, values, starts, ranks, logs)


def same_form(tensors: Tensors, bases: Bases, *, name: str = "X") -> None:
    """Refuse tensors in another form than those that the bases came from."""
    if form(tensors) != bases.form and len(shape_of(tensors)) > 1:
        raise ValueError(f"{name} must be in the form of the landmarks, {bases.form}, got {form(tensors)} tensors")


def _sides(shape: tuple[int, ...], j: int) -> tuple[int, int]:
    """Give the rows and columns of the flattening along mode j."""
    size = math.prod(shape)
    return (1, size) if len(shape) == 1 else (shape[j], size // shape[j])


def _scaled(X: Floats) -> tuple[Floats, Floats, Floats]:
    """Divide each tensor by a power of 2 so that no square overflows; give its sum of squares then, log of norm too."""
    n = len(X)
    top = np.abs(X).reshape(n, -1).max(axis=1, initial=0.0)
    powers = np.clip(np.frexp(top)[1], -1000, 1000)
    scaled = X * np.ldexp(1.0, -powers).reshape(-1, *[1] * (X.ndim - 1))
    totals = _sums(scaled.reshape(n, -1) ** 2)
    with np.errstate(divide="ignore"):
        return scaled, totals, np.log(np.sqrt(totals)) + powers * math.log(2.0)


def _sums(rows: Floats) -> Floats:
    """Add up each row by itself: the order does not depend on how many rows there are."""
    return np.array([row.sum() for row in np.ascontiguousarray(rows)], dtype=np.float64)


def _first(ranks: Ints, most: int) -> Floats:
    return (np.arange(most) < ranks[:, None]).astype(np.float64)


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
