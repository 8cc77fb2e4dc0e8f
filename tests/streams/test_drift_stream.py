"""One concept gives way to another along the sigmoid, and only the one that is chosen moves on."""

import math
from typing import Any

import numpy as np
import pytest

from thalweg import SEA, Agrawal, ArrayStream, Chunk, CSVStream, DriftStream, RandomRBF, Schema


def concept(label: int, rows: int = 20_000) -> ArrayStream:
    """Records that say from which concept they come, and the how many-th of it they are."""
    X = np.stack([np.full(rows, float(label)), np.arange(rows, dtype=float)], axis=1)
    return ArrayStream(X, np.full(rows, label), schema=Schema.numeric(2, classes=range(4)), time=X[:, 1])


@pytest.mark.parametrize("width", [1, 50, 4000])
def test_the_chance_of_the_new_concept_follows_the_sigmoid(width: int) -> None:
    position, n = 5000, 10_000
    y = np.zeros(n)
    runs = 20
    for seed in range(runs):
        y += DriftStream(concept(0), concept(1), position, width, seed=seed).take(n).y
    p = np.array([1 / (1 + math.exp(min(-4 * (t - position) / width, 700))) for t in range(1, n + 1)])
    for block in np.array_split(np.arange(n), 20):
        error = math.sqrt(float((p[block] * (1 - p[block])).sum()) * runs)
        assert abs(y[block].sum() - runs * p[block].sum()) <= 4 * error + 1e-9


def test_an_abrupt_drift_is_where_it_says() -> None:
    stream = DriftStream(concept(0), concept(1), 1000)
    y = stream.take(2000).y
    assert stream.drifts == (1000,)
    assert abs(int(np.argmax(y)) - 1000) <= 2
    assert y[:995].sum() == 0
    assert y[1005:].min() == 1


def test_only_the_chosen_stream_advances() -> None:
    chunk = DriftStream(concept(0), concept(1), 1000, 800).take(3000)
    for label in (0, 1):
        mine = chunk.X[chunk.y == label]
        assert (mine[:, 0] == label).all()
        assert mine[:, 1].tolist() == list(range(len(mine)))
        assert chunk.time is not None
        assert chunk.time[chunk.y == label].tolist() == list(range(len(mine)))


def test_nested_drifts() -> None:
    """c1, then c2, then c3, then c4, as in the papers: the same position three times."""
    p, w = 2500, 300
    stream = DriftStream(concept(0), DriftStream(concept(1), DriftStream(concept(2), concept(3), p, w), p, w), p, w)
    assert stream.drifts == (2500, 5000, 7500)
    assert stream.widths == (300, 300, 300)
    y = stream.take(10_000).y
    for label, (start, end) in enumerate([(0, 2000), (3000, 4500), (5500, 7000), (8000, 10_000)]):
        assert (y[start:end] == label).all()
    assert y[4700:5300].mean() == pytest.approx(1.5, abs=0.15)  # about half of each around the second drift


def test_drifts_that_are_not_reached_are_not_told() -> None:
    old = DriftStream(SEA(), SEA(seed=2), 300)
    late = DriftStream(SEA(), SEA(seed=2), 900)
    assert DriftStream(old, SEA(seed=3), 700).drifts == (300, 700)
    assert DriftStream(late, SEA(seed=3), 700).drifts == (700,)
    assert DriftStream(SEA(seed=3), late, 700, 10).drifts == (700, 1600)
    assert DriftStream(SEA(seed=3), late, 700, 10).widths == (10, 1)
    assert DriftStream(SEA(seed=3), late, 700, limit=1000).drifts == (700,)


@pytest.mark.parametrize("size", [1, 7, 64, 5000])
def test_it_ends_where_the_chosen_stream_has_no_more(size: int) -> None:
    def make() -> DriftStream:
        return DriftStream(concept(0, rows=450), concept(1), 500, 400, seed=3)

    want = make().take(5000)
    mask = want.y == 0
    assert mask.sum() == 450
    stream = make()
    parts = list(stream.chunks(size))
    got = Chunk.join(parts)
    assert np.array_equal(got.X, want.X)
    assert stream.read(1) is None
    stream.restart()
    assert np.array_equal(stream.take(5000).X, want.X)


