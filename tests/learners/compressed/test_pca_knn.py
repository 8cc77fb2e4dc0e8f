"""Neighbours behind principal components, the window projected again by the components of now."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import thalweg
from thalweg import PCAKNN, Feature, PCAProjection, Schema, Text, WindowKNN
from thalweg.learners.windows import window_jit as o
from twins.pca_knn import PlainPCAKNN

SMALL = {"p": 4, "k": 3, "window": 50}


def turning(n: int = 400, d: int = 9, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose main direction changes half-way, so that old projections go stale; classes numbered as they come."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[: n // 2, 0] *= 6.0
    X[n // 2 :, 5] *= 6.0
    _, first, y = np.unique((X[:, 0] + X[:, 5] > 0) + 2 * (X[:, 2] > 1.5), return_index=True, return_inverse=True)
    return X, first.argsort().argsort()[y]


def words(n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    chunk = Text(words=120, seed=1).take(n)
    return chunk.X, chunk.y


def in_pieces(learner: PCAKNN, X, y, sizes: list[int], classes: int) -> np.ndarray:
    """Predict and learn chunks of these sizes, then the rest."""
    pieces, start = [], 0
    for n in (*sizes, len(y) - sum(sizes)):
        proba = learner.test_then_train(X[start : start + n], y[start : start + n])
        pieces.append(np.pad(proba, ((0, 0), (0, classes - proba.shape[1]))))
        start += n
    return np.concatenate(pieces)


@pytest.mark.parametrize(
    "how",
    [
        {"reproject_every": 1},
        {"reproject_every": 7},
        {"reproject_every": 130},
        {"reproject_every": 7, "amnesia": 2.0, "centre": False, "scale": None, "weights": "distance"},
        {"reproject_every": 7, "metric": "manhattan", "ties": "k"},
        {"reproject_every": None},
    ],
)
def test_it_is_the_plain_one(how):
    X, y = turning()
    X[::11, 3] = np.nan
    plain = PlainPCAKNN(9, **SMALL, **how)
    got = in_pieces(PCAKNN(**SMALL, **how), X, y, [1, 6, 100, 1], 4)
    for i in range(len(y)):
        if i:
            expected = plain.proba(X[i])
            np.testing.assert_allclose(got[i, : len(expected)], expected, atol=1e-9)
        plain.learn(X[i], int(y[i]))


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("sparse", [False, True])
def test_it_is_a_new_window_of_what_the_components_of_now_give(precision, sparse):
    X, y = words()
    given = csr_array(X) if sparse else X
    neighbours = {"k": 3, "window": 60, "precision": precision}
    got = PCAKNN(p=5, reproject_every=35, **neighbours).test_then_train(given, y)
    projection, window = PCAProjection(p=5), WindowKNN(**neighbours)
    for i in range(len(y)):
        row = projection.transform(X[i : i + 1]) if i else np.zeros((1, 5))
        if i:
            np.testing.assert_array_equal(got[i, : len(window.classes_)], window.predict_proba(row)[0])
        window.partial_fit(row, y[i : i + 1])
        projection.learn(X[i : i + 1])
        if (i + 1) % 35 == 0:
            last = slice(max(0, i - 59), i + 1)
            window = WindowKNN(**neighbours).partial_fit(projection.transform(X[last]), y[last], classes=[0, 1])


def test_deviations_of_all_rows_stay_those_of_the_rows_as_they_came():
    X, y = turning()
    never, often = (PCAKNN(**SMALL, scale="online", reproject_every=n).partial_fit(X, y) for n in (None, 20))
    spans = [learner.state()["learner.spans"] for learner in (never, often)]
    for at in (o.S_COUNT, o.S_MEAN, o.S_SQUARES):
        np.testing.assert_array_equal(spans[0][:, at], spans[1][:, at])
    assert (spans[1][:, o.S_LEAST] <= spans[0][:, o.S_LEAST]).all()
    assert not np.array_equal(never.state()["learner.ring"], often.state()["learner.ring"])


# -- chunks, files, dense and sparse rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("sizes", [[1] * 45, [34, 1, 1, 69], [333]])
def test_chunks_do_not_matter(sizes, sparse):
    X, y = words()
    X = csr_array(X) if sparse else X
    how = {"p": 5, "k": 3, "window": 60, "reproject_every": 35}
    whole, pieces = PCAKNN(**how), PCAKNN(**how)
    np.testing.assert_array_equal(in_pieces(pieces, X, y, sizes, 2), whole.test_then_train(X, y))
    one, other = whole.state(), pieces.state()
    assert one.keys() == other.keys()
    for name, table in one.items():
        np.testing.assert_array_equal(table, other[name], strict=True)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_saved_one_goes_on_the_same(sparse, tmp_path):
    X, y = words()
    X = csr_array(X) if sparse else X
    learner = PCAKNN(p=5, window=60, reproject_every=35).partial_fit(X[:90], y[:90])
    thalweg.save(learner, tmp_path / "model")
    loaded = thalweg.load(tmp_path / "model")
    assert loaded.state_bytes == learner.state_bytes
    np.testing.assert_array_equal(loaded.test_then_train(X[90:], y[90:]), learner.test_then_train(X[90:], y[90:]))


@pytest.mark.parametrize("first", [0, 1])
def test_dense_and_sparse_chunks_may_alternate(first):
    X, y = words()
    mixed, plain = (PCAKNN(p=5, window=60, reproject_every=35) for _ in range(2))
    for start in range(0, 500, 50):
        part, labels = X[start : start + 50], y[start : start + 50]
        given = csr_array(part) if (start // 50) % 2 == first else part
        np.testing.assert_array_equal(mixed.test_then_train(given, labels), plain.test_then_train(part, labels))


@pytest.mark.parametrize("sparse", [False, True])
def test_features_may_join(sparse):
    """To rows that came before, a feature that joins is missing, in whichever form they are kept."""
    X, y = turning()
    X[:, 6:] += 3.0  # 0 would not be the mean
    how = {**SMALL, "reproject_every": 20}
    learner, plain = PCAKNN(**how), PlainPCAKNN(9, **how)
    first = X[:100, :6]
    learner.declare(Schema.numeric(6)).partial_fit(csr_array(first) if sparse else first, y[:100])
    learner.grow(Schema.numeric(9))
    for i in range(100):
        plain.learn(np.r_[X[i, :6], [np.nan] * 3], int(y[i]))
    for i in range(100, 140):
        np.testing.assert_allclose(learner.test_then_train(X[[i]], y[[i]])[0], plain.proba(X[i]), atol=1e-9)
        plain.learn(X[i], int(y[i]))
    state = learner.state()
    window = state["learner.ring"].transpose(0, 2, 1).reshape(-1, 4)[:50]
    oldest_first = np.roll(window, -state["learner.head"][o.W_NEXT], axis=0)
    np.testing.assert_allclose(oldest_first, plain.neighbours.rows, atol=1e-9)


def test_a_column_for_each_nominal_value():
    X, y = turning()
    X[:, 8] = np.arange(400) % 3
    schema = Schema((*(Feature(f"f{i}") for i in range(8)), Feature("hue", values=("red", "green", "blue"))))
    got = PCAKNN(**SMALL, reproject_every=20).declare(schema).test_then_train(X, y)
    columns = np.concatenate([X[:, :8], X[:, 8:] == np.arange(3)], axis=1)
    np.testing.assert_allclose(got, PCAKNN(**SMALL, reproject_every=20).test_then_train(columns, y), atol=1e-9)


# -- memory and bad input ---------------------------------------------------------------------------------------------


def test_the_rows_as_they_came_are_counted():
    X, y = words()
    never, dense = (PCAKNN(p=5, window=100, reproject_every=n).partial_fit(X, y) for n in (None, 10))
    sparse = PCAKNN(p=5, window=100, reproject_every=10).partial_fit(csr_array(X), y)
    assert dense.state_bytes - never.state_bytes == dense.memory()["rows"] == 100 * 120 * 8
    assert sparse.memory()["rows"] == 16 * np.count_nonzero(X[-100:]) + 8 * 201 < dense.memory()["rows"] / 3
    assert "rows" not in never.memory()


@pytest.mark.parametrize("sparse", [False, True])
def test_a_state_that_could_not_be_is_refused(sparse):
    X, y = words(100)
    learner = PCAKNN(p=5, window=60, reproject_every=35).partial_fit(csr_array(X) if sparse else X, y)
    before = learner.state()
    for name in [name for name in before if name.startswith("raw.")]:
        table = before[name]
        for wrong in (
            table[:-1],
            table.astype(np.float32),
            np.full_like(table, np.inf if table.dtype == float else -1),
        ):
            with pytest.raises(ValueError, match="state must be what PCAKNN.state\\(\\) gave: its table '"):
                learner.restore(before | {name: wrong})
    after = learner.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("wrong", [0, -3, 2.5, "10", True])
def test_bad_parameters_get_a_sentence(wrong):
    with pytest.raises((ValueError, TypeError), match="reproject_every must"):
        PCAKNN(reproject_every=wrong)
