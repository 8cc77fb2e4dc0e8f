"""Concepts that come back."""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.params import number, shown, whole
from thalweg.core.protocols import State, Stream
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.nested import (
    Confluence,
    all_endless,
    all_sparse,
    is_stream,
    part,
    prefixed,
    refuse_different,
    restore_all,
)
from thalweg.streams.source import Source, regular
from thalweg.streams.transforms.changes_jit import recur


@final
class RecurringDrift(Source):
    """The first concept for a period, then the second, …, then the first again, which reads on where it stopped.

    Parameters
    ----------
    concepts : Sequence[Stream]
        Two or more streams with the same features and classes, read from where they are; only the one that is chosen
        moves on.
    period : int
        Rows of each.
    width : float
        How long each change takes, along the sigmoid of ``DriftStream``, at most a period; 1: abrupt.
    seed : int
        Random seed.
    limit : int | None
        Rows, None: until the chosen stream ends.

    Examples
    --------
    >>> from thalweg import SEA
    >>> stream = RecurringDrift([SEA(function=1), SEA(function=3, seed=2)], period=1000, limit=3500)
    >>> stream.drifts
    (1000, 2000, 3000)
    """

    opens_files = False

    def __init__(
        self, concepts: Sequence[Stream], period: int, width: float = 1, *, seed: int = 1, limit: int | None = None
    ) -> None:
        if not isinstance(concepts, (tuple, list)) or len(concepts) < 2:
            raise ValueError(f"concepts must be two or more streams, got {shown(concepts)}")
        self._names = [f"concepts[{i}]" for i in range(len(concepts))]
        for name, stream in zip(self._names, concepts, strict=True):
            is_stream(name, stream)
            refuse_different(concepts[0].schema, stream.schema, (self._names[0], name))
        self.sparse = all_sparse(concepts, self._names)
        if len({id(stream) for stream in concepts}) < len(concepts):
            raise ValueError("concepts must be different streams, got the same object twice")
        whole("period", period, least=1)
        number("width", width, least=1, most=period)
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.concepts: tuple[Stream, ...] = tuple(concepts)
        self.period, self.width, self.seed = period, width, seed
        self._all = Confluence(concepts, self._names)
        self._begin: list[State] = [stream.state() for stream in concepts]
        self.restart()

    @property
    def schema(self) -> Schema:
        """The schema of all concepts."""
        return self.concepts[0].schema

    @property
    def endless(self) -> bool:
        """Has it no limit, and none of the concepts an end?"""
        return self._limit is None and all_endless(self.concepts)

    @property
    def drifts(self) -> tuple[int, ...]:
        """The end of each period; of an endless stream the first thousand."""
        return regular(int(self.period), self._limit)

    @property
    def widths(self) -> tuple[float, ...]:
        """How many rows each of the drifts takes."""
        return (self.width,) * len(self.drifts)

    def _start(self) -> None:
        self._random, self._ended = sown(self.seed, java=False), np.zeros(1, dtype=np.bool_)
        restore_all(self.concepts, self._begin)
        self._all.clear()

    def _next(self, n: int) -> Chunk | None:
        if self._ended[0]:
            return None
        before = self._random.copy()
        chunk, self._ended[0] = self._all.give(self._choose(n))
        if len(chunk) < n and not self._ended[0]:  # nothing yet: the rows that were not given are drawn again later
            self._random = before
            self._choose(len(chunk))
        return None if self._ended[0] and not len(chunk) else chunk

    def _choose(self, n: int) -> NDArray[np.int64]:
        which = np.empty(n, dtype=np.int64)
        recur(self._random, self._given, int(self.period), float(self.width), len(self.concepts), which)
        return which

    def _tables(self) -> State:
        tables: State = {"random": self._random, "ended": self._ended, "waiting": self._all.to_bytes()}
        for name, stream in zip(self._names, self.concepts, strict=True):
            tables |= prefixed(name, stream.state())
        return tables

    def _adopt(self, tables: State, given: int) -> None:
        waiting = self._all.from_bytes(tables["waiting"])
        restore_all(self.concepts, [part(name, tables) for name in self._names])
        self._all.wait(waiting)
        self._random, self._ended = tables["random"], tables["ended"]
