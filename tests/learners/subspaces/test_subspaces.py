"""Class subspaces against a plain version that keeps every row."""

import numpy as np
import pytest

from thalweg.learners.subspaces.subspaces import ClassSubspaces
from twins.subspaces import PlainSubspaces


def rows(n=150, p=6, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    turn = rng.normal(size=(classes, p, p))
    return np.einsum("nij,nj->ni", turn[y], rng.normal(size=(n, p)) * np.arange(1, p + 1)) + y[:, None], y


@pytest.mark.parametrize("params", [
    {"rank": 6, "softness": 1.0, "prior": 20.0, "window": 2000.0},
    {"rank": 2, "softness": 0.3, "prior": 5.0, "window": 20.0},
    {"rank": 3, "softness": 1e-6, "prior": 1.0, "window": 100.0},
])  # fmt: skip
def test_equals_plain_subspaces_row_by_row(params):
    Z, y = rows()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    spaces, plain = ClassSubspaces(**params), PlainSubspaces(Z.shape[1], **params)
    for i in range(len(y)):
        if i:
            got = spaces.residuals(Z[i : i + 1])[0]
            for k in range(len(got)):
                if k in plain.found:
                    assert got[k] == pytest.approx(plain.residual(Z[i], k), rel=1e-6, abs=1e-9 * (Z[i] @ Z[i]))
                else:
                    assert got[k] == np.inf
        spaces.learn(Z[i : i + 1], y[i : i + 1], w[i : i + 1])
        plain.learn(Z[i], int(y[i]), w[i])


def test_without_softness_it_is_the_distance_to_an_affine_subspace():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    Z = rng.normal(size=(400, 2)) @ basis.T + 3.0
    spaces = ClassSubspaces(rank=2, softness=0.0, prior=0.0)
    spaces.learn(Z, np.zeros(400, dtype=np.int64))
    x = rng.normal(size=(10, 5)) * 4.0
    d = x - 3.0
    d -= (d @ basis) @ basis.T
    np.testing.assert_allclose(spaces.residuals(x)[:, 0], (d**2).sum(axis=1), rtol=1e-6)


def test_chunks_change_no_bit():
    Z, y = rows(300)
    whole, parts = ClassSubspaces(), ClassSubspaces()
    whole.learn(Z, y)
    for i in range(0, 300, 7):
        parts.learn(Z[i : i + 7], y[i : i + 7])
    assert all(whole.tables()[name].tobytes() == table.tobytes() for name, table in parts.tables().items())


def test_old_rows_decay():
    rng = np.random.default_rng(0)
    spaces = ClassSubspaces(rank=2, window=50.0)
    spaces.learn(rng.normal(size=(500, 3)), np.zeros(500, dtype=np.int64))
    spaces.learn(rng.normal(size=(500, 3)) + 10.0, np.zeros(500, dtype=np.int64))
    assert spaces.weights[0] == pytest.approx(50.0)
    np.testing.assert_allclose(spaces.tables()["means"][0], 10.0, atol=0.5)


def test_renamed_classes_keep_what_they_know():
    Z, y = rows()
    spaces = ClassSubspaces()
    spaces.learn(Z, y)
    before = spaces.residuals(Z)
    spaces.rename(np.array([2, 0, 1]))
    assert spaces.residuals(Z)[:, [2, 0, 1]].tobytes() == before.tobytes()


def test_adopts_only_what_fits():
    Z, y = rows()
    spaces, other = ClassSubspaces(rank=3), ClassSubspaces(rank=3)
    spaces.learn(Z, y)
    other.adopt(spaces.tables(), spaces.classes)
    assert other.residuals(Z).tobytes() == spaces.residuals(Z).tobytes()
    with pytest.raises(ValueError, match="'bases' has another type or shape"):
        ClassSubspaces(rank=2).adopt(spaces.tables(), spaces.classes)
    with pytest.raises(ValueError, match="'counts' must hold numbers of at least 0"):
        other.adopt(spaces.tables() | {"counts": -1.0 - spaces.tables()["counts"]}, spaces.classes)
    with pytest.raises(ValueError, match="a size 'K' of at most"):
        other.adopt(spaces.tables(), spaces.classes - 1)


@pytest.mark.parametrize(("params", "sentence"), [
    ({"rank": 0}, "rank must lie in"),
    ({"softness": -1.0}, "softness must lie in"),
    ({"window": 1.0}, "window must lie in"),
    ({"prior": "much"}, "prior must be a number"),
])  # fmt: skip
def test_refuses(params, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        ClassSubspaces(**params)
