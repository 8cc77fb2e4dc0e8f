"""KSWIN: the p-value of SciPy, the draws, and the rule of the mean."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from thalweg import KSWIN
from thalweg.detectors import kswin_jit
from thalweg.detectors.kswin import least_distance, p_values


@pytest.mark.parametrize("recent", [5, 15, 17, 30, 64, 301])
def test_p_value_is_scipys(recent):
    zeros = np.zeros(recent)
    for k in range(0, recent + 1, max(1, recent // 20)):
        ones = np.r_[np.zeros(recent - k), np.ones(k)]
        expected = ks_2samp(zeros, ones, method="asymp").pvalue
        assert p_values(np.array([k]), recent)[0] == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("delta", [0.3, 0.05, 0.005, 1e-4, 1e-9])
@pytest.mark.parametrize("recent", [5, 17, 30, 301])
def test_least_distance_is_where_the_p_value_passes_delta(recent, delta):
    k = least_distance(recent, delta)
    below, at = p_values(np.array([k - 1, k]), recent)
    assert at <= delta < below


def test_p_value_of_the_last_test():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=20), rng.normal(0.5, 1, 20)
    detector = KSWIN(window=40, recent=20, delta=1e-6)  # all older values are drawn: no chance
    assert detector.p_value == 1.0
    detector.update_many(np.r_[old, new])
    assert detector.p_value == pytest.approx(ks_2samp(old, new, method="asymp").pvalue, rel=1e-12)


def test_every_older_value_is_drawn_as_often():
    """With one value unlike the others the distance tells whether it was drawn."""
    detector, drawn, tests = KSWIN(window=20, recent=5, delta=1e-9), 0, 0
    detector.update_many(np.zeros(20))
    for _ in range(400):
        detector.update(1.0)
        detector.update_many(np.zeros(4))
        for _ in range(15):  # the one is among the 15 older values now, one place older each time
            detector.update(0.0)
            drawn += detector.state()["table"][0, kswin_jit.K_DISTANCE] == 1.0
            tests += 1
    assert abs(drawn / tests - 5 / 15) < 4 * np.sqrt(1 / 3 * 2 / 3 / tests)


def test_seeds_draw_differently_and_repeat():
    values = (np.random.default_rng(1).random(3000) < 0.3).astype(float)
    runs = [KSWIN(delta=0.05, seed=seed).update_many(values).tolist() for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_rows_of_a_forest_draw_differently():
    table = KSWIN(seed=5).new_rows(3)
    assert len(np.unique(table[:, kswin_jit.K_KEY : kswin_jit.K_KEY + 2], axis=0)) == 3
    assert np.array_equal(table[:1], KSWIN(seed=5).state()["table"])


def test_another_shape_with_the_same_mean_is_a_drift_in_both_directions_only():
    rng = np.random.default_rng(0)
    values = np.r_[rng.normal(0, 1, 500), rng.choice([-3.0, 3.0], 500)]
    found = np.flatnonzero(KSWIN(delta=1e-4, direction="both").update_many(values))
    assert 500 < found[0] < 560


def test_a_fall_drops_the_older_values_but_is_no_drift():
    detector = KSWIN(delta=1e-4)
    detector.update_many(np.ones(500))
    assert not detector.update_many(np.zeros(30)).any()
    assert detector.state()["table"][0, kswin_jit.K_HELD] < 100
    assert detector.n_detections == 0
