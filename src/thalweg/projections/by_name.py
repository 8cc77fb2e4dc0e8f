"""A projection by its name, for learners that take one."""

from typing import Any

from thalweg.core.params import shown
from thalweg.projections.projection import Projection
from thalweg.registry import PROJECTIONS, make_part


def make_projection(argument: str, value: Any, **own: Any) -> Projection:
    """Make what ``gaussian`` or ``gaussian(p=20)`` names, or a projection with the parameters of the given one.

    own: parameters that are set whatever the value says.

    >>> make_projection("projection", "gaussian(p=20)", seed=3)
    GaussianProjection(p=20, seed=3)
    """
    if isinstance(value, Projection):
        return type(value)(**value.get_params(deep=False) | own)
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a projection or its name, got {shown(value)}")
    made: Projection = make_part(argument, value, PROJECTIONS, "gaussian or gaussian(p=40)", **own)
    return made
