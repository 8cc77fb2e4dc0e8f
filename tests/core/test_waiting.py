"""The pool of waiting rows: each is found again as it was, whatever came and went in between."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.core.waiting import Waiting


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(["hold", "take"]), st.integers(0, 12)), max_size=40),
    shape=st.sampled_from([(1,), (3,), (2, 2)]),
    most=st.sampled_from([30, 10_000]),
    seed=st.integers(0, 9),
)
def test_rows_come_back_as_they_were(steps, shape, most, seed):
    rng = np.random.default_rng(seed)
    waiting, kept, peak = Waiting(shape, most=most), {}, 0
    for verb, n in steps:
        if verb == "hold":
            X = rng.random((min(n, most - len(kept)), *shape))
            places = waiting.hold(X).tolist()
            assert len({*places, *kept}) == len(places) + len(kept)
            kept |= dict(zip(places, X, strict=True))
        else:
            places = rng.permutation(list(kept))[:n].astype(np.int64)
            rows = [kept.pop(p) for p in places.tolist()]
            assert np.array_equal(waiting.take(places), np.reshape(rows, (-1, *shape)))
        peak = max(peak, len(kept))
        assert len(waiting.rows) - waiting.free[0] == len(kept)
        assert len(waiting.rows) <= max(peak, min(1.5 * peak + 8, most))


def test_features_that_come_later_are_missing_in_rows_that_wait():
    waiting = Waiting((0,))
    waiting.widen((2,))
    places = waiting.hold(np.array([[1.0, 2.0]]))
    waiting.widen((3,))
    more = waiting.hold(np.array([[4.0, 5.0, 6.0]]))
    assert np.array_equal(waiting.take(np.r_[more, places]), [[4.0, 5.0, 6.0], [1.0, 2.0, np.nan]], equal_nan=True)


def test_other_rows_are_refused():
    waiting = Waiting((2,))
    places = waiting.hold(np.ones((3, 2)))
    for bad in (np.ones((2, 1)), np.ones(3), np.ones((3, 2), dtype=np.float32)):
        with pytest.raises(ValueError, match=r"waiting rows must be float64 of shape \(2,\), got float"):
            waiting.hold(bad)
    assert waiting.take(places).tolist() == [[1.0, 1.0]] * 3
