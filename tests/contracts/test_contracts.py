"""Every registered class keeps every promise: registry × checks."""

import pytest

from thalweg import checks, registry
from thalweg.streams.drift import DriftStream

SEA = registry.STREAMS["sea"].make
STREAMS = {name: entry.make for name, entry in registry.STREAMS.items()} | {
    "drift": lambda: DriftStream(SEA(function=1, seed=1), SEA(function=3, seed=2), 500, 200),
}


def named(check):
    return check.__name__


@pytest.mark.parametrize("check", checks.CLASSIFIER_CHECKS, ids=named)
@pytest.mark.parametrize("name", registry.LEARNERS)
def test_learner(name, check):
    check(registry.LEARNERS[name].make)


@pytest.mark.parametrize("check", checks.DETECTOR_CHECKS, ids=named)
@pytest.mark.parametrize("name", registry.DETECTORS)
def test_detector(name, check):
    check(registry.DETECTORS[name].make)


@pytest.mark.parametrize("check", checks.STREAM_CHECKS, ids=named)
@pytest.mark.parametrize("name", STREAMS)
def test_stream(name, check):
    check(STREAMS[name])
