"""Records that are dicts: what each field holds is inferred from the first ones, and later ones must keep to it."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thalweg.core.door import hashed_texts, stamp
from thalweg.core.labels import Labels
from thalweg.core.params import shown
from thalweg.core.readings import NONE, Readings
from thalweg.core.schema import Feature, Schema
from thalweg.streams.files.text_table import grown

FIRST = 1000
"""How many records types are inferred from."""


def infer(records: Sequence[Mapping[str, Any]], where: str, leave: Sequence[str], nominal: Sequence[str],
          readings: Readings = NONE) -> Schema:  # fmt: skip
    """Infer the features of records; text is nominal, and new values join as they appear."""
    kinds: dict[str, bool] = {}
    dated: set[str] = set()
    for record in records:
        for name, value in record.items():
            if name in leave:
                continue
            if not isinstance(name, str):
                raise TypeError(f"{where} must have fields whose names are text, got {shown(name)}")
            text = isinstance(value, str) or name in nominal
            if isinstance(value, (date, np.datetime64)) and (readings.dates or name in readings.times):
                dated.add(name)
                value = None
            if value is not None and not isinstance(value, (str, bool, int, float, np.number, np.bool_)):
                raise ValueError(
                    f"field {name!r} of {where} must hold numbers or text, got {shown(value)}: "
                    f"leave it out by drop=[{name!r}]"
                )
            kinds[name] = kinds.get(name, False) or text
    if not kinds:
        raise ValueError(f"{where} must have a feature, its records have none")
    usual = (Feature(n, values=() if text else None, open=text) for n, text in kinds.items())
    return Schema(tuple(f for u in usual for f in readings.features(u.name, u, dated=u.name in dated)))


def true_or_false(records: Sequence[Mapping[str, Any]], schema: Schema) -> tuple[str, ...]:
    """Give the numeric features that hold true and false alone.

    >>> first = [{"size": 1, "paid": True}, {"size": 0, "paid": None}]
    >>> true_or_false(first, infer(first, "bills", (), ()))
    ('paid',)
    """
    found: list[str] = []
    for feature in schema.features:
        kinds = {type(record.get(feature.name)) for record in records} - {type(None)}
        if kinds and kinds <= {bool, np.bool_} and not feature.nominal:
            found.append(feature.name)
    return tuple(found)


class Records:
    """Turns records into rows of a schema, which grows as new values appear.

    >>> records = Records(infer([{"sky": "clear", "degrees": 21}], "weather", (), ()), "weather")
    >>> records.row({"degrees": 9, "sky": "rain"}, ()).tolist()
    [0.0, 9.0]
    """

    def __init__(self, schema: Schema, where: str, *, extra: Literal["refuse", "ignore"] = "refuse") -> None:
        self.schema, self.where, self.extra = schema, where, extra
        self.labels = Labels()

    def row(self, record: Any, leave: Sequence[str]) -> NDArray[np.float64]:
        """Give the row of one record, or a sentence without a subject about what is wrong."""
        if not isinstance(record, Mapping):
            raise ValueError(f"must be a record of names and values, got {shown(record, 60)}")
        features = self.schema.features
        if len(record) > len(self.schema.columns):
            self._refuse_extra(record, leave)
        row = np.full(len(features), np.nan)
        new: dict[int, list[Any]] = {}
        found = 0
        for text, places in self.schema.texts.items():
            found += text.column in record
            try:
                row[places] = hashed_texts([record.get(text.column)], text)[0]
            except TypeError:
                raise ValueError(
                    f"must have text in field {text.column!r}, got {shown(record[text.column], 60)}"
                ) from None
        for i, feature in enumerate(features):
            if feature.text is not None:
                continue
            value = record.get(feature.name)
            found += feature.name in record
            if value is None or value != value:  # NaN is missing, in a column of text too
                continue
            if feature.time:
                row[i] = stamp(value, f"field {feature.name!r}")
                continue
            if feature.values is None:
                if isinstance(value, str) or not isinstance(value, (bool, int, float, np.number, np.bool_)):
                    raise ValueError(f"must have a number in field {feature.name!r}, got {shown(value, 60)}")
                try:
                    row[i] = float(value)
                except OverflowError:
                    raise ValueError(f"must have a number in field {feature.name!r}, got {shown(value, 60)}") from None
                continue
            value = value.item() if isinstance(value, np.generic) else value
            if not isinstance(value, (str, int, float, bool)):
                raise ValueError(f"must have text in field {feature.name!r}, got {shown(value, 60)}")
            if not isinstance(value, str) and value not in feature.codes and str(value) in feature.codes:
                value = str(value)
            if value in feature.codes:
                row[i] = feature.codes[value]
                continue
            if not feature.open:
                raise ValueError(
                    f"must have one of {shown(list(feature.values), 200)} in field {feature.name!r}, "
                    f"got {shown(value, 60)}"
                )
            value = str(value)
            if value in feature.codes:
                row[i] = feature.codes[value]
                continue
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError(f"must have text in field {feature.name!r}, got {shown(value, 60)}") from None
            new[i] = [value]
            row[i] = len(feature.values)
        if found + sum(n in record for n in leave) < len(record):
            self._refuse_extra(record, leave)
        if new:
            self.schema = grown(self.schema, new)
        return row

    def _refuse_extra(self, record: Mapping[str, Any], leave: Sequence[str]) -> None:
        """Refuse fields that are not known, unless they are to be ignored."""
        known = {*self.schema.columns, *leave}
        extra = [name for name in record if name not in known]
        if extra and self.extra == "refuse":
            raise ValueError(
                f"must have only the fields of the first records, got {shown(extra[0], 60)}: "
                "extra='ignore' (--extra ignore) leaves it out"
            )

    def label(self, value: Any, what: str) -> Any:
        """Give a label, all of one type."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or value != value:
            raise ValueError(f"must have a label in {what}, it is missing")
        try:
            _, new = self.labels.read([value])
        except (ValueError, TypeError) as error:
            raise ValueError(f"must have a label in {what}: {error}") from None
        self.labels.admit(new)
        return value


def label_column(values: list[Any]) -> NDArray[Any]:
    """Give labels of one type as an array."""
    try:
        array = np.array(values)
    except (OverflowError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or array.dtype.kind not in "biufU":
        array = np.empty(len(values), dtype=object)
        array[:] = values
    return array
