"""Online bagging: each member sees each row a random number of times."""

from typing import final

from thalweg.core.fields import free, number
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests.forest import Forest
from thalweg.learners.forests.plan import Plan


@final
class OnlineBagging(Forest):
    """Each tree learns each row with a weight drawn from Poisson(rate), as if it had its own bootstrap sample.

    References
    ----------
    N. Oza, S. Russell, "Online bagging and boosting", AISTATS 2001; with ADWIN: A. Bifet, G. Holmes, B. Pfahringer, R.
    Kirkby, R. Gavaldà, "New ensemble methods for evolving data streams", KDD 2009.

    Examples
    --------
    >>> from thalweg import SEA, OnlineBagging
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = OnlineBagging(size=3)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    rate: float = number(default=1.0, doc="Mean of the weights (λ).", above=0, most=1000)
    drift: str | Detector | None = free(
        default=None,
        doc="Detector, or its name, of each member's errors; at a drift the worst member starts again (ADWIN "
        "bagging). None: members are never replaced.",
        check=make_detector,
    )

    def _make_plan(self, d: int) -> Plan:
        drift = make_detector("drift", self.drift)
        replacing = m.REPLACE_NEVER if drift is None else m.REPLACE_WORST
        return Plan(rules=self._tree_rules(), rate=self.rate, drift=drift, replacing=replacing, feed_always=True)
