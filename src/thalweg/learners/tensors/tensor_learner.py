"""What learners of tensors share: the shape of a record, found in the schema or given."""

import math
from abc import abstractmethod

import numpy as np

from thalweg.core.classifier import Classifier
from thalweg.core.door import Rows
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.tensors.forms import LARGEST_FULL, Shape, Tensors, check_shape, tensors_of_rows

LARGEST = 1e100


class TensorClassifier(Classifier):
    """Learns tensors: arrays (n, N1, …, NL), ``CPTensors`` or ``SparseTensors``; or rows, where a shape is given.

    A learner calls ``_begin`` first in its ``_start`` and ``_become``, and ``_tensors`` in its ``_play``.
    """

    tensors = True
    shape: Shape | None

    __slots__ = ()

    def _begin(self, schema: Schema) -> Shape:
        """Find the shape of a record, or say what is wanted."""
        self._layout: tuple[Schema, Shape] = schema, _resolved(check_shape(self.shape), schema, type(self).__name__)
        return self._layout[1]

    def _extend(self, schema: Schema) -> None:
        """Refuse records of another shape; classes and names may join."""
        before, shape = self._layout[1], _resolved(check_shape(self.shape), schema, type(self).__name__)
        if shape != before:
            raise ValueError(f"X must hold tensors of shape {before}, got tensors of shape {shape}")
        self._begin(schema)

    def _tensors(self, X: Rows) -> Tensors:
        """Take rows for tensors; what is beyond ± 1e100, where squares would overflow, counts as that."""
        schema, shape = self._layout
        if isinstance(X, np.ndarray):
            X = np.clip(X, -LARGEST, LARGEST)
        elif np.abs(X.data).max(initial=0.0) > LARGEST:
            X = X.copy()
            X.data.clip(-LARGEST, LARGEST, out=X.data)
        return tensors_of_rows(X, schema, shape)

    def _adopt(self, tables: State, schema: Schema) -> None:
        made = type(self)(**self.get_params(deep=False))  # beside, so that a state that is refused changes nothing
        made._become(tables, schema)
        vars(self).update(vars(made))

    @abstractmethod
    def _become(self, tables: State, schema: Schema) -> None:
        """Be what has these tables, or refuse them."""

    def _refuse_others(self, what: str, kind: str | None, shape: Shape | None) -> None:
        """Refuse a part of a state that is of tensors in another form or of another shape; None: it has none."""
        schema, mine = self._layout
        ours = "cp" if schema.rank is not None else "sparse" if math.prod(mine) > LARGEST_FULL else "dense"
        if (kind not in (None, ours) and len(mine) > 1) or shape not in (None, mine):
            raise ValueError(f"its {what} is of {kind} tensors of shape {shape}")


def _resolved(shape: Shape | None, schema: Schema, learner: str) -> Shape:
    if shape is None or schema.rank is not None:
        if schema.shape is None:
            raise ValueError(
                f"X must hold tensors, an array (n, N1, …, NL), for {learner}, got rows of {schema.n_features} "
                "numbers: reshape them, or say shape=(N1, …, NL)"
            )
        return schema.shape
    width, rest = schema.n_features, math.prod(n for n in shape if n != -1)
    if width % rest or (-1 not in shape and width != rest):
        raise ValueError(f"X must hold rows that fill the shape {shape}, got rows of {width} numbers")
    return tuple(width // rest if n == -1 else n for n in shape)
