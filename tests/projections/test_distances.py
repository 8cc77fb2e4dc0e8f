"""What projections must keep: distances on average, the bounds that theory gives, neighbours as far as these go."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from thalweg import (
    BernoulliProjection,
    FourierProjection,
    GaussianProjection,
    HashProjection,
    PCAProjection,
    VerySparseProjection,
    least_dimension,
)
from twins.pca_knn import PlainPCA

RANDOM = (GaussianProjection, BernoulliProjection, VerySparseProjection, HashProjection)
FIXED = (*RANDOM, FourierProjection)
DIMENSIONS = (10, 20, 40, 100, 200)


def ratios(make, p: int, pair: np.ndarray, matrices: int) -> np.ndarray:
    """r = |A(x - z)|² / |x - z|² for one pair of rows and many matrices."""
    gap = pair[0] - pair[1]
    after = [make(p=p, seed=s).transform(pair) for s in range(matrices)]
    return np.array([((a[0] - a[1]) ** 2).sum() for a in after]) / (gap @ gap)


def dense_pair(d: int = 400) -> np.ndarray:
    return np.random.default_rng(5).normal(size=(2, d))


def sparse_pair(d: int = 400) -> np.ndarray:
    return random_array((2, d), density=0.1, rng=np.random.default_rng(6)).toarray()


@pytest.mark.parametrize("pair", [dense_pair(), sparse_pair()], ids=["dense", "sparse"])
@pytest.mark.parametrize("p", DIMENSIONS)
@pytest.mark.parametrize("make", RANDOM)
def test_squared_distances_are_kept_on_average(make, p, pair):
    R = 200
    r = ratios(make, p, pair, R)
    spread = max(2.0 / p, r.var())  # few entries, or few columns, spread more than 2/p
    assert abs(r.mean() - 1.0) < 4.0 * np.sqrt(spread / R)


@pytest.mark.parametrize("p", DIMENSIONS)
def test_spread_of_the_gaussian_is_that_of_theory(p):
    r = ratios(GaussianProjection, p, dense_pair(), 400)
    assert 0.7 < r.var() / (2.0 / p) < 1.4


@pytest.mark.parametrize("make", [GaussianProjection, BernoulliProjection])
@pytest.mark.parametrize(("p", "epsilon"), [(40, 0.5), (40, 0.9), (100, 0.4), (200, 0.3)])
def test_tails_are_below_the_bound(make, p, epsilon):
    r = ratios(make, p, dense_pair(), 400)
    bound = 2.0 * np.exp(-p * (epsilon**2 / 4.0 - epsilon**3 / 6.0))
    chance = (np.abs(r - 1.0) > epsilon).mean()
    assert chance <= bound + 4.0 * np.sqrt(bound * (1.0 - min(bound, 1.0)) / 400 + 1e-6)


@pytest.mark.parametrize("make", [GaussianProjection, BernoulliProjection])
def test_all_distances_of_a_window_are_kept_where_epsilon_asks_for_it(make):
    rows = np.random.default_rng(1).normal(size=(60, 500))
    for seed in range(5):
        assert make(epsilon=0.5, points=60, seed=seed).distortion(rows).worst <= 0.5


def test_dimension_follows_from_epsilon():
    assert least_dimension(1000, 0.5) == 332
    assert least_dimension(1000, 0.1) == 5921
    assert GaussianProjection(epsilon=0.5, points=1000).dimension == 332
    assert GaussianProjection().dimension == 40


@pytest.mark.parametrize("p", DIMENSIONS)
@pytest.mark.parametrize("sparse", [False, True])
def test_sums_of_nearest_distances_are_kept_as_far_as_single_ones(p, sparse):
    rng = np.random.default_rng(p)
    window = random_array((80, 300), density=0.1, rng=rng).toarray() if sparse else rng.normal(size=(80, 300))
    after = GaussianProjection(p=p, seed=p).transform(csr_array(window) if sparse else window)
    before_squared = ((window[:, None] - window[None]) ** 2).sum(axis=2)
    after_squared = ((after[:, None] - after[None]) ** 2).sum(axis=2)
    others = ~np.eye(80, dtype=bool)
    worst = np.abs(after_squared[others] / before_squared[others] - 1.0).max()
    for k in (1, 5, 11):
        for x in range(0, 80, 7):
            mine = others[x]
            s = np.sort(before_squared[x][mine])[:k].sum()
            t = np.sort(after_squared[x][mine])[:k].sum()
            assert (1.0 - worst) * s <= t * (1 + 1e-12)
            assert t <= (1.0 + worst) * s * (1 + 1e-12)


@pytest.mark.parametrize(("p", "least"), [(10, 0.8), (20, 0.95), (40, 0.99), (100, 0.999), (200, 0.999)])
@pytest.mark.parametrize("make", RANDOM)
def test_neighbours_stay_in_their_cluster(make, p, least):
    rng = np.random.default_rng(3)
    cluster = rng.integers(0, 10, 300)
    window = rng.normal(size=(10, 500))[cluster] + 0.5 * rng.normal(size=(300, 500))
    kept = [cluster[_nearest(make(p=p, seed=s).transform(window), 5)] == cluster[:, None] for s in range(3)]
    assert np.mean(kept) >= least


def _nearest(rows: np.ndarray, k: int) -> np.ndarray:
    squared = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    return squared.argsort(axis=1)[:, :k]


# -- the same, whatever the form of the rows --------------------------------------------------------------------------


@pytest.mark.parametrize("make", FIXED)
@pytest.mark.parametrize("p", [1, 7, 40])
def test_sparse_and_dense_rows_alone_or_together_give_the_same_bits(make, p):
    rows = random_array((50, 101), density=0.3, rng=np.random.default_rng(2)).toarray()
    whole = make(p=p, seed=4).transform(rows)
    np.testing.assert_array_equal(make(p=p, seed=4).transform(csr_array(rows)), whole)
    projection = make(p=p, seed=4)
    np.testing.assert_array_equal(np.concatenate([projection.transform(rows[i : i + 1]) for i in range(50)]), whole)


@pytest.mark.parametrize("make", FIXED)
def test_it_is_the_product_with_a_matrix(make):
    rows = np.random.default_rng(2).normal(size=(20, 60))
    matrix = make(p=9, seed=1).transform(np.eye(60))
    np.testing.assert_allclose(make(p=9, seed=1).transform(rows), rows @ matrix, atol=1e-12)


@pytest.mark.parametrize("make", RANDOM)
def test_a_column_is_the_same_whatever_others_there_are(make):
    few, many = make(p=5, seed=9), make(p=5, seed=9)
    if make is VerySparseProjection:
        few, many = make(p=5, seed=9, density=0.5), make(p=5, seed=9, density=0.5)
    np.testing.assert_array_equal(few.transform(np.eye(10)), many.transform(np.eye(30))[:10])


def test_the_matrix_of_a_seed_never_changes():
    """The figures are those of every machine."""
    gaussian = [[-0.33531584255357116, 0.22232689433100725], [1.0570121098355938, 1.856107047672554]]
    signs = [[-0.5, -0.5, -0.5, -0.5], [-0.5, -0.5, -0.5, 0.5]]
    hashed = [[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, -1.0]]
    assert GaussianProjection(p=2, seed=1).transform(np.eye(2)).tolist() == gaussian
    assert BernoulliProjection(p=4, seed=1).transform(np.eye(2)).tolist() == signs
    assert HashProjection(p=4, seed=1).transform(np.eye(3)).tolist() == hashed


def test_seeds_differ():
    eye = np.eye(5)
    for make in RANDOM:
        assert (make(p=20, seed=1).transform(eye) != make(p=20, seed=2).transform(eye)).any()


def test_entries_of_the_very_sparse_are_as_many_as_asked():
    for density in (1 / 3, 0.1, 0.01):
        entries = VerySparseProjection(p=50, density=density).transform(np.eye(2000))
        assert abs((entries != 0).mean() - density) < 5 * np.sqrt(density / 100_000)
        np.testing.assert_allclose(np.unique(np.abs(entries)), [0.0, 1.0 / np.sqrt(50 * density)])


def test_fourier_rows_are_orthogonal():
    matrix = FourierProjection(p=21).transform(np.eye(64))
    product = matrix.T @ matrix
    np.testing.assert_allclose(product, np.diag(np.diag(product)), atol=1e-12)
    assert (np.abs(np.diag(product)[:20] - 64 / 21) < 1e-12).all()


def test_binary_hashing_counts_values_as_ones():
    rows = np.array([[3.0, 0.0, -2.0], [1.0, 0.0, 1.0]])
    first, second = HashProjection(p=4, binary=True).transform(rows)
    assert first.tolist() == second.tolist()


# -- nominal and missing values ---------------------------------------------------------------------------------------


def test_nominal_values_have_a_column_each():
    import pandas as pd

    frame = pd.DataFrame({"size": [1.0, 1.0, 1.0, 2.0], "hue": ["red", "blue", "red", None]})
    projected = GaussianProjection(p=6, seed=3).transform(frame)
    np.testing.assert_array_equal(projected[0], projected[2])
    assert (projected[0] != projected[1]).any()
    alone = GaussianProjection(p=6, seed=3).transform(frame.assign(hue=["red", "blue", None, None]))
    np.testing.assert_allclose(projected[3] * 0.5, alone[2], atol=1e-15)


def test_missing_values_add_nothing():
    with_gap = GaussianProjection(p=3).transform([[1.0, np.nan], [1.0, 0.0]])
    np.testing.assert_array_equal(with_gap[0], with_gap[1])


def test_huge_values_stay_finite():
    huge = np.array([[1e308, -1e308, 1e300], [-1e308, 1e308, 0.0]])
    for make in (GaussianProjection, HashProjection, BernoulliProjection, PCAProjection):
        assert np.isfinite(make(p=2).transform(huge)).all()


# -- principal components ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("amnesia", [0.0, 2.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_components_are_those_of_the_plain_method(centre, amnesia, sparse):
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(300, 21)) @ np.diag(np.linspace(5.0, 0.1, 21)) + (3.0 if centre else 0.0)
    plain, projection = (
        PlainPCA(21, 4, amnesia=amnesia, centre=centre),
        PCAProjection(p=4, amnesia=amnesia, centre=centre),
    )
    given = csr_array(rows) if sparse else rows
    for i in range(300):
        if i:
            np.testing.assert_allclose(projection.transform(given[[i]])[0], plain.project(rows[i]), atol=1e-8)
        projection.learn(given[[i]])
        plain.learn(rows[i])
    np.testing.assert_allclose(projection.tables()["vectors"][:, :21], plain.v, atol=1e-8)
    np.testing.assert_allclose(projection.tables()["mean"][:21], plain.mean, atol=1e-10)


def test_components_approach_the_eigenvectors():
    rows = np.random.default_rng(1).normal(size=(5000, 30)) @ np.diag(np.r_[10.0, 6.0, 3.0, np.ones(27)])
    projection = PCAProjection(p=3).learn(rows)
    unit = projection.tables()["vectors"] / projection.tables()["lengths"][:, None]
    assert (np.abs(np.diag(unit[:, :3])) > 0.98).all()


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GaussianProjection(p=0), "p must lie in"),
        (lambda: GaussianProjection(p=2.5), "p must be a whole number"),
        (lambda: GaussianProjection(p=10, epsilon=0.5), "epsilon must be None where p is given"),
        (lambda: GaussianProjection(epsilon=1.5), "epsilon must lie in"),
        (lambda: GaussianProjection(seed=-1), "seed must lie in"),
        (lambda: VerySparseProjection(density=0), "density must lie in"),
        (lambda: HashProjection(binary=1), "binary must be True or False"),
        (lambda: PCAProjection(amnesia=-1), "amnesia must lie in"),
        (lambda: FourierProjection(p=9).transform(np.eye(10)), "p must be less than"),
        (lambda: GaussianProjection().transform([[np.inf]]), "X must be finite"),
        (lambda: GaussianProjection().distortion([[1.0]]), "X must have two rows or more"),
        (lambda: GaussianProjection().transform("rows"), "X must be rows of numbers"),
    ],
)
def test_bad_input_gets_a_sentence(make, said):
    with pytest.raises((ValueError, TypeError), match=said):
        make()


def test_another_width_is_refused():
    projection = GaussianProjection()
    projection.transform(np.eye(5))
    with pytest.raises(ValueError, match="X has 4 features, but thalweg is expecting 5"):
        projection.transform(np.eye(4))
    with pytest.raises(ValueError, match="X has 4 features"):
        projection.transform(csr_array(np.eye(4)))
