"""What an operator means for given types, looked up once instead of in every function.

Numba asks some twenty templates for the meaning of each ``+`` and each ``a[i]``. ``remembering`` gives a typing context
that has everything in common with Numba's own, except that it remembers the answers, and that a slice which does not
fit gets a sentence without numbers: to write them out takes thirty functions about text. Only functions of this library
are typed by it; Numba's own context, and so a user's functions, stay as they are.
"""

import operator
from functools import cache
from types import BuiltinFunctionType
from typing import Any

from numba import extending
from numba.core import types
from numba.core.targetconfig import ConfigStack
from numba.core.types.misc import unliteral
from numba.np import arrayobj

_WORDS = """add sub mul truediv floordiv mod and_ or_ xor lshift rshift lt le gt ge eq ne neg pos invert not_ truth
iadd isub imul itruediv ifloordiv imod iand ior ixor ilshift irshift"""
_OF_NUMBERS = frozenset(getattr(operator, word) for word in _WORDS.split())
_OF_ARRAYS = frozenset((operator.getitem, operator.setitem))
_SCALARS = types.Number, types.Boolean, types.IntegerLiteral, types.BooleanLiteral


_WITH_NUMBERS = getattr(arrayobj, "raise_with_shape_context", None)


def raise_plainly(found: Any, wanted: Any) -> None:
    """Say that the shape of what is assigned is another one than that of the slice."""


@extending.overload(raise_plainly)  # type: ignore[untyped-decorator]
def _raise_plainly(found: Any, wanted: Any) -> Any:
    def say(found: Any, wanted: Any) -> None:
        raise ValueError("cannot assign slice from input of different size")

    return say


def _without_literals(meaning: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give the arguments as Numba would in the end, where a literal number means no more than any other one."""
    if meaning in _OF_NUMBERS and all(isinstance(a, _SCALARS) for a in args):
        return tuple(unliteral(a) for a in args)
    if meaning in _OF_ARRAYS and isinstance(args[0], types.Array):
        return tuple(unliteral(a) for a in args)
    return args


@cache
def remembering(context: Any) -> Any:
    """Give a typing context that shares all its tables with this one, and remembers what functions mean."""
    meanings: dict[Any, tuple[Any, Any]] = {}
    values: dict[Any, Any] = {}

    class Remembering(type(context)):  # type: ignore[misc]
        def _remembered(self, func: Any, args: Any, resolve: Any) -> Any:
            args = _without_literals(func.typing_key, tuple(args))
            key = func, args, ConfigStack.top_or_none()
            if key in meanings:
                signature, implementation = meanings[key]
                func._impl_keys[signature.args] = implementation  # in between, other flags may have left another one
                return signature
            signature = resolve(args)
            if signature is not None:
                meanings[key] = signature, func._impl_keys[signature.args]
            return signature

        def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
            ask = super().resolve_function_type
            if type(func) is not types.Function or kws:
                return ask(func, args, kws)
            return self._remembered(func, args, lambda args: ask(func, args, kws))

        def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
            func = self.resolve_value_type(operator.setitem)
            return self._remembered(func, (target, index, value), lambda args: func.get_call_type(self, args, {}))

        def resolve_value_type(self, val: Any) -> Any:
            if val is _WITH_NUMBERS and val is not None:
                val = raise_plainly
            if type(val) is not BuiltinFunctionType:
                return super().resolve_value_type(val)
            if val not in values:
                values[val] = super().resolve_value_type(val)
            return values[val]

    found = Remembering.__new__(Remembering)
    found.__dict__ = context.__dict__
    return found
