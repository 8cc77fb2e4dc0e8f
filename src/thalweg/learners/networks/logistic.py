"""Logistic regression that learns from a stream, whatever the scale of its features, dense or sparse."""

from typing import final

import numpy as np

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check
from thalweg.core.door import Rows
from thalweg.core.fields import number
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.learners.networks.layout import for_codes, lay_out, places, width, with_starts
from thalweg.learners.networks.logistic_jit import Line, play, play_sparse
from thalweg.learners.networks.net_jit import L_WIDTH


@final
class LogisticRegression(Classifier):
    """A weight for each column and class, moved by a step for each row; the probabilities are the softmax of the sums.

    A nominal feature is a column for each of its first 1,024 values; others, and missing values, do not count.

    References
    ----------
    S. Ross, P. Mineiro, J. Langford, "Normalized online learning", UAI 2013 (NAG; several classes by the softmax).

    Examples
    --------
    >>> from thalweg import Hyperplane
    >>> chunk = Hyperplane(seed=1).read(5_000)
    >>> proba = (learner := LogisticRegression()).test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    missing = "native"
    bounded = True
    sparse = True

    rate: float = number(default=1.0, doc="Size of the steps (η).", above=0.0, most=1e3)
    keep: float = number(
        default=0.9999,
        doc="What is left of a squared gradient at the next one, so that steps stay large enough to follow a drift; 1: "
        "they become smaller for ever, as in the paper.",
        above=0.0,
        most=1.0,
    )

    __slots__ = ("_line",)

    @property
    def weights(self) -> dict[str, Floats]:
        """The weights of each feature: classes × columns (one for a number), for values from -1 to 1.

        Examples
        --------
        >>> learner = LogisticRegression().partial_fit([[0.0], [1.0], [0.0], [1.0]], ["no", "yes", "no", "yes"])
        >>> learner.weights["x0"].shape
        (2, 1)
        """
        if not self._started or self._schema is None:
            return {}
        spans = [(int(first), max(1, int(n)) if n < 0 else int(n)) for first, n in self._line["layout"]]
        table = self._line["weights"]
        return {
            name: table[:, first : first + n].copy() for name, (first, n) in zip(self._schema.names, spans, strict=True)
        }

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._line = _blank(lay_out(schema, np.zeros((0, 2), dtype=np.int64)), 0)

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if not isinstance(X, np.ndarray) and (self._line["layout"][:, L_WIDTH] >= 0).any():
            X = X.toarray()
        if len(events) and events.min() < 0:
            self._make_room(X, events, out.shape[1])
        line = self._line
        tables = tuple(line[name] for name in Line._fields)
        columns = X.shape[1]
        work = (np.empty(columns, dtype=np.int64), np.empty(columns), np.empty(max(1, out.shape[1])))
        rates = (float(self.rate), float(self.keep))
        if isinstance(X, np.ndarray):
            play(tables, work, rates, X, y, w, events, out, known)
        else:
            rows = (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64))
            play_sparse(tables, work, rates, rows, y, w, events, out, known)

    def _extend(self, schema: Schema) -> None:
        self._widen(lay_out(schema, self._line["layout"]))

    def _tables(self) -> State:
        return dict(self._line)

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        line = {name: tables[name] for name in Line._fields}
        check(Line, line, most={"C": classes}, features=schema.n_features)
        layout = line["layout"]
        least = lay_out(schema, np.zeros((0, 2), dtype=np.int64))[:, L_WIDTH]
        widths = layout[:, L_WIDTH]
        valid = ((widths == -1) == (least == -1)) & (widths >= least)
        if not valid.all() or width(layout) != len(line["scale"]) or (layout != with_starts(layout.copy())).any():
            raise ValueError("its table 'layout' does not fit its schema")
        if (line["shift"][:, 1] < 0.0).any():
            raise ValueError("its table 'shift' must hold sums of squares")
        self._line = line

    # -- inside -------------------------------------------------------------------------------------------------------

    def _make_room(self, X: Rows, events: Ints, classes: int) -> None:
        """Make room for the classes of the labels, and for the nominal values of the rows that will be learned."""
        line = self._line
        more = classes - len(line["weights"])
        if more > 0:
            for name in ("weights", "squares", "shift"):
                line[name] = np.pad(line[name], ((0, more), (0, 0)))
        if isinstance(X, np.ndarray):
            self._widen(for_codes(line["layout"], X, events))

    def _widen(self, layout: Ints) -> None:
        """Move to a layout with more columns."""
        old = self._line
        if np.array_equal(layout, old["layout"]):
            return
        at = places(old["layout"], layout)
        line = _blank(layout, len(old["weights"]))
        line["weights"][:, at], line["squares"][:, at] = old["weights"], old["squares"]
        line["scale"][at] = old["scale"]
        self._line = line | {"shift": old["shift"], "head": old["head"]}


def _blank(layout: Ints, classes: int) -> State:
    d = width(layout)
    return {
        "weights": np.zeros((classes, d)), "squares": np.zeros((classes, d)), "shift": np.zeros((classes, 2)),
        "scale": np.zeros(d), "layout": layout, "head": np.zeros(2),
    }  # fmt: skip
