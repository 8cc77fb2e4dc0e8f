"""Drift by composition: one concept gives way to another."""

import math
from typing import final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, number, whole
from thalweg.core.protocols import State, Stream
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.drift_jit import choose
from thalweg.streams.nested import (
    Confluence,
    all_endless,
    all_sparse,
    changes,
    is_stream,
    part,
    prefixed,
    refuse_different,
    restore_all,
)
from thalweg.streams.source import Source


@final
class DriftStream(Source):
    """Records of one stream, then of another: the chance of the new one follows a sigmoid around the position.

    Parameters
    ----------
    old, new : Stream
        Streams with the same features and classes, which are read from where they are. Either may drift itself: only
        the one that is chosen moves on, so a nested stream counts its own records.
    position : int
        The row, counted from 1, where both are equally likely.
    width : float
        How long the change takes (about 0.12 and 0.88 at half a width before and after), 1: abrupt.
    alpha : float | None
        In its place the angle of the change at its centre in degrees, as in MOA: the width is 1 / tan(alpha), cut to a
        whole number.
    rng : str
        "splitmix", or "java" for MOA's very choices.
    seed : int
        Random seed.
    limit : int | None
        Rows, None: until the chosen stream ends.

    Examples
    --------
    >>> from thalweg import SEA
    >>> third = DriftStream(SEA(function=3, seed=3), SEA(function=4, seed=4), position=1000)
    >>> stream = DriftStream(SEA(function=1, seed=1), third, position=2000, width=100)
    >>> stream.drifts
    (2000, 3000)
    """

    opens_files = False

    def __init__(
        self,
        old: Stream,
        new: Stream,
        position: int,
        width: float = 1,
        *,
        alpha: float | None = None,
        rng: str = "splitmix",
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        is_stream("old", old)
        is_stream("new", new)
        if old is new:
            raise ValueError("new must be another stream than old, got the same object twice")
        whole("position", position, least=0)
        number("width", width, least=1)
        if alpha is not None:
            number("alpha", alpha, above=0, most=45)
            if width != 1:
                raise ValueError(f"width must be left out where alpha is given, got {width!r}")
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        refuse_different(old.schema, new.schema, ("old", "new"))
        self.sparse = all_sparse((old, new), ("old", "new"))
        self.old, self.new, self.position, self.width, self.alpha = old, new, position, width, alpha
        self.rng, self.seed = rng, seed
        self._span = float(width) if alpha is None else float(max(1, math.trunc(1.0 / math.tan(math.radians(alpha)))))
        self._both = Confluence((old, new), ("old", "new"))
        self._begin: tuple[State, State] | None = None
        self.restart()
        self._begin = old.state(), new.state()

    @property
    def schema(self) -> Schema:
        """The schema of both streams."""
        return self.old.schema

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

    @property
    def endless(self) -> bool:
        """Has it no limit, and neither of the two streams an end?"""
        return self._limit is None and all_endless((self.old, self.new))

    def _start(self) -> None:
        self._random = sown(self.seed, java=self.rng == "java")
        self._ended = np.zeros(1, dtype=np.bool_)
        self._both.clear()
        if self._begin is not None:
            restore_all((self.old, self.new), self._begin)

    def _next(self, n: int) -> Chunk | None:
        if self._ended[0]:
            return None
        before = self._random.copy()
        new = np.empty(n, dtype=np.bool_)
        count = self._choose(new)
        if count in (0, n):
            chunk, self._ended[0] = self._both.give_one(int(count > 0), n)
        else:
            chunk, self._ended[0] = self._both.give(new.astype(np.int64))
        if len(chunk) < n and not self._ended[0]:  # nothing yet: the rows that were not given are drawn again later
            self._random = before
            self._choose(new[: len(chunk)])
        return None if self._ended[0] and not len(chunk) else chunk

    def _choose(self, new: NDArray[np.bool_]) -> int:
        return choose(self._random, self.rng == "java", self._given, float(self.position), self._span, new)

    def _tables(self) -> State:
        nested = prefixed("old", self.old.state()) | prefixed("new", self.new.state())
        return {"random": self._random, "ended": self._ended, "waiting": self._both.to_bytes()} | nested

    def _adopt(self, tables: State, given: int) -> None:
        waiting = self._both.from_bytes(tables["waiting"])
        restore_all((self.old, self.new), (part("old", tables), part("new", tables)))
        self._both.wait(waiting)
        self._random, self._ended = tables["random"], tables["ended"]
