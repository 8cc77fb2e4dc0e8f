"""Every row of a run: its label, what was predicted, and with which probability."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.show.tables import Table, Tabled, share_text

ENDINGS = (".csv", ".parquet")


@final
class Mistake(NamedTuple):
    """A wrong prediction."""

    row: int
    """Counted from 0, from the beginning of the run."""
    label: Any
    prediction: Any
    probability: float
    """Of what was predicted."""


@final
class Mistakes(Tabled, tuple[Mistake, ...]):
    """Wrong predictions, shown as a table.

    >>> print(Mistakes([Mistake(7, "no", "yes", 0.98)]))
    row  label  prediction  probability
    ───────────────────────────────────
    7    no     yes              98.0 %
    """

    __slots__ = ()

    def table(self) -> Table:
        """Tabulate them."""
        rows = [(f"{m.row:,}", str(m.label), str(m.prediction), share_text(m.probability)) for m in self]
        return Table(("row", "label", "prediction", "probability"), rows, words=3)


@final
class Predictions(NamedTuple):
    """What was predicted for each row of a run, in order.

    >>> kept = Predictions(["no", "yes"], np.array([0, 1]), np.array([[0.9, 0.1], [0.6, 0.4]]))
    >>> kept.label.tolist(), kept.prediction.tolist(), kept.probability.tolist()
    (['no', 'yes'], ['no', 'no'], [0.9, 0.6])
    """

    classes: Sequence[Any]
    """The labels that the codes and columns stand for."""
    codes: NDArray[np.int64]
    """The class of each row; -1: the row had weight 0 and was passed over."""
    proba: NDArray[np.float64]
    """The probability of each class (column), 0 for one that was not known yet; all 0: there was no prediction."""

    @property
    def label(self) -> NDArray[Any]:
        """The label of each row."""
        return self._named(self.codes)

    @property
    def prediction(self) -> NDArray[Any]:
        """What was predicted, the first class among equals; None: nothing."""
        return self._named(self._guesses())

    @property
    def probability(self) -> NDArray[np.float64]:
        """The probability of what was predicted; 0 where nothing was."""
        highest: NDArray[np.float64] = self.proba.max(axis=1, initial=0.0)
        return highest

    def _guesses(self) -> NDArray[np.int64]:
        if not len(self.classes):
            return np.full(len(self.codes), -1)
        return np.where(self.proba.max(axis=1) > 0.0, self.proba.argmax(axis=1), -1)

    def _named(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        names = np.empty(len(self.classes) + 1, dtype=object)
        names[:-1] = self.classes
        return names[codes]

    def worst(self, n: int = 10) -> Mistakes:
        """Give the wrong predictions with the highest probability, at most so many; of equal ones the latest first."""
        guesses, sure = self._guesses(), self.probability
        wrong = np.flatnonzero((self.codes >= 0) & (guesses >= 0) & (guesses != self.codes))
        first = wrong[np.lexsort((-wrong, -sure[wrong]))][:n]
        columns = first, self._named(self.codes[first]), self._named(guesses[first]), sure[first]
        return Mistakes(Mistake(int(row), label, said, float(p)) for row, label, said, p in zip(*columns, strict=True))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a row number, label, prediction, and the probability of each class, to a CSV or Parquet file."""
        import pyarrow as pa

        columns: dict[str, Any] = {
            "row": np.arange(len(self.codes)), "label": self._column(self.label),
            "prediction": self._column(self.prediction),
        }  # fmt: skip
        columns |= {f"probability_{name}": self.proba[:, c] for c, name in enumerate(self.classes)}
        table, ending = pa.table(columns), Path(path).suffix.lower()
        if ending == ".parquet":
            from pyarrow.parquet import write_table

            write_table(table, path)
        elif ending == ".csv":
            from pyarrow.csv import write_csv

            write_csv(table, path)
        else:
            raise ValueError(f"path must end in {' or '.join(ENDINGS)}, got {os.fspath(path)!r}")

    def _column(self, values: NDArray[Any]) -> Any:
        """Give labels as Arrow has them: those of mixed types as text."""
        import pyarrow as pa

        try:
            return pa.array(values.tolist())
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return pa.array([None if v is None else str(v) for v in values])
