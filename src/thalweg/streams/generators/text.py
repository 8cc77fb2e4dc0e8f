"""Text: short messages of words that obey Zipf's law, some of them happy, some sad."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.text_jit import build, fill, prepare
from thalweg.streams.source import Source


@final
class Text(Source):
    """Messages of about 15 words, feature i is 1 where word i occurs; class 0 where the positive words prevail.

    words: how many there are; the share of the i-th goes with i^-1.5, a tenth of them are positive, a tenth negative.
    A message with as many of the one as of the other is drawn again. compat: "moa" keeps three slips of MOA: every
    word is written one feature too far (the last is lost), words of messages that were drawn again stay, and the
    search for a word is at times one off. rng: "splitmix", or "java" for MOA's very rows (with compat="moa").
    Rows are dense. limit: rows, None: endless.

    Bifet, Holmes, Pfahringer: MOA-TweetReader: real-time analysis in Twitter streaming data. DS 2011.

    >>> chunk = Text(words=500).take(1000)
    >>> bool(5 < chunk.X.sum(axis=1).mean() < 15)
    True
    """

    def __init__(
        self,
        *,
        words: int = 1000,
        compat: str | None = None,
        rng: str = "splitmix",
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        whole("words", words, least=1, most=10_000_000)
        if compat is not None:
            choice("compat", compat, ("moa",))
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.words, self.compat, self.rng, self.seed = words, compat, rng, seed
        self._schema = Schema.numeric(words, classes=(0, 1))
        sums = np.cumsum([1.0 / (i + 1.0) ** 1.5 for i in range(words)])
        self._bounds = sums / sums[-1]
        self._guide, self._hits = (
            np.empty(1 << int(words).bit_length() + 1, dtype=np.int64),
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
        X, y = np.zeros((n, self.words)), np.empty(n, dtype=np.int64)
        tables = self._bounds, self._polarity, self._guide, self._hits
        fill(self._random, *tables, self.compat == "moa", self.rng == "java", X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return {"random": self._random}

    def _adopt(self, tables: State, given: int) -> None:
        self._random = tables["random"]
