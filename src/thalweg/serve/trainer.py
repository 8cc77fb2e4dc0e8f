"""The side that learns: it takes rows, asks for some of the labels, and publishes versions."""

import os
import time
import warnings
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.classifier import Classifier
from thalweg.core.inside import codes_of, refuse
from thalweg.core.interrupts import SECONDS, Interrupts
from thalweg.core.labels import sequence
from thalweg.detectors.by_name import make_detector
from thalweg.jit.random import uniforms_from
from thalweg.keeping import snapshot
from thalweg.serve.versions import Note, Shelf

_LOOK = 100
"""After so many rows a trainer looks whether there was a drift."""
_DRIFT = 2


@final
class Trainer:
    """Learns a stream, and publishes what it has learned to a folder, from which a ``Predictor`` answers.

    A trainer that finds a published version in its folder goes on from it, whatever became of the one before: ``rows``
    says how many rows of the stream that version had been given, and the next ``feed`` must begin with the row after.
    How rows are divided into calls of ``feed`` does not matter.

    Parameters
    ----------
    learner : Classifier
        Any learner; one with ``compile`` (a ``ChunkEnsemble``, a forest) is published frozen, another as it is.
    folder : str | os.PathLike[str]
        For versions; one in a file system of memory never touches the disk.
    every : int | None
        Rows between versions.
    drift : object
        A detector, or its name, which watches the learner's errors: a version is published when it finds a change.
        With neither, a ``ChunkEnsemble`` publishes whenever it has a new tree.
    budget : float
        Share of the rows that are labelled and learned, drawn by ``seed``; the label of another row is never looked at.
    seed : int
        Random seed of the draws.
    label_fraction : float | None
        The name of ``budget`` in earlier versions.
    keep : int
        Versions whose files stay.

    Examples
    --------
    >>> import tempfile
    >>> from thalweg import SEA, ChunkEnsemble, Predictor
    >>> folder, chunk = tempfile.mkdtemp(), SEA(seed=1).read(5_000)
    >>> predictor = Predictor(folder, wait=None, poll=None)
    >>> before = predictor.version
    >>> with Trainer(ChunkEnsemble(chunk=1_000), folder) as trainer:
    ...     published = trainer.feed(chunk.X, chunk.y)
    ...     taken = predictor.refresh()
    >>> before, published, taken, predictor.version, predictor.rows
    (0, 5, True, 5, 5000)
    """

    def __init__(
        self,
        learner: Classifier,
        folder: str | os.PathLike[str],
        *,
        every: int | None = None,
        drift: Any = None,
        budget: float = 1.0,
        seed: int = 1,
        keep: int = 2,
        label_fraction: float | None = None,
    ) -> None:
        if not isinstance(learner, Classifier):
            raise TypeError(f"learner must be a learner of this library, got {params.shown(learner)}")
        if every is not None:
            params.whole("every", every, least=1)
        if label_fraction is not None:
            warnings.warn("label_fraction is called budget now", DeprecationWarning, stacklevel=2)
            budget = label_fraction
        params.number("budget", budget, above=0, most=1)
        params.whole("seed", seed, least=0, below=1 << 64)
        params.whole("keep", keep, least=1)
        self.drift = make_detector("drift", drift)
        if every is None and self.drift is None and learner.next_change is None:
            raise ValueError("every must say after how many rows to publish, or drift which detector does, got None")
        self.learner, self.every, self.budget, self.seed, self.keep = learner, every, budget, seed, keep
        self.version = self.rows = self.labelled = 0
        self._due = False
        self._shelf = Shelf(folder)
        self._shelf.claim()
        try:
            self._resume()
        except BaseException:
            self._shelf.release()
            raise

    def _resume(self) -> None:
        note = self._shelf.note()
        if note is not None:
            path = self._shelf.path(note.version, "learner")
            learner: Any = snapshot.load(path, cls=type(self.learner))
            if repr(learner.get_params(deep=False)) != repr(self.learner.get_params(deep=False)):
                raise ValueError(
                    f"learner must be as the one in the folder, {params.shown(learner, 200)}, "
                    f"got {params.shown(self.learner, 200)}"
                )
            if self.drift is not None:
                self.drift = snapshot.load(self._shelf.path(note.version, "detector"), cls=type(self.drift))
            self.learner = learner
            self.version, self.rows, self.labelled = note.version, note.rows, note.labelled
        self._shelf.tidy(self.version, int(self.keep))

    # -- learning -----------------------------------------------------------------------------------------------------

    def feed(self, X: Any, y: Any) -> int:
        """Learn rows in order, and publish whenever it is due; give how many versions were published.

        Rows that cannot be used are refused before any is learned. Ctrl-C and SIGTERM finish the rows in hand, publish
        what has been learned, and raise KeyboardInterrupt: ``rows`` says how far it came.
        """
        y = sequence(y)
        n, before = len(y), self.version
        asked = self._asked(n)
        refuse(self.learner, X, y, np.flatnonzero(asked))
        at, most = 0, n
        with Interrupts() as interrupts:
            while at < n:
                began = time.perf_counter()
                stop = min(self._stop(asked, at), at + most)
                self._due |= self._learn(_part(X, at, stop), y[at:stop], np.flatnonzero(asked[at:stop]))
                self.rows += stop - at
                due = self._due and (self.drift is None or self.rows % _LOOK == 0)
                published = (due or (self.every is not None and self.rows % self.every == 0)) and self.labelled > 0
                if published:
                    self.publish()
                if time.perf_counter() - began > SECONDS:
                    most = max(1, (stop - at) // 2)
                at = stop
                if interrupts.asked and not published and self.learner.started:
                    self.publish()
                interrupts.raise_if_asked()
        return self.version - before

    def _learn(self, X: Any, y: NDArray[Any], rows: NDArray[np.int64]) -> bool:
        """Learn some of the rows; say whether that is a reason to publish."""
        if not len(rows):
            return False
        changes = self.learner.next_change
        events = ~rows if self.drift is None else np.stack([rows, ~rows], axis=1).reshape(-1)
        proba = self.learner.play(X, y, events)
        self.labelled += len(rows)
        if self.drift is not None:
            wrong = proba[rows].argmax(axis=1) != codes_of(self.learner, y[rows])
            return bool((self.drift.update_many(wrong.astype(np.float64)) == _DRIFT).any())
        return self.every is None and changes is not None and len(rows) >= changes

    def _stop(self, asked: NDArray[np.bool_], at: int) -> int:
        """Where the rows end that are learned before the next look at whether to publish."""
        stop = len(asked)
        for step in (self.every, None if self.drift is None else _LOOK):
            if step is not None:
                stop = min(stop, at + int(step) - self.rows % int(step))
        if self.learner.next_change is not None:
            full = np.flatnonzero(asked[at:stop])[self.learner.next_change - 1 :]
            stop = at + int(full[0]) + 1 if len(full) else stop
        return stop

    def _asked(self, n: int) -> NDArray[np.bool_]:
        """Which of the next n rows are labelled: by the number of the row, so that nothing need be remembered."""
        if self.budget == 1:
            return np.ones(n, dtype=np.bool_)
        draws = np.empty(n)
        uniforms_from(self.seed, self.rows, draws)
        return draws < float(self.budget)

    # -- publishing ---------------------------------------------------------------------------------------------------

    def publish(self) -> int:
        """Publish what the learner knows now as the next version; give its number."""
        if not self.learner.started:
            raise ValueError("the learner has not seen a row yet: nothing to publish")
        compile_ = getattr(self.learner, "compile", None)
        version = self.version + 1
        snapshot.save(self.learner if compile_ is None else compile_(), self._shelf.path(version, "predictor"))
        snapshot.save(self.learner, self._shelf.path(version, "learner"))
        if self.drift is not None:
            snapshot.save(self.drift, self._shelf.path(version, "detector"))
        self._shelf.point(Note(version, self.rows, self.labelled))
        self.version, self._due = version, False
        self._shelf.tidy(version, int(self.keep))
        return version

    def close(self) -> None:
        """Let another trainer have the folder. What was learned since the last version is not published."""
        self._shelf.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _part(X: Any, a: int, b: int) -> Any:
    """Some rows of whatever holds rows."""
    if hasattr(X, "iloc"):
        return X.iloc[a:b]
    if hasattr(X, "num_rows") and hasattr(X, "slice"):  # Arrow
        return X.slice(a, b - a)
    return X[a:b]
