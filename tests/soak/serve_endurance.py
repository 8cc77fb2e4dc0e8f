"""Keep a service at half its load for a while, and look whether memory, open files and disk stay flat.

    python -m soak.serve_endurance --minutes 20
    python -m soak.serve_endurance --requests 20000000

One client sends records in batches and their labels, and sleeps as long as it was busy. The last third of the
measurements is compared with the middle one.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from running import running

from thalweg import Agrawal

MORE = {"memory": (1.05, 8 << 20), "files": (1.0, 4), "disk": (1.1, 40 << 20)}
"""By what factor, and by how much beside, the last third may lie above the middle one."""


def measured(pid, folder):
    """Resident bytes, open files, and bytes of the folder."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) << 10
    disk = 0
    for path in Path(folder).rglob("*"):
        try:
            disk += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # files come and go
            continue
    return resident, len(list(Path(f"/proc/{pid}/fd").iterdir())), disk


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--requests", type=int, default=sys.maxsize)
    parser.add_argument("--learner", default="arf(size=10)")
    given = parser.parse_args(words)
    stream, sent, labels, found = Agrawal(function=3, seed=1), 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        options = ["--folder", folder, "--sync", "interval", "--max-open", "5000", "--max-disk", 200 << 20]
        with running(given.learner, *options) as (client, process):
            until, looked = time.monotonic() + 60.0 * given.minutes, 0.0
            while time.monotonic() < until and sent < given.requests:
                began = time.monotonic()
                chunk = stream.read(20)
                for row, label in zip(chunk.X.tolist(), chunk.y.tolist(), strict=True):
                    answer = client.predict([row])
                    sent += 1
                    if answer["tickets"] and sent % 4 == 0:
                        labels += client.label([label], tickets=answer["tickets"])["learned"]
                        sent += 1
                if began - looked >= 1.0:
                    looked = began
                    found.append(measured(process.pid, folder))
                time.sleep(time.monotonic() - began)
    third = len(found) // 3
    middle, last = (np.median(part, axis=0) for part in (found[third : 2 * third], found[2 * third :]))
    good = True
    for name, a, b in zip(MORE, middle.tolist(), last.tolist(), strict=True):
        factor, more = MORE[name]
        flat = b <= factor * a + more
        good &= flat
        print(f"{name}: {a:,.0f} in the middle third, {b:,.0f} in the last: {'flat' if flat else 'it grows'}")
    print(f"{sent:,} requests, {labels:,} labels learned, in {given.minutes:g} minutes at most")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
