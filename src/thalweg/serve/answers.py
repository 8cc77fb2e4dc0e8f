"""What a model says about all records of a stream or of a file, written as it comes: memory does not grow."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.core.door import nominal_codes
from thalweg.core.params import shown
from thalweg.core.protocols import Stream
from thalweg.core.schema import Schema
from thalweg.streams.files.csv.csv_rows import known_rows
from thalweg.streams.files.recoded import find_dialect
from thalweg.streams.files.text import first_bytes
from thalweg.streams.files.writing import csv_word

ENDS = (".csv", ".parquet")
ROWS, CELLS = 8_192, 4_000_000
"""How many rows, and values, of a stream are in memory at once."""
_TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_COLUMNS = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
_PACKED = (".gz", ".bz2", ".zst", ".lz4")


def write_answers(
    model: Any, records: Iterable[Any], out: str | os.PathLike[str] | None = None, *, proba: bool = False,
    on_progress: Callable[[int], None] | None = None, on_bad: Callable[[str], None] | None = None,
) -> int:  # fmt: skip
    """Write the predicted label of each record, one line or row for each; give how many there were.

    records: arrays of rows, or Arrow tables, one after the other; None: a record that could not be read.
    out: a .csv or .parquet file, which appears under its name when it is complete; None: standard output.
    proba: also the probability of each class.
    on_bad: is told why the model refuses a record; that one, and a None, is answered by an empty line, or a null.
    Without it such a record is the end.

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
        return _write_csv(model, _said(model, records, on_bad), _flushed, proba, on_progress)
    path = Path(out)
    if path.suffix.lower() not in ENDS:
        raise ValueError(f"out must end with {' or '.join(ENDS)}, got {os.fspath(out)!r}")
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(f"out must lie in a folder that exists, got {os.fspath(out)!r}")
    answers = _said(model, records, on_bad)
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        if path.suffix.lower() == ".parquet":
            done = _write_parquet(model, answers, unfinished, proba, on_progress)
        else:
            with unfinished.open("w", encoding="utf-8", newline="") as file:
                done = _write_csv(model, answers, file.write, proba, on_progress)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return done


