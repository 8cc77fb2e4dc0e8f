"""Bases from a warm start: near the exact ones where the start is good, exact where it is not, a part of the state."""

import numpy as np
import pytest

from thalweg import CKDT, CPTensors, SparseTensors, load, save
from thalweg.learners.tensors.chordal_features import ChordalFeatures
from thalweg.tensors.bases import Decomposition, flatten
from thalweg.tensors.warm import FAR, follow, leading

SHAPES = [(30, 40), (40, 30), (82, 90), (90, 82), (16, 12, 3)]
SMALL = {"window": 40, "min_rebuild": 30, "landmarks": 8}


def tensors(n, shape, rank=3, noise=0.05, seed=1):
    """Make tensors of low rank and noise, whose factors lie near to each other."""
    shared, rng = np.random.default_rng(0), np.random.default_rng(seed)
    X = noise * rng.normal(size=(n, *shape)) / np.prod(shape) ** 0.25
    for k in range(rank):
        parts = [shared.normal(size=size) + 0.3 * rng.normal(size=(n, size)) for size in shape]
        letters = "abc"[: len(shape)]
        X += (rank - k) * np.einsum(f"{','.join(f'n{a}' for a in letters)}->n{letters}", *parts) / np.sqrt(X[0].size)
    return X


def stream(n, shape=(16, 12), seed=1):
    """Make tensors of two classes that differ in their first factor, and change in the middle."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    lines = np.random.default_rng(0).normal(size=(4, shape[0]))
    which = y + 2 * (np.arange(n) >= n // 2)
    X = 3.0 * np.einsum("na,nb->nab", lines[which], rng.normal(size=(n, shape[1])))
    X[n // 2 :] += 1.0
    return X + 0.3 * rng.normal(size=X.shape), y


def error(found, exact):
    """Give the greatest chordal distance between two bases of the same tensors."""
    return max(found.distances(exact)[np.arange(len(exact)), np.arange(len(exact))].max(axis=1))


@pytest.mark.parametrize("shape", SHAPES)
def test_one_call_is_exact_for_tensors_of_low_rank(shape):
    X = tensors(30, shape, noise=0.0)
    how = Decomposition(rank=3, route="warm")
    found, exact = how.of(X[20:], how.starts(X[:20])), Decomposition(rank=3, route="svd").bases(X[20:])
    assert (found.ranks == 3).all()
    assert error(found, exact) < 1e-9
    for rows in found.rows:
        np.testing.assert_allclose(rows @ rows.swapaxes(1, 2), np.tile(np.eye(3), (10, 1, 1)), atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_good_start_leads_near_and_a_poor_one_does_not(shape):
    X = tensors(60, shape, noise=0.2)
    how, exact = Decomposition(rank=3, route="warm"), Decomposition(rank=3, route="svd").bases(X[20:])
    starts = how.starts(X[:20])
    rng = np.random.default_rng(1)
    others = [np.linalg.qr(rng.normal(size=start.shape))[0] for start in starts]
    near, far = error(how.of(X[20:], starts), exact), error(how.of(X[20:], others), exact)
    assert near < 0.05
    assert near < far


@pytest.mark.parametrize("size", [(30, 80), (80, 30), (82, 90), (90, 82)])
def test_steps_that_go_on_reach_the_exact_spaces(size):
    rng = np.random.default_rng(2)
    A = rng.normal(size=(4, *size)) * np.array([[[1.0]], [[1e3]], [[1e-3]], [[1.0]]])
    short, wide = min(size), size[0] <= size[1]
    _, s, V = np.linalg.svd(A, full_matrices=False)
    start, k = rng.normal(size=(short, 8)), 3
    assert (short <= FAR * 8) == (short == 30)  # both ways to step
    for i in range(4):
        U, errors = start, []
        for _ in range(60):
            squares, rows = follow(A[i : i + 1], U, 8)
            errors.append(2 * k - 2 * ((rows[0, :k] @ V[i, :k].T) ** 2).sum())
            U = A[i] @ rows[0].T if wide else rows[0].T
            U = np.linalg.qr(U)[0]
        assert errors[0] > 0.1
        assert errors[-1] < 1e-6
        np.testing.assert_allclose(squares[0, :k], s[i, :k] ** 2, rtol=1e-6)


def test_the_start_is_the_leading_space_of_the_mean_gram_matrix():
    A = np.random.default_rng(1).normal(size=(9, 7, 20))
    total = sum(one @ one.T for one in A) / 9
    start = leading(A, 3)
    np.testing.assert_allclose(start @ start.T @ total, total @ start @ start.T, atol=1e-12)
    assert np.trace(start.T @ total @ start) == pytest.approx(np.linalg.eigvalsh(total)[-3:].sum())
    np.testing.assert_array_equal(leading(A.swapaxes(1, 2), 3), start)


@pytest.mark.parametrize("shape", [(30, 40), (82, 90)])
def test_a_tensor_unlike_those_before_is_found_too(shape):
    X = tensors(30, shape)
    X[:20, : shape[0] // 2] = 0.0  # no landmark has these rows
    X[:20, :, : shape[1] // 2] = 0.0
    X[25:, shape[0] // 2 :] = 0.0  # and these tensors have only them
    X[25:, :, shape[1] // 2 :] = 0.0
    X[29] = 0.0
    how = Decomposition(rank=3, route="warm")
    found, exact = how.of(X[20:], how.starts(X[:20])), Decomposition(rank=3).bases(X[20:])
    assert (found.ranks == exact.ranks).all()
    assert found.ranks[-1].tolist() == [0, 0]
    assert error(found, exact) < 0.02
    if shape == (82, 90):
        same = [(mine == theirs).all(axis=(1, 2)) for mine, theirs in zip(found.rows, exact.rows, strict=True)]
        assert (np.array(same) == (np.arange(10) >= 5)).all()


@pytest.mark.parametrize("shape", [(30, 40), (201, 202)])
def test_without_a_start_the_route_is_auto(shape):
    X = tensors(5, shape)
    warm, auto = Decomposition(route="warm").bases(X), Decomposition().bases(X)
    assert all((a == b).all() for a, b in zip(warm.rows, auto.rows, strict=True))
    assert Decomposition(route="gram").starts(X) == []
    assert Decomposition(route="warm").starts(SparseTensors.from_dense(X)) == []


def test_the_numerical_rank_is_not_for_a_start():
    with pytest.raises(ValueError, match="route must not be 'warm' where rank is 'numerical': a start has a rank of"):
        CKDT(preset="paper", route="warm")


# -- features and learner ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(16, 12, 3), (82, 90)])  # both ways to step
def test_the_same_bits_in_any_chunk_and_after_a_restore(shape):
    X = tensors(90, shape)
    X[40:45] = np.random.default_rng(1).normal(size=(5, *shape))  # some from scratch
    map = ChordalFeatures(route="warm", rank=3).fit(X[:6])
    whole = map.transform(X)
    assert not (whole == ChordalFeatures(rank=3).fit(X[:6]).transform(X)).all()
    for size in (1, 7, 64):
        assert (np.concatenate([map.transform(X[i : i + size]) for i in range(0, 90, size)]) == whole).all(), size
    again = ChordalFeatures(route="warm", rank=3)
    again.restore(map.state())
    assert (again.transform(X) == whole).all()
    again.restore({})
    assert again.state() == {}


@pytest.mark.parametrize("form", ["dense", "sparse", "cp"])
def test_vectors_in_every_form_are_restored(form):
    X = np.random.default_rng(1).random((6, 30))
    forms = {"dense": X, "sparse": SparseTensors.from_dense(X), "cp": CPTensors(np.ones((6, 1)), [X[:, :, None]])}
    map, again = ChordalFeatures(route="warm").fit(forms[form]), ChordalFeatures(route="warm")
    again.restore(map.state())
    assert (again.transform(forms[form]) == map.transform(forms[form])).all()


def test_a_state_without_its_starts_is_refused():
    map = ChordalFeatures(route="warm").fit(tensors(6, (16, 12)))
    state = map.state()
    for broken in (state["start_1"][:-1], state["start_1"][:, :-1], np.full((12, 10), np.nan)):
        with pytest.raises(ValueError, match="its table 'start"):
            map.restore({**state, "start_1": np.ascontiguousarray(broken)})
    with pytest.raises(ValueError, match="it lacks 'start'"):
        map.restore({name: table for name, table in state.items() if name != "start_0"})


def test_a_learner_is_the_same_by_rows_by_chunks_and_after_a_save(tmp_path):
    X, y = stream(500)
    learner = CKDT(route="warm", **SMALL)
    whole = learner.test_then_train(X, y)
    assert learner.n_builds > 1
    assert (learner.classes_[whole.argmax(axis=1)] == y)[400:].mean() > 0.9
    assert learner.state()["model.map.start_0"].shape == (12, 10)
    single = CKDT(route="warm", **SMALL)
    for i in range(0, 500, 7):
        before = single.state() if i == 245 else {}
        if before:
            single.predict_proba(X[::-1])
            assert all((table == before[name]).all() for name, table in single.state().items())
        np.testing.assert_array_equal(single.test_then_train(X[i : i + 7], y[i : i + 7]), whole[i : i + 7, :2])
    half = CKDT(route="warm", **SMALL).partial_fit(X[:260], y[:260])
    save(half, tmp_path / "half.thalweg")
    other = load(tmp_path / "half.thalweg")
    assert (other.test_then_train(X[260:], y[260:]) == whole[260:]).all()
    rows = np.concatenate([learner.predict_proba(X[i : i + 1]) for i in range(50)])
    assert (rows == learner.predict_proba(X[:50])).all()


def test_the_start_moves_on_at_a_drift():
    X, y = stream(500)
    learner = CKDT(route="warm", replace="now", **SMALL).partial_fit(X[:200], y[:200])
    before = learner.state()["model.map.start_0"]
    learner.partial_fit(X[200:], y[200:])
    after = learner.state()["model.map.start_0"]
    assert not (before == after).all()
    kept = np.stack([landmark.values[0] for landmark in learner.landmarks_])
    spaces = [start @ start.T for start in (after, leading(flatten(kept, 0), 10))]
    np.testing.assert_allclose(*spaces, atol=0.2)  # those of the landmarks now, up to the weights of each


def test_a_mode_that_grows_has_a_start_of_its_size(tmp_path):
    X, y = stream(300, (16, 30))
    wide, z = stream(200, (20, 30), seed=2)
    learner = CKDT(route="warm", evolving=True, **SMALL).partial_fit(X, y).partial_fit(X[:5, :, :9], y[:5])
    assert learner.state()["model.map.start_0"].shape == (16, 10)
    learner.partial_fit(wide[:10], z[:10])
    assert learner.state()["model.map.start_0"].shape == (20, 10)
    save(learner, tmp_path / "grown.thalweg")
    other = load(tmp_path / "grown.thalweg")
    assert (learner.test_then_train(wide[10:], z[10:]) == other.test_then_train(wide[10:], z[10:])).all()
