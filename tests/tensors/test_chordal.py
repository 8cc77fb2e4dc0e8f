"""Chordal distances: the trace formula against projectors, in every form, by every route and rank rule."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from thalweg.learners.tensors.chordal_features import chordal_distances
from thalweg.tensors import bases as bases_module
from thalweg.tensors.bases import Decomposition, bases_from
from thalweg.tensors.forms import CPTensors, SparseTensors
from twins import chordal as twin

SHAPES = ((4, 5, 6), (8, 8), (9, 2), (2, 9), (3, 3, 3, 3), (7,), (1, 6), (6, 1), (1, 1, 4), (12, 11, 3))
RANKS = ("numerical", "energy", 1, 2, 3)
CLOSE = 1e-10
shapes, ranks, seeds = st.sampled_from(SHAPES), st.sampled_from(RANKS), st.integers(0, 10_000)
repeatable = settings(derandomize=True, deadline=None, max_examples=60)


def cp(rng, n, shape, r):
    return CPTensors(rng.normal(size=(n, r)), [rng.normal(size=(n, size, r)) for size in shape])


@repeatable
@given(shapes, ranks, seeds, st.sampled_from(["auto", "svd", "gram"]))
def test_dense_equals_the_projectors(shape, rank, seed, route):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(3, *shape)), rng.normal(size=(2, *shape))
    expected, gap = twin.distances(A, B, rank)
    assume(gap > 1e-3)
    if route == "gram" and rank == "numerical":
        rank = max(1, min(shape))  # the Gram matrix knows less than all digits of the rank
        expected, gap = twin.distances(A, B, rank)
        assume(gap > 1e-3)
        assume(all(np.linalg.cond(twin.flattening(X, j)) < 30 for X in (*A, *B) for j in range(len(shape))))
    found = chordal_distances(A, B, rank=rank, route=route)
    np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE)


@repeatable
@given(st.sampled_from([s for s in SHAPES if len(s) > 1]), ranks, seeds, st.integers(1, 4))
def test_factor_form_equals_the_projectors(shape, rank, seed, r):
    rng = np.random.default_rng(seed)
    A, B = cp(rng, 3, shape, r), cp(rng, 2, shape, 2)
    held = [np.linalg.svd(twin.flattening(X, j))[1] for X in (*A.dense(), *B.dense()) for j in range(len(shape))]
    assume(all(((s / s[0] > 1e-2) | (s / s[0] < 1e-13)).all() for s in held))  # else the rank is a matter of taste
    expected, gap = twin.distances(A.dense(), B.dense(), rank)
    assume(gap > 1e-3)
    assume(_independent(A) and _independent(B))
    np.testing.assert_allclose(chordal_distances(A, B, rank=rank), expected, rtol=0, atol=CLOSE)


def _independent(tensors):
    """The Khatri-Rao products are far from dependent, or exactly so: in between digits are lost."""
    for i in range(len(tensors)):
        for j in range(tensors.order):
            W = np.ones((tensors.rank, tensors.rank))
            for k, factor in enumerate(tensors.factors):
                if k != j:
                    U = factor[i] / np.linalg.norm(factor[i], axis=0)
                    W = W * (U.T @ U)
            w = np.linalg.eigvalsh(W)
            if not ((w > 1e-4) | (w < 1e-15)).all():
                return False
    return True


@repeatable
@given(st.sampled_from([s for s in SHAPES if len(s) > 1]), ranks, seeds, st.floats(0.1, 0.9))
def test_sparse_equals_the_projectors(shape, rank, seed, density):
    rng = np.random.default_rng(seed)
    A, B = (rng.normal(size=(n, *shape)) * (rng.random((n, *shape)) < density) for n in (3, 2))
    expected, gap = twin.distances(A, B, rank)
    assume(gap > 1e-3)
    found = chordal_distances(SparseTensors.from_dense(A), SparseTensors.from_dense(B), rank=rank)
    np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("rank", ["numerical", "energy", 4])
@pytest.mark.parametrize("form", ["dense", "sparse", "cp"])
def test_rank_deficient_tensors(rank, form):
    rng = np.random.default_rng(3)
    A, B = cp(rng, 4, (9, 8, 7), 2), cp(rng, 3, (9, 8, 7), 2)
    twice = [CPTensors(np.tile(X.weights, 2), [np.tile(f, 2) for f in X.factors]) for X in (A, B)]  # columns repeated
    expected, gap = twin.distances(A.dense(), B.dense(), rank)
    assert gap > 1e-3
    make = {"dense": CPTensors.dense, "sparse": lambda X: SparseTensors.from_dense(X.dense()), "cp": lambda X: X}[form]
    for X, Y in ((A, B), twice):
        np.testing.assert_allclose(chordal_distances(make(X), make(Y), rank=rank), expected, rtol=0, atol=CLOSE)


def test_exact_low_rank_has_that_numerical_rank():
    X = np.zeros((1, 6, 8))
    X[0, 0, 0], X[0, 1, 1], X[0, 2] = 1.0, 2.0, [3.0, 4.0, 0, 0, 0, 0, 0, 0]
    for form in (X, SparseTensors.from_dense(X)):
        assert Decomposition(rank="numerical").bases(form).ranks.tolist() == [[2, 2]]
        assert Decomposition(rank=4).bases(form).ranks.tolist() == [[2, 2]]


@pytest.mark.parametrize("rank", ["numerical", "energy", 2])
def test_a_tensor_that_is_zero_has_rank_0(rank):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2, 4, 5, 3))
    X[0] = 0.0
    C = cp(rng, 2, (4, 5, 3), 2)
    C.weights[0] = 0.0
    for some in (X, SparseTensors.from_dense(X), C):
        bases = Decomposition(rank=rank).bases(some)
        assert bases.ranks[0].tolist() == [0, 0, 0]
        assert bases.logs[0] == -np.inf
        D = bases.distances(bases)
        assert D[0, 0].tolist() == [0.0, 0.0, 0.0]
        assert D[0, 1].tolist() == bases.ranks[1].tolist() == D[1, 0].tolist()


@repeatable
@given(shapes, ranks, seeds)
def test_symmetry_scale_bounds_and_self(shape, rank, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(3, *shape)), rng.normal(size=(3, *shape))
    how = Decomposition(rank=rank)
    a, b = how.bases(A), how.bases(B)
    D = a.distances(b)
    np.testing.assert_allclose(D, b.distances(a).swapaxes(0, 1), rtol=0, atol=1e-12)
    for c in (-1.0, 3.7, 1e-200, -1e200):
        again = how.bases(c * A)
        np.testing.assert_allclose(again.distances(b), D, rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            again.logs, a.logs + np.log(abs(c)), rtol=0, atol=1e-12 * abs(np.log(abs(c))) + 1e-12
        )
    assert np.abs(np.diagonal(a.distances(a))).max() < 1e-12
    lower, upper = np.abs(a.ranks[:, None] - b.ranks[None]), a.ranks[:, None] + b.ranks[None]
    assert (D >= lower - 1e-12).all()
    assert (D <= upper + 1e-12).all()


@repeatable
@given(st.sampled_from([(4, 5, 6), (3, 9), (5, 4, 4)]), seeds, st.sampled_from([0, 1]))
def test_mixing_the_rows_changes_nothing(shape, seed, mode):
    rng = np.random.default_rng(seed)
    assume(np.prod(shape) // shape[mode] > shape[mode])
    A, B = rng.normal(size=(2, *shape)), rng.normal(size=(2, *shape))
    M = rng.normal(size=(shape[mode], shape[mode]))
    assume(np.linalg.cond(M) < 100)
    mixed = np.moveaxis(np.tensordot(M, A, axes=(1, mode + 1)), 0, mode + 1)
    before, after = chordal_distances(A, B), chordal_distances(mixed, B)
    np.testing.assert_allclose(after[:, :, mode], before[:, :, mode], rtol=0, atol=CLOSE)


def test_a_sketch_finds_what_stands_out():
    rng = np.random.default_rng(1)
    A, B = (
        rng.normal(size=(2, 210, 3)) @ rng.normal(size=(2, 3, 230)) + 1e-9 * rng.normal(size=(2, 210, 230))
        for _ in range(2)
    )
    exact = chordal_distances(A, B, rank=3, route="svd")
    np.testing.assert_allclose(chordal_distances(A, B, rank=3), exact, rtol=0, atol=1e-8)
    assert (chordal_distances(A, B, rank=3) != exact).any(), "beyond 200 the sketch is the route"
    again = chordal_distances(A, B, rank=3, seed=1)
    assert (again == chordal_distances(A, B, rank=3)).all()
    assert (again != chordal_distances(A, B, rank=3, seed=2)).any()


# -- numbers of the specification -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rank", "mean", "spread"),
    [("numerical", 42.63, 0.015), (10, 17.9, 0.014), (5, 9.47, 0.015), (3, 5.81, 0.016), (1, 1.98, 0.016)],
)
def test_white_noise_lies_where_random_subspaces_do(rank, mean, spread):
    X = np.random.default_rng(0).normal(size=(30, 32, 32, 3))
    bases = Decomposition(rank=rank).bases(X)
    D = bases.distances(bases)[:, :, 0][np.triu_indices(30, 1)]
    assert D.mean() == pytest.approx(mean, rel=0.005)
    assert D.std() / D.mean() == pytest.approx(spread, rel=0.35)


def test_at_full_rank_a_clean_image_looks_like_noise():
    rng = np.random.default_rng(0)
    grid = np.arange(32) / 32
    X = 0.01 * rng.normal(size=(30, 32, 32, 3))
    for i in range(30):
        for _ in range(3):
            a, b, c, d = rng.uniform(0.5, 3, size=2).tolist() + rng.uniform(0, 6, size=2).tolist()
            wave = np.outer(np.cos(2 * np.pi * a * grid + c), np.cos(2 * np.pi * b * grid + d))
            X[i] += wave[:, :, None] * rng.normal(size=3)
    spreads = {}
    for rank in ("numerical", 3):
        bases = Decomposition(rank=rank).bases(X)
        D = bases.distances(bases)[:, :, 0][np.triu_indices(30, 1)]
        spreads[rank] = D.std() / D.mean()
        if rank == "numerical":
            assert D.mean() == pytest.approx(42.1, rel=0.02)
    assert spreads[3] > 5 * spreads["numerical"]


def test_a_square_matrix_of_full_rank_says_nothing():
    X = np.random.default_rng(0).normal(size=(2, 28, 28))
    assert chordal_distances(X[:1], X[1:]).max() < 1e-12
    assert chordal_distances(X[:1], X[1:], rank="energy").min() > 5.0


def test_single_values_have_three_distances():
    at = [[1, 2, 3, 4], [1, 2, 3, 4], [0, 2, 3, 4], [0, 1, 3, 4]]
    X = SparseTensors(at, [1.0, 2.0, 3.0, 4.0], starts=[0, 1, 2, 3, 4], shape=(6186, 24, 77, 32))
    assert chordal_distances(X[:1], X).sum(axis=2).tolist() == [[0.0, 0.0, 6.0, 8.0]]


def test_coordinates_beyond_64_bits():
    rng = np.random.default_rng(1)
    at = rng.integers(0, 100, size=(6, 12))
    at[3:] = at[:3]
    X = SparseTensors(at, [1.0, 2.0, 3.0, 1.0, 2.0, -3.0], starts=[0, 3, 6], shape=(100,) * 12)
    assert chordal_distances(X, X).max() < 1e-12
    other = SparseTensors((at + 1) % 100, np.ones(6), starts=[0, 3, 6], shape=(100,) * 12)
    assert chordal_distances(X, other).min() == pytest.approx(6.0)


def test_a_vector_is_compared_by_its_angle():
    A, B = np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]])
    assert chordal_distances(A, B)[0, 0, 0] == pytest.approx(2 - 2 * 0.36)
    assert chordal_distances(SparseTensors.from_dense(A), SparseTensors.from_dense(B))[0, 0, 0] == pytest.approx(1.28)
    cps = [CPTensors([[1.0]], [X[:, :, None]]) for X in (A, B)]
    assert chordal_distances(*cps)[0, 0, 0] == pytest.approx(1.28)


def test_order_15_stays_finite():
    rng = np.random.default_rng(1)
    X = CPTensors(np.ones((3, 3)), [1e30 * rng.gamma(2.0, size=(3, 100, 3)) for _ in range(15)])
    bases = Decomposition().bases(X)
    assert np.isfinite(bases.logs).all()
    assert np.isfinite(bases.distances(bases)).all()
    assert bases.logs[0] == pytest.approx(15 * np.log(1e30) + Decomposition().bases(_shrunk(X)).logs[0])


def _shrunk(X):
    return CPTensors(X.weights, [f / 1e30 for f in X.factors])


# -- what a learner relies on -----------------------------------------------------------------------------------------


def _chunks(form, rng):
    if form == "cp":
        return cp(rng, 130, (12, 11, 3), 3), cp(rng, 5, (12, 11, 3), 2)
    X, Y = rng.normal(size=(130, 12, 11, 3)), rng.normal(size=(5, 12, 11, 3))
    X[7] = 0.0
    X[20:40] *= rng.random((20, 12, 11, 3)) < 0.05
    return (SparseTensors.from_dense(X), SparseTensors.from_dense(Y)) if form == "sparse" else (X, Y)


@pytest.mark.parametrize("rank", ["numerical", "energy", 3])
@pytest.mark.parametrize("form", ["dense", "cp", "sparse"])
def test_the_same_bits_in_any_chunk(form, rank):
    X, landmarks = _chunks(form, np.random.default_rng(1))
    how = Decomposition(rank=rank)
    fixed = how.bases(landmarks)
    whole = how.bases(X).overlaps(fixed)
    for size in (1, 3, 64, 100):
        parts = [how.bases(X[i : i + size]).overlaps(fixed) for i in range(0, len(X), size)]
        assert (np.concatenate(parts) == whole).all(), size


@pytest.mark.parametrize("form", ["dense", "cp", "sparse"])
def test_bases_survive_being_written_down(form):
    X, landmarks = _chunks(form, np.random.default_rng(1))
    how = Decomposition()
    fixed = how.bases(landmarks)
    found = how.bases(X)
    assert (found.overlaps(bases_from(fixed.state())) == found.overlaps(fixed)).all()
    assert all(isinstance(v, np.ndarray) and v.dtype.kind in "fi" for v in fixed.state().values())


def test_a_flattening_too_large_to_write_out_is_refused():
    at = np.stack([np.arange(4000)] * 2, axis=1)
    X = SparseTensors.one(at, np.ones(4000), (5000, 5000))
    with pytest.raises(ValueError, match="at most 10000000 places .* got 4000 × 4000"):
        Decomposition().bases(X)


def test_one_decomposition_for_each_mode(monkeypatch):
    count = 0
    eigh = np.linalg.eigh

    def counted(matrices):
        nonlocal count
        count += len(matrices)
        return eigh(matrices)

    how = Decomposition()
    landmarks = how.bases(np.random.default_rng(1).normal(size=(20, 8, 8, 3)))
    monkeypatch.setattr(bases_module.np.linalg, "eigh", counted)
    how.bases(np.random.default_rng(2).normal(size=(10, 8, 8, 3))).distances(landmarks)
    assert count == 30
