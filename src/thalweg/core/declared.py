"""What a table of a state is, said once beside its meaning: type, shape, range of its cells. One checker for all.

A learner lists its tables in the bundle that its compiled code takes (a ``NamedTuple``), each with a ``table``:

    class Cover(NamedTuple):
        balls: Annotated[Floats, table("N", 6, rows="n")]
        marks: Annotated[Ints, table("N", 1, rows="n", cells={M_FIRST: link("used")})]
        entries: Annotated[Ints, table("P", 2, rows="used", cells={0: span(0, "classes - 1"), E_NEXT: link("used")})]
        head: Annotated[Ints, table(2, cells={0: span(0, "N", name="n"), 1: span(0, "P", name="used")})]

``check`` refuses tables from a file unless every one of them is as declared, before compiled code sees them; ``fresh``
makes them for a model that has seen nothing. Sizes are names or sums and products of names ("d + 1"). A name is known
because the learner gave it (features, classes, its parameters), or stands for what the first table that uses it has;
a cell may have a name too, and then bounds others. All arithmetic on sizes is done in Python's integers, which do not
overflow.

Cells of a table of floats are finite, unless an end of their range is infinite or they are declared ``loose``:
whatever bits they hold, compiled code only calculates with them. Whole numbers are used as indexes, so each needs a
range, or ``loose``.

``link("used")`` declares a pointer to one of the first ``used`` rows: -1, or the number of a row to which no other link
of that name points. So no row has two owners, chains end, trees have no cycles, and a free list is apart from what is
used.
"""

import ast
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from thalweg.core.protocols import State

Size = int | str
"""A number, or an expression of names: ``"2 * leaves - 1"``."""
Bound = float | str
EXACT = 2**53
"""Whole numbers in cells of floats are exact up to here."""


@dataclass(frozen=True)
class Span:
    """The range of some cells."""

    least: Bound | None = None
    most: Bound | None = None
    whole: bool = False
    """Are these whole numbers although the cells are floats?"""
    loose: bool = False
    """May they hold anything?"""
    missing: bool = False
    """May some be NaN, where a value is missing?"""
    name: str = ""
    """The name by which others refer to the value; for a single cell."""
    group: str = ""
    """The links among which no two may be equal."""


@dataclass(frozen=True)
class Table(Span):
    """A table: its shape, what all its cells are, what some columns are instead."""

    shape: tuple[Size, ...] = ()
    rows: Size | None = None
    """Only the first rows are in use; the others are written before they are read."""
    cells: Mapping[Any, Span] = field(default_factory=dict)
    """By the last index (a number or a range), by a tuple of indexes from the first on, or by the name of a field of
    records."""
    dtype: Any = None
    optional: bool = False
    """May it be lacking, as in files of older versions?"""


def span(
    least: Bound | None = None, most: Bound | None = None, *, whole: bool = False, loose: bool = False,
    missing: bool = False, name: str = "",
) -> Span:  # fmt: skip
    """Declare the range of some cells, both ends included."""
    return Span(least, most, whole, loose, missing, name)


def link(to: str, most: Size | None = None) -> Span:
    """Declare pointers: -1, or one of the rows 0 … ``most``, each pointed to by one link of this name only."""
    return Span(-1, f"{to} - 1" if most is None else most, whole=True, group=to)


def table(
    *shape: Size,
    least: Bound | None = None,
    most: Bound | None = None,
    whole: bool = False,
    loose: bool = False,
    missing: bool = False,
    rows: Size | None = None,
    cells: Mapping[Any, Span] | None = None,
    group: str = "",
    dtype: Any = None,
    optional: bool = False,
) -> Table:
    """Declare a table by its shape and the range of its cells, both ends included; ``cells`` says what differs.

    >>> from typing import NamedTuple
    >>> Ints = NDArray[np.int64]
    >>> class Rows(NamedTuple):
    ...     codes: Annotated[Ints, table("n", least=0, most="classes - 1")]
    >>> check(Rows, {"codes": np.array([0, 1, 1])}, classes=2)["n"]
    3
    >>> check(Rows, {"codes": np.array([0, 1, 2])}, classes=2)
    Traceback (most recent call last):
    ValueError: its table 'codes' must hold numbers from 0 to 1, and holds 2
    """
    return Table(least, most, whole, loose, missing, "", group, shape, rows, cells or {}, dtype, optional)


