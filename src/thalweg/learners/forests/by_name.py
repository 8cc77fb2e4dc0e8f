"""A forest by its name, for learners that are made of forests."""

from typing import Any

from thalweg.core.names import make_named
from thalweg.core.params import shown
from thalweg.learners.forests.forest import Forest

HOMES = {
    "arf": "thalweg.learners.forests.arf:AdaptiveRandomForest",
    "srp": "thalweg.learners.forests.srp:StreamingRandomPatches",
    "online-bagging": "thalweg.learners.forests.bagging:OnlineBagging",
    "leveraging-bagging": "thalweg.learners.forests.leveraging:LeveragingBagging",
    "smooth-boost": "thalweg.learners.forests.smooth_boost:OnlineSmoothBoost",
}  # fmt: skip


def make_forest(argument: str, value: Any, **own: Any) -> Forest:
    """Make what ``arf`` or ``arf(subspace=0.6)`` names, or a forest with the parameters of the one given.

    own: parameters that are set here, whatever the name or the forest says.

    >>> make_forest("forests", "arf(subspace=0.6)", size=5)
    AdaptiveRandomForest(size=5, subspace=0.6)
    """
    if isinstance(value, Forest):
        return type(value)(**value.get_params(deep=False) | own)
    if not isinstance(value, str):
        raise TypeError(f"{argument} must hold forests or their names, got {shown(value)}")
    made: Forest = make_named(argument, value, HOMES, "arf or arf(subspace=0.6)", **own)
    return made
