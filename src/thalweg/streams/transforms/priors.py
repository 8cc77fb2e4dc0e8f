"""Classes that become more or less frequent."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import fields
from thalweg.core.params import number, shown
from thalweg.core.protocols import State, Stream
from thalweg.core.schema import Value
from thalweg.streams.source import SEED
from thalweg.streams.transforms.around import Around
from thalweg.streams.transforms.changes_jit import draw, keep
from thalweg.streams.transforms.picking import Picking

WITH_CLASSES: Any = fields.again(
    doc="The stream to change, with known classes; it is read from its current position.", kw_only=False
)


@final
class PriorDrift(Around):
    """The shares of the classes change; what a record of a class looks like does not.

    The class of each record is drawn from the wanted shares, then the stream is read up to its next record of that
    class; those before it are dropped.

    Examples
    --------
    >>> from thalweg import SEA
    >>> y = PriorDrift(SEA(), before=(0.5, 0.5), after=(0.9, 0.1), position=5000).take(10_000).y
    >>> bool(abs(y[:5000].mean() - 0.5) < 0.05), bool(abs(y[5000:].mean() - 0.1) < 0.05)
    (True, True)
    """

    stream: Stream = WITH_CLASSES
    before: Sequence[float] = fields.free(
        doc="The wanted share of each class, in the order of the schema; they need not add up to 1.", kw_only=False
    )
    after: Sequence[float] = fields.free(doc="The wanted shares after the change.", kw_only=False)
    position: int = fields.whole(
        doc="The middle of the change, along the sigmoid of ``DriftStream``.", least=0, kw_only=False
    )
    width: float = fields.number(default=1, doc="How long the change takes; 1: abrupt.", least=1, kw_only=False)
    seed: int = SEED

    def _prepare(self) -> None:
        self._picking = Picking(self.stream)
        before, after = (_shares(n, getattr(self, n), self._picking.classes) for n in ("before", "after"))
        self._before, self._after = before / before.sum(), after / after.sum()
        super()._prepare()

    def _changes(self) -> dict[int, float]:
        return {int(self.position): self.width}

    def _start(self) -> None:
        super()._start()
        self._wanted = np.full(1, -1)

    def _pick(self, codes: NDArray[np.int64], given: int, picked: NDArray[np.int64]) -> tuple[int, int]:
        where = float(self.position), float(self.width), given
        return draw(self._random, self._wanted, self._before, self._after, *where, codes, picked)

    def _tables(self) -> State:
        return super()._tables() | {"wanted": self._wanted}

    def _adopt(self, tables: State, given: int) -> None:
        super()._adopt(tables, given)
        self._wanted = tables["wanted"]


@final
class Imbalance(Around):
    """Of each class only a share of the records, chosen at random; the rest are dropped.

    Examples
    --------
    >>> from thalweg import SEA
    >>> chunk = Imbalance(SEA(), keep=(1.0, 0.05)).take(10_000)
    >>> bool(0.05 < chunk.y.mean() < 0.15)
    True
    """

    stream: Stream = WITH_CLASSES
    keep: Sequence[float] = fields.free(
        doc="The share of the records of each class that are kept, in the order of the schema.", kw_only=False
    )
    seed: int = SEED

    def _prepare(self) -> None:
        self._picking = Picking(self.stream)
        self._shares = _shares("keep", self.keep, self._picking.classes)
        if self._shares.max() > 1.0:
            raise ValueError(f"keep must lie in [0, 1], got {shown(self.keep)}")
        super()._prepare()

    def _pick(self, codes: NDArray[np.int64], given: int, picked: NDArray[np.int64]) -> tuple[int, int]:
        return keep(self._random, self._shares, codes, picked)


def _shares(name: str, values: Any, classes: tuple[Value, ...]) -> NDArray[np.float64]:
    """Refuse anything but a number of at least 0 for each class, not all of them 0."""
    if not isinstance(values, (tuple, list)) or len(values) != len(classes):
        raise ValueError(f"{name} must be a number for each of the {len(classes)} classes, got {shown(values)}")
    for v in values:
        number(name, v, least=0)
    if not any(values):
        raise ValueError(f"{name} must have a number above 0, got {shown(values)}")
    return np.array(values, dtype=np.float64)
