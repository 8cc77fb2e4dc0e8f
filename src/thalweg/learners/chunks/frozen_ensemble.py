"""An ensemble of trees by chunks as it is at one moment: an index of its own, which learns no more."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.classifier import Floats, Ints
from thalweg.core.declared import check, table
from thalweg.core.fields import free
from thalweg.core.labels import Labels
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.frozen.frozen_forest import Frozen
from thalweg.index.index import Index
from thalweg.learners.chunks.target import Target, weight_of
from thalweg.registry import INDEXES


class Chosen(NamedTuple):
    """The state beside the index."""

    target: Annotated[Ints, table(1, least=-1, most=1)]
    """1: the class whose rules are indexed; -1: those of all classes."""


@final
class FrozenEnsemble(Frozen):
    """What the ``compile`` of a ``ChunkEnsemble`` gives: an index of its trees, the same probabilities bit for bit.

    Examples
    --------
    >>> FrozenEnsemble(kind="bitmap").nbytes < 1_000
    True
    """

    kind: str = free(
        default="linear-rules",
        doc="The kind of its index.",
        check=lambda name, value: params.choice(name, value, INDEXES),
    )

    def _prepare(self) -> None:
        super()._prepare()
        self._take(INDEXES[self.kind].make(), Target())

    def _take(self, index: Index, target: Target) -> None:
        self._index, self._target = index, target
        self._total = weight_of(np.array([*index.classifiers.values()]))

    @classmethod
    def of(cls, kind: str, index: Index, target: Target, labels: Labels, schema: Schema) -> "FrozenEnsemble":
        """Answer through an index, which belongs to the predictor from now on.

        Parameters
        ----------
        target : Target
            The class whose rules it holds.
        """
        self = cls(kind=kind)
        self._take(index, target)
        self._labels, self._schema = labels.copy(), schema
        return self

    def _answer(self, X: Floats) -> Floats:
        return self._shares(X, labels=False)

    def _winner(self, x: Any, one: bool) -> tuple[Ints, Labels]:
        return self._shares(self._rows(x, one), labels=True).argmax(axis=1), self._labels

    def _shares(self, X: Floats, *, labels: bool) -> Floats:
        out = np.zeros((len(X), len(self._labels)))
        if len(self._index.names):
            wide = len(self._index.values)  # features that joined since are of no account
            X = X if X.shape[1] == wide else np.ascontiguousarray(X[:, :wide])
            scores = self._target.answers(self._index, X, self._total, labels=labels)
            out[:, : scores.shape[1]] = scores
        else:
            out[:] = 1.0 / max(1, out.shape[1])
        return out

    def tables(self) -> State:
        """All tables, not copied: what another process needs to answer."""
        tables = {f"index.{name}": table for name, table in self._index.tables().items()}
        return tables | {"target": np.array([self._target.code], dtype=np.int64)}

    def _adopt(self, state: Mapping[str, NDArray[Any]], labels: Labels, schema: Schema | None) -> None:
        index: Index = INDEXES[self.kind].make()
        own = {name.removeprefix("index."): table for name, table in state.items() if name.startswith("index.")}
        if self.kind == "e-tree" and "head" in own and own["head"].shape == (5,):
            most, least = own["head"][3:].tolist()
            index = INDEXES[self.kind].make(most=most, least=least)
        index.restore(own, copy=False)
        features = 0 if schema is None else schema.n_features
        if index.payload.shape[1] > len(labels) or len(index.values) > features:
            raise ValueError("its index has more classes or features than there are")
        check(Chosen, state)
        [code] = state["target"].tolist()
        if code != -1 and index.payload.shape[1] != 2:
            raise ValueError("its index is for a class that there is not")
        self._take(index, Target(code))
