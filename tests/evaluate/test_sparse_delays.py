"""Sparse rows that wait for their labels: as the dense ones do, and in as much room as they need."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from thalweg import Chunk
from thalweg.core.waiting import WaitingSparse
from thalweg.evaluate.pending import Pending

RNG = np.random.default_rng(0)
X = np.where(RNG.random((300, 12)) < 0.2, RNG.normal(size=(300, 12)), 0.0)
CODES = RNG.integers(0, 3, 300)


def plans(pending, sizes, kind):
    """Plan chunk after chunk; kind: is the chunk with this number sparse?"""
    at = 0
    for i, size in enumerate(sizes):
        part = slice(at, at + size)
        rows = csr_array(X[part]) if kind(i) else X[part]
        yield pending.plan(Chunk(rows, CODES[part]), CODES[part], np.ones(size))
        at += size


def dense(rows):
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


@pytest.mark.parametrize("kind", [lambda i: True, lambda i: i % 2 == 0, lambda i: i > 2], ids=["all", "some", "later"])
def test_plans_are_those_of_dense_rows(kind):
    sizes = [50, 7, 1, 90, 60, 92]
    for delay in (1, 30, 120):
        ours, theirs = Pending(delay), Pending(delay)
        for a, b in zip(plans(ours, sizes, kind), plans(theirs, sizes, lambda i: False), strict=True):
            np.testing.assert_array_equal(dense(a.X), b.X)
            for mine, other in zip(a[1:], b[1:], strict=True):
                np.testing.assert_array_equal(mine, other)
        assert len(ours) == len(theirs) == delay


def test_they_are_kept_with_a_checkpoint():
    sizes = [50, 7, 1, 90, 60, 92]
    pending = Pending(40)
    walk = plans(pending, sizes, lambda i: True)
    for _ in range(3):
        next(walk)
    state = pending.state()
    assert "X" not in state
    other = Pending(40)
    sizes = {"classes": int(CODES.max()) + 1, "features": int(state["X.features"][0])}
    other.restore(state, **sizes)
    for name, table in other.state().items():
        np.testing.assert_array_equal(table, state[name])
    for damage in ({"X.indices": state["X.indices"] + 12}, {"X.indptr": state["X.indptr"][:-1]}, {"X.data": CODES}):
        with pytest.raises(ValueError):  # noqa: PT011  SciPy's own words, or ours
            Pending(40).restore(state | damage, **sizes)


def test_rows_come_back_as_they_were():
    waiting, kept = WaitingSparse(500), {}
    rng = np.random.default_rng(1)
    for _ in range(60):
        rows = random_array((int(rng.integers(0, 20)), 500), density=0.02, rng=rng, format="csr")
        places = waiting.hold(rows).tolist()
        assert not kept.keys() & set(places)
        kept |= dict(zip(places, rows.toarray(), strict=True))
        gone = rng.permutation(list(kept))[: int(rng.integers(0, 25))].astype(np.int64)
        want = np.array([kept[p] for p in gone.tolist()]).reshape(-1, 500)
        assert np.array_equal(waiting.look(gone).toarray(), want)
        assert np.array_equal(waiting.take(gone).toarray(), want)
        for p in gone.tolist():
            del kept[p]
    assert len(waiting._kept) < 600
    with pytest.raises(ValueError, match="waiting rows must have 500 features, got 3"):
        waiting.hold(csr_array((1, 3)))
