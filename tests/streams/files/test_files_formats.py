"""Every format gives the same records: read in chunks of any size, restored in mid-file, written and read back."""

import io
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, save_npz

from thalweg import SEA, Agrawal, Chunk, CSVStream, Feature, ParquetStream, Schema, checks
from thalweg.streams.files import text
from thalweg.streams.files.arff import ARFFStream
from thalweg.streams.files.arrow import ArrowStream
from thalweg.streams.files.jsonl import JSONLinesStream
from thalweg.streams.files.libsvm import LibSVMStream
from thalweg.streams.files.npz import NPZStream
from thalweg.streams.files.opening import open_file
from thalweg.streams.files.writing import write_stream
from thalweg.streams.iterable import IterableStream
from thalweg.streams.memory import ArrayStream

ROWS = 1500
RNG = np.random.default_rng(3)
SIZE = RNG.normal(size=ROWS)
SIZE[::17] = np.nan
COLOUR = RNG.integers(0, 3, ROWS)
WORDS = ("red", "it's", "light blue")
LABEL = RNG.integers(0, 2, ROWS)
SPARSE = np.where(RNG.random((ROWS, 6)) < 0.3, RNG.normal(size=(ROWS, 6)), 0.0)
SPARSE[0, 5] = 1.0
X = np.column_stack([SIZE, COLOUR.astype(float)])
SCHEMA = Schema((Feature("size"), Feature("colour", values=WORDS)), classes=("no", "yes"))
Y = np.array(["no", "yes"])[LABEL]


def pairs() -> list[tuple[dict[str, Any], str]]:
    return [
        ({"size": None if s != s else s, "colour": WORDS[c]}, str(y))
        for s, c, y in zip(SIZE.tolist(), COLOUR.tolist(), Y, strict=True)
    ]


def once() -> IterableStream:
    return IterableStream(pairs(), schema=SCHEMA)


@pytest.fixture(scope="module")
def makers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[[], Any]]:
    folder = tmp_path_factory.mktemp("formats")
    stream = ArrayStream(X, Y, schema=SCHEMA)
    for end in ("csv", "csv.gz", "parquet", "arrow", "arff"):
        stream.restart()
        assert write_stream(stream, folder / f"a.{end}") == ROWS
    days = folder / "days"
    days.mkdir()
    for part in range(3):
        write_stream(ArrayStream(X[part * 500 :][:500], Y[part * 500 :][:500], schema=SCHEMA), days / f"{part}.parquet")
    with (folder / "a.jsonl").open("w") as file:
        file.writelines(json.dumps({**x, "class": y}) + "\n" for x, y in pairs())
    np.savez(folder / "dense.npz", X=SPARSE.reshape(ROWS, 2, 3), y=LABEL)
    save_npz(folder / "csr.npz", csr_matrix(SPARSE))
    with np.load(folder / "csr.npz") as saved:
        np.savez_compressed(folder / "csr.npz", y=LABEL, **saved)
    with (folder / "a.libsvm").open("w") as file, (folder / "sparse.arff").open("w") as arff:
        arff.write("@relation s\n" + "".join(f"@attribute x{i} numeric\n" for i in range(6)))
        arff.write("@attribute class {0,1}\n@data\n")
        for row, y in zip(SPARSE.tolist(), LABEL.tolist(), strict=True):
            file.write(f"{y} " + " ".join(f"{i + 1}:{v!r}" for i, v in enumerate(row) if v) + "\n")
            cells = [f"{i} {v!r}" for i, v in enumerate(row) if v] + [f"6 {y}"] * (y > 0)
            arff.write("{" + ", ".join(cells) + "}\n")
    return {
        "csv": lambda: CSVStream(folder / "a.csv", schema=SCHEMA),
        "csv.gz": lambda: CSVStream(folder / "a.csv.gz", schema=SCHEMA),
        "parquet": lambda: ParquetStream(folder / "a.parquet"),
        "parquet folder": lambda: ParquetStream(days),
        "parquet pattern": lambda: ParquetStream(days / "*.parquet"),
        "arrow": lambda: ArrowStream(folder / "a.arrow"),
        "arff": lambda: ARFFStream(folder / "a.arff"),
        "json": lambda: JSONLinesStream(folder / "a.jsonl", schema=SCHEMA),
        "iterable": once,
        "npz": lambda: NPZStream(folder / "dense.npz"),
        "csr": lambda: NPZStream(folder / "csr.npz"),
        "libsvm": lambda: LibSVMStream(folder / "a.libsvm"),
        "sparse arff": lambda: ARFFStream(folder / "sparse.arff"),
    }


TABLES = ["csv", "csv.gz", "parquet", "parquet folder", "parquet pattern", "arrow", "arff", "json", "iterable"]
NUMBERS = ["npz", "csr", "libsvm", "sparse arff"]


