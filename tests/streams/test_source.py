"""What every stream keeps: chunk sizes change nothing, a restored stream reads on, the limit holds."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thalweg import SEA, Agrawal, ArrayStream, Chunk, DriftStream, Hyperplane, RandomRBF
from thalweg.core.protocols import Stream
from thalweg.streams.source import Source

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
    "drift": nested,
    "array": array,
}

each = pytest.mark.parametrize("make", STREAMS.values(), ids=list(STREAMS))


def same(a: Chunk, b: Chunk) -> bool:
    pairs = [(a.X, b.X), (a.y, b.y), (a.time, b.time)]
    return all(x is z is None or (x.dtype == z.dtype and np.array_equal(x, z)) for x, z in pairs)  # type: ignore[union-attr]


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


@pytest.mark.parametrize("make", [SEA, Agrawal, RandomRBF, Hyperplane])
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
digest = hashlib.sha256()
for rng in ("splitmix", "java"):
    a = SEA(rng=rng, balance=True)
    for stream in (a, Agrawal(rng=rng, function=10), RandomRBF(rng=rng, speed=0.1), Hyperplane(rng=rng, magnitude=0.1),
                   DriftStream(SEA(rng=rng), SEA(function=3), 20, 10, rng=rng)):
        chunk = stream.take(40)
        digest.update(chunk.X.tobytes() + chunk.y.tobytes())
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
