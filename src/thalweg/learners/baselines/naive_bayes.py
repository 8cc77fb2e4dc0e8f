"""Naive Bayes: each class has its own distribution of every feature, taken to be independent."""

import math
from typing import final

from thalweg.learners.trees.hoeffding_jit import play
from thalweg.pool.rules import Rules
from thalweg.pool.tree import Tree

_NEVER_SPLIT = Rules(grace_period=math.inf, leaf="bayes")


@final
class NaiveBayes(Tree):
    """A tree that never splits: Gaussians for numbers, smoothed counts for nominal values, worked in logarithms.

    Examples
    --------
    >>> X = [[1.0], [1.2], [5.0], [5.1]]
    >>> NaiveBayes().partial_fit(X, ["low", "low", "high", "high"]).predict_one([4.8])
    'high'
    """

    __slots__ = ()

    _routine = staticmethod(play)

    def _rules(self) -> Rules:
        return _NEVER_SPLIT
