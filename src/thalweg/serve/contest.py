"""Is a shadow better than the champion? A sequential test that may be looked at after every label.

Only labels on which one is right and the other wrong say anything: a of them for the shadow, b for the champion. If the
shadow is not better, each of these is for it with a probability of at most one half. The evidence against that is

    e = 2 ∫ over p from ½ to 1 of  p^a (1 - p)^b dp  /  (½)^(a + b),

the likelihood of all better shadows, on average, over that of an equal one. It is a test martingale (a supermartingale
under the hypothesis): the probability that e ever reaches 1 / alpha is at most alpha (Ville's inequality), however
often somebody looks. The count begins anew every ``labels`` labels, so that what is long past does not decide: alpha
holds for each such stretch.
"""

import math
from collections.abc import Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.protocols import State


@final
class Contest:
    """A shadow against the champion.

    >>> contest = Contest(labels=5_000, alpha=0.01)
    >>> contest.see(np.array([True] * 30), np.array([True] * 10 + [False] * 20))
    >>> contest.won, contest.wins, contest.losses
    (True, 20, 0)
    """

    def __init__(self, *, labels: int = 5_000, alpha: float = 0.001) -> None:
        params.whole("labels", labels, least=100)
        params.number("alpha", alpha, above=0, below=1)
        self.labels, self.alpha = int(labels), float(alpha)
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.seen = self.wins = self.losses = 0
        self.right = self.champion_right = 0

    def see(self, shadow: NDArray[np.bool_], champion: NDArray[np.bool_]) -> None:
        """Take for each of the next labels whether the shadow, and whether the champion, was right."""
        at = 0
        while at < len(shadow):
            if self.seen >= self.labels:
                self.reset()
            n = min(self.labels - self.seen, len(shadow) - at)
            s, c = shadow[at : at + n], champion[at : at + n]
            self.wins += int(np.count_nonzero(s & ~c))
            self.losses += int(np.count_nonzero(c & ~s))
            self.right += int(np.count_nonzero(s))
            self.champion_right += int(np.count_nonzero(c))
            self.seen += n
            at += n

    @property
    def evidence(self) -> float:
        """The natural logarithm of e."""
        from scipy.special import betainc, betaln

        a, b = self.wins, self.losses
        above = 1.0 - float(betainc(a + 1.0, b + 1.0, 0.5))
        if above <= 0.0:
            return -math.inf
        return (a + b + 1) * math.log(2.0) + float(betaln(a + 1.0, b + 1.0)) + math.log(above)

    @property
    def won(self) -> bool:
        """Is the shadow better, by this test?"""
        return self.wins > self.losses and self.evidence >= -math.log(self.alpha)

    def state(self) -> State:
        """Copy out all counts."""
        return {"counts": np.array([self.seen, self.wins, self.losses, self.right, self.champion_right])}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` gave."""
        self.seen, self.wins, self.losses, self.right, self.champion_right = state["counts"].tolist()
