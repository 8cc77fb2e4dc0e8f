"""The normal distribution."""

import math

from thalweg.jit.compile import inlined

_SQRT_HALF = math.sqrt(0.5)
_LOG_SCALE = 0.5 * math.log(2.0 * math.pi)


@inlined
def below(z: float) -> float:
    """Φ(z): the share of a standard normal that lies at or below z."""
    return 0.5 * math.erfc(-z * _SQRT_HALF)


@inlined
def log_density(z: float, sigma: float) -> float:
    """Logarithm of the normal density z standard deviations from the mean."""
    return -0.5 * z * z - math.log(sigma) - _LOG_SCALE
