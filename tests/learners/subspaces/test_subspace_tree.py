"""Subspace trees and forests on the digits: accuracy, drifts, chunks, states, shapes and bad input."""

from functools import partial

import numpy as np
import pytest

from thalweg import SimTensor, SubspaceForest, SubspaceTree
from thalweg.learners.subspaces.past_model import PastModel, rename, symmetries
from thalweg.learners.subspaces.patches import PatchFeatures
from thalweg.learners.subspaces.reduction import Reduction
from thalweg.learners.subspaces.subspaces import ClassSubspaces


@pytest.fixture(scope="module")
def digits():
    data = pytest.importorskip("sklearn.datasets").load_digits()
    return data.images, data.target


def right(learner, X, y, size=300):
    found = []
    for i in range(0, len(y), size):
        P = learner.test_then_train(X[i : i + size], y[i : i + size])
        found.append(learner.classes_[P.argmax(axis=1)] == y[i : i + size])
    return np.concatenate(found)


def drifting(digits, kind, at):
    X, y = digits[0].copy(), digits[1].copy()
    if kind == "rotate":
        X[at:] = np.rot90(X[at:], axes=(1, 2))
    elif kind == "invert":
        X[at:] = 16.0 - X[at:]
    elif kind == "relabel":
        y[at:] = (y[at:] + 1) % 10
    return X, y


@pytest.mark.parametrize("cls", [SubspaceTree, SubspaceForest])
def test_digits(digits, cls):
    learner = cls()
    hits = right(learner, *digits)
    assert hits.mean() > 0.945
    assert hits[20:75].mean() > 0.5  # before there are filters
    assert learner.n_drifts == 0
    assert set(learner.errors) == {"subspaces", "trees", "both"}
    assert learner.errors[learner.answers] == min(learner.errors.values())
    assert min(learner.n_leaves) > 1


def test_on_pixels_alone_it_learns_too(digits):
    assert right(SubspaceTree(patches=False), *digits).mean() > 0.93


def small(cls=SubspaceTree, **params):
    return cls(**{"warmup": 60, "p": 20, "rank": 8, "grace_period": 20} | params)


@pytest.mark.parametrize("cls", [SubspaceTree, SubspaceForest])
def test_chunks_and_states_change_no_bit(digits, cls):
    """Through the first rows, three reductions, a drift, old knowledge taken up again, and trees begun twice."""
    X, y = drifting(digits, "rotate", 500)
    X, y = X[:900], y[:900]
    make = partial(small, cls, **({"size": 3} if cls is SubspaceForest else {}))
    whole = make()
    P = whole.test_then_train(X, y)
    assert whole.n_drifts >= 1
    for size in (1, 37):
        learner, rows = make(), []
        for i in range(0, 900, size):
            rows.append(learner.test_then_train(X[i : i + size], y[i : i + size]))
            if i % 5 == 0:
                state = learner.state()
                learner = make()
                learner.restore(state)
        padded = [np.pad(p, ((0, 0), (0, 10 - p.shape[1]))) for p in rows]
        assert np.concatenate(padded).tobytes() == P.tobytes()
        for name, table in whole.state().items():
            assert learner.state()[name].tobytes() == table.tobytes(), name


@pytest.mark.parametrize("kind", ["rotate", "invert", "relabel"])
def test_recovers_from_a_drift(digits, kind):
    hits = right(learner := SubspaceTree(warmup=150), *drifting(digits, kind, 1000))
    assert learner.n_drifts >= 1
    assert hits[1000:1030].mean() < 0.6
    assert hits[1300:].mean() > hits[700:1000].mean() - 0.03


def test_without_a_detector_it_only_decays(digits):
    hits = right(learner := SubspaceTree(drift=None), *drifting(digits, "relabel", 1000))
    assert learner.n_drifts == 0
    assert hits[1000:1300].mean() < 0.5


