"""Declared tables: what is refused, in which sentence, and that nothing overflows."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from thalweg.core.declared import check, declared, fresh, link, span, table, value_of

Floats, Ints = NDArray[np.float64], NDArray[np.int64]
NODE = np.dtype([("threshold", np.float64), ("left", np.int32)])
N_USED, N_FREE = 0, 1


class Chains(NamedTuple):
    """Chains of counts that begin in ``first``, and a free list."""

    first: Annotated[Ints, table("balls", least=-1, most="used - 1", group="used")]
    entries: Annotated[Ints, table("P", 2, rows="used", cells={0: span(0, "classes - 1"), 1: link("used")})]
    weights: Annotated[Floats, table("P", rows="used", least=0.0)]
    wide: Annotated[Floats, table("balls", "d + 1", loose=True)]
    head: Annotated[Ints, table(2, cells={N_USED: span(0, "P", name="used"), N_FREE: link("used")})]
    rng: Annotated[NDArray[np.uint64], table(1)]
    rules: Floats


def sound() -> dict[str, NDArray]:
    """Two chains, 0 → 2 and 1, a free count 3, and one that was never used."""
    return {
        "first": np.array([0, 1]),
        "entries": np.array([[0, 2], [1, -1], [1, -1], [0, -1], [99, 99]]),
        "weights": np.array([1.0, 2.0, 3.0, 0.0, np.nan]),
        "wide": np.full((2, 4), np.nan),
        "head": np.array([4, 3]),
        "rng": np.array([7], dtype=np.uint64),
    }


def test_what_is_as_declared_is_taken() -> None:
    assert check(Chains, sound(), classes=2, d=3) == {"classes": 2, "d": 3, "balls": 2, "P": 5, "used": 4}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t["entries"].__setitem__((0, 0), 2), "'entries.0.' must hold numbers from 0 to 1, and holds 2"),
        (lambda t: t["entries"].__setitem__((0, 0), -1), "from 0 to 1, and holds -1"),
        (lambda t: t["entries"].__setitem__((0, 0), 2**62), f"holds {2**62}"),
        (lambda t: t["entries"].__setitem__((0, 1), 4), "from -1 to 3, and holds 4"),
        (lambda t: t["entries"].__setitem__((1, 1), 2), "two of its links to 'used' are the same"),
        (lambda t: t["head"].__setitem__(N_FREE, 2), "two of its links to 'used' are the same"),
        (lambda t: t["head"].__setitem__(N_USED, 6), "from 0 to 5, and holds 6"),
        (lambda t: t["head"].__setitem__(N_USED, 2**63 - 1), "holds 9223372036854775807"),
        (lambda t: t["weights"].__setitem__(1, np.inf), "'weights' must hold finite numbers"),
        (lambda t: t["weights"].__setitem__(1, np.nan), "'weights' must hold finite numbers"),
        (lambda t: t["weights"].__setitem__(1, -1.0), "of at least 0"),
        (lambda t: t.update(weights=np.zeros(4)), "'weights' has another type or shape"),
        (lambda t: t.update(weights=np.zeros(5, dtype=np.float32)), "'weights' has another type or shape"),
        (lambda t: t.update(wide=np.zeros((2, 8))[:, ::2]), "'wide' has another layout"),
        (lambda t: t.update(wide=np.zeros((2, 5))), "'wide' has another type or shape"),
        (lambda t: t.update(rng=np.zeros(1, dtype=np.int64)), "'rng' has another type or shape"),
        (lambda t: t.update(first=np.array([0, 1]).astype(">i8")), "'first' has another type or shape"),
    ],
)
def test_anything_else_is_refused(change, said) -> None:
    tables = sound()
    change(tables)
    with pytest.raises(ValueError, match=said):
        check(Chains, tables, classes=2, d=3)


def test_a_lacking_table_is_named() -> None:
    tables = sound()
    del tables["first"]
    with pytest.raises(KeyError, match="first"):
        check(Chains, tables, classes=2, d=3)


def test_fresh_tables_are_as_declared() -> None:
    made = fresh(Chains, balls=2, P=0, classes=2, d=3, used=0)
    assert list(made) == ["first", "entries", "weights", "wide", "head", "rng"]
    assert made["wide"].shape == (2, 4)
    assert made["rng"].dtype == np.uint64


class Records(NamedTuple):
    """Records with fields."""

    nodes: Annotated[
        NDArray[np.void], table("n", dtype=NODE, cells={"threshold": span(loose=True), "left": span(-1, "n - 1")})
    ]
    counted: Annotated[Floats, table("n", 2, loose=True, cells={1: span(0, 10, whole=True)})]


def test_fields_of_records_and_whole_numbers_in_floats() -> None:
    nodes = np.zeros(2, dtype=NODE)
    nodes["threshold"] = np.nan
    counted = np.array([[np.nan, 3.0], [0.0, 4.0]])
    assert check(Records, {"nodes": nodes, "counted": counted})["n"] == 2
    counted[0, 1] = 3.5
    with pytest.raises(ValueError, match="whole numbers"):
        check(Records, {"nodes": nodes, "counted": counted})
    counted[0, 1] = 3.0
    nodes["left"][1] = 2
    with pytest.raises(ValueError, match="'nodes.left.' must hold numbers from -1 to 1, and holds 2"):
        check(Records, {"nodes": nodes, "counted": counted})


class Silent(NamedTuple):
    """Indexes without a range."""

    codes: Annotated[Ints, table("n")]


def test_whole_numbers_need_a_range() -> None:
    with pytest.raises(TypeError, match="says no range"):
        check(Silent, {"codes": np.zeros(1, dtype=np.int64)})


def test_sizes_do_not_overflow() -> None:
    assert value_of("a * b + 1", {"a": 2**62, "b": 4}) == 2**64 + 1
    assert value_of("max(a, 3) - min(b, 1)", {"a": 1, "b": 9}) == 2
    with pytest.raises(TypeError, match="made of names"):
        value_of("a ** 2", {"a": 1})


def test_sizes_that_the_tables_tell_have_a_ceiling() -> None:
    with pytest.raises(ValueError, match="a size 'P' of at most 4, and have 5"):
        check(Chains, sound(), classes=2, d=3, most={"P": 4})


class Rooms(NamedTuple):
    """A size of which a later table tells."""

    nodes: Annotated[Floats, table("2 * leaves - 1")]
    weights: Annotated[Floats, table("leaves")]


def test_a_size_may_be_told_by_a_later_table() -> None:
    assert check(Rooms, {"nodes": np.zeros(5), "weights": np.zeros(3)}) == {"leaves": 3}
    with pytest.raises(ValueError, match="'nodes' has another type or shape"):
        check(Rooms, {"nodes": np.zeros(6), "weights": np.zeros(3)})


def test_members_that_declare_nothing_are_no_state() -> None:
    assert "rules" not in declared(Chains)


class Spans(NamedTuple):
    """A row for each kind of number."""

    spans: Annotated[Floats, table(3, "d", cells={(1,): span(most=np.inf), (2, 0): span(0)})]


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [((0, 0), np.inf, "finite"), ((1, 1), -np.inf, "finite"), ((1, 0), np.nan, "finite"), ((2, 0), -1.0, "at least 0")],
)
def test_cells_by_all_indexes_and_ends_that_are_infinite(place, value, said) -> None:
    spans = np.zeros((3, 2))
    spans[1], spans[2, 1] = np.inf, -1.0
    assert check(Spans, {"spans": spans})["d"] == 2
    spans[place] = value
    with pytest.raises(ValueError, match=said):
        check(Spans, {"spans": spans})


def test_sizes_that_the_tables_tell_have_a_floor() -> None:
    with pytest.raises(ValueError, match="a size 'P' of at least 6, and have 5"):
        check(Chains, sound(), classes=2, d=3, least={"P": 6})


class Lacking(NamedTuple):
    """Values of which some are missing."""

    rows: Annotated[Floats, table("n", 2, missing=True, cells={1: span(0, 2, whole=True, missing=True)})]


@pytest.mark.parametrize(("place", "value"), [((0, 0), np.inf), ((0, 1), 3.0), ((0, 1), 0.5), ((0, 1), -1.0)])
def test_values_that_are_missing(place, value) -> None:
    rows = np.array([[5.5, 2.0], [np.nan, np.nan]])
    assert check(Lacking, {"rows": rows})["n"] == 2
    assert check(Lacking, {"rows": rows[1:]})["n"] == 1
    rows[place] = value
    with pytest.raises(ValueError, match="its table 'rows"):
        check(Lacking, {"rows": rows})
