"""As many records as one likes that look like those of a small data set."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.fields import free, whole
from thalweg.core.params import shown
from thalweg.core.protocols import Stream
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import Floats, Ints
from thalweg.streams.generators.bayes_net_fit import learned
from thalweg.streams.generators.bayes_net_jit import fill
from thalweg.streams.nested import codes_of, is_dense, is_stream, take
from thalweg.streams.source import Generator

_ALL = 1 << 40  # records of a file that does not say how many it has


@final
class BayesNetStream(Generator):
    """Records drawn from a Bayesian network that is learned from a stream: "BNG-like".

    The class comes first; each feature depends on the class and on one other feature, so that the tree of features
    tells most (TAN). OpenML's BNG sets were made in this manner by Weka, from networks that nobody has published:
    for those very records read their files.

    References
    ----------
    Friedman, Geiger, Goldszmidt: Bayesian network classifiers. Machine Learning 29, 1997.

    Examples
    --------
    >>> from thalweg import Agrawal
    >>> stream = BayesNetStream(Agrawal(function=1, perturbation=0.0), sample=5000)
    >>> stream.name, stream.schema == Agrawal().schema
    ('BNG-like', True)
    >>> chunk = stream.take(1000)
    """

    stream: Stream = free(doc="What to learn from, from where it is; it stays there.", check=is_stream, kw_only=False)
    sample: int | None = whole(default=None, doc="From how many of its records; None: all.", least=1)
    bins: int = whole(
        default=10,
        doc="Numeric features are cut into at most so many bins of equal frequency; values are uniform in a bin. A "
        "missing value is a category of its own.",
        least=1,
        most=1000,
    )

    def _prepare(self) -> None:
        stream = self.stream
        is_dense("stream", stream)
        n = getattr(stream, "rows", None) if self.sample is None else int(self.sample)
        if n is None and not hasattr(stream, "path"):
            raise ValueError("sample must be given: the stream has no end")
        begin = stream.state()
        try:
            chunk, _ = take(stream, _ALL if n is None else n)
        finally:
            stream.restore(begin)
        schema = stream.schema
        if len(chunk) == 0 or schema.n_features == 0:
            raise ValueError(f"stream must have records with features to learn from, got {shown(stream)}")
        classes = schema.classes or tuple(sorted(set(chunk.y.tolist()), key=str))
        self._schema = Schema(schema.features, classes)
        self._net = learned(chunk.X, codes_of(chunk.y, classes), len(classes), schema.features, int(self.bins))
        self._labels = np.array(classes, dtype=chunk.y.dtype)
        self.name = "BNG-like"
        super()._prepare()

    def _next(self, n: int) -> Chunk:
        chunk = super()._next(n)
        return Chunk(chunk.X, self._labels[chunk.y])

    def _fill(self, X: Floats, y: Ints) -> None:
        fill(self._random, *self._net, X, y)
