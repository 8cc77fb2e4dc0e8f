"""Options that the kinds of files share: times, a schema that is known beforehand, and bad records."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thalweg import ARFFStream, Chunk, CSVStream, Feature, JSONLinesStream, NPZStream, ParquetStream, Schema
from thalweg.streams.files import npz

NOON = 1_580_473_859.0  # 2020-01-31 12:30:59


def arff(folder: Path, records: str, name: str = "a.arff") -> Path:
    path = folder / name
    path.write_text(
        "@relation r\n@attribute a numeric\n@attribute t date 'yyyy-MM-dd HH:mm:ss'\n@attribute u numeric\n"
        f"@attribute c {{red,blue}}\n@attribute class {{x,y}}\n@data\n{records}",
        encoding="utf-8",
    )
    return path


DENSE = "1,'2020-01-31 12:30:59',3,red,x\n2,?,4,blue,y\n3,\"2020-01-31T12:31:00\",5,red,y\n"
SPARSE = "{0 1, 1 '2020-01-31 12:30:59', 2 3}\n{0 2, 1 ?, 2 4, 3 blue, 4 y}\n{0 3, 1 '2020-01-31T12:31:00', 2 5, 4 y}\n"


def jsonl(folder: Path) -> Path:
    path = folder / "a.jsonl"
    records: list[dict[str, Any]] = [
        {"a": 1, "t": "2020-01-31 12:30:59", "u": 3, "c": "red", "class": "x"},
        {"a": 2, "t": None, "u": 4, "c": "blue", "class": "y"},
        {"a": 3, "t": "2020-01-31T13:31:00+01:00", "u": 5, "c": "red", "class": "y"},
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return path


def csv(folder: Path) -> Path:
    path = folder / "a.csv"
    path.write_text("a,t,u,c,class\n1,2020-01-31 12:30:59,3,red,x\n2,,4,blue,y\n3,2020-01-31 12:31:00,5,red,y\n")
    return path


FILES: list[Any] = [
    pytest.param(CSVStream, csv, id="csv"),
    pytest.param(ARFFStream, lambda folder: arff(folder, DENSE), id="dense"),
    pytest.param(ARFFStream, lambda folder: arff(folder, SPARSE), id="sparse"),
    pytest.param(JSONLinesStream, jsonl, id="jsonl"),
]


@pytest.mark.parametrize(("kind", "make"), FILES)
def test_times_are_read_and_are_no_features(kind: Any, make: Any, tmp_path: Path) -> None:
    path = make(tmp_path)
    stream = kind(path, time="t", label_time="u")
    chunk = stream.take(9)
    assert stream.schema.names == ("a", "c")
    assert chunk.X.tolist() == [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    assert chunk.y.tolist() == ["x", "y", "y"]
    np.testing.assert_array_equal(chunk.time, [NOON, np.nan, NOON + 1])
    np.testing.assert_array_equal(chunk.label_time, [3.0, 4.0, 5.0])
    only = kind(path, label_time="u", drop=["t"]).take(9)
    assert only.time is None
    np.testing.assert_array_equal(only.label_time, [3.0, 4.0, 5.0])
    both = kind(path, time="u", label_time="u", drop=["t"]).take(9)
    np.testing.assert_array_equal(both.time, both.label_time)
    params = kind(path, time="t", label_time="u").get_params()
    assert (params["time"], params["label_time"]) == ("t", "u")


@pytest.mark.parametrize(("kind", "make"), FILES)
def test_times_come_again_after_a_restore(kind: Any, make: Any, tmp_path: Path) -> None:
    stream = kind(make(tmp_path), time="t", label_time="u")
    stream.read(1)
    state = stream.state()
    want = stream.take(9)
    stream.restore(state)
    got = stream.take(9)
    np.testing.assert_array_equal(got.label_time, want.label_time)
    np.testing.assert_array_equal(got.time, want.time)


@pytest.mark.parametrize(("kind", "make"), FILES)
def test_a_schema_known_beforehand_gives_codes_and_order(kind: Any, make: Any, tmp_path: Path) -> None:
    schema = Schema((Feature("c", ("blue", "red")), Feature("a")), ("y", "x"))
    stream = kind(make(tmp_path), time="t", label_time="u", schema=schema)
    assert stream.take(9).X.tolist() == [[1.0, 1.0], [0.0, 2.0], [1.0, 3.0]]
    assert stream.schema == schema
    assert stream.get_params()["schema"] == schema
    with pytest.raises(ValueError, match="schema must have the features"):
        kind(make(tmp_path), schema=Schema.numeric(2), drop=["t"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, r"line 3 of a.arff must declare .*, got date: name attribute 't' as the time, or leave it out by drop"),
        ({"time": "c", "drop": ["t"]}, "column 'c' must hold numbers, dates or times, got text"),
        ({"time": "nothing", "drop": ["t"]}, "time must be one of the columns"),
        ({"time": "class", "drop": ["t"]}, "time must be another column than the target"),
        ({"time": "t", "drop": ["t"]}, "drop must not name 't': it has another use"),
        (
            {"drop": ["t"], "schema": Schema((Feature("a"), Feature("u"), Feature("c", ("red",))), ("q",))},
            r"schema must have classes of a.arff, \['x', 'y'\], got \['q'\]",
        ),
        ({"drop": ["t"], "schema": "a"}, "schema must be a Schema or None"),
    ],
)
def test_wrong_options_of_arff(options: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        ARFFStream(arff(tmp_path, DENSE), **options)


def test_a_record_beyond_the_schema_is_bad(tmp_path: Path) -> None:
    schema = Schema((Feature("a"), Feature("c", ("blue",))), ("x", "y"))
    path = arff(tmp_path, DENSE)
    with pytest.raises(ValueError, match=r"line 8 of a.arff must have one of \['blue'\] in column 'c', got 'red'"):
        ARFFStream(path, drop=["t", "u"], schema=schema).take(9)
    stream = ARFFStream(path, drop=["t", "u"], schema=schema, on_bad_row="skip")
    assert stream.take(9).X.tolist() == [[2.0, 0.0]]
    assert stream.skipped == 2
    only = Schema((Feature("a"), Feature("c", ("red", "blue"))), ("y",))
    for records in (DENSE, SPARSE):
        stream = ARFFStream(arff(tmp_path, records), drop=["t", "u"], schema=only, on_bad_row="skip")
        assert stream.take(9).y.tolist() == ["y", "y"]
        assert stream.skipped == 1
    with pytest.raises(ValueError, match="schema must have the value 'red' of 'c': sparse records leave it out"):
        ARFFStream(arff(tmp_path, SPARSE), drop=["t", "u"], schema=schema)


@pytest.mark.parametrize("records", [DENSE + "4,yesterday,6,red,x\n", SPARSE + "{1 yesterday}\n"])
def test_a_bad_time_in_arff_has_a_line(records: str, tmp_path: Path) -> None:
    path = arff(tmp_path, records)
    with pytest.raises(ValueError, match=r"line 11 of a.arff must have .*a date or time .* in column 't'"):
        ARFFStream(path, time="t").take(9)
    assert len(ARFFStream(path, time="t", on_bad_row="skip").take(9)) == 3


@pytest.mark.parametrize("value", ['"yesterday"', "true", "[1]", "{}", '"2020-13-01"'])
def test_a_bad_time_in_json_lines_has_a_line(value: str, tmp_path: Path) -> None:
    path = jsonl(tmp_path)
    with path.open("a") as file:
        file.write(f'{{"a": 4, "t": {value}, "u": 6, "class": "x"}}\n')
    with pytest.raises(
        ValueError, match=r"line 4 of a.jsonl must have seconds, or a date or time .* in field 't', got"
    ):
        JSONLinesStream(path, time="t").take(9)
    stream = JSONLinesStream(path, time="t", on_bad_row="skip")
    assert (len(stream.take(9)), stream.skipped) == (3, 1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"time": "nothing"}, "time must be one of the fields"),
        ({"time": "class"}, "time must be a field without another use, got 'class'"),
        ({"label_time": "u", "drop": ["u"]}, "label_time must be a field without another use, got 'u'"),
        ({"time": 3}, "time must name a field, got 3"),
    ],
)
def test_wrong_times_of_json_lines(options: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        JSONLinesStream(jsonl(tmp_path), **options)


# -- NPZ --------------------------------------------------------------------------------------------------------------

SCHEMA = Schema((Feature("a"), Feature("c", ("red", "green", "blue"))), (0, 1))


def numbers(folder: Path, n: int = 1000) -> tuple[Path, Any, Any, Any]:
    """Records of which every 7th has a foreign label and every 11th a wrong code."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n)])
    y = rng.integers(0, 2, n)
    r = np.arange(n)
    y[r % 7 == 3] = 5
    X[r % 11 == 4, 1] = np.where(r[r % 11 == 4] % 2, 3.0, 0.5)
    X[r % 11 == 6, 1] = np.nan  # missing is not bad
    path = folder / "n.npz"
    np.savez(path, X=X, y=y)
    return path, X, y, (r % 7 != 3) & (r % 11 != 4)


