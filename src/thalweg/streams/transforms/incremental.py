"""A concept that changes a little with every record."""

import math
from typing import final

from thalweg.core import fields
from thalweg.core.chunk import Chunk
from thalweg.core.params import number
from thalweg.streams.nested import changes, columns_of, is_dense
from thalweg.streams.transforms.around import Around
from thalweg.streams.transforms.changes_jit import turn


@final
class IncrementalDrift(Around):
    """Two numeric features turn evenly around a centre, and with them whatever the class depends on.

    Examples
    --------
    >>> from thalweg import SEA
    >>> still = SEA(noise=0.0).take(3000)
    >>> turned = IncrementalDrift(SEA(noise=0.0), 1000, 500, columns=(0, 2), centre=(5, 5)).take(3000)
    >>> bool((still.X[:750] == turned.X[:750]).all())
    True
    >>> bool(abs(still.X[2000:, 0] - turned.X[2000:, 2]).max() < 1e-9)
    True
    """

    position: int = fields.whole(doc="The row, counted from 1, in the middle of the change.", least=0, kw_only=False)
    width: float = fields.number(doc="How long it takes.", least=1, kw_only=False)
    columns: tuple[str | int, str | int] = fields.free(
        default=(0, 1), doc="Which two features turn, by name or position.", old="features"
    )
    angle: float = fields.number(
        default=90.0,
        doc="By how many degrees; 90 turns a square onto itself, so that in the end the second feature says what the "
        "first one said.",
    )
    centre: tuple[float, float] = fields.free(default=(0.5, 0.5), doc="Around what.")

    def _prepare(self) -> None:
        is_dense("stream", self.stream)
        schema = self.stream.schema
        self._pair = columns_of("columns", schema, self.columns)
        if len(set(self._pair)) != 2:
            raise ValueError(f"columns must be two different ones, got {self.columns!r}")
        for f in self._pair:
            if schema.features[f].nominal:
                raise ValueError(f"columns must be numeric, got {schema.names[f]!r}, which is nominal")
        if not isinstance(self.centre, (tuple, list)) or len(self.centre) != 2:
            raise ValueError(f"centre must be two numbers, got {self.centre!r}")
        for v in self.centre:
            number("centre", v)
        super()._prepare()

    def _changes(self) -> dict[int, float]:
        return changes(self.stream) | {int(self.position): self.width}

    def _changed(self, chunk: Chunk) -> Chunk:
        X = chunk.X.copy()
        where = self._given, float(self.position), float(self.width), math.radians(self.angle)
        f, g = self._pair
        turn(*where, f, g, float(self.centre[0]), float(self.centre[1]), X)
        return Chunk(X, chunk.y, chunk.w, chunk.time, chunk.label_time)
