"""A forest by its name, for learners that are made of forests."""

from importlib import import_module
from typing import Any

from thalweg.core.names import parse
from thalweg.core.params import shown
from thalweg.forests.forest import Forest

NAMES = {
    "arf": "arf:AdaptiveRandomForest", "srp": "srp:StreamingRandomPatches", "online-bagging": "bagging:OnlineBagging",
    "leveraging-bagging": "leveraging:LeveragingBagging", "smooth-boost": "smooth_boost:OnlineSmoothBoost",
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
    try:
        name, given = parse(value)
    except ValueError as error:
        raise ValueError(f"{argument} must read like arf or arf(subspace=0.6): {error}") from None
    if name not in NAMES:
        raise ValueError(f"{argument} must be of {', '.join(NAMES)}, or forests, got {shown(value)}")
    module, _, cls = NAMES[name].partition(":")
    kind = getattr(import_module(f"thalweg.forests.{module}"), cls)
    try:
        return kind(**given | own)  # type: ignore[no-any-return]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} {shown(value)} cannot be made: {error}") from None
