"""How drifts are reported."""

import math

import numpy as np
import pytest

from thalweg.evaluate.detections import detections, recovery
from thalweg.evaluate.prequential import prequential
from tiny_stream import Moving, TinyStream, rows

ROWS = np.arange(1, 13) * 500


def test_fall_and_recovery():
    level = [0.8, 0.9, 0.9, 0.9, 0.7, 0.6, 0.85, 0.89, 0.9, 0.5, 0.4, 0.3]
    first, second = recovery(ROWS, level, [2000, 4500], 1000)
    assert first == (2000, pytest.approx(0.9), pytest.approx(0.3), 2000)
    assert second == (4500, pytest.approx(0.895), pytest.approx(0.595), math.inf)


def test_no_fall_and_no_reports_before():
    calm = recovery(ROWS, [0.9] * 12, [2000], 1000)[0]
    assert calm == (2000, pytest.approx(0.9), pytest.approx(0.0), 0)
    early = recovery(ROWS, [0.9] * 12, [300], 1000)[0]
    assert early.position == 300
    assert all(math.isnan(v) for v in early[1:])


def test_a_gradual_drift_begins_before_its_position():
    level = [0.9, 0.9, 0.9, 0.7, 0.7, 0.9, *[0.9] * 6]
    assert recovery(ROWS, level, [2000], 1000, widths=[1000])[0][3] == 1500


def test_without_drifts_there_is_nothing_to_recover_from():
    assert recovery(ROWS, np.ones(12), [], 1000) == []


def test_detections():
    found = detections([1000, 5000, 9000], [10, 1500, 1600, 5000, 11_001], 20_000, tolerance=2000)
    assert found.delays == [500, 0, None]
    assert (found.missed, found.false_alarms, found.false_per_100k) == (1, 2, 10.0)
    wide = detections([9000], [11_001], 20_000, tolerance=2000, widths=[100])
    assert wide.delays == [2001]


def test_widths_must_match():
    with pytest.raises(ValueError, match="one number for each of the 2 drifts, got 1"):
        recovery(ROWS, np.ones(12), [1, 2], 10, widths=[3])


def test_a_result_reports_its_own_drifts():
    X, y, _ = rows(2000, seed=2)
    result = prequential(TinyStream(X, y, drifts=(1000,)), Moving(step=0.02), every=50, window=100)
    (fall,) = result.recovery()
    assert fall.drop > 0.2
    assert 50 <= fall.rows < 1000
    with pytest.raises(ValueError, match="Moving does not tell of drifts that it finds"):
        result.detections()
