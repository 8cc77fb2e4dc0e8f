"""The generator of tensor streams."""

import numpy as np
import pytest

from thalweg import checks
from thalweg.streams.generators.sim_tensor import DRIFTS, SimTensor
from thalweg.tensors.forms import CPTensors


def read_all(stream, size):
    columns, labels = [], []
    while (part := stream.read_tensors(size)) is not None:
        columns.append(part[0].columns)
        labels.append(part[1])
    return np.concatenate(columns), np.concatenate(labels)


@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("mode", ["iid", "template"])
def test_any_chunk_gives_the_same_tensors(drift, mode):
    options = {"order": 3, "size": 4, "limit": 200, "drift": drift, "mode": mode, "seed": 5}
    X, y = read_all(SimTensor(**options), 200)
    assert X.shape == (200, 3, 3, 4)
    for size in (1, 7, 64):
        Z, z = read_all(SimTensor(**options), size)
        assert (Z == X).all()
        assert (z == y).all()
    stream = SimTensor(**options)
    stream.read(60)
    other = SimTensor(**options)
    other.restore(stream.state())
    assert (read_all(other, 50)[0] == X[60:]).all()
    stream.restart()
    assert (read_all(stream, 50)[0] == X).all()
    assert stream.read(1) is None
    assert (read_all(SimTensor(**{**options, "seed": 6}), 200)[0] != X).any()


@pytest.mark.parametrize("shape", [0.15, 0.7, 1.0, 2.0, 5.0])
def test_entries_are_gamma(shape):
    stats = pytest.importorskip("scipy.stats")
    X, _ = SimTensor(order=3, size=50, shapes=(shape, shape), limit=20, seed=2).read_tensors(20)
    assert stats.kstest(X.columns.ravel(), stats.gamma(shape).cdf).pvalue > 1e-3


def means(drift, **options):
    stream = SimTensor(order=3, size=20, limit=4000, drift=drift, changes=1, width=0.5, seed=4, **options)
    X, y = read_all(stream, 1000)
    return X.mean(axis=(1, 2, 3)), y, stream.concepts


def test_classes_have_their_shapes_and_even_shares():
    m, y, concepts = means("none")
    assert concepts[0].tolist() == [2.0, 3.0]
    assert m[y == 0].mean() == pytest.approx(2.0, rel=0.01)
    assert m[y == 1].mean() == pytest.approx(3.0, rel=0.01)
    assert y.mean() == pytest.approx(0.5, abs=0.03)


def test_a_sudden_change_is_at_once():
    m, y, concepts = means("sudden")
    factor = concepts[1] / concepts[0]
    assert factor[0] == pytest.approx(factor[1])
    assert 1.2 <= max(factor[0], 1 / factor[0]) <= 1.8
    for k in (0, 1):
        assert m[:2000][y[:2000] == k].mean() == pytest.approx(concepts[0, k], rel=0.01)
        assert m[2000:][y[2000:] == k].mean() == pytest.approx(concepts[1, k], rel=0.01)


def test_a_gradual_change_is_a_growing_share():
    m, y, concepts = means("gradual")
    middle = concepts.mean(axis=0)[y]
    new = (m > middle) == (concepts[1] > concepts[0])[y]
    assert new[:500].mean() < 0.06
    assert new[3500:].mean() > 0.94
    assert new[1900:2100].mean() == pytest.approx(0.5, abs=0.12)
    quarter = 1 / (1 + np.exp(4 * 500 / 1000))
    assert new[1450:1550].mean() == pytest.approx(quarter, abs=0.12)


def test_an_incremental_change_moves_the_shapes():
    m, y, concepts = means("incremental")
    for at, share in ((1900, 0.0), (2500, 0.5), (3100, 1.0)):
        rows = slice(at - 80, at + 80)
        for k in (0, 1):
            expected = (1 - share) * concepts[0, k] + share * concepts[1, k]
            assert m[rows][y[rows] == k].mean() == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("drift", ["sudden", "gradual", "incremental"])
