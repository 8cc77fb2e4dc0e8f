"""Records as requests bring them, JSON, Arrow or CSV, become rows of the schema; answers become replies.

| body                                                          | content type                                     |
| {"record": {…}, "id": …}                                      | application/json                                 |
| {"records": [{…} or […], …], "ids": […]}                      | application/json                                 |
| {"columns": {"name": […], …}, "ids": […]}                     | application/json                                 |
| a stream of Arrow IPC                                         | application/vnd.apache.arrow.stream              |
| lines with a header                                           | text/csv                                         |

A record is an object by feature name, or a list of numbers in the order of the schema; a tensor is a list of lists.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple, final

import msgspec
import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from thalweg.active.strategy import REASONS
from thalweg.core import door
from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.serve.arrow import TooLargeError, numeric, read_arrow
from thalweg.serve.jobs import Given

Floats = NDArray[np.float64]
ARROW, CSV, JSON = "application/vnd.apache.arrow.stream", "text/csv", "application/json"
DEEPEST = 16
CELLS = 1 << 24
"""Values of a request: empty columns, or records that lack nearly all, would become large."""
_Scalar = None | bool | int | float | str


class _Rows(msgspec.Struct):
    """The usual request, fast: many rows of numbers."""

    records: list[list[float]]
    ids: list[str | int] | None = None
    labels: list[str | int | float | bool] | None = None


class _Body(msgspec.Struct):
    """Any request with records."""

    record: dict[str, Any] | list[Any] | None = None
    records: list[dict[str, Any] | list[Any]] | None = None
    columns: dict[str, list[_Scalar]] | None = None
    features: dict[str, Any] | None = None
    """As in the River API: the same as ``record``."""
    id: str | int | None = None
    ids: list[str | int | None] | None = None
    label: str | int | float | bool | None = None
    labels: list[str | int | float | bool] | None = None


_rows = msgspec.json.Decoder(_Rows)
_body = msgspec.json.Decoder(_Body)


class Read(NamedTuple):
    """What a request brings."""

    X: Floats
    schema: Schema
    """With what the records add to it."""
    ids: list[Any] | None
    labels: list[Any] | None
    single: bool


@final
class Reader:
    """Reads requests for a service.

    target: the field that holds the label, where records have it. missing: may values be missing? extra: fields that
    the schema does not have: "ignore" or "refuse". max_rows, max_features: the largest request; max_bytes: of a
    body, also unpacked.
    """

    def __init__(
        self, *, target: str | None, missing: bool, extra: str = "ignore", max_rows: int = 10_000,
        max_features: int = 10_000, max_bytes: int = 16 << 20,
    ) -> None:  # fmt: skip
        self.target, self.missing, self.extra = target, missing, extra
        self.max_rows, self.max_features, self.max_bytes = max_rows, max_features, max_bytes
        self.ignored = 0
        """Fields that were ignored."""

    def read(self, body: bytes, kind: str, schema: Schema | None, id_column: str | None = None) -> Read:
        """Read the records, and labels, of a request; what is wrong with it is a ValueError or TypeError."""
        if kind == ARROW:
            return self._table(read_arrow(body, rows=self.max_rows, nbytes=self.max_bytes), schema, id_column)
        if kind == CSV:
            return self._table(_csv(body), schema, id_column)
        if kind != JSON:
            raise UnsupportedError(f"content-type must be {JSON}, {ARROW} or {CSV}, got {shown(kind)}")
        if body[:9] == b'{"record"':
            return self._json(body, schema)
        try:
            many = _rows.decode(body)
        except (msgspec.ValidationError, RecursionError):
            return self._json(body, schema)
        except msgspec.DecodeError as error:
            raise ValueError(f"body must be JSON: {error}") from None
        self._check_rows(len(many.records))
        return self._finish(self._array(many.records, schema), many.ids, many.labels, single=False)

    # -- JSON ---------------------------------------------------------------------------------------------------------

    def _json(self, body: bytes, schema: Schema | None) -> Read:
        try:
            given = _body.decode(body)
        except RecursionError:
            raise ValueError(f"body must be nested at most {DEEPEST} deep, got more") from None
        except msgspec.DecodeError as error:
            raise ValueError(f"body must hold record, records or columns: {error}") from None
        record = given.record if given.record is not None else given.features
        if sum(part is not None for part in (record, given.records, given.columns)) != 1:
            raise ValueError("body must hold one of record, records and columns")
        labels = given.labels if given.label is None else [given.label]
        ids = given.ids if given.id is None else [given.id]
        if record is not None:
            return self._finish(self._rows([record], schema, labels), ids, labels, single=True)
        if given.records is not None:
            self._check_rows(len(given.records), 0 if schema is None else schema.n_features)
            return self._finish(self._rows(given.records, schema, labels), ids, labels, single=False)
        import pyarrow as pa

        assert given.columns is not None
        lengths = {len(column) for column in given.columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns must be equally long, got lengths {shown(sorted(lengths))}")
        try:
            table = pa.table(given.columns)
        except (pa.ArrowException, OverflowError) as error:
            raise ValueError(f"columns must each hold values of one kind: {error}") from None
        read = self._table(table, schema, None)
        return read._replace(ids=ids if ids is not None else read.ids, labels=labels or read.labels)

    def _rows(self, records: list[Any], schema: Schema | None, labels: Any) -> tuple[Floats, Schema, list[Any] | None]:
        """Rows of objects or of lists."""
        if not records:
            return np.zeros((0, 0 if schema is None else schema.n_features)), schema or Schema(()), None
        if not any(type(record) is dict for record in records):
            _check_depth(records)
            return self._array(records, schema)
        if not all(type(record) is dict for record in records):
            raise TypeError("records must be objects or lists, not both")
        found = None
        if self.target is not None:
            told = [record.pop(self.target, None) for record in records]
            found = told if labels is None and any(label is not None for label in told) else None
        X, schema = self._objects(records, schema)
        return X, schema, found

    def _objects(self, records: list[dict[str, Any]], schema: Schema | None) -> tuple[Floats, Schema]:
        if schema is not None:
            X = _by_columns(records, schema)
            if X is not None:
                return door.rows(X, schema, missing=self.missing, learning=True)
        known = set() if schema is None else set(schema.names)
        rows: list[Floats] = []
        for record in records:
            if schema is not None and not schema.open and self.extra == "ignore" and not known.issuperset(record):
                self.ignored += sum(name not in known for name in record)
                record = {name: value for name, value in record.items() if name in known}
            if len(record) > self.max_features:
                raise ValueError(f"a record must have at most {self.max_features:,} features, got {len(record):,}")
            row, schema = door.one_row(record, schema, missing=self.missing, learning=True)
            self._check_width(schema)
            rows.append(row)
        assert schema is not None
        fill, width = np.nan if self.missing else 0.0, schema.n_features
        wide = [np.pad(r, ((0, 0), (0, width - r.shape[1])), constant_values=fill) for r in rows]
        return np.concatenate(wide), schema

    def _array(self, records: Sequence[Any], schema: Schema | None) -> tuple[Floats, Schema, None]:
        """Rows that are lists."""
        try:
            array = _matrix(records)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                "records must be lists of numbers, all of the same length; null stands for a missing value"
            ) from None
        if array.ndim == 1 or not array.size:
            if len(records):
                raise ValueError("records must hold objects, or lists of numbers, got empty ones")
            return np.zeros((0, 0 if schema is None else schema.n_features)), schema or Schema(()), None
        if array.size // len(array) > self.max_features:
            raise ValueError(f"a record must have at most {self.max_features:,} features")
        X, schema = door.rows(array, schema, missing=self.missing, learning=True)
        return X, schema, None

    # -- tables -------------------------------------------------------------------------------------------------------

    def _table(self, table: Any, schema: Schema | None, id_column: str | None) -> Read:
        self._check_rows(table.num_rows, max(table.num_columns, 0 if schema is None else schema.n_features))
        names = table.column_names
        if len(set(names)) != len(names):
            raise ValueError("columns must have different names")
        if len(names) > self.max_features + 2:
            raise ValueError(f"a record must have at most {self.max_features:,} features, got {len(names):,}")
        ids = labels = None
        if id_column is not None:
            if id_column not in names:
                raise ValueError(f"id must name a column, got {shown(id_column)}")
            ids, table = table.column(id_column).to_pylist(), table.drop_columns([id_column])
        if self.target is not None and self.target in names:
            labels, table = table.column(self.target).to_pylist(), table.drop_columns([self.target])
        if schema is not None and not schema.open and self.extra == "ignore":
            known = set(schema.names)
            more = [name for name in table.column_names if name not in known]
            if more:
                self.ignored += len(more) * table.num_rows
                table = table.drop_columns(more)
        X = None if schema is None else numeric(table, schema)
        if X is None:
            X, schema = door.rows(table, schema, missing=self.missing, learning=True)
        else:
            X, schema = door.rows(X, schema, missing=self.missing, learning=True)
        self._check_width(schema)
        return self._finish((X, schema, None), ids, labels, single=False)

    # -- both ---------------------------------------------------------------------------------------------------------

    def _finish(self, read: tuple[Floats, Schema, Any], ids: Any, labels: Any, *, single: bool) -> Read:
        X, schema, found = read
        labels = found if labels is None else labels
        for name, given in (("ids", ids), ("labels", labels)):
            if given is not None and len(given) != len(X):
                raise ValueError(f"{name} must be as many as the {len(X)} records, got {len(given)}")
        if ids is not None:
            bad = [name for name in ids if not (name is None or type(name) in (str, int)) or len(str(name)) > 200]
            if bad:
                raise ValueError(f"ids must be text of at most 200 characters or whole numbers, got {shown(bad[0])}")
            if any(type(name) is int and not -(1 << 63) <= name < 1 << 63 for name in ids):
                raise ValueError("ids must be below 2^63 where they are numbers")
        return Read(X, schema, ids, labels, single)

    def _check_rows(self, n: int, width: int = 0) -> None:
        if n > self.max_rows:
            raise TooLargeError(f"a request must have at most {self.max_rows:,} records, got {n:,}")
        if n * width > CELLS:
            raise TooLargeError(
                f"a request must have at most {CELLS:,} values, got {n:,} records of {width:,} features"
            )

    def _check_width(self, schema: Schema) -> None:
        if schema.n_features > self.max_features:
            raise ValueError(f"there must be at most {self.max_features:,} features, got {schema.n_features:,}")


class UnsupportedError(ValueError):
    """A request is of a kind that nobody reads: a 415."""


def _by_columns(records: list[dict[str, Any]], schema: Schema) -> Floats | None:
    """Objects that all have just the features of the schema, and values that are known; None: some have not."""
    names, width = schema.names, schema.n_features
    if any(len(record) != width for record in records):
        return None
    X = np.empty((len(records), width))
    try:
        for f, name in enumerate(names):
            column = [record[name] for record in records]
            codes = schema.nominal_codes.get(f)
            if codes is not None:
                column = [codes[value] for value in column]
            elif not {float, int, bool}.issuperset(map(type, column)):
                return None
            X[:, f] = column
    except (KeyError, TypeError, OverflowError):
        return None
    return X


def _matrix(records: Sequence[Any]) -> Floats:
    """Lists of numbers as an array; where they are plain and equally long, the short way."""
    if records and type(records[0]) is list and records[0] and len(set(map(len, records))) == 1:
        width = len(records[0])
        try:
            flat = np.fromiter(chain.from_iterable(records), dtype=np.float64, count=len(records) * width)
        except (TypeError, ValueError):  # a tensor, or something that is wrong
            pass
        else:
            return flat.reshape(len(records), width)
    return np.array(records, dtype=np.float64)


def _csv(body: bytes) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    try:
        options = csv.ConvertOptions(strings_can_be_null=True)
        return csv.read_csv(pa.py_buffer(body), csv.ReadOptions(use_threads=False), convert_options=options)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise ValueError(f"body must be CSV with a header: {str(error).splitlines()[0][:200]}") from None


def _check_depth(thing: Any, left: int = DEEPEST) -> None:
    if left == 0:
        raise ValueError(f"records must be nested at most {DEEPEST} deep, got more")
    if isinstance(thing, list):
        for each in thing:
            if isinstance(each, list):
                _check_depth(each, left - 1)


# -- answers ----------------------------------------------------------------------------------------------------------


class One(msgspec.Struct, omit_defaults=False):
    """The answer to one record."""

    label: Any
    classes: list[Any]
    probabilities: list[float]
    ticket: int | None
    wanted: bool
    why: str
    version: int


class Many(msgspec.Struct):
    """The answer to many records."""

    labels: list[Any]
    classes: list[Any]
    probabilities: list[list[float]]
    tickets: list[int] | None
    wanted: list[int]
    """The tickets whose labels are wanted."""
    version: int


encode = msgspec.json.Encoder().encode


def winners(given: Given) -> tuple[Floats, list[Any]]:
    """Give the probabilities, and the most probable label of each record; None where there is no answer."""
    k = len(given.classes)
    proba = np.frombuffer(given.proba).reshape(given.rows, k)
    if not k:
        return proba, [None] * given.rows
    codes = proba.argmax(axis=1)
    classes = given.classes
    labels = [classes[c] for c in codes.tolist()]
    empty = np.flatnonzero(proba[np.arange(given.rows), codes] <= 0.0)
    for r in empty.tolist():
        labels[r] = None
    return proba, labels


def to_json(given: Given, single: bool) -> bytes:
    """Write an answer as JSON."""
    recorded = given.first >= 0
    if single:
        why = given.why[0]
        chances: list[float] = np.frombuffer(given.proba).tolist()
        most = max(chances, default=0.0)
        label = given.classes[chances.index(most)] if most > 0.0 else None
        return encode(
            One(label, given.classes, chances, given.first if recorded else None, why > 0 and recorded,
                REASONS[why] if why and why < len(REASONS) and recorded else "", given.version)
        )  # fmt: skip
    proba, labels = winners(given)
    tickets = list(range(given.first, given.first + given.rows)) if recorded else None
    wanted = (given.first + np.flatnonzero(np.frombuffer(given.why, dtype=np.int8))).tolist() if recorded else []
    return encode(Many(labels, given.classes, proba.tolist(), tickets, wanted, given.version))


def record_of(row: Floats, schema: Schema) -> Any:
    """Give a row as a person knows it: names and values; a tensor as lists."""
    if schema.shape is not None and schema.rank is None:
        return row.reshape(schema.shape).tolist()
    record: dict[str, Any] = {}
    for value, feature in zip(row.tolist(), schema.features, strict=False):
        if value != value:
            record[feature.name] = None
        elif feature.values is not None:
            code = int(value)
            record[feature.name] = feature.values[code] if code < len(feature.values) else None
        else:
            record[feature.name] = value
    return record


def without_classes(schema: Schema) -> Schema:
    """The schema of the records alone."""
    return structs.replace(schema, classes=None)
