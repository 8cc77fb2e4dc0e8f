"""log2 and Φ without calls, against the math module."""

import math

import numba
import numpy as np
import pytest

from thalweg.jit.fast import fast_below, fast_log2

LARGEST, SMALLEST = np.finfo(np.float64).max, np.finfo(np.float64).smallest_normal


def below(z):
    """Φ(z)."""
    return 0.5 * math.erfc(-z * math.sqrt(0.5))


def positive():
    """Normal numbers of every size, the neighbours of powers of two and of their middles among them."""
    rng = np.random.default_rng(1)
    powers = 2.0 ** np.arange(-1021, 1024)
    near = [np.nextafter(x, to) for x in (1.0, math.sqrt(0.5), math.sqrt(2.0)) for to in (0.0, 2.0)]
    return [*powers, *(powers * rng.uniform(0.5, 1.0, len(powers))), *rng.uniform(0.0, 2.0, 3000), *near,
            math.sqrt(0.5), math.sqrt(2.0), LARGEST, SMALLEST]  # fmt: skip


def test_log2_is_right_to_fourteen_digits():
    assert max(abs(fast_log2(x) - math.log2(x)) / max(1.0, abs(math.log2(x))) for x in positive()) < 2e-14


def test_log2_of_powers_of_two_is_exact():
    assert all(fast_log2(2.0**k) == k for k in range(-1022, 1024))


@pytest.mark.parametrize("x", [0.0, 5e-324, 1e-310])
def test_next_to_nothing_times_its_logarithm_is_next_to_nothing(x):
    assert math.isfinite(fast_log2(x))
    assert abs(x * fast_log2(x)) <= 1100.0 * x


def test_the_normal_distribution_is_right_to_nine_digits():
    z = [*np.linspace(-40.0, 40.0, 16001), *np.random.default_rng(2).normal(size=3000), 0.0, -0.0, 1e-300]
    assert max(abs(fast_below(v) - below(v)) for v in z) < 2e-10


def test_its_tails_are_right_to_a_thousandth():
    assert max(abs(fast_below(v) / below(v) - 1.0) for v in np.linspace(-9.0, 0.0, 2001)) < 1e-3
    assert max(abs(fast_below(v) / below(v) - 1.0) for v in np.linspace(-37.0, -9.0, 2001)) < 1e-2


def test_it_is_a_share_however_far_out():
    for v in (8.4, 37.0, 39.0, 1e5, LARGEST, math.inf):
        assert fast_below(v) == 1.0 == below(v)
        assert fast_below(-v) < 1e-16
        assert (fast_below(-v) > 0.0) == (below(-v) > 0.0) == (v < 38.0)
    assert fast_below(8.1) < 1.0


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_compiled_and_plain_agree_bit_for_bit():
    z = [*np.random.default_rng(3).normal(0.0, 4.0, 2000).tolist(), 0.0, 1e300, -1e300]
    assert all(fast_below(v) == fast_below.py_func(v) for v in z)
    assert all(fast_log2(x) == fast_log2.py_func(x) for x in map(float, positive()))


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_loop_takes_several_at_a_time_and_gives_the_same_bits():
    @numba.njit(error_model="numpy")
    def each(v, out):
        for k in range(len(v)):
            out[0, k] = fast_below(v[k])
            out[1, k] = fast_log2(out[0, k])

    v = np.random.default_rng(4).normal(0.0, 4.0, 1003)
    out = np.empty((2, len(v)))
    each(v, out)
    assert out[0].tolist() == [fast_below(x) for x in v]
    assert out[1].tolist() == [fast_log2(fast_below(x)) for x in v]
    assert "vfmadd" not in each.inspect_asm(each.signatures[0])  # fused, the bits would depend on the machine
