"""What every stream keeps: chunk sizes change nothing, a restored stream reads on, the limit holds."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thalweg import SEA, Agrawal, ArrayStream, BayesNetStream, Chunk, DriftStream, Hyperplane, RandomRBF
from thalweg.core.protocols import Stream
from thalweg.streams.generators.hyper_cube import HyperCube
from thalweg.streams.generators.led import LED
from thalweg.streams.generators.mixed import Mixed
from thalweg.streams.generators.random_tree import RandomTree
from thalweg.streams.generators.sine import Sine
from thalweg.streams.generators.stagger import STAGGER
from thalweg.streams.generators.text import Text
from thalweg.streams.generators.waveform import Waveform
from thalweg.streams.source import Source
from thalweg.streams.transforms.features import FeatureDrift
from thalweg.streams.transforms.incremental import IncrementalDrift
from thalweg.streams.transforms.noise import DelayedLabels, LabelNoise, MissingValues
from thalweg.streams.transforms.priors import Imbalance, PriorDrift
from thalweg.streams.transforms.recurring import RecurringDrift

Make = Callable[..., Source]


def nested(**more: Any) -> DriftStream:
    inner = DriftStream(SEA(function=2, seed=2), SEA(function=3, seed=3), 500, 200, seed=4)
    return DriftStream(SEA(function=1, seed=1), inner, 700, 300, **more)


def array(**more: Any) -> ArrayStream:
    rng = np.random.default_rng(1)
    return ArrayStream(rng.random((3000, 4)), rng.integers(3, size=3000), time=np.arange(3000), **more)


STREAMS: dict[str, Make] = {
    "sea": SEA,
    "sea-balanced": lambda **more: SEA(balance=True, **more),
    "sea-java": lambda **more: SEA(rng="java", **more),
    "agrawal": lambda **more: Agrawal(function=5, **more),
    "rbf": lambda **more: RandomRBF(classes=3, **more),
    "rbf-drift": lambda **more: RandomRBF(classes=5, speed=0.01, drifting=30, **more),
    "rbf-java": lambda **more: RandomRBF(rng="java", speed=0.01, **more),
    "hyperplane": lambda **more: Hyperplane(magnitude=0.01, drifting=5, **more),
    "random-tree": RandomTree,
    "random-tree-java": lambda **more: RandomTree(rng="java", **more),
    "led": lambda **more: LED(drifting=3, **more),
    "led-java": lambda **more: LED(rng="java", **more),
    "waveform": lambda **more: Waveform(noise=True, **more),
    "waveform-java": lambda **more: Waveform(rng="java", **more),
    "sine": lambda **more: Sine(function=3, balance=True, **more),
    "mixed": lambda **more: Mixed(balance=True, **more),
    "stagger": lambda **more: STAGGER(function=2, balance=True, **more),
    "text": lambda **more: Text(words=60, **more),
    "text-java": lambda **more: Text(words=60, rng="java", compat="moa", **more),
    "hyper-cube": lambda **more: HyperCube(period=300, **more),
    "bayes-net": lambda **more: BayesNetStream(Agrawal(), sample=500, **more),
    "drift": nested,
    "recurring": lambda **more: RecurringDrift([SEA(), SEA(seed=2), SEA(seed=3)], 400, 200, **more),
    "incremental": lambda **more: IncrementalDrift(SEA(), 700, 900, **more),
    "features": lambda **more: FeatureDrift(SEA(), 700, swap=[(0, 1)], drop=["x2"], **more),
    "priors": lambda **more: PriorDrift(SEA(), (0.5, 0.5), (0.9, 0.1), 900, 400, **more),
    "imbalance": lambda **more: Imbalance(SEA(), (1.0, 0.1), **more),
    "label-noise": lambda **more: LabelNoise(LED(), 0.3, **more),
    "missing": lambda **more: MissingValues(SEA(), 0.3, **more),
    "delayed": lambda **more: DelayedLabels(SEA(), 100, jitter=50, **more),
    "transforms of transforms": lambda **more: LabelNoise(Imbalance(MissingValues(nested()), (0.2, 1.0)), **more),
    "array": array,
}

each = pytest.mark.parametrize("make", STREAMS.values(), ids=list(STREAMS))


def same(a: Chunk, b: Chunk) -> bool:
    pairs = [(a.X, b.X), (a.y, b.y), (a.time, b.time), (a.label_time, b.label_time)]
    return all(x is z is None or (x.dtype == z.dtype and x.tobytes() == z.tobytes()) for x, z in pairs)


@each
def test_any_chunk_size_gives_the_same_stream(make: Make) -> None:
    whole = make().take(2000)
    assert len(whole) == 2000
    for size in (1, 7, 1000):
        assert same(Chunk.join(list(make(limit=2000).chunks(size))), whole)


@each
def test_restored_in_mid_stream_it_reads_on(make: Make) -> None:
    stream = make()
    stream.take(813)
    state = stream.state()
    want = stream.take(1000)
    assert all(isinstance(a, np.ndarray) and a.dtype != object for a in state.values())
    other = make()
    other.take(5)
    other.restore(state)
    assert same(other.take(1000), want)
    other.restore(state)  # reading has not changed the state that was given
    assert same(other.take(1000), want)


@each
def test_the_state_is_a_copy(make: Make) -> None:
    stream = make()
    state = stream.state()
    before = {name: table.copy() for name, table in state.items()}
    stream.take(100)
    assert all(np.array_equal(state[name], before[name]) for name in state)


@each
def test_restart_gives_the_same_stream(make: Make) -> None:
    stream = make()
    first = stream.take(1500)
    stream.restart()
    assert same(stream.take(1500), first)


@each
def test_the_limit(make: Make) -> None:
    stream = make(limit=10)
    assert stream.rows == 10
    assert isinstance(stream, Stream)
    assert [len(c) for c in stream.chunks(4)] == [4, 4, 2]
    assert stream.read(1) is None
    assert len(stream.take(3)) == 0
    stream.restart()
    state = stream.state()
    assert len(stream.take(100)) == 10
    stream.restore(state)
    assert len(stream.take(100)) == 10
    assert make(limit=0).read(1) is None


@each
def test_a_chunk_is_what_the_schema_says(make: Make) -> None:
    stream = make()
    chunk = stream.take(1000)
    assert chunk.X.dtype == np.float64
    assert chunk.X.flags.c_contiguous
    assert chunk.X.shape == (1000, stream.schema.n_features)
    if stream.schema.classes is not None:
        assert chunk.y.dtype == np.int64
        assert set(chunk.y.tolist()) <= set(stream.schema.classes)
    for f, feature in enumerate(stream.schema.features):
        if feature.nominal:
            assert set(np.unique(chunk.X[:, f])) == set(range(feature.cardinality))
    empty = stream.read(0)
    assert empty is not None
    assert empty.X.shape == (0, stream.schema.n_features)


@each
def test_streams_do_not_share_anything(make: Make) -> None:
    a, b = make(), make()
    a.take(100)
    global_state = np.random.get_state()[1].copy()  # type: ignore[index,union-attr]  # noqa: NPY002
    want = make().take(300)
    assert same(b.take(300), want)
    assert np.array_equal(np.random.get_state()[1], global_state)  # type: ignore[index]  # noqa: NPY002


GENERATORS = [SEA, Agrawal, RandomRBF, Hyperplane, RandomTree, LED, Waveform, Sine, Mixed, STAGGER, Text, HyperCube]


@pytest.mark.parametrize("make", GENERATORS)
def test_seeds_differ(make: Make) -> None:
    assert not np.array_equal(make(seed=1).take(10).X, make(seed=2).take(10).X)


def test_a_state_of_something_else_is_refused_and_changes_nothing() -> None:
    stream = SEA()
    stream.take(10)
    before = stream.state()
    good = SEA().state()
    bad: list[dict[str, Any]] = [
        {},
        {k: v for k, v in good.items() if k != "random"},
        good | {"random": np.zeros(3, dtype=np.uint64)},
        good | {"random": np.zeros(1)},
        good | {"given": np.array([-1])},
        RandomRBF().state(),
    ]
    for state in bad:
        with pytest.raises(ValueError, match=r"state must be what SEA\.state\(\) gave"):
            stream.restore(state)
    assert all(np.array_equal(stream.state()[k], before[k]) for k in before)


@pytest.mark.parametrize("n", [-1, 1.5, "7", None, True])
def test_bad_sizes(n: Any) -> None:
    for verb in (SEA().read, SEA().take, lambda n: next(SEA().chunks(n))):
        with pytest.raises((ValueError, TypeError), match="n must"):
            verb(n)
    with pytest.raises(ValueError, match=r"n must lie in \[1, ∞\), got 0"):
        next(SEA().chunks(0))


def test_it_prints_what_was_asked_for() -> None:
    assert repr(SEA(function=2, seed=7)) == "SEA(function=2, seed=7)"
    assert repr(DriftStream(SEA(), SEA(function=3), 100)) == "DriftStream(SEA(), SEA(function=3), 100)"
    assert SEA(function=2).get_params()["function"] == 2
    assert Hyperplane(**Hyperplane(features=3).get_params()).features == 3


PROGRAM = """
import hashlib
from thalweg import SEA, Agrawal, DriftStream, Hyperplane, RandomRBF
from thalweg.streams.generators.hyper_cube import HyperCube
from thalweg.streams.generators.led import LED
from thalweg.streams.generators.mixed import Mixed
from thalweg.streams.generators.random_tree import RandomTree
from thalweg.streams.generators.sine import Sine
from thalweg.streams.generators.stagger import STAGGER
from thalweg.streams.generators.text import Text
from thalweg.streams.generators.waveform import Waveform
from thalweg.streams.transforms.incremental import IncrementalDrift
from thalweg.streams.transforms.noise import DelayedLabels, LabelNoise, MissingValues
from thalweg.streams.transforms.priors import Imbalance, PriorDrift
from thalweg.streams.transforms.recurring import RecurringDrift
digest = hashlib.sha256()
for rng in ("splitmix", "java"):
    a = SEA(rng=rng, balance=True)
    for stream in (a, Agrawal(rng=rng, function=10), RandomRBF(rng=rng, speed=0.1), Hyperplane(rng=rng, magnitude=0.1),
                   DriftStream(SEA(rng=rng), SEA(function=3), 20, 10, rng=rng),
                   RandomTree(rng=rng), LED(rng=rng, drifting=2), Waveform(rng=rng, noise=True),
                   Text(rng=rng, words=50), Text(rng=rng, words=50, compat="moa"),
                   Sine(rng=rng), Sine(rng=rng, function=4), Mixed(rng=rng),
                   STAGGER(rng=rng, function=2)):
        chunk = stream.take(40)
        digest.update(chunk.X.tobytes() + chunk.y.tobytes())
for stream in (HyperCube(period=7), HyperCube(inside=0.0), IncrementalDrift(SEA(), 20, 20), LabelNoise(LED(), 0.5),
               MissingValues(SEA(), 0.5), DelayedLabels(SEA(), 5, jitter=3), Imbalance(SEA(), (1.0, 0.3)),
               PriorDrift(SEA(), (0.5, 0.5), (0.1, 0.9), 20, 10), RecurringDrift([SEA(), SEA(seed=2)], 10, 5)):
    chunk = stream.take(40)
    digest.update(chunk.X.tobytes() + chunk.y.tobytes())
    if chunk.label_time is not None:
        digest.update(chunk.label_time.tobytes())
print(digest.hexdigest())
"""


def test_the_same_without_the_compiler() -> None:
    given = {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}  # NumPy warns of the overflow that is meant
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | given, capture_output=True, text=True, check=True
    )
    here: dict[str, Any] = {}
    exec(PROGRAM.replace("print(digest", "result = (digest"), here)
    assert run.stdout.strip() == here["result"]
    assert len(here["result"]) == len(hashlib.sha256().hexdigest())
