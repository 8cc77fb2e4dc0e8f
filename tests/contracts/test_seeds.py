"""A seed of any size that is allowed works with every learner that has one."""

import numpy as np
import pytest

from contracts.test_wrappers import labels, rows_for, small
from thalweg import registry


@pytest.mark.parametrize("name", registry.LEARNERS)
def test_the_largest_seeds_work(name: str) -> None:
    learner = small(name)
    if "seed" not in learner.get_params(deep=False):
        pytest.skip(f"{name} draws nothing")
    kinds = rows_for(learner)
    X, y = kinds.get("rows", kinds.get("tensors")), labels()
    for seed in (2**63, 2**64 - 1):
        proba = small(name).set_params(seed=seed).partial_fit(X, y).predict_proba(X[:3])
        assert np.allclose(proba.sum(axis=1), 1.0)
