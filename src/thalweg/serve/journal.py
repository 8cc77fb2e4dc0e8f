"""A journal: entries in the order in which they were accepted, kept in segments, never changed, only appended to.

The position of an entry, 1 for the first, is the only clock. A segment is a file named by its first position:

| bytes | of a segment                                | bytes | of an entry                                         |
| 8     | b"THALWEGJ"                                 | 4     | length of the payload                               |
| 4     | version of the format                       | 4     | CRC-32 of all that follows in the entry             |
| 8     | first position                              | 8     | position                                            |
| 4     | CRC-32 of the 20 bytes before               | 8     | the last position known to be on the disk by then   |
|       |                                             | …     | the payload                                         |

What a power failure tears off the end was never acknowledged: it is cut off when the journal is opened. An entry that a
later one says was on the disk, and that is damaged all the same, is refused with a sentence.
"""

import os
import re
import struct
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, final

from thalweg.core import params

SYNCS = ("always", "interval", "never")
_MAGIC, _FORMAT = b"THALWEGJ", 1
_HEAD = struct.Struct("<8sIQ")
_SUM = struct.Struct("<I")
_ENTRY = struct.Struct("<IIQQ")
_BODY = struct.Struct("<QQ")
_FIRST = _HEAD.size + _SUM.size
_NAME = re.compile(r"(\d{20})\.journal")
MOST = 1 << 30
"""Bytes of the largest payload."""


class Found(NamedTuple):
    """An entry."""

    position: int
    payload: bytes


