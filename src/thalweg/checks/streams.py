"""Promises of a stream."""

import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from thalweg.checks.parts import (
    Promises,
    expect,
    global_random,
    read_records,
    refuses,
    same,
    same_state,
    same_uncompiled,
    savable,
    unchanged,
)
from thalweg.core.chunk import Chunk
from thalweg.core.protocols import Stream
from thalweg.keeping import snapshot

CHECKS = promise = Promises()


def same_chunk(a: Chunk, b: Chunk, sentence: str) -> None:
    for name in ("X", "w", "time", "label_time"):
        x, y = getattr(a, name), getattr(b, name)
        expect((x is None) == (y is None), f"{sentence}: only one has {name!r}")
        if x is not None:
            same(x, y, f"{sentence}, {name!r}")
    expect(a.y.tolist() == b.y.tolist(), f"{sentence}: labels differ")


@promise
def chunk_size_does_not_matter(make: Callable[[], Stream]) -> None:
    """How many records are read at a time never changes what they are."""
    whole, n = make(), 1200
    expected = read_records(whole, n, n)
    for size in (1, 7, 1000):
        source = make()
        rows = 150 if size == 1 else n
        same_chunk(expected[:rows], read_records(source, rows, size), f"reading by {size} must give the same records")
        if rows == n:
            same_state(whole.state(), source.state(), f"reading by {size} must lead to the same position")


@promise
def records_fit_the_schema(make: Callable[[], Stream]) -> None:
    """Records are C-contiguous float64 rows as wide as the schema, with its codes and its classes, none infinite."""
    source = make()
    chunk = read_records(source, 1000, 1000)
    X, schema = chunk.X, source.schema
    expect(X.dtype == np.float64 and X.flags.c_contiguous, "X must be C-contiguous float64 rows")
    expect(X.shape == (len(chunk), schema.n_features), f"X must have {schema.n_features} columns, got {X.shape}")
    expect(not np.isinf(X).any(), "X must not hold infinity")
    for f, feature in enumerate(schema.features):
        if feature.nominal:
            codes = X[~np.isnan(X[:, f]), f]
            ok = ((codes >= 0) & (codes < feature.cardinality) & (codes == np.floor(codes))).all()
            expect(ok, f"nominal feature {feature.name!r} must hold codes below {feature.cardinality}")
    if schema.classes is not None:
        expect(set(chunk.y.tolist()) <= set(schema.classes), f"labels must be among {schema.classes}")


@promise
def same_seed_same_records(make: Callable[[], Stream]) -> None:
    """Two streams made alike give the same records, and draw nothing from a global generator."""
    before = global_random()
    one, two = make(), make()
    a = read_records(one, 300, 100)
    same_chunk(a, read_records(two, 300, 100), "two streams made alike must give the same records")
    after = global_random()
    expect(before == after, "a stream must not touch NumPy's global random state")


@promise
def chunks_are_kept(make: Callable[[], Stream]) -> None:
    """A chunk stays as it is when the stream goes on, and writing to it does not reach the stream."""
    source, other = make(), make()
    first = read_records(source, 100, 100)
    X = first.X.copy()
    second = read_records(source, 100, 100)
    expect(first.X.tobytes() == X.tobytes(), "a chunk must stay as it is when the stream goes on")
    read_records(other, 100, 100).X[:] = -1.0
    same_chunk(second, read_records(other, 100, 100), "writing to a chunk must not reach the stream")


@promise
def reading_nothing_changes_nothing(make: Callable[[], Stream]) -> None:
    """read(0) gives an empty chunk of the right width, and the stream stays where it is."""
    source = make()
    read_records(source, 50, 50)
    with unchanged(source, "read(0) must change nothing"):
        chunk = source.read(0)
        expect(chunk is not None and len(chunk) == 0, f"read(0) must give an empty chunk, got {chunk!r:.60}")
        wide = chunk is not None and chunk.X.shape == (0, source.schema.n_features)
        expect(wide, "read(0) must give an empty chunk as wide as the schema")
    for n in (-1, 1.5, "x", None):
        refuses(source, f"read({n!r})", source.read, n)


@promise
def position_is_restored(make: Callable[[], Stream]) -> None:
    """Restored, or saved and loaded, a stream goes on with the same records."""
    whole = make()
    expected = read_records(whole, 700, 700)
    for cut in (0, 1, 333):
        first, second = make(), make()
        if cut:
            read_records(first, cut, cut)
        second.restore(first.state())
        with unchanged(first, "the original must stay where it is when the restored one goes on"):
            rest = expected[cut:]
            got = read_records(second, len(rest), 100)
            same_chunk(rest, got, f"restoring after {cut} records must go on with the next")
        same_state(whole.state(), second.state(), "restoring must lead to the same position")
    source = make()
    refuses(source, "an empty state", source.restore, {})


@promise
def stream_can_be_saved(make: Callable[[], Stream]) -> None:
    """Saved and loaded, a stream goes on with the same records."""
    source = make()
    if not savable(source):
        return
    read_records(source, 100, 100)
    with tempfile.TemporaryDirectory() as folder:
        snapshot.save(source, Path(folder) / "stream")
        loaded = snapshot.load(Path(folder) / "stream", open_files=True)
        same_chunk(
            read_records(source, 300, 300),
            read_records(loaded, 300, 300),
            "a loaded stream must go on with the same records",
        )
        del loaded


@promise
def drifts_are_positions(make: Callable[[], Stream]) -> None:
    """Drifts are whole numbers from 0, in order, the same before and after reading."""
    source = make()
    drifts = source.drifts
    expect(isinstance(drifts, tuple), f"drifts must be a tuple, got {drifts!r}")
    expect(all(isinstance(d, int) and d >= 0 for d in drifts), f"drifts must be whole numbers from 0, got {drifts}")
    expect(all(a < b for a, b in pairwise(drifts)), f"drifts must be in order, got {drifts}")
    read_records(source, 100, 100)
    expect(source.drifts == drifts, "drifts must not change with reading")


@promise
def same_stream_without_compilation(make: Callable[[], Stream]) -> None:
    """The same code, run by Python instead of compiled, gives the same bits (classes of the library only)."""
    same_uncompiled(make())
