"""Scikit-learn's models as learners, and how far scikit-learn agrees that a learner is one of its classifiers.

``clone``, pipelines, searches and meta-estimators take a learner as it is: nothing needs wrapping. The other way
round, ``wrap`` makes a learner of a scikit-learn classifier.
"""

import warnings
from typing import Any

from thalweg.core.classifier import Classifier
from thalweg.learners.adapted.sklearn_model import SklearnModel

EXPECTED_FAILURES: dict[str, str] = {
    "check_do_not_raise_errors_in_init_or_set_params": (
        "parameters are validated where they are given, at construction and in set_params: a learner that could "
        "not learn is never made"
    ),
}
"""The checks of scikit-learn that cannot hold for a learner of streams, and why."""

_SAID_ABOVE = ("Estimator .* does not inherit from", ".* occurred during set_params of param")


def wrap(model: Any, *, batch: int = 1, window: int = 1_000, seed: int = 1) -> SklearnModel:
    """Make a learner of a scikit-learn classifier that has ``partial_fit``, for ``prequential`` and ``compare``.

    Parameters
    ----------
    model : object
        The classifier. A copy with its parameters learns; it stays as it is.
    batch : int
        It learns so many rows at once. 1 learns each row before the next is predicted, and is slow: some hundred
        rows a second.
    window : int
        scikit-learn must know all classes at the first call: where a new one appears later, the model starts anew with
        this many rows, the last ones.
    seed : int
        For a model whose ``random_state`` is None.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from thalweg import SEA, prequential
    >>> prequential(SEA(seed=1), wrap(GaussianNB(), batch=50), limit=5_000).accuracy > 0.85
    True
    """
    return SklearnModel(model, batch=batch, window=window, seed=seed)


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
