"""Tensors through the door: one flattening for all learners, shapes that must agree, forms that come back."""

import numpy as np
import pytest

from thalweg import ArrayStream, HoeffdingTree, NaiveBayes, Schema
from thalweg.core import door
from thalweg.tensors.forms import CPTensors, SparseTensors, tensors_of_rows

RNG = np.random.default_rng(3)
X = RNG.random((40, 3, 4, 2))
Y = RNG.integers(0, 2, 40)


def rows(X, schema=None, **how):
    return door.rows(X, schema, **{"missing": False, "learning": True, **how})


def test_a_vector_learner_sees_the_values_with_the_last_index_fastest():
    flat, shaped = NaiveBayes(), NaiveBayes()
    expected = flat.test_then_train(X.reshape(40, -1), Y)
    assert (shaped.test_then_train(X, Y) == expected).all()
    assert shaped.schema.shape == (3, 4, 2)
    assert (shaped.predict_proba(X) == flat.predict_proba(X.reshape(40, -1))).all()
    assert shaped.predict_one(X[0]) == flat.predict_one(X[0].reshape(-1))
    assert shaped.predict_proba(X.reshape(40, -1)).shape == (40, 2)  # rows of the same width stay welcome


def test_plain_tensors_are_rows_without_a_copy():
    """As plain rows are; only what compiled code could not take as it is gets copied."""
    assert np.shares_memory(rows(X)[0], X)
    readonly = X.copy()
    readonly.flags.writeable = False
    for other in (readonly, np.asfortranarray(X), X[:, ::-1]):
        found, schema = rows(other)
        assert not np.shares_memory(found, other)
        assert found.flags.c_contiguous
        assert found.flags.writeable
        assert (found == other.reshape(40, -1)).all()
        assert schema.shape == (3, 4, 2)


def test_a_stream_of_tensors_tells_the_shape():
    stream = ArrayStream(X, Y)
    assert stream.schema.shape == (3, 4, 2)
    assert (stream.take(5).X == X[:5].reshape(5, -1)).all()


@pytest.mark.parametrize("bad", [X.transpose(0, 3, 1, 2), X[:, :2], X[:, :, :, :, None], X[..., :0]])
def test_other_shapes_are_refused(bad):
    tree = HoeffdingTree().partial_fit(X, Y)
    before = tree.state()
    with pytest.raises(ValueError, match="^X must hold tensors (of shape|with up to)"):
        tree.partial_fit(bad, Y)
    assert all((before[k] == v).all() for k, v in tree.state().items())


def test_factors_become_rows_and_come_back():
    tensors = CPTensors(RNG.random((6, 2)), [RNG.random((6, n, 2)) for n in (5, 3, 4)])
    found, schema = rows(tensors)
    assert (schema.shape, schema.rank, found.shape) == ((5, 3, 4), 2, (6, 2 * 13))
    back = tensors_of_rows(found, schema, schema.shape)
    assert (back.weights == tensors.weights).all()
    assert (back.columns == tensors.columns).all()
    with pytest.raises(ValueError, match="given by all values, as in the first chunk, got factors of rank 2"):
        rows(tensors, Schema.tensor((5, 3, 4)))


def test_sparse_tensors_become_sparse_rows_and_come_back():
    dense = np.where(RNG.random((6, 4, 3)) < 0.2, 1.5, 0.0)
    found, schema = rows(SparseTensors.from_dense(dense), sparse=True)
    assert schema.shape == (4, 3)
    assert (SparseTensors.from_rows(found, (4, 3)).dense() == dense).all()
    assert (tensors_of_rows(found, schema, (4, 3)) == dense).all()
    with pytest.raises(TypeError, match="X must be dense for this learner"):
        NaiveBayes().partial_fit(SparseTensors.from_dense(dense), np.arange(6))
    with pytest.raises(ValueError, match="at most 1000000 values for a learner"):
        SparseTensors.one([[0, 0]], [1.0], (10_000, 1_000)).as_rows()


def test_sizes_may_change_where_they_may():
    small, large = rows(X[:, :2], Schema.tensor((3, 4, 2)), evolving=True)
    assert large.shape == (3, 4, 2)
    assert (small.reshape(40, 3, 4, 2)[:, :2] == X[:, :2]).all()
    assert not small.reshape(40, 3, 4, 2)[:, 2].any()
    grown, schema = rows(X, Schema.tensor((2, 5, 2)), evolving=True)
    assert schema.shape == (3, 5, 2)
    assert (grown.reshape(40, 3, 5, 2)[:, :, :4] == X).all()
    cropped, schema = rows(X, Schema.tensor((2, 4, 2)), evolving=True, learning=False)
    assert schema.shape == (2, 4, 2)
    assert (cropped.reshape(40, 2, 4, 2) == X[:, :2]).all()


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda: Schema(Schema.numeric(5).features, shape=(2, 3)), "features must be the 6 of a tensor of shape"),
        (lambda: Schema(Schema.numeric(5).features, rank=1), "rank must be None where shape is None, got 1"),
        (lambda: Schema.tensor((2, 0)), r"shape must lie in \[1"),
        (lambda: Schema.tensor((2, 2), rank=0), r"rank must lie in \[1"),
    ],
)
def test_schemas_of_no_tensor_are_refused(made, sentence):
    with pytest.raises(ValueError, match=sentence):
        made()
