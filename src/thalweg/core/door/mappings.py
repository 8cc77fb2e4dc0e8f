"""Single records by name: dicts and other mappings."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from thalweg.core.door.arrays import MISSING, UNREADABLE, number
from thalweg.core.door.nominal import nominal_codes
from thalweg.core.params import shown
from thalweg.core.schema import Feature, Schema, refuse_unwritable

_PLAIN = frozenset({float, int, bool, np.bool_, np.float64, np.float32, np.int64, np.int32, np.int8, np.uint8})


def from_mapping(
    x: Mapping[Any, Any], schema: Schema | None, missing: bool, learning: bool
) -> tuple[NDArray[np.float64], Schema]:
    """Read one record by name. An absent feature is missing; a new one joins when learning and nothing was declared."""
    if schema is None:
        schema = Schema((), open=True)
    features = schema.features
    if len(x) == len(features):  # the usual case, fast
        values: list[Any] = [*map(x.get, schema.names)]
        for i, known in schema.nominal_codes.items():
            try:
                values[i] = known.get(values[i])
            except TypeError:  # it cannot be hashed
                pass
        if _PLAIN.issuperset(map(type, values)):
            try:
                return np.array([values], dtype=np.float64).reshape(1, len(features)), schema
            except OverflowError:
                pass  # the careful way below says what is wrong
    new = [k for k in x if k not in schema.names]
    if new and learning and schema.open:
        features += tuple(
            Feature(_name(k), values=(), open=True) if isinstance(x[k], str) else Feature(_name(k)) for k in new
        )
    elif new and not schema.open:
        raise ValueError(f"x must have the features {shown(list(schema.names), 200)}, got {shown(new[0])} too")
    grown = list(features)
    array = np.full((1, len(features)), MISSING)
    for i, feature in enumerate(features):
        v = x.get(feature.name)
        if v is None:
            if not missing and feature.name not in x:
                raise ValueError(f"x must have every feature for this learner, it lacks {feature.name!r}")
            continue
        if feature.values is not None and isinstance(v, (str, int, float, np.generic)):
            plain = v.item() if isinstance(v, np.generic) else str(v) if isinstance(v, str) else v
            if plain == plain:
                codes, grown[i] = nominal_codes([plain], feature, learning)
                array[0, i] = codes[0]
            continue
        try:
            array[0, i] = number(v)
        except UNREADABLE:
            raise TypeError(f"x must hold a number for feature {feature.name!r}, got {shown(v)}") from None
    if len(grown) != len(schema.features) or any(a is not b for a, b in zip(grown, schema.features, strict=False)):
        schema = structs.replace(schema, features=tuple(grown))
    return array, schema


def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"x must have feature names that are text, got {shown(key)}")
    refuse_unwritable("x", [str(key)])
    return str(key)
