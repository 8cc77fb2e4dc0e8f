"""The lean way of compiling: the same bits as Numba's own way, which is used where it fails; nothing global changes."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core import types
from numba.core.runtime import _nrt_python, rtsys

from thalweg.jit import self_test
from thalweg.jit.compile import called, inlined, uncompiled
from thalweg.jit.lean import PartLibrary, entry

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")

PROGRAM = """
from thalweg.jit import self_test
from thalweg.jit.lean import entry, part

def plus(x, n):
    return x + n

inner = part(plus, _nrt=False, forceinline=True)
assert entry(lambda x: inner(x, 1), _nrt=True)(1.5) == 2.5 == inner(0.5, 2)
lean, plain = self_test.trial()
print(lean == plain, type(next(iter(inner.overloads.values())).library).__name__)
"""


@inlined
def shifted(x: float, by: int) -> float:
    """Add a number that is a literal where it is called."""
    return x + by


@called
def squares(values: np.ndarray) -> np.ndarray:
    """Make an array, in a part."""
    made = np.empty(len(values))
    for i in range(len(values)):
        made[i] = shifted(values[i], 1) * shifted(values[i], 2) / shifted(values[i], 3)
    return made


def twice(values: np.ndarray) -> float:
    """Call it, twice."""
    return float(squares(values)[2] - squares(values[1:])[0] / 3.0)


root = entry(twice, _nrt=True)


def test_the_self_test_passes_here():
    lean, plain = self_test.trial()
    assert lean == plain


def test_a_part_is_compiled_once_for_all_literals_and_never_finished():
    values = np.linspace(0.1, 0.9, 9) ** 3
    assert root(values) == twice(values)
    assert list(shifted.overloads) == [(types.float64, types.int64)]
    (made,) = squares.overloads.values()
    assert isinstance(made.library, PartLibrary)
    assert shifted(0.5, 2) == 2.5  # from Python: a twin
    assert squares(values).tolist() == uncompiled(squares)(values).tolist()


def test_memory_is_given_back():
    """Arrays that parts make are freed: the parts count references as Numba's own functions do."""
    _nrt_python.memsys_enable_stats()
    values = np.linspace(0.0, 1.0, 50)
    root(values)
    before = rtsys.get_allocation_stats()
    for _ in range(20):
        root(values)
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free


def test_functions_of_others_are_compiled_as_ever():
    root(np.ones(3))

    @numba.njit
    def own(x, n):
        total = 0.0
        for _ in range(n):
            total += x
        return total

    @numba.njit
    def calls(x):
        return own(x, 3) + own(x, 4) + shifted(x, 1)

    assert calls(0.5) == 5.0
    literal = {args[1] for args in own.overloads}
    assert literal == {types.literal(3), types.literal(4)}, "Numba's own way: once for each literal"
    assert type(calls.overloads[(types.float64,)].library).__name__ == "JITCodeLibrary"
    assert calls.overloads[(types.float64,)].typing_context is numba.core.registry.cpu_target.typing_context


def test_another_version_is_tried_first(monkeypatch):
    monkeypatch.setattr(self_test, "KNOWN", set())
    assert self_test.passed.__wrapped__() is True
    monkeypatch.setattr(self_test.sys, "executable", "/no/such/python")
    assert self_test.passed.__wrapped__() is False


def test_numbas_own_way_is_there_when_it_is_wanted():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"THALWEG_LEAN": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "JITCodeLibrary"]


def test_a_slice_that_does_not_fit_is_refused():
    @called
    def fill(into, source):
        into[1:3] = source

    tried = entry(lambda into, source: fill(into, source), _nrt=True)
    cells = np.zeros(4)
    tried(cells, np.ones(2))
    assert cells.tolist() == [0.0, 1.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="cannot assign slice from input of different size"):
        tried(cells, np.ones(3))

    @numba.njit
    def own(into, source):
        into[1:3] = source

    with pytest.raises(ValueError, match="cannot assign slice"):
        own(cells, np.ones(3))
