"""What every learner, detector and stream of the library promises, as checks to run on your own classes too.

A check is a function that takes ``make``, which makes a fresh object, and raises AssertionError with a sentence when
the promise is broken; its docstring is the promise. Use one verb for all of them, or the lists to have one test each:

    @pytest.mark.parametrize("check", thalweg.checks.CLASSIFIER_CHECKS)
    def test_my_learner(check):
        check(MyLearner)
"""

from collections.abc import Callable, Collection
from typing import Any

from thalweg.checks import detectors, inputs, keeping, learning, sparse, streams
from thalweg.checks.parts import Check
from thalweg.core.classifier import Classifier
from thalweg.core.protocols import Detector, Stream

CLASSIFIER_CHECKS: list[Check] = [*learning.CHECKS, *inputs.CHECKS, *sparse.CHECKS, *keeping.CHECKS]
"""The promises of a learner."""
DETECTOR_CHECKS: list[Check] = list(detectors.CHECKS)
"""The promises of a drift detector."""
STREAM_CHECKS: list[Check] = list(streams.CHECKS)
"""The promises of a stream."""


def check_classifier(make: Callable[[], Classifier], *, skip: Collection[str] = ()) -> None:
    """Check all promises of a learner; one AssertionError tells which are broken.

    Parameters
    ----------
    make : Callable[[], Classifier]
        Makes a learner that has seen nothing, each time the same: the class, or a function.
    skip : Collection[str]
        Names of checks.

    Examples
    --------
    >>> from thalweg import NoChange
    >>> check_classifier(NoChange, skip=["same_without_compilation"])
    """
    _check_all(CLASSIFIER_CHECKS, make, skip)


def check_detector(make: Callable[[], Detector], *, skip: Collection[str] = ()) -> None:
    """Check all promises of a drift detector.

    Parameters
    ----------
    make : Callable[[], Detector]
        The class, or a function that makes a detector anew each time.
    skip : Collection[str]
        Names of checks to leave out.

    Examples
    --------
    >>> from thalweg import ADWIN
    >>> check_detector(lambda: ADWIN(delta=0.01), skip=["same_detector_without_compilation"])
    """
    _check_all(DETECTOR_CHECKS, make, skip)


def check_stream(make: Callable[[], Stream], *, skip: Collection[str] = ()) -> None:
    """Check all promises of a stream.

    Parameters
    ----------
    make : Callable[[], Stream]
        The class, or a function that makes a stream anew each time.
    skip : Collection[str]
        Names of checks to leave out.

    Examples
    --------
    >>> from thalweg import SEA
    >>> check_stream(lambda: SEA(seed=7), skip=["same_stream_without_compilation"])
    """
    _check_all(STREAM_CHECKS, make, skip)


def _check_all(checks: list[Check], make: Callable[[], Any], skip: Collection[str]) -> None:
    if not callable(make):
        raise TypeError(f"make must be a class, or a function that makes a new object each time, got {make!r:.80}")
    names = {check.__name__: check for check in checks}
    for name in skip:
        if name not in names:
            raise ValueError(f"skip must hold names of checks ({', '.join(names)}), got {name!r}")
    broken = []
    for name in names.keys() - set(skip):
        try:
            names[name](make)
        except Exception as error:
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            broken.append(f"{name}: {kind}{error}")
    if broken:
        raise AssertionError(f"{len(broken)} of {len(names)} promises are broken\n  " + "\n  ".join(sorted(broken)))
