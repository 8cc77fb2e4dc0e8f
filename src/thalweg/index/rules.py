"""Rules as boxes: what a classifier says, and where."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.index import trees_jit as jit
from thalweg.jit.compile import plain

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


MOST_BITS = 1 << 22
"""Of one rule: for each feature one, for each value of a nominal feature one more."""


def bit_places(values: Ints) -> tuple[Ints, int]:
    """Where the bits of each feature begin, and how many words all of them take. values: 0 for a numeric feature."""
    sizes = np.where(values > 0, np.minimum(values, MOST_BITS) + 2, 1)
    ends, total = np.cumsum(sizes), int(sizes.sum())
    if total > MOST_BITS:
        raise ValueError(f"rules must have at most {MOST_BITS} features and values of nominal features, got {total}")
    return ends - sizes, max(1, -(-total // 64))


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """The rules of one classifier. Those of a tree are its leaves: every record meets exactly one.

    A rule holds a record x if lo ≤ x_f ≤ hi in each numeric feature f, and the bit of its value is set in each nominal
    one; a missing value has a bit in each feature. The tables are described in trees_jit.py.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import SEA, HoeffdingTree
    >>> from thalweg.index.sources import rules_of
    >>> chunk = SEA(seed=1).read(20_000)
    >>> tree = HoeffdingTree().partial_fit(chunk.X, chunk.y)
    >>> [rules] = rules_of(tree)
    >>> len(rules) == tree.n_leaves
    True
    """

    lo: Floats
    """The least value of each feature, rules by features; -∞: no bound."""
    hi: Floats
    """The greatest value of each feature, rules by features; ∞: no bound."""
    bits: NDArray[np.uint64]
    """The values of nominal features that each rule holds: 64 bits to a column, those of a feature side by side."""
    values: Ints
    """How many values each feature has; 0: it is numeric."""
    payload: Floats
    """What each rule votes: a number for each class."""
    support: Floats
    """The weight of the records that each rule was learned from."""
    say: float = 1.0
    """The weight of the classifier in the ensemble that it comes from."""
    nodes: NDArray[np.void] | None = None
    """The tree that the rules come from; None: they come from something else."""
    missing: Ints | None = None
    leaf_rule: Ints | None = None
    """Which rule each leaf of the tree is; -1: none."""

    def __len__(self) -> int:
        return len(self.lo)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.values)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.payload.shape[1])

    @property
    def bounded(self) -> float:
        """Mean number of features that a rule bounds."""
        at, _ = bit_places(self.values)
        inside = np.isfinite(self.lo) | np.isfinite(self.hi) | (self.lo > self.hi)
        for f in np.flatnonzero(self.values):
            for k in range(int(at[f]), int(at[f] + self.values[f] + 2)):
                inside[:, f] |= (self.bits[:, k >> 6] >> np.uint64(k & 63)) & np.uint64(1) == 0
        return float(inside.sum(axis=1).mean()) if len(self) else 0.0

    def hard(self) -> "Rules":
        """The same rules, each of which votes for its heaviest class alone (the first among equals)."""
        votes = np.zeros_like(self.payload)
        some = self.payload.max(axis=1, initial=0.0) > 0.0
        votes[np.flatnonzero(some), self.payload[some].argmax(axis=1)] = 1.0
        return replace(self, payload=votes)

    def only(self, target: int) -> "Rules":
        """Those rules whose heaviest class is the target; for a decision between it and all others."""
        params.whole("target", target, least=0, below=self.n_classes)
        kept = self.hard().payload[:, target] > 0.0
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        leaf_rule = None if self.leaf_rule is None else np.where(self.leaf_rule >= 0, number[self.leaf_rule], -1)
        return replace(
            self, lo=self.lo[kept], hi=self.hi[kept], bits=self.bits[kept], payload=self.payload[kept],
            support=self.support[kept], leaf_rule=leaf_rule,
        )  # fmt: skip

    def widened(self, values: Ints) -> "Rules":
        """The same rules with bits for more values of the nominal features."""
        if np.array_equal(values, self.values):
            return self
        numeric = self.values == 0
        if len(values) != len(self.values) or (numeric != (values == 0)).any() or (values < self.values).any():
            raise ValueError("values must be those of the same features, and as many or more of each")
        (old, _), (new, width) = bit_places(self.values), bit_places(values)
        bits = np.zeros((len(self), width), dtype=np.uint64)
        for f, v in enumerate(values.tolist()):
            last = int(self.values[f]) + 1
            for k in range(v + 2 if v else 1):
                a, b = int(old[f]) + min(k, last), int(new[f]) + k
                bit = (self.bits[:, a >> 6] >> np.uint64(a & 63)) & np.uint64(1)
                bits[:, b >> 6] |= bit << np.uint64(b & 63)
        return replace(self, bits=bits, values=values)

    def holds(self, X: Any) -> NDArray[np.bool_]:
        """Say for each row of X which rules hold it: rows × rules."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        at, _ = bit_places(self.values)
        return jit.hold_all(plain(jit.Boxes(self.lo, self.hi, self.bits, self.values, at)), X)


def boxes_of_tree(
    nodes: NDArray[np.void], missing: Ints, values: Ints, payload: Floats, support: Floats, say: float = 1.0
) -> Rules:
    """Make the rules of a tree: a box for each leaf; one that no record can reach is left out."""
    at, width = bit_places(values)
    lo, hi, bits = jit.boxes_of(nodes, missing, values, at, width)
    kept = jit.possible(plain(jit.Boxes(lo, hi, bits, values, at)))
    leaf_rule = np.where(kept, np.cumsum(kept) - 1, -1)
    if not kept.all():
        lo, hi, bits, payload, support = lo[kept], hi[kept], bits[kept], payload[kept], support[kept]
    return Rules(lo, hi, bits, values, payload, support, say, nodes, missing, leaf_rule)


def box(bounds: Sequence[tuple[float, float]], votes: Sequence[float], *, say: float = 1.0) -> Rules:
    """Make a classifier of one rule: an interval for each of its numeric features, and a vote for each class.

    >>> len(box([(0.0, 1.5), (0.0, 1.5)], [0.0, 1.0]))
    1
    """
    ends = np.array(bounds, dtype=np.float64).reshape(-1, 2)
    if np.isnan(ends).any() or (ends[:, 0] > ends[:, 1]).any():
        raise ValueError(f"bounds must be pairs of a lower and an upper end, got {params.shown(bounds)}")
    values = np.zeros(len(ends), dtype=np.int64)
    at, width = bit_places(values)
    bits = np.zeros((1, width), dtype=np.uint64)
    for f in np.flatnonzero((ends[:, 0] == -np.inf) & (ends[:, 1] == np.inf)):
        bits[0, at[f] >> 6] |= np.uint64(1) << np.uint64(at[f] & 63)
    payload = np.array([votes], dtype=np.float64)
    return Rules(ends[None, :, 0].copy(), ends[None, :, 1].copy(), bits, values, payload, np.ones(1), say)
