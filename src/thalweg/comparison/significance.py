"""Is a learner better, or was it luck? Tests on a table of scores: a row for each stream, a column for each learner.

Demšar 2006 (ranks, Friedman, Nemenyi, Bonferroni–Dunn, Wilcoxon); García & Herrera 2008 (Shaffer and Holm).
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thalweg.core import params

Floats = NDArray[np.float64]
Pair = tuple[int, int]

DIGITS = 12
"""Scores that agree to so many digits after the point are a tie."""


class Friedman(NamedTuple):
    """Do the learners differ at all? Two statistics of the same ranks; Iman and Davenport's is the sharper one."""

    chi2: float
    p: float
    f: float
    """Iman and Davenport's statistic; infinite where all streams rank the learners alike."""
    f_p: float
    """Its p-value; where it is infinite, how often chance alone would rank the learners alike on all streams."""


class Interval(NamedTuple):
    """A mean with the interval that resampling gives it."""

    mean: float
    low: float
    high: float


def check_scores(scores: ArrayLike) -> Floats:
    """Refuse anything but a table of at least two streams (rows) and two learners (columns)."""
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        raise ValueError(
            f"scores must be a table of at least 2 streams (rows) and 2 learners (columns), got shape {table.shape}"
        )
    if np.isinf(table).any():
        raise ValueError("scores must be finite, or NaN where a run is missing, got an infinite one")
    return table


def stream_ranks(scores: ArrayLike, *, higher_is_better: bool = True) -> Floats:
    """Rank the learners on each stream: 1 is the best, ties share the mean, a missing run (NaN) is last.

    >>> stream_ranks([[0.9, 0.8, 0.9], [0.5, float("nan"), 0.7]]).tolist()
    [[1.5, 3.0, 1.5], [2.0, 3.0, 1.0]]
    """
    from scipy.stats import rankdata

    params.flag("higher_is_better", higher_is_better)
    table = np.round(check_scores(scores), DIGITS)
    losses = np.where(np.isnan(table), np.inf, -table if higher_is_better else table)
    return np.asarray(rankdata(losses, method="average", axis=1), dtype=np.float64)


def average_ranks(scores: ArrayLike, *, higher_is_better: bool = True) -> Floats:
    """Give the mean rank of each learner over the streams.

    >>> average_ranks([[0.9, 0.8, 0.7], [0.5, 0.6, 0.4]]).tolist()
    [1.5, 1.5, 3.0]
    """
    means: Floats = stream_ranks(scores, higher_is_better=higher_is_better).mean(axis=0)
    return means


def friedman(scores: ArrayLike, *, higher_is_better: bool = True) -> Friedman:
    """Test whether the learners differ at all. Ties are corrected for.

    >>> test = friedman([[3, 2, 1], [3, 1, 2], [3, 2, 1], [2, 3, 1]])
    >>> test.chi2, round(test.f, 3)
    (4.5, 3.857)
    """
    from scipy.stats import chi2 as chi2_law
    from scipy.stats import f as f_law

    ranks = stream_ranks(scores, higher_is_better=higher_is_better)
    n, k = ranks.shape
    means = ranks.mean(axis=0)
    chi2 = 12.0 * n / (k * (k + 1)) * (float((means**2).sum()) - k * (k + 1) ** 2 / 4.0)
    tied = sum(int(t**3 - t) for row in ranks for t in np.unique(row, return_counts=True)[1])
    share = 1.0 - tied / (n * (k**3 - k))
    chi2 = max(chi2, 0.0) / share if share > 0.0 else 0.0  # all learners alike on every stream
    rest = n * (k - 1) - chi2
    p = float(chi2_law.sf(chi2, k - 1))
    if rest <= 1e-9:  # the law of F would say 0 even for two streams
        return Friedman(chi2, p, math.inf, _orders(ranks[0]) ** -(n - 1.0))
    f = (n - 1) * chi2 / rest
    return Friedman(chi2, p, f, float(f_law.sf(f, k - 1, (k - 1) * (n - 1))))


def _orders(ranks: Floats) -> float:
    """Count the orders in which learners can come that have these ranks, some of them tied."""
    ties = np.unique(ranks, return_counts=True)[1].tolist()
    return math.factorial(len(ranks)) / math.prod(map(math.factorial, ties))


