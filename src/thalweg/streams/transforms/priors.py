"""Classes that become more or less frequent."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.params import number, shown, whole
from thalweg.core.protocols import State, Stream
from thalweg.core.schema import Value
from thalweg.streams.transforms.around import Thinned
from thalweg.streams.transforms.changes_jit import draw, keep


@final
class PriorDrift(Thinned):
    """The shares of the classes change; what a record of a class looks like does not.

    The class of each record is drawn from the wanted shares, then the stream is read up to its next record of that
    class; those before it are dropped.

    Parameters
    ----------
    stream : Stream
        Knows its classes; read from where it is.
    before, after : Sequence[float]
        The wanted share of each class, in the order of the schema; they need not add up to 1.
    position, width
        The change, along the sigmoid of ``DriftStream``.
    seed : int
        Random seed.
    limit : int | None
        Rows, None: until the stream ends.

    Examples
    --------
    >>> from thalweg import SEA
    >>> y = PriorDrift(SEA(), before=(0.5, 0.5), after=(0.9, 0.1), position=5000).take(10_000).y
    >>> bool(abs(y[:5000].mean() - 0.5) < 0.05), bool(abs(y[5000:].mean() - 0.1) < 0.05)
    (True, True)
    """

    def __init__(
        self,
        stream: Stream,
        before: Sequence[float],
        after: Sequence[float],
        position: int,
        width: float = 1,
        *,
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        self.seed = seed
        self._surround(stream, limit)
        self._before, self._after = (_shares(n, v, self._classes) for n, v in (("before", before), ("after", after)))
        self._before, self._after = self._before / self._before.sum(), self._after / self._after.sum()
        whole("position", position, least=0)
        number("width", width, least=1)
        self.before, self.after, self.position, self.width = before, after, position, width
        self.restart()

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
class Imbalance(Thinned):
    """Of each class only a share of the records, chosen at random; the rest are dropped.

    Parameters
    ----------
    stream : Stream
        Knows its classes; read from where it is.
    keep : Sequence[float]
        The share of the records of each class that are kept, in the order of the schema.
    seed : int
        Random seed.
    limit : int | None
        Rows, None: until the stream ends.

    Examples
    --------
    >>> from thalweg import SEA
    >>> chunk = Imbalance(SEA(), keep=(1.0, 0.05)).take(10_000)
    >>> bool(0.05 < chunk.y.mean() < 0.15)
    True
    """

    def __init__(self, stream: Stream, keep: Sequence[float], *, seed: int = 1, limit: int | None = None) -> None:
        self.seed = seed
        self._surround(stream, limit)
        self._shares = _shares("keep", keep, self._classes)
        if self._shares.max() > 1.0:
            raise ValueError(f"keep must lie in [0, 1], got {shown(keep)}")
        self.keep = keep
        self.restart()

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
