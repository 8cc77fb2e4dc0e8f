"""Bad records and bad files: one sentence with the line, nothing half-read, never another error."""

import bz2
import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from thalweg import SEA, Chunk, CSVStream, Feature, ParquetStream, Schema
from thalweg.streams.files import text
from thalweg.streams.files.arff import ARFFStream
from thalweg.streams.files.jsonl import JSONLinesStream
from thalweg.streams.files.libsvm import LibSVMStream
from thalweg.streams.files.opening import open_file
from thalweg.streams.files.writing import write_stream

MESSY = "a,colour,class\n1,red,x\n2,blue\n3,red,y\nfour,new,x\n5,blue,\n6,red,x,7\n8,blue,y\n"
GOOD = [1.0, 3.0, 8.0]
SCHEMA = Schema((Feature("a"), Feature("colour", values=("red",), open=True)))


def messy(folder: Path) -> Path:
    path = folder / "messy.csv"
    path.write_text(MESSY)
    return path


def test_bad_rows_are_skipped_and_counted(tmp_path: Path) -> None:
    stream = CSVStream(messy(tmp_path), schema=SCHEMA, on_bad_row="skip")
    assert stream.skipped == 0
    first = stream.take(2)
    assert stream.skipped == 1
    rest = stream.take(9)
    assert [*first.X[:, 0], *rest.X[:, 0]] == GOOD
    assert stream.read(1) is None
    assert stream.skipped == 4
    assert stream.schema.features[1].values == ("red", "blue")  # 'new' stood in a bad row


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("end", ["csv", "jsonl"])
def test_bad_rows_are_written_down_with_the_reason(tmp_path: Path, size: int, end: str) -> None:
    bad = tmp_path / f"bad.{end}"
    stream = CSVStream(messy(tmp_path), schema=SCHEMA, on_bad_row="quarantine", quarantine=bad)
    for _ in range(2):  # a second reading writes the file anew
        assert Chunk.join(list(stream.chunks(size))).X[:, 0].tolist() == GOOD
        stream.read(1)
        if end == "csv":
            with bad.open(newline="") as file:
                rows = list(csv.DictReader(file))
        else:
            rows = [json.loads(line) for line in bad.read_text().splitlines()]
        assert [int(r["line"]) for r in rows] == [3, 5, 6, 7]
        assert [r["record"] for r in rows] == ["2,blue", "four,new,x", "5,blue,", "6,red,x,7"]
        assert rows[1]["reason"].startswith("line 5 of messy.csv must have a number in column 'a'")
        assert stream.skipped == 4
        stream.restart()


@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_restored_it_counts_no_bad_row_twice(tmp_path: Path, cut: int) -> None:
    bad = tmp_path / "bad.jsonl"
    options: dict[str, Any] = {"schema": SCHEMA, "on_bad_row": "quarantine", "quarantine": bad}
    stream = CSVStream(messy(tmp_path), **options)
    stream.take(cut)
    other = CSVStream(messy(tmp_path), **options)
    other.restore(stream.state())
    assert other.take(9).X[:, 0].tolist() == GOOD[cut:]
    assert other.read(1) is None
    assert other.skipped == 4
    assert [json.loads(line)["line"] for line in bad.read_text().splitlines()] == [3, 5, 6, 7]


