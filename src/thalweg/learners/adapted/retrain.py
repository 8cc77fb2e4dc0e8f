"""A learner, or a classifier of scikit-learn, that starts anew when its errors rise."""

import copy
import inspect
from typing import Annotated, Any, final

import numpy as np

from thalweg.core import door
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import EXACT, check, fresh, table
from thalweg.core.fields import free, whole
from thalweg.core.foreign import pickled_bytes
from thalweg.core.in_use import looks
from thalweg.core.inside import Inner, check_inner, take_after
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.learners.adapted.foreign import fit_anew
from thalweg.learners.adapted.sklearn_model import answer, cloned, input_of, refuse_other

STEP = 50
"""Fits happen at rows whose number is a multiple of this, however the rows are divided into chunks."""
LEARNED, SINCE, NEXT, AGE, DRIFTS, ALARM = range(6)


class Kept:
    """What it keeps beside the detector and the model."""

    rows: Annotated[Floats, table("n", "features", loose=True)]
    """n × features: the last rows since the last drift, at most ``window``."""
    codes: Annotated[Ints, table("n", least=0, most="classes - 1")]
    """n: their classes."""
    weights: Annotated[Floats, table("n", least=0)]
    """n: their weights."""
    counts: Annotated[Ints, table(6, least=0, most=EXACT)]
    """6: rows learned; of those since the last drift; at how many the next fit is due; rows learned since the last fit;
    drifts; is a drift waiting for the next fit?"""


