"""As many records as one likes that look like those of a small data set."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import shown, whole
from thalweg.core.protocols import Stream
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import Floats, Ints
from thalweg.streams.generators.bayes_net_fit import learned
from thalweg.streams.generators.bayes_net_jit import fill
from thalweg.streams.nested import codes_of, is_dense, is_stream
from thalweg.streams.source import Generator

_BLOCK = 8192


@final
class BayesNetStream(Generator):
    """Records drawn from a Bayesian network that is learned from a stream: "BNG-like".

    The class comes first; each feature depends on the class and on one other feature, so that the tree of features
    tells most (TAN). OpenML's BNG sets were made in this manner by Weka, from networks that nobody has published:
    for those very records read their files.

    Friedman, Geiger, Goldszmidt: Bayesian network classifiers. Machine Learning 29, 1997.

    Parameters
    ----------
    stream : Stream
        What to learn from, from where it is; it stays there.
    sample : int | None
        How many of its records, None: all. bins: numeric features are cut into at most so many bins of equal
        frequency; values are uniform in a bin. A missing value is a category of its own.
    bins : int
        Values that a numeric column is cut into.
    seed : int
        Random seed.
    limit : int | None
        Rows, None: endless.

    Examples
    --------
    >>> from thalweg import Agrawal
    >>> stream = BayesNetStream(Agrawal(function=1, perturbation=0.0), sample=5000)
    >>> stream.name, stream.schema == Agrawal().schema
    ('BNG-like', True)
    >>> chunk = stream.take(1000)
    """

    def __init__(
        self, stream: Stream, *, sample: int | None = None, bins: int = 10, seed: int = 1, limit: int | None = None
    ) -> None:
        is_stream("stream", stream)
        is_dense("stream", stream)
        if sample is not None:
            whole("sample", sample, least=1)
        elif getattr(stream, "rows", None) is None and not hasattr(stream, "path"):
            raise ValueError("sample must be given: the stream has no end")
        whole("bins", bins, least=1, most=1000)
        whole("seed", seed, least=0)
        self.limit = limit
        begin = stream.state()
        try:
            chunk = _records(stream, sample)
        finally:
            stream.restore(begin)
        schema = stream.schema
        if chunk is None or schema.n_features == 0:
            raise ValueError(f"stream must have records with features to learn from, got {shown(stream)}")
        classes = schema.classes or tuple(sorted(set(chunk.y.tolist()), key=str))
        self._schema = Schema(schema.features, classes)
        self._net = learned(chunk.X, codes_of(chunk.y, classes), len(classes), schema.features, int(bins))
        self._labels = np.array(classes, dtype=chunk.y.dtype)
        self.stream, self.sample, self.bins, self.seed, self.name = stream, sample, bins, seed, "BNG-like"
        self.restart()

    def _next(self, n: int) -> Chunk:
        chunk = super()._next(n)
        return Chunk(chunk.X, self._labels[chunk.y])

    def _fill(self, X: Floats, y: Ints) -> None:
        fill(self._random, *self._net, X, y)


def _records(stream: Stream, sample: int | None) -> Chunk | None:
    """Read so many records, or all; None: there are none."""
    parts: list[Chunk] = []
    left = sample
    while left is None or left > 0:
        chunk = stream.read(_BLOCK if left is None else min(_BLOCK, left))
        if chunk is None or len(chunk) == 0:
            break
        parts.append(chunk)
        left = None if left is None else left - len(chunk)
    return Chunk.join(parts) if parts else None
