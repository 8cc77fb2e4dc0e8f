"""Online deep learning: a network with a classifier at every depth, which finds by itself how deep it should be."""

from collections.abc import Callable
from operator import itemgetter
from typing import Annotated, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check, table
from thalweg.core.fields import choice, flag, free, number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.jit.compile import plain
from thalweg.jit.random import seeded
from thalweg.learners.networks import net_jit as jit
from thalweg.learners.networks.layout import for_codes, lay_out, places, width, with_starts
from thalweg.learners.networks.odl_jit import play

LOSSES = {"minmax": jit.MINMAX, "zero_one": jit.ZERO_ONE, "clipped": jit.CLIPPED}
ANSWERS = {"hedge": jit.HEDGE, "reset": jit.RESET, "none": jit.ONLY_COUNT}
_NETWORK = (*jit.Net._fields, "drift")
_net_of: Callable[[State], jit.Net] = itemgetter(*jit.Net._fields)
"""The tables of the network as a plain tuple, as ``play`` takes them."""


class RateError(FloatingPointError, ValueError):
    """Steps are far too large, however often the rate is halved."""


class Drift(NamedTuple):
    """What watches the errors."""

    drift: Annotated[Floats, table(1, "columns", loose=True)]
    """1 × …: a detector; one column where there is none."""


