"""Generators against the closed forms of their papers, and against plain Python."""

from typing import Any

import numpy as np
import pytest
from agrawal_twin import Person, group_a

from thalweg import SEA, Agrawal, Hyperplane, RandomRBF
from thalweg.streams.generators.sea import THRESHOLDS


def near(got: float, want: float, n: int, rounding: float = 0.0) -> bool:
    """Is a share of n draws within four standard errors of what it should be?"""
    return bool(abs(got - want) <= 4 * np.sqrt(want * (1 - want) / n) + rounding)


# -- SEA --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [1, 2, 3, 4])
def test_sea(function: int) -> None:
    chunk = SEA(function=function, noise=0.1, seed=function).take(100_000)
    assert chunk.X.min() >= 0.0
    assert chunk.X.max() < 10.0
    clean = np.array([0 if row[0] + row[1] <= THRESHOLDS[function - 1] else 1 for row in chunk.X.tolist()])
    assert near(1 - clean.mean(), (0.32, 0.405, 0.245, 0.45125)[function - 1], len(clean))
    flipped = chunk.y != clean
    assert near(flipped.mean(), 0.1, len(clean))
    assert near(flipped[clean == 0].mean(), 0.1, int((clean == 0).sum()))  # noise does not look at the class


def test_sea_without_and_with_nothing_but_noise() -> None:
    clean = SEA(noise=0.0, seed=5).take(1000)
    assert ((clean.X[:, 0] + clean.X[:, 1] > 8) == clean.y).all()
    assert (SEA(noise=1.0, seed=5).take(1000).y == 1 - clean.y).all()


@pytest.mark.parametrize("stream", [SEA(noise=0.0, balance=True), Agrawal(function=8, balance=True)])
def test_balanced_classes_take_turns(stream: Any) -> None:
    assert stream.take(1000).y.tolist() == [1, 0] * 500


# -- AGRAWAL ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", range(1, 11))
def test_agrawal_labels(function: int) -> None:
    chunk = Agrawal(function=function, perturbation=0.0, seed=function).take(20_000)
    twin = [0 if group_a(function, Person(*row)) else 1 for row in chunk.X.tolist()]
    assert chunk.y.tolist() == twin


@pytest.mark.parametrize("function", range(1, 11))
def test_agrawal_shares(function: int) -> None:
    want = (41 / 61, 0.385, 0.535, 0.385, 0.400, 0.400, 0.487, 0.980, 0.487, 0.998)[function - 1]
    y = Agrawal(function=function).take(200_000).y
    assert near(1 - y.mean(), want, len(y), rounding=0.0005)


def test_agrawal_values() -> None:
    X = Agrawal(perturbation=0.0).take(50_000).X
    salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan = X.T
    assert ((commission == 0) == (salary >= 75_000)).all()
    assert (salary.min() >= 20_000) & (salary.max() < 150_000)
    assert (commission[commission > 0].min() >= 10_000) & (commission.max() < 75_000)
    for column, least, most in ((age, 20, 80), (elevel, 0, 4), (car, 0, 19), (zipcode, 0, 8), (hyears, 1, 30)):
        assert np.unique(column).tolist() == list(range(least, most + 1))
    worth = hvalue / ((9 - zipcode) * 100_000)
    assert (worth.min() >= 0.5) & (worth.max() < 1.5)
    assert (loan.min() >= 0) & (loan.max() < 500_000)


def test_agrawal_perturbation_comes_after_the_label_and_stays_in_bounds() -> None:
    plain = Agrawal(function=1, perturbation=0.0).take(1)
    moved = Agrawal(function=1, perturbation=0.05).take(1)
    assert plain.y[0] == moved.y[0]
    assert (plain.X[0, 3:6] == moved.X[0, 3:6]).all()  # nominal values stay
    assert (plain.X[0, [0, 8]] != moved.X[0, [0, 8]]).all()
    assert abs(plain.X[0, 0] - moved.X[0, 0]) <= 0.05 * 130_000
    X = Agrawal(perturbation=1.0).take(50_000).X
    for f, least, most in ((0, 20e3, 150e3), (1, 0, 75e3), (2, 20, 80), (6, 0, 1.35e6), (7, 1, 30), (8, 0, 500e3)):
        assert X[:, f].min() == least
        assert X[:, f].max() == most
    assert (X[:, [2, 7]] == np.floor(X[:, [2, 7]])).all()


def test_agrawal_keeps_the_slip_of_moa_where_asked() -> None:
    n = 50_000
    hvalue = Agrawal(compat="moa").take(n).X[:, 6]
    assert hvalue.max() == 135_000
    assert near(float((hvalue == 135_000).mean()), 0.886, n, rounding=0.0005)


# -- RandomRBF --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [0.0, 0.01])
def test_rbf_shares_are_the_weights_of_the_centroids(speed: float) -> None:
    stream = RandomRBF(classes=4, speed=speed, model_seed=3)
    weights = np.diff(stream._bounds, prepend=0.0)
    n = 100_000
    y = stream.take(n).y
    for c in range(4):
        want = weights[stream._owners == c].sum() / weights.sum()
        assert near(float((y == c).mean()), want, n)


