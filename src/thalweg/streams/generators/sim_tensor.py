"""A stream of tensors in factor form: two classes whose factors have Gamma entries, and a drift."""

from typing import Any, final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, flag, number, shown, whole
from thalweg.core.schema import Schema
from thalweg.jit.random import seeded
from thalweg.streams.generators import sim_tensor_jit as jit
from thalweg.streams.source import Generator
from thalweg.tensors.forms import LARGEST_DENSE, CPTensors, Floats, Ints

DRIFTS = ("none", "gradual", "incremental", "sudden")
LEAST_FACTOR, MOST_FACTOR = 1.2, 1.8


@final
class SimTensor(Generator):
    """Tensors of CP rank r; the entries of their factors are Gamma(shape, 1), the shape tells the class.

    A gradual change has its middle at the position in ``drifts``, an incremental one begins there. A row holds the
    weights and factors of a tensor, as the schema's rank says, or all its values (form "dense"); ``read_tensors`` gives
    tensors.

    H. Fanaee-T, J. Gama, "SimTensor: a synthetic tensor data generator", 2016.

    Parameters
    ----------
    order : int
        Modes.
    size : int
        Of each mode.
    rank : int
        r.
    drift : str
        "none", "gradual", "incremental" or "sudden".
    shapes : tuple[float, float]
        Of the two classes, at first.
    n_drifts : int
        Changes, equally spaced; at each both shapes are multiplied by one number from [1.2, 1.8], or divided by it.
    width : float
        Of a gradual or incremental change, as a share of the tensors between two changes.
    mode : str
        "iid", factors drawn afresh; "template", each class has factors of its own, drawn at each change, and a tensor
        multiplies them by Gamma(5, 1/5) noise.
    form : str
        "cp", or "dense" for tensors of up to ten million values. preset "simtensor": the shapes are 0.1 + 0.1 |N(0,
        1)| and the entries 100 times smaller, as in that tool; ``shapes`` is not used.
    swap_labels : bool
        A change swaps the labels and nothing else.
    preset : str
        "simtensor": the shapes are 0.1 + 0.1 |N(0, 1)| and the entries 100 times smaller, as in that tool.
    seed : int
        Random seed.
    limit : int
        Tensors in all, over which the changes are spread.

    Examples
    --------
    >>> stream = SimTensor(order=4, size=10, limit=1000, drift="sudden")
    >>> stream.schema.shape, stream.schema.rank, stream.drifts
    ((10, 10, 10, 10), 3, (250, 500, 750))
    >>> stream.read(100).X.shape, stream.read_tensors(100)[0].shape
    ((100, 123), (10, 10, 10, 10))
    """

    def __init__(
        self,
        *,
        order: int = 3,
        size: int = 100,
        rank: int = 3,
        drift: str = "none",
        shapes: tuple[float, float] = (2.0, 3.0),
        n_drifts: int = 3,
        width: float = 0.1,
        mode: str = "iid",
        form: str = "cp",
        swap_labels: bool = False,
        preset: str = "ours",
        seed: int = 1,
        limit: int = 100_000,
    ) -> None:
        whole("order", order, least=1, most=32)
        whole("size", size, least=1)
        whole("rank", rank, least=1)
        choice("drift", drift, DRIFTS)
        if not isinstance(shapes, (tuple, list)) or len(shapes) != 2:
            raise ValueError(f"shapes must be two numbers above 0, got {shown(shapes)}")
        for shape in shapes:
            number("each of shapes", shape, above=0)
        whole("limit", limit, least=1)
        whole("n_drifts", n_drifts, least=0, below=limit)
        number("width", width, above=0, most=1)
        choice("mode", mode, ("iid", "template"))
        choice("form", form, ("cp", "dense"))
        if form == "dense" and size**order > LARGEST_DENSE:
            raise ValueError(f"form must be 'cp' for tensors of more than {LARGEST_DENSE} values, got {size}^{order}")
        flag("swap_labels", swap_labels)
        choice("preset", preset, ("ours", "simtensor"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.order, self.size, self.rank, self.drift, self.shapes = order, size, rank, drift, shapes
        self.n_drifts, self.width, self.mode, self.form, self.seed = n_drifts, width, mode, form, seed
        self.swap_labels, self.preset = swap_labels, preset
        self._scale = 0.01 if preset == "simtensor" else 1.0
        self._segment = limit / (n_drifts + 1)
        self._shapes = self._concepts()
        self._templates = self._drawn()
        self._described: Schema | None = None
        self.restart()

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
        return tuple(int(self._segment * c) for c in range(1, self.n_drifts + 1))

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
        routine: Any = jit.draw_tensors
        weights, y = np.ones((n, self.rank)), np.empty(n, dtype=np.int64)
        columns = np.empty((n, self.order, self.rank, self.size))
        routine(
            self._random, self._given, np.array(self.drifts, dtype=np.float64), self._width, DRIFTS.index(self.drift),
            self._shapes, self._scale, self._templates, bool(self.swap_labels), columns, y,
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
        for _ in range(self.n_drifts):
            factor = rng.uniform(LEAST_FACTOR, MOST_FACTOR)
            up = rng.random() < 0.5
            rows.append(rows[-1] if self.swap_labels else rows[-1] * (factor if up else 1.0 / factor))
        return np.array(rows)

    def _drawn(self) -> Floats:
        """Draw the templates of every concept."""
        if self.mode == "iid":
            return np.zeros((0, 2, 1, 1, 1))
        routine: Any = jit.draw_templates
        templates = np.empty((self.n_drifts + 1, 2, self.order, self.rank, self.size))
        routine(seeded(self.seed, 2)[1:], self._shapes, self._scale, templates)
        if self.swap_labels:
            templates[:] = templates[:1].copy()
        return templates
