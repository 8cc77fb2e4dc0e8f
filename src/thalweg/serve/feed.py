"""Feed a service a drifting stream through its own HTTP interface, for a look at it.

    python -m thalweg.serve.feed http://127.0.0.1:8642 --rate 200

Loan applications come, so many a second; the rule by which they are granted changes every few thousand. Labels come
back some seconds later, for those records whose label is wanted.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

from thalweg.serve.client import Client, ServiceError
from thalweg.serve.records import record_of
from thalweg.streams.generators.agrawal import Agrawal

RULES = (3, 4, 1, 7)
AT_ONCE = 10


def feed(
    address: str,
    *,
    rate: float = 200.0,
    delay: float = 2.0,
    every: int = 5_000,
    limit: int | None = None,
    seed: int = 1,
) -> int:
    """Send records and labels; give how many records were sent.

    rate: records per second. delay: seconds until a label comes back. every: records until the rule changes. limit:
    records in all; None: until the service is gone.
    """
    streams = [Agrawal(function=rule, seed=seed + k) for k, rule in enumerate(RULES)]
    sent, waiting = 0, []
    began = time.monotonic()
    with Client(address, tries=5) as client:
        while limit is None or sent < limit:
            stream = streams[sent // every % len(streams)]
            chunk = stream.read(AT_ONCE)
            assert chunk is not None
            records: list[Any] = [record_of(row, stream.schema) for row in chunk.X]
            labels = ["granted" if y else "refused" for y in chunk.y.tolist()]
            try:
                answer = client.predict(records)
                wanted, now = set(answer["wanted"]), time.monotonic()
                tickets = answer["tickets"] or []
                waiting += [(now + delay, t, y) for t, y in zip(tickets, labels, strict=False) if t in wanted]
                due = [each for each in waiting if each[0] <= now]
                if due:
                    client.label([y for _, _, y in due], tickets=[t for _, t, _ in due])
                    waiting = [each for each in waiting if each[0] > now]
            except ServiceError as error:
                if error.status not in (429, 503):
                    raise
            sent += AT_ONCE
            time.sleep(max(0.0, began + sent / rate - time.monotonic()))
    return sent


def main(words: Sequence[str] | None = None) -> None:
    """Feed the service at an address."""
    parser = argparse.ArgumentParser(description="feed a service a drifting stream")
    parser.add_argument("address")
    parser.add_argument("--rate", type=float, default=200.0, help="records per second")
    parser.add_argument("--delay", type=float, default=2.0, help="seconds until a label comes back")
    parser.add_argument("--every", type=int, default=5_000, help="records until the rule changes")
    parser.add_argument("--limit", type=int, help="records in all")
    given = parser.parse_args(words)
    try:
        feed(given.address, rate=given.rate, delay=given.delay, every=given.every, limit=given.limit)
    except (KeyboardInterrupt, OSError):
        pass


if __name__ == "__main__":
    main()