def test_swapped_labels_change_nothing_else(drift):
    m, y, concepts = means(drift, swap_labels=True)
    assert (concepts[0] == concepts[1]).all()
    high = (m > 2.5).astype(int)
    assert (high[:500] == y[:500]).mean() > 0.9
    assert (high[3500:] == y[3500:]).mean() < 0.1


def test_templates_are_redrawn_at_a_change():
    X, y = read_all(SimTensor(order=3, size=20, limit=800, drift="sudden", changes=1, mode="template", seed=4), 800)
    first, again = X[:200][y[:200] == 0].mean(axis=0), X[200:400][y[200:400] == 0].mean(axis=0)
    after = X[400:][y[400:] == 0].mean(axis=0)
    assert np.corrcoef(first.ravel(), again.ravel())[0, 1] > 0.98
    assert abs(np.corrcoef(first.ravel(), after.ravel())[0, 1]) < 0.5


def test_all_kinds_begin_alike():
    first = [SimTensor(order=4, size=5, limit=400, drift=d).read_tensors(60) for d in ("none", "sudden", "incremental")]
    assert all((X.columns == first[0][0].columns).all() and (y == first[0][1]).all() for X, y in first)


def test_rows_hold_the_factors_and_the_schema_says_so():
    rows, tensors = SimTensor(order=3, size=4, rank=2), SimTensor(order=3, size=4, rank=2).read_tensors(30)[0]
    chunk = rows.read(30)
    assert (rows.schema.shape, rows.schema.rank, rows.schema.classes) == ((4, 4, 4), 2, (0, 1))
    assert (chunk.X == tensors.as_rows()[0]).all()
    assert (CPTensors.from_rows(chunk.X, rows.schema).dense() == tensors.dense()).all()
    dense = SimTensor(order=3, size=4, rank=2, form="dense")
    assert dense.schema.rank is None
    assert (dense.read(30).X.reshape(-1, 4, 4, 4) == tensors.dense()).all()


@pytest.mark.parametrize("options", [
    {"form": "dense", "drift": "gradual"}, {"drift": "incremental", "mode": "template"}, {"swap_labels": True},
], ids=str)  # fmt: skip
def test_it_keeps_the_promises_of_a_stream(options):
    stream = SimTensor(**{"size": 5, "drift": "sudden", "limit": 2000} | options)
    assert (stream.drifts, stream.rows) == ((500, 1000, 1500), 2000)
    assert stream.widths == ((50.0,) * 3 if stream.drift == "gradual" else (1.0,) * 3)
    checks.check_stream(lambda: SimTensor(**{"size": 5, "drift": "sudden", "limit": 2000} | options))


@pytest.mark.parametrize("order", [3, 6, 9, 12, 15])
def test_orders(order):
    X, y = SimTensor(order=order, drift="sudden", limit=1000).read_tensors(5)
    assert X.shape == (100,) * order
    assert X.columns.nbytes == 5 * order * 100 * 3 * 8
    assert len(y) == 5


def test_dense_form_and_preset():
    X, _ = SimTensor(order=3, size=10, form="dense").read_tensors(4)
    assert (X == SimTensor(order=3, size=10).read_tensors(4)[0].dense()).all()
    stream = SimTensor(order=3, size=10, preset="simtensor")
    assert (stream.concepts[0] >= 0.1).all()
    assert stream.read_tensors(10)[0].columns.mean() < 0.02


def test_bad_arguments_of_the_stream():
    for wrong in (
        {"order": 0}, {"size": 0}, {"rank": 0}, {"limit": 0}, {"drift": "slow"}, {"changes": -1}, {"width": 0.0},
        {"mode": "x"}, {"form": "sparse"}, {"preset": "x"}, {"form": "dense", "order": 5}, {"shapes": (1.0,)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must"):
            SimTensor(**wrong)
    with pytest.raises(ValueError, match="each of shapes must"):
        SimTensor(shapes=(1.0, 0.0))


def test_the_old_word_for_changes_still_works():
    with pytest.warns(DeprecationWarning, match="'n_drifts' of SimTensor is now called 'changes'"):
        assert SimTensor(n_drifts=1, drift="sudden", limit=100).drifts == (50,)
