"""What goes wrong with data: wrong labels, missing values, labels that come late."""

from typing import Any, final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import number
from thalweg.core.protocols import Stream
from thalweg.streams.nested import codes_of, columns_of, is_dense, known_classes
from thalweg.streams.transforms.around import Around
from thalweg.streams.transforms.changes_jit import flip, lose, scatter


@final
class LabelNoise(Around):
    """With the probability ``noise`` a label is another class, each of the others equally likely.

    Parameters
    ----------
    stream : Stream
        Knows its classes, two or more; read from where it is.
    noise : float
        Share of the labels that are replaced by another class.
    seed : int
        Random seed.
    limit : int | None
        Rows, None: until the stream ends.

    Examples
    --------
    >>> from thalweg import SEA
    >>> wrong = LabelNoise(SEA(), 0.2).take(10_000).y != SEA().take(10_000).y
    >>> bool(0.18 < wrong.mean() < 0.22)
    True
    """

    def __init__(self, stream: Stream, noise: float = 0.1, *, seed: int = 1, limit: int | None = None) -> None:
        self.seed = seed
        self._surround(stream, limit)
        self._classes = known_classes(stream)
        if len(self._classes) < 2:
            raise ValueError(f"stream must have at least two classes, got {self._classes!r}")
        number("noise", noise, least=0, most=1)
        self.noise = noise
        self.restart()

    def _changed(self, chunk: Chunk) -> Chunk:
        codes = codes_of(chunk.y, self._classes)
        flip(self._random, float(self.noise), len(self._classes), codes)
        labels = np.array(self._classes, dtype=object if chunk.y.dtype == object else None)
        return Chunk(chunk.X, labels[codes], chunk.w, chunk.time, chunk.label_time)


@final
class MissingValues(Around):
    """Each value is missing, NaN, with the probability ``share``.

    Parameters
    ----------
    stream : Stream
        Read from where it is.
    share : float
        Probability that a value is missing.
    features : object
        In which of them, by name or position; None: in all.
    seed : int
        Random seed.
    limit : int | None
        Rows, None: until the stream ends.

    Examples
    --------
    >>> from thalweg import SEA
    >>> X = MissingValues(SEA(), 0.3, features=(1,)).take(10_000).X
    >>> [round(float(v), 1) for v in np.isnan(X).mean(axis=0)]
    [0.0, 0.3, 0.0]
    """

    def __init__(
        self, stream: Stream, share: float = 0.1, *, features: Any = None, seed: int = 1, limit: int | None = None
    ) -> None:
        self.seed = seed
        self._surround(stream, limit)
        is_dense("stream", stream)
        number("share", share, least=0, most=1)
        every = range(stream.schema.n_features)
        self._columns = np.array(every if features is None else columns_of("features", stream.schema, features), int)
        self.share, self.features = share, features
        self.restart()

    def _changed(self, chunk: Chunk) -> Chunk:
        X = chunk.X.copy()
        lose(self._random, float(self.share), self._columns, X)
        return Chunk(X, chunk.y, chunk.w, chunk.time, chunk.label_time)


@final
class DelayedLabels(Around):
    """Labels that become known later than the record: ``label_time`` is set.

    The time of a record is what the stream says, or its row number where it says nothing.

    Parameters
    ----------
    stream : Stream
        Read from where it is.
    delay : float
        How much later, in the units of time.
    jitter : float
        Up to so much more, drawn uniformly for each record.
    seed : int
        Random seed.
    limit : int | None
        Rows, None: until the stream ends.

    Examples
    --------
    >>> from thalweg import SEA
    >>> chunk = DelayedLabels(SEA(), 500).take(3)
    >>> chunk.time.tolist(), chunk.label_time.tolist()
    ([0.0, 1.0, 2.0], [500.0, 501.0, 502.0])
    """

    def __init__(
        self, stream: Stream, delay: float, *, jitter: float = 0.0, seed: int = 1, limit: int | None = None
    ) -> None:
        self.seed = seed
        self._surround(stream, limit)
        number("delay", delay, least=0)
        number("jitter", jitter, least=0)
        self.delay, self.jitter = delay, jitter
        self.restart()

    def _changed(self, chunk: Chunk) -> Chunk:
        rows = np.arange(self._given, self._given + len(chunk), dtype=np.float64)
        time = rows if chunk.time is None else chunk.time
        label_time = time + self.delay
        if self.jitter > 0:
            scatter(self._random, float(self.jitter), label_time)
        return Chunk(chunk.X, chunk.y, chunk.w, time, label_time)
