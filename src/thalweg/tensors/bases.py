"""Orthonormal bases of the row spaces of flattenings, and how much two such spaces overlap.

This file has the rank rule, the routes by which a basis is found, and tensors given as arrays; ``cp_bases`` and
``sparse_bases`` have the other two forms.

What is promised: the basis of a tensor, and its overlap with landmarks, are the same to the last bit alone or in a
chunk of any size. All products are made tensor by tensor, in shapes that depend on the shape of one tensor, the rank
rule and the landmarks only: never on the number of tensors. Factor forms use compiled sums of a fixed order; dense and
sparse ones go through BLAS and LAPACK, and may differ in the last bits between machines or builds of BLAS.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import fields
from thalweg.core.declared import check, table
from thalweg.core.fields import Parametrised
from thalweg.core.params import shown, whole
from thalweg.core.protocols import State
from thalweg.core.tables import numbered
from thalweg.tensors import chordal_jit as jit
from thalweg.tensors.forms import CPTensors, Floats, Ints, Tensors, form, shape_of, tensors_in
from thalweg.tensors.joining import FORMS, form_from, shape_from
from thalweg.tensors.warm import follow, leading

Route = Literal["auto", "svd", "gram", "randomised", "warm"]
ROUTES_DOC = (
    "How a basis is found. svd: most accurate; gram: eigenvectors of the smaller Gram matrix, which loses singular "
    "values below 1e-7 of the first; randomised: a sketch with one power step; warm: one or two power steps from the "
    "leading directions of tensors seen before, and without them, or for a tensor of which they lead to less than "
    "half, as auto; auto: svd for the numerical rank, else gram (and svd for the few tensors whose kept singular value "
    "is below 1/100 of the first), randomised where both sides are beyond 200."
)
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

    @property
    @abstractmethod
    def parts(self) -> State:
        """The arrays that the bases are kept in, not copied."""

    @classmethod
    @abstractmethod
    def made(cls, state: State, shape: tuple[int, ...], ranks: Ints, logs: Floats) -> tuple[Self, list[int]]:
        """Make bases from a state with such parts, or refuse it; give also the largest rank of each mode."""

    def distances(self, others: Self) -> Floats:
        """Give the squared chordal distances D_j², not below 0: (n, s, L).

        D_j²(A, B) = ‖Π_A - Π_B‖² = R_A + R_B - 2 Tr(GᵀG): the trace formula, by which no projector Π is formed
        (Signoretto, De Lathauwer, Suykens 2011; Krawczyk 2021, section 4).
        """
        sums = (self.ranks[:, None, :] + others.ranks[None, :, :]).astype(np.float64)
        return np.maximum(0.0, sums - 2.0 * self.overlaps(others))

    def state(self) -> State:
        """Copy the bases out as a few arrays."""
        kind, shape = (np.array(n, dtype=np.int64) for n in ([FORMS.index(self.form)], self.shape))
        parts = {"ranks": self.ranks, "logs": self.logs, **self.parts}
        return {"form": kind, "shape": shape} | {name: part.copy() for name, part in parts.items()}


class Spaces(NamedTuple):
    """What all bases have."""

    logs: Annotated[Floats, table("n", loose=True)]
    """n: log of the norm of each tensor; -∞ for a tensor that is 0."""
    ranks: Annotated[Ints, table("n", "L", least=0, most=2**62)]
    """n × L: dimensions of the row spaces."""


class Rows(NamedTuple):
    """The bases of one mode as rows."""

    rows: Annotated[Floats, table("n", "m", "P")]
    """n × m × P: rows beyond the rank are zeros."""


@final
class DenseBases(Bases):
    """Bases as rows of arrays (n, m_j, P_j); rows beyond the rank are zeros, so that all have one shape."""

    form = "dense"
    __slots__ = ("rows",)

    def __init__(self, shape: tuple[int, ...], rows: list[Floats], ranks: Ints, logs: Floats) -> None:
        self.shape, self.rows, self.ranks, self.logs = shape, rows, ranks, logs

    def overlaps(self, others: Self) -> Floats:
        """Give Tr(GᵀG), (n, s, L): one product with the stacked rows of the others for each tensor and mode."""
        out = np.zeros((len(self.shape), len(self), len(others)))
        for j, (mine, theirs) in enumerate(zip(self.rows, others.rows, strict=True)):
            stacked = theirs.reshape(-1, theirs.shape[2]).T
            for i in range(0, len(self), BLOCK):
                jit.add_squares(np.ascontiguousarray(mine[i : i + BLOCK] @ stacked), out[j, i : i + BLOCK])
        return np.ascontiguousarray(np.moveaxis(out, 0, 2))

    @property
    def parts(self) -> State:
        """The rows of each mode."""
        return {f"rows_{j}": rows for j, rows in enumerate(self.rows)}

    @classmethod
    def made(cls, state: State, shape: tuple[int, ...], ranks: Ints, logs: Floats) -> tuple[Self, list[int]]:
        """Make bases from the rows of each mode."""
        modes = range(len(shape))
        most = [check(Rows, numbered(j, state), n=len(logs), P=sides(shape, j)[1])["m"] for j in modes]
        return cls(shape, [state[f"rows_{j}"].copy() for j in modes], ranks, logs), most


def bases_from(state: Mapping[str, NDArray[Any]]) -> Bases:
    """Make bases again from what ``state`` gave; what no bases could have given is refused.

    >>> bases = Decomposition().bases(np.ones((1, 2, 3)))
    >>> bool(bases_from(bases.state()).distances(bases).max() < 1e-14)
    True
    """
    from thalweg.tensors.cp_bases import CPBases  # both build on this file
    from thalweg.tensors.sparse_bases import SparseBases

    kinds: dict[str, type[Bases]] = {"dense": DenseBases, "cp": CPBases, "sparse": SparseBases}
    kind, shape = form_from(state), shape_from(state)
    n = check(Spaces, state, L=len(shape))["n"]
    if n == 0 or (kind != "dense" and len(shape) == 1):
        raise ValueError("its bases are none, or of tensors in another form")
    ranks, logs = state["ranks"].copy(), state["logs"].copy()
    if not (logs < np.inf).all():  # -∞ is the log of a tensor that is 0
        raise ValueError("its table 'logs' holds what no bases could")
    found, most = kinds[kind].made(dict(state), shape, ranks, logs)
    if min(most) < 1 or (ranks > most).any():
        raise ValueError("its table 'ranks' holds what no bases could")
    return found


def check_rank(name: str, value: Any) -> None:
    """Refuse what is no rank rule.

    >>> check_rank("rank", "all")
    Traceback (most recent call last):
    ValueError: rank must be 'numerical', 'energy' or a whole number above 0, got 'all'
    """
    if not isinstance(value, str):
        whole(name, value, least=1)
    elif value not in ("numerical", "energy"):
        raise ValueError(f"{name} must be 'numerical', 'energy' or a whole number above 0, got {shown(value)}")


class RankRule(Parametrised):
    """How many singular vectors of a flattening make a basis."""

    rank: Literal["numerical", "energy"] | int = fields.free(
        default="energy",
        doc="Singular values that count. numerical: every one that is not rounding (the paper's rule); energy: as"
        " few as hold the share ``energy`` of the squares, at most max_rank; a whole number: as many, if "
        "there are. The last two keep at most half of the columns of a flattening, since a space that fills "
        "most of them says nothing.",
        check=check_rank,
    )
    max_rank: int = fields.whole(default=5, doc="Most singular vectors by the rule energy.", least=1)
    energy: float = fields.number(default=0.95, doc="Share of the squares that the rule energy keeps.", above=0, most=1)


@final
class Decomposition(RankRule):
    """How tensors become bases: the rank rule, and the route.

    Factor (CP) tensors have a route of their own, sparse ones use the columns that are not 0.

    >>> Decomposition(rank=2).bases(np.random.default_rng(1).random((1, 8, 8))).ranks.tolist()
    [[2, 2]]
    """

    route: Route = fields.choice(default="auto", doc=ROUTES_DOC)
    seed: int = fields.whole(default=1, doc="For the sketches.", least=0)

    def _prepare(self) -> None:
        if self.route in ("randomised", "warm") and self.rank == "numerical":
            rule = f"route must not be {self.route!r} where rank is 'numerical'"
            raise ValueError(f"{rule}: {'a sketch' if self.route == 'randomised' else 'a start'} has a rank of its own")

    def bases(self, tensors: Any) -> Bases:
        """Decompose each tensor once for each mode."""
        return self.of(tensors_in(tensors))

    def of(self, X: Tensors, starts: Sequence[Floats] = ()) -> Bases:
        """Decompose tensors that were let in before. starts: for the route "warm"."""
        if isinstance(X, np.ndarray):
            return self._dense(X, starts)
        if X.order == 1:  # its one flattening is the tensor itself, as a row
            return self._dense(X.dense(), starts)
        from thalweg.tensors.cp_bases import cp_bases  # both build on this file
        from thalweg.tensors.sparse_bases import sparse_bases

        return cp_bases(self, X) if isinstance(X, CPTensors) else sparse_bases(self, X)

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
        A = scaled(X if isinstance(X, np.ndarray) else X.dense())[0]
        sizes = [self.start_size(shape, j) for j in range(len(shape))]
        return [leading(flatten(A, j), k) if k else np.zeros((side, 0)) for j, (side, k) in enumerate(sizes)]

    def start_size(self, shape: tuple[int, ...], j: int) -> tuple[int, int]:
        """Give the rows and columns of a start in mode j."""
        most, side = self.most(shape, j), min(sides(shape, j))
        return side, most + SPARE if side > most + SPARE else 0

    # -- the rank rule -----------------------------------------------------------------------------------------------

    @property
    def rule(self) -> int:
        """The code of the rank rule."""
        return jit.FIXED if not isinstance(self.rank, str) else jit.ENERGY if self.rank == "energy" else jit.NUMERICAL

    def most(self, shape: tuple[int, ...], j: int) -> int:
        """Give the largest rank that mode j may have."""
        rows, columns = sides(shape, j)
        if self.rank == "numerical":
            return min(rows, columns)
        asked = self.max_rank if isinstance(self.rank, str) else int(self.rank)
        return max(1, min(asked, rows, columns, columns // 2))

    def count(self, squares: Floats, totals: Floats, tol: float, most: int) -> Ints:
        """Apply the rank rule to each row of squared singular values; totals: of all squares of each."""
        ranks = np.zeros(len(squares), dtype=np.int64)
        jit.count_ranks(np.ascontiguousarray(squares), totals, self.rule, float(self.energy), tol, most, ranks)
        return ranks

    # -- dense -------------------------------------------------------------------------------------------------------

    def _dense(self, X: Floats, starts: Sequence[Floats]) -> DenseBases:
        n, shape = len(X), X.shape[1:]
        modes = range(len(shape))
        rows = [np.zeros((n, self.most(shape, j), sides(shape, j)[1])) for j in modes]
        ranks, logs = np.zeros((n, len(shape)), dtype=np.int64), np.full(n, -np.inf)
        for i in range(0, n, BLOCK):
            block = slice(i, i + BLOCK)
            A, totals, logs[block] = scaled(X[block])
            for j in modes:
                start = starts[j] if starts and starts[j].size else None
                ranks[block, j] = self.row_spaces(flatten(A, j), totals, j, rows[j][block], start)
        return DenseBases(shape, rows, ranks, logs)

    def row_spaces(self, A: Floats, totals: Floats, j: int, out: Floats, start: Floats | None = None) -> Ints:
        """Find bases of the row spaces of matrices (n, N, P); totals: the sums of their squares."""
        if start is None:
            return self._from_scratch(A, totals, j, out)
        most = out.shape[1]
        squares, rows = follow(A, start, most)
        ranks = self.count(squares, totals, GRAM_TOL, most)
        out[:] = rows * _first(ranks, most)[:, :, None]
        unseen = np.flatnonzero(row_sums(squares) < SEEN * totals)
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
        ranks = self.count(squares, row_sums(squares), max(A.shape[1:]) * np.finfo(float).eps, most)
        out[:] = V[:, :most] * _first(ranks, most)[:, :, None]
        return ranks

    def _by_gram(self, A: Floats, out: Floats) -> tuple[Ints, NDArray[np.bool_]]:
        """By eigenvectors of A Aᵀ or AᵀA, the smaller; say also where all that is kept is clear of rounding."""
        most, wide = out.shape[1], A.shape[1] <= A.shape[2]
        turned = A.swapaxes(1, 2)
        w, U = np.linalg.eigh(A @ turned if wide else turned @ A)
        squares = np.maximum(0.0, w[:, ::-1])
        ranks = self.count(squares, row_sums(squares), GRAM_TOL, most)
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
        ranks = self.count(s * s, totals, GRAM_TOL, most)
        out[:] = (np.ascontiguousarray(V[:, :most]) @ Q.swapaxes(1, 2)) * _first(ranks, most)[:, :, None]
        return ranks


def flatten(tensors: Floats, mode: int) -> Floats:
    """Give the mode-j flattenings (n, N_j, P_j) of a chunk: rows by mode j, columns by the others in C order.

    A tensor of order 1 is one row (1, N): its row space is the line along it.

    >>> flatten(np.arange(8.0).reshape(1, 2, 2, 2), 1)[0].tolist()
    [[0.0, 1.0, 4.0, 5.0], [2.0, 3.0, 6.0, 7.0]]
    """
    n, shape = len(tensors), tensors.shape[1:]
    if not 0 <= mode < len(shape):
        raise ValueError(f"mode must lie in [0, {len(shape)}), got {mode}")
    if len(shape) == 1:
        return np.ascontiguousarray(tensors.reshape(n, 1, shape[0]))
    columns = math.prod(shape) // shape[mode]
    return np.ascontiguousarray(np.moveaxis(tensors, mode + 1, 1)).reshape(n, shape[mode], columns)


def fold(matrices: Floats, mode: int, shape: tuple[int, ...]) -> Floats:
    """Undo a flattening; ``shape`` is that of each tensor.

    >>> X = np.arange(24.0).reshape(1, 2, 3, 4)
    >>> bool((fold(flatten(X, 1), 1, (2, 3, 4)) == X).all())
    True
    """
    others = shape[:mode] + shape[mode + 1 :]
    return np.ascontiguousarray(np.moveaxis(matrices.reshape(len(matrices), shape[mode], *others), 1, mode + 1))


def same_form(tensors: Tensors, bases: Bases, *, name: str = "X") -> None:
    """Refuse tensors in another form than those that the bases came from."""
    if form(tensors) != bases.form and len(shape_of(tensors)) > 1:
        raise ValueError(f"{name} must be in the form of the landmarks, {bases.form}, got {form(tensors)} tensors")


def sides(shape: tuple[int, ...], j: int) -> tuple[int, int]:
    """Give the rows and columns of the flattening along mode j."""
    size = math.prod(shape)
    return (1, size) if len(shape) == 1 else (shape[j], size // shape[j])


def scaled(X: Floats) -> tuple[Floats, Floats, Floats]:
    """Divide each tensor by a power of 2 so that no square overflows; give its sum of squares then, log of norm too."""
    n = len(X)
    top = np.abs(X).reshape(n, -1).max(axis=1, initial=0.0)
    powers = np.clip(np.frexp(top)[1], -1000, 1000)
    A = X * np.ldexp(1.0, -powers).reshape(-1, *[1] * (X.ndim - 1))
    totals = row_sums(A.reshape(n, -1) ** 2)
    with np.errstate(divide="ignore"):
        return A, totals, np.log(np.sqrt(totals)) + powers * math.log(2.0)


def row_sums(rows: Floats) -> Floats:
    """Add up each row by itself: the order does not depend on how many rows there are."""
    return np.array([row.sum() for row in np.ascontiguousarray(rows)], dtype=np.float64)


def _first(ranks: Ints, most: int) -> Floats:
    return (np.arange(most) < ranks[:, None]).astype(np.float64)
