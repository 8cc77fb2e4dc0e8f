"""A deep forest as it is at one moment: it learns no more, and answers faster."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.classifier import Floats
from thalweg.core.declared import check, table
from thalweg.core.labels import Labels
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.frozen.frozen_forest import Frozen, FrozenForest
from thalweg.learners.deep.cascade import CLASSES, layer_schema, stacked


class Cascade(NamedTuple):
    """What it has besides its forests."""

    columns: Annotated[NDArray[np.int64], table("width", least="-width", most="d - 1")]
    """See ``outputs_jit.Cascade``."""
    weights: Annotated[Floats, table("n", least=0, most=1)]
    """The say of each layer."""
    mean: Annotated[NDArray[np.int64], table(1, least=0, most=1)]
    """Does a layer see the mean of the one before?"""
    layers: Annotated[NDArray[np.int64], table("n", least=1)]
    """How many forests each has."""


@final
class FrozenDeepForest(Frozen):
    """What a deep forest's ``compile`` gives: the same probabilities, bit for bit.

    Examples
    --------
    >>> from thalweg import SEA, StreamingDeepForest
    >>> chunk = SEA(seed=1).read(2_000)
    >>> forest = StreamingDeepForest(layers=2, size=3).partial_fit(chunk.X, chunk.y)
    >>> bool((forest.compile().predict_proba(chunk.X) == forest.predict_proba(chunk.X)).all())
    True
    """

    def _prepare(self) -> None:
        super()._prepare()
        self._columns, self._weights, self._mean = np.zeros(0, dtype=np.int64), np.zeros(0), np.ones(1, dtype=np.int64)
        self._layers: list[list[FrozenForest]] = []

    @classmethod
    def of(
        cls, layers: list[list[FrozenForest]], columns: NDArray[np.int64], weights: Floats, mean: bool, labels: Labels,
        schema: Schema,
    ) -> "FrozenDeepForest":  # fmt: skip
        """Put frozen forests together.

        Parameters
        ----------
        weights : Floats
            Of each layer.
        mean : bool
            Does a layer see the mean of the one before?
        """
        self = cls()
        self._labels, self._schema, self._layers = labels.copy(), schema, layers
        self._columns, self._weights, self._mean = columns.copy(), weights.copy(), np.array([int(mean)])
        return self

    def _answer(self, X: Floats) -> Floats:
        known = len(self._labels)
        out = np.zeros((len(X), known))
        said = np.zeros((0, 0, 0))
        for k, layer in enumerate(self._layers):
            Z = X if k == 0 else stacked(self._columns, X, self._passed_on(said))
            said = np.zeros((len(layer), len(X), max(known, CLASSES)))
            for j, forest in enumerate(layer):
                said[j, :, :known] = forest._answer(Z)
            out += self._weights[k] * said.mean(axis=0)[:, :known]
        return out

    def _passed_on(self, said: Floats) -> Floats:
        if self._mean[0]:
            return np.asarray(said.mean(axis=0))
        return said.transpose(1, 2, 0).reshape(said.shape[1], said.shape[0] * said.shape[2])

    def tables(self) -> State:
        """All tables, not copied: what another process needs to answer."""
        tables: State = {"columns": self._columns, "weights": self._weights, "mean": self._mean}
        tables["layers"] = np.array([len(layer) for layer in self._layers], dtype=np.int64)
        for k, layer in enumerate(self._layers):
            for j, forest in enumerate(layer):
                tables |= {f"{k}.{j}.{name}": table for name, table in forest.tables().items()}
        return tables

    def _adopt(self, state: Mapping[str, NDArray[Any]], labels: Labels, schema: Schema | None) -> None:
        if schema is None:
            raise KeyError("schema")
        classes, d = max(len(labels), CLASSES), schema.n_features
        width = check(Cascade, state, d=d)["width"]
        columns, weights, mean, sizes = (state[name] for name in Cascade._fields)
        if not np.array_equal(np.sort(columns), np.arange(d - width, d)):
            raise ValueError("its table 'columns' must hold each feature and each answer once")
        if width - d > classes * (1 if mean[0] else int(sizes[:-1].min(initial=width))):
            raise ValueError("its table 'columns' has more answers than a layer gives")
        layers = []
        for k, size in enumerate(sizes.tolist()):
            layer = []
            for j in range(size):
                forest, start = FrozenForest(), f"{k}.{j}."
                own = {name.removeprefix(start): t for name, t in state.items() if name.startswith(start)}
                own_schema = layer_schema(columns, schema) if k else schema
                forest._adopt(own, labels, own_schema)
                forest._labels, forest._schema = labels, own_schema
                layer.append(forest)
            layers.append(layer)
        self._columns, self._weights, self._mean, self._layers = columns, weights, mean, layers