def test_raised_the_rows_before_can_still_be_read(tmp_path: Path) -> None:
    stream = CSVStream(messy(tmp_path), schema=SCHEMA)
    with pytest.raises(ValueError, match=r"^line 3 of messy.csv must have 3 values, as the header has, got 2$"):
        stream.read(2)
    assert stream.take(1).X.tolist() == [[1.0, 0.0]]
    with pytest.raises(ValueError, match="line 3"):
        stream.read(1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"on_bad_row": "ignore"}, "on_bad_row must be one of 'raise', 'skip', 'quarantine', got 'ignore'"),
        ({"on_bad_row": "quarantine"}, "quarantine must be the path of a .csv or .jsonl file, got None"),
        ({"on_bad_row": "quarantine", "quarantine": "x.txt"}, "quarantine must end with .csv or .jsonl, got 'x.txt'"),
        ({"quarantine": "x.csv"}, "quarantine must be None unless on_bad_row is 'quarantine', got 'x.csv'"),
    ],
)
def test_ways_that_are_none(tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        CSVStream(messy(tmp_path), **options)


def test_other_formats_skip_too(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "class": ["x", None, "y"]}), tmp_path / "t.parquet")
    parquet = ParquetStream(tmp_path / "t.parquet", on_bad_row="skip")
    (tmp_path / "t.arff").write_text("@attribute a real\n@attribute class {x,y}\n@data\n1,x\nu,x\n2,z\n3,y\n")
    arff = ARFFStream(tmp_path / "t.arff", on_bad_row="skip")
    (tmp_path / "t.jsonl").write_text('{"a":1,"class":"x"}\n{"a":"u","class":"x"}\n{oops\n{"a":3,"class":"y"}\n')
    lines = JSONLinesStream(tmp_path / "t.jsonl", on_bad_row="skip", schema=Schema((Feature("a"),)))
    (tmp_path / "t.libsvm").write_text("x 1:1\ny 1:\ny 0:2\ny 1:3\n")
    svm = LibSVMStream(tmp_path / "t.libsvm", on_bad_row="skip")
    for stream, skipped in ((parquet, 1), (arff, 2), (lines, 2), (svm, 2)):
        chunk = stream.take(9)
        assert chunk.X.tolist() == [[1.0], [3.0]]
        assert chunk.y.tolist() == ["x", "y"]
        assert stream.read(1) is None
        assert stream.skipped == skipped


