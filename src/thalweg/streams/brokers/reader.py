"""What every broker's reader gives: messages in one fixed order, from positions that a snapshot keeps."""

import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec

LOG = logging.getLogger("thalweg.brokers")
"""Where sentences about a lost connection and the like go: to standard error, unless the program says otherwise."""
Place = tuple[int, int]
"""Where a message is in its partition: the offset and 0; two numbers where a broker (Redis) counts with two."""
BEFORE: Place = (-1, -1)
"""Before every message."""


class Message(msgspec.Struct, gc=False):
    """One message, in the order in which messages of several partitions are learned: time, partition, place."""

    time: int
    """Milliseconds since 1970, where the broker says."""
    partition: int
    a: int
    b: int
    key: bytes | None
    value: Any
    """Its bytes; the fields themselves where a broker has some."""


class GapError(ValueError):
    """The broker has dropped messages that were not read yet."""

    def __init__(self, sentence: str, lost: int) -> None:
        super().__init__(sentence)
        self.lost = lost


class Reader(ABC):
    """A connection from which messages are read on demand, those of each partition in its order."""

    partitions: tuple[int, ...] = (0,)

    @abstractmethod
    def ends(self) -> dict[int, Place]:
        """Give the place of the last message of each partition at this moment; BEFORE where there is none."""

    def before(self) -> int:
        """Count the messages that were dropped before any was read, where the broker's numbers need that."""
        return 0

    @abstractmethod
    def seek(self, after: Mapping[int, Place], *, passed: int = 0, skip_gap: bool = False) -> int:
        """Go on behind these places; refuse with a GapError where what follows them is gone, or give how much that is.

        passed: how many messages there were up to these places, those that ``before`` counts and lost ones included.
        """

    @abstractmethod
    def fetch(self, most: int, wait: float) -> list[Message]:
        """Give up to ``most`` next messages, which may be none after so many seconds."""

    def caught_up(self, partition: int) -> bool:
        """Is it known that the partition has nothing more at this moment?"""
        return True

    def hold(self, partitions: set[int]) -> None:
        """Fetch nothing from these partitions for now: enough of them waits to be merged."""

    @abstractmethod
    def close(self) -> None:
        """Let the connection go."""

    def name_of(self, message: Message) -> str:
        """Say where a message is, for an id: partition and offset."""
        return f"{message.partition}/{message.a}"


class Merged:
    """The messages of all partitions in one order: by time, then partition, then offset.

    The next message is the earliest of those that are first in their partitions. It is given only when every partition
    has shown its first one, or has ended, or is known to have nothing more at this moment. So the order is the same
    whenever the messages are read, as long as they are all there.

    >>> from thalweg.streams.brokers.reader import Message
    >>> merged = Merged(_Listed([Message(3, 0, 0, 0, None, b"c"), Message(1, 1, 0, 0, None, b"a")]), ends=None)
    >>> [m.value for m in merged.read(10, wait=0.0) or []]
    [b'a', b'c']
    """

    def __init__(self, reader: Reader, ends: Mapping[int, Place] | None, first: int = -1) -> None:
        self.reader, self.ends, self.first = reader, ends, first
        """ends: the last places to read, None: go on for ever; first: the partition to begin with, -1: any."""
        self.heads: dict[int, deque[Message]] = {p: deque() for p in reader.partitions}
        self.over = {p for p in reader.partitions if ends is not None and ends[p] == BEFORE}
        self._held: set[int] = set()

    def passed(self, after: Mapping[int, Place]) -> None:
        """Take partitions that stand at their end already for ended."""
        if self.ends is not None:
            self.over |= {p for p in self.heads if after.get(p, BEFORE) >= self.ends[p]}

    def read(self, most: int, wait: float) -> list[Message] | None:
        """Give up to ``most`` next messages; [] nothing yet; None: ended."""
        if len(self.over) == len(self.heads) and not any(self.heads.values()):
            return None
        out = self._merge(most)
        if not out:
            self._fill(most, wait)
            out = self._merge(most)
        if not out and len(self.over) == len(self.heads) and not any(self.heads.values()):
            return None
        return out

    def _fill(self, most: int, wait: float) -> None:
        crowded = {p for p, waiting in self.heads.items() if len(waiting) >= 2 * most}
        if crowded != self._held:
            self.reader.hold(crowded)
            self._held = crowded
        found = self.reader.fetch(most, wait)
        if found and len(self.heads) == 1:
            (only, waiting), last = next(iter(self.heads.items())), (found[-1].a, found[-1].b)
            if self.ends is None or last <= self.ends[only]:
                waiting.extend(found)
                if self.ends is not None and last == self.ends[only]:
                    self.over.add(only)
                return
        if self.ends is None:
            for message in found:
                self.heads[message.partition].append(message)
            return
        for message in found:
            end, place = self.ends[message.partition], (message.a, message.b)
            if place <= end:
                self.heads[message.partition].append(message)
            if place >= end:
                self.over.add(message.partition)
        if not found:  # what stands last may be no message, but the mark of a transaction
            self.over |= {p for p in self.heads if self.reader.caught_up(p)}

    def _merge(self, most: int) -> list[Message]:
        heads = self.heads
        if len(heads) == 1:
            only = next(iter(heads.values()))
            if len(only) <= most:
                out = list(only)
                only.clear()
                return out
            return [only.popleft() for _ in range(most)]
        out = []
        while len(out) < most:
            if self.first >= 0:
                if not heads[self.first]:
                    break
                out.append(heads[self.first].popleft())
                self.first = -1
                continue
            if any(not h and p not in self.over and not self.reader.caught_up(p) for p, h in heads.items()):
                break
            shown = [(h[0].time, h[0].partition, h[0].a, h[0].b) for h in heads.values() if h]
            if not shown:
                break
            out.append(heads[min(shown)[1]].popleft())
        return out


class _Listed(Reader):
    """Messages that are there already, for examples and tests."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages
        self.partitions = tuple(sorted({m.partition for m in messages}))

    def ends(self) -> dict[int, Place]:
        return {p: max((m.a, m.b) for m in self.messages if m.partition == p) for p in self.partitions}

    def seek(self, after: Mapping[int, Place], *, passed: int = 0, skip_gap: bool = False) -> int:
        self.messages = [m for m in self.messages if (m.a, m.b) > after.get(m.partition, BEFORE)]
        return 0

    def fetch(self, most: int, wait: float) -> list[Message]:
        out, self.messages = self.messages[:most], self.messages[most:]
        return out

    def caught_up(self, partition: int) -> bool:
        return all(m.partition != partition for m in self.messages)

    def close(self) -> None:
        pass
