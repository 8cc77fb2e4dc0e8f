"""A concept that changes a little with every record."""

import math
from typing import final

from thalweg.core.chunk import Chunk
from thalweg.core.params import number, whole
from thalweg.core.protocols import Stream
from thalweg.streams.nested import changes, columns_of, is_dense
from thalweg.streams.transforms.around import Around
from thalweg.streams.transforms.changes_jit import turn


@final
class IncrementalDrift(Around):
    """Two numeric features turn evenly around a centre, and with them whatever the class depends on.

    Parameters
    ----------
    stream : Stream
        Read from where it is.
    position : int
        The row, counted from 1, in the middle of the change.
    width : float
        How long it takes.
    features : tuple[str | int, str | int]
        Which two turn, by name or position.
    angle : float
        By how many degrees; 90 turns a square onto itself, so that in the end the second feature says what the first
        one said.
    centre : tuple[float, float]
        Around what.
    limit : int | None
        Rows, None: until the stream ends.

    Examples
    --------
    >>> from thalweg import SEA
    >>> still = SEA(noise=0.0).take(3000)
    >>> turned = IncrementalDrift(SEA(noise=0.0), 1000, 500, features=(0, 2), centre=(5, 5)).take(3000)
    >>> bool((still.X[:750] == turned.X[:750]).all())
    True
    >>> bool(abs(still.X[2000:, 0] - turned.X[2000:, 2]).max() < 1e-9)
    True
    """

    def __init__(
        self,
        stream: Stream,
        position: int,
        width: float,
        *,
        features: tuple[str | int, str | int] = (0, 1),
        angle: float = 90.0,
        centre: tuple[float, float] = (0.5, 0.5),
        limit: int | None = None,
    ) -> None:
        self._surround(stream, limit)
        is_dense("stream", stream)
        whole("position", position, least=0)
        number("width", width, least=1)
        number("angle", angle)
        self._pair = columns_of("features", stream.schema, features)
        if len(set(self._pair)) != 2:
            raise ValueError(f"features must be two different ones, got {features!r}")
        for f in self._pair:
            if stream.schema.features[f].nominal:
                raise ValueError(f"features must be numeric, got {stream.schema.names[f]!r}, which is nominal")
        if not isinstance(centre, (tuple, list)) or len(centre) != 2:
            raise ValueError(f"centre must be two numbers, got {centre!r}")
        for v in centre:
            number("centre", v)
        self.position, self.width, self.features, self.angle, self.centre = position, width, features, angle, centre
        self.restart()

    def _changes(self) -> dict[int, float]:
        return changes(self.stream) | {int(self.position): self.width}

    def _changed(self, chunk: Chunk) -> Chunk:
        X = chunk.X.copy()
        where = self._given, float(self.position), float(self.width), math.radians(self.angle)
        f, g = self._pair
        turn(*where, f, g, float(self.centre[0]), float(self.centre[1]), X)
        return Chunk(X, chunk.y, chunk.w, chunk.time, chunk.label_time)
