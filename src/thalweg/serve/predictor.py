"""The side that answers: from the newest version that a trainer has published, without ever waiting for it."""

import os
import threading
import time
from functools import partial
from typing import Any, Literal, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.answering import Answering
from thalweg.core.labels import Labels
from thalweg.core.schema import Schema
from thalweg.keeping import snapshot
from thalweg.serve.versions import Note, Shelf

SYNCS = ("chunk", "immediate")


class _Held(NamedTuple):
    """A version in memory. It never changes: a newer one takes its place as a whole."""

    note: Note
    model: Answering


@final
class Predictor(Answering):
    """Answers from the newest version in a ``Trainer``'s folder, in any thread or process.

    A newer version is loaded beside the one that answers, and then takes its place in one step: an answer comes from
    one version as a whole, the one that was there when it was asked for. That a trainer ends, in whatever way, changes
    nothing.

    Parameters
    ----------
    folder : str | os.PathLike[str]
        Of the trainer.
    sync : Literal["chunk", "immediate"]
        When a newer version is taken. "chunk": a thread of the predictor's own looks for it every ``poll`` seconds
        (None: only ``refresh`` looks), and no answer ever waits. "immediate": whoever asks looks first, so that an
        answer is never from an older version than the newest at that moment; the first who asks after a change waits
        until the new version is loaded.
    poll : float | None
        Seconds between two looks for a newer version; None: only ``refresh`` looks.
    wait : float | None
        Seconds to wait for a first version; None: not at all, it answers when there is one.
    mapped : bool
        Let the tables stand on the trainer's files, so that all predictors of a machine share one copy in memory. No
        other program may then change a version's file in place; a trainer never does. False: each reads its own copy.

    Examples
    --------
    >>> import tempfile
    >>> from thalweg import SEA, AdaptiveRandomForest, Trainer
    >>> folder, chunk = tempfile.mkdtemp(), SEA(seed=1).read(3_000)
    >>> with Trainer(AdaptiveRandomForest(size=3), folder, every=1_000) as trainer:
    ...     published = trainer.feed(chunk.X, chunk.y)
    >>> with Predictor(folder) as predictor:
    ...     proba, version = predictor.answer(chunk.X[:10])
    >>> published, version, bool((proba == trainer.learner.predict_proba(chunk.X[:10])).all())
    (3, 3, True)
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        sync: Literal["chunk", "immediate"] = "chunk",
        poll: float | None = 0.05,
        wait: float | None = 0.0,
        mapped: bool = False,
    ) -> None:
        params.choice("sync", sync, SYNCS)
        if poll is not None:
            params.number("poll", poll, above=0)
        if wait is not None:
            params.number("wait", wait, least=0)
        params.flag("mapped", mapped)
        self.sync, self.poll, self.wait, self.mapped = sync, poll, wait, mapped
        self.trouble: str | None = None
        """Why the newest version could not be loaded; None: it could."""
        self._shelf = Shelf(folder)
        self._held: _Held | None = None
        self._explainer: _Held | None = None
        self._mark: tuple[int, int] | None = None  # of the note that was there at the last look
        self._loading = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        until = time.monotonic() + (0.0 if wait is None else float(wait))
        while not self.refresh() and wait is not None:
            if time.monotonic() >= until:
                raise FileNotFoundError(
                    f"folder must hold a published version, got {self._shelf.folder}, which has none"
                )
            time.sleep(0.01)
        if sync == "chunk" and poll is not None:
            self._thread = threading.Thread(target=self._watch, name="thalweg-predictor", daemon=True)
            self._thread.start()

    # -- versions -----------------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Take the newest version if it is another than the present one; say whether it was."""
        with self._loading:  # held by those who load, never by those who ask
            held = self._held
            if held is not None and self._shelf.note() == held.note:
                return False
            found = self._shelf.newest(partial(snapshot.load, mapped=self.mapped))
            if found is None:
                return False
            note, model = found
            if model.schema is not None:  # compile, and touch the tables, before anyone waits for it
                model.predict_proba(np.zeros((1, model.schema.n_features)))
            self._held = _Held(note, model)
            self.trouble = None
            return True

    def _watch(self) -> None:
        while not self._closed.wait(self.poll):
            self._try()

    def _try(self) -> None:
        try:
            self.refresh()
        except Exception as error:  # a damaged file, a full disk: go on with the version there is
            self.trouble = str(error)

    def _newest(self) -> _Held | None:
        """What answers now."""
        if self.sync == "immediate" and not self._closed.is_set():
            mark = self._shelf.mark()
            if mark != self._mark:
                self._try()
                self._mark = mark
        return self._held

    @property
    def version(self) -> int:
        """The number of the version that answers; 0: there is none yet."""
        held = self._newest()
        return 0 if held is None else held.note.version

    @property
    def rows(self) -> int:
        """Rows that the trainer had been given when it published this version."""
        held = self._newest()
        return 0 if held is None else held.note.rows

    @property
    def model(self) -> Answering:
        """What answers now."""
        return self._now().model

    def _now(self) -> _Held:
        held = self._newest()
        if held is None:
            raise ValueError("no version has been published yet: there is nothing to answer with")
        return held

    # -- answers ------------------------------------------------------------------------------------------------------

    def answer(self, X: Any) -> tuple[NDArray[np.float64], int]:
        """Give each row's class probabilities, and the number of the version that they all come from."""
        held = self._now()
        return held.model.predict_proba(X), held.note.version

    def explain_one(self, x: Any) -> Any:
        """Say why the present version answers as it does for one record, where its learner can explain itself.

        The first call for a version loads its learner, which a trainer keeps beside the frozen form that answers.

        Examples
        --------
        >>> import tempfile
        >>> from thalweg import SEA, AdaptiveRandomForest, Trainer
        >>> folder, chunk = tempfile.mkdtemp(), SEA(seed=1).read(3_000)
        >>> with Trainer(AdaptiveRandomForest(size=3), folder, every=1_000) as trainer:
        ...     published = trainer.feed(chunk.X, chunk.y)
        >>> with Predictor(folder) as predictor:
        ...     why = predictor.explain_one(chunk.X[0])
        >>> why.label == predictor.predict_one(chunk.X[0])
        True
        """
        held = self._now()
        if self._explainer is None or self._explainer.note != held.note:
            model: Any = held.model
            if not hasattr(model, "explain_one"):
                model = snapshot.load(self._shelf.path(held.note.version, "learner"), mapped=self.mapped)
            self._explainer = _Held(held.note, model)
        explain = getattr(self._explainer.model, "explain_one", None)
        if explain is None:
            raise TypeError(
                f"a {type(self._explainer.model).__name__} cannot explain its answers; trees and forests can"
            )
        return explain(x)

    def _proba(self, x: Any, one: bool) -> tuple[NDArray[np.float64], Labels]:
        return self._now().model._proba(x, one)

    def _winner(self, x: Any, one: bool) -> tuple[NDArray[np.int64], Labels]:
        return self._now().model._winner(x, one)

    def _known(self) -> tuple[Labels, Schema | None]:
        return self._now().model._known()

    def close(self) -> None:
        """Look for no more versions; the present one still answers."""
        self._closed.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
