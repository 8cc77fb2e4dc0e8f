"""Files with a record on each line that is not empty."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from thalweg.core.chunk import Chunk
from thalweg.streams.files.block import Block, Mark
from thalweg.streams.files.quarantine import Bad
from thalweg.streams.files.text import Buffer


def lines_from(buffer: Buffer, line: int, used: int = 0) -> Iterator[tuple[int, int, bytes]]:
    """Give the lines of a file that are not empty: place, number and bytes."""
    while True:
        buffer.fill(used)
        data = buffer.bytes[: buffer.end].tobytes()
        used = 0
        while (stop := data.find(b"\n", used)) >= 0:
            text = data[used:stop].strip()
            if text:
                yield buffer.offset + used, line, text
            used, line = stop + 1, line + 1
        if buffer.last:
            if used < len(data) and (text := data[used:].strip()):
                yield buffer.offset + used, line, text
            return


def line_blocks(
    buffer: Buffer, mark: Mark, step: int, read: Callable[[bytes], Any], join: Callable[[list[Any]], Chunk]
) -> Iterator[Block]:
    """Give the blocks of a file from a mark on, of ``step`` lines each.

    read: turns a line into a record, None where it is a comment, or raises a sentence without a subject. join: turns
    records into a chunk.
    """
    rows, bads = mark[:2]
    lines = lines_from(buffer, mark[3])
    while block := list(islice(lines, step)):
        good: list[Any] = []
        bad: list[Bad] = []
        for _, number, text in block:
            try:
                if (record := read(text)) is not None:
                    good.append(record)
            except ValueError as error:
                reason = f"line {number} of {buffer.name} {error}"
                bad.append(Bad(len(good), number, text.decode("utf-8", "replace"), reason))
        yield Block(join(good), (rows, bads, *block[0][:2]), bad)
        rows, bads = rows + len(good), bads + len(bad)
