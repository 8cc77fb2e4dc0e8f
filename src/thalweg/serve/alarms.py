"""Alarms: what somebody should know now. They are on the page, in /metrics, in the log, and sent to a webhook."""

import asyncio
import hashlib
import hmac
import json
import time
import urllib.error
import urllib.request
from typing import Any, final

from thalweg.core import params

NAMES = ("drift", "accuracy", "no_labels", "budget", "schema", "disk")
"""drift: errors rose. accuracy: it is below the line. no_labels: none came for a while. budget: it is spent, so that
no label was asked for during a minute. schema: requests are refused for their form. disk: the journal cannot be
written, or learning failed."""
_DRIFT_LASTS = 600.0  # seconds
_TRIES = 6


@final
class Alarms:
    """Which alarms are on.

    min_accuracy: the line, over the rolling window. no_labels: seconds without a label, while records come, that are
    too many; None: never. refused: refused requests within a minute that are too many.
    """

    def __init__(
        self, *, min_accuracy: float | None = None, no_labels: float | None = None, refused: int = 100
    ) -> None:
        if min_accuracy is not None:
            params.number("min_accuracy", min_accuracy, least=0, most=1)
        if no_labels is not None:
            params.number("no_labels", no_labels, above=0)
        params.whole("refused", refused, least=1)
        self.min_accuracy, self.no_labels, self.refused = min_accuracy, no_labels, refused
        self.on: dict[str, dict[str, Any]] = {}
        self.raised = dict.fromkeys(NAMES, 0)

    def set(self, name: str, text: str | None, now: float | None = None) -> dict[str, Any] | None:
        """Let an alarm be on, with a sentence, or off (None); give the news, if there is any."""
        now = time.time() if now is None else now
        if text is not None:
            known = self.on.get(name)
            if known is not None:
                known["text"] = text
                return None
            self.on[name] = {"name": name, "since": now, "text": text}
            self.raised[name] += 1
            return {"name": name, "on": True, "text": text, "since": now}
        gone = self.on.pop(name, None)
        return None if gone is None else {**gone, "on": False}

    def check(self, facts: dict[str, Any], now: float | None = None) -> list[dict[str, Any]]:
        """Compare with the lines; give what changed.

        facts: accuracy and labels (of the window), last_label, records and asked of the last minute, budget_spent (text
        or None), refused (of the last minute), trouble (a sentence or None), drift (when the last one was, its text).
        """
        now = time.time() if now is None else now
        line, accuracy = self.min_accuracy, facts.get("accuracy")
        low = line is not None and accuracy is not None and facts.get("labels", 0) >= 100 and accuracy < line
        last, at, quiet = facts.get("last_label") or facts.get("started", now), facts.get("drift_at"), self.no_labels
        silent = quiet is not None and facts.get("records", 0) > 0 and now - last > quiet
        refused = facts.get("refused", 0)
        found = {
            "accuracy": f"accuracy is {accuracy:.1%}, below {line:.1%}" if low else None,
            "no_labels": f"no label has come for {(now - last) / 60:.0f} minutes" if silent else None,
            "budget": facts.get("budget_spent"),
            "schema": f"{refused} requests were refused within a minute" if refused >= self.refused else None,
            "disk": facts.get("trouble"),
            "drift": facts.get("drift_text") if at is not None and now - at < _DRIFT_LASTS else None,
        }
        news = [self.set(name, text, now) for name, text in found.items()]
        return [each for each in news if each is not None]


@final
class Webhook:
    """Sends news to an address, again and again until it is taken, signed with a secret (HMAC-SHA256)."""

    def __init__(self, url: str, secret: str | None, *, patience: float = 1.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(
                f"webhook must be an address that begins with http:// or https://, got {params.shown(url)}"
            )
        self.url, self._secret, self._patience = url, secret, patience
        self.sent = self.failed = 0
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(1_000)

    def put(self, thing: dict[str, Any]) -> None:
        """Send something; where too much waits already, the oldest is dropped, and counted as failed."""
        if self._queue.full():
            self._queue.get_nowait()
            self.failed += 1
        self._queue.put_nowait(json.dumps(thing).encode())

    async def run(self) -> None:
        """Send what comes, in order."""
        while True:
            body = await self._queue.get()
            for attempt in range(_TRIES):
                if await asyncio.to_thread(self._send, body):
                    self.sent += 1
                    break
                await asyncio.sleep(self._patience * 2**attempt)
            else:
                self.failed += 1

    def _send(self, body: bytes) -> bool:
        headers = {"content-type": "application/json"}
        if self._secret is not None:
            headers["x-thalweg-signature"] = "sha256=" + sign(body, self._secret)
        try:
            request = urllib.request.Request(self.url, body, headers, method="POST")
            with urllib.request.urlopen(request, timeout=10.0) as answer:
                return bool(200 <= answer.status < 300)
        except (urllib.error.URLError, OSError, ValueError):
            return False


def sign(body: bytes, secret: str) -> str:
    """The signature of a body, to be compared by whoever gets it.

    >>> sign(b"{}", "secret")[:16]
    '77325902caca812d'
    """
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