@pytest.mark.parametrize("size", [1, 64, 5000])
def test_bad_records_of_an_npz_are_left_out(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz, "_CELLS", 200)
    path, X, y, good = numbers(tmp_path)
    cell = tmp_path / "bad.jsonl"
    stream = NPZStream(path, schema=SCHEMA, on_bad_row="quarantine", quarantine=cell)
    assert stream.schema == SCHEMA
    chunk = Chunk.join(list(stream.chunks(size)))
    np.testing.assert_array_equal(chunk.X, X[good])
    assert chunk.y.tolist() == y[good].tolist()
    assert stream.skipped == (~good).sum()
    bad = [json.loads(line) for line in cell.read_text().splitlines()]
    assert [b["line"] for b in bad] == (np.flatnonzero(~good) + 1).tolist()
    assert bad[0]["reason"] == "record 4 of n.npz must have one of the labels [0, 1], got 5"
    assert bad[1]["reason"] == "record 5 of n.npz must have a whole code from 0 and below 3 in feature 'c', got 0.5"


@pytest.mark.parametrize("before", [0, 1, 99, 100, 431])
def test_an_npz_with_bad_records_is_restored(before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz, "_CELLS", 200)
    path, X, _, good = numbers(tmp_path)
    stream = NPZStream(path, schema=SCHEMA, on_bad_row="skip")
    stream.take(before)
    state = stream.state()
    other = NPZStream(path, schema=SCHEMA, on_bad_row="skip")
    other.restore(state)
    np.testing.assert_array_equal(other.take(5000).X, X[good][before:])
    assert other.skipped == (~good).sum()


