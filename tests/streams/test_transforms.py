"""Streams made from streams: what they change, and that they change nothing else."""

import math
from typing import Any

import numpy as np
import pytest

from thalweg import (
    SEA,
    Agrawal,
    ArrayStream,
    Chunk,
    CSVStream,
    DriftStream,
    Feature,
    LibSVMStream,
    RandomRBF,
    Schema,
)
from thalweg.streams.generators.led import LED
from thalweg.streams.generators.stagger import STAGGER
from thalweg.streams.transforms import picking
from thalweg.streams.transforms.features import FeatureDrift
from thalweg.streams.transforms.incremental import IncrementalDrift
from thalweg.streams.transforms.noise import DelayedLabels, LabelNoise, MissingValues
from thalweg.streams.transforms.priors import Imbalance, PriorDrift
from thalweg.streams.transforms.recurring import RecurringDrift


def numbered(rows: int = 20_000, classes: Any = (0, 1, 2), which: int | None = None) -> ArrayStream:
    """Records that carry their number, with classes at random, or all of one class."""
    X = np.stack([np.arange(rows, dtype=float), np.full(rows, 7.0 if which is None else float(which))], axis=1)
    codes = np.random.default_rng(3).integers(len(classes), size=rows) if which is None else np.full(rows, which)
    return ArrayStream(X, np.array(classes)[codes], schema=Schema.numeric(2, classes=classes), time=X[:, 0] * 10)


def near(got: float, want: float, n: int) -> bool:
    return abs(got - want) <= 4 * math.sqrt(want * (1 - want) / n)


# -- recurring --------------------------------------------------------------------------------------------------------


def test_concepts_come_back_and_read_on() -> None:
    stream = RecurringDrift([numbered(which=i) for i in range(3)], 500, limit=4000)
    assert stream.drifts == tuple(range(500, 4000, 500))
    assert stream.widths == (1,) * 7
    chunk = stream.take(4000)
    for block in range(8):
        rows = chunk.y[500 * block + 5 : 500 * block + 495]
        assert (rows == block % 3).all()
    for i in range(3):
        assert chunk.X[chunk.y == i, 0].tolist() == list(range(int((chunk.y == i).sum())))


def test_recurring_changes_follow_the_sigmoid() -> None:
    period, width, runs = 1000, 600, 40
    share = np.zeros(2000)
    for seed in range(runs):
        share += RecurringDrift([numbered(which=0), numbered(which=1)], period, width, seed=seed).take(2000).y
    for start in range(0, 2000, 100):
        t = np.arange(start + 1, start + 101)
        turn = np.where(t < 1500, 1, 2)
        p = 1 / (1 + np.exp(-4 * (t - turn * period) / width))
        p = np.where(t < 500, 0.0, np.where(turn == 1, p, 1 - p))
        error = math.sqrt(float((p * (1 - p)).sum()) * runs)
        assert abs(share[start : start + 100].sum() - runs * p.sum()) <= 4 * error + 1e-9


@pytest.mark.parametrize("size", [1, 7, 5000])
def test_recurring_ends_with_the_chosen_concept(size: int) -> None:
    def make() -> RecurringDrift:
        return RecurringDrift([numbered(600, which=0), numbered(which=1)], 200, 50)

    want = make().take(5000)
    assert (want.y == 0).sum() == 600
    stream = make()
    assert np.array_equal(Chunk.join(list(stream.chunks(size))).X, want.X)
    assert stream.read(1) is None


# -- incremental ------------------------------------------------------------------------------------------------------


def test_two_features_turn_evenly() -> None:
    plain = SEA(noise=0.0).take(3000)
    stream = IncrementalDrift(SEA(noise=0.0), 1500, 1000, columns=("x0", "x2"), angle=90, centre=(5, 5))
    assert stream.drifts == (1500,)
    assert stream.widths == (1000,)
    chunk = stream.take(3000)
    assert np.array_equal(chunk.X[:1000], plain.X[:1000])
    assert np.array_equal(chunk.X[:, 1], plain.X[:, 1])
    assert np.array_equal(chunk.y, plain.y)
    for r, degrees in ((1249, 22.5), (1499, 45.0), (1749, 67.5), (2500, 90.0)):
        u, v = plain.X[r, [0, 2]] - 5
        a = math.radians(degrees)
        want = 5 + math.cos(a) * u - math.sin(a) * v, 5 + math.sin(a) * u + math.cos(a) * v
        assert chunk.X[r, [0, 2]] == pytest.approx(want)
    after = chunk.X[2100:]
    assert ((after[:, 2] + after[:, 1] > 8) == chunk.y[2100:]).mean() > 0.999  # x2 says now what x0 said