@pytest.mark.parametrize("name", TABLES + NUMBERS)
def test_what_was_written_is_read_to_the_bit(makers: dict[str, Callable[[], Any]], name: str) -> None:
    chunk = makers[name]().take(10**6)
    want, labels = (X, Y) if name in TABLES else (SPARSE, LABEL)
    assert chunk.X.tobytes() == want.tobytes()
    assert chunk.y.tolist() == labels.tolist()
    assert makers[name]().schema.names == (SCHEMA.names if name in TABLES else tuple(f"x{i}" for i in range(6)))


@pytest.mark.parametrize("name", TABLES + NUMBERS)
@pytest.mark.parametrize("check", [c for c in checks.STREAM_CHECKS if c.__name__ != "same_stream_without_compilation"])
def test_every_format_keeps_the_promises_of_a_stream(
    makers: dict[str, Callable[[], Any]], name: str, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "BLOCK", 4000)
    if name == "iterable" and check.__name__ == "stream_can_be_saved":
        pytest.skip("records in memory are not written to a snapshot")
    check(makers[name])


def test_a_position_deep_in_a_file_needs_no_second_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK", 1000)
    path = tmp_path / "long.csv"
    path.write_text("a,class\n" + "".join(f"{i},{i % 3}\n" for i in range(5000)))
    stream = CSVStream(path)
    stream.take(4000)
    other = CSVStream(path)
    other.restore(stream.state())
    assert other.state()["mark"][2] > 20_000
    assert other.take(1).X.tolist() == [[4000.0]]