A = "@relation r\n@attribute a numeric\n@attribute b {u, 'v w'}\n@attribute class {x,y}\n"
D = A + "@data\n"
H = "a,b,class\n"
S = D + "{0 1, 1 'v w'}\n"
J = '{"a": 1, "class": "x"}\n'
BAD: list[tuple[str, str | bytes, dict[str, Any], str]] = [
    # text tables
    ("x.csv", H + "1,2,x\n1,2,x,\n", {}, "line 3 of x.csv must have 3 values, as the header has, got 4"),
    ("x.csv", H + "1,2,x\n\n\n1\n", {}, "line 5 of x.csv must have 3 values, as the header has, got 1"),
    ("x.csv", H + '1,2,x\n1,"2"3,x\n', {}, "line 3 of x.csv must have a delimiter after a closing quote, got '3'"),
    ("x.csv", H + '1,2,x\n1,"2,x\n', {}, "x.csv must close its quotes: the one that opens in line 3 has no end"),
    ("x.csv", H + '1,"u\nv",x\n1,"2",x,9\n', {}, "line 4 of x.csv must have 3 values"),
    ("x.csv", '"a,b,class\n1,2,x\n', {}, "x.csv must close its quotes: the header has one without an end"),
    ("x.csv", "\ufeff", {}, "x.csv must have a header and records, it is empty"),
    ("x.csv", "\n\n\r\n", {}, "x.csv must have a header and records, it is empty"),
    ("x.csv", H.encode("utf-16"), {}, "x.csv must be UTF-8 text, it is UTF-16"),
    ("x.csv", "é,class\n1,2\n".encode("latin-1"), {}, "line 1 of x.csv must be a header of UTF-8 text"),
    ("x.csv", "a,class\n1,é\n".encode("latin-1"), {}, "line 2 of x.csv must be UTF-8 text, it is not in column"),
    ("x.csv", b"a,class\n1,x\n1,\xed\xa0\x80\n", {}, "line 3 of x.csv must be UTF-8 text"),
    ("x.csv", b"a,class\n1,x\n1,x\0y\n", {}, "line 3 of x.csv must be UTF-8 text"),
    ("x.csv", b"a\0,class\n1,x\n", {}, "line 1 of x.csv must be a header of text, it has a zero byte"),
    ("x.csv", "a,class,a\n1,x,2\n", {}, "x.csv must have columns of different names, 'a' appears more than once"),
    ("x.csv", "a,,\n1,2,3\n", {"target": "a"}, "x.csv must have columns of different names, '' appears"),
    ("x.csv", H + "1,2,x\n" * 200 + "0x10,2,x\n", {"s": 1}, "line 202 .* a number in column 'a', .* got '0x10'"),
    ("x.csv", H + "1,2,x\n" * 200 + "1_0,2,x\n", {"s": 1}, "line 202 .* a number in column 'a', .* got '1_0'"),
    ("x.csv", H + "1,2,x\n" * 200 + "1.2.3,2,x\n", {"s": 1}, "line 202 .* a number in column 'a'"),
    ("x.csv", H + "1,2,x\n" * 200 + "1e,2,x\n", {"s": 1}, "line 202 .* a number in column 'a', .* got '1e'"),
    ("x.csv", H + "1,2,x\n" * 200 + "-,2,x\n", {"s": 1}, "line 202 .* a number in column 'a', .* got '-'"),
    ("x.csv", H + "1,2,x\n" * 200 + '"u",2,x\n', {"s": 1}, "line 202 .* a number in column 'a'"),
    ("x.csv", H + "true,2,x\n" * 200 + "maybe,2,x\n", {"s": 1}, "line 202 .* one of .*'true'.* got 'maybe'"),
    ("x.csv", H + "2020-01-01,2,x\n" * 200 + "2020-13-01,2,x\n", {"s": 1, "time": "a"}, "line 202 .* a date or time"),
    ("x.csv", H + "1,2,1\n" * 200 + "1,2,1.5\n", {"s": 1}, "line 202 .* a whole number in column 'class'"),
    ("x.csv", H + "1,2,1.5\n" * 200 + "1,2,up\n", {"s": 1}, "line 202 .* a number in column 'class'"),
    ("x.csv.bz2", bz2.compress(H.encode() + b"1,2,x\n" * 999)[:-9], {}, "x.csv.bz2 cannot be unpacked"),
    ("x.csv.gz", gzip.compress(H.encode() + b"1,2,x\n" * 999, mtime=0)[:40], {}, "x.csv.gz cannot be unpacked"),
    ("x.csv.zst", pa.compress(H.encode() + b"1,2,x\n" * 999, "zstd", asbytes=True)[:-9], {}, "x.csv.zst cannot"),
    ("x.csv.gz", b"", {}, "x.csv.gz"),
    # ARFF
    ("x.arff", "", {}, "x.arff must have a line @data, it has none"),
    ("x.arff", A, {}, "x.arff must have a line @data, it has none"),
    ("x.arff", D, {}, "x.arff must have records, it has a header only"),
    ("x.arff", D + "% only\n", {}, "x.arff must have records, it has a header only"),
    ("x.arff", "@relation r\n@data\n1,2\n", {}, "x.arff must declare attributes, it has none"),
    ("x.arff", A + "@attribute a real\n@data\n", {}, "must have columns of different names, 'a' appears"),
    ("x.arff", A + "@attribute t date 'yyyy'\n@data\n", {}, "line 5 of x.arff must declare numbers, .* got date"),
    ("x.arff", A + "@attribute r relational\n@data\n", {}, "line 5 of x.arff .* got relational"),
    ("x.arff", A + "@attribute t\n@data\n", {}, "line 5 of x.arff must say what 't' holds"),
    ("x.arff", A + "@attribute\n@data\n", {}, "line 5 of x.arff must name an attribute"),
    ("x.arff", A + "@attribute t {u,u}\n", {}, "line 5 of x.arff must have different nominal values, 'u' appears"),
    ("x.arff", A + "@attribute t {u\n", {}, "line 5 of x.arff must have nominal values in braces"),
    ("x.arff", A + "@attribute t {}\n", {}, "line 5 of x.arff must have nominal values in braces"),
    ("x.arff", A + "hello\n", {}, "line 5 of x.arff must be @relation, @attribute, @data or a comment, got 'hello'"),
    ("x.arff", D + "1,u,x\n1,u\n", {}, "line 7 of x.arff must have 3 values"),
    ("x.arff", D + "1,u,x\n1,w,x\n", {}, r"line 7 of x.arff must have one of \['u', 'v w'\] in column 'b', got 'w'"),
    ("x.arff", D + "1,u,x\none,u,x\n", {}, "line 7 of x.arff must have a number in column 'a'"),
    ("x.arff", D + "1,u,x\n1,u,?\n", {}, "line 7 of x.arff must have a label in column 'class', it is missing"),
    ("x.arff", D + "1,u,z\n", {}, r"line 6 of x.arff must have one of \['x', 'y'\] in column 'class', got 'z'"),
    ("x.arff", D + "1,'u,x\n", {}, "x.arff must close its quotes"),
    ("x.arff", D + "1,u,x\n", {"target": "k"}, "target must be one of the columns 'a', 'b', 'class' .* got 'k'"),
    ("x.arff", S + "{3 1}\n", {}, "line 7 of x.arff must have indices below 3, got 3"),
    ("x.arff", S + "{1 u, 0 1}\n", {}, "line 7 of x.arff must have indices in order, each once, got 0"),
    ("x.arff", S + "{0 1, 0 1}\n", {}, "line 7 of x.arff must have indices in order, each once, got 0"),
    ("x.arff", S + "{0 u}\n", {}, "line 7 of x.arff must have a number in column 'a', got 'u'"),
    ("x.arff", S + "{1 w}\n", {}, "line 7 of x.arff must have one of .* in column 'b', got 'w'"),
    ("x.arff", S + "{0 1\n", {}, "line 7 of x.arff must be a sparse record in braces"),
    ("x.arff", S + "1,u,x\n", {}, "line 7 of x.arff must be a sparse record in braces"),
    ("x.arff", S + "{zero 1}\n", {}, "line 7 of x.arff must hold pairs of an index and a value"),
    ("x.arff", S + "{0 1 1 u}\n", {}, "line 7 of x.arff must have a comma between pairs"),
    ("x.arff", S + "{2 ?}\n", {}, "line 7 of x.arff must have a label in column 'class'"),
    ("x.arff", S + "{2 z}\n", {}, "line 7 of x.arff must have one of .* in column 'class', got 'z'"),
    # JSON lines
    ("x.jsonl", "", {}, "x.jsonl must have records, it is empty"),
    ("x.jsonl", J + "{oops\n", {}, "line 2 of x.jsonl must be a JSON object, got '{oops'"),
    ("x.jsonl", J + "[1]\n", {}, r"line 2 of x.jsonl must be a JSON object, got \[1\]"),
    ("x.jsonl", J + '{"a": 2}\n', {}, "line 2 of x.jsonl must have a label in field 'class', it is missing"),
    ("x.jsonl", J + '{"a": 2, "class": 5}\n', {}, "line 2 of x.jsonl must have a label in field 'class': .* one type"),
    ("x.jsonl", J * 1000 + '{"a": "u", "class": "x"}\n', {}, "line 1001 of x.jsonl must have a number in field 'a'"),
    ("x.jsonl", J * 1000 + '{"b": 1, "class": "x"}\n', {}, "line 1001 .* only the fields of the first .* 'b'"),
    ("x.jsonl", '{"a": [1], "class": "x"}\n', {}, r"field 'a' of x.jsonl must hold numbers or text, got \[1\]"),
    ("x.jsonl", J, {"target": "k"}, r"target must be one of the fields 'a', 'class' of x.jsonl, got 'k'"),
    ("x.jsonl", J.encode() + b'{"a": 1, "class": "\xe9"}\n', {}, "line 2 of x.jsonl must be a JSON object"),
    # LIBSVM
    ("x.svm", "", {}, "x.svm must have records with index:value pairs, it has none"),
    ("x.svm", "1 1:2\n1 1\n", {}, "line 2 of x.svm must have index:value pairs after the label, got '1'"),
    ("x.svm", "1 1:2\n1 2:1 1:1\n", {}, "line 2 of x.svm must have indices from 1 on, in order, each once, got '1'"),
    ("x.svm", "1 1:2\n1 1:u\n", {}, "line 2 of x.svm must have index:value pairs after the label, got '1:u'"),
    ("x.svm", "1 1:2\n1 9:1\n", {"features": 3}, "line 2 of x.svm must have indices from 1 to 3, got 9"),
    ("x.svm", "1 1:2\n1:2\n", {}, "line 2 of x.svm must begin with a label, got '1:2'"),
    # binary
    ("x.npz", b"", {}, "x.npz must be an NPZ file with X and y: it is none, or damaged, or cut off"),
    ("x.npz", bytes(range(256)), {}, "x.npz must be an NPZ file with X and y"),
    ("x.arrow", b"ARROW1\0\0" + bytes(100), {}, "x.arrow must be an Arrow file: it is none, or damaged, or cut off"),
    ("x.arrow", b"", {}, "x.arrow must be an Arrow file"),
    ("x.parquet", b"PAR1" + bytes(50) + b"PAR1", {}, "x.parquet must be a Parquet file"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "sentence"), BAD)
