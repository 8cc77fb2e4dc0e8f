"""A stream that has nothing yet has not ended: whoever reads it gets the same records, only later."""

import itertools
from typing import Any

import numpy as np
import pytest

from thalweg import ArrayStream, Chunk, DriftStream, Imbalance, LabelNoise, PriorDrift, RecurringDrift, Schema
from thalweg.streams.nested import Confluence

_SEEDS = itertools.count()


class Live:
    """Records that come in dribs and drabs; in between there is nothing yet."""

    drifts = ()

    def __init__(self, label: int, rows: int = 3000, *, halting: bool = True, dtype: Any = None) -> None:
        X = np.stack([np.full(rows, float(label)), np.arange(rows, dtype=float)], axis=1)
        y = np.full(rows, label) if dtype is None else np.full(rows, label).astype(dtype)
        schema = Schema.numeric(2, classes=[np.array(c).astype(y.dtype).item() for c in range(3)])
        self._inner = ArrayStream(X, y, schema=schema, time=X[:, 1])
        self._random = np.random.default_rng(next(_SEEDS)) if halting else None

    @property
    def schema(self) -> Schema:
        return self._inner.schema

    def read(self, n: int) -> Chunk | None:
        if self._random is not None and n > 0:
            n = int(self._random.integers(0, min(n, 40) + 1)) * int(self._random.integers(0, 2))
            if n == 0 and self._inner._at < len(self._inner.y):
                return self._inner.read(0)
        return self._inner.read(max(n, 1))

    def state(self) -> dict[str, Any]:
        return self._inner.state()

    def restore(self, state: Any) -> None:
        self._inner.restore(state)


def drift(halting: bool, **how: Any) -> DriftStream:
    return DriftStream(Live(0, halting=halting, **how), Live(1, halting=halting, **how), 1000, 600, seed=4)


def java(halting: bool) -> DriftStream:
    return DriftStream(Live(0, halting=halting), Live(1, halting=halting), 1000, 600, rng="java")


def nested(halting: bool) -> DriftStream:
    inner = DriftStream(Live(1, halting=halting), Live(2, halting=halting), 800, 300)
    return DriftStream(Live(0, halting=halting), inner, 900, 300)


def recurring(halting: bool) -> RecurringDrift:
    return RecurringDrift([Live(c, halting=halting) for c in range(3)], period=300, width=150)


def thinned(halting: bool) -> PriorDrift:
    return PriorDrift(drift(halting), before=(0.5, 0.5, 0), after=(0.9, 0.1, 0), position=500, width=300)


def kept(halting: bool) -> Imbalance:
    return Imbalance(recurring(halting), keep=(1.0, 0.2, 0.5))


def noisy(halting: bool) -> LabelNoise:
    return LabelNoise(drift(halting), 0.2)


MAKERS = [drift, java, nested, recurring, thinned, kept, noisy]


def read_all(stream: Any, size: int, most: int = 3000) -> tuple[Chunk, int]:
    """Read until the end or until enough; give the records and how often there was nothing yet."""
    parts, nothing = [], 0
    while sum(map(len, parts)) < most and (chunk := stream.read(min(size, most - sum(map(len, parts))))) is not None:
        nothing += len(chunk) == 0
        if len(chunk):
            parts.append(chunk)
        assert nothing < 100_000
    return Chunk.join(parts), nothing


def same(a: Chunk, b: Chunk) -> bool:
    times = a.time is not None and b.time is not None and np.array_equal(a.time, b.time)
    return times and np.array_equal(a.X, b.X) and np.array_equal(a.y, b.y)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("size", [1, 17, 500])
def test_the_same_records_come_only_later(make: Any, size: int) -> None:
    most = 400 if size == 1 else 3000
    want, none = read_all(make(False), 10_000, most)
    got, nothing = read_all(make(True), size, most)
    assert none == 0
    assert nothing > 0 or make in (thinned, kept)  # those may find enough in a block that they have
    assert len(got) == len(want)
    assert same(got, want)


@pytest.mark.parametrize(
    ("make", "dtype"), [(drift, None), (drift, np.str_), (java, None), (nested, None), (recurring, None)]
)
def test_what_waits_is_part_of_the_state(make: Any, dtype: Any) -> None:
    how = {} if dtype is None else {"dtype": dtype}
    want, _ = read_all(make(False, **how), 10_000)
    stream = make(True, **how)
    seen: list[Chunk] = []
    waited = 0
    for _ in range(2000):
        if sum(map(len, seen)) >= 1400:
            break
        chunk = stream.read(100)
        if chunk is not None and len(chunk):
            seen.append(chunk)
        state = stream.state()
        waited += len(state["waiting"]) > 0
        stream = make(True, **how)  # another one goes on
        stream.restore(state)
    assert waited > 0
    got = Chunk.join([*seen, read_all(stream, 100, 500)[0]])
    assert same(got, want[: len(got)])


def test_a_restart_forgets_what_waits() -> None:
    stream = drift(True)
    read_all(stream, 100, 1000)
    stream.restart()
    assert len(stream.state()["waiting"]) == 0
    assert same(read_all(stream, 100, 1500)[0], read_all(drift(False), 100, 1500)[0])


def test_damaged_records_that_wait_are_refused_and_nothing_changes() -> None:
    stream = drift(True)
    for _ in range(2000):
        stream.read(100)
        if len((state := stream.state())["waiting"]):
            break
    before = stream.state()
    for bad in (state["waiting"][:-9], state["waiting"][5:], np.frombuffer(b"nonsense", dtype=np.uint8)):
        with pytest.raises(ValueError, match="waiting records are damaged"):
            stream.restore({**state, "waiting": bad})
    after = stream.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_labels_that_cannot_be_saved_are_told() -> None:
    both = Confluence((Live(0), Live(1)), ("old", "new"))
    y = np.empty(1, dtype=object)
    y[0] = frozenset({1})
    both.wait([Chunk(np.zeros((1, 2)), y), Chunk(np.zeros((0, 2)), np.zeros(0, dtype=int))])
    with pytest.raises(TypeError, match="labels of type frozenset"):
        both.to_bytes()
