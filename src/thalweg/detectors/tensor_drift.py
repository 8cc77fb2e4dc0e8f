"""Has the stream of tensors changed? Asked of the tensors alone, without labels."""

import warnings
from collections.abc import Mapping
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import fields
from thalweg.core.declared import check
from thalweg.core.fields import Parametrised
from thalweg.core.params import whole
from thalweg.core.protocols import State
from thalweg.core.tables import refusing
from thalweg.detectors import tensor_drift_jit as jit
from thalweg.detectors.tensor_reference import (
    ChordalReference,
    DenseReference,
    DenseWindow,
    InnerReference,
    Reference,
    inner_reference,
    left_out,
    mean_tensor,
    reference_from,
)
from thalweg.tensors.bases import Decomposition
from thalweg.tensors.forms import Tensors, form, shape_of, tensors_in
from thalweg.tensors.joining import join, tensors_from, tensors_state

Levels = NDArray[np.int8]
_PARTS = "reference_", "waiting_"
BLOCK = 256
"""Tensors measured at a time: those behind a drift are measured in vain."""


@final
class TensorDriftDetector(Parametrised):
    """Compares each tensor with the mean of a reference by the distance r = ‖A - m0‖. Vectors will do, too.

    The reference is what ``reference`` was given, or else the first ``window`` tensors. After a drift the next tensors
    become the new reference, unless ``reference`` is called. A level for each tensor: 0 none, 1 alarm, 2 drift.

    Tensors of the reference lie nearer to their own mean than others do: their distances count w / (w - 1) times.
    Only changes of the tensors are seen: labels that change over the same tensors are not.

    References
    ----------
    B. Krawczyk, "Tensor decision trees for continual learning from drifting data streams", 2021 (the paper's rule).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> detector = TensorDriftDetector()
    >>> levels = detector.update_many(np.concatenate([rng.normal(size=(600, 8, 8)), rng.normal(1, size=(20, 8, 8))]))
    >>> np.flatnonzero(levels == 2).tolist(), detector.n_detections
    ([604], 1)
    """

    rule: Literal["cusum", "paper"] = fields.choice(
        default="cusum",
        doc="cusum: z = (r - mu_0) / sd_0 by the mean and the standard deviation of the reference's own distances, at "
        "most 4; C = max(0, C + z - 0.5); alarm while C > 5, drift when C > 15. paper: the window moves on with the "
        "stream; alarm where z ≥ 1, drift where z ≥ 3, decided on each single tensor: two to twelve false drifts in "
        "1,000 tensors.",
    )
    window: int = fields.whole(
        default=100, doc="Tensors of the reference that new ones are compared with.", least=2, most=1_000_000
    )
    norm: bool = fields.flag(
        default=True,
        doc="Two more such sums, of the log of the norm and of its negative, for a change that makes tensors smaller: "
        "they come no farther from the mean, often nearer. Not used by the paper's rule, nor with chordal.",
    )
    chordal: bool = fields.flag(
        default=False,
        doc="Is r = Σ_j D_j²(A, m0), the chordal distances of the flattenings, which see no scale? The first half of "
        "the reference makes the mean, the other half mu_0 and sd_0.",
        old="subspace",
    )
    seed: int = fields.whole(default=1, doc="For its sketches.", least=0)

    def _prepare(self) -> None:
        if self.chordal and self.rule == "paper":
            raise ValueError("chordal must be False where rule is 'paper', got True")
        if self.chordal:
            whole("window with chordal", self.window, least=4)
        self._how = Decomposition(seed=self.seed)
        self._reference: Reference | None = None
        self._waiting: list[Tensors] = []
        self._table, self._residuals = np.zeros(jit.COLUMNS), np.zeros(0)

    # -- the reference ------------------------------------------------------------------------------------------------

    def reference(self, tensors: Any) -> Self:
        """Compare with these tensors, two at least (four with chordal), from now on."""
        X = tensors_in(tensors, name="tensors")
        whole("the number of tensors", len(X), least=4 if self.chordal else 2)
        self._refer(X)
        return self

    def _refer(self, X: Tensors) -> None:
        found: Reference
        if self.chordal:
            half = len(X) // 2
            found = ChordalReference(self._how, self._how.of(mean_tensor(X[:half])), form(X))
            own = found.measures(X[half:])
        else:
            if not isinstance(X, np.ndarray):
                found = inner_reference(X)
            elif self.rule == "paper":
                found = DenseWindow(X.copy())
            else:
                found = DenseReference(np.add.reduce(X, axis=0) / len(X))
            own = left_out(found.measures(X))
        self._restart()
        self._reference, self._residuals = found, own[:, 0].copy()
        table = self._table
        table[[jit.MEAN, jit.LOG_MEAN]] = own.mean(axis=0)
        table[[jit.SD, jit.LOG_SD]] = np.maximum(own.std(axis=0, ddof=1), (found.least, jit.LEAST_LOG_SD))

    def _restart(self) -> None:
        """Forget everything but the number of drifts and the last level."""
        changes, level = self._table[jit.CHANGES], self._table[jit.LEVEL]
        self._table = np.zeros(jit.COLUMNS)
        self._table[jit.CHANGES], self._table[jit.LEVEL] = changes, level
        self._reference, self._waiting, self._residuals = None, [], np.zeros(0)

    def reset(self) -> Self:
        """Forget everything but the parameters."""
        self._table = np.zeros(jit.COLUMNS)
        self._restart()
        return self

    @property
    def ready(self) -> bool:
        """Is there a reference? Without one every level is 0."""
        return self._reference is not None

    # -- tensors ------------------------------------------------------------------------------------------------------

    def update(self, tensor: Any) -> bool:
        """Take one tensor, a chunk of one; True when it reveals a drift."""
        X = self._let_in(tensor)
        if len(X) != 1:
            warnings.warn("update takes one tensor: update_many takes several", DeprecationWarning, stacklevel=2)
            return self.take(X)  # type: ignore[return-value]
        return bool(self.take(X)[0] == 2)

    def update_many(self, tensors: Any, *, stop: bool = False) -> Levels:
        """Take tensors in order; give the level of each: 0 none, 1 alarm, 2 drift.

        Parameters
        ----------
        stop : bool
            Take them as far as the first drift, and give no more levels. One bad tensor, and none is taken.
        """
        return self.take(self._let_in(tensors), stop=stop)

    def take(self, X: Tensors, *, stop: bool = False) -> Levels:
        """Take tensors that are known to be of the right form and shape: for learners."""
        levels = np.zeros(len(X), dtype=np.int8)
        at = 0
        while at < len(X):
            if self._reference is None:
                at += self._collect(X[at:])
                continue
            end = at + self._take(self._reference, X[at : at + BLOCK], levels[at : at + BLOCK])
            at = end
            if levels[end - 1] == 2:
                self._restart()
                if stop:
                    break
        return levels[:at]

    def _let_in(self, tensors: Any) -> Tensors:
        kind, shape = self.layout
        X = tensors_in(tensors, name="tensors", shape=shape)
        if kind not in (None, form(X)):
            raise ValueError(f"tensors must be in the form of the reference, {kind}, got {form(X)} tensors")
        return X

    @property
    def drift_detected(self) -> bool:
        """Did the last tensor reveal a drift?"""
        return self.level == 2

    @property
    def warning_detected(self) -> bool:
        """Is there an alarm, but no drift, since the last tensor?"""
        return self.level == 1

    @property
    def level(self) -> int:
        """The level of the last tensor: 0 none, 1 alarm, 2 drift."""
        return int(self._table[jit.LEVEL])

    @property
    def n_detections(self) -> int:
        """Drifts so far."""
        return int(self._table[jit.CHANGES])

    @property
    def layout(self) -> tuple[str | None, tuple[int, ...] | None]:
        """The form and the shape that tensors must have; None while none are known."""
        if self._reference is not None:
            return self._reference.form, self._reference.shape
        return (form(self._waiting[0]), shape_of(self._waiting[0])) if self._waiting else (None, None)

    def _collect(self, X: Tensors) -> int:
        """Keep tensors for the reference; give how many."""
        taken = min(len(X), self.window - sum(len(chunk) for chunk in self._waiting))
        part = X[:taken]
        self._waiting.append(part.copy() if isinstance(part, np.ndarray) else part)
        self._table[jit.LEVEL] = 0.0
        if sum(len(chunk) for chunk in self._waiting) == self.window:
            self._refer(join(self._waiting))
        return taken

    def _take(self, reference: Reference, X: Tensors, levels: Levels) -> int:
        """Take tensors as far as the first drift; give how many."""
        if isinstance(reference, DenseReference):
            rows = np.ascontiguousarray(X).reshape(len(X), -1)
            return jit.cusum_dense(rows, reference.mean.reshape(-1), self.norm, self._table, levels)
        if self.rule == "cusum":
            return jit.cusum(reference.measures(X), self.norm and not self.chordal, self._table, levels)
        if isinstance(reference, DenseWindow):
            rows, w = np.ascontiguousarray(X).reshape(len(X), -1), len(reference.window)
            window, sums = reference.window.reshape(w, -1), reference.sums.reshape(-1)
            return jit.slide_dense(rows, window, sums, self._residuals, reference.precision, self._table, levels)
        assert isinstance(reference, InnerReference)
        return self._slide(reference, X, levels)

    def _slide(self, reference: InnerReference, X: Tensors, levels: Levels) -> int:
        """Take tensors one by one as far as the first drift, each into the window; give how many."""
        for i in range(len(X)):
            one = X[i : i + 1]
            far = float(reference.measures(one)[0, 0])
            levels[i] = jit.compare_one(self._table, far, self._residuals, reference.least)
            if levels[i] == 2:
                return i + 1
            oldest = int(self._table[jit.OLDEST])
            reference.move(oldest, one)
            self._table[jit.OLDEST] = (oldest + 1) % len(self._residuals)
        return len(X)

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Copy out all that the detector knows, as named arrays."""
        state: State = {"table": self._table.copy(), "residuals": self._residuals.copy()}
        if self._reference is not None:
            state |= {f"reference_{name}": part for name, part in self._reference.state().items()}
        elif self._waiting:
            state |= {f"waiting_{name}": part for name, part in tensors_state(join(self._waiting)).items()}
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` of a detector with the same parameters gave."""
        with refusing(state, "state must be what state() of a TensorDriftDetector with the same parameters gave"):
            check(jit.Watch, state)
            kept, waiting = ({n.removeprefix(p): a for n, a in state.items() if n.startswith(p)} for p in _PARTS)
            reference = reference_from(kept, self._how) if kept else None
            tensors = [tensors_from(waiting)] if waiting else []
            self._refuse_unsound(len(state["residuals"]), reference, tensors)
        self._table, self._residuals = state["table"].copy(), state["residuals"].copy()
        self._reference, self._waiting = reference, tensors

    def _refuse_unsound(self, residuals: int, reference: Reference | None, waiting: list[Tensors]) -> None:
        """Refuse parts that do not belong together. residuals: how many."""
        if waiting and (reference is not None or not 0 < len(waiting[0]) < self.window):
            raise ValueError("it holds more tensors than are waited for")
        kind = ChordalReference if self.chordal else DenseWindow if self.rule == "paper" else DenseReference
        if reference is None:
            return
        if not isinstance(reference, InnerReference if reference.form != "dense" and not self.chordal else kind):
            raise ValueError("its reference is that of another rule")
        if self.rule == "paper" and residuals != reference.size:
            raise ValueError("its table 'residuals' has another shape")
