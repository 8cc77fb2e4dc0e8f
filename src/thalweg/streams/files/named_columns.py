"""What files with named columns share: one holds the labels, others may say when, the rest are features."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from thalweg.core import fields
from thalweg.core.fields import Parametrised
from thalweg.core.readings import NONE, Readings, check_readings
from thalweg.core.schema import Schema
from thalweg.streams.files.columns import Columns, refuse_schema


class NamedColumns(Parametrised):
    """What a stream of records with named columns is told, beside what every file is."""

    target: str = fields.free(default="class", doc="The column with the labels.", kw_only=False)
    time: str | None = fields.free(
        default=None, doc="The column that says when a record was seen: dates, times, or numbers, which are seconds."
    )
    label_time: str | None = fields.free(
        default=None, doc="The column that says when its label was seen, in the same ways."
    )
    drop: Sequence[str] = fields.free(default=(), doc="Columns to leave out.")
    nominal: Sequence[str] = fields.free(
        default=(), doc="Columns that are nominal though they look like numbers (the target may be one)."
    )
    _given_schema: Schema | None = fields.free(
        default=None,
        doc="Features that are known beforehand, such as those of the stream a learner has seen; None: types are "
        "inferred, a column with text is nominal, and new values join as they appear.",
        check=refuse_schema,
        alias="schema",
    )

    extra: Literal["refuse", "ignore"] = fields.choice(
        default="refuse",
        doc="What becomes of a column that ``schema`` does not have, or of a field of a JSON record that neither it "
        "nor the first records have.",
    )

    readings: Readings = fields.free(
        default=NONE,
        doc="How a pipeline wants columns with dates or text to be read: ``pipeline.readings``.",
        check=check_readings,
    )

    def _columns_of(self, file: str, types: Mapping[str, Any], schema: Schema | None) -> Columns:
        """Say what each column of a table is for."""
        times: dict[str, Any] = {"time": self.time, "label_time": self.label_time}
        drop = self.drop
        if schema is not None and self.extra == "ignore" and not isinstance(drop, str):
            own = {self.target, *schema.columns, *filter(None, times.values())}
            drop = [*dict.fromkeys([*drop, *(name for name in types if name not in own)])]
        times["readings"] = self.readings
        return Columns(file, types, target=self.target, drop=drop, nominal=self.nominal, schema=schema, **times)