@pytest.mark.parametrize("end", [".csv", ".csv.gz", ".parquet", ".arrow", ".arff"])
@pytest.mark.parametrize("make", [lambda: SEA(seed=7), lambda: Agrawal(seed=3)])
def test_generated_streams_read_back_identical(tmp_path: Path, end: str, make: Callable[[], Any]) -> None:
    told: list[int] = []
    path = tmp_path / f"stream{end}"
    assert write_stream(make(), path, 10_000, told.append) == 10_000
    assert told[-1] == 10_000
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    options = {"schema": make().schema} if end.startswith(".csv") else {}
    got, want = open_file(path, **options).take(10**6), make().take(10_000)
    assert got.X.tobytes() == want.X.tobytes()
    assert got.y.tolist() == want.y.tolist()
    assert type(got.y.tolist()[0]) is type(want.y.tolist()[0])


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"path must end with \.csv, .*, got 'x.doc'"):
        write_stream(SEA(), "x.doc", 5)
    with pytest.raises(ValueError, match="rows must be given: the stream has no end"):
        write_stream(SEA(), tmp_path / "x.csv")
    with pytest.raises(FileNotFoundError, match="path must lie in a folder that exists"):
        write_stream(SEA(), tmp_path / "none" / "x.csv", 5)
    with pytest.raises(ValueError, match="target must be a name that no feature has"):
        write_stream(SEA(), tmp_path / "x.csv", 5, target=SEA().schema.names[0])
    odd = ArrayStream([[0.0]], ["a"], schema=Schema((Feature("f", values=("",)),)))
    with pytest.raises(ValueError, match="a value must be text that a CSV file can hold"):
        write_stream(odd, tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


ODD = ["a,b", 'say "x"', " padded ", "NA", "?", "two\nlines", "é", "a'b", "100", "%", "{x}", "\\"]


@pytest.mark.parametrize("end", [".csv", ".parquet", ".arff"])
def test_odd_words_read_back(tmp_path: Path, end: str) -> None:
    words = [w for w in ODD if end != ".arff" or "\n" not in w]
    schema = Schema((Feature("x"), Feature("a, b", values=tuple(words))))
    rows = np.column_stack([np.arange(len(words)), np.arange(len(words))]).astype(float)
    write_stream(ArrayStream(rows, words, schema=schema), tmp_path / f"odd{end}")
    stream = open_file(tmp_path / f"odd{end}", **({"schema": schema} if end == ".csv" else {}))
    chunk = stream.take(99)
    assert chunk.y.tolist() == words
    assert chunk.X.tolist() == rows.tolist()


finite = st.floats(allow_nan=False)
spelled = st.one_of(
    finite.map(repr),
    finite.map(lambda v: f"{v:.3f}"),
    finite.map(lambda v: f"{v:.20e}"),
    st.from_regex(r"[+-]?[0-9]{1,30}\.[0-9]{0,30}(e[+-]?[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"[+-]?0{0,25}[0-9]{1,19}E-?[0-9]{1,3}", fullmatch=True),
    st.integers(0, 2**64 - 1).map(lambda b: repr(struct.unpack("d", struct.pack("Q", b))[0])),
)


@given(st.lists(spelled, min_size=1, max_size=50))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_are_read_as_python_reads_them(tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("a,b,c,class\n" + "".join(f'{w},"{w}", {w} ,1\n' for w in words))
    got = CSVStream(path).take(99).X
    want = np.array([float(w) for w in words])
    for column in got.T:
        known = ~np.isnan(want)
        assert np.ascontiguousarray(column[known]).tobytes() == want[known].tobytes()
        assert np.isnan(column[~known]).all()


cell = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=12)


@given(st.lists(st.tuples(cell, st.floats()), min_size=1, max_size=30), st.sampled_from(["\n", "\r\n"]), st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_table_reads_as_the_standard_library_reads_it(
    tmp_path: Path, rows: list[tuple[str, float]], newline: str, data: Any
) -> None:
    import csv

    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator=newline)
        writer.writerow(["word", "number", "class"])
        writer.writerows([w, v, 1] for w, v in rows)
    block = text.BLOCK
    text.BLOCK = data.draw(st.sampled_from([32, 64, 1000]))
    try:
        stream = CSVStream(path, nominal=["word"], missing_words=["", "nan"])
        chunk = Chunk.join(list(stream.chunks(data.draw(st.integers(1, 40)))))
    finally:
        text.BLOCK = block
    values = stream.schema.features[0].values or ()
    got = [None if c != c else values[int(c)] for c in chunk.X[:, 0]]
    with path.open(newline="", encoding="utf-8") as file:
        want = [r["word"] for r in csv.DictReader(file)]
    assert got == [None if w in ("", "nan") else w for w in want]
    assert np.array_equal(chunk.X[:, 1], [v for _, v in rows], equal_nan=True)


class _Input:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK", 100)
    monkeypatch.setattr("sys.stdin", _Input(b"a,class\n" + b"1,x\n2,y\n" * 500))
    stream = open_file("-")
    assert stream.take(10**6).X.sum() == 1500
    stream.restart()
    with pytest.raises(ValueError, match="standard input can be read once"):
        stream.read(1)
    lines = b"".join(b'{"a": %d, "class": "x"}\n' % i for i in range(1000))
    monkeypatch.setattr("sys.stdin", _Input(lines))
    assert JSONLinesStream("-").take(10**6).X[:, 0].tolist() == list(range(1000))


@pytest.mark.parametrize(
    ("path", "data", "kind"),
    [
        ("-", b"a,b,class\n1,2,x\n3,4,y\n", CSVStream),
        ("-.csv", b"a,b,class\n1,2,x\n3,4,y\n", CSVStream),
        ("-.tsv", b"a\tb\tclass\n1\t2\tx\n3\t4\ty\n", CSVStream),
        ("-.jsonl", b'{"a": 1, "b": 2, "class": "x"}\n{"a": 3, "b": 4, "class": "y"}\n', JSONLinesStream),
        ("-.NDJSON", b'{"a": 1, "b": 2, "class": "x"}\n{"a": 3, "b": 4, "class": "y"}\n', JSONLinesStream),
    ],
)
def test_standard_input_says_by_its_ending_what_it_holds(
    monkeypatch: pytest.MonkeyPatch, path: str, data: bytes, kind: type
) -> None:
    monkeypatch.setattr("sys.stdin", _Input(data))
    stream = open_file(path, target="class")
    assert type(stream) is kind
    chunk = stream.take(5)
    assert chunk.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert chunk.y.tolist() == ["x", "y"]


@pytest.mark.parametrize("path", ["-.arff", "-.npz", "-.gz", "-.csv.gz", "-.nothing"])
def test_standard_input_of_other_kinds_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"standard input must be one of -, -.csv, -.tsv, -.jsonl"):
        open_file(path)


def test_an_iterable_that_comes_once() -> None:
    def records() -> Iterator[tuple[dict[str, Any], int]]:
        for i in range(3000):
            yield {"a": i, "b": "odd" if i % 2 else "even"}, i % 3

    stream = IterableStream(records())
    assert Chunk.join(list(stream.chunks(700))).X[:, 0].tolist() == list(range(3000))
    with pytest.raises(ValueError, match="cannot go back"):
        stream.restart()
    with pytest.raises(TypeError, match="records must be an iterable of"):
        IterableStream("text")
    with pytest.raises(ValueError, match=r"pair 1 of records must have a number in field 'a', got 'u'"):
        IterableStream([({"a": 1}, 0), ({"a": "u"}, 0)], schema=Schema((Feature("a"),))).take(5)


def test_frames_of_all_makers_in_memory() -> None:
    table = pa.table({"a": [1.0, 2.0], "b": ["u", "v"], "class": ["x", "y"]})
    frames = [table]
    for library in ("pandas", "polars"):
        module = pytest.importorskip(library)
        frames.append(module.DataFrame(table.to_pydict()))
    for frame in frames:
        chunk = ArrayStream(frame, "class").take(5)
        assert chunk.X.tolist() == [[1.0, 0.0], [2.0, 1.0]]
        assert chunk.y.tolist() == ["x", "y"]


def test_nan_in_a_column_of_text_is_missing():
    stream = IterableStream([({"w": "N"}, "a"), ({"w": float("nan")}, "b"), ({"w": np.float64("nan")}, "b")])
    chunk = stream.take(3)
    assert stream.schema.features[0].values == ("N",)
    assert np.isnan(chunk.X[1:, 0]).all()
