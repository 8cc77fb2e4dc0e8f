"""The folder through which a trainer hands versions to predictors.

| file                   | holds                                                                           |
| version-N.predictor    | what answers, learns no more                                                    |
| version-N.learner      | what goes on learning, for a trainer that starts again                           |
| version-N.detector     | its drift detector, where it has one                                            |
| current                | which version is the newest, and how many rows it has seen; written last        |
| lock                   | held by the trainer; the system lets go of it when that ends, however it ends    |

Every file is written under another name, brought to the disk, and renamed; each has a checksum. Whatever happens to a
trainer, ``current`` names files that are whole.
"""

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.core import params
from thalweg.keeping.arrays_file import read_arrays, write_arrays

CURRENT = "current"
_TRIES = 50
_NAME = re.compile(r"version-(\d+)\.(predictor|learner|detector)")


@dataclass(frozen=True, slots=True)
class Note:
    """What ``current`` says."""

    version: int
    rows: int
    """Rows that the trainer was given."""
    labelled: int
    """Those among them that it learned."""


class Shelf:
    """A folder of versions.

    >>> import tempfile
    >>> shelf = Shelf(tempfile.mkdtemp())
    >>> shelf.note() is None
    True
    >>> shelf.point(Note(1, 100, 80)); shelf.note()
    Note(version=1, rows=100, labelled=80)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        params.path("folder", folder)
        self.folder = Path(folder)
        self._lock: Any = None

    def path(self, version: int, what: str) -> Path:
        """Where a part of a version lies."""
        return self.folder / f"version-{version:010d}.{what}"

    def note(self) -> Note | None:
        """Read which version is the newest; None: there is none yet."""
        try:
            _, header = read_arrays(self.folder / CURRENT, mapped=False)
        except FileNotFoundError:
            return None
        fields = [header.get(name) for name in ("version", "rows", "labelled")]
        if not all(isinstance(value, int) for value in fields):
            raise ValueError(f"{self.folder / CURRENT} does not say which version is the newest")
        return Note(*fields)  # type: ignore[arg-type]

    def mark(self) -> tuple[int, int] | None:
        """What changes whenever another version becomes the newest, and is quickly looked at; None: there is none."""
        try:
            found = os.stat(self.folder / CURRENT)
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    def point(self, note: Note) -> None:
        """Let a version be the newest: from now on predictors take it."""
        about = {"version": note.version, "rows": note.rows, "labelled": note.labelled}
        write_arrays(self.folder / CURRENT, {}, about)

    def tidy(self, version: int, keep: int) -> None:
        """Remove versions older than the last ``keep``, and what a trainer that was killed left half done."""
        for path in list(self.folder.iterdir()):
            found = _NAME.fullmatch(path.name)
            number = int(found[1]) if found else version
            left = re.fullmatch(r"\.(version-\d+\.\w+|current)\.[0-9a-f]+\.part", path.name)
            if left or number > version or number <= version - keep:
                path.unlink(missing_ok=True)

    def claim(self) -> None:
        """Be the only trainer of this folder, until ``release`` or the end of the process."""
        params.folder("folder", self.folder)
        try:
            import fcntl
        except ImportError:  # not everywhere
            return
        lock = open(self.folder / "lock", "ab")  # noqa: SIM115
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise ValueError(f"folder must have one trainer at a time, got {self.folder}, which has one") from None
        self._lock = lock

    def release(self) -> None:
        """Let another trainer have the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def newest(self, load: Any) -> tuple[Note, Any] | None:
        """Load what answers from the newest version. It may be replaced meanwhile: then look again."""
        note = self.note()
        for _ in range(_TRIES):
            if note is None:
                return None
            try:
                return note, load(self.path(note.version, "predictor"))
            except FileNotFoundError:
                time.sleep(0.001)
                note = self.note()
        raise FileNotFoundError(f"{self.folder} must have the files of its newest version, got {note} without them")
