"""Text: short messages of words that obey Zipf's law, some of them happy, some sad."""

from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.fields import choice, flag, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.compile import plain
from thalweg.streams.draw_jit import Floats, Ints, Seeds
from thalweg.streams.generators.text_jit import Words, build, fill, fill_sparse, prepare
from thalweg.streams.source import RNG, Generator, Rng


@final
class Text(Generator):
    """Messages of about 15 words, feature i is 1 where word i occurs; class 0 where the positive words prevail.

    The share of the i-th word goes with i^-1.5, a tenth of the words are positive, a tenth negative. A message with as
    many of the one as of the other is drawn again. MOA's very rows come with ``rng="java", compat="moa"``.

    References
    ----------
    Bifet, Holmes, Pfahringer: MOA-TweetReader: real-time analysis in Twitter streaming data. DS 2011.

    Examples
    --------
    >>> chunk = Text(words=500).take(1000)
    >>> bool(5 < chunk.X.sum(axis=1).mean() < 15)
    True
    >>> sparse = Text(words=500, sparse=True).take(1000)
    >>> sparse.X.shape, bool((sparse.X.toarray() == chunk.X).all())
    ((1000, 500), True)
    """

    words: int = whole(default=1000, doc="How many there are.", least=1, most=10_000_000)
    compat: Literal["moa"] | None = choice(
        default=None,
        doc='"moa" keeps three slips of MOA: every word is written one feature too far (the last is lost), words '
        "of messages that were drawn again stay, and the search for a word is at times one off.",
    )
    sparse: bool = flag(
        default=False,
        doc="Is X a ``scipy.sparse.csr_array`` with the same numbers, for learners that take it? Made without the "
        "dense rows, in a fraction of the memory.",
    )
    rng: Rng = RNG

    def _prepare(self) -> None:
        words = self.words
        self._schema = Schema.numeric(words, classes=(0, 1))
        sums = np.cumsum([1.0 / (i + 1.0) ** 1.5 for i in range(words)])
        self._bounds = sums / sums[-1]
        self._guide = np.empty(1 << int(words).bit_length() + 3, dtype=np.int64)
        self._hits = np.empty(words, dtype=np.int64)
        prepare(self._bounds, self.compat == "moa", self._guide, self._hits)
        super()._prepare()
        if not self._polarity.any():
            raise ValueError(f"words must be more, so that one of them is positive or negative, got {words}")

    def _first_tables(self, random: Seeds) -> State:
        self._polarity = np.empty(self.words, dtype=np.int64)
        build(random, self._java, self._polarity)
        return {}

    def _fill(self, X: Floats, y: Ints) -> None:
        X[:] = 0.0
        fill(self._random, self._lexicon, self.compat == "moa", self._java, X, y)

    @property
    def _lexicon(self) -> Words:
        return plain(Words(self._bounds, self._polarity, self._guide, self._hits))

    def _next(self, n: int) -> Chunk:
        if not self.sparse:
            return super()._next(n)
        y, way, lexicon = np.empty(n, dtype=np.int64), (self.compat == "moa", self._java), self._lexicon
        cells = int(self.words) // 64 + 1
        noted = np.zeros(cells, dtype=np.uint64), np.zeros(cells // 64 + 1, dtype=np.uint64)
        ends = np.zeros(n + 1, dtype=np.int64)
        columns = np.empty(16 * n + max(self.words, 256), dtype=np.int64)
        done = 0
        while (done := fill_sparse(self._random, lexicon, *noted, *way, done, columns, ends, y)) < n:
            columns = np.concatenate([columns, np.empty_like(columns)])
        return Chunk(self._rows(columns[: ends[-1]], ends), y)

    def _rows(self, columns: NDArray[np.int64], ends: NDArray[np.int64]) -> Any:
        from scipy.sparse import csr_array

        shape = len(ends) - 1, self.words
        X = csr_array((np.ones(len(columns)), columns.astype(np.int32), ends.astype(np.int32)), shape=shape)
        X.has_canonical_format = True
        return X
