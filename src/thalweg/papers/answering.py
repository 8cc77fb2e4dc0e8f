"""What it costs to ask a learner that has learned: time of an answer, and size of the index it answers through.

A run that predicts and learns cannot tell, as learning takes most of its time.
"""

import time
from functools import lru_cache
from statistics import median
from typing import Any

from thalweg.registry.typed import make_learner, open_stream

BATCH, TIMES = 1_000, 5


@lru_cache(maxsize=256)
def answer_costs(learner: str, stream: str, rows: int | None) -> tuple[float, float]:
    """Let a learner learn rows of a stream, then ask it about the last of them: CPU µs of an answer, kB of the index.

    The time is the median of five batches of 1,000 records. The learner must answer through an index of rules.

    >>> micros, kilobytes = answer_costs("chunk-ensemble(chunk=500, index=e-tree)", "sea", 2_000)
    >>> micros > 0, kilobytes > 0
    (True, True)
    """
    asked: Any = make_learner(learner, seed=1)
    source = open_stream(stream, seed=1)
    asked.declare(source.schema)
    done = 0
    while (rows is None or done < rows) and (chunk := source.read(min(10_000, (rows or done + 10_000) - done))):
        asked.partial_fit(chunk.X, chunk.y)
        done, last = done + len(chunk.y), chunk
    batch = last.X[-BATCH:]
    asked.predict_proba(batch)  # what is compiled or built at the first question is not counted
    took = []
    for _ in range(TIMES):
        start = time.process_time()
        asked.predict_proba(batch)
        took.append(time.process_time() - start)
    return 1e6 * median(took) / len(batch), asked.rule_index.nbytes / 1000.0
