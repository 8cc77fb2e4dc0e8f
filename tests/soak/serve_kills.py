"""Kill a service with SIGKILL at random moments under load, start it again, and compare it with one that never was.

    python -m soak.serve_kills --kills 300                        # over five learners
    python -m soak.serve_kills --kills 20 --only hoeffding-tree --seed 3

The service runs in forked processes, so that a start costs little. One client sends records and their labels in a known
order, and sends again, with the same key, what was not acknowledged; another one only asks for predictions. At the end
every acknowledged label must have been learned once, and the model must have the bits of one that learned the same
labels in the same order and was never killed. The disk itself is not pulled out: what a power failure may do to a file
is in tests/serve/test_journal.py.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import signal
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from thalweg import Agrawal, Schema, load
from thalweg.core.inside import begin
from thalweg.registry.typed import make_learner
from thalweg.serve.application import app
from thalweg.serve.server import run

LEARNERS = ("hoeffding-tree", "arf(size=3)", "sdf(size=3)@0.5", "csb-knn(size=3)", "ball-cover-plus")
ROWS, FEATURES = 20_000, 9


def fork(name, folder, port, sync):
    """Start a service in a process of its own."""
    child = os.fork()
    if child:
        return child
    with contextlib.suppress(BaseException):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        service = app(name, folder, schema=Schema.numeric(FEATURES), every=50, sync=sync, snapshot_rows=400)
        run(service, port=port)
    os._exit(1)


class Keeper:
    """Keeps a service running, and kills it."""

    def __init__(self, name, folder, sync, rng):
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            self.port = sock.getsockname()[1]
        self.name, self.folder, self.sync, self.rng = name, folder, sync, rng
        self.child, self.kills, self.starts = 0, 0, []
        self.until = 0.0
        self.start()

    def start(self):
        began = time.perf_counter()
        self.child = fork(self.name, self.folder, self.port, self.sync)
        for _ in range(6_000):
            time.sleep(0.01)
            gone, _ = os.waitpid(self.child, os.WNOHANG)
            if gone:
                raise SystemExit(f"{self.name}: the service could not be started again after {self.kills} kills")
            with contextlib.suppress(OSError, http.client.HTTPException):
                if ask(self.port, "GET", "/readyz")[0] == 200:
                    break
        self.starts.append(time.perf_counter() - began)
        self.until = time.monotonic() + 0.02 + 0.4 * float(self.rng.random())

    def kill(self):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        self.kills += 1
        self.start()


def ask(port, method, path, body=None, key=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        headers = {"content-type": "application/json"} | ({} if key is None else {"idempotency-key": key})
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def surely(port, path, body, key):
    """Send a request until it is acknowledged."""
    for _ in range(2_000):
        try:
            status, data = ask(port, "POST", path, body, key)
        except (OSError, http.client.HTTPException):
            time.sleep(0.01)
            continue
        if status == 200:
            return json.loads(data)
        if status != 503:
            raise SystemExit(f"{path}: {status} {data[:300]!r}")
        time.sleep(0.01)
    raise SystemExit(f"{path} was never acknowledged")


def noise(port, rows, stop):
    """Ask for predictions, and nothing else."""
    k = 0
    while not stop.is_set():
        k += 1
        with contextlib.suppress(OSError, http.client.HTTPException):
            ask(port, "POST", "/v1/predict", {"records": rows[k % 50 * 3 : k % 50 * 3 + 3]})
        time.sleep(0.002)


def trial(name, kills, folder, seed, sync):
    """Kill a service so many times; give the seconds that its starts took."""
    rng = np.random.default_rng(seed)
    chunk = Agrawal(function=3, seed=seed).read(ROWS)
    X, y = np.round(chunk.X, 6), chunk.y.tolist()
    keeper, stop = Keeper(name, folder, sync, rng), threading.Event()
    other = threading.Thread(target=noise, args=(keeper.port, X[:200].tolist(), stop))
    killer_stop = threading.Event()

    def killer():
        while keeper.kills < kills and not killer_stop.is_set():
            time.sleep(0.005)
            if time.monotonic() >= keeper.until:
                keeper.kill()

    other.start()
    killing = threading.Thread(target=killer)
    killing.start()
    waiting, learned, told, at = [], [], 0, 0
    try:
        while killing.is_alive() and at + 5 <= ROWS:
            answer = surely(keeper.port, "/v1/predict", {"records": X[at : at + 5].tolist()}, f"p{at}")
            wanted = set(answer["wanted"])
            waiting += [(r, t, t in wanted) for r, t in zip(range(at, at + 5), answer["tickets"], strict=True)]
            at += 5
            rng.shuffle(waiting)
            some, waiting = waiting[:4], waiting[4:]
            outcome = surely(
                keeper.port,
                "/v1/labels",
                {"labels": [y[r] for r, _, _ in some], "tickets": [t for _, t, _ in some]},
                f"l{at}",
            )
            assert outcome["scored"] == len(some), outcome
            told += len(some)
            learned += [r for r, _, good in some if good]
    finally:
        killer_stop.set()
        killing.join()
        stop.set()
        other.join()
    assert keeper.kills >= kills, f"the rows ended after {keeper.kills} kills"
    state = json.loads(ask(keeper.port, "GET", "/v1/state?history=0")[1])
    assert state["labels"]["answered"] == told, "a label was lost, or taken twice"
    (folder / "model").write_bytes(ask(keeper.port, "GET", "/v1/model/file")[1])
    os.kill(keeper.child, signal.SIGTERM)
    os.waitpid(keeper.child, 0)
    model, expected = load(folder / "model"), make_learner(name)
    asks, expected = expected.asks, expected.model if expected.asks else expected
    expected.declare(Schema.numeric(FEATURES))
    if asks:
        begin(expected, Schema.numeric(FEATURES))
    if learned:
        expected.partial_fit(X[learned], [y[r] for r in learned])
    mine, theirs = ({n: t.tobytes() for n, t in each.state().items()} for each in (model, expected))
    assert mine == theirs, "another model than one that was never killed"
    return keeper.starts, len(learned), told


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--only", nargs="*", default=LEARNERS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sync", default="interval")
    given = parser.parse_args(words)
    for k, name in enumerate(given.only):
        n = given.kills // len(given.only)
        with tempfile.TemporaryDirectory() as folder:
            starts, learned, told = trial(name, n, Path(folder), given.seed + k, given.sync)
        median, longest = statistics.median(starts), max(starts)
        print(f"{name}: {n} kills, {told} labels acknowledged, {learned} learned, each once; "
              f"ready again after {median:.2f} s (median), {longest:.2f} s at most", flush=True)  # fmt: skip


if __name__ == "__main__":
    asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())
    sys.exit(main())
