"""A real server process for tests, on a loopback port that the system chooses."""

import contextlib
import os
import re
import subprocess
import sys
import time

from thalweg.serve import Client


def start(*words, port="0", timeout=120.0, whole=False):
    """Start ``thalweg serve`` with these words; give the process and its address, or the whole line that it prints."""
    more = [] if port is None else ["--port", port]
    command = [sys.executable, "-m", "thalweg", "serve", *map(str, words), *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
    until, lines = time.monotonic() + timeout, []
    while time.monotonic() < until:
        line = process.stdout.readline()
        if not line:
            break
        lines.append(line)
        found = re.search(r"(https?://[^\s:]+:\d+)", line)
        if found:
            return process, line if whole else found[1]
    process.kill()
    process.wait()
    process.stdout.close()
    raise RuntimeError("".join(lines))


@contextlib.contextmanager
def running(*words, token=None):
    """A service while a test runs: its client and its process."""
    process, address = start(*words)
    try:
        with Client(address, token=token) as client:
            yield client, process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
