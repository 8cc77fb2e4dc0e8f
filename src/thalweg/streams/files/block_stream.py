"""What all files share: blocks of records are cut into chunks of any size; bad records, errors and the position."""

import os
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from thalweg.core import fields
from thalweg.core.chunk import Chunk
from thalweg.core.declared import check, table
from thalweg.core.protocols import State
from thalweg.core.schema import Feature, Schema
from thalweg.streams.files.block import Block, Mark
from thalweg.streams.files.quarantine import Bad, Quarantine, Way, check_file
from thalweg.streams.files.text import Buffer, open_bytes
from thalweg.streams.looking import Peek
from thalweg.streams.source import FAR, LIMIT, Source

MOST_FEATURES = 10_000_000
"""Sparse rows may claim any width: no more than this."""


class Position(NamedTuple):
    """Where a stream is, beside the number of records given and the schema as far as it is known."""

    mark: Annotated[NDArray[np.int64], table(4, least=0, most=FAR)]
    """4: of the block that holds the next record."""
    skipped: Annotated[NDArray[np.int64], table(1, least=0, most=FAR)]
    """1: bad records left out so far."""


class BlockStream(Source):
    """Reads blocks one after another. A subclass says where they come from."""

    path: str | os.PathLike[str] = fields.free(doc="The file.", kw_only=False)
    on_bad_row: Way = fields.choice(
        default="raise",
        doc='What to do with a record that breaks the schema: "raise", "skip" (and count, see ``skipped``), or '
        '"quarantine": also write it with the reason to the file ``quarantine``.',
    )
    quarantine: str | os.PathLike[str] | None = fields.free(
        default=None, doc='The .csv or .jsonl file for bad rows, with on_bad_row="quarantine".'
    )
    limit: int | None = LIMIT

    _first: Mark = fields.fixed((0, 0, 0, 0))
    _pipes: bool = fields.fixed(False)
    """May the path be "-", standard input?"""
    _input: Buffer | None = fields.fixed(None)
    """What was read from standard input to find out what it holds."""

    def _prepare(self) -> None:
        check_file(self.on_bad_row, self.quarantine)
        self.path = self._file = self._located()
        file = Path(self._file)
        self._name = self.name = "standard input" if self._file == "-" else file.name or file.resolve().name
        self._look()
        self._cell = None if self.quarantine is None else Quarantine(self.quarantine)
        self._begin_schema = self.schema
        self.restart()

    def _located(self) -> str:
        """Give the path of the file as text, or refuse it."""
        return "-" if self._pipes and self.path == "-" else check_path(self.path)

    @contextmanager
    def _bytes(self) -> Iterator[Any]:
        """Open the file."""
        with open_bytes(self._file) as file:
            yield file

    @contextmanager
    def _opened(self, mark: Mark) -> Iterator[tuple[Buffer, int]]:
        """Open the file at a mark: give its bytes, and how many of them come before the mark."""
        if self._file != "-":
            with self._bytes() as file:
                yield Buffer(file, self._name, mark[2]), 0
            return
        if self._input is None or mark != self._first:
            raise ValueError("standard input can be read once: it cannot go back, nor be restored")
        buffer, self._input = self._input, None
        yield buffer, mark[2]

    @abstractmethod
    def _look(self) -> None:
        """Find out what the file holds."""

    @abstractmethod
    def _blocks_from(self, mark: Mark) -> Iterator[Block]:
        """Give the blocks from a mark on. Blocks begin at the same records however they are reached."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The features. Nominal ones have at least the values of the records read so far."""

    @abstractmethod
    def _set_schema(self, schema: Schema) -> None:
        """Go back, or on, to the values that a schema has."""

    @property
    def skipped(self) -> int:
        """How many bad records were left out so far."""
        return self._skipped

    def _start(self) -> None:
        self._set_schema(self._begin_schema)
        self._go_to(self._first, 0, 0)

    def _go_to(self, mark: Mark, given: int, skipped: int) -> None:
        self._reader = self._blocks_from(mark)
        self._mark = mark
        self._waiting: deque[tuple[Chunk, Mark]] = deque()
        self._bad: deque[tuple[int, Bad]] = deque()  # with the number of records before it
        self._held = 0
        self._left_out, self._drop = given - mark[0], skipped - mark[1]
        self._reached = given
        self._skipped = skipped
        self._error: ValueError | None = None
        if self._cell is not None:
            self._cell.begin(anew=given == skipped == 0)

    def _next(self, n: int) -> Chunk | None:
        while self._held < n and self._error is None and self._fetch():
            pass
        if self._held < n and self._error is not None:
            raise self._error
        parts: list[Chunk] = []
        while n > 0 and self._waiting:
            chunk, self._mark = self._waiting.popleft()
            if len(chunk) > n:
                self._waiting.appendleft((chunk[n:], self._mark))
                chunk = chunk[:n]
            parts.append(chunk)
            n -= len(chunk)
            self._held -= len(chunk)
        self._report(self._given + sum(map(len, parts)), ended=n > 0)
        return Chunk.join(parts) if parts else None

    @property
    def booleans(self) -> tuple[str, ...]:
        """The numeric features that hold true and false in the file."""
        return ()

    def peek(self, rows: int, cells: int) -> Peek | None:
        """Look at the next records; of standard input at those that are there."""
        rows = max(1, min(rows, cells // max(1, self.schema.n_features), _left(self._limit, self._given)))
        pipe, more = self._file == "-", True
        while more and self._held <= rows and self._error is None:
            more = self._fetch() and not pipe
        if not self._waiting:
            return None
        chunk = Chunk.join([chunk for chunk, _ in self._waiting])[:rows]
        ended = not more and not pipe and self._held == len(chunk)
        return Peek(chunk, self.schema, ended and self._given == 0, self.booleans)

    def _report(self, given: int, ended: bool) -> None:
        """Count the bad records that come before the last good one that was given."""
        out: list[Bad] = []
        while self._bad and (ended or self._bad[0][0] < given):
            out.append(self._bad.popleft()[1])
        self._skipped += len(out)
        if out and self._cell is not None:
            self._cell.add(out)

    def _fetch(self) -> bool:
        """Read one more block; an error stays: no later read steps over it."""
        try:
            block = next(self._reader, None)
        except (ValueError, TypeError, OSError) as error:
            self._error = ValueError(str(error))
            return True
        if block is None:
            return False
        chunk, first = block.chunk, 0
        if self._left_out:
            first = min(self._left_out, len(chunk))
            self._left_out -= first
        start = self._reached - first
        for bad in block.bad:
            if self._drop:
                self._drop -= 1
            elif self.on_bad_row == "raise":
                chunk = chunk[: bad.before]
                self._error = ValueError(bad.reason)
                break
            else:
                self._bad.append((start + bad.before, bad))
        chunk = chunk[first:]
        if len(chunk):
            self._waiting.append((chunk, block.mark))
        self._held += len(chunk)
        self._reached += len(chunk)
        return True

    def _tables(self) -> State:
        return {
            "schema": np.frombuffer(self.schema.to_json(), dtype=np.uint8),
            "mark": np.array(self._mark, dtype=np.int64),
            "skipped": np.array([self._skipped]),
        }

    def _adopt(self, tables: State, given: int) -> None:
        schema = Schema.from_json(tables["schema"].tobytes())
        check(Position, tables)
        mark, skipped = tuple(tables["mark"].tolist()), int(tables["skipped"][0])
        if not continues(self._begin_schema, schema) or mark[0] > given or mark[1] > skipped:
            raise ValueError(f"state must be a position in a file with the features of {self._name}")
        self._set_schema(schema)
        self._go_to(mark, given, skipped)


def _left(limit: int | None, given: int) -> int:
    return FAR if limit is None else limit - given


def continues(begin: Schema, schema: Schema) -> bool:
    """Can the one schema have become the other, as values of open nominal features joined?

    >>> continues(Schema.numeric(2), Schema.numeric(3))
    False
    """
    if schema == begin:
        return True
    if schema.names != begin.names or structs.replace(schema, features=begin.features) != begin:
        return False
    return all(old == new or _joined(old, new) for old, new in zip(begin.features, schema.features, strict=True))


def _joined(old: Feature, new: Feature) -> bool:
    if old.values is None or new.values is None or not (old.open and new.open):
        return False
    return new.values[: len(old.values)] == old.values


def check_path(path: Any) -> str:
    """Refuse what is no file."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must name a file, got {path!r}")
    text = os.fspath(path)
    if not isinstance(text, str) or "\0" in text:
        raise TypeError(f"path must name a file, got {text!r}")
    if Path(text).is_dir():
        raise ValueError(f"path must name a file, {text!r} is a folder")
    if not Path(text).exists():
        raise FileNotFoundError(f"path must name a file, there is none at {text!r}")
    if not Path(text).is_file():
        raise ValueError(f"path must name a file, {text!r} is a device, a pipe or a socket")
    return text
