"""CKDT and its relatives: the plain loop, drifts, presets, reasons, sizes that change, and bad tensors."""

import numpy as np
import pytest

from thalweg import CKDT, LRTCR, LRTD, MDDT, OPOR, CKDTForest, CPTensors, Schema, SparseTensors, load, save
from thalweg.learners.tensors.buffer import TensorBuffer
from thalweg.learners.tensors.chordal_features import ChordalFeatures
from thalweg.learners.tensors.ckdt import draw
from thalweg.learners.tensors.ckdt_forest_jit import DOUBT, vote
from thalweg.learners.tensors.tensor_tree import MARK_REFILLING
from twins.ckdt import PlainCKDT

ALL = [CKDT, MDDT, OPOR, LRTCR, LRTD, CKDTForest]
SMALL = {"window": 40, "min_rebuild": 30, "landmarks": 6}


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
    first = [landmark.number for landmark in learner.landmarks_]
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
    assert learner._tree.detector.rule == "paper"
    assert CKDT(preset="paper", bound="lcb").partial_fit(X, y)._model.trees.bound == "lcb"


def test_a_half_of_the_pool_never_shrinks():
    with pytest.raises(ValueError, match=r"min_rebuild must lie in \[100, 200\], got 40"):
        CKDTForest(min_rebuild=40)


def test_a_buffer_keeps_copies():
    X = cp(30)[0]
    buffer = TensorBuffer(5)
    for i in range(30):
        buffer.add(X[i : i + 1], 0, 1.0, i)
    kept = buffer.tensors
    X.columns[:] = 0.0
    assert kept.columns.all()
    assert buffer.tensors.columns.all()


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
    reasons = learner.explain_one(X[7])
    features = learner._model.map.transform(X[7:8])[0]
    names = learner._model.map.names
    assert reasons
    for reason in reasons:
        assert features[names.index(reason.feature)] == pytest.approx(reason.value)
        assert reason.above == (reason.value > reason.threshold)
        assert reason.landmark == -1 or abs(reason.modes.sum() - 1.0) < 1e-12
    landmarks = learner.landmarks_
    assert len(landmarks) == 20
    assert {landmark.label for landmark in landmarks} == {0, 1}
    assert (landmarks[0].values == X[landmarks[0].number - 1]).all()
    shares = learner.importances()
    assert len(shares) == 41
    assert list(shares)[:2] == ["landmark 0, mode 0", "landmark 0, mode 1"]
    assert sum(shares.values()) == pytest.approx(1.0)
    assert CKDT().explain_one(X[0]) == []


@pytest.mark.parametrize("form", ["cp", "sparse"])
def test_reasons_for_other_forms_are_those_of_a_chunk_of_one(form):
    tensors, y = cp(600)
    if form == "sparse":
        X, y = gammas(600)
        tensors = SparseTensors.from_dense(np.where(X < 1.0, 0.0, X))
    learner = CKDT().partial_fit(tensors, y)
    reasons = learner.explain_one(tensors[3:4])
    value = learner._model.map.transform(tensors[3:4] if form == "cp" else tensors[3:4].dense())[0]
    assert reasons
    assert reasons[0].value == value[learner._model.map.names.index(reasons[0].feature)]
    with pytest.raises(ValueError, match="x must hold one tensor, got 2"):
        learner.explain_one(tensors[:2])


def test_the_norm_is_a_feature():
    X, y = gammas(800)
    X[y == 1] *= 50.0
    learner = CKDT(landmarks=1, stratify=False, similarity="distance").partial_fit(X, y)
    assert learner._model.trees.importances(0)[1] > 0.0
    shares = learner.importances()
    assert list(shares) == ["landmark 0", "log norm"]
    assert shares["log norm"] > 0.0


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


def test_a_schema_that_says_the_same_shape_builds_nothing_anew():
    X, y = gammas(150)
    learner = CKDT(evolving=True, **SMALL).partial_fit(X, y)
    learner._extend(Schema.tensor((6, 5), classes=(0, 1)))
    assert not learner._tree.marks[MARK_REFILLING]


