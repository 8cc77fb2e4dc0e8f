"""CSV and Parquet files: what was written is read, in chunks of any size, and what is wrong is said in a sentence."""

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from thalweg import Chunk, CSVStream, Feature, ParquetStream, Schema
from thalweg.streams.files import text
from thalweg.streams.files.opening import open_file

ROWS = 20_000


def table(rows: int = ROWS) -> pa.Table:
    """Numbers, whole numbers, text that grows, booleans, with holes; labels that are text."""
    rng = np.random.default_rng(7)
    hole = rng.random((rows, 4)) < 0.05
    word = np.array([f"w{min(i // 4000 + j, 9)}" for i, j in enumerate(rng.integers(0, 3, rows))], dtype=object)
    return pa.table(
        {
            "number": pa.array(rng.normal(size=rows), mask=hole[:, 0]),
            "whole": pa.array(rng.integers(-5, 5, rows), mask=hole[:, 1]),
            "word": pa.array(word, mask=hole[:, 2]),
            "flag": pa.array(rng.random(rows) < 0.5, mask=hole[:, 3]),
            "seen": pa.array(np.arange(rows) * 0.5),
            "class": pa.array(np.array(["no", "yes", "maybe"])[rng.integers(0, 3, rows)]),
        }
    )


def expected(t: pa.Table) -> np.ndarray[Any, Any]:
    """The rows of the table, in plain Python."""
    codes: dict[str, int] = {}
    columns = []
    for name in ("number", "whole", "word", "flag"):
        values = t.column(name).to_pylist()
        if name == "word":
            values = [None if v is None else codes.setdefault(v, len(codes)) for v in values]
        columns.append([np.nan if v is None else float(v) for v in values])
    return np.array(columns).T


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    t = table()
    paths = {name: folder / f"data.{name}" for name in ("csv", "csv.gz", "tsv", "parquet", "categories.parquet")}
    csv.write_csv(t, paths["csv"])
    csv.write_csv(t, paths["tsv"], csv.WriteOptions(delimiter="\t"))
    paths["csv.gz"].write_bytes(gzip.compress(paths["csv"].read_bytes(), 1))
    pq.write_table(t, paths["parquet"], row_group_size=3000)
    encoded = t.set_column(2, "word", t.column("word").dictionary_encode())
    encoded = encoded.set_column(5, "class", encoded.column("class").dictionary_encode())
    pq.write_table(encoded, paths["categories.parquet"])
    return paths


every = pytest.mark.parametrize("name", ["csv", "csv.gz", "tsv", "parquet", "categories.parquet"])


@every
def test_what_was_written_is_read(written: dict[str, Path], name: str) -> None:
    stream = open_file(written[name], time="seen")
    chunk = stream.take(10**6)
    assert np.array_equal(chunk.X, expected(table()), equal_nan=True)
    assert chunk.y.tolist() == table().column("class").to_pylist()
    assert chunk.time is not None
    assert chunk.time.tolist() == table().column("seen").to_pylist()
    assert chunk.X.flags.c_contiguous
    assert [f.nominal for f in stream.schema.features] == [False, False, True, False]
    words = table().column("word").to_pylist()
    assert stream.schema.features[2].values == tuple(dict.fromkeys(w for w in words if w is not None))
    assert stream.read(1) is None
    assert stream.rows == (ROWS if name.endswith("parquet") else None)
    assert stream.name == written[name].name


