"""A detector by its name, for learners that take one."""

from importlib import import_module
from typing import Any

from thalweg.core.names import parse
from thalweg.core.params import shown
from thalweg.detectors.detector import Detector

NAMES = {
    "adwin": "adwin:ADWIN", "ddm": "ddm:DDM", "eddm": "eddm:EDDM", "hddm-a": "hddm_a:HDDMA", "hddm-w": "hddm_w:HDDMW",
    "page-hinkley": "page_hinkley:PageHinkley", "kswin": "kswin:KSWIN",
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
    try:
        name, given = parse(value)
    except ValueError as error:
        raise ValueError(f"{argument} must read like adwin or adwin(delta=0.01): {error}") from None
    if name not in NAMES:
        raise ValueError(f"{argument} must be one of {', '.join(NAMES)}, none, or a detector, got {shown(value)}")
    module, _, cls = NAMES[name].partition(":")
    kind = getattr(import_module(f"thalweg.detectors.{module}"), cls)
    try:
        return kind(**given)  # type: ignore[no-any-return]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} {shown(value)} cannot be made: {error}") from None
