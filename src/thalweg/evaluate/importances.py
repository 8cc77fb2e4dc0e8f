"""Which features mattered to a learner, as a run went on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.show.tables import Table, Tabled, share_text

Floats = NDArray[np.float64]

MOST_POINTS = 40
"""A run looks at most so often at what matters, and at least half as often once it has had that many reports."""
MOST_FEATURES = 1_000
"""With more features only the end of a run is kept."""
DECIMALS = 6


@final
class Importances(Mapping[str, float], Tabled):
    """How much each feature mattered at the end of a run, by its name, the greatest first; and on the way there.

    >>> found = Importances([1000, 2000], ["x", "y"], np.array([[0.9, 0.1], [0.3, 0.7]]))
    >>> found["y"], list(found), found.over_time["x"].tolist()
    (0.7, ['y', 'x'], [0.9, 0.3])
    """

    def __init__(self, rows: Sequence[int], names: Sequence[str], values: Floats) -> None:
        self.rows = np.asarray(rows, dtype=np.int64)
        """After how many rows the learner was looked at."""
        self.shares = np.asarray(values, dtype=np.float64).reshape(len(self.rows), len(names))
        """The importance of each feature (column, in the order of the stream) then."""
        self.names = list(names)
        """The features."""
        last = self.shares[-1] if len(self.rows) else np.zeros(len(self.names))
        self._last = {self.names[f]: float(last[f]) for f in np.argsort(-last, kind="stable")}

    @property
    def over_time(self) -> dict[str, Floats]:
        """The importance of each feature after each of ``rows``, greatest at the end first."""
        return {name: self.shares[:, self.names.index(name)] for name in self._last}

    def __getitem__(self, name: str) -> float:
        return self._last[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    def table(self, most: int = 20) -> Table:
        """Tabulate the features that matter most at the end."""
        rows = []
        for name, last in list(self.items())[:most]:
            values = self.shares[:, self.names.index(name)]
            peak = int(np.argmax(values))
            rows.append((name, share_text(last), share_text(float(values[peak])), f"{self.rows[peak]:,}"))
        more = len(self) - most
        notes = [f"and {more:,} more {'feature' if more == 1 else 'features'}"] * (more > 0)
        return Table(("feature", "at the end", "at most", "after rows"), rows, notes=notes)

    def to_plain(self) -> dict[str, Any]:
        """Give what JSON can hold."""
        return {"rows": self.rows.tolist(), "features": self.names, "values": self.shares.tolist()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Importances":
        """Read what ``to_plain`` gave."""
        return cls(plain["rows"], plain["features"], np.array(plain["values"], dtype=np.float64))


def _step(report: int) -> int:
    """Say after how many reports the learner is looked at: step by step fewer times, so that memory stays bounded.

    >>> [_step(report) for report in (1, 39, 40, 79, 80, 160)]
    [1, 1, 2, 2, 4, 8]
    """
    return 1 << (report // MOST_POINTS).bit_length()


def look(learner: Any) -> Floats | None:
    """Ask a learner which features matter to it, in the order of the columns; None: it does not say."""
    try:
        shares = learner.feature_importances_
    except (AttributeError, ValueError):  # it has none, or has not seen a row yet
        return None
    return np.asarray(shares, dtype=np.float64)


@final
class Watched:
    """The importances of a run so far: after each report that is due."""

    def __init__(self) -> None:
        self.points: list[tuple[int, Floats]] = []
        self._step = 0

    def report(self, number: int, every: int, learner: Any) -> None:
        """Look at the learner after a report if it is due."""
        step = _step(number)
        if number % step:
            return
        shares = look(learner)
        if shares is not None and len(shares) <= MOST_FEATURES:
            if step != self._step:
                self.points = [(rows, old) for rows, old in self.points if rows % (step * every) == 0]
                self._step = step
            self.points.append((number * every, shares))

    def found(self, rows: int, learner: Any) -> Importances | None:
        """Sum up after so many rows, with how things are now; None where the learner does not say."""
        now = look(learner)
        if now is None or learner.schema is None or len(now) != learner.schema.n_features:
            return None
        points = [(at, shares) for at, shares in self.points if at != rows]
        points.append((rows, now))
        values = np.zeros((len(points), len(now)))  # features may have joined on the way
        for k, (_, shares) in enumerate(points):
            values[k, : len(shares)] = shares
        columns = np.zeros((len(points), len(learner.schema.columns)))  # all features of a text are one column
        np.add.at(columns.T, learner.schema.column_of, values.T)
        return Importances([at for at, _ in points], learner.schema.columns, np.round(columns, DECIMALS))

    def to_array(self) -> Floats:
        """Give the points as a table: rows, then the importance of each feature; NaN: it had not joined yet."""
        width = max((len(shares) for _, shares in self.points), default=0)
        table = np.full((len(self.points), 1 + width), np.nan)
        for k, (rows, shares) in enumerate(self.points):
            table[k, 0], table[k, 1 : 1 + len(shares)] = rows, np.round(shares, DECIMALS)
        return table

    def restore(self, table: Floats) -> None:
        """Continue from what ``to_array`` gave."""
        self.points = [(int(row[0]), row[1:][~np.isnan(row[1:])]) for row in table]
