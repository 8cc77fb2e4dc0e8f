"""Which features change: the latest records of a service against those before, feature by feature."""

from collections.abc import Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.protocols import State
from thalweg.core.schema import Schema

Floats = NDArray[np.float64]
BLOCK = 256
"""Records that are looked at together: how requests divide them changes nothing."""
RECENT, USUAL = 1 / 4, 1 / 64
"""Weight of a new block among the latest records, and among those that are usual."""
CODES = 32
"""Values of a nominal feature that are told apart."""


@final
class Watch:
    """Means and spreads of features, of late and as usual.

    >>> watch = Watch()
    >>> rng = np.random.default_rng(1)
    >>> watch.see(np.c_[rng.normal(size=20_000), rng.normal(size=20_000)])
    >>> watch.see(np.c_[rng.normal(size=2_000), rng.normal(size=2_000) + 3.0])
    >>> [bool(score > 1.0) for score in watch.scores()]
    [False, True]
    """

    def __init__(self) -> None:
        self.blocks = 0
        self._waiting: list[Floats] = []
        self._count = 0
        self._nominal: list[int] = []
        self._moments = np.zeros((0, 6))
        """Of each feature: mean of late, as usual, variance as usual, share missing of late, as usual, and free."""
        self._ends = np.zeros((0, 2))
        self._shares = np.zeros((0, 2, CODES))

    def see(self, X: Floats, schema: Schema | None = None) -> None:
        """Take records in order; schema: says which features are nominal."""
        if schema is not None:
            self._nominal = np.flatnonzero(schema.nominal).tolist()
        self._waiting.append(X)
        self._count += len(X)
        if self._count < BLOCK:
            return
        width = self._width()
        rows = np.concatenate([_padded(part, width) for part in self._waiting])
        n = len(rows) // BLOCK
        self._blocks(rows[: n * BLOCK].reshape(n, BLOCK, width))
        rest = rows[n * BLOCK :]
        self._waiting, self._count = [rest.copy()], len(rest)

    def _width(self) -> int:
        """Give the features of the widest records so far."""
        return int(max(len(self._moments), *(part.shape[1] for part in self._waiting)))

    def _blocks(self, blocks: Floats) -> None:
        """Take blocks in order. What is added up is added up for all of them at once."""
        more = blocks.shape[2] - len(self._moments)
        if more > 0:
            self._moments = np.pad(self._moments, ((0, more), (0, 0)))
            self._ends = np.concatenate([self._ends, np.tile([np.inf, -np.inf], (more, 1))])
            self._shares = np.pad(self._shares, ((0, more), (0, 0), (0, 0)))
        blocks = np.ascontiguousarray(blocks.transpose(0, 2, 1))  # block, feature, record
        there = blocks == blocks
        n = np.count_nonzero(there, axis=2)
        whole = n.min(initial=BLOCK) == BLOCK
        n = np.maximum(n, 1)
        values = blocks if whole else np.where(there, blocks, 0.0)
        means = values.sum(axis=2) / n
        spreads = np.maximum((values * values).sum(axis=2) / n - means * means, 0.0)
        lost = 1.0 - n / BLOCK
        low, high = (np.minimum, np.maximum) if whole else (np.fmin, np.fmax)
        self._ends[:, 0] = np.fmin(self._ends[:, 0], low.reduce(low.reduce(blocks, axis=2), axis=0))
        self._ends[:, 1] = np.fmax(self._ends[:, 1], high.reduce(high.reduce(blocks, axis=2), axis=0))
        m = self._moments.T
        for b, (mean, spread, gone) in enumerate(zip(means, spreads, lost, strict=True)):
            first = self.blocks == 0
            late, usual = (1.0, 1.0) if first else (RECENT, max(USUAL, 1.0 / (self.blocks + 1)))
            m[0] += late * (mean - m[0])
            m[2] += usual * ((spread if first else spread + (mean - m[1]) ** 2) - m[2])
            m[1] += usual * (mean - m[1])
            m[3] += late * (gone - m[3])
            m[4] += usual * (gone - m[4])
            for f in self._nominal[:1_000]:
                codes = np.minimum(values[b, f, there[b, f]], CODES - 1).astype(np.int64)
                share = np.bincount(codes, minlength=CODES) / n[b, f]
                self._shares[f, 0] += late * (share - self._shares[f, 0])
                self._shares[f, 1] += usual * (share - self._shares[f, 1])
            self.blocks += 1

    def scores(self, schema: Schema | None = None) -> list[float]:
        """Say of each feature how far it is from its usual self.

        A number: how many standard deviations the mean has moved. A nominal feature: the share of records that have
        another value than usual (0 to 1). The share of missing values counts by as much as it has moved.
        """
        m = self._moments
        moved = np.abs(m[:, 0] - m[:, 1]) / np.sqrt(np.maximum(m[:, 2], 1e-24))
        moved[np.abs(m[:, 0] - m[:, 1]) < 1e-12] = 0.0
        if schema is not None:
            nominal = schema.nominal[: len(m)] > 0
            moved[nominal] = np.abs(self._shares[nominal, 0] - self._shares[nominal, 1]).sum(axis=1) / 2
        scores: list[float] = np.maximum(moved, np.abs(m[:, 3] - m[:, 4])).tolist()
        return scores

    def ranges(self) -> list[tuple[float, float]]:
        """Give the usual range of each feature, as number: mean ± 2 standard deviations, within what was ever seen."""
        m = self._moments
        spread = 2.0 * np.sqrt(np.maximum(m[:, 2], 0.0))
        low, high = np.maximum(m[:, 1] - spread, self._ends[:, 0]), np.minimum(m[:, 1] + spread, self._ends[:, 1])
        return list(zip(low.tolist(), high.tolist(), strict=True))

    def state(self) -> State:
        """Copy out everything."""
        width = self._width() if self._waiting else 0
        waiting = [_padded(part, width) for part in self._waiting]
        return {
            "blocks": np.array([self.blocks]),
            "moments": self._moments.copy(),
            "ends": self._ends.copy(),
            "shares": self._shares.copy(),
            "waiting": np.concatenate(waiting) if waiting else np.zeros((0, 0)),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` gave."""
        self.blocks = int(state["blocks"][0])
        self._moments, self._ends, self._shares = (state[name].copy() for name in ("moments", "ends", "shares"))
        self._waiting, self._count = [state["waiting"].copy()], len(state["waiting"])


def _padded(rows: Floats, width: int) -> Floats:
    more = width - rows.shape[1]
    return rows if more <= 0 else np.pad(rows, ((0, 0), (0, more)), constant_values=np.nan)
