"""What becomes of a record that breaks the schema: it is raised, skipped, or written down with the reason."""

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from thalweg.core.params import shown

Way = Literal["raise", "skip", "quarantine"]
"""What becomes of a bad record."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A record that breaks the schema."""

    before: int
    """How many good records of its block come before it."""
    line: int
    text: str
    reason: str
    """A sentence with file and line."""
    column: int = -1
    """Which column does not hold what it should; -1: it is not about one."""


def check_file(on_bad_row: Way, quarantine: Any) -> None:
    """Refuse what is no file for bad rows, or a file for which there is no use."""
    if on_bad_row == "quarantine":
        if not isinstance(quarantine, (str, os.PathLike)):
            raise TypeError(f"quarantine must be the path of a .csv or .jsonl file, got {shown(quarantine)}")
        if Path(quarantine).suffix.lower() not in (".csv", ".jsonl"):
            raise ValueError(f"quarantine must end with .csv or .jsonl, got {os.fspath(quarantine)!r}")
    elif quarantine is not None:
        raise ValueError(f"quarantine must be None unless on_bad_row is 'quarantine', got {shown(quarantine)}")


class Quarantine:
    r"""The file of bad records: line, reason, and the record as it stood. Written anew, or continued.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "bad.jsonl"
    >>> Quarantine(path).add([Bad(0, 3, "1,2", "line 3 must have 3 values, got 2")])
    >>> path.read_text()
    '{"line": 3, "reason": "line 3 must have 3 values, got 2", "record": "1,2"}\n'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._begun = False

    def begin(self, anew: bool) -> None:
        """Empty the file before the next bad record, or go on behind what it has."""
        self._begun = not anew and self.path.exists()

    def add(self, records: list[Bad]) -> None:
        """Write records down."""
        try:
            with self.path.open("a" if self._begun else "w", encoding="utf-8", newline="") as file:
                if self.path.suffix.lower() == ".csv":
                    writer = csv.writer(file, lineterminator="\n")
                    if not self._begun:
                        writer.writerow(["line", "reason", "record"])
                    writer.writerows([b.line, b.reason, b.text] for b in records)
                else:
                    for b in records:
                        file.write(json.dumps({"line": b.line, "reason": b.reason, "record": b.text}) + "\n")
        except OSError as error:
            raise ValueError(
                f"quarantine must be a file that can be written, {self.path} cannot: {error.strerror}"
            ) from None
        self._begun = True
