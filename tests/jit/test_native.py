"""Routines and tables that compiled code finds by their addresses."""

import numba
import numpy as np
import pytest

from thalweg.jit.native import CELLS, address_of, call_at, note_tables, tables_at

NODE = np.dtype([("threshold", np.float64), ("feature", np.int32), ("left", np.int32)])

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


@numba.njit(_nrt=False)
def change(tables, x, by, twice):
    nodes, table, cube = tables
    table[1, 2] += x[0] * by * (2 if twice else 1)
    return int(nodes[1]["feature"]) + int(cube[1, 2, 3])


@numba.njit(_nrt=False)
def note(places, row, tables):
    note_tables(places, row, 0, tables)


@numba.njit(_nrt=False)
def change_all(address, places, like, x):
    total = 0
    for row in range(len(places)):
        total += call_at(address, (tables_at(places, row, 0, like), x, 3, True))
    return total


def made(feature, rows):
    nodes = np.zeros(4, dtype=NODE)
    nodes[1]["feature"] = feature
    return nodes, np.zeros((rows, 5)), np.arange(24, dtype=np.int32).reshape(2, 3, 4)


def test_a_routine_is_called_by_its_address_with_tables_found_by_theirs():
    tables = [made(7, 2), made(9, 6)]
    x = np.array([0.5])
    places = np.zeros((2, 3 * CELLS), dtype=np.int64)
    for row, each in enumerate(tables):
        note(places, row, each)
    address = address_of(change, tables[0], x, 3, True)
    assert change_all(address, places, tables[0], x) == 7 + 9 + 2 * 23
    assert [each[1][1, 2] for each in tables] == [3.0, 3.0]
    assert [int(each[1].sum()) for each in tables] == [3, 3]


def test_a_table_is_found_again_after_it_has_moved():
    tables, x = made(7, 2), np.array([1.0])
    places = np.zeros((1, 3 * CELLS), dtype=np.int64)
    note(places, 0, tables)
    address = address_of(change, tables, x, 3, True)
    change_all(address, places, tables, x)
    moved = (tables[0], np.vstack([tables[1], np.zeros((9, 5))]), tables[2])
    note(places, 0, moved)
    change_all(address, places, tables, x)
    assert (tables[1][1, 2], moved[1][1, 2]) == (6.0, 12.0)


def test_an_error_inside_comes_out():
    @numba.njit(_nrt=False)
    def refuse(x):
        if x[0] > 0.0:
            raise ValueError("no")
        return 1

    @numba.njit(_nrt=False)
    def call(address, x):
        return call_at(address, (x,))

    address = address_of(refuse, np.zeros(1))
    assert call(address, np.zeros(1)) == 1
    with pytest.raises(ValueError, match="no"):
        call(address, np.ones(1))


def test_there_is_no_address_where_nothing_is_compiled(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert address_of(change, made(1, 2), np.zeros(1), 1, False) == 0
