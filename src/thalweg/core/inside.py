"""A learner inside a learner: all that one learner may know of another that works for it, and do with it.

The outer learner passes the door, knows the labels and counts the classes. The inner one gets rows and codes, and is
told with every call how many classes there are: see ``Classifier._play`` for what both sides promise. A learner that
takes any other inside lends it the labels too, for those whose parameters speak of labels.
Nothing but this file reaches behind the public verbs of another learner.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.door import Rows
from thalweg.core.in_use import InUse, looks
from thalweg.core.labels import Labels
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.readings import NONE
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under
from thalweg.core.task import OneRoutine

L = TypeVar("L", bound=Classifier)


class Inner(Generic[L]):
    """A learner that works for another one.

    >>> import numpy as np
    >>> from thalweg import NaiveBayes
    >>> inner = Inner(NaiveBayes(), Schema.numeric(1))
    >>> out = np.zeros((2, 2))
    >>> inner.play(np.array([[0.0], [9.0]]), np.array([0, 1]), np.ones(2), np.array([~0, 0, ~1, 1]), out, 0)
    >>> out.round().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> inner.lend(Labels(["low", "high"])).predict_one([9.0])
    'high'
    """

    __slots__ = ("learner",)

    def __init__(self, learner: L, schema: Schema) -> None:
        """Start a learner that has seen nothing. It belongs to the outer one from now on."""
        self.learner = learner
        self.meet(schema)

    @classmethod
    def adopt(cls, learner: L, part: str, tables: State, schema: Schema, classes: int) -> Self:
        """Let a learner that has seen nothing continue from what ``tables(part)`` gave, found among other tables."""
        own = under(part, tables)
        if not own:
            raise KeyError(f"tables of {part}")
        learner._settle(Labels(), schema, own, classes)
        return cls.of(learner)

    @classmethod
    def of(cls, learner: L) -> Self:
        """Hand over a learner with all that it knows."""
        inner = cls.__new__(cls)
        inner.learner = learner
        return inner

    def meet(self, schema: Schema) -> None:
        """Start with the schema; later, make room for what it has more than before. May refuse it in a sentence."""
        self.learner._meet(schema)

    def play(
        self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int, labels: Labels | None = None
    ) -> None:
        """Carry out events, as ``Classifier._play`` says. labels: what the codes stand for, see ``lend``."""
        if labels is not None:
            self.learner._labels = labels
        self.learner._play(X, y, w, events, out, known)  # sparse only where it takes them

    def play_asking(
        self, X: Floats, y: Ints, w: Floats, asking: Any, why: NDArray[np.int8], out: Floats, known: int,
        labels: Labels,
    ) -> int | None:  # fmt: skip
        """Predict rows, and learn those whose label a strategy wants, as ``Classifier._play_asking`` says."""
        self.learner._labels = labels
        return self.learner._play_asking(X, y, w, asking, why, out, known)

    def as_routine(self, X: Floats) -> OneRoutine | None:
        """Give what plays these rows, where it is one compiled routine, as ``Classifier._as_routine`` says."""
        return self.learner._as_routine(X)

    def tables(self, part: str) -> State:
        """Give the tables, not copied, as tables of a part of the outer learner."""
        return prefixed(part, self.learner._tables())

    @property
    def state_bytes(self) -> int:
        """Bytes of all tables of the model."""
        return self.learner.state_bytes

    def lend(self, labels: Labels) -> L:
        """Give the learner itself as one that knows the labels, to be looked at or copied, not to learn."""
        self.learner._labels = labels
        return self.learner

    def rehearse(self, labels: Labels) -> None:
        """Compile what ``play`` needs only now and then; only on a copy of the outer learner that is thrown away."""
        rehearse(self.lend(labels))


def made_like(kind: type[L], outer: Classifier) -> L:
    """Make a learner that has seen nothing, whose parameters are those of the same names of the outer one.

    >>> from thalweg import CompressedKNN, WindowKNN
    >>> made_like(WindowKNN, CompressedKNN(k=3, p=10))
    WindowKNN(k=3)
    """
    return kind(**{name: getattr(outer, name) for name in kind._fields})


def rehearse(learner: Classifier) -> None:
    """Let a learner, a copy that is thrown away, run what it needs only now and then, so that it is compiled."""
    learner._rehearse()


def begin(learner: Classifier, schema: Schema) -> None:
    """Start a learner, or let it have what the schema has more than before, though no row has been learned yet."""
    with learner._use.changing:
        learner._meet(schema)


def refuse(learner: Classifier, X: Any, y: Any, learned: Ints) -> None:
    """Refuse, with the learner's own sentence, rows that it could not learn. Changes nothing."""
    learner._read(X, y, None, ~learned)


