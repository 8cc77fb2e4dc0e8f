"""Mean and sum of squared deviations in one pass, value by value."""

from thalweg.jit.compile import inlined


@inlined
def welford(weight: float, mean: float, squares: float, v: float, w: float) -> tuple[float, float]:
    """Give mean and squares, Σ w (v - mean)², after a value v of weight w, which ``weight`` has in it already.

    mean ← mean + (w / weight) (v - mean), squares ← squares + w (v - old mean) (v - mean): B. P. Welford, "Note on a
    method for calculating corrected sums of squares and products", Technometrics 4 (1962); with weights D. H. D. West,
    Communications of the ACM 22 (1979).

    >>> mean, squares = welford(1.0, 0.0, 0.0, 3.0, 1.0)
    >>> welford(3.0, mean, squares, 6.0, 2.0)
    (5.0, 6.0)
    """
    off = v - mean
    mean = v if weight == w else mean + w * off / weight  # exact for the first value: w * v / w need not be v
    return mean, squares + w * off * (v - mean)
