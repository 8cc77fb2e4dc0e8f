"""How columns that hold neither numbers nor nominal values are read: dates as seconds, text as counts of n-grams."""

from typing import Any, Self

import msgspec

from thalweg.core.params import shown
from thalweg.core.schema import Feature, Schema, Text


class Readings(msgspec.Struct, frozen=True):
    """What a pipeline wants to be read in its own way, by the names of the columns.

    >>> readings = Readings(times=("signup",), texts=(Text("review", 1, 0, 2),))
    >>> [f.name for f in readings.features("review", Feature("review"))]
    ['review[0]', 'review[1]']
    >>> readings.features("signup", Feature("signup"))[0].time
    True
    """

    times: tuple[str, ...] = ()
    """Columns with dates and times."""
    dates: bool = False
    """Are all other columns with dates or times read as such, too?"""
    texts: tuple[Text, ...] = ()
    """Columns with text."""

    def __bool__(self) -> bool:
        return bool(self.times or self.dates or self.texts)

    def features(self, name: str, usual: Feature, *, dated: bool = False) -> tuple[Feature, ...]:
        """Give the features of a column. usual: what it is without a reading; dated: does it hold dates or times?"""
        for text in self.texts:
            if text.column == name:
                return tuple(Feature(f"{name}[{i}]", text=text) for i in range(text.width))
        return (Feature(name, time=True),) if name in self.times or (dated and self.dates) else (usual,)

    def joined(self, other: "Readings") -> "Readings":
        """Give both together, or refuse a column that is to be read in two ways.

        >>> Readings(times=("day",)).joined(Readings(texts=(Text("day", 1, 0, 8),)))
        Traceback (most recent call last):
        ValueError: columns must be read in one way each, 'day' is to be read as a time and as text
        """
        texts = {text.column: text for text in self.texts}
        for text in other.texts:
            if texts.setdefault(text.column, text) != text:
                raise ValueError(
                    f"columns must be read in one way each, {text.column!r} is to be read as text in two ways"
                )
        times = tuple(dict.fromkeys((*self.times, *other.times)))
        for name in times:
            if name in texts:
                raise ValueError(f"columns must be read in one way each, {name!r} is to be read as a time and as text")
        return Readings(times, self.dates or other.dates, tuple(texts.values()))

    @classmethod
    def of(cls, schema: Schema | None) -> Self:
        """Say how the columns of records with this schema were read."""
        if schema is None:
            return cls()
        return cls(times=tuple(f.name for f in schema.features if f.time), texts=tuple(schema.texts))

    def to_json(self) -> str:
        """Write as JSON."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what ``to_json`` wrote."""
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, TypeError) as error:
            raise ValueError(f"readings must be the JSON of Readings: {error}") from None


NONE = Readings()
"""Everything is read as it usually is."""


def check_readings(name: str, value: Any) -> None:
    """Refuse what says nothing about how columns are read."""
    if not isinstance(value, Readings):
        raise TypeError(f"{name} must be the readings of a pipeline, pipeline.readings, got {shown(value)}")
