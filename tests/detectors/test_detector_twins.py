"""Each detector against its slow twin, on errors and on other numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg import DDM, EDDM, HDDMA, HDDMW, KSWIN, PageHinkley
from twins.ddm import SlowDDM
from twins.eddm import SlowEDDM
from twins.hddm_a import SlowHDDMA
from twins.hddm_w import SlowHDDMW
from twins.kswin import SlowKSWIN
from twins.page_hinkley import SlowPageHinkley

TWINS = {
    DDM: SlowDDM, EDDM: SlowEDDM, HDDMA: SlowHDDMA, HDDMW: SlowHDDMW, PageHinkley: SlowPageHinkley, KSWIN: SlowKSWIN,
}  # fmt: skip

CASES = [
    (DDM, {}), (DDM, {"min_values": 5, "warning_level": 1, "drift_level": 1.5}), (DDM, {"min_values": 1}),
    (EDDM, {}), (EDDM, {"min_errors": 5, "min_values": 10, "warning_level": 0.8, "drift_level": 0.7}),
    (HDDMA, {}), (HDDMA, {"delta": 0.05, "warning_delta": 0.2}), (HDDMA, {"direction": "both"}),
    (HDDMA, {"direction": "forget", "delta": 0.01, "warning_delta": 0.01}),
    (HDDMW, {}), (HDDMW, {"weight": 0.2, "delta": 0.01, "warning_delta": 0.05}), (HDDMW, {"direction": "both"}),
    (HDDMW, {"direction": "forget", "weight": 0.1}),
    (PageHinkley, {"threshold": 10}), (PageHinkley, {"threshold": 5, "slack": 0, "fading": 1, "min_values": 1}),
    (PageHinkley, {"threshold": 15, "direction": "both", "fading": 0.99}),
    (KSWIN, {}), (KSWIN, {"direction": "both", "seed": 7}), (KSWIN, {"window": 30, "recent": 15, "delta": 0.1}),
    (KSWIN, {"window": 47, "recent": 10, "delta": 0.05, "seed": 3}),
]  # fmt: skip


def compare(kind, params, values):
    """Run both; compare every level, and the estimate after each value."""
    fast, slow = kind(**params), TWINS[kind](**params)
    levels = []
    for x in values.tolist():
        fast.update(x)
        levels.append(slow.update(x))
        if getattr(slow, "tied", False):
            return levels[:-1]
        assert (2 if fast.drift_detected else int(fast.warning_detected)) == levels[-1]
        assert fast.estimate == pytest.approx(slow.estimate, rel=1e-12, abs=1e-12)
    assert fast.n_detections == levels.count(2)
    return levels


def named(value):
    return value.__name__ if isinstance(value, type) else ",".join(f"{k}={v}" for k, v in value.items())


@pytest.mark.parametrize(("kind", "params"), CASES, ids=named)
def test_on_errors(kind, params):
    levels, size = [], 150 if kind is KSWIN else 250
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rates = np.repeat([0.1, 0.7, 0.3, 0.9, 0.05, 0.6], size)
        levels += compare(kind, params, (rng.random(len(rates)) < rates).astype(float))
    assert levels.count(2) >= 3
    if kind in (DDM, EDDM, HDDMW):
        assert 1 in levels


@pytest.mark.parametrize(("kind", "params"), [c for c in CASES if c[0] is not EDDM], ids=named)
def test_on_other_numbers(kind, params):
    rng = np.random.default_rng(5)
    level = np.repeat([0.2, 0.8, 0.1, 0.9], 200)
    values = np.clip(level + rng.normal(0, 0.15, len(level)), 0, 1)
    if kind in (PageHinkley, KSWIN):
        values = 10 * values + 3
    assert 2 in compare(kind, params, values)


@pytest.mark.parametrize(("kind", "params"), [c for c in CASES if c[0] is not KSWIN], ids=named)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    runs=st.lists(st.tuples(st.integers(1, 60), st.sampled_from([0.0, 0.03, 0.3, 0.5, 0.97, 1.0])), max_size=6),
    seed=st.integers(0, 2**32 - 1),
)
def test_on_any_errors(kind, params, runs, seed):
    rng = np.random.default_rng(seed)
    compare(kind, params, np.concatenate([[0.0], *(rng.random(n) < rate for n, rate in runs)]).astype(float))


@settings(max_examples=15, deadline=None)
@given(
    values=st.lists(st.sampled_from([0.0, -0.0, 0.25, 1.0, 1.5, -2.0, 1e6, -1e6]), min_size=1, max_size=80),
    both=st.booleans(),
)
def test_kswin_on_ties(values, both):
    compare(KSWIN, {"window": 20, "recent": 6, "delta": 0.2, "direction": "both" if both else "up"}, np.array(values))