def critical_difference(learners: int, streams: int, alpha: float = 0.05) -> float:
    """Give the least difference of two mean ranks that Nemenyi's test calls significant.

    >>> round(critical_difference(7, 20), 4)
    2.0141
    """
    from scipy.stats import studentized_range

    params.whole("learners", learners, least=2)
    params.whole("streams", streams, least=2)
    params.number("alpha", alpha, above=0.0, below=1.0)
    q = float(studentized_range.ppf(1.0 - alpha, learners, math.inf)) / math.sqrt(2.0)
    return q * _spread(learners, streams)


def control_difference(learners: int, streams: int, alpha: float = 0.05) -> float:
    """Give the least difference to a control's mean rank that the test of Bonferroni and Dunn calls significant.

    Less than Nemenyi's: a control that was chosen beforehand is compared with the others, and they not with each other.

    >>> round(control_difference(7, 20), 4)
    1.8023
    """
    from scipy.stats import norm

    params.whole("learners", learners, least=2)
    params.whole("streams", streams, least=2)
    params.number("alpha", alpha, above=0.0, below=1.0)
    return float(norm.isf(alpha / (2 * (learners - 1)))) * _spread(learners, streams)


def bonferroni_dunn(ranks: Sequence[float] | Floats, streams: int, control: int) -> dict[int, float]:
    """Give the p-value of each other learner against a control, adjusted for their number, from the mean ranks.

    control: the place of the learner that all others are compared with.

    >>> {other: round(p, 4) for other, p in bonferroni_dunn([1.0, 2.0, 3.0], 10, control=0).items()}
    {1: 0.0507, 2: 0.0}
    """
    pairs = _pair_p(ranks, streams)
    others = len(ranks) - 1
    params.whole("control", control, least=0, most=others)
    return {i + j - control: min(1.0, others * p) for (i, j), p in pairs.items() if control in (i, j)}


def nemenyi(ranks: Sequence[float] | Floats, streams: int) -> dict[Pair, float]:
    """Give the p-value of each pair of learners by Nemenyi's test, from their mean ranks.

    >>> {pair: round(p, 3) for pair, p in nemenyi([1.0, 2.0, 3.0], 10).items()}
    {(0, 1): 0.065, (0, 2): 0.0, (1, 2): 0.065}
    """
    from scipy.stats import studentized_range

    gaps = _gaps(ranks, streams)
    p = studentized_range.sf(np.array(list(gaps.values())) * math.sqrt(2.0), len(ranks), math.inf)
    return dict(zip(gaps, p.tolist(), strict=True))


def shaffer(ranks: Sequence[float] | Floats, streams: int) -> dict[Pair, float]:
    """Give the adjusted p-value of each pair by Shaffer's static procedure: how many can still be true, logically.

    >>> {pair: round(p, 4) for pair, p in shaffer([1.0, 2.0, 3.0], 10).items()}
    {(0, 1): 0.0253, (0, 2): 0.0, (1, 2): 0.0253}
    """
    possible = sorted(true_hypotheses(len(ranks)))
    m = len(ranks) * (len(ranks) - 1) // 2
    return _stepwise(_pair_p(ranks, streams), [max(s for s in possible if s <= m - i) for i in range(m)])


def holm(ranks: Sequence[float] | Floats, streams: int) -> dict[Pair, float]:
    """Give the adjusted p-value of each pair by Holm's procedure; never below Shaffer's.

    >>> {pair: round(p, 4) for pair, p in holm([1.0, 2.0, 3.0], 10).items()}
    {(0, 1): 0.0507, (0, 2): 0.0, (1, 2): 0.0507}
    """
    m = len(ranks) * (len(ranks) - 1) // 2
    return _stepwise(_pair_p(ranks, streams), [m - i for i in range(m)])


