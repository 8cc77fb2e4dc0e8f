"""What a program prints with the compiler on and off must be the same."""

import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"


def printed_with_and_without(program: str, *options: str) -> str:
    """Run a program both ways; give what it printed, which is the same."""
    printed = []
    for off in ("0", "1"):
        env = os.environ | {"NUMBA_DISABLE_JIT": off, "PYTHONPATH": str(SOURCE)}
        done = subprocess.run(
            [sys.executable, *options, "-c", program], env=env, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1]
    return printed[0]
