"""The bitmap index: for each interval of each feature, the rules that accept it, as bits."""

from typing import final

import numpy as np
from numpy.typing import NDArray

from thalweg.index import bitmap_jit as jit
from thalweg.index.index import Index
from thalweg.index.rules import Floats, Ints, Rules
from thalweg.jit.compile import plain


@final
class BitmapIndex(Index):
    """Finds the rules that hold a record by one search and one row of bits for each feature.

    Rules are kept in blocks, each with intervals of its own: memory grows with the number of rules, not with its
    square, and a new classifier only touches the last block.

    Examples
    --------
    >>> from thalweg.index.rules import box
    >>> index = BitmapIndex()
    >>> index.insert(1, box([(0.0, 1.5), (-1.0, 1.0)], [0.0, 1.0]))
    >>> index.match([[1.5, 1.0], [1.5, 1.01]])[0], index.match([[1.5, 1.01]])[0]
    ([(1, 0)], [])
    """

    BUNDLES = (*Index.BUNDLES, jit.Bitmap)

    def _reset(self) -> None:
        self.cuts: Floats
        self.lines: NDArray[np.uint64]
        d = len(self.values)
        self.parts = np.zeros((0, d, jit.COLUMNS), dtype=np.int64)
        self.guide = np.zeros((0, d, jit.GUIDE + 1), dtype=np.int32)
        self.scale = np.zeros((0, d, 2))
        self.living = np.zeros((0, jit.WORDS), dtype=np.uint64)
        self._put("cuts", np.zeros(0))
        self._put("lines", np.zeros((0, jit.WORDS), dtype=np.uint64))
        self._ends: list[tuple[int, int]] = []  # cuts and lines up to each block
        self._gather()

    def _gather(self) -> None:
        """Bundle the tables, none of which is another until they are built again."""
        own = self.parts, self.cuts, self.lines, self.guide, self.scale, self.living
        self._bitmap = plain(jit.Bitmap(*own, self.values))

    def _add(self, rules: Rules, first: int) -> None:
        self._build(first // jit.RULES)

    def _drop(self, rows: Ints) -> None:
        np.bitwise_and.at(self.living.reshape(-1), rows >> 6, ~(np.uint64(1) << (rows & 63).astype(np.uint64)))

    def _renumber(self, new: Ints) -> None:
        self._build(0)

    def _rebuild(self) -> None:
        self._build(0)

    def _build(self, begin: int) -> None:
        """Make the blocks from ``begin`` on."""
        cut, line = self._ends[begin - 1] if begin else (0, 0)
        d, blocks = len(self.values), -(-len(self) // jit.RULES)
        del self._ends[begin:]
        parts, guide, scale = [], [], []
        self.cuts, self.lines = self.cuts[:cut], self.lines[:line]  # there is room behind: only new ones are written
        for b in range(begin, blocks):
            part = np.zeros((d, jit.COLUMNS), dtype=np.int64)
            steps, unit = np.zeros((d, jit.GUIDE + 1), dtype=np.int32), np.zeros((d, 2))
            last = min(len(self), (b + 1) * jit.RULES)
            some, more = jit.build(self._boxes, b * jit.RULES, last, part, steps, unit)
            part[:, jit.ROW] += np.where(part[:, jit.ROW] >= 0, line, 0)
            part[:, jit.CUT] += cut
            parts.append(part[None])
            guide.append(steps[None])
            scale.append(unit[None])
            self._append("cuts", some)
            self._append("lines", more)
            cut, line = cut + len(some), line + len(more)
            self._ends.append((cut, line))
        self.parts = np.concatenate([self.parts[:begin], *parts])
        self.guide = np.concatenate([self.guide[:begin], *guide])
        self.scale = np.concatenate([self.scale[:begin], *scale])
        alive = np.zeros(blocks * jit.RULES, dtype=np.uint8)
        alive[: len(self)] = self.alive
        self.living = np.packbits(alive, bitorder="little").view("<u8").astype(np.uint64).reshape(blocks, jit.WORDS)
        self._gather()

    def _adopt(self) -> None:
        self._reset()  # what was handed over may stand on a file that cannot be written to
        self._build(0)

    def _scores(self, X: Floats, out: Floats) -> None:
        words = np.empty(jit.WORDS, np.uint64)
        jit.bitmap_scores(self._bitmap, self.payload, self.owner, self.weight, X, out, words)

    def _match(self, X: Floats, start: Ints) -> Ints:
        return jit.bitmap_match(self._bitmap, X, start)
