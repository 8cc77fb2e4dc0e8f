"""ADWIN: the golden values of the specification, the slow twin, and bad input."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_off import printed_with_and_without
from thalweg.core.protocols import Detector
from thalweg.detectors import adwin_jit
from thalweg.detectors.adwin import ADWIN
from twins.adwin import SlowADWIN

STEP = np.r_[np.zeros(1000), np.ones(1000)]
RULES = np.array([0.002, 0.0])


def drifts(values, **params):
    return np.flatnonzero(ADWIN(**params).update_many(values)).tolist()


def errors(seed, *parts):
    """Errors of a given rate for so many values, one part after the other."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.random(n) < rate for n, rate in parts]).astype(float)


# -- golden values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("delta", "first"), [(0.002, [1023, 1055, 1087]), (1e-5, [1023, 1055, 1183])])
def test_a_step_is_found_at_the_golden_positions(delta, first):
    assert drifts(STEP, delta=delta)[:3] == first


def test_falling_errors_cut_the_window_but_are_no_drift():
    detector = ADWIN()
    assert not detector.update_many(1.0 - STEP).any()
    assert detector.width < 2000
    assert detector.n_detections == 0
    both = ADWIN(direction="both")
    assert np.flatnonzero(both.update_many(1.0 - STEP))[:3].tolist() == [1023, 1055, 1087]
    assert both.width == detector.width


def test_no_false_alarm_on_a_constant_rate():
    for seed in range(6):
        detector = ADWIN()
        assert not detector.update_many(errors(seed, (100_000, 0.2))).any()
        assert detector.width == 100_000


@pytest.mark.parametrize(
    ("before", "after", "delta", "delay"),
    [(0.2, 0.4, 0.002, 143), (0.2, 0.4, 1e-5, 271), (0.1, 0.5, 0.002, 47), (0.1, 0.5, 1e-5, 79)],
)
def test_median_delay(before, after, delta, delay):
    found = []
    for seed in range(20):
        at = np.array(drifts(errors(seed, (2000, before), (2000, after)), delta=delta))
        found.append(at[at >= 2000][0] - 2000)
    assert abs(np.median(found) - delay) <= 32  # one clock: the seeds behind the golden value are others


# -- the slow twin ----------------------------------------------------------------------------------------------------


def compare(values, **params):
    """Run both; compare every report, and width, estimate and variance after each clock."""
    fast = ADWIN(direction="both", **params)
    rename = {"max_buckets": "m"}
    slow = SlowADWIN(**{rename.get(k, k): v for k, v in params.items()})
    clock = fast.clock
    cuts = 0
    for start in range(0, len(values), clock):
        part = values[start : start + clock]
        levels = fast.update_many(part)
        expected = [slow.update(float(x)) for x in part]
        cuts += sum(e is not None for e in expected)
        assert levels.tolist() == [0 if e is None else 2 for e in expected]
        assert fast.width == slow.n
        scale = max(1.0, float(np.abs(values).max()))
        assert fast.estimate == pytest.approx(slow.estimate, abs=1e-12 * scale, rel=1e-12)
        assert fast.variance == pytest.approx(slow.m2 / max(slow.n, 1), abs=1e-9 * scale**2, rel=1e-9)
    return cuts


@pytest.mark.parametrize("seed", range(5))
def test_twin_on_errors(seed):
    rates = np.random.default_rng(seed).random(8)
    assert compare(errors(seed, *((600, rate) for rate in rates))) > 3


@pytest.mark.parametrize("seed", range(5))
def test_twin_on_real_values(seed):
    rng = np.random.default_rng(seed)
    levels = np.repeat(rng.normal(0, 2, 10), 400)
    assert compare(levels + rng.normal(0, rng.choice([0.1, 1, 3]), 4000)) > 3
    compare(rng.standard_cauchy(3000))
    compare(1e6 + rng.normal(0, 1e-3, 2000))
    compare(np.cumsum(rng.normal(size=3000)))


@pytest.mark.parametrize(
    "params",
    [
        {"clock": 1},
        {"clock": 7, "min_window": 0, "min_side": 1},
        {"max_buckets": 2, "clock": 4},
        {"max_buckets": 9, "min_side": 12, "delta": 0.3},
        {"clock": 5, "min_window": 100, "delta": 0.9},
    ],
)
def test_twin_with_other_constants(params):
    rng = np.random.default_rng(1)
    assert compare(np.repeat(rng.random(8), 150) + 0.3 * rng.random(1200), **params) > 0


