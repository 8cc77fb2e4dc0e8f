"""Rows with numbers, gaps and names, as tests of live streams send them."""

from typing import Any

import numpy as np
import pyarrow as pa


def rows(n: int, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    X = random.random((n, 3)).round(6)
    return pa.table({
        "id": [f"r{i}" for i in range(n)], "a": X[:, 0], "b": pa.array(X[:, 1], mask=random.random(n) < 0.1),
        "colour": random.choice(["red", "green", "blue"], n), "count": random.integers(0, 9, n),
        "class": np.where(X[:, 0] + 0.1 * X[:, 2] > 0.5, "yes", "no"),
    })  # fmt: skip


def bits_of(model: Any) -> dict[str, bytes]:
    """Give everything a learner knows, as bytes."""
    return {name: table.tobytes() for name, table in model.state().items()}
