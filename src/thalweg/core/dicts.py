"""Rows as other libraries want them: a dict each."""

from typing import Any

import numpy as np

from thalweg.core.door import Rows
from thalweg.core.schema import Schema


class Dicts:
    """Gives each row of a schema as a dict: numbers, and the values of nominal features; a missing value is left out.

    >>> from thalweg.core.schema import Feature
    >>> dicts = Dicts(Schema((Feature("size"), Feature("hue", values=("red", "blue")))))
    >>> dicts.of(np.array([[2.0, 1.0], [np.nan, 0.0]]))
    [{'size': 2.0, 'hue': 'blue'}, {'hue': 'red'}]
    """

    def __init__(self, schema: Schema) -> None:
        self._columns = [(f.name, f.values) for f in schema.features]

    def of(self, X: Rows) -> list[dict[str, Any]]:
        """Give each row as a dict."""
        rows = X if isinstance(X, np.ndarray) else X.toarray()
        return [
            {name: _value(v, values) for (name, values), v in zip(self._columns, row, strict=True) if v == v}
            for row in rows.tolist()
        ]


def _value(v: float, values: tuple[Any, ...] | None) -> Any:
    """Give a number as it is, and for a code its value; one that was never learned has none but its code."""
    if values is None:
        return v
    return values[int(v)] if int(v) < len(values) else f"value {int(v)}"
