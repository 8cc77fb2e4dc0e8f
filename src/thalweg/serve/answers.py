"""What a model says about all records of a stream or of a file, written as it comes: memory does not grow."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.core.door import nominal_codes
from thalweg.core.params import shown
from thalweg.core.protocols import Stream
from thalweg.core.schema import Schema
from thalweg.serve.texts import text_tables
from thalweg.streams.write import csv_word

ENDS = (".csv", ".parquet")
ROWS, CELLS = 8_192, 4_000_000
"""How many rows, and values, of a stream are in memory at once."""
_TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_COLUMNS = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
_PACKED = (".gz", ".bz2", ".zst", ".lz4")


def write_answers(
    model: Any, records: Iterable[Any], out: str | os.PathLike[str] | None = None, *, proba: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> int:  # fmt: skip
    """Write the predicted label of each record, one line or row for each; give how many there were.

    records: arrays of rows, or Arrow tables, one after the other. out: a .csv or .parquet file, which appears under
    its name when it is complete; None: standard output. proba: also the probability of each class.

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
        return _write_csv(model, records, _flushed, proba, on_progress)
    path = Path(out)
    if path.suffix.lower() not in ENDS:
        raise ValueError(f"out must end with {' or '.join(ENDS)}, got {os.fspath(out)!r}")
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(f"out must lie in a folder that exists, got {os.fspath(out)!r}")
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        if path.suffix.lower() == ".parquet":
            done = _write_parquet(model, records, unfinished, proba, on_progress)
        else:
            with unfinished.open("w", encoding="utf-8", newline="") as file:
                done = _write_csv(model, records, file.write, proba, on_progress)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return done


def _flushed(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _said(model: Any, X: Any) -> Any:
    """The answers; sparse rows become dense for a model that does not take them."""
    return model.predict_proba(X.toarray() if hasattr(X, "toarray") and not getattr(model, "sparse", False) else X)


def _titles(model: Any, proba: bool) -> list[str]:
    labels = model.classes_.tolist()
    if not labels:
        raise ValueError("model must have learned a label, got one that has not")
    return ["prediction", *(f"p({label})" for label in labels if proba)]


def _write_csv(model: Any, records: Iterable[Any], write: Callable[[str], Any], proba: bool, told: Any) -> int:
    words = [csv_word(label) for label in model.classes_.tolist()]
    header = ",".join(csv_word(title) for title in _titles(model, proba)) + "\n"
    done = 0
    for X in records:
        said = _said(model, X)
        if not done:  # not before the first records are good
            write(header)
        lines = [words[c] for c in said.argmax(axis=1).tolist()]
        if proba:
            lines = [",".join([line, *map(repr, row)]) for line, row in zip(lines, said.tolist(), strict=True)]
        write("".join(f"{line}\n" for line in lines))
        done += len(lines)
        if told is not None:
            told(done)
    if not done:
        write(header)
    return done


def _write_parquet(model: Any, records: Iterable[Any], path: Path, proba: bool, told: Any) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels, titles, done = model.classes_.tolist(), _titles(model, proba), 0
    try:
        kind = pa.array(labels).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # labels of several kinds
        labels, kind = [str(label) for label in labels], pa.string()
    fields = pa.schema([(t, pa.float64() if k else kind) for k, t in enumerate(titles)])
    with pq.ParquetWriter(path, fields) as writer:
        for X in records:
            said = _said(model, X)
            columns = [pa.array([labels[c] for c in said.argmax(axis=1).tolist()], kind)]
            if proba:
                columns += [pa.array(np.ascontiguousarray(said[:, c])) for c in range(said.shape[1])]
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
    """Give the first rows of all tables; None: all of them."""
    left = sys.maxsize if limit is None else limit
    for table in records if left else ():
        yield table.slice(0, left)
        left -= min(left, table.num_rows)
        if not left:
            return


def is_table(text: str) -> bool:
    """Is it a file, or standard input, whose columns have names, so that no label need be in it?"""
    return text == "-" or text in {f"-{end}" for end in _TEXT} or _ending(text) in {*_TEXT, *_COLUMNS}


def _ending(text: str) -> str:
    suffixes = [s.lower() for s in Path(text).suffixes]
    return next((s for s in reversed(suffixes) if s not in _PACKED), "")


def table_records(text: str, schema: Schema) -> Iterator[Any]:
    """Give the columns of a file that a model with this schema knows, by name, as Arrow tables; others are left out."""
    import pyarrow as pa

    where = _where(text)
    if text[:1] != "-" and not Path(text).exists():
        raise FileNotFoundError(f"{where} does not exist")
    try:
        yield from _columns(text, schema) if _ending(text) in _COLUMNS else _texts(text, schema)
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


def _texts(text: str, schema: Schema) -> Iterator[Any]:
    ending = text[1:] if text[:1] == "-" else _ending(text)
    known = partial(_known, schema=schema, text=text)
    for table in text_tables(text, _where(text), _TEXT.get(ending, ","), schema, known):
        for a in range(0, table.num_rows, ROWS):
            yield table.slice(a, ROWS)


def _where(text: str) -> str:
    return "standard input" if text[:1] == "-" else text


def _known(titles: list[str], schema: Schema, text: str) -> list[str]:
    """Those features of the model that a file has; unless the model takes records with less, it must have all."""
    lost = [name for name in schema.names if name not in titles]
    if lost and (not schema.open or len(lost) == schema.n_features):
        raise ValueError(f"{_where(text)} must have the features of the model as columns, it lacks {shown(lost)}")
    return [name for name in schema.names if name in titles]
