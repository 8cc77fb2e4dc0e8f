"""Text files as other programs write them: other delimiters, decimal commas, other encodings."""

from pathlib import Path

import pytest

from thalweg import CSVStream, open_file

ROWS = "größe;ort;preis;class\n1,5;Köln, am Rhein;3;ja\n2,25;Mülheim;-0,5;nein\n"


def test_a_semicolon_and_decimal_commas_are_found_out(tmp_path: Path) -> None:
    path = tmp_path / "german.csv"
    path.write_text(ROWS, "utf-8")
    stream = CSVStream(path)
    chunk = stream.take(9)
    assert chunk.X.tolist() == [[1.5, 0.0, 3.0], [2.25, 1.0, -0.5]]
    assert stream.schema.features[1].values == ("Köln, am Rhein", "Mülheim")
    stream.restart()
    stream.read(1)
    state = stream.state()
    again = CSVStream(path)
    again.restore(state)
    assert again.take(9).X.tolist() == [[2.25, 1.0, -0.5]]
    assert CSVStream(path, decimal=".").schema.features[0].nominal


def test_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_text(ROWS, "latin-1")
    with pytest.raises(ValueError, match=r"encoding='latin-1' \(--encoding latin-1\)"):
        CSVStream(path).take(9)
    stream = CSVStream(path, encoding="latin-1")
    assert stream.take(9).X[:, 0].tolist() == [1.5, 2.25]
    assert stream.schema.names == ("größe", "ort", "preis")
    path.write_text(ROWS, "utf-16")
    assert CSVStream(path, encoding="utf-16").take(9).y.tolist() == ["ja", "nein"]
    with pytest.raises(ValueError, match="encoding must be an encoding of Python"):
        CSVStream(path, encoding="nowhere")


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_what_divides_the_first_lines_is_found(tmp_path: Path, sign: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,class\n1,2,x\n3,4,y\n".replace(",", sign), "utf-8")
    assert CSVStream(path).take(9).X.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_file_of_any_name_and_more_words_for_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.data"
    path.write_text("a,class\n1,x\nunknown,y\n", "utf-8")
    with pytest.raises(ValueError, match="for another name say format='csv'"):
        open_file(path)
    rows = open_file(path, format="csv", more_missing=["unknown"]).take(9).X
    assert rows[0, 0] == 1.0
    assert rows[1, 0] != rows[1, 0]
    with pytest.raises(ValueError, match="delimiter must not be given"):
        open_file(tmp_path / "a.parquet", delimiter=";")


@pytest.mark.parametrize("place", [30, 900])
def test_a_stray_word_does_not_make_numbers_names(tmp_path: Path, place: int) -> None:
    lines = [f"{i}.5,{'x' if i % 2 else 'y'}" for i in range(1000)]
    lines[place] = "unknown,x"
    path = tmp_path / "stray.csv"
    path.write_text("\n".join(["size,class", *lines]) + "\n", "utf-8")
    assert not CSVStream(path).schema.features[0].nominal
    with pytest.raises(ValueError, match=rf"line {place + 2} .* got 'unknown': .*--nominal.*--missing 'unknown'"):
        CSVStream(path).take(2000)
    assert len(CSVStream(path, on_bad_row="skip").take(2000)) == 999
    assert len(open_file(path, more_missing=["unknown"]).take(2000)) == 1000
    assert CSVStream(path, nominal=["size"]).schema.features[0].nominal
