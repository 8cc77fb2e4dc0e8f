"""Reads random text from memory with forbidden pages around it; a process of its own, since a wrong read kills it.

The bytes of the text, with the padding that the reader states, lie right before or right behind a page that may not be
touched, and every table that the reader makes lies right before one. The padding holds random bytes. What comes out
must be what comes out of ordinary memory.

usage: python guarded_reading.py SECONDS SEED [PADDING]; with less padding than the reader states, it must die.
"""

import ctypes
import io
import mmap
import random
import sys
import time
from typing import Any

import numpy as np

from thalweg.streams.files import text
from thalweg.streams.files.csv import csv_jit as jit
from thalweg.streams.files.csv.csv_cells_jit import PADDING

PAGE = mmap.PAGESIZE
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Guards:
    """Memory between two pages that may not be touched."""

    def __init__(self) -> None:
        self.regions: list[tuple[int, int]] = []

    def make(self, size: int, behind: bool) -> Any:
        """Give so many bytes right before the second page, or right behind the first."""
        inner = max(1, -(-size // PAGE)) * PAGE
        whole = inner + 2 * PAGE
        base = LIBC.mmap(None, whole, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        assert base != ctypes.c_void_p(-1).value
        for page in (base, base + PAGE + inner):
            assert LIBC.mprotect(page, PAGE, 0) == 0
        self.regions.append((base, whole))
        start = base + PAGE if behind else base + PAGE + inner - size
        return np.frombuffer((ctypes.c_uint8 * size).from_address(start), dtype=np.uint8)

    def array(self, shape: Any, dtype: Any = np.float64) -> Any:
        """Give an array of zeros right before a forbidden page."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        kind = np.dtype(dtype)
        size = int(np.prod(shape)) * kind.itemsize
        return self.make(size, False).view(kind).reshape(shape) if size else np.zeros(shape, dtype)

    def release(self) -> None:
        """Give all of it back."""
        for base, size in self.regions:
            LIBC.munmap(base, size)
        self.regions.clear()


class GuardedNumPy:
    """NumPy, whose new arrays are guarded."""

    def __init__(self, guards: Guards) -> None:
        self.zeros = self.empty = guards.array
        self.guards = guards

    def concatenate(self, parts: Any) -> Any:
        """Join parts in guarded memory."""
        joined = np.concatenate(parts)
        made = self.guards.array(joined.shape, joined.dtype)
        made[...] = joined
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


PIECES = [
    "1", "-2.5", "12345678", "123456789.123456789", "0.1234567890123456789012345", "9" * 30, "1e5", "-1.5E-07",
    "4.9e-324", "1e999", "+", "-", ".", "e", "inf", "-Infinity", "nan", "NA", "?", "", " ", "  7 ", "red", "blue",
    "sixteen bytes ok", "seventeen bytes !",
    "a much longer word than any of the others in this list, with, delimiters", '"', '""',
    '"red"', '"a,b"', '"two\nlines"', '"she said ""no"""', '"unclosed',
    "'it''s'", "\\'", "\\", "%", "2020-01-31",
    "true", "2020-01-31T12:30:59.25+01:00", "\0", "\t", "\x0b", "naïve", "日本", "\n", "\r", "\r\n", ",",
    ",,,,,,,,,,,,,,,,,,,,",
]  # fmt: skip


def structured(rng: random.Random, columns: int, delimiter: str) -> bytes:
    """Write rows of odd cells, most of them with as many as there should be."""
    rows = []
    for _ in range(rng.randrange(40)):
        n = columns if rng.random() < 0.9 else rng.randrange(2 * columns)
        rows.append(delimiter.join(rng.choice(PIECES) for _ in range(n)))
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    return (end.join(rows) + rng.choice(["", end])).encode()


def cut(rng: random.Random, data: bytes) -> bytes:
    """Damage a text: cut it off, change bytes."""
    changed = bytearray(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.5 else data)
    for _ in range(rng.randrange(4)):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def wild(rng: random.Random) -> bytes:
    """Write any bytes, or only those that mean something."""
    n = rng.randrange(600)
    letters = b'0123456789.,e+-"\n\r \tNA' if rng.random() < 0.6 else bytes(range(256))
    return bytes(rng.choices(letters, k=n))


def read(data: bytes, layout: dict[str, Any], known: dict[int, dict[str, int]]) -> list[Any]:
    """Read a text to the end; give the cells and the bad rows, or the error."""
    out: list[Any] = []
    features = [p for p, kind in zip(layout["places"], layout["kinds"], strict=True) if kind != jit.SKIP and p >= 0]
    try:
        table = text.TextTable(**layout)
        table.learn(known)
        for X, extra, bad, mark in table.blocks(text.Buffer(io.BytesIO(data), "text"), (0, 0, 0, 1)):
            out.append((X[:, features].tobytes(), extra.tobytes(), [(b.before, b.line, b.reason) for b in bad], mark))
        out.append(table.new_words())
    except ValueError as error:
        out.append(str(error))
    return out


def layout_of(rng: random.Random) -> tuple[dict[str, Any], dict[int, dict[str, int]]]:
    """Choose columns."""
    n = rng.choice([1, 2, 3, 5, 9])
    kinds = [rng.choice([jit.NUMBER, jit.NUMBER, jit.WORD, jit.STAMP, jit.SKIP]) for _ in range(n)]
    places, rules = [0] * n, [rng.choice([jit.OPEN, jit.CLOSED, jit.WHOLE, jit.REAL, jit.FIXED]) for _ in range(n)]
    for place, c in enumerate(c for c in range(n) if kinds[c] != jit.SKIP):
        places[c] = place
    words = [c for c in range(n) if kinds[c] == jit.WORD]
    if words:
        places[words[-1]] = -1  # the label
    known = {c: {"red": 0, "blue": 1, "a much longer word": 2} for c in words if rng.random() < 0.5}
    layout = {"name": "text", "header": [f"x{c}" for c in range(n)], "kinds": kinds, "places": places, "rules": rules}
    layout |= {"delimiter": rng.choice(",,,;\t "), "marks": ["?", "NA", "missing value"], "arff": rng.random() < 0.3}
    return layout, known


def main(seconds: float, seed: int, padding: int) -> None:
    """Read until the time is up."""
    guards = Guards()
    rng = random.Random(seed)
    plain_make, plain_numpy = text.Buffer._make, text.np
    behind = False

    def guarded_make(self: Any, size: int) -> None:
        bytes_ = guards.make(size + 2 * padding, behind)
        bytes_[:] = np.frombuffer(rng.randbytes(len(bytes_)), dtype=np.uint8)
        bytes_ = bytes_[padding:]
        if self.end:
            bytes_[: self.end] = self.bytes[: self.end]
        self.bytes, self.size = bytes_, size

    stop, done = time.monotonic() + seconds, 0
    text._ROWS = 7
    while time.monotonic() < stop:
        done += 1
        layout, known = layout_of(rng)
        data = wild(rng) if rng.random() < 0.3 else structured(rng, len(layout["kinds"]), layout["delimiter"])
        data = cut(rng, data)
        text.BLOCK = rng.choice([8, 64, 200, 1000, 4096, max(1, len(data)), max(1, len(data) - 1)])
        behind = not behind
        expected = read(data, layout, known)
        text.Buffer._make, text.np = guarded_make, GuardedNumPy(guards)  # type: ignore[method-assign, assignment]
        try:
            found = read(data, layout, known)
        finally:
            text.Buffer._make, text.np = plain_make, plain_numpy  # type: ignore[method-assign]
            guards.release()
        assert found == expected, (data, layout, text.BLOCK)
    print(done)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else PADDING)
