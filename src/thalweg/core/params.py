"""Parameters are checked once, at construction, with one sentence that names the argument, the rule and the value.

Here are the checks; ``core.fields`` declares parameters with them.
"""

import math
import numbers
import os
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


def shown(value: Any, most: int = 80) -> str:
    """Write a value for a sentence: on one line, and not too long.

    >>> shown([[1, 2], [3, 4]]), shown("x" * 1000, most=6)
    ('[[1, 2], [3, 4]]', "'xxxx…")
    """
    try:
        text = " ".join(line.strip() for line in repr(value).splitlines())
    except Exception:  # someone else's repr, or a whole number of thousands of digits
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def choice(name: str, value: Any, options: Collection[Any]) -> None:
    """Refuse anything but one of the options: texts, and None where it is one of them."""
    if not (isinstance(value, str) or value is None) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(repr(o) for o in options)}, got {shown(value)}")


_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def duration(name: str, text: Any, other: str = "") -> float:
    """Read a length of time; give its seconds. other: what else it may be.

    >>> duration("wait", "3d"), duration("wait", "1.5m")
    (259200.0, 90.0)
    """
    unit = text.lstrip("0123456789.") if isinstance(text, str) else ""
    try:
        seconds = float(text[: -len(unit)]) * _UNITS[unit]
    except (KeyError, ValueError, TypeError):
        seconds = -1.0
    if not 0.0 <= seconds < math.inf:
        also = f", {other}" if other else ""
        raise ValueError(f"{name} must be a length of time such as 30s, 5m, 12h or 3d{also}, got {shown(text)}")
    return seconds


def flag(name: str, value: Any) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")


def path(name: str, value: Any) -> None:
    """Refuse anything but the name of a file: a number would be a file that is open already."""
    if isinstance(value, type) or not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} must name a file, got {shown(value)}")
    if "\0" in str(value):
        raise ValueError(f"{name} must name a file, got {shown(value)}")


def folder(name: str, value: Any) -> None:
    """Refuse anything but a folder that exists or can be made; make it."""
    path(name, value)
    try:
        os.makedirs(value, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(
            f"{name} must name a folder, got {shown(os.fspath(value))}, which is or lies in a file"
        ) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ValueError(f"{name} must name a folder that can be made, got {shown(os.fspath(value))}: {why}") from None


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
        raise TypeError(f"{name} must be {noun} in {left}, {right}, got {shown(value)}")
    try:
        v = float(value)  # type: ignore[arg-type]
    except OverflowError:
        v = math.inf
    inside = (
        math.isfinite(v)
        and (above is None or v > above)
        and (least is None or v >= least)
        and (below is None or v < below)
        and (most is None or v <= most)
    )
    if not inside:
        raise ValueError(f"{name} must lie in {left}, {right}, got {shown(value)}")
