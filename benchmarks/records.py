"""The streams of the comparison: drawn or read once, then written so that every library sees the very same rows."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thalweg import Agrawal, Chunk, DriftStream, Feature, RandomRBF, Schema, Text, load_dataset, paper_stream
from thalweg.streams.source import Source

ROWS = 50_000


@dataclass(frozen=True)
class Records:
    """Rows, labels and what they mean."""

    name: str
    schema: Schema
    X: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]

    def save(self, folder: Path) -> None:
        """Write the rows for Python (npy) and for MOA (ARFF)."""
        folder.mkdir()
        np.save(folder / "X.npy", self.X)
        np.save(folder / "y.npy", self.y)
        (folder / "schema.json").write_bytes(self.schema.to_json())
        (folder / "name").write_text(self.name)
        with (folder / "rows.arff").open("w") as file:
            file.write(f"@relation {folder.name}\n")
            for feature in self.schema.features:
                file.write(f"@attribute {feature.name} {_domain(feature.values)}\n")
            file.write(f"@attribute class {_domain(self.schema.classes)}\n@data\n")
            for row, label in zip(self.named_rows(), self.y.tolist(), strict=True):
                file.write(",".join(map(str, row)) + f",{label}\n")

    @classmethod
    def load(cls, folder: Path) -> "Records":
        """Read what ``save`` wrote."""
        schema = Schema.from_json((folder / "schema.json").read_bytes())
        return cls((folder / "name").read_text(), schema, np.load(folder / "X.npy"), np.load(folder / "y.npy"))

    def first(self, rows: int) -> "Records":
        """Give the first rows alone."""
        return Records(self.name, self.schema, self.X[:rows], self.y[:rows])

    def named_rows(self) -> Iterator[list[Any]]:
        """Give the rows as Python values: numbers, and the names of nominal values."""
        nominal = [(j, f.values) for j, f in enumerate(self.schema.features) if f.values is not None]
        for row in self.X.tolist():
            for j, values in nominal:
                row[j] = values[int(row[j])]
            yield row

    def dicts(self) -> list[dict[str, Any]]:
        """Give the rows as river wants them."""
        return [dict(zip(self.schema.names, row, strict=True)) for row in self.named_rows()]


def electricity() -> Records | None:
    """Read Electricity (8 features) from the folder that THALWEG_DATA names; None when it is not there."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("THALWEG_DATA") or beside) / "electricity.parquet"
    if not path.exists():
        return None
    from pyarrow import parquet

    table = parquet.read_table(path)
    y = np.array(table["class"].to_pylist())
    names = [name for name in table.column_names if name != "class"]
    X = np.column_stack([table[name].to_numpy() for name in names]).astype(np.float64)
    schema = Schema(tuple(Feature(name) for name in names), classes=tuple(np.unique(y).tolist()))
    return Records("Electricity", schema, np.ascontiguousarray(X), y)


def rbf_drift() -> Records:
    """Draw clouds of five classes that wander all the time."""
    stream = RandomRBF(classes=5, features=10, speed=0.001, seed=1)
    return _records("RBF with drift", stream.schema, stream.take(ROWS))


def agrawal_drift() -> Records:
    """Draw loan applicants; the rule changes twice, at one third and at two thirds."""
    third = ROWS // 3
    later = DriftStream(Agrawal(function=2, seed=2), Agrawal(function=4, seed=3), position=third, width=1000)
    stream = DriftStream(Agrawal(function=1, seed=1), later, position=third, width=1000)
    return _records("AGRAWAL with drift", stream.schema, stream.take(ROWS))


def paper(name: str, rows: int) -> Records:
    """Draw the first rows of a paper's stream."""
    stream = paper_stream(name, rows=rows)
    return _records(name, stream.schema, stream.take(rows))


def covtype(rows: int) -> Records | None:
    """Read the first rows of Covtype; None when it is not there."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    os.environ.setdefault("THALWEG_DATA", str(beside))
    try:
        stream = load_dataset("covtype")
    except FileNotFoundError:
        return None
    chunk = stream.take(rows)
    names = tuple(Feature(f.name) for f in stream.schema.features)
    return Records("Covtype", Schema(names, classes=tuple(sorted(set(chunk.y.tolist())))), chunk.X, chunk.y)


def clusters(features: int) -> Records:
    """Draw clusters in many dimensions."""
    source = RandomRBF(features=features, classes=5, centroids=50, seed=1)
    return _records(f"Clusters in {features} dimensions", source.schema, source.take(10_000))


def text(words: int) -> Records:
    """Draw short messages: many features, most of them zero."""
    stream = Text(words=words, seed=1)
    return _records(f"Text of {words:,} words", stream.schema, stream.take(5_000))


def drawn(name: str, stream: Source, rows: int) -> Records:
    """Draw the first rows of a stream."""
    return _records(name, stream.schema, stream.take(rows))


def _records(name: str, schema: Schema, chunk: Chunk) -> Records:
    return Records(name, schema, chunk.X, chunk.y)


def _domain(values: tuple[Any, ...] | None) -> str:
    return "numeric" if values is None else "{" + ",".join(map(str, values)) + "}"
