"""The normal distribution, impurity and the bounds, against SciPy and the numbers of the specification."""

import math

import numpy as np
import pytest
from scipy import stats

from thalweg.jit.argmax import first_greatest
from thalweg.jit.bounds import HOEFFDING, MCDIARMID, bound
from thalweg.jit.gaussian import below, log_density
from thalweg.jit.impurity import GAIN, GINI, cost, x_log2_x
from thalweg.jit.welford import welford

COUNTS = [[1.0, 1.0], [3.0, 0.0, 5.0], [0.25, 7.5, 2.0, 0.0], [4.0], [1e-9, 1e9]]


@pytest.mark.parametrize("z", [-40.0, -8.3, -1.0, -1e-9, 0.0, 0.5, 3.0, 9.0])
def test_the_normal_distribution(z):
    assert below(z) == pytest.approx(stats.norm.cdf(z), rel=1e-12)
    for sigma in (1e-6, 1.0, 250.0):
        assert log_density(z, sigma) == pytest.approx(stats.norm.logpdf(z * sigma, scale=sigma), rel=1e-12)


def test_the_tail_is_not_lost():
    assert 0.0 < below(-30.0) < 1e-190


@pytest.mark.parametrize("counts", COUNTS)
def test_entropy_and_gini(counts):
    share = np.array(counts) / sum(counts)
    n = sum(counts)
    assert cost(GAIN, np.array(counts)) == pytest.approx(n * stats.entropy(share, base=2), rel=1e-9, abs=1e-6)
    assert cost(GINI, np.array(counts)) == pytest.approx(n * (1.0 - (share**2).sum()), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("criterion", [GAIN, GINI])
def test_purity_costs_nothing_and_mixing_never_less(criterion):
    assert cost(criterion, np.zeros(3)) == 0.0
    assert cost(criterion, np.array([0.0, 8.0])) == 0.0
    rng = np.random.default_rng(1)
    for _ in range(50):
        a, b = rng.exponential(5.0, (2, 4))
        assert cost(criterion, a) + cost(criterion, b) <= cost(criterion, a + b) + 1e-9


def test_nothing_times_its_logarithm_is_nothing():
    assert x_log2_x(0.0) == 0.0
    assert x_log2_x(8.0) == 24.0


def test_the_check_values_of_the_specification():
    assert bound(HOEFFDING, 1.0, 1e-7, 200.0) == pytest.approx(0.200737, abs=5e-7)
    assert bound(HOEFFDING, 1.0, 0.01, 50.0) == pytest.approx(0.214597, abs=5e-7)
    for delta, n in ((1e-7, 3224.0), (0.01, 922.0)):
        assert bound(HOEFFDING, 1.0, delta, n) < 0.05 <= bound(HOEFFDING, 1.0, delta, n - 1.0)


def test_how_the_bounds_scale():
    assert bound(HOEFFDING, 3.0, 0.1, 77.0) == pytest.approx(3.0 * bound(HOEFFDING, 1.0, 0.1, 77.0))
    assert bound(HOEFFDING, 1.0, 0.1, 400.0) == pytest.approx(bound(HOEFFDING, 1.0, 0.1, 100.0) / 2.0)
    assert bound(MCDIARMID, 3.0, 0.05, 50.0) == pytest.approx(math.sqrt(8.0 * math.log(20.0) / 50.0))
    assert bound(MCDIARMID, 1.0, 0.05, 50.0) == pytest.approx(4.0 * bound(HOEFFDING, 1.0, 0.05, 50.0))


def test_welford_follows_mean_and_squares():
    rng = np.random.default_rng(1)
    values, weights = rng.normal(3.0, 2.0, 500), rng.uniform(0.1, 5.0, 500)
    weight, mean, squares = 0.0, 0.0, 0.0
    for v, w in zip(values.tolist(), weights.tolist(), strict=True):
        weight += w
        mean, squares = welford(weight, mean, squares, v, w)
    assert mean == pytest.approx(np.average(values, weights=weights))
    assert squares == pytest.approx((weights * (values - mean) ** 2).sum())


def test_welford_of_one_value_is_that_value():
    for v, w in ((0.1, 0.3), (1e300, 7.0), (-3.7, 1e-9)):
        assert welford(w, 0.0, 0.0, v, w) == (v, 0.0)


def test_the_first_of_the_greatest():
    assert first_greatest(np.array([0.0, 2.0, 2.0, 1.0]), 4) == 1
    assert first_greatest(np.array([0.0, 2.0, 2.0, 5.0]), 1) == 0
    assert first_greatest(np.zeros(3), 3) == 0
    assert first_greatest(np.array([-1.0, np.nan, -0.5]), 3) == 2
