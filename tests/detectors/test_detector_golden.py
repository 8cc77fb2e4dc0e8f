"""The levels of MOA and river on the same errors, kept as data."""

import json
from pathlib import Path

import numpy as np
import pytest

from thalweg import DDM, EDDM, HDDMA, HDDMW, KSWIN, PageHinkley

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text("utf-8"))

OURS = {
    "ddm": DDM,
    "ddm 100 1.5 2.5": lambda: DDM(min_values=100, warning_level=1.5, drift_level=2.5),
    "eddm": EDDM,
    "hddm-a": HDDMA,
    "hddm-a two": lambda: HDDMA(direction="forget"),
    "hddm-a both": lambda: HDDMA(direction="both"),
    "hddm-a .01 .1": lambda: HDDMA(delta=0.01, warning_delta=0.1),
    "hddm-w": HDDMW,
    "hddm-w .2 .01 .05": lambda: HDDMW(weight=0.2, delta=0.01, warning_delta=0.05),
    "page-hinkley": PageHinkley,
    "page-hinkley 10": lambda: PageHinkley(threshold=10, slack=0.01),
    "page-hinkley 10 both": lambda: PageHinkley(threshold=10, slack=0.01, direction="both"),
}


def errors(name):
    stream = GOLDEN["streams"][name]
    rng = np.random.default_rng(stream["seed"])
    return np.concatenate([rng.random(n) < rate for n, rate in stream["parts"]]).astype(float)


def drifts_and_warnings(levels):
    warnings = np.flatnonzero(levels == 1)
    return [np.flatnonzero(levels == 2).tolist(), [len(warnings), int(warnings.sum())]]


@pytest.mark.parametrize("stream", GOLDEN["streams"])
@pytest.mark.parametrize("name", GOLDEN["moa"])
def test_levels_of_moa(name, stream):
    assert drifts_and_warnings(OURS[name]().update_many(errors(stream))) == GOLDEN["moa"][name][stream]


@pytest.mark.parametrize("stream", GOLDEN["streams"])
@pytest.mark.parametrize("name", [n for n in GOLDEN["river"] if n.startswith(("hddm-a", "page-hinkley"))])
def test_levels_of_river(name, stream):
    assert drifts_and_warnings(OURS[name]().update_many(errors(stream))) == GOLDEN["river"][name][stream]


@pytest.mark.parametrize("stream", GOLDEN["streams"])
def test_drifts_of_rivers_ddm(stream):
    assert drifts_and_warnings(DDM().update_many(errors(stream)))[0] == GOLDEN["river"]["ddm"][stream][0]


@pytest.mark.parametrize("stream", GOLDEN["streams"])
def test_drifts_of_rivers_kswin(stream):
    """Where as many older values are drawn as there are, no draw matters; river drops the newer ones at a drift.

    Its p-values are exact: for 30 values a distance of 13/30 has 0.0065, and 0.0045 by the approximation, so that the
    approximation at 0.004 asks for the same distance as the exact ones at 0.005.
    """
    detector, found = KSWIN(delta=0.004, window=60, recent=30, direction="both"), []
    for i, x in enumerate(errors(stream)):
        if detector.update(x):
            found.append(i)
            detector.reset()
    assert found == GOLDEN["river"]["kswin 60 30 both"][stream][0]


def test_the_streams_make_them_speak():
    for library in ("moa", "river"):
        for name, streams in GOLDEN[library].items():
            assert sum(len(drifts) for drifts, _ in streams.values()) >= 3, name
