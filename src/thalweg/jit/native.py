"""Compiled routines that other compiled code calls by their address, and tables that it finds by theirs.

A routine that called an entry routine by its name would contain it, and so compile all of it once more. Called by its
address it is compiled once; and since tables are found by addresses, too, a routine may be handed any number of them.
"""

from collections.abc import Iterable
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.types import unliteral  # type: ignore[attr-defined]
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array
from numpy.typing import NDArray

CELLS = 4
"""What is noted of a table: where it is, and its shape, up to three numbers."""
_found: dict[Any, int] = {}


def address_of(routine: Any, *args: Any) -> int:
    """Give the address of the code of an entry routine for arguments like these; 0: nothing is compiled here."""
    if numba.config.DISABLE_JIT:
        return 0
    key = routine, _kinds(args)
    if key not in _found:  # Numba takes long to say what types arguments have
        signature = tuple(numba.typeof(arg) for arg in args)
        if signature not in routine.overloads:
            routine.compile(signature)
        code = routine.overloads[signature]
        _found[key] = int(code.library.get_pointer_to_function(code.fndesc.llvm_func_name))
    return _found[key]


def _kinds(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give what the types of arguments depend on."""
    return tuple(
        (a.dtype, a.ndim, a.flags.carray)
        if isinstance(a, np.ndarray)
        else _kinds(a)
        if isinstance(a, tuple)
        else type(a)
        for a in args
    )


def note(places: NDArray[np.int64], row: int, first: int, tables: Iterable[NDArray[Any]]) -> bool:
    """Write down, from Python, where tables are, as ``note_tables`` does; False: not all lie as compiled code wants."""
    at, fit = CELLS * first, True
    for table in tables:
        places[row, at] = table.__array_interface__["data"][0]
        places[row, at + 1 : at + 1 + table.ndim] = table.shape
        at, fit = at + CELLS, fit and table.flags.carray
    return fit


@intrinsic  # type: ignore[untyped-decorator]
def note_tables(_: Any, places: Any, row: Any, first: Any, tables: Any) -> Any:
    """Write down where tables are, from table ``first`` of a row of ``places`` on; they must be kept alive."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cells = make_array(places)(context, builder, args[0])
        at = _place(context, builder, cells, args[1], args[2])
        for k, kind in enumerate(tables.types):
            table = make_array(kind)(context, builder, builder.extract_value(args[3], k))
            where = builder.ptrtoint(table.data, cgutils.intp_t)
            for j, word in enumerate([where, *cgutils.unpack_tuple(builder, table.shape)]):
                builder.store(word, builder.gep(cells.data, [builder.add(at, cgutils.intp_t(j))]))
            at = builder.add(at, cgutils.intp_t(CELLS))
        return context.get_dummy_value()

    return types.void(places, types.intp, types.intp, tables), code


def _place(context: Any, builder: Any, cells: Any, row: Any, first: Any) -> Any:
    """Give the cell of a table in a row of ``places``."""
    width = builder.extract_value(cells.shape, 1)
    return builder.add(builder.mul(row, width), builder.mul(first, cgutils.intp_t(CELLS)))


@intrinsic  # type: ignore[untyped-decorator]
def tables_at(_: Any, places: Any, row: Any, first: Any, like: Any) -> Any:
    """Give a tuple of tables, of the same types as ``like``, from table ``first`` of a row of ``places`` on."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _tables(context, builder, places, args, like)

    return like(places, types.intp, types.intp, like), code


def reader_of(*tables: NDArray[Any]) -> Any:
    """Make what gives a tuple of tables of these types, as ``tables_at`` does, to routines that are given none of them.

    Python hands a routine a table in a tenth of a microsecond: that adds up where it is given dozens for one row.
    """
    like = numba.typeof(tables)

    @intrinsic  # type: ignore[untyped-decorator]
    def read(_: Any, places: Any, row: Any, first: Any) -> Any:
        """Give a tuple of tables, from table ``first`` of a row of ``places`` on."""

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _tables(context, builder, places, args, like)

        return like(places, types.intp, types.intp), code

    return read


def _tables(context: Any, builder: Any, places: Any, args: Any, like: Any) -> Any:
    """Write the code that puts the tables together."""
    cells = make_array(places)(context, builder, args[0])
    at, found = _place(context, builder, cells, args[1], args[2]), []
    for kind in like.types:
        words = [
            builder.load(builder.gep(cells.data, [builder.add(at, cgutils.intp_t(j))])) for j in range(1 + kind.ndim)
        ]
        item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        strides = [cgutils.intp_t(item)]
        for size in reversed(words[2:]):
            strides.insert(0, builder.mul(strides[0], size))
        table = make_array(kind)(context, builder)
        populate_array(
            table, data=builder.inttoptr(words[0], table.data.type), shape=words[1:], strides=strides,
            itemsize=cgutils.intp_t(item), meminfo=None,
        )  # fmt: skip
        found.append(table._getvalue())
        at = builder.add(at, cgutils.intp_t(CELLS))
    return context.make_tuple(builder, like, found)


@intrinsic  # type: ignore[untyped-decorator]
def call_at(_: Any, address: Any, args: Any) -> Any:
    """Call the code of an entry routine, which gives a whole number, with a tuple of its arguments."""
    plain = tuple(unliteral(kind) for kind in args.types)

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        values = [
            context.cast(builder, builder.extract_value(given[1], k), kind, plain[k])
            for k, kind in enumerate(args.types)
        ]
        kind = context.call_conv.get_function_type(types.int64, plain)
        function = builder.inttoptr(given[0], kind.as_pointer())
        status, result = context.call_conv.call_function(builder, function, types.int64, plain, values)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return result

    return types.int64(types.int64, args), code
