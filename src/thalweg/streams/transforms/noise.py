"""What goes wrong with data: wrong labels, missing values, labels that come late."""

from collections.abc import Sequence
from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.fields import free, number
from thalweg.core.protocols import Stream
from thalweg.streams.nested import codes_of, columns_of, is_dense, is_stream, known_classes
from thalweg.streams.source import SEED
from thalweg.streams.transforms.around import Around
from thalweg.streams.transforms.changes_jit import flip, lose, scatter


@final
class LabelNoise(Around):
    """With the probability ``noise`` a label is another class, each of the others equally likely.

    Examples
    --------
    >>> from thalweg import SEA
    >>> wrong = LabelNoise(SEA(), 0.2).take(10_000).y != SEA().take(10_000).y
    >>> bool(0.18 < wrong.mean() < 0.22)
    True
    """

    stream: Stream = free(
        doc="The stream to change, with two or more known classes; it is read from its current position.",
        check=is_stream,
        kw_only=False,
    )
    noise: float = number(
        default=0.1, doc="Share of the labels that are replaced by another class.", least=0, most=1, kw_only=False
    )
    seed: int = SEED

    def _prepare(self) -> None:
        self._classes = known_classes(self.stream)
        if len(self._classes) < 2:
            raise ValueError(f"stream must have at least two classes, got {self._classes!r}")
        super()._prepare()

    def _changed(self, chunk: Chunk) -> Chunk:
        codes = codes_of(chunk.y, self._classes)
        flip(self._random, float(self.noise), len(self._classes), codes)
        labels = np.array(self._classes, dtype=object if chunk.y.dtype == object else None)
        return Chunk(chunk.X, labels[codes], chunk.w, chunk.time, chunk.label_time)


@final
class MissingValues(Around):
    """Each value is missing, NaN, with the probability ``share``.

    Examples
    --------
    >>> from thalweg import SEA
    >>> X = MissingValues(SEA(), 0.3, columns=(1,)).take(10_000).X
    >>> [round(float(v), 1) for v in np.isnan(X).mean(axis=0)]
    [0.0, 0.3, 0.0]
    """

    share: float = number(default=0.1, doc="Probability that a value is missing.", least=0, most=1, kw_only=False)
    columns: Sequence[str | int] | str | int | None = free(
        default=None, doc="The features, by name or position; None: all.", old="features"
    )
    seed: int = SEED

    def _prepare(self) -> None:
        is_dense("stream", self.stream)
        schema = self.stream.schema
        every = range(schema.n_features)
        self._columns = np.array(every if self.columns is None else columns_of("columns", schema, self.columns), int)
        super()._prepare()

    def _changed(self, chunk: Chunk) -> Chunk:
        X = chunk.X.copy()
        lose(self._random, float(self.share), self._columns, X)
        return Chunk(X, chunk.y, chunk.w, chunk.time, chunk.label_time)


@final
class DelayedLabels(Around):
    """Labels that become known later than the record: ``label_time`` is set.

    The time of a record is what the stream says, or its row number where it says nothing.

    Examples
    --------
    >>> from thalweg import SEA
    >>> chunk = DelayedLabels(SEA(), 500).take(3)
    >>> chunk.time.tolist(), chunk.label_time.tolist()
    ([0.0, 1.0, 2.0], [500.0, 501.0, 502.0])
    """

    delay: float = number(doc="How much later, in the units of time.", least=0, kw_only=False)
    jitter: float = number(default=0.0, doc="Largest additional delay, drawn uniformly for each record.", least=0)
    seed: int = SEED

    def _changed(self, chunk: Chunk) -> Chunk:
        rows = np.arange(self._given, self._given + len(chunk), dtype=np.float64)
        time = rows if chunk.time is None else chunk.time
        label_time = time + self.delay
        if self.jitter > 0:
            scatter(self._random, float(self.jitter), label_time)
        return Chunk(chunk.X, chunk.y, chunk.w, time, label_time)
