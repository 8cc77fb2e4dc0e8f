"""Any iterable of records and labels."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Literal, final

import numpy as np

from thalweg.core import door, fields
from thalweg.core.chunk import Chunk
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.readings import NONE, Readings, check_readings
from thalweg.core.schema import Schema
from thalweg.streams.files.block_stream import continues
from thalweg.streams.files.records import FIRST, Records, infer, label_column, true_or_false
from thalweg.streams.looking import Peek
from thalweg.streams.source import LIMIT, Source


@final
class IterableStream(Source):
    """The (record, label) pairs of an iterable, in order; a record is a dict of numbers and text, or a row.

    Examples
    --------
    >>> stream = IterableStream([({"sky": "clear", "degrees": 21}, "yes"), ({"sky": "rain"}, "no")])
    >>> stream.take(2).X.tolist()
    [[0.0, 21.0], [1.0, nan]]
    """

    records: Iterable[tuple[Any, Any]] = fields.free(
        doc="Pairs. A list can be read again; what comes once, such as a generator, cannot go back, nor be restored.",
        kw_only=False,
    )
    nominal: Sequence[str] = fields.free(default=(), doc="Fields of numbers that are nominal.")
    _given_schema: Schema | None = fields.free(
        default=None,
        doc="Features that are known beforehand; None: they are inferred from the first 1,000 pairs.",
        alias="schema",
    )
    extra: Literal["refuse", "ignore"] = fields.choice(
        default="refuse", doc="What becomes of a field that neither the schema nor the first 1,000 records have."
    )
    limit: int | None = LIMIT
    readings: Readings = fields.free(
        default=NONE,
        doc="How a pipeline wants fields with dates or text to be read: ``pipeline.readings``.",
        check=check_readings,
    )

    def _prepare(self) -> None:
        records, nominal, schema = self.records, self.nominal, self._given_schema
        if isinstance(records, (str, bytes, dict)) or not isinstance(records, Iterable):
            raise TypeError(f"records must be an iterable of (dict, label) pairs, got {shown(records)}")
        if isinstance(nominal, str):
            raise TypeError(f"nominal must be a list of fields, got the text {nominal!r}")
        pairs = iter(records)
        self._once = pairs is records
        first = list(islice(pairs, FIRST))
        if not first:
            raise ValueError("records must hold at least one pair, it is empty")
        dicts = [_pair(p, i)[0] for i, p in enumerate(first)]
        for i, record in enumerate(dicts):
            if not isinstance(record, dict):
                raise TypeError(f"pair {i} of records must begin with a dict, got {shown(record)}")
        self._begin_schema = schema or infer(dicts, "records", (), nominal, self.readings)
        self._head = first
        self._pairs: Iterator[Any] = chain(first, pairs) if self._once else iter(records)
        self._records = Records(self._begin_schema, "records", extra=self.extra)

    @property
    def schema(self) -> Schema:
        """The features. Nominal ones have at least the values of the records read so far."""
        return self._records.schema

    def peek(self, rows: int, cells: int) -> Peek | None:
        """Look at the pairs from which the features were inferred."""
        read = Records(self._begin_schema, "records", extra=self.extra)
        pairs = self._head[: min(rows, self._limit or rows)]
        try:
            X = [read.row(record, ()) for record, _ in pairs]
            y = [read.label(label, "each pair") for _, label in pairs]
        except ValueError:  # said when they are read
            return None
        words = true_or_false([record for record, _ in pairs], read.schema)
        return Peek(Chunk(np.array(X), label_column(y)), read.schema, len(self._head) < FIRST, words)

    def _start(self) -> None:
        if self._once:
            raise ValueError("an iterable that is read only once cannot go back: pass a list, or create a new stream")
        self._pairs = iter(self.records)
        self._records = Records(self._begin_schema, "records", extra=self.extra)

    def _next(self, n: int) -> Chunk | None:
        X: list[Any] = []
        y: list[Any] = []
        for pair in islice(self._pairs, n):
            at = self._given + len(X)
            try:
                record, label = _pair(pair, at)
                label = self._records.label(label, "each pair")
                X.append(self._records.row(record, ()))
            except ValueError as error:
                raise ValueError(f"pair {at} of records {error}") from None
            y.append(label)
        return Chunk(np.array(X), label_column(y)) if X else None

    def _tables(self) -> State:
        return {"schema": np.frombuffer(self.schema.to_json(), dtype=np.uint8)}

    def _adopt(self, tables: State, given: int) -> None:
        schema = Schema.from_json(tables["schema"].tobytes())
        if not continues(self._begin_schema, schema):
            raise ValueError("state must be a position in records with the same features")
        self._start()
        self._records = Records(schema, "records", extra=self.extra)
        for _ in islice(self._pairs, given):
            pass


def _pair(pair: Any, i: int) -> tuple[Any, Any]:
    """Give a record, by name, and its label; the values of a row are called x0, x1, …"""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"pair {i} of records must be (dict, label), got {shown(pair)}")
    record = door.named_record(pair[0])
    if isinstance(record, (list, tuple, np.ndarray)) and getattr(record, "ndim", 1) == 1:
        record = {f"x{k}": value for k, value in enumerate(record)}
    return record, pair[1]
