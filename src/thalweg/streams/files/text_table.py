"""What CSV and ARFF share: a table of text whose nominal features and labels grow as words appear."""

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from thalweg.core.schema import Feature, Schema
from thalweg.streams.files.blocks import Block, BlockStream, Mark
from thalweg.streams.files.text import TRUE_FALSE, Buffer, LabelWords, TextTable, chunk_of


class TableStream(BlockStream):
    """Reads blocks of a text table. A subclass says what each column is for."""

    _schema: Schema
    _table: TextTable
    _labels: LabelWords
    _label_column: int
    _label_kind: str
    _declared: tuple[Any, ...] | None = None
    """The labels, where the file declares them, with the words they are written as."""
    _feature_of: dict[int, int]
    """The nominal feature of a column."""
    _booleans: list[int]
    _times: list[int | None]

    @property
    def schema(self) -> Schema:
        """The features. Nominal ones have at least the values of the records read so far."""
        return self._schema

    def _set_schema(self, schema: Schema) -> None:
        self._schema = schema
        known = {
            c: {str(v): code for code, v in enumerate(schema.features[f].values or ())}
            for c, f in self._feature_of.items()
        }
        for c in self._booleans:
            known[c] = TRUE_FALSE
        if self._label_kind == "boolean":
            known[self._label_column] = TRUE_FALSE
            self._labels.declare([False, True])
        elif self._declared is not None:
            known[self._label_column] = {word: code for code, word in enumerate(self._declared)}
            self._labels.declare([])
            for word in self._declared:
                self._labels.add(word)
        else:
            self._labels.declare([])
        self._table.learn(known)

    def _parsed(self, buffer: Buffer, mark: Mark, used: int = 0) -> Iterator[Block]:
        for X, extra, bad, at in self._table.blocks(buffer, mark, used):
            self._admit(self._table.new_words())
            yield Block(chunk_of(X, extra, self._labels, (self._times[0], self._times[1])), at, bad)

    def _admit(self, new: list[tuple[int, str]]) -> None:
        """Let new values of nominal features, and new labels, join."""
        values: dict[int, list[str]] = {}
        for c, word in new:
            if c == self._label_column:
                self._labels.add(word)
            elif c in self._feature_of:
                values.setdefault(self._feature_of[c], []).append(word)
        if values:
            self._schema = grown(self._schema, values)


def grown(schema: Schema, values: dict[int, list[Any]]) -> Schema:
    """Give the schema with more values of some features."""
    features = tuple(
        Feature(f.name, (*(f.values or ()), *values[i]), open=True) if i in values else f
        for i, f in enumerate(schema.features)
    )
    return structs.replace(schema, features=features)
