"""Shortcuts of naive Bayes in a leaf: each against what it is short for, bit for bit."""

import math

import numpy as np
import pytest

from thalweg.pool import leaf_jit, pool_jit


def plain_bayes(weights, logs):
    """Votes n_c · e^(log - top) of the classes that have weight."""
    top = max((log for n, log in zip(weights, logs, strict=True) if n > 0 and log > -math.inf), default=None)
    if top is None:
        return None
    return [n * math.exp(log - top) if n > 0 and log > -math.inf else 0.0 for n, log in zip(weights, logs, strict=True)]


@pytest.mark.parametrize("classes", [1, 2, 3, 11, 40])
def test_votes_and_the_likeliest_class_are_those_of_the_formula(classes):
    rng = np.random.default_rng(classes)
    for trial in range(400):
        counts = np.zeros((1, 1 + classes))
        counts[0, 1:] = rng.poisson(2.0, classes) * (1.0 if trial % 2 else 0.1)
        logs = np.full(2 * classes + 1, math.nan)  # it ends with cells that may hold anything, and one more
        logs[:classes] = rng.normal(0.0, [0.01, 3.0, 1000.0][trial % 3], classes)
        logs[:classes][rng.random(classes) < 0.2] = -math.inf
        if trial % 5 == 0:
            logs[:classes] = np.round(logs[:classes])  # equals
        votes = np.full(classes, math.nan)
        expected = plain_bayes(counts[0, 1:], logs[:classes])
        before = logs[:classes].copy()
        best = leaf_jit.likeliest(counts, 0, logs, classes)
        assert leaf_jit.bayes(counts, 0, logs, classes, votes) == (expected is not None)
        assert np.array_equal(logs[:classes], before)
        if expected is None:
            assert best == -1
        else:
            assert votes.tolist() == expected
            assert best == int(np.argmax(expected)) == pool_jit.greatest(votes)
