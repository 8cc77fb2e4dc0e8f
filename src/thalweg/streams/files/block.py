"""What the reader of a format gives: a block of records, and the mark where it begins."""

from dataclasses import dataclass, field

from thalweg.core.chunk import Chunk
from thalweg.streams.files.quarantine import Bad

Mark = tuple[int, ...]
"""Where a block begins: records before it, bad records before it, and two numbers of the format's own."""


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive records of a file."""

    chunk: Chunk
    mark: Mark
    bad: list[Bad] = field(default_factory=list)
