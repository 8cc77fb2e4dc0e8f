"""The streaming deep forest: layers of forests that learn in one pass."""

import math
from collections.abc import Sequence
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import door, params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check
from thalweg.core.fields import choice, free, whole
from thalweg.core.in_use import looks
from thalweg.core.inside import Inner, finds_drifts
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.steps import Steps, cut, unroll
from thalweg.learners.deep import outputs_jit as jit
from thalweg.learners.deep.cascade import CLASSES, first_learned, layer_schema, stacked, widened
from thalweg.learners.deep.frozen_deep import FrozenDeepForest
from thalweg.learners.forests.by_name import make_forest
from thalweg.learners.forests.forest import Forest, check_jobs, play_together, worth_threads
from thalweg.learners.forests.one_row import OneRow
from thalweg.learners.forests.view import History
from thalweg.learners.forests.walking import walk
from thalweg.pool.importances import WithImportances

_FAST = "warning='adwin(delta=0.01)', drift='adwin(delta=0.001)'"
PRESETS: dict[str, dict[str, Any]] = {
    "default": {
        "forests": (
            f"arf(subspace=0.6, leaf_range=False, {_FAST})",
            f"arf(subspace=0.6, criterion='gini', {_FAST})",
            f"arf(subspace=0.6, {_FAST})",
            f"arf(subspace='all', criterion='gini', {_FAST})",
        ),
        "pass_on": "mean",
        "output": "weighted",
    },
    "paper": {
        "forests": (
            "arf(subspace='sqrt')",
            "arf(subspace=0.6)",
            "arf(subspace='sqrt', rate=1.0, criterion='gini')",
            "arf(subspace=2, null_merit='zero')",
        ),
        "pass_on": "forests",
        "output": "last",
    },
}
OUTPUTS = {"last": jit.LAST, "mean": jit.MEAN, "best": jit.BEST, "weighted": jit.WEIGHTED}
_SHARDS = 2  # of each forest: there are enough forests for threads


