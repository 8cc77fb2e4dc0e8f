"""Labels of rows the learner is not certain about: below a fixed threshold, one that moves, or one that trembles."""

from typing import ClassVar, Literal, final

from thalweg.active import strategies_jit as jit
from thalweg.active.strategy import Strategy
from thalweg.core.fields import choice, number


@final
class FixedUncertainty(Strategy):
    """Ask where the most probable class has a probability below the threshold.

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

    threshold: float = number(
        default=0.9,
        doc="Certainty below which a label is wanted; 0.9 in MOA. A learner that is certain after its first rows, "
        "as naive Bayes can be, is never asked again: give it a warm-up.",
        least=0,
        most=1,
    )

    __slots__ = ()

    def _own_rules(self) -> dict[int, float]:
        return {}

    def _first_theta(self) -> float:
        return max(self.threshold, 5e-324)


@final
class VariableUncertainty(Strategy):
    """Ask where the certainty is below θ; each label lowers θ, each row without one raises it.

    So θ follows the learner, and just under half of the rows are asked about (0.4975 of them with step = 0.01)
    however large the budget is: see ``AVU`` for the rest.

    References
    ----------
    As for ``FixedUncertainty``.

    Examples
    --------
    >>> strategy = VariableUncertainty(budget=0.7)
    >>> int(strategy.ask([[0.8, 0.2]] * 5000).sum()), round(strategy.theta, 2)
    (2494, 0.8)
    """

    code: ClassVar[int] = jit.VARIABLE

    step: float = number(default=0.01, doc="Share s by which the threshold θ moves with each row.", above=0, below=1)

    __slots__ = ()

    def _own_rules(self) -> dict[int, float]:
        return {jit.R_STEP: self.step}


@final
class VariableRandomisedUncertainty(Strategy):
    """As ``VariableUncertainty`` with a threshold that trembles, so that rows the learner is sure of are asked too.

    The certainty is compared with θ · η, where η is drawn from N(1, spread) for each row.

    References
    ----------
    As for ``FixedUncertainty``.

    Examples
    --------
    >>> strategy = VariableRandomisedUncertainty(budget=0.9)
    >>> bool(abs(strategy.ask([[0.8, 0.2]] * 5000).mean() - 0.4975) < 0.01)
    True
    """

    code: ClassVar[int] = jit.RANDOMISED

    step: float = number(default=0.01, doc="Share s by which the threshold θ moves with each row.", above=0, below=1)
    spread: float = number(default=1.0, doc="Standard deviation of η (the paper's δ).", least=0, most=100)
    compat: Literal["moa"] | None = choice(
        default=None,
        doc='"moa" divides the certainty by η instead, so that a negative η (one in six) always asks where it '
        "otherwise never does.",
    )

    __slots__ = ()

    def _own_rules(self) -> dict[int, float]:
        return {jit.R_STEP: self.step, jit.R_SPREAD: self.spread, jit.R_DIVIDE: float(self.compat == "moa")}