@every
def test_any_chunk_size_gives_the_same_stream(
    written: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "BLOCK", 1 << 17)
    whole = open_file(written[name]).take(ROWS)
    for size in (7, 1000, 8192):
        parts = list(open_file(written[name], limit=ROWS // 2).chunks(size))
        assert all(len(p) == size for p in parts[:-1])
        got = Chunk.join(parts)
        assert np.array_equal(got.X, whole.X[: ROWS // 2], equal_nan=True)
        assert got.y.tolist() == whole.y[: ROWS // 2].tolist()
    ones = open_file(written[name], limit=50)
    assert np.array_equal(Chunk.join(list(ones.chunks(1))).X, whole.X[:50], equal_nan=True)


@every
@pytest.mark.parametrize("at", [0, 1, 2999, 9000, ROWS - 1, ROWS])
def test_restored_in_mid_file_it_reads_on(written: dict[str, Path], name: str, at: int) -> None:
    stream = open_file(written[name], time="seen")
    stream.take(at)
    state = stream.state()
    want = stream.take(ROWS)
    other = open_file(written[name], time="seen")
    other.restore(state)
    got = other.take(ROWS)
    assert np.array_equal(got.X, want.X, equal_nan=True)
    assert got.y.tolist() == want.y.tolist()
    assert other.schema == stream.schema
    other.restart()
    assert np.array_equal(other.take(at).X, expected(table())[:at], equal_nan=True)


def test_the_schema_grows_as_values_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK", 1000)
    path = tmp_path / "grow.csv"
    path.write_text("colour,class\n" + "red,0\n" * 1000 + "blue,1\n" * 1000)
    stream = CSVStream(path)
    assert stream.schema.features[0] == Feature("colour", values=(), open=True)
    stream.take(100)
    assert stream.schema.features[0].values == ("red",)
    last = stream.take(10**6)
    assert stream.schema.features[0].values == ("red", "blue")
    assert last.X[-1, 0] == 1.0


def test_a_schema_that_is_known_keeps_its_codes(tmp_path: Path) -> None:
    path = tmp_path / "second.csv"
    path.write_text("size,colour,class\n1,green,0\n2,red,1\n")
    first = Schema((Feature("colour", values=("red", "blue"), open=True), Feature("size")))
    stream = CSVStream(path, schema=first)
    assert stream.take(2).X.tolist() == [[2.0, 1.0], [0.0, 2.0]]
    assert stream.schema.features[0].values == ("red", "blue", "green")
    closed = Schema((Feature("colour", values=("red", "blue")), Feature("size")))
    with pytest.raises(ValueError, match=r"line 2 .* one of \['red', 'blue'\] in column 'colour', got 'green'"):
        CSVStream(path, schema=closed).take(2)
    with pytest.raises(ValueError, match=r"schema must have the features 'size', 'colour' of second.csv, got 'x0'"):
        CSVStream(path, schema=Schema.numeric(1))


def test_missing_values_in_all_spellings(tmp_path: Path) -> None:
    path = tmp_path / "holes.csv"
    path.write_text("a,b,class\n?,u,1\n,NA,2\nNaN,?,1\n4,,1\n")
    chunk = CSVStream(path).take(9)
    assert np.array_equal(chunk.X, [[np.nan, 0], [np.nan, np.nan], [np.nan, np.nan], [4, np.nan]], equal_nan=True)
    assert CSVStream(path, missing_words=["", "NaN", "?"]).take(9).X[1, 1] == 1.0  # NA is a value now


@pytest.mark.parametrize(
    ("text", "labels"),
    [("1\n2", [1, 2]), ("1.0\n2.0", [1.0, 2.0]), ("true\nfalse", [True, False]), ("up\ndown", ["up", "down"])],
)
def test_labels_stay_as_they_are_in_the_file(tmp_path: Path, text: str, labels: list[Any]) -> None:
    rows = [f"{i},{label}" for i, label in enumerate(text.split())]
    (tmp_path / "labels.csv").write_text("a,class\n" + "\n".join(rows) + "\n")
    pq.write_table(pa.table({"a": [0, 1], "class": labels}), tmp_path / "labels.parquet")
    for name in ("labels.csv", "labels.parquet"):
        got = open_file(tmp_path / name).take(9).y.tolist()
        assert got == labels
        assert type(got[0]) is type(labels[0])


def test_columns_by_their_use(tmp_path: Path) -> None:
    path = tmp_path / "uses.csv"
    path.write_text("id,zip,when,known,x,y\n1,9021,2020-01-01,2020-01-01 00:00:01,5,no\n2,9022,,,6,yes\n")
    stream = CSVStream(path, "y", time="when", label_time="known", drop=["id"], nominal=["zip"])
    chunk = stream.take(2)
    assert stream.schema == Schema((Feature("zip", values=("9021", "9022"), open=True), Feature("x")))
    assert chunk.X.tolist() == [[0.0, 5.0], [1.0, 6.0]]
    assert chunk.time is not None
    assert chunk.label_time is not None
    assert chunk.time[0] + 1 == chunk.label_time[0] == 1577836801
    assert np.isnan([chunk.time[1], chunk.label_time[1]]).all()


def test_whole_numbers_may_get_decimals_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK", 1000)
    path = tmp_path / "later.csv"
    path.write_text("a,class\n" + "1,0\n" * 1000 + "1.5,0\n")
    assert CSVStream(path).take(2000).X[-1, 0] == 1.5


def test_numbers_as_nominal_values_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "codes.parquet"
    pq.write_table(pa.table({"zip": [9022, 9021, None], "class": [1, 2, 1]}), path)
    stream = ParquetStream(path, nominal=["zip", "class"])
    chunk = stream.take(3)
    assert np.array_equal(chunk.X, [[0], [1], [np.nan]], equal_nan=True)
    assert stream.schema.features[0].values == (9022, 9021)
    assert chunk.y.tolist() == ["1", "2", "1"]


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".csv.gz", gzip.compress), (".CSV", bytes), (".csv.bz2", bz2.compress),
     (".csv.zst", lambda b: pa.compress(b, codec="zstd", asbytes=True))],
)  # fmt: skip
def test_packed_files(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"data{suffix}"
    path.write_bytes(pack(b"a,class\n1,x\n2,y\n"))
    assert open_file(path).take(9).y.tolist() == ["x", "y"]


def test_quotes_line_ends_and_marks(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(b'\xef\xbb\xbfa,b,class\r\n"x, y","1",u\r\n"two\nlines",2,v\r\n')
    stream = CSVStream(path)
    chunk = stream.take(9)
    assert chunk.X.tolist() == [[0.0, 1.0], [1.0, 2.0]]
    assert stream.schema.features[0].values == ("x, y", "two\nlines")


HEAD = "a,b,class\n"
BAD_CSV: list[tuple[str, Any, dict[str, Any], str]] = [
    ("empty.csv", "", {}, r"empty.csv must have a header and records, it is empty"),
    ("header.csv", HEAD, {}, r"header.csv must have records, it has a header only"),
    ("header.csv", HEAD.strip(), {}, r"header.csv must have records, it has a header only"),
    ("ragged.csv", HEAD + "1,2,x\n" * 3 + "1,2\n", {}, r"line 5 of ragged.csv must have 3 values, .* got 2"),
    ("ragged.csv", HEAD + "1,2,x\n" * 3000 + "1,2,3,4\n", {}, r"line 3002 of ragged.csv must have 3 values, .* got 4"),
    ("text.csv", HEAD + "1,2,x\n" * 3000 + "1,zz,x\n", {}, r"line 3002 of text.csv must have a number in column 'b'"),
    ("text.csv", HEAD + "1,2,3\n" * 3000 + "1,2,zz\n", {}, r"line 3002 .* whole number in column 'class'"),
    ("text.csv", HEAD + "1,2,3\n" * 3000 + "1,z,3\n", {"drop": ["a"]}, r"line 3002 of text.csv .* column 'b'"),
    ("target.csv", HEAD + "1,2,x\n", {"target": "y"}, r"target must be one of the columns 'a', 'b', 'class' .*'y'"),
    ("target.csv", HEAD + "1,2,x\n", {"target": 7}, r"target must name a column, got 7"),
    ("time.csv", HEAD + "1,2,x\n", {"time": "t"}, r"time must be one of the columns 'a', .* of time.csv, got 't'"),
    ("time.csv", HEAD + "1,2,x\n", {"time": "class"}, r"time must be another column than the target 'class'"),
    ("time.csv", HEAD + "1,noon,x\n", {"time": "b"}, r"column 'b' must hold numbers, dates or times"),
    ("drop.csv", HEAD + "1,2,x\n", {"drop": "a"}, r"drop must be a list of columns, got the text 'a'"),
    ("drop.csv", HEAD + "1,2,x\n", {"drop": ["c"]}, r"drop must be one of the columns .*, got 'c'"),
    ("drop.csv", HEAD + "1,2,x\n", {"drop": ["class"]}, r"drop must not name 'class'"),
    ("drop.csv", HEAD + "1,2,x\n", {"drop": ["a", "b"]}, r"drop.csv must have a feature"),
    ("twice.csv", "a,a,class\n1,2,x\n", {}, r"twice.csv must have columns of different names, 'a' appears"),
    ("label.csv", HEAD + "1,2,x\n1,2,\n", {}, r"line 3 of label.csv must have a label in column 'class', .*missing"),
    ("label.csv", HEAD + "1,2,1.5\n1,2,?\n", {}, r"line 3 of label.csv must have a label"),
    ("date.csv", HEAD + "2020-01-01,2,x\n", {}, r"date.csv .* got dates or times: .*time='a'.*\(--drop a\)"),
    ("latin.csv", b"a,b,class\n\xe9t\xe9,1,x\n", {}, r"line 2 of latin.csv must be UTF-8 text, it is not in"),
    ("latin.csv", b"a,b,class\n" + b"u,1,x\n" * 3000 + b"\xe9,1,x\n", {}, r"line 3002 of latin.csv must be UTF-8 text"),
    ("quote.csv", 'a,b,class\n1,2,x\n"u,2,x\n' + "1,2,x\n" * 3000, {}, r"quote.csv must close its quotes"),
    ("cut.csv.gz", gzip.compress(HEAD.encode() + b"1,2,x\n" * 300, mtime=0)[:-20], {}, r"cut.csv.gz cannot be"),
    ("no.csv.gz", HEAD + "1,2,x\n", {}, r"no.csv.gz cannot be unpacked"),
    ("garbage.csv", bytes(range(256)) * 50, {}, r"line 1 of garbage.csv must be a header of text"),
    ("mark.csv", HEAD + "1,2,x\n", {"delimiter": ";;"}, r"delimiter must be one character, got ';;'"),
    ("mark.csv", HEAD + "1,2,x\n", {"delimiter": ";"}, r"target must be one of the columns 'a,b,class'"),
    ("holes.csv", HEAD + "1,2,x\n", {"missing_words": "NA"}, r"missing_words must be a list of texts, got 'NA'"),
    ("limit.csv", HEAD + "1,2,x\n", {"limit": -1}, r"limit must lie in \[0, ∞\), got -1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "sentence"), BAD_CSV)
def test_what_is_wrong_with_a_text_file_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: Any, options: dict[str, Any], sentence: str
) -> None:
    monkeypatch.setattr(text, "BLOCK", 1000)
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        open_file(path, **options).take(10**6)
    assert "\n" not in str(caught.value)
    assert "Arrow" not in str(caught.value)


def test_an_error_is_not_stepped_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK", 1000)
    path = tmp_path / "late.csv"
    path.write_text("a,class\n" + "1,0\n" * 1000 + "u,0\n" + "1,0\n" * 1000)
    stream = CSVStream(path)
    assert len(stream.take(100)) == 100
    for _ in range(2):
        with pytest.raises(ValueError, match="line 1002"):
            stream.read(2000)
    assert stream.state()["given"][0] == 100


def _damage(data: bytes) -> bytes:
    return data[:8] + bytes(60) + data[68:]


@pytest.mark.parametrize(
    ("content", "spoil", "options", "sentence"),
    [
        ({"a": [1, 2], "class": [0, 1]}, lambda b: b[: len(b) // 2], {}, "x.parquet must be a Parquet file"),
        ({"a": [1, 2], "class": [0, 1]}, lambda b: b"", {}, "x.parquet must be a Parquet file"),
        ({"a": [1, 2], "class": [0, 1]}, lambda b: b"a,class\n1,2\n", {}, "x.parquet must be a Parquet file"),
        ({"a": [1, 2], "class": [0, 1]}, _damage, {}, "x.parquet cannot be read after record 0: the file is damaged"),
        ({"a": [], "class": []}, None, {}, "x.parquet must have records, it has none"),
        (
            {"a": [1], "class": [0]},
            None,
            {"target": "y"},
            "target must be one of the columns 'a', 'class' of x.parquet",
        ),
        (
            {"a": [1, 2], "class": ["u", None]},
            None,
            {},
            "target 'class' must have a label in every .* none in record 2",
        ),
        ({"a": [[1], [2]], "class": [0, 1]}, None, {}, r"column 'a' of x.parquet .* got list.*: leave it out by drop"),
        ({"a": [b"\xff"], "class": [0]}, None, {}, "column 'a' of x.parquet must hold numbers or text, got bytes"),
        ({"class": [0]}, None, {}, "x.parquet must have a feature"),
    ],
)
def test_what_is_wrong_with_a_parquet_file_is_said_in_a_sentence(
    tmp_path: Path, content: Any, spoil: Any, options: dict[str, Any], sentence: str
) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table(content), path)
    if spoil is not None:
        path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ValueError, match=sentence):
        open_file(path, **options).take(10)


def test_what_is_no_file(tmp_path: Path) -> None:
    for name in ("none.csv", "none.parquet"):
        with pytest.raises(FileNotFoundError, match="path must name a file, there is none at"):
            open_file(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match=r"path must name a file, .* is a folder"):
        open_file(tmp_path / "folder.csv")
    for name in ("data", "data.xlsx", "data.parquet.gz", ".csv"):
        with pytest.raises(ValueError, match=r"path must end with \.csv, \.tsv.*\.parquet.*, got"):
            open_file(name)
    with pytest.raises(TypeError, match="path must name a file, got 7"):
        CSVStream(7)


def test_a_position_in_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a,class\n1,x\n")
    (tmp_path / "two.csv").write_text("b,class\n1,x\n")
    with pytest.raises(ValueError, match=r"state must be a position in a file with the features of two.csv"):
        CSVStream(tmp_path / "two.csv").restore(CSVStream(tmp_path / "one.csv").state())


def test_parameters_and_print(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a,b,class\n1,2,x\n")
    stream = CSVStream(tmp_path / "one.csv", drop=["a"])
    assert repr(stream) == f"CSVStream({str(tmp_path / 'one.csv')!r}, drop=['a'])"
    assert stream.get_params()["schema"] is None
    assert CSVStream(**stream.get_params()).take(1).X.tolist() == [[2.0]]
