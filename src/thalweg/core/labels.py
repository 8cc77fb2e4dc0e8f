"""Labels of any hashable type, and the codes 0, 1, 2, … they get in the order in which they appear."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

_NATURAL: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64, str: np.str_, bytes: np.bytes_}
_KINDS: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "U": str, "S": bytes}
_PLAIN = {bool, int, str, bytes}
_FEW = 16
_TAGS: dict[str, type] = {t.__name__: t for t in _NATURAL}


class Labels:
    """The classes seen so far. Reading labels and admitting new ones are two steps, so bad input changes nothing.

    >>> labels = Labels()
    >>> codes, new = labels.read(["up", "down", "up"])
    >>> codes.tolist(), new
    ([0, 1, 0], ['up', 'down'])
    >>> labels.admit(new); labels.values
    ['up', 'down']
    """

    __slots__ = ("_codes", "closed", "kind", "values")

    def __init__(self, declared: Iterable[Hashable] | None = None) -> None:
        self.values: list[Hashable] = []
        self.kind: type | None = None
        self.closed = False
        self._codes: dict[Hashable, int] = {}
        if declared is not None:
            self.admit(self.read(list(declared), "classes")[1])
            self.closed = True

    def __len__(self) -> int:
        return len(self.values)

    def read(self, y: Any, name: str = "y") -> tuple[NDArray[np.int64], list[Hashable]]:
        """Give the code of each label, and the labels that are new (their codes follow on)."""
        codes = self._read_column(y)
        if codes is not None:
            return codes, []
        items, kind = _items(y, name)
        if not items:
            return np.empty(0, dtype=np.int64), []
        if self.kind is not None and kind is not self.kind:
            example = next(v for v in items if type(v) is kind)
            raise TypeError(
                f"{name} must hold labels of one type: the classes so far are {self.kind.__name__}, "
                f"got {kind.__name__} {example!r}"
            )
        known = self._codes
        try:
            return np.fromiter(map(known.__getitem__, items), dtype=np.int64, count=len(items)), []
        except KeyError:
            pass
        new = [v for v in dict.fromkeys(items) if v not in known]
        if self.closed:
            raise ValueError(f"{name} must hold one of the declared classes {self.values!r}, got {new[0]!r}")
        both = known | {v: len(known) + i for i, v in enumerate(new)}
        return np.fromiter(map(both.__getitem__, items), dtype=np.int64, count=len(items)), new

    def _read_column(self, y: Any) -> NDArray[np.int64] | None:
        """The usual case, fast: an array of a few known labels, compared as a whole with each of them."""
        if type(y) is not np.ndarray or y.ndim != 1 or not len(y) or not 0 < len(self.values) <= _FEW:
            return None
        if _KINDS.get(y.dtype.kind) is not self.kind:
            return None
        codes = np.full(len(y), -1, dtype=np.int64)
        for code, label in enumerate(self.values):
            codes[y == label] = code
        return codes if codes.min() >= 0 else None

    def read_one(self, y: Any) -> tuple[int, list[Hashable]]:
        """Give the code of one label."""
        if type(y) is self.kind:
            code = self._codes.get(y)
            if code is not None:
                return code, []
        codes, new = self.read([y])
        return int(codes[0]), new

    def admit(self, new: Sequence[Hashable]) -> None:
        """Add new labels."""
        for label in new:
            self.kind = type(label)
            self._codes[label] = len(self.values)
            self.values.append(label)

    def copy(self) -> "Labels":
        """Make another set of the same labels."""
        twin = Labels()
        twin.admit(self.values)
        twin.closed = self.closed
        return twin

    def to_array(self) -> NDArray[Any]:
        """Give the labels as an array in the order of their codes."""
        if self.kind in _NATURAL or self.kind is None:
            try:
                return np.array(self.values, dtype=None if self.kind is None else _NATURAL[self.kind])
            except OverflowError:  # integers beyond 64 bits
                pass
        array = np.empty(len(self.values), dtype=object)
        array[:] = self.values
        return array

    def to_bytes(self) -> NDArray[np.uint8]:
        """Write as bytes, for a state."""
        tag = None if self.kind is None else self.kind.__name__
        if self.kind is not None and _TAGS.get(tag or "") is not self.kind:
            raise TypeError(f"labels of type {tag} cannot be saved: use {', '.join(_TAGS)}")
        values = [v.decode("latin-1") for v in self.values] if self.kind is bytes else self.values  # type: ignore[attr-defined]
        return np.frombuffer(msgspec.json.encode([tag, self.closed, values]), dtype=np.uint8).copy()

    @classmethod
    def from_bytes(cls, data: NDArray[np.uint8]) -> "Labels":
        """Read what ``to_bytes`` wrote."""
        tag, closed, values = msgspec.json.decode(data.tobytes(), type=tuple[str | None, bool, list[Any]])
        labels = cls()
        if tag is not None:
            kind = _TAGS[tag]
            labels.admit([v.encode("latin-1") if kind is bytes else kind(v) for v in values])
        labels.closed = closed
        return labels


def _items(y: Any, name: str) -> tuple[list[Hashable], type]:
    """Turn labels into plain Python values of one type."""
    array = sequence(y, name)
    items: list[Any] = array.tolist()
    if array.dtype != object and array.dtype.kind in "biufUS":
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(
                f"{name} must hold no missing or infinite label (NaN), got one at index "
                f"{int(np.argmin(np.isfinite(array)))}"
            )
        return items, type(items[0]) if items else int
    items = [v.item() if isinstance(v, np.generic) else v for v in items]
    kinds = {type(v) for v in items}
    suspects = [] if kinds <= _PLAIN else items
    for i, v in enumerate(suspects):
        if v is None or v != v:
            raise ValueError(f"{name} must hold no missing label, got {v!r} at index {i}")
        if not isinstance(v, Hashable):
            raise TypeError(f"{name} must hold hashable labels, got {v!r} at index {i}")
    if len(kinds) > 1:
        raise TypeError(f"{name} must hold labels of one type, got {' and '.join(sorted(k.__name__ for k in kinds))}")
    return items, next(iter(kinds), int)


def sequence(y: Any, name: str = "y") -> NDArray[Any]:
    """Turn whatever holds labels into an array with one dimension; the labels themselves are not looked at."""
    array = y if isinstance(y, np.ndarray) else _array(y, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got {array.ndim}")
    return array


def _array(y: Any, name: str) -> NDArray[Any]:
    if hasattr(y, "to_numpy"):  # pandas, polars, Arrow
        return np.asarray(y.to_numpy())
    if hasattr(y, "__array__") and not isinstance(y, np.generic):
        return np.asarray(y)
    if isinstance(y, (str, bytes)) or not hasattr(y, "__len__"):
        raise TypeError(f"{name} must be a sequence of labels, got {y!r}")
    array = np.empty(len(y), dtype=object)
    array[:] = [v for v in y]  # noqa: C416  an array of tuples must not become a matrix
    return array