def test_exponents_beyond_the_floats_are_no_problem() -> None:
    assert DriftStream(concept(0), concept(1), 10**15).take(1000).y.sum() == 0
    assert DriftStream(concept(0), concept(1), 0, 1e300).take(1000).y.mean() == pytest.approx(0.5, abs=0.07)


def test_it_reads_on_from_where_the_streams_are() -> None:
    old = concept(0)
    old.take(100)
    stream = DriftStream(old, concept(1), 1000)
    first = stream.take(10)
    assert first.X[0, 1] == 100
    stream.restart()
    assert np.array_equal(stream.take(10).X, first.X)


def test_a_bad_state_changes_nothing() -> None:
    stream = DriftStream(SEA(), SEA(seed=2), 50, 20)
    stream.take(40)
    before = stream.state()
    bad = dict(DriftStream(SEA(), SEA(seed=2), 50, 20).state())
    bad["new/given"] = np.array([-3])
    with pytest.raises(ValueError, match="state must be what SEA"):
        stream.restore(bad)
    after = stream.state()
    assert all(np.array_equal(after[name], before[name]) for name in before)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((SEA(), SEA(seed=2), 100, 0.5), r"width must lie in \[1, ∞\), got 0.5"),
        ((SEA(), SEA(seed=2), 100, 0), r"width must lie in \[1, ∞\), got 0"),
        ((SEA(), SEA(seed=2), -1), r"position must lie in \[0, ∞\), got -1"),
        ((SEA(), SEA(seed=2), 1.5), r"position must be a whole number"),
        ((SEA(), "sea", 100), "new must be a stream, got 'sea'"),
        ((None, SEA(), 100), "old must be a stream, got None"),
        ((SEA(), Agrawal(), 100), "new must have the 3 features of old, got 9"),
        ((SEA(), RandomRBF(features=3, classes=3), 100), r"new must have the classes \(0, 1\) of old, got \(0, 1, 2\)"),
    ],
)
def test_bad_arguments(arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        DriftStream(*arguments)


def test_streams_that_cannot_be_joined(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="new must be another stream than old"):
        DriftStream(same := SEA(), same, 100)
    frames = [ArrayStream(np.zeros((9, 2)), list("aaabbbccc")), ArrayStream(np.zeros((9, 2)), [1] * 9)]
    with pytest.raises(TypeError, match=r"new must have labels of the type of old: .*'a'.*, got .*1"):
        DriftStream(frames[0], frames[1], 4, 4).take(9)
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("colour,class\nred,0\nblue,1\n")
    with pytest.raises(ValueError, match="old and new must know the values of nominal feature 'colour' beforehand"):
        DriftStream(CSVStream(tmp_path / "one.csv"), CSVStream(tmp_path / "two.csv"), 1)


@pytest.mark.parametrize(("alpha", "width"), [(45, 1), (30, 1), (1.0, 57), (0.1, 572), (0.0573, 999)])
def test_an_angle_stands_for_a_width(alpha: float, width: int) -> None:
    """MOA: the width is 1 / tan(alpha), cut to a whole number."""
    by_angle = DriftStream(concept(0), concept(1), 3000, alpha=alpha, seed=5)
    by_width = DriftStream(concept(0), concept(1), 3000, width, seed=5)
    assert by_angle.widths == by_width.widths == (width,)
    assert np.array_equal(by_angle.take(6000).y, by_width.take(6000).y)
    again = DriftStream(**by_angle.get_params())
    assert again.widths == (width,)
    assert f"alpha={alpha}" in repr(by_angle)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"alpha": 0}, r"alpha must lie in \(0, 45\], got 0"),
        ({"alpha": 46}, r"alpha must lie in \(0, 45\], got 46"),
        ({"alpha": "1"}, "alpha must be a number"),
        ({"alpha": 1.0, "width": 100}, "width must be left out where alpha is given, got 100"),
    ],
)
def test_a_wrong_angle_gets_a_sentence(more: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        DriftStream(SEA(), SEA(seed=2), 1000, **more)
