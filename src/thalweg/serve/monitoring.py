"""Numbers about the service itself: requests, latencies, rates, alarms; and all of it for Prometheus."""

import logging
import time
from collections import deque
from typing import Any, final

import numpy as np

from thalweg.serve.alarms import NAMES, Alarms, Webhook
from thalweg.serve.engine import Engine
from thalweg.serve.learning import Event
from thalweg.serve.security import log_line
from thalweg.serve.state import labels_view, number, resident

log = logging.getLogger("thalweg.serve")
BUCKETS = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.015, 0.03, 0.06, 0.125, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper ends, in seconds, of the histogram of latencies."""
_LATEST = 4_096


@final
class Monitor:
    """Counts."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.rules = Alarms()
        self.webhook: Webhook | None = None
        self.log_requests = False
        self.records = self.labels = self.refused = 0
        self.requests: dict[tuple[str, int], int] = {}
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0
        self._latest = np.zeros(_LATEST)
        self._timed = 0
        self._errors = self._total = 0
        self._marks: deque[tuple[float, int, int, int, int, int]] = deque(maxlen=61)
        self._before = (0, 0, 0)
        self._drift: Event | None = None
        self._began = time.time()

    # -- while it runs ------------------------------------------------------------------------------------------------

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        key = path, status
        self.requests[key] = self.requests.get(key, 0) + 1
        self._total += 1
        if status >= 500:
            self._errors += 1
        if path == "/v1/predict":
            self._latest[self._timed % _LATEST] = seconds
            self._timed += 1
            self._seconds += seconds
            self._buckets[_bucket(seconds)] += 1
        if self.log_requests:
            log.info(log_line(at=time.time(), path=path, status=status, ms=round(1e3 * seconds, 3)))

    def answered(self, n: int) -> None:
        """Count records that were answered."""
        self.records += n

    def happened(self, event: Event) -> None:
        """Take note of a drift, a promotion, a rollback."""
        if event.kind == "drift":
            self._drift = event
        log.warning(log_line(at=event.at, event=event.kind, position=event.position, text=event.text))

    def second(self) -> tuple[dict[str, float], dict[str, float]]:
        """Give what is new since the last call: numbers to add, and last values, for the history."""
        now = self._total, self._errors, 0
        new = [a - b for a, b in zip(now, self._before, strict=True)]
        self._before = now
        engine = self.engine
        asked = 0 if engine.book.policy is None else engine.book.policy.asked
        self._marks.append((time.monotonic(), self.records, self._total, self.labels, self.refused, asked))
        latency = self.latency()
        lasts = {
            "lag_rows": float(engine.behind), "version": float(engine.version.number),
            "open": float(engine.book.counts().open), "wanted_open": float(len(engine.book.open_tickets())),
            "memory": float(resident()), "latency_p50": latency["p50"], "latency_p99": latency["p99"],
        }  # fmt: skip
        return {"requests": new[0], "errors": new[1]}, {k: v for k, v in lasts.items() if v is not None}

    def latency(self) -> dict[str, Any]:
        """Milliseconds that the latest requests for predictions took: p50, p90, p99."""
        n = min(self._timed, _LATEST)
        if not n:
            return {"p50": None, "p90": None, "p99": None}
        found = 1e3 * np.quantile(self._latest[:n], [0.5, 0.9, 0.99])
        return dict(zip(("p50", "p90", "p99"), found.tolist(), strict=True))

    def speed(self) -> dict[str, Any]:
        """Rates over the last ten seconds."""
        marks = list(self._marks)[-11:]
        if len(marks) < 2:
            rates = [0.0, 0.0, 0.0]
        else:
            seconds = marks[-1][0] - marks[0][0]
            rates = [(marks[-1][k] - marks[0][k]) / seconds for k in (1, 2, 3)]
        return {
            "records_per_second": rates[0], "requests_per_second": rates[1], "labels_per_second": rates[2],
            "latency": self.latency(),
        }  # fmt: skip

    # -- alarms -------------------------------------------------------------------------------------------------------

    def check(self, seen: Any) -> list[dict[str, Any]]:
        """Compare with the lines; give the alarms that went on or off, and tell the log and the webhook."""
        engine, marks = self.engine, list(self._marks)
        metrics = {} if seen is None else seen["metrics"]
        policy = engine.book.policy
        spent = None
        if policy is not None and len(marks) == self._marks.maxlen and marks[-1][5] == marks[0][5]:
            came = marks[-1][1] - marks[0][1]
            spent = f"no label was asked for during a minute, of {came:,} records" if came >= 100 else None
        news = self.rules.check({
            "accuracy": metrics.get("accuracy"), "labels": 0 if seen is None else seen["overall"]["labels"],
            "last_label": engine.learning.last_label, "started": self._began,
            "records": marks[-1][1] - marks[0][1] if marks else 0,
            "refused": marks[-1][4] - marks[0][4] if marks else 0, "budget_spent": spent,
            "trouble": engine.trouble or engine.learning.trouble,
            "drift_at": None if self._drift is None else self._drift.at,
            "drift_text": None if self._drift is None else self._drift.text,
        })  # fmt: skip
        for alarm in news:
            log.warning(log_line(at=time.time(), alarm=alarm["name"], on=alarm["on"], text=alarm["text"]))
            if self.webhook is not None:
                self.webhook.put(alarm)
        return news

    def alarms(self) -> list[dict[str, Any]]:
        """The alarms that are on."""
        return list(self.rules.on.values())

    def histogram(self) -> tuple[list[tuple[str, float]], float]:
        """Latencies of predictions: requests up to each bound, and the sum of seconds."""
        below, found = 0, []
        for bound, n in zip((*map(str, BUCKETS), "+Inf"), self._buckets, strict=True):
            below += n
            found.append((bound, float(below)))
        return found, self._seconds


