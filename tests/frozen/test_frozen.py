"""A frozen forest says what the living one said, to the last bit."""

import mmap

import numpy as np
import pytest

import thalweg
from thalweg import (
    STAGGER,
    AdaptiveRandomForest,
    Agrawal,
    ChunkEnsemble,
    ExtremelyFastDecisionTree,
    HoeffdingAdaptiveTree,
    HoeffdingTree,
    LeveragingBagging,
    OnlineBagging,
    OnlineSmoothBoost,
    RandomRBF,
    StreamingDeepForest,
    StreamingRandomPatches,
)
from thalweg.frozen.frozen_forest import FrozenForest, freeze
from thalweg.learners.deep.frozen_deep import FrozenDeepForest

MODELS = {
    "arf": lambda: AdaptiveRandomForest(size=18),
    "arf, majority": lambda: AdaptiveRandomForest(size=9, leaf="majority"),
    "arf, bayes": lambda: AdaptiveRandomForest(size=5, leaf="bayes", smoothing=0.0, weighted_vote=False),
    "bagging": lambda: OnlineBagging(size=9),
    "leveraging": lambda: LeveragingBagging(size=9),
    "codes": lambda: LeveragingBagging(size=9, codes=True),
    "boost": lambda: OnlineSmoothBoost(size=6),
    "patches": lambda: StreamingRandomPatches(size=9),
    "tree": lambda: HoeffdingTree(grace_period=50, tau=0.5),
    "efdt": lambda: ExtremelyFastDecisionTree(grace_period=50),
    "deep": lambda: StreamingDeepForest(layers=2, size=4),
    "deep, paper": lambda: StreamingDeepForest(layers=2, size=3, preset="paper", max_layers=3),
}
STREAMS = {"mixed": lambda: Agrawal(seed=2), "numbers": lambda: RandomRBF(classes=4, seed=1), "words": STAGGER}


def frozen(model):
    return model.compile() if hasattr(model, "compile") else freeze(model)


def trained(name, stream, rows=3_000):
    source = STREAMS[stream]()
    chunk, rng = source.read(rows), np.random.default_rng(4)
    X = chunk.X.copy()
    X[rng.random(X.shape) < 0.03] = np.nan
    model = MODELS[name]().declare(source.schema).partial_fit(X, chunk.y)
    numeric = ~np.array([f.nominal for f in source.schema.features])
    X[(rng.random(X.shape) < 0.01) & numeric] = 1e200
    X[(rng.random(X.shape) < 0.01) & numeric] = -1e308
    return model, X


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", MODELS)
def test_the_same_probabilities(name, stream):
    model, X = trained(name, stream)
    still = frozen(model)
    proba = model.predict_proba(X)
    assert np.array_equal(still.predict_proba(X), proba)
    assert np.array_equal(np.concatenate([still.predict_proba(X[i : i + 1]) for i in range(30)]), proba[:30])
    assert np.array_equal(still.predict_proba(X[:13]), proba[:13])
    assert still.predict_proba(X[:0]).shape == (0, proba.shape[1])
    assert np.array_equal(still.predict(X), model.predict(X))
    assert still.predict_one(X[3]) == model.predict_one(X[3])
    assert still.predict_proba_one(X[3]) == model.predict_proba_one(X[3])


def test_it_stays_as_it_was():
    model, X = trained("arf", "numbers")
    still = model.compile()
    before = still.predict_proba(X)
    chunk = RandomRBF(classes=4, seed=9).read(2_000)
    model.partial_fit(chunk.X, chunk.y)
    assert np.array_equal(still.predict_proba(X), before)
    assert not np.array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize(("name", "cls"), [("codes", FrozenForest), ("arf", FrozenForest), ("deep", FrozenDeepForest)])
def test_saved_like_any_model(name, cls, tmp_path):
    model, X = trained(name, "mixed")
    still = model.compile()
    thalweg.save(still, tmp_path / "frozen.safetensors")
    again = thalweg.load(tmp_path / "frozen.safetensors", cls=cls)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.schema == model.schema
    assert again.nbytes == still.nbytes > 0


def test_damaged_states_are_refused():
    still = trained("arf", "mixed")[0].compile()
    good = still.state()

    def damaged(name, change):
        bad = {key: table.copy() for key, table in good.items()}
        bad[name] = change(bad[name])
        with pytest.raises(ValueError, match="state must be what FrozenForest.state"):
            FrozenForest().restore(bad)

    def beyond(table):
        table["left"][0] = len(table)
        return table

    def backwards(table):
        table["left"][table["left"] != np.arange(len(table))] = 0
        return table

    def onward(table):
        table["feature"][table["left"] == np.arange(len(table))] = 1  # missing values would leave the leaf
        return table

    def nominal_numbers(table):
        leaves = good["leaves"].astype(np.int64)
        k, numbers, _, _, item = leaves[leaves[:, 2] > 0][0]  # one that looks at a nominal feature
        table[item + k + numbers] = 0  # the first feature is a number, and may be below 0
        return table

    damaged("packed", onward)
    damaged("packed", beyond)
    damaged("packed", backwards)
    damaged("lists", lambda table: table + np.uint32(10_000))
    damaged("lists", nominal_numbers)
    damaged("leaves", lambda table: table + np.uint32(1_000_000))
    damaged("plain", lambda table: table[:-2])
    damaged("cells", lambda table: table[:-10])
    damaged("weight", lambda table: table.astype(np.float32))
    damaged("labels", lambda table: table[:3])
    with pytest.raises(ValueError, match="it lacks"):
        FrozenForest().restore({key: table for key, table in good.items() if key != "trees"})


def test_what_cannot_be_frozen():
    with pytest.raises(ValueError, match="has not seen a row"):
        AdaptiveRandomForest().compile()
    with pytest.raises(ValueError, match="has not seen a row"):
        StreamingDeepForest().compile()
    with pytest.raises(TypeError, match="model must be a tree or a forest"):
        freeze(3)
    with pytest.raises(ValueError, match="is empty"):
        FrozenForest().predict([[1.0]])
    chunk = RandomRBF(seed=1).read(3_000)
    tree = HoeffdingAdaptiveTree(grace_period=50, tau=0.5).partial_fit(chunk.X, chunk.y)
    if tree.alternates["growing"] == 0:
        assert np.array_equal(freeze(tree).predict_proba(chunk.X), tree.predict_proba(chunk.X))


def test_mapped_tables_stand_on_the_file(tmp_path):
    """So two processes that answer from one file share its pages."""
    model, X = trained("arf", "numbers")
    thalweg.save(model.compile(), tmp_path / "frozen")
    chunks = ChunkEnsemble(chunk=500, index="e-tree").partial_fit(X, np.arange(len(X)) % 3)
    thalweg.save(chunks.compile(), tmp_path / "chunks")
    for name, large in (("frozen", ("packed", "cells", "plain", "leaves")), ("chunks", ("index.lo", "index.low"))):
        tables = thalweg.load(tmp_path / name, mapped=True).tables()
        for key in large:
            table = tables[key]
            while isinstance(table.base, np.ndarray):
                table = table.base
            assert isinstance(getattr(table.base, "obj", table.base), mmap.mmap), (name, key)
        before = {key: table.copy() for key, table in tables.items()}
        again = thalweg.load(tmp_path / name, mapped=True)
        assert np.isfinite(again.predict_proba(X)).all()
        assert all(np.array_equal(again.tables()[key], before[key]) for key in before)
