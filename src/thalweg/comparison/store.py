"""Finished cells in one SQLite file. Each is written as it ends, so that a crash loses only the cells in hand."""

import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, final

from thalweg import __version__
from thalweg.comparison.cell import Cell
from thalweg.evaluate.result import Result

_TABLE = """
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY,
    learner TEXT NOT NULL, stream TEXT NOT NULL, seed INTEGER NOT NULL, row_limit INTEGER, version TEXT NOT NULL,
    finished TEXT NOT NULL,
    accuracy REAL,
    result TEXT NOT NULL
) STRICT
"""


@final
class Store:
    """The cells that are done, by their keys.

    path: a file, made where it is missing; None: in memory.

    >>> with Store(None) as store:
    ...     cell = Cell("no-change", "sea", seed=1, limit=1000)
    ...     store.put(cell, cell.run())
    ...     [result.rows for result in store.get([cell]).values()]
    [1000]
    """

    def __init__(self, path: Path | None) -> None:
        try:
            self._base = sqlite3.connect(path or ":memory:", timeout=30.0, isolation_level=None)
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute(_TABLE)
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{path} must be a file of finished cells: {error}") from None

    def get(self, cells: Iterable[Cell]) -> dict[Cell, Result]:
        """Give the results of those cells that are done."""
        found = {}
        for cell in cells:
            row = self._base.execute("SELECT result FROM cells WHERE key = ?", (cell.key,)).fetchone()
            if row is not None:
                found[cell] = Result.from_json(row[0])
        return found

    def put(self, cell: Cell, result: Result) -> None:
        """Keep a result."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._base.execute(
            "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (cell.key, cell.learner, cell.stream, cell.seed, cell.limit, __version__, now, result.accuracy,
             result.to_json()),
        )  # fmt: skip

    def forget(self, cells: Iterable[Cell]) -> None:
        """Drop what is kept of these cells."""
        self._base.executemany("DELETE FROM cells WHERE key = ?", [(cell.key,) for cell in cells])

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