@cache
def declared(*bundles: type) -> dict[str, Table]:
    """Give the tables that bundles declare, by name; their other members are no part of the state."""
    found = {}
    for name, kind in (hint for bundle in bundles for hint in get_type_hints(bundle, include_extras=True).items()):
        if get_origin(kind) is Annotated:
            plain, *said = get_args(kind)
            for each in said:
                if isinstance(each, Table):
                    dtype = np.dtype(_scalar(plain) if each.dtype is None else each.dtype)
                    found[name] = replace(each, dtype=dtype)
    return found


def _scalar(plain: Any) -> Any:
    """Give the type of the cells of ``NDArray[type]``."""
    return get_args(get_args(plain)[1])[0]


def fresh(bundle: type, /, **sizes: int) -> State:
    """Make the tables that a bundle declares, full of zeros.

    >>> from typing import NamedTuple
    >>> class Sums(NamedTuple):
    ...     sums: Annotated[NDArray[np.float64], table("classes", "d + 1")]
    >>> fresh(Sums, classes=2, d=1)["sums"].tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return {n: np.zeros([value_of(s, sizes) for s in t.shape], dtype=t.dtype) for n, t in declared(bundle).items()}


def check(
    bundle: type | tuple[type, ...],
    tables: Mapping[str, NDArray[Any]],
    /,
    *,
    least: Any = None,
    most: Any = None,
    **sizes: int,
) -> dict[str, int]:
    """Refuse tables, in a sentence, that are not as the bundle, or each of some, declares; give all sizes by name.

    sizes: those that are known: features, classes, what follows from parameters. least, most: sizes that the tables
    themselves tell, by name, and that must not be smaller, or larger.
    """
    found = {name: int(size) for name, size in sizes.items()}
    spec = declared(*bundle) if isinstance(bundle, tuple) else declared(bundle)
    there = {name: each for name, each in spec.items() if not (each.optional and name not in tables)}
    for name, each in there.items():
        _match(name, each, tables[name], found)
    for name, each in there.items():
        if tables[name].shape != tuple(value_of(size, found) for size in each.shape):
            raise ValueError(f"its table {name!r} has another type or shape")
    for name, size in (least or {}).items():
        if found[name] < size:
            raise ValueError(f"its tables must have a size {name!r} of at least {size}, and have {found[name]}")
    for name, size in (most or {}).items():
        if found[name] > size:
            raise ValueError(f"its tables must have a size {name!r} of at most {size}, and have {found[name]}")
    named = [(name, each) for name, each in there.items() if any(s.name for s in each.cells.values())]
    for name, each in named:  # before all others: what bounds them
        _learn(name, each, tables[name], found)
    links: dict[str, list[NDArray[Any]]] = {}
    for name, each in there.items():
        _cover(name, each, tables[name], found, links)
    for group, parts in links.items():
        used = np.concatenate([part[part >= 0] for part in parts])
        if len(np.unique(used)) != len(used):
            raise ValueError(f"two of its links to {group!r} are the same")
    return found


def _match(name: str, each: Table, given: NDArray[Any], sizes: dict[str, int]) -> None:
    """Compare the type; names that are not known yet stand for the sizes found here."""
    if not isinstance(given, np.ndarray) or given.dtype != each.dtype or given.ndim != len(each.shape):
        raise ValueError(f"its table {name!r} has another type or shape")
    if not (given.flags.c_contiguous and given.flags.aligned):
        raise ValueError(f"its table {name!r} has another layout")
    for n, size in zip(given.shape, each.shape, strict=True):
        if isinstance(size, str) and size.isidentifier() and size not in sizes:
            sizes[size] = n


def _learn(name: str, each: Table, given: NDArray[Any], sizes: dict[str, int]) -> None:
    """Take the values of cells that have a name."""
    for place, some in each.cells.items():
        if some.name:
            cell = given[_where(place)]
            _within(f"{name}[{place}]", some, cell, sizes)
            sizes[some.name] = int(cell.reshape(-1)[0])


def _cover(
    name: str, each: Table, given: NDArray[Any], sizes: dict[str, int], links: dict[str, list[NDArray[Any]]]
) -> None:
    """Compare the cells that are in use with what they may be."""
    used = given if each.rows is None else given[: _rows(name, each.rows, len(given), sizes)]
    records = given.dtype.names is not None
    deep = any(isinstance(place, tuple) for place in each.cells)
    rest = np.ones(used.shape if deep else used.shape[-1:] if each.cells else (), dtype=bool)
    for place, some in each.cells.items():
        at = place if records else _where(place)
        if not records:
            rest[at] = False
        if not some.name:
            _within(f"{name}[{place}]", some, used[at], sizes)
        if some.group:
            links.setdefault(some.group, []).append(used[at].reshape(-1))
    if not records and rest.any():
        _within(name, each, used if rest.all() else used[..., rest], sizes)
    if each.group:
        links.setdefault(each.group, []).append(used.reshape(-1))


def _where(place: Any) -> Any:
    """Give a place among the cells as NumPy takes it."""
    return place if isinstance(place, tuple) else (..., place)


def _rows(name: str, rows: Size, there: int, sizes: dict[str, int]) -> int:
    n = int(value_of(rows, sizes))
    if not 0 <= n <= there:
        raise ValueError(f"its table {name!r} must have {n} rows in use, and has {there}")
    return n


def _within(name: str, some: Span, cells: NDArray[Any], sizes: Mapping[str, int]) -> None:
    if some.loose or not cells.size or cells.dtype == bool:
        return
    least, most = (None if b is None else value_of(b, sizes) for b in (some.least, some.most))
    floats = cells.dtype.kind == "f"
    if some.missing:
        cells = cells[~np.isnan(cells)]
        if not cells.size:
            return
    low, high = cells.min().item(), cells.max().item()
    if floats and (math.isnan(low) or low == -math.inf != least or high == math.inf != most):  # NaN is the least of all
        raise ValueError(f"its table {name!r} must hold finite numbers")
    if (least is not None and low < least) or (most is not None and high > most):
        wrong = low if least is not None and low < least else high
        raise ValueError(f"its table {name!r} must hold numbers {_said(least, most)}, and holds {wrong}")
    if some.whole and floats and (max(-low, high) > EXACT or (cells != np.floor(cells)).any()):
        raise ValueError(f"its table {name!r} must hold whole numbers")
    if not floats and cells.dtype.kind != "u" and least is most is None:
        raise TypeError(f"the declaration of {name!r} says no range")


def _said(least: float | None, most: float | None) -> str:
    if most is None:
        return f"of at least {least}"
    return f"of at most {most}" if least is None else f"from {least} to {most}"


def value_of(size: Bound, sizes: Mapping[str, int]) -> Any:
    """Give the value of a sum, difference, product, quotient, ``max`` or ``min`` of names and numbers.

    >>> value_of("2 * (n + 1) // k", {"n": 4, "k": 3})
    3
    """
    if not isinstance(size, str):
        return size
    return sizes[size] if size in sizes else _reckon(_parsed(size), sizes)


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


_SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}


def _reckon(node: ast.expr, sizes: Mapping[str, int]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return sizes[name]
        case ast.UnaryOp(op=ast.USub(), operand=of):
            return -_reckon(of, sizes)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_reckon(left, sizes), _reckon(right, sizes))
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=args):
            return (max if name == "max" else min)(_reckon(each, sizes) for each in args)
    raise TypeError(f"a size must be made of names, numbers, +, -, *, //, max and min, got {ast.unparse(node)!r}")
