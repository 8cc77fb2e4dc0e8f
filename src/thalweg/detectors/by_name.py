"""A detector by its name, for learners that take one."""

from typing import Any

from thalweg.core.params import shown
from thalweg.detectors.detector import Detector
from thalweg.registry import DETECTORS, make_part


def make_detector(argument: str, value: Any) -> Detector | None:
    """Make what ``adwin`` or ``adwin(delta=0.01)`` names; a detector stays what it is, None and "none" are none.

    >>> make_detector("drift", "adwin(delta=0.01)")
    ADWIN(delta=0.01)
    """
    if value is None or (isinstance(value, str) and value == "none"):
        return None
    if isinstance(value, Detector):
        return type(value)(**value.get_params(deep=False))
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a detector or its name, got {shown(value)}")
    made: Detector = make_part(argument, value, DETECTORS, "adwin or adwin(delta=0.01)")
    return made
