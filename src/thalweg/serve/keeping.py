"""Snapshots of a service: the model, the scores, the open tickets and the strategy at one position of the journal."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, final

from thalweg.core import params
from thalweg.core.protocols import State
from thalweg.core.tables import under
from thalweg.keeping.arrays_file import read_arrays, write_arrays
from thalweg.serve.versions import Shelf

KIND = "service"
_NAME = re.compile(r"snapshot-(\d{20})\.safetensors")


@final
class Snapshots:
    """Files named by their position; each is there whole, or not at all.

    >>> import tempfile
    >>> snapshots = Snapshots(tempfile.mkdtemp(), keep=2)
    >>> for position in (0, 100, 200):
    ...     snapshots.write(position, {}, {"learning": {}})
    >>> snapshots.positions(), snapshots.oldest()
    ([100, 200], 100)
    """

    def __init__(self, folder: str | os.PathLike[str], *, keep: int) -> None:
        params.folder("folder", folder)
        self.folder, self.keep = Path(folder), int(keep)
        self.damaged: list[str] = []
        """Sentences about snapshots that could not be used."""
        self._pinned: set[int] = set()
        self._shelf = Shelf(folder)
        self.nbytes = 0
        """Bytes of all snapshots."""
        self._measure()

    def claim(self) -> None:
        """Be the only service of this folder."""
        try:
            self._shelf.claim()
        except ValueError:
            raise ValueError(f"folder must have one service at a time, got {self.folder}, which has one") from None

    def release(self) -> None:
        """Let another service have the folder."""
        self._shelf.release()

    def _path(self, position: int) -> Path:
        return self.folder / f"snapshot-{position:020d}.safetensors"

    def positions(self) -> list[int]:
        """The positions of which there are snapshots."""
        return sorted(int(found[1]) for name in os.listdir(self.folder) if (found := _NAME.fullmatch(name)))

    def oldest(self) -> int:
        """The position behind which the journal is needed: of the newest snapshot but one, should that be damaged."""
        return min(self.positions()[-2:], default=0)

    def _measure(self) -> None:
        nbytes = 0
        for position in self.positions():
            with suppress(FileNotFoundError):
                nbytes += self._path(position).stat().st_size
        self.nbytes = nbytes  # at once: other threads look at it

    def newest(self) -> tuple[State, dict[str, Any]] | None:
        """Read the newest snapshot that is good; None: there are none at all."""
        known = self.positions()
        for position in reversed(known):
            try:
                arrays, header = read_arrays(self._path(position))
                if header.get("kind") != KIND or header["learning"]["position"] != position:
                    raise ValueError(f"{self._path(position)} is no snapshot of a service at position {position}")
            except (ValueError, KeyError, OSError) as error:
                self.damaged.append(str(error))
            else:
                return arrays, header
        if known:
            raise ValueError(f"{self.folder} must have a good snapshot: {self.damaged[-1]}")
        return None

    def champion(self, position: int) -> tuple[str, State]:
        """The name and the state of the champion at a position of which there is a snapshot."""
        arrays, header = read_arrays(self._path(position))
        return header["learning"]["champion"][0], under("champion", arrays)

    def write(self, position: int, arrays: State, header: dict[str, Any]) -> None:
        """Write a snapshot, and remove those that are too old."""
        write_arrays(self._path(position), arrays, {"kind": KIND, **header})
        for old in self.positions()[: -self.keep]:
            if old not in self._pinned:
                self._path(old).unlink(missing_ok=True)
        self._measure()

    def pin(self, position: int) -> None:
        """Keep a snapshot, however old it is."""
        self._pinned.add(position)

    def unpin(self, position: int) -> None:
        """Let a snapshot be removed when it is too old."""
        self._pinned.discard(position)
