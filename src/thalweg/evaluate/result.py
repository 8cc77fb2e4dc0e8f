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
from thalweg.evaluate.importances import Importances
from thalweg.evaluate.per_class import PerClass
from thalweg.evaluate.predictions import Mistake, Mistakes, Predictions
from thalweg.evaluate.summary import Kind, kind, summary
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
    """Each metric over all rows; ``auc``: over the last window. ``auc_all``, ``pr_auc``, ``recall_at_budget``,
    ``brier`` and ``calibration_error`` are there alone: they have no window and no curve."""
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
    """Where the learner saw a change: the rows before which it replaced members, or, for a learner that only counts its
    changes, the next report. A learner that does not look for drifts (``finds_drifts``) has none."""
    every: int
    window: int
    delay: int | str
    stopped: str
    """Why the run ended: "end" of the stream, "limit", "seconds", "interrupt" or "error"."""
    replaced: list[list[int]] = field(default_factory=list)
    """When members of an ensemble were replaced in this run: [rows before, member], the latest 18 of each member."""
    support: list[float] = field(default_factory=list)
    """Weight of the rows of each class, those without a prediction among them."""
    baselines: dict[str, float] = field(default_factory=dict)
    """Share of the rows that two simple rules would have got right: ``majority`` (the most frequent class so far) and
    ``no_change`` (the previous label)."""
    meta: dict[str, Any] = field(default_factory=dict)
    """Version of the library, Python and NumPy, the machine."""
    finds_drifts: bool = True
    """Does the learner look for drifts, and tell of those it found?"""
    n_changes: int = 0
    """How often the learner changed because of a drift in this run, where it counts that."""
    importances: Importances | None = None
    """How much each feature mattered to a tree or a forest, at the end and on the way: ``result.importances["x"]``."""
    calibration: list[tuple[float, float, float]] = field(default_factory=list)
    """How far probabilities can be trusted: mean probability of what was predicted, share that was right, and weight of
    the rows, in up to 15 steps of the former."""
    alerts: list[tuple[float, float, float]] = field(default_factory=list)
    """What alerts about the rarest class would find: share of the rows with an alert, recall, precision."""
    mistakes: list[tuple[int, Any, Any, float]] = field(default_factory=list)
    """Wrong predictions with the highest probability, up to 20: row, label, prediction, probability; see ``worst``."""
    joined: dict[str, int] = field(default_factory=dict)
    """Where labels came from another stream, what became of records and labels. Records were ``matched``, ``expired``
    (let go of: no label in time, or too many waited) or are still ``open``. Labels were matched (``early`` of them
    before their record), ``late`` (their record had been let go of), ``repeated``, ``orphaned`` (let go of, no record
    had come), or are still ``ahead`` of their record."""
    others: "list[Result]" = field(default_factory=list)
    """The learners that ``baselines`` named, on the same rows."""
    predictions: Predictions | None = None
    """What was predicted for each row, with ``keep=True``; not written to JSON."""

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

    # -- what it means ------------------------------------------------------------------------------------------------

    @property
    def per_class(self) -> PerClass:
        """Precision, recall, F1 and support of each class, by its label: ``result.per_class["yes"].recall``."""
        return PerClass(self.classes, self.confusion, self.support)

    @property
    def kind(self) -> Kind:
        """What kind of problem the rows were, which decides what the table shows."""
        return kind(self)

    @property
    def summary(self) -> str:
        """What the result means, in a few sentences: what is found and missed, and whether guessing does better."""
        return summary(self)

    def worst(self, n: int = 10) -> Mistakes:
        """Give the wrong predictions with the highest probability; of equal ones the latest first.

        20 of them are known of every run, all with ``keep=True``.

        Parameters
        ----------
        n : int
            How many, at most.

        Examples
        --------
        >>> from thalweg import SEA, NaiveBayes, prequential
        >>> result = prequential(SEA(seed=1), NaiveBayes(), limit=3000)
        >>> result.worst(1)[0].probability > 0.9
        True
        """
        params.whole("n", n, least=1)
        if self.predictions is not None:
            return self.predictions.worst(n)
        return Mistakes(Mistake(*mistake) for mistake in self.mistakes[:n])

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
        """Compare the drifts the learner saw with the known ones; a learner that looks for none is refused.

        Parameters
        ----------
        tolerance : int | None
            An alarm up to so many rows after a drift is a detection; None: twice the window.
        """
        if not self.finds_drifts:
            raise ValueError(
                f"{self.learner} does not tell of drifts that it finds, so none can be compared with the known ones"
            )
        allowed = 2 * self.window if tolerance is None else tolerance
        return detections(self.drifts, self.detected, self.rows, tolerance=allowed, widths=widths)

    # -- ways to look at it -------------------------------------------------------------------------------------------

    def table(self, *, all: bool = False) -> "table.Table":
        """Tabulate the metrics over all rows and over the last window, below the summary.

        Parameters
        ----------
        all : bool
            Show all metrics, and not only the few that matter for this kind of problem.
        """
        return table.one(self, all=all)

    def _repr_html_(self) -> str:
        """Show summary, numbers, classes and the curve in the colours of the notebook, light or dark."""
        from thalweg.show.notebook import shown_in_notebook

        return shown_in_notebook(self)

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Draw the windowed accuracy over the rows, with the drifts; see ``plots.curves`` for the options."""
        from thalweg.show.plots import curves

        return curves([self], path, **options)

    def report(self, path: str | os.PathLike[str], *, command: str = "") -> None:
        """Write one self-contained HTML page: what it means, each class, drifts, importances, calibration, costs.

        Parameters
        ----------
        path : str | os.PathLike[str]
            Of the file, such as run.html.
        command : str
            The command that reproduces the run, to be shown on the page.
        """
        from thalweg.show.run_report import write_report

        params.path("path", path)
        write_report(self, os.fspath(path), command=command)

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
            return cls._from_fields(msgspec.json.decode(text, type=dict[str, Any]))
        except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"source must be the JSON of a Result: {error}") from None

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        for name in ("accuracy", "kappa", "rows_per_second", "version"):
            del fields[name]
        for name in ("summary", "per_class"):  # earlier versions wrote none
            fields.pop(name, None)
        for name in ("calibration", "alerts", "mistakes"):
            fields[name] = [tuple(row) for row in fields.get(name, ())]
        if fields.get("importances") is not None:
            fields["importances"] = Importances.from_plain(fields["importances"])
        fields["others"] = [cls._from_fields(other) for other in fields.get("others", ())]
        for name in ("final", "recent", "baselines"):
            fields[name] = {k: _number(v) for k, v in fields.get(name, {}).items()}
        fields["unpredicted"] = _number(fields["unpredicted"])
        classes = len(fields["classes"])
        fields["confusion"] = np.array(fields["confusion"], dtype=np.float64).reshape(classes, classes)
        fields["curve"] = {name: column(name, values) for name, values in fields["curve"].items()}
        return cls(**fields)

    def _plain(self) -> dict[str, Any]:
        first = ("learner", "params", "stream", "rows")
        numbers = {
            "summary": self.summary,
            "accuracy": self.accuracy,
            "kappa": self.kappa,
            "seconds": self.seconds,
            "rows_per_second": self.rows_per_second,
            "version": self.meta.get("version"),
            "per_class": [{"class": label, **score._asdict()} for label, score in self.per_class.items()],
        }
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "predictions"}
        fields["confusion"] = self.confusion.tolist()
        fields["curve"] = {name: values.tolist() for name, values in self.curve.items()}
        fields["importances"] = None if self.importances is None else self.importances.to_plain()
        fields["others"] = [other._plain() for other in self.others]
        return {name: fields[name] for name in first} | numbers | fields

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Result) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def column(name: str, values: Any) -> NDArray[Any]:
    """Make one column of a curve."""
    if name in WHOLE:
        return np.array(values, dtype=np.int64)
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return values.copy()
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