def test_one_sentence_and_nothing_half_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str | bytes,
    options: dict[str, Any],
    sentence: str,
) -> None:
    options = dict(options)
    if options.pop("s", 0):
        monkeypatch.setattr(text, "BLOCK", 1000)
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    opened: list[Any] = []

    def read() -> None:
        opened.append(open_file(path, **options))
        opened[0].read(10**6)

    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        read()
    assert all(stream.state()["given"][0] == 0 for stream in opened)
    assert "\n" not in str(caught.value)
    assert "Arrow" not in str(caught.value) or name.endswith(".arrow")


ARCHIVES: list[dict[str, Any]] = [
    {"X": np.zeros((2, 2))},
    {"X": np.zeros((2, 2)), "y": [1]},
    {"X": np.zeros(2), "y": [1, 2]},
    {"X": np.array([["a"], ["b"]]), "y": [1, 2]},
    {"X": np.zeros((0, 2)), "y": []},
    {"X": np.zeros((2, 2)), "y": [1.0, np.nan]},
]


@pytest.mark.parametrize("arrays", ARCHIVES)
def test_archives_that_are_no_records(tmp_path: Path, arrays: dict[str, Any]) -> None:
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(ValueError, match="^x.npz must have"):
        open_file(tmp_path / "x.npz")


