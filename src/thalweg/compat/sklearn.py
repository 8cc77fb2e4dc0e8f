"""Scikit-learn's face of a learner is the learner itself; here is how far scikit-learn agrees.

``clone``, pipelines, searches and meta-estimators take a learner as it is: nothing needs wrapping.
"""

import warnings
from typing import Any

from thalweg.core.classifier import Classifier

EXPECTED_FAILURES: dict[str, str] = {
    "check_do_not_raise_errors_in_init_or_set_params": (
        "parameters are validated where they are given, at construction and in set_params: a learner that could "
        "not learn is never made"
    ),
}
"""The checks of scikit-learn that cannot hold for a learner of streams, and why."""

_SAID_ABOVE = ("Estimator .* does not inherit from", ".* occurred during set_params of param")


def check(learner: Classifier) -> list[dict[str, Any]]:
    """Run scikit-learn's ``check_estimator``; raise what the first check raises that fails and is not in the table.

    Gives scikit-learn's list of results: ``check_name``, ``status`` (passed, xfail, skipped), ``exception``, …

    >>> from thalweg import NaiveBayes
    >>> results = check(NaiveBayes())
    >>> len(results) > 50, any(r["status"] == "failed" for r in results)
    (True, False)
    """
    try:
        from sklearn.utils.estimator_checks import check_estimator
    except ImportError:
        raise ImportError("thalweg.compat.sklearn needs scikit-learn: pip install 'thalweg[sklearn]'") from None
    with warnings.catch_warnings():
        for message in _SAID_ABOVE:
            warnings.filterwarnings("ignore", message, UserWarning)
        results: list[dict[str, Any]] = check_estimator(learner, expected_failed_checks=EXPECTED_FAILURES, on_skip=None)
    return results
