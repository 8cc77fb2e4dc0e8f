"""Sine, Mixed and STAGGER: labels against plain Python, shares against closed forms."""

import math
from typing import Any

import numpy as np
import pytest

from thalweg.streams.generators.mixed import Mixed
from thalweg.streams.generators.sine import Sine
from thalweg.streams.generators.stagger import STAGGER

BELOW_WAVE = 0.5 + 0.3 * 2 / (3 * math.pi)


def sine(function: int, x: list[float]) -> int:
    curve = math.sin(x[0]) if function in (1, 2) else 0.5 + 0.3 * math.sin(3 * math.pi * x[0])
    return int((x[1] < curve) == (function in (2, 4)))


def mixed(function: int, x: list[float]) -> int:
    conditions = [x[0] == 1, x[1] == 1, x[3] < 0.5 + 0.3 * math.sin(3 * math.pi * x[2])]
    return int((sum(conditions) >= 2) == (function == 2))


def stagger(function: int, x: list[float]) -> int:
    size, colour, shape = (f.values[int(v)] for f, v in zip(STAGGER().schema.features, x, strict=True))
    rules = size == "small" and colour == "red", colour == "green" or shape == "circle", size in ("medium", "large")
    return int(rules[function - 1])


RULES: list[tuple[Any, Any, int, float]] = [
    (Sine, sine, 1, math.cos(1)),
    (Sine, sine, 2, 1 - math.cos(1)),
    (Sine, sine, 3, 1 - BELOW_WAVE),
    (Sine, sine, 4, BELOW_WAVE),
    (Mixed, mixed, 1, 1 - (1 / 4 + BELOW_WAVE / 2)),
    (Mixed, mixed, 2, 1 / 4 + BELOW_WAVE / 2),
    (STAGGER, stagger, 1, 1 / 9),
    (STAGGER, stagger, 2, 5 / 9),
    (STAGGER, stagger, 3, 2 / 3),
]


@pytest.mark.parametrize("rng", ["splitmix", "java"])
@pytest.mark.parametrize(("make", "twin", "function", "share"), RULES)
def test_labels_and_shares(make: Any, twin: Any, function: int, share: float, rng: str) -> None:
    chunk = make(function=function, rng=rng, seed=function).take(50_000)
    assert chunk.y[:5000].tolist() == [twin(function, row) for row in chunk.X[:5000].tolist()]
    assert abs(chunk.y.mean() - share) < 4 * math.sqrt(share * (1 - share) / len(chunk))
    assert make(function=function, rng=rng, balance=True).take(500).y.tolist() == [1, 0] * 250


def test_the_shares_of_the_specification() -> None:
    assert 1 - math.cos(1) == pytest.approx(0.4597, abs=5e-5)
    assert BELOW_WAVE == pytest.approx(0.5635, abs=5e-4)
    assert 1 / 4 + BELOW_WAVE / 2 == pytest.approx(0.532, abs=5e-4)


def test_features() -> None:
    assert Sine().take(3).X.shape == (3, 4)
    two = Sine(irrelevant=False).take(20_000)
    assert two.X.shape == (20_000, 2)
    assert two.X.max() < 1.0
    four = Sine().take(20_000).X
    assert np.abs(four.mean(axis=0) - 0.5).max() < 4 * math.sqrt(1 / 12 / len(four))
    booleans = Mixed().take(20_000).X[:, :2]
    assert np.abs(booleans.mean(axis=0) - 0.5).max() < 4 * 0.5 / math.sqrt(20_000)


@pytest.mark.parametrize(("make", "most"), [(Sine, 4), (Mixed, 2), (STAGGER, 3)])
def test_unknown_functions(make: Any, most: int) -> None:
    with pytest.raises(ValueError, match=rf"function must lie in \[1, {most}\], got {most + 1}"):
        make(function=most + 1)
    with pytest.raises(TypeError, match="balance must be True or False, got None"):
        make(balance=None)
    with pytest.raises(ValueError, match="rng must be one of 'splitmix', 'java', got 'c'"):
        make(rng="c")