def test_drift_that_is_no_symmetry_is_learnt_anew(digits):
    X, y = digits[0].copy(), digits[1]
    X[900:] = X[900:].reshape(-1, 64)[:, np.random.default_rng(0).permutation(64)].reshape(-1, 8, 8)
    hits = right(learner := SubspaceTree(warmup=100), X, y)
    assert learner.n_drifts >= 1
    assert hits[1400:].mean() > 0.8


def test_a_false_alarm_brings_old_knowledge_back(digits):
    X, y = digits
    learner = small()
    learner.partial_fit(X[:600], y[:600])
    learner._restart(len(learner.classes_))
    before = learner._past.spaces.weights.sum()
    learner.partial_fit(X[600:700], y[600:700])
    assert learner._past is None
    assert learner._spaces.weights.sum() > before


def test_new_classes_join(digits):
    X, y = digits
    late = np.concatenate([np.flatnonzero(y < 5), np.flatnonzero(y >= 5)])
    learner = SubspaceTree(drift=None)
    hits = right(learner, X[late], y[late])
    assert len(learner.classes_) == 10
    assert learner._trees.n_features[0] == 10
    assert hits[1200:].mean() > 0.85


def test_rows_with_a_shape_are_images(digits):
    X, y = digits[0][:300], digits[1][:300]
    as_images = small().test_then_train(X, y)
    for shape in ((8, 8), (8, -1)):
        assert small(shape=shape).test_then_train(X.reshape(-1, 64), y).tobytes() == as_images.tobytes()


def test_seeds_and_sizes(digits):
    X, y = digits[0][:600], digits[1][:600]
    one, same, other = (small(SubspaceForest, size=3, seed=s).test_then_train(X, y) for s in (1, 1, 2))
    assert one.tobytes() == same.tobytes() != other.tobytes()
    assert len(small(SubspaceForest, size=3).partial_fit(X, y).n_leaves) == 3


def test_state_stays_bounded(digits):
    X, y = digits
    learner = small(max_leaves=8)
    sizes = [learner.partial_fit(X, y).state_bytes for _ in range(3)]
    assert sizes[2] <= 1.01 * sizes[1]


# -- old knowledge -----------------------------------------------------------------------------------------------------


def known(digits):
    X, y = digits[0].reshape(-1, 64), digits[1].astype(np.int64)
    reduction, spaces = Reduction((8, 8), PatchFeatures(), 60), ClassSubspaces()
    reduction.fit(X[:300])
    spaces.learn(reduction.values(X[:1000]), y[:1000])
    return PastModel(reduction, spaces, (8, 8)), X[1000:1100], y[1000:1100]


@pytest.mark.parametrize("way", [0, 3, 9, 14])
def test_finds_the_view_and_the_names(digits, way):
    past, X, y = known(digits)
    turn, sign = symmetries((8, 8))[way]
    back = np.argsort(turn)
    match = past.match(sign * X[:, back], (y + 3) % 10)
    assert np.array_equal(match.turn, turn)
    assert match.sign == sign
    assert match.renamed.tolist() == [(k + 3) % 10 for k in range(10)]
    assert match.accuracy > 0.85


def test_views_of_views(digits):
    past, X, _ = known(digits)
    reduction = past.reduction.copy()
    (a, _), (b, _) = symmetries((8, 8))[3], symmetries((8, 8))[5]
    before = reduction.values(X)
    reduction.add_view(a, -1.0)
    reduction.add_view(b, -1.0)
    assert reduction.values(X[:, np.argsort(a)][:, np.argsort(b)]).tobytes() == before.tobytes()


