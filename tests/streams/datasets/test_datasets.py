"""Real data sets: what the catalogue says is what the files hold."""

import re
from pathlib import Path

import numpy as np
import pytest

from thalweg import load_dataset
from thalweg.streams.datasets import loading as datasets
from thalweg.streams.datasets.catalogue import ABACOC, CKDT, COMPRESSED, E_TREE, SDF
from thalweg.streams.datasets.loading import DATASETS, dataset_path, find_file, folders, get_dataset, verify

HERE = [name for name, known in DATASETS.items() if known.sha256 and not known.packaged]
PACKAGED = [name for name, known in DATASETS.items() if known.packaged]
SPARSE = ("imdb", "newsgroups20", "spam")
FIRST = {
    "covtype": ([2596, 51, 3], 5),
    "electricity": ([0, 2, 0], "UP"),
    "adult": ([39, 0, 77516], "<=50K"),
    "mnist": ([0, 0, 0], 5),
    "cifar10": ([59, 62, 63], 6),
    "digits": ([0, 0, 5], 0),
    "flights": ([1, 0, 5.25], "no"),
    "shuttle": ([50, 21, 77], "yes"),
    "weather": ([-1.4756842473305716], "no"),
}


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No data set is there; the cache is in this folder."""
    monkeypatch.delenv("THALWEG_DATA", raising=False)
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("THALWEG_OPENML", "http://127.0.0.1:9")  # nobody answers there
    return tmp_path


@pytest.mark.parametrize("name", [n for n in HERE if n not in SPARSE])
def test_a_data_set_is_what_the_catalogue_says(real_data: Path, name: str) -> None:
    compare_with_catalogue(name)


@pytest.mark.parametrize("name", PACKAGED)
def test_a_packaged_data_set_is_what_the_catalogue_says(nowhere: Path, name: str) -> None:
    compare_with_catalogue(name)
    assert verify(DATASETS[name], get_dataset(name))


def test_packaged_data_are_small_attributed_and_always_the_same(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notice = " ".join((Path(__file__).parents[3] / "NOTICE").read_text("utf-8").split())
    folder = {dataset_path(name).parent for name in PACKAGED}.pop()
    assert {file.name for file in folder.iterdir()} == {DATASETS[name].file for name in PACKAGED}
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1_000_000
    for name in PACKAGED:
        known = DATASETS[name]
        assert known.citation in notice
        assert known.licence in notice
        assert known.file in notice
    monkeypatch.setenv("THALWEG_DATA", str(nowhere))
    (nowhere / "weather.parquet").write_bytes(b"another weather")
    assert dataset_path("weather") == folder / "weather.parquet"


def compare_with_catalogue(name: str) -> None:
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
def test_wide_sparse_ones_give_sparse_rows(real_data: Path, name: str) -> None:
    stream, known = load_dataset(name, limit=50), DATASETS[name]
    assert stream.sparse
    assert (stream.X.shape, len(stream.y)) == ((known.rows, known.features), known.rows)
    chunk = stream.take(50)
    assert chunk.sparse
    dense = load_dataset(name, limit=50, sparse=False).take(50)
    assert isinstance(dense.X, np.ndarray)
    assert np.array_equal(chunk.X.toarray(), dense.X)


def test_narrow_sparse_ones_are_dense_unless_asked(real_data: Path) -> None:
    for name in ("enron", "usenet", "mnist"):
        dense, chunk = load_dataset(name).take(30), load_dataset(name, sparse=True).take(30)
        assert isinstance(dense.X, np.ndarray)
        assert chunk.sparse
        assert np.array_equal(chunk.X.toarray(), dense.X)
    with pytest.raises(ValueError, match=r"sparse must be False for data set 'electricity': electricity.parquet is"):
        load_dataset("electricity", sparse=True)
    with pytest.raises(TypeError, match="sparse must be"):
        load_dataset("electricity", sparse="yes")


@pytest.mark.parametrize("name", HERE)
def test_the_files_have_the_checksums(real_data: Path, name: str) -> None:
    assert get_dataset(name) == real_data / DATASETS[name].file
    assert verify(DATASETS[name], real_data / DATASETS[name].file)


def test_where_to_get_it(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"'electricity' must lie as electricity.parquet \(or .arff\) in the "
                       r"folder that THALWEG_DATA names \(which is not set\) or in .*cache.thalweg.data: `thalweg data "
                       r"get electricity` fetches it from OpenML; it comes from: OpenML 151"):  # fmt: skip
        load_dataset("electricity")
    with pytest.raises(FileNotFoundError, match=r"'bike' must lie as bike.parquet in the folder .*: it cannot be "
                       r"fetched by name; it comes from: dos Reis et al., KDD 2016 .*, https://"):  # fmt: skip
        load_dataset("bike")
    monkeypatch.setenv("THALWEG_DATA", str(nowhere))
    with pytest.raises(FileNotFoundError, match=r"THALWEG_DATA names \(which is '.*'\)"):
        load_dataset("mnist")
    (nowhere / "mnist.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(ValueError, match=r"mnist.npz must be an NPZ file with X and y"):
        load_dataset("mnist")
    (nowhere / "mnist.npz").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"mnist.npz must be an NPZ file with X and y"):
        load_dataset("mnist")
    with pytest.raises(
        ValueError, match=r"mnist.npz must have the checksum b8614df087cefcfe… \(sha256\), it has .*…: it"
    ):
        get_dataset("mnist")


def test_the_folder_comes_before_the_cache(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, cache = nowhere / "mine", folders()["cache"]
    assert cache == nowhere / "cache" / "thalweg" / "data"
    folder.mkdir()
    cache.mkdir(parents=True)
    monkeypatch.setenv("THALWEG_DATA", str(folder))
    assert folders() == {"folder": folder, "cache": cache}
    assert find_file(DATASETS["outdoor"]) is None
    (cache / "outdoor.csv").write_text("a,class\n1,x\n2,y\n")
    assert dataset_path("outdoor") == cache / "outdoor.csv"
    assert load_dataset("outdoor").take(9).y.tolist() == ["x", "y"]
    (folder / "outdoor.arff").write_text("@relation o\n@attribute a numeric\n@attribute class {u,v}\n@data\n1,u\n2,v\n")
    assert dataset_path("outdoor") == folder / "outdoor.arff"
    stream = load_dataset("outdoor")
    assert (stream.name, stream.take(9).y.tolist()) == ("outdoor", ["u", "v"])
    assert get_dataset("outdoor") == folder / "outdoor.arff"
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("THALWEG_CACHE")
    assert folders()["cache"] == Path.home() / ".cache" / "thalweg" / "data"
    monkeypatch.setenv("XDG_CACHE_HOME", str(nowhere / "xdg"))
    assert folders()["cache"] == nowhere / "xdg" / "thalweg" / "data"


def test_files_that_people_bring(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_DATA", str(nowhere))
    (nowhere / "acoustic.libsvm").write_text("1 1:0.5 3:2\n3 2:1\n")
    assert load_dataset("acoustic").take(9).y.tolist() == [1, 3]
    (nowhere / "gmsc.csv").write_text("SeriousDlqin2yrs,age\n1,45\n0,40\n")
    assert load_dataset("gmsc").take(9).X.tolist() == [[45.0], [40.0]]
    header = "".join(f"@attribute a{i} numeric\n" for i in range(3))
    (nowhere / "vehicle.arff").write_text(f"@relation v\n@attribute Y {{-1,1}}\n{header}@data\n{{0 1, 2 5}}\n{{1 7}}\n")
    chunk = load_dataset("vehicle").take(9)
    assert (chunk.X.tolist(), chunk.y.tolist()) == ([[0, 5, 0], [7, 0, 0]], [1, -1])
    (nowhere / "malicious-url.libsvm").write_text("1 4:0.5 100000:2\n-1 2:1\n")
    url = load_dataset("malicious-url").take(9)
    assert url.sparse
    assert url.X.indices.tolist() == [3, 99_999, 1]


def test_the_papers_have_their_data_sets() -> None:
    papers = (SDF, COMPRESSED, ABACOC, CKDT, E_TREE)
    used = {paper: {n for n, d in DATASETS.items() if paper in d.papers} for paper in papers}
    assert used[SDF] == {
        "airlines-full", "covtype", "adult", "electricity", "kddcup99-full", "mnist", "nomao", "vehicle",
        "newsgroups-drift", "bng-tic-tac-toe", "bng-vote", "bng-segment",
    }  # fmt: skip
    assert used[COMPRESSED] == {"cnae9", "enron", "imdb", "spam", "covtype"}
    assert used[ABACOC] == {"sensor", "kddcup99", "powersupply", "poker-lsn", "covtype", "airlines-full", "electricity",
                            "connect-4", "acoustic"}  # fmt: skip
    assert used[CKDT] == {"chicago-crime", "yahoo-music", "svhn", "cifar100"}
    assert used[E_TREE] == {"adult", "magic", "wine-red", "wine-white", "census", "kddcup99-full", "malicious-url"}


def test_the_catalogue_is_complete() -> None:
    files: list[str] = []
    ids: list[int] = []
    for name, known in DATASETS.items():
        assert re.fullmatch(r"[a-z0-9-]+", name)
        assert min(known.rows, known.features) > 0
        assert known.classes > 1
        assert re.fullmatch(r"https?://\S+", known.url), name
        assert all((known.order, known.source, known.licence))
        assert not known.sha256 or re.fullmatch("[0-9a-f]{64}", known.sha256)
        assert bool(known.sha256) <= bool(known.file)
        files += known.files
        if known.openml:
            ids.append(known.openml.id)
            assert f"OpenML {known.openml.id}" in known.source or name == "kddcup99"
    assert len(set(files)) == len(files)
    assert len(set(ids)) == len(ids)
    assert list(DATASETS) == sorted(DATASETS)
    assert {"electricity", "covtype", "adult", "kddcup99", "mnist", "cifar10", "spam", "imdb", "enron", "cnae9"} < set(
        HERE
    )


def test_the_page_lists_them_all() -> None:
    docs = Path(__file__).resolve().parents[3] / "docs"
    pages = [(docs / name).read_text("utf-8") for name in ("data.md", "data-sets.md")]
    rows = {}
    for line in "".join(pages).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            rows[cells[0].strip("`")] = cells[1:4]
    assert rows == {n: [f"{d.rows:,}", f"{d.features:,}", str(d.classes)] for n, d in DATASETS.items()}


def test_names() -> None:
    with pytest.raises(ValueError, match=r"name must be one of the data sets that `thalweg data list` shows, got "
                       r"'electrcity' \(did you mean 'electricity'\?\)"):  # fmt: skip
        load_dataset("electrcity")
    with pytest.raises(TypeError, match="name must be the name of a data set, got None"):
        load_dataset(None)
    assert datasets.load is load_dataset
    for name, known in DATASETS.items():
        assert known.name == name
        assert f"{known.rows:,} rows" in known.line
