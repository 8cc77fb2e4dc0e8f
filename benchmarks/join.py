"""How fast labels from another stream find their records by key, and in how much memory.

    python benchmarks/join.py [--records 10000000]

Records come one a second; labels up to 50,000 seconds later, out of order; 1 % of them up to 1,000 seconds before their
record, 1 % twice, 2 % never. The learner is the majority class, so that the join is all that is timed. Both streams
are made as they are read, from the number of the record alone: nothing but the join needs memory. The counts are
compared with those that follow from the plan; CPU time, the repeats with integers and text as keys in turn.
"""

import argparse
import time

import numpy as np

from thalweg import MajorityClass, prequential
from thalweg.core.chunk import Chunk
from thalweg.core.schema import Feature, Schema

LATEST = 50_000  # seconds a label takes at most
FEATURES = 4


def _mixed(i: np.ndarray, salt: int) -> np.ndarray:
    """Give random bits for whole numbers."""
    z = i.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15 * (salt + 1) & (2**64 - 1))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))


def _key(i: np.ndarray, text: bool) -> np.ndarray:
    keys = (_mixed(i, 0) >> np.uint64(1)).astype(np.int64)  # splitmix64 is one to one; so are 63 of its bits, nearly
    return np.char.add("order-", keys.astype(str)) if text else keys


class _Made:
    """A stream of so many rows that are made when they are read."""

    drifts = ()

    def __init__(self, keys, times, columns, names) -> None:
        self._keys, self._times, self._columns = keys, times, columns
        self.schema = Schema(tuple(Feature(name) for name in names))
        self.at = 0
        self.rows = len(times)

    def read(self, n):
        if self.at >= self.rows:
            return None
        part = slice(self.at, self.at + n)
        self.at = min(self.at + n, self.rows)
        return Chunk(self._columns(part), self._keys(part), None, self._times[part].astype(np.float64))


def plan(n: int):
    """Give the order of labels, their times, and the counts that a join must find."""
    i = np.arange(n)
    fate = _mixed(i, 1) % np.uint64(100)  # 0: early, 1: twice, 2 and 3: never
    delay = (_mixed(i, 2) % np.uint64(LATEST)).astype(np.int64) + 1
    delay[fate == 0] = -1 - delay[fate == 0] % 1000
    has = (fate != 2) & (fate != 3)
    twice = i[fate == 1]
    of = np.concatenate([i[has], twice])
    at = np.concatenate([i[has] + delay[has], twice + delay[twice] + 1 + delay[twice] // 7])
    order = np.argsort(at, kind="stable")
    counts = {"matched": int(has.sum()), "early": int((fate == 0).sum()), "late": 0, "repeated": len(twice)}
    return of[order].astype(np.int32), at[order].astype(np.int32), counts, n - int(has.sum())


def _resident() -> float:
    """Give the memory of the process in MiB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


def run(n: int, text: bool, wait: str, max_open: int) -> None:
    of, at, counts, never = plan(n)
    i = np.arange(n, dtype=np.int32)
    X = np.random.default_rng(1).random((1 << 16, FEATURES))

    def rows(part):
        return X.take(i[part] & 0xFFFF, axis=0)

    def label_rows(part):
        return (of[part].astype(np.float64) % 3.0).reshape(-1, 1)

    records = _Made(lambda p: _key(i[p], text), i, rows, "abcd")
    labels = _Made(lambda p: _key(of[p], text), at, label_rows, ["class"])
    made = time.process_time()
    for stream in (records, labels):  # what it costs to make the streams is no part of the join
        while stream.read(8192) is not None:
            pass
        stream.at = 0
    made = time.process_time() - made
    before = _resident()
    begun = time.process_time()
    seen, memory = [], [before]

    def watch(now):
        seen.append(now.joined.get("open", 0))
        memory.append(_resident())

    result = prequential(
        records,
        MajorityClass(),
        labels=labels,
        key="id",
        wait=wait,
        max_open=max_open,
        chunk=8192,
        every=10**9,
        metrics=["accuracy"],
        on_progress=watch,
    )
    took = time.process_time() - begun - made
    grown = max(memory) - before
    from thalweg.evaluate.join import Join

    bound = Join(wait=None, max_open=max_open).most_bytes(FEATURES, 3, 32 if text else 8) / 2**20
    joined = result.joined
    exact = all(joined[name] == count for name, count in counts.items())
    exact &= joined["expired"] + joined["open"] == never and joined["orphaned"] == joined["ahead"] == 0
    pairs = counts["matched"] / took
    print(
        f"{'text' if text else 'integer'} keys: {pairs:,.0f} pairs/s of CPU ({took:.1f} s; streams {made:.1f} s more), "
        f"counts {'exact' if exact else 'WRONG'}: {joined}, at most {max(seen):,} open, "
        f"process grew by {grown:.0f} MiB, stated bound {bound:.0f} MiB",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--wait", default="20h")
    parser.add_argument("--max-open", type=int, default=200_000)
    given = parser.parse_args()
    run(20_000, False, given.wait, given.max_open)  # compiles
    for _ in range(given.repeats):
        for text in (False, True):
            run(given.records, text, given.wait, given.max_open)