def _bucket(seconds: float) -> int:
    for k, bound in enumerate(BUCKETS):
        if seconds <= bound:
            return k
    return len(BUCKETS)


def prometheus(monitor: Monitor, seen: dict[str, Any]) -> bytes:
    """Write all numbers as Prometheus reads them."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    engine, labels = monitor.engine, labels_view(monitor.engine)
    found: list[Any] = []

    def gauge(name: str, text: str, value: float | None) -> None:
        if value is not None:
            found.append(GaugeMetricFamily(f"thalweg_{name}", text, value=value))

    def counter(name: str, text: str, value: float) -> None:
        found.append(CounterMetricFamily(f"thalweg_{name}", text, value=value))

    requests = CounterMetricFamily("thalweg_requests", "Requests by path and status.", labels=["path", "status"])
    for (path, status), n in sorted(monitor.requests.items()):
        requests.add_metric([path, str(status)], n)
    buckets, total = monitor.histogram()
    seconds = HistogramMetricFamily("thalweg_predict_seconds", "Seconds per request for predictions.")
    seconds.add_metric([], buckets=buckets, sum_value=total)
    alarms = GaugeMetricFamily("thalweg_alarm", "Is an alarm on?", labels=["name"])
    for name in NAMES:
        alarms.add_metric([name], float(name in monitor.rules.on))
    found += [requests, seconds, alarms]
    counter("records", "Records answered.", monitor.records)
    counter("labels", "Labels taken.", monitor.labels)
    counter("refused", "Requests refused for their form.", monitor.refused)
    counter("drifts", "Drifts found.", seen["drifts"])
    counter("learned_rows", "Rows learned.", seen["model"]["learned"])
    counter("version_swaps", "Versions that have answered.", engine.thread.swaps)
    metrics = seen["metrics"]
    gauge("accuracy", "Over the rolling window.", metrics["accuracy"])
    gauge("kappa", "Over the rolling window.", metrics["kappa"])
    gauge("no_change_accuracy", "Of repeating the last label, over the window.", metrics["no_change"])
    gauge("tickets_open", "Records that wait for a label.", labels["open"])
    gauge("labels_wanted_open", "Labels that are asked for and have not come.", labels["wanted_open"])
    gauge("labels_asked_share", "Share of the records whose label was asked for.", labels["budget_used"])
    gauge("oldest_wanted_seconds", "Age of the oldest open question.", labels["oldest_wanted"] or 0.0)
    gauge("tickets_expired", "Tickets let go of without a label.", labels["expired"])
    gauge("lag_rows", "Rows that wait to be learned.", engine.behind)
    gauge("lag_entries", "Entries of the journal behind the version that answers.",
          0 if engine.each else engine.applied - engine.version.number)  # fmt: skip
    gauge("version", "The version that answers.", engine.version.number)
    gauge("journal_position", "The last entry of the journal.", engine.applied)
    gauge("journal_bytes", "Bytes of the journal.", engine.journal.nbytes)
    gauge("snapshot_bytes", "Bytes of the snapshots.", engine.snapshots.nbytes)
    gauge("resident_bytes", "Bytes of memory of the process.", resident())
    gauge("model_bytes", "Bytes of the champion.", seen["bytes"]["champion"])
    gauge("learning_refused", "1 while nothing can be written down.", float(engine.trouble is not None))
    shadows = GaugeMetricFamily("thalweg_shadow_accuracy", "Of a shadow, over the window.", labels=["name"])
    for shadow in seen["shadows"]:
        if shadow["accuracy"] is not None:
            shadows.add_metric([shadow["name"]], number(shadow["accuracy"]) or 0.0)
    found.append(shadows)

    class Ours:
        def collect(self) -> Any:
            return iter(found)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Ours())
    out: bytes = generate_latest(registry)
    return out
