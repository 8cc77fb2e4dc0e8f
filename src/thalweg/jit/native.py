"""Compiled routines that other compiled code calls by their address, and tables that it finds by theirs.

A routine that called an entry routine by its name would contain it, and so compile all of it once more. Called by its
address it is compiled once; and since tables are found by addresses, too, a routine may be handed any number of them.
"""

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array
from numpy.typing import NDArray

CELLS = 4
"""What ``addresses`` keeps of a table: where it is, and its shape, up to three numbers."""


def address_of(routine: Any, *args: Any) -> int:
    """Give the address of the code of an entry routine for arguments like these; 0: nothing is compiled here."""
    if numba.config.DISABLE_JIT:
        return 0
    signature = tuple(numba.typeof(arg) for arg in args)
    if signature not in routine.overloads:
        routine.compile(signature)
    code = routine.overloads[signature]
    return int(code.library.get_pointer_to_function(code.fndesc.llvm_func_name))


def addresses(tables: Sequence[NDArray[Any]], into: NDArray[np.int64]) -> None:
    """Write down where tables are; whoever uses it must keep them alive."""
    for k, table in enumerate(tables):
        into[CELLS * k] = table.__array_interface__["data"][0]
        into[CELLS * k + 1 : CELLS * k + 1 + table.ndim] = table.shape


@intrinsic  # type: ignore[untyped-decorator]
def tables_at(_: Any, places: Any, row: Any, first: Any, like: Any) -> Any:
    """Give a tuple of tables, of the same types as ``like``, from table ``first`` of a row of ``places`` on."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cells = make_array(places)(context, builder, args[0])
        width = builder.extract_value(cells.shape, 1)
        at = builder.add(
            builder.mul(args[1], width), builder.mul(args[2], context.get_constant(types.intp, CELLS))
        )
        found = []
        for kind in like.types:
            words = [
                builder.load(builder.gep(cells.data, [builder.add(at, context.get_constant(types.intp, j))]))
                for j in range(1 + kind.ndim)
            ]
            item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
            strides = [context.get_constant(types.intp, item)]
            for size in reversed(words[2:]):
                strides.insert(0, builder.mul(strides[0], size))
            table = make_array(kind)(context, builder)
            populate_array(
                table, data=builder.inttoptr(words[0], table.data.type), shape=words[1:], strides=strides,
                itemsize=context.get_constant(types.intp, item), meminfo=None,
            )  # fmt: skip
            found.append(table._getvalue())
            at = builder.add(at, context.get_constant(types.intp, CELLS))
        return context.make_tuple(builder, like, found)

    return like(places, types.intp, types.intp, like), code


@intrinsic  # type: ignore[untyped-decorator]
def call_at(_: Any, address: Any, args: Any) -> Any:
    """Call the code of an entry routine, which gives a whole number, with a tuple of its arguments."""
    plain = tuple(types.unliteral(kind) for kind in args.types)

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
