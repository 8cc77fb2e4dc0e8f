"""A stream of tensors in factor form: two classes whose factors have Gamma entries, and a drift."""

from collections.abc import Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.params import Parametrised, choice, flag, number, shown, whole
from thalweg.core.protocols import State
from thalweg.jit.random import seeded
from thalweg.tensors import sim_tensor_jit as jit
from thalweg.tensors.forms import LARGEST_DENSE, CPTensors, Floats, Ints, Tensors

DRIFTS = ("none", "gradual", "incremental", "sudden")
LEAST_FACTOR, MOST_FACTOR = 1.2, 1.8


@final
class SimTensor(Parametrised):
    """Tensors of CP rank r; the entries of their factors are Gamma(shape, 1), the shape tells the class.

    order: modes. size: of each mode. rank: r. n: tensors in all. drift: "none", "gradual", "incremental" or "sudden".
    shapes: of the two classes, at first. n_drifts: changes, equally spaced; at each both shapes are multiplied by one
    number from [1.2, 1.8], or divided by it. width: of a gradual or incremental change, as a share of the tensors
    between two changes. mode: "iid", factors drawn afresh; "template", each class has factors of its own, drawn at
    each change, and a tensor multiplies them by Gamma(5, 1/5) noise. swap_labels: a change swaps the labels and
    nothing else. form: "cp", or "dense" for tensors of up to ten million values. preset "simtensor": the shapes are
    0.1 + 0.1 |N(0, 1)| and the entries 100 times smaller, as in that tool; ``shapes`` is not used.

    A gradual change has its middle at the position in ``drifts``, an incremental one begins there.

    H. Fanaee-T, J. Gama, "SimTensor: a synthetic tensor data generator", 2016.

    >>> stream = SimTensor(order=4, size=10, n=1000, drift="sudden")
    >>> tensors, labels = stream.read(100)
    >>> tensors.shape, len(labels), stream.drifts
    ((10, 10, 10, 10), 100, (250, 500, 750))
    """

    def __init__(
        self,
        *,
        order: int = 3,
        size: int = 100,
        rank: int = 3,
        n: int = 2_000_000,
        drift: str = "none",
        shapes: tuple[float, float] = (2.0, 3.0),
        n_drifts: int = 3,
        width: float = 0.1,
        mode: str = "iid",
        form: str = "cp",
        swap_labels: bool = False,
        preset: str = "ours",
        seed: int = 1,
    ) -> None:
        whole("order", order, least=1, most=32)
        whole("size", size, least=1)
        whole("rank", rank, least=1)
        whole("n", n, least=1)
        choice("drift", drift, DRIFTS)
        if not isinstance(shapes, (tuple, list)) or len(shapes) != 2:
            raise ValueError(f"shapes must be two numbers above 0, got {shown(shapes)}")
        for shape in shapes:
            number("each of shapes", shape, above=0)
        whole("n_drifts", n_drifts, least=0, below=n)
        number("width", width, above=0, most=1)
        choice("mode", mode, ("iid", "template"))
        choice("form", form, ("cp", "dense"))
        if form == "dense" and size**order > LARGEST_DENSE:
            raise ValueError(f"form must be 'cp' for tensors of more than {LARGEST_DENSE} values, got {size}^{order}")
        flag("swap_labels", swap_labels)
        choice("preset", preset, ("ours", "simtensor"))
        whole("seed", seed, least=0)
        self.order, self.size, self.rank, self.n, self.drift, self.shapes = order, size, rank, n, drift, shapes
        self.n_drifts, self.width, self.mode, self.form, self.seed = n_drifts, width, mode, form, seed
        self.swap_labels, self.preset = swap_labels, preset
        self._scale = 0.01 if preset == "simtensor" else 1.0
        self._segment = n / (n_drifts + 1)
        self._shapes = self._concepts()
        self._templates = self._drawn()
        self._random, self._given = seeded(seed, 1), 0

    @property
    def drifts(self) -> tuple[int, ...]:
        """Where the concept changes."""
        if self.drift == "none":
            return ()
        return tuple(int(self._segment * c) for c in range(1, self.n_drifts + 1))

    @property
    def concepts(self) -> Floats:
        """The shapes of both classes, one row for each concept."""
        return self._shapes.copy()

    def read(self, n: int) -> tuple[Tensors, Ints] | None:
        """Give up to n next tensors and their labels, 0 or 1; None: the stream has ended."""
        whole("n", n, least=1)
        n = min(n, self.n - self._given)
        if n == 0:
            return None
        routine: Any = jit.draw_tensors
        columns, y = np.empty((n, self.order, self.rank, self.size)), np.empty(n, dtype=np.int64)
        width = max(1e-9, float(self.width * self._segment))
        routine(
            self._random, self._given, np.array(self.drifts, dtype=np.float64), width, DRIFTS.index(self.drift),
            self._shapes, self._scale, self._templates, bool(self.swap_labels), columns, y,
        )  # fmt: skip
        self._given += n
        tensors = CPTensors.from_columns(np.ones((n, self.rank)), columns, (self.size,) * self.order)
        return (tensors.dense() if self.form == "dense" else tensors), y

    def restart(self) -> None:
        """Go back to the first tensor."""
        self._random, self._given = seeded(self.seed, 1), 0

    def state(self) -> State:
        """Copy out the position."""
        return {"random": self._random.copy(), "given": np.array([self._given], dtype=np.int64)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` gave."""
        self._random, self._given = state["random"].copy(), int(state["given"][0])

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
