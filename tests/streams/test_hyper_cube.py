"""The drifting hyper-cube of the E-tree paper."""

from typing import Any

import numpy as np
import pytest

from thalweg.streams.generators.hyper_cube import HyperCube


def near(got: float, want: float, n: int) -> bool:
    return abs(got - want) <= 4 * np.sqrt(want * (1 - want) / n)


@pytest.mark.parametrize(("features", "width", "inside"), [(5, 0.5, 0.3), (10, 0.5, 0.3), (3, 0.8, 0.0), (5, 0.5, 0.0)])
def test_labels_and_shares(features: int, width: float, inside: float) -> None:
    n = 40_000
    options: dict[str, Any] = {"features": features, "width": width, "inside": inside, "alpha": 0.05}
    stream = HyperCube(noise=0.0, period=10 * n, **options)
    low = stream._now["low"].copy()
    chunk = stream.take(n)
    within = ((chunk.X >= low) & (chunk.X <= low + width)).all(axis=1)
    assert np.array_equal(within, chunk.y == 1)
    assert near(float(chunk.y.mean()), inside or width**features, n)
    assert (chunk.X.min() >= 0) & (chunk.X.max() < 1)
    loud = HyperCube(noise=0.05, period=10 * n, **options)
    noisy = loud.take(n)
    within = ((noisy.X >= low) & (noisy.X <= low + width)).all(axis=1)
    assert near(float((within != (noisy.y == 1)).mean()), 0.05, n)


def test_the_cube_moves_along_one_dimension_after_each_period() -> None:
    stream = HyperCube(period=100, alpha=0.1, noise=0.0)
    assert (stream._now["low"] == 0.25).all()
    moves, ups = set(), 0
    stream.take(100)
    for _ in range(400):
        before = stream._now["low"].copy()
        chunk = stream.take(100)
        step = stream._now["low"] - before
        (f,) = np.flatnonzero(step)
        assert abs(step[f]) == pytest.approx(0.1)
        assert (stream._now["low"] >= 0).all()
        assert (stream._now["low"] <= 0.5).all()
        within = ((chunk.X >= stream._now["low"]) & (chunk.X <= stream._now["low"] + 0.5)).all(axis=1)
        assert np.array_equal(within, chunk.y == 1)
        moves.add(int(f))
        ups += step[f] > 0
    assert moves == set(range(5))
    assert near(ups / 400, 0.5, 400)


def test_drifts() -> None:
    assert HyperCube(period=100, limit=350).drifts == (100, 200, 300)
    assert HyperCube(period=100, limit=350, alpha=0).drifts == ()
    endless = HyperCube(period=7)
    assert endless.drifts == tuple(range(7, 7001 + 6, 7))[:1000]
    endless.take(100)
    assert len(endless.drifts) == 1000


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"width": 1.0}, r"width must lie in \(0, 1\), got 1.0"),
        ({"alpha": 0.3}, r"alpha must lie in \[0, 0.25\], got 0.3"),
        ({"inside": -0.1}, r"inside must lie in \[0, 1\], got -0.1"),
        ({"period": 0}, r"period must lie in \[1, ∞\), got 0"),
    ],
)
def test_bad_parameters(params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        HyperCube(**params)
