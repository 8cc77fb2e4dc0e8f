"""New tables of a pool: how their memory is taken, and what some trees have beyond the tables of plain ones."""

import math
import mmap
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import declared
from thalweg.pool import pool_jit as p
from thalweg.pool.leaf_jit import Floats

_OWN_MEMORY = 1 << 16
_LINE = 64
"""Bytes of a cache line."""


def zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    """Make a table of zeros, at the beginning of a cache line.

    A large one gets memory of its own, which goes back to the system when it is replaced.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < _OWN_MEMORY or not hasattr(mmap, "MAP_PRIVATE"):
        cells = np.zeros(size + _LINE, dtype=np.uint8)
        first = -int(cells.__array_interface__["data"][0]) % _LINE
        table: NDArray[Any] = cells[first : first + size].view(dtype).reshape(shape)
        return table
    own = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(own, dtype=dtype).reshape(shape)


def new_nodes(n: int) -> NDArray[np.void]:
    """Make n leaves that have seen nothing."""
    nodes = zeros((n,), p.NODE)
    nodes["feature"] = p.LEAF
    nodes["left"] = p.FRESH
    return nodes


@dataclass(frozen=True, kw_only=True)
class Extras:
    """What the trees of a pool have beyond the tables of plain ones; see pool_jit.py."""

    kind: int = p.UNLINKED
    bundle: type | None = None
    """What declares the tables; None: there are none."""
    marks: int = 0
    """Columns of ``marks``."""
    pair: Floats = field(default_factory=lambda: np.empty(0))
    """A row of ``pairs`` as it is in the beginning."""
    turns: int = 0
    """How many things ``turns`` counts."""
    rules: tuple[float, ...] = ()
    """More numbers for compiled code to read, from R_OWN."""

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that there are."""
        return () if self.bundle is None else tuple(declared(self.bundle))

    def make(self, nodes: int, trees: int) -> tuple[NDArray[np.int32], Floats, Floats]:
        """Make links, marks and pairs for so many nodes."""
        links = np.full(nodes if self.kind != p.UNLINKED else 0, p.NO_LINK, dtype=np.int32)
        pairs = zeros(((nodes - trees) // 2 if self.pair.size else 0, self.pair.size))
        pairs[:] = self.pair
        return links, zeros((nodes if self.marks else 0, self.marks)), pairs

    @property
    def node_bytes(self) -> int:
        """Bytes for each node."""
        return 4 * (self.kind != p.UNLINKED) + 8 * self.marks + self.pair.nbytes // 2


NO_EXTRAS = Extras()
