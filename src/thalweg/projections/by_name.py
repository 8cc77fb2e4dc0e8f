"""A projection by its name, for learners that take one."""

from typing import Any

from thalweg.core.names import make_named
from thalweg.core.params import shown
from thalweg.projections.projection import Projection

_HOME = "thalweg.projections.random_matrices"
HOMES = {
    "gaussian": f"{_HOME}:GaussianProjection", "bernoulli": f"{_HOME}:BernoulliProjection",
    "very-sparse": f"{_HOME}:VerySparseProjection", "fourier": f"{_HOME}:FourierProjection",
    "hash": f"{_HOME}:HashProjection", "pca": "thalweg.projections.pca:PCAProjection",
}  # fmt: skip


def make_projection(argument: str, value: Any, **own: Any) -> Projection:
    """Make what ``gaussian`` or ``gaussian(p=20)`` names, or a projection with the parameters of the given one.

    own: parameters that are set whatever the value says.

    >>> make_projection("projection", "gaussian(p=20)", seed=3)
    GaussianProjection(p=20, seed=3)
    """
    if isinstance(value, Projection):
        return type(value)(**value.get_params() | own)
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a projection or its name, got {shown(value)}")
    made: Projection = make_named(argument, value, HOMES, "gaussian or gaussian(p=40)", **own)
    return made
