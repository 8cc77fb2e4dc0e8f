"""Any detector by its code: for the classes, and for the compiled loops of forests, which hold many rows of one kind.

Every kind has a ``CODE`` and a ``step`` in its own file and one line in ``step`` here. A kind whose row begins as
zeros and has the columns of ``row_jit`` needs nothing else.

ADWIN, which nearly every forest takes, is compiled into the caller except for its checks; the others are called.
"""

from thalweg.detectors import (
    adwin_jit,
    ddm_jit,
    eddm_jit,
    hddm_a_jit,
    hddm_w_jit,
    kswin_jit,
    page_hinkley_jit,
    row_jit,
)
from thalweg.detectors.row_jit import Table
from thalweg.jit.compile import called, compiled, inlined


@called
def step(code: int, table: Table, i: int, x: float, rules: Table) -> int:
    """Let detector i take one value (an error: 1); give its level: 0 stable, 1 warning, 2 drift."""
    if code == adwin_jit.CODE:
        return adwin_jit.step(table, i, x, rules)
    if code == ddm_jit.CODE:
        return ddm_jit.step(table, i, x, rules)
    if code == eddm_jit.CODE:
        return eddm_jit.step(table, i, x, rules)
    if code == hddm_a_jit.CODE:
        return hddm_a_jit.step(table, i, x, rules)
    if code == hddm_w_jit.CODE:
        return hddm_w_jit.step(table, i, x, rules)
    if code == page_hinkley_jit.CODE:
        return page_hinkley_jit.step(table, i, x, rules)
    return kswin_jit.step(table, i, x, rules)


@inlined
def feed(code: int, table: Table, i: int, x: float, rules: Table) -> int:
    """Do what ``step`` does, without a call where an ADWIN has nothing to check."""
    if code == adwin_jit.CODE and not adwin_jit.is_due(table, i):
        adwin_jit.pass_by(table, i, x)
        return 0
    return step(code, table, i, x, rules)


@called
def forget(code: int, table: Table, i: int) -> None:
    """Let detector i forget everything but its constants."""
    if code == adwin_jit.CODE:
        adwin_jit.clear(table, i)
    elif code == kswin_jit.CODE:
        kswin_jit.clear(table, i)
    else:
        row_jit.clear(table, i)


@compiled
def mean_error(code: int, table: Table, i: int) -> float:
    """Give the mean error as detector i sees it; 0 before the first value."""
    if code == adwin_jit.CODE:
        return adwin_jit.estimate(table, i)
    if code == hddm_w_jit.CODE:
        return float(table[i, hddm_w_jit.W_MEAN])
    if code == kswin_jit.CODE:
        return kswin_jit.estimate(table, i)
    return row_jit.mean(table, i)
