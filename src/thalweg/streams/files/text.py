"""A table in a text file: bytes come in blocks, a compiled routine turns them into rows, words get codes."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.params import shown
from thalweg.streams.files.block import Mark
from thalweg.streams.files.csv import csv_jit as jit
from thalweg.streams.files.csv.csv_cells_jit import PADDING
from thalweg.streams.files.quarantine import Bad

BLOCK = 1 << 20  # bytes of text parsed at a time; types are inferred from the first block
LONGEST = 1 << 26  # bytes of the longest record
_ROWS = 8192  # records that are turned into rows at a time: few enough to stay in the processor's cache
_CELLS = 1 << 17
_SPARSE = 8  # slots of the hash table for each word: where words seldom meet, none is looked up twice
_NO_NUMBER = (
    "must have {noun} in column {name}, as in the first rows, got {got}: "
    "if the column is text, say nominal=[{name}] (--nominal); if the word stands for a missing value, --missing {got}; "
    "on_bad_row='skip' (--on-bad-row skip) leaves such records out"
)

PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}


@contextmanager
def open_bytes(path: str) -> Iterator[Any]:
    """Open a file, unpacked on the way, or standard input where the path is "-"."""
    if path == "-":
        yield sys.stdin.buffer
        return
    codec = next((c for end, c in PACKED.items() if path.lower().endswith(end)), None)
    if codec is None:
        with open(path, "rb", buffering=0) as file:
            yield file
        return
    import pyarrow as pa

    with pa.OSFile(path, "rb") as raw, pa.CompressedInputStream(raw, codec) as file:
        yield file


def first_bytes(path: str, most: int = 1 << 16) -> bytes:
    """Give the first bytes of a file, unpacked, or of standard input, which is not read on by that."""
    if path == "-":
        peek = getattr(sys.stdin.buffer, "peek", None)
        return bytes(peek(most)) if peek is not None else b""
    try:
        with open_bytes(path) as file:
            return bytes(file.read(most))
    except (OSError, EOFError):
        return b""  # what is wrong with it is said when it is read


def _read_what_is_there(file: Any, room: memoryview) -> int:
    """Fill room with the bytes that are there; wait only if there are none.

    ``readinto1`` would wait for more, behind bytes that were looked at before.
    """
    data = file.read1(len(room))
    room[: len(data)] = data
    return len(data)


class Buffer:
    """The bytes of a file that are looked at now: filled behind, emptied in front.

    eager: give what is there, however little, as soon as it is there; whoever writes it may wait for the answer.
    """

    def __init__(self, file: Any, name: str, offset: int = 0, *, eager: bool = False) -> None:
        self.file, self.name, self.eager = file, name, eager
        self._readinto = partial(_read_what_is_there, file) if eager and hasattr(file, "read1") else file.readinto
        self.end = 0
        self.last = False
        self.bytes: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self.offset = offset
        """Place in the file of the first byte of the buffer."""
        self._make(BLOCK)
        if offset and name != "-":
            self._skip(offset)

    def _make(self, size: int) -> None:
        bytes_ = np.zeros(size + 2 * PADDING, dtype=np.uint8)[PADDING:]
        if self.end:
            bytes_[: self.end] = self.bytes[: self.end]
        self.bytes, self.size = bytes_, size

    def _skip(self, offset: int) -> None:
        if hasattr(self.file, "fileno") and type(self.file).__module__ != "pyarrow.lib":
            self.file.seek(offset)
            return
        while offset > 0 and (got := self._read_into(self.bytes.data[: min(offset, self.size)])):
            offset -= got

    def _read_into(self, room: memoryview) -> int:
        try:
            return self._readinto(room) or 0
        except (OSError, EOFError, ValueError):
            raise ValueError(f"{self.name} cannot be unpacked: it is damaged or cut off") from None

    def fill(self, used: int, read: bool = True) -> None:
        """Drop the bytes that were used, and read on, until the buffer is full unless it is eager.

        It grows where nothing was used.
        """
        if read and used == 0 and self.end >= self.size:
            if self.size >= LONGEST:
                raise ValueError(f"{self.name} must close its quotes: a record of more than {self.size:,} bytes")
            self._make(2 * self.size)
        left = self.end - used
        self.bytes[:left] = self.bytes[used : self.end].copy()
        self.offset += used
        self.end = left
        while read and self.end < self.size and not self.last:
            got = self._read_into(self.bytes.data[self.end : self.size])
            self.end += got
            self.last = got == 0
            read = not self.eager
        if self.last and self.end and self.bytes[self.end - 1] not in (10, 13):
            self.bytes[self.end] = 10
            self.end += 1
        self.bytes[self.end] = 10

    def text(self, start: int, stop: int) -> str:
        """Give some of the bytes as text."""
        return self.bytes[start:stop].tobytes().decode("utf-8", "replace")


class Words:
    """The words of each column and their codes, as the compiled routine keeps them."""

    def __init__(self, marks: Iterable[str]) -> None:
        self.at = np.zeros(9, dtype=np.int64)
        self.slots = np.zeros(4096, dtype=np.int64)
        self.words = np.zeros((512, 8), dtype=np.int64)
        self.arena = np.zeros(1024, dtype=np.uint64)
        for mark in marks:
            self.teach(-1, mark, 0)
            self.at[jit.AT_MARKS] |= np.int64(np.uint64(1 << (mark.encode()[0] & 63)).view(np.int64))

    def teach(self, column: int, word: str, code: int) -> None:
        """Give a word of a column its code."""
        data = word.encode("utf-8", "replace")
        self.room(1, len(data))
        bytes_ = np.frombuffer(data + bytes(PADDING), dtype=np.uint8)
        i = bytes_.ctypes.data
        jit.teach(i, i + len(data), column, code, self.slots, self.words, self.arena, self.at)

    def room(self, words: int, size: int) -> None:
        """Make room for so many more words and bytes."""
        n, cells = int(self.at[jit.AT_WORDS]), int(self.at[jit.AT_ARENA])
        if n + words > len(self.words):
            more = max(n + words, 2 * len(self.words))
            self.words = np.concatenate([self.words[:n], np.zeros((more - n, 8), dtype=np.int64)])
        if cells + size // 8 + 1 > len(self.arena):
            more = max(cells + size // 8 + 1, 2 * len(self.arena))
            self.arena = np.concatenate([self.arena[:cells], np.zeros(more - cells, dtype=np.uint64)])
        if _SPARSE * len(self.words) > len(self.slots):
            size = len(self.slots)
            while size < _SPARSE * len(self.words):
                size *= 2
            self.slots = np.zeros(size, dtype=np.int64)
            jit.spread(self.slots, self.words, self.arena, n)

    def since(self, n: int) -> list[tuple[int, str]]:
        """Give the words after the n-th, each with its column, in the order in which they appeared."""
        columns, places, sizes = self.words[n : int(self.at[jit.AT_WORDS]), :3].T.tolist()
        if not columns:
            return []
        first = places[0]
        data = self.arena[first : int(self.at[jit.AT_ARENA])].tobytes()
        starts = (8 * (p - first) for p in places)
        return [(c, data[i : i + size].decode()) for c, i, size in zip(columns, starts, sizes, strict=True)]


class TextTable:
    """Columns of a text file by what they hold; turns blocks of bytes into chunks.

    kinds: for each column SKIP, NUMBER, WORD or STAMP. places: where its values go: columns of X from 0 on; the label
    is -1, times are -2 and -3. rules: what words are allowed. known: words with codes, by column.
    no_number: the sentence about a cell that is no number.
    """

    def __init__(
        self,
        name: str,
        header: Sequence[str],
        kinds: Sequence[int],
        places: Sequence[int],
        rules: Sequence[int],
        *,
        delimiter: str,
        marks: Iterable[str],
        arff: bool = False,
        no_number: str = _NO_NUMBER,
    ) -> None:
        self.no_number = no_number
        self.renewed: Callable[[], dict[int, dict[str, int]] | None] = lambda: None
        """Asked before each block whether to begin anew, and with which words."""
        self.name, self.header = name, list(header)
        self.marks = tuple(marks)
        quotes = [34, 39, 92, 37, 1] if arff else [34, -1, -1, -1, 0]
        self.signs = np.array([ord(delimiter), *quotes], dtype=np.int64)
        self._cols = np.array([kinds, places, rules, [0] * len(kinds)], dtype=np.int64).T.copy()
        self.cols = self._cols.copy()
        self.n_features = max([p + 1 for p in places], default=0)
        self.n_extra = max([-p for p in places], default=0)
        self.words = Words(self.marks)
        self._bad_rows = np.empty((1024, 8), dtype=np.int64)
        self._hard = np.empty((max(len(kinds), 4096), 4), dtype=np.int64)
        self._spare: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self.rows_at_once = max(1, min(_ROWS, _CELLS // max(1, len(self.cols))))

    def learn(self, known: dict[int, dict[str, int]]) -> None:
        """Begin anew with these words and codes."""
        self.known = known
        self.words = Words(self.marks)
        self.cols = self._cols.copy()
        for column, codes in known.items():
            for word, code in codes.items():
                self.words.teach(column, word, code)
            self.cols[column, jit.C_CODE] = len(codes)
        self.synced = int(self.words.at[jit.AT_WORDS])

    def new_words(self) -> list[tuple[int, str]]:
        """Give the words, with their columns, that appeared since the last call."""
        new = self.words.since(self.synced)
        self.synced = int(self.words.at[jit.AT_WORDS])
        return new

    def forget(self) -> None:
        """Keep the words that were known beforehand alone, in the middle of a file: its words need no memory then."""
        at = self.words.at
        where = at[jit.AT_BYTE], at[jit.AT_LINE]
        self.learn(self.known)
        at[:] = self.words.at
        self.words.at = at  # what parses has it in its hands
        at[jit.AT_BYTE], at[jit.AT_LINE] = where

    def parse(self, buffer: Buffer, start: int, line: int) -> Iterator[tuple[Any, ...]]:
        """Parse all whole rows of the buffer from a byte on: X, extra, bad ones, and the byte and line it began at."""
        if (words := self.renewed()) is not None:
            self.learn(words)
        n = len(self.cols)
        if len(self._spare) < len(buffer.bytes) + n:
            self._spare = np.empty(len(buffer.bytes) + n + PADDING, dtype=np.uint8)
        bad, hard, spare = self._bad_rows, self._hard, self._spare
        at = self.words.at
        why = jit.MORE
        at[jit.AT_BYTE], at[jit.AT_LINE] = start, line
        while why == jit.MORE:
            X = np.empty((self.rows_at_once, self.n_features))
            extra = np.empty((self.rows_at_once, self.n_extra))
            at[jit.AT_ROWS] = at[jit.AT_BAD] = at[jit.AT_HARD] = 0
            before = int(at[jit.AT_BYTE]), int(at[jit.AT_LINE])
            why, began = jit.GROW, -1
            while why == jit.GROW:
                byte = int(at[jit.AT_BYTE])
                self.words.room(n, 64 * n if byte > began else 8 * n + buffer.end - byte)  # enough for most; for all
                began = byte
                w, base = self.words, buffer.bytes.ctypes.data
                known, notes = (w.slots, w.words, w.arena), (bad, hard, spare)
                end = base + buffer.end
                why = jit.parse(base, end, buffer.last, self.signs, self.cols, X, extra, known, notes, at)
            rows = int(at[jit.AT_ROWS])
            for r, c, first, stop in hard[: int(at[jit.AT_HARD])].tolist():
                text = buffer.text(-1 - first, stop).strip(" \t\"'") if first < 0 else buffer.text(first, stop)
                place = int(self.cols[c, jit.C_PLACE])
                (X if place >= 0 else extra)[r, place if place >= 0 else -1 - place] = float(text)
            yield X[:rows], extra[:rows], [self._bad(buffer, *b) for b in bad[: int(at[jit.AT_BAD])].tolist()], before

    def blocks(
        self, buffer: Buffer, mark: Mark, used: int = 0
    ) -> Iterator[tuple[NDArray[Any], NDArray[Any], list[Bad], Mark]]:
        """Give the parsed blocks of a file from a mark (rows, bad rows, byte, line) on, after bytes that are used."""
        rows, bads, _, line = mark
        read = not buffer.eager  # what an eager buffer has is parsed before it waits for more
        while True:
            buffer.fill(used, read)
            read = True
            base = buffer.offset
            for X, extra, bad, (byte, at_line) in self.parse(buffer, 0, line):
                yield X, extra, bad, (rows, bads, base + byte, at_line)
                rows += len(X)
                bads += len(bad)
            used, line = int(self.words.at[jit.AT_BYTE]), int(self.words.at[jit.AT_LINE])
            if buffer.last:
                return

    def _bad(
        self, buffer: Buffer, row: int, start: int, end: int, line: int, what: int, column: int, first: int, stop: int
    ) -> Bad:
        here = f"line {line} of {self.name}"
        name = repr(self.header[column]) if 0 <= column < len(self.header) else ""
        got = shown(buffer.text(first, min(stop, first + 200)).strip(), 60)
        if what == jit.RAGGED:
            reason = f"{here} must have {len(self.header)} values, as the header has, got {column}"
        elif what == jit.OPEN_QUOTE:
            reason = f"{self.name} must close its quotes: the one that opens in line {line} has no end"
        elif what == jit.QUOTE:
            reason = f"{here} must have a delimiter after a closing quote, got {got}"
        elif what == jit.NO_LABEL:
            reason = f"{here} must have a label in column {name}, it is missing"
        elif what == jit.NOT_TEXT:
            reason = (
                f"{here} must be UTF-8 text, it is not in column {name}: "
                "say which encoding it has, such as encoding='latin-1' (--encoding latin-1)"
            )
        elif what == jit.UNKNOWN:
            reason = (
                f"{here} must have one of {shown(list(self.known.get(column, ())), 200)} in column {name}, got {got}"
            )
        elif what == jit.NOT_STAMP:
            reason = f"{here} must have a date or time such as 2020-01-31 12:30:59 in column {name}, got {got}"
        else:
            rule = int(self.cols[column, jit.C_RULE])
            noun = "a whole number" if what == jit.NOT_WHOLE and rule == jit.WHOLE else "a number"
            reason = f"{here} {self.no_number.format(noun=noun, name=name, got=got)}"
        wrong = what not in (jit.RAGGED, jit.OPEN_QUOTE, jit.QUOTE, jit.NO_LABEL, jit.NOT_TEXT)
        return Bad(row, line, buffer.text(start, end), reason, column if wrong else -1)


_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_REAL = re.compile(r" *([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity|nan)) *", re.IGNORECASE)
_STAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
TRUE_FALSE = {"true": 1, "True": 1, "TRUE": 1, "false": 0, "False": 0, "FALSE": 0}


def kind_of(words: Sequence[str]) -> str:
    """Say what a column holds: nothing, whole numbers, numbers, booleans, dates, times, or text."""
    if not words:
        return "nothing"
    if all(map(_WHOLE.fullmatch, words)):
        return "whole"
    if all(map(_REAL.fullmatch, words)):
        return "number"
    if all(w in TRUE_FALSE for w in words):
        return "boolean"
    if all(map(_STAMP.fullmatch, words)):
        return "date" if all(len(w) == 10 for w in words) else "time"
    return "text"


def arrow_type(kind: str) -> Any:
    """Give the Arrow type of a kind."""
    import pyarrow as pa

    types = {"nothing": pa.null(), "whole": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
    return {**types, "date": pa.date32(), "time": pa.timestamp("s"), "text": pa.string()}[kind]


class LabelWords:
    """The labels of a text file, as values of one type."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._words: list[Any] = []
        self._array: NDArray[Any] = np.empty(0, dtype=np.str_)

    def __len__(self) -> int:
        return len(self._words)

    def add(self, word: str) -> None:
        """Add the word of the next code."""
        if self._kind == "whole":
            self._words.append(int(word))
        else:
            self._words.append(float(word) if self._kind == "number" else word)

    def declare(self, values: Sequence[Any]) -> None:
        """Begin anew with these."""
        self._words = list(values)
        self._array = np.empty(0, dtype=np.str_)

    def of(self, codes: NDArray[np.float64]) -> NDArray[Any]:
        """Give the labels of codes."""
        if len(self._array) != len(self._words):
            self._array = np.array(self._words)
        return self._array[codes.astype(np.int64)] if len(self._words) else np.empty(0, dtype=np.str_)
