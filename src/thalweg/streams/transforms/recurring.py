"""Concepts that come back."""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import fields
from thalweg.core.params import number, shown
from thalweg.core.protocols import Stream
from thalweg.streams.draw_jit import Seeds, sown
from thalweg.streams.nested import Alternating
from thalweg.streams.source import LIMIT, SEED, regular
from thalweg.streams.transforms.changes_jit import recur


@final
class RecurringDrift(Alternating):
    """The first concept for a period, then the second, …, then the first again, which reads on where it stopped.

    Examples
    --------
    >>> from thalweg import SEA
    >>> stream = RecurringDrift([SEA(function=1), SEA(function=3, seed=2)], period=1000, limit=3500)
    >>> stream.drifts
    (1000, 2000, 3000)
    """

    concepts: Sequence[Stream] = fields.free(
        doc="Two or more streams with the same features and classes, read from where they are; only the one that is "
        "chosen moves on.",
        kw_only=False,
    )
    period: int = fields.whole(doc="Rows before the next stream takes over.", least=1, kw_only=False)
    width: float = fields.number(
        default=1,
        doc="How long each change takes, along the sigmoid of ``DriftStream``, at most a period; 1: abrupt.",
        least=1,
        kw_only=False,
    )
    seed: int = SEED
    limit: int | None = LIMIT

    def _prepare(self) -> None:
        if not isinstance(self.concepts, (tuple, list)) or len(self.concepts) < 2:
            raise ValueError(f"concepts must be two or more streams, got {shown(self.concepts)}")
        if len({id(stream) for stream in self.concepts}) < len(self.concepts):
            raise ValueError("concepts must be different streams, got the same object twice")
        number("width", self.width, least=1, most=self.period)
        self.concepts = tuple(self.concepts)
        self._join(self.concepts, [f"concepts[{i}]" for i in range(len(self.concepts))])

    @property
    def drifts(self) -> tuple[int, ...]:
        """The end of each period; of an endless stream the first thousand."""
        return regular(int(self.period), self._limit)

    @property
    def widths(self) -> tuple[float, ...]:
        """How many rows each of the drifts takes."""
        return (self.width,) * len(self.drifts)

    def _seeds(self) -> Seeds:
        return sown(self.seed, java=False)

    def _choose(self, n: int) -> NDArray[np.int64]:
        which = np.empty(n, dtype=np.int64)
        recur(self._random, self._given, int(self.period), float(self.width), len(self.concepts), which)
        return which
