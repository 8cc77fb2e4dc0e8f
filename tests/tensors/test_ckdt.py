"""CKDT and its relatives: the plain loop, drifts, presets, reasons, sizes that change, and bad tensors."""

import numpy as np
import pytest
from tests.twins.ckdt import PlainCKDT

from thalweg import CKDT, LRTCR, LRTD, MDDT, OPOR, CKDTForest, CPTensors, SparseTensors, load, save
from thalweg.tensors.ckdt import draw
from thalweg.tensors.features import ChordalFeatures

ALL = [CKDT, MDDT, OPOR, LRTCR, LRTD, CKDTForest]
SMALL = {"window": 40, "min_rebuild": 30, "n_landmarks": 6}


def gammas(n, seed=1, shapes=(0.5, 3.0), size=(6, 5)):
    """Make tensors of two classes, by the shape of their entries' distribution."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.gamma(np.array(shapes)[y].reshape(-1, *[1] * len(size)), size=(n, *size)), y


def drifting(seed=1):
    """Make a stream whose tensors change in the middle."""
    (X, y), (X2, y2) = gammas(300, seed), gammas(300, seed + 1, (6.0, 1.5))
    return np.concatenate([X, 3.0 * X2]), np.concatenate([y, y2])


def accuracy(learner, X, y, after=0):
    proba = learner.test_then_train(X, y)
    return (learner.classes_[proba.argmax(axis=1)] == y)[after:].mean()


# -- the loop ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("replace", ["now", "better"])
@pytest.mark.parametrize("guard", [False, True])
def test_the_loop_is_the_plain_one(replace, guard):
    X, y = drifting()
    learner = CKDT(replace=replace, error_guard=guard, **SMALL).partial_fit(X[:0], y[:0], classes=[0, 1])
    plain = PlainCKDT(2, replace=replace, guard=guard, **SMALL)
    proba = learner.test_then_train(X, y)
    for i in range(len(X)):
        assert np.allclose(proba[i], plain.predict(X[i]), atol=1e-12), i
        plain.learn(X[i], int(y[i]))
    assert learner.n_builds == plain.builds >= 2


@pytest.mark.parametrize("cls", ALL)
def test_a_drift_is_met_with_new_features(cls):
    X, y = drifting()
    more = {"size": 5, "pool": 40} if cls is CKDTForest else {}
    learner = cls(window=60, min_rebuild=40, **more)
    proba = learner.test_then_train(X, y)
    right = learner.classes_[proba.argmax(axis=1)] == y
    assert right[150:300].mean() > 0.85
    assert right[500:].mean() > 0.8
    assert learner.n_builds >= 2


def test_tensors_that_change_without_harm_keep_their_tree():
    X, y = gammas(900)
    X[450:] *= 2.0  # chordal distances do not see it, the detector does
    learner = CKDT(append_norm=False, **SMALL)
    assert accuracy(learner, X, y, 100) > 0.65
    first = [landmark.number for landmark in learner.landmarks]
    assert learner.n_builds > 1
    assert max(first) <= 40


def test_the_error_guard_sees_labels_that_change():
    X, y = gammas(1200)
    y[600:] = 1 - y[600:]
    assert accuracy(CKDT(error_guard=False, rule="cusum"), X, y, 1000) < 0.6
    assert accuracy(CKDT(), X, y, 1000) > 0.9


def test_the_papers_preset_is_literal():
    X, y = gammas(400)
    learner = CKDT(preset="paper").partial_fit(X, y)
    assert learner._chosen("rank") == "numerical"
    assert learner._model.map.kind == "kernel"
    assert learner._model.trees.bound == "mcdiarmid"
    assert learner._detector.rule == "paper"
    assert CKDT(preset="paper", bound="lcb").partial_fit(X, y)._model.trees.bound == "lcb"


# -- forms ------------------------------------------------------------------------------------------------------------


def cp(n, order=6, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    factors = [rng.gamma(np.array([2.0, 3.0])[y][:, None, None], size=(n, 20, 3)) for _ in range(order)]
    return CPTensors(np.ones((n, 3)), factors), y


@pytest.mark.parametrize("cls", ALL)
def test_factors_are_learned_and_never_written_out(cls):
    tensors, y = cp(500)
    assert accuracy(cls(), tensors, y, 300) > 0.9


def test_sparse_tensors_are_learned():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    X = np.zeros((300, 8, 9))
    for i in range(300):
        X[i, rng.integers(0, 4, 12) + 4 * y[i], rng.integers(0, 9, 12)] = 1.0
    dense, sparse = CKDT(), CKDT()
    a = dense.test_then_train(X, y)
    b = sparse.test_then_train(SparseTensors.from_dense(X), y)
    assert (a == b).all()
    assert (dense.classes_[a.argmax(axis=1)] == y)[150:].mean() > 0.9


# -- reasons ----------------------------------------------------------------------------------------------------------


def test_reasons_lead_to_the_leaf():
    X, y = gammas(800)
    learner = CKDT().partial_fit(X, y)
    reasons = learner.explain(X[7])
    features = learner._model.map.transform(X[7:8])[0]
    names = learner._model.map.names
    assert reasons
    for reason in reasons:
        assert features[names.index(reason.feature)] == pytest.approx(reason.value)
        assert reason.above == (reason.value > reason.threshold)
        assert reason.landmark == -1 or abs(reason.modes.sum() - 1.0) < 1e-12
    landmarks = learner.landmarks
    assert len(landmarks) == 20
    assert {landmark.label for landmark in landmarks} == {0, 1}
    assert (landmarks[0].values == X[landmarks[0].number - 1]).all()
    assert learner.importances.shape == (20, 2)
    assert CKDT().explain(X[0]) == []


def test_landmarks_are_not_the_same_tensor_twice():
    X, y = gammas(30)
    X[:15] = X[0]
    drawn = draw(np.random.default_rng(1), X, y, 8, stratify=True, how=ChordalFeatures())
    assert (drawn < 15).sum() <= 1
    every = draw(np.random.default_rng(1), X[:15], y[:15], 8, stratify=True, how=ChordalFeatures())
    assert len(np.unique(every)) == 8


# -- sizes that change ------------------------------------------------------------------------------------------------


def test_a_mode_may_grow_and_shrink():
    X, y = gammas(300, size=(6, 5))
    wide, z = gammas(400, 2, size=(9, 5))
    learner = CKDT(evolving=True, **SMALL)
    learner.partial_fit(X[:10], y[:10])
    learner.partial_fit(X[10:20, :, :4], y[10:20])
    learner.partial_fit(X[20:], y[20:])
    before = learner.predict_proba(X[:50])
    learner.learn_one(wide[0], z[0])
    assert learner.schema.shape == (9, 5)
    assert np.allclose(learner.predict_proba(X[:50]), before, atol=0.2)  # zeros change no distance, one tensor little
    assert accuracy(learner, wide[1:], z[1:], 200) > 0.9
    assert learner.predict(X[:5]).shape == (5,)
    with pytest.raises(ValueError, match=r"tensors of shape \(9, 5\), got tensors of shape \(9, 5, 1\)"):
        learner.partial_fit(wide[..., None], z)


def test_a_mode_that_grew_is_kept_by_save_and_load(tmp_path):
    X, y = gammas(150, size=(6, 5))
    wide, z = gammas(150, 2, size=(9, 5))
    learner = CKDT(evolving=True, **SMALL).partial_fit(X, y).partial_fit(wide[:20], z[:20])
    save(learner, tmp_path / "grown.thalweg")
    other = load(tmp_path / "grown.thalweg")
    assert (learner.test_then_train(wide[20:], z[20:]) == other.test_then_train(wide[20:], z[20:])).all()


# -- bad tensors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda X: X[..., None], "X must hold tensors of shape"),
        (lambda X: X[:, :, :4], "X must hold tensors of shape"),
        (lambda X: np.where(X == X.max(), np.nan, X), "missing value"),
        (lambda X: np.where(X == X.max(), np.inf, X), "finite"),
        (lambda X: X[:, :, :0], "none of them empty"),
        (lambda X: X + 0j, "real numbers"),
        (lambda X: X.astype(str), "numbers"),
    ],
)
def test_bad_tensors_get_a_sentence_and_change_nothing(cls, spoil, sentence):
    X, y = gammas(60)
    learner = cls().partial_fit(X, y)
    before = learner.state()
    with pytest.raises((ValueError, TypeError), match=sentence):
        learner.partial_fit(spoil(X), y)
    with pytest.raises((ValueError, TypeError), match=sentence):
        learner.predict(spoil(X))
    after = learner.state()
    assert all(before[name].tobytes() == table.tobytes() for name, table in after.items())


@pytest.mark.parametrize("cls", ALL)
def test_vectors_are_told_what_is_wanted(cls):
    with pytest.raises(
        ValueError, match=r"X must hold tensors, an array \(n, N1, …, NL\), for .*got rows of 6 numbers"
    ):
        cls().partial_fit(np.zeros((3, 6)), [0, 1, 0])
    assert cls(shape=(2, 3)).partial_fit(np.ones((3, 6)), [0, 1, 0]).schema.n_features == 6
    with pytest.raises(ValueError, match=r"fill the shape \(4, -1\), got rows of 6 numbers"):
        cls(shape=(4, -1)).partial_fit(np.zeros((3, 6)), [0, 1, 0])
    with pytest.raises(ValueError, match="shape must be None or sizes"):
        cls(shape=(0, 2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"replace": "soon"}, {"preset": "best"}, {"n_landmarks": 0}, {"rank": "all"}, {"features": "pixels"},
        {"window": 1}, {"evolving": True, "shape": (2, 2)},
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(wrong):
    with pytest.raises((ValueError, TypeError), match=next(iter(wrong)) if len(wrong) == 1 else "shape"):
        CKDT(**wrong)


@pytest.mark.parametrize("cls", ALL)
def test_broken_states_are_refused(cls):
    X, y = gammas(250)
    learner = cls().partial_fit(X, y)
    state = learner.state()
    for name, broken in (("marks", state["marks"][:2]), ("marks", -1 - state["marks"])):
        with pytest.raises(ValueError, match="state must be what"):
            cls().restore({**state, name: broken})
    with pytest.raises(ValueError, match="state must be what"):
        cls().restore({name: table for name, table in state.items() if not name.startswith("drift.")})
