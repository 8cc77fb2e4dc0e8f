"""Where the columns of each feature lie: one for a number, one for each value of a nominal feature."""

import numpy as np
from numpy.typing import NDArray

from thalweg.core.schema import Schema
from thalweg.learners.networks import net_jit as jit

Ints = NDArray[np.int64]


def width(layout: Ints) -> int:
    """How many columns of input a layout has."""
    return int(np.where(layout[:, jit.L_WIDTH] < 0, 1, layout[:, jit.L_WIDTH]).sum())


def with_starts(layout: Ints) -> Ints:
    """Set where each feature begins: one after the other."""
    wide = np.where(layout[:, jit.L_WIDTH] < 0, 1, layout[:, jit.L_WIDTH])
    layout[:, jit.L_START] = np.cumsum(wide) - wide
    return layout


def lay_out(schema: Schema, before: Ints) -> Ints:
    """Give each feature its columns: one for a number, one for each value; never fewer than ``before``."""
    layout = np.zeros((schema.n_features, 2), dtype=np.int64)
    layout[:, jit.L_WIDTH] = np.where(schema.nominal, np.minimum(schema.cardinalities, jit.MOST_VALUES), -1)
    layout[: len(before), jit.L_WIDTH] = np.maximum(layout[: len(before), jit.L_WIDTH], before[:, jit.L_WIDTH])
    return with_starts(layout)


def places(before: Ints, layout: Ints) -> Ints:
    """Where the columns of ``before`` lie in ``layout``."""
    parts = [
        np.arange(start, start + (1 if width < 0 else width))
        for start, width in zip(layout[: len(before), jit.L_START], before[:, jit.L_WIDTH], strict=True)
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def for_codes(layout: Ints, X: NDArray[np.float64], events: Ints) -> Ints:
    """Give the layout with room for the nominal values of the rows that will be learned."""
    nominal = np.flatnonzero(layout[:, jit.L_WIDTH] >= 0)
    if not len(nominal):
        return layout
    codes = np.nan_to_num(X[np.ix_(~events[events < 0], nominal)], nan=-1.0).max(axis=0, initial=-1.0)
    need = np.minimum(codes.astype(np.int64) + 1, jit.MOST_VALUES)
    if not (need > layout[nominal, jit.L_WIDTH]).any():
        return layout
    wider = layout.copy()
    wider[nominal, jit.L_WIDTH] = np.maximum(need, layout[nominal, jit.L_WIDTH])
    return with_starts(wider)
