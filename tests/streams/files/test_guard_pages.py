"""The CSV reader reads memory by address: it must touch nothing but the text and its padding."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = float(os.environ.get("THALWEG_FUZZ_SECONDS", "8"))
"""How long to read random texts; more finds more."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pages are protected as Linux does it")


def read(seconds: float, *more: int) -> subprocess.CompletedProcess[str]:
    program = Path(__file__).with_name("guarded_reading.py")
    words = [sys.executable, str(program), str(seconds), *map(str, more)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=600 + seconds)


def test_with_too_little_padding_the_process_dies() -> None:
    assert read(600, 1, 16).returncode == -signal.SIGSEGV


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_beyond_the_padding_is_read(seed: int) -> None:
    done = read(SECONDS / 2, seed)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-3000:]}"
    assert int(done.stdout) > 10
