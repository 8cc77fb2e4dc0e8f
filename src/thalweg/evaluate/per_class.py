"""How well each class is recognised: precision, recall, F1 and support, from the confusion matrix."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.show.tables import Table, Tabled, share_text, weight_text


@final
class ClassScore(NamedTuple):
    """How well one class is recognised. Without weights all weights are numbers of rows."""

    support: float
    """Weight of the rows of this class."""
    predicted: float
    """Weight of the rows that were predicted to be of this class."""
    found: float
    """Weight of the rows of this class that were predicted to be so."""
    precision: float
    """Share of the predicted rows that are of this class; NaN where none was predicted."""
    recall: float
    """Share of the rows of this class that were predicted so; NaN where none occurs."""
    f1: float
    """Harmonic mean of precision and recall; NaN where the class neither occurs nor is predicted."""


@final
class PerClass(Mapping[Any, ClassScore], Tabled):
    """The scores of each class by its label, shown as a table.

    >>> scores = PerClass(["no", "yes"], np.array([[90.0, 2.0], [6.0, 2.0]]))
    >>> scores["yes"].recall, scores["yes"].precision
    (0.25, 0.5)
    >>> print(scores)
    class  rows  predicted  recall  precision      F1
    ─────────────────────────────────────────────────
    no       92         96  97.8 %     93.8 %  0.9574
    yes       8          4  25.0 %     50.0 %  0.3333
    """

    def __init__(
        self, classes: Sequence[Hashable], confusion: NDArray[np.float64], support: Sequence[float] = ()
    ) -> None:
        rows = np.asarray(support, dtype=np.float64) if len(support) else confusion.sum(axis=1)
        self._scores = {
            label: _score(float(row), float(column), float(found))
            for label, row, column, found in zip(
                classes, rows, confusion.sum(axis=0), np.diag(confusion), strict=True
            )
        }  # fmt: skip

    def __getitem__(self, label: Any) -> ClassScore:
        return self._scores[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def table(self) -> Table:
        """Tabulate the classes in the order in which they appeared."""
        rows = [
            (
                str(label),
                weight_text(s.support),
                weight_text(s.predicted),
                share_text(s.recall),
                share_text(s.precision),
                "–" if s.f1 != s.f1 else f"{s.f1:.4f}",
            )
            for label, s in self.items()
        ]
        return Table(("class", "rows", "predicted", "recall", "precision", "F1"), rows)


def _score(row: float, column: float, found: float) -> ClassScore:
    return ClassScore(row, column, found, _ratio(found, column), _ratio(found, row), _ratio(2.0 * found, row + column))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else float("nan")
