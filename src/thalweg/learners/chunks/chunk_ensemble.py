"""An ensemble with a tree for each chunk of labelled rows, asked through an index of their rules."""

from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check, span, table
from thalweg.core.fields import choice, fixed, free, number, whole
from thalweg.core.in_use import looks
from thalweg.core.names import parse
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.index.choose import suits
from thalweg.index.index import Index
from thalweg.index.rules import Rules
from thalweg.learners.chunks.chunk_tree import ChunkTree, Trees, cut_trees, grow_tree, sklearn_tree
from thalweg.learners.chunks.frozen_ensemble import FrozenEnsemble
from thalweg.learners.chunks.target import PATIENCE, Target, weight_of
from thalweg.pool.pool_jit import NODE
from thalweg.registry import INDEXES

_MAX_BITMAP = 67_108_864


class Chunk(NamedTuple):
    """The rows that wait."""

    rows: Annotated[Floats, table("w", "d", missing=True)]
    """w × d: as they came."""
    codes: Annotated[Ints, table("w", least=0, most="classes - 1")]
    """w: their classes."""
    row_weights: Annotated[Floats, table("w", least=0)]
    """w: their weights."""


class Ensemble(NamedTuple):
    """What is known of the trees, see Trees."""

    say: Annotated[Floats, table("trees", least=0)]
    """trees: how much each counts."""
    head: Annotated[Ints, table(3, cells={0: span("trees", 2**53), 1: span(-1, 1), 2: span(0, PATIENCE - 1)})]
    """3: trees trained; the class whose rules are indexed (-1: all) and how long another has waited, see Target."""


