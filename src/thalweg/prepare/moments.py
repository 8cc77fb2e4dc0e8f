"""Events seen from a transformer: a row looks different at each moment, because it is transformed by what is known."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    learns = events < 0
    row = np.where(learns, ~events, events)
    begins = np.ones(len(events), dtype=np.bool_)
    begins[1:] = ~(learns[1:] & (events[:-1] == row[1:]))
    place = np.cumsum(begins) - 1
    rows = row[begins]
    learned = np.zeros(len(rows), dtype=np.bool_)
    learned[place[learns]] = True
    consecutive = len(rows) > 0 and bool((np.diff(rows) == 1).all())
    return Moments(rows, learned, np.where(learns, ~place, place), consecutive)