# -- features ---------------------------------------------------------------------------------------------------------


def test_features_are_swapped_and_dropped_from_one_row_on() -> None:
    plain = SEA().take(1000)
    stream = FeatureDrift(SEA(), 400, swap=[("x0", "x1"), (1, 2)], drop=["x0"])
    assert stream.drifts == (400,)
    for size in (1000, 300):
        stream.restart()
        chunk = Chunk.join([stream.take(size) for _ in range(0, 1000, size)])[:1000]
        assert np.array_equal(chunk.X[:400], plain.X[:400])
        assert np.array_equal(chunk.X[400:, 1:], plain.X[400:][:, [2, 0]])
        assert np.isnan(chunk.X[400:, 0]).all()
        assert np.array_equal(chunk.y, plain.y)


def test_own_drifts_and_those_inside() -> None:
    inner = DriftStream(SEA(), SEA(function=3, seed=2), 300, 40)
    stream = FeatureDrift(inner, 700, drop=[0], limit=900)
    assert stream.drifts == (300, 700)
    assert stream.widths == (40, 1)
    assert LabelNoise(stream).drifts == (300, 700)
    assert LabelNoise(stream, limit=500).drifts == (300,)
    assert Imbalance(stream, (1.0, 0.5)).drifts == ()
    assert DelayedLabels(SEA(limit=70), 5).rows == 70
    assert DelayedLabels(SEA(limit=70), 5, limit=50).rows == 50


# -- classes ----------------------------------------------------------------------------------------------------------


def test_priors_follow_the_sigmoid() -> None:
    n, position, width = 30_000, 15_000, 8000
    before, after = np.array([6.0, 3.0, 1.0]), np.array([1.0, 1.0, 2.0])
    stream = PriorDrift(RandomRBF(classes=3), before.tolist(), after.tolist(), position, width)
    assert stream.drifts == (position,)
    assert stream.widths == (width,)
    y = stream.take(n).y
    p = 1 / (1 + np.exp(-4 * (np.arange(1, n + 1) - position) / width))
    wanted = (1 - p)[:, None] * before / 10 + p[:, None] * after / 4
    for block in np.array_split(np.arange(n), 10):
        for c in range(3):
            assert near(float((y[block] == c).mean()), float(wanted[block, c].mean()), len(block))


def test_imbalance_keeps_the_share_of_each_class() -> None:
    keep, n = (1.0, 0.1, 0.0), 20_000
    chunk = Imbalance(numbered(60_000), keep).take(n)
    assert near(float((chunk.y == 1).mean()), 0.1 / 1.1, len(chunk))
    assert not (chunk.y == 2).any()


