"""Drift by composition: one concept gives way to another."""

import math
from typing import final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import fields
from thalweg.core.protocols import Stream
from thalweg.streams.draw_jit import Seeds, sown
from thalweg.streams.drift_jit import choose
from thalweg.streams.nested import Alternating, changes, is_stream
from thalweg.streams.source import LIMIT, SEED, Rng


@final
class DriftStream(Alternating):
    """Records of one stream, then of another: the chance of the new one follows a sigmoid around the position.

    Examples
    --------
    >>> from thalweg import SEA
    >>> third = DriftStream(SEA(function=3, seed=3), SEA(function=4, seed=4), position=1000)
    >>> stream = DriftStream(SEA(function=1, seed=1), third, position=2000, width=100)
    >>> stream.drifts
    (2000, 3000)
    """

    old: Stream = fields.free(
        doc="The first concept, read from its current position; ``old`` and ``new`` have the same features and "
        "classes. Either may drift itself: only the one that is chosen moves on, so a nested stream counts its own "
        "records.",
        check=is_stream,
        kw_only=False,
    )
    new: Stream = fields.free(doc="The concept that replaces it.", check=is_stream, kw_only=False)
    position: int = fields.whole(doc="The row, counted from 1, where both are equally likely.", least=0, kw_only=False)
    width: float = fields.number(
        default=1,
        doc="How long the change takes (about 0.12 and 0.88 at half a width before and after), 1: abrupt.",
        least=1,
        kw_only=False,
    )
    alpha: float | None = fields.number(
        default=None,
        doc="In its place the angle of the change at its centre in degrees, as in MOA: the width is 1 / tan(alpha), "
        "cut to a whole number.",
        above=0,
        most=45,
    )
    rng: Rng = fields.choice(default="splitmix", doc='"splitmix", or "java" for MOA\'s very choices.')
    seed: int = SEED
    limit: int | None = LIMIT

    def _prepare(self) -> None:
        if self.old is self.new:
            raise ValueError("new must be another stream than old, got the same object twice")
        if self.alpha is not None and self.width != 1:
            raise ValueError(f"width must be left out where alpha is given, got {self.width!r}")
        self._span = float(self.width)
        if self.alpha is not None:
            self._span = float(max(1, math.trunc(1.0 / math.tan(math.radians(self.alpha)))))
        self._join((self.old, self.new), ("old", "new"))

    @property
    def drifts(self) -> tuple[int, ...]:
        """The position, and those of nested drifts as far as they are reached, counted from the start."""
        return tuple(self._changes())

    @property
    def widths(self) -> tuple[float, ...]:
        """How many rows each of the drifts takes."""
        return tuple(self._changes().values())

    def _changes(self) -> dict[int, float]:
        """The width of each drift by its position, in order."""
        position = int(self.position)
        before = {d: w for d, w in changes(self.old).items() if d < position}
        after = {position + d: w for d, w in changes(self.new).items()}
        every = before | after | {position: self.width if self.alpha is None else self._span}
        return {d: every[d] for d in sorted(every) if self._limit is None or d < self._limit}

    def _seeds(self) -> Seeds:
        return sown(self.seed, java=self.rng == "java")

    def _choose(self, n: int) -> NDArray[np.int64]:
        new = np.empty(n, dtype=np.bool_)
        choose(self._random, self.rng == "java", self._given, float(self.position), self._span, new)
        return new.astype(np.int64)
