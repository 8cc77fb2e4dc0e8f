"""What a model says about all records of a stream or of a file, written as it comes: memory does not grow."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from thalweg.core.door import nominal_codes
from thalweg.core.params import shown
from thalweg.core.protocols import Stream
from thalweg.core.schema import Schema
from thalweg.streams.files.csv.csv_rows import known_rows
from thalweg.streams.files.recoded import find_dialect
from thalweg.streams.files.records import Records
from thalweg.streams.files.text import Buffer, first_bytes, open_bytes
from thalweg.streams.files.writing import csv_word

ENDS = (".csv", ".parquet")
ROWS, CELLS = 8_192, 4_000_000
"""How many rows, and values, of a stream are in memory at once."""
_TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_COLUMNS = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
_JSON = (".jsonl", ".ndjson")
_PACKED = (".gz", ".bz2", ".zst", ".lz4")


@dataclass(frozen=True, slots=True)
class Asked:
    """Some records: what the model is asked about, and columns that are carried along."""

    X: Any
    carried: dict[str, list[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.X.num_rows if hasattr(self.X, "num_rows") else self.X.shape[0])

    def __getitem__(self, rows: slice) -> "Asked":
        return Asked(self.X[rows], {name: values[rows] for name, values in self.carried.items()})


def write_answers(
    model: Any, records: Iterable[Any], out: str | os.PathLike[str] | None = None, *, proba: bool = False,
    on_progress: Callable[[int], None] | None = None, on_bad: Callable[[str], None] | None = None,
    keep: Sequence[str] = (), on_answers: Callable[[Any, dict[str, list[Any]]], None] | None = None,
) -> int:  # fmt: skip
    """Write the predicted label of each record, one line or row for each; give how many there were.

    records: arrays of rows, Arrow tables or ``Asked``, one after the other; None: a record that could not be read.
    out: a .csv or .parquet file, which appears under its name when it is complete; None: standard output.
    proba: also the probability of each class.
    on_bad: is told why the model refuses a record; that one, and a None, is answered by an empty line, or a null.
    Without it such a record is the end.
    keep: columns that the records carry along and that are written in front of the answers.
    on_answers: is given the probabilities of some records, and what they carry along.

    >>> from thalweg import SEA, HoeffdingTree
    >>> chunk = SEA(seed=1).read(1_000)
    >>> tree = HoeffdingTree().partial_fit(chunk.X, chunk.y)
    >>> write_answers(tree, [chunk.X[:2]])
    prediction
    1
    1
    2
    """
    if out is None:
        return _write_csv(model, _said(model, records, on_bad, on_answers), _flushed, proba, on_progress, keep)
    path = Path(out)
    if path.suffix.lower() not in ENDS:
        raise ValueError(f"out must end with {' or '.join(ENDS)}, got {os.fspath(out)!r}")
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(f"out must lie in a folder that exists, got {os.fspath(out)!r}")
    answers = _said(model, records, on_bad, on_answers)
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        if path.suffix.lower() == ".parquet":
            done = _write_parquet(model, answers, unfinished, proba, on_progress, keep)
        else:
            with unfinished.open("w", encoding="utf-8", newline="") as file:
                done = _write_csv(model, answers, file.write, proba, on_progress, keep)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return done


def _flushed(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _said(
    model: Any, records: Iterable[Any], on_bad: Callable[[str], None] | None, on_answers: Callable[..., None] | None
) -> Iterator[tuple[Any, dict[str, list[Any]]]]:
    """Give the answers, and what is carried along. NaN: there is none. Sparse rows become dense where they must."""
    none, done = np.full((1, len(model.classes_)), np.nan), 0

    def ask(X: Any) -> Any:
        return model.predict_proba(X.toarray() if hasattr(X, "toarray") and not getattr(model, "sparse", False) else X)

    def sift(X: Any, first: int) -> Iterator[Any]:
        """Ask for all at once; where the model refuses, for each half; a single record gets no answer."""
        try:
            yield ask(X)
        except ValueError as error:
            if on_bad is None:
                raise
            n = X.num_rows if hasattr(X, "num_rows") else X.shape[0]
            if n == 1:
                on_bad(f"record {first}: {error}")
                yield none
                return
            yield from sift(X[: n // 2], first)
            yield from sift(X[n // 2 :], first + n // 2)

    for given in records:
        X, carried = (given.X, given.carried) if isinstance(given, Asked) else (given, {})
        said = none if X is None else np.concatenate(list(sift(X, done + 1)))
        done += len(said)
        if on_answers is not None:
            on_answers(said, carried)
        yield said, carried


def _titles(model: Any, proba: bool) -> list[str]:
    labels = model.classes_.tolist()
    if not labels:
        raise ValueError("model must have learned a label, got one that has not")
    return ["prediction", *(f"p({label})" for label in labels if proba)]


def _write_csv(
    model: Any, answers: Iterable[Any], write: Callable[[str], Any], proba: bool, told: Any, keep: Sequence[str] = ()
) -> int:
    words = [csv_word(label) for label in model.classes_.tolist()]
    titles = _titles(model, proba)
    header, empty, done = ",".join(map(csv_word, [*keep, *titles])) + "\n", "," * (len(titles) - 1), 0
    for said, carried in answers:
        if not done:  # not before the first records are good
            write(header)
        lines = [words[c] for c in said.argmax(axis=1).tolist()]
        if proba:
            lines = [",".join([line, *map(repr, row)]) for line, row in zip(lines, said.tolist(), strict=True)]
        for r in np.flatnonzero(_unanswered(said)).tolist():
            lines[r] = empty
        for name in reversed(keep):
            cells = carried.get(name) or [None] * len(lines)
            lines = [f"{'' if v is None else csv_word(v)},{line}" for v, line in zip(cells, lines, strict=True)]
        write("".join(f"{line}\n" for line in lines))
        done += len(lines)
        if told is not None:
            told(done)
    if not done:
        write(header)
    return done


def _unanswered(said: Any) -> Any:
    return np.isnan(said[:, 0])


def _write_parquet(
    model: Any, answers: Iterable[Any], path: Path, proba: bool, told: Any, keep: Sequence[str] = ()
) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels, titles, done = model.classes_.tolist(), _titles(model, proba), 0
    try:
        kind = pa.array(labels).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # labels of several kinds
        labels, kind = [str(label) for label in labels], pa.string()
    own = [(t, pa.float64() if k else kind) for k, t in enumerate(titles)]
    fields, writer = pa.schema(own), None
    try:
        for said, carried in answers:
            kept = [pa.array(carried.get(name) or [None] * len(said)) for name in keep]
            if writer is None:  # what the columns hold is known with the first records
                fields = pa.schema([(n, _kept_type(a.type)) for n, a in zip(keep, kept, strict=True)] + own)
                writer = pq.ParquetWriter(path, fields)
            none = _unanswered(said)
            columns = [pa.array([labels[c] for c in said.argmax(axis=1).tolist()], kind, mask=none)]
            if proba:
                columns += [pa.array(np.ascontiguousarray(said[:, c]), mask=none) for c in range(said.shape[1])]
            kept = [a.cast(fields.field(k).type) for k, a in enumerate(kept)]
            writer.write_table(pa.Table.from_arrays([*kept, *columns], schema=fields))
            done += len(said)
            if told is not None:
                told(done)
        writer = writer or pq.ParquetWriter(path, fields)
    finally:
        if writer is not None:
            writer.close()
    return done


def _kept_type(kind: Any) -> Any:
    import pyarrow as pa

    return pa.string() if pa.types.is_null(kind) else kind


# -- records ----------------------------------------------------------------------------------------------------------


def stream_records(
    stream: Stream, schema: Schema | None, limit: int | None = None, *, labels: str | None = None
) -> Iterator[Any]:
    """Give the rows of a stream as a model with this schema knows them: nominal values by name, not by code.

    labels: carry the labels along under this name.
    """
    left, rows = sys.maxsize if limit is None else limit, min(ROWS, max(1, CELLS // max(1, stream.schema.n_features)))
    while left > 0 and (chunk := stream.read(min(rows, left))) is not None and len(chunk):
        left -= len(chunk)
        X = chunk.X if schema is None else _recoded(chunk.X, stream.schema, schema)
        yield X if labels is None else Asked(X, {labels: chunk.y.tolist()})


def _recoded(X: Any, theirs: Schema, ours: Schema) -> Any:
    """Give codes of nominal values as our schema has them."""
    if ours.n_features != theirs.n_features or not isinstance(X, np.ndarray):
        return X  # what is wrong with it the model says
    for f, (mine, given) in enumerate(zip(ours.features, theirs.features, strict=True)):
        if mine.nominal != given.nominal:
            what = ("names", "numbers") if mine.nominal else ("numbers", "names")
            raise ValueError(f"feature {given.name!r} must hold {what[0]}, as for the model, got {what[1]}")
        words = list(given.values or ())
        if words != list(mine.values or ())[: len(words)]:
            codes, _ = nominal_codes(words, mine, learning=False)
            table, there = np.array([*codes, np.nan], dtype=np.float64), X[:, f] == X[:, f]
            X = X.copy()
            X[there, f] = table[np.minimum(X[there, f], len(words)).astype(np.int64)]
    return X


def some_rows(records: Iterator[Any], limit: int | None) -> Iterator[Any]:
    """Give the first rows of all records; None: all of them."""
    left = sys.maxsize if limit is None else limit
    for rows in records if left else ():
        yield rows if rows is None else rows[:left]
        left -= 1 if rows is None else min(left, len(rows))
        if not left:
            return


def is_table(text: str) -> bool:
    """Is it a file, or standard input, whose columns have names, so that no label need be in it?"""
    return text in {"-", *(f"-{end}" for end in (*_TEXT, *_JSON))} or _ending(text) in {*_TEXT, *_COLUMNS, *_JSON}


def _ending(text: str) -> str:
    suffixes = [s.lower() for s in Path(text).suffixes]
    return next((s for s in reversed(suffixes) if s not in _PACKED), "")


def table_records(
    text: str, schema: Schema, on_bad: Callable[[str], None] | None = None, *, carry: Sequence[str] = (),
    target: str | None = None, **how: Any,
) -> Iterator[Any]:  # fmt: skip
    """Give the columns of a file that a model with this schema knows, as rows or Arrow tables; others are left out.

    Lines of text are given as soon as they are there: whoever writes them may be waiting for the answer.
    on_bad: is told why a line is bad, and None is given in its place; without it a bad line is the end.
    carry: columns that are given beside the rows. target: another one, if the file has it.
    how: delimiter, decimal, encoding and more_missing of a text file.
    """
    import pyarrow as pa

    where = _where(text)
    if text[:1] != "-" and not Path(text).exists():
        raise FileNotFoundError(f"{where} does not exist")
    ending = _ending(text) or text[1:]
    try:
        if ending in _JSON:
            yield from _lines(text, schema, on_bad, [*carry, *([] if target is None else [target])])
        elif ending in _COLUMNS:
            yield from _columns(text, schema, carry, target)
        else:
            yield from _texts(text, schema, on_bad, carry, target, **how)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{where} cannot be read: {error}") from None


def _columns(text: str, schema: Schema, carry: Sequence[str], target: str | None) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.dataset as ds

    kind = "parquet" if _ending(text) in (".parquet", ".pq") else "ipc"
    data = ds.dataset(text, format=kind)
    names = _known(data.schema.names, schema, text)
    beside = _beside(data.schema.names, carry, target, text)
    for batch in data.to_batches(columns=list(dict.fromkeys([*names, *beside])), batch_size=ROWS):
        if batch.num_rows:
            table = pa.Table.from_batches([batch])
            kept = {name: table.column(name).to_pylist() for name in beside}
            yield Asked(table.select(names), kept) if beside else table


def _texts(
    text: str, schema: Schema, on_bad: Callable[[str], None] | None, carry: Sequence[str], target: str | None,
    more_missing: Sequence[str] = (), delimiter: str | None = None, decimal: str | None = None,
    encoding: str | None = None,
) -> Iterator[Any]:  # fmt: skip
    path, ending = ("-", text[1:]) if text[:1] == "-" else (text, _ending(text))
    dialect = find_dialect(first_bytes(path), _TEXT.get(ending, ","), delimiter, decimal, encoding)
    beside: list[str] = []

    def check(names: Sequence[str]) -> None:
        _known(names, schema, text)
        beside.extend(_beside(names, carry, target, text))

    blocks = known_rows(path, _where(text), dialect, schema, check, more_missing=more_missing, carry=beside)
    for X, bad, carried in blocks:
        for b in bad:
            if on_bad is None:
                raise ValueError(b.reason)
            on_bad(b.reason)
        asked = Asked(X, carried)
        cuts = [0, *(b.before for b in bad), len(X)]
        for k in range(len(cuts) - 1):
            if k:
                yield None
            if cuts[k] < cuts[k + 1]:
                part = asked[cuts[k] : cuts[k + 1]]
                yield part if beside else part.X


def _lines(text: str, schema: Schema, on_bad: Callable[[str], None] | None, beside: Sequence[str]) -> Iterator[Any]:
    """Give the records of JSON lines, all that are there at a time; fields that no model knows are left out."""
    where, number, used = _where(text), 0, 0
    read = Records(schema, where, extra="ignore")
    with open_bytes("-" if text[:1] == "-" else text) as file:
        buffer = Buffer(file, where, eager=True)
        while not buffer.last:
            buffer.fill(used)
            data = buffer.bytes[: buffer.end].tobytes()
            used = len(data) if buffer.last else data.rfind(b"\n") + 1
            rows: list[Any] = []
            kept: list[Any] = []
            for line in data[:used].split(b"\n"):
                number += 1
                if not line.strip():
                    continue
                try:
                    record = msgspec.json.decode(line)
                    rows.append(read.row(record, ()))
                    kept.append(record)
                except (ValueError, RecursionError) as error:
                    reason = f"line {number} of {where} {error}"
                    if on_bad is None:
                        raise ValueError(reason) from None
                    on_bad(reason)
                    if rows:
                        yield _asked(rows, kept, beside)
                    rows, kept = [], []
                    yield None
            number -= 1  # the rest behind the last line end
            if rows:
                yield _asked(rows, kept, beside)


def _asked(rows: list[Any], records: list[Any], beside: Sequence[str]) -> Any:
    X = np.array(rows)
    return Asked(X, {name: [record.get(name) for record in records] for name in beside}) if beside else X


def _beside(titles: Sequence[str], carry: Sequence[str], target: str | None, text: str) -> list[str]:
    """Give the columns to carry along; those to keep must be there, the target may be."""
    for name in carry:
        if name not in titles:
            raise ValueError(
                f"--keep must name columns of {_where(text)}, {shown(list(titles), 200)}, got {shown(name)}"
            )
    there = [] if target is None or target not in titles else [target]
    return list(dict.fromkeys([*carry, *there]))


def _where(text: str) -> str:
    return "standard input" if text[:1] == "-" else text


def _known(titles: Sequence[str], schema: Schema, text: str) -> list[str]:
    """Those features of the model that a file has; unless the model takes records with less, it must have all."""
    lost = [name for name in schema.columns if name not in titles]
    if lost and (not schema.open or len(lost) == len(schema.columns)):
        raise ValueError(f"{_where(text)} must have the features of the model as columns, it lacks {shown(lost)}")
    return [name for name in schema.columns if name in titles]
