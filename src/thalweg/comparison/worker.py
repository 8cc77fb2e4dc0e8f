"""What a worker process does: read a cell as a line of JSON, run it, answer in lines of JSON, until input ends.

Whoever started it may die at any time: its end of the pipes is then closed, and the worker ends at the next line.
"""

import json
import os
import signal
import sys
import time
from typing import Any

from thalweg import registry
from thalweg.comparison.cell import Cell
from thalweg.evaluate.prequential import Progress

PAUSE = 0.1
"""Seconds between two reports of progress."""


def main() -> None:
    """Work until there is nothing more to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who started us; it ends us
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints does not mix with the answers
    registry.adopt(json.loads(sys.argv[1]) if len(sys.argv) > 1 else ())

    def tell(**answer: Any) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        for line in sys.stdin:
            _work(Cell(**json.loads(line)), tell)
    except BrokenPipeError:
        os._exit(1)  # nobody listens


def _work(cell: Cell, tell: Any) -> None:
    last = 0.0

    def on_progress(now: Progress) -> None:
        nonlocal last
        if now.stage == "compiling" or time.monotonic() - last >= PAUSE:
            last = time.monotonic()
            accuracy = None if now.accuracy != now.accuracy else now.accuracy
            tell(stage=now.stage, rows=now.rows, total=now.total, accuracy=accuracy)

    try:
        result = cell.run(on_progress)
    except BrokenPipeError:
        raise
    except Exception as error:
        tell(error=" ".join(f"{type(error).__name__}: {error}".split()))
    else:
        tell(result=result.to_json())


if __name__ == "__main__":
    main()
