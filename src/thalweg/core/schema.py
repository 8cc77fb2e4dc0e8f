"""What a record looks like: its features, its classes, its shape."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Self

import msgspec
import numpy as np
from numpy.typing import NDArray

Value = str | int | float | bool
"""What a nominal value or a class may be, where it is written to a file."""


_MOST_CODES = 1 << 20


class Feature(msgspec.Struct, frozen=True, dict=True):
    """One column: numeric, or nominal when it has values.

    >>> Feature("salary").nominal
    False
    >>> Feature("car", values=("vw", "fiat")).cardinality
    2
    """

    name: str
    values: tuple[Value, ...] | None = None
    """The values of a nominal feature in the order of their codes; None: numeric."""
    open: bool = False
    """May new values appear? Inferred nominal features are open, declared ones closed."""

    @property
    def nominal(self) -> bool:
        """Is this column nominal?"""
        return self.values is not None

    @cached_property
    def codes(self) -> dict[Value, int]:
        """The code of each value."""
        return {v: i for i, v in enumerate(self.values or ())}

    @property
    def cardinality(self) -> int:
        """Number of values; 0 for a numeric feature."""
        return 0 if self.values is None else len(self.values)


class Schema(msgspec.Struct, frozen=True, dict=True):
    """The features of a record, and its classes where they are known beforehand.

    >>> schema = Schema.numeric(3, classes=("down", "up"))
    >>> schema.names
    ('x0', 'x1', 'x2')
    >>> schema == Schema.from_json(schema.to_json())
    True
    """

    features: tuple[Feature, ...]
    classes: tuple[Value, ...] | None = None
    """Known classes, in the order of their codes; None: an open set that grows as labels appear."""
    shape: tuple[int, ...] | None = None
    """Shape of one record when it is a tensor; None: a row of features."""
    open: bool = False
    """May new features appear? Only where rows are dicts and no schema was declared."""

    def __post_init__(self) -> None:
        """Refuse what no record can have."""
        _distinct("features", self.names)
        if self.classes is not None:
            _distinct("classes", self.classes)
        for feature in self.features:
            if feature.values is not None:
                _distinct(f"values of feature {feature.name!r}", feature.values)

    @classmethod
    def numeric(cls, n: int, classes: Iterable[Value] | None = None) -> Self:
        """Make a schema of n numeric features named x0, x1, …"""
        features = tuple(Feature(f"x{i}") for i in range(n))
        return cls(features, classes=None if classes is None else tuple(classes))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features in order."""
        return tuple(f.name for f in self.features)

    @property
    def n_features(self) -> int:
        """How many columns a row has."""
        return len(self.features)

    @cached_property
    def cardinalities(self) -> NDArray[np.int64]:
        """Number of values per feature, 0 for numeric ones."""
        return np.array([f.cardinality for f in self.features], dtype=np.int64)

    @cached_property
    def ceilings(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What codes must lie below (-1: numeric): those of a learned row, and those of a predicted row.

        Learned, a closed feature has only its own values. Else a code beyond them is a value that was never seen.
        """
        nominal = np.array([f.nominal for f in self.features], dtype=bool)
        closed = nominal & ~np.array([f.open for f in self.features], dtype=bool)
        predicted = np.where(nominal, _MOST_CODES, -1)
        return np.where(closed, self.cardinalities, predicted), predicted

    @cached_property
    def nominal_codes(self) -> dict[int, dict[Value, int]]:
        """The code of each value of each nominal feature, by the feature's position."""
        return {i: f.codes for i, f in enumerate(self.features) if f.nominal}

    def to_json(self) -> bytes:
        """Write as JSON."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, text: bytes | str) -> Self:
        """Read what ``to_json`` wrote."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError as error:
            raise ValueError(f"schema must be the JSON of a Schema: {error}") from None


def _distinct(what: str, items: Sequence[object]) -> None:
    if len(set(items)) != len(items):
        twice = next(i for i in items if items.count(i) > 1)
        raise ValueError(f"{what} must be distinct, {twice!r} appears more than once")
