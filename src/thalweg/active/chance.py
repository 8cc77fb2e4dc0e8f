"""Labels by chance: of any row alike, or more likely where the learner is less certain."""

from typing import ClassVar, final

from thalweg.active import strategies_jit as jit
from thalweg.active.strategy import Strategy
from thalweg.core import params


@final
class Random(Strategy):
    """Ask with probability ``budget``, whatever the learner thinks: the honest baseline, and an unbiased sample.

    budget (B): the largest share of the rows whose label is asked for; after k rows never more than B · k + 1.

    Parameters
    ----------
    window : int | None
        Also keep to the budget over about so many of the latest rows, so that what was saved earlier is not spent in
        one burst. None: over the whole stream only.
    warmup : int
        So many labels are asked for first, beside the budget: with a warm-up of m the promise is m + B · (k - m) + 1.
    seed : int
        For the draws.

    Examples
    --------
    >>> strategy = Random(budget=0.3)
    >>> asked = strategy.ask([[0.5, 0.5]] * 10_000)
    >>> bool(0.29 < asked.mean() <= 0.3001)
    True
    """

    code: ClassVar[int] = jit.RANDOM

    __slots__ = ()

    def __init__(self, *, budget: float = 0.7, window: int | None = None, warmup: int = 0, seed: int = 1) -> None:
        super().__init__(budget=budget, window=window, warmup=warmup, seed=seed)

    def _own_rules(self) -> dict[int, float]:
        return {}


@final
class SelectiveSampling(Strategy):
    """Ask with probability b / (b + |u - 1/C|): always where C classes are equally likely, less where u is high.

    Parameters
    ----------
    ease : float | None
        b; None: the budget, as in MOA. budget (B), window, warmup, seed: see ``Random``.

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

    __slots__ = ("ease",)

    def __init__(
        self, *, budget: float = 0.7, ease: float | None = None, window: int | None = None, warmup: int = 0,
        seed: int = 1,
    ) -> None:  # fmt: skip
        if ease is not None:
            params.number("ease", ease, above=0, most=1e100)
        self.ease = ease
        super().__init__(budget=budget, window=window, warmup=warmup, seed=seed)

    def _own_rules(self) -> dict[int, float]:
        return {jit.R_EASE: self.budget if self.ease is None else self.ease}


@final
class Split(Strategy):
    """A share of the rows goes to ``Random``, which gives an unbiased view; the others to ``VariableUncertainty``.

    Both spend from the same budget. ``decide`` says which rows were asked about by chance: the errors on those are what
    a drift detector should watch.

    Parameters
    ----------
    share : float
        Ν, the rows that chance decides on.
    step : float
        The share s by which θ moves. budget (B), window, warmup, seed: see ``Random``.

    References
    ----------
    as ``FixedUncertainty``.

    Examples
    --------
    >>> why = Split(budget=0.5, share=0.2).decide([[0.7, 0.3]] * 10_000)
    >>> bool(abs((why == 2).mean() - 0.1) < 0.01)
    True
    """

    code: ClassVar[int] = jit.SPLIT

    __slots__ = ("share", "step")

    def __init__(
        self, *, budget: float = 0.7, share: float = 0.2, step: float = 0.01, window: int | None = None,
        warmup: int = 0, seed: int = 1,
    ) -> None:  # fmt: skip
        params.number("share", share, least=0, most=1)
        params.number("step", step, above=0, below=1)
        self.share = share
        self.step = step
        super().__init__(budget=budget, window=window, warmup=warmup, seed=seed)

    def _own_rules(self) -> dict[int, float]:
        return {jit.R_STEP: self.step, jit.R_SHARE: self.share}