@lru_cache
def true_hypotheses(learners: int) -> frozenset[int]:
    """Give the numbers of pairs that can be equal at the same time: S(k) of Shaffer's procedure.

    >>> sorted(true_hypotheses(5))
    [0, 1, 2, 3, 4, 6, 10]
    """
    if learners < 2:
        return frozenset({0})
    return frozenset(j * (j - 1) // 2 + x for j in range(1, learners + 1) for x in true_hypotheses(learners - j))


def wilcoxon(first: ArrayLike, second: ArrayLike) -> float:
    """Give the p-value of the signed-rank test for one pair of learners; streams where they agree are left out.

    >>> wilcoxon([0.9, 0.8, 0.7, 0.9, 0.8, 0.75], [0.8, 0.6, 0.4, 0.5, 0.3, 0.15])
    0.03125
    """
    from scipy.stats import wilcoxon as signed_rank

    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"first and second must have one score for each stream, got shapes {a.shape} and {b.shape}")
    gaps = np.round(a - b, DIGITS)
    gaps = gaps[np.isfinite(gaps) & (gaps != 0.0)]
    if not gaps.size:
        return 1.0
    exact = len(gaps) <= 50 and len(np.unique(np.abs(gaps))) == len(gaps)
    return float(signed_rank(gaps, method="exact" if exact else "asymptotic").pvalue)


def bootstrap(values: ArrayLike, *, level: float = 0.95, resamples: int = 10_000, seed: int = 1) -> Interval:
    """Give a mean with the interval between the quantiles of the means of resampled values; NaNs are left out.

    >>> interval = bootstrap([0.1, 0.2, 0.3, 0.2])
    >>> round(interval.mean, 3), round(interval.low, 3), round(interval.high, 3)
    (0.2, 0.125, 0.275)
    """
    params.number("level", level, above=0.0, below=1.0)
    params.whole("resamples", resamples, least=1)
    v = np.asarray(values, dtype=np.float64).ravel()
    v = v[np.isfinite(v)]
    if not v.size:
        return Interval(math.nan, math.nan, math.nan)
    rng = np.random.default_rng(seed)
    means = rng.choice(v, size=(resamples, v.size)).mean(axis=1)
    low, high = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(float(v.mean()), float(low), float(high))


def groups(ranks: Sequence[float] | Floats, same: Any) -> list[tuple[int, ...]]:
    """Find the longest runs of learners, best first, of which no two differ: the bars of the diagram.

    same: a critical difference of mean ranks; or the pairs (i, j), i < j, that a test does not tell apart.

    >>> groups([1.0, 2.5, 2.0, 4.0], 1.2)
    [(0, 2), (2, 1)]
    """
    order = [int(i) for i in np.argsort(np.asarray(ranks), kind="stable")]

    def alike(run: Sequence[int]) -> bool:
        if isinstance(same, (int, float)):
            return bool(ranks[run[-1]] - ranks[run[0]] <= same + 1e-12)
        return all((min(a, b), max(a, b)) in same for a, b in combinations(run, 2))

    found: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and alike(order[start : stop + 1]):
            stop += 1
        if stop - start > 1 and stop > reached:
            found.append(tuple(order[start:stop]))
            reached = stop
    return found


def _spread(learners: int, streams: int) -> float:
    """Standard deviation of the difference of two mean ranks when all learners are alike."""
    return math.sqrt(learners * (learners + 1) / (6.0 * streams))


def _gaps(ranks: Sequence[float] | Floats, streams: int) -> dict[Pair, float]:
    """Give the difference of each pair in standard deviations."""
    r = np.asarray(ranks, dtype=np.float64)
    if r.ndim != 1 or len(r) < 2 or not np.isfinite(r).all():
        raise ValueError(f"ranks must be the mean ranks of at least 2 learners, got {params.shown(ranks)}")
    params.whole("streams", streams, least=2)
    spread = _spread(len(r), streams)
    return {(i, j): abs(float(r[i] - r[j])) / spread for i, j in combinations(range(len(r)), 2)}


def _pair_p(ranks: Sequence[float] | Floats, streams: int) -> dict[Pair, float]:
    return {pair: math.erfc(z / math.sqrt(2.0)) for pair, z in _gaps(ranks, streams).items()}


def _stepwise(p: dict[Pair, float], factors: Sequence[int]) -> dict[Pair, float]:
    """Multiply the p-values, smallest first, by the factors; none falls below one before it, none exceeds 1."""
    adjusted, highest = {}, 0.0
    for factor, pair in zip(factors, sorted(p, key=lambda pair: p[pair]), strict=True):
        highest = max(highest, min(1.0, factor * p[pair]))
        adjusted[pair] = highest
    return {pair: adjusted[pair] for pair in p}
