"""Feature maps of tensors: against their plain twins, at any chunk size, saved and restored, and with bad input."""

import numpy as np
import pytest

from thalweg.learners.tensors.chordal_features import ChordalFeatures
from thalweg.learners.tensors.lrtcr import LRTCRMap
from thalweg.learners.tensors.lrtd import LRTDMap
from thalweg.learners.tensors.maps import FlatMap, TensorMap
from thalweg.learners.tensors.opor import OPORMap
from thalweg.learners.tensors.tucker import core_shape
from thalweg.streams.generators.sim_tensor import SimTensor
from thalweg.tensors.forms import CPTensors, SparseTensors
from twins import tensor_maps as twins

MAPS = {
    "flat": lambda: FlatMap(most=20),
    "opor": lambda: OPORMap(k=3, refresh=7),
    "lrtcr": lambda: LRTCRMap(rank=2),
    "lrtd": lambda: LRTDMap(rank=2, refresh=7),
    "chordal": ChordalFeatures,
}
FORMS = ("dense", "cp", "sparse")


def factors(n, shape=(5, 4, 3), rank=2, seed=1):
    """CP tensors, the first mode along one direction above all, so that eigenvectors are clear."""
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=(n, size, rank)) * np.linspace(2, 0.3, size)[:, None] + 0.3 for size in shape]
    return CPTensors(rng.uniform(0.5, 2.0, size=(n, rank)), parts)


def in_form(tensors, form):
    if form == "cp":
        return tensors
    return tensors.dense() if form == "dense" else SparseTensors.from_dense(tensors.dense())


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


# -- what every map promises ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MAPS)
def test_chunks_and_states_change_no_bit(name, form):
    X = in_form(factors(90), form)
    whole, single, moved = (MAPS[name]().fit(X[:20]) for _ in range(3))
    n = len(X) - 20
    rest = X[20:]
    events = np.stack([np.arange(n), ~np.arange(n)], axis=1).reshape(-1)
    F = whole.play(whole.tensors(rest), events)
    for i in range(n):
        assert (single.transform(rest[i : i + 1])[0] == F[i]).all()
        single.learn(rest[i : i + 1])
    assert same(single.state(), whole.state())
    for i in range(0, n, 9):
        again = MAPS[name]()
        again.restore(moved.state())
        moved = again
        moved.learn(rest[i : i + 9])
    assert same(moved.state(), whole.state())
    assert (moved.transform(X) == whole.transform(X)).all()
    assert moved.names == whole.names


@pytest.mark.parametrize("name", MAPS)
def test_transform_changes_nothing_and_learn_does(name):
    X = factors(60).dense()
    map = MAPS[name]()
    assert isinstance(map, TensorMap)
    assert not map.fitted
    assert map.state() == {}
    map.fit(X[:30])
    before = map.state()
    F = map.transform(X)
    assert F.shape == (60, map.width) == (60, len(map.names))
    assert len(set(map.names)) == map.width
    assert same(map.state(), before)
    map.learn(X[30:])
    assert same(map.state(), before) == (name in ("flat", "chordal"))
    map.fit(X[:30])
    assert same(map.state(), before)
    map.restore({})
    assert not map.fitted


@pytest.mark.parametrize("name", [name for name in MAPS if name != "chordal"])
def test_sparse_tensors_give_what_arrays_give(name):
    X = factors(60)
    maps = [MAPS[name]().fit(in_form(X, f)[:30]).learn(in_form(X, f)[30:]) for f in ("dense", "sparse")]
    assert (maps[0].transform(X.dense()) == maps[1].transform(in_form(X, "sparse"))).all()


