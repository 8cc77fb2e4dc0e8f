"""Arithmetic over stretches of a stream: what time explains, and quantiles."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def explained(counts: Any, sums: Any, squares: Any) -> Floats:
    """Say what share of the variance lies between the stretches (axis 0), less what chance alone would put there."""
    n = counts.sum(axis=0)
    between = (divided(sums * sums, counts, 0.0)).sum(axis=0) - divided(sums.sum(axis=0) ** 2, n, 0.0)
    total = squares - divided(sums.sum(axis=0) ** 2, n, 0.0)
    share = np.clip(divided(between, np.where(total > 1e-12 * np.abs(squares), total, 0.0), 0.0), 0.0, 1.0)
    groups = (counts > 0).sum(axis=0)
    chance = divided((groups - 1) * (1.0 - share), np.maximum(n - groups, 0.0), 0.0)
    return np.maximum(0.0, np.asarray(share - chance))


def divided(a: Any, b: Any, otherwise: float = math.nan) -> Floats:
    """Divide where b is above 0."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    out: Floats = np.full(np.broadcast(a, b).shape, otherwise)
    np.divide(a, b, out=out, where=b > 0)
    return out


def quantiles(rows: Floats, at: Sequence[float]) -> list[Floats]:
    """Give quantiles of each row's finite values; NaN where there are none."""
    ordered = np.sort(np.where(np.isfinite(rows), rows, np.nan), axis=1)  # NaN last
    n = np.isfinite(ordered).sum(axis=1)
    found = []
    for q in at:
        place = q * np.maximum(n - 1, 0)
        i = np.floor(place).astype(np.int64)
        j = np.minimum(i + 1, np.maximum(n - 1, 0))
        a, b = (np.take_along_axis(ordered, k[:, None], 1)[:, 0] for k in (i, j))
        found.append(a + (place - i) * (b - a))
    return found
