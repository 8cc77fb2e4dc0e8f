"""A forest by its name, for learners that are made of forests."""

from typing import Any

from thalweg.core.params import shown
from thalweg.learners.forests.forest import Forest
from thalweg.registry import LEARNERS, make_part


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
    made = make_part(argument, value, LEARNERS.of("Forests"), "arf or arf(subspace=0.6)", **own)
    if not isinstance(made, Forest):
        raise TypeError(f"{argument} must hold forests or their names, got {shown(value)}")
    return made
