"""Where answers go: a topic, a stream, a subject or a file; each answer once, also after a crash, where it can be.

Every answer has an id, made from the position of its record. What was written after the last snapshot is read back when
a run resumes, and answers with those ids are not written again. Each broker refuses, in its own way, what a process
that was killed may still have under way: see the sink of each.
"""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, final

import msgspec
import numpy as np
from numpy.typing import NDArray

from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.registry.typed import is_address
from thalweg.streams.brokers.address import parsed, without_password

HOMES = {
    "kafka": ".kafka:KafkaSink",
    "redis": ".redis:RedisSink",
    "rediss": ".redis:RedisSink",
    "nats": ".nats:NATSSink",
}
_MOST = 5000  # messages that wait before they are sent
_LONGEST = 0.2  # seconds that a message waits


class Out(NamedTuple):
    """A message to be written."""

    id: str
    """Unlike that of every other message: a reader can drop repeats by it."""
    key: bytes | None
    value: bytes
    time: int | None = None
    """Milliseconds since 1970, where the broker lets the writer say; None: now."""


class Sink(ABC):
    """Takes messages in order. After ``flush`` they are with the broker, and ``state`` says how far it is.

    A sink is opened once, and then either told to ``begin`` behind whatever is there, or to ``restore`` a state: then
    it reads back what was written since, and leaves out what is there already.
    """

    where: str = ""

    def __init__(self) -> None:
        self._waiting: list[Out] = []
        self._since = 0.0
        self.there: set[str] = set()
        """Ids that were written after the restored state, and have not come again yet."""
        self.repeated = 0
        """How many messages were left out because they were there."""
        self.whole = True
        """Is all that was to be sent with the broker? Not where sending broke off: which messages are is not known."""

    def write(self, messages: Iterable[Out]) -> None:
        """Write messages, soon."""
        if not self._waiting:
            self._since = time.monotonic()
        there = self.there
        if there:
            for message in messages:
                if message.id in there:
                    there.discard(message.id)
                    self.repeated += 1
                else:
                    self._waiting.append(message)
        else:
            self._waiting += messages
        if len(self._waiting) >= _MOST or (self._waiting and time.monotonic() - self._since > _LONGEST):
            self.flush()

    def flush(self) -> None:
        """Write what waits; afterwards it is with the broker."""
        whole, self.whole = self.whole, False
        waiting, self._waiting = self._waiting, []
        for start in range(0, len(waiting), _MOST):
            self._send(waiting[start : start + _MOST])
        self.whole = whole

    def state(self) -> State:
        """Give how far the output is, all that was written included."""
        self.flush()
        if not self.whole:
            raise ValueError(
                f"the sink for {self.where} must be restored: writing to it broke off, answers are lacking"
            )
        texts = {"at": self._place(), "there": sorted(self.there)}
        return {name: np.frombuffer(msgspec.json.encode(what), dtype=np.uint8) for name, what in texts.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state: read back what was written since."""
        try:
            place = msgspec.json.decode(state["at"].tobytes(), type=dict[str, Any])
            kept = msgspec.json.decode(state["there"].tobytes(), type=list[str]) if "there" in state else []
        except (KeyError, msgspec.MsgspecError):
            raise ValueError(f"state must be what a sink for {self.where} gave") from None
        self._waiting, self.whole = [], True
        try:
            self.there = {*self._go_on(place), *kept}
        except (AttributeError, KeyError, OverflowError, TypeError):  # a place that was made by hand
            raise ValueError(f"state must be what a sink for {self.where} gave") from None

    @abstractmethod
    def begin(self) -> None:
        """Begin behind what is there."""

    @abstractmethod
    def _send(self, messages: list[Out]) -> None:
        """Write messages, all of them, before this returns."""

    @abstractmethod
    def _place(self) -> dict[str, Any]:
        """Say how far the output is."""

    @abstractmethod
    def _go_on(self, place: dict[str, Any]) -> Iterable[str]:
        """Go on from a place; give the ids of what was written behind it."""

    def close(self) -> None:
        """Write what waits, and let the connection go."""
        self.flush()


@final
class FileSink(Sink):
    r"""Appends lines to a file. One process writes; a line that a crash has cut off is cut off whole on resuming.

    >>> from tempfile import mkdtemp
    >>> sink = FileSink(Path(mkdtemp()) / "answers.jsonl")
    >>> sink.begin()
    >>> sink.write([Out("a/0", None, b'{"id":"a/0","label":"yes"}')])
    >>> sink.close(); sink.path.read_text()
    '{"id":"a/0","label":"yes"}\n'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.path = Path(path)
        self.where = str(path)
        if not self.path.absolute().parent.is_dir() or self.path.is_dir():
            raise ValueError(f"the file for answers must lie in a folder that exists, got {self.where}")
        self._file: Any = None
        self._size = 0

    def begin(self) -> None:
        """Write the file anew."""
        self._file = self.path.open("wb", buffering=0)
        self._size = 0

    def _send(self, messages: list[Out]) -> None:
        data = b"".join([m.value + b"\n" for m in messages])
        done = 0
        while done < len(data):
            done += self._file.write(data[done:])
        self._size += len(data)
        os.fsync(self._file.fileno())

    def _place(self) -> dict[str, Any]:
        return {"size": self._size}

    def _go_on(self, place: dict[str, Any]) -> Iterable[str]:
        size = int(place["size"])
        if not self.path.exists() or self.path.stat().st_size < size:
            raise ValueError(f"{self.where} must have the {size:,} bytes that were written to it before, it has fewer")
        self._file = self.path.open("r+b", buffering=0)
        self._file.seek(size)
        rest = self._file.read()
        whole = rest[: rest.rfind(b"\n") + 1]
        self._file.truncate(size + len(whole))
        self._size = size + len(whole)
        self._file.seek(self._size)
        return [_id_in(line) for line in whole.splitlines()]

    def close(self) -> None:
        """Write what waits, and close the file."""
        super().close()
        if self._file is not None:
            self._file.close()


class _Named(msgspec.Struct):
    id: str = ""


def _id_in(line: bytes) -> str:
    try:
        return msgspec.json.decode(line, type=_Named).id
    except msgspec.MsgspecError:
        return ""


def open_sink(text: str | os.PathLike[str]) -> Sink:
    """Open the place that an address or a path names; tell it to ``begin`` or to ``restore`` before writing.

    >>> open_sink("sqlite:///answers.db")
    Traceback (most recent call last):
    ValueError: answers must go to kafka://, redis://, rediss://, nats:// or a file, got 'sqlite:///answers.db'
    """
    if isinstance(text, str) and is_address(text):
        address = parsed(text)
        if address.scheme not in HOMES:
            known = ", ".join(f"{scheme}://" for scheme in HOMES)
            raise ValueError(f"answers must go to {known} or a file, got {shown(address.shown)}")
        module, _, name = HOMES[address.scheme].partition(":")
        made: Sink = getattr(import_module(module, __package__), name)(address)
        return made
    if not isinstance(text, (str, os.PathLike)) or "://" in os.fspath(text):
        got = shown(without_password(text) if isinstance(text, str) else text)
        raise ValueError(f"answers must go to an address such as redis://localhost/answers or a file, got {got}")
    return FileSink(text)
