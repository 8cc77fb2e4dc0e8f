"""Every paper's experiment runs at the smallest scale, with and without data, and writes its report."""

import csv
import json
import re
from pathlib import Path

import pytest

from browser import CHROMIUM, measure
from thalweg.papers import NAMES, reproduce
from thalweg.papers.paper_page import html_page, markdown_page
from thalweg.papers.reproduction import Reproduction


@pytest.fixture(scope="module", params=NAMES)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Reproduction, Path]:
    """The experiment of a paper without any data, at scale smoke."""
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THALWEG_DATA", str(folder / "nothing"))
        patch.setattr("thalweg.streams.datasets.loading.folders", lambda: {"folder": None, "cache": folder})
        return reproduce(request.param, scale="smoke", folder=folder, jobs=2), folder


def test_the_synthetic_part_runs_and_the_rest_is_listed(found: tuple[Reproduction, Path]) -> None:
    run, _ = found
    assert run.failures == {}
    assert run.tables[0].rows
    assert len(run.tables[0].ours) == len(run.tables[0].rows) * len(run.tables[0].learners)
    size = run.plan.scales["smoke"]
    for table in run.plan.tables:
        wanted = {row for row in table.rows if not size.rows or row in size.rows}
        done = next(set(both.rows) for both in run.tables if both.plan.name == table.name)
        assert wanted == done | (wanted & set(run.unavailable))
    if run.plan.name != "csknn":  # all of whose other streams are small ones
        assert any("THALWEG_DATA" in why for why in run.unavailable.values())


def test_the_report(found: tuple[Reproduction, Path], tmp_path: Path) -> None:
    run, _ = found
    written = run.write(tmp_path)
    assert [path.name for path in written] == ["report.html", "report.md", "results.csv", "runs.csv", "about.json"]
    page, words = (tmp_path / "report.html").read_text("utf-8"), (tmp_path / "report.md").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "http://" not in page.replace("http://www.w3.org", "")
    for learner in run.tables[0].learners:
        assert learner in words
    for row in run.unavailable:
        assert f"| {row} |" in words
    for place in (str(tmp_path), str(Path.home())):
        assert place not in page + words + (tmp_path / "runs.csv").read_text("utf-8")
    with (tmp_path / "results.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == sum(len(both.rows) * len(both.learners) for both in run.tables)
    about = json.loads((tmp_path / "about.json").read_text("utf-8"))
    assert about["command"] == f"thalweg paper {run.plan.name} --scale smoke"
    assert about["made_with"]["version"]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
@pytest.mark.parametrize("width", [420, 1100])
def test_the_report_fits_the_screen(found: tuple[Reproduction, Path], tmp_path: Path, width: int) -> None:
    run, _ = found
    run.write(tmp_path)
    shown = measure(tmp_path / "report.html", tmp_path, width)
    assert shown["page"] <= width
    assert shown["cut"] == 0  # claims, and what is not available, wrap
    assert (shown["words"], shown["numbers"]) == (["left"], ["right"])


def test_the_report_says_how_to_have_it_again(found: tuple[Reproduction, Path]) -> None:
    run, _ = found
    page, words = html_page(run), markdown_page(run)
    for text in ("Seeds", "Commit", "Date", "thalweg", "Python", "NumPy", "Numba", "Machine", "CPU time"):
        assert f"<dt>{text}</dt>" in page
        assert f"| {text} | " in words
    assert f"To reproduce, run:</p><pre>thalweg paper {run.plan.name} --scale smoke</pre>" in page
    for head in ("where", "here", "means over the streams run"):  # all of a claim is words, and wraps
        assert page.count(f'<td class="word" data-head="{head}">') == len(run.verdicts) > 0
    links = re.findall(r'<a href="#([^"]+)"', page)
    assert links
    assert set(links) <= set(re.findall(r'<h2 id="([^"]+)"', page))


def test_numbers_of_a_table_have_equal_decimals(found: tuple[Reproduction, Path]) -> None:
    run, _ = found
    for both in run.tables:
        cells = [cell for row in both.table().rows for cell in row[1:]]
        decimals = {len(part.partition(".")[2]) for cell in cells for part in re.findall(r"\d[\d,]*(?:\.\d+)?", cell)}
        assert len(decimals) <= 1, both.plan.name


def test_the_same_again_runs_nothing(found: tuple[Reproduction, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    run, folder = found
    monkeypatch.setattr("thalweg.streams.datasets.loading.folders", lambda: {"folder": None, "cache": folder})
    kept: list[bool] = []
    again = reproduce(run.plan.name, scale="smoke", folder=folder, on_event=lambda event: kept.append(event.kept))
    assert kept
    assert all(kept)
    assert [both.lines() for both in again.tables] == [both.lines() for both in run.tables]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"scale": "tiny"}, "scale must be one of smoke, small, full, got 'tiny'"),
        ({"scale": "smal"}, "did you mean 'small'"),
        ({"jobs": 0}, r"jobs must lie in \[1, ∞\), got 0"),
    ],
)
def test_bad_input(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        reproduce("sdf", **options)
