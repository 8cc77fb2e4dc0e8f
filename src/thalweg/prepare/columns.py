"""Which columns a transformer works on, and where its columns go."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from thalweg.core.params import shown
from thalweg.core.schema import Feature, Schema

Ints = NDArray[np.int64]
Columns = str | int | Sequence[str | int] | None
"""Columns by name or by position; "numeric" or "nominal": all of that kind; None: all that are suitable."""
KINDS = ("numeric", "nominal")
Kind = Literal["numeric", "nominal", "time", "text", ""]
"""What a transformer works on; "": on everything. Moments and counts of n-grams are numbers, but no amounts: a
transformer works on them only where it is made for them, or where they are named."""


class Plan(NamedTuple):
    """What follows from the parameters of a transformer and from its input schema."""

    schema: Schema
    """The features that go in."""
    out: Schema
    """The features that come out."""
    columns: Ints
    """The columns that the transformer works on, in order."""
    places: Ints
    """Of each column that goes in, where its own columns begin among those that come out."""
    more: Any = None
    """Whatever else a transformer derives from the schema."""


def check_columns(name: str, columns: Any) -> None:
    """Refuse what cannot name columns."""
    if columns is None or isinstance(columns, str) or _is_position(columns):
        return
    if not isinstance(columns, Sequence) or not all(isinstance(c, str) or _is_position(c) for c in columns):
        raise TypeError(f"{name} must name columns, or give their positions from 0, got {shown(columns)}")


def _is_position(column: Any) -> bool:
    return isinstance(column, (int, np.integer)) and not isinstance(column, bool)


def kind_of(feature: Feature) -> Kind:
    """Say what a column holds."""
    if feature.nominal:
        return "nominal"
    return "time" if feature.time else "text" if feature.text is not None else "numeric"


_ALSO: dict[Kind, tuple[Kind, ...]] = {"numeric": ("time", "text"), "time": ("numeric",)}
"""What can be named, beside what a transformer works on of its own accord."""


def choose(who: str, columns: Columns, schema: Schema, kind: Kind) -> Ints:
    """Give the positions of the chosen columns in order. The name of a text stands for all its features.

    >>> schema = Schema((Feature("size"), Feature("hue", values=("red",)), Feature("age"), Feature("day", time=True)))
    >>> choose("a scaler", None, schema, "numeric").tolist(), choose("a scaler", "age", schema, "numeric").tolist()
    ([0, 2], [2])
    """
    names, kinds = schema.names, [kind_of(f) for f in schema.features]
    if columns is None or (isinstance(columns, str) and columns in KINDS and columns not in names):
        wanted = {each for each in (columns, kind) if each}
        return np.flatnonzero([wanted <= {each} for each in kinds])
    texts = {text.column: places for text, places in schema.texts.items()}
    found: set[int] = set()
    for column in [columns] if isinstance(columns, (str, int, np.integer)) else columns:
        places = [column] if not isinstance(column, str) else [names.index(column)] if column in names else []
        places = texts[column].tolist() if column in texts else places
        if not places:
            raise ValueError(f"columns of {who} must be among {shown(list(schema.columns), 200)}, got {shown(column)}")
        if not 0 <= places[0] < len(names):
            raise ValueError(f"columns of {who} must lie in [0, {len(names) - 1}], got {places[0]}")
        got = kinds[places[0]]
        if kind and got != kind and got not in _ALSO.get(kind, ()):
            way = ": open the stream with readings=pipeline.readings" if kind in ("time", "text") else ""
            raise ValueError(f"columns of {who} must be {kind}, {column!r} is {got}{way}")
        found.update(int(place) for place in places)
    return np.array(sorted(found), dtype=np.int64)


def lay_out(schema: Schema, columns: Ints, made: Callable[[Feature], tuple[Feature, ...]]) -> Plan:
    """Let each chosen column be replaced by its own ones, the others stay; in the order of the columns that go in.

    So columns that join later are the last ones to come out, too.
    """
    features: list[Feature] = []
    places = np.zeros(schema.n_features, dtype=np.int64)
    chosen = set(columns.tolist())
    for f, feature in enumerate(schema.features):
        places[f] = len(features)
        features += made(feature) if f in chosen else (feature,)
    if tuple(features) == schema.features:
        return Plan(schema, schema, columns, places)
    return Plan(schema, structs.replace(schema, features=tuple(features), shape=None, rank=None), columns, places)


def refuse_codes(name: str, codes: NDArray[np.float64], schema: Schema, f: int) -> None:
    """Refuse a table from a file that has anything but codes which a learned value of a nominal feature can have."""
    if not ((codes >= 0.0) & (codes < schema.ceilings[0][f]) & (codes == np.floor(codes))).all():
        raise ValueError(f"its table {name!r} must hold codes of the nominal feature {schema.names[f]!r}")
