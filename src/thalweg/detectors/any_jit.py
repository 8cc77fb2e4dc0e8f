"""Any detector by its code, for the compiled loop of a forest: the row of a table, its rules, and which kind it is.

| code | kind         |
| 0    | ADWIN        |
| 1    | DDM          |
| 2    | EDDM         |
| 3    | HDDM-A       |
| 4    | HDDM-W       |
| 5    | Page-Hinkley |
| 6    | KSWIN        |

ADWIN, which nearly every forest takes, is compiled into the caller except for its checks; the others are called.
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.detectors import adwin_jit, ddm_jit, eddm_jit, hddm_a_jit, hddm_w_jit, kswin_jit, page_hinkley_jit
from thalweg.jit.compile import called, inlined

Table = NDArray[np.float64]


@inlined
def feed(code: int, table: Table, i: int, x: float, rules: Table) -> int:
    """Let detector i take one value (an error: 1); give its level: 0 stable, 1 warning, 2 drift."""
    if code == adwin_jit.CODE and not adwin_jit.is_due(table, i):
        adwin_jit.pass_by(table, i, x)
        return 0
    return dispatch(code, table, i, x, rules)


@called
def dispatch(code: int, table: Table, i: int, x: float, rules: Table) -> int:
    """Let a detector of any kind take one value."""
    if code == adwin_jit.CODE:
        return adwin_jit.level(table, i, x, rules)
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


@called
def forget(code: int, table: Table, i: int) -> None:
    """Let detector i forget everything, its number of drifts too."""
    if code == adwin_jit.CODE:
        adwin_jit.clear(table, i)
    elif code == ddm_jit.CODE:
        ddm_jit.clear(table, i)
    elif code == eddm_jit.CODE:
        eddm_jit.clear(table, i)
    elif code == hddm_a_jit.CODE:
        hddm_a_jit.clear(table, i)
    elif code == hddm_w_jit.CODE:
        hddm_w_jit.clear(table, i)
    elif code == page_hinkley_jit.CODE:
        page_hinkley_jit.clear(table, i)
    else:
        kswin_jit.clear(table, i)


@called
def mean_error(code: int, table: Table, i: int) -> float:
    """Give the mean error as detector i sees it; 0 before the first value."""
    if code == adwin_jit.CODE:
        return adwin_jit.estimate(table, i)
    if code == ddm_jit.CODE:
        return ddm_jit.estimate(table, i)
    if code == eddm_jit.CODE:
        return eddm_jit.estimate(table, i)
    if code == hddm_a_jit.CODE:
        return hddm_a_jit.estimate(table, i)
    if code == hddm_w_jit.CODE:
        return hddm_w_jit.estimate(table, i)
    if code == page_hinkley_jit.CODE:
        return page_hinkley_jit.estimate(table, i)
    return kswin_jit.estimate(table, i)
