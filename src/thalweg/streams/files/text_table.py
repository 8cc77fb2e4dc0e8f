"""What CSV and ARFF share: a table of text whose nominal features and labels grow as words appear."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs

from thalweg.core.chunk import Chunk
from thalweg.core.schema import Feature, Schema
from thalweg.streams.files.block import Block, Mark
from thalweg.streams.files.csv import csv_jit as jit
from thalweg.streams.files.text import TRUE_FALSE, Buffer, LabelWords, TextTable


class WordTable:
    """The columns of a text file by their use.

    kinds: what each column holds (see ``kind_of``), in the order of the file. label_kind: what the target is read as.
    clocks: the columns with the time of a record and of its label. declared: the words of the labels, where the file
    declares them.
    """

    def __init__(
        self,
        name: str,
        kinds: Mapping[str, str],
        schema: Schema,
        *,
        target: str,
        label_kind: str,
        clocks: Sequence[str | None],
        declared: tuple[str, ...] | None = None,
        delimiter: str = ",",
        marks: Sequence[str] = ("?",),
        arff: bool = False,
    ) -> None:
        n = len(kinds)
        kind, place, rule = [jit.SKIP] * n, [0] * n, [jit.OPEN] * n
        column = {title: c for c, title in enumerate(kinds)}
        self.schema, self.declared = schema, declared
        self.feature_of = {column[f.name]: i for i, f in enumerate(schema.features) if f.nominal}
        self.booleans = tuple(f.name for f in schema.features if not f.nominal and kinds[f.name] == "boolean")
        """The numeric features that hold true and false."""
        self._booleans = [column[name] for name in self.booleans]
        for i, feature in enumerate(schema.features):
            c = column[feature.name]
            place[c] = i
            words = feature.nominal or c in self._booleans
            kind[c] = jit.WORD if words else jit.NUMBER
            rule[c] = jit.CLOSED if words and not feature.open else jit.OPEN
        c = self.label_column = column[target]
        kind[c], place[c] = jit.WORD, -1
        rules = {"whole": jit.WHOLE, "number": jit.REAL, "boolean": jit.CLOSED}
        rule[c] = jit.CLOSED if declared else rules.get(label_kind, jit.OPEN)
        self.labels, self.label_kind = LabelWords(label_kind), label_kind
        times: list[int | None] = []
        for k, clock in enumerate(clocks):
            if clock is None:
                times.append(None)
                continue
            if kinds[clock] in ("text", "boolean"):
                raise TypeError(f"column {clock!r} must hold numbers, dates or times, got {kinds[clock]}")
            c = column[clock]
            if place[c] == 0:  # else one column for both
                kind[c], place[c] = jit.STAMP if kinds[clock] in ("date", "time") else jit.NUMBER, -2 - k
            times.append(-1 - place[c])
        self._times = times[0], times[1]
        self.table = TextTable(name, list(kinds), kind, place, rule, delimiter=delimiter, marks=marks, arff=arff)

    def learn(self, schema: Schema) -> None:
        """Begin anew with the values that a schema has."""
        self.schema = schema
        known = {
            c: {str(v): code for code, v in enumerate(schema.features[f].values or ())}
            for c, f in self.feature_of.items()
        }
        known |= dict.fromkeys(self._booleans, TRUE_FALSE)
        self.labels.declare([False, True] if self.label_kind == "boolean" else [])
        if self.label_kind == "boolean":
            known[self.label_column] = TRUE_FALSE
        elif self.declared is not None:
            known[self.label_column] = {word: code for code, word in enumerate(self.declared)}
            for word in self.declared:
                self.labels.add(word)
        self.table.learn(known)

    def blocks(self, buffer: Buffer, mark: Mark, used: int = 0) -> Iterator[Block]:
        """Give the blocks of a file from a mark on."""
        for X, extra, bad, at in self.table.blocks(buffer, mark, used):
            self._admit(self.table.new_words())
            yield Block(self.chunk(X, extra), at, bad)

    def chunk(self, X: Any, extra: Any) -> Chunk:
        """Join features with the codes of labels, and times, to a chunk."""
        found = [None if t is None else np.ascontiguousarray(extra[:, t]) for t in self._times]
        return Chunk(X, self.labels.of(extra[:, 0]), None, *found)

    def _admit(self, new: list[tuple[int, str]]) -> None:
        """Let new values of nominal features, and new labels, join."""
        values: dict[int, list[str]] = {}
        for c, word in new:
            if c == self.label_column:
                self.labels.add(word)
            elif c in self.feature_of:
                values.setdefault(self.feature_of[c], []).append(word)
        if values:
            self.schema = grown(self.schema, values)


def grown(schema: Schema, values: dict[int, list[Any]]) -> Schema:
    """Give the schema with more values of some features."""
    features = tuple(
        Feature(f.name, (*(f.values or ()), *values[i]), open=True) if i in values else f
        for i, f in enumerate(schema.features)
    )
    return structs.replace(schema, features=features)