def codes_of(learner: Classifier, y: Any) -> Ints:
    """Give the codes of labels, that is the columns of their probabilities; of new ones they follow on."""
    return learner._labels.read(y)[0]


class PassesOnDrifts(ABC):
    """A learner around another one, which tells of the drifts that the other one found."""

    __slots__ = ()

    @abstractmethod
    def _telling(self) -> Classifier:
        """Give the learner inside; before the first row one that has seen nothing."""

    @property
    def finds_drifts(self) -> bool:
        """Does the learner inside look for drifts, and tell of those it found?"""
        return finds_drifts(self._telling())

    @property
    def n_drifts(self) -> int:
        """How often the learner inside has changed because of a drift, where it counts that."""
        return int(getattr(self._telling(), "n_drifts", 0))

    @property
    def rows_learned(self) -> int:
        """Rows that the learner inside has learned so far, where it counts them."""
        return int(getattr(self._telling(), "rows_learned", 0))

    @property
    def replacements(self) -> list[tuple[int, int]]:
        """When members were replaced: (rows learned by then, member), in order; the latest of each member."""
        return list(getattr(self._telling(), "replacements", ()))


class SeenThrough(PassesOnDrifts):
    """A learner around another one that sees the same features: what the other one tells, it tells."""

    __slots__ = ()
    _use: InUse

    @property
    def drifts(self) -> list[int]:
        """What the learner inside tells about drifts it found."""
        return list(getattr(self._telling(), "drifts", ()))

    @looks
    def importances(self, X: Any = None, y: Any = None, *, repeats: int = 3, seed: int = 1) -> dict[str, float]:
        """How much each feature matters to the learner inside, greatest first, where it knows."""
        learner: Any = self._telling()
        found: dict[str, float] = learner.importances(X, y, repeats=repeats, seed=seed)
        return found

    @property
    @looks
    def feature_importances_(self) -> Floats:
        """How much each feature matters to the learner inside, in the order of the columns, where it knows."""
        learner: Any = self._telling()
        shares: Floats = learner.feature_importances_
        return shares


def finds_drifts(learner: Classifier) -> bool:
    """Does a learner look for drifts, and tell of those it found? It says so, or has what tells of them.

    A learner tells by ``n_drifts`` (how often it has changed because of a drift), ``replacements`` (rows learned by
    then, member) with ``rows_learned``, or ``drifts`` (rows learned by then).

    >>> from thalweg import HoeffdingAdaptiveTree, NaiveBayes, OnlineBagging
    >>> [finds_drifts(learner) for learner in (HoeffdingAdaptiveTree(), NaiveBayes(), OnlineBagging())]
    [True, False, False]
    """
    says = getattr(learner, "finds_drifts", None)
    tells = any(hasattr(learner, name) for name in ("drifts", "n_drifts", "replacements"))
    return tells if says is None else bool(says)


def check_inner(name: str, learner: Any) -> None:
    """Refuse what cannot work inside another learner."""
    if not isinstance(learner, Classifier):
        raise TypeError(f"{name} must be a learner, got {shown(learner)}")
    if learner.asks:
        raise TypeError(
            f"{name} must be a learner that takes all labels, got {shown(learner)}, which asks for some: "
            "put the other learners inside it"
        )


def take_after(outer: Classifier, learners: Sequence[Classifier]) -> None:
    """Let a learner that hands rows on as they are take what all of these take, and promise what they promise.

    >>> from thalweg import CKDT, NaiveBayes, Vote
    >>> vote = Vote(learners=(CKDT(), NaiveBayes()))
    >>> vote.tensors, vote.missing
    (True, 'reject')
    """
    outer.missing = "native" if all(learner.missing == "native" for learner in learners) else "reject"
    outer.sparse = all(learner.sparse for learner in learners)
    outer.tensors = any(learner.tensors for learner in learners)
    outer.evolving = all(learner.evolving for learner in learners)
    outer.blind = all(learner.blind for learner in learners)
    found = NONE
    for learner in learners:
        found = found.joined(learner.readings)
    outer.readings = found
