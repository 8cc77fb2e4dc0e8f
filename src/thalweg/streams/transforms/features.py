"""Features that change their places, or fail."""

from collections.abc import Sequence
from typing import final

import numpy as np

from thalweg.core import fields
from thalweg.core.chunk import Chunk
from thalweg.core.params import shown
from thalweg.streams.nested import changes, columns_of, is_dense
from thalweg.streams.transforms.around import Around


@final
class FeatureDrift(Around):
    """From one row on, some features are exchanged with others, and some are missing.

    Examples
    --------
    >>> from thalweg import SEA
    >>> chunk = FeatureDrift(SEA(), 100, swap=[(0, 2)], drop=[1]).take(200)
    >>> bool((chunk.X[:100] == SEA().take(100).X).all()), bool(np.isnan(chunk.X[100:, 1]).all())
    (True, True)
    """

    position: int = fields.whole(doc="How many rows come before the change.", least=0, kw_only=False)
    swap: Sequence[tuple[str | int, str | int]] = fields.free(
        default=(),
        doc="Pairs of features, by name or position, that change places; the two of a pair must be of the same kind.",
    )
    drop: Sequence[str | int] = fields.free(default=(), doc="Features that are NaN from then on.")

    def _prepare(self) -> None:
        is_dense("stream", self.stream)
        schema, swap = self.stream.schema, self.swap
        if not isinstance(swap, (tuple, list)):
            raise TypeError(f"swap must be pairs of features, got {shown(swap)}")
        order = np.arange(schema.n_features)
        for pair in swap:
            columns = columns_of("swap", schema, pair)
            if len(columns) != 2:
                raise ValueError(f"swap must be pairs of features, got {shown(pair)}")
            a, b = (schema.features[f] for f in columns)
            if a.values != b.values:
                raise ValueError(f"swap must be pairs of features with the same values, got {a.name!r} and {b.name!r}")
            order[columns] = order[columns[::-1]]
        self._order, self._lost = order, columns_of("drop", schema, self.drop)
        if not self._lost and (order == np.arange(len(order))).all():
            raise ValueError("swap or drop must name features, so that there is a change")
        super()._prepare()

    def _changes(self) -> dict[int, float]:
        return changes(self.stream) | {int(self.position): 1}

    def _changed(self, chunk: Chunk) -> Chunk:
        start = max(0, self.position - self._given)
        if start >= len(chunk):
            return chunk
        X = chunk.X.copy()
        X[start:] = chunk.X[start:][:, self._order]
        X[start:, self._lost] = np.nan
        return Chunk(X, chunk.y, chunk.w, chunk.time, chunk.label_time)
