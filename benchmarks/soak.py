"""Ten million rows of AGRAWAL, whose rule keeps changing, through one tree with a memory limit of 20 MB.

The state must never be above the limit; and after the first million rows the process must not grow by more than the
state does, give or take a few MB. With --eager the tree splits so readily that it stands at its limit from the first
million on, so the process must stay as it is. The exit code is 0 when both hold, 1 otherwise.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from thalweg import Agrawal, HoeffdingTree

MILLION = MB = 1_000_000
EAGER: dict[str, Any] = {"grace_period": 50, "delta": 0.01, "tau": 0.1}


def resident() -> int:
    """Give the bytes of memory that the process holds now."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(next(line for line in status.read_text().splitlines() if line.startswith("VmRSS")).split()[1]) * 1024
    import resource  # the highest so far: good enough to see growth

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def load_code() -> None:
    """Bring a small tree to its limit, so that all compiled code is in memory before memory is watched."""
    chunk, small = Agrawal(function=5).take(50_000), HoeffdingTree(limit_bytes=200_000, **EAGER)
    small.declare(Agrawal().schema).test_then_train(chunk.X, chunk.y)


def main() -> int:
    """Learn, watch, judge."""
    parser = argparse.ArgumentParser(description="ten million rows through one tree with a memory limit")
    parser.add_argument("--rows", type=int, default=10 * MILLION)
    parser.add_argument("--limit-bytes", type=int, default=20 * MB)
    parser.add_argument("--eager", action="store_true", help=f"a tree that splits readily: {EAGER}")
    parser.add_argument("--chunk", type=int, default=10_000)
    parser.add_argument("--concept", type=int, default=100_000, help="rows until the rule changes")
    parser.add_argument("--slack-mb", type=float, default=8.0, help="growth of the process that counts as none")
    options = parser.parse_args()

    load_code()
    tree = HoeffdingTree(limit_bytes=options.limit_bytes, **(EAGER if options.eager else {}))
    tree.declare(Agrawal().schema)
    rows = right = highest = 0
    base = rest = 0  # bytes of the process beside the state: in the first million rows, and after
    start = time.perf_counter()
    print(f"{'rows':>12} {'accuracy':>9} {'state MB':>9} {'highest':>9} {'process MB':>11} {'rows/s':>10}")
    while rows < options.rows:
        concept = rows // options.concept
        stream = Agrawal(function=concept % 10 + 1, seed=concept + 1, limit=min(options.concept, options.rows - rows))
        for chunk in stream.chunks(options.chunk):
            proba = tree.test_then_train(chunk.X, chunk.y)
            right += int((tree.classes_[proba.argmax(axis=1)] == chunk.y).sum())
            rows += len(chunk)
            state, process = tree.state_bytes, resident()
            highest = max(highest, state)
            if rows <= MILLION:
                base = max(base, process - state)
            else:
                rest = max(rest, process - state)
            if rows % MILLION < len(chunk):
                sizes = f"{state / MB:9.2f} {highest / MB:9.2f} {process / MB:11.1f}"
                speed = rows / (time.perf_counter() - start)
                print(f"{rows:12,} {100 * right / rows:9.2f} {sizes} {speed:10,.0f}", flush=True)

    bounded, flat = highest <= options.limit_bytes, rest - base <= options.slack_mb * MB
    print(f"state: highest {highest:,} of {options.limit_bytes:,} bytes: {'ok' if bounded else 'ABOVE THE LIMIT'}")
    print(
        f"process beside the state: {(rest - base) / MB:+.1f} MB after the first million: {'ok' if flat else 'GROWS'}"
    )
    return 0 if bounded and flat else 1


if __name__ == "__main__":
    sys.exit(main())