@final
class ChunkEnsemble(Classifier):
    """Trains a tree on each chunk of labelled rows, keeps the last of them, and answers through an index.

    Until the first chunk is full all classes are alike. ``flush`` makes a tree of a chunk that is not full yet, and
    ``fit``, after which nothing more may come, does so too.

    References
    ----------
    P. Zhang et al., "Enabling fast prediction for ensemble models on data streams", KDD 2011; H. Wang, W. Fan, P. S.
    Yu, J. Han, "Mining concept-drifting data streams using ensemble classifiers", KDD 2003 (weights).

    Examples
    --------
    >>> from thalweg import SEA
    >>> chunk = SEA(seed=1).read(6_000)
    >>> learner = ChunkEnsemble(size=3, chunk=1_000, index="e-tree").partial_fit(chunk.X, chunk.y)
    >>> learner.trained, len(learner.trees), learner.score(chunk.X, chunk.y) > 0.8
    (6, 3, True)
    """

    missing: Literal["reject", "native"] = fixed("native")

    __slots__ = ("_X", "_index", "_kind", "_reason", "_say", "_target", "_trees", "_used", "_w", "_y", "trained")

    size: int | None = whole(
        default=30, doc="Trees that are kept, the oldest goes first (the paper's n); None: all.", least=1
    )
    chunk: int = whole(default=1_000, doc="Rows of a tree (the paper's D).", least=1)
    index: str = free(
        default="auto",
        doc='"linear-rules", "linear-trees", "e-tree", "bitmap", "compiled-trees", with parameters if need be, such as '
        '"e-tree(most=20)", or "auto": whichever suits the rules there are; ``index_reason`` says why. All give the '
        "same bits.",
        check=lambda _name, value: _new_index(value, "linear-rules"),
    )
    weights: Literal["equal", "accuracy", "decay"] = choice(
        default="equal",
        doc='"equal", as in the paper; "accuracy": by how much a tree\'s squared error on the newest chunk is below '
        'that of guessing by class shares (the newest tree\'s counts as 0); "decay": each tree has ``decay`` '
        "times the say of the next.",
    )
    votes: Literal["soft", "hard"] = choice(
        default="soft", doc='"soft", shares of the classes in a leaf; "hard", its heaviest class, as in the paper.'
    )
    indexed: Literal["all", "target"] = choice(
        default="all",
        doc='Which rules are indexed: "all", or, with two classes and hard votes, those of the "target" class, the one '
        "with fewer rules, as in the paper; the other class has what is left. With more classes it is all.",
    )
    decay: float = number(default=0.9, doc="What is left of a tree's say when the next one comes.", above=0, most=1)
    min_leaf: float = number(default=2.0, doc="Weight that at least two branches of a test must hold.", above=0)
    confidence: float | None = number(
        default=0.25, doc="Confidence of pessimistic pruning: lower prunes more; None: no pruning.", above=0, most=0.5
    )
    backend: Literal["c4.5", "sklearn"] = choice(
        default="c4.5", doc='"c4.5", see ``chunk_tree``; "sklearn": scikit-learn\'s tree by entropy, without pruning.'
    )

    def _prepare(self) -> None:
        if self.indexed == "target" and self.votes != "hard":
            raise ValueError("votes must be 'hard' for an index of the target class alone, got 'soft'")

    # -- learning and predicting --------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._X, self._y, self._w = np.zeros((0, schema.n_features)), np.zeros(0, dtype=np.int64), np.zeros(0)
        self._used, self.trained, self._say = 0, 0, np.zeros(0)
        self._kind: str = ""
        self._reason: str = ""
        self._index: Index
        self._trees: list[ChunkTree] = []
        self._target = Target()
        self._make_index(schema)

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if not len(y):  # nothing to learn
            if self._trees:
                scores = self._answers(X[events])
                out[events, : scores.shape[1]] = scores
            elif known:
                out[events, :known] = 1.0 / known
            return
        learns = np.flatnonzero(events < 0)
        done, at = 0, 0
        while done < len(events):
            room = int(self.chunk) - self._used
            full = at + room <= len(learns)
            stop = int(learns[at + room - 1]) + 1 if full else len(events)
            part = events[done:stop]
            known = self._answer_part(X, y, part, out, known)
            rows = ~part[part < 0]
            self._keep(X[rows], y[rows], w[rows])
            at += len(rows)
            if full:
                self._train(known)
            done = stop

    def _answer_part(self, X: Floats, y: Ints, events: Ints, out: Floats, known: int) -> int:
        """Answer what is asked while no tree is trained; give how many classes are known then."""
        asked, learned = events >= 0, events < 0
        codes = np.full(len(events), known)
        codes[learned] = np.maximum(known, y[~events[learned]] + 1)
        there = np.maximum.accumulate(codes)
        rows = events[asked]
        if len(rows) and self._trees:
            scores = self._answers(X[rows])
            out[rows, : scores.shape[1]] = scores
        elif len(rows):
            alike = np.arange(out.shape[1]) < there[asked, None]
            out[rows] = alike / np.maximum(there[asked, None], 1)
        return int(there[-1]) if len(there) else known

    def _keep(self, X: Floats, y: Ints, w: Floats) -> None:
        """Put rows into the chunk."""
        used, end = self._used, self._used + len(y)
        if end > len(self._y):
            room = min(int(self.chunk), max(end, 2 * used))
            X_new, y_new, w_new = np.zeros((room, self._X.shape[1])), np.zeros(room, dtype=np.int64), np.zeros(room)
            X_new[:used], y_new[:used], w_new[:used] = self._X[:used], self._y[:used], self._w[:used]
            self._X, self._y, self._w = X_new, y_new, w_new
        self._X[used:end], self._y[used:end], self._w[used:end] = X, y, w
        self._used = end

    def _train(self, classes: int) -> None:
        """Make a tree of the chunk, weigh the trees, and bring the index up to date."""
        X, y, w = self._X[: self._used], self._y[: self._used], self._w[: self._used]
        tree = self._grow(X, y, w, classes)
        self._trees.append(tree if self.votes == "soft" else tree.hard())
        gone = self.size is not None and len(self._trees) > self.size
        if gone:
            self._trees.pop(0)
        self.trained += 1
        self._used = 0
        self._say = self._weigh(X, y, w)
        before = self._kind, self._target.code
        if self.indexed == "target":
            self._target = self._target.after(_leaves(self._trees, classes))
        if self.index == "auto":
            self._kind, self._reason = self._suiting(self._trees, self._schema, self._target)
        if before != (self._kind, self._target.code):
            self._make_index(self._schema)
            return
        if gone:
            self._index.delete(self.trained - 1 - len(self._trees))
        self._index.widen_classes(classes)
        rules = self._trees[-1].rules(_nominal(self._schema), classes)
        self._index.insert(self.trained - 1, self._target.of(rules))
        for name, say in zip(range(self.trained - len(self._trees), self.trained), self._say.tolist(), strict=True):
            self._index.set_weight(name, say)

    def _grow(self, X: Floats, y: Ints, w: Floats, classes: int) -> ChunkTree:
        least = float(self.min_leaf)
        if self.backend == "sklearn":
            return sklearn_tree(X, y, w=w, classes=classes, min_leaf=least)
        values = np.zeros(X.shape[1], dtype=np.int64)
        for f in np.flatnonzero(_nominal(self._schema)):
            there = X[:, f][~np.isnan(X[:, f])]
            values[f] = int(there.max(initial=0.0)) + 1
        return grow_tree(X, y, values, w=w, classes=classes, min_leaf=least, confidence=self.confidence)

    def _weigh(self, X: Floats, y: Ints, w: Floats) -> Floats:
        n = len(self._trees)
        if self.weights == "decay":
            return np.asarray(float(self.decay) ** np.arange(n - 1, -1, -1.0))
        if self.weights == "accuracy":  # Wang et al. 2003, section 3.2
            shares = np.bincount(y, weights=w) / w.sum()
            guessing = float((shares * (1.0 - shares) ** 2).sum())
            errors = [tree.squared_error(X, y, w) for tree in self._trees[:-1]]
            say = np.maximum(0.0, guessing - np.array([*errors, 0.0]))
            if say.any():
                return say
        return np.ones(n)

    def _rehearse(self) -> None:
        self.flush()
        if self._trees:
            rules = _rules(self._trees, self._schema)
            kinds = [self.index] if self.index != "auto" else ["linear-rules", "bitmap"]  # what it will mostly be
            for kind in kinds:
                index = _new_index(kind, kind)
                index.insert_all(rules)
                index.scores(np.zeros((1, len(index.values))))
                index.delete(0)

    def flush(self) -> Self:
        """Make a tree of the rows that wait in the chunk, however few.

        Examples
        --------
        >>> learner = ChunkEnsemble(chunk=100).partial_fit([[0.0], [1.0]] * 20, ["no", "yes"] * 20)
        >>> learner.predict_proba_one([1.0]), learner.flush().predict_one([1.0])
        ({'no': 0.5, 'yes': 0.5}, 'yes')
        """
        if self._started and self._used:
            self._train(len(self._labels))
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget, learn the rows in order, and ``flush`` (scikit-learn's verb; streams use ``partial_fit``)."""
        return super().fit(X, y, sample_weight).flush()

    # -- the index ----------------------------------------------------------------------------------------------------

    def _make_index(self, schema: Schema | None) -> None:
        """Make the index anew from the trees."""
        given = self._trees, self._say, self.trained, schema, self._target
        self._kind, self._reason, self._index = self._indexed(*given)

    def _indexed(
        self, trees: list[ChunkTree], say: Floats, trained: int, schema: Schema | None, target: Target
    ) -> tuple[str, str, Index]:
        kind, reason = self._suiting(trees, schema, target) if self.index == "auto" else ("", "asked for")
        index = _new_index(self.index, kind)
        for k, rules in enumerate(_rules(trees, schema)):
            index.insert(trained - len(trees) + k, target.of(rules), float(say[k]))
        return kind, reason, index

    def _suiting(self, trees: list[ChunkTree], schema: Schema | None, target: Target) -> tuple[str, str]:
        return suits([target.of(rules) for rules in _rules(trees, schema)], 1, _MAX_BITMAP)

    def _answers(self, X: Floats) -> Floats:
        return self._target.answers(self._index, X, weight_of(self._say))

    @property
    def trees(self) -> list[ChunkTree]:
        """The trees that are kept, the oldest first."""
        return list(self._trees) if self._started else []

    @property
    def rules(self) -> list[Rules]:
        """The rules of each tree that is kept, with its say."""
        if not self._started:
            return []
        return [replace(r, say=float(w)) for r, w in zip(_rules(self._trees, self._schema), self._say, strict=True)]

    @property
    def waiting(self) -> int:
        """Rows that wait for their chunk to be full."""
        return self._used if self._started else 0

    @property
    def next_change(self) -> int:
        """After how many more learned rows there is a new tree."""
        return int(self.chunk) - self.waiting

    @property
    def rule_index(self) -> Index:
        """The index of the rules; it changes when a tree is trained."""
        if not self._started:
            raise ValueError("the ensemble has not seen a row yet: there is no index")
        return self._index

    @property
    def index_reason(self) -> str:
        """Which index answers, and why."""
        return f"{type(self.rule_index).__name__}: {self._reason}"

    @looks
    def compile(self) -> FrozenEnsemble:
        """Give a predictor that answers as the ensemble does now, bit for bit; it learns no more.

        Examples
        --------
        >>> from thalweg import SEA
        >>> chunk = SEA(seed=1).read(3_000)
        >>> learner = ChunkEnsemble(chunk=500).partial_fit(chunk.X, chunk.y)
        >>> bool((learner.compile().predict_proba(chunk.X) == learner.predict_proba(chunk.X)).all())
        True
        """
        if not self._started or self._schema is None:
            raise ValueError("the ensemble has not seen a row yet: nothing to compile")
        given = self._trees, self._say, self.trained, self._schema, self._target
        *_, index = self._indexed(*given)  # of its own: how the present one lies depends on how it came about
        kind = next(name for name, entry in INDEXES.items() if type(index) is entry.cls)
        return FrozenEnsemble.of(kind, index, self._target, self._labels, self._schema)

    # -- tables -------------------------------------------------------------------------------------------------------

    def _tables(self) -> State:
        trees, classes = self._trees, max((tree.votes.shape[1] for tree in self._trees), default=0)
        votes = [np.pad(tree.votes, ((0, 0), (0, classes - tree.votes.shape[1]))) for tree in trees]
        return {
            "rows": self._X[: self._used],
            "codes": self._y[: self._used],
            "row_weights": self._w[: self._used],
            "nodes": np.concatenate([np.zeros(0, dtype=NODE), *(tree.nodes for tree in trees)]),
            "missing": np.concatenate([np.zeros(0, dtype=np.int64), *(tree.missing for tree in trees)]),
            "votes": np.concatenate([np.zeros((0, classes)), *votes]),
            "support": np.concatenate([np.zeros(0), *(tree.support for tree in trees)]),
            "sizes": np.array([[len(t.nodes), len(t.votes)] for t in trees], dtype=np.int64).reshape(-1, 2),
            "say": self._say,
            "head": np.array([self.trained, self._target.code, self._target.waited], dtype=np.int64),
        }

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        sizes = check(
            (Chunk, Trees, Ensemble), tables, d=schema.n_features, classes=classes,
            most={"w": int(self.chunk) - 1, "K": classes} | ({} if self.size is None else {"trees": self.size}),
        )  # fmt: skip
        rows, codes, row_weights = tables["rows"], tables["codes"], tables["row_weights"]
        if not _are_codes(rows, schema.ceilings[0]).all():
            raise ValueError("its table 'rows' must hold codes of nominal values")
        if tables["head"][1] >= 0 and sizes["K"] != 2:
            raise ValueError("its table 'head' must hold -1 unless there are two classes")
        trees = cut_trees(tables, _nominal(schema))
        say, (trained, *target) = tables["say"].copy(), tables["head"].tolist()
        self._target = Target(*target)
        self._kind, self._reason, self._index = self._indexed(trees, say, trained, schema, self._target)
        self._trees, self._say, self.trained = trees, say, trained
        self._X, self._y, self._w, self._used = rows, codes, row_weights, len(codes)

    def _extend(self, schema: Schema) -> None:
        more = schema.n_features - self._X.shape[1]
        if more:
            self._X = np.pad(self._X, ((0, 0), (0, more)), constant_values=np.nan)
            self._make_index(schema)


def _leaves(trees: list[ChunkTree], classes: int) -> list[int]:
    """How many leaves of all trees vote for each class."""
    votes = np.concatenate([tree.votes.argmax(axis=1) for tree in trees])
    return np.bincount(votes, minlength=classes).tolist()  # type: ignore[no-any-return]


def _are_codes(rows: Floats, ceilings: Ints) -> NDArray[np.bool_]:
    """Say which values are missing, numbers, or codes below the ceiling of a nominal feature."""
    code = (rows >= 0.0) & (rows < ceilings) & (rows == np.floor(rows))
    return np.asarray(code | np.isnan(rows) | (ceilings < 0))


def _nominal(schema: Schema | None) -> NDArray[np.bool_]:
    assert schema is not None
    return schema.nominal > 0


def _rules(trees: list[ChunkTree], schema: Schema | None) -> list[Rules]:
    """The rules of trees, with votes for as many classes as any of them knows."""
    classes = max((tree.votes.shape[1] for tree in trees), default=0)
    return [tree.rules(_nominal(schema), classes) for tree in trees]


def _new_index(text: str, suiting: str) -> Index:
    """Make an empty index of the kind that ``index`` says. suiting: what "auto" stands for now."""
    if text == "auto":
        return INDEXES[suiting].make()  # type: ignore[no-any-return]
    options = ("auto", *INDEXES)
    try:
        name, given = parse(text)
    except ValueError:
        name, given = "", {}
    if name not in INDEXES:
        raise ValueError(f"index must be one of {', '.join(map(repr, options))}, got {params.shown(text)}")
    try:
        return INDEXES[name].make(**given)  # type: ignore[no-any-return]
    except (TypeError, ValueError) as error:
        raise ValueError(f"index {params.shown(text)} cannot be made: {error}") from None