@final
class OnlineDeepLearning(Classifier):
    """A deep network whose every layer answers; the answers are mixed with weights that follow how good each depth is.

    A nominal feature is a column for each value, 1 for the value at hand; values from the 1,025th on share columns.
    Missing values are 0 after standardising: the mean. Weights of rows multiply the rate, up to 0.1 (or ``rate``).
    A step that would change a weight by more than 10 is not taken, and the rate is halved; the 21st time is an error.

    References
    ----------
    D. Sahoo, Q. Pham, J. Lu, S. C. H. Hoi, "Online deep learning: learning deep neural networks on the fly", IJCAI
    2018.

    Examples
    --------
    >>> from thalweg import SEA
    >>> chunk = SEA(seed=1).read(5_000)
    >>> network = OnlineDeepLearning(layers=3, units=20)
    >>> proba = network.test_then_train(chunk.X, chunk.y)
    >>> bool((network.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    missing = "native"
    bounded = True

    layers: int = whole(default=10, doc="Hidden layers (L).", least=1, most=1000)
    units: int = whole(default=100, doc="Units in each of them.", least=1, most=100_000)
    rate: float = number(default=0.01, doc="Step of gradient descent (η), one step for each row.", above=0, most=1e6)
    beta: float = number(
        default=0.99, doc="How fast the weight of a depth that answers worse falls (β).", above=0, most=1
    )
    floor: float = number(default=0.2, doc="No weight falls below floor / layers (s).", least=0, most=1)
    input_classifier: bool = flag(
        default=False,
        doc="Let a linear classifier on the input take part, as depth 0 (the paper; not the authors' program). It "
        "learns fastest, takes the weight early, and the layers starve: over six streams the network is better "
        "without.",
    )
    hedge_loss: Literal["minmax", "zero_one", "clipped"] = choice(
        default="minmax",
        doc='Loss that the weights follow: "minmax" (the best depth 0, the worst 1), "zero_one" (right or wrong) or '
        '"clipped" (log loss, at most 1).',
    )
    scale: bool = flag(
        default=True,
        doc="Standardise numbers by the mean and deviation of the rows before; False: take them as they are.",
    )
    drift: str | Detector | None = free(
        default="adwin(delta=0.002)",
        doc='A detector or its name, for the errors of the mixed answer; None or "none": no detector.',
        check=make_detector,
    )
    on_drift: Literal["hedge", "reset", "none"] = choice(
        default="hedge",
        doc='"hedge": all depths alike again, and ten times the rate, back to normal within 500 rows; "reset": a new '
        'network; "none": drifts are only counted.',
    )
    seed: int = whole(default=1, doc="For the first weights.", least=0)

    __slots__ = ("_detector_rules", "_net", "_rules")

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def depth_weights(self) -> dict[int, float]:
        """The weight α of the classifier at each depth; 0 is the input.

        Examples
        --------
        >>> from thalweg import SEA
        >>> chunk = SEA(seed=1).read(100)
        >>> network = OnlineDeepLearning(layers=2, units=5, beta=1.0).partial_fit(chunk.X, chunk.y)
        >>> {depth: round(weight, 3) for depth, weight in network.depth_weights.items()}
        {1: 0.5, 2: 0.5}
        """
        alpha = self._net["alpha"] if self._started else _evenly(int(self.layers), self.input_classifier)
        return {depth: float(alpha[depth]) for depth in range(0 if self.input_classifier else 1, len(alpha))}

    @property
    def finds_drifts(self) -> bool:
        """Does it look for drifts, and tell of those it found?"""
        return make_detector("drift", self.drift) is not None

    @property
    def n_drifts(self) -> int:
        """Drifts that the detector has reported."""
        return int(self._net["head"][jit.H_DRIFTS]) if self._started else 0

    @property
    def n_recoveries(self) -> int:
        """How often a step was far too large, so that it was not taken and the rate was halved."""
        return int(self._net["head"][jit.H_RECOVERIES]) if self._started else 0

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        layout = lay_out(schema, np.zeros((0, 2), dtype=np.int64))
        net = self._blank(layout, classes=0)
        net["alpha"][:] = _evenly(int(self.layers), self.input_classifier)
        net["head"][jit.H_SINCE] = jit.BOOSTED_ROWS
        net["dice"][:] = seeded(self.seed)
        jit.draw_network(net["inputs"], net["hidden"], layout, layout[:0], net["dice"], _seed())
        self._take(net)

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        net = self._net
        if len(events) and events.min() < 0:
            self._make_room(X, events, out.shape[1])
            net = self._net
        done = play(
            _net_of(net), plain(self._work(net)), net["drift"], self._detector_rules, self._rules, X, y, w, events,
            out, known,
        )  # fmt: skip
        if done < len(events):
            raise RateError(
                f"rate must be smaller for these rows: steps are far too large even after halving it "
                f"{jit.MOST_RECOVERIES} times, got {self.rate}"
            )

    def _extend(self, schema: Schema) -> None:
        self._widen(lay_out(schema, self._net["layout"]))

    def _tables(self) -> State:
        return dict(self._net)

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        net = {name: tables[name] for name in _NETWORK}
        check(
            (jit.Net, Drift), net, most={"C": classes}, L=int(self.layers), u=int(self.units),
            features=schema.n_features, classes=classes,
        )  # fmt: skip
        self._refuse_misfits(net, schema)
        self._take(net)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _take(self, net: State) -> None:
        detector = make_detector("drift", self.drift)
        rules = np.zeros(jit.R_CELLS)
        rules[jit.R_RATE], rules[jit.R_BETA], rules[jit.R_FLOOR] = self.rate, self.beta, self.floor
        rules[jit.R_DEPTH0], rules[jit.R_SCALE] = self.input_classifier, self.scale
        rules[jit.R_LOSS], rules[jit.R_ON_DRIFT] = LOSSES[self.hedge_loss], ANSWERS[self.on_drift]
        rules[jit.R_DETECTOR] = -1 if detector is None else detector.code
        self._net, self._rules = net, rules
        self._detector_rules = np.zeros(1) if detector is None else detector.rules()

    def _blank(self, layout: Ints, classes: int) -> State:
        """Make tables full of zeros."""
        L, u, d = int(self.layers), int(self.units), width(layout)
        detector = make_detector("drift", self.drift)
        return {
            "inputs": np.zeros((d, u)), "hidden": np.zeros((L - 1, u, u)), "bias": np.zeros((L, u)),
            "first": np.zeros((classes, d)), "theta": np.zeros((L, classes, u)), "shift": np.zeros((L + 1, classes)),
            "alpha": np.zeros(L + 1), "stats": np.zeros((d, jit.S_COLUMNS)), "layout": layout,
            "head": np.zeros(jit.H_CELLS, dtype=np.int64), "dice": np.zeros(1, dtype=np.uint64),
            "drift": np.zeros((1, 1)) if detector is None else detector.new_rows(1),
        }  # fmt: skip

    def _work(self, net: State) -> jit.Work:
        """Make room to work on one row."""
        (L, u), (C, d) = net["bias"].shape, net["first"].shape
        return jit.Work(
            x=np.empty(d), h=np.empty((L, u)), delta=np.empty((L, u)), p=np.empty((L + 1, C)), mix=np.empty(C),
            losses=np.empty(L + 1), live=np.empty((L + 1, max(d, u)), dtype=np.int64),
            lives=np.empty(L + 1, dtype=np.int64), seed=_seed(),
        )  # fmt: skip

    def _make_room(self, X: Floats, events: Ints, classes: int) -> None:
        """Make room for the classes of the labels, and for the nominal values of the rows that will be learned."""
        net, C = self._net, classes
        had = net["first"].shape[0]
        if had < C:
            for name, axis in (("first", 0), ("theta", 1), ("shift", 1)):
                room = [(0, 0)] * net[name].ndim
                room[axis] = (0, C - had)
                net[name] = np.pad(net[name], room)
        self._widen(for_codes(net["layout"], X, events))

    def _widen(self, layout: Ints) -> None:
        """Move to a layout with more columns."""
        old = self._net
        if np.array_equal(layout, old["layout"]):
            return
        at = places(old["layout"], layout)
        net = old | self._blank(layout, len(old["first"]))
        for name in ("hidden", "bias", "theta", "shift", "alpha", "head", "dice", "drift"):
            net[name] = old[name]
        net["inputs"][at], net["stats"][at], net["first"][:, at] = old["inputs"], old["stats"], old["first"]
        jit.draw_network(net["inputs"], net["hidden"], layout, old["layout"], net["dice"], _seed())
        self._net = net

    def _refuse_misfits(self, net: State, schema: Schema) -> None:
        """Refuse tables that do not fit each other, the schema or the parameters."""
        layout, alpha, shut = net["layout"], net["alpha"], 0 if self.input_classifier else 1
        widths = layout[:, jit.L_WIDTH]
        least = lay_out(schema, np.zeros((0, 2), dtype=np.int64))[:, jit.L_WIDTH]
        valid = ((widths == -1) == (least == -1)) & (widths >= least)
        fits = np.array_equal(layout, with_starts(layout.copy())) and width(layout) == len(net["inputs"])
        if not valid.all() or not fits:
            raise ValueError("its table 'layout' does not fit its schema")
        if abs(alpha.sum() - 1.0) > 1e-9 or alpha[:shut].any():
            raise ValueError("its table 'alpha' must sum to 1")
        detector = make_detector("drift", self.drift)
        if detector is not None and not detector.fits(net["drift"]):
            raise ValueError(f"its table 'drift' holds what no {type(detector).__name__} could")


def _seed() -> NDArray[np.uint64]:
    return np.zeros(1, dtype=np.uint64)


def _evenly(layers: int, input_classifier: bool) -> Floats:
    """Give all depths the same weight."""
    begin = 0 if input_classifier else 1
    alpha = np.zeros(layers + 1)
    alpha[begin:] = 1.0 / (layers + 1 - begin)
    return alpha
