"""Parameters are checked once, at construction, with one sentence that names the argument, the rule and the value."""

import math
import numbers
from collections.abc import Collection
from typing import Any


def number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> None:
    """Refuse anything but a finite number inside the interval."""
    _check(name, value, "a number", numbers.Real, above, least, below, most)


def whole(
    name: str,
    value: Any,
    *,
    above: int | None = None,
    least: int | None = None,
    below: int | None = None,
    most: int | None = None,
) -> None:
    """Refuse anything but a whole number inside the interval."""
    _check(name, value, "a whole number", numbers.Integral, above, least, below, most)


def choice(name: str, value: Any, options: Collection[Any]) -> None:
    """Refuse anything but one of the options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(repr(o) for o in options)}, got {value!r}")


def flag(name: str, value: Any) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def _check(
    name: str,
    value: Any,
    noun: str,
    kind: type,
    above: float | None,
    least: float | None,
    below: float | None,
    most: float | None,
) -> None:
    left = f"({above}" if above is not None else f"[{least}" if least is not None else "(-∞"
    right = f"{below})" if below is not None else f"{most}]" if most is not None else "∞)"
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{name} must be {noun} in {left}, {right}, got {value!r}")
    v = float(value)  # type: ignore[arg-type]
    inside = (
        math.isfinite(v)
        and (above is None or v > above)
        and (least is None or v >= least)
        and (below is None or v < below)
        and (most is None or v <= most)
    )
    if not inside:
        raise ValueError(f"{name} must lie in {left}, {right}, got {value!r}")
