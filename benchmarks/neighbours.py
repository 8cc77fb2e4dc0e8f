"""Neighbours beside CapyMOA's and river's, and the distances beside NumPy's: ``python neighbours.py``."""

import time
from statistics import median

import numpy as np
import records
from matches import Match, run
from play import pin
from report import rate, times

from thalweg import CompressedKNN, Schema, WindowKNN

MATCHES = (
    Match("kNN", "40 numbers", 10_000, capymoa=15, river=15, river_rows=3_000, passes=2),
    Match("kNN", "1,000 numbers", 2_000, capymoa=200, river=100, river_rows=2_000, passes=2),
    Match("SAM kNN", "Electricity", 20_000, capymoa=5, passes=2),
    Match("SAM kNN", "RBF with drift", 20_000, capymoa=5, passes=2),
)


def stream(name: str) -> records.Records | None:
    """Draw or read a stream."""
    if name == "Electricity":
        return records.electricity()
    return records.rbf_drift() if name == "RBF with drift" else records.clusters(40 if name == "40 numbers" else 1_000)


def by_product(d: int, rows: int = 3_000, window: int = 1_000) -> None:
    """Compare with NumPy's matrix product, unscaled: row after row, each learned, and all at once, nothing learned."""
    data = records.clusters(d)
    X, y = data.X[: rows + window], data.y[: rows + window]
    learner = WindowKNN(window=window, scale=None).declare(Schema.numeric(d, data.schema.classes))
    learner.partial_fit(X[:window], y[:window])

    def one_by_one() -> None:
        kept = X[:window].copy()
        lengths = (kept**2).sum(axis=1)
        for n, x in enumerate(X[window:]):
            np.argpartition(lengths - 2.0 * (kept @ x), 5)[:5]
            kept[n % window], lengths[n % window] = x, x @ x

    def at_once() -> None:
        lengths = (X[:window] ** 2).sum(axis=1)
        for at in range(window, window + rows, 1000):
            np.argpartition(lengths - 2.0 * X[at : at + 1000] @ X[:window].T, 5, axis=1)[:, :5]

    for what, ours, theirs in (
        ("predicted, then learned", lambda: learner.copy().test_then_train(X[window:], y[window:]), one_by_one),
        ("predicted only", lambda: learner.predict_proba(X[window:]), at_once),
    ):
        took: list[list[float]] = [[], []]
        for _ in range(5):
            for seconds, work in zip(took, (ours, theirs), strict=True):
                start = time.process_time()
                work()
                seconds.append(time.process_time() - start)
        a, b = (rows / median(seconds) for seconds in took)
        print(f"{d:,} numbers, {what}: thalweg {rate(a)} rows/s, NumPy's product {rate(b)}: {times(a / b)}")


def by_width(widths: tuple[int, ...] = (1_000, 10_000), rows: int = 3_000) -> None:
    """Show how the time of the compressed learner grows with the width of the rows, dense and one in a hundred."""
    from scipy.sparse import csr_array, random_array

    for d in widths:
        rng = np.random.default_rng(1)
        for what, X in (
            ("dense", rng.normal(size=(rows, d))),
            ("1 % of the values", csr_array(random_array((rows, d), density=0.01, rng=rng))),
        ):
            y = rng.integers(0, 2, rows)
            learner = CompressedKNN(p=40).declare(Schema.numeric(d, (0, 1))).partial_fit(X[:1000], y[:1000])
            start = time.process_time()
            learner.test_then_train(X, y)
            whole = time.process_time() - start
            start = time.process_time()
            learner.project(X)
            product = time.process_time() - start
            took, of_it = 1e6 * whole / rows, 1e6 * product / rows
            print(f"{d:,} columns, {what}: {took:.1f} µs a row, of which the projection takes {of_it:.1f}")


if __name__ == "__main__":
    pin()
    for width in (40, 1_000):
        by_product(width)
    by_width()
    run("Neighbours", MATCHES, stream)
