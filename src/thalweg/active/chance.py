"""Labels by chance: of any row alike, or more likely where the learner is less certain."""

from typing import ClassVar, final

from thalweg.active import strategies_jit as jit
from thalweg.active.strategy import Strategy
from thalweg.core.fields import number


@final
class Random(Strategy):
    """Ask with probability ``budget``, whatever the learner thinks: the honest baseline, and an unbiased sample.

    Examples
    --------
    >>> strategy = Random(budget=0.3)
    >>> asked = strategy.ask([[0.5, 0.5]] * 10_000)
    >>> bool(0.29 < asked.mean() <= 0.3001)
    True
    """

    code: ClassVar[int] = jit.RANDOM

    __slots__ = ()

    def _own_rules(self) -> dict[int, float]:
        return {}


@final
class SelectiveSampling(Strategy):
    """Ask with probability b / (b + |u - 1/C|): always where C classes are equally likely, less where u is high.

    References
    ----------
    N. Cesa-Bianchi, C. Gentile, L. Zaniboni, "Worst-case analysis of selective sampling for linear classification",
    JMLR 7 (2006); for any classifier: MOA.

    Examples
    --------
    >>> SelectiveSampling(budget=1.0).ask([[0.5, 0.5]] * 3).tolist()
    [True, True, True]
    """

    code: ClassVar[int] = jit.SELECTIVE

    ease: float | None = number(default=None, doc="b; None: the budget, as in MOA.", above=0, most=1e100)

    __slots__ = ()

    def _own_rules(self) -> dict[int, float]:
        return {jit.R_EASE: self.budget if self.ease is None else self.ease}


@final
class Split(Strategy):
    """A share of the rows goes to ``Random``, which gives an unbiased view; the others to ``VariableUncertainty``.

    Both spend from the same budget. ``decide`` says which rows were asked about by chance: the errors on those are what
    a drift detector should watch.

    References
    ----------
    As for ``FixedUncertainty``.

    Examples
    --------
    >>> why = Split(budget=0.5, share=0.2).decide([[0.7, 0.3]] * 10_000)
    >>> bool(abs((why == 2).mean() - 0.1) < 0.01)
    True
    """

    code: ClassVar[int] = jit.SPLIT

    share: float = number(default=0.2, doc="Share of the rows that chance decides on (ν).", least=0, most=1)
    step: float = number(default=0.01, doc="Share s by which the threshold θ moves with each row.", above=0, below=1)

    __slots__ = ()

    def _own_rules(self) -> dict[int, float]:
        return {jit.R_STEP: self.step, jit.R_SHARE: self.share}
