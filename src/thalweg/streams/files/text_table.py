"""What CSV and ARFF share: a table of text whose nominal features and labels grow as words appear."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs

from thalweg.core.chunk import Chunk
from thalweg.core.door import hashed_texts, stamp
from thalweg.core.schema import Feature, Schema, Text
from thalweg.streams.files.block import Block, Mark
from thalweg.streams.files.csv import csv_jit as jit
from thalweg.streams.files.text import TRUE_FALSE, Buffer, LabelWords, TextTable, kind_of

WIDE = 1 << 20
"""Cells of rows with text that are filled at a time."""
FORGOTTEN = 5_000
"""Texts that are kept before all are forgotten."""
MOST_LABELS = 50_000
"""Labels that are kept before all are forgotten."""


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
        self.booleans = tuple(
            f.name for f in schema.features if f.text is None and not f.nominal and kinds[f.name] == "boolean"
        )
        """The numeric features that hold true and false."""
        self._booleans = [column[name] for name in self.booleans]
        for i, feature in enumerate(schema.features):
            if feature.text is not None:
                continue
            c = column[feature.name]
            place[c] = i
            words = feature.nominal or c in self._booleans
            kind[c] = jit.WORD if words else jit.NUMBER
            if feature.time and not words:
                kind[c] = self._clock(feature.name, kinds)
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
            c = column[clock]
            if place[c] == 0:  # else one column for both
                kind[c], place[c] = self._clock(clock, kinds), -2 - k
            times.append(-1 - place[c])
        self._times = times[0], times[1]
        self._passages = Passages(schema, column, 3)
        for c, at in self._passages.places.items():
            kind[c], place[c] = jit.WORD, at
        self.table = TextTable(name, list(kinds), kind, place, rule, delimiter=delimiter, marks=marks, arff=arff)
        self._passages.join(self.table, schema)
        self.table.renewed = self._renewed

    @staticmethod
    def _clock(name: str, kinds: Mapping[str, str]) -> int:
        """Say how a column with times is read."""
        if kinds[name] in ("text", "boolean"):
            raise TypeError(f"column {name!r} must hold numbers, dates or times, got {kinds[name]}")
        return jit.STAMP if kinds[name] in ("date", "time") else jit.NUMBER

    def learn(self, schema: Schema) -> None:
        """Begin anew with the values that a schema has."""
        self.schema = schema
        self.table.learn(self._known())

    def _known(self) -> dict[int, dict[str, int]]:
        """Begin anew with the labels and texts that are known beforehand; give the words of all columns."""
        schema = self.schema
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
        self._passages.begin(known)
        return known

    def _renewed(self) -> dict[int, dict[str, int]] | None:
        """Forget labels that are far too many to be classes, such as the keys of records: memory stays bounded."""
        return self._known() if len(self.labels) > MOST_LABELS else self._passages.renewed()

    def blocks(self, buffer: Buffer, mark: Mark, used: int = 0) -> Iterator[Block]:
        """Give the blocks of a file from a mark on."""
        for X, extra, bad, at in self.table.blocks(buffer, mark, used):
            self._admit(self._passages.admit(self.table.new_words()))
            self._passages.fill(X, extra)
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


class Passages:
    """Texts of a file: their words are kept until their n-grams have been counted, and are then forgotten.

    To the table a text is a word like others, whose code goes to a column of ``extra``. Now and then the table begins
    anew, with all words but these. times: columns with moments are read in the same way, be they numbers or dates.
    """

    def __init__(self, schema: Schema, column: Mapping[str, int], first: int, *, times: bool = False) -> None:
        read: dict[str, Any] = {text.column: (_counts_of(text), places) for text, places in schema.texts.items()}
        if times:
            read |= {f.name: (_moments_of(f.name), i) for i, f in enumerate(schema.features) if f.time}
        here = [name for name in read if name in column]
        self._texts = {column[name]: (first + k, *read[name]) for k, name in enumerate(here)}
        self.places = {c: -1 - at for c, (at, *_) in self._texts.items()}
        """The columns of the file that are read here, and what ``TextTable`` takes for their places."""
        self._said: dict[int, list[str]] = {c: [] for c in self._texts}
        self._known: dict[int, dict[str, int]] = {}

    def join(self, table: TextTable, schema: Schema) -> None:
        """Let a table fill rows that are wider than its columns."""
        if self._texts:
            table.n_features = schema.n_features
            table.rows_at_once = max(1, min(table.rows_at_once, WIDE // schema.n_features))
            table.renewed = self.renewed

    def begin(self, known: dict[int, dict[str, int]]) -> None:
        """Begin anew with the words of the other columns."""
        self._known = known
        for said in self._said.values():
            said.clear()

    def admit(self, new: list[tuple[int, str]]) -> list[tuple[int, str]]:
        """Keep new words of texts; give those of other columns."""
        if not self._texts:
            return new
        other = []
        for c, word in new:
            if c in self._said:
                self._said[c].append(word)
            else:
                codes = self._known.setdefault(c, {})
                codes[word] = len(codes)
                other.append((c, word))
        return other

    def fill(self, X: Any, extra: Any) -> None:
        """Count the n-grams of the texts of rows, and read their times."""
        for c, (_, read, places) in self._texts.items():
            X[:, places] = read(self.words(c, extra))

    def words(self, column: int, extra: Any) -> list[str | None]:
        """Give what rows have in one of the columns that are read here."""
        said = self._said[column]
        return [said[int(v)] if v == v else None for v in extra[:, self._texts[column][0]].tolist()]

    def renewed(self) -> dict[int, dict[str, int]] | None:
        """Begin anew where many texts are kept; give the words of the other columns then."""
        if sum(map(len, self._said.values())) < FORGOTTEN:
            return None
        self.begin(self._known)
        return self._known


def _counts_of(text: Text) -> Callable[[list[str | None]], Any]:
    return lambda texts: hashed_texts(texts, text)


def _moments_of(name: str) -> Callable[[list[str | None]], Any]:
    def read(words: list[str | None]) -> list[float]:
        return [stamp(float(w) if w is not None and kind_of([w]) in ("whole", "number") else w, where) for w in words]

    where = f"column {name!r}"
    return read


def grown(schema: Schema, values: dict[int, list[Any]]) -> Schema:
    """Give the schema with more values of some features."""
    features = tuple(
        Feature(f.name, (*(f.values or ()), *values[i]), open=True) if i in values else f
        for i, f in enumerate(schema.features)
    )
    return structs.replace(schema, features=features)
