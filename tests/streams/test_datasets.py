"""Real data sets: what the registry says is what the files hold."""

from pathlib import Path

import numpy as np
import pytest

from thalweg import load_dataset
from thalweg.streams import datasets
from thalweg.streams.datasets import DATASETS

SPARSE = ("imdb", "newsgroups20", "spam")
FIRST = {
    "covtype": ([2596, 51, 3], 5),
    "electricity": ([0, 2, 0], "UP"),
    "adult": ([39, 0, 77516], "<=50K"),
    "mnist": ([0, 0, 0], 5),
    "cifar10": ([59, 62, 63], 6),
}


@pytest.mark.parametrize("name", [n for n in DATASETS if n not in SPARSE])
def test_a_data_set_is_what_the_registry_says(real_data: Path, name: str) -> None:
    known = DATASETS[name]
    stream = load_dataset(name)
    assert stream.name == name
    assert stream.rows == known.rows
    classes: set[object] = set()
    rows = 0
    first = None
    for chunk in stream.chunks(5000):
        first = chunk[:1] if first is None else first
        rows += len(chunk)
        classes |= set(np.unique(chunk.y).tolist())
        assert not np.isinf(chunk.X).any()
    assert rows == known.rows
    assert stream.schema.n_features == known.features
    assert len(classes) == known.classes
    assert first is not None
    if name in FIRST:
        x, y = FIRST[name]
        assert first.X[0, : len(x)].tolist() == x
        assert first.y[0] == y


def test_details(real_data: Path) -> None:
    adult = load_dataset("adult")
    adult.take(10**6)
    assert sum(f.nominal for f in adult.schema.features) == 8
    assert "ActualElapsedTime" not in load_dataset("airlines2007").schema.names
    assert load_dataset("airlines2007", drop=[]).schema.n_features == 13
    assert not {"batch", "concentration"} & set(load_dataset("gas").schema.names)
    ozone = load_dataset("ozone").take(10**6)
    assert np.isnan(ozone.X).sum() == 14937
    assert load_dataset("mnist").take(5).y.tolist() == [5, 0, 4, 1, 9]
    assert len(load_dataset("electricity", limit=7).take(100)) == 7


@pytest.mark.parametrize("name", ["electricity", "mnist"])
def test_restored_in_mid_stream_it_reads_on(real_data: Path, name: str) -> None:
    stream = load_dataset(name)
    stream.take(12_345)
    state = stream.state()
    want = stream.take(100)
    other = load_dataset(name)
    other.restore(state)
    assert np.array_equal(other.take(100).X, want.X)


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_ones_are_refused(real_data: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"is sparse .* it comes with the sparse learners"):
        load_dataset(name)


def test_where_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("THALWEG_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"'electricity' must lie as electricity.parquet .* THALWEG_DATA names "
                       r"\(which is not set\); it comes from: OpenML 151"):  # fmt: skip
        load_dataset("electricity")
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"THALWEG_DATA names \(which is '.*'\)"):
        load_dataset("mnist")
    (tmp_path / "mnist.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(ValueError, match=r"mnist.npz must be an NPZ file with X and y"):
        load_dataset("mnist")
    (tmp_path / "mnist.npz").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"mnist.npz must be an NPZ file with X and y"):
        load_dataset("mnist")


def test_names() -> None:
    with pytest.raises(
        ValueError, match=r"name must be one of the data sets adult, .* \(did you mean 'electricity'\?\)"
    ):
        load_dataset("electrcity")
    with pytest.raises(TypeError, match="name must be the name of a data set, got None"):
        load_dataset(None)  # type: ignore[arg-type]
    assert datasets.load is load_dataset
    for name, known in DATASETS.items():
        assert known.name == name
        assert f"{known.rows:,} rows" in known.line
