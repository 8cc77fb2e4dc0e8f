"""What files with named columns share: one holds the labels, others may say when, the rest are features."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from thalweg.core import fields
from thalweg.core.schema import Schema
from thalweg.streams.files.blocks import BlockStream, Mark, check_path
from thalweg.streams.files.columns import Columns, refuse_schema
from thalweg.streams.files.text import Buffer, open_bytes


class ColumnStream(BlockStream):
    """Reads files with named columns. A subclass says how."""

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

    _pipes: bool = fields.fixed(False)
    """May the path be "-", standard input?"""
    _input: Buffer | None = fields.fixed(None)
    """What was read from standard input to find out what it holds."""

    def _located(self) -> str:
        return "-" if self._pipes and self.path == "-" else check_path(self.path)

    def _columns_of(self, types: Mapping[str, Any], schema: Schema | None) -> Columns:
        """Say what each column of a table is for."""
        times: dict[str, Any] = {"time": self.time, "label_time": self.label_time}
        return Columns(
            self._name, types, target=self.target, drop=self.drop, nominal=self.nominal, schema=schema, **times
        )

    @contextmanager
    def _opened(self, mark: Mark) -> Iterator[tuple[Buffer, int]]:
        """Open the file at a mark: give its bytes, and how many of them come before the mark."""
        if self._file != "-":
            with open_bytes(self._file) as file:
                yield Buffer(file, self._name, mark[2]), 0
            return
        if self._input is None or mark != self._first:
            raise ValueError("standard input can be read once: it cannot go back, nor be restored")
        buffer, self._input = self._input, None
        yield buffer, mark[2]