def test_bad_records_of_an_npz_raise(tmp_path: Path) -> None:
    path, X, _, _ = numbers(tmp_path)
    stream = NPZStream(path, schema=SCHEMA)
    assert len(stream.take(3)) == 3
    with pytest.raises(ValueError, match=r"record 4 of n.npz must have one of the labels \[0, 1\], got 5"):
        stream.take(5)
    y = np.where(np.arange(1000) == 17, np.nan, 1.0)
    np.savez(path, X=X, y=y)
    with pytest.raises(ValueError, match="n.npz must have a label for every record, none in record 18"):
        NPZStream(path)
    stream = NPZStream(path, on_bad_row="skip")
    assert stream.rows == 999
    assert len(stream.take(2000)) == 999


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"schema": Schema.numeric(3)}, "schema must have the 2 features of n.npz, got 3"),
        (
            {"schema": Schema.numeric(2, ("a", "b"))},
            r"schema must have classes of n.npz, \[0, 1, 5\], got \['a', 'b'\]",
        ),
        ({"schema": 7}, "schema must be a Schema or None"),
        ({"on_bad_row": "drop"}, "on_bad_row must be one of"),
        ({"on_bad_row": "quarantine"}, "quarantine must be the path"),
    ],
)
def test_wrong_options_of_npz(options: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        NPZStream(numbers(tmp_path)[0], **options)


def test_the_folder_one_stands_in_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1.0], "class": ["a"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"z": [1.0], "class": ["a"]}), tmp_path / "b.parquet")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"^all files of {tmp_path.name} must have the same columns"):
        ParquetStream(".")
