"""The shape of the records of a learner, and its rows as tensors of that shape."""

import math
from typing import Self, final

import numpy as np

from thalweg.core import fields
from thalweg.core.door import Rows
from thalweg.core.fields import Parametrised
from thalweg.core.schema import Schema
from thalweg.tensors.forms import LARGEST_FULL, Shape, Tensors, check_shape, refuse_shape, tensors_of_rows

LARGEST = 1e100
"""Values beyond ± this, where squares would overflow, count as this."""


class TensorParams(Parametrised):
    """What all learners of tensors are told."""

    shape: Shape | None = fields.free(
        default=None,
        doc="None: tensors come as arrays (n, N1, …, NL), CPTensors or SparseTensors; else rows are reshaped to it, "
        "one size may be -1.",
        check=refuse_shape,
    )
    seed: int = fields.whole(default=1, doc="Random seed.", least=0)


@final
class Records:
    """The shape of a learner's records, given or found in the schema, and rows as tensors of that shape.

    learner: its name, for sentences. given: its parameter ``shape``.

    >>> Records("CKDT", (2, -1), Schema.numeric(6)).tensors(np.arange(6.0)[None]).tolist()
    [[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]]
    """

    __slots__ = ("form", "given", "learner", "schema", "shape")

    def __init__(self, learner: str, given: Shape | None, schema: Schema) -> None:
        self.learner, self.given, self.schema = learner, check_shape(given), schema
        self.shape = _resolved(self.given, schema, learner)
        large = math.prod(self.shape) > LARGEST_FULL
        self.form = "cp" if schema.rank is not None else "sparse" if large else "dense"

    def extended(self, schema: Schema) -> Self:
        """Give the same for a schema with more classes or names; records of another shape are refused."""
        new = type(self)(self.learner, self.given, schema)
        if new.shape != self.shape:
            raise ValueError(f"X must hold tensors of shape {self.shape}, got tensors of shape {new.shape}")
        return new

    def tensors(self, X: Rows) -> Tensors:
        """Take rows for tensors."""
        if isinstance(X, np.ndarray):
            X = np.clip(X, -LARGEST, LARGEST)
            if self.form == "dense":
                return X.reshape(len(X), *self.shape)
        elif np.abs(X.data).max(initial=0.0) > LARGEST:
            X = X.copy()
            X.data.clip(-LARGEST, LARGEST, out=X.data)
        return tensors_of_rows(X, self.schema, self.shape)

    def refuse_others(self, what: str, form: str | None, shape: Shape | None, *, bases: bool = False) -> None:
        """Refuse a part of a state that is of tensors in another form or of another shape; None: it has none.

        bases: it only has the bases of the tensors, which are arrays where these are vectors.
        """
        own = "dense" if bases and len(self.shape) == 1 else self.form
        if form not in (None, own) or shape not in (None, self.shape):
            raise ValueError(f"its {what} is of {form} tensors of shape {shape}")


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
