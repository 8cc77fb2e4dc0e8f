"""The tensors that a model will be built from next."""

from collections import deque
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.classifier import Floats, Ints
from thalweg.core.declared import check, table
from thalweg.core.protocols import State
from thalweg.tensors.forms import Tensors, form, shape_of
from thalweg.tensors.joining import join, tensors_from, tensors_state

MANY = 2**62
"""More tensors than this are never learned."""


class Noted(NamedTuple):
    """What is known of tensors that are kept."""

    labels: Annotated[Ints, table("n", least=0, most="classes - 1")]
    """n: their codes."""
    numbers: Annotated[Ints, table("n", least=0, most=MANY)]
    """n: how many tensors had been learned when each came, itself included."""


class Weighed(NamedTuple):
    """How much tensors that are kept count."""

    shares: Annotated[Floats, table("n", least=0)]
    """n: their weights."""


@final
class TensorBuffer:
    """Labelled tensors in the order in which they came, each with its weight and number; a full one drops the oldest.

    >>> buffer = TensorBuffer(2)
    >>> for i in range(3):
    ...     buffer.add(np.full((1, 2, 2), float(i)), label=0, weight=1.0, number=i)
    >>> len(buffer), buffer.tensors[:, 0, 0].tolist()
    (2, [1.0, 2.0])
    """

    __slots__ = ("records",)

    def __init__(self, most: int) -> None:
        """most: more tensors than these drop the oldest."""
        self.records: deque[tuple[Tensors, int, float, int]] = deque(maxlen=most)

    def __len__(self) -> int:
        return len(self.records)

    def add(self, tensor: Tensors, label: int, weight: float, number: int) -> None:
        """Put a chunk of one tensor in."""
        self.records.append((tensor[[0]], label, weight, number))  # a copy: a view would keep its whole chunk

    def clear(self) -> None:
        """Take all out."""
        self.records.clear()

    @property
    def tensors(self) -> Tensors:
        """The tensors, as one chunk."""
        return join([record[0] for record in self.records])

    @property
    def labels(self) -> Ints:
        """Their codes."""
        return np.array([record[1] for record in self.records], dtype=np.int64)

    @property
    def weights(self) -> Floats:
        """Their weights."""
        return np.array([record[2] for record in self.records])

    @property
    def numbers(self) -> Ints:
        """How many tensors had been learned when each came, itself included."""
        return np.array([record[3] for record in self.records], dtype=np.int64)

    @property
    def layout(self) -> tuple[str | None, tuple[int, ...] | None]:
        """The form and the shape of the tensors; None while there are none."""
        first = self.records[0][0] if self.records else None
        return (None, None) if first is None else (form(first), shape_of(first))

    def state(self) -> State:
        """Copy everything out."""
        if not self.records:
            return {}
        rest = {"labels": self.labels, "shares": self.weights, "numbers": self.numbers}
        return {**tensors_state(self.tensors), **rest}

    def restore(self, state: Mapping[str, NDArray[Any]], classes: int) -> None:
        """Continue from what ``state`` gave; what no buffer of this size and so many classes could give is refused."""
        if not state:
            self.records.clear()
            return
        tensors = tensors_from(state)
        n = len(tensors)
        check(Noted, state, n=n, classes=classes)
        check(Weighed, state, n=n)
        labels, numbers, weights = (state[name].tolist() for name in ("labels", "numbers", "shares"))
        if not 0 < n <= (self.records.maxlen or 0):
            raise ValueError(f"it keeps {n} tensors")
        self.records.clear()
        for i in range(n):
            self.add(tensors[i : i + 1], labels[i], weights[i], numbers[i])
