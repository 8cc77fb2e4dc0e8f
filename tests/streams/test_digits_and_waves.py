"""LED and Waveform against what can be worked out about them."""

import itertools

import numpy as np
import pytest

from thalweg.streams.generators.led import DIGITS, LED
from thalweg.streams.generators.waveform import Waveform

PICTURES = """
 _     _  _     _  _  _  _  _
| |  | _| _||_||_ |_   ||_||_|
|_|  ||_  _|  | _||_|  ||_| _|
""".strip("\n").split("\n")


def shown(digit: int) -> list[int]:
    """Read the lit segments of a digit from its picture."""
    top, middle, bottom = (line.ljust(30)[3 * digit : 3 * digit + 3] for line in PICTURES)
    places = (top[1], middle[0], middle[2], middle[1], bottom[0], bottom[2], bottom[1])
    return [int(c != " ") for c in places]


def test_the_segments_are_those_of_the_picture() -> None:
    assert [[int(c) for c in d] for d in DIGITS] == [shown(d) for d in range(10)]


@pytest.mark.parametrize("rng", ["splitmix", "java"])
@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_led(rng: str, noise: float) -> None:
    n = 60_000
    chunk = LED(rng=rng, noise=noise).take(n)
    clean = np.array([shown(d) for d in chunk.y.tolist()])
    wrong = chunk.X[:, :7] != clean
    assert np.abs(wrong.mean(axis=0) - noise).max() < 4 * np.sqrt(noise * (1 - noise) / n)
    assert np.abs(chunk.X[:, 7:].mean(axis=0) - 0.5).max() < 4 * 0.5 / np.sqrt(n)
    assert np.abs(np.corrcoef(chunk.X[:, 7:].T) - np.eye(17)).max() < 5 / np.sqrt(n)  # coins do not know each other
    assert np.abs(np.bincount(chunk.y) / n - 0.1).max() < 4 * np.sqrt(0.09 / n)


def test_nobody_reads_led_better_than_74_percent() -> None:
    def chance(pattern: tuple[int, ...], digit: int) -> float:
        wrong = sum(a != b for a, b in zip(pattern, shown(digit), strict=True))
        return 0.1**wrong * 0.9 ** (7 - wrong) / 10

    best = {p: max(range(10), key=lambda d: chance(p, d)) for p in itertools.product((0, 1), repeat=7)}
    ceiling = sum(chance(p, d) for p, d in best.items())
    assert ceiling == pytest.approx(0.74, abs=0.005)
    chunk = LED().take(50_000)
    right = np.mean(
        [best[tuple(row)] == y for row, y in zip(chunk.X[:, :7].astype(int).tolist(), chunk.y, strict=True)]
    )
    assert abs(right - ceiling) < 4 * np.sqrt(0.25 / len(chunk))


def test_led_with_drift_swaps_columns() -> None:
    plain, swapped = LED(seed=4).take(1000), LED(seed=4, drifting=3).take(1000)
    order = [7, 8, 9, 3, 4, 5, 6, 0, 1, 2, *range(10, 24)]
    assert np.array_equal(plain.X[:, order], swapped.X)
    assert np.array_equal(plain.y, swapped.y)


def test_led_without_the_rest() -> None:
    assert LED(irrelevant=False).take(10).X.shape == (10, 7)
    with pytest.raises(ValueError, match="drifting must be 0 where there are no irrelevant features, got 2"):
        LED(irrelevant=False, drifting=2)
    with pytest.raises(ValueError, match=r"drifting must lie in \[0, 7\], got 8"):
        LED(drifting=8)


@pytest.mark.parametrize("rng", ["splitmix", "java"])
def test_waveform_moments(rng: str) -> None:
    """The mean of point i is (a + b) / 2, its variance 1 + (a - b)² / 12, for the two triangles of the class."""
    n = 90_000
    chunk = Waveform(rng=rng, noise=True).take(n)
    waves = np.array([[max(0, 6 - abs(i - c)) for i in range(21)] for c in (6, 14, 10)], dtype=float)
    assert np.abs(np.bincount(chunk.y) / n - 1 / 3).max() < 4 * np.sqrt(2 / 9 / n)
    for label, (a, b) in enumerate(((0, 1), (0, 2), (1, 2))):
        X = chunk.X[chunk.y == label]
        mean, spread = (waves[a] + waves[b]) / 2, 1 + (waves[a] - waves[b]) ** 2 / 12
        assert (np.abs(X[:, :21].mean(axis=0) - mean) < 4.5 * np.sqrt(spread / len(X))).all()
        assert (np.abs(X[:, :21].var(axis=0) / spread - 1) < 6 * np.sqrt(2 / len(X))).all()
        assert (np.abs(X[:, 21:].mean(axis=0)) < 4.5 / np.sqrt(len(X))).all()
        assert (np.abs(X[:, 21:].var(axis=0) - 1) < 6 * np.sqrt(2 / len(X))).all()


def test_nobody_tells_the_waves_apart_better_than_86_percent() -> None:
    """The best guess knows the triangles: it averages the likelihood over all mixtures."""
    waves = np.array([[max(0, 6 - abs(i - c)) for i in range(21)] for c in (6, 14, 10)], dtype=float)
    chunk = Waveform(seed=3).take(20_000)
    m = (np.arange(60) + 0.5)[:, None] / 60
    likelihood = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        middle = m * waves[a] + (1 - m) * waves[b]
        log = chunk.X @ middle.T - 0.5 * (middle**2).sum(axis=1)
        likelihood.append(np.logaddexp.reduce(log, axis=1))
    right = (np.argmax(likelihood, axis=0) == chunk.y).mean()
    assert abs(right - 0.86) < 0.005 + 4 * np.sqrt(0.86 * 0.14 / len(chunk))


def test_normal_draws_are_normal_and_do_not_know_each_other() -> None:
    Z = Waveform(noise=True).take(60_000).X[:, 21:]
    for bound, share in ((-1.0, 0.1586553), (0.0, 0.5), (2.0, 0.9772499)):
        assert (np.abs((Z < bound).mean(axis=0) - share) < 4.5 * np.sqrt(share * (1 - share) / len(Z))).all()
    assert np.abs(np.corrcoef(Z.T) - np.eye(19)).max() < 5 / np.sqrt(len(Z))


def test_waveform_has_21_or_40_features() -> None:
    assert Waveform().take(5).X.shape == (5, 21)
    with pytest.raises(TypeError, match="noise must be True or False, got 1"):
        Waveform(noise=1)
