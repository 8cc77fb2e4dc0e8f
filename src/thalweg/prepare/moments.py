"""Events seen from a transformer: a row looks different at each moment, because it is transformed by what is known."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.prepare.moments_jit import divide

Ints = NDArray[np.int64]


class Moments(NamedTuple):
    """The moments at which rows are transformed, in order."""

    rows: Ints
    """Which row each moment is about."""
    learned: NDArray[np.bool_]
    """Is the row learned right after it has been transformed?"""
    events: Ints
    """What the learner behind does with the moments: event e ≥ 0 predicts, e < 0 learns moment ~e."""
    consecutive: bool
    """Are these the rows a, a + 1, …, b, each once?"""


def moments(events: Ints) -> Moments:
    """Give each event a moment; a row that is learned right after it was predicted has one for both.

    >>> at = moments(np.array([0, ~0, 1, 2, ~1]))
    >>> at.rows.tolist(), at.learned.tolist(), at.events.tolist()
    ([0, 1, 2, 1], [True, False, False, True], [0, -1, 1, 2, -4])
    """
    rows, learned, now = np.empty_like(events), np.empty(len(events), dtype=np.bool_), np.empty_like(events)
    n, consecutive = divide(events, rows, learned, now)
    return Moments(rows[:n], learned[:n], now, consecutive)
