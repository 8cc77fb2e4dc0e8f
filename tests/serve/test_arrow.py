"""Bodies of Arrow: what they may declare is bounded before it is unpacked; rows and answers are those of JSON."""

import struct
import tracemalloc

import numpy as np
import pytest

from thalweg import Schema
from thalweg.serve.arrow import LONGEST, TooLargeError, numeric, read_arrow, to_arrow
from thalweg.serve.jobs import Given
from thalweg.serve.records import ARROW, Reader

pa = pytest.importorskip("pyarrow")
MOST = 1 << 20


def body_of(table, compression=None):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_a_body_comes_as_it_was(compression):
    table = pa.table({"a": np.arange(500.0), "b": ["x", "y"] * 250, "c": pa.array([1, None] * 250)})
    assert read_arrow(body_of(table, compression), rows=500, nbytes=MOST).equals(table)
    with pytest.raises(TooLargeError, match="at most 499 records"):
        read_arrow(body_of(table, compression), rows=499, nbytes=MOST)


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_bomb_is_refused_before_it_is_unpacked(compression, dictionary):
    words = pa.array(["a" * (100 << 20)])
    column = pa.DictionaryArray.from_arrays(pa.array([0]), words) if dictionary else words
    bomb = body_of(pa.table({"a": column}), compression)
    assert len(bomb) < MOST
    before = pa.total_allocated_bytes()
    with pytest.raises(TooLargeError, match=r"at most 1,048,576 bytes, also unpacked, it declares 104,857,6\d\d"):
        read_arrow(bomb, rows=10, nbytes=MOST)
    assert pa.total_allocated_bytes() - before < MOST


def test_a_size_that_is_lied_about_is_refused():
    body = body_of(pa.table({"a": np.zeros(10_000)}), "zstd")
    said = struct.pack("<q", 80_000)
    assert body.count(said) >= 1
    for lie in (-5, 1 << 62, 8):
        with pytest.raises(ValueError, match=r"body must"):
            read_arrow(body.replace(said, struct.pack("<q", lie)), rows=10_000, nbytes=MOST)


def test_columns_that_share_their_bytes_count_each():
    one = np.zeros(1_000)
    body = bytearray(body_of(pa.table({"a": one, "b": one})))
    with pytest.raises(TooLargeError, match="it declares 16,000"):
        read_arrow(bytes(body), rows=1_000, nbytes=15_999)


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_long_texts_are_refused(kind):
    for length in (LONGEST, LONGEST + 1):
        text = pa.array(["b", "a" * length])
        column = text.dictionary_encode() if kind == "dictionary" else text.cast(getattr(pa, kind)())
        body = body_of(pa.table({"a": column}))
        if length == LONGEST:
            assert read_arrow(body, rows=2, nbytes=MOST).num_rows == 2
        else:
            with pytest.raises(ValueError, match="text of at most 4,000 bytes, got 4,001"):
                read_arrow(body, rows=2, nbytes=MOST)


def test_broken_bodies_get_a_sentence():
    rng = np.random.default_rng(1)
    good = body_of(pa.table({"a": np.arange(50.0), "b": ["x", "y"] * 25}), "zstd")
    refused = 0
    for _ in range(2_000):
        bad = bytearray(good)
        for at in rng.integers(0, len(bad), 3):
            bad[at] = rng.integers(0, 256)
        try:
            read_arrow(bytes(bad[: rng.integers(1, len(bad) + 1)]), rows=100, nbytes=MOST)
        except ValueError:
            refused += 1
    assert refused > 1_000


def test_empty_columns_do_not_become_large():
    wide = pa.table({f"c{k}": pa.nulls(10_000) for k in range(2_000)})
    reader = Reader(target=None, missing=True)
    tracemalloc.start()
    with pytest.raises(TooLargeError, match="at most 16,777,216 values"):
        reader.read(body_of(wide), ARROW, None)
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()