@pytest.mark.parametrize("name", MAPS)
def test_bad_tensors_get_a_sentence_and_change_nothing(name):
    map = MAPS[name]()
    with pytest.raises(ValueError, match="not known yet"):
        map.transform(np.zeros((1, 5, 4, 3)))
    map.fit(factors(20).dense())
    before = map.state()
    for bad, sentence in (
        (np.zeros((2, 5, 4, 2)), r"shape \(5, 4, 3\), got tensors of shape \(5, 4, 2\)"),
        (np.full((2, 5, 4, 3), np.inf), "X must be finite"),
        (factors(2), "X must be in the form of the"),
    ):
        for verb in (map.learn, map.transform):
            with pytest.raises(ValueError, match=sentence):
                verb(bad)
    assert same(map.state(), before)


@pytest.mark.parametrize("name", [name for name in MAPS if name != "chordal"])
def test_odd_tensors_are_tensors(name):
    rng = np.random.default_rng(1)
    for X in (np.zeros((10, 4, 3)), rng.normal(size=(10, 7)), rng.normal(size=(10, 1)), rng.normal(size=(10, 1, 1, 2)),
              CPTensors(np.zeros((4, 2)), [np.ones((4, 3, 2))] * 3), factors(5, (6,))):  # fmt: skip
        assert np.isfinite(MAPS[name]().fit(X[:3]).learn(X).transform(X)).all()
    with pytest.raises(ValueError, match="the number of tensors must lie in"):
        MAPS[name]().fit(np.zeros((0, 4, 3)))
    large = SparseTensors.one([[1] * 9], [1.0], (100,) * 9)
    with pytest.raises(ValueError, match="tensors in sparse form must have at most"):
        MAPS[name]().fit(large)


@pytest.mark.parametrize("name", [name for name in MAPS if name != "chordal"])
def test_huge_and_tiny_values_give_finite_features(name):
    rng = np.random.default_rng(1)
    for scale in (1e-200, 1e200, 1.7e308):
        X = rng.uniform(-1.0, 1.0, size=(30, 4, 3)) * scale
        assert np.isfinite(MAPS[name]().fit(X[:20]).learn(X).transform(X)).all()


@pytest.mark.parametrize("name", MAPS)
def test_order_15_is_never_written_out(name):
    X, _ = SimTensor(order=15, limit=120).read_tensors(120)
    F = MAPS[name]().fit(X[:60]).learn(X[60:]).transform(X)
    assert np.isfinite(F).all()
    assert F.std(axis=0).max() > 0


# -- each by itself ---------------------------------------------------------------------------------------------------


def test_flat_features_are_values():
    X = factors(10).dense()
    assert (FlatMap().fit(X).transform(X) == X.reshape(10, -1)).all()
    some = FlatMap(most=7).fit(X)
    places = [tuple(map(int, name.removeprefix("value ").split(", "))) for name in some.names]
    assert len(places) == 7
    assert (some.transform(X) == np.array([[A[at] for at in places] for A in X])).all()
    assert FlatMap(most=7).fit(X).names == some.names != FlatMap(most=7, seed=2).fit(X).names


def test_flat_factors_come_heaviest_first():
    X = factors(10)
    map = FlatMap().fit(X)
    F = map.transform(X)
    for i in range(10):
        loads = np.abs(X.weights[i]) * np.prod([np.linalg.norm(f[i], axis=0) for f in X.factors], axis=0)
        order = np.argsort(-loads)
        for f, name in enumerate(map.names):
            k, q, e = (int(part.split()[1]) for part in name.split(", "))
            assert F[i, f] == X.factors[k][i, e, order[q]]


def test_flat_factors_of_another_rank():
    map = FlatMap().fit(factors(10))
    lower, higher = map.transform(factors(3, rank=1)), map.transform(factors(3, rank=4))
    assert lower.shape == higher.shape == (3, 24)
    assert (lower == 0).sum() == 3 * 12
    assert (higher != 0).all()


def spread(n, size, seed=2):
    """Vectors whose variance falls from place to place."""
    return np.random.default_rng(seed).normal(size=(n, size)) * 0.8 ** np.arange(size)


