"""Nearest neighbours behind a projection: a window of few columns, however many the records have."""

from typing import final

import numpy as np

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.door import Rows
from thalweg.core.fields import again, flag, number, whole
from thalweg.core.inside import PassesOnDrifts, made_like
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under
from thalweg.learners.compressed.projected import Compressed, RandomProjection, Size
from thalweg.learners.compressed.raw_rows import DenseRows, RawRows, SparseRows
from thalweg.learners.windows.bagged import MOST, BaggedKNN
from thalweg.learners.windows.knn import WindowKNN
from thalweg.learners.windows.neighbours import Bagging, Neighbours
from thalweg.learners.windows.sam_knn import Memories, SamKNN
from thalweg.projections.pca import PCAProjection
from thalweg.projections.projection import Projection
from thalweg.projections.random_matrices import HashProjection

_CELLS = 1 << 20  # numbers of raw rows that are projected again at a time


@final
class CompressedKNN(Neighbours, RandomProjection, Compressed):
    """Nearest neighbours behind a random projection (CS-kNN): thousands of features cost no more than p.

    Memory: window × p, and the matrix (``memory()`` tells them apart), which is drawn anew when a model is loaded.

    References
    ----------
    M. Bahri, A. Bifet, S. Maniu, R. de Mello, N. Tziortziotis, "Compressed k-nearest neighbors ensembles for evolving
    data streams", ECAI 2020.

    Examples
    --------
    >>> from thalweg import CompressedKNN, Text
    >>> chunk = Text(words=1000, seed=1).read(5_000)
    >>> learner = CompressedKNN(k=5, p=40)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.7)
    True
    """

    bounded = True

    __slots__ = ()

    def _make_learner(self) -> Classifier:
        return made_like(WindowKNN, self)


@final
class HashedKNN(Neighbours, Size, Compressed):
    """Nearest neighbours behind the hashing trick (HT-kNN): each feature is added to, or taken from, one of p columns.

    Examples
    --------
    >>> from thalweg import HashedKNN, Text
    >>> chunk = Text(words=1000, seed=1).read(5_000)
    >>> learner = HashedKNN(p=40)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.65)
    True
    """

    bounded = True

    binary: bool = flag(default=False, doc="A value other than 0 counts 1, as in MOA's filter.")
    seed: int = whole(default=1, doc="For the hash.", least=0)

    __slots__ = ()

    def _make_projection(self) -> Projection:
        return HashProjection(binary=self.binary, seed=self.seed, **self._size())

    def _make_learner(self) -> Classifier:
        return made_like(WindowKNN, self)