def test_numbers_are_the_same_by_every_way():
    schema = Schema.numeric(3)
    X = np.random.default_rng(1).normal(size=(100, 3))
    names = list(schema.names)
    doubles = pa.table({name: X[:, f] for f, name in enumerate(names)})
    for table in (doubles, doubles.select(names[::-1]), pa.concat_tables([doubles[:30], doubles[30:]])):
        assert np.array_equal(numeric(table, schema), X)
    whole = pa.table({name: np.arange(5) + f for f, name in enumerate(names)})
    assert np.array_equal(numeric(whole, schema), np.arange(5.0)[:, None] + np.arange(3.0))
    lacking = pa.table({name: pa.array([1.0, None]) for name in names})
    assert numeric(lacking, schema) is None
    assert np.isnan(Reader(target=None, missing=True).read(body_of(lacking), ARROW, schema).X[1]).all()


def test_answers_in_arrow():
    proba = np.array([[0.25, 0.75], [0.0, 0.0], [0.5, 0.5]])
    for classes in (["no", "yes"], [3, 4], [0.5, 1.5], [False, True]):
        given = Given(7, 3, bytes([1, 0, 2]), proba.tobytes(), classes, 12)
        table = pa.ipc.open_stream(to_arrow(given)).read_all()
        assert table["label"].to_pylist() == [classes[1], None, classes[0]]
        assert table[f"p({classes[1]})"].to_pylist() == [0.75, 0.0, 0.5]
        assert (table["ticket"].to_pylist(), table["wanted"].to_pylist()) == ([7, 8, 9], [True, False, True])
        assert table.schema.metadata == {b"version": b"12"}
    nothing = Given(-1, 2, bytes(2), b"", [], 0)
    table = pa.ipc.open_stream(to_arrow(nothing)).read_all()
    assert table["label"].to_pylist() == table["ticket"].to_pylist() == [None, None]


def test_columns_whose_values_have_no_bound_are_refused():
    lists = pa.array([[None] * 300] * 4, type=pa.list_(pa.null(), 300))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([4], pa.int32()), pa.array(["x" * 3_000]))
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0, 0], pa.int8()), pa.array([[1.0, 2.0]]))
    for column in (lists, runs, coded, pa.array([{"b": 1.0}] * 4)):
        with pytest.raises(ValueError, match="column 'a' must hold numbers or text"):
            read_arrow(body_of(pa.table({"a": column})), rows=10, nbytes=MOST)


def test_views_that_share_their_bytes_count_each():
    _, views, text = pa.array(["x" * 3_000], type=pa.string_view()).buffers()
    shared = pa.py_buffer(views.to_pybytes()[:16] * 500)
    words = pa.Array.from_buffers(pa.string_view(), 500, [None, shared, text])
    body = body_of(pa.table({"a": words}))
    assert len(body) < 20_000
    with pytest.raises(TooLargeError, match="its text has 1,500,000"):
        read_arrow(body, rows=500, nbytes=MOST)


def test_dictionaries_in_parts_and_too_many_messages_are_refused():
    def part(k):
        words = pa.array([f"w{i}" for i in range(k)])
        return pa.record_batch({"a": pa.DictionaryArray.from_arrays(pa.array([k - 1], pa.int32()), words)})

    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pa.ipc.new_stream(sink, part(1).schema, options=options) as stream:
        stream.write(part(1))
        stream.write(part(2))
    with pytest.raises(ValueError, match="must come whole"):
        read_arrow(sink.getvalue().to_pybytes(), rows=10, nbytes=MOST)
    sink = pa.BufferOutputStream()
    empty = pa.record_batch({"a": pa.array([], pa.float64())})
    with pa.ipc.new_stream(sink, empty.schema) as stream:
        for _ in range(1_100):
            stream.write(empty)
    with pytest.raises(TooLargeError, match="at most 1,000 messages"):
        read_arrow(sink.getvalue().to_pybytes(), rows=10, nbytes=MOST)
