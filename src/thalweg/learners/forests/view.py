"""A forest for people: its members, and what it has been through."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.learners.forests import forest_jit as m
from thalweg.show.tree_picture import View

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a forest, as it is now."""

    number: int
    depth: int
    """Tests on the longest path of its tree."""
    leaves: int
    accuracy: float
    """Share of rows that its tree predicted right before learning them; NaN for a new one."""
    age: int
    """Rows since its tree began."""
    warnings: int
    drifts: int
    """Times its tree was replaced."""
    background: bool
    """Is a tree growing in the background?"""


class History(NamedTuple):
    """What a forest has been through."""

    rows: int
    """Rows learned so far."""
    warnings: int
    drifts: int
    """Trees that were replaced."""


def look(number: int, view: View, row: Floats) -> Member:
    """Describe a member by its tree and its row of ``members``."""
    seen = row[m.M_SEEN]
    return Member(
        number=number, depth=view.depth, leaves=view.n_leaves,
        accuracy=float(row[m.M_RIGHT] / seen) if seen > 0.0 else float("nan"), age=int(row[m.M_ROWS] - row[m.M_BORN]),
        warnings=int(row[m.M_WARNINGS]), drifts=int(row[m.M_DRIFTS]), background=bool(row[m.M_GROWS] > 0.0),
    )  # fmt: skip
