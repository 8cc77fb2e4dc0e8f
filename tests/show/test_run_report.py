"""The page about one run: what it says, and that it fits on a phone."""

from pathlib import Path

import numpy as np
import pytest

from browser import CHROMIUM, browse, measure
from thalweg import Agrawal, ArrayStream, HoeffdingTree, NaiveBayes, prequential
from thalweg.show import run_plots

LONG = "/a/very/long/path/to/a/place/that/no/phone/could/show/in/one/line/" + "customers_" * 8 + ".csv"


@pytest.fixture(scope="module")
def result():
    return prequential(
        Agrawal(function=3, seed=1),
        HoeffdingTree(),
        limit=3_000,
        stream_name=LONG,
        baselines=["naive-bayes"],
        every=500,
    )


def test_the_page_says_it_all(result, tmp_path: Path):
    path = tmp_path / "run.html"
    result.report(path, command="thalweg run hoeffding-tree <file>")
    page = path.read_text("utf-8")
    order = [
        "Right on", "Class by class", "Over time", "does not look for drifts", "What mattered", "Confident errors",
        "Costs", "How to reproduce", "thalweg run hoeffding-tree &lt;file&gt;", "NumPy",
    ]  # fmt: skip
    at = [page.index(words, page.index("<body>")) for words in order if words != "Class by class"]
    assert "Class by class" in page
    assert at[0] < page.index("<table")  # the summary stands first
    assert "Beside other learners" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert page.count("<figure>") == 4


def test_a_run_with_little_to_say_has_a_page(tmp_path: Path):
    prequential(ArrayStream(np.zeros((1, 2)), ["a"]), NaiveBayes()).report(tmp_path / "run.html")
    assert "How to reproduce" in (tmp_path / "run.html").read_text("utf-8")


def test_a_confusion_matrix_of_many_classes_is_drawn():
    rng = np.random.default_rng(1)
    y = np.array([f"class number {c}" for c in rng.integers(0, 40, 400)])
    picture = run_plots.confusion(prequential(ArrayStream(rng.random((400, 2)), y), NaiveBayes()))
    assert picture.alt.startswith("Confusion matrix of 40 classes. Most often mistaken: class number")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no browser")
def test_it_fits_on_a_phone(result, tmp_path: Path):
    result.report(tmp_path / "run.html")
    measured = measure(tmp_path / "run.html", tmp_path, 390)
    assert (measured["page"], measured["cut"]) == (390, 0)
    assert browse(tmp_path / "run.html", tmp_path / "profile")[1] == ""


def test_a_notebook_shows_summary_curve_and_classes(result):
    page = result._repr_html_()
    at = [page.index(words) for words in ("Right on", "balanced accuracy", "<svg", "class by class", "3,000 rows in")]
    assert at == sorted(at)
    assert "currentColor" in page
    assert "#" not in page.replace("&#", "")  # no colour of its own, which a dark notebook would hide


def test_rows_without_a_prediction_are_no_point_of_the_reliability_curve():
    X = np.random.default_rng(1).normal(size=(500, 2))
    found = prequential(ArrayStream(X, X[:, 0] > X[:, 1]), NaiveBayes())
    assert found.unpredicted > 0
    assert found.calibration[0][0] == 0
    line = run_plots.reliability(found).figure.axes[0].lines[1]
    assert len(line.get_xdata()) == len(found.calibration) - 1
    assert min(line.get_xdata()) > 0