# -- fuzz -------------------------------------------------------------------------------------------------------------


def whole_files(folder: Path) -> dict[str, bytes]:
    """A valid file of each format."""
    found = {
        "csv": (H + '1,"u ""v""",x\n2.5e3,?,y\n"3",w,x\n' * 3).encode(),
        "tsv": b"a\tclass\n1\tx\n2\ty\n",
        "arff": (D + "1,u,x\n?,'v w',y\n% c\n").encode(),
        "sparse.arff": (S + "{2 y}\n{}\n").encode(),
        "jsonl": (J + '{"a": null, "b": "u", "class": "y"}\n').encode(),
        "libsvm": b"1 1:2 3:4.5 # c\n-1 2:1\n",
    }
    found["csv.gz"] = gzip.compress(found["csv"], mtime=0)
    for end in ("parquet", "arrow"):
        write_stream(SEA(seed=1), folder / f"x.{end}", 20)
        found[end] = (folder / f"x.{end}").read_bytes()
    np.savez(folder / "x.npz", X=np.zeros((3, 2)), y=[1, 2, 1])
    found["npz"] = (folder / "x.npz").read_bytes()
    return found


def read_all(path: Path, on_bad_row: str) -> None:
    """Read a file; the only errors are ValueError and TypeError, in one line."""
    options = {} if path.suffix == ".npz" else {"on_bad_row": on_bad_row}
    sentence = "fine"
    try:
        for chunk in open_file(path, **options).chunks(3):
            assert chunk.X.dtype == np.float64
            assert len(chunk.X) == len(chunk.y)
    except (ValueError, TypeError) as error:
        sentence = str(error)
    assert sentence
    assert "\n" not in sentence


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return whole_files(tmp_path_factory.mktemp("valid"))


relaxed: Callable[..., Any] = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ENDS = ["csv", "tsv", "csv.gz", "arff", "sparse.arff", "jsonl", "libsvm", "parquet", "arrow", "npz"]


@pytest.mark.parametrize("end", ENDS)
@given(data=st.data())
@relaxed
def test_mutated_files(tmp_path: Path, valid: dict[str, bytes], end: str, data: Any) -> None:
    content = bytearray(valid[end])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(content) - 1)))
        what = data.draw(st.sampled_from(["cut", "byte", "insert", "drop"]))
        if what == "cut":
            del content[at:]
        elif what == "byte" and content:
            content[at] = data.draw(st.integers(0, 255))
        elif what == "insert":
            content[at:at] = data.draw(
                st.sampled_from([b'"', b"\n", b"\r", b",", b"'", b"{", b"\0", b"\xff", b"e9", b" "])
            )
        else:
            del content[at : at + data.draw(st.integers(1, 20))]
    path = tmp_path / f"x.{end}"
    path.write_bytes(content)
    read_all(path, data.draw(st.sampled_from(["raise", "skip"])))


@pytest.mark.parametrize("end", ENDS)
@given(content=st.binary(max_size=300))
@example(content=b"a,class\r\r\n\r1,2\r")
@relaxed
def test_random_bytes(tmp_path: Path, end: str, content: bytes) -> None:
    path = tmp_path / f"x.{end}"
    path.write_bytes(content)
    read_all(path, "skip")


@given(body=st.text(alphabet='1,"\n\rxa .e-', max_size=200), block=st.sampled_from([32, 64, 1000]))
@relaxed
def test_random_tables(tmp_path: Path, body: str, block: int) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b,class\n1,x,1\n" + body.encode())
    before, text.BLOCK = text.BLOCK, block
    try:
        read_all(path, "skip")
    finally:
        text.BLOCK = before