def _flushed(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _said(model: Any, records: Iterable[Any], on_bad: Callable[[str], None] | None) -> Iterator[Any]:
    """The answers; NaN where there is none. Sparse rows become dense for a model that does not take them."""
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

    for X in records:
        said = none if X is None else np.concatenate(list(sift(X, done + 1)))
        done += len(said)
        yield said


def _titles(model: Any, proba: bool) -> list[str]:
    labels = model.classes_.tolist()
    if not labels:
        raise ValueError("model must have learned a label, got one that has not")
    return ["prediction", *(f"p({label})" for label in labels if proba)]


def _write_csv(model: Any, answers: Iterable[Any], write: Callable[[str], Any], proba: bool, told: Any) -> int:
    words = [csv_word(label) for label in model.classes_.tolist()]
    titles = _titles(model, proba)
    header, empty, done = ",".join(map(csv_word, titles)) + "\n", "," * (len(titles) - 1), 0
    for said in answers:
        if not done:  # not before the first records are good
            write(header)
        lines = [words[c] for c in said.argmax(axis=1).tolist()]
        if proba:
            lines = [",".join([line, *map(repr, row)]) for line, row in zip(lines, said.tolist(), strict=True)]
        for r in np.flatnonzero(_unanswered(said)).tolist():
            lines[r] = empty
        write("".join(f"{line}\n" for line in lines))
        done += len(lines)
        if told is not None:
            told(done)
    if not done:
        write(header)
    return done


def _unanswered(said: Any) -> Any:
    return np.isnan(said[:, 0])


def _write_parquet(model: Any, answers: Iterable[Any], path: Path, proba: bool, told: Any) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels, titles, done = model.classes_.tolist(), _titles(model, proba), 0
    try:
        kind = pa.array(labels).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # labels of several kinds
        labels, kind = [str(label) for label in labels], pa.string()
    fields = pa.schema([(t, pa.float64() if k else kind) for k, t in enumerate(titles)])
    with pq.ParquetWriter(path, fields) as writer:
        for said in answers:
            none = _unanswered(said)
            columns = [pa.array([labels[c] for c in said.argmax(axis=1).tolist()], kind, mask=none)]
            if proba:
                columns += [pa.array(np.ascontiguousarray(said[:, c]), mask=none) for c in range(said.shape[1])]
            writer.write_table(pa.Table.from_arrays(columns, schema=fields))
            done += len(said)
            if told is not None:
                told(done)
    return done


# -- records ----------------------------------------------------------------------------------------------------------


def stream_records(stream: Stream, schema: Schema | None, limit: int | None = None) -> Iterator[Any]:
    """Give the rows of a stream as a model with this schema knows them: nominal values by name, not by code."""
    left, rows = sys.maxsize if limit is None else limit, min(ROWS, max(1, CELLS // max(1, stream.schema.n_features)))
    while left > 0 and (chunk := stream.read(min(rows, left))) is not None and len(chunk):
        left -= len(chunk)
        yield chunk.X if schema is None else _recoded(chunk.X, stream.schema, schema)


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
    return text == "-" or text in {f"-{end}" for end in _TEXT} or _ending(text) in {*_TEXT, *_COLUMNS}


def _ending(text: str) -> str:
    suffixes = [s.lower() for s in Path(text).suffixes]
    return next((s for s in reversed(suffixes) if s not in _PACKED), "")


def table_records(text: str, schema: Schema, on_bad: Callable[[str], None] | None = None, **how: Any) -> Iterator[Any]:
    """Give the columns of a file that a model with this schema knows, as rows or Arrow tables; others are left out.

    Lines of text are given as soon as they are there: whoever writes them may be waiting for the answer.
    on_bad: is told why a line is bad, and None is given in its place; without it a bad line is the end.
    how: delimiter, decimal, encoding and more_missing of a text file.
    """
    import pyarrow as pa

    where = _where(text)
    if text[:1] != "-" and not Path(text).exists():
        raise FileNotFoundError(f"{where} does not exist")
    try:
        yield from _columns(text, schema) if _ending(text) in _COLUMNS else _texts(text, schema, on_bad, **how)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{where} cannot be read: {error}") from None


def _columns(text: str, schema: Schema) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.dataset as ds

    kind = "parquet" if _ending(text) in (".parquet", ".pq") else "ipc"
    data = ds.dataset(text, format=kind)
    names = _known(data.schema.names, schema, text)
    for batch in data.to_batches(columns=names, batch_size=ROWS):
        if batch.num_rows:
            yield pa.Table.from_batches([batch])


def _texts(
    text: str, schema: Schema, on_bad: Callable[[str], None] | None, more_missing: Sequence[str] = (),
    delimiter: str | None = None, decimal: str | None = None, encoding: str | None = None,
) -> Iterator[Any]:  # fmt: skip
    path, ending = ("-", text[1:]) if text[:1] == "-" else (text, _ending(text))
    dialect = find_dialect(first_bytes(path), _TEXT.get(ending, ","), delimiter, decimal, encoding)
    blocks = known_rows(
        path, _where(text), dialect, schema, lambda names: _known(names, schema, text), more_missing=more_missing
    )
    for X, bad in blocks:
        for b in bad:
            if on_bad is None:
                raise ValueError(b.reason)
            on_bad(b.reason)
        cuts = [0, *(b.before for b in bad), len(X)]
        for k in range(len(cuts) - 1):
            if k:
                yield None
            if cuts[k] < cuts[k + 1]:
                yield X[cuts[k] : cuts[k + 1]]


def _where(text: str) -> str:
    return "standard input" if text[:1] == "-" else text


def _known(titles: Sequence[str], schema: Schema, text: str) -> list[str]:
    """Those features of the model that a file has; unless the model takes records with less, it must have all."""
    lost = [name for name in schema.columns if name not in titles]
    if lost and (not schema.open or len(lost) == len(schema.columns)):
        raise ValueError(f"{_where(text)} must have the features of the model as columns, it lacks {shown(lost)}")
    return [name for name in schema.columns if name in titles]