@final
class Journal:
    """Entries on the disk, in order.

    Parameters
    ----------
    folder : str | os.PathLike[str]
        For the segments; made where it is not there.
    sync : Literal["always", "interval", "never"]
        When what was written is brought to the disk itself. "always": before ``append`` returns, so that a power
        failure loses nothing that was acknowledged. "interval": when ``bring_to_disk`` is called, now and then.
        "never": when the system likes. In every case a process that is killed loses nothing.
    segment : int
        Bytes after which a new segment begins.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> journal = Journal(folder)
    >>> journal.append([b"one", b"two"])
    1
    >>> journal.close()
    >>> [(found.position, found.payload) for found in Journal(folder).read(after=1)]
    [(2, b'two')]
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        sync: Literal["always", "interval", "never"] = "always",
        segment: int = 64 << 20,
    ) -> None:
        params.choice("sync", sync, SYNCS)
        params.whole("segment", segment, least=1 << 12)
        params.folder("folder", folder)
        self.folder, self.sync, self.segment = Path(folder), sync, int(segment)
        self._starts = sorted(int(found[1]) for p in self.folder.iterdir() if (found := _NAME.fullmatch(p.name)))
        self._lock = threading.Lock()  # held while a segment begins, ends or is brought to the disk
        self._file = -1
        self._size = 0
        self._torn = False
        self.position = 0
        """The last position written."""
        self.synced = 0
        """The last position known to be on the disk."""
        self._old_bytes = sum(self._path(s).stat().st_size for s in self._starts[:-1])
        if self._starts:
            self._open_last()

    # -- writing ------------------------------------------------------------------------------------------------------

    def append(self, payloads: Sequence[bytes]) -> int:
        """Write entries; give the position of the first. Where that fails, nothing of them is left."""
        first, synced, position = self.position + 1, self.synced, self.position
        if self._file < 0 or self._torn or self._size >= self.segment:
            with self._lock:
                self._begin(first)
        parts: list[bytes] = []
        for payload in payloads:
            if len(payload) > MOST:
                raise ValueError(f"an entry must have at most {MOST:,} bytes, got {len(payload):,}")
            position += 1
            body = _BODY.pack(position, synced)
            parts += (_SUM.pack(len(payload)), _SUM.pack(zlib.crc32(payload, zlib.crc32(body))), body, payload)
        data = b"".join(parts)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
            if self.sync == "always":
                os.fdatasync(self._file)
        except OSError:
            self._cut(self._size)
            raise
        self._size += len(data)
        self.position = position
        if self.sync == "always":
            self.synced = position
        return first

    def bring_to_disk(self) -> None:
        """Bring everything that was written to the disk itself."""
        with self._lock:
            self._bring()

    def _bring(self) -> None:
        position = self.position
        if self._file >= 0 and self.synced < position:
            os.fdatasync(self._file)
            self.synced = position

    def _begin(self, first: int) -> None:
        """Begin a new segment."""
        if self._file >= 0 and self.sync != "never":
            self._bring()
        head = _HEAD.pack(_MAGIC, _FORMAT, first)
        path = self._path(first)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o600)
        try:
            os.write(file, head + _SUM.pack(zlib.crc32(head)))
            if self.sync != "never":
                os.fsync(file)
                _sync_folder(self.folder)
        except OSError:
            os.close(file)
            with suppress(OSError):
                path.unlink()
            raise
        if self._file >= 0:
            os.close(self._file)
            self._old_bytes += self._size
        self._file, self._size, self._torn = file, _FIRST, False
        if first not in self._starts:
            self._starts.append(first)

    def _cut(self, size: int) -> None:
        """Leave nothing of entries that could not be written whole; where that fails, too, nothing may follow them."""
        try:
            os.ftruncate(self._file, size)
        except OSError:
            self._torn = True

    # -- reading ------------------------------------------------------------------------------------------------------

    def read(self, after: int = 0) -> Iterator[Found]:
        """Give the entries behind a position, in order."""
        params.whole("after", after, least=0)
        if after > self.position:
            raise ValueError(f"{self.folder} must reach position {after}, which a snapshot names, got {self.position}")
        if after < self.position and after + 1 < (self._starts[0] if self._starts else 1):
            raise ValueError(f"{self.folder} must have the entries behind {after}, it begins at {self._starts[0]}")
        for k, start in enumerate(self._starts):
            if k + 1 < len(self._starts) and self._starts[k + 1] <= after + 1:
                continue
            stop = self._starts[k + 1] - 1 if k + 1 < len(self._starts) else self.position
            data = self._path(start).read_bytes()
            at = self._check_head(data, start)
            for expected in range(start, stop + 1):
                entry = _entry(data, at, expected)
                if entry is None:
                    raise self._damaged(start, expected)
                if expected > after:
                    yield Found(expected, data[at + _ENTRY.size : entry])
                at = entry

    def _open_last(self) -> None:
        """Find where the last segment ends, and cut off what is torn."""
        start = self._starts[-1]
        path = self._path(start)
        data = path.read_bytes()
        if len(data) < _FIRST and start > 1 and len(self._starts) > 1:  # it was being begun
            path.unlink()
            self._starts.pop()
            self._old_bytes -= self._path(self._starts[-1]).stat().st_size
            return self._open_last()
        if len(data) < _FIRST:
            path.unlink()
            self._starts.clear()
            return None
        at, position = self._check_head(data, start), start - 1
        while (end := _entry(data, at, position + 1)) is not None:
            at, position = end, position + 1
        if at < len(data) and _said_synced(data, at, position + 1) > position:
            raise self._damaged(start, position + 1)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND)
        if at < len(data):
            os.ftruncate(self._file, at)
            os.fsync(self._file)
        self._size = at
        self.position = self.synced = position
        return None

    def _check_head(self, data: bytes, start: int) -> int:
        path = self._path(start)
        if len(data) < _FIRST or _SUM.unpack_from(data, _HEAD.size)[0] != zlib.crc32(data[: _HEAD.size]):
            raise ValueError(f"{path} must be a segment of a journal, its first {_FIRST} bytes are damaged")
        magic, version, first = _HEAD.unpack_from(data)
        if magic != _MAGIC or first != start or version > _FORMAT:
            raise ValueError(f"{path} must be a segment of a journal that begins at {start}, of format {_FORMAT}")
        return _FIRST

    def _damaged(self, start: int, position: int) -> ValueError:
        return ValueError(
            f"{self._path(start)} is damaged: the entry at position {position} was on the disk, and its checksum does "
            "not match; start from a backup, or from a folder that ends before it"
        )

    # -- files --------------------------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Bytes of all segments."""
        return self._old_bytes + self._size

    @property
    def first(self) -> int:
        """The first position that is still there; 0: nothing is."""
        return self._starts[0] if self._starts else 0

    def forget(self, position: int) -> None:
        """Remove segments all of whose entries are at or before this position."""
        with self._lock:
            while len(self._starts) > 1 and self._starts[1] <= position + 1:
                path = self._path(self._starts[0])
                size = path.stat().st_size
                path.unlink()
                self._old_bytes -= size
                self._starts.pop(0)

    def close(self) -> None:
        """Bring everything to the disk, and let go of the file."""
        if self._file >= 0:
            if self.sync != "never":
                with suppress(OSError):
                    self.bring_to_disk()
            os.close(self._file)
            self._file = -1

    def _path(self, start: int) -> Path:
        return self.folder / f"{start:020d}.journal"


def _entry(data: bytes, at: int, position: int) -> int | None:
    """Where the entry at this place ends; None: there is no whole one."""
    if at + _ENTRY.size > len(data):
        return None
    length, checksum, found, _ = _ENTRY.unpack_from(data, at)
    end = at + _ENTRY.size + length
    if found != position or length > MOST or end > len(data):
        return None
    body = memoryview(data)[at + 2 * _SUM.size : end]
    return end if zlib.crc32(body) == checksum else None


def _said_synced(data: bytes, at: int, position: int) -> int:
    """The latest position that any whole entry behind a damaged one says was on the disk."""
    most, look = 0, position + 1
    while look <= position + 100_000:
        place = data.find(look.to_bytes(8, "little"), at)
        if place < 0:
            break
        begin = place - 2 * _SUM.size
        end = _entry(data, begin, look) if begin >= at else None
        if end is not None:
            most = max(most, _ENTRY.unpack_from(data, begin)[3])
            at = end
        look += 1
    return most


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
