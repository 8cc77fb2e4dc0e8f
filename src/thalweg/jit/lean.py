"""Numba's compiler with less to do: half the time for the same code (decision 19).

A *part* is a function that only compiled code calls. Numba would specialise it for each literal number that it is
given, optimise it fully at every level of calls, make machine code of it and give it a wrapper for Python. Here it is
compiled once for all numbers, into a library that is linked into routines and is never turned into machine code; it is
optimised only while it is small, since what is large is optimised again in the routine. Called from Python all the
same, as tests do, it has a twin that is compiled as a routine.

Parts and routines alike skip the passes for what no compiled function of this library has (closures, ``with``, literal
arguments), and remember what operators mean. All of it is private to the functions of this library: Numba's contexts
and classes are not changed. ``self_test`` tries it first; where it fails, Numba compiles in its own way.
"""

from collections.abc import Callable
from types import CodeType
from typing import Any, ClassVar

import numba
from numba.core import sigutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NopythonRewrites
from numba.core.types.misc import unliteral

from thalweg.jit.lookups import remembering
from thalweg.jit.self_test import passed

SMALL = 16_000
"""Bytes of bitcode up to which a part is optimised for itself."""
NOT_NEEDED = frozenset((
    "WithLifting", "InlineClosureLikes", "MakeFunctionToJitFunction", "InlineInlinables", "FindLiterallyCalls",
    "LiteralUnroll", "LiteralPropagationSubPipelinePass", "AnnotateTypes", "DumpParforDiagnostics",
))  # fmt: skip
"""Passes for closures, ``with``, literal arguments, functions inlined as Python, and for looking at."""
OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_same_flags: list[Any] = []


class _Flags(Flags):  # type: ignore[misc]
    """Flags that are quickly compared; what is compiled on the way inherits those that change its result, no others."""

    __slots__ = ()
    _hash = hash(Flags())

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or bool(super().__eq__(other))

    def copy(self) -> Any:
        """Give what functions of Numba's own inherit: one object for all that are alike."""
        new = _Flags(self)
        new.forceinline = new.no_cpython_wrapper = False
        for old in _same_flags:
            if old == new:
                return old
        _same_flags.append(new)
        return new


class _NoGlobals:
    """Stands for the code generator of a part, which has no address where it could keep its globals."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Do nothing: ``Entry`` does it for all parts of a routine."""


class EntryLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a routine, which is optimised once."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    def _optimize_final_module(self, **cost: Any) -> None:
        passes, builder = self._codegen._module_pass_manager(**cost)
        passes.run(self._final_module, builder)


class PartLibrary(EntryLibrary):
    """Code to be linked into other code, without machine code of its own."""

    def _optimize_final_module(self, **cost: Any) -> None:
        if len(self._final_module.as_bitcode()) > SMALL:  # inlining alone, as Numba does it first of all
            cost = {"opt": self._codegen._opt_level, "loop_vectorize": self._codegen._loopvect, "slp_vectorize": False,
                    "cost": "cheap"}  # fmt: skip
        super()._optimize_final_module(**cost)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Give no address: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """Whatever is told of globals goes nowhere."""
        return _NoGlobals


@register_pass(mutates_CFG=True, analysis_only=False)
class ArrayRewrites(NopythonRewrites):  # type: ignore[misc]
    """Rewrites expressions of whole arrays, where there are any."""

    _name = "thalweg_array_rewrites"

    def run_pass(self, state: Any) -> bool:
        """Look for them first: it is the longest of these passes, and most functions have none."""
        found = any(isinstance(getattr(s, "return_type", None), types.Array) for s in state.calltypes.values())
        return bool(found and super().run_pass(state))


class Entry(Compiler):  # type: ignore[misc]
    """Compiles a routine that Python calls."""

    _library: ClassVar[type[EntryLibrary]] = EntryLibrary

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, returned: Any, flags: Any, names: Any
    ) -> None:
        self._lean = passed()
        if self._lean:
            typing, flags = remembering(typing), _Flags(flags)
        super().__init__(typing, target, library, args, returned, flags, names)

    def define_pipelines(self) -> Any:
        """Leave out what is not needed."""
        code = self.state.func_id.code
        if not self._lean or any(isinstance(constant, CodeType) for constant in code.co_consts):
            return super().define_pipelines()
        line = DefaultPassBuilder.define_nopython_pipeline(self.state)
        line.passes = [
            (ArrayRewrites if step is NopythonRewrites else step, why)
            for step, why in line.passes
            if step.__name__ not in NOT_NEEDED
        ]
        line.finalize()
        self.state.type_annotation = ""
        return [line]

    def compile_extra(self, func: Any) -> Any:
        """Compile; then give the parts that were linked in their globals, which they could not be given before."""
        if not self._lean:
            return super().compile_extra(func)
        self.state.library = self._library(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        result = super().compile_extra(func)
        if self._library is EntryLibrary:
            for environment in result._find_referenced_environments():
                result.codegen.set_env(environment.env_name, environment)
        return result


class Part(Entry):
    """Compiles a function that only compiled code calls, into a library that is never finished."""

    _library = PartLibrary

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, returned: Any, flags: Any, names: Any
    ) -> None:
        flags.no_cpython_wrapper = passed()
        super().__init__(typing, target, library, args, returned, flags, names)


def entry(function: Callable[..., Any], **options: bool) -> Any:
    """Compile on first use, as a routine that Python calls."""
    options = {"forceinline": False} | options
    found: Any = numba.njit(pipeline_class=Entry, **OPTIONS, **options)(function)

    def get_call_template(args: Any, kws: Any) -> Any:
        """Let compiled code call it, which needs more than the machine code that came with the package."""
        if not getattr(found._cache, "linked", True):
            found._cache.linked = True
            found.overloads.clear()
        return type(found).get_call_template(found, args, kws)

    found.get_call_template = get_call_template
    return found


def part(function: Callable[..., Any], **options: bool) -> Any:
    """Compile on first use, for other compiled functions; Python gets a twin."""
    options = {"forceinline": False} | options
    found: Any = numba.njit(pipeline_class=Part, **OPTIONS, **options)(function)
    twins: list[Any] = []

    def get_call_template(args: Any, kws: Any) -> Any:
        if passed():
            args = tuple(unliteral(a) for a in args)
            kws = {name: unliteral(a) for name, a in kws.items()}
        return type(found).get_call_template(found, args, kws)

    def add_overload(result: Any) -> None:
        if passed():
            found.overloads[tuple(result.signature.args)] = result  # not to be called from Python, where it would crash
        else:
            type(found).add_overload(found, result)

    def compile_quietly(signature: Any) -> Any:
        if not passed():
            return type(found).compile(found, signature)
        with global_compiler_lock, found._compiling_counter:
            args, returned = sigutils.normalize_signature(signature)
            if args not in found.overloads:
                add_overload(found._compiler.compile(args, returned))
            return found.overloads[args].entry_point

    def compile_for_python(*args: Any, **kws: Any) -> Any:
        if not passed():
            return type(found)._compile_for_args(found, *args, **kws)
        if not twins:
            twins.append(entry(function, **options))
        return twins[0]._compile_for_args(*args, **kws)

    found.get_call_template, found.add_overload = get_call_template, add_overload
    found.compile, found._compile_for_args = compile_quietly, compile_for_python
    return found
