"""Ten million rows of AGRAWAL, whose rule keeps changing, through one tree with a memory limit of 20 MB.

The state must never be above the limit, and the memory of the process must not grow after the first million rows.
The exit code is 0 when both hold, 1 otherwise.
"""

import argparse
import sys
import time
from pathlib import Path

from thalweg import Agrawal, HoeffdingTree

MILLION = 1_000_000
MB = 1_000_000


def resident() -> int:
    """Give the bytes of memory that the process holds now."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(next(line for line in status.read_text().splitlines() if line.startswith("VmRSS")).split()[1]) * 1024
    import resource  # the highest so far, which is as good to see growth

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> int:
    """Learn, watch, judge."""
    parser = argparse.ArgumentParser(description="ten million rows through one tree with a memory limit")
    parser.add_argument("--rows", type=int, default=10 * MILLION)
    parser.add_argument("--limit-bytes", type=int, default=20 * MB)
    parser.add_argument("--chunk", type=int, default=10_000)
    parser.add_argument("--concept", type=int, default=250_000, help="rows until the rule changes")
    parser.add_argument("--slack-mb", type=float, default=4.0, help="growth of the process that counts as flat")
    options = parser.parse_args()

    tree = HoeffdingTree(limit_bytes=options.limit_bytes)
    rows = right = highest = base = most = 0
    start = time.perf_counter()
    print(f"{'rows':>12} {'accuracy':>9} {'state MB':>9} {'highest':>9} {'process MB':>11} {'rows/s':>10}")
    while rows < options.rows:
        concept = rows // options.concept
        stream = Agrawal(function=concept % 10 + 1, seed=concept + 1, limit=min(options.concept, options.rows - rows))
        if tree.schema is None:
            tree.declare(stream.schema)
        for chunk in stream.chunks(options.chunk):
            proba = tree.test_then_train(chunk.X, chunk.y)
            right += int((tree.classes_[proba.argmax(axis=1)] == chunk.y).sum())
            rows += len(chunk)
            highest, now = max(highest, tree.state_bytes), resident()
            if rows <= MILLION:
                base = max(base, now)
            most = max(most, now)
            if rows % MILLION < len(chunk):
                speed = rows / (time.perf_counter() - start)
                sizes = f"{tree.state_bytes / MB:9.2f} {highest / MB:9.2f} {now / MB:11.1f}"
                print(f"{rows:12,} {100 * right / rows:9.2f} {sizes} {speed:10,.0f}", flush=True)

    bounded, flat = highest <= options.limit_bytes, most - base <= options.slack_mb * MB
    print(f"state: highest {highest:,} of {options.limit_bytes:,} bytes: {'ok' if bounded else 'ABOVE THE LIMIT'}")
    grown = (most - base) / MB
    print(f"process: {grown:.1f} MB above its highest in the first million: {'ok' if flat else 'GROWS'}")
    return 0 if bounded and flat else 1


if __name__ == "__main__":
    sys.exit(main())
