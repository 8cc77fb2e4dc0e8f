"""Transformers in front of a learner, as one learner."""

import copy
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.door import Rows, take_rows
from thalweg.core.fields import REQUIRED, free
from thalweg.core.in_use import looks
from thalweg.core.inside import Inner, check_inner
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under
from thalweg.prepare.foreign import as_transformer
from thalweg.prepare.moments import Moments, moments
from thalweg.prepare.transformer import Transformer
from thalweg.registry import TRANSFORMERS, make
from thalweg.registry.typed import make_learner

BLOCK = 4_096
"""So many events go together at most, to bound the memory of transformed rows. It changes nothing but the time."""


def check_transformers(name: str, transformers: Any) -> None:
    """Refuse what cannot stand in front of a learner."""
    if isinstance(transformers, (str, bytes)) or not isinstance(transformers, Sequence):
        raise TypeError(f"{name} must be a list of transformers, got {shown(transformers)}")
    for each in transformers:
        if not isinstance(each, Transformer):
            raise TypeError(f"each of {name} must be a transformer, got {shown(each)}")


@final
class Pipeline(Classifier):
    """A learner that sees records through transformers, which learn with it; ``thalweg.pipeline`` makes one.

    Each row is transformed by what was known before it. Predicting changes nothing: a transformer learns from the rows
    that the learner learns, when it learns them.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import Imputer, NaiveBayes, Pipeline, StandardScaler
    >>> learner = Pipeline(transformers=[StandardScaler(), Imputer()], learner=NaiveBayes())
    >>> X, y = [[1.0, np.nan], [9.0, 400.0], [2.0, 10.0], [8.0, 380.0]] * 5, ["low", "high", "low", "high"] * 5
    >>> learner.partial_fit(X, y).predict([[8.5, 390.0], [np.nan, 5.0]]).tolist()
    ['high', 'low']
    """

    transformers: Sequence[Transformer] = free(
        default=REQUIRED,
        doc="In the order in which rows pass them; each joins with its parameters and as if it had seen nothing.",
        check=check_transformers,
    )
    learner: Classifier = free(
        default=REQUIRED, doc="Joins with its parameters and as if it had seen nothing.", check=check_inner
    )

    __slots__ = ("_inner", "_steps")

    def _prepare(self) -> None:
        learner, steps = self.learner, self.transformers
        self.sparse = learner.sparse and all(step.sparse for step in steps)
        self.bounded = learner.bounded and "limit_bytes" not in learner.get_params()
        self.blind, self.tensors = learner.blind, learner.tensors
        self.missing = self._missing()
        self.readings = learner.readings
        for step in steps:
            self.readings = self.readings.joined(step.readings)

    def _missing(self) -> Any:
        """Say what NaN gets; refuse transformers that would hand missing values to a learner that takes none."""
        if self.learner.missing == "native":
            return "native"
        filled, maker = False, None
        for step in self.transformers:
            if step.missing != "kept":
                filled, maker = step.missing == "filled", step if step.missing == "made" else None
        if maker is not None:
            raise ValueError(
                f"learner must take missing values behind {type(maker).__name__}, which makes some, got "
                f"{shown(self.learner)}: put Imputer() between them"
            )
        return "native" if filled else "reject"

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Classifier:
        """The learner behind the transformers with what it knows: a copy."""
        return self._inner.lend(self._labels).copy() if self._started else self.learner.fresh()

    @property
    def steps(self) -> list[Transformer]:
        """The transformers with what they know: copies."""
        if not self._started:
            return [step.fresh() for step in self.transformers]
        return [step.lend(self._labels).copy() for step in self._steps]

    def transform(self, X: Any) -> Any:
        """Give rows as the learner sees them now. Changes nothing.

        Examples
        --------
        >>> from thalweg import NaiveBayes, StandardScaler, pipeline
        >>> learner = pipeline(StandardScaler(), NaiveBayes()).partial_fit([[1.0], [3.0]], ["a", "b"])
        >>> learner.transform([[2.0], [4.0]]).tolist()
        [[0.0], [2.0]]
        """
        with self._use.looking:
            if not self._started:
                raise ValueError("Pipeline has not seen a row yet: it cannot transform any")
            rows, _ = self._rows(X, learning=False)
            n = rows.shape[0]
            return self._transformed(rows, np.full(n, -1), np.ones(n), moments(np.arange(n)))

    @property
    def unsavable(self) -> str:
        """Why it cannot be saved, in a sentence; empty: it can."""
        parts = (*self.transformers, self.learner)
        return next((why for part in parts if (why := getattr(part, "unsavable", ""))), "")

    @property
    def state_bytes(self) -> int:
        """Bytes of all tables of the model and of the transformers."""
        return sum(s.state_bytes for s in self._steps) + self._inner.state_bytes if self._started else 0

    def __getstate__(self) -> Any:
        if not self._started or not self.unsavable:
            return super().__getstate__()
        with self._use.looking:
            return self.get_params(deep=False), self._labels.copy(), self._schema, (self.steps, self.model)

    def __setstate__(self, state: Any) -> None:
        if isinstance(state[3], dict):
            super().__setstate__(state)
            return
        super().__setstate__((*state[:3], {}))
        self._steps, model = copy.deepcopy(state[3])
        self._inner = Inner.of(model)
        self._started = True

    @property
    def drifts(self) -> list[int]:
        """What the learner tells about drifts it found."""
        return list(getattr(self._inner.learner, "drifts", ())) if self._started else []

    @property
    def n_drifts(self) -> int:
        """How often the learner has changed because of a drift, where it counts that."""
        return int(getattr(self._inner.learner, "n_drifts", 0)) if self._started else 0

    @property
    def replacements(self) -> list[tuple[int, int]]:
        """What the learner tells about members it replaced."""
        return list(getattr(self._inner.learner, "replacements", ())) if self._started else []

    @property
    @looks
    def feature_importances_(self) -> Floats:
        """How much each feature that goes in matters to the learner, in the order of the columns, where it knows.

        What was made of a feature counts for it: the words of a text, the parts of a date, the lags of a number.
        """
        learner: Any = self._inner.lend(self._labels) if self._started else self.learner
        shares: Floats = learner.feature_importances_
        for step in reversed(self._steps):
            shares = step.counted_back(shares)
        return shares

    def importances(self, X: Any = None, y: Any = None, *, repeats: int = 3, seed: int = 1) -> dict[str, float]:
        """How much each of your columns matters to the learner, greatest first, where it knows; a text is one column.

        X, y, repeats, seed: not for a pipeline, which shuffles no columns; ask its model with transformed rows.

        Examples
        --------
        >>> from thalweg import HashedText, HoeffdingTree, pipeline
        >>> learner = pipeline(HashedText("note", width=16), HoeffdingTree(grace_period=50, tau=0.2))
        >>> for i in range(400):
        ...     note = "cancel it, please" if i % 2 else "thank you"
        ...     _ = learner.learn_one({"note": note, "months": i % 7}, "left" if i % 2 else "stayed")
        >>> learner.importances()
        {'note': 1.0, 'months': 0.0}
        """
        if X is not None or y is not None:
            raise TypeError(
                "a Pipeline shuffles no columns: ask its model about transformed rows, "
                "pipeline.model.importances(pipeline.transform(X), y)"
            )
        shares = self.feature_importances_
        assert self._schema is not None
        columns = np.bincount(self._schema.column_of, weights=shares)
        return {self._schema.columns[i]: float(columns[i]) for i in np.argsort(-columns, kind="stable")}

    def explain_one(self, x: Any) -> Any:
        """Refuse: the learner behind the transformers explains in terms of transformed features."""
        raise TypeError(
            "a Pipeline explains no answer in terms of your columns: ask its model about a transformed row, "
            "pipeline.model.explain_one(pipeline.transform([row])[0])"
        )

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        steps = [step.fresh() for step in self.transformers]
        for step in steps:
            schema = step.meet(schema)
        self._inner, self._steps = Inner(self.learner.fresh(), schema), steps

    def _extend(self, schema: Schema) -> None:
        seen = schema
        for step in self._steps:
            seen = step.planned(seen).out  # each may refuse
        self._inner.meet(seen)  # may refuse, too; transformers never do after this
        for step in self._steps:
            schema = step.meet(schema)

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        n = X.shape[0]
        if not len(y):
            y, w = np.full(n, -1), np.ones(n)
        for i in range(0, len(events), BLOCK):
            known = self._play_block(X, y, w, events[i : i + BLOCK], out, known)

    def _play_block(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> int:
        """Play some events; give how many classes are known after them."""
        at = moments(events)
        if at.consecutive and isinstance(X, np.ndarray):
            here = slice(int(at.rows[0]), int(at.rows[-1]) + 1)
            y, w = y[here], w[here]
            self._inner.play(self._transformed(X[here], y, w, at), y, w, at.events, out[here], known)
        else:
            rows = at.rows
            y, w = y[rows], w[rows]
            Z = self._transformed(take_rows(X, rows), y, w, at)
            own = np.zeros((len(rows), out.shape[1]))
            self._inner.play(Z, y, w, at.events, own, known)
            predicted = at.events[at.events >= 0]
            out[rows[predicted]] = own[predicted]
        return max(known, int(y[at.learned].max(initial=-1)) + 1)

    def _transformed(self, X: Rows, y: Ints, w: Floats, at: Moments) -> Rows:
        for step in self._steps:
            X = step.follow(X, y, w, at.learned)
        return X

    def _rehearse(self) -> None:
        self._inner.rehearse(self._labels)

    def _tables(self) -> State:
        own = {n: t for i, step in enumerate(self._steps) for n, t in prefixed(f"step{i}", step.tables()).items()}
        return own | self._inner.tables("learner")

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        steps = [step.fresh() for step in self.transformers]
        for i, step in enumerate(steps):
            schema = step.adopt(under(f"step{i}", tables), schema, classes)
        self._inner = Inner.adopt(self.learner.fresh(), "learner", tables, schema, classes)
        self._steps = steps


def pipeline(*parts: Any) -> Pipeline:
    """Put transformers in front of a learner, which comes last; each may be given by its name.

    Parameters
    ----------
    parts
        Transformers, then a learner; or names such as "standard-scaler" and "one-hot(max_values=16)". Transformers of
        scikit-learn (with ``partial_fit``, or fitted) and river will do: slow, which a warning says, and not to be
        saved.

    Examples
    --------
    >>> from thalweg import HoeffdingTree, StandardScaler, pipeline
    >>> pipeline(StandardScaler(), HoeffdingTree())
    Pipeline(transformers=(StandardScaler(),), learner=HoeffdingTree())
    >>> pipeline("standard-scaler", "one-hot(max_values=8)", "naive-bayes").transformers[1]
    OneHot(max_values=8)
    """
    if not parts:
        raise TypeError("pipeline must be given transformers and, as its last part, a learner, got nothing")
    *steps, last = parts
    made: tuple[Any, ...] = tuple(
        make("transformer", s, TRANSFORMERS) if isinstance(s, str) else as_transformer(s) for s in steps
    )
    learner = make_learner(last) if isinstance(last, str) else last
    if isinstance(learner, Transformer):
        raise TypeError(f"the last part of a pipeline must be a learner, got {shown(learner)}")
    return Pipeline(transformers=made, learner=learner)