@final
class PCAKNN(Neighbours, Size, Compressed):
    """Nearest neighbours behind principal components that follow the stream (PCA-kNN).

    Memory: window × p, and the components, p × columns; with ``reproject_every`` also the rows of the window as they
    came, window × features (sparse ones, if the first came so: the values that are not 0), which are part of a saved
    model. Time for a row: p × columns; to project again, window / n times that.

    Examples
    --------
    >>> from thalweg import PCAKNN, Text
    >>> chunk = Text(words=500, seed=1).read(3_000)
    >>> learner = PCAKNN(p=40)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.7)
    True
    """

    bounded = True

    amnesia: float = number(
        default=0.0,
        doc="How much more the newest rows count (l): 0 all alike, up to 4 where the stream changes.",
        least=0,
        most=1_000_000,
    )
    centre: bool = flag(default=True, doc="Subtract the mean.")
    reproject_every: int | None = whole(
        default=None,
        doc="None: rows stay in the window as they were projected when they came; n: after every n learned rows "
        "the whole window is projected again by the components of that moment (the deviations of scale "
        '"online" stay those of the rows as they came).',
        least=1,
    )

    __slots__ = ("_raw",)

    def memory(self) -> dict[str, int]:
        """Bytes of the model, of the projection in front of it, and of the rows as they came where these are kept."""
        kept = {"rows": self._raw.nbytes} if self._started and self._raw is not None else {}
        return super().memory() | kept

    def _make_projection(self) -> Projection:
        return PCAProjection(amnesia=self.amnesia, centre=self.centre, **self._size())

    def _make_learner(self) -> Classifier:
        return made_like(WindowKNN, self)

    @property
    def _neighbours(self) -> WindowKNN:
        assert isinstance(self._inner.learner, WindowKNN)
        return self._inner.learner

    def _start(self, schema: Schema) -> None:
        super()._start(schema)
        self._raw: RawRows | None = None  # the rows as they came, from the first learned one on, where they are needed

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        n = self.reproject_every
        if n is None:
            super()._play(X, y, w, events, out, known)
            return
        assert isinstance(self._projection, PCAProjection)
        learns = np.flatnonzero(events < 0)
        *full, rest = np.split(events, learns[-(self._projection.learned + 1) % n :: n] + 1)
        for part in full:
            known = self._play_part(X, y, w, part, out, known)
            self._project_again()
        self._play_part(X, y, w, rest, out, known)

    def _play_part(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> int:
        """Play events after the last of which the window may be projected again; give how many classes are known."""
        learned = ~events[events < 0]
        if len(learned):
            if self._raw is None:
                self._raw = (DenseRows if isinstance(X, np.ndarray) else SparseRows)(self.window, X.shape[1])
            self._raw.put(X, learned, self._neighbours.next_slot)
        super()._play(X, y, w, events, out, known)
        return max(known, int(y[learned].max(initial=-1)) + 1)

    def _project_again(self) -> None:
        """Let all rows of the window be what the components of now make of them."""
        raw = self._raw
        assert raw is not None
        step, rows = max(1, _CELLS // max(1, raw.d)), np.zeros((raw.n, self._projection.dimension))
        for first in range(0, raw.n, step):
            block = raw.dense(first, min(first + step, raw.n))
            self._projection.project(block, np.arange(len(block)), rows[first : first + step])
        self._neighbours.replace_rows(rows)

    def _extend(self, schema: Schema) -> None:
        super()._extend(schema)
        if self._raw is not None:
            self._raw.extend(schema.n_features)

    def _tables(self) -> State:
        return super()._tables() | ({} if self._raw is None else prefixed("raw", self._raw.tables()))

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        raw: RawRows | None = None
        projection, inner, watch = self._parts(tables, schema, classes)
        if self.reproject_every is not None:
            assert isinstance(inner.learner, WindowKNN)
            given = under("raw", tables)
            raw = (SparseRows if "starts" in given else DenseRows)(self.window, schema.n_features)
            raw.restore(given, inner.learner.n_rows)
        self._projection, self._inner, self._watch, self._raw = projection, inner, watch, raw


@final
class CompressedBaggedKNN(Bagging, Neighbours, RandomProjection, PassesOnDrifts, Compressed):
    """Bagged nearest neighbours behind one random projection (CS-kNN under leveraging bagging).

    The members hardly differ; CompressedBagging gives each its own matrix, which helps much more.

    Examples
    --------
    >>> from thalweg import CompressedBaggedKNN, Text
    >>> chunk = Text(words=1000, seed=1).read(3_000)
    >>> learner = CompressedBaggedKNN(p=40)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.65)
    True
    """

    bounded = True

    size: int = whole(default=10, doc="Number of members.", least=1, most=MOST)
    seed: int = again(default=1, doc="Random seed of the matrix and the draws.")

    __slots__ = ()

    def _telling(self) -> Classifier:
        return self._inner.learner if self._started else self._make_learner()

    def _make_learner(self) -> Classifier:
        return made_like(BaggedKNN, self)


@final
class CompressedSamKNN(Memories, RandomProjection, Compressed):
    """Neighbours with a short-term and a long-term memory behind a random projection (CS-samkNN).

    Examples
    --------
    >>> from thalweg import CompressedSamKNN, Text
    >>> chunk = Text(words=500, seed=1).read(3_000)
    >>> learner = CompressedSamKNN(p=40)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.65)
    True
    """

    bounded = True

    window: int = again(default=1000)
    seed: int = again(default=1, doc="Random seed of the matrix and the clusterings.")

    __slots__ = ()

    def _make_learner(self) -> Classifier:
        return made_like(SamKNN, self)
