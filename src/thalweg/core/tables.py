"""Tables of parts among the tables of a whole: their names begin with the name of the part. What a table must be."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.params import shown
from thalweg.core.protocols import State


def prefixed(part: str, tables: Mapping[str, NDArray[Any]], mark: str = ".") -> State:
    """Name the tables of a part. mark: what stands between; streams inside streams have "/".

    >>> prefixed("tree", {"nodes": np.zeros(1)})
    {'tree.nodes': array([0.])}
    """
    return {f"{part}{mark}{name}": table for name, table in tables.items()}


def under(part: str, tables: Mapping[str, NDArray[Any]], mark: str = ".") -> State:
    """Give the tables of a part under their own names.

    >>> under("tree", {"tree.nodes": np.zeros(1), "marks": np.zeros(2)})
    {'nodes': array([0.])}
    """
    start = f"{part}{mark}"
    return {n.removeprefix(start): t for n, t in tables.items() if n.startswith(start)}


def numbered(k: int, tables: Mapping[str, NDArray[Any]]) -> State:
    """Give the tables whose names end with a number under their own names.

    >>> numbered(1, {"rows_0": np.zeros(1), "rows_1": np.ones(1)})
    {'rows': array([1.])}
    """
    return {n.removesuffix(f"_{k}"): t for n, t in tables.items() if n.endswith(f"_{k}")}


@contextmanager
def refusing(state: Any, mine: str) -> Iterator[None]:
    """Say of a state in which something turns out to be wrong what it must be. mine: this, in words.

    >>> with refusing({"sums": np.ones(2)}, "state must be what Mean.state() gave"):
    ...     raise KeyError("counts")
    Traceback (most recent call last):
    ValueError: state must be what Mean.state() gave: it lacks 'counts'
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"{mine}, a dict of arrays, got {shown(state)}")
    for name, table in state.items():
        if not isinstance(table, np.ndarray):
            raise TypeError(f"{mine}, a dict of arrays, got {shown(table)} for {shown(name)}")
    try:
        yield
    except KeyError as error:
        raise ValueError(f"{mine}: it lacks {error}") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{mine}: {error}") from None


def refuse_misfits(tables: State, like: State, free: Collection[str] = ()) -> None:
    """Refuse tables of another type or shape than those of a learner like this one; free ones may be longer.

    >>> refuse_misfits({"sums": np.ones((4, 2))}, {"sums": np.ones((1, 2))}, free=("sums",))
    >>> refuse_misfits({"sums": np.ones((4, 2))}, {"sums": np.ones((1, 2))})
    Traceback (most recent call last):
    ValueError: its table 'sums' has another type or shape
    """
    for name, table in like.items():
        given = tables[name]
        shape = (len(given), *table.shape[1:]) if name in free and given.ndim == table.ndim else table.shape
        if given.dtype != table.dtype or given.shape != shape or not given.flags.c_contiguous:
            raise ValueError(f"its table {name!r} has another type or shape")


def sound(
    tables: Mapping[str, NDArray[Any]],
    name: str,
    shape: Sequence[int | None],
    dtype: type = np.float64,
    *,
    least: float = -sys.float_info.max,
    below: float = np.inf,
) -> NDArray[Any]:
    """Give a table of a state if it has this shape (None: any size), type and range; else refuse the state.

    >>> sound({"sums": np.ones((4, 2))}, "sums", (None, 2)).shape
    (4, 2)
    >>> sound({"sums": np.full(2, np.nan)}, "sums", (2,))
    Traceback (most recent call last):
    ValueError: its table 'sums' holds what no learner could
    """
    table = tables[name]
    if table.ndim != len(shape) or any(want not in (None, n) for n, want in zip(table.shape, shape, strict=True)):
        raise ValueError(f"its table {name!r} has another shape")
    if table.dtype != dtype or not table.flags.c_contiguous:
        raise ValueError(f"its table {name!r} has another type")
    if not ((table >= least) & (table < below)).all():
        raise ValueError(f"its table {name!r} holds what no learner could")
    return table
