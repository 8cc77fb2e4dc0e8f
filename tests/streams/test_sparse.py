"""Sparse rows: the same numbers as the dense ones, through every stream that takes them, and a sentence elsewhere."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from thalweg import Chunk, CSVStream, DriftStream, NaiveBayes, Text, prequential, write_stream
from thalweg.streams.transforms.features import FeatureDrift
from thalweg.streams.transforms.incremental import IncrementalDrift
from thalweg.streams.transforms.noise import DelayedLabels, LabelNoise, MissingValues
from thalweg.streams.transforms.priors import Imbalance, PriorDrift
from thalweg.streams.transforms.recurring import RecurringDrift

SHAPES: list[dict[str, Any]] = [
    {},
    {"words": 500, "rng": "java", "compat": "moa"},
    {"words": 64, "compat": "moa"},
    {"words": 5, "seed": 3},
    {"words": 5000, "seed": 2},
]


def same(sparse: Chunk, dense: Chunk) -> bool:
    sparse.X.check_format(full_check=True)
    assert isinstance(sparse.X, csr_array)
    assert sparse.X.dtype == np.float64
    assert sparse.sparse
    assert not dense.sparse
    return np.array_equal(sparse.X.toarray(), dense.X) and np.array_equal(sparse.y, dense.y)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_numbers_at_any_chunk_size(shape: dict[str, Any]) -> None:
    want = Text(**shape).take(1000)
    stream = Text(sparse=True, **shape)
    whole = stream.take(1000)
    assert same(whole, want)
    assert whole.X.has_canonical_format
    assert (whole.X.data == 1.0).all()
    assert all((np.diff(whole.X[[r]].indices) > 0).all() for r in range(1000))
    for size in (1, 7, 400):
        assert same(Chunk.join(list(Text(sparse=True, limit=1000, **shape).chunks(size))), want)


def test_rows_that_need_more_room_than_was_thought() -> None:
    """MOA's slip keeps the words of all attempts, so that rows of few polar words grow long."""
    shape: dict[str, Any] = {"words": 40, "seed": 5, "compat": "moa"}
    assert same(Text(sparse=True, **shape).take(3000), Text(**shape).take(3000))


def test_it_reads_on_from_its_state_whatever_the_rows_look_like() -> None:
    stream = Text(words=100, sparse=True)
    stream.take(123)
    dense = Text(words=100)
    dense.restore(stream.state())
    assert same(stream.take(200), dense.take(200))


def test_a_chunk_of_sparse_rows() -> None:
    chunk, dense = Text(words=50, sparse=True).take(20), Text(words=50).take(20)
    assert len(chunk) == 20
    assert same(chunk[3:9], dense[3:9])
    assert same(Chunk.join([chunk[:3], chunk[3:]]), dense)
    assert np.array_equal(chunk.dense().X, dense.X)
    assert dense.dense() is dense
    empty = Text(words=50, sparse=True).read(0)
    assert empty is not None
    assert empty.sparse
    assert empty.X.shape == (0, 50)
    mixed = Chunk.join([chunk[:3], dense[3:]])
    assert np.array_equal(mixed.X, dense.X)


AROUND: dict[str, Any] = {
    "label-noise": lambda text: LabelNoise(text(1), 0.3),
    "delayed": lambda text: DelayedLabels(text(1), 50),
    "imbalance": lambda text: Imbalance(text(1), (1.0, 0.2)),
    "priors": lambda text: PriorDrift(text(1), (0.5, 0.5), (0.9, 0.1), 300),
    "drift": lambda text: DriftStream(text(1), text(2), 400, 300),
    "recurring": lambda text: RecurringDrift([text(1), text(2), text(3)], 200, 100),
    "nested": lambda text: LabelNoise(DriftStream(text(1), Imbalance(text(2), (0.5, 1.0)), 400, 300), 0.2),
}


@pytest.mark.parametrize("make", AROUND.values(), ids=list(AROUND))
def test_streams_around_it(make: Any) -> None:
    sparse = make(lambda seed: Text(words=80, seed=seed, sparse=True))
    dense = make(lambda seed: Text(words=80, seed=seed))
    assert sparse.sparse
    assert not dense.sparse
    assert same(sparse.take(700), dense.take(700))
    state = sparse.state()
    assert same(sparse.take(100), dense.take(100))
    sparse.restore(state)
    assert sparse.read(0).X.shape == (0, 80)
    assert sparse.read(0).sparse


@pytest.mark.parametrize(
    "make",
    [
        lambda s: MissingValues(s, 0.1),
        lambda s: FeatureDrift(s, 10, swap=[(0, 1)]),
        lambda s: IncrementalDrift(s, 10, 5),
        lambda s: FeatureDrift(LabelNoise(s), 10, swap=[(0, 1)]),
    ],
)
def test_who_changes_values_wants_dense_rows(make: Any) -> None:
    with pytest.raises(ValueError, match="stream must give dense rows, got .*Text.*sparse=True.*whose rows are sparse"):
        make(Text(words=80, sparse=True))


def test_concepts_are_all_sparse_or_none_is() -> None:
    with pytest.raises(ValueError, match="new must give dense rows as old does, got Text.*sparse=True"):
        DriftStream(Text(words=80), Text(words=80, sparse=True), 10)
    with pytest.raises(ValueError, match=r"concepts\[1\] must give sparse rows as concepts\[0\] does, got Text"):
        RecurringDrift([Text(words=80, sparse=True), Text(words=80)], 10)


@pytest.mark.parametrize("end", [".csv", ".arff", ".parquet", ".arrow"])
def test_a_file_of_sparse_rows_is_that_of_the_dense_ones(tmp_path: Path, end: str) -> None:
    write_stream(Text(words=30, sparse=True), tmp_path / f"sparse{end}", 50)
    write_stream(Text(words=30), tmp_path / f"dense{end}", 50)
    assert (tmp_path / f"sparse{end}").read_bytes() == (tmp_path / f"dense{end}").read_bytes()
    if end == ".csv":
        assert np.array_equal(CSVStream(tmp_path / "sparse.csv").take(50).X, Text(words=30).take(50).X)


def test_learners_that_want_dense_rows_say_so() -> None:
    chunk = Text(words=30, sparse=True).take(10)
    learner = NaiveBayes()
    for verb in (learner.partial_fit, learner.test_then_train):
        with pytest.raises(
            TypeError, match=r"X must be dense for this learner, got a sparse matrix: pass X.toarray\(\)"
        ):
            verb(chunk.X, chunk.y)


def test_evaluations_make_narrow_rows_dense() -> None:
    """For a learner that wants them so: chunk by chunk, and with the same result; wide ones get a sentence."""
    for delay in (0, 10, "time"):
        sparse, dense = (
            prequential(DelayedLabels(Text(words=30, sparse=kind), 10), NaiveBayes(), limit=500, delay=delay)
            for kind in (True, False)
        )
        assert sparse.final == dense.final
    with pytest.raises(ValueError, match=r"NaiveBayes takes no sparse rows, and Text has them with 5,000 features"):
        prequential(Text(words=5000, sparse=True), NaiveBayes(), limit=100)


def test_bad_parameter() -> None:
    with pytest.raises(TypeError, match="sparse must be True or False, got 1"):
        Text(sparse=1)