@settings(max_examples=60, deadline=None)
@given(
    runs=st.lists(
        st.tuples(st.integers(1, 90), st.floats(-1e3, 1e3), st.sampled_from([0.0, 1e-9, 0.5])), min_size=1, max_size=12
    ),
    clock=st.sampled_from([1, 3, 32]),
    delta=st.sampled_from([1e-5, 0.002, 0.5]),
)
def test_twin_on_anything(runs, clock, delta):
    rng = np.random.default_rng(0)
    values = np.concatenate([level + width * rng.random(n) for n, level, width in runs])
    compare(values, clock=clock, delta=delta)


def test_full_table_forgets_its_oldest_bucket():
    values = errors(3, (500, 0.3), (500, 0.9))
    table, out = adwin_jit.new_table(1, levels=3), np.empty(1, dtype=np.int8)
    slow = SlowADWIN(max_rows=3)
    for x in values:
        adwin_jit.run(table, 0, np.array([x]), RULES, out)
        assert (out[0] == 2) == (slow.update(x) == "up")
        assert table[0, adwin_jit.A_WIDTH] == slow.n <= 5 * (1 + 2 + 4)
    assert table[0, adwin_jit.A_TOTAL] == slow.total
    assert table[0, adwin_jit.A_SPREAD] == pytest.approx(slow.m2)


# -- rows of one table ------------------------------------------------------------------------------------------------


def test_detectors_in_one_table_do_not_touch_each_other():
    table = adwin_jit.new_table(3)
    out = np.empty(len(STEP), dtype=np.int8)
    before = table.copy()
    adwin_jit.run(table, 1, STEP, RULES, out)
    assert np.flatnonzero(out)[0] == 1023
    assert np.array_equal(table[[0, 2]], before[[0, 2]])
    adwin_jit.clear.py_func(table, 1) if hasattr(adwin_jit.clear, "py_func") else adwin_jit.clear(table, 1)
    assert np.array_equal(table, before)


# -- the class --------------------------------------------------------------------------------------------------------


def test_one_by_one_equals_many_at_any_chunk_size():
    values = errors(1, (700, 0.1), (700, 0.6), (700, 0.2))
    whole = ADWIN()
    levels = whole.update_many(values)
    assert levels.dtype == np.int8
    assert levels.any()
    single = ADWIN()
    flags = []
    for v in values:
        flags.append(single.update(v))
        assert single.drift_detected is flags[-1]
        assert single.warning_detected is False
    assert flags == (levels == 2).tolist()
    chunked = ADWIN()
    assert np.array_equal(np.concatenate([chunked.update_many(values[i : i + 13]) for i in range(0, 2100, 13)]), levels)
    for other in (single, chunked):
        assert other.state()["table"].tobytes() == whole.state()["table"].tobytes()
    assert whole.n_detections == np.count_nonzero(levels)


def test_keeps_the_protocol():
    assert isinstance(ADWIN(), Detector)


def test_empty_window():
    detector = ADWIN()
    assert (detector.width, detector.estimate, detector.variance, detector.n_detections) == (0, 0.0, 0.0, 0)
    assert detector.update_many([]).shape == (0,)
    assert not detector.drift_detected


def test_mean_and_variance_of_what_it_holds():
    values = np.random.default_rng(0).normal(5, 2, 777)
    detector = ADWIN()
    detector.update_many(values)
    assert detector.width == 777
    assert detector.estimate == pytest.approx(values.mean())
    assert detector.variance == pytest.approx(values.var())


def test_state_restore_and_copy_continue_identically():
    values = errors(5, (500, 0.1), (500, 0.5))
    whole, first = ADWIN(delta=0.01), ADWIN(delta=0.01)
    levels = whole.update_many(values)
    first.update_many(values[:531])
    second = ADWIN(delta=0.01)
    second.restore(first.state())
    copy = first.copy()
    first.update_many(np.ones(100))
    for twin in (second, copy):
        assert np.array_equal(twin.update_many(values[531:]), levels[531:])
        assert twin.state()["table"].tobytes() == whole.state()["table"].tobytes()


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"table": np.zeros((1, 5))},
        {"table": ADWIN().state()["table"].astype(np.float32)},
        ADWIN(clock=8).state(),
        ADWIN(max_buckets=3).state(),
    ],
)
def test_foreign_state_is_refused(state):
    detector = ADWIN()
    detector.update_many(STEP)
    before = detector.state()["table"]
    with pytest.raises(ValueError, match="state must be what state"):
        detector.restore(state)
    assert np.array_equal(detector.state()["table"], before)


