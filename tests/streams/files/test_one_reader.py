"""`thalweg run` and `thalweg predict` read the same cells from the same text."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from thalweg.core.schema import Feature, Schema
from thalweg.serve.answers import table_records
from thalweg.streams.files.csv.csv_stream import CSVStream

NUMBERS = [
    "1", "-2.5", "+3", "1e3", "1.5E-07", "123456789012345678901234567890", "0.1234567890123456789012", "inf",
    "-Infinity", "nan", "", '""', "NA", '"NA"', "?", '"?"', "N/A", "NULL", " 7", "8 ", "\t9", '" 10 "', '"11"', '"1e2"',
    " NA ", "4.9e-324", "1e400", "1e-400", ".5", "5.", "00012",
]  # fmt: skip
WORDS = [
    "red", '"red"', '"a,b"', '"two\nlines"', '"two\r\nlines"', '"she said ""no"""', "NA", '"NA"', '""', "", " red",
    "red ", '" red"', "naïve", "日本", "a very long word of more than sixteen bytes", "1", "inf", "tab\tinside",
]  # fmt: skip
PLAIN = 300
FLAGS = ["true", "False", '"TRUE"', "", "NA", '"true"', "false"]


def text_of(delimiter: str = ",", end: str = "\n", quote_all: bool = False) -> str:
    """Write a table in which every odd cell meets several others, after some plain ones."""
    n = len(NUMBERS) * 3
    plain = [[str(r), "red", "true", "x"] for r in range(PLAIN)]
    odd = [[NUMBERS[r % len(NUMBERS)], WORDS[r % len(WORDS)], FLAGS[r % len(FLAGS)], "xy"[r % 2]] for r in range(n)]
    if delimiter == "\t":
        odd = [[c.replace("\t", " ") for c in row] for row in odd]
    if quote_all:
        odd = [[c if '"' in c or c.strip() in ("NA", "9") else f'"{c}"' for c in row] for row in odd]
    lines = [["size", '"the colour"', "flag", "class"], *plain, *odd]
    return end.join(delimiter.join(row) for row in lines) + end


VARIANTS = {
    "plain": text_of().encode(),
    "crlf": text_of(end="\r\n").encode(),
    "cr": text_of(end="\r").replace("\r\nlines", "\nlines").encode(),
    "mark": b"\xef\xbb\xbf" + text_of().encode(),
    "blank lines": b"\n\r\n" + text_of(end="\n\n").encode(),
    "quotes": text_of(quote_all=True).encode(),
    "no last end": text_of().rstrip("\n").encode(),
    "tabs": text_of("\t").encode(),
    "packed": gzip.compress(text_of().encode()),
}


@pytest.mark.parametrize("kind", list(VARIANTS))
def test_run_and_predict_read_the_same_cells(kind: str, tmp_path: Path) -> None:
    path = tmp_path / {"tabs": "odd.tsv", "packed": "odd.csv.gz"}.get(kind, "odd.csv")
    path.write_bytes(VARIANTS[kind])
    stream = CSVStream(path, target="class")
    learned = stream.read(100_000)
    assert learned is not None
    assert len(learned) == PLAIN + 3 * len(NUMBERS)
    assert [f.nominal for f in stream.schema.features] == [False, True, False]
    asked = np.concatenate(list(table_records(str(path), stream.schema)))
    np.testing.assert_array_equal(asked, learned.X)
    again = CSVStream(path, target="class", schema=stream.schema).read(100_000)
    assert again is not None
    np.testing.assert_array_equal(again.X, learned.X)


def test_both_name_the_same_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    good = "1,red,true,x\n2,blue,false,y\n"
    bad = 'big,red,true,x\n3,red\n4,"red" ish,true,x\n5,red,true,x,6\n'
    later = b"6,\xff\xfe,true,x\n\n7,red,false,y\n"
    path.write_bytes(b"size,colour,flag,class\n" + (good * 40_000 + bad).encode() + later)
    stream = CSVStream(path, target="class", on_bad_row="quarantine", quarantine=tmp_path / "why.jsonl")
    learned = stream.read(100_000)
    assert learned is not None
    assert stream.skipped == 5
    told: list[str] = []
    asked = list(table_records(str(path), stream.schema, told.append))
    np.testing.assert_array_equal(np.concatenate([X for X in asked if X is not None]), learned.X)
    assert sum(X is None for X in asked) == 5
    assert len(asked[-1]) == 1
    assert [text.split(" of ")[0] for text in told] == [f"line {80_002 + k}" for k in range(5)]
    lines = (tmp_path / "why.jsonl").read_text("utf-8").splitlines()
    assert [line.split(",")[0] for line in lines] == [f'{{"line": {80_002 + k}' for k in range(5)]


def test_words_that_the_model_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    path.write_text("colour,size,kind\nred,1,a\ngreen,2,b\nblue,3,a\nviolet,4,a\n,5,a\n", "utf-8")
    colours = Feature("colour", ("red", "blue"), open=True)
    schema = Schema((Feature("size"), colours, Feature("absent")), open=True)
    (X,) = table_records(str(path), schema)
    np.testing.assert_array_equal(X[:, :2], [[1, 0], [2, 2], [3, 1], [4, 2], [5, np.nan]])
    assert np.isnan(X[:, 2]).all()
    closed = Schema((Feature("size"), Feature("colour", ("red", "blue"))))
    with pytest.raises(ValueError, match=r"line 3 of .*words.csv must have one of .* in column 'colour', got 'green'"):
        list(table_records(str(path), closed))
