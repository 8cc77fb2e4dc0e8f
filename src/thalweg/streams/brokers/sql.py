"""Databases by ADBC: the rows of a query in the order of one column, whose values are the positions."""

import time
import weakref
from collections.abc import Mapping
from typing import Any, final

import numpy as np

from thalweg.core.params import shown
from thalweg.streams.brokers.address import Address, library, uri
from thalweg.streams.brokers.reader import BEFORE, Message, Place, Reader

_PACKAGES = {"postgresql": "adbc_driver_postgresql", "sqlite": "adbc_driver_sqlite"}


@final
class SQLReader(Reader):
    """Reads ``?query=select …&order=column``; rows are added with ever greater whole numbers in that column."""

    def __init__(self, address: Address, *, fields: bool = False) -> None:
        if fields:
            raise ValueError("format must not be given for a query, whose rows have columns")
        options = address.take(("query", "order"))
        for name in ("query", "order"):
            if not options.get(name):
                raise ValueError(f"{address.shown} must have {name}=… behind it: ?query=select …&order=column")
        self.where = address.shown
        self._order, self._query = options["order"], options["query"].rstrip("; \n")
        if '"' in self._order:
            raise ValueError(f"order must name a column, got {shown(self._order)}")
        driver = library(f"{_PACKAGES[address.scheme]}.dbapi", "sql")
        self._error = library("adbc_driver_manager", "sql").Error
        try:
            target = uri(address) if address.scheme == "postgresql" else f"file:{address.name}?mode=ro"
            self._connection = driver.connect(target)
        except self._error as error:
            raise ConnectionError(f"{self.where} cannot be reached: {_said(error)}") from None
        self._closing = weakref.finalize(self, self._connection.close)
        self._mark = "$1" if address.scheme == "postgresql" else "?"
        self._after, self._caught = BEFORE, False

    def _ask(self, sql: str, *values: Any) -> Any:
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql, values or None)
                table = cursor.fetch_arrow_table()
            self._connection.rollback()
        except self._error as error:
            raise ValueError(f"{self.where} must take the query and its order: {_said(error)}") from None
        return table

    def ends(self) -> dict[int, Place]:
        """Give the greatest value of the column."""
        last = self._ask(f'SELECT MAX("{self._order}") FROM ({self._query}) AS q').column(0)[0].as_py()
        return {0: BEFORE if last is None else (self._whole(last), 0)}

    def _whole(self, value: Any) -> int:
        if type(value) is not int or value < 0:
            raise ValueError(f"order must name a column of whole numbers from 0 on, got {shown(value)}")
        return value

    def seek(self, after: Mapping[int, Place], *, passed: int = 0, skip_gap: bool = False) -> int:
        """Go on behind a value."""
        self._after, self._caught = after.get(0, BEFORE), False
        return 0

    def fetch(self, most: int, wait: float) -> list[Message]:
        """Give the next rows."""
        column = f'"{self._order}"'
        sql = f"SELECT * FROM ({self._query}) AS q WHERE {column} > {self._mark} ORDER BY {column} LIMIT {most}"
        table = self._ask(sql, self._after[0])
        self._caught = table.num_rows == 0
        if self._caught:
            time.sleep(wait)
            return []
        order = table.column(self._order)
        places = np.array([self._whole(v) for v in order.to_pylist()], dtype=np.int64)
        if (np.diff(places) <= 0).any():
            raise ValueError(f"order must name a column whose values never repeat, {self._order!r} has some twice")
        table = table.combine_chunks().drop_columns([self._order])
        self._after = (int(places[-1]), 0)
        return [Message(0, 0, place, 0, None, (table, i)) for i, place in enumerate(places.tolist())]

    def caught_up(self, partition: int) -> bool:
        """Was there nothing when it was asked last?"""
        return self._caught

    def close(self) -> None:
        """Let the connection go."""
        self._closing()

    def name_of(self, message: Message) -> str:
        """Say where a row is."""
        return f"{self._order}={message.a}"


def _said(error: Any) -> str:
    return " ".join(str(error).split())[:300]
