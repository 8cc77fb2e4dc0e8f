"""May functions be compiled in the lean way? Where that was tried before, yes; elsewhere it is tried first.

The lean way uses what is private to Numba, and another version may do things differently. Versions that all tests of
this library have passed with are trusted. With any other one, a process of its own (it may crash) compiles a small
program in the lean way, and must give the result of the same program run by Python, to the last bit.
``THALWEG_LEAN=0`` turns the lean way off.
"""

import os
import platform
import subprocess
import sys
from functools import cache
from typing import Any

import numba
import numpy as np

KNOWN = {("0.68", "x86_64")}
"""Versions of Numba, and processors, that all tests have passed with."""
SECONDS = 120
_TRIAL = "THALWEG_LEAN_TRIAL"


@cache
def passed() -> bool:
    """Say whether to compile in the lean way."""
    if os.environ.get("THALWEG_LEAN") == "0":
        return False
    if _TRIAL in os.environ or (".".join(numba.__version__.split(".")[:2]), platform.machine()) in KNOWN:
        return True
    try:
        path = os.pathsep.join(sys.path)
        done = subprocess.run(
            [sys.executable, "-m", "thalweg.jit.self_test"], env=os.environ | {_TRIAL: "1", "PYTHONPATH": path},
            capture_output=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError, ValueError):
        return False
    return done.returncode == 0


def trial() -> tuple[Any, Any]:
    """Give the result of a small program, compiled and not: parts in parts, literals, records, rooms of memory."""
    from thalweg.jit.lean import entry, part

    row = np.dtype([("weight", np.float64), ("left", np.int32)])

    def power(x: float, n: int) -> float:
        result = 1.0
        for _ in range(n):
            result *= x
        return result

    inner = part(power, _nrt=False, forceinline=True)

    def weigh(cells: Any, k: int) -> Any:
        room = np.empty(len(cells))
        for i in range(len(cells)):
            room[i] = inner(cells[i], 3) / 7.0 + inner(cells[i], 2) + k
        return room

    outer = part(weigh, _nrt=True)

    def play(rows: Any, cells: Any) -> float:
        total = 0.0
        for i in range(len(rows)):
            total += rows[i]["weight"] * outer(cells, 2)[rows[i]["left"]] / 3.0 + outer(cells, i)[0]
            rows[i]["weight"] = total
        return total

    results = []
    for run in (entry(play, _nrt=True), play):
        rows, cells = np.zeros(5, dtype=row), np.linspace(0.1, 2.3, 5)
        rows["weight"], rows["left"] = 1.0 / np.arange(3, 8), [4, 2, 0, 1, 3]
        results.append((run(rows, cells), rows.tolist()))
    return results[0], results[1]


if __name__ == "__main__":
    compiled, plain = trial()
    sys.exit(0 if compiled == plain else "the lean way gives another result")
