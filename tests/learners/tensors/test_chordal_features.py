"""Tensors to vectors."""

import numpy as np
import pytest

from thalweg.learners.tensors.chordal_features import ChordalFeatures
from thalweg.streams.generators.sim_tensor import SimTensor
from thalweg.tensors.bases import Decomposition
from thalweg.tensors.forms import CPTensors, SparseTensors


@pytest.fixture
def images():
    return np.random.default_rng(1).normal(size=(25, 8, 8, 3)).cumsum(axis=1)


def test_features_are_functions_of_the_distances(images):
    made = {}
    for kind in ("kernel", "distance", "per-mode", "log-overlap", "log-per-mode"):
        map = ChordalFeatures(similarity=kind).fit(images[:5])
        made[kind] = map.transform(images)
        assert made[kind].shape == (25, len(map.names))
        assert made[kind].dtype == np.float64
    D = map.distances(images)
    assert (made["per-mode"] == D.reshape(25, -1)).all()
    np.testing.assert_allclose(made["distance"], D.sum(axis=2))
    S = D.sum(axis=2)[:5][np.triu_indices(5, 1)]
    assert 2 * map.sigma**2 == pytest.approx(np.median(S))
    np.testing.assert_allclose(made["kernel"], np.exp(-D.sum(axis=2) / np.median(S)))
    assert np.diagonal(made["kernel"][:5]) == pytest.approx(1.0)
    assert ((made["kernel"] > 0) & (made["kernel"] <= 1)).all()
    for i in range(5):  # what orders tensors by S orders them by K, the other way round
        assert (np.argsort(made["kernel"][:, i]) == np.argsort(-made["distance"][:, i], kind="stable")).all()
    bases = Decomposition().bases(images)
    t, r = bases.overlaps(map.landmarks), np.minimum(bases.ranks[:, None], map.landmarks.ranks[None])
    np.testing.assert_allclose(made["log-overlap"], -np.log(t / r).sum(axis=2), atol=1e-12)
    np.testing.assert_allclose(made["log-per-mode"], -np.log(t / r).reshape(25, -1), atol=1e-12)


def test_auto_means_modes_and_their_logs_above_order_5():
    for order, kind in ((3, "per-mode"), (5, "per-mode"), (6, "log-per-mode"), (15, "log-per-mode")):
        tensors, _ = SimTensor(order=order, size=5).read_tensors(3)
        assert ChordalFeatures().fit(tensors).kind == kind


def test_the_norm_is_one_more_feature(images):
    map = ChordalFeatures(append_norm=True).fit(images[:5])
    assert map.names[-1] == "log norm"
    np.testing.assert_allclose(map.transform(images)[:, -1], np.log(np.sqrt((images**2).sum(axis=(1, 2, 3)))))
    tensors, _ = SimTensor(order=3, size=6).read_tensors(4)
    dense = np.log(np.sqrt((tensors.dense() ** 2).sum(axis=(1, 2, 3))))
    np.testing.assert_allclose(ChordalFeatures(append_norm=True).fit(tensors).transform(tensors)[:, -1], dense)


@pytest.mark.parametrize("kind", ["kernel", "distance", "per-mode", "log-overlap", "log-per-mode"])
def test_a_tensor_that_is_zero_has_finite_features(images, kind):
    images[[0, 7]] = 0.0
    map = ChordalFeatures(similarity=kind, append_norm=True).fit(images[:5])
    assert np.isfinite(map.transform(images)).all()
    if kind != "kernel":
        assert map.transform(images)[7, 0] == 0.0


def test_equal_landmarks_give_sigma_1(images):
    assert ChordalFeatures().fit(np.repeat(images[:1], 3, axis=0)).sigma == 1.0
    assert ChordalFeatures().fit(images[:1]).sigma == 1.0


def _all_forms(images):
    tensors, _ = SimTensor(order=4, size=7).read_tensors(25)
    return {"dense": images, "sparse": SparseTensors.from_dense(images * (np.abs(images) > 2)), "cp": tensors}


@pytest.mark.parametrize("form", ["dense", "sparse", "cp"])
@pytest.mark.parametrize("kind", ["kernel", "per-mode", "log-overlap"])
def test_the_same_bits_in_any_chunk_and_after_a_restore(images, form, kind):
    X = _all_forms(images)[form]
    map = ChordalFeatures(similarity=kind, append_norm=True).fit(X[:4])
    whole = map.transform(X)
    again = ChordalFeatures(similarity=kind, append_norm=True)
    again.restore(map.state())
    assert again.sigma == map.sigma
    assert (again.transform(X) == whole).all()
    assert (np.concatenate([map.transform(X[i : i + 1]) for i in range(25)]) == whole).all()
    assert (np.concatenate([map.transform(X[i : i + 7]) for i in range(0, 25, 7)]) == whole).all()
    assert (map.transform(map.bases(X)) == whole).all()
    assert map.transform(X[:0]).shape == (0, whole.shape[1])
    again.restore(ChordalFeatures().state())
    assert not again.fitted


@pytest.mark.parametrize(("order", "spread"), [(3, 3e-2), (9, 1e-8), (15, 3e-15)])
def test_log_overlap_keeps_its_digits_where_distances_lose_them(order, spread):
    """Shapes .15 and .30: with many modes all distances are equal, overlaps still tell the classes apart."""
    tree = pytest.importorskip("sklearn.tree")
    X, y = SimTensor(order=order, size=100, shapes=(0.15, 0.30), limit=300, seed=3).read_tensors(240)
    scores = {}
    for kind in ("distance", "log-overlap"):
        F = ChordalFeatures(similarity=kind, rank=1).fit(X[:20]).transform(X[20:])
        fitted = tree.DecisionTreeClassifier(max_depth=5, random_state=0).fit(F[:110], y[20:130])
        scores[kind] = fitted.score(F[110:], y[130:])
        if kind == "distance":
            assert spread / 10 < F.std(axis=0).mean() < spread * 10
    assert scores["log-overlap"] > 0.87
    assert scores["distance"] > 0.87 if order == 3 else scores["distance"] < 0.65


def test_parameters_come_back():
    map = ChordalFeatures(similarity="distance", rank=2)
    assert repr(map) == "ChordalFeatures(similarity='distance', rank=2)"
    assert ChordalFeatures(**map.get_params(deep=False)).get_params() == map.get_params()


def test_factors_and_arrays_agree():
    tensors, _ = SimTensor(order=4, size=6, rank=2).read_tensors(20)
    one, other = ChordalFeatures(rank=1, similarity="log-overlap"), ChordalFeatures(rank=1, similarity="log-overlap")
    F, G = one.fit(tensors[:5]).transform(tensors), other.fit(tensors[:5].dense()).transform(tensors.dense())
    np.testing.assert_allclose(F, G, atol=1e-9)
    assert isinstance(tensors, CPTensors)
