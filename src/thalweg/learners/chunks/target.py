"""An index of the rules of one class: which class, and what its scores say about both."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thalweg.index.index import Index
from thalweg.index.rules import Floats, Rules

RATIO, PATIENCE, CLEAR = 1.5, 3, 0.5 + 1e-9


@dataclass(frozen=True, slots=True)
class Target:
    """The class whose rules are indexed, the one that has fewer (the paper's minor class); -1: those of all classes.

    Another class takes its place when it has had more than 1.5 times the rules after three chunks in a row: to change
    means to build the index anew.

    >>> target = Target().after([10, 30])
    >>> target, target.after([40, 30]).code, target.after([60, 30]).after([60, 30]).after([60, 30]).code
    (Target(code=0, waited=0), 0, 1)
    """

    code: int = -1
    waited: int = 0

    def after(self, counts: Sequence[int]) -> "Target":
        """The target after a chunk. counts: rules of each class; unless there are two it is for all of them."""
        if len(counts) != 2:
            return Target()
        if self.code < 0:
            return Target(int(counts[1] < counts[0]))
        waited = self.waited + 1 if counts[self.code] > RATIO * counts[1 - self.code] else 0
        return Target(1 - self.code) if waited == PATIENCE else Target(self.code, waited)

    def of(self, rules: Rules) -> Rules:
        """Those rules that are indexed."""
        return rules if self.code < 0 else rules.only(self.code)

    def answers(self, index: Index, X: Floats, total: float, *, labels: bool = False) -> Floats:
        """The scores of an index as shares of all that was voted. total: the weight of all classifiers.

        labels: only the greatest of each row will be looked at. Then votes for the target are counted no further once
        they are a majority, by more than sums in another order can differ.
        """
        if self.code < 0:
            scores = index.scores(X)
            scores /= scores.sum(axis=1, keepdims=True)
            return scores
        scores = index.scores_until(X, self.code, CLEAR * total if labels else np.inf)
        share = scores[:, self.code] / total
        scores[:, self.code], scores[:, 1 - self.code] = share, 1.0 - share
        return scores


def weight_of(say: Floats) -> float:
    """The sum of weights, added in their order, as scores are: then no share is above 1."""
    return float(np.cumsum(say)[-1]) if len(say) else 0.0
