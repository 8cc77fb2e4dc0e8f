"""Labels of rows the learner is not certain about: below a fixed threshold, one that moves, or one that trembles."""

from typing import ClassVar, Literal, final

from thalweg.active import strategies_jit as jit
from thalweg.active.strategy import Strategy
from thalweg.core import params


@final
class FixedUncertainty(Strategy):
    """Ask where the most probable class has a probability below the threshold.

    Parameters
    ----------
    threshold : float
        0.9 in MOA. The rate of asking is whatever the learner's certainty makes of it, up to the budget: a learner
        that is certain after its first few rows, as naive Bayes can be, is never asked again. Give it a warm-up.
        budget (B), window, warmup, seed: see ``Random``.

    References
    ----------
    I. Žliobaitė, A. Bifet, B. Pfahringer, G. Holmes, "Active learning with drifting streaming data", IEEE TNNLS 25
    (2014).

    Examples
    --------
    >>> FixedUncertainty(budget=1.0).ask([[0.95, 0.05], [0.6, 0.4], [0.1, 0.9]]).tolist()
    [False, True, False]
    """

    code: ClassVar[int] = jit.FIXED

    __slots__ = ("threshold",)

    def __init__(
        self, *, budget: float = 0.7, threshold: float = 0.9, window: int | None = None, warmup: int = 0, seed: int = 1
    ) -> None:
        params.number("threshold", threshold, least=0, most=1)
        self.threshold = threshold
        super().__init__(budget=budget, window=window, warmup=warmup, seed=seed)

    def _own_rules(self) -> dict[int, float]:
        return {}

    def _first_theta(self) -> float:
        return max(self.threshold, 5e-324)


@final
class VariableUncertainty(Strategy):
    """Ask where the certainty is below θ; each label lowers θ, each row without one raises it.

    So θ follows the learner, and just under half of the rows are asked about (0.4975 of them with step = 0.01)
    however large the budget is: see ``AVU`` for the rest.

    Parameters
    ----------
    step : float
        The share s by which θ moves. budget (B), window, warmup, seed: see ``Random``.

    References
    ----------
    as ``FixedUncertainty``.

    Examples
    --------
    >>> strategy = VariableUncertainty(budget=0.7)
    >>> int(strategy.ask([[0.8, 0.2]] * 5000).sum()), round(strategy.theta, 2)
    (2494, 0.8)
    """

    code: ClassVar[int] = jit.VARIABLE

    __slots__ = ("step",)

    def __init__(
        self, *, budget: float = 0.7, step: float = 0.01, window: int | None = None, warmup: int = 0, seed: int = 1
    ) -> None:
        check_step(step)
        self.step = step
        super().__init__(budget=budget, window=window, warmup=warmup, seed=seed)

    def _own_rules(self) -> dict[int, float]:
        return {jit.R_STEP: self.step}


@final
class VariableRandomisedUncertainty(Strategy):
    """As ``VariableUncertainty`` with a threshold that trembles, so that rows the learner is sure of are asked too.

    The certainty is compared with θ · η, where η is drawn from N(1, spread) for each row.

    Parameters
    ----------
    step : float
        The share s by which θ moves.
    spread : float
        The deviation of η; the paper's δ.
    compat : Literal["moa"] | None
        "moa" divides the certainty by η instead, so that a negative η (one in six) always asks where it otherwise
        never does. budget (B), window, warmup, seed: see ``Random``.

    References
    ----------
    as ``FixedUncertainty``.

    Examples
    --------
    >>> strategy = VariableRandomisedUncertainty(budget=0.9)
    >>> bool(abs(strategy.ask([[0.8, 0.2]] * 5000).mean() - 0.4975) < 0.01)
    True
    """

    code: ClassVar[int] = jit.RANDOMISED

    __slots__ = ("compat", "spread", "step")

    def __init__(
        self, *, budget: float = 0.7, step: float = 0.01, spread: float = 1.0, compat: Literal["moa"] | None = None,
        window: int | None = None, warmup: int = 0, seed: int = 1,
    ) -> None:  # fmt: skip
        check_step(step)
        params.number("spread", spread, least=0, most=100)
        if compat is not None:
            params.choice("compat", compat, ("moa",))
        self.step = step
        self.spread = spread
        self.compat = compat
        super().__init__(budget=budget, window=window, warmup=warmup, seed=seed)

    def _own_rules(self) -> dict[int, float]:
        return {jit.R_STEP: self.step, jit.R_SPREAD: self.spread, jit.R_DIVIDE: float(self.compat == "moa")}


def check_step(step: float) -> None:
    """Refuse a step with which θ could not come back."""
    params.number("step", step, above=0, below=1)
