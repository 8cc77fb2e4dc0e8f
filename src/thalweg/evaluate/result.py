"""What a run found out: numbers, curve, confusion matrix, resources, and how they came about."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, final

import msgspec
import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.evaluate.detections import Detections, Recovery, detections, recovery
from thalweg.show import tables as table
from thalweg.show.tables import Tabled

WHOLE = ("rows", "state_bytes", "labels_used")
"""The columns of a curve that hold whole numbers."""


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Result(Tabled):
    """The outcome of a prequential run.

    Examples
    --------
    >>> from thalweg import SEA, NoChange, prequential
    >>> result = prequential(SEA(seed=1), NoChange(), limit=3000)
    >>> result.rows, result.curve["rows"].tolist()
    (3000, [1000, 2000, 3000])
    >>> Result.from_json(result.to_json()) == result
    True
    """

    learner: str
    params: dict[str, Any]
    stream: str
    rows: int
    """Rows read, predicted and scored."""
    final: dict[str, float]
    """Each metric over all rows; ``auc``: over the last window."""
    recent: dict[str, float]
    """Each metric over the last window."""
    curve: dict[str, NDArray[Any]]
    """One entry per report: ``rows``, each metric over all rows (``accuracy``) and over the window
    (``window_accuracy``), ``seconds``, ``cpu_seconds``, ``state_bytes``, ``labels_used``."""
    classes: list[Any]
    confusion: NDArray[np.float64]
    """Weight of the rows of each class (row) by the class predicted (column)."""
    unpredicted: float
    """Share of the rows without a prediction; they count as wrong."""
    seconds: float
    """Wall time in the learner; compilation, reading and scoring excluded."""
    cpu_seconds: float
    ram_hours: float
    """GiB of state × hours of CPU."""
    state_bytes: int
    peak_bytes: int
    labels_used: int
    labels_pending: int
    """Rows whose label had not come when the run ended; they were never learned."""
    drifts: list[int]
    """Where the stream is known to change."""
    detected: list[int]
    """Where the learner saw a change."""
    every: int
    window: int
    delay: int | str
    stopped: str
    """Why the run ended: "end" of the stream, "limit", "seconds", "interrupt" or "error"."""
    replaced: list[list[int]] = field(default_factory=list)
    """When members of an ensemble were replaced: [rows learned before, member], the latest of each member."""
    meta: dict[str, Any] = field(default_factory=dict)
    """Version of the library, Python and NumPy, the machine."""

    @property
    def accuracy(self) -> float:
        """Share of the rows predicted right."""
        return self.final["accuracy"]

    @property
    def kappa(self) -> float:
        """Accuracy above what the class shares alone would give."""
        return self.final["kappa"]

    @property
    def rows_per_second(self) -> float:
        """Rows predicted and learned in a second; NaN when none were."""
        return self.rows / self.seconds if self.seconds > 0.0 else float("nan")

    # -- what it says about drift -------------------------------------------------------------------------------------

    def recovery(self, *, widths: Sequence[int] = ()) -> list[Recovery]:
        """Say for each known drift how far the windowed accuracy fell, and how long it took to come back.

        Parameters
        ----------
        widths : Sequence[int]
            How many rows each drift takes, where it is gradual.
        """
        return recovery(self.curve["rows"], self.curve["window_accuracy"], self.drifts, self.window, widths=widths)

    def detections(self, *, tolerance: int | None = None, widths: Sequence[int] = ()) -> Detections:
        """Compare the drifts the learner saw with the known ones.

        Parameters
        ----------
        tolerance : int | None
            An alarm up to so many rows after a drift is a detection; None: twice the window.
        """
        allowed = 2 * self.window if tolerance is None else tolerance
        return detections(self.drifts, self.detected, self.rows, tolerance=allowed, widths=widths)

    # -- ways to look at it -------------------------------------------------------------------------------------------

    def table(self) -> "table.Table":
        """Tabulate the metrics over all rows and over the last window."""
        return table.one(self)

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Draw the windowed accuracy over the rows, with the drifts; see ``plots.curves`` for the options."""
        from thalweg.show.plots import curves

        return curves([self], path, **options)

    def to_frame(self) -> Any:
        """Give the curve as a pandas frame, or a polars one where pandas is absent."""
        for library in ("pandas", "polars"):
            try:
                module = __import__(library)
            except ImportError:
                continue
            return module.DataFrame(dict(self.curve))
        raise ImportError("to_frame needs pandas or polars: pip install 'thalweg[frames]'")

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write everything as one JSON object, and to a file if asked. An undefined number is null."""
        text = msgspec.json.encode(self._plain()).decode()
        if path is not None:
            params.path("path", path)
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Self:
        """Read what ``to_json`` wrote: the text, or the path of a file."""
        params.path("source", source)
        text = (
            source if isinstance(source, str) and source.lstrip().startswith("{") else Path(source).read_text("utf-8")
        )
        try:
            fields = msgspec.json.decode(text, type=dict[str, Any])
            for name in ("accuracy", "kappa", "rows_per_second", "version"):
                del fields[name]
            for name in ("final", "recent"):
                fields[name] = {k: _number(v) for k, v in fields[name].items()}
            fields["unpredicted"] = _number(fields["unpredicted"])
            classes = len(fields["classes"])
            fields["confusion"] = np.array(fields["confusion"], dtype=np.float64).reshape(classes, classes)
            fields["curve"] = {name: column(name, values) for name, values in fields["curve"].items()}
            return cls(**fields)
        except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"source must be the JSON of a Result: {error}") from None

    def _plain(self) -> dict[str, Any]:
        first = ("learner", "params", "stream", "rows")
        numbers = {
            "accuracy": self.accuracy,
            "kappa": self.kappa,
            "seconds": self.seconds,
            "rows_per_second": self.rows_per_second,
            "version": self.meta.get("version"),
        }
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["confusion"] = self.confusion.tolist()
        fields["curve"] = {name: values.tolist() for name, values in self.curve.items()}
        return {name: fields[name] for name in first} | numbers | fields

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Result) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def column(name: str, values: Any) -> NDArray[Any]:
    """Make one column of a curve."""
    if name in WHOLE:
        return np.array(values, dtype=np.int64)
    return np.array([_number(v) for v in values], dtype=np.float64)


def plain(value: Any) -> Any:
    """Turn a parameter into what JSON can hold; what it cannot is written as Python would print it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    text = repr(value)
    return type(value).__name__ if " at 0x" in text else text  # an address would differ from run to run


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
