"""PCA-kNN with its window projected again every so many rows: accuracy, CPU time of a row, megabytes.

``python reproject.py --streams CNAE Enron``. Real streams are read from the folder that THALWEG_DATA names.
"""

import argparse
import statistics
from collections.abc import Callable
from typing import Any

from compressed import run_through
from report import Table
from rich.console import Console

import thalweg

STREAMS: dict[str, Callable[[int], Any]] = {
    "Text": lambda seed: thalweg.Text(words=1000, seed=seed, limit=20_000),
    "Enron": lambda _: thalweg.load_dataset("enron", sparse=True),
    "CNAE": lambda _: thalweg.load_dataset("cnae9"),
}
EVERY = (None, 500, 100)
SHOWN = (
    ("Accuracy in per cent, mean", statistics.mean, ".2f"),
    ("CPU µs of a row, median", statistics.median, ".0f"),
    ("Megabytes", statistics.median, ".2f"),
)


def measure(stream: str, seed: int, every: int | None) -> tuple[float, float, float]:
    """Run over a whole stream, each row predicted before it is learned."""
    source, made = STREAMS[stream](seed), thalweg.PCAKNN(p=40, k=5, reproject_every=every)
    accuracy, seconds, rows = run_through(made, source)
    return accuracy, 1e6 * seconds / rows, made.state_bytes / 1e6


def main() -> None:
    """Measure what is asked for, and print it."""
    parser = argparse.ArgumentParser(description="PCA-kNN with its window projected again")
    parser.add_argument("--streams", nargs="+", default=list(STREAMS), choices=list(STREAMS))
    parser.add_argument("--runs", type=int, default=5, help="each with another seed of Text (default 5)")
    options = parser.parse_args()
    runs = [
        {(stream, n): measure(stream, seed, n) for stream in options.streams for n in EVERY}
        for seed in range(1, options.runs + 1)
    ]
    for i, (title, summed, form) in enumerate(SHOWN):
        rows = [
            (str(n), *(format(summed([run[stream, n][i] for run in runs]), form) for stream in options.streams))
            for n in EVERY
        ]
        table = Table(title, ("reproject_every", *options.streams), rows)
        table.show(Console(width=200))
        print(table.markdown())


if __name__ == "__main__":
    main()
