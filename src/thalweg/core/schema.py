"""What a record looks like: its features, its classes, its shape."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.params import shown

Value = str | int | float | bool
"""What a nominal value or a class may be, where it is written to a file."""


_MOST_CODES = 1 << 20


class Text(msgspec.Struct, frozen=True, array_like=True):
    """How a column of text is read: each n-gram is hashed to one of ``width`` numeric features, which count them."""

    column: str
    """The column with the text."""
    words: int
    """N-grams of up to so many words; 0: none."""
    characters: int
    """N-grams of so many characters, within words; 0: none."""
    width: int
    """Features."""


class Feature(msgspec.Struct, frozen=True, dict=True, omit_defaults=True):
    """One column: numeric, or nominal when it has values.

    Examples
    --------
    >>> Feature("salary").nominal
    False
    >>> Feature("car", values=("vw", "fiat")).cardinality
    2
    """

    name: str
    """What the column is called; no two of a schema share a name."""
    values: tuple[Value, ...] | None = None
    """The values of a nominal feature in the order of their codes; None: numeric."""
    open: bool = False
    """May new values appear? Inferred nominal features are open, declared ones closed."""
    time: bool = False
    """Is it a moment, in seconds since 1970? Then dates and times, also in text, are read as such."""
    text: Text | None = None
    """Does it count n-grams of a text? The features of one text stand in the order of their hashes."""

    def __post_init__(self) -> None:
        """Refuse what no column can be."""
        if not isinstance(self.name, str):
            raise TypeError(f"name must be text, got {shown(self.name)}")
        refuse_unwritable("name", [self.name])
        if self.values is not None:
            msgspec.structs.force_setattr(self, "values", _plain("values", self.values))
            _distinct(f"values of feature {self.name!r}", self.values)
        params.flag("open", self.open)
        params.flag("time", self.time)
        if self.values is not None and (self.time or self.text is not None):
            raise ValueError(f"values must be None for a time or a text, got {shown(self.values)}")

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

    Examples
    --------
    >>> schema = Schema.numeric(3, classes=("down", "up"))
    >>> schema.names
    ('x0', 'x1', 'x2')
    >>> schema == Schema.from_json(schema.to_json())
    True
    """

    features: tuple[Feature, ...]
    """The columns, in order."""
    classes: tuple[Value, ...] | None = None
    """Known classes, in the order of their codes; None: an open set that grows as labels appear."""
    shape: tuple[int, ...] | None = None
    """Shape of one record when it is a tensor; None: a row of features."""
    open: bool = False
    """May new features appear? Only where rows are dicts and no schema was declared."""
    rank: int | None = None
    """Number of outer products of a tensor that is written as their sum: its features are the weights, then for each
    mode and each product a vector. None: the features are the values of the tensor, the last index running fastest."""
    extra: Literal["refuse", "ignore"] = "refuse"
    """What becomes of a field or column that is no feature, where no new ones may appear."""

    def __post_init__(self) -> None:
        """Refuse what no record can have."""
        if not isinstance(self.features, (tuple, list)) or not all(isinstance(f, Feature) for f in self.features):
            raise TypeError(f"features must be a tuple of Feature, got {shown(self.features)}")
        msgspec.structs.force_setattr(self, "features", tuple(self.features))
        _distinct("features", self.names)
        if self.classes is not None:
            msgspec.structs.force_setattr(self, "classes", _plain("classes", self.classes))
            _distinct("classes", self.classes)
        if self.shape is not None:
            if not isinstance(self.shape, tuple):
                raise TypeError(f"shape must be a tuple of whole numbers, got {shown(self.shape)}")
            for n in self.shape:
                params.whole("shape", n, least=1)
        params.flag("open", self.open)
        params.choice("extra", self.extra, ("refuse", "ignore"))
        self._refuse_tensors()

    def _refuse_tensors(self) -> None:
        if self.rank is not None:
            params.whole("rank", self.rank, least=1)
            if self.shape is None:
                raise ValueError(f"rank must be None where shape is None, got {self.rank}")
        if self.shape is not None and len(self.features) != _width(self.shape, self.rank):
            rule = f"features must be the {_width(self.shape, self.rank)} of a tensor of shape {self.shape}"
            written = "" if self.rank is None else f" and rank {self.rank}"
            raise ValueError(f"{rule}{written}, got {len(self.features)}")

    @classmethod
    def numeric(cls, n: int, classes: Iterable[Value] | None = None) -> Self:
        """Make a schema of n numeric features named x0, x1, …"""
        params.whole("n", n, least=0, most=10_000_000)
        features = _numeric_features(int(n))
        many = isinstance(classes, Iterable) and not isinstance(classes, str)
        return cls(features, classes=tuple(classes) if many else classes)  # type: ignore[arg-type]

    @classmethod
    def tensor(cls, shape: Iterable[int], classes: Iterable[Value] | None = None, *, rank: int | None = None) -> Self:
        """Make a schema of tensors of one shape: all their values, or the weights and vectors of ``rank`` products.

        Examples
        --------
        >>> Schema.tensor((8, 8)).n_features, Schema.tensor((100, 100, 100), rank=3).n_features
        (64, 903)
        """
        sizes = tuple(int(n) for n in shape)
        made = cls.numeric(_width(sizes, rank), classes)
        return cls(made.features, made.classes, sizes, rank=rank)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features in order."""
        return tuple(f.name for f in self.features)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that a record has: the features, and for those of a text the text itself."""
        return tuple(dict.fromkeys(f.name if f.text is None else f.text.column for f in self.features))

    @cached_property
    def texts(self) -> dict[Text, NDArray[np.int64]]:
        """The texts, and the places of their features."""
        found: dict[Text, list[int]] = {}
        for i, f in enumerate(self.features):
            if f.text is not None:
                found.setdefault(f.text, []).append(i)
        return {text: np.array(places, dtype=np.int64) for text, places in found.items()}

    @cached_property
    def column_of(self) -> NDArray[np.int64]:
        """Of each feature, the place of its column among ``columns``."""
        places = {name: i for i, name in enumerate(self.columns)}
        return np.array([places[f.name if f.text is None else f.text.column] for f in self.features], dtype=np.int64)

    @property
    def n_features(self) -> int:
        """How many columns a row has."""
        return len(self.features)

    @cached_property
    def cardinalities(self) -> NDArray[np.int64]:
        """Number of values per feature, 0 for numeric ones."""
        return np.array([f.cardinality for f in self.features], dtype=np.int64)

    @cached_property
    def nominal(self) -> NDArray[np.int64]:
        """1 for each nominal feature, 0 for each number."""
        return np.array([f.nominal for f in self.features], dtype=np.int64)

    @cached_property
    def ceilings(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What codes must lie below (-1: numeric): those of a learned row, and those of a predicted row.

        Learned, a closed feature has only its own values. Else a code beyond them is a value that was never seen.
        """
        nominal = self.nominal > 0
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
        except (msgspec.DecodeError, TypeError) as error:
            raise ValueError(f"schema must be the JSON of a Schema: {error}") from None


def _width(shape: tuple[int, ...], rank: int | None) -> int:
    """How many features a tensor has."""
    return math.prod(shape) if rank is None else rank * (1 + sum(shape))


@lru_cache(maxsize=4)  # wide ones take a while
def _numeric_features(n: int) -> tuple[Feature, ...]:
    return tuple(Feature(f"x{i}") for i in range(n))


def refuse_shorter(schema: Schema, old: Schema) -> None:
    """Refuse a schema that does not begin with the features of an older one, and with their values."""
    if schema.n_features < old.n_features:
        raise ValueError(f"schema must have the {old.n_features} features of the present one, got {schema.n_features}")
    for a, b in zip(old.features, schema.features, strict=False):
        if a.name != b.name or a.nominal != b.nominal or (a.values or ()) != (b.values or ())[: a.cardinality]:
            raise ValueError(f"schema must begin with the features of the present one, got {shown(b)} for {shown(a)}")


def refuse_unwritable(what: str, values: Sequence[object]) -> None:
    """Refuse values that would not come back as they are from a saved state."""
    if not _writable(values):
        bad = next(v for v in values if not _writable([v]))
        raise ValueError(f"{what} must be text of whole characters or a finite number, got {shown(bad)}")


def _writable(values: Sequence[object]) -> bool:
    try:
        msgspec.json.encode(values)
    except ValueError:  # half of a character, or thousands of digits
        return False
    return float not in map(type, values) or all(math.isfinite(v) for v in values if isinstance(v, float))


def _plain(what: str, values: Any) -> tuple[Value, ...]:
    """Give the values as a tuple of Python's own text and numbers."""
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"{what} must be a tuple, got {shown(values)}")
    if not {str, int, float, bool}.issuperset(map(type, values)):
        values = [v.item() if isinstance(v, np.generic) else v for v in values]
        for v in values:
            if type(v) not in (str, int, float, bool):
                raise TypeError(f"{what} must be text, numbers, True or False, got {shown(v)}")
    refuse_unwritable(what, values)
    return tuple(values)


def _distinct(what: str, items: Sequence[object]) -> None:
    if len(set(items)) != len(items):
        twice = next(i for i in items if items.count(i) > 1)
        raise ValueError(f"{what} must be distinct, {shown(twice)} appears more than once")