@final
class StreamingDeepForest(WithImportances, Classifier):
    """Layers of forests; each layer sees the record and what the layer before it says about the record.

    The answers of a layer come from before it learned the row, so that no label leaks into the next layer.

    References
    ----------
    A. V. Luong, T. T. Nguyen, A. W.-C. Liew, "Streaming active deep forest for evolving data stream classification",
    2020.

    Examples
    --------
    >>> from thalweg import SEA, StreamingDeepForest
    >>> chunk = SEA(seed=1).read(3_000)
    >>> forest = StreamingDeepForest(layers=2, size=3)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    missing = "native"

    __slots__ = ("_columns", "_duel", "_layers", "_losses", "_spare")

    layers: int = whole(default=3, doc="Number of layers.", least=1, most=100)
    size: int = whole(default=50, doc="Trees in each forest of the first layer.", least=1, most=100_000)
    deep_size: int | None = whole(
        default=None,
        doc="Trees in each forest of the other layers; None: as many. With half of them it takes a third less "
        "time and is hardly less accurate.",
        least=1,
        most=100_000,
    )
    forests: Sequence[str | Forest] | None = free(
        default=None,
        doc='The forests of a layer: forests or their names, such as "arf(subspace=0.6)"; sizes, seeds and '
        "threads are set here. None: as the preset says.",
    )
    pass_on: Literal["mean", "forests"] | None = choice(
        default=None, doc="What the next layer sees: a column for each class, or one for each class and forest."
    )
    output: Literal["last", "mean", "best", "weighted"] | None = choice(
        default=None,
        doc="Whose answer counts: the last layer's, the mean of all, that of the layer with the fewest recent "
        "errors, or all of them weighed by their recent errors.",
    )
    preset: Literal["default", "paper"] = choice(
        default="default",
        doc="Where forests, pass_on and output are None: what was best over many streams, or the paper's (four "
        "forests that differ in features and weights, slower detectors, a column for each forest, the last layer).",
    )
    max_layers: int | None = whole(
        default=None,
        doc="Above ``layers``, one more layer learns on trial; it joins when it would have helped over the last "
        "1,000 rows, and another one begins. None: the number of layers stays.",
        least=1,
        most=100,
    )
    seed: int = whole(default=1, doc="Random seed.", least=0)
    n_jobs: int = free(
        default=1, doc="Threads (-1: one on each core); they change nothing but the time.", check=check_jobs
    )

    def _prepare(self) -> None:
        if self.max_layers is not None:
            params.whole("max_layers", self.max_layers, least=int(self.layers), most=100)
        chosen = self._chosen("forests")
        if isinstance(chosen, str) or not isinstance(chosen, Sequence) or not chosen:
            raise TypeError(f"forests must be a list of one or more forests or names, got {params.shown(chosen)}")
        self._new_layer(0)

    def _chosen(self, name: str) -> Any:
        """A parameter, or where it is None what the preset says."""
        value = getattr(self, name)
        return PRESETS[self.preset][name] if value is None else value

    def _new_layer(self, k: int) -> list[Forest]:
        """Make the forests of layer k."""
        size = self.size if k == 0 or self.deep_size is None else self.deep_size
        layer = []
        for j, which in enumerate(self._chosen("forests")):
            seed = int(self.seed)
            if k or j:
                seed = int(np.random.SeedSequence([seed, k, j]).generate_state(1)[0])
            forest = make_forest("forests", which, size=size, seed=seed, n_jobs=self.n_jobs)
            forest.most_shards = _SHARDS
            layer.append(forest)
        return layer

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._columns = widened(np.zeros(0, dtype=np.int64), schema.n_features, self._answers(CLASSES))
        self._layers: list[list[Inner[Forest]]] = []
        self._losses, self._duel = np.zeros(0), np.zeros(4)
        for _ in range(int(self.layers)):
            self._add_layer(schema)
        self._duel[jit.VOTING] = self.layers
        self._try_layer(schema)

    def _add_layer(self, schema: Schema) -> None:
        own = layer_schema(self._columns, schema) if self._layers else schema
        self._layers.append([Inner(forest, own) for forest in self._new_layer(len(self._layers))])
        self._spare: list[OneRow] = []
        self._losses = np.append(self._losses, self._losses[-1:] if len(self._losses) else 0.0)

    def _try_layer(self, schema: Schema) -> None:
        """Begin one more layer on trial, where there may be more."""
        if len(self._layers) < int(self.max_layers or 0):
            self._add_layer(schema)

    def _answers(self, classes: int) -> int:
        """How many columns the answers of a layer about so many classes take."""
        return classes * (1 if self._chosen("pass_on") == "mean" else len(self._chosen("forests")))

    def _extend(self, schema: Schema) -> None:
        self._widen(schema, 0)

    def _widen(self, schema: Schema, classes: int) -> None:
        """Let the layers see features, values and classes that are new."""
        answers = max(self._answers(classes), int((self._columns < 0).sum()))
        self._columns, self._spare = widened(self._columns, schema.n_features, answers), []
        deep = layer_schema(self._columns, schema)
        for k, layer in enumerate(self._layers):
            for forest in layer:
                forest.meet(deep if k else schema)

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        assert self._schema is not None
        if len(events) == len(X) == 1 and self._play_row(X, y, w, events.item(0) < 0, out, known):
            return
        if not self._begun:  # nothing learned: all classes alike, to the last bit
            n = first_learned(events)
            if known:
                out[events[:n], :known] = 1.0 / known
            events = events[n:]
        while len(events):
            n = cut(events, y, known, jit.TRIAL - int(self._duel[jit.ROWS]))
            if not self._room_for(known):
                if events[0] < 0:  # only learning may change anything: columns come with the first row learned
                    self._widen(self._schema, known)
                else:
                    n = min(n, first_learned(events))
            self._play_block(X, y, w, events[:n], out, known)
            learned = ~events[:n][events[:n] < 0]
            known = max(known, int(y[learned].max(initial=-1)) + 1)
            events = events[n:]
            self._judge(self._schema)

    def _judge(self, schema: Schema) -> None:
        """Let the layer on trial join, and another one begin, where the time has come and it has helped."""
        if self._duel[jit.ROWS] < jit.TRIAL:
            return
        gained, lost = self._duel[jit.GAINED], self._duel[jit.LOST]
        if gained - lost > 3.0 * math.sqrt(gained + lost):  # three standard deviations, were it chance
            self._duel[jit.VOTING] += 1
            try:
                self._try_layer(schema)
            except ValueError as error:  # a forest's limit_bytes may be too small for a layer this wide
                if not str(error).startswith("limit_bytes must be at least"):
                    raise
        self._duel[jit.ROWS :] = 0.0

    def _play_row(self, X: Floats, y: Ints, w: Floats, learns: bool, out: Floats, known: int) -> bool:
        """Predict the one row of X, or learn it, in one compiled call; False: that is not to be had now."""
        assert self._schema is not None
        if not (self._begun and self._room_for(known)) or (learns and y[0] >= known):
            return False
        spare, classes = self._spare, max(known, CLASSES)
        one = spare.pop() if spare else None  # of threads at once each has one
        if one is None or one.classes != classes:
            layers = [[forest.learner for forest in layer] for layer in self._layers]
            if worth_threads(layers[0], 1, self.n_jobs):
                return False
            mean = self._chosen("pass_on") == "mean"
            cascade = self._columns, self._losses, self._duel, OUTPUTS[self._chosen("output")], mean
            one = OneRow.of(layers, cascade, classes)
        if one is None or not one.play(X, y, w, learns, out, known):
            return False
        spare.append(one)
        if learns:
            self._judge(self._schema)
        return True

    @property
    def _begun(self) -> bool:
        """Has a row been learned?"""
        return self._layers[0][0].learner.rows_learned > 0

    def _room_for(self, classes: int) -> bool:
        """Are there columns for what layers say about so many classes?"""
        assert self._schema is not None
        return self._answers(classes) <= len(self._columns) - self._schema.n_features

    def _play_asking(
        self, X: Floats, y: Ints, w: Floats, asking: Any, why: NDArray[np.int8], out: Floats, known: int
    ) -> int | None:
        on_trial = len(self._layers) > self.n_layers
        if on_trial or not self._begun or not self._room_for(known):
            return None if on_trial else 0
        layers = [[forest.learner for forest in layer] for layer in self._layers]
        rule, mean = OUTPUTS[self._chosen("output")], self._chosen("pass_on") == "mean"
        return walk(
            layers, self._columns, self._losses, self._duel, rule, mean, X, y, w, asking, why, out, known,
            max(known, CLASSES),
        )  # fmt: skip

    def _play_block(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        """Play events at whose end, at most, something changes: a class is new, or a layer on trial is judged."""
        steps = unroll(events)
        answers = [layer.mean(axis=0) for layer in self._answer(X, y, w, steps, known)]
        mixed = np.zeros((len(steps.rows), answers[0].shape[1]))
        weights = np.empty(len(answers))
        labels = y[steps.rows] if len(y) else y
        rule = OUTPUTS[self._chosen("output")]
        jit.combine(np.stack(answers), labels, steps.events, known, rule, self._losses, self._duel, weights, mixed)
        if len(steps.asked):
            out[steps.rows[steps.asked], :known] = mixed[steps.asked, :known]

    def _answer(self, X: Floats, y: Ints, w: Floats, steps: Steps, known: int) -> list[Floats]:
        """Let the steps go through the layers; give what each says: forests × rows × classes."""
        rows, X = steps.rows, X[steps.rows]
        y, w = (y[rows], w[rows]) if len(y) else (y, w)
        answers: list[Floats] = []
        classes = max(known, CLASSES)
        for layer in self._layers:
            Z = X
            if answers:
                said = answers[-1].mean(axis=0) if self._chosen("pass_on") == "mean" else _side_by_side(answers[-1])
                Z = stacked(self._columns, X, said)
            answers.append(np.zeros((len(layer), len(rows), classes)))
            play_together(
                [forest.learner for forest in layer], Z, y, w, steps.events, list(answers[-1]), known, self.n_jobs
            )
        return answers

    def _rehearse(self) -> None:
        self._layers[0][0].rehearse(self._labels)

    def _tables(self) -> State:
        tables = {"columns": self._columns, "losses": self._losses, "duel": self._duel}
        for k, layer in enumerate(self._layers):
            for j, forest in enumerate(layer):
                tables |= forest.tables(f"{k}.{j}")
        return tables

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        self._check(tables, schema, classes)
        columns, losses, duel = (tables[name] for name in jit.Cascade._fields)
        deep = layer_schema(columns, schema)
        layers = [
            [
                Inner.adopt(forest, f"{k}.{j}", tables, deep if k else schema, classes)
                for j, forest in enumerate(self._new_layer(k))
            ]
            for k in range(len(losses))
        ]
        self._columns, self._losses, self._duel, self._layers, self._spare = columns, losses, duel, layers, []

    def _check(self, tables: State, schema: Schema, classes: int) -> None:
        """Refuse tables that no cascade with these parameters could have."""
        most, d = int(self.max_layers or self.layers), schema.n_features
        sizes = check(jit.Cascade, tables, d=d, fewest=int(self.layers), greatest=most)
        voting, rows, gained, lost = tables["duel"].tolist()
        answers = sizes["width"] - d
        if not (
            (sizes["layers"] == min(voting + 1, most) or (sizes["layers"] == voting and rows == 0))
            and gained + lost <= rows
            and self._answers(CLASSES) <= answers <= self._answers(max(classes, CLASSES))
            and answers % self._answers(1) == 0
            and np.array_equal(np.sort(tables["columns"]), np.arange(-answers, d))
        ):
            raise ValueError("its tables of the cascade hold what no cascade could")

    @property
    def state_bytes(self) -> int:
        """Bytes of all tables of the model."""
        return sum(self.memory().values()) if self._started else 0

    # -- frozen -------------------------------------------------------------------------------------------------------

    @looks
    def compile(self) -> FrozenDeepForest:
        """Give a predictor that answers as the forest does now, bit for bit, and faster; it learns no more.

        Examples
        --------
        >>> from thalweg import SEA, StreamingDeepForest
        >>> chunk = SEA(seed=1).read(1_000)
        >>> forest = StreamingDeepForest(layers=2, size=3).partial_fit(chunk.X, chunk.y)
        >>> bool((forest.compile().predict_proba(chunk.X) == forest.predict_proba(chunk.X)).all())
        True
        """
        self._must_have_begun()
        assert self._schema is not None
        voting = self._layers[: self.n_layers]
        layers = [[forest.lend(self._labels).compile() for forest in layer] for layer in voting]
        mean = self._chosen("pass_on") == "mean"
        weights = np.array(self.layer_weights)
        return FrozenDeepForest.of(layers, self._columns, weights, mean, self._labels, self._schema)

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def n_layers(self) -> int:
        """Layers that answer. One more may be on trial."""
        return int(self._duel[jit.VOTING]) if self._started else int(self.layers)

    @property
    def layer_weights(self) -> list[float]:
        """The say that each layer has now."""
        weights = np.empty(self.n_layers)
        losses = self._losses if self._started else np.zeros(self.n_layers)
        jit.weigh(losses, self.n_layers, OUTPUTS[self._chosen("output")], weights)
        return [float(v) for v in weights]

    def layer_probas(self, X: Any) -> list[Floats]:
        """Give for each layer, one on trial too, what its forests say: forests × rows × classes. Changes nothing.

        Examples
        --------
        >>> from thalweg import SEA, StreamingDeepForest
        >>> chunk = SEA(seed=1).read(1_000)
        >>> forest = StreamingDeepForest(layers=2, size=3).partial_fit(chunk.X, chunk.y)
        >>> [layer.shape for layer in forest.layer_probas(chunk.X[:5])]
        [(4, 5, 2), (4, 5, 2)]
        """
        self._must_have_begun()
        X, _ = door.rows(X, self._schema, missing=True, learning=False)
        no_codes, known = np.zeros(0, dtype=np.int64), len(self._labels)
        found = self._answer(X, no_codes, np.zeros(0), unroll(np.arange(len(X))), known)
        return [np.ascontiguousarray(layer[:, :, :known]) for layer in found]

    def layer_forests(self, layer: int) -> list[Forest]:
        """Give copies of the forests of a layer, counted from 0, to look at: members, importances, memory.

        To a layer after the first one the features "answer 0", … are what the layer before says about class 0, …; with
        ``pass_on="forests"`` about class 0 by its first forest, by its second, …, then about class 1.

        Examples
        --------
        >>> from thalweg import SEA, StreamingDeepForest
        >>> chunk = SEA(seed=1).read(1_000)
        >>> forest = StreamingDeepForest(layers=2, size=3).partial_fit(chunk.X, chunk.y)
        >>> [f.schema.names for f in forest.layer_forests(1)[:1]]
        [('x0', 'x1', 'x2', 'answer 0', 'answer 1')]
        """
        self._must_have_begun()
        params.whole("layer", layer, least=0, below=len(self._layers))
        return [forest.lend(self._labels).copy() for forest in self._layers[layer]]

    @property
    def layer_drifts(self) -> list[int]:
        """How many trees were replaced in each layer so far."""
        return [sum(forest.drifts for forest in layer) for layer in self._histories()]

    @property
    def layer_warnings(self) -> list[int]:
        """How many warnings there were in each layer so far."""
        return [sum(forest.warnings for forest in layer) for layer in self._histories()]

    @property
    def finds_drifts(self) -> bool:
        """Does it look for drifts, and tell of those it found?"""
        return any(finds_drifts(forest) for forest in self._new_layer(0))

    @property
    def n_drifts(self) -> int:
        """How many trees were replaced so far."""
        return sum(self.layer_drifts)

    @property
    def rows_learned(self) -> int:
        """Rows learned so far."""
        return self._histories()[0][0].rows if self._started else 0

    @property
    def replacements(self) -> list[tuple[int, int]]:
        """When trees were replaced: (rows learned before, tree), in order of time; the latest 18 of each tree."""
        found, first, histories = [], 0, self._histories()
        for layer, history in zip(self._layers if self._started else (), histories, strict=True):
            began = histories[0][0].rows - history[0].rows  # a layer may have joined late
            for forest in layer:
                found += [(began + row, first + t) for row, t in forest.learner.replacements]
                first += int(forest.learner.size)
        return sorted(found)

    def _gains(self) -> Floats:
        """Add up the layers by their say: what each gains by a feature itself, and through the layer before it."""
        self._must_have_begun()
        assert self._schema is not None
        gains, passed_on = np.zeros(self._schema.n_features), np.zeros(self._schema.n_features)
        for k, say in enumerate(self.layer_weights):
            shares = np.mean([forest.lend(self._labels).feature_importances_ for forest in self._layers[k]], axis=0)
            if k:
                given = self._columns >= 0
                own = np.zeros(len(gains))
                own[self._columns[given]] = shares[given]
                shares = own + shares[~given].sum() * passed_on
            passed_on = shares
            gains += say * shares
        return gains

    def memory(self) -> dict[str, int]:
        """Bytes of the model by layer."""
        if not self._started:
            return {}
        parts = {f"layer {k}": sum(f.state_bytes for f in layer) for k, layer in enumerate(self._layers)}
        return parts | {"cascade": self._columns.nbytes + self._losses.nbytes + self._duel.nbytes}

    def _histories(self) -> list[list[History]]:
        return [[forest.learner.history for forest in layer] for layer in self._layers] if self._started else []

    def _must_have_begun(self) -> None:
        if not self._started:
            raise ValueError("the forest has not seen a row yet: nothing to look at")


def _side_by_side(answers: Floats) -> Floats:
    """Rows of forests × classes, class after class: the columns of a new class come after all others."""
    forests, rows, classes = answers.shape
    return np.ascontiguousarray(answers.transpose(1, 2, 0)).reshape(rows, classes * forests)