def test_rbf_distances_are_normal() -> None:
    stream = RandomRBF(centroids=1, features=5)
    away = np.linalg.norm(stream.take(100_000).X - stream._now["centres"][0], axis=1) / stream._spreads[0]
    assert abs((away**2).mean() - 1.0) < 4 * np.sqrt(2 / len(away))
    assert near(float((away < 1.0).mean()), 0.6826895, len(away))


def test_rbf_drift_moves_each_centroid_by_the_speed_and_turns_at_the_walls() -> None:
    stream = RandomRBF(speed=0.001, drifting=20)
    before = stream._now["centres"].copy()
    stream.take(1)
    moved = np.linalg.norm(stream._now["centres"] - before, axis=1)
    inside = (stream._now["centres"] < 1.0).all(axis=1)  # the others were stopped by a wall
    assert np.allclose(moved[:20][inside[:20]], 0.001)
    assert (moved[20:] == 0.0).all()
    assert (stream._now["centres"][:20] >= before[:20]).all()  # no component is negative at the start
    turned = 0
    for _ in range(200):
        stream.take(50)
        assert (stream._now["centres"] >= 0.0).all()
        assert (stream._now["centres"] <= 1.0).all()
        turned += (stream._now["steps"] < 0).any()
    assert turned > 0
    assert np.allclose(np.linalg.norm(stream._now["steps"], axis=1), 0.001)


def test_rbf_model_seed_and_seed() -> None:
    one, two = RandomRBF(seed=1), RandomRBF(seed=2)
    assert (one._now["centres"] == two._now["centres"]).all()
    assert (one.take(10).X != two.take(10).X).all()
    assert (RandomRBF(model_seed=2)._now["centres"] != one._now["centres"]).any()


# -- Hyperplane -------------------------------------------------------------------------------------------------------


def test_hyperplane_without_drift() -> None:
    stream = Hyperplane(noise=0.05, features=7)
    w = stream._now["weights"].copy()
    chunk = stream.take(100_000)
    clean = (chunk.X @ w >= w.sum() / 2).astype(int)
    assert near(float((chunk.y != clean).mean()), 0.05, len(clean))
    assert near(float(clean.mean()), 0.5, len(clean))
    assert (stream._now["weights"] == w).all()


def test_hyperplane_moves_after_each_record() -> None:
    stream = Hyperplane(drifting=3, magnitude=0.25, noise=0.0, reversal=0.3, features=6, seed=11)
    reversals = 0
    for _ in range(300):
        w, turns = stream._now["weights"].copy(), stream._now["turns"].copy()
        chunk = stream.take(1)
        assert chunk.y[0] == (chunk.X[0] @ w >= w.sum() / 2)
        assert (stream._now["weights"][:3] == w[:3] + 0.25 * turns).all()
        assert (stream._now["weights"][3:] == w[3:]).all()
        reversals += int((stream._now["turns"] != turns).sum())
    assert near(reversals / 900, 0.3, 900)


# -- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "params", "sentence"),
    [
        (SEA, {"function": 5}, r"function must lie in \[1, 4\], got 5"),
        (SEA, {"function": 1.5}, r"function must be a whole number in \[1, 4\], got 1.5"),
        (SEA, {"noise": 1.5}, r"noise must lie in \[0, 1\], got 1.5"),
        (SEA, {"balance": 1}, "balance must be True or False, got 1"),
        (SEA, {"rng": "numpy"}, "rng must be one of 'splitmix', 'java', got 'numpy'"),
        (SEA, {"seed": -1}, r"seed must lie in \[0, ∞\), got -1"),
        (SEA, {"limit": -1}, r"limit must lie in \[0, ∞\), got -1"),
        (SEA, {"limit": 2.5}, r"limit must be a whole number in \[0, ∞\), got 2.5"),
        (Agrawal, {"function": 0}, r"function must lie in \[1, 10\], got 0"),
        (Agrawal, {"perturbation": float("nan")}, r"perturbation must lie in \[0, 1\], got nan"),
        (Agrawal, {"compat": "weka"}, "compat must be one of 'moa', None, got 'weka'"),
        (RandomRBF, {"classes": 1}, r"classes must lie in \[2, ∞\), got 1"),
        (RandomRBF, {"features": 0}, r"features must lie in \[1, ∞\), got 0"),
        (RandomRBF, {"centroids": 5, "drifting": 6}, r"drifting must lie in \[0, 5\], got 6"),
        (RandomRBF, {"speed": -0.1}, r"speed must lie in \[0, ∞\), got -0.1"),
        (Hyperplane, {"drifting": 11}, r"drifting must lie in \[0, 10\], got 11"),
        (Hyperplane, {"reversal": 2}, r"reversal must lie in \[0, 1\], got 2"),
        (Hyperplane, {"classes": 3}, "classes"),
    ],
)
def test_bad_parameters(make: Any, params: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        make(**params)
