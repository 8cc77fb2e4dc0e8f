"""The search for a threshold: against its slow twin bit for bit, and against the exact functions."""

import math

import numpy as np
import pytest

from thalweg.jit.impurity import GAIN, GINI
from thalweg.pool import leaf_jit, split_jit
from twins.observers import NumericObserver, merit_of_two, x_log2_x

CODES = {"gain": GAIN, "gini": GINI}


class Attribute:
    """One numeric attribute as a leaf observes it, compiled and slow."""

    def __init__(self, classes):
        self.classes = classes
        self.stats = np.empty((1, leaf_jit.block_size(0, classes)))
        leaf_jit.clear_number(self.stats, 0, 0, 1, classes)
        self.slow = NumericObserver()

    def observe(self, values, labels, weights):
        for v, y, w in zip(values, labels, weights, strict=True):
            leaf_jit.observe_lanes(self.stats, 0, 0, 1, np.array([float(v)]), int(y), float(w), 0.0)
            self.slow.observe(float(v), int(y), float(w))
        return self

    def best(self, criterion, points=10, min_share=0.01, whole=1.0):
        """Merit and threshold, which the twin finds too."""
        work = np.full((split_jit.WORK_ROWS, max(split_jit.vectors(points), self.classes)), math.nan)
        merit, t = split_jit.best_number(
            self.stats, 0, 0, 1, self.classes, CODES[criterion], whole, min_share, points, work
        )
        m, test = self.slow.best(criterion, whole, min_share, points)
        assert (merit, None if math.isnan(t) else ("<=", t)) == (m, test)
        return merit, t

    def exact(self, criterion, t, min_share=0.01, whole=1.0):
        """Merit of a threshold by the math module."""
        return merit_of_two(criterion, whole, *self.slow.divide(t), min_share, x_log2_x)


def random_attribute(seed, classes):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 300))
    y = rng.integers(0, classes, n) if seed % 3 else rng.integers(0, 2, n) * (classes - 1)
    v = rng.normal(size=n) * rng.exponential(1.0, classes)[y] + rng.normal(size=classes)[y]
    if seed % 4 == 0:
        v = np.round(v)
    return Attribute(classes).observe(v, y, np.ones(n) if seed % 2 else rng.exponential(2.0, n))


@pytest.mark.parametrize("criterion", ["gain", "gini"])
@pytest.mark.parametrize("classes", [2, 5, 20])
def test_the_twin_finds_the_same_and_the_exact_functions_nothing_better(classes, criterion):
    found = 0
    for seed in range(40):
        attribute = random_attribute(seed, classes)
        for min_share in (0.0, 0.01, 0.2):
            merit, t = attribute.best(criterion, min_share=min_share)
            lo = min(g.least for g in attribute.slow.classes.values())
            hi = max(g.greatest for g in attribute.slow.classes.values())
            grid = [lo + (hi - lo) * k / 11 for k in range(1, 11)]
            exact = max(attribute.exact(criterion, at, min_share) for at in grid)
            if merit == -math.inf:
                assert exact == -math.inf
                continue
            found += 1
            assert merit == pytest.approx(exact, abs=1e-8)
            assert attribute.exact(criterion, t, min_share) == pytest.approx(exact, abs=1e-8)
    assert found > 80


@pytest.mark.parametrize("criterion", ["gain", "gini"])
@pytest.mark.parametrize("points", [1, 2, 7, 8, 9, 16, 33])
def test_any_number_of_thresholds(points, criterion):
    for seed in range(8):
        _, t = random_attribute(seed, 3).best(criterion, points)
        assert not math.isinf(t)


@pytest.mark.parametrize("criterion", ["gain", "gini"])
def test_what_cannot_be_divided_has_no_threshold(criterion):
    nothing = Attribute(2).observe([3.0] * 9, [0, 1] * 4 + [0], [1.0] * 9).best(criterion)
    assert nothing[0] == -math.inf
    assert math.isnan(nothing[1])
    # all but one value lie together, and that one is of no variance
    far = Attribute(2).observe([0.0, 0.0, 1.0], [0, 0, 1], [1.0, 1.0, 1.0])
    assert far.best(criterion)[1] == pytest.approx(1 / 11)
    next_to_each_other = Attribute(2).observe([1.0, np.nextafter(1.0, 2.0)], [0, 1], [1.0, 1.0])
    assert next_to_each_other.best(criterion)[0] == -math.inf


def test_exactly_the_least_share_is_not_enough():
    for few, enough in ((2.0, False), (2.0 + 1e-9, True)):
        attribute = Attribute(2).observe([0.0] * 9 + [1.0], [0] * 9 + [1], [22.0] * 9 + [few])
        assert (attribute.best("gain", min_share=0.01)[0] > -math.inf) == enough
        assert attribute.best("gini", min_share=0.01)[0] > -math.inf
        assert attribute.best("gain", min_share=0.0)[0] > -math.inf


