"""Pictures are written, name every learner, and say in words what they show."""

import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from thalweg.evaluate.prequential import prequential
from thalweg.show.figure import spread
from thalweg.show.plots import curves, describe
from tiny_stream import Moving, TinyStream, rows


@pytest.fixture(scope="module")
def results():
    X, y, _ = rows(430)
    streams = [TinyStream(X, y, drifts=(215,)) for _ in range(3)]
    return [
        prequential(s, Moving(step=step), every=100, window=50, name=f"step {step}")
        for s, step in zip(streams, (0.1, 0.3, 0.9), strict=True)
    ]


def test_png_carries_its_text_alternative(results, tmp_path):
    path = tmp_path / "curves.png"
    picture = curves(results, path)
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert picture.alt.encode() in data
    assert "Known drifts at row 215." in picture.alt
    assert all(r.learner in picture.alt for r in results)


def test_svg_is_well_formed_titled_and_repeatable(results, tmp_path):
    path = tmp_path / "curves.svg"
    picture = curves(results, path, dark=True, title="A & B")
    root = ET.fromstring(path.read_text())
    assert root.attrib["role"] == "img"
    assert root[0].text == picture.alt == describe(results)
    again = tmp_path / "again.svg"
    curves(results, again, dark=True, title="A & B")
    assert again.read_bytes() == path.read_bytes()
    assert picture._repr_svg_().lstrip().startswith("<?xml")


def test_lines_labels_axes_and_drifts(results):
    axes = curves(results).figure.axes[0]
    lines = [line for line in axes.lines if len(line.get_xdata()) == 5]
    assert [line.get_ydata()[-1] for line in lines] == [100 * r.recent["accuracy"] for r in results]
    assert len({line.get_color() for line in lines}) == 3
    dashed = [line for line in axes.lines if list(line.get_xdata()) == [215, 215]]
    assert len(dashed) == 1
    texts = {t.get_text() for t in axes.texts}
    assert {"drift", *(r.learner for r in results)} == texts
    assert axes.get_xlabel() == "Rows"
    assert axes.get_ylabel() == "Accuracy over the last 50 rows (%)"


def test_one_result_another_metric_and_a_single_report(results, tmp_path):
    X, y, _ = rows(60)
    short = prequential(TinyStream(X, y), Moving())
    picture = short.plot(tmp_path / "one.pdf", metric="log_loss")
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")
    assert picture.figure.axes[0].get_ylabel() == "Log-loss over the last 1,000 rows"


def test_an_empty_result_is_drawn_too(tmp_path):
    empty = prequential(TinyStream(np.zeros((0, 2)), np.zeros(0, dtype=int)), Moving())
    assert "has no values" in empty.plot(tmp_path / "empty.png").alt


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"path": "curves.jpeg2"}, r"path must end in one of .png, .svg, .pdf, got 'curves.jpeg2'"),
        ({"metric": "f2"}, "metric must be one of"),
        ({"results": []}, "at least one result"),
    ],
)
def test_bad_arguments_get_a_sentence(results, change, words):
    with pytest.raises(ValueError, match=words):
        curves(**{"results": results} | change)


def test_a_metric_the_run_did_not_have(results):
    X, y, _ = rows(60)
    few = prequential(TinyStream(X, y), Moving(), metrics=())
    with pytest.raises(ValueError, match="must have the metric 'auc'"):
        curves([few], metric="auc")


def test_without_matplotlib_there_is_a_sentence(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'thalweg\[plots\]'"):
        curves(results)


def test_labels_are_kept_apart_and_above_the_floor():
    assert spread([3.0, 2.0, 1.0], 0.5, 0.0) == [3.0, 2.0, 1.0]
    assert spread([0.2, 0.1, 0.0], 1.0, 0.0) == [2.0, 1.0, 0.0]
    moved = spread([5.0, 5.0, 5.0, 4.9], 1.0, 0.0)
    assert moved == [5.0, 4.0, 3.0, 2.0]
    assert spread([], 1.0, 0.0) == []


@pytest.mark.parametrize(("width", "label"), [(8.0, "Rows"), (4.4, "Rows   (▼ drift detected by the learner)")])
def test_the_words_for_a_mark_never_lie_on_those_of_the_axis(results, width, label):
    seen = replace(results[0], detected=[20])
    axes = curves([seen], size=(width, 3.0), strips=False).figure.axes[0]
    assert axes.get_xlabel() == label
    beside = [text.get_text() for text in axes.texts if "detected" in text.get_text()]
    assert bool(beside) == (label == "Rows")
