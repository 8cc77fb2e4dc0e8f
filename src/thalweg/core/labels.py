"""Labels of any hashable type, and the codes 0, 1, 2, … they get in the order in which they appear."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from thalweg.core.params import shown
from thalweg.core.schema import refuse_unwritable

_NATURAL: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64, str: np.str_, bytes: np.bytes_}
_KINDS: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "U": str, "S": bytes}
_PLAIN = {bool, int, str, bytes}
_FEW = 16
_MOST_APART = 10_000  # labels that are whole numbers, the least and the greatest of them, to be looked up in a table
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

    __slots__ = ("_codes", "_table", "closed", "kind", "values")

    def __init__(self, declared: Iterable[Hashable] | None = None) -> None:
        self.values: list[Hashable] = []
        self.kind: type | None = None
        self.closed = False
        self._codes: dict[Hashable, int] = {}
        self._table: tuple[int, NDArray[np.int64]] | None = None
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
                f"got {kind.__name__} {shown(example)}"
            )
        known = self._codes
        try:
            return np.fromiter(map(known.__getitem__, items), dtype=np.int64, count=len(items)), []
        except KeyError:
            pass
        new = [v for v in dict.fromkeys(items) if v not in known]
        if self.closed:
            raise ValueError(
                f"{name} must hold one of the declared classes {shown(self.values, 200)}, got {shown(new[0])}"
            )
        _refuse_unkept(new, name)
        both = known | {v: len(known) + i for i, v in enumerate(new)}
        return np.fromiter(map(both.__getitem__, items), dtype=np.int64, count=len(items)), new

    def _read_column(self, y: Any) -> NDArray[np.int64] | None:
        """The usual case, fast: an array of a few known labels, compared as a whole with each of them."""
        if type(y) is not np.ndarray or y.ndim != 1 or not len(y) or not self.values:
            return None
        if self._table is not None and y.dtype == np.int64:
            below, table = self._table
            codes = table.take(y - below, mode="clip")  # both ends of the table are -1
            return codes if codes.min() >= 0 else None
        if (
            len(self.values) > _FEW or _KINDS.get(y.dtype.kind) is not self.kind or y.dtype.char in "efg"
        ):  # a float of another width is rounded
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
        if new and self.kind is int:
            self._table = _tabled(self.values)

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
        try:
            tag, closed, values = msgspec.json.decode(data.tobytes(), type=tuple[str | None, bool, list[Any]])
            kind = str if tag is None else _TAGS[tag]
            read = [v.encode("latin-1") if kind is bytes else kind(v) for v in values]
        except (msgspec.DecodeError, ValueError, TypeError, LookupError, AttributeError):
            raise ValueError("its labels are damaged") from None
        if len(set(read)) != len(read):
            raise ValueError("its labels are damaged")
        labels = cls()
        labels.admit(read)
        labels.closed = closed
        return labels


def _tabled(values: list[Any]) -> tuple[int, NDArray[np.int64]] | None:
    """Make a table of the codes of whole numbers, and say which number is just below it; None: they lie far apart."""
    below = min(values) - 1
    if max(values) - below > _MOST_APART or not -(2**63) <= below < max(values) < 2**63:
        return None
    table = np.full(max(values) - below + 2, -1, dtype=np.int64)
    table[np.array(values) - below] = np.arange(len(values))
    return below, table


def _items(y: Any, name: str) -> tuple[list[Hashable], type]:
    """Turn labels into plain Python values of one type."""
    array = sequence(y, name)
    if array.dtype.char == "g":
        with np.errstate(over="ignore"):
            array = array.astype(np.float64)
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
        if not _hashable(v):
            raise TypeError(f"{name} must hold hashable labels, got {shown(v)} at index {i}")
        if v is None or not _equals_itself(v):
            raise ValueError(f"{name} must hold no missing label, got {shown(v)} at index {i}")
    if len(kinds) > 1:
        raise TypeError(f"{name} must hold labels of one type, got {' and '.join(sorted(k.__name__ for k in kinds))}")
    return items, next(iter(kinds), int)


def _hashable(v: Any) -> bool:
    try:
        hash(v)
    except Exception:
        return False
    return True


def _equals_itself(v: Any) -> bool:
    """NaN, NaT and NA do not."""
    try:
        return bool(v == v)
    except Exception:
        return False


def _refuse_unkept(labels: list[Hashable], name: str) -> None:
    """Refuse what would not come back from a saved state, or from an array of classes, as it is."""
    refuse_unwritable(f"each label in {name}", [v for v in labels if type(v) in (str, int, float)])
    for v in labels:
        if isinstance(v, (str, bytes)) and v[-1:] in ("\0", b"\0"):
            raise ValueError(f"{name} must hold labels that do not end with a zero character, got {shown(v)}")


def sequence(y: Any, name: str = "y") -> NDArray[Any]:
    """Turn whatever holds labels into an array with one dimension; the labels themselves are not looked at."""
    array = y if type(y) is np.ndarray else _array(y, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got {array.ndim}")
    return array


def _array(y: Any, name: str) -> NDArray[Any]:
    holds = hasattr(y, "__len__") or hasattr(y, "__array__")
    if holds and not isinstance(y, (str, bytes, type, set, frozenset, Mapping)):
        try:
            if isinstance(y, np.ma.MaskedArray):
                plain = np.array(y.data, dtype=object)
                plain[np.ma.getmaskarray(y)] = None
                return plain
            if hasattr(y, "to_numpy") and not type(y).__module__.startswith("pyarrow"):  # pandas, polars
                return np.asarray(y.to_numpy())
            if hasattr(y, "__array__"):
                return np.asarray(y)
            return np.fromiter(y, dtype=object, count=len(y))  # an array of tuples must not become a matrix
        except Exception:  # whatever someone else's container raises
            pass
    raise TypeError(f"{name} must be a sequence of labels, got {shown(y)}")
