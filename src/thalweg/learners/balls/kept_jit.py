"""What the learners share that keep rows which were mistakes: where the next one goes, and what is noted of a row."""

from typing import Annotated

from thalweg.core.declared import span, table
from thalweg.jit.compile import inlined
from thalweg.learners.balls.scaling_jit import Ints

F_SIZE, F_PLACE, F_COLUMNS = 0, 1, 2
Head = Annotated[Ints, table(F_COLUMNS, cells={F_SIZE: span(0, "N"), F_PLACE: span(0, "N - 1")})]
"""Rows, the place for the next (that of the oldest, if full)."""
O_KNOWN, O_ROW, O_PREDICTED, O_COLUMNS = 0, 1, 2, 3
"""What is noted between events: classes known, the row that was placed last (-1: none), what was predicted."""


@inlined
def take_place(head: Ints, s: int, most: int) -> None:
    """Note that a row was put into place s, one of so many."""
    head[F_SIZE] = min(most, head[F_SIZE] + 1)
    if s == head[F_PLACE]:
        head[F_PLACE] = (s + 1) % most
