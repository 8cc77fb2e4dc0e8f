"""Which columns a transformer works on, and where its columns go."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from thalweg.core.params import shown
from thalweg.core.schema import Feature, Schema

Ints = NDArray[np.int64]
Columns = str | int | Sequence[str | int] | None
"""Columns by name or by position; "numeric" or "nominal": all of that kind; None: all that are suitable."""
KINDS = {"numeric": False, "nominal": True}


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


def choose(who: str, columns: Columns, schema: Schema, kind: str) -> Ints:
    """Give the positions of the chosen columns in order; kind: "numeric", "nominal", or "" where both will do.

    >>> schema = Schema((Feature("size"), Feature("hue", values=("red",)), Feature("age")))
    >>> choose("a scaler", None, schema, "numeric").tolist(), choose("a scaler", "age", schema, "numeric").tolist()
    ([0, 2], [2])
    """
    names = schema.names
    if columns is None or (isinstance(columns, str) and columns in KINDS and columns not in names):
        wanted = KINDS.get(columns or kind)
        suits = KINDS.get(kind)
        fits = (wanted is None or wanted == f.nominal for f in schema.features)
        return np.flatnonzero([ok and suits in (None, f.nominal) for ok, f in zip(fits, schema.features, strict=True)])
    found = set()
    for column in [columns] if isinstance(columns, (str, int, np.integer)) else columns:
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"columns of {who} must be among {shown(list(names), 200)}, got {shown(column)}")
            at = names.index(column)
        else:
            at = int(column)
            if not 0 <= at < len(names):
                raise ValueError(f"columns of {who} must lie in [0, {len(names) - 1}], got {at}")
        if kind and schema.features[at].nominal != KINDS[kind]:
            got = "nominal" if schema.features[at].nominal else "numeric"
            raise ValueError(f"columns of {who} must be {kind}, {names[at]!r} is {got}")
        found.add(at)
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
