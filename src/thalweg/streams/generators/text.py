"""Text: short messages of words that obey Zipf's law, some of them happy, some sad."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, flag, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.text_jit import build, fill, fill_sparse, prepare
from thalweg.streams.source import Generator


@final
class Text(Generator):
    """Messages of about 15 words, feature i is 1 where word i occurs; class 0 where the positive words prevail.

    words: how many there are; the share of the i-th goes with i^-1.5, a tenth of them are positive, a tenth negative.
    A message with as many of the one as of the other is drawn again. compat: "moa" keeps three slips of MOA: every
    word is written one feature too far (the last is lost), words of messages that were drawn again stay, and the
    search for a word is at times one off. rng: "splitmix", or "java" for MOA's very rows (with compat="moa").
    sparse: X is a ``scipy.sparse.csr_array`` with the same numbers, for learners that say that they take it; made
    without the dense rows, in a fraction of the memory. limit: rows, None: endless.

    Bifet, Holmes, Pfahringer: MOA-TweetReader: real-time analysis in Twitter streaming data. DS 2011.

    >>> chunk = Text(words=500).take(1000)
    >>> bool(5 < chunk.X.sum(axis=1).mean() < 15)
    True
    >>> sparse = Text(words=500, sparse=True).take(1000)
    >>> sparse.X.shape, bool((sparse.X.toarray() == chunk.X).all())
    ((1000, 500), True)
    """

    def __init__(
        self,
        *,
        words: int = 1000,
        compat: str | None = None,
        sparse: bool = False,
        rng: str = "splitmix",
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        whole("words", words, least=1, most=10_000_000)
        if compat is not None:
            choice("compat", compat, ("moa",))
        flag("sparse", sparse)
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.words, self.compat, self.sparse, self.rng, self.seed = words, compat, sparse, rng, seed
        self._schema = Schema.numeric(words, classes=(0, 1))
        sums = np.cumsum([1.0 / (i + 1.0) ** 1.5 for i in range(words)])
        self._bounds = sums / sums[-1]
        self._guide, self._hits = (
            np.empty(1 << int(words).bit_length() + 3, dtype=np.int64),
            np.empty(words, dtype=np.int64),
        )
        prepare(self._bounds, compat == "moa", self._guide, self._hits)
        self.restart()
        if not self._polarity.any():
            raise ValueError(f"words must be more, so that one of them is positive or negative, got {words}")

    @property
    def schema(self) -> Schema:
        """A numeric feature for each word, two classes."""
        return self._schema

    def _start(self) -> None:
        java = self.rng == "java"
        self._random, self._polarity = sown(self.seed, java=java), np.empty(self.words, dtype=np.int64)
        build(self._random, java, self._polarity)

    def _next(self, n: int) -> Chunk:
        y, tables = np.empty(n, dtype=np.int64), (self._bounds, self._polarity, self._guide, self._hits)
        way = self.compat == "moa", self.rng == "java"
        if not self.sparse:
            X = np.zeros((n, self.words))
            fill(self._random, *tables, *way, X, y)
            return Chunk(X, y)
        cells = int(self.words) // 64 + 1
        noted = np.zeros(cells, dtype=np.uint64), np.zeros(cells // 64 + 1, dtype=np.uint64)
        ends = np.zeros(n + 1, dtype=np.int64)
        columns = np.empty(16 * n + max(self.words, 256), dtype=np.int64)
        done = 0
        while (done := fill_sparse(self._random, *tables, *noted, *way, done, columns, ends, y)) < n:
            columns = np.concatenate([columns, np.empty_like(columns)])
        return Chunk(self._rows(columns[: ends[-1]], ends), y)

    def _rows(self, columns: NDArray[np.int64], ends: NDArray[np.int64]) -> Any:
        from scipy.sparse import csr_array

        shape = len(ends) - 1, self.words
        X = csr_array((np.ones(len(columns)), columns.astype(np.int32), ends.astype(np.int32)), shape=shape)
        X.has_canonical_format = True
        return X

    def _tables(self) -> State:
        return {"random": self._random}

    def _adopt(self, tables: State, given: int) -> None:
        self._random = tables["random"]
