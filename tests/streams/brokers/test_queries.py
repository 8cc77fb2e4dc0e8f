"""Rows of a query: the same bits as from a file, resumed by the column of the order."""

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import live_brokers
import thalweg
from streams_rows import bits_of, rows
from thalweg import MessageStream, prequential

N = 3000


def _learned(stream: Any) -> dict[str, bytes]:
    model = thalweg.HoeffdingTree(grace_period=50)
    prequential(stream, model, every=500)
    return bits_of(model)


def _check(address: str, expected: dict[str, bytes]) -> None:
    stream = MessageStream(address, drop=["id"])
    assert _learned(stream) == expected
    stream.restart()
    stream.take(777)
    other = MessageStream(address, drop=["id"])
    other.restore(stream.state())
    one, two = stream.take(N), other.take(N)
    assert len(one) == N - 777
    assert np.array_equal(one.X, two.X, equal_nan=True)
    assert stream.origins() == other.origins()


def test_sqlite(tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_sqlite")
    from thalweg.streams.any_data import as_stream

    table = rows(N)
    path = tmp_path / "rows.db"
    with sqlite3.connect(path) as base:
        base.execute('CREATE TABLE r (n INTEGER, id TEXT, a REAL, b REAL, colour TEXT, "count" INTEGER, class TEXT)')
        base.executemany("INSERT INTO r VALUES (?,?,?,?,?,?,?)",
                         [(i, *row.values()) for i, row in enumerate(table.to_pylist())])  # fmt: skip
    base.close()
    _check(f"sqlite:///{path}?query=select * from r&order=n", _learned(as_stream(table, "class", drop=["id"])))
    with pytest.raises(ValueError, match="order must name a column of whole numbers"):
        MessageStream(f"sqlite:///{path}?query=select * from r&order=id", drop=["n"])
    with pytest.raises(ValueError, match="must take the query"):
        MessageStream(f"sqlite:///{path}?query=select * from nowhere&order=n")
    with pytest.raises(ValueError, match="must have order="):
        MessageStream(f"sqlite:///{path}?query=select * from r")


def test_postgresql() -> None:
    server = live_brokers.need("postgresql")
    import adbc_driver_postgresql.dbapi as driver

    from thalweg.streams.any_data import as_stream

    table = rows(N)
    with driver.connect(server.address) as base, base.cursor() as cursor:
        import pyarrow as pa

        cursor.adbc_ingest("r", table.append_column("n", pa.array(range(N))), mode="create")
        base.commit()
    _check(f"{server.address}?query=select * from r&order=n", _learned(as_stream(table, "class", drop=["id"])))
