"""What a result says, and that nothing is lost when it is written down."""

import builtins
import io
import json

import numpy as np
import pytest
from rich.console import Console

from thalweg import SEA, MajorityClass
from thalweg.evaluate.prequential import prequential
from thalweg.evaluate.result import Result, plain
from thalweg.show.tables import bytes_text, side_by_side, sparkline
from tiny_stream import Moving, TinyStream, rows


@pytest.fixture(scope="module")
def result():
    X, y, _ = rows(430, labels=["a", "b", "c"])
    return prequential(TinyStream(X, y, drifts=(215,)), Moving(step=0.2), every=100, window=100, delay=5)


def test_json_has_the_promised_fields(result):
    text = json.loads(result.to_json())
    promised = (
        "learner, params, stream, rows, accuracy, kappa, seconds, rows_per_second, state_bytes, drifts, labels_used, "
        "version"
    )
    assert set(promised.split(", ")) <= set(text)
    assert (text["learner"], text["params"], text["rows"]) == ("Moving", {"step": 0.2}, 430)
    assert text["accuracy"] == result.final["accuracy"] == result.accuracy
    assert text["drifts"] == [215]
    assert text["labels_used"] == 425
    assert set(text["meta"]) == {"version", "python", "numpy", "numba", "machine", "stream_params"}


def test_json_is_loss_free(result, tmp_path):
    twin = Result.from_json(result.to_json())
    assert twin == result
    assert twin.to_json() == result.to_json()
    for name, column in result.curve.items():
        assert twin.curve[name].dtype == column.dtype
        assert twin.curve[name].tobytes() == column.tobytes()
    assert twin.confusion.tobytes() == result.confusion.tobytes()
    assert twin.final == result.final
    path = tmp_path / "result.json"
    result.to_json(path)
    assert Result.from_json(path) == result == Result.from_json(str(path))


def test_json_of_an_empty_result_is_loss_free():
    empty = prequential(TinyStream(np.zeros((0, 2)), np.zeros(0, dtype=int)), Moving())
    assert Result.from_json(empty.to_json()) == empty
    assert json.loads(empty.to_json())["accuracy"] is None
    assert np.isnan(Result.from_json(empty.to_json()).accuracy)


@pytest.mark.parametrize("text", ["{}", '{"learner": 1}', "{ no json"])
def test_other_json_is_refused(text):
    with pytest.raises(ValueError, match="source must be the JSON of a Result"):
        Result.from_json(text)


def test_results_that_differ_are_not_equal(result):
    other = Result.from_json(result.to_json().replace('"Moving"', '"Other"'))
    assert other != result
    assert result != 3


def test_parameters_are_written_plainly():
    class Strange:
        pass

    given = {"a": np.float64(0.5), "b": (1, None), "c": np.zeros((2, 3)), "d": float("inf"), "e": Strange()}
    want = {"a": 0.5, "b": [1, None], "c": "array of shape (2, 3)", "d": "inf", "e": "Strange"}
    assert plain(given) == want


def test_text_terminal_and_notebook_say_the_same(result):
    text = str(result)
    assert text == str(result.table())
    assert "Moving on TinyStream" in text
    assert f"{100 * result.accuracy:.2f} %" in text
    assert "labels used: 425 of 430" in text
    assert "known drifts at 215" in text
    screen = io.StringIO()
    Console(file=screen, width=100).print(result)
    page = result._repr_html_()
    for word in ("F1 macro", "balanced accuracy", "last 100", f"{result.kappa:.4f}", "repeating the last label"):
        assert word in text
        assert word in screen.getvalue()
        assert word in page


def test_html_is_escaped(result):
    nasty = Result.from_json(result.to_json().replace("TinyStream", "<script>"))
    assert "<script>" not in nasty._repr_html_()


def test_side_by_side(result):
    X, y, _ = rows(430, labels=["a", "b", "c"])
    other = prequential(TinyStream(X, y), Moving(), name="faster", metrics=("kappa_m",))
    table = str(side_by_side([result, other]))
    assert "faster" in table
    assert "kappa-M" in table
    assert "G-mean" not in table  # not every run has it
    short = prequential(TinyStream(X, y), Moving(), limit=100)
    with pytest.raises(ValueError, match=r"same number of rows.*\[100, 430\]"):
        side_by_side([result, short])
    assert "Moving" in str(side_by_side([result, short], strict=False))
    with pytest.raises(ValueError, match="at least one"):
        side_by_side([])


@pytest.mark.parametrize("absent", [(), ("pandas",), ("pandas", "polars")])
def test_to_frame(result, monkeypatch, absent):
    real = builtins.__import__

    def picky(name, *rest):
        if name in absent:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", picky)
    if len(absent) == 2:
        with pytest.raises(ImportError, match=r"pandas or polars: pip install 'thalweg\[frames\]'"):
            result.to_frame()
        return
    frame = result.to_frame()
    assert type(frame).__module__.startswith("polars" if absent else "pandas")
    assert list(frame.columns) == list(result.curve)
    assert frame["rows"].to_list() == [100, 200, 300, 400, 430]


def test_small_words():
    assert [bytes_text(n) for n in (0, 999, 1000, 1_250_000, 3 * 10**9)] == ["0 B", "999 B", "1 kB", "1.25 MB", "3 GB"]
    assert sparkline([]) == ""
    assert sparkline([1.0, float("nan"), 1.0]) == "▁▁"
    assert len(sparkline(np.arange(1000))) == 40


def test_no_line_is_wider_than_a_terminal():
    result = prequential(SEA(seed=1), MajorityClass(), limit=100_000)
    assert max(map(len, str(result).splitlines())) <= 80


def test_a_result_says_when_members_were_replaced(monkeypatch):
    X, y, _ = rows(60)
    assert prequential(TinyStream(X, y), Moving()).replaced == []
    monkeypatch.setattr(Moving, "replacements", [(20, 1), (40, 0)], raising=False)
    assert prequential(TinyStream(X, y), Moving()).replaced == [[20, 1], [40, 0]]