@pytest.mark.parametrize("criterion", ["gain", "gini"])
def test_a_class_without_variance_is_at_its_mean(criterion):
    # half a row at 0 and a quarter at 4: no variance, its mean 4/3 lies between; the other class stretches the range
    attribute = Attribute(2).observe([0.0, 4.0, -7.0, 15.0, 2.0], [0, 0, 1, 1, 1], [0.5, 0.25, 1.0, 1.0, 1.0])
    assert [attribute.slow.divide(t)[0][0] for t in (1.0, 1.5)] == [0.0, 0.75]
    for points in range(1, 30):
        attribute.best(criterion, points)


@pytest.mark.parametrize("criterion", ["gain", "gini"])
@pytest.mark.parametrize(("width", "weight", "share"), [(1.0, 0.25, 1.0), (7.05e-155, 100.0, 0.5)])
def test_a_threshold_upon_the_mean_of_a_class(width, weight, share, criterion):
    """Without variance all of the class is left of it; of one so narrow that 1/σ² overflows, half."""
    values = np.array([-1.0, 1.0, -3.0, 3.0]) * width
    attribute = Attribute(2).observe(values, [0, 0, 1, 1], [weight, weight, 7.0 * weight, 5.0 * weight])
    merit, t = attribute.best(criterion, 1)
    assert t == 0.0
    assert merit == pytest.approx(attribute.exact(criterion, 0.0), abs=1e-9)
    left, right = np.empty((2, 2))
    split_jit.divide_number(attribute.stats, 0, 0, 1, 2, 0.0, left, right)
    assert left[0] == 2.0 * weight * share
    assert left[0] + right[0] == 2.0 * weight


@pytest.mark.filterwarnings("ignore:overflow")  # where nothing is compiled: 1/(2σ²) is infinite
@pytest.mark.parametrize("criterion", ["gain", "gini"])
@pytest.mark.parametrize("scale", [1e-160, 1e-150, 1e-20, 1.0, 1e20, 1e149])
def test_values_of_any_size(scale, criterion):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 200)
    values = np.clip(rng.normal(size=200) + y, -9.0, 9.0)
    merit, t = Attribute(3).observe(values * scale, y, np.ones(200)).best(criterion)
    plain, place = Attribute(3).observe(values, y, np.ones(200)).best(criterion)
    if scale >= 1e-150:  # below, squares of differences are nothing, and so is the variance
        assert merit == pytest.approx(plain, abs=1e-6)
        assert t == pytest.approx(place * scale, rel=1e-9)
    assert math.isfinite(merit)
    mixed = values * np.where(rng.random(200) < 0.5, scale, 1.0)
    assert not math.isnan(Attribute(3).observe(mixed, y, np.ones(200)).best(criterion)[0])


@pytest.mark.parametrize(("criterion", "scale"), [("gain", 1e-300), ("gain", 1e300), ("gini", 1e-140), ("gini", 1e140)])
def test_weights_of_any_size(scale, criterion):
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, 200)
    v, w = rng.normal(size=200) + y, rng.exponential(1.0, 200)
    merit, t = Attribute(3).observe(v, y, w * scale).best(criterion)
    assert math.isfinite(merit)
    assert v.min() < t < v.max()
    if scale > 1.0:  # a weight of one or less has no variance
        plain = Attribute(3).observe(v, y, w * 1e100).best(criterion)
        assert (merit, t) == pytest.approx(plain, abs=1e-9)
    mixed = Attribute(3).observe(v, y, w * np.array([1.0, scale, 1.0])[y]).best(criterion)[0]
    assert not math.isnan(mixed)


def test_a_whole_group_learns_as_its_lanes_do():
    lanes, classes = leaf_jit.LANES, 3
    one = np.empty((1, lanes * leaf_jit.block_size(0, classes)))
    for k in range(lanes):
        leaf_jit.clear_number(one, 0, k, lanes, classes)
    other = one.copy()
    rng = np.random.default_rng(1)
    for _ in range(200):
        x, y, w = rng.normal(size=lanes).round(2), int(rng.integers(classes)), float(rng.integers(1, 4))
        a = lanes * (leaf_jit.G_CLASSES + leaf_jit.C_ROWS * y)
        own, cells = one[0, : lanes * leaf_jit.G_CLASSES], one[0, a : a + lanes * leaf_jit.C_ROWS]
        leaf_jit.observe_group(own, cells, x, w, 0.03)
        leaf_jit.observe_lanes(other, 0, 0, lanes, x, y, w, 0.03)
    assert one.tobytes() == other.tobytes()