def test_opor_equals_the_whole_matrix():
    X = spread(60, 8)
    twin = twins.OPOR(X[:30], 3)
    map = OPORMap(k=3, refresh=1).fit(X[:30])
    for x in X[30:]:
        np.testing.assert_allclose(map.transform(x[None])[0], twin.basis().T @ x, atol=1e-8)
        map.learn(x[None])
        twin.learn(x)


def test_opor_keeps_few_rows_and_its_trace():
    X = spread(300, 100)
    map = OPORMap(k=4).fit(X[:50])
    for i in range(50, 300):
        map.learn(X[i : i + 1])
        state = map.state()
        m, values = len(state["rows"]), np.linalg.eigvalsh(state["small"])
        assert m <= 12
        np.testing.assert_allclose(state["rows"] @ state["rows"].T, np.eye(m), atol=1e-10)
        assert values.min() > -1e-9
        assert values.max() < 1 + 1e-9
        assert values.sum() + (100 - m) * state["bulk"][0] == pytest.approx(4)
    kept = np.linalg.norm(map.transform(X)) ** 2 / np.linalg.norm(X) ** 2
    best = (np.linalg.svd(X)[1][:4] ** 2).sum() / np.linalg.norm(X) ** 2
    assert kept > 0.85 * best


def test_opor_follows_only_when_it_looks():
    X = spread(40, 12)
    map = OPORMap(k=2, refresh=10).fit(X[:10])
    before = map.transform(X)
    map.learn(X[10:19])
    assert (map.transform(X) == before).all()
    map.learn(X[19:20])
    assert (map.transform(X) != before).any()


@pytest.mark.parametrize("shape", [(5, 4, 3), (6, 5), (7,)])
@pytest.mark.parametrize("form", ["dense", "cp"])
def test_lrtd_equals_the_twin(form, shape):
    X = factors(80, shape)
    A = X.dense()
    counted = A / np.linalg.norm(A.reshape(80, -1), axis=1).reshape(-1, *[1] * len(shape)) if form == "cp" else A
    twin = twins.LRTD(counted[:30], core_shape(shape, 2), refresh=7)
    map = LRTDMap(rank=2, refresh=7).fit(in_form(X, form)[:30])
    for i in range(30, 80):
        one = in_form(X, form)[i : i + 1]
        np.testing.assert_allclose(map.transform(one)[0], twin.features(A[i]), rtol=1e-7, atol=1e-7)
        map.learn(one)
        twin.learn(counted[i])


@pytest.mark.parametrize("shape", [(5, 4, 3), (6, 5), (7,)])
@pytest.mark.parametrize("form", ["dense", "cp"])
def test_lrtcr_equals_the_twin(form, shape):
    X = factors(60, shape)
    A = X.dense()
    twin = twins.LRTCR(A[:20], core_shape(shape, 2), errors=form == "dense")
    map = LRTCRMap(rank=2).fit(in_form(X, form)[:20])
    for i in range(20, 60):
        one = in_form(X, form)[i : i + 1]
        np.testing.assert_allclose(map.transform(one)[0], twin.features(A[i]), rtol=1e-6, atol=1e-6)
        map.learn(one)
        twin.learn(A[i])


def test_the_core_stays_small():
    assert core_shape((32, 32, 3), 4) == (4, 4, 3)
    assert core_shape((100,) * 6, 4) == (4,) * 6
    assert core_shape((100,) * 7, 4) == core_shape((100,) * 7, 2) == (2,) * 7
    assert core_shape((100,) * 13, 4) == (1,) * 13


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: FlatMap(most=0), r"most must lie in \[1"),
        (lambda: OPORMap(k=0), r"k must lie in \[1"),
        (lambda: OPORMap(refresh=0), "refresh must lie in"),
        (lambda: LRTDMap(rate=0.0), r"rate must lie in \(0"),
        (lambda: LRTDMap(rank=0), "rank must lie in"),
        (lambda: LRTCRMap(rank=0), "rank must lie in"),
    ],
)
def test_bad_parameters_get_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