def test_every_class_gets_a_name_of_its_own():
    table = np.random.default_rng(0).integers(0, 4, (12, 12)).astype(float)
    assert sorted(rename(table).tolist()) == list(range(12))


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("params", "sentence"), [
    ({"patches": "yes"}, "patches must be"),
    ({"p": 0}, "p must lie in"),
    ({"warmup": 7}, "warmup must lie in"),
    ({"shape": (0,)}, "shape must be"),
    ({"drift": "clairvoyance"}, "drift must"),
    ({"softness": -1}, "softness must lie in"),
])  # fmt: skip
def test_refuses_parameters(params, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        SubspaceTree(**params)
    with pytest.raises((ValueError, TypeError), match="size must"):
        SubspaceForest(size=0)


def test_the_old_word_for_p_still_works():
    with pytest.warns(DeprecationWarning, match="'dimension' of SubspaceTree is now called 'p'"):
        assert SubspaceTree(dimension=20).p == 20


def test_refuses_tensors(digits):
    X, y = digits[0][:100], digits[1][:100]
    learner = small().partial_fit(X, y)
    before = learner.state()
    bad = {
        "shape": np.zeros((3, 8, 9)), "missing": np.full((3, 8, 8), np.nan), "order": np.zeros((3, 8, 8, 2)),
        "complex": np.zeros((3, 8, 8), dtype=complex),
    }  # fmt: skip
    for tensors in bad.values():
        with pytest.raises((ValueError, TypeError), match="X must|X"):
            learner.partial_fit(tensors, y[:3])
    assert all(before[name].tobytes() == table.tobytes() for name, table in learner.state().items())
    with pytest.raises(ValueError, match="reshape them, or say shape"):
        SubspaceTree().partial_fit(X.reshape(-1, 64), y)
    with pytest.raises(ValueError, match="images must"):
        SubspaceTree(patches=True, shape=(7,)).partial_fit(np.zeros((5, 7)), np.zeros(5))


def test_refuses_states_of_others(digits):
    X, y = digits[0][:100], digits[1][:100]
    state = small().partial_fit(X, y).state()
    for name in ("turn", "sums", "kept", "tree_links"):
        with pytest.raises(ValueError, match="state must be what"):
            small().restore({n: t for n, t in state.items() if n != name})
    with pytest.raises(ValueError, match="head"):
        small().restore(state | {"head": -state["head"] - 1})
    learner = small().partial_fit(X, y)
    with pytest.raises(ValueError, match="directions"):
        learner.restore(state | {"directions": state["directions"][:, :3].copy()})
    assert all(learner.state()[name].tobytes() == table.tobytes() for name, table in state.items())


def test_features_may_join_a_vector_also_after_a_drift():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    y = (X[:, 0] > 0).astype(int)
    y[400:] = 1 - y[400:]
    learner, at = small(shape=(-1,), warmup=40), 0
    while at < 390 or learner._past is None:
        learner.learn_one(dict(zip("abc", X[at].tolist(), strict=False)), int(y[at]))
        at += 1
    for row, label in zip(X[at:].tolist(), y[at:].tolist(), strict=True):
        learner.learn_one(dict(zip("abcd", row, strict=True)), label)
    assert learner.schema.n_features == 4
    assert learner.n_drifts == 1
    said = [learner.predict_one(dict(zip("abcd", row, strict=True))) for row in X[600:].tolist()]
    assert (np.array(said) == y[600:]).mean() > 0.9


def test_a_rehearsal_changes_nothing(digits):
    learner = small(SubspaceForest, size=2).partial_fit(digits[0][:100], digits[1][:100])
    before = learner.state()
    learner._rehearse()
    assert all(before[name].tobytes() == table.tobytes() for name, table in learner.state().items())


def test_the_shortest_warmup(digits):
    P = small(warmup=8).test_then_train(digits[0][:200], digits[1][:200])
    np.testing.assert_allclose(P[1:].sum(axis=1), 1.0)


def test_tensors_too_large_to_write_out_are_refused():
    chunk = SimTensor(order=3, size=100).read(2)
    for cls in (SubspaceTree, SubspaceForest):
        learner = cls().declare(SimTensor(order=3, size=100).schema)
        with pytest.raises(ValueError, match=r"at most 200000 values for Subspace.*, got tensors of shape"):
            learner.partial_fit(chunk.X, chunk.y)
