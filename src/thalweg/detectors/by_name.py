"""A detector by its name, for learners that take one."""

from typing import Any

from thalweg.core.names import make_named
from thalweg.core.params import shown
from thalweg.detectors.detector import Detector

HOMES = {
    "adwin": "thalweg.detectors.adwin:ADWIN", "ddm": "thalweg.detectors.ddm:DDM", "eddm": "thalweg.detectors.eddm:EDDM",
    "hddm-a": "thalweg.detectors.hddm_a:HDDMA", "hddm-w": "thalweg.detectors.hddm_w:HDDMW",
    "page-hinkley": "thalweg.detectors.page_hinkley:PageHinkley", "kswin": "thalweg.detectors.kswin:KSWIN",
}  # fmt: skip


def make_detector(argument: str, value: Any) -> Detector | None:
    """Make what ``adwin`` or ``adwin(delta=0.01)`` names; a detector stays what it is, None and "none" are none.

    >>> make_detector("drift", "adwin(delta=0.01)")
    ADWIN(delta=0.01)
    """
    if value is None or (isinstance(value, str) and value == "none"):
        return None
    if isinstance(value, Detector):
        return type(value)(**value.get_params())
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a detector or its name, got {shown(value)}")
    made: Detector = make_named(argument, value, HOMES, "adwin or adwin(delta=0.01)")
    return made
