"""Every registered class keeps every promise: registry × checks."""

from functools import partial

import numpy as np
import pytest

from thalweg import (
    CKDT,
    PCAKNN,
    SEA,
    AdaptiveRandomForest,
    ChunkEnsemble,
    CSVStream,
    DriftStream,
    Feature,
    HoeffdingTree,
    LeveragingBagging,
    MajorityClass,
    McDiarmidTree,
    NoChange,
    OnlineSmoothBoost,
    ParquetStream,
    Schema,
    StreamingDeepForest,
    StreamingRandomPatches,
    Vote,
    checks,
    registry,
)

FILES = ("csv", "csv with a schema", "parquet")
STREAMS = (*registry.STREAMS, "drift", *FILES)


@pytest.fixture(scope="module")
def makers(tmp_path_factory):
    """What makes a stream of each name; those of files read a table of 1,500 records."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue"])
    columns = {
        "size": rng.normal(size=1500),
        "colour": words[rng.integers(0, 3, 1500)],
        "class": rng.random(1500) < 0.4,
    }
    folder = tmp_path_factory.mktemp("streams")
    csv.write_csv(pa.table(columns), folder / "table.csv")
    parquet.write_table(pa.table(columns), folder / "table.parquet", row_group_size=400)
    schema = Schema((Feature("size"), Feature("colour", values=tuple(words.tolist()))))
    return {name: entry.make for name, entry in registry.STREAMS.items()} | {
        "drift": lambda: DriftStream(SEA(function=1, seed=1), SEA(function=3, seed=2), 500, 200),
        "csv": lambda: CSVStream(folder / "table.csv"),
        "csv with a schema": lambda: CSVStream(str(folder / "table.csv"), schema=schema),
        "parquet": lambda: ParquetStream(folder / "table.parquet"),
    }


def small(entry):
    """Make a learner; a forest with few members and layers, which is quick."""
    few = {"layers": 2, "size": 2} if "layers" in registry.parameters(entry.cls) else {"size": 10}
    few |= {"shape": (-1,), "warmup": 24, "max_leaves": 4}  # rows of any width are vectors to a learner of tensors
    if "min_rebuild" in registry.parameters(entry.cls):
        few |= {"window": 20, "min_rebuild": 12, "landmarks": 5, "pool": 10, "grace_period": 15}
    return entry.make(**{name: n for name, n in few.items() if name in registry.parameters(entry.cls)})


EAGER = {"grace_period": 15, "delta": 0.3, "tau": 0.3}

LEARNERS = {name: partial(small, entry) for name, entry in registry.LEARNERS.items()} | {
    "eager forest": lambda: AdaptiveRandomForest(size=9, drift="ddm", warning="adwin(delta=0.5)", **EAGER),
    "eager forest, limited": lambda: AdaptiveRandomForest(size=3, limit_bytes=300_000, **EAGER),
    "eager patches": lambda: StreamingRandomPatches(size=9, subspace=2, drift="hddm-w", warning="none", **EAGER),
    "eager bagging with codes": lambda: LeveragingBagging(size=5, codes=True, sampling="missed", **EAGER),
    "eager boosting": lambda: OnlineSmoothBoost(size=4, weights="exp", **EAGER),
    "eager cascade": lambda: StreamingDeepForest(
        layers=1,
        size=2,
        max_layers=3,
        pass_on="forests",
        forests=(AdaptiveRandomForest(subspace=2, **EAGER), LeveragingBagging(**EAGER)),
    ),
    "eager chunks": lambda: ChunkEnsemble(size=3, chunk=60, weights="accuracy"),
    "eager chunks, E-tree": lambda: ChunkEnsemble(
        size=None, chunk=45, index="e-tree(most=4)", weights="decay", votes="hard", confidence=None
    ),
    "eager chunks, target": lambda: ChunkEnsemble(size=3, chunk=60, votes="hard", indexed="target"),
    "eager chunks, bitmap": lambda: ChunkEnsemble(size=2, chunk=50, index="bitmap", min_leaf=1),
    "eager chunks, scikit-learn": lambda: ChunkEnsemble(
        size=3, chunk=70, index="compiled-trees", backend="sklearn", weights="accuracy"
    ),
    "warm ckdt": lambda: CKDT(
        route="warm", shape=(-1,), window=20, min_rebuild=12, landmarks=5, grace_period=15, max_leaves=12
    ),
    "reprojecting pca-knn": lambda: PCAKNN(p=3, window=60, reproject_every=17),
    "vote": lambda: Vote(learners=(HoeffdingTree(**EAGER), NoChange(), MajorityClass()), weights=(2, 1, 1)),
    "eager mcdiarmid tree": lambda: McDiarmidTree(bound="gaussian", delta=0.3, grace_period=10, bins=5, window=20),
    "mcdiarmid tree of the paper": lambda: McDiarmidTree(preset="paper", delta=0.9, tau=0.3, grace_period=15, window=9),
    "eager tree": lambda: HoeffdingTree(grace_period=20, delta=0.2, tau=0.2),
    "eager tree, subspace, Gini": lambda: HoeffdingTree(
        grace_period=15, delta=0.3, tau=0.3, subspace=2, criterion="gini", limit_bytes=60_000
    ),
}


def named(check):
    return check.__name__


@pytest.mark.parametrize("check", checks.CLASSIFIER_CHECKS, ids=named)
@pytest.mark.parametrize("name", LEARNERS)
def test_learner(name, check):
    check(LEARNERS[name])


@pytest.mark.parametrize("check", checks.DETECTOR_CHECKS, ids=named)
@pytest.mark.parametrize("name", registry.DETECTORS)
def test_detector(name, check):
    check(registry.DETECTORS[name].make)


@pytest.mark.parametrize("check", checks.STREAM_CHECKS, ids=named)
@pytest.mark.parametrize("name", STREAMS)
def test_stream(makers, name, check):
    check(makers[name])