def test_reset_forgets():
    detector = ADWIN(clock=16)
    detector.update_many(STEP)
    fresh = ADWIN(clock=16).state()["table"]
    assert np.array_equal(detector.reset().state()["table"], fresh)


def test_inputs_of_other_types():
    reference = ADWIN().update_many(STEP)
    read_only = STEP.copy()
    read_only.flags.writeable = False
    for values in (STEP.tolist(), STEP.astype(bool), STEP.astype(np.int8), STEP.astype(np.float32), read_only):
        assert np.array_equal(ADWIN().update_many(values), reference)
    spaced = np.repeat(STEP, 2)[::2]
    assert np.array_equal(ADWIN().update_many(spaced), reference)
    detector = ADWIN()
    for value in (True, np.bool_(True), 1, np.int64(1), np.float32(1)):
        detector.update(value)
    assert detector.estimate == 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200, "1", None, [1.0], 1j])
def test_bad_value_changes_nothing(bad):
    detector = ADWIN()
    detector.update_many(STEP[:1010])
    before = detector.state()["table"]
    with pytest.raises((ValueError, TypeError), match="value must be a"):
        detector.update(bad)
    assert np.array_equal(detector.state()["table"], before)


@pytest.mark.parametrize(
    "bad", [[0.0, np.nan], [np.inf], [0.0, -1e101], [[0.0]], 1.0, "abc", ["a"], None, [None], [[1], [1, 2]], [1j]]
)
def test_bad_values_change_nothing(bad):
    detector = ADWIN()
    detector.update_many(STEP[:1010])
    before = detector.state()["table"]
    with pytest.raises((ValueError, TypeError), match="values must"):
        detector.update_many(bad)
    assert np.array_equal(detector.state()["table"], before)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"delta": 0}, r"delta must lie in \(0, 1\), got 0"),
        ({"delta": 1.0}, "delta must lie in"),
        ({"delta": "x"}, "delta must be a number"),
        ({"delta": float("nan")}, "delta must lie in"),
        ({"clock": 0}, "clock must lie in"),
        ({"clock": 1.5}, "clock must be a whole number"),
        ({"min_window": -1}, "min_window must lie in"),
        ({"min_side": 0}, "min_side must lie in"),
        ({"max_buckets": 1}, "max_buckets must lie in"),
        ({"direction": "down"}, "direction must be one of 'up', 'both', got 'down'"),
    ],
)
def test_bad_parameters(params, words):
    with pytest.raises((ValueError, TypeError), match=words):
        ADWIN(**params)


def test_parameters_and_repr():
    assert ADWIN().get_params() == {
        "delta": 0.002, "clock": 32, "min_window": 10, "min_side": 5, "max_buckets": 5, "direction": "up",
    }  # fmt: skip
    assert repr(ADWIN()) == "ADWIN()"
    assert repr(ADWIN(delta=0.1, direction="both")) == "ADWIN(delta=0.1, direction='both')"


def test_extreme_values_stay_finite():
    detector = ADWIN(clock=1)
    with np.errstate(all="raise"):
        detector.update_many(np.tile([1e100, -1e100, 5e-324, 0.0], 500))
        detector.update_many(np.full(500, 1e100))
    assert np.isfinite(detector.estimate)
    assert np.isfinite(detector.variance)


def test_same_without_compilation():
    code = (
        "import numpy as np; from thalweg.detectors.adwin import ADWIN\n"
        "v = np.random.default_rng(2).random(900) + np.repeat([0, 1, 0], 300); a = ADWIN(direction='both', clock=8)\n"
        "print(np.flatnonzero(a.update_many(v)).tolist(), a.width, a.estimate.hex(), a.variance.hex())"
    )
    assert "[3" in printed_with_and_without(code)


def test_a_million_values_take_no_time():
    values = errors(0, (1_000_000, 0.2))
    ADWIN().update_many(values[:100])
    seconds = []
    for _ in range(3):
        start = time.process_time()
        ADWIN().update_many(values)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.2  # 0.02 on a quiet machine
