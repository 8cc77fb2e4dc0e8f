"""AVU: half of the labels where the learner is uncertain, and the rest of the budget by chance."""

import math
import warnings
from typing import ClassVar, Literal, final

from thalweg.active import strategies_jit as jit
from thalweg.active.strategy import Strategy
from thalweg.core.fields import choice, number


@final
class AVU(Strategy):
    """Augmented variable uncertainty: rows that ``VariableUncertainty`` leaves are asked about by chance.

    VariableUncertainty asks about q of the rows and no more, q = 0.4975 with step = 0.01, so a larger budget is of no
    use to it. AVU asks about the others with the probability that makes the rate the budget. Up to a budget of one half
    both are the same.

    References
    ----------
    A. V. Luong, T. T. Nguyen, A. W.-C. Liew, "Streaming active deep forest for evolving data stream classification",
    arXiv:2002.11816 (2020), Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> certain = np.random.default_rng(1).uniform(0.5, 1.0, 20_000)
    >>> strategy = AVU(budget=0.7)
    >>> asked = strategy.ask(np.c_[certain, 1.0 - certain])
    >>> bool(0.695 < asked.mean() <= 0.7), bool(0.49 < strategy.asked_uncertain / 20_000 < 0.5)
    (True, True)
    """

    code: ClassVar[int] = jit.AVU

    step: float = number(default=0.01, doc="Share s by which the threshold θ moves with each row.", above=0, below=1)
    mode: Literal["strict", "paper", "full"] = choice(
        default="strict",
        doc='"strict": every label is charged, and the probability is (B - q) / (1 - q). "full": that probability '
        "is raised while labels are left, by pull for each, so that the budget is spent to the last one; it "
        'costs some of the uncertain rows. "paper": as printed, the probability is 2 (B - ½) and labels by '
        "chance are not charged. The budget then holds only on average, and a warning says when it is clearly "
        "exceeded; use it to compare with the paper.",
    )
    pull: float = number(
        default=0.05, doc='How strongly "full" raises the probability for each label that is left (κ).', above=0, most=1
    )

    __slots__ = ()

    def _own_rules(self) -> dict[int, float]:
        beyond = self.budget > 0.5
        return {
            jit.R_STEP: self.step,
            jit.R_CHANCE: self._chance() if beyond else 0.0,
            jit.R_PULL: self.pull if beyond and self.mode == "full" else 0.0,
            jit.R_FREE: float(self.mode == "paper"),
        }

    def _chance(self) -> float:
        """Give the probability of asking about a row the learner is certain of."""
        if self.mode == "paper":
            return 2.0 * (self.budget - 0.5)
        q = settles_at(self.step)
        return max(0.0, (self.budget - q) / (1.0 - q))

    def reset(self) -> "AVU":
        """Forget everything but the parameters."""
        self._warned: bool = False
        super().reset()
        return self

    def watch(self) -> None:
        if self.mode != "paper" or self._warned:
            return
        asked, k = self.asked - self.warmup, float(self._table[0, jit.S_SEEN])
        if k and asked > self.budget * k + 3.0 * math.sqrt(k):
            self._warned = True
            warnings.warn(
                f'AVU(mode="paper") has asked for {asked} labels of {int(k)} rows, above the budget of {self.budget:g}',
                UserWarning, stacklevel=3,
            )  # fmt: skip


def settles_at(step: float) -> float:
    """Give q, the share of rows at which variable uncertainty settles: as many steps down as up, in logarithms.

    >>> [round(settles_at(s), 5) for s in (0.01, 0.1, 0.5)]
    [0.4975, 0.47496, 0.36907]
    """
    up, down = math.log1p(step), math.log1p(-step)
    return up / (up - down)
