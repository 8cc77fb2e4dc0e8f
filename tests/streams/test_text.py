"""Text: the files of the CS-kNN authors, Zipf's law, and MOA's three slips."""

from typing import Any

import numpy as np
import pytest

from thalweg.streams.generators.text import Text


@pytest.mark.parametrize(
    ("words", "share", "ones"), [(500, 0.36026, 9.84), (1000, 0.36134, 10.05), (1500, 0.39651, 11.32)]
)
def test_the_authors_files(words: int, share: float, ones: float) -> None:
    stream = Text(words=words, rng="java", compat="moa")
    labels, total = 0, 0.0
    for chunk in Text(words=words, rng="java", compat="moa", limit=100_000).chunks(2000):
        labels += int(chunk.y.sum())
        total += chunk.X.sum()
    assert labels == round(share * 100_000)
    assert total / 100_000 == pytest.approx(ones, abs=0.005)
    assert stream.take(2000).X[:, 0].sum() == 0.0  # the slip: no word is at the first place


def moa_search(bounds: Any, u: float) -> int:
    """Halve the range until nothing is left of it; the last place that was looked at."""
    low, high, middle = 0, len(bounds) - 1, 0
    while low <= high:
        middle = (low + high) // 2
        if u > bounds[middle]:
            low = middle + 1
        else:
            high = middle - 1
        if u == bounds[middle]:
            break
    return middle


@pytest.mark.parametrize("words", [1, 2, 3, 10, 511, 512, 1000])
def test_the_search(words: int) -> None:
    seed = next(s for s in range(100) if usable(words, s))
    right, slip = Text(words=words, seed=seed), Text(words=words, seed=seed, compat="moa")
    assert np.array_equal(right._hits, np.arange(words))
    rng = np.random.default_rng(1)
    for u in [*rng.random(2000).tolist(), *right._bounds[:-1].tolist(), 0.0]:
        i = int(np.searchsorted(right._bounds, u))
        told = int(right._guide[int(u * len(right._guide))])
        assert told == i if told >= 0 else -1 - told <= i
        told = int(slip._guide[int(u * len(slip._guide))])
        assert told == moa_search(right._bounds.tolist(), u) if told >= 0 else -1 - told <= i
        found = int(slip._hits[i]) if right._bounds[i] != u else i
        assert found == moa_search(right._bounds.tolist(), u)
        assert found in (i, i - 1)


def usable(words: int, seed: int) -> bool:
    try:
        Text(words=words, seed=seed)
    except ValueError:
        return False
    return True


def test_words_obey_zipf() -> None:
    stream = Text(words=300)
    shares = np.arange(1, 301) ** -1.5
    shares /= shares.sum()
    assert np.allclose(np.diff(stream._bounds, prepend=0.0), shares)
    polar = stream._polarity
    n = 40_000
    chunk = stream.take(n)
    assert set(np.unique(chunk.X)) == {0.0, 1.0}
    happy, sad = (chunk.X @ (polar == 1)) > 0, (chunk.X @ (polar == -1)) > 0
    assert (happy | sad).all()
    assert (chunk.y[happy & ~sad] == 0).all()
    assert (chunk.y[sad & ~happy] == 1).all()
    assert 0 < chunk.y.mean() < 1
    # neutral words that are rare come as often as their shares say, whatever was drawn again
    rare = np.flatnonzero((polar == 0) & (np.arange(300) >= 100))
    early, late = rare[: len(rare) // 2], rare[len(rare) // 2 :]
    got = chunk.X[:, early].sum() / chunk.X[:, late].sum()
    assert got == pytest.approx(shares[early].sum() / shares[late].sum(), rel=0.1)


def test_a_tenth_is_happy_a_tenth_is_sad() -> None:
    polar = Text(words=50_000)._polarity
    for value in (1, -1):
        assert abs((polar == value).mean() - 0.1) < 4 * np.sqrt(0.09 / 50_000)


def test_a_vocabulary_without_feeling_is_refused() -> None:
    bad = next(s for s in range(100) if not usable(2, s))
    with pytest.raises(ValueError, match="words must be more, so that one of them is positive or negative, got 2"):
        Text(words=2, seed=bad)
    with pytest.raises(ValueError, match=r"words must lie in \[1, 10000000\], got 0"):
        Text(words=0)
    with pytest.raises(ValueError, match="compat must be one of 'moa', None, got 'weka'"):
        Text(compat="weka")