def test_evolving_tensors_must_be_arrays():
    tensors, y = cp(20)
    with pytest.raises(ValueError, match="arrays of at most 200000 values each where evolving is True, got factors"):
        CKDT(evolving=True).partial_fit(tensors, y)
    with pytest.raises(ValueError, match=r"evolving is True, got tensors of shape \(500, 401\)"):
        CKDT(evolving=True).partial_fit(np.ones((2, 500, 401)), [0, 1])


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
        {"replace": "soon"}, {"preset": "best"}, {"landmarks": 0}, {"rank": "all"}, {"similarity": "pixels"},
        {"window": 1}, {"evolving": True, "shape": (2, 2)},
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(wrong):
    with pytest.raises((ValueError, TypeError), match=next(iter(wrong)) if len(wrong) == 1 else "shape"):
        CKDT(**wrong)


def breakages(table):
    """Spoil a table in several ways."""
    yield table[..., None]
    yield table.astype(np.float32)
    if table.dtype == np.float64 and table.size:
        yield np.where(np.arange(table.size).reshape(table.shape) == 0, np.nan, table)
    if table.dtype == np.int64 and table.size:
        yield np.where(np.arange(table.size).reshape(table.shape) == 0, -5, table)


LOOSE = ("drift.residuals", "seen")
"""Tables that may also be shorter."""


@pytest.mark.parametrize("form", ["dense", "cp"])
@pytest.mark.parametrize("cls", ALL)
def test_broken_states_are_refused_and_change_nothing(cls, form):
    X, y = drifting() if form == "dense" else cp(220, order=3)
    more = {"size": 3, "pool": 40} if cls is CKDTForest else {}
    learner = cls(window=60, min_rebuild=40, **more).partial_fit(X[:400], y[:400])
    state = learner.state()
    for name, table in state.items():
        if name in ("labels", "schema"):
            continue
        shorter = [] if name in LOOSE else [table[:-1], np.zeros((0, *table.shape[1:]), dtype=table.dtype)]
        for broken in (*breakages(table), *shorter):
            with pytest.raises(ValueError, match="state must be what"):
                learner.restore({**state, name: np.ascontiguousarray(broken)})
    with pytest.raises(ValueError, match="state must be what"):
        learner.restore({name: table for name, table in state.items() if not name.startswith("drift.")})
    after = learner.state()
    assert all(state[name].tobytes() == table.tobytes() for name, table in after.items())
    learner.restore(state)
    assert len(learner.predict(X[:5])) == 5


def test_a_state_of_tensors_of_another_shape_is_refused():
    (X, y), (Z, z) = gammas(200, size=(6, 5)), gammas(200, size=(5, 6))
    one, other = CKDT(**SMALL).partial_fit(X, y).state(), CKDT(**SMALL).partial_fit(Z, z).state()
    for part in ("model.", "drift.", "model.notes."):
        with pytest.raises(ValueError, match=r"of dense tensors of shape \(5, 6\)"):
            CKDT(**SMALL).restore({name: other[name] if name.startswith(part) else one[name] for name in one})


def test_the_forest_votes_by_a_weighted_geometric_mean() -> None:
    """Of three members over two known classes of three; a class to come gets nothing, whatever they say of it."""
    rng = np.random.default_rng(1)
    opinions, weights = rng.dirichlet(np.ones(3), size=(3, 5)), np.array([0.9, 0.5, 0.1])
    opinions[0, 2] = [1.0, 0.0, 0.0]
    for i in range(5):
        said = np.zeros(3)
        vote(opinions, i, weights, 2, said)
        want = np.prod((opinions[:, i, :2] + DOUBT) ** (weights / weights.sum())[:, None], axis=0)
        np.testing.assert_allclose(said, [*(want / want.sum()), 0.0], rtol=1e-13)
    none = np.zeros(3)
    vote(opinions, 0, np.zeros(3), 2, none)
    assert none.tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("cls", [CKDT, CKDTForest])
def test_the_old_word_for_landmarks_still_works(cls):
    with pytest.warns(DeprecationWarning, match=f"'n_landmarks' of {cls.__name__} is now called 'landmarks'"):
        assert cls(n_landmarks=7).landmarks == 7
