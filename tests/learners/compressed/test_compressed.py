"""Neighbours and forests behind projections: the same as the parts one after the other."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import thalweg
from thalweg import (
    ADWIN,
    PCAKNN,
    AdaptiveRandomForest,
    BaggedKNN,
    CompressedBaggedKNN,
    CompressedBagging,
    CompressedForest,
    CompressedKNN,
    GaussianProjection,
    HashedKNN,
    HashProjection,
    HoeffdingTree,
    PCAProjection,
    Projected,
    Text,
    WindowKNN,
)
from twins.bagged_knn import PlainBag
from twins.compressed_bagging import PlainBagging


def text(n: int, words: int = 200, seed: int = 1):
    return Text(words=words, seed=seed).take(n)


# -- a learner behind a projection is the learner on projected rows ---------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "projection", "inner"),
    [
        (CompressedKNN(p=12, seed=3), GaussianProjection(p=12, seed=3), WindowKNN()),
        (CompressedKNN(p=12, k=3, window=50, scale=None, ties="k"), GaussianProjection(p=12),
         WindowKNN(k=3, window=50, scale=None, ties="k")),
        (HashedKNN(p=9, seed=2), HashProjection(p=9, seed=2), WindowKNN()),
        (CompressedForest(size=3, p=8, seed=5), GaussianProjection(p=8, seed=5), AdaptiveRandomForest(size=3, seed=5)),
        (Projected(learner=HoeffdingTree(grace_period=50), projection="very-sparse(p=10, density=0.2)"),
         thalweg.VerySparseProjection(p=10, density=0.2), HoeffdingTree(grace_period=50)),
    ],
)  # fmt: skip
def test_it_is_the_learner_on_projected_rows(learner, projection, inner):
    chunk = text(1500)
    expected = inner.test_then_train(projection.transform(chunk.X), chunk.y)
    learner = type(learner)(**learner.get_params(deep=False))
    np.testing.assert_array_equal(learner.test_then_train(chunk.X, chunk.y), expected)
    learner = learner.reset()
    np.testing.assert_array_equal(learner.test_then_train(csr_array(chunk.X), chunk.y), expected)


def test_components_move_with_the_rows_that_are_learned():
    chunk = text(400)
    learner, projection, inner = PCAKNN(p=5), PCAProjection(p=5), WindowKNN()
    got = learner.test_then_train(chunk.X, chunk.y)
    for i in range(400):
        x = chunk.X[i : i + 1]
        if i:
            row = projection.transform(x)
            np.testing.assert_array_equal(got[i : i + 1, : len(inner.classes_)], inner.predict_proba(row))
        else:
            row = np.zeros((1, 5))
        inner.partial_fit(row, chunk.y[i : i + 1])
        projection.learn(x)


def test_dense_and_sparse_chunks_may_alternate():
    chunk = text(900)
    mixed, plain = CompressedKNN(p=10), CompressedKNN(p=10)
    for start in range(0, 900, 100):
        X, y = chunk.X[start : start + 100], chunk.y[start : start + 100]
        got = mixed.test_then_train(csr_array(X) if start % 200 else X, y)
        np.testing.assert_array_equal(got, plain.test_then_train(X, y))
    assert mixed.distortion() == plain.distortion()


@pytest.mark.parametrize("scale", ["window", None])
def test_the_scale_of_the_matrix_does_not_matter(scale):
    chunk = text(800)
    once, more = (CompressedKNN(p=10, scale=scale).test_then_train(f * chunk.X, chunk.y) for f in (1.0, 8.0))
    np.testing.assert_array_equal(once, more)


# -- what the projection cost -----------------------------------------------------------------------------------------


def test_distortion_is_that_of_every_eighth_row_from_the_one_before():
    chunk = text(9500, words=50)
    learner = CompressedKNN(p=20).partial_fit(chunk.X, chunk.y)
    X, Y = chunk.X, learner.project(chunk.X)
    at = np.arange(8, 9500, 8)[-1000:]
    before, after = ((rows[at] - rows[at - 1]) ** 2 for rows in (X, Y))
    differ = before.any(axis=1)
    r = after[differ].sum(axis=1) / before[differ].sum(axis=1)
    found = learner.distortion()
    assert found.pairs == differ.sum() > 900
    np.testing.assert_allclose([found.mean, found.spread, found.worst], [r.mean(), r.std(), np.abs(r - 1).max()])


@pytest.mark.parametrize("sizes", [[1300], [1] * 30 + [1270], [403, 97, 800]])
def test_distortion_does_not_depend_on_chunks(sizes):
    chunk, learner, start = text(1300), CompressedKNN(p=20), 0
    for n in sizes:
        learner.partial_fit(chunk.X[start : start + n], chunk.y[start : start + n])
        start += n
    assert learner.distortion() == CompressedKNN(p=20).partial_fit(chunk.X, chunk.y).distortion()


def test_more_columns_distort_less():
    chunk = text(1000)
    spread = [CompressedKNN(p=p).partial_fit(chunk.X, chunk.y).distortion().spread for p in (10, 40, 160)]
    assert spread[0] > 1.5 * spread[1] > 2.25 * spread[2]


def test_before_the_first_row_there_is_nothing_to_measure():
    assert CompressedKNN().distortion().pairs == 0
    with pytest.raises(ValueError, match="has not seen a row yet"):
        CompressedKNN().project([[1.0]])


def test_epsilon_gives_the_dimension_for_the_window():
    chunk = text(50)
    learner = CompressedKNN(epsilon=0.5, window=1000).partial_fit(chunk.X, chunk.y)
    assert learner.project(chunk.X).shape == (50, 332)


# -- memory and files -------------------------------------------------------------------------------------------------


def test_a_window_of_forty_columns_takes_half_a_megabyte():
    chunk = text(3000, words=1000)
    learner = CompressedKNN(p=40, window=1000).partial_fit(chunk.X, chunk.y)
    assert learner.memory()["model"] <= 500_000
    assert learner.state_bytes == sum(learner.memory().values())


@pytest.mark.parametrize(
    "learner", [CompressedKNN(p=7), PCAKNN(p=4), HashedKNN(p=6), CompressedBagging(size=3, p=5),
                CompressedBaggedKNN(size=3, p=5), CompressedForest(size=2, p=6),
                Projected(learner=HoeffdingTree(), projection="very-sparse(p=9)")],
)  # fmt: skip
def test_a_saved_one_goes_on_the_same(learner, tmp_path):
    chunk = text(1200)
    learner = type(learner)(**learner.get_params(deep=False)).partial_fit(chunk.X[:600], chunk.y[:600])
    thalweg.save(learner, tmp_path / "model")
    loaded = thalweg.load(tmp_path / "model")
    np.testing.assert_array_equal(
        loaded.test_then_train(chunk.X[600:], chunk.y[600:]), learner.test_then_train(chunk.X[600:], chunk.y[600:])
    )


def test_the_matrix_is_not_in_the_file(tmp_path):
    chunk = text(100, words=5000)
    learner = CompressedKNN(p=40, window=100).partial_fit(csr_array(chunk.X), chunk.y)
    thalweg.save(learner, tmp_path / "model")
    assert learner.memory()["projection"] > 1_600_000 > (tmp_path / "model").stat().st_size


# -- bagging ----------------------------------------------------------------------------------------------------------


def changing(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose label is turned round for a while, and which get new classes at the end: members must go."""
    X = np.random.default_rng(4).normal(size=(n, d))
    y = (X[:, 0] > 0).astype(int)
    third = slice(3 * n // 7, 5 * n // 7)
    y[third] = 1 - y[third]
    y[6 * n // 7 :] += 2 * (X[6 * n // 7 :, 1] > 0)
    return X, y


def in_pieces(learner, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    pieces, start = [], 0
    for n in (1, 1, 300, 50, len(y) - 352):
        proba = learner.test_then_train(X[start : start + n], y[start : start + n])
        pieces.append(np.pad(proba, ((0, 0), (0, 4 - proba.shape[1]))))
        start += n
    return np.concatenate(pieces)


@pytest.mark.parametrize("draws", ["skip", "vote"])
def test_bagging_with_own_matrices_is_the_plain_one(draws):
    X, y = changing(700, 12)
    how = {"size": 3, "p": 6, "rate": 1.0, "draws": draws, "seed": 7}
    plain = PlainBagging(**how, delta=0.2, k=3, window=60)
    learner = CompressedBagging(**how, drift=ADWIN(delta=0.2), k=3, window=60)
    got = in_pieces(learner, X, y)
    for i in range(700):
        expected = list(plain.predict(X[i]).values())
        np.testing.assert_allclose(got[i, : len(expected)], expected, atol=1e-12)
        plain.learn(X[i], int(y[i]))
    assert learner.replacements == plain.replaced
    assert len(plain.replaced) >= 2


@pytest.mark.parametrize("rate", [6.0, 0.7])
def test_bagging_in_one_window_is_the_plain_one(rate):
    X, y = changing(1000, 4)
    plain = PlainBag(size=5, k=3, window=60, rate=rate, delta=0.2, seed=7)
    learner = BaggedKNN(size=5, k=3, window=60, rate=rate, drift=ADWIN(delta=0.2), seed=7)
    got = in_pieces(learner, X, y)
    for i in range(1000):
        expected = plain.answers(X[i]).mean(axis=0)
        np.testing.assert_allclose(got[i, : len(expected)], expected, atol=1e-12)
        plain.learn(X[i], int(y[i]))
    assert learner.replacements == plain.replaced
    assert len(plain.replaced) >= 2


def test_own_matrices_help():
    chunk = text(4000, words=500)
    accuracy = []
    for learner in (CompressedBaggedKNN(p=20), CompressedBagging(p=20)):
        proba = learner.test_then_train(chunk.X, chunk.y)
        accuracy.append((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean())
    assert accuracy[1] > accuracy[0] + 0.03


def test_without_a_detector_nobody_is_replaced():
    chunk = text(500)
    learner = CompressedBagging(size=2, p=5, drift=None).partial_fit(chunk.X, 1 - chunk.y).partial_fit(chunk.X, chunk.y)
    assert learner.replacements == []


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: CompressedKNN(k=0), "k must lie in"),
        (lambda: CompressedKNN(p=-1), "p must lie in"),
        (lambda: CompressedKNN(projection="gauss"), "projection must be one of gaussian"),
        (lambda: CompressedKNN(projection=3), "projection must be a projection or its name"),
        (lambda: CompressedKNN(p=40, epsilon=0.3), "epsilon must be None where p is given"),
        (lambda: CompressedBagging(projection="pca"), "projection must be one that does not move"),
        (lambda: CompressedBagging(size=0), "size must lie in"),
        (lambda: CompressedBaggedKNN(size=65), "size must lie in"),
        (lambda: BaggedKNN(rate=0), "rate must lie in"),
        (lambda: CompressedBagging(draws="both"), "draws must be one of"),
        (lambda: CompressedForest(forest="knn"), "forest must be one of"),
        (lambda: Projected(learner="knn"), "learner must be a learner"),
        (lambda: CompressedKNN(projection="fourier", p=40).partial_fit(np.eye(5), range(5)), "p must be less than"),
    ],
)
def test_bad_parameters_get_a_sentence(make, said):
    with pytest.raises((ValueError, TypeError), match=said):
        make()


@pytest.mark.parametrize("make", [BaggedKNN, CompressedBagging, CompressedBaggedKNN])
def test_times_of_replacements_are_kept_and_what_no_ensemble_could_have_is_refused(make):
    X, y = changing(900, 12)
    learner = make(size=3, k=3, window=60, rate=1.0, drift=ADWIN(delta=0.2), seed=7)
    learner.partial_fit(X, y)
    assert learner.replacements
    assert all(0 < row <= 900 and 0 <= member < 3 for row, member in learner.replacements)
    state = learner.state()
    twin = make(**learner.get_params(deep=False))
    twin.restore(state)
    assert twin.replacements == learner.replacements
    name = next(n for n in state if n.endswith("replaced"))
    for wrong in (state[name] + 1000, state[name].astype(np.float64), state[name][:1]):
        with pytest.raises(ValueError, match="replaced"):
            make(**learner.get_params(deep=False)).restore(state | {name: wrong})
