"""The compiled reader of CSV files takes short cuts: whatever way a cell takes, the result is the same."""

import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from thalweg import CSVStream
from thalweg.streams.files import text

PRINT = """
import sys
from thalweg import CSVStream
chunk = CSVStream(sys.argv[1], nominal=["b"], on_bad_row="skip").take(1000)
print(chunk.X.tobytes().hex(), chunk.y.tolist())
"""


def spellings() -> list[str]:
    """Give numbers of every length, with a point and an exponent at every place."""
    draw = random.Random(3)
    found = ["0", "-0", "+0", "00", "0.", "-.5", "5.", "-0.0000000000", "9007199254740993", "9007199254740993.0"]
    found += ["1e23", "8.5e22", "4.9e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "1e400", "1e-400"]
    found += ["0.5e1", "1E5", "1e+5", "1e0005", "-1.5e-7", "0." + "0" * 30 + "15", "0" * 30 + "1.5"]
    for size in range(1, 33):
        digits = "".join(draw.choices("0123456789", k=size))
        found += [digits[:at] + "." + digits[at:] for at in range(size + 1)]
        found += [f"{draw.choice('-+')}{digits}", f"{digits[0]}.{digits[1:]}e{draw.randint(-330, 330)}"]
    for _ in range(3000):
        value = struct.unpack("d", struct.pack("Q", draw.getrandbits(64)))[0]
        found += [repr(value)] if value == value else []
        found += [repr(draw.gauss(0, 1) * 10 ** draw.randint(-6, 6)), f"{draw.gauss(0, 1):.{draw.randint(0, 22)}f}"]
    return found


def test_numbers_of_every_spelling_are_what_python_reads(tmp_path: Path) -> None:
    """In the middle of a row and at its end; bit for bit."""
    path, words = tmp_path / "a.csv", spellings()
    path.write_text("class,a,b\n" + "".join(f"1,{w},{w}\n" for w in words))
    X = CSVStream(path).take(len(words)).X
    wanted = np.array([float(w) for w in words])
    for column in X.T.copy():
        wrong = np.flatnonzero(column.view(np.int64) != wanted.view(np.int64))
        assert [words[i] for i in wrong] == []


@pytest.mark.parametrize("spelling", ["1.2.3", "--1", "1-", "1e", "e5", "1e5.5", "1e+-5", ".", "-", "1:2", "/1", "1/"])
def test_what_is_no_number_is_refused(tmp_path: Path, spelling: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,class\n" + "1.5,1\n" * 210_000 + f"{spelling},1\n")  # beyond the block that types come from
    with pytest.raises(ValueError, match="line 210002 of a.csv must have a number in column 'a'"):
        CSVStream(path).take(300_000)


def test_words_that_differ_anywhere_are_told_apart(tmp_path: Path) -> None:
    """Of every size, by any of their bytes, in quotes or not."""
    words = ["x" * at + "y" + "x" * (size - at - 1) for size in range(1, 41) for at in range(size)]
    written = [f'"{w}"' if k % 3 == 0 else w for k, w in enumerate(words)]
    path = tmp_path / "a.csv"
    path.write_text("a,class\n" + "".join(f"{w},1\n" for w in written + written[::-1] + words))
    stream = CSVStream(path)
    codes = stream.take(10**6).X[:, 0].astype(int)
    n = len(words)
    assert stream.schema.features[0].values == tuple(words)
    assert codes.tolist() == [*range(n), *range(n - 1, -1, -1), *range(n)]


def test_a_mark_in_quotes_is_a_word_and_without_them_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,class\n"NA",no\nNA,no\nno,no\n"no",no\n"NA",no\nNA,"no"\n,no\n')
    chunk = (stream := CSVStream(path)).take(9)
    np.testing.assert_array_equal(chunk.X[:, 0], [0, np.nan, 1, 1, 0, np.nan, np.nan])
    assert stream.schema.features[0].values == ("NA", "no")
    assert set(chunk.y.tolist()) == {"no"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("block", [64, 100, 257])
def test_a_cell_may_be_cut_by_the_end_of_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, block: int
) -> None:
    draw = random.Random(block)
    rows = [f'{draw.gauss(0, 1)!r},w{draw.randint(0, 30)},"q ""{k % 7}",{draw.randint(0, 9)}' for k in range(300)]
    path = tmp_path / "a.csv"
    path.write_bytes(("a,b,c,class" + end + end.join(rows)).encode())
    whole = CSVStream(path).take(999)
    monkeypatch.setattr(text, "BLOCK", block)
    parts = CSVStream(path, nominal=["b", "c"]).take(999)
    assert len(whole) == 300
    np.testing.assert_array_equal(whole.X, parts.X)
    np.testing.assert_array_equal(whole.y, parts.y)


def test_room_for_words_grows(tmp_path: Path) -> None:
    """For very long ones, and for very many."""
    words = ["a" * 300_000, "b" * 20_000] + [f"{k:x}" for k in range(30_000)]
    path = tmp_path / "a.csv"
    path.write_text("a,class\n" + "".join(f"{w},1\n" for w in words))
    stream = CSVStream(path, nominal=["a"])
    assert stream.take(10**6).X[:, 0].tolist() == [*range(len(words))]
    assert stream.schema.features[0].values == tuple(words)


def test_the_same_without_compiling(tmp_path: Path) -> None:
    cells = ["1.25", "-3", "", "NA", " 7 ", '"8"', "1e-3", "12345678901234567890.5", "0.12345678901234567", "x", "inf"]
    path = tmp_path / "a.csv"
    rows = [f"{c},{w},{'up' if k % 2 else 'down'}" for k, c in enumerate(cells) for w in ("u", '"v"', "long" * 6, "?")]
    path.write_text("a,b,class\n" + "2,u,up\n" * 3 + "\n".join(rows) + "\n1,2\n")
    given = {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}  # NumPy warns of the overflow that is meant
    seen = [
        subprocess.run([sys.executable, "-c", PRINT, str(path)], env=os.environ | more, capture_output=True, text=True)
        for more in ({}, given)
    ]
    assert [s.returncode for s in seen] == [0, 0], seen[1].stderr
    assert seen[0].stdout == seen[1].stdout
    assert len(seen[0].stdout) > 500