@final
class RetrainOnDrift(Classifier):
    """Keep the last rows, watch the errors, and start anew on them at a drift.

    **A scikit-learn classifier** (anything with ``fit`` and ``predict``, a pipeline too) is fitted on the window: after
    50 rows, 100, 200 and so on until the window is full, then every ``every`` rows, and at a drift on the ``keep`` last
    rows only. It cannot be saved. **A learner of this library** learns every row as usual, and at a drift a new one
    takes its place that has learned the ``keep`` last rows.

    A fit happens at a row whose number is a multiple of 50: how rows are divided into chunks changes nothing.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from thalweg import Agrawal, DriftStream, RetrainOnDrift, prequential
    >>> stream = DriftStream(Agrawal(function=1, seed=1), Agrawal(function=2, seed=2), position=3_000)
    >>> learner = RetrainOnDrift(DecisionTreeClassifier(max_depth=5), window=1_000)
    >>> result = prequential(stream, learner, limit=6_000)
    >>> result.accuracy > 0.8, learner.n_drifts
    (True, 1)
    """

    learner: Any = free(
        doc="A classifier of scikit-learn or a learner; it joins with its parameters and as if it had seen nothing.",
        kw_only=False,
    )
    detector: Detector | str | None = free(
        default="adwin",
        doc='Watches the errors: a detector or its name, such as "ddm" or "adwin(delta=0.01)"; None: none.',
    )
    window: int = whole(default=2_000, doc="Rows to fit on, the last ones.", least=STEP, most=10_000_000)
    keep: int = whole(default=200, doc="Rows that are kept at a drift, the last ones.", least=1, most=10_000_000)
    every: int | None = whole(
        default=None, doc="Start anew on the window also after so many rows; None: only at a drift.", least=1
    )
    seed: int = whole(default=1, doc="For a classifier whose random_state is None.", least=0)

    __slots__ = ("_counts", "_detector", "_inside", "_last", "_own")

    def _prepare(self) -> None:
        if self.keep > self.window:
            raise ValueError(f"keep must be at most the window, {self.window}, got {self.keep}")
        make_detector("detector", self.detector)
        self._own = isinstance(self.learner, Classifier)
        if self._own:
            check_inner("learner", self.learner)
            take_after(self, [self.learner])
            self.bounded = self.learner.bounded
        else:
            refuse_other(self.learner, "fit", name="learner")
            self.missing, _ = input_of(self.learner)
            self.bounded = True
        self.sparse = self.evolving = False

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    @looks
    def model(self) -> Any:
        """The present model, a copy: a learner; or a fitted classifier, whose classes are places in ``classes_``."""
        if not self._started:
            return self.learner.fresh() if self._own else None
        if isinstance(self._inside, Inner):
            return self._inside.lend(self._labels).copy()
        return copy.deepcopy(self._inside.model)

    @property
    def n_drifts(self) -> int:
        """How often it started anew because of a drift."""
        return int(self._counts[DRIFTS]) if self._started else 0

    @property
    def title(self) -> str:
        """What to call it in tables and pictures."""
        return f"{type(self.learner).__name__}, retrained"

    @property
    def unsavable(self) -> str:
        """Why it cannot be saved; empty: it can."""
        if self._own:
            return str(self.learner.unsavable)
        return (
            f"{type(self.learner).__name__} is a classifier of another library and cannot be saved in a safe file: "
            "with a learner of thalweg inside, RetrainOnDrift can"
        )

    @property
    def state_bytes(self) -> int:
        """Bytes of the window, the detector and the model."""
        if not self._started:
            return 0
        return sum(t.nbytes for t in self._kept().values()) + int(self._inside.state_bytes)

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        inside = Inner(self.learner.fresh(), schema) if self._own else Fitted(self.learner, self.seed)
        self._settle_parts(fresh(Kept, n=0, features=schema.n_features), inside)
        self._counts[NEXT] = STEP

    def _settle_parts(self, kept: State, inside: Any) -> None:
        self._inside, self._counts = inside, kept["counts"]
        self._detector = make_detector("detector", self.detector)
        self._last = (kept["rows"], kept["codes"], kept["weights"])

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        learned, start = np.flatnonzero(events < 0), 0
        while start < len(events):
            room = STEP - int(self._counts[LEARNED]) % STEP
            ahead = learned[np.searchsorted(learned, start) :][:room]
            end = int(ahead[-1]) + 1 if len(ahead) == room else len(events)
            known = self._pass(X, y, w, events[start:end].tolist(), out, known)
            if len(ahead) == room:
                self._stop_over(known)
            start = end

    def _pass(self, X: Floats, y: Ints, w: Floats, events: list[int], out: Floats, known: int) -> int:
        """Carry out some events with the present model, which judges each row before it is learned."""
        at, steps, asked, judged, taught = _unrolled(events)
        own = np.zeros((len(at), out.shape[1]))
        some_y, some_w = (y[at], w[at]) if len(y) else (y, w)
        self._inside.play(X[at], some_y, some_w, steps, own, known)
        told = steps[asked]
        out[at[told]] = own[told]
        if not len(taught):
            return known
        codes = y[taught]
        if self._detector is not None:
            levels = self._detector.update_many((own[judged].argmax(axis=1) != codes).astype(np.float64))
            self._counts[ALARM] |= int((levels == 2).any())
        rows, labels, weights = self._last
        most = self._most
        self._last = (
            np.concatenate([rows, X[taught]])[-most:],
            np.concatenate([labels, codes])[-most:],
            np.concatenate([weights, w[taught]])[-most:],
        )
        self._counts[[LEARNED, SINCE, AGE]] += len(taught)
        return max(known, int(codes.max()) + 1)

    @property
    def _most(self) -> int:
        """So many rows are kept: a learner that starts anew at a drift only needs no more than those it starts with."""
        return self.keep if self._own and self.every is None else self.window

    def _stop_over(self, known: int) -> None:
        """Start anew, where it is time."""
        counts = self._counts
        drift, due = bool(counts[ALARM]), self.every is not None and counts[AGE] >= self.every
        if drift:
            rows, codes, weights = self._last
            self._last = (rows[-self.keep :].copy(), codes[-self.keep :].copy(), weights[-self.keep :].copy())
            counts[SINCE], counts[NEXT] = len(self._last[0]), STEP
            counts[DRIFTS], counts[ALARM] = counts[DRIFTS] + 1, 0
            assert self._detector is not None
            self._detector.reset()
        if drift or due or (not self._own and counts[SINCE] >= counts[NEXT]):
            self._begin_anew(known)
            counts[AGE] = 0
            while counts[NEXT] <= counts[SINCE]:
                counts[NEXT] = _next_fit(int(counts[NEXT]), self.window)

    def _begin_anew(self, known: int) -> None:
        X, y, w = self._last
        if isinstance(self._inside, Inner):
            assert self._schema is not None
            self._inside = Inner(self.learner.fresh(), self._schema)
            self._inside.play(X, y, w, ~np.arange(len(X)), np.zeros((len(X), known)), 0)
        else:
            self._inside.fit(X, y, w)

    def _extend(self, schema: Schema) -> None:
        if isinstance(self._inside, Inner):
            self._inside.meet(schema)
        elif schema.n_features != self._last[0].shape[1]:
            raise ValueError(
                f"X must have the {self._last[0].shape[1]} features of the first rows for "
                f"{type(self.learner).__name__}, got {schema.n_features}"
            )
        rows, codes, weights = self._last
        more = np.full((len(rows), schema.n_features - rows.shape[1]), np.nan if self.missing == "native" else 0.0)
        self._last = (np.concatenate([rows, more], axis=1), codes, weights)

    def _rehearse(self) -> None:
        if isinstance(self._inside, Inner):
            self._inside.rehearse(self._labels)

    # -- state --------------------------------------------------------------------------------------------------------

    def _kept(self) -> State:
        rows, codes, weights = self._last
        kept = {"rows": rows, "codes": codes, "weights": weights, "counts": self._counts}
        watch = {} if self._detector is None else self._detector.state()
        return prefixed("kept", kept) | prefixed("detector", watch)

    def _tables(self) -> State:
        if not isinstance(self._inside, Inner):
            raise TypeError(self.unsavable)
        return self._kept() | self._inside.tables("learner")

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        if not self._own:
            raise ValueError(self.unsavable)
        kept = self._sound(under("kept", tables), schema, classes)
        inside = Inner.adopt(self.learner.fresh(), "learner", tables, schema, classes)
        watch = make_detector("detector", self.detector)
        if watch is not None:
            watch.restore(under("detector", tables))
        self._settle_parts(kept, inside)
        self._detector = watch

    def _sound(self, kept: State, schema: Schema, classes: int) -> State:
        """Give what was kept, if it can have been."""
        check(Kept, kept, features=schema.n_features, classes=classes, most={"n": self._most})
        door.rows(kept["rows"], schema, missing=self.missing == "native", learning=True)
        if not (kept["weights"] > 0.0).all() or kept["counts"][ALARM] > 1 or kept["counts"][NEXT] < 1:
            raise ValueError("its window is damaged")
        return kept

    @looks
    def __getstate__(self) -> Any:
        if self._own:
            return super().__getstate__()
        known = (self._kept(), self._inside) if self._started else None
        return self.get_params(deep=False), self._labels.copy(), self._schema, known

    def __setstate__(self, state: Any) -> None:
        params, labels, schema, known = state
        own = isinstance(params["learner"], Classifier)
        super().__setstate__(state if own else (params, labels, schema, {}))
        if not own and known is not None:
            self._started, (tables, inside) = True, known
            self._settle_parts({n: t.copy() for n, t in under("kept", tables).items()}, copy.deepcopy(inside))
            if self._detector is not None:
                self._detector.restore({n: t.copy() for n, t in under("detector", tables).items()})

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "RetrainOnDrift":
        """Forget, then learn the rows in order (scikit-learn's verb; streams use ``partial_fit``)."""
        return super().fit(X, y, sample_weight) if self._own else fit_anew(self, X, y, sample_weight)


