"""Frozen forests as plain arrays, bit for bit, and in an ONNX runtime, leaf for leaf."""

import numpy as np
import pytest

from thalweg import (
    SEA,
    AdaptiveRandomForest,
    Agrawal,
    HoeffdingTree,
    LeveragingBagging,
    MissingValues,
    OnlineBagging,
    compat,
    freeze,
    load_dataset,
)

MODELS = {
    "forest on flights": (lambda: AdaptiveRandomForest(size=3, leaf="majority"), lambda: load_dataset("flights")),
    "tree with nominal splits": (
        lambda: HoeffdingTree(leaf="majority", grace_period=50),
        lambda: MissingValues(Agrawal(function=3, seed=2), share=0.1),
    ),
    "codes": (lambda: LeveragingBagging(size=3, codes=True, leaf="majority"), lambda: load_dataset("digits")),
    "bagging": (lambda: OnlineBagging(size=3, leaf="majority", grace_period=50), lambda: SEA(seed=1)),
}


def learned(name):
    """A model, and rows."""
    make, stream = MODELS[name][0](), MODELS[name][1]()
    chunk = stream.take(4_000)
    return make.declare(stream.schema).partial_fit(chunk.X, chunk.y), chunk.X


def read(arrays, X):
    """The reader that the guide shows."""
    said = {}
    for root, group in zip(arrays["root"], arrays["group"], strict=True):
        at = np.full(len(X), root)
        while (inner := arrays["leaf"][at] < 0).any():
            value = X[np.arange(len(X)), arrays["feature"][at]]
            right = np.where(np.isnan(value), arrays["missing_right"][at], value > arrays["threshold"][at])
            at = np.where(inner, arrays["left"][at] + right, at)
        votes = arrays["votes"][arrays["leaf"][at]]
        said[group] = votes if group not in said else said[group] + votes
    votes = sum(said.values())
    total = sum(votes.T)[:, None]  # class by class
    return np.where(total > 0, votes / np.where(total > 0, total, 1), 1 / votes.shape[1])


@pytest.mark.parametrize("name", MODELS)
def test_plain_arrays_give_the_same_bits(name):
    model, X = learned(name)
    assert np.array_equal(read(freeze(model).to_arrays(), X), model.predict_proba(X))


@pytest.mark.parametrize("name", MODELS)
def test_an_onnx_runtime_comes_to_the_same_leaves(name):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'thalweg[onnx]'")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model, X = learned(name)
    made = compat.onnx.to_onnx(model)
    onnx.checker.check_model(made)
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    proba, code = session.run(None, {"X": X})
    want = model.predict_proba(X)
    assert proba.dtype == np.float64
    assert np.abs(proba - want).max() < 1e-14
    assert np.array_equal(model.classes_[code], model.classes_[proba.argmax(axis=1)])


def test_leaves_with_naive_bayes_are_refused():
    chunk = SEA(seed=1).read(2_000)
    with pytest.raises(ValueError, match='got some that answer by naive Bayes: learn with leaf="majority"'):
        freeze(HoeffdingTree(leaf="bayes").partial_fit(chunk.X, chunk.y)).to_arrays()
