"""The tests of http_story.py tell one story to one service: they run in their order, in one process."""

import subprocess
import sys
from pathlib import Path

STORY = Path(__file__).with_name("http_story.py")


def test_a_service_over_http() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", str(STORY)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=STORY.parents[2])
    assert done.returncode == 0, done.stdout[-4_000:]