class Fitted:
    """A classifier of scikit-learn that is fitted on a window and then only asked; None before it is."""

    def __init__(self, classifier: Any, seed: int) -> None:
        self._classifier, self._seed = classifier, seed
        self.model: Any = None
        self._only: int | None = None
        """The class of all rows of the window, where there is but one."""

    def fit(self, X: Floats, y: Ints, w: Floats) -> None:
        """Fit it anew."""
        self._only = int(y[0]) if (y == y[0]).all() else None
        if self._only is not None:
            return
        model = cloned(self._classifier, self._seed)
        more = {}
        if not (w == 1.0).all():
            if "sample_weight" not in inspect.signature(model.fit).parameters:
                raise ValueError(f"sample_weight must be 1 for {type(model).__name__}, which takes no weights")
            more = {"sample_weight": w}
        with np.errstate(all="ignore"):
            self.model = model.fit(X, y, **more)

    def play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        """Answer; learning waits for the next fit."""
        asked = events[events >= 0]
        if not len(asked):
            return
        if self._only is not None:
            out[asked, self._only] = 1.0
        elif self.model is not None:
            with np.errstate(all="ignore"):
                out[asked] = np.nan_to_num(answer(self.model, X[asked], out.shape[1]), nan=0.0)
        else:
            for e in events.tolist():
                if e < 0:
                    known = max(known, int(y[~e]) + 1)
                elif known:
                    out[e, :known] = 1.0 / known

    @property
    def state_bytes(self) -> int:
        """Bytes of the classifier as it would be pickled; 0 where that cannot be told."""
        return pickled_bytes(self.model)


def _unrolled(events: list[int]) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Give each event a row of its own, and let each row that is learned be predicted right before.

    Gives the row of each step, the steps, which of them the caller asked for, the predictions that judge the model, and
    the rows that are learned.

    >>> [part.tolist() for part in _unrolled([0, ~0, ~1])]
    [[0, 0, 1, 1], [0, -2, 2, -4], [0], [0, 2], [0, 1]]
    """
    rows: list[int] = []
    steps: list[int] = []
    asked: list[int] = []
    judged: list[int] = []
    taught: list[int] = []
    for e in events:
        r = max(e, ~e)
        if e >= 0 or not steps or steps[-1] < 0 or rows[-1] != r:
            steps.append(len(rows))
            rows.append(r)
        if e >= 0:
            asked.append(len(steps) - 1)
        else:
            judged.append(len(rows) - 1)
            taught.append(r)
            steps.append(~len(rows))
            rows.append(r)
    return _whole(rows), _whole(steps), _whole(asked), _whole(judged), _whole(taught)


def _whole(numbers: list[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)


def _next_fit(now: int, window: int) -> int:
    """Say at how many rows a classifier is fitted next: at twice as many, then at a full window, then no more."""
    return 2 * now if 2 * now <= window else window if now < window else EXACT
