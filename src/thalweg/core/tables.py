"""Tables of parts among the tables of a whole: their names begin with the name of the part."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from thalweg.core.protocols import State


def prefixed(part: str, tables: Mapping[str, NDArray[Any]]) -> State:
    """Name the tables of a part.

    >>> import numpy as np
    >>> prefixed("tree", {"nodes": np.zeros(1)})
    {'tree.nodes': array([0.])}
    """
    return {f"{part}.{name}": table for name, table in tables.items()}


def under(part: str, tables: Mapping[str, NDArray[Any]]) -> State:
    """Give the tables of a part under their own names.

    >>> import numpy as np
    >>> under("tree", {"tree.nodes": np.zeros(1), "marks": np.zeros(2)})
    {'nodes': array([0.])}
    """
    return {n.removeprefix(f"{part}."): t for n, t in tables.items() if n.startswith(f"{part}.")}
