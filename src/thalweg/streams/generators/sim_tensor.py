"""A stream of tensors in factor form: two classes whose factors have Gamma entries, and a drift."""

from typing import Any, Literal, final, get_args

import numpy as np

from thalweg.core import params
from thalweg.core.chunk import Chunk
from thalweg.core.fields import choice, flag, free, number, whole
from thalweg.core.schema import Schema
from thalweg.jit.random import seeded
from thalweg.streams.generators import sim_tensor_jit as jit
from thalweg.streams.source import Generator
from thalweg.tensors.forms import LARGEST_DENSE, CPTensors, Floats, Ints

Drift = Literal["none", "gradual", "incremental", "sudden"]
DRIFTS: tuple[str, ...] = get_args(Drift)
LEAST_FACTOR, MOST_FACTOR = 1.2, 1.8


def _two_numbers(name: str, value: Any) -> None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"{name} must be two numbers above 0, got {params.shown(value)}")
    for shape in value:
        params.number(f"each of {name}", shape, above=0)


@final
class SimTensor(Generator):
    """Tensors of CP rank r; the entries of their factors are Gamma(shape, 1), the shape tells the class.

    A gradual change has its middle at the position in ``drifts``, an incremental one begins there. A row holds the
    weights and factors of a tensor, as the schema's rank says, or all its values (form "dense"); ``read_tensors`` gives
    tensors.

    References
    ----------
    H. Fanaee-T, J. Gama, "SimTensor: a synthetic tensor data generator", 2016.

    Examples
    --------
    >>> stream = SimTensor(order=4, size=10, limit=1000, drift="sudden")
    >>> stream.schema.shape, stream.schema.rank, stream.drifts
    ((10, 10, 10, 10), 3, (250, 500, 750))
    >>> stream.read(100).X.shape, stream.read_tensors(100)[0].shape
    ((100, 123), (10, 10, 10, 10))
    """

    order: int = whole(default=3, doc="Number of modes.", least=1, most=32)
    size: int = whole(default=100, doc="Values in each mode.", least=1)
    rank: int = whole(default=3, doc="The CP rank of a tensor (r).", least=1)
    drift: Drift = choice(default="none", doc="How the concept changes.")
    shapes: tuple[float, float] = free(
        default=(2.0, 3.0), doc="Gamma shapes of the two classes at the start.", check=_two_numbers
    )
    changes: int = whole(
        default=3,
        doc="How many, equally spaced; at each both shapes are multiplied by one number from [1.2, 1.8], or divided by "
        "it.",
        least=0,
        old="n_drifts",
    )
    width: float = number(
        default=0.1,
        doc="Width of a gradual or incremental change, as a share of the tensors between two changes.",
        above=0,
        most=1,
    )
    mode: Literal["iid", "template"] = choice(
        default="iid",
        doc="iid: factors are drawn afresh; template: each class has factors of its own, drawn at each change, and a "
        "tensor multiplies them by Gamma(5, 1/5) noise.",
    )
    form: Literal["cp", "dense"] = choice(
        default="cp", doc="The weights and factors of a tensor, or up to ten million values."
    )
    swap_labels: bool = flag(default=False, doc="Does a change swap the labels, and nothing else?")
    preset: Literal["ours", "simtensor"] = choice(
        default="ours",
        doc="simtensor: the shapes are 0.1 + 0.1 |N(0, 1)| and the entries 100 times smaller, as in that tool; "
        "``shapes`` is not used.",
    )
    limit: int = whole(default=100_000, doc="Tensors in all, over which the changes are spread.", least=1)

    def _prepare(self) -> None:
        params.whole("changes", self.changes, least=0, below=self.limit)
        if self.form == "dense" and self.size**self.order > LARGEST_DENSE:
            got = f"{self.size}^{self.order}"
            raise ValueError(f"form must be 'cp' for tensors of more than {LARGEST_DENSE} values, got {got}")
        self._scale = 0.01 if self.preset == "simtensor" else 1.0
        self._segment = self.limit / (self.changes + 1)
        self._shapes = self._concepts()
        self._templates = self._drawn()
        self._described: Schema | None = None
        super()._prepare()

    @property
    def schema(self) -> Schema:
        """Tensors, two classes."""
        if self._described is None:  # a million values take a while
            shape, rank = (self.size,) * self.order, None if self.form == "dense" else self.rank
            self._described = Schema.tensor(shape, classes=(0, 1), rank=rank)
        return self._described

    @property
    def drifts(self) -> tuple[int, ...]:
        """Where the concept changes."""
        if self.drift == "none":
            return ()
        return tuple(int(self._segment * c) for c in range(1, self.changes + 1))

    @property
    def widths(self) -> tuple[float, ...]:
        """How many tensors each of the drifts takes around its position."""
        return (self._width if self.drift == "gradual" else 1.0,) * len(self.drifts)

    @property
    def concepts(self) -> Floats:
        """The shapes of both classes, one row for each concept."""
        return self._shapes.copy()

    @property
    def _width(self) -> float:
        return float(self.width * self._segment)

    def read_tensors(self, n: int) -> tuple[CPTensors | Floats, Ints] | None:
        """Give up to n next tensors, ``CPTensors`` or an array, and their labels; None: the stream has ended."""
        chunk = self.read(n)
        if chunk is None:
            return None
        if self.form == "cp":
            return CPTensors.from_rows(chunk.X, self.schema), chunk.y
        return chunk.X.reshape(-1, *(self.size,) * self.order), chunk.y

    def _next(self, n: int) -> Chunk:
        weights, y = np.ones((n, self.rank)), np.empty(n, dtype=np.int64)
        columns = np.empty((n, self.order, self.rank, self.size))
        starts, drift = np.array(self.drifts, dtype=np.float64), DRIFTS.index(self.drift)
        jit.draw_tensors(
            self._random, self._given, starts, self._width, drift, self._shapes, self._scale, self._templates,
            self.swap_labels, columns, y,
        )  # fmt: skip
        if self.form == "cp":
            return Chunk(np.concatenate([weights, columns.reshape(n, -1)], axis=1), y)
        tensors = CPTensors.from_columns(weights, columns, (self.size,) * self.order)
        return Chunk(tensors.dense().reshape(n, -1), y)

    def _concepts(self) -> Floats:
        """Draw the shapes of every concept, from a generator of their own."""
        rng = np.random.default_rng([self.seed, 1])
        rows = [np.array(self.shapes, dtype=np.float64)]
        if self.preset == "simtensor":
            rows = [0.1 + 0.1 * np.abs(rng.standard_normal(2))]
        for _ in range(self.changes):
            factor = rng.uniform(LEAST_FACTOR, MOST_FACTOR)
            up = rng.random() < 0.5
            rows.append(rows[-1] if self.swap_labels else rows[-1] * (factor if up else 1.0 / factor))
        return np.array(rows)

    def _drawn(self) -> Floats:
        """Draw the templates of every concept."""
        if self.mode == "iid":
            return np.zeros((0, 2, 1, 1, 1))
        templates = np.empty((self.changes + 1, 2, self.order, self.rank, self.size))
        jit.draw_templates(seeded(self.seed, 2)[1:], self._shapes, self._scale, templates)
        if self.swap_labels:
            templates[:] = templates[:1].copy()
        return templates
