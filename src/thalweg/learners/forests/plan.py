"""What makes a forest the forest it is: a resampling rule, a replacement rule, and the members they act on."""

import math
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from thalweg.core.classifier import Floats, Ints
from thalweg.core.declared import check
from thalweg.core.protocols import State
from thalweg.detectors.detector import Detector
from thalweg.learners.forests import forest_jit as m
from thalweg.pool.rules import Rules

_LISTED = 20
"""Patches: up to so many features all subsets are listed, and dealt out like cards."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What makes a forest the forest it is. The words are explained in forest_jit.py."""

    rules: Rules
    sampling: int = m.DRAW_POISSON
    rate: float = 1.0
    votes: int = m.VOTE_EQUAL
    replacing: int = m.REPLACE_NEVER
    drift: Detector | None = None
    warning: Detector | None = None
    detect_before: bool = False
    background_sampled: bool = False
    feed_always: bool = False
    codes: bool = False
    gamma: float = 0.0
    variant: int = m.BOOST_PLAIN
    patches: bool = False
    """Has each tree a patch of ``rules.subspace`` features, instead of each leaf?"""

    @property
    def apart(self) -> bool:
        """Do members not look at each other?"""
        return self.replacing != m.REPLACE_WORST and self.sampling != m.DRAW_BOOST

    def to_array(self) -> Floats:
        """The numbers that compiled code reads."""
        how = np.zeros(m.F_RULES)
        how[m.F_SAMPLING], how[m.F_RATE] = self.sampling, self.rate
        how[m.F_VOTES], how[m.F_REPLACE] = self.votes, self.replacing
        how[m.F_WARN] = -1 if self.warning is None else self.warning.code
        how[m.F_DRIFT] = -1 if self.drift is None else self.drift.code
        how[m.F_BEFORE], how[m.F_BACK_POISSON] = self.detect_before, self.background_sampled
        how[m.F_ALL_FED], how[m.F_CODES] = self.feed_always, self.codes
        how[m.F_GAMMA], how[m.F_DECAY], how[m.F_VARIANT] = self.gamma, 0.5 * math.log1p(-self.gamma), self.variant
        return how

    @property
    def need(self) -> int:
        """How many trees one step teaches."""
        return 1 if self.warning is None else 2

    def parts(self, size: int, most: int) -> list[slice]:
        """The members of each of at most so many shards. They never depend on the number of threads."""
        n = min(most, -(-size // 8)) if self.apart else 1
        ends = [size * g // n for g in range(n + 1)]
        return [slice(a, b) for a, b in pairwise(ends)]

    def new_members(self, size: int, parts: list[slice]) -> State:
        """Make the tables of members that have seen nothing, but for their dice."""
        members = np.zeros((size, m.M_COLUMNS))
        for part in parts:
            n = part.stop - part.start
            members[part, m.M_FORE], members[part, m.M_BACK] = np.arange(n), np.arange(n) + n
        members[:, m.M_ALPHA] = members[:, m.M_EXPERT] = 1.0 / size
        rows = [np.zeros((size, 1)) if d is None else d.new_rows(size) for d in (self.warning, self.drift)]
        return {"members": members, "warn": rows[0], "drift": rows[1]}

    def check(self, arrays: State, size: int, parts: list[slice]) -> None:
        """Refuse tables of members that no forest of this plan could have."""
        one = self.new_members(1, [slice(0, 1)])
        widths = {"warning": one["warn"].shape[1], "drifting": one["drift"].shape[1]}
        check(m.Team, arrays, size=size, grows=int(self.warning is not None), **widths)
        for part in parts:
            trees = np.sort(arrays["members"][part, m.M_FORE : m.M_BACK + 1], axis=None)
            if not np.array_equal(trees, np.arange(len(trees))):
                raise ValueError("its table 'members' must give each tree to one member")
        for name, detector in (("warn", self.warning), ("drift", self.drift)):
            if detector is not None and not detector.fits(arrays[name]):
                raise ValueError(f"its table {name!r} holds what no {type(detector).__name__} could")

    def deal(self, d: int, size: int, seed: int) -> Ints:
        """Give each member a patch of k of d features: few features, all subsets in turn; many, subsets at random."""
        k = int(self.rules.subspace or d)
        draw = np.random.default_rng([seed, d])
        if d <= _LISTED:
            listed = list(combinations(range(d), k))
            rounds = -(-size // math.comb(d, k))
            cards = [listed[i % len(listed)] for i in draw.permutation(rounds * len(listed))[:size]]
        else:
            cards = [tuple(draw.choice(d, k, replace=False)) for _ in range(size)]
        patches = np.zeros((size, d), dtype=np.int64)
        for t, chosen in enumerate(cards):
            patches[t, list(chosen)] = 1
        return patches