@pytest.mark.parametrize(
    "make",
    [
        lambda s: Imbalance(s, (0.3, 0.8, 1.0)),
        lambda s: PriorDrift(s, (1, 1, 1), (0, 1, 2), 2000, 500),
    ],
)
def test_records_are_dropped_and_nothing_else(make: Any) -> None:
    plain = numbered().take(20_000)
    chunk = make(numbered()).take(20_000)
    at = chunk.X[:, 0].astype(int)
    assert 3000 < len(at) < 20_000
    assert (np.diff(at) > 0).all()
    assert np.array_equal(chunk.X, plain.X[at])
    assert np.array_equal(chunk.y, plain.y[at])
    assert np.array_equal(chunk.time, plain.time[at])
    for size in (1, 1024, 3000):
        stream = make(numbered())
        parts = [stream.take(size) for _ in range(3000 // size)]
        assert np.array_equal(Chunk.join(parts).X, chunk.X[: sum(map(len, parts))])


@pytest.mark.parametrize("rows", [1, 1023, 1024, 1025, 2048, 5000])
def test_a_thinned_stream_is_restored_anywhere_in_a_block(rows: int) -> None:
    def make() -> PriorDrift:
        return PriorDrift(SEA(), (1, 0), (0, 1), 1500, 500)

    stream = make()
    stream.take(rows)
    state = stream.state()
    want = stream.take(2000)
    other = make()
    other.take(17)
    other.restore(state)
    assert np.array_equal(other.take(2000).X, want.X)


def test_a_class_that_never_comes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picking, "_PATIENCE", 5000)
    stream = PriorDrift(numbered(which=1), (1, 1, 1), (1, 1, 1), 100)
    with pytest.raises(ValueError, match=r"stream must have records of the wanted classes, got none among 5,120"):
        stream.take(100)


# -- labels, values, time ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [(0, 1, 2), ("a", "bb", "ccc"), (2.5, -1.0, 0.0), (True, False)])
def test_label_noise(classes: Any) -> None:
    n = 20_000
    plain, chunk = numbered(classes=classes).take(n), LabelNoise(numbered(classes=classes), 0.3).take(n)
    assert chunk.y.dtype.kind == plain.y.dtype.kind
    assert set(chunk.y.tolist()) == set(classes)
    assert near(float((chunk.y != plain.y).mean()), 0.3, n)
    for old in classes:
        for new in set(classes) - {old}:
            mine = plain.y == old
            assert near(float((chunk.y[mine] == new).mean()), 0.3 / (len(classes) - 1), int(mine.sum()))
    assert np.array_equal(chunk.X, plain.X)
    assert np.array_equal(LabelNoise(numbered(classes=classes), 0).take(n).y, plain.y)


def test_missing_values_and_the_array_stays_whole() -> None:
    X = np.random.default_rng(1).random((20_000, 3))
    before = X.copy()
    chunk = MissingValues(ArrayStream(X, np.zeros(20_000, dtype=int)), 0.25, columns=[0, 2]).take(20_000)
    gone = np.isnan(chunk.X)
    assert np.array_equal(X, before)
    assert not gone[:, 1].any()
    assert near(float(gone[:, 0].mean()), 0.25, 20_000)
    assert near(float((gone[:, 0] & gone[:, 2]).mean()), 0.0625, 20_000)
    assert np.array_equal(chunk.X[~gone], X[~gone])
    assert np.isnan(MissingValues(SEA(), 1.0).take(10).X).all()


def test_labels_come_late() -> None:
    chunk = DelayedLabels(numbered(), 500, jitter=100).take(5000)
    assert chunk.time is not None
    assert chunk.label_time is not None
    assert chunk.time.tolist() == [10.0 * r for r in range(5000)]
    late = chunk.label_time - chunk.time
    assert (late.min() >= 500) & (late.max() < 600)
    assert abs(late.mean() - 550) < 4 * 100 / math.sqrt(12 * 5000)
    exact = DelayedLabels(SEA(), 3)
    exact.take(10)
    assert exact.take(2).time.tolist() == [10, 11]


# -- what is refused --------------------------------------------------------------------------------------------------

NO_CLASSES = ArrayStream(np.zeros((5, 2)), [0, 1, 0, 1, 0], schema=Schema((Feature("a"), Feature("b"))))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: LabelNoise("sea"), "stream must be a stream, got 'sea'"),
        (lambda: LabelNoise(SEA), "stream must be a stream, got <class"),
        (lambda: LabelNoise(SEA(), 1.5), r"noise must lie in \[0, 1\], got 1.5"),
        (lambda: LabelNoise(NO_CLASSES), "stream must know its classes beforehand"),
        (lambda: MissingValues(SEA(), columns=["x9"]), "columns must be names or positions of the 3 features"),
        (lambda: MissingValues(SEA(), columns=[3]), "columns must be names or positions .*, got 3"),
        (lambda: MissingValues(SEA(), seed=-1), r"seed must lie in \[0, ∞\), got -1"),
        (lambda: DelayedLabels(SEA(), -1), r"delay must lie in \[0, ∞\), got -1"),
        (lambda: FeatureDrift(SEA(), 5), "swap or drop must name features"),
        (lambda: FeatureDrift(SEA(), 5, swap=[(0,)]), r"swap must be pairs of features, got \(0,\)"),
        (lambda: FeatureDrift(Agrawal(), 5, swap=[("car", "age")]), "with the same values, got 'car' and 'age'"),
        (lambda: IncrementalDrift(SEA(), 5, 0), r"width must lie in \[1, ∞\), got 0"),
        (lambda: IncrementalDrift(SEA(), 5, 9, columns=(1, 1)), "columns must be two different ones"),
        (lambda: IncrementalDrift(STAGGER(), 5, 9), "columns must be numeric, got 'size', which is nominal"),
        (lambda: IncrementalDrift(SEA(), 5, 9, centre=(1,)), "centre must be two numbers"),
        (lambda: Imbalance(SEA(), (1.0,)), "keep must be a number for each of the 2 classes"),
        (lambda: Imbalance(SEA(), (0.5, 1.5)), r"keep must lie in \[0, 1\], got \(0.5, 1.5\)"),
        (lambda: Imbalance(SEA(), (0, 0)), r"keep must have a number above 0, got \(0, 0\)"),
        (lambda: PriorDrift(SEA(), (1, 1), (1, -1), 5), r"after must lie in \[0, ∞\), got -1"),
        (lambda: PriorDrift(NO_CLASSES, (1, 1), (1, 1), 5), "stream must know its classes beforehand"),
        (lambda: RecurringDrift([SEA()], 100), "concepts must be two or more streams"),
        (
            lambda: RecurringDrift([SEA(), LED()], 100),
            r"concepts\[1\] must have the 3 features of concepts\[0\], got 24",
        ),
        (lambda: RecurringDrift([one := SEA(), one], 100), "concepts must be different streams"),
        (lambda: RecurringDrift([SEA(), SEA(seed=2)], 100, 101), r"width must lie in \[1, 100\], got 101"),
    ],
)
def test_bad_arguments(make: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


def test_a_bad_state_changes_nothing() -> None:
    for make in (
        lambda: LabelNoise(SEA()),
        lambda: Imbalance(SEA(), (1.0, 0.5)),
        lambda: RecurringDrift([SEA(), SEA(seed=2)], 50, 20),
    ):
        stream: Any = make()
        stream.take(40)
        before = stream.state()
        bad = dict(make().state())
        name = next(n for n in reversed(bad) if n.endswith("/given"))
        bad[name] = np.array([-3])
        with pytest.raises(ValueError, match="state must be what SEA"):
            stream.restore(bad)
        after = stream.state()
        assert all(np.array_equal(after[n], before[n]) for n in before)


def test_they_print_what_they_are_made_of() -> None:
    assert repr(LabelNoise(SEA(seed=3), 0.2)) == "LabelNoise(SEA(seed=3), noise=0.2)"
    assert repr(Imbalance(SEA(), (1.0, 0.5))) == "Imbalance(SEA(), (1.0, 0.5))"
    assert DelayedLabels(SEA(), 5).get_params()["delay"] == 5


def test_old_words_still_work_with_a_warning(tmp_path):
    with pytest.warns(DeprecationWarning, match="'features' of IncrementalDrift is now called 'columns'"):
        assert IncrementalDrift(SEA(), 5, 9, features=(0, 2)).columns == (0, 2)
    with pytest.warns(DeprecationWarning, match="'features' of MissingValues is now called 'columns'"):
        assert MissingValues(SEA(), features=[1]).columns == [1]
    (tmp_path / "a.csv").write_text("x,class\n-,a\n1,b\n")
    with pytest.warns(DeprecationWarning, match="'missing' of CSVStream is now called 'missing_words'"):
        assert np.isnan(CSVStream(tmp_path / "a.csv", missing=["-"]).take(1).X[0, 0])
    (tmp_path / "a.libsvm").write_text("1 1:2\n")
    with pytest.warns(DeprecationWarning, match="'n_features' of LibSVMStream is now called 'features'"):
        assert LibSVMStream(tmp_path / "a.libsvm", n_features=7).schema.n_features == 7
