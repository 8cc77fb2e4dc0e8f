"""Records and labels that meet by key, with a dict and lists: what ``evaluate/join_jit.py`` does, plainly."""

import math
from typing import Any


class JoinTwin:
    """Says for each record and label that comes what is to be done: ("predict", record) or ("learn", record, label)."""

    def __init__(self, wait: float, max_open: int) -> None:
        self.wait, self.most = wait, max_open
        self.open: dict[Any, float] = {}
        self.ahead: dict[Any, tuple[float, Any]] = {}
        self.closed: dict[Any, tuple[float, str]] = {}
        self.counts = dict.fromkeys(("matched", "early", "late", "repeated", "expired", "orphaned"), 0)

    def _let_go(self, now: float) -> None:
        for key in [k for k, born in self.open.items() if now - born > self.wait]:
            self._expire(key, now)
        for key in [k for k, (born, _) in self.ahead.items() if now - born > self.wait]:
            del self.ahead[key]
            self.counts["orphaned"] += 1
        for key in [k for k, (born, _) in self.closed.items() if now - born > self.wait]:
            del self.closed[key]

    def _expire(self, key: Any, now: float) -> None:
        del self.open[key]
        self.counts["expired"] += 1
        self._close(key, now, "gone")

    def _close(self, key: Any, now: float, why: str) -> None:
        if len(self.closed) >= self.most:
            del self.closed[next(iter(self.closed))]
        self.closed[key] = (now, why)

    def record(self, key: Any, now: float) -> list[tuple[Any, ...]]:
        self._let_go(now)
        if key in self.ahead:
            _, label = self.ahead.pop(key)
            self.counts["matched"] += 1
            self.counts["early"] += 1
            self._close(key, now, "done")
            return [("predict", key), ("learn", key, label)]
        if key in self.open or key in self.closed:
            raise ValueError("twice")
        while len(self.open) >= self.most:
            self._expire(next(iter(self.open)), now)
        self.open[key] = now
        return [("predict", key)]

    def label(self, key: Any, label: Any, now: float) -> list[tuple[Any, ...]]:
        self._let_go(now)
        if key in self.open:
            del self.open[key]
            self.counts["matched"] += 1
            self._close(key, now, "done")
            return [("learn", key, label)]
        if key in self.ahead or (key in self.closed and self.closed[key][1] == "done"):
            self.counts["repeated"] += 1
        elif key in self.closed:
            self.counts["late"] += 1
        else:
            if len(self.ahead) >= self.most:
                del self.ahead[next(iter(self.ahead))]
                self.counts["orphaned"] += 1
            self.ahead[key] = (now, label)
        return []

    def all_counts(self) -> dict[str, int]:
        return self.counts | {"open": len(self.open), "ahead": len(self.ahead)}


def merged(records: list[tuple[Any, float]], labels: list[tuple[Any, Any, float]]) -> list[tuple[Any, ...]]:
    """Put records and labels in the order of time, neither overtaking its own kind, a record before a label."""
    out: list[tuple[Any, ...]] = []
    i = j = 0
    a = b = -math.inf
    while i < len(records) or j < len(labels):
        first = max(a, records[i][1]) if i < len(records) else math.inf
        second = max(b, labels[j][2]) if j < len(labels) else math.inf
        if first <= second:
            out.append(("record", records[i][0], first))
            a, i = first, i + 1
        else:
            out.append(("label", *labels[j][:2], second))
            b, j = second, j + 1
    return out
